//! Memory that is first touched by other threads than those that use it: by one, by several, or by all of them but each
//! in another's part.
use super::{at_least, is_placeable, loops, phrases};
use crate::attribution::Block;
use crate::candidate::Candidate;
use crate::names::{ConstructName, Names, SiteName, extent, site_name};
use crate::parts::{Object, Part, Parts};
use crate::rows::FindingKind;
use crate::transform::Transform;
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::Location;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What other homes must save of the program's cost.
const PROGRAM_PERCENT: i128 = 1;
/// Blocks of one thread, of all that are wrong, from which on it alone is called the initialiser.
const FIRST_PERCENT: usize = 90;
/// Blocks that may be used before the rest is touched: their neighbours' threads look over the border.
const EARLY_PERCENT: usize = 10;

pub(super) fn find(parts: &Parts<'_>, object: &Object, names: &dyn Names, total: TotalCost) -> Option<Candidate> {
    if !is_placeable(object) {
        return None;
    }
    // Only what a change of this object's initialisation can reach. Memory that all nodes use alike has no better home,
    // even if caches make its few misses look otherwise.
    let few = object.parts.len() < object.row.users.len();
    let wrong: Vec<&Part> = object.parts.iter().filter(|p| is_wrong(p, few)).collect();
    let saving: TotalCost = wrong.iter().map(|p| worth(p)).sum();
    if !at_least(saving, PROGRAM_PERCENT, total) || is_handed_on(parts, object, &wrong, names) {
        return None;
    }
    let first = first_site(&wrong);
    let site = first.map(|s| site_name(names, s));
    let used_in = loops::of_object(parts, object, names, first);
    if used_in.as_ref().and_then(|l| l.schedule).is_some_and(|s| !s.is_fixed()) {
        // Who uses what was so in this run only: no home is right in the next one.
        return None;
    }
    let told = Told { parts, object, wrong: &wrong, site: site.as_ref(), used_in: used_in.as_ref() };
    Some(Candidate {
        kind: FindingKind::FirstTouch,
        object: object.id,
        name: object.row.name.clone(),
        places: phrases::places(&object.name, site.as_slice()),
        sentence: told.sentence(),
        advice: told.advice(),
        remedy: Transform::InitialiseInParallel { blocks: users(parts, object) },
        estimate: saving,
    })
}

/// Who is to initialise which block. The blocks that are right are among them: a parallel initialisation makes the whole
/// object at the same time.
fn users(parts: &Parts<'_>, object: &Object) -> Vec<(u64, u32)> {
    let user = |b: &Block| if b.shared && b.owner().is_some() { b.user_on(parts.setup.nodes) } else { b.first_thread };
    object.parts.iter().map(|p| (p.number, user(&p.block))).collect()
}

fn worth(p: &Part) -> TotalCost {
    TotalCost::from(p.curable) + TotalCost::from(p.handed_over)
}

/// Whether another thread should have initialised this part. If there are `few` of them, fewer than users, it must be one
/// thread that uses it: what several use together is nobody's part.
fn is_wrong(p: &Part, few: bool) -> bool {
    // What lies beside other objects is placed by whoever touches one of them first, and what was used by one thread before
    // others came is another finding.
    if p.shared_block || p.block.is_used_first() || (few && p.block.owning_thread().is_none()) {
        return false;
    }
    let Location::Node(home) = p.block.home else { return false };
    let Some(owner) = p.block.owner() else { return false };
    let elsewhere = owner != home && (p.curable > Cost::ZERO || p.handed_over > Cost::ZERO);
    // On the right node, but its lines lie in the cache of the wrong processor.
    let handed_over = p.handed_over > Cost::ZERO && p.block.owning_thread().is_some_and(|t| t != p.block.first_thread);
    elsewhere || handed_over
}

/// Whether this memory is produced by one thread and consumed by others as it is produced: it has no initialisation, and
/// what costs is the data that one thread makes for another.
fn is_handed_on(parts: &Parts<'_>, object: &Object, wrong: &[&Part], names: &dyn Names) -> bool {
    if parts.setup.sampled.is_some() {
        return false;
    }
    let bytes = parts.setup.block_bytes;
    let allocation = |p: &Part| {
        let inside = |addr: u64| extent(names, object.id, addr).map(|e| e.0);
        inside(p.number * bytes).or_else(|| inside(p.number * bytes + (bytes - 1))).unwrap_or(0)
    };
    let mut read: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for p in wrong {
        read.entry(allocation(p)).or_default().push(p.block.read_at);
    }
    for times in read.values_mut() {
        times.sort_unstable();
    }
    let late = |p: &&&Part| {
        let times = &read[&allocation(p)];
        p.block.touched_at > times[times.len() * EARLY_PERCENT / 100]
    };
    wrong.iter().filter(late).count() * 2 > wrong.len()
}

