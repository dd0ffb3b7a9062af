//! All accumulators as one, in the order the replay calls them.
use crate::attribution::{Attribution, Use};
use crate::confidence::Confidence;
use crate::detail::Detail;
use crate::feed::{BlockReference, Charge, Hit, Setup, Transfer};
use crate::heat::Heat;
use crate::loops::Loops;
use crate::names::Names;
use crate::overview::Overview;
use crate::owners::Owners;
use crate::parts::Parts;
use crate::patterns::{Patterns, Touch};
use crate::tables::{self, Analysed};
use crate::watched::Reference;
use homenode_base::NodeId;
use homenode_machine::AccessClass;
use homenode_trace::{Merged, Op};

/// Time bins of the heat map while it is filled; between half of them and all are in use at the end.
const HEAT_COLUMNS: usize = 128;
const HEAT_ROWS: usize = 64;

/// The analysis of one replay, or of the blocks of some colours. Per reference: [`reference`](Self::reference) or
/// [`block_reference`](Self::block_reference) first, then the charges and transfers it causes.
#[derive(Debug)]
pub struct Analysis<'a> {
    setup: Setup<'a>,
    block_shift: u32,
    unit_shift: u32,
    patterns: Patterns,
    /// By colour.
    details: Vec<Detail>,
    attribution: Attribution,
    heat: Heat,
    owners: Owners,
    /// Only for samples.
    confidence: Option<Confidence>,
    /// What charges add to loops.
    loops: Loops,
    /// What is known of all references; `None` if that is somebody else's.
    overview: Option<Overview>,
    /// Of the last reference.
    number: u64,
    last: Reference,
    /// First byte and size of the last reference; none if it was not replayed.
    last_bytes: Option<(u64, u32)>,
}

