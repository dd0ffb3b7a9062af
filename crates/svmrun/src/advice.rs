//! What a run on nodes could do without: each piece of advice names what takes the time, and how much of it that is.
use crate::doc::{LockGroupDoc, ObjectDoc, PageRunDoc, SvmDoc, ThreadDoc};
use crate::pages::sum;
use homenode_hlrc::steps::{self, Pages};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Share of a thread's life below which nothing is said.
const LEAST_SHARE: f64 = 0.05;
/// Seconds of a measured thread's life below which nothing can be told.
const LEAST_SECONDS: f64 = 0.01;
/// How many times the mean a node must fetch to stand out.
const UNEVEN: f64 = 1.5;
/// Fetches, of the node that fetches most or of all, below which they say nothing.
const FETCHES_LEAST: u64 = 64;
/// Diffs in a row by which a page moves (`--migrate`).
const DIFFS_TO_MOVE: u64 = 3;
/// What a node counts of homes that moved, and of pages that came with others.
const MOVED: &str = "homes moved here";
const CAME_AHEAD: &str = "pages fetched ahead";

/// What could be saved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Advice {
    /// What it is about.
    pub about: About,
    /// A sentence: what was seen, and what to do.
    pub text: String,
    /// Mean seconds a thread that go to it: what threads waited and the protocol did. What traps cost in the kernel counts as the
    /// program's own work, and is not in it.
    pub seconds: f64,
}

/// What advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// Pages that several nodes write.
    SharedWrites,
    /// Pages whose one writer is not their home.
    RemoteWrites,
    /// Pages that follow one another and are fetched one by one.
    FetchesInOrder,
    /// Pages that others read than the one that writes them.
    Reading,
    /// A node that fetches more than the others.
    UnevenFetches,
    /// Locks of one object.
    Lock,
    /// Threads that come to barriers earlier than others.
    Imbalance,
}

/// What threads spent, a thread.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Mean {
    /// Seconds from beginning to end.
    pub seconds: f64,
    /// Own work.
    pub compute: f64,
    /// Data.
    pub data: f64,
    /// Locks.
    pub lock: f64,
    /// Barriers.
    pub barrier: f64,
    /// Serving other nodes.
    pub serving: f64,
    /// Creating and joining threads, memory.
    pub other: f64,
    /// Of all these: changing what the program may do to pages.
    pub protect: f64,
    /// Of all these: diffs.
    pub diff: f64,
}

impl Mean {
    /// Of these threads; all zero of none.
    pub fn of<'t>(threads: impl Iterator<Item = &'t ThreadDoc>) -> Mean {
        let (mut sum, mut count) = (Mean::default(), 0.0_f64);
        for t in threads {
            count += 1.0;
            sum.seconds += t.seconds;
            sum.compute += t.compute_seconds;
            sum.data += t.data_seconds;
            sum.lock += t.lock_seconds;
            sum.barrier += t.barrier_seconds;
            sum.serving += t.serving_seconds;
            sum.other += t.other_seconds;
            sum.protect += t.protect_seconds;
            sum.diff += t.diff_seconds;
        }
        let each = |seconds: f64| seconds / count.max(1.0);
        Mean {
            seconds: each(sum.seconds),
            compute: each(sum.compute),
            data: each(sum.data),
            lock: each(sum.lock),
            barrier: each(sum.barrier),
            serving: each(sum.serving),
            other: each(sum.other),
            protect: each(sum.protect),
            diff: each(sum.diff),
        }
    }
    /// The classes of time with their names, which add up to the whole.
    pub fn classes(&self) -> [(&'static str, f64); 6] {
        [
            ("compute", self.compute),
            ("data", self.data),
            ("lock", self.lock),
            ("barrier", self.barrier),
            ("serving", self.serving),
            ("other", self.other),
        ]
    }
}

