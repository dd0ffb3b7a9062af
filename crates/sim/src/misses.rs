//! Classes of misses: which of them a processor waits for.
//!
//! * *Streamed:* the code location goes through memory in steps of equal length, at most half a page, for the third time in a row: a
//!   prefetcher that watches code locations has the line on its way. Each thread has a bounded number of such streams.
//! * *Overlapped:* a store, which waits in the store buffer and nobody for it; or a load whose address does not depend on an earlier miss
//!   of its code location ([`Waits::Independent`]), with another miss of the thread a reorder window before it at most.
//!   Of *chains* that begin anew in each round of a loop ([`Waits::Anew`]) those of several rounds are under way at once: in a reorder window
//!   only as many misses are waited for as the longest of them has.
//! * *Waited for:* all others, read-modify-writes among them, and loads of which nobody knows ([`Waits::Unknown`]), which are counted.
//!
//! A line that comes from another cache is waited for like one from memory: of its cost the same share.
//!
//! References that the last level has are of the same classes, and near if another left the private cache a reorder window before.
//!
//! Nothing here depends on where blocks live: classes are those of the program and its caches, and the cheapest placement is exact for them.
use crate::cache::CacheEventKind;
use crate::evaluation::{HitTotals, MissTotals};
use crate::setup::Waits;
use homenode_base::Cost;
use homenode_machine::{AccessClass, HitCosts};
use homenode_trace::Op;

/// Streams of a thread, as a power of two; those of two code locations may meet in one place.
const STREAM_BITS: u32 = 6;
/// Equal steps in a row from which on the next line is on its way.
const STEPS: u8 = 2;
/// Longest step, in bytes.
const STEP_BYTES: u64 = 2048;
/// References of a thread between two misses that a reorder window holds: 224 to 512 instructions (Skylake to Golden Cove), of which
/// every third or fourth is one.
const WINDOW: u64 = 100;

/// What a code location did last.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    site: u32,
    run: u8,
    line: u64,
    step: i64,
}

/// A thread.
#[derive(Clone, Debug)]
struct Thread {
    streams: Vec<Stream>,
    /// References so far, and how many there were before the last miss.
    refs: u64,
    missed_at: Option<u64>,
    /// How many there were before the last that left the private cache.
    left_at: Option<u64>,
    /// By loop in which chains begin anew, as far as the thread has been in one.
    chains: Vec<Chains>,
}

/// Chains of a loop, each known by the references of the thread before its round began.
#[derive(Clone, Copy, Debug, Default)]
struct Chains {
    /// The one that is followed; 0 before a round was seen to begin.
    now: u64,
    /// Of misses, and of all that left the private cache.
    missed: Depth,
    left: Depth,
}

/// How long chains are in one reorder window, in misses.
#[derive(Clone, Copy, Debug, Default)]
struct Depth {
    /// References of the thread before the window.
    from: u64,
    /// Misses of the longest chain: that many were waited for.
    longest: u32,
    /// The last chain, and its misses.
    chain: u64,
    misses: u32,
}

impl Depth {
    /// The window and the chain as they are for the next miss.
    fn at(self, chain: u64, refs: u64) -> Depth {
        match self {
            Depth { longest, from, .. } if longest == 0 || refs - from > WINDOW => {
                Depth { from: refs, longest: 0, chain, misses: 0 }
            }
            same if same.chain == chain => same,
            other => Depth { chain, misses: 0, ..other },
        }
    }
    /// Whether the next miss is under way beside one of another chain that is waited for.
    fn overlaps(self, chain: u64, refs: u64) -> bool {
        let next = self.at(chain, refs);
        chain > 0 && next.misses < next.longest
    }
    fn note(&mut self, chain: u64, refs: u64) {
        *self = self.at(chain, refs);
        self.misses = self.misses.saturating_add(1);
        self.longest = self.longest.max(self.misses);
    }
}

/// The classes of one replay.
#[derive(Clone, Debug)]
pub(crate) struct MissClasses<'m> {
    waits: &'m [Waits],
    threads: Vec<Thread>,
    longest: u64,
    pub(crate) totals: MissTotals,
    /// What hits in the last level cost, and what there was of them; none where they cost nothing.
    hit_costs: Option<HitCosts>,
    hits: HitTotals,
}

/// What one reference would be if it missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) class: AccessClass,
    is_known: bool,
    is_independent: bool,
    /// Loop of its chain, if that begins anew in each round.
    chain: Option<u16>,
}

