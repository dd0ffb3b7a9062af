//! What holds for any program, judged to the last unit.
use super::runs::{FULL, NEVER, Runs};
use homenode_judging::claims::Judged;
use homenode_machine::Hybrid;
use homenode_timed::memory::{Row, Sizes};

/// Frames of table 5 by pressure as they follow from home pages: program, home pages, and for 10, 30, 50, 70, 90 % all frames.
const FRAMES: [(&str, u64, [u64; 5]); 6] = [
    ("barnes", 102, [1020, 340, 204, 145, 113]),
    ("em3d", 491, [4910, 1636, 982, 701, 545]),
    ("fft", 390, [3900, 1300, 780, 557, 433]),
    ("lu", 514, [5140, 1713, 1028, 734, 571]),
    ("ocean", 473, [4730, 1576, 946, 675, 525]),
    ("radix", 259, [2590, 863, 518, 370, 287]),
];

fn same(a: Option<&Row>, b: Option<&Row>) -> bool {
    let of = |r: &Row| (r.cycles, r.times, r.total, r.nodes.clone());
    matches!((a, b), (Some(a), Some(b)) if of(a) == of(b))
}

/// How many programs something holds for, in words, and whether it is all of them.
fn all(runs: &[Runs], holds: impl Fn(&Runs) -> bool) -> (String, bool) {
    let count = runs.iter().filter(|r| holds(r)).count();
    (format!("{count} of {} programs", runs.len()), count == runs.len())
}

/// A verdict on every identity.
pub(super) fn judged(runs: &[Runs]) -> Vec<Judged> {
    let (never, is_never) = all(runs, |r| same(r.row(NEVER, "rnuma", 50), r.row(0, "ccnuma", 0)));
    let (fits, is_fits) = all(runs, |r| same(r.row(0, "ascoma", r.fits_at), r.row(0, "scoma", r.fits_at)));
    let full = |r: &Runs| ["rnuma", "vcnuma", "ascoma"].iter().all(|a| same(r.row(0, a, FULL), r.row(0, "ccnuma", 0)));
    let (none, is_none) = all(runs, |r| full(r) && r.scoma_refused);
    let latencies = runs.first().map(|r| r.latencies).unwrap_or_default();
    let frames = runs.first().map_or(0, |r| frames(&r.hybrid));
    vec![
        Judged::by("never", never, is_never, "cycles, classes of time and all counts of every node, at 50 %"),
        Judged::by(
            "fits",
            fits,
            is_fits,
            "at the greatest pressure at which remote pages and the reserve fit, to the last cycle",
        ),
        Judged::by("full", none, is_none, "at 100 %: all counts of the three hybrids; S-COMA is refused"),
        Judged::by(
            "latencies",
            latencies.map(|l| l.to_string()).join(", "),
            latencies == [1, 23, 58, 147, 33],
            "what one access more adds to a small program: a hit, the remote access cache, the own node, another one, and a forward on top",
        ),
        Judged::by(
            "frames",
            format!("{frames} of 30 cells"),
            frames == 30,
            "whole frames, from the printed home pages",
        ),
    ]
}

/// Cells of the derived frames that come out.
fn frames(hybrid: &Hybrid) -> usize {
    let right = |home: u64, percent: u32, frames: u64| {
        let sizes = Sizes::at(hybrid, 4096, home, percent);
        sizes.is_ok_and(|s| u64::from(s.frames) == frames && u64::from(s.page_cache) == frames - home)
    };
    let cells = FRAMES
        .iter()
        .flat_map(|(_, home, all)| [10, 30, 50, 70, 90].into_iter().zip(all).map(move |(p, f)| (*home, p, *f)));
    cells.filter(|(home, percent, frames)| right(*home, *percent, *frames)).count()
}
