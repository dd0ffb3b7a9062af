//! # homenode-realign: data moved so that no page holds private words of several processors (Markatos and Chronaki, section 3.4).
//!
//! **Invariant:** pure; the same references to the same data; words that do not overlap never lie in one place at the same time.
//!
//! Off line, window by window: a page is a *candidate* if two or more processors refer to it in the window and one writes.
//! What of a candidate only one processor refers to in the window moves to the next free words of that processor's
//! private area, in order of first touch; what several refer to stays. A page of the area that anybody else refers to in the
//! window is closed. The window is rewritten with this knowledge, the map is kept, and words may move again, out of
//! the private area too. Moves cost nothing: a bound for a compiler, not a policy.
//!
//! A *location* is the word of a reference's first byte, as protocols count a reference at its first byte alone. One that
//! moves takes room for its widest reference in that window, so that locations do not overlap where they go unless they
//! overlapped before; a reference that spans two words goes where the first does.
//!
//! [`fields`] is another realignment: one layout for the whole run.
//!
//! Reading order: [`words`] (the transform), [`stream`] (a source transformed), [`fields`], [`rules`] (all of them, as text). The slow obvious way is in `crates/realign/tests/realign.rs`.
#![forbid(unsafe_code)]

pub mod fields;
pub mod rules;
pub mod stream;
pub mod words;

pub use rules::{Opening, Rule};
pub use stream::{Private, Realigned};
pub use words::Realigner;

use homenode_base::NodeId;
use homenode_base::named::ParamError;
use homenode_base::spaces::{USER_LAST, tag};

/// A map keyed by the number of a word, a page or a line.
type NumberMap<V> = hashbrown::HashMap<u64, V>;

/// References of a window in the source.
pub const WINDOW: u64 = 1_000_000;
/// Largest window: it is in memory as a whole.
pub const WINDOW_MAX: u64 = 1 << 24;
/// Bytes of a word in the source.
pub const WORD_BYTES: u64 = 4;
/// Largest page that candidates are marked by, in bytes.
pub const PAGE_BYTES_MAX: u64 = 1 << 30;
/// Parts of a whole in which a share is given.
pub const SHARE_WHOLE: u64 = 1_000_000;
/// Address spaces that no process uses: a private area is the space of its processor's number above this.
const AREAS: u32 = 1 << 16;

/// How words move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Realignment {
    /// Bytes of the pages by which candidates are marked, a power of two from a word to 1 GiB. The source does not say
    /// which; meant is the size of the simulated pages, so each size has its own realigned trace.
    pub page_bytes: u64,
    /// References of a window, from 1 to 2^24. Spins are not counted: how many there are is chance. A window ends
    /// early at 2^22 references that do not fill it.
    pub window: u64,
    /// Which references fill it.
    pub counted: Counted,
    /// Bytes of a word, a power of two from 1 to 4096.
    pub word_bytes: u64,
}

/// Which references fill a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// All, those to private memory too.
    #[default]
    All,
    /// References to shared memory alone.
    Shared,
}

/// What moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Windows, the last one short.
    pub windows: u64,
    /// Locations that moved.
    pub words: u64,
    /// How often one moved that had moved before.
    pub again: u64,
    /// References, spins included, to words that are elsewhere than recorded.
    pub refs: u64,
}

/// A re-alignment that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RealignError {
    /// Candidates cannot be marked by such pages.
    #[error("realignment by pages of {0} bytes is not possible: powers of two from a word to 1 GiB are")]
    Page(u64),
    /// No such realignment.
    #[error("there is no realignment '{0}': known are {known}", known = rules::names().collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// A text that is none.
    #[error("realignment '{0}': {1}")]
    Text(String, ParamError),
    /// No such window.
    #[error("realignment in windows of {0} references is not possible: 1 to {WINDOW_MAX} are")]
    Window(u64),
    /// No such word.
    #[error("realignment by words of {0} bytes is not possible: powers of two from 1 to 4096 are")]
    Word(u64),
}

impl Realignment {
    /// As in the source: windows of a million references of all kinds, words of 4 bytes, candidates marked by pages of this size.
    pub const fn by_pages_of(page_bytes: u64) -> Realignment {
        Realignment { page_bytes, window: WINDOW, counted: Counted::All, word_bytes: WORD_BYTES }
    }

    /// For recordings without private references: windows of as many shared references as one of now would have, if
    /// `share` millionths of all references were shared. At least 1.
    #[must_use]
    pub const fn shared_alone(self, share: u64) -> Realignment {
        let window = (self.window as u128 * share as u128 / SHARE_WHOLE as u128) as u64;
        Realignment { window: if window == 0 { 1 } else { window }, counted: Counted::Shared, ..self }
    }

    /// Whether it can be.
    ///
    /// # Errors
    /// A size or window out of range.
    pub const fn check(&self) -> Result<(), RealignError> {
        if !self.word_bytes.is_power_of_two() || self.word_bytes > 4096 {
            return Err(RealignError::Word(self.word_bytes));
        }
        let (least, most) = (self.word_bytes, PAGE_BYTES_MAX);
        if !self.page_bytes.is_power_of_two() || self.page_bytes < least || self.page_bytes > most {
            return Err(RealignError::Page(self.page_bytes));
        }
        if self.window == 0 || self.window > WINDOW_MAX {
            return Err(RealignError::Window(self.window));
        }
        Ok(())
    }
}

/// Flat address at which a processor's private area begins; it is of 2^47 bytes.
pub const fn area(processor: NodeId) -> u64 {
    tag(AREAS + processor.0 as u32)
}

/// The processor in whose private area a flat address lies.
pub const fn owner(flat: u64) -> Option<NodeId> {
    let space = (flat & !USER_LAST).reverse_bits() as u32;
    if space >= AREAS && space <= AREAS + u16::MAX as u32 { Some(NodeId((space - AREAS) as u16)) } else { None }
}
