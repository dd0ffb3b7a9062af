//! Sharing patterns. The definitions are in `docs/patterns.md`; this is their streaming form.
//!
//! A unit's history is a sequence of *turns*, maximal runs of one thread. The first turn is initialisation and the last
//! one may be the final check, so only the turns between them, the *core*, decide. While turns pass, a unit therefore
//! keeps the running turn apart and folds a turn into the core when the next one begins.
use crate::index::{Index, Slab};
use crate::words::UnitWords;
use homenode_base::{Cost, TotalCost};
use homenode_trace::Op;
use serde::Serialize;

/// How a unit is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One thread, or handed from one to the next at most twice.
    Private,
    /// Several threads, nothing written after the first turn and before the last.
    ReadShared,
    /// One thread writes, others read it.
    ProducerConsumer,
    /// Several write, each turn that writes begins with a read.
    Migratory,
    /// Written, but no written word is touched by two threads.
    FalselyShared,
    /// Everything else.
    WriteShared,
}

impl Pattern {
    /// All six, in the order of reports.
    pub const ALL: [Pattern; 6] = [
        Pattern::Private,
        Pattern::ReadShared,
        Pattern::ProducerConsumer,
        Pattern::Migratory,
        Pattern::FalselyShared,
        Pattern::WriteShared,
    ];
    /// Name as in reports.
    pub const fn name(self) -> &'static str {
        ["private", "read-shared", "producer-consumer", "migratory", "falsely shared", "write-shared"][self as usize]
    }
}

/// A maximal run of one thread's references to a unit.
#[derive(Clone, Copy, Debug)]
struct Turn {
    thread: u32,
    touched: u64,
    written: u64,
    read_first: bool,
}

const NO_THREAD: u32 = u32::MAX;
const SEVERAL_THREADS: u32 = u32::MAX - 1;
const NO_WORDS: u32 = u32::MAX;

const NO_SHARED: u32 = u32::MAX;
const NO_UNIT: u32 = u32::MAX;

/// Units remembered.
const RECENT: usize = 64;

/// What is known of the core while the last turn is still running.
#[derive(Clone, Copy, Debug)]
enum Core {
    /// The second turn is running.
    Waiting,
    /// The third is running: the core is this turn. Units that are initialised, used and checked stop here.
    One(Turn),
    /// The core has several threads.
    Many {
        writer: u32,
        /// Record of word codes; [`NO_WORDS`] once two threads touched a written word.
        words: u32,
        read_first: bool,
    },
}

/// The turns of a unit since its second one.
#[derive(Clone, Debug)]
struct Shared {
    touched: u64,
    written: u64,
    read_first: bool,
    core: Core,
}

#[derive(Clone, Debug)]
struct Unit {
    cost: Cost,
    touched: u64,
    object: u32,
    thread: u32,
    /// Index of its [`Shared`], [`NO_SHARED`] while the first turn is running.
    shared: u32,
    detailed: bool,
}

/// One unit's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitClass {
    /// Unit number: address / unit size.
    pub unit: u64,
    /// Pattern.
    pub pattern: Pattern,
    /// Bytes of the words touched.
    pub bytes: u64,
    /// Object row of the first reference.
    pub object: u32,
    /// Cost charged to the unit.
    pub cost: Cost,
}

/// The classifier: 50 bytes a unit in its first turn, 100 one with up to three turns, 150 a shared one (about 240 if it has
/// data narrower than four bytes).
#[derive(Debug)]
pub struct Patterns {
    unit_shift: u32,
    word_shift: u32,
    index: Index,
    units: Slab<Unit>,
    /// Units found last, by the end of their numbers: threads come back to theirs.
    recent: [(u64, u32); RECENT],
    shared: Slab<Shared>,
    pool: UnitWords,
    /// Whether the references are samples: see [`Patterns::sampled`].
    sampled: bool,
}

/// The part of a reference inside one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Dense index of the unit.
    pub index: usize,
    /// Unit number.
    pub unit: u64,
    /// Words touched, bit 0 = first word of the unit.
    pub words: u64,
    /// Whether [`Patterns::set_detailed`] marked it.
    pub detailed: bool,
}

/// One reference to the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// First byte.
    pub addr: u64,
    /// Bytes; 0 counts as 1, bytes past 2^64 - 1 do not count.
    pub size: u32,
    /// Dataset thread.
    pub thread: u32,
    /// Operation.
    pub op: Op,
    /// Object row of `addr`.
    pub object: u32,
}

