//! Which threads lived at the same time, as far as the program itself decides it.
//!
//! A thread begins where it is created and has ended for another thread once that thread knows of it: it joined it, or it was
//! created by one that had. What a joined thread knew, its joiner knows. A thread that nobody ever joins has ended for
//! whoever acquired what it released after its last reference. Host time says nothing here, so every recording of a
//! fork-join program gives the same lives. A process has ended for whoever waited for it. Processes that no recorded thread
//! created (a script started them) go by the kernel's clock: one that ended before another began did not live beside it.
//! Otherwise only sampled recordings of unmodified programs, which have no
//! synchronisation, go by what the kernel stamped.
use hashbrown::{HashMap, HashSet};
use homenode_base::{Life, Ranks};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::event::EventKind;
use homenode_trace::manifest::Clock;

/// How much later than a thread's last instruction the kernel may stamp its end, in nanoseconds: a thread that waits for it
/// goes on first.
const LATE_EXIT_NS: u64 = 1_000_000;

/// A synchronisation object: address space, address, epoch.
type Object = (u32, u64, u64);

/// The lives of all threads, by thread.
pub fn lives(data: &DatasetReader) -> Vec<Life> {
    let ranks = ranks(data);
    let ended = if data.manifest().sampling.is_some() { stamped(data, &ranks) } else { synchronised(data, &ranks) };
    let life = |(rank, ended_before): (u32, Ranks)| Life { rank, ended_before };
    ranks.into_iter().zip(ended).map(life).collect()
}

/// Each thread's place in the order of creation: preorder of the tree of creations.
fn ranks(data: &DatasetReader) -> Vec<u32> {
    let threads = data.threads() as usize;
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); threads];
    let mut created = vec![false; threads];
    for (_, e) in data.events().others() {
        if let EventKind::Spawn { child } = e.kind
            && let Some(known) = created.get_mut(child as usize)
            && child != e.thread
            && !std::mem::replace(known, true)
        {
            children[e.thread as usize].push(child);
        }
    }
    const UNKNOWN: u32 = u32::MAX;
    let mut ranks = vec![UNKNOWN; threads];
    let mut next = 0;
    let roots = (0..threads as u32).filter(|&t| !created[t as usize]);
    // In a damaged dataset threads may create each other in a circle; they come last, by number.
    for root in roots.chain(0..threads as u32) {
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            if ranks[t as usize] == UNKNOWN {
                ranks[t as usize] = next;
                next += 1;
                stack.extend(children[t as usize].iter().rev());
            }
        }
    }
    ranks
}

/// From the stamps of creations and ends.
fn stamped(data: &DatasetReader, ranks: &[u32]) -> Vec<Ranks> {
    let late = if data.manifest().clock == Clock::Ns { LATE_EXIT_NS } else { 0 };
    let mut begins = vec![0u64; ranks.len()];
    let mut ends: Vec<(u64, u32)> = Vec::new();
    for (_, e) in data.events().others() {
        match e.kind {
            EventKind::Spawn { child } => begins[child as usize % ranks.len()] = e.stamp,
            EventKind::Exit if e.stamp > 0 => ends.push((e.stamp, ranks[e.thread as usize])),
            _ => {}
        }
    }
    let ended = |begin: u64| match begin {
        0 => Ranks::default(),
        _ => ends.iter().filter(|e| e.0 <= begin.saturating_add(late)).map(|e| e.1).collect(),
    };
    begins.into_iter().map(ended).collect()
}

/// For initial threads that no recorded thread created: the threads of processes all of whose threads had ended before.
fn roots_by_the_clock(data: &DatasetReader, ranks: &[u32]) -> Vec<Ranks> {
    let mut before = vec![Ranks::default(); ranks.len()];
    let process_of = |thread: u32| data.manifest().threads.get(thread as usize).map_or(u32::MAX, |t| t.process);
    let mut created = vec![false; ranks.len()];
    let mut begins: Vec<(u32, u64)> = Vec::new();
    let mut ends: Vec<Option<u64>> = vec![None; ranks.len()];
    for (_, e) in data.events().others() {
        match e.kind {
            EventKind::Process { .. } if e.stamp > 0 => begins.push((e.thread, e.stamp)),
            EventKind::Exit if e.stamp > 0 => ends[e.thread as usize] = Some(e.stamp),
            EventKind::Spawn { child } if (child as usize) < created.len() => created[child as usize] = true,
            _ => {}
        }
    }
    begins.retain(|(thread, _)| !created[*thread as usize]);
    if begins.len() < 2 {
        return before;
    }
    // The end of a process is that of its last thread; one without an end of its own was killed or runs on.
    let mut over: HashMap<u32, Option<u64>> = HashMap::new();
    for (thread, end) in (0u32..).zip(&ends).filter(|(t, _)| data.refs(*t) > 0) {
        let process = over.entry(process_of(thread)).or_insert(Some(0));
        *process = process.zip(*end).map(|(a, b)| a.max(b));
    }
    for (root, begin) in begins {
        let ended = |t: u32| over.get(&process_of(t)).copied().flatten().is_some_and(|end| end > 0 && end < begin);
        before[root as usize] = (0..ranks.len() as u32).filter(|&t| ended(t)).map(|t| ranks[t as usize]).collect();
    }
    before
}

