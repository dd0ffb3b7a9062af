//! # homenode-symbols: names, lines and types for the code and the global data of programs
//!
//! Reads executables and libraries and says what lies at an address of them; names everything that a dataset mentions.
//!
//! **Invariant:** a name is given only where the file says so without doubt: an address that two modules may own, or that no
//! table covers, stays a bare address. Any bytes may be given as a program file.
//!
//! Where does a function of this very program lie, and what is it called?
//! ```
//! use homenode_symbols::{Modules, image, mappings};
//! use std::path::Path;
//!
//! #[inline(never)]
//! fn sweep_the_grid() {}
//!
//! sweep_the_grid();
//! let at = sweep_the_grid as fn() as usize as u64;
//! let (mut modules, pid) = (Modules::default(), std::process::id());
//! let mapped = mappings(pid).into_iter().filter_map(|m| modules.mapped(pid, m.addr, m.file_offset, m.prot, &m.path));
//! let module = mapped.into_iter().find(|m| m.bias <= at && at < m.bias + m.bytes).expect("code lies in a module");
//! let answers = image::resolve(Path::new(&module.path), &[at - module.bias], &[], None).unwrap();
//! assert!(answers.places[0].function.ends_with("sweep_the_grid"));
//! ```
//!
//! Reading order: [`modules`] (which file lies where in a process), [`answers`] and [`image`] (one file: addresses to functions and
//! lines, global data), [`lines`] (back from lines), `debug_file`, `demangle`, `shorten`, `inlines`, `callsites`, `returns` (what a call's value becomes),
//! `types`; [`paths`] (instructions between references); [`dependence`] (which misses wait for each other); `sites` (the addresses that a dataset mentions) and [`naming`] (names for all of them).
#![forbid(unsafe_code)]

pub mod answers;
mod callsites;
mod debug_file;
mod demangle;
pub mod dependence;
pub mod image;
mod inlines;
pub mod lines;
pub mod modules;
pub mod naming;
pub mod paths;
mod returns;
mod shorten;
mod sites;
mod types;

pub use dependence::{Dependence, Dependences, SiteLoops};
pub use image::{ModuleFile, read_module};
pub use modules::{Mapping, Module, Modules, mappings};
pub use naming::{Named, name_everything};
pub use paths::Paths;