impl<'m> MissClasses<'m> {
    /// For so many threads, and lines of `1 << line_shift` bytes.
    pub(crate) fn new(
        waits: &'m [Waits],
        threads: usize,
        line_shift: u32,
        hit_costs: Option<HitCosts>,
    ) -> MissClasses<'m> {
        let streams = vec![Stream::default(); 1 << STREAM_BITS];
        let thread = Thread { streams, refs: 0, missed_at: None, left_at: None, chains: Vec::new() };
        let longest = (STEP_BYTES >> line_shift).max(1);
        let (totals, hits) = (MissTotals::default(), HitTotals::default());
        MissClasses { waits, threads: vec![thread; threads], longest, totals, hit_costs, hits }
    }

    /// Notes a reference to a line, and what it is if it misses.
    #[inline]
    pub(crate) fn reference(&mut self, thread: u32, site: u32, line: u64, op: Op) -> Missing {
        let longest = self.longest;
        let thread = &mut self.threads[thread as usize];
        thread.refs += 1;
        let place = site.wrapping_mul(0x9E37_79B1) >> (32 - STREAM_BITS);
        let is_streamed = thread.streams[place as usize].follow(site, line, longest);
        let is_near = thread.missed_at.is_some_and(|at| thread.refs - at <= WINDOW);
        let waits = self.waits.get(site as usize).copied().unwrap_or_default();
        let class = match (op, waits) {
            (Op::Atomic, _) => AccessClass::Write,
            (Op::Write, _) if is_streamed => AccessClass::WriteStreamed,
            (Op::Write, _) => AccessClass::WriteOverlapped,
            _ if is_streamed => AccessClass::ReadStreamed,
            _ if waits.is_independent() && is_near => AccessClass::ReadOverlapped,
            (_, Waits::Anew(id)) if thread.overlaps(id, |c| c.missed) => AccessClass::ReadOverlapped,
            _ => AccessClass::Read,
        };
        let chain = match (waits, class) {
            (Waits::Begins(id), _) => {
                thread.begin(id);
                None
            }
            (Waits::Anew(id), _) => Some(id),
            _ => None,
        };
        let is_known = class != AccessClass::Read || waits != Waits::Unknown;
        Missing { class, is_known, is_independent: waits.is_independent(), chain }
    }

    /// Notes that the last level has the line of a reference, and what that costs.
    pub(crate) fn hit(&mut self, thread: u32, missing: Missing) -> Cost {
        use AccessClass as C;
        let Some(costs) = self.hit_costs else { return Cost::ZERO };
        let thread = &mut self.threads[thread as usize];
        let is_near = thread.left_at.is_some_and(|at| thread.refs - at <= WINDOW);
        thread.left_at = Some(thread.refs);
        let hits = &mut self.hits;
        let (count, cost) = match missing.class {
            C::ReadStreamed | C::WriteStreamed => (&mut hits.streamed, costs.streamed),
            C::ReadOverlapped | C::WriteOverlapped => (&mut hits.overlapped, costs.overlapped),
            C::Read if missing.is_independent && is_near => (&mut hits.overlapped, costs.overlapped),
            C::Read if missing.chain.is_some_and(|id| thread.overlaps(id, |c| c.left)) => {
                (&mut hits.overlapped, costs.overlapped)
            }
            _ if missing.is_known => (&mut hits.waited, costs.waited),
            _ => (&mut hits.unknown, costs.waited),
        };
        *count += 1;
        hits.cost += cost;
        thread.followed(missing.chain, false);
        cost
    }

    /// Hits in last levels, where they cost something.
    pub(crate) fn hits(&self) -> Option<HitTotals> {
        self.hit_costs.map(|_| self.hits)
    }

    /// What served a reference: its misses are counted, and it has waited for lines of other caches, too.
    #[inline]
    pub(crate) fn served(&mut self, thread: u32, missing: Missing, by: CacheEventKind) {
        use CacheEventKind as Kind;
        if !matches!(by, Kind::ReadMiss | Kind::WriteMiss | Kind::TransferNear | Kind::TransferFar) {
            return;
        }
        let thread = &mut self.threads[thread as usize];
        (thread.missed_at, thread.left_at) = (Some(thread.refs), Some(thread.refs));
        thread.followed(missing.chain, true);
        if matches!(by, Kind::TransferNear | Kind::TransferFar) {
            return;
        }
        let count = match missing.class {
            AccessClass::ReadStreamed | AccessClass::WriteStreamed => &mut self.totals.streamed,
            AccessClass::ReadOverlapped | AccessClass::WriteOverlapped => &mut self.totals.overlapped,
            _ if missing.is_known => &mut self.totals.waited,
            _ => &mut self.totals.unknown,
        };
        *count += 1;
    }
}

impl Thread {
    /// Whether the next miss of the chain of a loop is under way beside one of another chain.
    fn overlaps(&self, id: u16, of: impl Fn(&Chains) -> Depth) -> bool {
        self.chains.get(usize::from(id)).is_some_and(|c| of(c).overlaps(c.now, self.refs))
    }
    /// Notes that a round begins, and so another chain.
    fn begin(&mut self, id: u16) {
        let place = usize::from(id);
        if place >= self.chains.len() {
            self.chains.resize(place + 1, Chains::default());
        }
        self.chains[place].now = self.refs;
    }
    /// Notes that a reference of a chain missed, or only left the private cache.
    fn followed(&mut self, chain: Option<u16>, missed: bool) {
        let refs = self.refs;
        if let Some(c) = chain.and_then(|id| self.chains.get_mut(usize::from(id))) {
            c.left.note(c.now, refs);
            if missed {
                c.missed.note(c.now, refs);
            }
        }
    }
}

impl Stream {
    /// Notes the next line of a code location; whether it was on its way.
    #[inline]
    fn follow(&mut self, site: u32, line: u64, longest: u64) -> bool {
        if self.site != site {
            *self = Stream { site, run: 0, line, step: 0 };
            return false;
        }
        let step = line.wrapping_sub(self.line) as i64;
        if step != 0 {
            self.run = if step == self.step { self.run.saturating_add(1) } else { 0 };
            (self.step, self.line) = (step, line);
        }
        self.run >= STEPS && self.step.unsigned_abs() <= longest
    }
}

#[cfg(test)]
#[path = "misses_tests.rs"]
mod tests;