/// What a thread does that matters here, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Creation of a thread.
    Create(u32),
    /// Join of a thread: goes on when that one has ended.
    Join(u32),
    /// Wait for the end of a thread's process.
    Reap(u32),
    /// News that a thread which nobody joins has made its last reference.
    Hear(u32),
}

fn synchronised(data: &DatasetReader, ranks: &[u32]) -> Vec<Ranks> {
    let before = roots_by_the_clock(data, ranks);
    if nobody_created_later(data) && before.iter().all(Ranks::is_empty) {
        return before;
    }
    let ends = Ends::of(data);
    Walk::new(ends.steps(data), ranks, before).run()
}

/// Whether no thread acquired anything before it created another one: then none can have known of an end.
fn nobody_created_later(data: &DatasetReader) -> bool {
    let mut creations = vec![0u32; data.threads() as usize];
    for (_, e) in data.events().others().filter(|(_, e)| matches!(e.kind, EventKind::Spawn { .. })) {
        creations[e.thread as usize] += 1;
    }
    (0..data.threads()).zip(creations).all(|(thread, mut later)| {
        for e in data.thread_events(thread) {
            match e.kind {
                _ if later == 0 => break,
                EventKind::Acquire { .. } | EventKind::AcqRel { .. } | EventKind::Waited { .. } => return false,
                EventKind::Spawn { .. } => later -= 1,
                _ => {}
            }
        }
        true
    })
}

/// What was released at ends of threads, in order of sequence number.
struct Ends {
    /// By threads as they ended: whoever acquires it joins them.
    joins: HashMap<Object, Vec<(u64, u32)>>,
    /// By threads after their last reference.
    last: HashMap<Object, Vec<(u64, u32)>>,
}

impl Ends {
    fn of(data: &DatasetReader) -> Ends {
        let mut ends = Ends { joins: HashMap::new(), last: HashMap::new() };
        let mut before: Vec<Option<(Object, u64, u64)>> = vec![None; data.threads() as usize];
        let mut seen: HashSet<(u32, Object)> = HashSet::new();
        for e in data.events() {
            let released = match e.kind {
                EventKind::Release { object, epoch, seq, .. } => Some((object, epoch, seq, true)),
                EventKind::AcqRel { object, epoch, seq, .. } => Some((object, epoch, seq, false)),
                EventKind::Exit => {
                    if let Some((object, seq, at)) = before[e.thread as usize]
                        && at == e.at
                    {
                        ends.joins.entry(data.events().known(object)).or_default().push((seq, e.thread));
                    }
                    None
                }
                _ => None,
            };
            before[e.thread as usize] = None;
            let Some((object, epoch, seq, release)) = released else { continue };
            let object = (data.address_space(e.thread), object, epoch);
            if release {
                before[e.thread as usize] = Some((object, seq, e.at));
            }
            if e.at > 0 && e.at == data.refs(e.thread) {
                let object = data.events().known(object);
                if seen.insert((e.thread, object)) {
                    ends.last.entry(object).or_default().push((seq, e.thread));
                }
            }
        }
        let lists = ends.joins.values_mut().chain(ends.last.values_mut());
        lists.for_each(|list| list.sort_unstable());
        ends
    }

