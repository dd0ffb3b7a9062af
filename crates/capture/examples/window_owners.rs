//! Whether windows find the owners that a full recording of the same program knows:
//! `window_owners FULL FULL-NAMES SAMPLED SAMPLED-NAMES`. FULL and SAMPLED are recordings of a workload; what it said with -v
//! ("shared NAME ADDRESS BYTES") are the names: pages are compared by name, who allocated them, and place within, wherever
//! they were and in whichever order threads came to say so.
//!
//! Owners are workers: the first thread and those that it created, in order. Hot are the pages with nine tenths of all
//! references to named memory. Agreement: of the references to hot pages that have an owner (a worker with a quarter more
//! than the next), the share on pages whose owner was found; a page without a window counts as not found. Kept: references
//! of the found owners over those of the true ones, on all hot pages. Both for windows weighed by spacing and counted; and
//! as `homenode place` decides: by spacing, and a page without a window goes with its nearest neighbour of the same object. The
//! last line says all that a recording shows: where no window fell on a page, who brought it in, if the object's other pages
//! are mostly used by those who brought them in (or none of them has a window), else its neighbour.
use homenode_capture::DirStore;
use homenode_planner::spacing;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DataSource, DatasetReader, EventKind, Merged, Op};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

const WORKERS: usize = 16;
/// Name, worker that allocated it, how many such it allocated before, page within.
type Key = (String, usize, usize, u64);
type Counts = [u64; WORKERS];

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [full, full_names, sampled, sampled_names] = words.as_slice() else {
        return Err("window_owners FULL FULL-NAMES SAMPLED SAMPLED-NAMES".into());
    };
    let reader = open(full)?;
    let truth = by_name(&Names::read(full_names, &reader)?, references(&reader)?);
    let reader = open(sampled)?;
    if reader.manifest().sampling.is_none() {
        return Err(format!("{sampled} is not sampled").into());
    }
    let names = Names::read(sampled_names, &reader)?;
    let [spaced, counted, brought] = windows(&reader)?.map(|pages| by_name(&names, pages));
    let hot = hot(&truth);
    let seen: u64 = hot.iter().filter_map(|k| counted.get(*k)).flatten().sum();
    println!("hot pages {} of {}, windows a hot page {:.1}", hot.len(), truth.len(), ratio(seen, hot.len() as u64));
    let decided = with_neighbours(&hot, &spaced);
    let shown = with_first_touches(&hot, &spaced, &brought, &decided);
    for (what, found) in [("spaced", &spaced), ("counted", &counted), ("decided", &decided), ("shown", &shown)] {
        let (agreement, kept, owned) = compare(&hot, &truth, found);
        println!("{what}: agreement {agreement:.3} kept {kept:.3} of {owned:.3} of references with an owner");
    }
    Ok(())
}

fn open(path: &str) -> Result<DatasetReader, Box<dyn Error>> {
    Ok(DatasetReader::open(Arc::new(DirStore::open(Path::new(path))?))?)
}

/// Named ranges of memory: first page, pages, and the key of the first.
struct Names(Vec<(u64, u64, Key)>);

impl Names {
    fn read(path: &str, reader: &DatasetReader) -> Result<Names, Box<dyn Error>> {
        let allocators = allocators(reader);
        let (mut list, mut met): (Vec<_>, HashMap<(String, usize), usize>) = Default::default();
        for line in std::fs::read_to_string(path)?.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["shared", name, address, bytes] = words[..] {
                let (first, bytes) = (u64::from_str_radix(address, 16)?, bytes.parse::<u64>()?);
                let by =
                    *allocators.get(&first).ok_or_else(|| format!("{path}: nobody allocated {name} at {address}"))?;
                // One worker's allocations are told in its own order.
                let number = met.entry((name.to_owned(), by)).or_default();
                list.push((first >> 12, bytes.div_ceil(4096), (name.to_owned(), by, *number, 0)));
                *number += 1;
            }
        }
        Ok(Names(list))
    }
    fn key(&self, page: u64) -> Option<Key> {
        let (first, _, (name, by, number, _)) =
            self.0.iter().find(|(first, n, _)| (*first..first + n).contains(&page))?;
        Some((name.clone(), *by, *number, page - first))
    }
}

