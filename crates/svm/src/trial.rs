//! Nodes in one process with a transport between them and no protocol on it: transports are tested with them, and measured.
use crate::bell;
use crate::block_on::block_on;
use crate::homes::Homes;
use crate::job::{Job, SECRET_BYTES};
use crate::near::Near;
use crate::shared::{BELL, Doing, PROCESS, Shared};
use crate::transports::mailbox::Mailbox;
use crate::transports::{Files, Meeting, Opening, Spec, Stopped, Transport, Wire, shared};
use homenode_base::NodeId;
use homenode_hlrc::cluster::Layout;
use homenode_hlrc::host::Wake;
use homenode_hlrc::steps;
use homenode_sys::words::{Words, memory_file};
use homenode_sys::{fork, interrupt, net};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a heap.
const HEAP: u64 = 4 << 20;
/// Words of a heap.
pub(crate) const HEAP_WORDS: usize = (HEAP / 8) as usize;
/// Words of a page.
pub(crate) const PAGE: usize = 512;
/// Words of the largest page.
pub(crate) const LARGE: usize = 1 << 17;
/// Threads a node.
const THREADS: u16 = 2;
/// Looks before a thread sleeps.
const TURNS: u32 = 200;

/// Nodes with an open transport, and their memory as nobody but a test looks at it.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub(crate) wires: Vec<Wire>,
    pub(crate) regions: Vec<Words>,
    #[cfg(test)]
    pub(crate) heaps: Vec<Words>,
    pub(crate) layout: Layout,
    /// Who does what is asked in mailboxes.
    _near: Option<Near>,
}

/// Says whether it is worth going on.
pub(crate) type Look<'l> = &'l dyn Fn() -> io::Result<()>;

/// Memory of so many nodes.
pub(crate) fn files(layout: &Layout, nodes: u16) -> io::Result<Files> {
    let each = |bytes: u64| (0..nodes).map(|_| memory_file("trial", bytes)).collect::<io::Result<Vec<File>>>();
    let (secret, mut bytes) = (memory_file("trial", SECRET_BYTES as u64)?, [0; SECRET_BYTES]);
    net::random(&mut bytes)?;
    secret.write_all_at(&bytes, 0)?;
    let regions = each((8 * layout.words() as u64).next_multiple_of(4096))?;
    let mailboxes = (0..nodes).map(|_| Mailbox::file()).collect::<io::Result<_>>()?;
    Ok(Files {
        heaps: each(HEAP)?,
        regions,
        secret: Some(secret),
        plan: None,
        mailboxes,
        journals: Vec::new(),
        hosts: None,
    })
}

/// Layout of the regions of so many nodes.
pub(crate) fn layout(spec: &'static Spec, nodes: u16) -> Layout {
    let job = Job {
        nodes,
        threads: THREADS,
        step: *steps::ALL[0],
        transport: spec,
        homes: Homes::FirstTouch,
        heap_bytes: HEAP,
        page_bytes: 8 * PAGE as u64,
        stopped: Stopped::First,
        exclusive: false,
        prefetch: 0,
        migrate: false,
        sorted: false,
        tickets: false,
        tree: false,
        pin: false,
        heaps: Vec::new(),
        regions: Vec::new(),
        secret: None,
        hosts: None,
        plan: None,
        journals: Vec::new(),
        mailbox: None,
    };
    job.cluster(NodeId(0), false).layout()
}

/// Opens the transport of one of the nodes, which waits for the others to do so.
pub(crate) fn open(
    spec: &Spec,
    layout: &Layout,
    files: &Files,
    meeting: &Meeting,
    me: u16,
    look: Look<'_>,
) -> io::Result<Wire> {
    let (me, nodes) = (NodeId(me), files.regions.len() as u16);
    let (heap_words, threads, stopped, turns) = (HEAP_WORDS, THREADS, Stopped::First, TURNS);
    (spec.open)(&Opening { me, nodes, layout, files, heap_words, threads, stopped, meeting, turns, look })
}

impl Nodes {
    /// So many nodes.
    pub(crate) fn of(spec: &'static Spec, nodes: u16) -> io::Result<Nodes> {
        let layout = layout(spec, nodes);
        let files = files(&layout, nodes)?;
        let meeting = (spec.meet)(&files)?;
        Nodes::met(spec, layout, &files, &meeting)
    }

