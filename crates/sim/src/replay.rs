//! From references in merged order to accesses of blocks: bindings, pieces, cache filter, first-touch homes, folding.
use crate::SimError;
use crate::blocks::BlockTable;
use crate::cache::{CacheEventKind, CacheFilter, Level};
use crate::consumers::AccessConsumer;
use crate::evaluation::{SampledTotals, SourceRow, Totals};
use crate::front::{Front, Place};
use crate::memory_side::MemorySide;
use crate::misses::{MissClasses, Missing};
use crate::observer::Observer;
use crate::setup::{MissModel, ReplayOptions, Setup, Shifts, Waits};
use crate::split::{Pieces, for_pieces};
use homenode_analysis::BlockReference;
use homenode_base::VirtualTime;
use homenode_machine::{AccessClass, Machine};
use homenode_placement::{Access, AccessKind};
use homenode_trace::{Counting, DataSource, Merged, Op, SampleUnit};

/// What of a reference decides what its pieces cause.
#[derive(Clone, Copy)]
struct Use {
    thread: u32,
    site: u32,
    op: Op,
    place: Place,
    t: VirtualTime,
}

/// One replay of a trace on one machine at one block size.
pub(crate) struct Replay<'m, L, O> {
    front: Front,
    shifts: Shifts,
    options: ReplayOptions,
    blocks: BlockTable,
    /// Whether the machine charges lines and not words.
    lines: bool,
    filter: Option<CacheFilter>,
    /// Classes of misses, unless each costs its latency.
    misses: Option<MissClasses<'m>>,
    memory_side: MemorySide<'m, L, O>,
    totals: Totals,
    /// Samples and their weights by data source.
    sources: [(u64, u64); DataSource::ALL.len()],
}

/// What is left after the last reference.
pub(crate) struct Replayed<L, O> {
    pub(crate) consumers: L,
    pub(crate) observer: O,
    pub(crate) blocks: BlockTable,
    pub(crate) totals: Totals,
    /// References of each thread, spins included.
    pub(crate) refs_of: Vec<u64>,
    pub(crate) strangers: u64,
}

