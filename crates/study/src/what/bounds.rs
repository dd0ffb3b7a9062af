//! Bounds that no policy of their kind goes below.
use super::Family;

pub(super) const BEST_STATIC: u32 = 0;
pub(super) const WITHOUT_REPLICATION: u32 = 1;
pub(super) const WITH_REPLICATION: u32 = 2;

/// Keys and words, by member.
const NAMES: [(&str, &str); 3] = [
    ("optimum-static", "best static"),
    ("optimum-without-replication", "optimum without replication"),
    ("optimum", "optimum with replication"),
];

pub(crate) static SPEC: Family = Family {
    name: "bounds",
    key: |_, member| NAMES.get(member as usize).map(|(key, _)| (*key).to_owned()),
    words: |_, member| NAMES.get(member as usize).map(|(_, words)| (*words).to_owned()),
};
