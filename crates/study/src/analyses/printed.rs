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
    /// The costs to come.
    ends: Vec<i128>,
    reads: Vec<u64>,
    /// Processors with reads.
    readers: u64,
    found: Printed,
}

/// A run of reads, summed up for the calls of figure 4.2.
struct Run<'a> {
    figure: &'a Figure43,
    state: &'a State,
    /// Cost of all reads if exactly those worth a copy have one.
    reads: i128,
    /// Processors worth a copy.
    worth: i128,
    /// Candidates for the start beside the end itself.
    starts: [usize; 2],
}

impl Figure43 {
    /// For blocks of `block_bytes`: `None` on machines that the figure is not about, which have global memory, caches, or
    /// no remote references.
    pub fn of_machine(machine: &Machine, block_bytes: u64) -> Option<Figure43> {
        let view = machine.single_remote(block_bytes)?;
        let plain = view.global.is_none() && machine.caches.is_none() && machine.remote_access && view.nodes > 1;
        let equal = view.near[0] == view.near[1] && view.far[0] == view.far[1] && view.near[0] <= view.far[0];
        let [near, far, copy] = [view.near[0], view.far[0], view.copy].map(|c| i128::from(c.0));
        (plain && equal).then_some(Figure43 { nodes: view.nodes, near, far, copy })
    }

    /// The figure on the accesses of one block, in order.
    pub fn solve(&self, accesses: impl IntoIterator<Item = Access>) -> Printed {
        let (cost, ends, reads) = (vec![0; self.nodes], vec![0; self.nodes], vec![0; self.nodes]);
        let mut state = State { cost, ends, reads, readers: 0, found: Printed::default() };
        for access in accesses {
            let (node, weight) = (access.node.index(), u64::from(access.weight));
            state.found.literal_work += weight;
            match access.kind {
                AccessKind::Read => {
                    state.found.stated_work += weight;
                    state.readers += u64::from(state.reads[node] == 0);
                    state.reads[node] += weight;
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
        let mut ends = std::mem::take(&mut state.ends);
        let run = Run::new(self, state);
        for (j, end) in ends.iter_mut().enumerate() {
            *end = run.starts.iter().fold(run.cost(j, j), |c, start| c.min(run.cost(*start, j)));
        }
        state.ends = std::mem::replace(&mut state.cost, ends);
        state.reads.fill(0);
        state.readers = 0;
    }

    fn saved(&self, reads: u64) -> i128 {
        (self.far - self.near) * i128::from(reads)
    }
    fn is_worth(&self, reads: u64) -> bool {
        self.saved(reads) > self.copy
    }
}

impl<'a> Run<'a> {
    fn new(figure: &'a Figure43, state: &'a State) -> Run<'a> {
        // The least pair is the lowest number among the cheapest.
        let cheapest = state.cost.iter().copied().zip(0..).min().map_or(0, |(_, j)| j);
        let rest = (0..figure.nodes).filter(|j| !figure.is_worth(state.reads[*j]));
        let after = |j: usize| (state.cost[j] - figure.saved(state.reads[j]), j);
        // With nobody left the figure allows any processor.
        let third = rest.map(after).min().map_or(0, |(_, j)| j);
        let worth = |n: &u64| figure.is_worth(*n);
        let price = |n: &u64| if worth(n) { figure.near } else { figure.far } * i128::from(*n);
        let reads = state.reads.iter().map(price).sum();
        let worth = state.reads.iter().filter(|n| worth(n)).count() as i128;
        Run { figure, state, reads, worth, starts: [cheapest, third] }
    }

    /// Figure 4.2 for copies at the start, at the end, and at all that are worth one.
    fn cost(&self, start: usize, end: usize) -> i128 {
        let (mut cost, mut copies) = (self.state.cost[start] + self.reads, self.worth);
        for (i, place) in [start, end].into_iter().enumerate() {
            let reads = self.state.reads[place];
            if self.figure.is_worth(reads) || (i == 1 && start == end) {
                continue;
            }
            cost -= self.figure.saved(reads);
            copies += 1;
        }
        cost + self.figure.copy * (copies - 1)
    }
}

/// One machine, by level: the figure and its sum over blocks.
struct Sums(Vec<(Figure43, Printed)>);

impl Visitor for Sums {
    fn block(&mut self, level: usize, _: u64, steps: &[Step]) {
        let (figure, sum) = &mut self.0[level];
        let found = figure.solve(steps.iter().map(|s| s.access));
        sum.cost += found.cost;
        sum.stated_work += found.stated_work;
        sum.literal_work += found.literal_work;
    }
}

/// What the figure finds on the machines of a question that it is about, at each of its block sizes; policies and optima
/// that the question asks for are not looked at. Rows are sorted by machine and block size.
///
/// # Errors
/// The question cannot be answered from this partition.
pub fn figure_4_3(question: &Question, partition: &Partition) -> Result<Vec<PrintedRow>, StudyError> {
    question.check()?;
    if question.blocks.last().is_some_and(|b| *b > partition.region_bytes()) {
        return Err(StudyError::Region(partition.region_bytes()));
    }
    let mut rows = Vec::new();
    for (machine, m) in question.machines.iter().enumerate() {
        let stream = partition.stream_of(question, machine)?;
        let head = &partition.head.streams[stream];
        let nodes = head.key.nodes(m, &question.seats[machine]);
        let figure = |b: &u64| Figure43::of_machine(m, *b).filter(|_| question.usable(machine, *b)).map(|f| (*b, f));
        let (blocks, figures): (Vec<u64>, Vec<Figure43>) = question.blocks.iter().filter_map(figure).unzip();
        if blocks.is_empty() {
            continue;
        }
        let levels = Levels::new(&blocks, 0, head.format.unit_shift, head.format.region_shift);
        let mut fold = Strict::new(levels, head.format, nodes, false, None);
        let mut sums = Sums(figures.into_iter().map(|f| (f, Printed::default())).collect());
        for region in 0..partition.regions() {
            partition.read(stream, region, &mut |words| fold.records(words))?;
            fold.region(partition.head.regions[region], &mut sums);
        }
        let row = |(block_bytes, (_, printed))| PrintedRow { machine: machine as u32, block_bytes, printed };
        rows.extend(blocks.into_iter().zip(sums.0).map(row));
    }
    Ok(rows)
}
