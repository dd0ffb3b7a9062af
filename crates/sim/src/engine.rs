//! The plain engine: all policies and bounds side by side in one pass over the merged trace.
use crate::SimError;
use crate::consumers::{AccessConsumer, BoundsConsumer, PhaseConsumer, PolicyConsumer, ProgramBounds};
use crate::evaluation::Totals;
use crate::observer::Observer;
use crate::replay::Replay;
use crate::setup::Setup;
use crate::traffic::{TrafficOptions, Windows};
use crate::usage::{Usage, best_static};
use homenode_base::TotalCost;
use homenode_machine::{Location, Machine};
use homenode_placement::events::{POLICIES, Paths};
use homenode_placement::policies::Choice;
use homenode_placement::{Start, Step, Tally};
use homenode_trace::Merged;
use std::sync::Arc;

/// One pass.
pub struct Engine<'m> {
    inner: Watched<'m, ()>,
}

/// What one pass found.
#[derive(Clone, Debug)]
pub struct Priced {
    /// One tally per policy, in the order given. Transfers are not contained.
    pub policies: Vec<Tally>,
    /// Every block at its cheapest home for ever. Transfers are not contained.
    pub best_static: Tally,
    /// The optimum, if it was asked for.
    pub bounds: Option<ProgramBounds>,
    /// The best static home of each block, by [`Priced::blocks`].
    pub homes: Vec<Location>,
    /// Flat block numbers in order of first touch.
    pub blocks: Vec<u64>,
    /// What was replayed.
    pub totals: Totals,
    /// References of each thread, spins included.
    pub refs_of: Vec<u64>,
    /// References of threads that have no binding.
    pub strangers: u64,
    /// What each thread's references cost under first touch; empty unless somebody watched for it.
    pub cost_of: Vec<TotalCost>,
    /// What each thread's hits in the last level cost; likewise.
    pub hits_of: Vec<TotalCost>,
}

impl<'m> Engine<'m> {
    /// An engine that has seen nothing. With `bounds` it also computes the optimum, under that convention. A
    /// policy that needs homes gets the best ones, for ever or by phase.
    ///
    /// # Errors
    /// A policy does not fit the machine, or the block or the caches are not usable.
    pub fn new(setup: Setup<'m>, policies: &[Choice], bounds: Option<Start>) -> Result<Engine<'m>, SimError> {
        Ok(Engine { inner: Watched::new(setup, policies, Besides { bounds, traffic: None }, ())? })
    }
    /// The next references of the merged order.
    pub fn refs(&mut self, refs: &[Merged]) {
        self.inner.replay.refs(refs);
    }
    /// Ends the pass.
    ///
    /// # Errors
    /// More blocks than can be numbered.
    pub fn finish(self) -> Result<Priced, SimError> {
        self.inner.finish().map(|(priced, (), _)| priced)
    }
}

/// An engine with an observer.
pub(crate) struct Watched<'m, O> {
    machine: &'m Machine,
    block_bytes: u64,
    pub(crate) replay: Replay<'m, Consumers<'m>, O>,
}

impl<'m, O: Observer> Watched<'m, O> {
    pub(crate) fn new(
        setup: Setup<'m>,
        policies: &[Choice],
        besides: Besides,
        observer: O,
    ) -> Result<Watched<'m, O>, SimError> {
        let consumers = Consumers::new(setup.machine, setup.block_bytes, policies, besides)?;
        let Setup { machine, block_bytes, .. } = setup;
        Ok(Watched { machine, block_bytes, replay: Replay::new(setup, (machine, setup.waits), consumers, observer)? })
    }

    /// What was found, and the windows of each policy whose traffic was counted.
    pub(crate) fn finish(self) -> Result<(Priced, O, Vec<Option<Windows<'m>>>), SimError> {
        let mut done = self.replay.finish()?;
        let windows = done.consumers.take_windows();
        let priced = done.consumers.priced(self.machine, self.block_bytes, done.blocks.into_numbers());
        let (totals, refs_of, strangers) = (done.totals, done.refs_of, done.strangers);
        Ok((Priced { totals, refs_of, strangers, ..priced }, done.observer, windows))
    }
}

/// How a policy is priced.
enum ChoiceLane<'m> {
    /// By running it.
    Run(PolicyConsumer<'m>),
    /// The best static placement: usage gives it.
    BestStatic,
    /// The best homes by phase.
    Phases(PhaseConsumer<'m>),
}

/// What is computed beside policies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Besides {
    /// The optimum, under this convention.
    pub(crate) bounds: Option<Start>,
    /// What policies ask of memories.
    pub(crate) traffic: Option<TrafficOptions>,
}

impl Besides {
    /// The optimum alone.
    pub(crate) fn bounds(start: Start) -> Besides {
        Besides { bounds: Some(start), traffic: None }
    }
}

