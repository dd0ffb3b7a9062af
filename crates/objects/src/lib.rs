//! # homenode-objects: what lies where
//!
//! Which variable, heap block, stack or mapping an address belonged to at a moment of a recording. [`ObjectTable`] knows every
//! object of a dataset and groups heap objects by where they were allocated. Whose an address is depends on time, because
//! memory is freed and used again: [`LiveObjects`] follows the events in the order of a stream and is the exact and fast way;
//! [`ObjectTable::lookup`] answers for any position of the events the table was built from.
//!
//! **Invariant:** pure; ids of objects depend on the program, not on how its threads were interleaved.
//!
//! Reading order: [`object`], `shape` (how objects get ids), [`live`], `ranges`, `spans`, `group`, [`table`].
//!
//! ```
//! use homenode_objects::{ObjectKind, ObjectTable};
//! use homenode_synthetic::Builder;
//!
//! let mut program = Builder::new(1);
//! program.alloc(0, 0x1000, 64, &[]).write(0, 0x1008).free(0, 0x1000);
//! let dataset = program.open()?;
//! let table = ObjectTable::build(dataset.manifest(), dataset.events(), dataset.symbols());
//! let object = table.lookup(0, 0x1008, 1).expect("it lives after its allocation");
//! assert_eq!((table.objects()[object as usize].kind, table.lookup(0, 0x1008, 2)), (ObjectKind::Heap, None));
//! # Ok::<(), homenode_trace::TraceError>(())
//! ```
#![forbid(unsafe_code)]

mod group;
pub mod live;
pub mod object;
mod ranges;
mod shape;
mod spans;
pub mod table;

pub use live::LiveObjects;
pub use object::{Group, Object, ObjectKind};
pub use table::ObjectTable;
