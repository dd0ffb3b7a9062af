//! The filter's front: construction, the fast path, and the path of a reference down to memory.
use super::arrays::{Private, PrivateLine, Shared, SharedLine, sets_of};
use super::{CacheEvent, CacheEventKind as Kind, Level, Mesi, Supplier};

use crate::SimError;
use homenode_base::Cost;
use homenode_machine::Machine;

/// The line that a processor referenced last of those whose numbers end alike. A repeat needs neither search nor reordering:
/// lines of one set have one memo, so this one is the most recent of its set already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memo {
    key: u64,
    /// Block given with that reference.
    block: u32,
    /// Private state; `Invalid` = nothing remembered.
    state: Mesi,
}

/// Memos of a processor at most, a power of two.
const MEMOS_MAX: u64 = 64;

/// All caches of a machine. See the [module](super) for the protocol.
#[derive(Clone, Debug)]
pub struct CacheFilter {
    pub(super) private: Vec<Private>,
    pub(super) shared: Vec<Shared>,
    /// Of each processor `1 << memo_bits`, by the last bits of line numbers.
    memos: Vec<Memo>,
    memo_bits: u32,
    /// Node of each processor and its number within the node.
    pub(super) binding: Vec<(u16, u16)>,
    /// First processor of each node.
    pub(super) first_cpu: Vec<usize>,
    clock: u64,
    line_bytes: u32,
    transfer_near: Cost,
    transfer_far: Cost,
}

impl CacheFilter {
    /// Empty caches of this machine; `None` if it has none.
    ///
    /// # Errors
    /// The geometry is no cache: no way, no set, a line that is not a power of two, or more lines than can be simulated.
    pub fn new(machine: &Machine) -> Result<Option<CacheFilter>, SimError> {
        let Some(caches) = &machine.sections.caches else { return Ok(None) };
        let bad = || SimError::Caches(machine.name.clone());
        let private_sets = sets_of(caches.private, caches.line_bytes).ok_or_else(bad)?;
        let shared_sets = sets_of(caches.shared, caches.line_bytes).ok_or_else(bad)?;
        if !caches.line_bytes.is_power_of_two() {
            return Err(bad());
        }
        let (mut binding, mut first_cpu) = (Vec::new(), Vec::new());
        for (node, &cores) in machine.shape.cores.iter().enumerate() {
            first_cpu.push(binding.len());
            binding.extend((0..cores).map(|core| (node as u16, core)));
        }
        // As many as divide the number of sets.
        let memo_bits = private_sets.trailing_zeros().min(MEMOS_MAX.trailing_zeros());
        let shared = |&cores: &u16| Shared::new(shared_sets, caches.shared.ways, cores);
        Ok(Some(CacheFilter {
            private: vec![Private::new(private_sets, caches.private.ways); binding.len()],
            shared: machine.shape.cores.iter().map(shared).collect(),
            memos: vec![Memo::default(); binding.len() << memo_bits],
            memo_bits,
            binding,
            first_cpu,
            clock: 0,
            line_bytes: caches.line_bytes,
            transfer_near: caches.transfer_near,
            transfer_far: caches.transfer_far,
        }))
    }

    /// Bytes of a line.
    pub fn line_bytes(&self) -> u32 {
        self.line_bytes
    }

    /// One reference of processor `cpu` inside one line. `key` is the line number (address / line size), in one space for
    /// all processes. `block` is kept with the line and comes back in its events.
    /// Says where it found the line. Panics if the processor does not exist.
    #[inline]
    pub fn access(
        &mut self,
        cpu: usize,
        key: u64,
        block: u32,
        write: bool,
        emit: &mut impl FnMut(CacheEvent),
    ) -> Level {
        if self.repeat(cpu, key, write).is_some() {
            let kind = if write { Kind::WriteHit } else { Kind::ReadHit };
            emit(CacheEvent { kind, node: self.binding[cpu].0, block, line: key });
            return Level::Private;
        }
        self.lookup(cpu, key, block, write, emit)
    }

    /// If a reference changes nothing in any cache, since the line is the most recent of its set in the private cache and its
    /// state allows it: the line's block. All that [`CacheFilter::access`] would say is a hit.
    #[inline(always)]
    pub(crate) fn repeat(&self, cpu: usize, key: u64, write: bool) -> Option<u32> {
        let memo = &self.memos[self.memo_place(cpu, key)];
        let enough = memo.key == key && memo.state >= (if write { Mesi::Modified } else { Mesi::Shared });
        enough.then_some(memo.block)
    }

    #[inline]
    fn memo_place(&self, cpu: usize, key: u64) -> usize {
        cpu << self.memo_bits | (key & ((1 << self.memo_bits) - 1)) as usize
    }

    #[inline]
    fn remember(&mut self, cpu: usize, memo: Memo) {
        let place = self.memo_place(cpu, memo.key);
        self.memos[place] = memo;
    }

    /// Drops what was remembered of this line, which another processor took or degraded.
    #[inline]
    pub(super) fn forget(&mut self, cpu: usize, key: u64) {
        let place = self.memo_place(cpu, key);
        if self.memos[place].key == key {
            self.memos[place].state = Mesi::Invalid;
        }
    }

