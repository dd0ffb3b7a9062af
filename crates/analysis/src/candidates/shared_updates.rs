//! Objects that many processors add to: counters, sums and histograms, which each could have for itself.
use super::fought::blame;
use super::{at_least, phrases};
use crate::candidate::Candidate;
use crate::names::{Names, UNKNOWN_OBJECT, extent};
use crate::parts::{Object, Parts};
use crate::rows::FindingKind;
use crate::transform::Transform;
use crate::watched::Line;
use homenode_base::TotalCost;

/// Part of the object's transfer cost, and of the program's, that such lines must make.
const OBJECT_PERCENT: i128 = 60;
const PROGRAM_PERCENT: i128 = 2;
/// One reference in so many may be another than reading and writing back.
const OTHERS: u64 = 64;
/// Fewer writes of a line are chance.
const WRITES_MIN: u64 = 16;
/// Copies of larger objects would be a burden.
const BYTES_MAX: u64 = 1 << 22;

/// Whether several processors write this line and each of them only ever adds to what it reads, in one atomic step or under
/// a lock: elements of a pool, a free list or a queue are read and written back by many, too, but by one at a time, to
/// whom they were handed.
pub(crate) fn is_sum(line: &Line) -> bool {
    if !line.is_guarded() {
        return false;
    }
    let (mut reads, mut writes, mut others) = (0, 0, 0);
    for w in &line.words {
        if w.lock {
            return false;
        }
        reads += w.reads;
        writes += w.writes;
        others += w.blind + w.looks;
    }
    let shared = line.words.iter().any(|w| w.owner().is_none() && w.writers.count_ones() > 1);
    shared && writes >= WRITES_MIN && others * OTHERS <= writes && reads <= writes + writes / OTHERS
}

pub(super) fn find(parts: &Parts<'_>, object: &Object, names: &dyn Names, total: TotalCost) -> Option<Candidate> {
    if object.id == UNKNOWN_OBJECT || object.name.bytes > BYTES_MAX {
        return None;
    }
    let lines: Vec<&Line> =
        parts.lines.iter().filter(|l| l.object == object.id && l.transfers > 1 && is_sum(l)).collect();
    let cost: TotalCost = lines.iter().map(|l| l.cost).sum();
    if !at_least(cost, OBJECT_PERCENT, object.row.transfer_cost) || !at_least(cost, PROGRAM_PERCENT, total) {
        return None;
    }
    let (unit, each) = (parts.unit_bytes(), parts.word_bytes());
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for line in &lines {
        for w in line.words.iter().filter(|w| w.object == object.id) {
            let addr = line.unit * unit + u64::from(w.from) * each;
            ranges.push(extent(names, object.id, addr).unwrap_or((addr, u64::from(w.len) * each)));
        }
    }
    ranges.sort_unstable();
    ranges.dedup();
    let sites = blame(&lines, names, |_| true);
    let mut threads: Vec<u32> = lines.iter().flat_map(|l| l.users.iter().flat_map(|u| u.threads.clone())).collect();
    threads.sort_unstable();
    threads.dedup();
    let transfers: u64 = lines.iter().map(|l| l.transfers).sum();
    let name = &object.row.name;
    Some(Candidate {
        kind: FindingKind::SharedUpdates,
        object: object.id,
        name: name.clone(),
        places: phrases::places(&object.name, &phrases::sites(&sites)),
        sentence: format!(
            "{} is truly shared: {} update the same bytes of it{}, and its lines went from cache to cache {transfers} times; \
             each update reads and writes back, and hardly anything only reads.",
            phrases::object(&object.name),
            phrases::threads(&threads),
            phrases::at(&sites),
        ),
        advice: format!(
            "If `{name}` is a sum (a counter, a histogram) that is read at the end, give each thread a copy of its own, on \
             cache lines of its own, and add the copies up at the end; if each update needs the value it finds (tickets, \
             positions in a queue), take several at a time instead."
        ),
        remedy: Transform::CopyPerProcessor { ranges },
        estimate: cost,
    })
}
