//! On-line policies: one trait for the plain engine, the folded engine and the live loop.
use crate::access::Access;
use homenode_base::NodeId;
use homenode_machine::{Location, Machine};

/// What became of an action: live calls fail and take time, and a policy must cope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done; the state may rely on it.
    Done,
    /// Nothing changed.
    Failed,
    /// Some of it changed (live: some pages of a batch). Every place that held the block before still counts as one
    /// that serves it; the new place must not be relied on.
    Partial,
}

/// What a policy can do to the block it is asked about.
pub trait Sink {
    /// First placement (free in the model). A policy may place several copies at a block's first access if that is a
    /// read.
    fn place(&mut self, at: Location) -> Outcome;
    /// Adds a copy at `to`, fetched from `from`.
    fn replicate(&mut self, from: Location, to: Location) -> Outcome;
    /// Moves the only copy.
    fn migrate(&mut self, from: Location, to: Location) -> Outcome;
    /// Drops one copy (free in the model). Never asked of the last one.
    fn drop_copy(&mut self, at: Location) -> Outcome;
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn place(&mut self, at: Location) -> Outcome {
        (**self).place(at)
    }
    fn replicate(&mut self, from: Location, to: Location) -> Outcome {
        (**self).replicate(from, to)
    }
    fn migrate(&mut self, from: Location, to: Location) -> Outcome {
        (**self).migrate(from, to)
    }
    fn drop_copy(&mut self, at: Location) -> Outcome {
        (**self).drop_copy(at)
    }
}

/// What a policy may know of the machine and of the block before the first access.
#[derive(Clone, Copy, Debug)]
pub struct BlockContext<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Block number: address / block size.
    pub block: u64,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Home given from outside (best static, plan), if any.
    pub home: Option<Location>,
    /// Homes given from outside for the phases of the program, the first one first; empty if none are. In phases after
    /// the last one the last home holds.
    pub phases: &'a [Location],
}

/// An on-line policy. `State` is that of one block.
pub trait Policy: Send + Sync {
    /// State of one block.
    type State: Clone + Send;
    /// State before the first access.
    fn begin(&self, block: &BlockContext<'_>) -> Self::State;
    /// Decides on one access; returns the location that serves it. Every change of the set of copies goes through
    /// `sink`, which charges it and says what became of it.
    ///
    /// If every outcome is [`Outcome::Done`], the copies form a legal placement: never none, and exactly one at a
    /// [`Write`](crate::AccessKind::Write). The location returned always holds the block, whatever the outcomes,
    /// unless not even a first placement succeeded.
    fn step(
        &self,
        block: &BlockContext<'_>,
        state: &mut Self::State,
        access: &Access,
        sink: &mut impl Sink,
    ) -> Location;

    /// How many of the accesses that `access` stands for the next [`step`](Policy::step) may take together, from 1 to
    /// all: those that this policy would treat alike if they came one by one. A policy that counts accesses says fewer
    /// where a count runs out, and is then asked again for the others.
    #[inline]
    fn together(&self, _: &BlockContext<'_>, _: &Self::State, access: &Access) -> u32 {
        access.weight
    }

    /// Where reads and writes by processors of this node are served if the block is settled for it: as long as nobody else
    /// accesses it, no access of class `Read` or `Write` changes anything, whatever their number and order. `None` where
    /// that is not known, as with policies that look at times: who asks then goes on step by step. It is one place, as a block
    /// that can be written as it is has one copy.
    #[inline]
    fn settled(&self, _: &BlockContext<'_>, _: &Self::State, _: NodeId) -> Option<Location> {
        None
    }
}
