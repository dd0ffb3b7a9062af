//! Lines that travel for nothing, gathered by what they belong to: an object, or several whose bytes meet in them.
use super::at_least;
use crate::names::{Names, SiteName, UNKNOWN_OBJECT, extent, site_name};
use crate::parts::{Object, Parts};
use crate::watched::{Line, Word, is_noise};
use homenode_base::TotalCost;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// One transfer in so many of a line must have brought nothing: a lock that many fight for takes the data beside it away
/// from their user rarely, compared with what the fight costs, and yet often.
const USELESS: u64 = 8;
/// Or what brought nothing is worth so many percent of the program by itself, however dear the rest of the line is.
const DEAR_PERCENT: i128 = 1;
/// Objects that meet in lines are one case if these lines are worth so many percent of the program.
const MEETING_PERCENT: i128 = 1;

/// One case.
pub(crate) struct Fought<'a> {
    /// Objects of the case, the one with the dearest transfers first.
    pub(crate) objects: Vec<&'a Object>,
    pub(crate) lines: Vec<&'a Line>,
}

impl Fought<'_> {
    pub(crate) fn has(&self, object: u32) -> bool {
        self.objects.iter().any(|o| o.id == object)
    }
    pub(crate) fn transfers(&self) -> u64 {
        self.lines.iter().map(|l| l.transfers).sum()
    }
    pub(crate) fn useless(&self) -> u64 {
        self.lines.iter().map(|l| l.useless).sum()
    }
    pub(crate) fn useless_cost(&self) -> TotalCost {
        self.lines.iter().map(|l| l.useless_cost).sum()
    }
    /// What could be saved at most, about: where most transfers are for nothing, the others may be in their wake.
    pub(crate) fn estimate(&self) -> TotalCost {
        let of = |l: &&Line| if l.is_false() { l.cost } else { l.useless_cost + l.useless_cost };
        self.lines.iter().map(of).sum()
    }
    /// Threads that use the lines, but for a final check.
    pub(crate) fn threads(&self) -> Vec<u32> {
        let users = |l: &&Line| l.threads_of(l.words.iter().filter(|w| !is_noise(w, l)).fold(0, |m, w| m | w.users));
        let mut all: Vec<u32> = self.lines.iter().flat_map(users).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Objects with bytes that matter in this line, ascending.
fn objects_in(line: &Line) -> Vec<u32> {
    let mut all: Vec<u32> = line.words.iter().filter(|w| !is_noise(w, line)).map(|w| w.object).collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|o| *o != UNKNOWN_OBJECT);
    all
}

/// The object that the line is most fought for.
fn main_object(line: &Line) -> Option<u32> {
    let mut refs: BTreeMap<u32, u64> = BTreeMap::new();
    for w in line.words.iter().filter(|w| w.object != UNKNOWN_OBJECT) {
        *refs.entry(w.object).or_default() += w.writes * 2 + w.reads;
    }
    refs.into_iter().max_by_key(|&(object, n)| (n, Reverse(object))).map(|r| r.0)
}

/// Who leads a set of objects that belong together.
fn leader(of: &BTreeMap<u32, u32>, object: u32) -> u32 {
    let mut at = object;
    while let Some(&next) = of.get(&at).filter(|n| **n != at) {
        at = next;
    }
    at
}

/// All cases, by object id.
pub(crate) fn gather<'a>(parts: &'a Parts<'_>, objects: &'a [Object], total: TotalCost) -> Vec<Fought<'a>> {
    let lines: Vec<(&Line, Vec<u32>)> = parts
        .lines
        .iter()
        .filter(|l| l.transfers > 1)
        .filter(|l| l.useless * USELESS >= l.transfers || at_least(l.useless_cost, DEAR_PERCENT, total))
        .map(|l| (l, objects_in(l)))
        .collect();
    let mut meetings: BTreeMap<&[u32], TotalCost> = BTreeMap::new();
    for (line, among) in lines.iter().filter(|l| l.1.len() > 1) {
        *meetings.entry(among).or_default() += line.useless_cost;
    }
    let mut of: BTreeMap<u32, u32> = BTreeMap::new();
    for (among, cost) in meetings {
        if cost.0 * 100 < total.0 * MEETING_PERCENT {
            continue;
        }
        let to = among.iter().map(|o| leader(&of, *o)).min().unwrap_or(among[0]);
        for object in among {
            let from = leader(&of, *object);
            of.insert(from, to);
        }
    }
    let mut cases: BTreeMap<u32, (BTreeSet<u32>, Vec<&Line>)> = BTreeMap::new();
    for (line, among) in &lines {
        let Some(main) = main_object(line) else { continue };
        let lead = leader(&of, main);
        let case = cases.entry(lead).or_default();
        case.0.extend(among.iter().filter(|o| leader(&of, **o) == lead));
        case.0.insert(main);
        case.1.push(line);
    }
    let rows: BTreeMap<u32, &Object> = objects.iter().map(|o| (o.id, o)).collect();
    let case = |(ids, lines): (BTreeSet<u32>, Vec<&'a Line>)| {
        let mut objects: Vec<&Object> = ids.iter().filter_map(|id| rows.get(id).copied()).collect();
        objects.sort_by_key(|o| (Reverse(o.row.transfer_cost), o.id));
        Fought { objects, lines }
    };
    cases.into_values().map(case).filter(|c| !c.objects.is_empty()).collect()
}