/// Who allocated what lies at an address: the last worker that did.
fn allocators(reader: &DatasetReader) -> HashMap<u64, usize> {
    let (mut last, workers) = (HashMap::new(), workers(reader));
    for (thread, worker) in (0..).zip(workers) {
        for e in reader.thread_events(thread) {
            if let EventKind::Alloc { addr, .. } = e.kind {
                let newest = last.entry(addr).or_insert((e.stamp, worker));
                *newest = (*newest).max((e.stamp, worker));
            }
        }
    }
    last.into_iter().map(|(addr, (_, worker))| (addr, worker)).collect()
}

fn by_name(names: &Names, pages: HashMap<u64, Counts>) -> BTreeMap<Key, Counts> {
    pages.into_iter().filter_map(|(page, counts)| Some((names.key(page)?, counts))).collect()
}

/// Worker of each thread: 0 the one that created most others, then those in the order in which it created them. It need not
/// be the first: a sampled recording may begin with a thread that was seen before the program told of itself.
fn workers(reader: &DatasetReader) -> Vec<usize> {
    let children = |thread: u32| -> Vec<usize> {
        let spawned = reader.thread_events(thread).filter_map(|e| match e.kind {
            EventKind::Spawn { child } => Some(child as usize),
            _ => None,
        });
        spawned.collect()
    };
    let first = (0..reader.threads()).max_by_key(|t| (children(*t).len(), std::cmp::Reverse(*t))).unwrap_or(0);
    let mut of = vec![WORKERS - 1; reader.threads() as usize];
    for (thread, worker) in std::iter::once(first as usize).chain(children(first)).zip(0..WORKERS - 1) {
        if let Some(w) = of.get_mut(thread) {
            *w = worker;
        }
    }
    of
}

/// References by page and worker, straight from the frames: their order does not matter.
fn references(reader: &DatasetReader) -> Result<HashMap<u64, Counts>, Box<dyn Error>> {
    let (mut pages, mut bytes, mut frame) = (HashMap::new(), Vec::new(), DecodedFrame::default());
    for (thread, worker) in (0..).zip(workers(reader)) {
        for i in 0..reader.frames(thread).len() {
            reader.read_frame(thread, i, &mut bytes, &mut frame)?;
            add(&mut pages, &frame, worker);
        }
    }
    Ok(pages)
}

fn add(pages: &mut HashMap<u64, Counts>, frame: &DecodedFrame, worker: usize) {
    // References to a page come in runs.
    let (mut at, mut n) = (0, 0);
    for (addr, key) in frame.addr.iter().zip(&frame.key) {
        if addr >> 12 != at {
            pages.entry(at).or_default()[worker] += n;
            (at, n) = (addr >> 12, 0);
        }
        n += u64::from(frame.keys[usize::from(*key)].op != Op::Spin);
    }
    pages.entry(at).or_default()[worker] += n;
}

/// Windows by page and worker, weighed and counted.
struct Windows {
    workers: Vec<usize>,
    weights: Vec<Vec<u32>>,
    at: Vec<usize>,
    /// The same, and who brought each page in.
    pages: [HashMap<u64, Counts>; 3],
}

impl Windows {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs {
            let thread = r.thread as usize;
            let weight = self.weights[thread][self.at[thread]];
            self.at[thread] += 1;
            let first = r.source == DataSource::FirstTouch;
            let values = if first { [0, 0, 1] } else { [u64::from(weight), 1, 0] };
            for (pages, n) in self.pages.iter_mut().zip(values).filter(|(_, n)| *n > 0) {
                pages.entry(r.addr >> 12).or_default()[self.workers[thread]] += n;
            }
        }
    }
}

