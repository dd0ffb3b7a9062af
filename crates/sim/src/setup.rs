//! What every replay needs.
use crate::SimError;
use homenode_machine::Machine;
use homenode_threads::ThreadBinding;
use homenode_trace::Counting;

/// What every replay needs.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'m> {
    /// The machine, validated.
    pub machine: &'m Machine,
    /// Where each thread of the dataset sits; references of other threads are left out and counted.
    pub bindings: &'m [ThreadBinding],
    /// Placement block, a power of two.
    pub block_bytes: u64,
    /// Options of the replay.
    pub options: ReplayOptions,
    /// By code location, whether its misses wait for each other; of those beyond the end nobody knows. Used with
    /// [`MissModel::Overlap`] alone.
    pub waits: &'m [Waits],
}

impl<'m> Setup<'m> {
    /// Of an exact recording, with default options: each miss costs its latency.
    pub fn exact(machine: &'m Machine, bindings: &'m [ThreadBinding], block_bytes: u64) -> Setup<'m> {
        Setup { machine, bindings, block_bytes, options: ReplayOptions::default(), waits: &[] }
    }
}

/// Whether a miss of a code location waits for the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// Nobody knows: charged as if it did, and counted.
    #[default]
    Unknown,
    /// An address that depends on what an earlier miss brought.
    Dependent,
    /// Misses do not depend on each other: a core has several at a time.
    Independent,
    /// As [`Waits::Dependent`], in chains that begin anew in each round of the loop with this number: chains of several rounds are under way
    /// at once.
    Anew(u16),
    /// As [`Waits::Independent`], and in the rounds of that loop themselves: a chain that began before has ended.
    Begins(u16),
}

impl Waits {
    /// Whether misses do not depend on each other.
    pub(crate) const fn is_independent(self) -> bool {
        matches!(self, Waits::Independent | Waits::Begins(_))
    }
}

/// What a miss costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissModel {
    /// The full latency of memory, each.
    #[default]
    Latency,
    /// By its class: streamed, overlapped, or waited for.
    Overlap,
}

/// How to replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Charge busy-wait references like reads, instead of only saying what they would have cost.
    pub charge_spins: bool,
    /// Report every hit to the policies, even where it can change nothing. Slower, same results: for checking that.
    pub report_all_hits: bool,
    /// Hand on every access by itself instead of folding equal ones. Slower, same results: for checking that.
    pub unfolded: bool,
    /// The references are samples of this kind: they count with their weights, no caches are simulated since the sampler
    /// has chosen already, and those whose data came from where no placement matters are not charged. `None` for exact
    /// recordings.
    pub sampled: Option<Counting>,
    /// What misses cost, on machines that say what classes of them do.
    pub model: MissModel,
}

impl MissModel {
    /// Every model.
    pub const ALL: [MissModel; 2] = [MissModel::Latency, MissModel::Overlap];
    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            MissModel::Latency => "latency",
            MissModel::Overlap => "overlap",
        }
    }
}

/// Sizes as shifts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shifts {
    pub(crate) word: u32,
    pub(crate) block: u32,
    pub(crate) line: u32,
}

impl Shifts {
    /// Checks the sizes of this machine and block.
    pub(crate) fn new(machine: &Machine, block_bytes: u64) -> Result<Shifts, SimError> {
        let bad = |what: &str| SimError::Block { block_bytes, machine: machine.name.clone(), what: what.into() };
        if !block_bytes.is_power_of_two() || block_bytes > 1 << 40 {
            return Err(bad("a block is a power of two of bytes, at most 2^40"));
        }
        if !machine.shape.word_bytes.is_power_of_two() || u64::from(machine.shape.word_bytes) > block_bytes {
            return Err(bad("a block holds at least one machine word, and a word is a power of two of bytes"));
        }
        let line = machine.sections.caches.as_ref().map_or(1, |c| c.line_bytes);
        if !line.is_power_of_two() || u64::from(line) > block_bytes {
            return Err(bad("a block holds at least one cache line"));
        }
        let shift = |n: u32| n.trailing_zeros();
        Ok(Shifts { word: shift(machine.shape.word_bytes), block: block_bytes.trailing_zeros(), line: shift(line) })
    }
}
