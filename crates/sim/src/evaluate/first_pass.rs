//! Tells the analysis what the replay does.
use super::objects::{FlatNames, ObjectRange, Objects};
use crate::binding::ThreadBinding;
use crate::blocks::memo_place;
use crate::observer::Observer;
use homenode_analysis::{Analysed, Analysis, BlockReference, Charge, Transfer, UNKNOWN_OBJECT, UNKNOWN_SITE};
use homenode_base::Cost;
use homenode_base::spaces::{USER_LAST, tag, unflatten};
use homenode_machine::Location;
use homenode_placement::Access;
use homenode_trace::event::EventKind;
use homenode_trace::{Event, Merged, Op};

/// Recent answers by address: entries as a power of two, and bytes of an entry as another.
const MEMO_BITS: u32 = 10;
const ENTRY_SHIFT: u32 = 8;

/// The observer of the first pass.
pub(super) struct FirstPassObserver<'a> {
    analysis: Analysis<'a>,
    objects: &'a mut dyn Objects,
    memo: Vec<(u64, ObjectRange)>,
    /// Answers of earlier generations are out of date.
    generation: u64,
    site: u32,
    /// By thread, what makes its addresses flat.
    space_tags: Vec<u64>,
}

impl<'a> FirstPassObserver<'a> {
    pub(super) fn new(
        analysis: Analysis<'a>,
        objects: &'a mut dyn Objects,
        bindings: &[ThreadBinding],
    ) -> FirstPassObserver<'a> {
        let nothing = ObjectRange { object: UNKNOWN_OBJECT, from: 0, last: 0 };
        let (memo, space_tags) = (vec![(0, nothing); 1 << MEMO_BITS], bindings.iter().map(|s| tag(s.space)).collect());
        FirstPassObserver { analysis, objects, memo, generation: 1, site: UNKNOWN_SITE, space_tags }
    }

    pub(super) fn event(&mut self, event: &Event) {
        use EventKind as E;
        if let E::Alloc { .. } | E::Free { .. } | E::Map { .. } | E::Unmap { .. } | E::Module { .. } = event.kind {
            self.generation += 1;
        }
        if let E::Acquire { object, .. } = event.kind {
            let space_tag = self.space_tags.get(event.thread as usize).copied().unwrap_or(0);
            self.analysis.acquired(event.thread, object ^ space_tag);
        }
        if let E::PhaseBegin { .. } | E::PhaseEnd { .. } = event.kind
            && let Some(construct) = self.objects.construct_of(event)
        {
            self.analysis.phase(event.thread, construct, matches!(event.kind, E::PhaseBegin { .. }));
        }
        self.objects.event(event);
    }

    #[inline]
    fn object(&mut self, flat: u64) -> u32 {
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

    pub(super) fn finish(self) -> Analysed {
        self.analysis.finish(&FlatNames(self.objects))
    }

    /// What was found, and who knows the names.
    pub(super) fn into_parts(self) -> (Analysis<'a>, &'a mut dyn Objects) {
        (self.analysis, self.objects)
    }
}

impl Observer for FirstPassObserver<'_> {
    const WANTS_CHARGES: bool = true;

    #[inline]
    fn reference(&mut self, r: &Merged, _: ThreadBinding, flat: u64) {
        let object = self.object(flat);
        self.site = r.site;
        // A spin comes here only if it is to be charged like a read.
        let op = if r.op == Op::Spin { Op::Read } else { r.op };
        self.analysis.reference(&Merged { addr: flat, op, ..*r }, object);
    }

    #[inline]
    fn block_reference(&mut self, r: &BlockReference) {
        let object = self.object(r.addr);
        self.site = r.site;
        self.analysis.block_reference(r, object);
    }

    #[inline]
    fn charge(&mut self, flat: u64, _: u32, access: &Access, home: Location, cost: Cost) {
        let Access { node, class, weight, .. } = *access;
        let charge = Charge { addr: flat, object: self.object(flat), site: self.site, node, class, weight, home, cost };
        self.analysis.charge(&charge);
    }

    fn transfer(&mut self, flat: u64, _: u32, cost: Cost) {
        let object = self.object(flat);
        self.analysis.transfer(&Transfer { addr: flat, object, site: self.site, cost });
    }
}
