//! The nodes of a cluster, what the protocol does there as tasks, and what is under way between them.
//!
//! A task is polled when something it waits for has happened. What it computes meanwhile are cycles that it owes: what it sends leaves so
//! much later, and so much later it goes on or is over. Its changes of the node's own words are seen at once.
use crate::contents::Contents;
use crate::fabric::Fabric;
use crate::row::{Counts, Interrupts, Work};
use homenode_base::NodeId;
use homenode_hlrc::cluster::{Cluster, Layout};
use homenode_hlrc::host::{Access, Interrupt, Wake};
use homenode_hlrc::operation::Operation;
use homenode_hlrc::state::Tables;
use homenode_machine::Network;
use homenode_timed::engine::Call;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Waker};

pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;
/// How an operation of the protocol becomes a task of a processor.
pub(crate) type AsTask = fn(&Rc<World>, u32, Operation) -> Task;
/// What happens at the end of a call.
type Action = Box<dyn FnOnce(&Rc<World>)>;

/// Whose a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The program of this processor, which waits for it.
    Program(u32),
    /// An interrupt handler on this processor, and what of its time went before it began.
    Handler(u32, u64),
}

struct Slot {
    task: Option<Task>,
    owner: Owner,
    /// Until then it computes.
    busy_until: u64,
    /// Cycles that it has computed in all.
    computed: u64,
}

/// Interrupts of a processor.
#[derive(Debug, Default)]
pub(crate) struct Handlers {
    runs: Cell<bool>,
    /// When each that waits was issued.
    waiting: RefCell<VecDeque<u64>>,
    /// Until then the processor is taken.
    pub(crate) until: Cell<u64>,
    /// Since when its program is in the protocol, which it is not while it traps, and until when.
    inside: Cell<(u64, u64)>,
}

/// A node.
pub(crate) struct Node {
    pub(crate) cluster: Cluster,
    pub(crate) region: Vec<AtomicU64>,
    pub(crate) tables: Tables<Vec<AtomicU64>>,
    pub(crate) access: Vec<Cell<Access>>,
    /// Of each page, whether the node has had it, and a twin of it.
    had: Vec<[Cell<bool>; 2]>,
    /// Words of 4 bytes that were written since the page's twin was made: of each page, a mask a line.
    pub(crate) written: RefCell<Vec<Option<Box<[u16]>>>>,
    pub(crate) bell: Cell<u64>,
    pub(crate) expecting: Cell<u64>,
    /// Tasks that wait for the bell, and since when.
    pub(crate) waiting: RefCell<Vec<(usize, u64)>>,
    pub(crate) counts: RefCell<Counts>,
    pub(crate) interrupts: RefCell<Interrupts>,
    pub(crate) work: RefCell<Work>,
    /// Processor that has the next interrupt, where they go in turn.
    turn: Cell<u32>,
}

/// Lines that the caches of a node lose because of what the protocol did.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    pub(crate) node: u16,
    pub(crate) page: u32,
    /// Lines in the page.
    pub(crate) lines: Range<u64>,
    /// Whether they are lost, or only the right to write them.
    pub(crate) whole: bool,
}

/// What the engine is to be told.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) calls: Vec<Call>,
    pub(crate) resumed: Vec<(u32, u64)>,
    pub(crate) stolen: Vec<(u32, u64)>,
    pub(crate) lost: Vec<Lost>,
}

/// A message that a task makes of several operations.
struct Joined {
    to: NodeId,
    bytes: u64,
    actions: Vec<Action>,
}

pub(crate) struct World {
    as_task: AsTask,
    /// Whether pages are there when they are touched.
    pub(crate) local_faults: bool,
    /// Contents of pages, if they are to be checked.
    pub(crate) contents: Option<Contents>,
    pub(crate) net: Network,
    pub(crate) fabric: Fabric,
    pub(crate) nodes: Vec<Node>,
    pub(crate) layout: Layout,
    pub(crate) handlers: Vec<Handlers>,
    pub(crate) now: Cell<u64>,
    /// Cycles that the task which is polled has computed since.
    pub(crate) debt: Cell<u64>,
    pub(crate) current: Cell<usize>,
    /// Fetches and invalidations of each page.
    pub(crate) of_pages: RefCell<Vec<[u64; 2]>>,
    /// Words of the run of changed words that was found last.
    pub(crate) run_words: Cell<u64>,
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<usize>>,
    ready: RefCell<VecDeque<usize>>,
    actions: RefCell<Vec<Option<Action>>>,
    free_actions: RefCell<Vec<u32>>,
    joined: RefCell<Option<Joined>>,
    /// When the last change of a pair of nodes left: none leaves before it.
    leaves: RefCell<Vec<u64>>,
    pub(crate) out: RefCell<Out>,
}