    /// Every thread's steps.
    fn steps(&self, data: &DatasetReader) -> Vec<Vec<Step>> {
        let threads = data.threads();
        let mut processes: HashMap<u32, Vec<u32>> = HashMap::new();
        for (t, thread) in (0..threads).zip(&data.manifest().threads) {
            if let Some(process) = data.manifest().processes.get(thread.process as usize) {
                processes.entry(process.pid).or_default().push(t);
            }
        }
        let mut steps: Vec<Vec<Step>> = vec![Vec::new(); threads as usize];
        let mut joined = vec![false; threads as usize];
        // How many of an object's ends a thread has heard of.
        let mut heard: HashMap<(u32, Object, bool), usize> = HashMap::new();
        for e in data.events() {
            let (object, epoch, seq) = match e.kind {
                EventKind::Acquire { object, epoch, seq, .. } | EventKind::AcqRel { object, epoch, seq, .. } => {
                    (object, epoch, seq)
                }
                EventKind::Waited { pid } => {
                    let theirs = processes.get(&pid).into_iter().flatten().filter(|&&t| t != e.thread);
                    steps[e.thread as usize].extend(theirs.map(|&t| Step::Reap(t)));
                    continue;
                }
                EventKind::Spawn { child } if child < threads => {
                    steps[e.thread as usize].push(Step::Create(child));
                    continue;
                }
                _ => continue,
            };
            let object = data.events().known((data.address_space(e.thread), object, epoch));
            for (list, joins) in [(self.joins.get(&object), true), (self.last.get(&object), false)] {
                let Some(list) = list else { continue };
                let known = list.partition_point(|end| end.0 < seq);
                let before = heard.entry((e.thread, object, joins)).or_default();
                for &(_, thread) in list.get(*before..known).unwrap_or_default() {
                    joined[thread as usize] |= joins;
                    steps[e.thread as usize].push(if joins { Step::Join(thread) } else { Step::Hear(thread) });
                }
                *before = known.max(*before);
            }
        }
        // A joined thread has ended when it is joined, not when somebody happens to take a lock after it.
        let counts = |s: &Step| !matches!(s, Step::Hear(t) if joined[*t as usize]);
        steps.iter_mut().for_each(|list| list.retain(counts));
        steps
    }
}

/// All threads' steps, each after what it needs.
struct Walk<'a> {
    steps: Vec<Vec<Step>>,
    ranks: &'a [u32],
    /// Steps done, by thread.
    done: Vec<usize>,
    /// What each thread knows to have ended.
    known: Vec<Ranks>,
    /// What was known to have ended where each thread was created.
    at_creation: Vec<Ranks>,
    created: Vec<bool>,
    /// Threads that wait for each thread's end.
    waiting: Vec<Vec<u32>>,
}

impl<'a> Walk<'a> {
    /// `before`: what had ended, as the clock says, where the initial threads of processes began.
    fn new(steps: Vec<Vec<Step>>, ranks: &'a [u32], before: Vec<Ranks>) -> Walk<'a> {
        let n = steps.len();
        let mut created = vec![true; n];
        for step in steps.iter().flatten() {
            if let Step::Create(child) = step {
                created[*child as usize] = false;
            }
        }
        let at_creation = before.clone();
        Walk { steps, ranks, done: vec![0; n], known: before, at_creation, created, waiting: vec![vec![]; n] }
    }

    fn run(mut self) -> Vec<Ranks> {
        let mut ready: Vec<u32> = (0..self.steps.len() as u32).filter(|&t| self.created[t as usize]).collect();
        while let Some(thread) = ready.pop() {
            self.advance(thread, &mut ready);
        }
        self.at_creation
    }

    /// A thread's steps up to its end or to a join of one that has not ended. In a damaged dataset threads may wait
    /// for each other: those they would create then begin with nothing known, which is the careful answer.
    fn advance(&mut self, thread: u32, ready: &mut Vec<u32>) {
        let t = thread as usize;
        while let Some(&step) = self.steps[t].get(self.done[t]) {
            match step {
                Step::Create(child) => {
                    let c = child as usize;
                    if !std::mem::replace(&mut self.created[c], true) {
                        let known = self.known[t].clone();
                        self.at_creation[c].clone_from(&known);
                        self.known[c] = known;
                        ready.push(child);
                    }
                }
                Step::Join(other) | Step::Reap(other) if !self.ended(other) => {
                    self.waiting[other as usize].push(thread);
                    return;
                }
                Step::Join(other) | Step::Reap(other) | Step::Hear(other) => {
                    if self.ended(other) {
                        let theirs = self.known[other as usize].clone();
                        self.known[t].extend(&theirs);
                    }
                    self.known[t].insert(self.ranks[other as usize]);
                }
            }
            self.done[t] += 1;
        }
        ready.append(&mut self.waiting[t]);
    }

    fn ended(&self, thread: u32) -> bool {
        self.created[thread as usize] && self.done[thread as usize] == self.steps[thread as usize].len()
    }
}
