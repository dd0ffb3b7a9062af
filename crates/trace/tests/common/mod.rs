//! Slow, obvious order: explicit nodes and edges, no cleverness shared with the code under test.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]
use homenode_trace::event::EventKind;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::order::{Order, OrderKind, Stream, Summary, SyncCache};
use homenode_trace::{DatasetReader, Op, TraceError};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Raises the number of cases in the slow tier.
pub fn cases(default: u64, slow: u64) -> u64 {
    if std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1") { slow } else { default }
}

/// Runs a test on so many cases, the same ones each time, and shows the smallest that fails.
pub fn check<S: Strategy>(cases: u64, cases_of: &S, test: impl Fn(S::Value)) {
    let cases = u32::try_from(cases).expect("a number of cases");
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..Config::default() };
    let run = TestRunner::new(config).run(cases_of, |case| {
        test(case);
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
}

/// One node: a thread's `index`-th thing.
#[derive(Clone, Debug)]
pub struct Node {
    pub thread: u32,
    pub index: usize,
    pub op: Option<Op>,
    pub addr: u64,
    pub event: Option<EventKind>,
    /// Begin and end of the batch of a reference.
    pub batch: (u64, u64),
    /// What was stamped, from the first stamp of the dataset on; 0 if nothing was.
    pub stamp: u64,
}

/// A small dataset as a graph.
#[derive(Debug)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// `before[i]`: nodes that synchronisation and program order put before node `i`.
    pub before: Vec<Vec<usize>>,
    pub time: Vec<u64>,
}

impl Graph {
    pub fn new(data: &DatasetReader) -> Graph {
        let mut nodes = Vec::new();
        for t in 0..data.threads() {
            thread_nodes(data, t, &mut nodes);
        }
        let before: Vec<Vec<usize>> =
            (0..nodes.len()).map(|b| (0..nodes.len()).filter(|&a| precedes(&nodes[a], &nodes[b])).collect()).collect();
        let mut g = Graph { nodes, before, time: vec![] };
        g.time = if data.manifest().sampling.is_some() { g.stamped_times() } else { g.times() };
        g
    }

    /// Stamps, never less than those of what must come before.
    fn stamped_times(&self) -> Vec<u64> {
        let stamped = |n: &&Node| n.op.is_some() || n.stamp != 0;
        let first = self.nodes.iter().filter(stamped).map(|n| n.stamp).min().unwrap_or(0);
        let mut time: Vec<u64> = self.nodes.iter().map(|n| n.stamp.saturating_sub(first)).collect();
        for _ in 0..=self.nodes.len() {
            for b in 0..self.nodes.len() {
                time[b] = self.before[b].iter().map(|&a| time[a]).fold(time[b], u64::max);
            }
        }
        time
    }

    /// Virtual times by repeated passes until nothing changes.
    fn times(&self) -> Vec<u64> {
        let n = self.nodes.len();
        let mut time = vec![0u64; n];
        for _ in 0..=n {
            for b in 0..n {
                let mut t = 0;
                for &a in &self.before[b] {
                    let (x, y) = (&self.nodes[a], &self.nodes[b]);
                    let advanced = x.thread == y.thread && matches!(x.op, Some(op) if op != Op::Spin);
                    t = t.max(time[a] + u64::from(advanced));
                }
                time[b] = t;
            }
        }
        time
    }

    pub fn priority(&self, i: usize) -> (u64, u32, usize) {
        (self.time[i], self.nodes[i].thread, self.nodes[i].index)
    }

    /// Kahn by scanning everything; `None` if there is a cycle.
    pub fn model(&self) -> Option<Vec<usize>> {
        let mut done = vec![false; self.nodes.len()];
        let mut order = Vec::new();
        while order.len() < self.nodes.len() {
            let ready = (0..self.nodes.len()).filter(|&i| !done[i] && self.before[i].iter().all(|&a| done[a]));
            let next = ready.min_by_key(|&i| self.priority(i))?;
            done[next] = true;
            order.push(next);
        }
        Some(order)
    }

    /// Whether batches put reference `a` before reference `b`.
    pub fn batch_before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.nodes[a], &self.nodes[b]);
        x.op.is_some() && y.op.is_some() && x.thread != y.thread && x.batch.1 < y.batch.0
    }

    /// Every legal merge; with `batches`, only those that respect them.
    pub fn all_merges(&self, batches: bool, limit: usize) -> Vec<Vec<usize>> {
        let mut before = self.before.clone();
        if batches {
            for (b, list) in before.iter_mut().enumerate() {
                list.extend((0..self.nodes.len()).filter(|&a| self.batch_before(a, b)));
            }
        }
        let mut all = Vec::new();
        extend(&before, &mut vec![false; before.len()], &mut Vec::new(), &mut all, limit);
        all
    }
}