/// A call that is only heard of by who waits for a message's last packet.
const NOTHING: u32 = u32::MAX;

pub(crate) fn zeros(words: usize) -> Vec<AtomicU64> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

impl World {
    /// Nodes that are all like this one.
    pub(crate) fn new((net, local_faults, checks): (Network, bool, bool), like: Cluster, as_task: AsTask) -> Rc<World> {
        let (nodes, pages) = (usize::from(like.nodes), like.pages as usize);
        let node = |me| {
            let cluster = Cluster { me: NodeId(me), ..like };
            Node {
                region: zeros(cluster.layout().words()),
                tables: Tables::new(&cluster, zeros),
                access: vec![Cell::new(Access::None); pages],
                had: vec![[const { Cell::new(false) }; 2]; pages],
                written: RefCell::new(vec![None; pages]),
                bell: Cell::new(0),
                expecting: Cell::new(0),
                waiting: RefCell::default(),
                counts: RefCell::default(),
                interrupts: RefCell::default(),
                work: RefCell::default(),
                turn: Cell::new(0),
                cluster,
            }
        };
        Rc::new(World {
            as_task,
            local_faults,
            contents: checks.then(|| {
                let line_words = (net.line_bytes / 8) as usize;
                Contents::new(nodes, pages, like.page_words, line_words)
            }),
            fabric: Fabric::new(net.clone()),
            nodes: (0..like.nodes).map(node).collect(),
            layout: like.layout(),
            handlers: (0..like.all_threads()).map(|_| Handlers::default()).collect(),
            now: Cell::new(0),
            debt: Cell::new(0),
            current: Cell::new(0),
            of_pages: RefCell::new(vec![[0; 2]; pages]),
            run_words: Cell::new(0),
            slots: RefCell::default(),
            free: RefCell::default(),
            ready: RefCell::default(),
            actions: RefCell::default(),
            free_actions: RefCell::default(),
            joined: RefCell::default(),
            leaves: RefCell::new(vec![0; nodes * nodes]),
            out: RefCell::default(),
            net,
        })
    }

    pub(crate) fn node_of(&self, processor: u32) -> NodeId {
        NodeId((processor / u32::from(self.nodes[0].cluster.threads)) as u16)
    }
    /// The time of the task that is polled.
    pub(crate) fn moment(&self) -> u64 {
        self.now.get() + self.debt.get()
    }
    /// The task that is polled computes.
    pub(crate) fn compute(&self, cycles: u64) {
        self.debt.set(self.debt.get() + cycles);
    }

    /// Begins an operation of the program of a processor, which has owed so many cycles before it.
    pub(crate) fn begin(self: &Rc<World>, processor: u32, operation: Operation, owed: u64) {
        self.handlers[processor as usize].inside.set((self.now.get() + owed, u64::MAX));
        self.spawn(processor, operation, Owner::Program(processor), owed);
    }

    fn spawn(self: &Rc<World>, processor: u32, operation: Operation, owner: Owner, owed: u64) {
        let task = (self.as_task)(self, processor, operation);
        let slot = Slot { task: Some(task), owner, busy_until: 0, computed: owed };
        let at = match self.free.borrow_mut().pop() {
            Some(at) => {
                self.slots.borrow_mut()[at] = slot;
                at
            }
            None => {
                self.slots.borrow_mut().push(slot);
                self.slots.borrow().len() - 1
            }
        };
        self.poll(at, owed);
    }

    /// Polls all tasks that can go on.
    pub(crate) fn poll_ready(self: &Rc<World>) {
        loop {
            let Some(at) = self.ready.borrow_mut().pop_front() else { return };
            self.poll(at, 0);
        }
    }

    /// Polls a task that owes so many cycles.
    fn poll(self: &Rc<World>, at: usize, owed: u64) {
        let Some(mut task) = self.slots.borrow_mut()[at].task.take() else { return };
        // A task is polled out of another one's only when that one begins it, so what that owes stands still.
        let (before, outer) = (self.debt.replace(owed), self.current.replace(at));
        let is_over = task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        self.flush();
        let computed = self.debt.replace(before);
        self.current.set(outer);
        let owner = {
            let slot = &mut self.slots.borrow_mut()[at];
            slot.computed += computed - owed;
            slot.busy_until = self.now.get() + computed;
            if !is_over {
                slot.task = Some(task);
                return;
            }
            slot.owner
        };
        let (ends, computed) = (self.now.get() + computed, self.slots.borrow()[at].computed);
        self.free.borrow_mut().push(at);
        match owner {
            Owner::Program(processor) => {
                let handlers = &self.handlers[processor as usize];
                let ends = ends.max(handlers.until.get());
                handlers.inside.set((handlers.inside.get().0, ends));
                self.out.borrow_mut().resumed.push((processor, ends));
            }
            Owner::Handler(processor, before) => self.handled(processor, before + computed, ends),
        }
    }

