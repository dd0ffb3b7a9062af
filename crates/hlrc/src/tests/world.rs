//! A simulated cluster: nodes of a few small pages, a network with delays that keeps the order of changes for each pair and nothing else,
//! and a memory beside it that knows what a program without races must read.
use crate::cluster::{Cluster, Homes, Layout};
use crate::host::{Access, Wake};
use crate::journal::Record;
use crate::state::Tables;
use crate::steps::Step;
use homenode_base::{NodeId, Rng};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

/// A node, and what an operation there noted.
pub(super) type Noted = (NodeId, Vec<Record>);
type Task = Pin<Box<dyn Future<Output = ()>>>;
pub(super) type Action = Box<dyn FnOnce(&Rc<World>)>;

/// Something that happens later.
struct Event {
    /// Pair of nodes, if its events keep their order.
    pair: Option<usize>,
    /// Hash of what it does.
    print: u64,
    act: Action,
}

pub(super) fn hashed(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

pub(crate) struct Node {
    pub(super) cluster: Cluster,
    pub(super) region: Vec<AtomicU64>,
    pub(super) copies: Vec<AtomicU64>,
    pub(super) twins: Vec<AtomicU64>,
    pub(super) access: Vec<Cell<Access>>,
    pub(super) tables: Tables<Vec<AtomicU64>>,
    pub(super) bell: Cell<u64>,
    /// Threads that wait for deposits.
    pub(super) expecting: Cell<u64>,
    pub(super) waiting: RefCell<Vec<usize>>,
    pub(crate) interrupts: RefCell<BTreeMap<&'static str, u64>>,
    pub(crate) counts: RefCell<BTreeMap<String, u64>>,
}

pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(super) layout: Layout,
    rng: RefCell<Rng>,
    now: Cell<u64>,
    number: Cell<u64>,
    events: RefCell<BTreeMap<(u64, u64), Event>>,
    /// When the last change of a pair of nodes arrives.
    arrives: RefCell<Vec<u64>>,
    tasks: RefCell<Vec<Option<Task>>>,
    /// Of each task, its node and the hash of all that it has seen.
    histories: RefCell<Vec<(NodeId, u64)>>,
    /// Whether every order of events is tried, and time does not pass.
    pub(super) is_explored: bool,
    pub(super) ready: RefCell<Vec<usize>>,
    pub(super) current: Cell<usize>,
    pub(super) delay: u64,
    /// What each byte is, if the program has no races.
    pub(super) shadow: RefCell<Vec<u8>>,
    pub(crate) reads: Cell<u64>,
    /// Journals of the operations that have ended, each with its node, if they are written.
    pub(super) journals: Option<RefCell<Vec<Noted>>>,
    /// Of barriers to which not all threads come, how many of each node do.
    pub(super) parties: RefCell<Vec<(u32, Vec<u64>)>>,
    /// Operations that nodes began at each other, or at themselves.
    pub(crate) operations: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: u16,
    pub(crate) threads: u16,
    pub(crate) pages: u32,
    pub(crate) page_words: usize,
    pub(crate) step: Step,
    pub(crate) homes: Homes,
    /// Whether pages are given a home of some node before anybody touches them, all but the first one.
    pub(crate) given: bool,
    pub(crate) log: u32,
    /// Whether homes keep pages exclusive.
    pub(crate) exclusive: bool,
    /// How many pages come with one that is fetched.
    pub(crate) prefetch: u8,
    /// Whether homes move.
    pub(crate) migrate: bool,
    /// Whether pages are given up in order.
    pub(crate) sorted: bool,
    /// Whether locks have tickets.
    pub(crate) tickets: bool,
    /// Whether barriers open by a tree.
    pub(crate) tree: bool,
    pub(crate) slots: u32,
    /// Whether operations write journals.
    pub(crate) noted: bool,
    /// Longest delay, but for those that are twenty times as long; 0 if every order of events is tried.
    pub(crate) delay: u64,
    pub(crate) seed: u64,
}

fn zeros(words: usize) -> Vec<AtomicU64> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

