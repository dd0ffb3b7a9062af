//! Which rounds are waits. Short ones that change nothing hardly do work; a long one may: sixteen values of a table looked
//! at in turn, each under a lock, and added up in a register. A wait has something that it looks at again and again within
//! the round and that another thread changes.
use super::node::{Kind, Node};
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::EventKind;
use crate::frame::DecodedFrame;
use hashbrown::{HashMap, HashSet};
use homenode_base::spaces::View;
use std::ops::Range;

/// Rounds of more nodes are long.
pub(super) const SHORT_MAX: usize = 8;
/// What is looked at again and again is looked at in one of so many steps, at least: as often as the round does the same thing
/// at all.
const OF_STEPS: usize = 2;

/// Which code refers to what, in this order; 0 for nothing.
pub(super) fn hash(nodes: &[Node]) -> u64 {
    nodes.iter().fold(0, |h, n| (h ^ n.pc).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n.addr.rotate_left(32) ^ 1)
}

/// Whether nodes change nothing and wait for something: an atomic or volatile read, or a plain one with a lock taken before it that is given
/// back.
pub(super) fn is_round(nodes: &[Node]) -> bool {
    let taken = |upto: usize, addr: u64| {
        nodes[..upto].iter().any(|n| matches!(n.kind, Kind::Lock | Kind::Modify | Kind::Poll) && n.addr == addr)
    };
    let given = |from: usize, addr: u64| {
        nodes[from..].iter().any(|n| matches!(n.kind, Kind::Store | Kind::Unlock) && n.addr == addr)
    };
    let mut waits = false;
    for (i, n) in nodes.iter().enumerate() {
        match n.kind {
            Kind::Other => return false,
            Kind::Store | Kind::Unlock if !taken(i, n.addr) => return false,
            Kind::Lock | Kind::Modify if !given(i, n.addr) => return false,
            Kind::Poll => waits |= !given(i, n.addr),
            Kind::Read => waits |= nodes[..i].iter().any(|l| matches!(l.kind, Kind::Lock | Kind::Modify | Kind::Poll)),
            _ => {}
        }
    }
    waits
}

/// A part of memory that one flag fits into, in an address space.
pub(super) type Word = (u32, u64);

pub(super) fn word(view: View<'_>, addr: u64) -> Word {
    let (space, addr) = if view.is_plain() { (view.space(), addr) } else { view.locate(addr) };
    (space, addr / 8)
}

/// What a round looks at again and again, its locks apart.
pub(super) fn looked_at(round: &[Node]) -> HashSet<u64> {
    let given: HashSet<u64> =
        round.iter().filter(|n| matches!(n.kind, Kind::Store | Kind::Unlock)).map(|n| n.addr).collect();
    let mut counts: HashMap<(u64, u64), usize> = HashMap::new();
    round.iter().for_each(|n| *counts.entry((n.pc, n.addr)).or_default() += 1);
    let steps = counts.values().copied().max().unwrap_or(0);
    let reads = round.iter().filter(move |n| matches!(n.kind, Kind::Read | Kind::Poll) && !given.contains(&n.addr));
    let often = |n: &&Node| counts[&(n.pc, n.addr)] > 1 && counts[&(n.pc, n.addr)] * OF_STEPS >= steps;
    reads.filter(often).map(|n| n.addr).collect()
}

/// Who writes to each of these words while there are other threads: its only writer, or [`SEVERAL`].
pub(super) fn writers(data: &DatasetReader, words: &HashSet<Word>) -> Result<HashMap<Word, u32>, TraceError> {
    let mut found = HashMap::new();
    let (mut bytes, mut frame) = (Vec::new(), DecodedFrame::default());
    for thread in 0..data.threads() {
        let view = data.view(thread);
        let mut events = data.thread_events(thread);
        let alone = events.find(|e| matches!(e.kind, EventKind::Spawn { .. })).map_or(0, |e| e.at);
        for n in 0..data.frames(thread).len() {
            data.read_frame(thread, n, &mut bytes, &mut frame)?;
            for (i, addr) in frame.addr.iter().enumerate() {
                let writes = frame.keys[usize::from(frame.key[i])].op.writes();
                if writes && frame.first_ref + i as u64 >= alone && words.contains(&word(view, *addr)) {
                    let by = found.entry(word(view, *addr)).or_insert(thread);
                    *by = if *by == thread { thread } else { SEVERAL };
                }
            }
        }
    }
    Ok(found)
}

/// Not the number of a thread.
const SEVERAL: u32 = u32::MAX;

/// Adds a range that begins no earlier than the last one.
pub(super) fn add(zones: &mut Vec<Range<u64>>, zone: Range<u64>) {
    match zones.last_mut() {
        Some(last) if zone.start <= last.end => last.end = last.end.max(zone.end),
        _ => zones.push(zone),
    }
}