    /// A task goes on, at the time of the task that says so, and when what it computes is over.
    pub(crate) fn wake(self: &Rc<World>, task: usize) {
        self.wake_after(task, 0);
    }
    fn wake_after(self: &Rc<World>, task: usize, cycles: u64) {
        let time = self.moment().max(self.slots.borrow()[task].busy_until) + cycles;
        if time == self.now.get() {
            self.ready.borrow_mut().push_back(task);
        } else {
            self.after(time, Box::new(move |world| world.ready.borrow_mut().push_back(task)));
        }
    }
    /// Wakes the threads of a node that wait.
    pub(crate) fn ring(self: &Rc<World>, node: NodeId) {
        let node = &self.nodes[node.index()];
        node.bell.set(node.bell.get() + 1);
        for (task, since) in std::mem::take(&mut *node.waiting.borrow_mut()) {
            self.wake_after(task, self.sleeps(since));
        }
    }
    /// Cycles that it takes to wake a thread that has waited since then.
    fn sleeps(&self, since: u64) -> u64 {
        let [after, cycles] = self.net.sleep;
        if self.moment().saturating_sub(since) > after { cycles } else { 0 }
    }
    /// Wakes them as a change of the node's words does.
    pub(crate) fn wake_threads(self: &Rc<World>, node: NodeId, wake: Wake) {
        let is_expecting = self.nodes[node.index()].expecting.get() > 0;
        if wake == Wake::All || wake == Wake::Expecting && is_expecting {
            self.ring(node);
        }
    }

    fn call(&self, time: u64, path: homenode_timed::engine::Path, action: Option<Action>) {
        let token = match action {
            None => NOTHING,
            Some(action) => match self.free_actions.borrow_mut().pop() {
                Some(token) => {
                    self.actions.borrow_mut()[token as usize] = Some(action);
                    token
                }
                None => {
                    self.actions.borrow_mut().push(Some(action));
                    self.actions.borrow().len() as u32 - 1
                }
            },
        };
        self.out.borrow_mut().calls.push(Call { time, path, token });
    }
    /// Something happens at a time.
    pub(crate) fn after(&self, time: u64, action: Action) {
        self.call(time, homenode_timed::engine::Path::default(), Some(action));
    }
    /// A call is at its end.
    pub(crate) fn called(self: &Rc<World>, token: u32, now: u64) {
        self.now.set(now);
        if token == NOTHING {
            return;
        }
        let action = self.actions.borrow_mut()[token as usize].take();
        self.free_actions.borrow_mut().push(token);
        action.into_iter().for_each(|act| act(self));
        self.poll_ready();
    }

    /// When a message of the task that is polled leaves its processor: after what it costs there, and not before those that left for the same
    /// node before.
    fn leaving(&self, from: NodeId, to: NodeId) -> u64 {
        self.compute(self.net.host_overhead);
        let pair = from.index() * self.nodes.len() + to.index();
        let mut leaves = self.leaves.borrow_mut();
        leaves[pair] = leaves[pair].max(self.moment());
        leaves[pair]
    }

    /// Deposits bytes at another node, where `action` happens when all of them have come.
    pub(crate) fn deposit(&self, from: NodeId, to: NodeId, bytes: u64, action: Action) {
        let (bytes, action) = self.with_joined(to, bytes, action);
        let time = self.leaving(from, to);
        self.nodes[from.index()].counts.borrow_mut().sent(bytes);
        let paths: Vec<_> = self.fabric.deposit(from.0, to.0, bytes).collect();
        let last = paths.len() - 1;
        let mut action = Some(action);
        for (n, path) in paths.into_iter().enumerate() {
            self.call(time, path, if n == last { action.take() } else { None });
        }
    }
    /// As [`World::deposit`], with what the same task sends to that node next, in one message.
    pub(crate) fn join(&self, from: NodeId, to: NodeId, bytes: u64, action: Action) {
        if self.joined.borrow().as_ref().is_some_and(|j| j.to != to) {
            self.flush();
        }
        let mut joined = self.joined.borrow_mut();
        let joined = joined.get_or_insert_with(|| Joined { to, bytes: 0, actions: Vec::new() });
        joined.bytes += bytes;
        joined.actions.push(action);
        debug_assert_ne!(from, to);
    }
    /// What was joined for a node, and this; what was joined for another one leaves.
    fn with_joined(&self, to: NodeId, bytes: u64, action: Action) -> (u64, Action) {
        if self.joined.borrow().as_ref().is_some_and(|j| j.to != to) {
            self.flush();
        }
        let Some(Joined { bytes: more, actions, .. }) = self.joined.borrow_mut().take() else { return (bytes, action) };
        let all: Action = Box::new(move |world| {
            actions.into_iter().for_each(|act| act(world));
            action(world);
        });
        (bytes + more, all)
    }
    /// What was joined leaves.
    pub(crate) fn flush(&self) {
        let to = self.joined.borrow().as_ref().map(|j| j.to);
        if let Some(to) = to {
            let from = self.slots.borrow()[self.current.get()].owner.processor();
            self.deposit(self.node_of(from), to, 0, Box::new(|_| {}));
        }
    }

