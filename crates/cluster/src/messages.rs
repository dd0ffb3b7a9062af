//! Messages between nodes: when they leave, what is sent as one, and what they ask for.
use crate::fabric::Fabric;
use crate::world::{Action, Joined, World};
use homenode_base::NodeId;
use homenode_timed::engine::Path;
use std::rc::Rc;

impl World {
    /// When a message of the task that is polled leaves its processor: after what it costs there, and not before those that left for the same
    /// node before.
    fn leaving(&self, from: NodeId, to: NodeId) -> u64 {
        self.compute(self.net.host_overhead);
        let pair = from.index() * self.nodes.len() + to.index();
        let mut leaves = self.leaves.borrow_mut();
        leaves[pair] = leaves[pair].max(self.moment());
        leaves[pair]
    }

    /// The packets of a message of so many bytes begin their ways at a time; `action` happens when the last one has come.
    fn send(&self, time: u64, pair: (NodeId, NodeId), (paths, bytes): (Vec<Path>, u64), action: Action) {
        self.queues(pair.0, bytes);
        let action: Action = Box::new(move |world| {
            world.has_come(pair.0, bytes);
            action(world);
        });
        if self.faults.is_some() {
            // What happens to them depends on those of their pair before them.
            return self.after(time, Box::new(move |world| world.send_with_faults(pair, (&paths, bytes), action)));
        }
        let (last, mut action) = (paths.len() - 1, Some(action));
        for (n, path) in paths.into_iter().enumerate() {
            self.call(time, path, if n == last { action.take() } else { None });
        }
    }
    /// As [`World::send`], now. A message of which a packet is given up has no effect.
    fn send_with_faults(
        self: &Rc<World>,
        (from, to): (NodeId, NodeId),
        (paths, bytes): (&[Path], u64),
        action: Action,
    ) {
        let Some(injector) = &self.faults else { return };
        let (last, mut action) = (paths.len() - 1, Some(action));
        for (n, path) in paths.iter().enumerate() {
            let leaving = injector.leaves((from.0, to.0), self.now.get());
            for time in leaving.lost {
                self.call(time, Fabric::lost(path), None);
            }
            match leaving.comes {
                Some(time) => self.call(time, *path, if n == last { action.take() } else { None }),
                None => {
                    if action.take().is_some() {
                        self.has_come(from, bytes);
                    }
                }
            }
        }
    }

    /// The interface of a node has more to send.
    fn queues(&self, node: NodeId, bytes: u64) {
        let node = &self.nodes[node.index()];
        node.queued.set(node.queued.get() + bytes);
        let most = &mut node.counts.borrow_mut().queued;
        *most = (*most).max(node.queued.get());
    }
    /// A message has come, or is given up: there is room for others.
    fn has_come(self: &Rc<World>, from: NodeId, bytes: u64) {
        let node = &self.nodes[from.index()];
        node.queued.set(node.queued.get() - bytes);
        if node.queued.get() < self.net.queue_bytes {
            std::mem::take(&mut *node.stalled.borrow_mut()).into_iter().for_each(|task| self.wake(task));
        }
    }
    /// Whether the queue of a node's interface is full, so that the task that is polled must wait. What begins a message does.
    pub(crate) fn is_full(&self, from: NodeId) -> bool {
        let (node, most) = (&self.nodes[from.index()], self.net.queue_bytes);
        let is_full = most > 0 && node.queued.get() >= most && self.joined.borrow().is_none();
        if is_full {
            node.stalled.borrow_mut().push(self.current.get());
            node.counts.borrow_mut().stalls += 1;
        }
        is_full
    }

    /// Deposits bytes at another node, where `action` happens when all of them have come.
    pub(crate) fn deposit(&self, from: NodeId, to: NodeId, bytes: u64, action: Action) {
        let (bytes, action) = self.with_joined(to, bytes, action);
        let time = self.leaving(from, to);
        self.nodes[from.index()].counts.borrow_mut().sent(bytes);
        self.send(time, (from, to), (self.fabric.deposit(from.0, to.0, bytes).collect(), bytes), action);
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
            self.deposit(self.of_current().1, to, 0, Box::new(|_| {}));
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
            let packets = world.fabric.answer(to.0, from.0, bytes).collect();
            world.send(world.now.get(), (to, from), (packets, bytes), answer);
        });
        if is_ordered {
            return self.deposit(from, to, bytes, act);
        }
        self.flush();
        let time = self.leaving(from, to);
        self.nodes[from.index()].counts.borrow_mut().sent(bytes);
        self.send(time, (from, to), (vec![self.fabric.request(from.0, to.0, bytes)], bytes), act);
    }
}
