//! Optional columns: what a frame may say about each of its references beside address, size, operation and site.
//!
//! A column has a number, which it keeps for ever, and a version of what its values mean. In a frame it stands with its
//! length in bytes, so that a reader which does not know it, or knows only another version of it, skips it. A value of
//! 0 always says that nothing is known or nothing is special; a column of zeros is not written.
//!
//! A new column is a file beside this one and its name in the list below.
use crate::sample::Sample;

/// One column of the family.
#[derive(Debug)]
pub struct Column {
    /// What stands for it in frames; no number is used twice.
    pub number: u32,
    /// Version of its values, from 1 on.
    pub version: u32,
    /// Name, for people.
    pub name: &'static str,
    /// What a value means, one line.
    pub summary: &'static str,
    /// Largest value.
    pub max: u64,
    /// Where decoded values lie.
    pub(crate) held: Held,
}

/// Where the values of a column lie in a decoded frame.
#[derive(Debug)]
pub(crate) enum Held {
    /// In the [`Sample`] of the reference, which only sampled recordings have. The setter gets nothing above
    /// [`Column::max`], so its casts lose nothing.
    InSample {
        /// The value of a sample.
        get: fn(&Sample) -> u64,
        /// Puts a value into a sample.
        set: fn(&mut Sample, u64),
    },
    /// In a list of the column's own.
    Alone,
}

homenode_base::registry!(
    /** Every column that this build knows, by ascending number: the order in which they stand in a frame. */ Column;
    weight, latency, source, processor, instructions
);

/// Weights of samples, which every frame of samples has.
pub static WEIGHT: &Column = &weight::SPEC;
/// Instructions since the previous reference of the thread, counted; see [`instructions`].
pub static INSTRUCTIONS: &Column = &instructions::SPEC;

impl Column {
    /// The column with this number and version, if this build knows it.
    pub fn find(number: u64, version: u64) -> Option<&'static Column> {
        let same = |c: &&&Column| (u64::from(c.number), u64::from(c.version)) == (number, version);
        ALL.iter().find(same).copied()
    }
    /// Place of the column in [`ALL`].
    pub(crate) fn place(&self) -> usize {
        ALL.iter().position(|c| c.number == self.number).expect("every column is in the list")
    }
    /// Whether only samples have it.
    pub fn of_samples(&self) -> bool {
        matches!(self.held, Held::InSample { .. })
    }
}

/// How many instructions a thread executed from the one after its previous reference up to and with the one that makes this
/// reference; from its first instruction on for its first reference. `None` if that was not counted.
pub fn instructions(value: u64) -> Option<u64> {
    value.checked_sub(1)
}
