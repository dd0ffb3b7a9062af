//! What the study leaves open and what else could be meant: each reading that differs from ours.
use homenode_machine::{Hybrid, Reading};

/// An open point.
pub struct OpenPoint {
    /// Name on the command line.
    pub name: &'static str,
    /// What is taken instead of ours.
    pub summary: &'static str,
    /// Names of the architectures that it can change; no others.
    of: &'static [&'static str],
    apply: fn(&mut Hybrid),
}

impl OpenPoint {
    /// Takes the other reading.
    pub fn apply(&self, hybrid: &mut Hybrid) {
        (self.apply)(hybrid);
    }
    /// Whether a run of this architecture of the registry can be another one with it.
    pub fn changes(&self, architecture: &str) -> bool {
        self.of.contains(&architecture)
    }
    /// The open point with this name.
    pub fn find(name: &str) -> Option<&'static OpenPoint> {
        OPEN_POINTS.iter().find(|p| p.name == name)
    }
}

/// All architectures, those that use pages at their homes, those with frames of remote pages, those with counters, with back-off, and AS-COMA alone.
const ALL: &[&str] = &["ccnuma", "scoma", "rnuma", "vcnuma", "ascoma"];
const FETCHED: &[&str] = &["ccnuma", "rnuma", "vcnuma", "ascoma"];
const CACHED: &[&str] = &["scoma", "rnuma", "vcnuma", "ascoma"];
const COUNTED: &[&str] = &["rnuma", "vcnuma", "ascoma"];
const BACKS_OFF: &[&str] = &["vcnuma", "ascoma"];
const ASCOMA: &[&str] = &["ascoma"];

const fn point(
    name: &'static str,
    of: &'static [&'static str],
    summary: &'static str,
    apply: fn(&mut Hybrid),
) -> OpenPoint {
    OpenPoint { name, summary, of, apply }
}

/// Every open point with another reading.
pub static OPEN_POINTS: [OpenPoint; 17] = [
    point("o2", CACHED, "5 and 7 % are of the page cache, not of all frames", |h| read(h, Reading::ReserveOfPageCache)),
    point("o3", CACHED, "a remapping leaves the node in the copy sets: the next misses are refetches", |h| {
        read(h, Reading::CopiesStay)
    }),
    point("o4", COUNTED, "refetch counters saturate at 63", |h| read(h, Reading::CountersSaturate)),
    point("o5", &["vcnuma"], "vcnuma compares the mean of local refetches with the break-even", |h| {
        read(h, Reading::MeanRefetches)
    }),
    point("o6", CACHED, "a relocation and the eviction for it cost one remapping", |h| read(h, Reading::OneRemapping)),
    point("o7", CACHED, "flushing costs a cycle a line of a page", |h| read(h, Reading::FlushByLine)),
    point("o8", ALL, "first faults cost nothing", |h| h.fault = 0),
    point("o9", ASCOMA, "the daemon's gap does not grow", |h| h.daemon_gap[1] = h.daemon_gap[0]),
    point("o10", ASCOMA, "relocation never stops altogether", |h| h.threshold_steps = 1 << 16),
    point("o11", ASCOMA, "ascoma caches new pages as long as a frame is free", |h| read(h, Reading::DrainedWhenEmpty)),
    point("o12", ASCOMA, "ascoma evicts for a relocation, too", |h| read(h, Reading::AscomaEvicts)),
    point("o13", BACKS_OFF, "one threshold for all nodes", |h| read(h, Reading::GlobalThreshold)),
    point("o14", BACKS_OFF, "a threshold holds for pages mapped after it was set", |h| read(h, Reading::NewPagesOnly)),
    point("o15", ALL, "a chunk for another node keeps bus and bank busy for each of its lines", |h| {
        read(h, Reading::ChunkByLine)
    }),
    point("no-rac", FETCHED, "no remote access cache: the study has one, and says that it mattered", |h| {
        read(h, Reading::NoRac)
    }),
    point("o19", CACHED, "runs of the daemon cost nothing", |h| h.daemon = [0, 0]),
    point("o20", CACHED, "a remapping costs 50 cycles more for the TLB", |h| read(h, Reading::TlbRefill)),
];

fn read(hybrid: &mut Hybrid, reading: Reading) {
    hybrid.readings.insert(reading);
}