    fn lookup(&mut self, cpu: usize, key: u64, block: u32, write: bool, emit: &mut impl FnMut(CacheEvent)) -> Level {
        let (node, core) = self.binding[cpu];
        let event = |kind| CacheEvent { kind, node, block, line: key };
        let Some(line) = self.private[cpu].touch(key) else {
            return self.below(cpu, key, block, write, emit);
        };
        let slot = line.slot;
        if !write {
            let state = line.state;
            self.remember(cpu, Memo { key, block, state });
            emit(event(Kind::ReadHit));
            return Level::Private;
        }
        let before = std::mem::replace(&mut line.state, Mesi::Modified);
        self.remember(cpu, Memo { key, block, state: Mesi::Modified });
        if before == Mesi::Shared {
            self.invalidate_sharers(node, slot, Some(core));
            self.invalidate_other_nodes(node, key, slot);
        }
        let shared = self.shared[usize::from(node)].line(slot);
        (shared.state, shared.owned) = (Mesi::Modified, true);
        emit(event(Kind::WriteHit));
        Level::Private
    }

    /// The reference missed its private cache.
    fn below(&mut self, cpu: usize, key: u64, block: u32, write: bool, emit: &mut impl FnMut(CacheEvent)) -> Level {
        let (node, core) = self.binding[cpu];
        self.clock += 1;
        let (slot, level) = match self.shared[usize::from(node)].find(key) {
            Some(slot) => {
                self.share_in_node(node, slot, write, &mut *emit);
                self.shared[usize::from(node)].line(slot).block = block;
                let kind = if write { Kind::WriteHit } else { Kind::ReadHit };
                emit(CacheEvent { kind, node, block, line: key });
                (slot, Level::Shared)
            }
            None => (self.fetch_outside(node, key, block, write, &mut *emit), Level::Outside),
        };
        let shared = &mut self.shared[usize::from(node)];
        shared.stamp(slot, self.clock);
        let alone = !shared.has_sharer(slot) && shared.line(slot).state != Mesi::Shared;
        let state = match (write, alone) {
            (true, _) => Mesi::Modified,
            (false, true) => Mesi::Exclusive,
            (false, false) => Mesi::Shared,
        };
        shared.set_sharer(slot, core, true);
        shared.line(slot).owned = state != Mesi::Shared;
        self.remember(cpu, Memo { key, block, state });
        if let Some(victim) = self.private[cpu].insert(PrivateLine { key, slot, state }) {
            let shared = &mut self.shared[usize::from(node)];
            shared.set_sharer(victim.slot, core, false);
            shared.line(victim.slot).owned = false;
        }
        level
    }

    /// The reference missed its node's caches: takes the line from another node or memory, makes room, fills.
    fn fetch_outside(
        &mut self,
        node: u16,
        key: u64,
        block: u32,
        write: bool,
        emit: &mut impl FnMut(CacheEvent),
    ) -> u32 {
        let elsewhere = self.snoop(node, key, write, &mut *emit);
        let kind = match (elsewhere, write) {
            (Mesi::Modified, true) => Kind::WriteHit,
            (Mesi::Modified, false) => Kind::ReadHit,
            (_, true) => Kind::WriteMiss,
            (_, false) => Kind::ReadMiss,
        };
        emit(CacheEvent { kind, node, block, line: key });
        let slot = self.make_room(node, key, &mut *emit);
        let state = match (write, elsewhere) {
            (true, _) => Mesi::Modified,
            (false, Mesi::Invalid) => Mesi::Exclusive,
            (false, _) => Mesi::Shared,
        };
        self.shared[usize::from(node)].fill(slot, key, SharedLine { block, state, owned: false });
        slot
    }

    /// Where a read by this processor would get the line from, without reading it.
    pub fn supplier(&mut self, cpu: usize, key: u64) -> Supplier {
        let node = usize::from(self.binding[cpu].0);
        if self.private_state(cpu, key) != Mesi::Invalid {
            return Supplier::Cache;
        }
        let shared = &mut self.shared[node];
        if let Some(slot) = shared.find(key) {
            let owner = shared.line(slot).owned.then(|| shared.first_sharer(slot)).flatten();
            let owner = owner.map(|core| self.first_cpu[node] + usize::from(core));
            let dirty = owner.is_some_and(|c| self.private_state(c, key) == Mesi::Modified);
            return if dirty { Supplier::Transfer(self.transfer_near) } else { Supplier::Cache };
        }
        let dirty = (0..self.shared.len()).any(|n| self.node_state(n, key) == Mesi::Modified);
        if dirty { Supplier::Transfer(self.transfer_far) } else { Supplier::Memory }
    }

    /// Private state of a line, for tests and diagnostics.
    pub fn private_state(&mut self, cpu: usize, key: u64) -> Mesi {
        self.private[cpu].find(key).map_or(Mesi::Invalid, |l| l.state)
    }

    /// State of a line in a node's last level, for tests and diagnostics.
    pub fn node_state(&mut self, node: usize, key: u64) -> Mesi {
        let shared = &mut self.shared[node];
        shared.find(key).map_or(Mesi::Invalid, |slot| shared.line(slot).state)
    }
}
