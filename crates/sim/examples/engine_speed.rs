//! Prints what the plain engine costs per reference and configuration, and the cache filter per reference.
//!
//! `cargo run --release -p homenode-sim --example engine_speed [MILLION_REFS]`
use homenode_base::NodeId;
use homenode_machine::{Machine, models};
use homenode_placement::Start;
use homenode_placement::policies::{Choice, reported};
use homenode_sim::{Engine, EvalContext, EvalOptions, NoObjects, Setup, ThreadBinding, evaluate};
use homenode_trace::order::{Listed, Piece, Source, Stream};
use homenode_trace::{Merged, Op, TraceError};
use std::time::Instant;

const THREADS: u32 = 8;
/// One machine of each kind: with caches, with global memory, with neither, with a matrix of distances.
const MACHINES: [&str; 4] = ["two-socket", "ace", "butterfly", "opteron8"];

/// A stencil over two arrays: each thread sweeps its part, reading five neighbours and writing one; `i` numbers the
/// references of all threads in turn.
fn stencil(refs: usize, bytes: u64) -> Vec<Merged> {
    let part = bytes / 2 / u64::from(THREADS);
    let row = 8 * 1024;
    let one = |i: usize| {
        let thread = (i % THREADS as usize) as u32;
        let step = (i / THREADS as usize) as u64;
        let (point, what) = (step / 6 * 8 % part, step % 6);
        let at = u64::from(thread) * part + point;
        let read = [at, at.wrapping_sub(8), at + 8, at.saturating_sub(row), at + row];
        let addr = 0x7000_0000 + if what < 5 { read[what as usize].min(bytes / 2) } else { bytes / 2 + at };
        let op = if what < 5 { Op::Read } else { Op::Write };
        Merged { addr, size: 8, site: what as u32, weight: 1, thread, op, ..Merged::default() }
    };
    (0..refs).map(one).collect()
}

fn bindings(machine: &Machine) -> Vec<ThreadBinding> {
    let cpus: Vec<u16> =
        machine.shape.cores.iter().enumerate().flat_map(|(n, c)| std::iter::repeat_n(n as u16, *c as usize)).collect();
    let binding = |t: usize| ThreadBinding { cpu: (t * cpus.len() / THREADS as usize) as u16, ..binding_of(&cpus, t) };
    (0..THREADS as usize).map(binding).collect()
}

fn binding_of(cpus: &[u16], thread: usize) -> ThreadBinding {
    ThreadBinding { cpu: 0, node: NodeId(cpus[thread * cpus.len() / THREADS as usize]), space: 0 }
}

fn time(machine: &Machine, refs: &[Merged], rounds: usize, policies: &[Choice], bounds: Option<Start>) -> f64 {
    let bindings = bindings(machine);
    let setup = Setup::exact(machine, &bindings, 4096);
    let mut engine = Engine::new(setup, policies, bounds).expect("a registry machine and policy fit");
    let start = Instant::now();
    for _ in 0..rounds {
        refs.chunks(4096).for_each(|c| engine.refs(c));
    }
    let ns = start.elapsed().as_nanos() as f64;
    let priced = engine.finish().expect("few blocks");
    assert_eq!(priced.totals.refs, (refs.len() * rounds) as u64);
    ns / (refs.len() * rounds) as f64
}

/// The same references so many times.
struct Rounds<'a> {
    refs: &'a [Merged],
    rounds: usize,
    passes: usize,
}

struct Round<'a> {
    refs: &'a [Merged],
    left: usize,
    of: Listed<'a>,
}

impl Source for Rounds<'_> {
    fn stream(&mut self, _: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        self.passes += 1;
        Ok(Box::new(Round { refs: self.refs, left: self.rounds, of: Listed::new(&[]) }))
    }
}

impl Stream for Round<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        if self.of.is_over() && self.left > 0 {
            (self.of, self.left) = (Listed::new(self.refs), self.left - 1);
        }
        self.of.pull()
    }
}

/// The whole evaluation with its analysis, nothing named.
fn time_evaluation(machine: &Machine, refs: &[Merged], rounds: usize, policies: &[Choice]) -> f64 {
    let bindings = bindings(machine);
    let setup = Setup::exact(machine, &bindings, 4096);
    let context = EvalContext { setup, policies, options: EvalOptions::default(), workers: &homenode_sim::Alone };
    let mut source = Rounds { refs, rounds, passes: 0 };
    let start = Instant::now();
    evaluate(&mut source, &mut NoObjects, &context).expect("a registry machine and policy fit");
    let ns = start.elapsed().as_nanos() as f64;
    ns / (refs.len() * rounds * source.passes) as f64
}

fn main() {
    let million: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(20);
    let refs = stencil(2_000_000, 64 << 20);
    let rounds = (million / 2).max(1);
    for name in MACHINES {
        let machine = models::find(name).expect("a machine of the registry");
        let all: Vec<Choice> = reported(&machine, 4096);
        let none = time(&machine, &refs, rounds, &[], None);
        println!("{:<12} {:<28} {none:6.1} ns/ref", machine.name, "no policy");
        let every = time(&machine, &refs, rounds, &all, None);
        let each = every / all.len() as f64;
        println!("{:<12} {:<28} {every:6.1} ns/ref = {each:.1} per configuration", machine.name, "all policies");
        let bounds = time(&machine, &refs, rounds, &[], Some(Start::FreeSet));
        println!("{:<12} {:<28} {bounds:6.1} ns/ref", machine.name, "optimum, 3 kinds");
        let whole = time_evaluation(&machine, &refs, rounds, &all);
        println!("{:<12} {:<28} {whole:6.1} ns/ref and pass", machine.name, "evaluation with analysis");
        for choice in &all {
            let one = time(&machine, &refs, rounds, std::slice::from_ref(choice), None);
            println!("{:<12} {:<28} {one:6.1} ns/ref", machine.name, choice.to_string());
        }
    }
}
