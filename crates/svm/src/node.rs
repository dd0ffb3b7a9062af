//! A node: one process of the cluster, its memory and its way to the others.
use crate::block_on::block_on;
use crate::border::die;
use crate::homes::{List, Taken};
use crate::job::Job;
use crate::journal::Writer;
use crate::mapped::{self, Freed};
use crate::me;
use crate::pin;
use crate::profile::Profile;
use crate::shared::{self, Across, EXITED, PROCESS, STATUS, Shared, Thread};
use crate::transports::{self, Files, Meeting, Opening, Stopped, Wire};
use crate::trouble::Trouble;
use homenode_base::NodeId;
use homenode_hlrc::cluster::{Cluster, Layout};
use homenode_hlrc::host::Access;
use homenode_hlrc::journal;
use homenode_hlrc::operation::{self, Operation, Refused};
use homenode_hlrc::state::Tables;
use homenode_sys::views::{Allowed, Views};
use homenode_sys::words::Words;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Turns of a waiting thread before it sleeps, if each has a processor of its own; otherwise few.
const TURNS: [u32; 2] = [20_000, 200];

/// A node of the cluster, as its own process sees it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) job: Job,
    /// Memory of all nodes, until they exist.
    files: Mutex<Option<Files>>,
    /// What nodes find each other by, while they are made.
    meeting: Mutex<Option<Meeting>>,
    pub(crate) alone: Cluster,
    pub(crate) together: Cluster,
    pub(crate) layout: Layout,
    /// Whether the other nodes exist.
    begun: AtomicBool,
    pub(crate) tables: Tables<Words>,
    pub(crate) region: Words,
    pub(crate) heap: Views,
    pub(crate) twins: Words,
    /// The way to the others' memory from the beginning on; of the first node, while it is alone and has all memory.
    first_wire: Wire,
    /// The way to the others' memory once they exist, if that is another one.
    later_wire: OnceLock<Wire>,
    pub(crate) freed: Freed,
    /// Pieces of memory whose homes are planned.
    pub(crate) taken: Taken,
    /// Number of wishes to serve that somebody here has taken note of.
    pub(crate) noted: AtomicU64,
    /// Created threads of this node that live.
    pub(crate) living: AtomicU32,
    /// Turns of a waiting thread before it sleeps.
    pub(crate) turns: u32,
    /// Processors that the process could use when it began.
    pub(crate) processors: Vec<u32>,
    /// Where operations are noted, if they are.
    journal: Option<Writer>,
}

impl Node {
    /// Makes this process the first node, which is alone.
    pub(crate) fn first(job: Job, files: Files) -> Result<Node, Trouble> {
        Node::new(job, files, NodeId(0), None)
    }
    /// Makes this process, forked from the first node's, another node.
    pub(crate) fn forked(first: &Node, me: NodeId) -> Result<Node, Trouble> {
        let gone = || Trouble::of("the first node has given its files away");
        let files = taken(&first.files).ok_or_else(gone)?;
        let meeting = taken(&first.meeting).ok_or_else(gone)?;
        if first.job.transport.is_apart {
            let left = |e| Trouble::new("cannot leave the memory of the first node", e);
            first.heap.detach().map_err(left)?;
            first.region.detach().map_err(left)?;
            first.first_wire.detach().map_err(left)?;
        }
        let left = |e| Trouble::new("cannot leave the journal of the first node", e);
        first.journal.as_ref().map_or(Ok(()), Writer::detach).map_err(left)?;
        Node::new(first.job.clone(), files, me, Some(&meeting))
    }

    /// Makes this process a node of a program that runs on another host and has made its nodes.
    pub(crate) fn waited(job: Job, files: Files, me: NodeId) -> Result<Node, Trouble> {
        let meeting = (job.transport.meet)(&files).map_err(unreachable)?;
        Node::new(job, files, me, Some(&meeting))
    }

    /// A node; if there is a meeting, the others exist.
    fn new(job: Job, files: Files, me: NodeId, meeting: Option<&Meeting>) -> Result<Node, Trouble> {
        let together = job.cluster(me, false);
        let alone = together.before_others();
        let layout = together.layout();
        let memory = |e| Trouble::new("has no memory for its state", e);
        let heap_words = (job.heap_bytes / 8) as usize;
        let region = Words::of_file(files.region(me).map_err(memory)?, 0, layout.words()).map_err(memory)?;
        let heap = mapped::map(files.heap(me).map_err(memory)?, &job)?;
        // Whoever watches sees from now on if this process ends: it may wait for others that wait for it.
        let words = Shared::of(&region, layout.extra());
        words.word(PROCESS).store(std::process::id().into(), Ordering::Release);
        let (nobody, turns) =
            (Meeting::default(), turns(&together, job.transport.is_apart, job.stopped == Stopped::Nobody));
        let opening = opening(&job, &layout, &files, me, meeting.unwrap_or(&nobody), turns, &|| Ok(()));
        let first_wire = match meeting {
            Some(_) => (job.transport.open)(&opening).map_err(|e| {
                words.word(STATUS).store(EXITED | 1, Ordering::Release);
                unreachable(e)
            })?,
            None => transports::alone(&opening).map_err(memory)?,
        };
        Ok(Node {
            first_wire,
            later_wire: OnceLock::new(),
            region,
            heap,
            twins: zeros(heap_words),
            tables: Tables::new(&together, zeros),
            turns,
            begun: AtomicBool::new(meeting.is_some()),
            freed: Freed::default(),
            taken: planned(&files, job.nodes)?,
            journal: journal(&files, &together)?,
            processors: if job.pin { pin::processors()? } else { Vec::new() },
            noted: AtomicU64::new(0),
            living: AtomicU32::new(0),
            files: Mutex::new(meeting.is_none().then_some(files)),
            meeting: Mutex::new(None),
            job,
            alone,
            together,
            layout,
        })
    }

