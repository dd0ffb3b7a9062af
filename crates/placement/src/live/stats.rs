//! What the loop did, for the report after a run.
use super::event::{MigrationCandidate, MoveRefusal};
use homenode_base::{NodeId, TotalCost};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Windows over which "now" is taken.
const RECENT: usize = 8;

/// Candidates of the policy that were not carried out, by reason; a page counts once a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectedCandidates {
    /// Not proposed for enough windows running.
    pub too_new: u64,
    /// Frozen: it has moved often enough, or came back too soon.
    pub frozen: u64,
    /// The gain does not pay for the move.
    pub gain: u64,
    /// No time left for moving in this window.
    pub budget: u64,
    /// No room on the node.
    pub room: u64,
    /// The node or the process is out of bounds.
    pub barred: u64,
}

/// Where accesses went, weighted by samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Locality {
    /// Weight of all evidence on pages whose place was known.
    pub weight: u64,
    /// Of it, on pages of the node that used them.
    pub local: u64,
    /// What the model charges for all of it, in the machine's unit.
    pub cost: TotalCost,
}

impl Locality {
    /// Share that is local, 0 to 1; 1 if there is no evidence.
    pub fn share(&self) -> f64 {
        if self.weight == 0 { 1.0 } else { self.local as f64 / self.weight as f64 }
    }
    /// What the model charges for one unit of evidence on average; 0 if there is none.
    pub fn mean_cost(&self) -> f64 {
        if self.weight == 0 { 0.0 } else { self.cost.as_f64() / self.weight as f64 }
    }
    /// Adds other accesses.
    pub fn add(&mut self, other: &Locality) {
        self.weight += other.weight;
        self.local += other.local;
        self.cost += other.cost;
    }
}

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Windows decided.
    pub windows: u64,
    /// Windows since the last move.
    pub calm_windows: u64,
    /// Pages looked at, window by window.
    pub looked_at: u64,
    /// Used pages not looked at for lack of time.
    pub passed_over: u64,
    /// Candidates not carried out.
    pub held: RejectedCandidates,
    /// Moves confirmed (a huge page counts once).
    pub moves: u64,
    /// Small pages in them.
    pub moved_pages: u64,
    /// Small pages by (from, to).
    #[serde(skip)]
    pub matrix: BTreeMap<(NodeId, NodeId), u64>,
    /// Moves refused, by reason.
    #[serde(skip)]
    pub refused: BTreeMap<MoveRefusal, u64>,
    /// Pages that somebody else moved (the kernel's balancing, the program itself).
    pub moved_by_others: u64,
    /// Pages frozen so far.
    pub freezes: u64,
    /// Highest level of back-off of any node so far.
    pub worst_backoff: u32,
    /// Nanoseconds of processor time for looking and deciding.
    pub deciding_ns: u64,
    /// Nanoseconds for moving.
    pub moving_ns: u64,
    /// Sum over moves of what a window was expected to cost less, in the machine's unit.
    pub expected_gain: TotalCost,
    /// Evidence of the windows before the first move.
    pub before: Locality,
    #[serde(skip)]
    recent: VecDeque<Locality>,
}

impl Stats {
    /// Evidence of the last windows, at most eight.
    pub fn now(&self) -> Locality {
        let mut sum = Locality::default();
        self.recent.iter().for_each(|l| sum.add(l));
        sum
    }
    /// How many windows [`Stats::now`] covers.
    pub fn recent_windows(&self) -> usize {
        self.recent.len()
    }
    /// Evidence of a window, as its pages lay before it was decided.
    pub(super) fn saw(&mut self, window: Locality) {
        if self.moves == 0 {
            self.before.add(&window);
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(window);
    }
    pub(super) fn moved(&mut self, candidate: &MigrationCandidate) {
        self.moves += 1;
        self.moved_pages += u64::from(candidate.pages);
        *self.matrix.entry((candidate.from, candidate.to)).or_default() += u64::from(candidate.pages);
        self.expected_gain += homenode_base::Cost(candidate.gain);
    }
}
