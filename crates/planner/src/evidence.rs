//! What a dataset says about the use of pages, and which objects lie there.
use crate::chooser::HomeChooser;
use crate::dealt::DealtLoops;
use crate::error::PlannerError;
use crate::spacing;
use homenode_base::spaces::home;
use homenode_machine::ThreadMap;
use homenode_objects::{LiveObjects, ObjectTable};
use homenode_placement::counts::PageKey;
use homenode_sim::{Profile, Profiled, ReplayOptions, Setup, ThreadBinding};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{Event, Merged, Op, TraceError};
use std::collections::HashMap;

/// An object id that no object has.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Objects on a page with the uses of each, most used first.
pub(crate) type Owners = HashMap<PageKey, Vec<(u32, u64)>>;

/// What one pass over a dataset found.
pub(crate) struct Evidence {
    pub(crate) profile: Profiled,
    pub(crate) owners: Owners,
    /// What another run would deal anew.
    pub(crate) dealt: Option<String>,
}

/// Replays the dataset once, with samples that weigh what `chooser` says.
pub(crate) fn gather(
    reader: &DatasetReader,
    table: &ObjectTable,
    chooser: &HomeChooser<'_>,
    map: &ThreadMap,
    progress: &mut dyn FnMut(u64),
) -> Result<Evidence, PlannerError> {
    let (machine, page_bytes) = (chooser.machine, chooser.page_bytes);
    let bindings = homenode_sim::bindings(map, |t| reader.address_space(t));
    let options =
        ReplayOptions { sampled: reader.manifest().sampling.as_ref().map(|s| s.counting()), ..Default::default() };
    let setup = Setup { machine, bindings: &bindings, block_bytes: page_bytes, options, waits: &[] };
    let profile = Profile::new(setup)?;
    let observer = PageUseObserver {
        profile,
        live: table.live(),
        bindings: &bindings,
        shift: page_bytes.trailing_zeros(),
        uses: HashMap::new(),
        memo: (PageKey { space: u32::MAX, page: 0 }, NOBODY, 0),
        spaced: if chooser.sample_weight > 1 { Some(Spaced::of(reader)?) } else { None },
        progress,
        done: 0,
    };
    let mut observer = observer;
    let mut dealt = DealtLoops::new(reader);
    let mut order = Order::new(reader, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        observer.refs(piece.refs);
        dealt.refs(piece.refs);
        if let Some((event, _)) = piece.event {
            observer.event(event);
            dealt.event(event);
        }
    }
    observer.flush();
    let owners = sorted(observer.uses);
    Ok(Evidence { profile: observer.profile.finish()?, owners, dealt: dealt.note() })
}

fn sorted(uses: HashMap<(PageKey, u32), u64>) -> Owners {
    let mut owners: Owners = HashMap::new();
    for ((page, object), n) in uses {
        owners.entry(page).or_default().push((object, n));
    }
    owners.values_mut().for_each(|list| list.sort_unstable_by_key(|(object, n)| (std::cmp::Reverse(*n), *object)));
    owners
}

/// Weights of windows by their spacing, which finds owners better than counting.
struct Spaced {
    /// By thread, in its own order.
    weights: Vec<Vec<u32>>,
    at: Vec<usize>,
    weighed: Vec<Merged>,
}

impl Spaced {
    fn of(reader: &DatasetReader) -> Result<Spaced, TraceError> {
        let weights = spacing::weights(reader)?;
        Ok(Spaced { at: vec![0; weights.len()], weights, weighed: Vec::new() })
    }
    /// References weighted by spacing; `refs` come in each thread's own order.
    fn weigh(&mut self, refs: &[Merged]) -> &[Merged] {
        self.weighed.clear();
        for r in refs {
            let thread = r.thread as usize;
            let at = self.at.get_mut(thread).map(|at| std::mem::replace(at, *at + 1));
            let weight = at.and_then(|at| self.weights[thread].get(at)).map_or(r.weight, |w| *w);
            self.weighed.push(Merged { weight, ..*r });
        }
        &self.weighed
    }
}

struct PageUseObserver<'a> {
    profile: Profile<'a>,
    live: LiveObjects<'a>,
    bindings: &'a [ThreadBinding],
    shift: u32,
    uses: HashMap<(PageKey, u32), u64>,
    /// Page and object of the last references, and how many.
    memo: (PageKey, u32, u64),
    spaced: Option<Spaced>,
    progress: &'a mut dyn FnMut(u64),
    done: u64,
}

impl PageUseObserver<'_> {
    fn flush(&mut self) {
        let (page, object, n) = self.memo;
        if n > 0 {
            let uses = self.uses.entry((page, object)).or_default();
            *uses = uses.saturating_add(n);
        }
        self.memo.2 = 0;
    }

    fn own(&mut self, r: &Merged) {
        let Some(binding) = self.bindings.get(r.thread as usize).filter(|_| r.op != Op::Spin) else { return };
        let (space, addr) = home(binding.space, r.addr);
        let object = self.live.lookup(space, addr).unwrap_or(NOBODY);
        let last = addr.saturating_add(u64::from(r.size.max(1)) - 1);
        for page in [addr >> self.shift, last >> self.shift] {
            let key = PageKey { space, page };
            if (self.memo.0, self.memo.1) != (key, object) {
                self.flush();
                self.memo = (key, object, 0);
            }
            self.memo.2 = self.memo.2.saturating_add(u64::from(r.weight));
            if addr >> self.shift == last >> self.shift {
                break;
            }
        }
    }
}

impl PageUseObserver<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        let mut spaced = self.spaced.take();
        let refs = spaced.as_mut().map_or(refs, |s| s.weigh(refs));
        self.profile.refs(refs);
        refs.iter().for_each(|r| self.own(r));
        self.done += refs.len() as u64;
        self.spaced = spaced;
        (self.progress)(self.done);
    }
    fn event(&mut self, event: &Event) {
        self.live.event(event);
    }
}
