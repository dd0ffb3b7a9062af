//! References handed over to shards in batches: shards work on one while the next is read.
use crate::SimError;
use crate::engine::Watched;
use crate::observer::Observer;
use crate::workers::{Job, Workers};
use homenode_analysis::BlockReference;
use homenode_trace::event::EventKind;
use homenode_trace::order::Stream;
use homenode_trace::{Event, Merged};
use std::cmp::Reverse;
use std::sync::Arc;

/// References read at once: enough that handing them over costs nothing, few enough to stay in a cache.
const BATCH_REFS: usize = 1 << 16;
/// An event takes as much memory as so many references.
const EVENT_REFS: usize = 4;

/// Sees all references in order and sends those to blocks to their shards.
pub(super) trait Routes {
    /// The next reference: calls `send` with a shard for each block of it that a shard has.
    fn reference(&mut self, r: &Merged, send: impl FnMut(usize, BlockReference));
    /// The next event; every shard gets it, unless it is one that orders threads.
    fn event(&mut self, event: &Event);
}

/// What a shard is to do next.
#[derive(Default)]
struct Inbox {
    refs: Vec<BlockReference>,
    /// Each after so many of the references.
    events: Vec<(usize, Arc<Event>)>,
}

/// What replays the blocks of a shard.
pub(super) trait Pass: Send {
    /// The next reference to one of them.
    fn block_reference(&mut self, r: &BlockReference);
    /// The next event.
    fn event(&mut self, event: &Event);
}

impl<O: Observer + Send> Pass for Watched<'_, O> {
    #[inline]
    fn block_reference(&mut self, r: &BlockReference) {
        self.replay.block_reference(r);
    }
    fn event(&mut self, event: &Event) {
        self.replay.observer().event(event);
    }
}

/// Blocks of some colours, or other blocks that are replayed apart.
pub(super) struct Shard<P> {
    pub(super) pass: P,
    inbox: Inbox,
}

impl<P: Pass> Shard<P> {
    pub(super) fn new(pass: P) -> Shard<P> {
        Shard { pass, inbox: Inbox::default() }
    }

    fn work(&mut self) {
        let Shard { pass, inbox } = self;
        let mut done = 0;
        for (at, event) in inbox.events.drain(..) {
            inbox.refs[done..at].iter().for_each(|r| pass.block_reference(r));
            pass.event(&event);
            done = at;
        }
        inbox.refs[done..].iter().for_each(|r| pass.block_reference(r));
        inbox.refs.clear();
    }
}

/// Replays a stream.
pub(super) fn replay<P: Pass>(
    stream: &mut dyn Stream,
    router: &mut impl Routes,
    shards: &mut [Shard<P>],
    workers: &dyn Workers,
) -> Result<(), SimError> {
    match shards {
        [only] => alone(stream, router, only),
        _ => together(stream, router, shards, workers),
    }
}

/// One shard: nothing is handed over.
fn alone<P: Pass>(stream: &mut dyn Stream, router: &mut impl Routes, only: &mut Shard<P>) -> Result<(), SimError> {
    while let Some(piece) = stream.pull()? {
        piece.refs.iter().for_each(|r| router.reference(r, |_, r| only.pass.block_reference(&r)));
        if let Some((event, _)) = piece.event {
            router.event(event);
            only.pass.event(event);
        }
    }
    Ok(())
}

/// Shards work on a batch while the next one is read.
fn together<P: Pass>(
    stream: &mut dyn Stream,
    router: &mut impl Routes,
    shards: &mut [Shard<P>],
    workers: &dyn Workers,
) -> Result<(), SimError> {
    let mut next: Vec<Inbox> = shards.iter().map(|_| Inbox::default()).collect();
    let mut more = Ok(true);
    while more? {
        shards.iter_mut().zip(&mut next).for_each(|(shard, next)| std::mem::swap(&mut shard.inbox, next));
        more = Ok(false);
        workers.run(&mut || more = fill(stream, router, &mut next), &mut jobs(shards));
        if matches!(more, Ok(false)) {
            shards.iter_mut().zip(&mut next).for_each(|(shard, next)| std::mem::swap(&mut shard.inbox, next));
            workers.run(&mut || (), &mut jobs(shards));
        }
    }
    Ok(())
}

/// What shards are to do, the longest first: begun last it would be waited for.
fn jobs<'j, P: Pass>(shards: &'j mut [Shard<P>]) -> Vec<Job<'j>> {
    let mut all: Vec<_> = shards.iter_mut().collect();
    all.sort_by_key(|shard| Reverse(shard.inbox.refs.len()));
    all.into_iter().map(|shard| Box::new(|| shard.work()) as Job<'j>).collect()
}

/// Reads a batch; whether there is more.
fn fill(stream: &mut dyn Stream, router: &mut impl Routes, next: &mut [Inbox]) -> Result<bool, SimError> {
    let mut read = 0;
    while read < BATCH_REFS {
        let Some(piece) = stream.pull()? else { return Ok(false) };
        read += piece.refs.len();
        piece.refs.iter().for_each(|r| router.reference(r, |shard, r| next[shard].refs.push(r)));
        if let Some((event, _)) = piece.event {
            router.event(event);
            if orders(event) {
                continue;
            }
            read += EVENT_REFS;
            let event = Arc::new(event.clone());
            next.iter_mut().for_each(|inbox| inbox.events.push((inbox.refs.len(), event.clone())));
        }
    }
    Ok(true)
}

/// Whether all that an event does is to order threads, which has been done.
fn orders(event: &Event) -> bool {
    use EventKind as E;
    matches!(event.kind, E::Release { .. } | E::Acquire { .. } | E::AcqRel { .. })
}