fn windows(reader: &DatasetReader) -> Result<[HashMap<u64, Counts>; 3], Box<dyn Error>> {
    let (workers, weights) = (workers(reader), spacing::weights(reader)?);
    let mut all = Windows { at: vec![0; weights.len()], workers, weights, pages: Default::default() };
    let mut order = Order::new(reader, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        all.refs(piece.refs);
    }
    Ok(all.pages)
}

/// Pages with nine tenths of all references, hottest first.
fn hot(truth: &BTreeMap<Key, Counts>) -> Vec<&Key> {
    let mut pages: Vec<(u64, &Key)> = truth.iter().map(|(k, c)| (c.iter().sum(), k)).collect();
    pages.sort_by_key(|(n, k)| (std::cmp::Reverse(*n), *k));
    let (total, mut sum) = (pages.iter().map(|p| p.0).sum::<u64>(), 0);
    let needed = pages.iter().take_while(|p| {
        let before = sum;
        sum += p.0;
        before * 10 < total * 9
    });
    needed.map(|p| p.1).collect()
}

fn largest(counts: &Counts) -> usize {
    // The first of equals, so that nothing depends on chance.
    (0..WORKERS).max_by_key(|&i| (counts[i], std::cmp::Reverse(i))).unwrap_or(0)
}

/// The windows of hot pages, or of the nearest page of the same object that has any; of two equally near the lower.
fn with_neighbours(hot: &[&Key], found: &BTreeMap<Key, Counts>) -> BTreeMap<Key, Counts> {
    let nearest = |key: &Key| {
        let same = |(k, _): &(&Key, &Counts)| (&k.0, k.1, k.2) == (&key.0, key.1, key.2);
        let (below, above) = (found.range(..=key).next_back().filter(same), found.range(key..).next().filter(same));
        below.into_iter().chain(above).min_by_key(|(k, _)| k.3.abs_diff(key.3)).map(|(_, counts)| *counts)
    };
    hot.iter().filter_map(|key| Some(((*key).clone(), nearest(key)?))).collect()
}

/// What was decided, but pages without a window whose object speaks for its first touchers go with them.
fn with_first_touches(
    hot: &[&Key],
    windows: &BTreeMap<Key, Counts>,
    brought: &BTreeMap<Key, Counts>,
    decided: &BTreeMap<Key, Counts>,
) -> BTreeMap<Key, Counts> {
    // By object: pages with a window, and those of them used by who brought them in.
    let mut speaks: HashMap<(&str, usize, usize), (u64, u64)> = HashMap::new();
    for (key, counts) in windows {
        if let Some(first) = brought.get(key) {
            let (all, same) = speaks.entry((&key.0, key.1, key.2)).or_default();
            (*all, *same) = (*all + 1, *same + u64::from(largest(first) == largest(counts)));
        }
    }
    let trusted = |key: &Key| speaks.get(&(key.0.as_str(), key.1, key.2)).is_none_or(|(all, same)| same * 2 > *all);
    let of = |key: &&Key| {
        let first = || brought.get(*key).filter(|_| trusted(key));
        let counts = windows.get(*key).or_else(first).or_else(|| decided.get(*key))?;
        Some(((*key).clone(), *counts))
    };
    hot.iter().filter_map(of).collect()
}

/// Agreement, kept, and the share of references to hot pages that have an owner.
fn compare(hot: &[&Key], truth: &BTreeMap<Key, Counts>, found: &BTreeMap<Key, Counts>) -> (f64, f64, f64) {
    let [mut all, mut owned, mut agreed, mut best, mut kept] = [0; 5];
    for key in hot {
        let counts = &truth[*key];
        let (refs, owner) = (counts.iter().sum::<u64>(), largest(counts));
        let mut rivals = *counts;
        rivals[owner] = 0;
        let estimate = found.get(*key).map(largest);
        if counts[owner] * 4 >= rivals[largest(&rivals)] * 5 {
            owned += refs;
            agreed += if estimate == Some(owner) { refs } else { 0 };
        }
        all += refs;
        best += counts[owner];
        kept += estimate.map_or(0, |e| counts[e]);
    }
    (ratio(agreed, owned), ratio(kept, best), ratio(owned, all))
}

fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}
