//! Nanoseconds a reference of the analyses that read a trace themselves, on a synthetic trace of four threads with some
//! locality: `cargo run --release -p homenode-study --example analyses_speed`.
use homenode_base::{NodeId, Rng};
use homenode_placement::Start;
use homenode_sim::ThreadBinding;
use homenode_study::analyses::{
    GAP, Intervals, LOCAL, Moves, Perturber, Sync, TLB_MODELS, TlbModel, Tlbs, study_pages,
};
use homenode_trace::order::{Listed, Stream};
use homenode_trace::{Merged, Op};
use std::time::Instant;

const REFS: usize = 1 << 20;

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

fn timed(what: &str, refs: &[Merged], mut take: impl FnMut(&[Merged])) {
    let begin = Instant::now();
    refs.chunks(4096).for_each(&mut take);
    println!("{what:<40} {:8.1} ns/ref", begin.elapsed().as_nanos() as f64 / refs.len() as f64);
}

fn main() {
    let refs = trace();
    let bindings: Vec<ThreadBinding> = (0..4).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect();
    let models: Vec<&'static TlbModel> = TLB_MODELS.iter().collect();
    let mut tlbs = Tlbs::new(&models, &study_pages(), 4, &bindings).expect("sound page sizes");
    timed("tlb, 10 models x 15 page sizes", &refs, |c| tlbs.refs(c));
    let mut moves = Moves::new(&[1, 16, 1024], 4, Start::FreeSet, &bindings).expect("powers of two");
    timed("moves, words and 2 block sizes", &refs, |c| moves.refs(c));
    let mut intervals = Intervals::new(1024, 4, (1, 1), Start::FreeSet, &bindings).expect("powers of two");
    timed("intervals, 1 block size", &refs, |c| intervals.refs(c));
    for (name, filter) in [("local filter", LOCAL), ("gap filter", GAP)] {
        let (begin, mut count) = (Instant::now(), 0);
        let mut p = Perturber::new(filter, Sync::Kept, 1, &bindings, Listed::new(&refs)).expect("sound filters");
        while let Some(piece) = p.pull().expect("memory has no errors") {
            count += piece.refs.len();
        }
        println!("{name:<40} {:8.1} ns/ref", begin.elapsed().as_nanos() as f64 / refs.len() as f64);
        assert_eq!(count, REFS, "a filter loses nothing");
    }
    println!("{} misses, {} moves", tlbs.rows()[0].misses, moves.counts()[0].1);
}
