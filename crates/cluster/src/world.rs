//! The nodes of a cluster, what the protocol does there as tasks, and what is under way between them.
//!
//! A task is polled when something it waits for has happened. What it computes meanwhile are cycles that it owes: what it sends leaves so
//! much later, and so much later it goes on or is over. Its changes of the node's own words are seen at once.
use crate::contents::Contents;
use crate::fabric::Fabric;
use crate::faults::{Faults, Injector};
use crate::journal::Tapes;
use crate::row::{AtNode, Counts, Interrupts, Work};
use crate::slots::Slots;
use crate::words::Words;
use hashbrown::HashMap;
use homenode_base::NodeId;
use homenode_hlrc::cluster::{Cluster, Layout};
use homenode_hlrc::host::{Access, Wake};
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
use std::sync::Arc;
use std::task::{Context, Waker};

pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;
/// How an operation of the protocol becomes a task of a processor.
pub(crate) type AsTask = fn(&Rc<World>, u32, Operation) -> Task;
/// What happens at the end of a call.
pub(crate) type Action = Box<dyn FnOnce(&Rc<World>)>;

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
    pub(crate) runs: Cell<bool>,
    /// When each that waits was issued.
    pub(crate) waiting: RefCell<VecDeque<u64>>,
    /// Until then the processor is taken.
    pub(crate) until: Cell<u64>,
    /// Since when its program is in the protocol, which it is not while it traps, and until when.
    pub(crate) inside: Cell<(u64, u64)>,
}