/// A word of a case, with where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used<'a> {
    pub(crate) addr: u64,
    pub(crate) bytes: u64,
    pub(crate) object: u32,
    /// First byte and size of the allocation.
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) word: &'a Word,
    pub(crate) line: &'a Line,
}

impl Used<'_> {
    /// Processor that writes it, if that changes seldom.
    pub(crate) fn owner(&self) -> Option<u32> {
        Some(self.line.users.get(self.word.owner()?)?.cpu)
    }
}

/// The words that matter, ascending by address.
pub(crate) fn used<'a>(case: &Fought<'a>, parts: &Parts<'_>, names: &dyn Names) -> Vec<Used<'a>> {
    let (unit, each) = (parts.unit_bytes(), parts.word_bytes());
    let mut out = Vec::new();
    let mut last: Option<(u32, u64, u64)> = None;
    let mut lines = case.lines.clone();
    lines.sort_unstable_by_key(|l| l.unit);
    for line in lines {
        for word in line.words.iter().filter(|w| case.has(w.object) && !is_noise(w, line)) {
            let addr = line.unit * unit + u64::from(word.from) * each;
            let bytes = u64::from(word.len) * each;
            let object = word.object;
            let known = last.filter(|(o, start, size)| *o == object && (*start..start + size).contains(&addr));
            let (start, size) = match known {
                Some((_, start, size)) => (start, size),
                // An object may begin inside the word.
                None => extent(names, object, addr)
                    .or_else(|| extent(names, object, addr + bytes - 1))
                    .unwrap_or((line.unit * unit, 0)),
            };
            last = Some((object, start, size));
            out.push(Used { addr, bytes, object, start, size, word, line });
        }
    }
    out
}

/// Code at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blame {
    pub(crate) name: SiteName,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

/// Sites named at most.
const SITES: usize = 8;

/// The sites that write most to the words of these lines that `hot` chooses, or that read most where nothing is written;
/// exact counts, most first. A site with few references, such as a final sum, is not where the lines are fought over.
pub(crate) fn blame(lines: &[&Line], names: &dyn Names, hot: impl Fn(&Word) -> bool) -> Vec<Blame> {
    let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for line in lines {
        let mask = line.words.iter().filter(|w| hot(w)).map(Word::mask).fold(0, |a, b| a | b);
        for s in line.sites.iter().filter(|s| s.words & mask != 0) {
            let sum = sums.entry(s.site).or_default();
            *sum = (sum.0 + s.writes, sum.1 + s.reads);
        }
    }
    let mut all: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for (site, (writes, reads)) in sums {
        let name = site_name(names, site);
        let sum = all.entry((name.place, name.function)).or_default();
        *sum = (sum.0 + writes, sum.1 + reads);
    }
    let most_writes = all.values().map(|s| s.0).max().unwrap_or(0);
    let most_reads = all.values().map(|s| s.1).max().unwrap_or(0);
    let counts = |s: &(u64, u64)| if most_writes > 0 { s.0 * 10 >= most_writes } else { s.1 * 10 >= most_reads };
    let mut found: Vec<_> = all.into_iter().filter(|s| counts(&s.1)).collect();
    found.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    let blame = |((place, function), (writes, reads))| Blame { name: SiteName { place, function }, reads, writes };
    found.into_iter().take(SITES).map(blame).collect()
}
