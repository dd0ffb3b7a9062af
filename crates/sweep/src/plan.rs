//! How a replay is divided into units.
use crate::resolved::ResolvedStudy;
use crate::store::ResultStore;
use crate::task::Unit;
use homenode_command::Failure;
use homenode_study::Partition;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Records of a group, in 32-bit words: at least this many make a unit worth starting, and no more than that should be lost
/// with one.
const GROUP_WORDS: Range<u64> = 1 << 18..1 << 25;
/// Groups that a replay has if it is neither small nor large.
const GROUPS: u64 = 16;
/// Groups of a sampled replay: intervals are drawn from them, so there must be enough, however little is in each.
const GROUPS_SAMPLED: u64 = 64;
/// Rows that one unit answers, at most.
const UNIT_ROWS: u128 = 100_000;
/// Machines of one unit, at most.
const UNIT_MACHINES: u128 = 4096;

/// How a partition is divided; written when it is whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// Digest of the study.
    study: String,
    /// Regions of each group.
    pub(crate) groups: Vec<Range<usize>>,
    /// Seconds that the partition took.
    pub(crate) seconds: f64,
}

impl Plan {
    pub(crate) fn new(study: &str, partition: &Partition, sampled: bool, seconds: f64) -> Plan {
        let weights: Vec<u64> = (0..partition.regions()).map(|r| partition.weight(r)).collect();
        Plan { study: study.to_owned(), groups: groups(&weights, sampled), seconds }
    }

    /// The plan of a replay, if its partition was made.
    pub(crate) fn read(store: &ResultStore, study: &str, replay: usize) -> Option<Plan> {
        store.get(&name(replay)).filter(|p: &Plan| p.study == study && !p.groups.is_empty())
    }

    pub(crate) fn write(&self, store: &ResultStore, replay: usize) -> Result<(), Failure> {
        store.put(&name(replay), self)
    }

    /// All units of a replay with this plan, in the order in which their answers are added.
    pub(crate) fn units(&self, replay: usize, batches: usize) -> impl Iterator<Item = Unit> + use<> {
        let groups = self.groups.len();
        (0..batches).flat_map(move |batch| (0..groups).map(move |group| Unit { replay, group, batch }))
    }
}

fn name(replay: usize) -> String {
    format!("plan-{replay}.json")
}

/// Neighbouring regions together, so that groups are of about the same weight. At least one group, if an empty one. It
/// depends on the partition alone, so that an interrupted sweep finds the same groups again.
fn groups(weights: &[u64], sampled: bool) -> Vec<Range<usize>> {
    let total: u64 = weights.iter().sum();
    let wanted = if sampled {
        (total / GROUPS_SAMPLED).max(1)
    } else {
        (total / GROUPS).clamp(GROUP_WORDS.start, GROUP_WORDS.end)
    };
    let (mut groups, mut begin, mut weight) = (Vec::new(), 0, 0);
    for (i, w) in weights.iter().enumerate() {
        weight += w;
        if weight >= wanted {
            groups.push(begin..i + 1);
            (begin, weight) = (i + 1, 0);
        }
    }
    if begin < weights.len() || groups.is_empty() {
        groups.push(begin..weights.len());
    }
    groups
}

/// Numbers of the machines of each batch.
pub(crate) fn batches(resolved: &ResolvedStudy) -> Vec<Range<u128>> {
    let study = &resolved.study;
    let replays = (study.traces.len() * study.replays_each()) as u128;
    let (machines, points) = (study.machine_count(), study.points());
    let rows_each = (points / replays.max(1) / machines.max(1)).max(1);
    let size = (UNIT_ROWS / rows_each).clamp(1, UNIT_MACHINES);
    (0..machines.div_ceil(size)).map(|b| b * size..((b + 1) * size).min(machines)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cover_all_regions_once_and_are_about_equal() {
        for (weights, sampled) in [
            (vec![], false),
            (vec![0; 5], false),
            (vec![1 << 18; 1000], false),
            (vec![1 << 27, 1, 1, 1], false),
            ((0..500).map(|i| i % 7).collect(), true),
        ] {
            let groups = groups(&weights, sampled);
            assert_eq!(groups.first().map(|g| g.start), Some(0));
            assert_eq!(groups.last().map(|g| g.end), Some(weights.len()));
            assert!(groups.windows(2).all(|g| g[0].end == g[1].start));
            assert!(groups.len() <= if sampled { 65 } else { 17 }, "{}", groups.len());
        }
        assert_eq!(groups(&vec![1 << 18; 1000], false).len(), 16);
    }
}
