//! All accumulators as one, in the order the replay calls them.
use crate::attribution::{Attribution, Use};
use crate::confidence::Confidence;
use crate::detail::Detail;
use crate::feed::{Charge, Setup, Transfer};
use crate::heat::Heat;
use crate::locks::Locks;
use crate::loops::Loops;
use crate::names::Names;
use crate::owners::Owners;
use crate::parts::Parts;
use crate::patterns::{Patterns, Piece, Touch};
use crate::tables::{self, Analysed};
use crate::watched::Reference;
use homenode_base::NodeId;
use homenode_machine::AccessClass;
use homenode_trace::{Merged, Op};

/// Time bins of the heat map while it is filled; between half of them and all are in use at the end.
const HEAT_COLUMNS: usize = 128;
const HEAT_ROWS: usize = 64;

/// The analysis of one replay. Per reference: [`reference`](Self::reference) first, then the charges and transfers it
/// causes.
#[derive(Debug)]
pub struct Analysis<'a> {
    setup: Setup<'a>,
    patterns: Patterns,
    detail: Detail,
    attribution: Attribution,
    heat: Heat,
    owners: Owners,
    /// Only for samples.
    confidence: Option<Confidence>,
    locks: Locks,
    loops: Loops,
    last: Reference,
    /// Successive units of the last reference; of long ranges only the first.
    pieces: Vec<Piece>,
}

const PIECES_MAX: usize = 4096;

impl<'a> Analysis<'a> {
    /// An analysis that has seen nothing.
    pub fn new(setup: Setup<'a>) -> Analysis<'a> {
        // Lines are sampled too rarely to say who shares them; blocks are what is placed anyway.
        let patterns = match setup.sampled {
            Some(_) => Patterns::sampled(setup.block_bytes.max(16)),
            None => Patterns::new(setup.unit_bytes),
        };
        Analysis {
            detail: Detail::new(),
            attribution: Attribution::new(&setup),
            heat: Heat::new(HEAT_COLUMNS, setup.machine.nodes(), setup.block_bytes),
            owners: Owners::new(setup.unit_bytes),
            confidence: setup.sampled.map(|_| Confidence::default()),
            locks: Locks::default(),
            loops: Loops::default(),
            last: Reference::default(),
            pieces: Vec::new(),
            patterns,
            setup,
        }
    }
    /// Notes the next reference of the merged order. Busy-wait repeats ([`Op::Spin`]) are ignored.
    #[inline]
    pub fn reference(&mut self, r: &Merged, object: u32) {
        if r.op == Op::Spin {
            self.pieces.clear();
            return;
        }
        let node = self.setup.nodes.get(r.thread as usize).copied().unwrap_or(NodeId(0));
        let writes = r.op.writes();
        let used = Use { addr: r.addr, object, site: r.site, thread: r.thread, node, writes, weight: r.weight };
        self.heat.reference(r.addr, node, r.weight);
        self.attribution.reference(&used);
        self.loops.reference(r.thread, r.site, r.weight);
        self.last = self.seen(r, object);
        self.pieces.clear();
        let touch = Touch { addr: r.addr, size: r.size, thread: r.thread, op: r.op, object };
        let (detail, last, pieces) = (&mut self.detail, &self.last, &mut self.pieces);
        self.patterns.touch(&touch, |piece| {
            if piece.detailed {
                detail.reference(&piece, last);
            }
            if pieces.len() < PIECES_MAX {
                pieces.push(piece);
            }
        });
        let blocks = |addr: u64| addr / self.setup.block_bytes;
        let last = r.addr.saturating_add(u64::from(r.size.max(1)) - 1);
        for block in blocks(r.addr) + 1..=blocks(last) {
            self.attribution.continues(&used, block * self.setup.block_bytes);
        }
    }
    #[inline]
    fn seen(&mut self, r: &Merged, object: u32) -> Reference {
        // Threads that the machine does not bind are processors of their own.
        let cpu = self.setup.cpus.get(r.thread as usize).map_or(r.thread | 1 << 31, |cpu| u32::from(*cpu));
        let locked = self.locks.reference(r.thread, r.addr, r.op);
        let (lock, turn) = (locked.word, locked.turn);
        Reference { thread: r.thread, cpu, site: r.site, object, op: r.op, lock, turn }
    }
    /// Notes that a thread has acquired a synchronisation object at this flat address: if its next reference is a
    /// read-modify-write of it, that is a lock.
    pub fn acquired(&mut self, thread: u32, addr: u64) {
        self.locks.acquired(thread, addr);
    }
    /// Notes that a thread begins or ends a loop or region of OpenMP.
    pub fn phase(&mut self, thread: u32, construct: u32, begins: bool) {
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
            self.owners.pays(c.addr, self.last.thread);
        }
    }
    /// Notes a cache-to-cache transfer that the last reference caused.
    pub fn transfer(&mut self, t: &Transfer) {
        self.attribution.transfer(t);
        self.loops.transfer(self.last.thread, t);
        self.patterns.charge(t.addr, t.object, t.cost);
        self.owners.pays(t.addr, self.last.thread);
        let unit = t.addr / self.setup.unit_bytes;
        let first = self.pieces.first().map_or(unit, |p| p.unit);
        let Some(piece) = unit.checked_sub(first).and_then(|i| self.pieces.get(i as usize)) else {
            return self.detail.unwatched(&self.last, t.cost);
        };
        if self.detail.transfer(piece, &self.last, t.cost) {
            self.patterns.set_detailed(piece.index, true);
        }
        if self.detail.is_full() {
            for index in self.detail.prune() {
                self.patterns.set_detailed(index, false);
            }
        }
    }
    /// Bytes of memory held, about.
    pub fn memory_bytes(&self) -> usize {
        let accumulators = self.patterns.memory_bytes() + self.attribution.memory_bytes() + self.heat.memory_bytes();
        accumulators + self.detail.memory_bytes() + self.owners.memory_bytes()
    }
    /// Ends the replay: ids become words, sums become rows.
    pub fn finish(self, names: &dyn Names) -> Analysed {
        let (lines, transfers) = self.detail.finish();
        tables::finish(
            Parts {
                setup: &self.setup,
                patterns: &self.patterns,
                attribution: &self.attribution,
                lines,
                transfers: &transfers,
                heat: &self.heat,
                owners: &self.owners,
                confidence: self.confidence.as_ref(),
                loops: &self.loops,
                heat_rows: HEAT_ROWS,
            },
            names,
        )
    }
}