    /// Asks the network interface of another node, which looks at once (`is_ordered`: when all that was sent there before has come): `action`
    /// happens there, says how many bytes it answers, and what happens when they have come.
    pub(crate) fn ask(
        &self,
        (from, to): (NodeId, NodeId),
        (bytes, is_ordered): (u64, bool),
        action: impl FnOnce(&Rc<World>) -> (u64, Action) + 'static,
    ) {
        let act: Action = Box::new(move |world| {
            let (bytes, answer) = action(world);
            world.nodes[to.index()].counts.borrow_mut().bytes += bytes;
            let paths: Vec<_> = world.fabric.deposit(to.0, from.0, bytes).collect();
            let last = paths.len() - 1;
            let mut answer = Some(answer);
            for (n, path) in paths.into_iter().enumerate() {
                world.call(world.now.get(), path, if n == last { answer.take() } else { None });
            }
        });
        if is_ordered {
            return self.deposit(from, to, bytes, act);
        }
        self.flush();
        let time = self.leaving(from, to);
        self.nodes[from.index()].counts.borrow_mut().sent(bytes);
        self.call(time, self.fabric.request(from.0, to.0, bytes), Some(act));
    }

    /// A processor of a node is interrupted, now.
    pub(crate) fn interrupt(self: &Rc<World>, node: NodeId, why: Interrupt) {
        let n = &self.nodes[node.index()];
        n.interrupts.borrow_mut().add(why);
        let per_node = u32::from(n.cluster.threads);
        let processor = u32::from(node.0) * per_node + if self.net.round_robin { n.turn.get() } else { 0 };
        n.turn.set((n.turn.get() + 1) % per_node);
        let issued = self.now.get() + if self.sees(processor).is_some() { 0 } else { self.net.interrupt };
        let handlers = &self.handlers[processor as usize];
        if handlers.runs.replace(true) {
            handlers.waiting.borrow_mut().push_back(issued);
        } else {
            self.deliver(processor, issued);
        }
    }
    /// Cycles after which a processor sees by itself that it is wanted; none if it must be interrupted.
    fn sees(&self, processor: u32) -> Option<u64> {
        let node = &self.nodes[self.node_of(processor).index()];
        let (since, until) = self.handlers[processor as usize].inside.get();
        let waits = self.net.seen.filter(|_| (since..until).contains(&self.now.get()))?;
        let soonest = node.waiting.borrow().iter().map(|w| self.sleeps(w.1)).min();
        Some(waits + soonest.unwrap_or(0))
    }
    /// The handler begins when the interrupt has been delivered.
    fn deliver(self: &Rc<World>, processor: u32, issued: u64) {
        let delivery = self.sees(processor).unwrap_or(self.net.interrupt);
        let begin: Action = Box::new(move |world| {
            world.spawn(processor, Operation::Serve, Owner::Handler(processor, delivery), 0);
            world.ring(world.node_of(processor));
        });
        self.after(issued.max(self.now.get()) + delivery, begin);
    }
    /// A handler is over; the next one, if there is one, is delivered.
    fn handled(self: &Rc<World>, processor: u32, cycles: u64, ends: u64) {
        let handlers = &self.handlers[processor as usize];
        handlers.until.set(ends);
        self.nodes[self.node_of(processor).index()].work.borrow_mut().handlers += cycles;
        self.out.borrow_mut().stolen.push((processor, cycles));
        match handlers.waiting.borrow_mut().pop_front() {
            None => handlers.runs.set(false),
            Some(issued) => self.deliver(processor, issued.max(ends)),
        }
    }
}

impl Owner {
    fn processor(self) -> u32 {
        match self {
            Owner::Program(processor) | Owner::Handler(processor, _) => processor,
        }
    }
}

impl Node {
    /// Cycles that memory for a page takes, or for its twin, which are more than none at the first time.
    pub(crate) fn memory(&self, page: u32, is_twin: bool, first: [u64; 2]) -> u64 {
        let which = usize::from(is_twin);
        if self.had[page as usize][which].replace(true) { 0 } else { first[which] }
    }
    /// The program has written words of a line of a page.
    #[inline]
    pub(crate) fn wrote(&self, page: u32, line: usize, lines: usize, words: u16) {
        let mut written = self.written.borrow_mut();
        let masks = written[page as usize].get_or_insert_with(|| vec![0; lines].into_boxed_slice());
        masks[line] |= words;
    }
}
