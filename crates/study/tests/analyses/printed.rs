//! Figure 4.3 as printed: equal to a literal transcription, never below the optimum, above it where it is known to be.
use crate::common::{bindings, cases, question, random_refs};
use homenode_base::{NodeId, Rng, TotalCost, VirtualTime};
use homenode_machine::models::family::{self, Parameters};
use homenode_machine::{AccessClass, Costs, Machine, models};
use homenode_machine::{CopyCost, Matrix};
use homenode_placement::optimum::{Replication, Solver};
use homenode_placement::{Access, AccessKind, Start};
use homenode_study::analyses::{Figure43, figure_4_3};
use homenode_study::{Layout, Partitioner, Question, Want};
use std::collections::{BTreeMap, BTreeSet};

/// A machine with p processors, remote reference r, move R.
fn machine(p: usize, r: i64, copy: i64) -> Machine {
    let near_far = Matrix::uniform(p, homenode_base::Cost(1), homenode_base::Cost(r));
    let copy = CopyCost::linear(homenode_base::Cost(copy), homenode_base::Cost(0));
    let mut machine = models::find("butterfly").unwrap();
    (machine.shape.cores, machine.cost) = (vec![1; p], Costs::alike(&near_far, copy));
    machine
}

/// `w0 r1*3`: a write by processor 0 and three reads by processor 1.
fn trace(text: &str) -> Vec<Access> {
    let one = |word: &str| {
        let (what, times) = word.split_once('*').unwrap_or((word, "1"));
        let read = what.starts_with('r');
        Access {
            node: NodeId(what[1..].parse().unwrap()),
            kind: if read { AccessKind::Read } else { AccessKind::Write },
            class: if read { AccessClass::Read } else { AccessClass::Write },
            weight: times.parse().unwrap(),
            t: VirtualTime(0),
        }
    };
    text.split_whitespace().map(one).collect()
}

/// Figures 4.2 and 4.3 line by line, the last two lines of the loop over processors after it.
struct Literal {
    p: usize,
    r: i64,
    copy: i64,
    cost_so_far: Vec<i64>,
    reads_from: BTreeMap<usize, i64>,
}

impl Literal {
    fn read_run_cost(&self, start: usize, rep_set: &BTreeSet<usize>) -> i64 {
        let mut running_total = 0;
        for (j, n) in &self.reads_from {
            running_total += if rep_set.contains(j) { *n } else { self.r * n };
        }
        running_total += self.copy * (rep_set.len() as i64 - i64::from(rep_set.contains(&start)));
        self.cost_so_far[start] + running_total
    }
    fn ends(&self) -> Vec<i64> {
        let pays = |n: &i64| n * (self.r - 1) > self.copy;
        let repl: BTreeSet<usize> = self.reads_from.iter().filter(|(_, n)| pays(n)).map(|(j, _)| *j).collect();
        let cheapest = (0..self.p).min_by_key(|j| self.cost_so_far[*j]).unwrap();
        let after = |j: &usize| self.cost_so_far[*j] - (self.r - 1) * self.reads_from.get(j).unwrap_or(&0);
        let third = (0..self.p).filter(|j| !repl.contains(j)).min_by_key(after).unwrap_or(0);
        let from = |start: usize, j: usize| {
            let set: BTreeSet<usize> = repl.iter().copied().chain([start, j]).collect();
            self.read_run_cost(start, &set)
        };
        (0..self.p).map(|j| from(j, j).min(from(cheapest, j)).min(from(third, j))).collect()
    }
    fn solve(p: usize, r: i64, copy: i64, trace: &[Access]) -> i64 {
        let mut it = Literal { p, r, copy, cost_so_far: vec![0; p], reads_from: BTreeMap::new() };
        let mut last_writes = false;
        for a in trace.iter().flat_map(|a| std::iter::repeat_n(a, a.weight as usize)) {
            last_writes = a.kind == AccessKind::Write;
            if last_writes {
                let mut new = it.ends();
                (0..p).for_each(|j| new[j] += if j == a.node.index() { 1 } else { r });
                it.cost_so_far = new;
                it.reads_from.clear();
            } else {
                *it.reads_from.entry(a.node.index()).or_default() += 1;
            }
        }
        let ends = if last_writes { it.cost_so_far } else { it.ends() };
        ends.into_iter().min().unwrap()
    }
}

fn figure(p: usize, r: i64, copy: i64, trace: &[Access]) -> TotalCost {
    Figure43::of_machine(&machine(p, r, copy), 4096).unwrap().solve(trace.iter().copied()).cost
}

fn optimum(p: usize, r: i64, copy: i64, start: Start, trace: &[Access]) -> TotalCost {
    Replication::new(&machine(p, r, copy), 4096, start).solve(trace).cost
}