impl Patterns {
    /// For units of this size, a power of two from 16. Words are bytes up to units of 64, else a 64th of the unit.
    pub fn new(unit_bytes: u64) -> Patterns {
        assert!(unit_bytes.is_power_of_two() && unit_bytes >= 16, "unit size must be a power of two from 16");
        let word_bytes = (unit_bytes / 64).max(1);
        Patterns {
            unit_shift: unit_bytes.trailing_zeros(),
            word_shift: word_bytes.trailing_zeros(),
            index: Index::new(),
            units: Slab::new(),
            recent: [(0, NO_UNIT); RECENT],
            shared: Slab::new(),
            pool: UnitWords::new((unit_bytes / word_bytes) as usize),
            sampled: false,
        }
    }
    /// For samples: which thread read before which wrote, and which words nobody else touched, is not in them. What would be
    /// migratory or falsely shared is write-shared.
    pub fn sampled(unit_bytes: u64) -> Patterns {
        Patterns { sampled: true, ..Patterns::new(unit_bytes) }
    }
    /// Bytes of a word.
    pub fn word_bytes(&self) -> u64 {
        1 << self.word_shift
    }
    /// Bytes of a unit.
    pub fn unit_bytes(&self) -> u64 {
        1 << self.unit_shift
    }
    /// Notes a reference and hands each unit's part of it to `each`. Busy-wait repeats are the caller's to leave out.
    #[inline]
    pub fn touch(&mut self, t: &Touch, mut each: impl FnMut(Piece)) {
        let last = t.addr.saturating_add(u64::from(t.size.max(1)) - 1);
        let (mut unit, last_unit) = (t.addr >> self.unit_shift, last >> self.unit_shift);
        loop {
            let words = self.words(unit, t.addr, last);
            let index = self.unit(unit, t.thread, t.object);
            let detailed = self.touch_unit(index, t, words);
            each(Piece { index, unit, words, detailed });
            if unit >= last_unit {
                return;
            }
            unit += 1;
        }
    }
    /// Words of a unit that `[addr, last]` touches; it touches some.
    #[inline]
    fn words(&self, unit: u64, addr: u64, last: u64) -> u64 {
        let base = unit << self.unit_shift;
        let from = (addr.max(base) - base) >> self.word_shift;
        let to = ((last - base) >> self.word_shift).min((self.unit_bytes() >> self.word_shift) - 1);
        (u64::MAX >> (63 - (to - from))) << from
    }
    /// What a reference of `size` bytes at `addr`, noted already, touched of a unit; `None` if nothing.
    pub(crate) fn piece(&self, unit: u64, addr: u64, size: u32) -> Option<Piece> {
        let last = addr.saturating_add(u64::from(size.max(1)) - 1);
        if unit < addr >> self.unit_shift || unit > last >> self.unit_shift {
            return None;
        }
        let index = self.index.get(unit)?;
        let detailed = self.units[index].detailed;
        Some(Piece { index, unit, words: self.words(unit, addr, last), detailed })
    }
    #[inline]
    fn unit(&mut self, unit: u64, thread: u32, object: u32) -> usize {
        let (known, index) = self.recent[unit as usize % RECENT];
        if known == unit && index != NO_UNIT {
            return index as usize;
        }
        self.find_unit(unit, thread, object)
    }
    #[inline(never)]
    fn find_unit(&mut self, unit: u64, thread: u32, object: u32) -> usize {
        let (index, new) = self.index.intern(unit);
        self.recent[unit as usize % RECENT] = (unit, index as u32);
        if new {
            self.units.push(Unit { cost: Cost::ZERO, touched: 0, object, thread, shared: NO_SHARED, detailed: false });
        }
        index
    }
    /// Notes a reference to a unit; whether it is watched in detail.
    #[inline]
    fn touch_unit(&mut self, index: usize, t: &Touch, words: u64) -> bool {
        let u = &mut self.units[index];
        if u.thread != t.thread {
            // A charge may come before the first reference.
            if u.touched != 0 {
                next_turn(u, &mut self.shared, &mut self.pool);
            }
            u.thread = t.thread;
        }
        u.touched |= words;
        let detailed = u.detailed;
        if u.shared != NO_SHARED {
            let turn = &mut self.shared[u.shared as usize];
            if turn.touched == 0 {
                turn.read_first = t.op != Op::Write;
            }
            turn.touched |= words;
            turn.written |= if t.op.writes() { words } else { 0 };
        }
        detailed
    }
    /// Adds to the cost of the unit that contains `addr`.
    pub fn charge(&mut self, addr: u64, object: u32, cost: Cost) {
        let index = self.unit(addr >> self.unit_shift, NO_THREAD, object);
        let sum = &mut self.units[index].cost;
        *sum = Cost(sum.0.saturating_add(cost.0));
    }
    /// Marks a unit as one that is watched in detail, or not any more.
    pub fn set_detailed(&mut self, index: usize, detailed: bool) {
        self.units[index].detailed = detailed;
    }
    /// Classes of all units, ascending by unit number.
    pub fn classes(&self) -> impl Iterator<Item = UnitClass> + '_ {
        self.index.sorted().into_iter().map(|(unit, i)| self.class(unit, &self.units[i]))
    }
    /// Class of one unit if it was touched.
    pub fn class_of(&self, unit: u64) -> Option<UnitClass> {
        Some(self.class(unit, &self.units[self.index.get(unit)?]))
    }
    fn class(&self, unit: u64, u: &Unit) -> UnitClass {
        let bytes = u64::from(u.touched.count_ones()) << self.word_shift;
        let shared = (u.shared != NO_SHARED).then(|| &self.shared[u.shared as usize]);
        let pattern = match shared.map_or(Pattern::Private, pattern) {
            Pattern::Migratory | Pattern::FalselyShared if self.sampled => Pattern::WriteShared,
            known => known,
        };
        UnitClass { unit, pattern, bytes, object: u.object, cost: u.cost }
    }
    /// Sum of the costs charged.
    pub fn total(&self) -> TotalCost {
        self.units.iter().map(|u| u.cost).sum()
    }
    /// Units touched.
    pub fn len(&self) -> usize {
        self.index.len()
    }
    /// Whether nothing was touched.
    pub fn is_empty(&self) -> bool {
        self.index.len() == 0
    }
    /// Bytes of memory held, about.
    pub fn memory_bytes(&self) -> usize {
        self.index.bytes() + self.units.bytes() + self.shared.bytes() + self.pool.bytes()
    }
}

