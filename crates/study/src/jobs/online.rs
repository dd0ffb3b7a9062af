//! On-line policies, block size by block size: told of accesses as they come.
//!
//! A policy keeps what it knows of each block, so nothing else has to be kept of a region but, of each block, the equal
//! accesses in a row that are one. What policies are told is what [`Strict`](crate::fold::strict::Strict) would tell them.
//!
//! Where all policies are settled for the node that is at a block, its accesses are counted until another node comes, and
//! cost each policy nothing.
use super::PolicyJob;
use crate::fold::{Levels, accesses};
use crate::partition::record::{Code, Format, MEANING};
use homenode_base::{NodeId, VirtualTime};
use homenode_machine::{AccessClass, Location};
use homenode_placement::{Access, Step};
use homenode_sim::Seen;

/// Records that are looked at size by size at a time: they and what becomes of them stay in a first-level cache.
const PIECE_RECORDS: usize = 256;
/// Policies are asked whether they are settled for a node after so many runs of it, and after each power of two of them.
const RUNS_BEFORE_ASKED: u32 = 4;

/// Equal accesses in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    unit: u32,
    weight: u32,
    node: u16,
    code: u8,
}

impl Run {
    fn step(self, slot: u32, t: u64) -> Step {
        let (kind, class) = MEANING[usize::from(self.code)];
        Step { slot, access: Access { node: NodeId(self.node), kind, class, weight: self.weight, t: VirtualTime(t) } }
    }
}

/// What a block is waiting with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Waiting {
    /// Not touched in this region.
    #[default]
    Nothing,
    /// With the last run, to which there may be more.
    Run,
    /// With nothing: policies know all of the last run, and not all were settled.
    Told,
    /// With reads and writes of the node of the last run, for which all policies are settled.
    Settled,
}

/// A block of the region.
#[derive(Clone, Copy, Default)]
struct Block {
    /// Unit means nothing here.
    last: Run,
    waiting: Waiting,
    /// Runs of the node in a row.
    runs: u32,
    /// Reads and writes that policies have not been told of.
    settled: [u64; 2],
}

/// A policy with where it is settled.
pub(crate) struct Told<'m> {
    pub(crate) job: PolicyJob<'m>,
    /// By block: where its accesses are served.
    places: Vec<Location>,
}

/// Policies at one block size.
pub(crate) struct Level<'m> {
    /// Place of the size in the question.
    pub(crate) place: usize,
    pub(crate) jobs: Vec<Told<'m>>,
    /// A block is `1 << bits` units.
    bits: u32,
    /// By number in the region.
    blocks: Vec<Block>,
    /// When the last run of each began and when it ends, where times matter.
    times: Vec<[u64; 2]>,
    /// By block, what was told of it, where there are hits.
    seen: Vec<Seen>,
    /// Blocks of the region that were touched; those from `begun` on are new to the policies.
    touched: Vec<u32>,
    begun: usize,
    steps: Vec<Step>,
    /// Blocks that are at so many runs that policies are asked.
    asked: Vec<u32>,
    /// Blocks touched in regions that have ended.
    ended: u64,
}

/// What all sizes have in common.
struct Common {
    format: Format,
    /// Node of each thread of the stream.
    nodes: Vec<u16>,
    /// Whether the stream has hits, most of which change nothing.
    hits: bool,
    /// Whether two units can lie in the same block at every size.
    joined: bool,
    /// If times matter: at multiples of these accesses are not equal to those before.
    periods: Option<Vec<u64>>,
}

/// Tells policies of regions, one after another.
pub(crate) struct Online<'m> {
    common: Common,
    pub(crate) levels: Vec<Level<'m>>,
    piece: Vec<Run>,
    times: Vec<u64>,
    /// Accesses charged so far: reads, and writes with write-backs.
    pub(crate) accesses: [u64; 2],
}

