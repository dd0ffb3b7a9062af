//! Tells the analysis what the replay does.
use super::lookup::Lookup;
use super::objects::{FlatNames, Objects};
use crate::observer::Observer;
use crate::traffic::Pace;
use homenode_analysis::{Analysed, Analysis, BlockReference, Charge, Hit, Transfer, UNKNOWN_SITE};
use homenode_base::spaces::tag;
use homenode_base::{Cost, TotalCost};
use homenode_machine::Location;
use homenode_placement::Access;
use homenode_threads::ThreadBinding;
use homenode_trace::event::EventKind;
use homenode_trace::{Event, Merged, Op};

/// The observer of the first pass.
pub(super) struct FirstPassObserver<'a> {
    analysis: Analysis<'a>,
    objects: Lookup<'a>,
    site: u32,
    /// Thread of the current reference, and what those of each thread cost so far.
    thread: u32,
    cost_of: Vec<TotalCost>,
    /// What its hits in the last level cost.
    hits_of: Vec<TotalCost>,
    /// By thread, what makes its addresses flat.
    space_tags: Vec<u64>,
    /// What passes in windows, where traffic is counted.
    pub(super) pace: Option<Pace>,
}

impl<'a> FirstPassObserver<'a> {
    pub(super) fn new(
        analysis: Analysis<'a>,
        objects: &'a mut dyn Objects,
        bindings: &[ThreadBinding],
    ) -> FirstPassObserver<'a> {
        let space_tags = bindings.iter().map(|s| tag(s.space)).collect();
        let cost_of = vec![TotalCost::ZERO; bindings.len()];
        FirstPassObserver {
            analysis,
            objects: Lookup::new(objects),
            site: UNKNOWN_SITE,
            thread: 0,
            hits_of: cost_of.clone(),
            cost_of,
            space_tags,
            pace: None,
        }
    }

    pub(super) fn finish(self) -> Analysed {
        self.analysis.finish(&FlatNames(self.objects.into_inner()))
    }

    /// What the references of each thread cost.
    pub(super) fn take_costs(&mut self) -> Vec<TotalCost> {
        std::mem::take(&mut self.cost_of)
    }

    /// What the hits of each thread in the last level cost.
    pub(super) fn take_hits(&mut self) -> Vec<TotalCost> {
        std::mem::take(&mut self.hits_of)
    }

    #[inline]
    fn pay(&mut self, cost: Cost) {
        if let Some(sum) = self.cost_of.get_mut(self.thread as usize) {
            *sum += cost;
        }
    }

    /// What was found, and who knows the names.
    pub(super) fn into_parts(self) -> (Analysis<'a>, &'a mut dyn Objects) {
        (self.analysis, self.objects.into_inner())
    }
}

impl Observer for FirstPassObserver<'_> {
    const WANTS_CHARGES: bool = true;

    fn event(&mut self, event: &Event) {
        use EventKind as E;
        if let E::Acquire { object, .. } = event.kind {
            let space_tag = self.space_tags.get(event.thread as usize).copied().unwrap_or(0);
            self.analysis.acquired(event.thread, object ^ space_tag);
        }
        if let E::PhaseBegin { .. } | E::PhaseEnd { .. } = event.kind
            && let Some(construct) = self.objects.inner().construct_of(event)
        {
            self.analysis.phase(event.thread, construct, matches!(event.kind, E::PhaseBegin { .. }));
        }
        self.objects.event(event);
    }

    #[inline]
    fn reference(&mut self, r: &Merged, _: ThreadBinding, flat: u64) {
        let object = self.objects.at(flat);
        (self.site, self.thread) = (r.site, r.thread);
        if let Some(pace) = self.pace.as_mut().filter(|_| r.op != Op::Spin) {
            pace.reference(r.thread, r.weight);
        }
        // A spin comes here only if it is to be charged like a read.
        let op = if r.op == Op::Spin { Op::Read } else { r.op };
        self.analysis.reference(&Merged { addr: flat, op, ..*r }, object);
    }

    #[inline]
    fn block_reference(&mut self, r: &BlockReference) {
        let object = self.objects.at(r.addr);
        (self.site, self.thread) = (r.site, r.thread);
        self.analysis.block_reference(r, object);
    }

    #[inline]
    fn charge(&mut self, flat: u64, _: u32, access: &Access, home: Location, cost: Cost) {
        self.pay(cost);
        let Access { node, class, weight, .. } = *access;
        let charge =
            Charge { addr: flat, object: self.objects.at(flat), site: self.site, node, class, weight, home, cost };
        self.analysis.charge(&charge);
    }

    #[inline]
    fn hit(&mut self, flat: u64, cost: Cost) {
        if cost == Cost::ZERO {
            return;
        }
        if let Some(sum) = self.hits_of.get_mut(self.thread as usize) {
            *sum += cost;
        }
        if let Some(pace) = &mut self.pace {
            pace.fixed(cost);
        }
        let object = self.objects.at(flat);
        self.analysis.hit(&Hit { object, site: self.site, cost });
    }

    fn transfer(&mut self, flat: u64, _: u32, cost: Cost) {
        self.pay(cost);
        if let Some(pace) = &mut self.pace {
            pace.fixed(cost);
        }
        let object = self.objects.at(flat);
        self.analysis.transfer(&Transfer { addr: flat, object, site: self.site, cost });
    }
}
