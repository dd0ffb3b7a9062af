//! How well windows would find owners if the kernel had scanned the run of a full recording: `scan_windows FULL [SEED]`.
//! The table in docs/design/faults.md is this example's.
//!
//! Time is counted in references of the program, in model order. For 20, 60 and 200 passes over its pages: an eighth of the
//! pages at a time, in order of addresses, is taken away; the next access of such a page closes a window, and a page that waits for
//! it is not taken away again. Hot are the pages with nine tenths of all references; agreement is, of the references to
//! hot pages with an owner (a thread with a quarter more than the next), the share on pages whose owner was found. Printed
//! for windows counted, for windows weighed by their spacing, and for as many independent references as there are windows.
use homenode_base::Rng;
use homenode_capture::DirStore;
use homenode_planner::spacing::Spacing;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Merged, Op};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

const THREADS: usize = 16;
const PASSES: [u64; 3] = [20, 60, 200];
/// Parts of the pages, one at a time, as the backend sets the kernel's knobs.
const PARTS: u64 = 8;
type Counts = [u64; THREADS];

#[derive(Default)]
struct Page {
    begin: u64,
    refs: Counts,
    /// For each of the scans: whether the page was taken away.
    away: [bool; PASSES.len()],
}

struct Window {
    time: u64,
    page: usize,
    thread: usize,
}

/// One of the scans.
struct Scan {
    period: f64,
    number: u64,
    next: u64,
    /// Address of the page after the last one that was taken away.
    cursor: u64,
    windows: Vec<Window>,
}

struct PageScanner {
    now: u64,
    rng: Rng,
    /// Pages by address, in the order of their first touch.
    index: HashMap<u64, usize>,
    sorted: BTreeMap<u64, usize>,
    pages: Vec<Page>,
    scans: Vec<Scan>,
}

impl PageScanner {
    fn new(refs: u64, seed: u64) -> PageScanner {
        let mut rng = Rng::new(seed);
        let scan = |passes: u64| {
            let period = refs as f64 / (passes * PARTS) as f64;
            Scan { period, number: 0, next: due(0, period, &mut rng), cursor: 0, windows: Vec::new() }
        };
        let scans = PASSES.into_iter().map(scan).collect();
        PageScanner { now: 0, rng, index: HashMap::new(), sorted: BTreeMap::new(), pages: Vec::new(), scans }
    }
    fn page(&mut self, number: u64) -> usize {
        let next = self.pages.len();
        let id = *self.index.entry(number).or_insert(next);
        if id == next {
            self.sorted.insert(number, id);
            self.pages.push(Page { begin: self.now, ..Page::default() });
        }
        id
    }
    /// Takes the next part of the pages away.
    fn scan(&mut self, which: usize) {
        let scan = &mut self.scans[which];
        let part = self.pages.len().div_ceil(PARTS as usize);
        let round = self.sorted.range(scan.cursor..).chain(self.sorted.range(..scan.cursor));
        for (number, id) in round.take(part) {
            self.pages[*id].away[which] = true;
            scan.cursor = number + 1;
        }
        scan.number += 1;
        scan.next = due(scan.number, scan.period, &mut self.rng);
    }
}

/// When a scan comes: somewhere in the middle of its period.
fn due(number: u64, period: f64, rng: &mut Rng) -> u64 {
    let within = 0.2 + 0.6 * rng.below(1 << 20) as f64 / f64::from(1 << 20);
    ((number as f64 + within) * period) as u64
}

