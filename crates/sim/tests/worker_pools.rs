//! What a parallel initialisation is predicted to save, beside what the program that does it saves: any number of threads,
//! sizes that they do not divide, caches that hold nothing, a part or all of it.
mod common;
use common::{cached, objects::Arrays, plain};
use homenode_analysis::Transform;
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{Machine, Shape};
use homenode_placement::policies::Choice;
use homenode_sim::evaluation::FindingKind;
use homenode_sim::{EvalContext, EvalOptions, Evaluation, Setup, ThreadBinding, WhatIf, evaluate};
use homenode_trace::order::Listed;
use homenode_trace::{Merged, Op};

const A: u64 = 0x10_0000_0000;
const B: u64 = 0x20_0000_0000;
const PAGE: u64 = 4096;

/// Sweeps over two arrays of rows, by `threads` threads; which of the two each initialises for itself, the first thread
/// what they do not.
#[derive(Clone, Copy)]
struct Stencil {
    threads: u32,
    rows: u64,
    sweeps: u64,
    parallel: [bool; 2],
}

/// Words of a row, which is a page.
const ROW: u64 = PAGE / 8;

impl Stencil {
    fn of(&self, thread: u32) -> std::ops::Range<u64> {
        let at = |t: u32| self.rows * u64::from(t) / u64::from(self.threads);
        at(thread)..at(thread + 1)
    }

    fn owner(&self, row: u64) -> u32 {
        (0..self.threads).find(|t| self.of(*t).contains(&row)).unwrap()
    }

    fn initialise(&self, thread: u32, array: usize) -> Vec<Merged> {
        let own = self.of(thread);
        let rows = match self.parallel[array] {
            true => own,
            false if thread == 0 => 0..self.rows,
            false => 0..0,
        };
        let base = [A, B][array];
        rows.flat_map(|r| (0..ROW).map(move |c| word(thread, base + 8 * (r * ROW + c), Op::Write, 1))).collect()
    }

    fn trace(&self) -> Vec<Merged> {
        let all = |work: &dyn Fn(u32) -> Vec<Merged>| in_turn(&(0..self.threads).map(work).collect::<Vec<_>>());
        let mut refs = all(&|t| [self.initialise(t, 0), self.initialise(t, 1)].concat());
        for sweep in 0..self.sweeps {
            let (from, to) = if sweep % 2 == 0 { (A, B) } else { (B, A) };
            let rows = self.rows;
            refs.extend(all(&|t| {
                let inner = self.of(t).filter(move |r| *r > 0 && *r < rows - 1);
                let row = |r: u64| {
                    let at = |base: u64, r: u64, c: u64, op| word(t, base + 8 * (r * ROW + c), op, 2);
                    let cell =
                        move |c| [at(from, r - 1, c, Op::Read), at(from, r + 1, c, Op::Read), at(to, r, c, Op::Write)];
                    (0..ROW).flat_map(cell)
                };
                inner.flat_map(row).collect()
            }));
        }
        refs
    }

    /// Where everybody sits: on the nodes in turn of halves.
    fn bindings(&self, machine: &Machine) -> Vec<ThreadBinding> {
        let cpus: Vec<u16> = machine
            .shape
            .cores
            .iter()
            .enumerate()
            .flat_map(|(n, c)| std::iter::repeat_n(n as u16, *c as usize))
            .collect();
        let cpu = |t: u32| t as usize * cpus.len() / self.threads as usize;
        (0..self.threads).map(|t| ThreadBinding { cpu: cpu(t) as u16, node: NodeId(cpus[cpu(t)]), space: 0 }).collect()
    }
}

fn word(thread: u32, addr: u64, op: Op, site: u32) -> Merged {
    Merged { addr, size: 8, site, weight: 1, thread, op, ..Merged::default() }
}

/// References of the threads in turn, one each.
fn in_turn(each: &[Vec<Merged>]) -> Vec<Merged> {
    let longest = each.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|i| each.iter().filter_map(move |refs| refs.get(i).copied())).collect()
}

