//! The first pass in shards: blocks of different [colours](crate::colours) are replayed by different replays, at the same time
//! where there are workers, while the references after them are read.
use super::EvalContext;
use super::batches::{Routes, Shard, replay};
use super::first_pass::FirstPassObserver;
use super::objects::{FlatNames, Objects};
use crate::SimError;
use crate::engine::{Besides, Priced, Watched};
use crate::front::Front;
use crate::split::for_pieces;
use crate::workers::Workers;
use homenode_analysis::{Analysed, Analysis, BlockReference, Locked, Overview};
use homenode_base::spaces::tag;
use homenode_placement::policies::Choice;
use homenode_trace::event::EventKind;
use homenode_trace::order::Source;
use homenode_trace::{Event, Merged, Op};

/// Shards for each worker, so that none waits long for the last.
const SHARDS_EACH: usize = 2;

/// How many shards there are: a power of two.
fn shards(colours: u64, workers: &dyn Workers) -> u64 {
    let wanted = if workers.count() < 2 { 1 } else { (workers.count() * SHARDS_EACH).next_power_of_two() };
    colours.min(wanted as u64)
}

/// Policies, bounds and analysis; of objects that can be forked.
pub(super) fn first_pass(
    source: &mut dyn Source,
    objects: &dyn Objects,
    context: &EvalContext<'_>,
    (choices, seen): (&[Choice], &homenode_analysis::Setup<'_>),
) -> Result<(Priced, Analysed), SimError> {
    let setup = context.setup;
    let mut forks: Vec<_> = (0..shards(seen.colours, context.workers)).filter_map(|_| objects.fork()).collect();
    let besides = Besides::bounds(context.options.start);
    let shard = |objects| -> Result<Shard<_>, SimError> {
        let observer = FirstPassObserver::new(Analysis::of_colours(seen.clone()), objects, setup.bindings);
        Ok(Shard::new(Watched::new(setup, choices, besides, observer)?))
    };
    let mut all = forks.iter_mut().map(|o| shard(&mut **o)).collect::<Result<Vec<_>, SimError>>()?;
    let mut router = Router {
        front: Front::new(setup.bindings),
        overview: Overview::default(),
        space_tags: setup.bindings.iter().map(|b| tag(b.space)).collect(),
        block_shift: setup.block_bytes.trailing_zeros(),
        mask: all.len() as u64 - 1,
        objects,
    };
    let mut stream = source.stream(0)?;
    replay(&mut *stream, &mut router, &mut all, context.workers)?;
    drop(stream);
    finish(all, router)
}

fn finish(
    shards: Vec<Shard<Watched<'_, FirstPassObserver<'_>>>>,
    router: Router<'_>,
) -> Result<(Priced, Analysed), SimError> {
    let (mut priced, mut analyses, mut names) = (None::<Priced>, Vec::new(), None);
    for shard in shards {
        let (mut part, mut observer, _) = shard.pass.finish()?;
        part.cost_of = observer.take_costs();
        match &mut priced {
            Some(priced) => priced.absorb(&part),
            None => priced = Some(part),
        }
        let (analysis, objects) = observer.into_parts();
        analyses.push(analysis);
        names.get_or_insert(objects);
    }
    let (Some(mut priced), Some(names)) = (priced, names) else { unreachable!("there is a shard at least") };
    router.front.finish(&mut priced.totals);
    let refs = router.front.time;
    (priced.refs_of, priced.strangers) = (router.front.refs_of(), router.front.strangers);
    Ok((priced, Analysis::finish_all(analyses, router.overview, refs, &FlatNames(names))))
}

/// Sees all references in order and sends each block's to its shard.
struct Router<'a> {
    front: Front,
    overview: Overview,
    /// By thread, what makes its addresses flat.
    space_tags: Vec<u64>,
    block_shift: u32,
    /// Of a block's colour, which shard has it.
    mask: u64,
    objects: &'a dyn Objects,
}

impl Routes for Router<'_> {
    #[inline]
    fn reference(&mut self, r: &Merged, mut send: impl FnMut(usize, BlockReference)) {
        let Some((place, t)) = self.front.reference(r) else { return };
        let locked = match r.op {
            Op::Spin => Locked::default(),
            op => self.overview.reference((r.thread, r.site), r.addr ^ place.space_tag, op, r.weight),
        };
        let (mask, shift, mut begins) = (self.mask, self.block_shift, true);
        for_pieces(r.addr, r.size, shift, |piece| {
            let addr = piece.addr ^ place.space_tag;
            let size = (piece.last - piece.addr) as u32 + 1;
            let (number, site, thread, op) = (t.0, r.site, r.thread, r.op);
            send(
                (addr >> shift & mask) as usize,
                BlockReference { addr, number, locked, size, site, thread, op, begins },
            );
            begins = false;
        });
    }

    fn event(&mut self, event: &Event) {
        see(&mut self.overview, event, (&self.space_tags, self.objects));
    }
}

/// Tells an overview of an event, with what makes the addresses of each thread flat.
pub(super) fn see(overview: &mut Overview, event: &Event, (space_tags, objects): (&[u64], &dyn Objects)) {
    use EventKind as E;
    if let E::Acquire { object, .. } = event.kind {
        let space_tag = space_tags.get(event.thread as usize).copied().unwrap_or(0);
        overview.acquired(event.thread, object ^ space_tag);
    }
    if let E::PhaseBegin { .. } | E::PhaseEnd { .. } = event.kind
        && let Some(construct) = objects.construct_of(event)
    {
        overview.phase(event.thread, construct, matches!(event.kind, E::PhaseBegin { .. }));
    }
}