    /// The file for the program's variables, if there are nodes on other hosts.
    pub(crate) fn image(&self) -> io::Result<Option<File>> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts = files.as_ref().and_then(|files| files.hosts.as_ref());
        hosts.map(|hosts| hosts.image.try_clone()).transpose()
    }
    /// Makes, at the first node, what the others will find each other by.
    pub(crate) fn prepare(&self) -> Result<(), Trouble> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(files) = &*files else { return Err(Trouble::of("the other nodes exist already")) };
        let meeting = (self.job.transport.meet)(files).map_err(unreachable)?;
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner).replace(meeting);
        Ok(())
    }
    /// Opens, at the first node, the way to the others, which have been made, and leaves to each what is its own. `look` says whether
    /// it is worth waiting for them.
    pub(crate) fn meet(&self, look: &dyn Fn() -> io::Result<()>) -> Result<(), Trouble> {
        let (files, meeting) = (taken(&self.files), taken(&self.meeting));
        let (true, Some(files), Some(meeting)) = (self.job.transport.is_apart, files, meeting) else { return Ok(()) };
        let opening = opening(&self.job, &self.layout, &files, self.me(), &meeting, self.turns, look);
        let wire = (self.job.transport.open)(&opening).map_err(unreachable)?;
        self.first_wire.detach().map_err(|e| Trouble::new("cannot leave the memory of the other nodes", e))?;
        self.later_wire.set(wire).map_err(|_| Trouble::of("the other nodes exist already"))
    }

    /// Carries an operation of the protocol out on the calling thread.
    pub(crate) fn run(&self, operation: Operation) -> Result<u64, Refused> {
        self.run_with(operation, &mut |value| value)
    }
    /// As that; `program` is asked what a word becomes.
    pub(crate) fn run_with(&self, operation: Operation, program: &mut impl FnMut(u64) -> u64) -> Result<u64, Refused> {
        match self.journal.as_ref().and_then(|journal| journal.tape(me::number())) {
            None => block_on(operation::run(self, operation, program)),
            Some(tape) => block_on(journal::run(self, &tape, operation, program)),
        }
    }
    /// As [`Node::run`], of what cannot be refused.
    pub(crate) fn does(&self, operation: Operation) {
        // Nothing is in the result of these.
        let _ = self.run(operation);
    }

    /// The way to the others' memory.
    pub(crate) fn wire(&self) -> &Wire {
        self.later_wire.get().unwrap_or(&self.first_wire)
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

/// The list of homes that the launcher gave, of which nothing was taken here.
fn planned(files: &Files, nodes: u16) -> Result<Taken, Trouble> {
    let Some(file) = &files.plan else { return Ok(Taken::default()) };
    let bad = |why: String| Trouble::new("cannot read the list of homes", why);
    let mut text = vec![0; file.metadata().map_or(0, |m| m.len() as usize)];
    file.read_exact_at(&mut text, 0).map_err(|e| bad(e.to_string()))?;
    let text = String::from_utf8(text).map_err(|e| bad(e.to_string()))?;
    Ok(Taken::nothing(List::parse(&text, nodes).map_err(bad)?))
}

/// The node's journal, if the launcher gave a file for it.
fn journal(files: &Files, cluster: &Cluster) -> Result<Option<Writer>, Trouble> {
    let Some(file) = files.journals.get(cluster.me.index()) else { return Ok(None) };
    let writer = file.try_clone().and_then(|file| Writer::map(file, cluster));
    writer.map(Some).map_err(|e| Trouble::new("cannot write a journal", e))
}

/// Words that are 0; without memory for its state a node cannot go on.
fn zeros(words: usize) -> Words {
    Words::zeroed(words).unwrap_or_else(|e| die(&format!("no memory for the state of this node: {e}")))
}

/// Turns before a wait sleeps. `served`, `polled`: each node has a thread more, which serves others and needs a processor, too.
fn turns(cluster: &Cluster, served: bool, polled: bool) -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = cluster.all_threads() + u64::from(cluster.nodes) * (u64::from(served) + u64::from(polled));
    TURNS[usize::from(threads > processors as u64)]
}

fn unreachable(e: io::Error) -> Trouble {
    Trouble::new("cannot reach the other nodes", e)
}

fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn opening<'n>(
    job: &Job,
    layout: &'n Layout,
    files: &'n Files,
    me: NodeId,
    meeting: &'n Meeting,
    turns: u32,
    look: &'n dyn Fn() -> io::Result<()>,
) -> Opening<'n> {
    let (nodes, threads, stopped, heap_words) = (job.nodes, job.threads, job.stopped, (job.heap_bytes / 8) as usize);
    Opening { me, nodes, layout, files, heap_words, threads, stopped, meeting, turns, look }
}
