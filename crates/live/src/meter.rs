//! Where accesses went: each sample with the place of its page as it is at that moment, before anybody moves it.
//!
//! Samples that weigh by references or by processor time say how often memory was used by whom; hinting faults do not, and
//! nothing is metered by them.
use crate::evidence::Evidence;
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Location, Machine, Topology};
use homenode_migrate::{At, where_are};
use homenode_placement::live::Locality;
use homenode_sampling::RawSample;
use homenode_trace::{Op, SampleUnit};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long ago "now" begins.
pub(crate) const RECENT: Duration = Duration::from_secs(10);
/// Pages asked about at once at most: of more samples an even share stands for all.
const ASKED_AT_ONCE: usize = 256;
/// Samples older than this when others come are not asked about.
const FRESH_NS: u64 = 40_000_000;
/// Samples older than this when others come are not asked about while nothing moves.
const CALM_FRESH_NS: u64 = 250_000_000;

/// At which moment samples are metered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    /// By the loop's clock.
    pub(crate) now: Duration,
    /// The loop has moved some pages before.
    pub(crate) moved: bool,
    /// Nothing has been to do for a while.
    pub(crate) calm: bool,
}

/// Sums.
pub(crate) struct Meter {
    os_ids: Vec<u32>,
    /// Whether the samples say how often memory is used.
    weighs: bool,
    sums: Sums,
}

/// What was metered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    /// From beginning to end.
    pub(crate) whole: Locality,
    /// Before the loop's first move.
    pub(crate) before: Locality,
    recent: VecDeque<(Duration, Locality)>,
}

impl Sums {
    /// Of the last [`RECENT`].
    pub(crate) fn now(&self) -> Locality {
        let mut sum = Locality::default();
        self.recent.iter().for_each(|(_, l)| sum.add(l));
        sum
    }
    /// Seconds that [`Sums::now`] covers.
    pub(crate) fn recent_seconds(&self) -> f64 {
        let ends = self.recent.front().zip(self.recent.back());
        ends.map_or(0.0, |((first, _), (last, _))| (*last - *first).as_secs_f64())
    }
    fn add(&mut self, now: Duration, seen: &Locality, moved: bool) {
        self.whole.add(seen);
        if !moved {
            self.before.add(seen);
        }
        self.recent.push_back((now, *seen));
        while self.recent.front().is_some_and(|(at, _)| now - *at > RECENT) {
            self.recent.pop_front();
        }
    }
}

impl Meter {
    pub(crate) fn new(topology: &Topology, unit: SampleUnit) -> Meter {
        let os_ids = topology.nodes.iter().map(|n| n.os_id).collect();
        Meter { os_ids, weighs: unit != SampleUnit::Window, sums: Sums::default() }
    }

    /// Asks where these samples' pages are.
    pub(crate) fn add(&mut self, samples: &[RawSample], evidence: &mut Evidence, machine: &Machine, when: When) {
        if !self.weighs || samples.is_empty() {
            return;
        }
        let usable: Vec<(NodeId, &RawSample)> = samples.iter().filter_map(|s| Some((evidence.usable(s)?, s))).collect();
        let all: u64 = usable.iter().map(|(_, s)| u64::from(s.weight)).sum();
        let asked = fresh(usable, if when.calm { CALM_FRESH_NS } else { FRESH_NS });
        let weight = asked.iter().map(|(_, s)| u64::from(s.weight)).sum::<u64>().max(1);
        let mut spaces: BTreeMap<u32, Vec<(NodeId, &RawSample)>> = BTreeMap::new();
        asked.into_iter().for_each(|(node, s)| spaces.entry(s.pid).or_default().push((node, s)));
        let mut sum = Locality::default();
        for (pid, used) in spaces {
            let addresses: Vec<u64> = used.iter().map(|(_, s)| s.addr).collect();
            // A process that has ended has no pages to ask about.
            let Ok(found) = where_are(pid, &addresses) else { continue };
            for ((node, sample), at) in used.iter().zip(found) {
                let home = At::node(at).and_then(|os| self.os_ids.iter().position(|n| *n == os));
                let Some(home) = home.map(|i| NodeId(i as u16)) else { continue };
                let stands_for = u128::from(sample.weight) * u128::from(all) / u128::from(weight);
                sum.add(&seen(machine, sample.op, *node, home, u64::try_from(stands_for).unwrap_or(u64::MAX)));
            }
        }
        self.sums.add(when.now, &sum, when.moved);
    }

    pub(crate) fn sums(self) -> Sums {
        self.sums
    }
}

/// The youngest samples, at most `ns` older than the last, which stand for all: pages may have moved since older ones.
fn fresh(mut samples: Vec<(NodeId, &RawSample)>, ns: u64) -> Vec<(NodeId, &RawSample)> {
    let newest = samples.iter().map(|(_, s)| s.time_ns).max().unwrap_or(0);
    samples.retain(|(_, s)| newest - s.time_ns <= ns);
    let every = samples.len().div_ceil(ASKED_AT_ONCE).max(1);
    samples.into_iter().step_by(every).collect()
}

/// An access from `node` to memory on `home`, so many times.
fn seen(machine: &Machine, op: Op, node: NodeId, home: NodeId, weight: u64) -> Locality {
    let class = if op == Op::Read { AccessClass::Read } else { AccessClass::Write };
    let cost = machine.access(class, node, Location::Node(home)).times(weight);
    Locality { weight, local: if node == home { weight } else { 0 }, cost }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(local: u64) -> Locality {
        Locality { weight: 100, local, ..Locality::default() }
    }

    #[test]
    fn the_youngest_stand_for_all() {
        let sample = |time_ns| RawSample {
            time_ns,
            pid: 1,
            tid: 1,
            cpu: Some(0),
            ip: 0,
            addr: 0,
            size: 1,
            op: Op::Read,
            weight: 1,
            latency_cycles: None,
            source: homenode_trace::DataSource::Unknown,
        };
        let all: Vec<RawSample> = (0..1000).map(|i| sample(i * 1_000_000)).collect();
        let chosen = fresh(all.iter().map(|s| (NodeId(0), s)).collect(), FRESH_NS);
        assert_eq!(fresh(all.iter().map(|s| (NodeId(0), s)).collect(), CALM_FRESH_NS).len(), 251);
        assert_eq!((chosen.len(), chosen[0].1.time_ns), (41, 959_000_000));
        let many: Vec<RawSample> = (0..1000).map(sample).collect();
        assert_eq!(fresh(many.iter().map(|s| (NodeId(0), s)).collect(), FRESH_NS).len(), 250);
        assert!(fresh(Vec::new(), FRESH_NS).is_empty());
    }

    #[test]
    fn the_whole_the_beginning_and_the_last_seconds_are_kept_apart() {
        let mut sums = Sums::default();
        for second in 0..60 {
            let now = Duration::from_secs(second);
            sums.add(now, &share(if second < 30 { 25 } else { 95 }), second >= 15);
        }
        assert!((sums.whole.share() - 0.60).abs() < 1e-9, "{:?}", sums.whole);
        assert!((sums.before.share() - 0.25).abs() < 1e-9 && (sums.now().share() - 0.95).abs() < 1e-9);
        assert_eq!((sums.before.weight, sums.now().weight, sums.recent_seconds()), (1500, 1100, 10.0));
        assert_eq!((Sums::default().now().weight, Sums::default().recent_seconds()), (0, 0.0));
    }
}