/// A node.
pub(crate) struct Node {
    pub(crate) cluster: Cluster,
    pub(crate) region: Words,
    pub(crate) tables: Tables<Words>,
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
    /// Bytes that its interface is to send or has sent, and that have not come.
    pub(crate) queued: Cell<u64>,
    /// Tasks that wait for room there.
    pub(crate) stalled: RefCell<Vec<usize>>,
    /// What happened to each page to which something did.
    pub(crate) of_pages: RefCell<HashMap<u32, AtNode>>,
    /// When calls that protect pages are over.
    protecting: RefCell<Vec<u64>>,
    /// Processor that has the next interrupt, where they go in turn.
    pub(crate) turn: Cell<u32>,
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
pub(crate) struct Joined {
    pub(crate) to: NodeId,
    pub(crate) bytes: u64,
    pub(crate) actions: Vec<Action>,
}

/// What of a cluster is modelled, and how.
pub(crate) struct Modelled {
    pub(crate) net: Network,
    /// Whether pages are there when they are touched.
    pub(crate) local_faults: bool,
    /// Whether pages have contents.
    pub(crate) checks: bool,
    pub(crate) faults: Option<Faults>,
    /// Whether operations write journals.
    pub(crate) notes: bool,
}

pub(crate) struct World {
    as_task: AsTask,
    /// Whether pages are there when they are touched.
    pub(crate) local_faults: bool,
    /// Contents of pages, if they are to be checked.
    pub(crate) contents: Option<Contents>,
    pub(crate) tapes: Tapes,
    pub(crate) net: Network,
    pub(crate) fabric: Fabric,
    pub(crate) nodes: Vec<Node>,
    pub(crate) layout: Layout,
    pub(crate) locks_and_barriers: Arc<Slots>,
    pub(crate) handlers: Vec<Handlers>,
    pub(crate) now: Cell<u64>,
    /// Cycles that the task which is polled has computed since.
    pub(crate) debt: Cell<u64>,
    pub(crate) current: Cell<usize>,
    /// Page that each processor fetched last, if it has not synchronised since.
    pub(crate) fetched: Vec<Cell<Option<u32>>>,
    /// Times that each lock came from another node.
    pub(crate) remote: RefCell<Vec<u64>>,
    /// Words of the run of changed words that was found last.
    pub(crate) run_words: Cell<u64>,
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<usize>>,
    ready: RefCell<VecDeque<usize>>,
    actions: RefCell<Vec<Option<Action>>>,
    free_actions: RefCell<Vec<u32>>,
    pub(crate) joined: RefCell<Option<Joined>>,
    /// When the last change of a pair of nodes left: none leaves before it.
    pub(crate) leaves: RefCell<Vec<u64>>,
    pub(crate) out: RefCell<Out>,
    /// What goes wrong, if something does.
    pub(crate) faults: Option<Injector>,
    /// What the program of each processor waits for.
    pub(crate) doing: RefCell<Vec<Option<Operation>>>,
    /// Times that tasks have looked again since a program did something.
    looks: Cell<u64>,
}

/// Looks of tasks at what has not come, after which it never will if messages were given up.
const LOOKS_MAX: u64 = 10_000;

/// A call that is only heard of by who waits for a message's last packet.
const NOTHING: u32 = u32::MAX;

impl World {
    /// Nodes that are all like this one.
    pub(crate) fn new(
        Modelled { net, local_faults, checks, faults, notes }: Modelled,
        (like, slots): (Cluster, Arc<Slots>),
        as_task: AsTask,
    ) -> Rc<World> {
        let (nodes, pages) = (usize::from(like.nodes), like.pages as usize);
        let node = |me| {
            let cluster = Cluster { me: NodeId(me), ..like };
            Node {
                region: Words::zero(cluster.layout().words()),
                tables: Tables::new(&cluster, Words::zero),
                access: vec![Cell::new(Access::None); pages],
                had: vec![[const { Cell::new(false) }; 2]; pages],
                written: RefCell::new(vec![None; pages]),
                bell: Cell::new(0),
                expecting: Cell::new(0),
                waiting: RefCell::default(),
                counts: RefCell::default(),
                interrupts: RefCell::default(),
                work: RefCell::default(),
                queued: Cell::new(0),
                stalled: RefCell::default(),
                of_pages: RefCell::default(),
                protecting: RefCell::default(),
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
            tapes: Tapes::of(if notes { like.all_threads() as u32 } else { 0 }),
            fabric: Fabric::new(net.clone()),
            nodes: (0..like.nodes).map(node).collect(),
            layout: like.layout(),
            locks_and_barriers: slots,
            handlers: (0..like.all_threads()).map(|_| Handlers::default()).collect(),
            now: Cell::new(0),
            debt: Cell::new(0),
            current: Cell::new(0),
            fetched: vec![Cell::new(None); like.all_threads() as usize],
            remote: RefCell::new(vec![0; like.slots as usize]),
            run_words: Cell::new(0),
            slots: RefCell::default(),
            free: RefCell::default(),
            ready: RefCell::default(),
            actions: RefCell::default(),
            free_actions: RefCell::default(),
            joined: RefCell::default(),
            leaves: RefCell::new(vec![0; nodes * nodes]),
            out: RefCell::default(),
            faults: faults.map(|faults| Injector::new(faults, nodes)),
            doing: RefCell::new(vec![None; like.all_threads() as usize]),
            looks: Cell::new(0),
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
    /// The processor and the node of the task that is polled.
    pub(crate) fn of_current(&self) -> (u32, NodeId) {
        let processor = self.slots.borrow()[self.current.get()].owner.processor();
        (processor, self.node_of(processor))
    }
    /// The task that is polled computes; how long that takes on its node.
    pub(crate) fn compute(&self, cycles: u64) -> u64 {
        let cycles = self.faults.as_ref().map_or(cycles, |f| f.takes(self.of_current().1.0, cycles));
        self.debt.set(self.debt.get() + cycles);
        cycles
    }
    /// A program does something.
    #[inline]
    pub(crate) fn acts(&self, now: u64) {
        self.now.set(now);
        if let Some(time) = self.faults.as_ref().and_then(|f| f.acts(now)) {
            self.after(time, Box::new(World::pause));
        }
    }
    /// The processors of a node stand still from now on.
    fn pause(self: &Rc<World>) {
        let Some(injector) = &self.faults else { return };
        let (node, cycles, next) = injector.pause(self.now.get());
        let per_node = u32::from(self.nodes[0].cluster.threads);
        let processors = u32::from(node) * per_node..(u32::from(node) + 1) * per_node;
        self.out.borrow_mut().stolen.extend(processors.map(|p| (p, cycles)));
        next.into_iter().for_each(|time| self.after(time, Box::new(World::pause)));
    }
    /// Until when a processor stands still.
    pub(crate) fn stands(&self, processor: u32) -> u64 {
        self.faults.as_ref().map_or(0, |f| f.stands(self.node_of(processor).0))
    }
    /// Whether a task may look again at what has not come: not for ever, where it may never come.
    pub(crate) fn may_look(&self) -> bool {
        self.looks.set(self.looks.get() + 1);
        self.looks.get() < LOOKS_MAX || !self.faults.as_ref().is_some_and(Injector::is_fatal)
    }

    /// Forgets all tasks, which hold on to this.
    pub(crate) fn give_up(&self) {
        self.slots.borrow_mut().clear();
        self.actions.borrow_mut().clear();
    }

    /// Begins an operation of the program of a processor, which has owed so many cycles before it.
    pub(crate) fn begin(self: &Rc<World>, processor: u32, operation: Operation, owed: u64) {
        self.doing.borrow_mut()[processor as usize] = Some(operation);
        self.looks.set(0);
        let owed = self.faults.as_ref().map_or(owed, |f| f.takes(self.node_of(processor).0, owed));
        self.handlers[processor as usize].inside.set((self.now.get() + owed, u64::MAX));
        self.spawn(processor, operation, Owner::Program(processor), owed);
    }

    pub(crate) fn spawn(self: &Rc<World>, processor: u32, operation: Operation, owner: Owner, owed: u64) {
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
                self.doing.borrow_mut()[processor as usize] = None;
                let handlers = &self.handlers[processor as usize];
                let ends = ends.max(handlers.until.get()).max(self.stands(processor));
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
        self.goes_on(task, time);
    }
    /// The task that is polled goes on now, when the engine has heard of what programs lost: what they wrote before is noted then.
    pub(crate) fn goes_on_after_losses(self: &Rc<World>) {
        let (task, owed, joined) = (self.current.get(), self.debt.get(), self.joined.borrow_mut().take());
        let go: Action = Box::new(move |world| {
            *world.joined.borrow_mut() = joined;
            world.poll(task, owed);
        });
        self.after(self.now.get(), go);
    }
    fn goes_on(self: &Rc<World>, task: usize, time: u64) {
        let time = time.max(self.stands(self.slots.borrow()[task].owner.processor()));
        if time == self.now.get() {
            self.ready.borrow_mut().push_back(task);
        } else if self.faults.is_none() {
            self.after(time, Box::new(move |world| world.ready.borrow_mut().push_back(task)));
        } else {
            // Its node may stand still by then.
            self.after(time, Box::new(move |world| world.goes_on(task, time)));
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
    pub(crate) fn sleeps(&self, since: u64) -> u64 {
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

    pub(crate) fn call(&self, time: u64, path: homenode_timed::engine::Path, action: Option<Action>) {
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
}

impl Owner {
    fn processor(self) -> u32 {
        match self {
            Owner::Program(processor) | Owner::Handler(processor, _) => processor,
        }
    }
}

impl Node {
    /// Calls that protect pages when one begins that takes so many cycles alone.
    pub(crate) fn protects(&self, moment: u64, cycles: u64) -> u64 {
        let mut all = self.protecting.borrow_mut();
        all.retain(|ends| *ends > moment);
        let others = all.len() as u64;
        all.push(moment + cycles);
        others
    }
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