/// Three processors, r 8, R 17 (5 and 3 in the last): the shortest traces known on which the figure is too dear.
#[test]
fn the_figure_is_not_optimal_on_the_known_counterexamples() {
    let known = [
        ("w0 w0 w1 r1*3 w2*3", (8, 17), (44, 40)),
        ("r0 w1 r1*3 r2*2 w2", (8, 17), (36, 32)),
        ("r0 w1 r0 w2", (5, 3), (12, 11)),
    ];
    for (text, (r, copy), (printed, best)) in known {
        let trace = trace(text);
        assert_eq!(figure(3, r, copy, &trace), TotalCost(printed), "{text}");
        assert_eq!(optimum(3, r, copy, Start::FreeSingle, &trace), TotalCost(best), "{text}");
    }
    // Here two processors are equally cheap, and the figure finds the optimum only if it takes the second.
    let tie = trace("w0 w1 r1*3 w2*3");
    assert_eq!(figure(3, 8, 17, &tie), TotalCost(36), "the lowest number is not the reader");
    assert_eq!(optimum(3, 8, 17, Start::FreeSingle, &tie), TotalCost(32));
    // Leading reads: the figure pays for copies that equation 4.2 gives away.
    let reads = trace("r0*9 r1*9");
    assert_eq!(figure(2, 8, 17, &reads), TotalCost(18 + 17));
    assert_eq!(optimum(2, 8, 17, Start::FreeSet, &reads), TotalCost(18));
}

fn random_trace(rng: &mut Rng, p: usize) -> Vec<Access> {
    let words: Vec<String> = (0..2 + rng.below(20))
        .map(|_| format!("{}{}*{}", ["r", "w"][rng.below(2) as usize], rng.below(p as u64), 1 + rng.below(5)))
        .collect();
    trace(&words.join(" "))
}

#[test]
fn sums_and_folded_writes_are_those_of_the_figure_line_by_line() {
    let (mut above, mut all) = (0, 0);
    for seed in 0..cases(20_000, 1_000_000) {
        let mut rng = Rng::new(seed);
        let p = 2 + rng.below(4) as usize;
        let (r, copy) = (2 + rng.below(20) as i64, 1 + rng.below(60) as i64);
        let trace = random_trace(&mut rng, p);
        let found = figure(p, r, copy, &trace);
        assert_eq!(found, TotalCost(Literal::solve(p, r, copy, &trace).into()), "seed {seed}: p {p} r {r} R {copy}");
        let best = optimum(p, r, copy, Start::FreeSingle, &trace);
        assert!(found >= best && best >= optimum(p, r, copy, Start::FreeSet, &trace), "seed {seed}");
        // Two processors leave no candidate out.
        assert!(p > 2 || found == best, "seed {seed}");
        above += u32::from(found > best);
        all += 1;
    }
    assert!(above * 1000 > all, "{above} of {all}: the fault shows on random traces");
}

/// Block by block of a partition, the same as from plain accesses.
#[test]
fn a_partition_gives_what_its_blocks_give() {
    let refs = random_refs(&mut Rng::new(3), 4, 6000, 20_000);
    let parameters = Parameters { processors: 4, ..Parameters::default() };
    let machines: Vec<Machine> =
        [family::NUMA, family::CC, family::DSM_PLUS].iter().map(|m| m.build(&parameters).unwrap()).collect();
    let mut q = Question::new(machines, vec![bindings(4); 3], vec![64, 4096]);
    let layout = Layout { region_bytes: Some(4096), ..Layout::default() };
    let mut partitioner = Partitioner::new(&q, layout).unwrap();
    partitioner.refs(&refs).unwrap();
    let partition = partitioner.finish().unwrap();
    let rows = figure_4_3(&q, &partition, 0..partition.regions()).unwrap();
    let mut parts = vec![TotalCost::ZERO; rows.len()];
    for part in [0..1, 1..partition.regions()] {
        let found = figure_4_3(&q, &partition, part).unwrap();
        parts.iter_mut().zip(found).for_each(|(sum, row)| *sum += row.printed.cost);
    }
    assert!(partition.regions() > 1 && parts.iter().zip(&rows).all(|(sum, row)| *sum == row.printed.cost));
    let places: Vec<(u32, u64)> = rows.iter().map(|r| (r.machine, r.block_bytes)).collect();
    assert_eq!(places, [(0, 64), (0, 4096), (2, 64), (2, 4096)], "caches without remote references have no decisions");
    q.with_replication = Want::Cost;
    q.start = Start::FreeSingle;
    let exact = homenode_study::answer(&q, &partition, 0..partition.regions()).unwrap();
    for row in &rows {
        let mut blocks: BTreeMap<u64, Vec<Access>> = BTreeMap::new();
        for r in &refs {
            let (kind, class) = match r.op.writes() {
                true => (AccessKind::Write, AccessClass::Write),
                false => (AccessKind::Read, AccessClass::Read),
            };
            let access = Access { node: NodeId(r.thread as u16), kind, class, weight: 1, t: VirtualTime(0) };
            blocks.entry(r.addr / row.block_bytes).or_default().push(access);
        }
        let one = Figure43::of_machine(&q.machines[row.machine as usize], row.block_bytes).unwrap();
        let sum = blocks.values().map(|b| one.solve(b.iter().copied()).cost).fold(TotalCost::ZERO, |a, b| a + b);
        assert_eq!(row.printed.cost, sum);
        let writes = refs.iter().filter(|r| r.op.writes()).count() as u64;
        assert_eq!(row.printed.stated_work, refs.len() as u64 - writes + 4 * writes);
        assert!(row.printed.literal_work > refs.len() as u64);
        let best = exact.rows.iter().find(|e| (e.machine, e.block_bytes) == (row.machine, row.block_bytes)).unwrap();
        assert!(row.printed.cost >= best.cost);
    }
    let two = question(machine(4, 8, 17), &bindings(4), &[1 << 20]);
    assert!(figure_4_3(&two, &partition, 0..partition.regions()).is_err(), "regions are smaller than such blocks");
}