    /// Nodes with this memory that meet so.
    pub(crate) fn met(spec: &'static Spec, layout: Layout, files: &Files, meeting: &Meeting) -> io::Result<Nodes> {
        let near = spec.has_mailbox.then(|| Near::of(files, HEAP_WORDS)).transpose()?;
        Nodes::beside(spec, layout, files, meeting, near)
    }

    /// Nodes with this memory, where somebody does what is asked in mailboxes, if there are any.
    fn beside(
        spec: &'static Spec,
        layout: Layout,
        files: &Files,
        meeting: &Meeting,
        near: Option<Near>,
    ) -> io::Result<Nodes> {
        let nodes = files.regions.len() as u16;
        let wires = thread::scope(|scope| {
            let opened = |me| scope.spawn(move || open(spec, &layout, files, meeting, me, &|| Ok(())));
            let all: Vec<_> = (0..nodes).map(opened).collect();
            let panicked = |_| Err(io::Error::other("a node panicked"));
            all.into_iter().map(|one| one.join().unwrap_or_else(panicked)).collect::<io::Result<_>>()
        })?;
        let map = |files: &[File], words| files.iter().map(|f| Words::of_file(f, 0, words)).collect::<io::Result<_>>();
        Ok(Nodes {
            wires,
            regions: map(&files.regions, layout.words())?,
            #[cfg(test)]
            heaps: map(&files.heaps, HEAP_WORDS)?,
            layout,
            _near: near,
        })
    }

    /// What the host uses of a node's region.
    pub(crate) fn shared(&self, node: usize) -> Shared<'_> {
        shared(&self.regions[node], &self.layout)
    }
    /// Waits until all that a node wrote to another one before is there.
    #[cfg(test)]
    pub(crate) fn settle(&self, from: usize, to: u16) {
        block_on(self.wires[from].fetch_add(NodeId(to), self.layout.called(), 0, Wake::Nobody));
    }
}

/// Times of an operation between two nodes.
#[derive(Clone, Debug)]
pub struct Times {
    /// In words.
    pub what: &'static str,
    /// Microseconds of each, or of the mean of several in turn, ascending.
    pub microseconds: Vec<f64>,
    /// Bytes that each moved, if that is what it is about; else 0.
    pub bytes: usize,
}

impl Times {
    /// Microseconds below which so many of a hundred operations were.
    fn at(&self, percent: usize) -> f64 {
        self.microseconds[self.microseconds.len() * percent / 100]
    }
    /// Megabytes a second.
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.at(50)
    }
}

/// What it is, median and 99th percentile, and the rate if it is about that.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:40} {:10.2} / {:8.1}", self.what, self.at(50), self.at(99))?;
        match self.bytes {
            0 => Ok(()),
            bytes => write!(f, "  {:.0} MB/s, {} KiB at a time", self.rate(), bytes >> 10),
        }
    }
}