/// The site that touches most of the blocks first, writes before reads.
fn first_site(parts: &[&Part]) -> Option<u32> {
    let mut sites: BTreeMap<u32, (bool, u64)> = BTreeMap::new();
    for p in parts {
        let seen = sites.entry(p.block.first_site).or_default();
        seen.0 |= p.block.first_wrote;
        seen.1 += 1;
    }
    sites.into_iter().max_by_key(|&(site, seen)| (seen, Reverse(site))).map(|(site, _)| site)
}

/// What the words are made of.
struct Told<'a> {
    parts: &'a Parts<'a>,
    object: &'a Object,
    wrong: &'a [&'a Part],
    site: Option<&'a SiteName>,
    /// The loop of OpenMP that uses it most.
    used_in: Option<&'a ConstructName>,
}

impl Told<'_> {
    /// Threads that touch wrong blocks first, most blocks first; one alone if it touches nearly all.
    fn initialisers(&self) -> Vec<u32> {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        self.wrong.iter().for_each(|p| *counts.entry(p.block.first_thread).or_default() += 1);
        let mut threads: Vec<(u32, usize)> = counts.into_iter().collect();
        threads.sort_by_key(|&(thread, blocks)| (Reverse(blocks), thread));
        if threads.first().is_some_and(|t| t.1 * 100 >= self.wrong.len() * FIRST_PERCENT) {
            threads.truncate(1);
        }
        threads.into_iter().map(|t| t.0).collect()
    }

    fn users(&self) -> Vec<u32> {
        sorted(self.wrong.iter().map(|p| p.block.user_on(self.parts.setup.nodes)))
    }

    fn homes(&self) -> Vec<NodeId> {
        let home = |p: &&Part| if let Location::Node(n) = p.block.home { Some(n) } else { None };
        sorted(self.wrong.iter().filter_map(home))
    }

    fn sentence(&self) -> String {
        let first = sorted(self.initialisers().into_iter());
        let by = self.site.map_or(String::new(), |s| format!(" ({})", phrases::code(s)));
        let touched = if self.parts.setup.sampled.is_some() { "first seen in use" } else { "first touched" };
        let object = phrases::object(&self.object.name);
        let (all, wrong) = (self.object.parts.len(), self.wrong.len());
        let theirs = self.object.parts.iter().filter(|p| first.binary_search(&p.block.first_thread).is_ok()).count();
        let most = theirs * 100 >= all * FIRST_PERCENT;
        let users = phrases::threads(&self.object.row.users);
        match (self.homes().as_slice(), most) {
            ([home], true) => format!(
                "{object} is {touched} by {}{by}, so it lives on node {home}, but it is used by {users}.",
                phrases::threads(&first),
            ),
            ([home], false) => format!(
                "{wrong} of the {all} blocks of {object} are {touched} by {}{by}, so they live on node {home}, but they are \
                 used by {}.",
                phrases::threads(&first),
                phrases::threads(&self.users()),
            ),
            _ => format!(
                "{object} is {touched} by {}{by}, but {wrong} of its {all} blocks by another thread than the one that \
                 uses them, and so on another node: {}.",
                phrases::threads(&first),
                self.pairs(),
            ),
        }
    }

    /// Who touches what whom uses, for the most frequent pairs.
    fn pairs(&self) -> String {
        const PAIRS: usize = 3;
        let mut counts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for p in self.wrong {
            *counts.entry((p.block.first_thread, p.block.user_on(self.parts.setup.nodes))).or_default() += 1;
        }
        let mut pairs: Vec<((u32, u32), usize)> = counts.into_iter().collect();
        pairs.sort_by_key(|&(pair, blocks)| (Reverse(blocks), pair));
        let more = pairs.len() > PAIRS;
        let words = pairs.into_iter().take(PAIRS);
        let mut words: Vec<String> =
            words.map(|((first, user), _)| format!("thread {first} touches what thread {user} uses")).collect();
        if more {
            words.push("so on".into());
        }
        phrases::list(&words)
    }

    fn advice(&self) -> String {
        let at = self.site.map_or(String::new(), |s| format!(" (now {})", phrases::code(s)));
        let name = &self.object.row.name;
        match (self.users().as_slice(), self.initialisers().len()) {
            ([one], _) if self.object.row.users.len() <= 2 => {
                format!("Let thread {one}, which uses it, initialise `{name}`{at}.")
            }
            (_, 1) if self.used_in.is_some() => {
                self.used_in.map_or(String::new(), |used| loops::initialise(name, &at, used))
            }
            (_, 1) => {
                format!("Initialise `{name}` in parallel{at}: let each thread initialise the part that it will use.")
            }
            _ => format!("Let each thread initialise the part of `{name}` that it uses later{at}."),
        }
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}