impl World {
    pub(crate) fn new(shape: Shape) -> Rc<World> {
        let cluster = |me| {
            let mut cluster = Cluster {
                me,
                nodes: shape.nodes,
                threads: shape.threads,
                pages: shape.pages,
                page_words: shape.page_words,
                step: shape.step,
                homes: shape.homes,
                alone: false,
                log: shape.log,
                inbox: 0,
                slots: shape.slots,
                exclusive: shape.exclusive,
                prefetch: shape.prefetch,
                migrate: shape.migrate,
                sorted: shape.sorted,
                tickets: shape.tickets,
                tree: shape.tree,
                extra: 0,
            };
            cluster.inbox = cluster.least_inbox();
            cluster
        };
        let node = |me| {
            let cluster: Cluster = cluster(NodeId(me));
            let words = shape.pages as usize * shape.page_words;
            Node {
                cluster,
                region: zeros(cluster.layout().words()),
                copies: zeros(words),
                twins: zeros(words),
                access: vec![Cell::new(Access::None); shape.pages as usize],
                tables: Tables::new(&cluster, zeros),
                bell: Cell::new(0),
                expecting: Cell::new(0),
                waiting: RefCell::default(),
                interrupts: RefCell::default(),
                counts: RefCell::default(),
            }
        };
        let nodes = usize::from(shape.nodes);
        Rc::new(World {
            nodes: (0..shape.nodes).map(node).collect(),
            layout: cluster(NodeId(0)).layout(),
            rng: RefCell::new(Rng::new(shape.seed)),
            now: Cell::new(0),
            number: Cell::new(0),
            events: RefCell::default(),
            arrives: RefCell::new(vec![0; nodes * nodes]),
            tasks: RefCell::default(),
            histories: RefCell::default(),
            is_explored: shape.delay == 0,
            ready: RefCell::default(),
            current: Cell::new(0),
            delay: shape.delay,
            shadow: RefCell::new(vec![0; shape.pages as usize * shape.page_words * 8]),
            reads: Cell::new(0),
            journals: shape.noted.then(RefCell::default),
            parties: RefCell::default(),
            operations: Cell::new(0),
        })
    }

    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.rng.borrow_mut().below(bound)
    }

    /// A delay: now and then longer than many others one after the other.
    pub(super) fn some_time(&self) -> u64 {
        let slow = if self.below(8) == 0 { 20 } else { 1 };
        slow * self.below(self.delay)
    }

    fn at(&self, time: u64, event: Event) {
        self.number.set(self.number.get() + 1);
        self.events.borrow_mut().insert((time, self.number.get()), event);
    }

    pub(super) fn after(&self, delay: u64, print: u64, act: Action) {
        let delay = if self.is_explored { 0 } else { delay };
        self.at(self.now.get() + delay, Event { pair: None, print, act });
    }

    /// Begins a task of a node.
    pub(crate) fn spawn(&self, me: NodeId, task: impl Future<Output = ()> + 'static) {
        let mut tasks = self.tasks.borrow_mut();
        self.ready.borrow_mut().push(tasks.len());
        tasks.push(Some(Box::pin(task)));
        self.histories.borrow_mut().push((me, 0));
    }

    /// A task goes on, having seen this.
    pub(super) fn wake(&self, task: usize, seen: u64) {
        let history = &mut self.histories.borrow_mut()[task].1;
        *history = hashed((*history, seen));
        self.ready.borrow_mut().push(task);
    }

    /// Hash of all that a node's tasks can see.
    fn memory(&self, node: NodeId) -> u64 {
        let node = &self.nodes[node.index()];
        let mut hasher = DefaultHasher::new();
        for word in node.region.iter().chain(&node.copies).chain(&node.twins).chain(node.tables.words()) {
            word.load(Ordering::SeqCst).hash(&mut hasher);
        }
        node.access.iter().for_each(|a| (a.get() as u8).hash(&mut hasher));
        node.expecting.get().hash(&mut hasher);
        hasher.finish()
    }

    /// Hash of everything on which it depends how the world goes on, and how many tasks there are.
    pub(crate) fn print(&self) -> (u64, usize) {
        let nodes: Vec<u64> = (0..self.nodes.len() as u16).map(|n| self.memory(NodeId(n))).collect();
        let live = |(at, t): (usize, &Option<Task>)| t.as_ref().map(|_| self.histories.borrow()[at]);
        let mut tasks: Vec<(NodeId, u64)> = self.tasks.borrow().iter().enumerate().filter_map(live).collect();
        tasks.sort_unstable();
        let events = self.events.borrow();
        let mut loose: Vec<u64> = events.values().filter(|e| e.pair.is_none()).map(|e| e.print).collect();
        loose.sort_unstable();
        let mut pairs: Vec<(usize, u64)> = events.values().filter_map(|e| Some((e.pair?, e.print))).collect();
        pairs.sort_by_key(|p| p.0);
        (hashed((nodes, &tasks, loose, pairs, &*self.shadow.borrow())), tasks.len())
    }

    /// Events that may be the next one: the first of each pair of nodes, and all without a pair.
    fn possible(&self) -> Vec<(u64, u64)> {
        let mut pairs = BTreeSet::new();
        let events = self.events.borrow();
        events.iter().filter(|(_, e)| e.pair.is_none_or(|p| pairs.insert(p))).map(|(key, _)| *key).collect()
    }

    /// Polls the tasks that can go on; then has the event happen that `choice` says. How many there are to choose from afterwards.
    pub(crate) fn step(self: &Rc<World>, choice: Option<usize>) -> usize {
        if let Some(key) = choice.map(|c| self.possible()[c]) {
            let event = self.events.borrow_mut().remove(&key).expect("it is possible");
            (event.act)(self);
        }
        self.poll_ready();
        self.possible().len()
    }

    /// Wakes threads of a node as a change of its words does.
    pub(super) fn wake_threads(&self, node: NodeId, wake: Wake) {
        let is_expecting = self.nodes[node.index()].expecting.get() > 0;
        if wake == Wake::All || wake == Wake::Expecting && is_expecting {
            self.ring(node);
        }
    }
    /// Wakes the threads of a node that wait.
    pub(super) fn ring(&self, node: NodeId) {
        let node = &self.nodes[node.index()];
        node.bell.set(node.bell.get() + 1);
        for task in std::mem::take(&mut *node.waiting.borrow_mut()) {
            if self.is_explored {
                self.ready.borrow_mut().push(task);
            } else {
                // Whoever wakes is not the first to run.
                let act: Action = Box::new(move |world: &Rc<World>| world.ready.borrow_mut().push(task));
                self.after(self.some_time(), 0, act);
            }
        }
    }

    /// Runs until nothing is left to do; tasks that have not ended then.
    pub(crate) fn run(self: &Rc<World>, most_events: u64) -> usize {
        for _ in 0..most_events {
            self.poll_ready();
            if self.tasks.borrow().iter().all(Option::is_none) {
                return 0;
            }
            let Some(((time, _), event)) = self.pop() else { break };
            self.now.set(time);
            (event.act)(self);
        }
        self.tasks.borrow().iter().flatten().count()
    }

    fn poll_ready(self: &Rc<World>) {
        let mut context = Context::from_waker(Waker::noop());
        while let Some(at) = self.next_ready() {
            let Some(mut task) = self.tasks.borrow_mut()[at].take() else { continue };
            self.current.set(at);
            if self.is_explored {
                let node = self.histories.borrow()[at].0;
                let seen = self.memory(node);
                let history = &mut self.histories.borrow_mut()[at].1;
                *history = hashed((*history, seen));
            }
            if task.as_mut().poll(&mut context).is_pending() {
                self.tasks.borrow_mut()[at] = Some(task);
            }
        }
    }

    fn pop(&self) -> Option<((u64, u64), Event)> {
        self.events.borrow_mut().pop_first()
    }

    fn next_ready(&self) -> Option<usize> {
        let mut ready = self.ready.borrow_mut();
        let len = ready.len() as u64;
        if self.is_explored && len > 0 {
            return Some(ready.remove(0));
        }
        (len > 0).then(|| ready.swap_remove(self.below(len) as usize))
    }

    /// Has `act` done at a node: changes in the order in which they were begun there by `from`.
    pub(super) fn deliver(
        self: &Rc<World>,
        (from, to): (NodeId, NodeId),
        ordered: bool,
        print: u64,
        act: impl FnOnce(&Rc<World>, &Node) + 'static,
    ) {
        let pair = from.index() * self.nodes.len() + to.index();
        self.operations.set(self.operations.get() + 1);
        let mut time = 0;
        if !self.is_explored {
            time = self.now.get() + 1 + self.some_time();
        }
        if ordered {
            let last = &mut self.arrives.borrow_mut()[pair];
            time = time.max(*last);
            *last = time;
        }
        let act: Action = Box::new(move |world| act(world, &world.nodes[to.index()]));
        self.at(time, Event { pair: ordered.then_some(pair), print: hashed((from, to, print)), act });
    }
}
