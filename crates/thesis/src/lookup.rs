//! Values out of answers, and the machines of chapter 6 at every block size, which several experiments look at.
use homenode_command::Failure;
use homenode_machine::Machine;
use homenode_machine::models::family::{MEMBERS, Parameters};
use homenode_study::analyses::mcpr;
use homenode_study::{Answer, Question, Row, What};
use serde::{Deserialize, Serialize};

/// Block sizes of all experiments, in bytes: a word to two pages (section 6.2.3).
pub(super) const BLOCKS: [u64; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// Places in [`MEMBERS`]: the order of the thesis's bars, best first.
pub(super) const CC_PLUS: usize = 0;
pub(super) const CC: usize = 1;
pub(super) const NUMA: usize = 2;
pub(super) const DSM_PLUS: usize = 3;
pub(super) const DSM: usize = 4;

/// Names of the machines as the thesis writes them, in the order of [`MEMBERS`].
pub(super) const NAMES: [&str; 5] = ["CC+", "CC", "NUMA", "DSM+", "DSM"];

/// A question and its answer.
pub(super) struct Answered {
    pub(super) question: Question,
    pub(super) answer: Answer,
}

impl Answered {
    /// The row of a machine, by its place, at a block size.
    pub(super) fn row(&self, machine: usize, block_bytes: u64, what: What) -> Result<&Row, Failure> {
        let found = self
            .answer
            .rows
            .iter()
            .find(|r| r.machine as usize == machine && r.block_bytes == block_bytes && r.what == what);
        found.ok_or_else(|| Failure::work(format!("no answer for machine {machine} at {block_bytes} bytes, {what:?}")))
    }
    /// Mean cost per reference.
    pub(super) fn mcpr(&self, machine: usize, block_bytes: u64, what: What) -> Result<f64, Failure> {
        let row = self.row(machine, block_bytes, what)?;
        mcpr(&self.question, &self.answer, row).ok_or_else(|| Failure::work("a recording without references"))
    }
}

/// Mean cost per reference of the optimum: machine of [`MEMBERS`], block of [`BLOCKS`].
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Machines(pub(super) [[f64; BLOCKS.len()]; MEMBERS.len()]);

impl Machines {
    /// Mean cost per reference at a block size of [`BLOCKS`].
    pub(super) fn at(&self, machine: usize, block_bytes: u64) -> f64 {
        let at = BLOCKS.iter().position(|b| *b == block_bytes).expect("one of the study's block sizes");
        self.0[machine][at]
    }
    /// The block size at which a machine does best (the largest of equals), and the cost there.
    pub(super) fn best(&self, machine: usize) -> (u64, f64) {
        let points = BLOCKS.into_iter().zip(self.0[machine]);
        points.fold((0, f64::INFINITY), |best, (block, cost)| if cost <= best.1 { (block, cost) } else { best })
    }
}

/// A machine of the family.
pub(super) fn member(m: &homenode_machine::models::family::Member, p: Parameters) -> Result<Machine, Failure> {
    m.build(&p).map_err(Failure::work)
}

/// Two decimals, as the page shows costs.
pub(super) fn two(x: f64) -> String {
    format!("{x:.2}")
}

/// Names in a row, or "none".
pub(super) fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
    let joined = all.into_iter().collect::<Vec<_>>().join(", ");
    if joined.is_empty() { "none".into() } else { joined }
}

/// The middle one, the upper of two; not a number of none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Part of a whole.
pub(super) fn part(some: usize, all: usize) -> f64 {
    some as f64 / all.max(1) as f64
}