/// A turn has ended: it is folded into the core unless it was the first one. Out of line: turns are much rarer than
/// references.
#[cold]
fn next_turn(u: &mut Unit, all: &mut Slab<Shared>, pool: &mut UnitWords) {
    if u.shared == NO_SHARED {
        // There are at most as many as units, whose number is checked.
        u.shared = all.push(Shared { touched: 0, written: 0, read_first: true, core: Core::Waiting }) as u32;
        return;
    }
    let shared = &mut all[u.shared as usize];
    let Shared { touched, written, read_first, .. } = *shared;
    let turn = Turn { thread: u.thread, touched, written, read_first };
    (shared.touched, shared.written) = (0, 0);
    match &mut shared.core {
        Core::Waiting => shared.core = Core::One(turn),
        Core::One(first) => {
            let first = *first;
            shared.core = Core::Many { writer: NO_THREAD, words: pool.alloc(), read_first: true };
            fold(&mut shared.core, &first, pool);
            fold(&mut shared.core, &turn, pool);
        }
        Core::Many { .. } => fold(&mut shared.core, &turn, pool),
    }
}

fn fold(core: &mut Core, turn: &Turn, pool: &mut UnitWords) {
    let Core::Many { writer, words, read_first } = core else { return };
    if turn.written != 0 {
        *writer = if *writer == NO_THREAD || *writer == turn.thread { turn.thread } else { SEVERAL_THREADS };
        *read_first &= turn.read_first;
    }
    if *words != NO_WORDS && pool.touch(words, turn.thread, turn.touched, turn.written) {
        pool.release(*words);
        *words = NO_WORDS;
    }
}

fn pattern(shared: &Shared) -> Pattern {
    match shared.core {
        Core::Waiting | Core::One(_) => Pattern::Private,
        Core::Many { writer: NO_THREAD, .. } => Pattern::ReadShared,
        Core::Many { words, .. } if words != NO_WORDS => Pattern::FalselyShared,
        Core::Many { writer, read_first, .. } => match (writer, read_first) {
            (SEVERAL_THREADS, true) => Pattern::Migratory,
            (SEVERAL_THREADS, false) => Pattern::WriteShared,
            _ => Pattern::ProducerConsumer,
        },
    }
}
