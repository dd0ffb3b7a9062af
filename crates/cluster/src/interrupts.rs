//! Interrupts: issued, delivered and handled, one after the other on a processor.
use crate::world::{Action, Owner, World};
use homenode_base::NodeId;
use homenode_hlrc::host::Interrupt;
use homenode_hlrc::operation::Operation;
use std::rc::Rc;

impl World {
    /// A processor of a node is interrupted, now.
    pub(crate) fn interrupt(self: &Rc<World>, node: NodeId, why: Interrupt) {
        let n = &self.nodes[node.index()];
        n.interrupts.borrow_mut().add(why);
        let per_node = u32::from(n.cluster.threads);
        let processor = u32::from(node.0) * per_node + if self.net.round_robin { n.turn.get() } else { 0 };
        n.turn.set((n.turn.get() + 1) % per_node);
        let issued = self.now.get() + if self.sees(processor).is_some() { 0 } else { self.interrupt_cycles(processor) };
        let handlers = &self.handlers[processor as usize];
        if handlers.runs.replace(true) {
            handlers.waiting.borrow_mut().push_back(issued);
        } else {
            self.deliver(processor, issued);
        }
    }
    /// Cycles to issue an interrupt of a processor, and again to deliver it.
    fn interrupt_cycles(&self, processor: u32) -> u64 {
        let cycles = self.net.interrupt;
        self.faults.as_ref().map_or(cycles, |f| f.takes(self.node_of(processor).0, cycles))
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
        let delivery = self.sees(processor).unwrap_or_else(|| self.interrupt_cycles(processor));
        self.handle(processor, delivery, issued.max(self.now.get()).max(self.stands(processor)) + delivery);
    }
    fn handle(self: &Rc<World>, processor: u32, delivery: u64, time: u64) {
        let begin: Action = Box::new(move |world| {
            let stands = world.stands(processor);
            if stands > time {
                return world.handle(processor, delivery, stands);
            }
            world.spawn(processor, Operation::Serve, Owner::Handler(processor, delivery), 0);
            world.ring(world.node_of(processor));
        });
        self.after(time, begin);
    }
    /// A handler is over; the next one, if there is one, is delivered.
    pub(crate) fn handled(self: &Rc<World>, processor: u32, cycles: u64, ends: u64) {
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
