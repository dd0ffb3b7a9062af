//! Whether windows find the owners of pages: full recordings of the workloads are the truth, and windows that open for each
//! page at random moments of the same run, as the kernel's scan does, are the estimate. Time is counted in references of
//! the whole program, in model order.
use homenode_base::Rng;
use homenode_capture::{DirStore, RecordOptions, record};
use homenode_hooks::{Mode, compile, install};
use homenode_planner::spacing::Spacing;
use homenode_sampling::hinting::estimate::shares;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Merged, Op};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const THREADS: usize = 8;
/// Mean references of the program from the end of a window of a page to the opening of the next.
const MEAN_GAP: f64 = 100_000.0;

#[derive(Default)]
struct Page {
    refs: [u64; THREADS],
    windows: [u64; THREADS],
    /// References of the program before each next access, by its thread: what infinitely many windows would show.
    waits: [u64; THREADS],
    /// Last access.
    last: u64,
    /// When the next window opens; 0 = never touched.
    opens: u64,
    /// First access.
    begin: u64,
    /// Time and thread of every closed window.
    closed: Vec<(u64, usize)>,
    /// Sum of what they weigh by their spacing.
    spaced: [u64; THREADS],
}

struct PageScanner {
    pages: HashMap<u64, Page>,
    now: u64,
    rng: Rng,
}

impl PageScanner {
    fn gap(&mut self) -> u64 {
        let u = (self.rng.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64;
        1 + (-u.ln() * MEAN_GAP) as u64
    }
}

impl PageScanner {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            self.now += 1;
            let thread = r.thread as usize % THREADS;
            let page = self.pages.entry(r.addr >> 12).or_default();
            page.refs[thread] += 1;
            // The first touch opens nothing: it brings the page in.
            let first = page.opens == 0;
            page.waits[thread] += if first { 0 } else { self.now - page.last };
            page.last = self.now;
            if first {
                page.begin = self.now;
            }
            if first || self.now >= page.opens {
                page.windows[thread] += u64::from(!first);
                if !first {
                    page.closed.push((self.now, thread));
                }
                let opens = self.now + self.gap();
                self.pages.entry(r.addr >> 12).or_default().opens = opens;
            }
        }
    }
}

/// Figures of one workload, of its hot pages: those that have nine tenths of all references.
#[derive(Debug)]
struct Figures {
    pages: usize,
    /// Of the references to pages with an owner (a thread with a quarter more than the next one): on pages whose owner was
    /// found.
    agreement: f64,
    /// References of the found owners over those of the true ones.
    kept: f64,
    /// Both with windows that weigh by their spacing.
    spaced: (f64, f64),
    /// Both with infinitely many windows: what is left is bias.
    limit: (f64, f64),
    windows_per_page: f64,
}

fn largest(counts: &[u64]) -> usize {
    // The first of equals, so that nothing depends on chance.
    (0..counts.len()).max_by_key(|&i| (counts[i], std::cmp::Reverse(i))).unwrap_or(0)
}

/// Weighs the windows of all pages.
fn weigh(watch: &mut PageScanner) {
    let mut spacing = Spacing::new(watch.now);
    for (number, page) in &mut watch.pages {
        spacing.begins(*number, page.begin);
        for &(time, thread) in &page.closed {
            page.spaced[thread] += u64::from(spacing.weight(*number, time));
        }
    }
}

fn figures(mut watch: PageScanner) -> Figures {
    weigh(&mut watch);
    let mut pages: Vec<Page> = watch.pages.into_values().collect();
    let refs = |p: &Page| p.refs.iter().sum::<u64>();
    pages.sort_by_key(|p| std::cmp::Reverse(refs(p)));
    let (total, mut sum, mut hot) = (watch.now, 0, 0);
    while sum * 10 < total * 9 {
        sum += refs(&pages[hot]);
        hot += 1;
    }
    let by_windows = |p: &Page| largest(&shares(&p.windows).iter().map(|s| s.windows).collect::<Vec<_>>());
    let windows: u64 = pages[..hot].iter().map(|p| p.windows.iter().sum::<u64>()).sum();
    let (agreement, kept) = against(&pages[..hot], by_windows);
    let limit = against(&pages[..hot], |p| largest(&p.waits));
    let spaced = against(&pages[..hot], |p| largest(&p.spaced));
    Figures { pages: hot, agreement, kept, spaced, limit, windows_per_page: windows as f64 / hot.max(1) as f64 }
}

