//! What a reference does to the copies of others.
use super::{CacheEvent, CacheEventKind as Kind, CacheFilter, Mesi};

impl CacheFilter {
    fn cpu(&self, node: u16, core: u16) -> usize {
        self.first_cpu[usize::from(node)] + usize::from(core)
    }

    /// Takes the line out of all private caches of the node, except that of `keep`.
    pub(super) fn invalidate_sharers(&mut self, node: u16, slot: u32, keep: Option<u16>) {
        let key = self.shared[usize::from(node)].key(slot);
        while let Some(core) = self.shared[usize::from(node)].pop_sharer(slot) {
            if Some(core) != keep {
                let cpu = self.cpu(node, core);
                self.private[cpu].remove(key);
                self.forget(cpu, key);
            }
        }
        if let Some(core) = keep {
            self.shared[usize::from(node)].set_sharer(slot, core, true);
        }
    }

    /// Takes clean copies out of all other nodes, if there can be some.
    pub(super) fn invalidate_other_nodes(&mut self, node: u16, key: u64, slot: u32) {
        if self.shared[usize::from(node)].line(slot).state != Mesi::Shared {
            return;
        }
        for other in (0..self.shared.len() as u16).filter(|n| *n != node) {
            if let Some(slot) = self.shared[usize::from(other)].find(key) {
                self.drop_line(other, slot);
            }
        }
    }

    /// The node has the line and this private cache has not: settles matters with the private caches that do.
    pub(super) fn share_in_node(&mut self, node: u16, slot: u32, write: bool, emit: &mut impl FnMut(CacheEvent)) {
        let shared = &mut self.shared[usize::from(node)];
        let (key, line) = (shared.key(slot), *shared.line(slot));
        if line.owned && self.degrade_owner(node, slot) == Mesi::Modified {
            emit(CacheEvent { kind: Kind::TransferNear, node, block: line.block, line: key });
        }
        if write {
            self.invalidate_sharers(node, slot, None);
            self.invalidate_other_nodes(node, key, slot);
            self.shared[usize::from(node)].line(slot).state = Mesi::Modified;
        }
    }

    /// The private owner's copy becomes shared; returns what it was. Dirty data is in the last level afterwards.
    fn degrade_owner(&mut self, node: u16, slot: u32) -> Mesi {
        let shared = &mut self.shared[usize::from(node)];
        shared.line(slot).owned = false;
        let (key, Some(core)) = (shared.key(slot), shared.first_sharer(slot)) else { return Mesi::Invalid };
        let cpu = self.cpu(node, core);
        self.forget(cpu, key);
        match self.private[cpu].find(key) {
            Some(line) => std::mem::replace(&mut line.state, Mesi::Shared),
            None => Mesi::Invalid,
        }
    }

    /// Asks all other nodes for a line that `node` misses, degrades or invalidates their copies, and returns the
    /// strongest state found.
    pub(super) fn snoop(&mut self, node: u16, key: u64, write: bool, emit: &mut impl FnMut(CacheEvent)) -> Mesi {
        let mut strongest = Mesi::Invalid;
        for other in (0..self.shared.len() as u16).filter(|n| *n != node) {
            let Some(slot) = self.shared[usize::from(other)].find(key) else { continue };
            let line = *self.shared[usize::from(other)].line(slot);
            strongest = strongest.max(line.state);
            if write {
                self.drop_line(other, slot);
            } else {
                if line.owned {
                    self.degrade_owner(other, slot);
                }
                self.shared[usize::from(other)].line(slot).state = Mesi::Shared;
            }
            if line.state == Mesi::Modified {
                let event = |kind, node| CacheEvent { kind, node, block: line.block, line: key };
                if !write {
                    emit(event(Kind::WriteBack, other));
                }
                emit(event(Kind::TransferFar, node));
            }
        }
        strongest
    }

    /// A slot for a new line of this key in the node's last level; the line that was there is written back if dirty.
    pub(super) fn make_room(&mut self, node: u16, key: u64, emit: &mut impl FnMut(CacheEvent)) -> u32 {
        let shared = &mut self.shared[usize::from(node)];
        let slot = shared.victim(key);
        let (victim_key, victim) = (shared.key(slot), *shared.line(slot));
        if victim.state != Mesi::Invalid {
            self.drop_line(node, slot);
        }
        if victim.state == Mesi::Modified {
            emit(CacheEvent { kind: Kind::WriteBack, node, block: victim.block, line: victim_key });
        }
        slot
    }

    fn drop_line(&mut self, node: u16, slot: u32) {
        self.invalidate_sharers(node, slot, None);
        self.shared[usize::from(node)].clear(slot);
    }
}