/// Microseconds of each of so many operations, ascending, divided by `parts`.
fn timed(times: usize, parts: f64, mut one: impl FnMut()) -> Vec<f64> {
    let mut all: Vec<f64> = (0..times)
        .map(|_| {
            let began = Instant::now();
            one();
            began.elapsed().as_secs_f64() * 1e6 / parts
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

/// How long the basic operations of a transport take between two nodes: those of table 1.5 of Bilas and Singh that are the transport's.
///
/// # Errors
/// There is no memory, or no socket.
pub fn speeds(spec: &'static Spec) -> io::Result<Vec<Times>> {
    measured(&Nodes::of(spec, 2)?)
}

/// Memory of two nodes for [`speeds_beside`].
///
/// # Errors
/// There is none.
pub fn memory(spec: &'static Spec) -> io::Result<Files> {
    files(&layout(spec, 2), 2)
}

/// The [`speeds`] of nodes with this memory, for whose mailboxes somebody else cares.
///
/// # Errors
/// There is no memory, or no socket.
pub fn speeds_beside(spec: &'static Spec, files: &Files) -> io::Result<Vec<Times>> {
    let meeting = (spec.meet)(files)?;
    measured(&Nodes::beside(spec, layout(spec, 2), files, &meeting, None)?)
}

fn measured(nodes: &Nodes) -> io::Result<Vec<Times>> {
    let (wire, to) = (&nodes.wires[0], NodeId(1));
    let large: Vec<AtomicU64> = (0..LARGE as u64).map(AtomicU64::new).collect();
    let page = &large[..PAGE];
    let row = |what, microseconds| Times { what, microseconds, bytes: 0 };
    let fetch = |page: &[AtomicU64]| block_on(wire.get_page(to, (0, &mut [0]), (0, page)));
    // The largest rate is that of the best of these.
    let best = |what, of: &dyn Fn(&[AtomicU64]) -> Vec<f64>| {
        let sizes = [LARGE / 64, LARGE / 16, LARGE / 4, LARGE].map(|words| &large[..words]);
        let all = sizes.map(|page| Times { what, microseconds: of(page), bytes: size_of_val(page) });
        all.into_iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
    };
    let rows = [
        row("send of a word, one way", bounced(nodes, &[], 2000)),
        // Over memory one alone is shorter than reading the clock.
        row("fetch of a word", timed(2000, 10.0, || (0..10).for_each(|_| block_on(wire.get(to, 0, &mut [0]))))),
        row("send of 4 KiB, one way", bounced(nodes, page, 1000)),
        row("fetch of 4 KiB", timed(1000, 1.0, || fetch(page))),
    ];
    let rates = [
        best("ping-pong, largest bandwidth", &|page| bounced(nodes, page, 50)),
        best("fetch, largest bandwidth", &|page| timed(50, 1.0, || fetch(page))),
    ];
    let notified = row("notification of a thread that computes", notified(nodes));
    Ok(rows.into_iter().chain(rates.into_iter().flatten()).chain([notified]).collect())
}

/// Pages that go to the other node and come back, with a word behind them that the other side waits for.
fn bounced(nodes: &Nodes, page: &[AtomicU64], times: usize) -> Vec<f64> {
    let word = nodes.layout.called();
    let send = |from: usize| {
        let to = NodeId(1 - from as u16);
        block_on(async {
            if !page.is_empty() {
                nodes.wires[from].put_page(to, 0, page).await;
            }
            nodes.wires[from].put(to, word, &[1], Wake::All).await;
        });
        nodes.wires[from].flush();
    };
    let receive = |node: usize| loop {
        let seen = nodes.shared(node).word(BELL).load(Ordering::SeqCst);
        if nodes.regions[node][word].swap(0, Ordering::SeqCst) != 0 {
            break;
        }
        bell::wait(nodes.shared(node), seen, TURNS, Duration::from_millis(2));
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..times {
                receive(1);
                send(1);
            }
        });
        timed(times, 2.0, || {
            send(0);
            receive(0);
        })
    })
}

/// Held by whoever sets this process's handler of interrupts.
pub(crate) static HANDLER: Mutex<()> = Mutex::new(());

/// A thread of the other node computes, and is interrupted until its handler has run.
fn notified(nodes: &Nodes) -> Vec<f64> {
    static SERVED: AtomicU64 = AtomicU64::new(0);
    let _handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    let other = nodes.shared(1);
    other.word(PROCESS).store(std::process::id().into(), Ordering::SeqCst);
    if interrupt::on_interrupt(|| _ = SERVED.fetch_add(1, Ordering::SeqCst)).is_err() {
        return Vec::new();
    }
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            other.thread(0).does(fork::thread_id(), Doing::Computing);
            while !end.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
            other.thread(0).does(0, Doing::Nothing);
        });
        while other.thread(0).doing().1 != Doing::Computing {
            thread::yield_now();
        }
        let times = timed(500, 1.0, || {
            let before = SERVED.load(Ordering::SeqCst);
            block_on(nodes.wires[0].interrupt(NodeId(1)));
            while SERVED.load(Ordering::SeqCst) == before {
                std::hint::spin_loop();
            }
        });
        end.store(true, Ordering::SeqCst);
        times
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::ALL;

    #[test]
    fn every_transport_can_be_measured() {
        for spec in ALL {
            let all = speeds(spec).expect("memory");
            assert_eq!(all.len(), 7, "{}", spec.name);
            for times in all {
                assert!(times.microseconds.is_sorted() && times.microseconds[0] > 0.0, "{times:?}");
                let is_rate = times.what.ends_with("bandwidth");
                assert_eq!(times.to_string().contains(" MB/s, "), is_rate, "{times}");
            }
        }
    }
}