impl PageScanner {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            self.now += 1;
            for which in 0..PASSES.len() {
                if self.now >= self.scans[which].next {
                    self.scan(which);
                }
            }
            let (id, thread) = (self.page(r.addr >> 12), (r.thread as usize).min(THREADS - 1));
            let page = &mut self.pages[id];
            page.refs[thread] += 1;
            for (away, scan) in page.away.iter_mut().zip(&mut self.scans) {
                if std::mem::take(away) {
                    scan.windows.push(Window { time: self.now, page: id, thread });
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (path, seed) = match words.as_slice() {
        [path] => (path, 1),
        [path, seed] => (path, seed.parse()?),
        _ => return Err("scan_windows FULL [SEED]".into()),
    };
    let reader = DatasetReader::open(Arc::new(DirStore::open(Path::new(path))?))?;
    let refs = (0..reader.threads()).map(|t| reader.refs(t)).sum();
    let mut watch = PageScanner::new(refs, seed);
    let mut order = Order::new(&reader, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        watch.refs(piece.refs);
    }
    let hot = hot(&watch.pages);
    println!("hot pages {} of {}", hot.len(), watch.pages.len());
    for (passes, scan) in PASSES.into_iter().zip(&watch.scans) {
        let counted = shares(watch.pages.len(), scan, |_| 1);
        let windows: u64 = hot.iter().flat_map(|p| counted[*p]).sum();
        let found = [&counted, &spaced(&watch, scan), &ideal(&watch.pages, &counted, &mut watch.rng)];
        let [counted, spaced, ideal] = found.map(|found| agreement(&hot, &watch.pages, found));
        let each = ratio(windows, hot.len() as u64);
        println!("{passes} passes: windows {each:.1} counted {counted:.2} spaced {spaced:.2} ideal {ideal:.2}");
    }
    Ok(())
}

/// What the windows of each page weigh, by thread.
fn shares(pages: usize, scan: &Scan, mut weight: impl FnMut(&Window) -> u32) -> Vec<Counts> {
    let mut of = vec![Counts::default(); pages];
    scan.windows.iter().for_each(|w| of[w.page][w.thread] += u64::from(weight(w)));
    of
}

fn spaced(watch: &PageScanner, scan: &Scan) -> Vec<Counts> {
    let mut spacing = Spacing::new(watch.now);
    (0..).zip(&watch.pages).for_each(|(id, page): (usize, _)| spacing.begins(id, page.begin));
    shares(watch.pages.len(), scan, |w| spacing.weight(w.page, w.time))
}

/// As many references of each page, drawn from all of its references, as it has windows.
fn ideal(pages: &[Page], windows: &[Counts], rng: &mut Rng) -> Vec<Counts> {
    let draw = |(page, windows): (&Page, &Counts)| {
        let (mut drawn, total) = (Counts::default(), page.refs.iter().sum());
        for _ in 0..windows.iter().sum() {
            let (mut at, mut thread) = (rng.below(total), 0);
            while at >= page.refs[thread] {
                at -= page.refs[thread];
                thread += 1;
            }
            drawn[thread] += 1;
        }
        drawn
    };
    pages.iter().zip(windows).map(draw).collect()
}

/// Pages with nine tenths of all references, hottest first.
fn hot(pages: &[Page]) -> Vec<usize> {
    let refs = |p: usize| pages[p].refs.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..pages.len()).collect();
    order.sort_by_key(|p| (std::cmp::Reverse(refs(*p)), *p));
    let (total, mut sum) = ((0..pages.len()).map(refs).sum::<u64>(), 0);
    let needed = order.into_iter().take_while(|p| {
        let before = sum;
        sum += refs(*p);
        before * 10 < total * 9
    });
    needed.collect()
}

fn largest(counts: &Counts) -> usize {
    // The first of equals, so that nothing depends on chance.
    (0..THREADS).max_by_key(|&i| (counts[i], std::cmp::Reverse(i))).unwrap_or(0)
}

fn agreement(hot: &[usize], pages: &[Page], found: &[Counts]) -> f64 {
    let (mut owned, mut agreed) = (0, 0);
    for page in hot {
        let counts = &pages[*page].refs;
        let (refs, owner) = (counts.iter().sum::<u64>(), largest(counts));
        let mut rivals = *counts;
        rivals[owner] = 0;
        if counts[owner] * 4 >= rivals[largest(&rivals)] * 5 {
            owned += refs;
            let seen = found[*page].iter().any(|n| *n > 0);
            agreed += if seen && largest(&found[*page]) == owner { refs } else { 0 };
        }
    }
    ratio(agreed, owned)
}

fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}
