//! Objects whose lines travel between caches although no thread needs what another wrote.
use super::stride::{Elements, Owned, infer};
use super::{at_least, phrases};
use crate::candidate::{Candidate, Remedy};
use crate::detail::Line;
use crate::names::{Names, SiteName, UNKNOWN_OBJECT};
use crate::patterns::Pattern;
use crate::rows::FindingKind;
use crate::tables::{Object, Parts, extent, is_false, site_name};
use homenode_base::TotalCost;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Part of the object's transfer cost that must be false sharing, and of the program's cost.
const OBJECT_PERCENT: i128 = 50;
const PROGRAM_PERCENT: i128 = 1;
/// Writes to words that one thread writes alone, of all writes: only then is there a border to pad at.
const OWNED_PERCENT: u64 = 80;
/// Fewer transfers of a line are chance, not a fight.
const TRANSFERS_MIN: u64 = 32;
const SITES: usize = 2;

pub(super) fn find(parts: &Parts<'_>, object: &Object, names: &dyn Names, total: TotalCost) -> Option<Candidate> {
    if object.id == UNKNOWN_OBJECT {
        return None;
    }
    let fought = |l: &&Line| l.object == object.id && l.transfers >= TRANSFERS_MIN && is_false(l, parts.patterns);
    let lines: Vec<&Line> = parts.lines.iter().filter(fought).collect();
    let worth: TotalCost = lines.iter().map(|l| worth(parts, l)).sum();
    let enough = at_least(worth, OBJECT_PERCENT, object.row.transfer_cost) && at_least(worth, PROGRAM_PERCENT, total);
    if !enough {
        return None;
    }
    let (owned, percent) = owned(parts, object, &lines, names);
    if percent < OWNED_PERCENT {
        return None;
    }
    let elements = infer(&owned, parts.patterns.word_bytes())?;
    let line_bytes = parts.patterns.unit_bytes();
    let to_bytes = elements.bytes.div_ceil(line_bytes) * line_bytes;
    let sites = sites(&lines, names);
    Some(Candidate {
        kind: FindingKind::FalseSharing,
        object: object.id,
        name: object.row.name.clone(),
        places: phrases::places(&object.name, &sites),
        sentence: sentence(parts, object, &lines, &sites),
        advice: advice(object, &elements, to_bytes, line_bytes),
        remedy: Remedy::PadElements { arrays: elements.arrays, element_bytes: elements.bytes, to_bytes },
        estimate: worth,
    })
}

/// What the line's transfers cost for nothing.
fn worth(parts: &Parts<'_>, line: &Line) -> TotalCost {
    let class = parts.patterns.class_of(line.unit).map(|c| c.pattern);
    if class == Some(Pattern::FalselyShared) { line.cost } else { line.useless_cost }
}

/// Words with exactly one writer, by allocation, and their percentage of all writes to the object's words.
fn owned(parts: &Parts<'_>, object: &Object, lines: &[&Line], names: &dyn Names) -> (Vec<Owned>, u64) {
    let (mut all_writes, mut owned_writes) = (0, 0);
    let word_bytes = parts.patterns.word_bytes();
    let mut found: BTreeMap<u64, Owned> = BTreeMap::new();
    for line in lines {
        let words = line.words.iter().enumerate().filter(|(_, w)| w.object == object.id && w.writers != 0);
        for (i, word) in words {
            let addr = line.unit * parts.patterns.unit_bytes() + i as u64 * word_bytes;
            let writers = line.threads_of(word.writers);
            all_writes += word.writes;
            let [owner] = writers[..] else { continue };
            owned_writes += word.writes;
            // An object may begin inside the word.
            let whole = extent(names, object.id, addr).or_else(|| extent(names, object.id, addr + word_bytes - 1));
            let (start, bytes) = whole.unwrap_or((line.unit * parts.patterns.unit_bytes(), 0));
            let entry = found.entry(start).or_insert(Owned { start, bytes, words: Vec::new() });
            entry.words.push((addr.saturating_sub(start), owner));
        }
    }
    let mut all: Vec<Owned> = found.into_values().collect();
    all.iter_mut().for_each(|o| {
        o.words.sort_unstable();
        // Memory of unknown extent reaches at least to its last word.
        let reach = o.words.last().map_or(0, |w| w.0 + word_bytes);
        o.bytes = if o.bytes == 0 { reach } else { o.bytes };
    });
    (all, owned_writes * 100 / all_writes.max(1))
}

/// The sites that reference these lines most.
fn sites(lines: &[&Line], names: &dyn Names) -> Vec<SiteName> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for s in lines.iter().flat_map(|l| &l.sites) {
        let name = site_name(names, s.site);
        *counts.entry((name.place, name.function)).or_default() += s.count;
    }
    let mut sites: Vec<((String, String), u64)> = counts.into_iter().collect();
    sites.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    // A site with few references, such as the final sum, is not where the lines fight.
    let most = sites.first().map_or(0, |s| s.1);
    sites.retain(|s| s.1 * 10 >= most);
    sites.into_iter().take(SITES).map(|((place, function), _)| SiteName { place, function }).collect()
}

fn sentence(parts: &Parts<'_>, object: &Object, lines: &[&Line], sites: &[SiteName]) -> String {
    let mut threads: Vec<u32> = lines.iter().flat_map(|l| l.users.iter().map(|u| u.thread)).collect();
    threads.sort_unstable();
    threads.dedup();
    let count = match lines.len() {
        1 => "the same cache line".to_owned(),
        n => format!("the same {n} cache lines"),
    };
    let code: Vec<String> = sites.iter().map(phrases::code).collect();
    let by = if code.is_empty() { String::new() } else { format!(" ({})", code.join("; ")) };
    let transfers: u64 = lines.iter().map(|l| l.transfers).sum();
    format!(
        "{} is falsely shared: {} use different words of {count} of {} bytes{by}, which went from cache to cache \
         {transfers} times.",
        phrases::object(&object.name),
        phrases::threads(&threads),
        parts.patterns.unit_bytes(),
    )
}

fn advice(object: &Object, elements: &Elements, to_bytes: u64, line_bytes: u64) -> String {
    let name = &object.row.name;
    if elements.arrays.iter().all(|a| a.1 == 1) {
        return format!(
            "Give `{name}` a cache line of its own: align it to {line_bytes} bytes and round its size up to {to_bytes} \
             ({} where processors fetch lines in pairs).",
            2 * to_bytes,
        );
    }
    if elements.bytes > line_bytes {
        return format!(
            "Let the part of each thread in `{name}` begin at a multiple of {line_bytes} bytes (parts of {} bytes now).",
            elements.bytes,
        );
    }
    format!(
        "Pad the {}-byte elements of `{name}` to {to_bytes} bytes and align it, so that each thread has cache lines of \
         its own ({} bytes where processors fetch lines in pairs).",
        elements.bytes,
        2 * to_bytes,
    )
}