fn extend(before: &[Vec<usize>], done: &mut [bool], path: &mut Vec<usize>, all: &mut Vec<Vec<usize>>, limit: usize) {
    if all.len() >= limit {
        return;
    }
    if path.len() == before.len() {
        all.push(path.clone());
        return;
    }
    for i in 0..before.len() {
        if !done[i] && before[i].iter().all(|&a| done[a]) {
            done[i] = true;
            path.push(i);
            extend(before, done, path, all, limit);
            path.pop();
            done[i] = false;
        }
    }
}

fn thread_nodes(data: &DatasetReader, thread: u32, nodes: &mut Vec<Node>) {
    let mut refs = Vec::new();
    let (mut bytes, mut frame) = (Vec::new(), DecodedFrame::default());
    for f in 0..data.frames(thread).len() {
        data.read_frame(thread, f, &mut bytes, &mut frame).expect("valid");
        let mut i = 0;
        for (n, b) in frame.batches.iter().enumerate() {
            let end = frame.batches.get(n + 1).map_or(frame.end, |next| next.begin);
            for _ in 0..b.refs {
                refs.push((frame.get(i), (b.begin, end)));
                i += 1;
            }
        }
    }
    let mut index = 0;
    let mut push = |op, addr, event, batch: (u64, u64), stamp| {
        nodes.push(Node { thread, index, op, addr, event, batch, stamp });
        index += 1;
    };
    let mut events = data.thread_events(thread).peekable();
    for (i, (r, batch)) in refs.iter().enumerate() {
        while let Some(e) = events.next_if(|e| e.at <= i as u64) {
            push(None, 0, Some(e.kind.clone()), (0, 0), e.stamp);
        }
        push(Some(r.op), r.addr, None, *batch, batch.0);
    }
    events.for_each(|e| push(None, 0, Some(e.kind.clone()), (0, 0), e.stamp));
}

fn release_of(kind: &EventKind) -> Option<(u64, u64, u64)> {
    match *kind {
        EventKind::Release { object, epoch, seq, .. } | EventKind::AcqRel { object, epoch, seq, .. } => {
            Some((object, epoch, seq))
        }
        _ => None,
    }
}

fn acquire_of(kind: &EventKind) -> Option<(u64, u64, u64)> {
    match *kind {
        EventKind::Acquire { object, epoch, seq, .. } | EventKind::AcqRel { object, epoch, seq, .. } => {
            Some((object, epoch, seq))
        }
        _ => None,
    }
}

fn precedes(a: &Node, b: &Node) -> bool {
    if a.thread == b.thread {
        return a.index < b.index;
    }
    let Some(event) = &a.event else { return false };
    if matches!(event, EventKind::Spawn { child } if *child == b.thread) {
        return true;
    }
    match (release_of(event), b.event.as_ref().and_then(acquire_of)) {
        (Some((o, e, r)), Some((p, f, s))) => (o, e) == (p, f) && r < s,
        _ => false,
    }
}

/// Writes down what it gets as (thread, reference or event).
#[derive(Debug, Default)]
pub struct Log {
    pub entries: Vec<(u32, Option<Op>, u64)>,
    pub times: Vec<(usize, u64)>,
}

impl Log {
    /// Writes down all of a stream.
    pub fn all(&mut self, stream: &mut dyn Stream) -> Result<(), TraceError> {
        while let Some(piece) = stream.pull()? {
            self.entries.extend(piece.refs.iter().map(|r| (r.thread, Some(r.op), r.addr)));
            if let Some((e, time)) = piece.event {
                self.times.push((self.entries.len(), time.0));
                self.entries.push((e.thread, None, 0));
            }
        }
        Ok(())
    }

    /// Writes down a dataset in this order; which must be the same again, after a pass that was left.
    pub fn of(data: &DatasetReader, kind: OrderKind) -> Result<(Log, Summary), TraceError> {
        let mut cache = SyncCache::default();
        let first = Log::once(data, kind, &mut cache)?;
        let mut left = Order::again(data, kind, &mut cache)?;
        left.pull()?;
        left.keep(&mut cache);
        let again = Log::once(data, kind, &mut cache)?;
        assert!((&first.0.entries, &first.0.times) == (&again.0.entries, &again.0.times), "the second pass is another");
        Ok(first)
    }

    fn once(data: &DatasetReader, kind: OrderKind, cache: &mut SyncCache) -> Result<(Log, Summary), TraceError> {
        let (mut log, mut order) = (Log::default(), Order::again(data, kind, cache)?);
        log.all(&mut order)?;
        let summary = order.summary();
        order.keep(cache);
        Ok((log, summary))
    }
}

impl Graph {
    /// What is to be written down for this order.
    pub fn log(&self, order: &[usize]) -> Vec<(u32, Option<Op>, u64)> {
        order.iter().map(|&i| (self.nodes[i].thread, self.nodes[i].op, self.nodes[i].addr)).collect()
    }
}
