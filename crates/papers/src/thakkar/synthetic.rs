//! Programs made of references alone: who touches what first, and who uses it then.
use homenode_base::Rng;
use homenode_command::Failure;
use homenode_synthetic::Builder;
use homenode_trace::dataset::DatasetReader;

/// One of them each.
pub(super) const NAMES: &[&str] = &["stencil", "owners", "transpose", "gather", "table"];

const PAGE: u64 = 4096;
const DATA: u64 = 0x10_0000_0000;
/// Pages of a thread.
const PAGES: u64 = 32;

/// The references of the program with this name.
pub(super) fn dataset(name: &str, threads: u32) -> Result<DatasetReader, Failure> {
    let mut b = Builder::new(threads);
    let total = PAGES * u64::from(threads);
    let master = name != "owners";
    for page in 0..total {
        let toucher = if master { 0 } else { (page / PAGES) as u32 };
        (0..8).for_each(|i| _ = b.write(toucher, DATA + page * PAGE + 512 * i));
    }
    b.barrier(0x20_0000_0000, 0..threads);
    let mut rng = Rng::new(5);
    for round in 0..6 {
        for t in 0..threads {
            for i in 0..PAGES * 12 {
                b.read(t, DATA + target(name, t, threads, round, i, &mut rng) * PAGE + 8 * rng.below(512));
            }
        }
        b.barrier(0x20_0000_0000, 0..threads);
    }
    Ok(b.open()?)
}

/// The page that a thread uses at a step.
fn target(name: &str, t: u32, threads: u32, round: u64, i: u64, rng: &mut Rng) -> u64 {
    let (own, total) = (u64::from(t) * PAGES, PAGES * u64::from(threads));
    match name {
        // Its own part, and the edge of the next one's.
        "stencil" | "owners" => (own + (i % PAGES) + u64::from(i.is_multiple_of(16))) % total,
        // Rows one round, columns the next.
        "transpose" if round % 2 == 1 => (i % u64::from(threads)) * PAGES + (u64::from(t) + i) % PAGES,
        "transpose" => own + i % PAGES,
        // Mostly its own, the rest anywhere.
        "gather" if rng.chance(1, 3) => rng.below(total),
        "gather" => own + rng.below(PAGES),
        // A table that all read.
        _ => rng.below(total),
    }
}