impl<'m> Online<'m> {
    /// `jobs`: the policies by place in the question. `hits`: whether the stream is one of cache events. `periods`: those of
    /// the policies if times matter.
    pub(crate) fn new(
        levels: &Levels,
        jobs: Vec<Vec<PolicyJob<'m>>>,
        format: Format,
        nodes: Vec<u16>,
        hits: bool,
        periods: Option<Vec<u64>>,
    ) -> Online<'m> {
        let joined = levels.least() > 0 && !hits;
        let common = Common { format, nodes, hits, joined, periods };
        let mut jobs: Vec<_> = jobs.into_iter().enumerate().collect();
        let levels = (0..=format.unit_bits()).filter_map(|bits| {
            let place = levels.place(bits)?;
            let jobs = std::mem::take(&mut jobs[place].1);
            (!jobs.is_empty()).then(|| Level::new(place, bits, jobs, &common))
        });
        let levels = levels.collect();
        Online { levels, common, piece: Vec::new(), times: Vec::new(), accesses: [0; 2] }
    }

    /// More records of region `number`. Records of threads that do not exist (hostile) are left out.
    pub(crate) fn records(&mut self, number: u64, words: &[u32]) {
        for words in words.chunks(PIECE_RECORDS * self.common.format.words()) {
            self.decode(words);
            for level in &mut self.levels {
                level.piece(number, &self.piece, &self.times, &self.common);
            }
        }
    }

    fn decode(&mut self, words: &[u32]) {
        let Online { common, piece, times, accesses: charged, .. } = self;
        let (timed, joined) = (common.periods.is_some(), common.joined);
        piece.clear();
        times.clear();
        accesses((&common.format, words), (&common.nodes, joined), charged, |r, node| {
            piece.push(Run { unit: r.unit, weight: r.weight, node, code: r.code });
            if timed {
                times.push(r.t);
            }
        });
    }

    /// Ends region `number`.
    pub(crate) fn region(&mut self, number: u64) {
        self.levels.iter_mut().for_each(|level| level.region(number, &self.common));
    }

    /// Blocks of a place in the question touched so far, if policies are told of any.
    pub(crate) fn touched(&self, place: usize) -> Option<u64> {
        self.levels.iter().find(|level| level.place == place).map(|level| level.ended)
    }
}

impl<'m> Level<'m> {
    fn new(place: usize, bits: u32, jobs: Vec<PolicyJob<'m>>, common: &Common) -> Level<'m> {
        let blocks = 1 << (common.format.unit_bits() - bits);
        let told = |mut job: PolicyJob<'m>| {
            (0..blocks as u64).for_each(|block| _ = job.engine.open(block, None));
            Told { job, places: vec![Location::Global; blocks] }
        };
        Level {
            place,
            jobs: jobs.into_iter().map(told).collect(),
            bits,
            blocks: vec![Block::default(); blocks],
            times: vec![[0; 2]; if common.periods.is_some() { blocks } else { 0 }],
            seen: vec![Seen::default(); if common.hits { blocks } else { 0 }],
            touched: Vec::new(),
            begun: 0,
            steps: Vec::new(),
            asked: Vec::new(),
            ended: 0,
        }
    }

    fn piece(&mut self, number: u64, piece: &[Run], times: &[u64], common: &Common) {
        match &common.periods {
            _ if common.hits => self.hits(piece, times, common),
            Some(periods) => piece.iter().zip(times).for_each(|(run, t)| self.at(*run, *t, periods)),
            None => piece.iter().for_each(|run| self.push(*run)),
        }
        self.tell(number, common);
        self.ask();
    }

    fn hits(&mut self, piece: &[Run], times: &[u64], common: &Common) {
        for (i, run) in piece.iter().enumerate() {
            let (kind, class) = MEANING[usize::from(run.code)];
            if !self.seen[(run.unit >> self.bits) as usize].note(NodeId(run.node), kind, class) {
                continue;
            }
            match &common.periods {
                Some(periods) => self.at(*run, times[i], periods),
                None => self.push(*run),
            }
        }
        // What hits may change a policy does not say beforehand.
        self.asked.clear();
    }

    /// One more access, or some at once, where times do not matter.
    #[inline(always)]
    fn push(&mut self, run: Run) {
        let block = &mut self.blocks[(run.unit >> self.bits) as usize];
        if block.last.node == run.node {
            if block.waiting == Waiting::Settled && run.code <= Code::Write as u8 {
                block.settled[usize::from(run.code)] += u64::from(run.weight);
                return;
            }
            if block.waiting == Waiting::Run
                && block.last.code == run.code
                && let Some(weight) = block.last.weight.checked_add(run.weight)
            {
                block.last.weight = weight;
                return;
            }
        }
        self.begin(run);
    }