fn report(machine: &Machine, program: Stencil) -> Evaluation {
    let (bindings, refs) = (program.bindings(machine), program.trace());
    let setup = Setup::exact(machine, &bindings, PAGE);
    let policies = [Choice::parse("best-static").unwrap()];
    let context =
        EvalContext { setup, policies: &policies, options: EvalOptions::default(), workers: &homenode_sim::Alone };
    let bytes = program.rows * PAGE;
    evaluate(&mut Listed::new(&refs), &mut Arrays(vec![("a", A, bytes), ("b", B, bytes)]), &context).unwrap()
}

fn first_touch(e: &Evaluation) -> TotalCost {
    e.policies.iter().find(|p| p.name == "first-touch").unwrap().total
}

/// Nothing, a part and all of the arrays fits a last level.
fn machines() -> Vec<Machine> {
    let words = |machine: Machine| Machine { shape: Shape { word_bytes: 8, ..machine.shape }, ..machine };
    let with_caches = [(64, 8), (256, 8), (1024, 16)].map(|shared| words(cached(&[5, 5], (8, 4), shared)));
    [words(plain(&[5, 5]))].into_iter().chain(with_caches).collect()
}

fn programs() -> impl Iterator<Item = Stencil> {
    (2..10u32).map(|threads| {
        let rows = [61, 40, 73][threads as usize % 3];
        Stencil { threads, rows, sweeps: 2 + u64::from(threads % 3), parallel: [false; 2] }
    })
}

fn near(predicted: TotalCost, real: TotalCost, permille: i128) -> bool {
    (predicted.0 - real.0).abs() * 1000 <= real.0 * permille
}

/// The combination, and each finding by itself; none of them below what nobody can beat.
#[test]
fn predictions_come_true_for_any_number_of_threads() {
    let (mut findings, mut below) = (0, 0);
    for machine in machines() {
        for program in programs() {
            let what = |e: &dyn std::fmt::Debug| format!("{} with {} threads: {e:?}", machine.name, program.threads);
            let before = report(&machine, program);
            let after = report(&machine, Stencil { parallel: [true; 2], ..program });
            assert!(after.findings.is_empty(), "{}", what(&after.findings));
            for f in &before.findings {
                assert_eq!(f.kind, FindingKind::FirstTouch);
                let real = report(&machine, Stencil { parallel: [f.object == "a", f.object == "b"], ..program });
                assert!(near(f.predicted_total, first_touch(&real), 40), "{}", what(&(f, first_touch(&real))));
                findings += 1;
            }
            let Some(all) = before.predicted_all.filter(|_| before.findings.len() == 2) else { continue };
            assert!(near(all, first_touch(&after), 40), "{}", what(&(all, first_touch(&after))));
            let bound = after.optimum[0].total;
            assert!(all >= bound || near(all, bound, 20), "below the optimum of the changed program: {}", what(&bound));
            below += u32::from(all < before.optimum[0].total);
        }
    }
    assert!(findings > 40, "{findings}");
    assert!(below > 0, "other threads initialise: no bound of the program as it is holds");
}

/// Without caches to the last unit, with the same references of each kind.
#[test]
fn the_changed_program_makes_the_same_references() {
    for machine in machines() {
        for program in programs() {
            let bindings = program.bindings(&machine);
            let setup = Setup::exact(&machine, &bindings, PAGE);
            let run = |refs: &[Merged], transforms: &[Transform]| {
                let mut run = WhatIf::new(setup, transforms).unwrap();
                refs.chunks(997).for_each(|c| run.refs(c));
                run.finish().unwrap()
            };
            let user = |base: u64| (0..program.rows).map(move |r| (base / PAGE + r, program.owner(r)));
            let change = [A, B].map(|base| Transform::InitialiseInParallel { blocks: user(base).collect() });
            let predicted = run(&program.trace(), &change);
            let real = run(&Stencil { parallel: [true; 2], ..program }.trace(), &[]);
            let counts = |t: &homenode_sim::evaluation::Totals| (t.refs, t.reads, t.writes, t.atomics, t.bytes);
            assert_eq!(counts(&predicted.totals), counts(&real.totals), "{}", machine.name);
            if machine.sections.caches.is_none() {
                assert_eq!(predicted.tally, real.tally, "{} threads", program.threads);
            }
        }
    }
}