/// What one pass computes.
pub(crate) struct Consumers<'m> {
    policies: Vec<ChoiceLane<'m>>,
    /// Across multiples of these nothing is folded.
    periods: Vec<u64>,
    usage: Usage,
    bounds: Option<BoundsConsumer<'m>>,
}

impl<'m> Consumers<'m> {
    /// Consumers of policies and of what is asked for beside them.
    ///
    /// # Errors
    /// A policy does not fit the machine.
    pub(crate) fn new(
        machine: &'m Machine,
        block_bytes: u64,
        policies: &[Choice],
        Besides { bounds, traffic }: Besides,
    ) -> Result<Consumers<'m>, SimError> {
        let paths = Arc::new(match traffic {
            Some(_) => Paths::apart(machine.nodes()),
            None => Paths::new(&POLICIES, &[machine], block_bytes),
        });
        let windows = || traffic.map(|options| Windows::new(options, machine, block_bytes, &paths));
        let consumer = |choice: &Choice| -> Result<ChoiceLane<'m>, SimError> {
            let engine = choice.engine(machine, block_bytes)?;
            Ok(match (choice.spec.needs_homes, choice.phase()) {
                (false, _) => ChoiceLane::Run(PolicyConsumer::new(engine, &paths, windows())),
                (true, None) => ChoiceLane::BestStatic,
                (true, Some(phase)) => ChoiceLane::Phases(PhaseConsumer::new(machine, block_bytes, phase)),
            })
        };
        let periods = policies.iter().filter_map(Choice::period).chain(traffic.map(|t| t.window)).collect();
        let policies = policies.iter().map(consumer).collect::<Result<Vec<_>, SimError>>()?;
        let bounds = bounds.map(|start| BoundsConsumer::new(machine, block_bytes, start));
        Ok(Consumers { policies, periods, usage: Usage::new(machine), bounds })
    }

    /// The windows of each policy whose traffic was counted.
    fn take_windows(&mut self) -> Vec<Option<Windows<'m>>> {
        let take = |lane: &mut ChoiceLane<'m>| match lane {
            ChoiceLane::Run(consumer) => consumer.windows.take(),
            ChoiceLane::BestStatic | ChoiceLane::Phases(_) => None,
        };
        self.policies.iter_mut().map(take).collect()
    }

    /// What they come to; nothing of what was replayed beside these blocks is known here.
    pub(crate) fn priced(self, machine: &Machine, block_bytes: u64, blocks: Vec<u64>) -> Priced {
        let (best_static, homes) = best_static(&self.usage, machine, blocks.len());
        let tally = |consumer: &ChoiceLane<'_>| match consumer {
            ChoiceLane::Run(consumer) => consumer.counts.priced(machine, block_bytes),
            ChoiceLane::BestStatic => best_static,
            ChoiceLane::Phases(consumer) => consumer.finish(),
        };
        let policies = self.policies.iter().map(tally).collect();
        let bounds = self.bounds.as_ref().map(BoundsConsumer::finish);
        let (totals, refs_of, strangers, cost_of, hits_of) = Default::default();
        Priced { policies, best_static, bounds, homes, blocks, totals, refs_of, strangers, cost_of, hits_of }
    }
}

impl AccessConsumer for Consumers<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        for policy in &mut self.policies {
            match policy {
                ChoiceLane::Run(consumer) => consumer.steps(steps, numbers),
                ChoiceLane::BestStatic => {}
                ChoiceLane::Phases(consumer) => consumer.steps(steps, numbers),
            }
        }
        self.usage.add(steps, numbers.len());
        if let Some(bounds) = &mut self.bounds {
            bounds.steps(steps, numbers);
        }
    }
    fn periods(&self) -> Vec<u64> {
        self.periods.clone()
    }
}

impl Priced {
    /// Adds what a pass over blocks of other colours found.
    pub(crate) fn absorb(&mut self, other: &Priced) {
        self.policies.iter_mut().zip(&other.policies).for_each(|(sum, more)| sum.add(more));
        self.best_static.add(&other.best_static);
        if let (Some(sum), Some(more)) = (&mut self.bounds, &other.bounds) {
            sum.best_static.add(&more.best_static);
            sum.without_replication.add(&more.without_replication);
            sum.with_replication.add(&more.with_replication);
        }
        self.homes.extend_from_slice(&other.homes);
        self.blocks.extend_from_slice(&other.blocks);
        self.cost_of.resize(self.cost_of.len().max(other.cost_of.len()), TotalCost::ZERO);
        self.cost_of.iter_mut().zip(&other.cost_of).for_each(|(sum, more)| *sum += *more);
        self.totals.absorb(&other.totals);
    }
    /// Total of one policy, transfers included.
    pub fn total(&self, policy: usize) -> TotalCost {
        self.policies[policy].total() + self.totals.transfer_cost
    }
}
