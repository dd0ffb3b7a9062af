//! What policies are fed with, one access at a time: for whoever wants to look at it or to price it by other means.
use crate::SimError;
use crate::consumers::AccessConsumer;
use crate::evaluation::Totals;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::{ReplayOptions, Setup};
use homenode_base::spaces::{home as lies, tag, unflatten};
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, Location};
use homenode_placement::{Access, Step};
use homenode_threads::ThreadBinding;
use homenode_trace::Merged;

/// One access as policies see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The access. Equal ones in a row are not folded.
    pub access: Access,
    /// Address space in which it lies.
    pub space: u32,
    /// First byte, in that space.
    pub addr: u64,
    /// Bytes of the reference inside the unit that is charged; of a write-back those of the line.
    pub bytes: u32,
    /// Home of the block under first touch.
    pub home: NodeId,
    /// The reference that it is an access of; none for write-backs, which are nobody's.
    pub reference: Option<Merged>,
}

/// Hands on what passes the caches of a machine (on machines without caches every piece of a reference), in order.
/// Cache-to-cache transfers are not among it: they cost the same wherever the block is, and policies are not told of them.
pub struct Filtered<'m> {
    replay: Replay<'m, (), PassedCollector>,
}

impl<'m> Filtered<'m> {
    /// Caches that are empty, and nobody has touched anything.
    ///
    /// # Errors
    /// The block or the caches are not usable.
    pub fn new(setup: Setup<'m>) -> Result<Filtered<'m>, SimError> {
        let options = ReplayOptions { unfolded: true, ..setup.options };
        let line_bytes = setup.machine.sections.caches.as_ref().map(|c| u64::from(c.line_bytes));
        let unit_bytes = line_bytes.unwrap_or(setup.block_bytes);
        let collector = PassedCollector { passed: Vec::new(), unit_bytes, current: Merged::default(), space: 0 };
        Ok(Filtered { replay: Replay::new(Setup { options, ..setup }, (setup.machine, setup.waits), (), collector)? })
    }

    /// What these references, the next in order, make policies see.
    pub fn refs(&mut self, refs: &[Merged]) -> &[Passed] {
        self.replay.observer().passed.clear();
        self.replay.refs(refs);
        &self.replay.observer().passed
    }

    /// Ends the replay.
    ///
    /// # Errors
    /// There were more blocks than indices.
    pub fn finish(self) -> Result<Totals, SimError> {
        self.replay.finish().map(|done| done.totals)
    }
}

/// Nothing is computed beside.
impl AccessConsumer for () {
    fn steps(&mut self, _: &[Step], _: &[u64]) {}
}

struct PassedCollector {
    passed: Vec<Passed>,
    /// What a piece cannot cross.
    unit_bytes: u64,
    /// The reference that is being replayed, and its address space.
    current: Merged,
    space: u32,
}

impl Observer for PassedCollector {
    const WANTS_CHARGES: bool = false;

    fn reference(&mut self, r: &Merged, binding: ThreadBinding, _: u64) {
        (self.current, self.space) = (*r, binding.space);
    }

    fn access(&mut self, flat: u64, access: &Access, home: NodeId) {
        if access.class == AccessClass::WriteBack {
            let (space, addr) = unflatten(flat);
            let bytes = self.unit_bytes as u32;
            return self.passed.push(Passed { access: *access, space, addr, bytes, home, reference: None });
        }
        let addr = flat ^ tag(self.space);
        let left = u64::from(self.current.size.max(1)).saturating_sub(addr.wrapping_sub(self.current.addr));
        let bytes = left.min(self.unit_bytes - addr % self.unit_bytes) as u32;
        let ((space, addr), reference) = (lies(self.space, addr), Some(self.current));
        self.passed.push(Passed { access: *access, space, addr, bytes, home, reference });
    }

    fn charge(&mut self, _: u64, _: u32, _: &Access, _: Location, _: Cost) {}
    fn transfer(&mut self, _: u64, _: u32, _: Cost) {}
}
