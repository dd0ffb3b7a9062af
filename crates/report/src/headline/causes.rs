//! What a program's memory cost is made of, as far as something could be done about it: what a better placement would
//! save, and what goes from cache to cache and why. What costs wherever pages live and whatever the layout (first
//! accesses, misses at the best home) is no cause.
use super::best_placement;
use crate::compare::share;
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{Finding, FindingKind, LineRow, ObjectRow, PolicyRow, TransferClass};

/// Source lines named for a cause.
const PLACES: usize = 3;

/// Fewer transfers of a class are what is handed over once, such as results at the end, unless a finding is about them.
pub(super) const FIGHT_MIN: u64 = 32;

/// What costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// Pages that live elsewhere than they should.
    Placement,
    /// Lines that travel for nothing.
    FalseSharing,
    /// Lines that travel because threads need what others wrote.
    TrueSharing,
    /// Lock words that are passed around.
    Locks,
    /// Lines that travel, too many to watch.
    Unwatched,
}

impl CauseKind {
    /// What a finding of this kind is about.
    pub fn of(kind: FindingKind) -> CauseKind {
        match kind {
            _ if kind.is_placement() => CauseKind::Placement,
            FindingKind::SharedUpdates => CauseKind::TrueSharing,
            _ => CauseKind::FalseSharing,
        }
    }
}

/// A cause with its cost under first touch and where most of it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What costs.
    pub kind: CauseKind,
    /// How much; of placement, what the best one known would save.
    pub cost: TotalCost,
    /// Object with the largest part of it, if known.
    pub object: Option<String>,
    /// That part.
    pub object_cost: TotalCost,
    /// Source lines of that object, dearest first.
    pub places: Vec<String>,
}

/// The causes that cost something, dearest first.
pub fn causes(e: &Evaluation, base: &PolicyRow) -> Vec<Cause> {
    let t = &e.transfer_breakdown;
    let mut all = vec![
        placement(e, base),
        transfers(e, CauseKind::FalseSharing, &t.falsely_shared),
        transfers(e, CauseKind::TrueSharing, &t.truly_shared),
        transfers(e, CauseKind::Locks, &t.locks),
        transfers(e, CauseKind::Unwatched, &t.unwatched),
    ];
    all.retain(|c| c.cost > TotalCost::ZERO);
    all.sort_by_key(|c| std::cmp::Reverse(c.cost));
    all
}

fn transfers(e: &Evaluation, kind: CauseKind, class: &TransferClass) -> Cause {
    let few = class.transfers < FIGHT_MIN && !e.findings.iter().any(|f| CauseKind::of(f.kind) == kind);
    Cause {
        kind,
        cost: if few { TotalCost::ZERO } else { class.cost },
        object: class.object.clone(),
        object_cost: class.object_cost,
        places: class.lines.iter().take(PLACES).map(|l| l.place.clone()).collect(),
    }
}

fn placement(e: &Evaluation, base: &PolicyRow) -> Cause {
    let gap = best_placement(e).map_or(TotalCost::ZERO, |best| base.total - best.total);
    let is_placement = |f: &&Finding| CauseKind::of(f.kind) == CauseKind::Placement;
    let alone = e.findings.iter().filter(is_placement).map(|f| f.saving).max();
    let together = e.predicted_all.filter(|_| e.findings.iter().all(|f| is_placement(&f))).map(|all| base.total - all);
    let found = alone.max(together);
    let gain = |o: &ObjectRow| o.cost - o.best_static;
    let object = e.objects.iter().max_by_key(|o| gain(o)).filter(|o| gain(o) > TotalCost::ZERO);
    let mut lines: Vec<&LineRow> = e
        .lines
        .iter()
        .filter(|l| object.is_some_and(|o| o.name == l.object) && l.remote_cost > TotalCost::ZERO)
        .collect();
    lines.sort_by_key(|l| std::cmp::Reverse(l.remote_cost));
    Cause {
        kind: CauseKind::Placement,
        cost: gap.max(found.unwrap_or(TotalCost::ZERO)),
        object: object.map(|o| o.name.clone()),
        object_cost: object.map_or(TotalCost::ZERO, gain),
        places: lines.iter().take(PLACES).map(|l| l.place.clone()).collect(),
    }
}

impl Cause {
    /// Part of the memory cost under first touch.
    pub fn share_of(&self, base: &PolicyRow) -> f64 {
        share(self.cost, base.total)
    }
}