/// (agreement, kept) of an estimate of the owner.
fn against(pages: &[Page], owner: impl Fn(&Page) -> usize) -> (f64, f64) {
    let [mut owned, mut agreed, mut best, mut kept] = [0u64; 4];
    for p in pages {
        let (truth, found) = (largest(&p.refs), owner(p));
        let mut rivals = p.refs;
        rivals[truth] = 0;
        let refs: u64 = p.refs.iter().sum();
        if p.refs[truth] * 4 >= rivals[largest(&rivals)] * 5 {
            owned += refs;
            agreed += if found == truth { refs } else { 0 };
        }
        best += p.refs[truth];
        kept += p.refs[found];
    }
    let share = |a: u64, b: u64| a as f64 / b.max(1) as f64;
    (share(agreed, owned), share(kept, best))
}

fn program(dir: &Path, name: &str) -> PathBuf {
    let archive = install::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(format!("{name}.c"));
    let program = dir.join(name);
    let mut args: Vec<OsString> = ["--compiler=gcc", "-std=gnu11", "-O2", "-pthread"].map(OsString::from).to_vec();
    args.extend([source.into(), "-o".into(), program.clone().into(), "-lm".into()]);
    let plan = compile::plan(Mode::Cc, &args, &archive).unwrap();
    let done = Command::new(plan.compiler).args(plan.args).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

fn recorded(dir: &Path, name: &str, arguments: &[&str]) -> DatasetReader {
    let words = std::iter::once(program(dir, name).into_os_string()).chain(arguments.iter().map(OsString::from));
    let out = dir.join(format!("{name}.hnt"));
    let (command, backend) = (words.collect(), "hooks".into());
    let options = RecordOptions { command, out: out.clone(), backend, ..RecordOptions::default() };
    assert_eq!(record(&options, &mut ()).unwrap().exit_status, Some(0));
    DatasetReader::open(Arc::new(DirStore::open(&out).unwrap())).unwrap()
}

fn measure(name: &str, arguments: &[&str]) -> Figures {
    let dir = tempfile::tempdir().unwrap();
    let reader = recorded(dir.path(), name, arguments);
    let mut watch = PageScanner { pages: HashMap::new(), now: 0, rng: Rng::new(11) };
    let mut order = Order::new(&reader, OrderKind::Model).unwrap();
    while let Some(piece) = order.pull().unwrap() {
        watch.refs(piece.refs);
    }
    let figures = figures(watch);
    println!("{name} {arguments:?}: {figures:?}");
    assert!(figures.pages > 50 && figures.windows_per_page > 5.0, "{name}: {figures:?}");
    figures
}

#[test]
fn windows_find_the_owners_of_hot_pages() {
    for name in ["sor", "kv"] {
        let f = measure(name, &["-p", "4"]);
        assert!(f.agreement >= 0.95 && f.kept >= 0.95, "{name}: {f:?}");
        assert!(f.spaced.0 >= 0.95 && f.spaced.1 >= 0.95, "{name}: {f:?}");
    }
}

/// Every block of LU is written by its owner once a step and read by several others many times in one step: the case that
/// counting is biased for. Weighed by their spacing the windows of that step are one piece of evidence.
#[test]
fn where_bursts_decide_spacing_mends_the_bias_of_counting() {
    let f = measure("lu", &["-p", "4", "-n", "256"]);
    assert!(f.agreement >= 0.75 && f.kept >= 0.85, "{f:?}");
    assert!(f.limit.0 < 0.95 && (f.agreement - f.limit.0).abs() < 0.1, "more windows would not help: {f:?}");
    assert!(f.spaced.0 >= 0.88 && f.spaced.1 >= 0.94, "{f:?}");
    let f = measure("radix", &["-p", "4"]);
    assert!(f.spaced.0 >= f.agreement + 0.1 && f.spaced.1 >= 0.9, "{f:?}");
}
