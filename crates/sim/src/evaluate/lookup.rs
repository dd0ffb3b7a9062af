//! What lies at a flat address, with recent answers kept.
use super::objects::{ObjectRange, Objects};
use crate::blocks::memo_place;
use homenode_analysis::UNKNOWN_OBJECT;
use homenode_base::spaces::{USER_LAST, tag, unflatten};
use homenode_trace::Event;
use homenode_trace::event::EventKind;

/// Recent answers by address: entries as a power of two, and bytes of an entry as another.
const MEMO_BITS: u32 = 10;
const ENTRY_SHIFT: u32 = 8;

/// Objects by flat address.
pub(super) struct Lookup<'a> {
    objects: &'a mut dyn Objects,
    memo: Vec<(u64, ObjectRange)>,
    /// Answers of earlier generations are out of date.
    generation: u64,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(objects: &'a mut dyn Objects) -> Lookup<'a> {
        let nothing = ObjectRange { object: UNKNOWN_OBJECT, from: 0, last: 0 };
        Lookup { objects, memo: vec![(0, nothing); 1 << MEMO_BITS], generation: 1 }
    }

    /// The next event.
    pub(super) fn event(&mut self, event: &Event) {
        use EventKind as E;
        if let E::Alloc { .. } | E::Free { .. } | E::Map { .. } | E::Unmap { .. } | E::Module { .. } = event.kind {
            self.generation += 1;
        }
        self.objects.event(event);
    }

    /// The object row there.
    #[inline]
    pub(super) fn at(&mut self, flat: u64) -> u32 {
        let (generation, found) = self.memo[memo_place(flat >> ENTRY_SHIFT, MEMO_BITS)];
        if generation == self.generation && found.from <= flat && flat <= found.last {
            return found.object;
        }
        self.look_up(flat)
    }

    #[inline(never)]
    fn look_up(&mut self, flat: u64) -> u32 {
        let (space, addr) = unflatten(flat);
        let found = self.objects.at(space, addr);
        // The range in flat addresses, cut to where flat addresses of this space are in order.
        let user = USER_LAST;
        let range = (found.from.min(addr) ^ tag(space), found.last.clamp(addr, user) ^ tag(space));
        let flat_found = ObjectRange { object: found.object, from: range.0, last: range.1 };
        self.memo[memo_place(flat >> ENTRY_SHIFT, MEMO_BITS)] = (self.generation, flat_found);
        found.object
    }

    /// Who is asked.
    pub(super) fn inner(&self) -> &dyn Objects {
        &*self.objects
    }

    /// Who was asked.
    pub(super) fn into_inner(self) -> &'a mut dyn Objects {
        self.objects
    }
}
