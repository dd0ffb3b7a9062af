//! Figure 4.3 of Bolosky 1993 as it is printed, to be run beside the exact optimum.
//!
//! The figure is not optimal. For each place where a run of reads may end it tries three places where the run may have
//! begun: the same, the cheapest so far, and the one that is cheapest after its reads among those not worth a copy by
//! their reads alone. The cheapest among those that *are* worth a copy is missing unless it is also the cheapest of all:
//! such a place saves the price of its copy by being the start, so it can win while dearer by less than that. The fault
//! per run is below R. The figure also charges the copies of a block's first reads, which equation 4.2 does not.
//!
//! Two readings are needed to run it: its last two lines of the loop over processors belong after that loop (as indented
//! they let costs of half-updated arrays into the minimum), and of equally cheap processors the lowest number is taken.
use crate::fold::strict::Strict;
use crate::fold::{Levels, Visitor};
use crate::{Partition, Question, StudyError};
use homenode_base::TotalCost;
use homenode_machine::Machine;
use homenode_placement::{Access, AccessKind, Step};

/// The figure on one machine at one block size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure43 {
    nodes: usize,
    near: i128,
    far: i128,
    copy: i128,
}

/// What it did and what it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Cost of the placement that it takes for the best.
    pub cost: TotalCost,
    /// Reads plus writes times processors: how long the source says that it takes.
    pub stated_work: u64,
    /// References taken one by one, and turns of the innermost loop if figure 4.2 is called as written: three calls for
    /// each processor, each over all that read in the run.
    pub literal_work: u64,
}

/// What the figure finds for a machine and block size of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedRow {
    /// Place in [`Question::machines`].
    pub machine: u32,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// What it found, all blocks together.
    pub printed: Printed,
}

/// Costs by processor, and reads since the last write.
struct State {
    cost: Vec<i128>,
    /// By processor: what its reads would save with a copy.
    saved: Vec<i128>,
    /// Reads of all.
    reads: i128,
    /// Processors with reads.
    readers: u64,
    found: Printed,
}

/// A place where a run of reads may begin.
#[derive(Clone, Copy)]
struct Begin {
    at: usize,
    /// Cost before the run, and of a copy here unless its reads are worth one anyway.
    cost: i128,
}

impl Figure43 {
    /// For blocks of `block_bytes`: `None` on machines that the figure is not about, which have global memory, caches, or
    /// no remote references.
    pub fn of_machine(machine: &Machine, block_bytes: u64) -> Option<Figure43> {
        let view = machine.single_remote(block_bytes)?;
        let plain =
            view.global.is_none() && machine.sections.caches.is_none() && machine.cost.remote_access && view.nodes > 1;
        let equal = view.near[0] == view.near[1] && view.far[0] == view.far[1] && view.near[0] < view.far[0];
        let [near, far, copy] = [view.near[0], view.far[0], view.copy].map(|c| i128::from(c.0));
        (plain && equal).then_some(Figure43 { nodes: view.nodes, near, far, copy })
    }

    /// The figure on the accesses of one block, in order.
    pub fn solve(&self, accesses: impl IntoIterator<Item = Access>) -> Printed {
        let (cost, saved) = (vec![0; self.nodes], vec![0; self.nodes]);
        let mut state = State { cost, saved, reads: 0, readers: 0, found: Printed::default() };
        for access in accesses {
            let (node, weight) = (access.node.index(), u64::from(access.weight));
            state.found.literal_work += weight;
            match access.kind {
                AccessKind::Read => {
                    state.found.stated_work += weight;
                    state.readers += u64::from(state.saved[node] == 0);
                    state.saved[node] += (self.far - self.near) * i128::from(weight);
                    state.reads += i128::from(weight);
                }
                AccessKind::Write => self.write(&mut state, node, weight),
            }
        }
        if state.readers > 0 {
            self.close(&mut state);
        }
        let least = state.cost.into_iter().min().expect("a machine has a processor");
        Printed { cost: TotalCost(least), ..state.found }
    }

    /// `weight` writes in a row by one processor.
    fn write(&self, state: &mut State, writer: usize, weight: u64) {
        state.found.stated_work += weight * self.nodes as u64;
        for _ in 0..weight.min(2) {
            self.close(state);
            let charge = |(j, c): (usize, &mut i128)| *c += if j == writer { self.near } else { self.far };
            state.cost.iter_mut().enumerate().for_each(charge);
        }
        if let more @ 1.. = i128::from(weight) - 2 {
            // After a run without reads nobody is dearer than coming from the cheapest. From then on whoever stays pays for
            // each write, and whoever comes does so from the writer, best before the last one.
            let come = state.cost[writer] + (more - 1) * self.near + self.copy + self.far;
            let stay =
                |j: usize, c: i128| if j == writer { c + more * self.near } else { (c + more * self.far).min(come) };
            state.cost.iter_mut().enumerate().for_each(|(j, c)| *c = stay(j, *c));
        }
    }