/// Threads of a run that are over: of others no times are known.
pub(crate) fn finished(doc: &SvmDoc) -> impl Iterator<Item = &ThreadDoc> {
    doc.nodes.iter().flat_map(|n| &n.threads).filter(|t| t.seconds > 0.0)
}

/// What advice rests on, of a run that was measured or simulated.
pub struct Evidence<'e> {
    /// Seconds a thread, over all threads that ended.
    pub mean: Mean,
    /// Seconds a thread of each node.
    pub nodes: Vec<Mean>,
    /// Threads that ended.
    pub threads: usize,
    /// The one that computes longest, and its seconds of that; none if threads wait for processors, too.
    pub busiest: Option<(u32, f64)>,
    /// Seconds of a thread's life below which nothing can be told.
    pub least_seconds: f64,
    /// Which clock tells seconds.
    pub clock: &'static str,
    /// Shared memory, with what happened to it.
    pub objects: &'e [ObjectDoc],
    /// Locks by object.
    pub lock_groups: &'e [LockGroupDoc],
    /// Of each of these, seconds that threads which had one waited for pages, all together; empty where that is not known.
    pub faulted: Vec<f64>,
    /// Barriers that all threads passed.
    pub barriers: u64,
    /// Whether nodes fetch pages without the homes' processors: several can come with one then.
    pub is_fetched: bool,
    /// Homes that moved.
    pub moved: u64,
    /// Pages that came with others.
    pub came_ahead: u64,
}

impl Evidence<'_> {
    /// Of a run that was measured.
    pub(crate) fn of(doc: &SvmDoc) -> Evidence<'_> {
        let threads = finished(doc).count();
        let all = doc.nodes.len() as u64 * u64::from(doc.threads_per_node);
        let barriers = doc.locks.iter().filter(|l| l.what == "barrier").fold(0, |n: u64, l| n.saturating_add(l.times));
        let computing = finished(doc).map(|t| (t.thread, t.compute_seconds));
        Evidence {
            mean: Mean::of(finished(doc)),
            nodes: doc.nodes.iter().map(|n| Mean::of(n.threads.iter().filter(|t| t.seconds > 0.0))).collect(),
            threads,
            busiest: computing.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| threads <= doc.processors as usize),
            least_seconds: LEAST_SECONDS,
            clock: "by the clock on the wall",
            objects: &doc.objects,
            lock_groups: &doc.lock_groups,
            faulted: Vec::new(),
            barriers: barriers / all.max(1),
            is_fetched: steps::find(&doc.protocol).is_some_and(|step| step.pages == Pages::Fetched),
            moved: counted(doc, MOVED),
            came_ahead: counted(doc, CAME_AHEAD),
        }
    }
}

/// What the run could do without, the greatest saving first; and a sentence if that is nothing.
pub fn advice(e: &Evidence<'_>) -> (Vec<Advice>, Option<String>) {
    let mean = &e.mean;
    if mean.seconds < e.least_seconds || e.nodes.len() < 2 {
        let why = format!(
            "cannot tell what to change: {} nodes, whose threads lived {:.1} ms",
            e.nodes.len(),
            mean.seconds * 1e3
        );
        return (Vec::new(), Some(why));
    }
    let mut all: Vec<Advice> = e.objects.iter().flat_map(|o| of_object(e, o, mean)).collect();
    all.extend(in_order(e, mean));
    all.extend(uneven(e, mean));
    let faulted = e.faulted.iter().copied().map(Some).chain(std::iter::repeat(None));
    all.extend(e.lock_groups.iter().zip(faulted).filter(|(g, _)| g.taken > 0).map(|(g, f)| of_locks(e, g, f)));
    all.extend(imbalance(e, mean));
    all.retain(|a| a.seconds >= LEAST_SHARE * mean.seconds);
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let nothing = all.is_empty().then(|| {
        format!(
            "nothing stands out: no object, lock or barrier costs a thread {:.0} % of its time",
            100.0 * LEAST_SHARE
        )
    });
    (all, nothing)
}

