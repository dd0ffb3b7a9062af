//! Objects whose lines travel between caches although no processor needs what another wrote.
use super::apart;
use super::fought::{Fought, Used, blame, gather, used};
use super::stride::{Elements, Owned, dealt, infer};
use super::{at_least, phrases};
use crate::candidate::Candidate;
use crate::names::Names;
use crate::parts::{Object, Parts};
use crate::rows::FindingKind;
use crate::transform::Transform;
use homenode_base::TotalCost;
use std::collections::BTreeMap;

/// Part of the program's cost that transfers for nothing must be.
const PROGRAM_PERCENT: i128 = 1;
/// Writes to words with one owner, of all writes: only then are there borders between owners.
const OWNED_PERCENT: u64 = 80;
/// A word written so many times less often than another of its line makes no border.
const SELDOM: u64 = 16;
/// Fewer transfers are chance, not a fight.
const TRANSFERS_MIN: u64 = 32;

/// More elements than this are not padded to several times their size if there is another way.
const MANY: u64 = 64;

/// A remedy and how to say it.
type Change = (String, Transform);

/// All cases, for each the remedies worth a try, the smallest change first.
pub(super) fn find(parts: &Parts<'_>, objects: &[Object], names: &dyn Names, total: TotalCost) -> Vec<Candidate> {
    gather(parts, objects, total).iter().flat_map(|case| of_case(case, parts, names, total)).collect()
}

fn of_case(case: &Fought<'_>, parts: &Parts<'_>, names: &dyn Names, total: TotalCost) -> Vec<Candidate> {
    if case.transfers() < TRANSFERS_MIN || !at_least(case.useless_cost(), PROGRAM_PERCENT, total) {
        return Vec::new();
    }
    let words = used(case, parts, names);
    let changes = changes(case, &words, parts, names);
    if changes.is_empty() {
        return Vec::new();
    }
    let sites = blame(&case.lines, names, |w| w.writes > 0 && case.has(w.object));
    let main = case.objects[0];
    let mut places: Vec<String> = case.objects.iter().filter_map(|o| o.name.place.clone()).collect();
    places.dedup();
    places.extend(
        phrases::places(&main.name, &phrases::sites(&sites))
            .into_iter()
            .filter(|p| Some(p) != main.name.place.as_ref()),
    );
    let sentence = sentence(case, &words, parts, &phrases::at(&sites));
    let estimate = estimate(case, parts);
    let candidate = |(advice, remedy): Change| Candidate {
        kind: FindingKind::FalseSharing,
        object: main.id,
        name: main.row.name.clone(),
        places: places.clone(),
        sentence: sentence.clone(),
        advice,
        remedy,
        estimate,
    };
    changes.into_iter().map(candidate).collect()
}

/// What could be saved at most; where lines were not watched, everything that travelled for the objects.
fn estimate(case: &Fought<'_>, parts: &Parts<'_>) -> TotalCost {
    let all: TotalCost = case.objects.iter().map(|o| o.row.transfer_cost).sum();
    if parts.transfers.pruned { all } else { case.estimate() }
}

/// Whether a word is written about as often as others of its line: a tag that is set now and then makes no border.
fn is_hot(used: &Used<'_>) -> bool {
    let most = used.line.words.iter().map(|w| w.writes).max().unwrap_or(0);
    used.word.writes > 0 && used.word.writes * SELDOM >= most
}

/// Words with one owner that are written, by allocation; and their percentage of all writes.
fn owned(words: &[Used<'_>]) -> (Vec<Owned>, u64) {
    let (mut all_writes, mut owned_writes) = (0, 0);
    let mut found: BTreeMap<(u32, u64), Owned> = BTreeMap::new();
    for used in words.iter().filter(|u| is_hot(u)) {
        all_writes += used.word.writes;
        let Some(owner) = used.owner() else { continue };
        owned_writes += used.word.writes;
        let entry = found.entry((used.object, used.start)).or_insert(Owned {
            start: used.start,
            bytes: used.size,
            words: Vec::new(),
        });
        entry.words.push((used.addr.saturating_sub(used.start), owner));
        if used.size == 0 {
            // Memory of unknown extent reaches at least to its last word.
            entry.bytes = entry.bytes.max(used.addr + used.bytes - used.start);
        }
    }
    (found.into_values().collect(), owned_writes * 100 / all_writes.max(1))
}

/// What could be changed, the smallest change first.
fn changes(case: &Fought<'_>, words: &[Used<'_>], parts: &Parts<'_>, names: &dyn Names) -> Vec<Change> {
    let line_bytes = parts.unit_bytes();
    let (owned, percent) = owned(words);
    let mut out = Vec::new();
    if percent >= OWNED_PERCENT {
        let grain = words.iter().map(|u| u.addr | u.bytes).fold(0, |a, b| a | b);
        match infer(&owned, 1 << grain.trailing_zeros().min(3)) {
            Some(elements) => of_elements(case, words, &owned, &elements, line_bytes, &mut out),
            None => out.extend(apart::allocations(case, words, line_bytes)),
        }
    }
    let enough = !out.is_empty();
    out.extend(apart::users(case, words, line_bytes, names, enough));
    out
}