    /// Replaces costs by the cheapest of each end of a run of reads, before the write that closes it.
    fn close(&self, state: &mut State) {
        if state.readers == 0 {
            // Nobody is worth a copy: all three candidates are the end itself or the cheapest.
            let come = state.cost.iter().min().map_or(0, |least| least + self.copy);
            return state.cost.iter_mut().for_each(|c| *c = (*c).min(come));
        }
        state.found.literal_work += 3 * self.nodes as u64 * state.readers;
        let State { cost, saved, .. } = state;
        // Figure 4.2 for copies at the start, at the end, and at all that are worth one: the reads and those copies, to
        // which start and end add a copy, less what it saves, unless they are worth one.
        let (worth, served) = self.worth(saved);
        let fixed = self.far * state.reads - served + self.copy * (worth - 1);
        let begin = |at: usize| Begin { at, cost: cost[at] + self.added(saved[at]) };
        let starts = [begin(cheapest(cost)), begin(self.third(cost, saved))];
        for (j, (cost, saved)) in cost.iter_mut().zip(saved).enumerate() {
            let added = self.added(*saved);
            let from = |start: &Begin| if start.at == j { start.cost } else { start.cost + added };
            let through = |least: i128, start: &Begin| least.min(from(start));
            *cost = fixed + starts.iter().fold(*cost + added, through);
            *saved = 0;
        }
        (state.reads, state.readers) = (0, 0);
    }

    /// Processors worth a copy, and what their reads save with it.
    fn worth(&self, saved: &[i128]) -> (i128, i128) {
        let worth = saved.iter().filter(|s| **s > self.copy);
        worth.fold((0, 0), |(n, sum), saved| (n + 1, sum + saved))
    }
    /// What a copy adds where one is needed, if it is not worth one anyway.
    fn added(&self, saved: i128) -> i128 {
        if saved > self.copy { 0 } else { self.copy - saved }
    }
    /// The cheapest after its reads among those not worth a copy; with nobody left the figure allows any.
    fn third(&self, cost: &[i128], saved: &[i128]) -> usize {
        let all = cost.iter().zip(saved).zip(0..);
        let rest = all.filter(|((_, saved), _)| **saved <= self.copy);
        rest.map(|((cost, saved), j)| (cost - saved, j)).min().map_or(0, |(_, j)| j)
    }
}

/// The lowest number among the cheapest.
fn cheapest(cost: &[i128]) -> usize {
    cost.iter().zip(0..).min().map_or(0, |(_, j)| j)
}

/// By level: figures, each with its machine, and sums over blocks.
struct Sums(Vec<Vec<(u32, Figure43, Printed)>>);

impl Visitor for Sums {
    fn block(&mut self, level: usize, _: u64, steps: &[Step]) {
        for (_, figure, sum) in &mut self.0[level] {
            let found = figure.solve(steps.iter().map(|s| s.access));
            sum.cost += found.cost;
            sum.stated_work += found.stated_work;
            sum.literal_work += found.literal_work;
        }
    }
}

/// Machines with one stream and one binding, which share a fold.
struct Alike {
    stream: usize,
    nodes: Vec<u16>,
    machines: Vec<usize>,
}

fn alike(question: &Question, partition: &Partition) -> Result<Vec<Alike>, StudyError> {
    let mut all: Vec<Alike> = Vec::new();
    for (machine, m) in question.machines.iter().enumerate() {
        if question.blocks.iter().all(|b| Figure43::of_machine(m, *b).is_none()) {
            continue;
        }
        let stream = partition.stream_of(question, machine)?;
        let nodes = partition.head.streams[stream].key.nodes(m, &question.bindings[machine]);
        match all.iter_mut().find(|a| (a.stream, &a.nodes) == (stream, &nodes)) {
            Some(a) => a.machines.push(machine),
            None => all.push(Alike { stream, nodes, machines: vec![machine] }),
        }
    }
    Ok(all)
}

/// What the figure finds on the machines of a question that it is about, at each of its block sizes; policies and optima
/// that the question asks for are not looked at. Only these regions of the partition: costs and work of parts add up. Rows
/// are sorted by machine and block size.
///
/// # Errors
/// The question cannot be answered from this partition.
pub fn figure_4_3(
    question: &Question,
    partition: &Partition,
    regions: std::ops::Range<usize>,
) -> Result<Vec<PrintedRow>, StudyError> {
    question.check()?;
    if question.blocks.last().is_some_and(|b| *b > partition.region_bytes()) {
        return Err(StudyError::Region(partition.region_bytes()));
    }
    let mut rows = Vec::new();
    for Alike { stream, nodes, machines } in alike(question, partition)? {
        let head = &partition.head.streams[stream];
        let figure = |machine: usize, b: u64| {
            let figure = Figure43::of_machine(&question.machines[machine], b).filter(|_| question.usable(machine, b));
            figure.map(|f| (machine as u32, f, Printed::default()))
        };
        let figures = |b: &u64| machines.iter().filter_map(|m| figure(*m, *b)).collect::<Vec<_>>();
        let of_blocks = question.blocks.iter().map(|b| (*b, figures(b))).filter(|(_, all)| !all.is_empty());
        let (blocks, all): (Vec<u64>, Vec<_>) = of_blocks.unzip();
        let levels = Levels::new(&blocks, 0, head.format.unit_shift, head.format.region_shift);
        let mut fold = Strict::new(levels, head.format, nodes, false, None);
        let mut sums = Sums(all);
        for region in regions.clone() {
            partition.read(stream, region, &mut |words| fold.records(words))?;
            fold.region(partition.head.regions[region], &mut sums);
        }
        for (block_bytes, all) in blocks.into_iter().zip(sums.0) {
            rows.extend(all.into_iter().map(|(machine, _, printed)| PrintedRow { machine, block_bytes, printed }));
        }
    }
    rows.sort_by_key(|row| (row.machine, row.block_bytes));
    Ok(rows)
}
