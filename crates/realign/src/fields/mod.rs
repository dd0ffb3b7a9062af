//! One layout for a whole run: fields, elements and objects moved, padded or put together as a programmer could.
//!
//! Unlike [`words`](super::words), which moves words again in every window, this is a static relocation, by what data is
//! called. A *unit* is a field of all elements of an object row (all that one line allocated, or a global), `[].hits` of
//! `stats`; where types are not known, a place in a small block, or all of a large one. From who used its words in the whole
//! recording a unit is
//!
//! - *owned*, if of the references to its words at least seven in eight are by the processor that uses the word most;
//! - else *read*, if at most one in sixteen is a write;
//! - else *shared*.
//!
//! What a word's first user wrote before anybody else came counts for nothing, if others came: data is initialised by anybody.
//! Words of an element that were only written, by one processor, go with the element's other words if these have one user.
//! Owned units that lie on written pages with words of others, and read units that lie on pages with words that are shared
//! and written, are moved. An object of which each processor uses few parts in one piece has these parts begin at pages
//! of their own (*pad*); what is dealt out more finely goes to pages of the processor that uses it, with all else that it
//! uses alone (*separate*); what is read by several goes where only such data is (*group*).
//!
//! Reading order: [`census`] (who uses what), `units` (what belongs together), `decide`, [`stream`] (a source relocated). The
//! slow obvious way is in `crates/realign/tests/fields.rs`.
pub mod census;
mod decide;
pub mod stream;
mod units;

pub use census::Census;
pub use decide::layout;
pub use stream::Relocated;

use homenode_analysis::ObjectName;
use homenode_base::NodeId;
use std::collections::BTreeMap;

/// Which changes are wanted, by object row and kind.
pub type Keep<'k> = &'k dyn Fn(u32, Kind) -> bool;

/// What is done to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The part of each processor begins at a page.
    Pad,
    /// What each processor uses goes to pages that only it uses.
    Separate,
    /// What several read goes to pages that are seldom written.
    Group,
}

/// A change of layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Kind.
    pub kind: Kind,
    /// Object row.
    pub row: u32,
    /// What the row is called.
    pub object: ObjectName,
    /// Fields that move, as they are written after the object's name: `[].hits`, or ` +16` where no type is known; empty if
    /// the object moves as a whole.
    pub fields: Vec<String>,
    /// Whether other fields of the object stay.
    pub rest: bool,
    /// Bytes of an element of the array, if it is one.
    pub element_bytes: Option<u64>,
    /// Pieces that are moved apart: parts of an object that is padded; 0 for other kinds.
    pub parts: u64,
    /// Largest of these, in bytes.
    pub part_bytes: u64,
    /// Processors that use it.
    pub users: Vec<NodeId>,
    /// References to it.
    pub refs: u64,
}

/// Bytes that move in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) from: u64,
    pub(crate) last: u64,
    pub(crate) to: u64,
}

/// Where things are instead of where they were recorded; addresses are flat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// What was changed, by object row.
    pub changes: Vec<Change>,
    /// By object row, ascending and disjoint.
    pub(crate) ranges: BTreeMap<u32, Vec<Range>>,
}

impl Layout {
    /// Where a byte of an object row is; where it was if it did not move.
    pub fn to(&self, row: u32, flat: u64) -> u64 {
        let Some(ranges) = self.ranges.get(&row) else { return flat };
        let range = ranges.get(ranges.partition_point(|r| r.last < flat)).filter(|r| r.from <= flat);
        range.map_or(flat, |r| r.to + (flat - r.from))
    }
}