/// An array whose elements have different owners.
fn of_elements(
    case: &Fought<'_>,
    words: &[Used<'_>],
    owned: &[Owned],
    elements: &Elements,
    line_bytes: u64,
    out: &mut Vec<Change>,
) {
    let name = phrases::names(case);
    let (arrays, bytes) = (elements.arrays.clone(), elements.bytes);
    let to_bytes = bytes.next_multiple_of(line_bytes);
    let count: u64 = arrays.iter().map(|a| a.1).sum();
    let pad = Transform::PadElements { arrays, element_bytes: bytes, to_bytes };
    if to_bytes == bytes {
        let advice = format!(
            "Align {name} to {line_bytes} bytes: its elements of {bytes} bytes are whole lines in size, but begin inside of \
             lines ({} bytes where processors fetch lines in pairs).",
            2 * line_bytes,
        );
        return out.push((advice, pad));
    }
    // Padding of many small elements would make the array several times as large.
    let is_small = count > MANY && to_bytes > 2 * bytes;
    if let Some(arrays) = dealt(owned, elements) {
        let advice = format!(
            "Give each thread one contiguous block of {name}, beginning at a multiple of {line_bytes} bytes: now elements of \
             {} are dealt out in turn, {} to a round (if these are fields of a structure, split it: an array for each).",
            phrases::bytes(bytes),
            arrays.iter().map(|a| a.owners.len()).max().unwrap_or(0),
        );
        let arrays = arrays.into_iter().map(|a| (a.array, a.owners)).collect();
        out.push((advice, Transform::DealBlocks { arrays, element_bytes: bytes, line_bytes }));
    } else if let Some(remedy) = apart::scattered(words, owned, line_bytes) {
        let advice = format!(
            "Let each thread have one contiguous block of {name}, beginning at a multiple of {line_bytes} bytes: now what \
             different threads write lies mixed."
        );
        out.push((advice, remedy));
    }
    if !is_small || out.is_empty() {
        out.push((padding(&name, bytes, to_bytes, line_bytes), pad));
    }
}

fn padding(name: &str, bytes: u64, to_bytes: u64, line_bytes: u64) -> String {
    if bytes > line_bytes {
        return format!(
            "Let the part of each thread in {name} begin at a multiple of {line_bytes} bytes (parts of {bytes} bytes now)."
        );
    }
    format!(
        "Pad the {bytes}-byte elements of {name} to {to_bytes} bytes and align it, so that each thread has cache lines of \
         its own ({} bytes where processors fetch lines in pairs).",
        2 * to_bytes,
    )
}

fn sentence(case: &Fought<'_>, words: &[Used<'_>], parts: &Parts<'_>, at: &str) -> String {
    let count = match (case.lines.len(), parts.transfers.pruned) {
        (1, _) => "the same cache line".to_owned(),
        (n, false) => format!("the same {n} cache lines"),
        (n, true) => format!("the same cache lines ({n} of them watched)"),
    };
    let objects: Vec<String> = case.objects.iter().take(3).map(|o| phrases::object(&o.name)).collect();
    let more = case.objects.len().saturating_sub(objects.len());
    let objects = if more > 0 { format!("{} and {more} more", objects.join(", ")) } else { phrases::list(&objects) };
    let verb = if case.objects.len() == 1 { "is" } else { "are" };
    let locks = if words.iter().any(|u| u.word.lock) { " (locks among them)" } else { "" };
    format!(
        "{objects} {verb} falsely shared: {} use different words{locks} of {count} of {} bytes{at}, which went from cache to \
         cache {} times, {} of them for nothing.",
        phrases::threads(&case.threads()),
        parts.unit_bytes(),
        case.transfers(),
        case.useless(),
    )
}
