//! A node: one process of the cluster, its memory and its way to the others.
use crate::border::die;
use crate::job::Job;
use crate::mapped::{self, Freed};
use crate::me;
use crate::profile::Profile;
use crate::shared::{self, Across, Shared, Thread};
use crate::transports::{Files, Opening, Wire};
use crate::trouble::Trouble;
use homenode_base::NodeId;
use homenode_hlrc::cluster::{Cluster, Layout};
use homenode_hlrc::host::Access;
use homenode_hlrc::state::Tables;
use homenode_hlrc::steps;
use homenode_sys::views::{Allowed, Views};
use homenode_sys::words::Words;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// Step while there is one node only: nothing in it needs another processor.
const STEP_ALONE: &str = "nil";
/// Turns of a waiting thread before it sleeps, if each has a processor of its own; otherwise few.
const TURNS: [u32; 2] = [20_000, 200];

/// A node of the cluster, as its own process sees it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) job: Job,
    pub(crate) files: Files,
    pub(crate) alone: Cluster,
    pub(crate) together: Cluster,
    pub(crate) layout: Layout,
    /// Whether the other nodes exist.
    begun: AtomicBool,
    pub(crate) tables: Tables<Words>,
    pub(crate) region: Words,
    pub(crate) heap: Views,
    pub(crate) twins: Words,
    pub(crate) wire: Wire,
    pub(crate) freed: Freed,
    /// Number of wishes to serve that somebody here has taken note of.
    pub(crate) noted: AtomicU64,
    /// Created threads of this node that live.
    pub(crate) living: AtomicU32,
    /// Turns of a waiting thread before it sleeps.
    pub(crate) turns: u32,
}

impl Node {
    /// Makes this process a node. `begun`: the other nodes exist.
    pub(crate) fn new(job: Job, files: Files, me: NodeId, begun: bool) -> Result<Node, Trouble> {
        let together = job.cluster(me, false);
        let step = steps::find(STEP_ALONE).unwrap_or(job.step);
        let alone = Cluster { step, alone: true, ..together };
        let layout = together.layout();
        let memory = |e| Trouble::new("has no memory for its state", e);
        let (heap_words, at) = ((job.heap_bytes / 8) as usize, me.index());
        Ok(Node {
            wire: (job.transport.open)(&Opening {
                layout: &layout,
                files: &files,
                heap_words,
                threads: job.threads,
                stopped: job.stopped,
            })
            .map_err(memory)?,
            region: Words::of_file(&files.regions[at], 0, layout.words()).map_err(memory)?,
            heap: mapped::map(&files.heaps[at], &job)?,
            twins: zeros(heap_words),
            tables: Tables::new(&together, zeros),
            turns: turns(&together),
            begun: AtomicBool::new(begun),
            freed: Freed::default(),
            noted: AtomicU64::new(0),
            living: AtomicU32::new(0),
            job,
            files,
            alone,
            together,
            layout,
        })
    }

    /// This node.
    pub(crate) fn me(&self) -> NodeId {
        self.together.me
    }
    /// Whether the other nodes exist.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }
    /// From now on the other nodes exist.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }
    /// Words of this node's region that the host uses.
    pub(crate) fn shared(&self) -> Shared<'_> {
        Shared::of(&self.region, self.layout.extra())
    }
    /// What this node counts of pages, locks and phases.
    pub(crate) fn profile(&self) -> Profile<'_> {
        Profile::of(&self.region, &self.together, &self.layout)
    }
    /// Index of such a word in a region.
    pub(crate) fn word(&self, word: usize) -> usize {
        self.layout.extra() + word
    }
    /// Words of the calling thread; of the first one if it is none of the cluster.
    pub(crate) fn thread_words(&self) -> Thread<'_> {
        self.shared().thread(me::number().unwrap_or(0))
    }
    /// Threads of the cluster.
    pub(crate) fn all_threads(&self) -> u64 {
        self.together.all_threads()
    }
    /// Sets what the program may do to pages; that this fails leaves nothing to go on with.
    pub(crate) fn allow_pages(&self, pages: Range<u32>, access: Access) {
        let allowed = match access {
            Access::None => Allowed::Nothing,
            Access::Read => Allowed::Reading,
            Access::Write => Allowed::Writing,
        };
        let since = Instant::now();
        let done = self.heap.allow(pages.start, pages.end - pages.start, allowed);
        self.spent(Across::Protect, since);
        if let Err(e) = done {
            let why = self.heap.why(&e).map_or_else(String::new, |why| format!(" ({why})"));
            die(&format!("cannot protect pages {} to {} of the heap: {e}{why}", pages.start, pages.end));
        }
    }
    /// Counts the time that the calling thread needed for something.
    pub(crate) fn spent(&self, work: Across, since: Instant) {
        let nanoseconds = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.thread_words().across(work).fetch_add(nanoseconds, Ordering::Relaxed);
    }
    /// Adds to a counter that several threads may count with.
    pub(crate) fn sent(&self, kind: shared::Kind, bytes: usize) {
        let (messages, all) = self.shared().messages(kind);
        messages.fetch_add(1, Ordering::Relaxed);
        all.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Words that are 0; without memory for its state a node cannot go on.
fn zeros(words: usize) -> Words {
    Words::zeroed(words).unwrap_or_else(|e| die(&format!("no memory for the state of this node: {e}")))
}

fn turns(cluster: &Cluster) -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    TURNS[usize::from(cluster.all_threads() > processors as u64)]
}
