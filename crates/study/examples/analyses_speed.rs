//! Nanoseconds a reference of the analyses that read a trace themselves, on a synthetic trace of four threads with some
//! locality: `cargo run --release -p homenode-study --example analyses_speed`.
use homenode_base::{NodeId, Rng, VirtualTime};
use homenode_placement::Start;
use homenode_sim::Seat;
use homenode_study::analyses::{
    GAP, Intervals, LOCAL, Moves, Perturber, Sync, TLB_MODELS, TlbModel, Tlbs, study_pages,
};
use homenode_trace::order::Consumer;
use homenode_trace::{Event, Merged, Op};
use std::time::Instant;

const REFS: usize = 1 << 20;

/// Counts, so that nothing is optimised away.
struct Count(u64);

impl Consumer for Count {
    fn refs(&mut self, refs: &[Merged]) {
        self.0 += refs.len() as u64;
    }
    fn event(&mut self, _: &Event, _: VirtualTime) {}
}

fn trace() -> Vec<Merged> {
    let mut rng = Rng::new(1);
    let mut at = [0u64; 4];
    let one = |i: usize| {
        let thread = i % 4;
        let jumps = rng.chance(1, 16);
        at[thread] = if jumps { rng.below(1 << 22) * 8 } else { at[thread] + 8 };
        let op = if rng.chance(1, 4) { Op::Write } else { Op::Read };
        Merged { addr: at[thread], size: 8, thread: thread as u32, op, weight: 1, ..Merged::default() }
    };
    (0..REFS).map(one).collect()
}

fn timed(what: &str, refs: &[Merged], consumer: &mut dyn Consumer) {
    let begin = Instant::now();
    refs.chunks(4096).for_each(|c| consumer.refs(c));
    println!("{what:<40} {:8.1} ns/ref", begin.elapsed().as_nanos() as f64 / refs.len() as f64);
}

fn main() {
    let refs = trace();
    let seats: Vec<Seat> = (0..4).map(|t| Seat { cpu: t, node: NodeId(t), space: 0 }).collect();
    let models: Vec<&'static TlbModel> = TLB_MODELS.iter().collect();
    let mut tlbs = Tlbs::new(&models, &study_pages(), 4, &seats).expect("sound page sizes");
    timed("tlb, 10 models x 15 page sizes", &refs, &mut tlbs);
    let mut moves = Moves::new(&[1, 16, 1024], 4, Start::FreeSet, &seats).expect("powers of two");
    timed("moves, words and 2 block sizes", &refs, &mut moves);
    let mut intervals = Intervals::new(1024, 4, (1, 1), Start::FreeSet, &seats).expect("powers of two");
    timed("intervals, 1 block size", &refs, &mut intervals);
    for (name, filter) in [("local filter", LOCAL), ("gap filter", GAP)] {
        let mut count = Count(0);
        let mut p = Perturber::new(filter, Sync::Kept, 1, &seats, &mut count).expect("sound filters");
        timed(name, &refs, &mut p);
        p.finish();
        assert_eq!(count.0, REFS as u64, "a filter loses nothing");
    }
    println!("{} misses, {} moves", tlbs.rows()[0].misses, moves.counts()[0].1);
}