fn named(object: &ObjectDoc) -> String {
    match object.site.as_str() {
        "" => format!("the memory at {:#x}", object.address),
        site => format!("the memory of {site} ({} bytes)", object.bytes),
    }
}

/// Shares of the waiting for data and of the time of diffs that an object's pages have, by how they are used.
fn of_object(e: &Evidence<'_>, object: &ObjectDoc, mean: &Mean) -> Vec<Advice> {
    let all = |of: fn(&ObjectDoc) -> u64| e.objects.iter().map(of).fold(0, u64::saturating_add).max(1) as f64;
    let fetches = all(|o| sum(&o.traffic.fetches));
    let traffic = &object.traffic;
    let diffs = traffic.runs as f64 / all(|o| o.traffic.runs) * mean.diff;
    let data = |fetched: u64| fetched as f64 / fetches * mean.data;
    let (shared, remote) = (traffic.fetches_of_shared_writes, traffic.fetches_of_remote_writes);
    let read = sum(&traffic.fetches).saturating_sub(shared).saturating_sub(remote);
    let name = named(object);
    let moves = moves(e, object).unwrap_or_default();
    vec![
        Advice {
            about: About::SharedWrites,
            text: format!(
                "{name}: {shared} fetches of pages that several nodes write: give each node's part \
                 pages of its own"
            ),
            seconds: if shared > 0 { data(shared) + diffs } else { 0.0 },
        },
        Advice {
            about: About::RemoteWrites,
            text: format!(
                "{name}: {remote} fetches of pages whose one writer is not their home: let the node that writes them touch them first, or \
                 write a plan of that (svm report --plan){moves}"
            ),
            seconds: if remote > 0 { data(remote) + diffs } else { 0.0 },
        },
        Advice {
            about: About::Reading,
            text: format!(
                "{name}: {read} fetches of what another node, their home, wrote: read less of it, or less often; larger pages (--page) \
                 bring more at a time if neighbours are read"
            ),
            seconds: data(read),
        },
    ]
}

/// Words on homes that would move, and how many diffs that saves if what is written between barriers is always the same; none if no home would,
/// or if homes moved in this run.
fn moves(e: &Evidence<'_>, object: &ObjectDoc) -> Option<String> {
    let barriers = e.barriers;
    if barriers == 0 || e.moved > 0 {
        return None;
    }
    let (mut diffs, mut saved) = (0_u64, 0_u64);
    let elsewhere = |run: &&PageRunDoc| run.writer.is_some() && run.home.is_some() && run.writer != run.home;
    for run in object.pages.iter().filter(elsewhere) {
        let a_page = run.of_writer / run.pages.max(1);
        // Diffs between two barriers: a page moves at the first one behind which there are enough.
        let between = (a_page / barriers).max(1);
        let until_moved = DIFFS_TO_MOVE.div_ceil(between).saturating_mul(between).saturating_mul(run.pages);
        // What others write is a diff then, but for the one time by which it became a home's.
        let others = run.writes.saturating_sub(run.of_writer).saturating_sub(run.pages);
        diffs = diffs.saturating_add(run.writes.saturating_sub(run.of_home));
        saved = saved.saturating_add(run.of_writer.saturating_sub(until_moved).saturating_sub(others));
    }
    (saved > 0).then(|| {
        format!(
            ", or have their homes move (--migrate), which saves about {saved} of their {diffs} diffs; a former home that reads these pages fetches \
             them from then on"
        )
    })
}

/// How often all nodes together did this.
fn counted(doc: &SvmDoc, what: &str) -> u64 {
    let all = doc.nodes.iter().flat_map(|n| &n.counts).filter(|c| c.what == what);
    all.fold(0, |sum, c| sum.saturating_add(c.times))
}