impl<'a> Analysis<'a> {
    /// An analysis that has seen nothing.
    pub fn new(setup: Setup<'a>) -> Analysis<'a> {
        // Lines are sampled too rarely to say who shares them; blocks are what is placed anyway.
        let patterns = match setup.sampled {
            Some(_) => Patterns::sampled(setup.block_bytes.max(16)),
            None => Patterns::new(setup.unit_bytes),
        };
        let colours = setup.colours.max(1) as usize;
        Analysis {
            block_shift: setup.block_bytes.trailing_zeros(),
            unit_shift: setup.unit_bytes.trailing_zeros(),
            details: (0..colours).map(|_| Detail::new(colours)).collect(),
            attribution: Attribution::new(&setup),
            heat: Heat::new(HEAT_COLUMNS, setup.machine.nodes(), setup.block_bytes),
            owners: Owners::new(setup.unit_bytes),
            confidence: setup.sampled.map(|_| Confidence::default()),
            loops: Loops::default(),
            overview: Some(Overview::default()),
            number: 0,
            last: Reference::default(),
            last_bytes: None,
            patterns,
            setup,
        }
    }
    /// An analysis of some colours, driven by [`block_reference`](Self::block_reference).
    pub fn of_colours(setup: Setup<'a>) -> Analysis<'a> {
        Analysis { overview: None, ..Analysis::new(setup) }
    }
    /// Notes the next reference of the merged order. Busy-wait repeats ([`Op::Spin`]) are ignored.
    pub fn reference(&mut self, r: &Merged, object: u32) {
        if r.op == Op::Spin {
            self.last_bytes = None;
            return;
        }
        let number = self.number + 1;
        let overview = self.overview.as_mut();
        let locked = overview.map(|o| o.reference((r.thread, r.site), r.addr, r.op, r.weight)).unwrap_or_default();
        let (addr, size, site, thread, op) = (r.addr, r.size, r.site, r.thread, r.op);
        let whole = BlockReference { addr, number, locked, size, site, thread, op, begins: true };
        let used = self.begin(&whole, object, r.weight);
        self.heat.reference(r.addr, used.node, r.weight);
        self.attribution.reference(&used, number);
        self.touch(&whole, object);
        let last = r.addr.saturating_add(u64::from(r.size.max(1)) - 1);
        for block in (r.addr >> self.block_shift) + 1..=last >> self.block_shift {
            self.attribution.continues(&used, block << self.block_shift, number);
        }
    }
    /// Notes the next reference to a block of this analysis' colours, in exact recordings. Who calls this has an [`Overview`] of all references.
    #[inline]
    pub fn block_reference(&mut self, r: &BlockReference, object: u32) {
        let used = self.begin(r, object, 1);
        if r.begins {
            self.heat.numbered(r.addr, used.node, r.number);
            self.attribution.reference(&used, r.number);
        } else {
            self.attribution.continues(&used, r.addr, r.number);
        }
        self.touch(r, object);
    }
    #[inline]
    fn begin(&mut self, r: &BlockReference, object: u32, weight: u32) -> Use {
        self.number = r.number;
        let node = self.setup.nodes.get(r.thread as usize).copied().unwrap_or(NodeId(0));
        // Threads that the machine does not bind are processors of their own.
        let cpu = self.setup.cpus.get(r.thread as usize).map_or(r.thread | 1 << 31, |cpu| u32::from(*cpu));
        let (lock, turn) = (r.locked.word, r.locked.turn);
        self.last = Reference { thread: r.thread, cpu, site: r.site, object, op: r.op, lock, turn };
        Use { addr: r.addr, object, site: r.site, thread: r.thread, node, writes: r.op.writes(), weight }
    }
    #[inline]
    fn touch(&mut self, r: &BlockReference, object: u32) {
        let touch = Touch { addr: r.addr, size: r.size, thread: r.thread, op: r.op, object };
        let (colour_shift, mask) = (self.block_shift - self.unit_shift.min(self.block_shift), self.details.len() - 1);
        self.last_bytes = Some((r.addr, r.size));
        let (details, last) = (&mut self.details, &self.last);
        self.patterns.touch(&touch, |piece| {
            if piece.detailed {
                details[(piece.unit >> colour_shift) as usize & mask].reference(&piece, last);
            }
        });
    }
    /// Notes that a thread has acquired something: see [`Overview::acquired`].
    pub fn acquired(&mut self, thread: u32, addr: u64) {
        if let Some(overview) = &mut self.overview {
            overview.acquired(thread, addr);
        }
    }
    /// Notes that a thread begins or ends a loop or region of OpenMP.
    pub fn phase(&mut self, thread: u32, construct: u32, begins: bool) {
        if let Some(overview) = &mut self.overview {
            overview.phase(thread, construct, begins);
        }
        self.loops.phase(thread, construct, begins);
    }
    /// Notes a memory access that the last reference caused.
    #[inline]
    pub fn charge(&mut self, c: &Charge) {
        self.attribution.charge(c);
        self.loops.charge(self.last.thread, c);
        if let Some(confidence) = &mut self.confidence {
            confidence.charge(c.object, c.cost);
        }
        self.patterns.charge(c.addr, c.object, c.cost);
        // A write-back is paid by whoever needs the room.
        if c.class != AccessClass::WriteBack && self.confidence.is_none() {
            self.owners.pays(c.addr, self.last.thread, self.number);
        }
    }
    /// Notes that the last level had what the last reference asked for.
    #[inline]
    pub fn hit(&mut self, h: &Hit) {
        self.attribution.hit(h);
        self.loops.hit(self.last.thread, h);
    }
    /// Notes a cache-to-cache transfer that the last reference caused.
    pub fn transfer(&mut self, t: &Transfer) {
        self.attribution.transfer(t);
        self.loops.transfer(self.last.thread, t);
        self.patterns.charge(t.addr, t.object, t.cost);
        self.owners.pays(t.addr, self.last.thread, self.number);
        let unit = t.addr >> self.unit_shift;
        let colour = (t.addr >> self.block_shift) as usize & (self.details.len() - 1);
        let detail = &mut self.details[colour];
        let touched = self.last_bytes.and_then(|(addr, size)| self.patterns.piece(unit, addr, size));
        let Some(piece) = touched else { return detail.unwatched(&self.last, t.cost) };
        if detail.transfer(&piece, &self.last, t.cost) {
            self.patterns.set_detailed(piece.index, true);
        }
        if detail.is_full() {
            for index in detail.prune() {
                self.patterns.set_detailed(index, false);
            }
        }
    }
    /// Bytes of memory held, about.
    pub fn memory_bytes(&self) -> usize {
        let accumulators = self.patterns.memory_bytes() + self.attribution.memory_bytes() + self.heat.memory_bytes();
        accumulators + self.details.iter().map(Detail::memory_bytes).sum::<usize>() + self.owners.memory_bytes()
    }
    /// Ends the replay: ids become words, sums become rows.
    pub fn finish(mut self, names: &dyn Names) -> Analysed {
        let overview = self.overview.take().unwrap_or_default();
        let number = self.number;
        Analysis::finish_all(vec![self], overview, number, names)
    }
    /// Ends the replay of all colours, by several analyses, after so many references. Panics if there is no analysis.
    pub fn finish_all(all: Vec<Analysis<'a>>, mut overview: Overview, refs: u64, names: &dyn Names) -> Analysed {
        let exact = all.iter().all(|a| a.confidence.is_none());
        let mut all = all.into_iter();
        let mut whole = all.next().expect("an analysis at least");
        let mut patterns = Vec::new();
        let mut details = whole.details;
        overview.loops.absorb(&whole.loops);
        if exact {
            whole.heat.pass_to(refs);
        }
        whole.attribution.end();
        for mut other in all {
            other.attribution.end();
            other.heat.pass_to(refs);
            whole.heat.absorb(other.heat);
            whole.attribution.absorb(&other.attribution);
            whole.owners.absorb(&other.owners);
            overview.loops.absorb(&other.loops);
            details.extend(other.details);
            patterns.push(other.patterns);
        }
        patterns.push(whole.patterns);
        let (lines, transfers) = Detail::finish(details);
        tables::finish(
            Parts {
                setup: &whole.setup,
                patterns: &patterns,
                attribution: &whole.attribution,
                lines,
                transfers: &transfers,
                heat: &whole.heat,
                owners: &whole.owners,
                confidence: whole.confidence.as_ref(),
                loops: &overview.loops,
                heat_rows: HEAT_ROWS,
            },
            names,
        )
    }
}
