//! Remedies that move bytes of different users apart: allocations that meet in a line, fields written beside fields read,
//! and owners that lie mixed.
use super::fought::{Fought, Used};
use super::phrases;
use super::stride::Owned;
use crate::names::Names;
use crate::transform::{Part, Transform};
use std::collections::{BTreeMap, BTreeSet};

/// Larger changes are not replayed.
const PARTS_MAX: usize = 1 << 20;
/// Words that several write, at most, in a case that is cured by moving them.
const SHARED_MAX: usize = 32;

/// Lines of their own for allocations that meet in lines; `None` if no two do.
pub(super) fn allocations(case: &Fought<'_>, words: &[Used<'_>], line_bytes: u64) -> Option<(String, Transform)> {
    let mut found: BTreeMap<u64, u64> = BTreeMap::new();
    let mut by_line: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for used in words.iter().filter(|u| u.size > 0) {
        found.insert(used.start, used.size);
        by_line.entry(used.line.unit).or_default().insert(used.start);
    }
    let meet: BTreeSet<u64> = by_line.into_values().filter(|starts| starts.len() > 1).flatten().collect();
    found.retain(|start, _| meet.contains(start));
    if found.len() < 2 || found.len() > PARTS_MAX {
        return None;
    }
    let several = case.objects.len() > 1;
    let parts = found.iter().zip(0..).map(|((&addr, &bytes), group)| Part { addr, bytes, group }).collect();
    let names = phrases::names(case);
    let advice = if several {
        format!(
            "Give each of {names} cache lines of its own: align them to {line_bytes} bytes, or put what one thread uses \
             together."
        )
    } else {
        let sizes: BTreeSet<u64> = found.values().copied().collect();
        let size = sizes.last().map_or(0, |s| s.next_multiple_of(line_bytes));
        format!(
            "Give each allocation of {names} cache lines of its own: align it to {line_bytes} bytes and round its size up to \
             {size} ({} where processors fetch lines in pairs).",
            2 * size,
        )
    };
    Some((advice, Transform::Regroup { parts, line_bytes }))
}

/// Who uses a word: its owner, or else a set of processors.
fn users_of(used: &Used<'_>) -> Option<BTreeSet<u32>> {
    if let Some(owner) = used.owner().filter(|_| used.word.writes > 0) {
        return Some([owner].into());
    }
    if used.word.writes == 0 {
        return None;
    }
    let users = used.line.users.iter().enumerate().filter(|(i, _)| used.word.users >> (*i).min(63) & 1 == 1);
    Some(users.map(|(_, u)| u.cpu).collect())
}

/// Sets of users that have a common one become one set; single owners stay by themselves.
fn merge(sets: &mut Vec<BTreeSet<u32>>, set: &BTreeSet<u32>) {
    let mut all = set.clone();
    while let Some(i) = sets.iter().position(|s| !s.is_disjoint(&all)) {
        all.extend(sets.swap_remove(i));
    }
    sets.push(all);
}

/// What is written moves away from what is only read, and what different processors write from each other. If there is a
/// remedy for what has one owner already (`enough`), only where other words are concerned.
pub(super) fn users(
    case: &Fought<'_>,
    words: &[Used<'_>],
    line_bytes: u64,
    names: &dyn Names,
    enough: bool,
) -> Option<(String, Transform)> {
    if words.len() > PARTS_MAX {
        return None;
    }
    let mut shared: Vec<BTreeSet<u32>> = Vec::new();
    for set in words.iter().filter_map(users_of).filter(|s| s.len() > 1) {
        merge(&mut shared, &set);
    }
    let mut groups: BTreeMap<BTreeSet<u32>, u32> = BTreeMap::new();
    let mut parts = Vec::new();
    let (mut moved, mut left): (Vec<&Used<'_>>, Vec<&Used<'_>>) = (Vec::new(), Vec::new());
    let mut kinds: BTreeSet<Option<u32>> = BTreeSet::new();
    for used in words {
        let group = users_of(used).map(|set| {
            let set = match set.len() {
                0 | 1 => set,
                _ => shared.iter().find(|s| s.is_superset(&set)).cloned().unwrap_or(set),
            };
            let next = groups.len() as u32;
            *groups.entry(set).or_insert(next)
        });
        kinds.insert(group);
        match group {
            Some(group) => {
                parts.push(Part { addr: used.addr, bytes: used.bytes, group });
                moved.push(used);
            }
            None => left.push(used),
        }
    }
    // Lines of their own for a counter or a lock that all use: yes. For the values of a hash table: no line has one user.
    let shared_words = moved.iter().filter(|u| users_of(u).is_some_and(|s| s.len() > 1)).count();
    let only_owned = left.is_empty() && shared.is_empty();
    if kinds.len() < 2 || parts.is_empty() || shared_words > SHARED_MAX || (enough && only_owned) {
        return None;
    }
    let advice = match left.is_empty() {
        true => format!(
            "Put what different threads write in {} on cache lines of its own: {}.",
            phrases::names(case),
            phrases::fields(&moved, names),
        ),
        false => format!(
            "Move what is written ({}) away from what others only read ({}): cache lines of its own, aligned to {line_bytes} \
             bytes{}.",
            phrases::fields(&moved, names),
            phrases::fields(&left, names),
            if groups.len() > 1 { ", for each thread that writes" } else { "" },
        ),
    };
    Some((advice, Transform::Regroup { parts, line_bytes }))
}

/// One block for each owner, word by word: where no rule says which elements are whose. `None` if owners do not lie mixed.
pub(super) fn scattered(words: &[Used<'_>], owned: &[Owned], line_bytes: u64) -> Option<Transform> {
    let mixed = |o: &&Owned| {
        let runs = 1 + o.words.windows(2).filter(|w| w[0].1 != w[1].1).count();
        let owners: BTreeSet<u32> = o.words.iter().map(|w| w.1).collect();
        runs >= 3 * owners.len()
    };
    if words.len() > PARTS_MAX || !owned.iter().filter(|o| o.is_divided()).all(|o| mixed(&o)) {
        return None;
    }
    let part = |u: &Used<'_>| Some(Part { addr: u.addr, bytes: u.bytes, group: u.owner()? });
    let parts = words.iter().filter(|u| u.word.writes > 0).filter_map(part).collect();
    Some(Transform::Regroup { parts, line_bytes })
}