/// Pages that follow one another and are fetched one by one.
fn in_order(e: &Evidence<'_>, mean: &Mean) -> Option<Advice> {
    let all = |of: &dyn Fn(&ObjectDoc) -> u64| e.objects.iter().fold(0_u64, |n, o| n.saturating_add(of(o)));
    let fetches = all(&|o| sum(&o.traffic.fetches));
    if !e.is_fetched || fetches < FETCHES_LEAST || e.came_ahead > 0 {
        return None;
    }
    let saved = |ahead: u8| {
        all(&|o| o.ahead.iter().filter(|a| a.ahead == ahead).fold(0, |n: u64, a| n.saturating_add(a.saved_fetches)))
    };
    let by_number: BTreeMap<u8, u64> =
        e.objects.iter().flat_map(|o| &o.ahead).map(|a| (a.ahead, saved(a.ahead))).collect();
    let most = *by_number.values().max()?;
    // More pages ahead than are needed come in vain.
    let (ahead, saved) = by_number.into_iter().find(|(_, n)| n.saturating_mul(10) >= most.saturating_mul(9))?;
    let in_order = all(&|o| o.traffic.fetches_in_order);
    Some(Advice {
        about: About::FetchesInOrder,
        text: format!(
            "{in_order} of {fetches} fetches are of the page behind the one that the thread fetched before: --prefetch {ahead} brings as many pages with \
             one, about {saved} fetches fewer, or more"
        ),
        seconds: (saved as f64 / fetches as f64).min(1.0) * mean.data,
    })
}

/// A node that fetches far more than the others makes them wait.
fn uneven(e: &Evidence<'_>, mean: &Mean) -> Option<Advice> {
    let of = |node: usize| {
        e.objects.iter().filter_map(|o| o.traffic.fetches.get(node)).fold(0_u64, |s, n| s.saturating_add(*n))
    };
    let by_node: Vec<u64> = (0..e.nodes.len()).map(of).collect();
    let (node, most) = by_node.iter().enumerate().max_by_key(|(_, n)| **n)?;
    let average = sum(&by_node) as f64 / by_node.len() as f64;
    let times = *most as f64 / average.max(1.0);
    if times < UNEVEN || *most < FETCHES_LEAST {
        return None;
    }
    let own = e.nodes.get(node)?;
    Some(Advice {
        about: About::UnevenFetches,
        text: format!(
            "node {node} fetches {times:.1} times as many pages as the mean: share the data out, or let nodes begin in different places"
        ),
        seconds: (own.data * (1.0 - 1.0 / times)).min(mean.barrier + mean.lock),
    })
}

fn of_locks(e: &Evidence<'_>, group: &LockGroupDoc, faulted: Option<f64>) -> Advice {
    let threads = e.threads.max(1) as f64;
    let place = group.object.and_then(|o| e.objects.get(o as usize));
    let name = place.map_or_else(|| "memory that is not shared".to_owned(), named);
    let faulted =
        faulted.filter(|seconds| *seconds >= LEAST_SHARE * e.mean.seconds).map_or_else(String::new, |seconds| {
            let each = 1e6 * seconds / group.taken as f64;
            format!("; who has one waits {each:.0} us each time for pages meanwhile: let them come before it is taken")
        });
    Advice {
        about: About::Lock,
        text: format!(
            "{} locks in {name}: taken {} times, {} times from another node: take them less often, or give each node or part its own{faulted}",
            group.locks, group.taken, group.remote
        ),
        seconds: group.seconds / threads,
    }
}

/// Waiting at barriers for threads that have more to do. Threads without a processor each wait for others to leave theirs, whatever they
/// have to do.
fn imbalance(e: &Evidence<'_>, mean: &Mean) -> Option<Advice> {
    let (thread, most) = e.busiest?;
    let average = mean.compute;
    Some(Advice {
        about: About::Imbalance,
        text: format!(
            "threads wait {:.3} s at barriers, and thread {thread} computes for {most:.3} s ({}) where the mean is {average:.3} s: share the work out \
             more evenly",
            mean.barrier, e.clock
        ),
        seconds: (most - average).min(mean.barrier).max(0.0),
    })
}