    /// A run begins, where times do not matter.
    #[inline(never)]
    fn begin(&mut self, run: Run) {
        let number = run.unit >> self.bits;
        let block = &mut self.blocks[number as usize];
        match block.waiting {
            Waiting::Settled => leave(block, number, &mut self.jobs),
            Waiting::Run => self.steps.push(block.last.step(number, 0)),
            Waiting::Told => {}
            Waiting::Nothing => self.touched.push(number),
        }
        block.runs = if block.last.node == run.node { block.runs.saturating_add(1) } else { 1 };
        if block.runs >= RUNS_BEFORE_ASKED && block.runs.is_power_of_two() {
            self.asked.push(number);
        }
        (block.last, block.waiting) = (run, Waiting::Run);
    }

    /// One more access, or some at once, where times matter.
    fn at(&mut self, run: Run, t: u64, periods: &[u64]) {
        let number = run.unit >> self.bits;
        let (block, times) = (&mut self.blocks[number as usize], &mut self.times[number as usize]);
        if block.waiting == Waiting::Nothing {
            self.touched.push(number);
        } else {
            let last = &mut block.last;
            if (last.node, last.code) == (run.node, run.code)
                && t < times[1]
                && let Some(weight) = last.weight.checked_add(run.weight)
            {
                last.weight = weight;
                return;
            }
            self.steps.push(last.step(number, times[0]));
        }
        let next = |p: &u64| (t / p + 1).saturating_mul(*p);
        *times = [t, periods.iter().map(next).min().unwrap_or(u64::MAX)];
        (block.last, block.waiting) = (run, Waiting::Run);
    }

    /// Tells policies what has ended.
    fn tell(&mut self, number: u64, common: &Common) {
        let first = number << (common.format.unit_bits() - self.bits);
        for Told { job, .. } in &mut self.jobs {
            for block in &self.touched[self.begun..] {
                job.engine.reopen(*block, first | u64::from(*block), None);
            }
            job.engine.run(&self.steps, &mut job.counts);
        }
        self.begun = self.touched.len();
        self.steps.clear();
    }

    /// Asks policies whether they are settled for the nodes that have been at blocks for long.
    fn ask(&mut self) {
        for number in self.asked.drain(..) {
            let block = &mut self.blocks[number as usize];
            if block.waiting != Waiting::Run {
                continue;
            }
            // The last run is not over: policies are told of what there is of it.
            let step = [block.last.step(number, 0)];
            let mut all = true;
            for Told { job, places } in &mut self.jobs {
                job.engine.run(&step, &mut job.counts);
                match job.engine.settled(number, step[0].access.node) {
                    Some(found) => places[number as usize] = found,
                    None => all = false,
                }
            }
            block.waiting = if all { Waiting::Settled } else { Waiting::Told };
        }
    }

    fn region(&mut self, number: u64, common: &Common) {
        for number in &self.touched {
            let block = &mut self.blocks[*number as usize];
            match block.waiting {
                Waiting::Run => {
                    let t = self.times.get(*number as usize).map_or(0, |times| times[0]);
                    self.steps.push(block.last.step(*number, t));
                }
                Waiting::Settled => leave(block, *number, &mut self.jobs),
                Waiting::Nothing | Waiting::Told => {}
            }
            *block = Block::default();
            if let Some(seen) = self.seen.get_mut(*number as usize) {
                *seen = Seen::default();
            }
        }
        self.tell(number, common);
        self.ended += self.touched.len() as u64;
        self.touched.clear();
        self.begun = 0;
    }
}

/// Counts what the node of a block's last run has done since policies were settled for it.
fn leave(block: &mut Block, number: u32, jobs: &mut [Told<'_>]) {
    let from = Location::Node(NodeId(block.last.node));
    let [reads, writes] = std::mem::take(&mut block.settled);
    for Told { job, places } in jobs {
        let at = places[number as usize];
        job.counts.add(AccessClass::Read as usize, from, at, reads);
        job.counts.add(AccessClass::Write as usize, from, at, writes);
    }
}