impl<'m, L: AccessConsumer, O: Observer> Replay<'m, L, O> {
    pub(crate) fn new(
        setup: Setup<'_>,
        (machine, waits): (&'m Machine, &'m [Waits]),
        consumers: L,
        observer: O,
    ) -> Result<Replay<'m, L, O>, SimError> {
        let Setup { bindings, block_bytes, options, .. } = setup;
        let shifts = Shifts::new(machine, block_bytes)?;
        let processors: usize = machine.shape.cores.iter().map(|c| usize::from(*c)).sum();
        if bindings.iter().any(|s| usize::from(s.cpu) >= processors || s.node.index() >= machine.nodes()) {
            return Err(SimError::ThreadBinding(machine.name.clone()));
        }
        Ok(Replay {
            front: Front::new(bindings),
            shifts,
            options,
            blocks: BlockTable::new(),
            lines: machine.sections.caches.is_some(),
            filter: if options.sampled.is_some() { None } else { CacheFilter::new(machine)? },
            misses: (options.model == MissModel::Overlap).then(|| {
                let hit_costs = machine.sections.hits.map(|h| h.shared);
                MissClasses::new(waits, bindings.len(), shifts.line, hit_costs)
            }),
            memory_side: MemorySide::new(machine, shifts, options, consumers, observer),
            totals: Totals::default(),
            sources: Default::default(),
        })
    }

    /// The next references.
    pub(crate) fn refs(&mut self, refs: &[Merged]) {
        for r in refs {
            self.reference(r);
        }
    }

    /// Who watches.
    pub(crate) fn observer(&mut self) -> &mut O {
        &mut self.memory_side.observer
    }

    /// The next reference.
    #[inline]
    fn reference(&mut self, r: &Merged) {
        self.moved(r, r.addr);
    }

    /// The next reference, which has moved to this address.
    #[inline(always)]
    pub(crate) fn moved(&mut self, r: &Merged, addr: u64) {
        let Some((place, t)) = self.front.reference(r) else { return };
        if r.op == Op::Spin {
            self.spin((addr, r.size), place);
            if !self.options.charge_spins {
                return;
            }
        }
        self.memory_side.observer.reference(r, place.binding, addr ^ place.space_tag);
        let used = Use { thread: r.thread, site: r.site, op: r.op, place, t };
        match (self.options.sampled, &self.filter) {
            (Some(counting), _) => self.sampled(&Merged { addr, ..*r }, place, t, counting),
            (None, Some(_)) => self.cached((addr, r.size), &used),
            (None, None) => self.uncached((addr, r.size), &used),
        }
    }

    /// The next reference to a block whose colour is replayed here; somebody else counts references and knows the time.
    #[inline]
    pub(crate) fn block_reference(&mut self, r: &BlockReference) {
        // Addresses are flat already.
        let Some(place) = self.front.place(r.thread).map(|place| Place { space_tag: 0, ..place }) else { return };
        if r.op == Op::Spin {
            return self.spin((r.addr, r.size), place);
        }
        self.memory_side.observer.block_reference(r);
        let used = Use { thread: r.thread, site: r.site, op: r.op, place, t: VirtualTime(r.number) };
        match &self.filter {
            Some(_) => self.cached((r.addr, r.size), &used),
            None => self.uncached((r.addr, r.size), &used),
        }
    }

    /// A machine without caches: one access per word.
    #[inline(never)]
    fn uncached(&mut self, (addr, size): (u64, u32), used: &Use) {
        let Use { place, t, .. } = *used;
        let (kind, class) = match used.op.writes() {
            true => (AccessKind::Write, AccessClass::Write),
            false => (AccessKind::Read, AccessClass::Read),
        };
        let Replay { shifts, blocks, memory_side, .. } = self;
        for_pieces(addr, size, shifts.block, |piece| {
            let flat = piece.addr ^ place.space_tag;
            let slot = blocks.index(flat >> shifts.block);
            let access = Access { node: place.binding.node, kind, class, weight: piece.words(shifts.word), t };
            memory_side.access(slot, flat, access, blocks.numbers());
        });
    }

    /// A sample. On machines without caches a sampled reference is charged by the word, as the exact one would be;
    /// a miss, a window, and a reference on a machine that charges lines is one access of the first byte's block.
    #[inline(never)]
    fn sampled(&mut self, r: &Merged, place: Place, t: VirtualTime, counting: Counting) {
        let source = &mut self.sources[r.source as usize];
        *source = (source.0 + 1, source.1 + u64::from(r.weight));
        let first_touch = r.source == DataSource::FirstTouch;
        if !r.source.placement_matters() && !first_touch {
            return;
        }
        let Replay { shifts, blocks, memory_side, lines, .. } = self;
        let (kind, class) = match r.op.writes() {
            // Decides where a page begins and costs nothing: what is sampled is its use.
            _ if first_touch => (AccessKind::Write, AccessClass::Free),
            true => (AccessKind::Write, AccessClass::Write),
            false => (AccessKind::Read, AccessClass::Read),
        };
        let by_word = counting.unit == SampleUnit::Reference && !*lines;
        for piece in Pieces::new(r.addr, if by_word { r.size } else { 1 }, shifts.block) {
            let flat = piece.addr ^ place.space_tag;
            let slot = blocks.index(flat >> shifts.block);
            let words = if by_word { piece.words(shifts.word) } else { 1 };
            // Words that do not fit into one weight are so many accesses.
            let (weight, times) = r.weight.checked_mul(words).map_or((r.weight, words), |w| (w, 1));
            let access = Access { node: place.binding.node, kind, class, weight, t };
            for _ in 0..times {
                memory_side.access(slot, flat, access, blocks.numbers());
            }
        }
    }

    /// A machine with caches: one reference of the private cache per line.
    #[inline(always)]
    fn cached(&mut self, (addr, size): (u64, u32), used: &Use) {
        match addr.checked_add(u64::from(size.max(1)) - 1) {
            Some(last) if last >> self.shifts.line == addr >> self.shifts.line => self.line(addr, used),
            _ => self.lines((addr, size), used),
        }
    }

    #[inline(never)]
    fn lines(&mut self, (addr, size): (u64, u32), used: &Use) {
        Pieces::new(addr, size, self.shifts.line).for_each(|piece| self.line(piece.addr, used));
    }

    /// A reference inside a line. Most are repeats, about which there is nothing to say.
    #[inline(always)]
    fn line(&mut self, addr: u64, used: &Use) {
        let Use { thread, site, op, place, .. } = *used;
        let flat = addr ^ place.space_tag;
        let key = flat >> self.shifts.line;
        let missing = self.misses.as_mut().map(|m| m.reference(thread, site, key, op));
        let Some(filter) = &self.filter else { return };
        if let Some(block) = filter.repeat(usize::from(place.binding.cpu), key, op.writes())
            && self.memory_side.is_known(place.binding.node, block, op.writes())
        {
            return;
        }
        self.looked_up(flat, used, missing);
    }

    /// Likewise, in the caches.
    #[inline(never)]
    fn looked_up(&mut self, flat: u64, used: &Use, missing: Option<Missing>) {
        let Use { thread, op, place, t, .. } = *used;
        let Replay { shifts, blocks, memory_side, filter: Some(filter), misses, .. } = self else { return };
        let slot = blocks.index(flat >> shifts.block);
        let (cpu, key) = (usize::from(place.binding.cpu), flat >> shifts.line);
        let mut moved = false;
        let level = filter.access(cpu, key, slot, op.writes(), &mut |e| {
            moved |= e.kind == CacheEventKind::TransferNear;
            if let (Some(m), Some(missing)) = (misses.as_mut(), missing) {
                m.served(thread, missing, e.kind);
            }
            memory_side.cache_event(e, flat, t, (blocks.numbers(), missing.map(|m| m.class)));
        });
        if let (Level::Shared, false, Some(m), Some(missing)) = (level, moved, misses.as_mut(), missing) {
            memory_side.observer.hit(flat, m.hit(thread, missing));
        }
    }

    /// What a busy-wait reference would cost under first touch: as a read, with the caches left as they are.
    #[inline(never)]
    fn spin(&mut self, (addr, size): (u64, u32), place: Place) {
        let shift = if self.filter.is_some() { self.shifts.line } else { self.shifts.block };
        for piece in Pieces::new(addr, size, shift) {
            let flat = piece.addr ^ place.space_tag;
            let slot = self.blocks.find(flat >> self.shifts.block);
            let cost = match &mut self.filter {
                None => self.memory_side.first_touch_cost(slot, place.binding.node, piece.words(self.shifts.word)),
                Some(filter) => match filter.supplier(usize::from(place.binding.cpu), flat >> self.shifts.line) {
                    crate::cache::Supplier::Cache => continue,
                    crate::cache::Supplier::Transfer(cost) => cost.into(),
                    crate::cache::Supplier::Memory => self.memory_side.first_touch_cost(slot, place.binding.node, 1),
                },
            };
            self.totals.spin_cost += cost;
        }
    }

    /// Ends the replay.
    ///
    /// # Errors
    /// There were more blocks than indices.
    pub(crate) fn finish(mut self) -> Result<Replayed<L, O>, SimError> {
        if self.blocks.is_full() {
            return Err(SimError::TooManyBlocks(1 << self.shifts.block));
        }
        let totals = &mut self.totals;
        self.front.finish(totals);
        totals.misses = self.misses.as_ref().map(|m| m.totals);
        totals.hits = self.misses.as_ref().and_then(MissClasses::hits);
        totals.sampled = self.options.sampled.map(|_| sampled_totals(&self.sources));
        self.memory_side.finish(self.blocks.numbers(), totals);
        let (refs_of, strangers) = (self.front.refs_of(), self.front.strangers);
        let Replay { blocks, memory_side, totals, .. } = self;
        Ok(Replayed {
            consumers: memory_side.consumers,
            observer: memory_side.observer,
            blocks,
            totals,
            refs_of,
            strangers,
        })
    }
}

/// Samples by data source, those that there were.
fn sampled_totals(sources: &[(u64, u64)]) -> SampledTotals {
    let row = |(source, &(samples, weight)): (&DataSource, &(u64, u64))| SourceRow {
        source: *source,
        samples,
        weight,
        charged: source.placement_matters(),
    };
    let rows = DataSource::ALL.iter().zip(sources).map(row);
    SampledTotals {
        samples: sources.iter().map(|s| s.0).sum(),
        weight: sources.iter().map(|s| s.1).sum(),
        sources: rows.filter(|r| r.samples > 0).collect(),
    }
}
