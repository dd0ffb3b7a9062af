//! A recording on a cluster.
use crate::ClusterError;
use crate::deadlock;
use crate::fabric::PARTS;
use crate::faults::Faults;
use crate::journal::Journal;
use crate::pages::Pages;
use crate::phases::{most_work, node_data, phases};
use crate::row::{Counts, Interrupts, Row, Server, Work};
use crate::sequential;
use crate::slots::Slots;
use crate::slowed::Slowed;
use crate::system::System;
use crate::what_if::{Named, PREFETCH, WhatIf};
use crate::world::{Modelled, World};
use homenode_base::NodeId;
use homenode_hlrc::cluster::{Cluster, Homes};
use homenode_hlrc::steps::Step;
use homenode_machine::{Machine, MapRule, Network};
use homenode_threads::{ThreadBinding, bindings, thread_map};
use homenode_timed::engine::{Gaps, Options, Simulated, TimedError, Times, Waits, simulate};
use homenode_trace::DatasetReader;
use std::rc::Rc;
use std::sync::Arc;

/// Words of all nodes for locks and barriers, at most: there are few of them, but where the others would be is known.
const SLOT_WORDS_MAX: usize = 1 << 35;
/// Entries of each log of notices.
const LOG: u32 = 1 << 12;

/// What is asked of recordings.
#[derive(Clone, Debug)]
pub struct Question<'m> {
    /// A machine with a section of networks.
    pub machine: &'m Machine,
    /// Threads to processors; if absent, neighbours beside each other, one node after the other.
    pub map: Option<MapRule>,
    /// How to run.
    pub options: Options,
    /// Whether pages have contents, so that reads can be checked: [`Row::read`] and [`Row::stale`].
    pub checks: bool,
    /// What goes wrong.
    pub faults: Option<Faults>,
}

/// A recording bound to a cluster: who runs where, what is shared, and how long one processor takes.
pub struct Bound<'d> {
    data: &'d DatasetReader,
    /// With processors as nodes: the engine knows no other.
    bindings: Vec<ThreadBinding>,
    net: Network,
    options: Options,
    checks: bool,
    faults: Option<Faults>,
    nodes: u16,
    threads: u16,
    page_words: usize,
    pages: Arc<Pages>,
    slots: Arc<Slots>,
    sequential: u64,
    /// What is another one than on the machine.
    what_ifs: Vec<WhatIf>,
}

impl<'d> Bound<'d> {
    /// Cycles of the same references on one processor.
    pub fn sequential(&self) -> u64 {
        self.sequential
    }
    /// A copy of the recording's binding for a cluster of which some things are others. Speedups stay over one processor of the machine as it is.
    #[must_use]
    pub fn with(&self, what_ifs: &[WhatIf]) -> Bound<'d> {
        Bound {
            data: self.data,
            bindings: self.bindings.clone(),
            net: self.net.clone(),
            options: self.options.clone(),
            pages: self.pages.clone(),
            slots: self.slots.clone(),
            what_ifs: what_ifs.to_vec(),
            ..*self
        }
    }

    /// Gaps of which threads of a slow node take more.
    fn slowed<'g>(&self, gaps: Box<dyn Gaps + 'g>) -> Box<dyn Gaps + 'g> {
        let Some(faults) = self.faults else { return gaps };
        let nodes = self.bindings.iter().map(|b| b.node.0 / self.threads);
        Box::new(Slowed::new(gaps, faults, nodes, self.nodes.into()))
    }
}

/// A network, who runs where, and numbers of locks and barriers.
type Fitted = (Network, Vec<ThreadBinding>, Slots);

impl Question<'_> {
    /// Whether a recording fits the cluster, as far as that is known without its references.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub fn check(&self, data: &DatasetReader) -> Result<(), ClusterError> {
        self.fit(data).map(drop)
    }

    fn fit(&self, data: &DatasetReader) -> Result<Fitted, ClusterError> {
        let machine = self.machine;
        let Some(net) = machine.sections.network.clone() else {
            return Err(ClusterError::NoSection(machine.name.clone()));
        };
        if data.manifest().sampling.is_some() {
            return Err(TimedError::Sampled.into());
        }
        let map = thread_map(data, machine, Some(self.map.as_ref().unwrap_or(&MapRule::Compact)))?;
        let bindings = bindings(&map, |thread| data.address_space(thread));
        let nodes = machine.nodes();
        let slots = Slots::find(data, &bindings, (nodes as u32, machine.shape.cores[0].into()))?;
        // A slot has some words and three a node, at each node.
        let most = SLOT_WORDS_MAX / (nodes * (3 * nodes + 16));
        if slots.len() > most {
            return Err(ClusterError::ManyLocks { locks: slots.len(), most, nodes });
        }
        Ok((net, bindings, slots))
    }

    /// Binds a recording; goes over it twice.
    ///
    /// # Errors
    /// [`ClusterError`]; a damaged dataset.
    pub fn bind<'d, G: Gaps>(&self, data: &'d DatasetReader, mut gaps: G) -> Result<Bound<'d>, ClusterError> {
        let machine = self.machine;
        let (net, mut bindings, slots) = self.fit(data)?;
        let nodes = machine.nodes();
        let pages = Pages::find(data, &bindings, (machine.shape.page_bytes.trailing_zeros(), nodes, self.checks))?;
        bindings.iter_mut().for_each(|b| b.node = NodeId(b.cpu));
        let sequential = sequential::cycles(data, &net, &mut gaps, self.options.phase.as_deref())?;
        Ok(Bound {
            data,
            bindings,
            net,
            options: self.options.clone(),
            checks: self.checks,
            faults: self.faults,
            nodes: nodes as u16,
            threads: machine.shape.cores[0],
            page_words: machine.shape.page_bytes as usize / size_of::<u64>(),
            pages: Arc::new(pages),
            slots: Arc::new(slots),
            sequential,
            what_ifs: Vec::new(),
        })
    }
}

/// Runs a recording by a step of the protocol; `gaps` makes the instructions between references, anew for each attempt.
///
/// # Errors
/// [`ClusterError`].
pub fn run<'g, G: Gaps + 'g>(bound: &Bound<'_>, step: &Step, mut gaps: impl FnMut() -> G) -> Result<Row, ClusterError> {
    Ok(run_boxed(bound, (step, false), &mut || Box::new(gaps()))?.0)
}

/// As [`run`], with a journal of each node: the protocol does the same again on what they say that it was given.
///
/// # Errors
/// As there.
pub fn run_noted<'g, G: Gaps + 'g>(
    bound: &Bound<'_>,
    step: &Step,
    mut gaps: impl FnMut() -> G,
) -> Result<(Row, Vec<Journal>), ClusterError> {
    run_boxed(bound, (step, true), &mut || Box::new(gaps()))
}

/// Not generic: the engine is compiled here, with the cluster in it.
fn run_boxed<'g>(
    bound: &Bound<'_>,
    (step, notes): (&Step, bool),
    gaps: &mut dyn FnMut() -> Box<dyn Gaps + 'g>,
) -> Result<(Row, Vec<Journal>), ClusterError> {
    let Bound { data, bindings, options, pages, slots, .. } = bound;
    let (mut net, mut step) = (bound.net.clone(), *step);
    bound.what_ifs.iter().for_each(|w| w.apply(&mut net, &mut step));
    let has = |named| bound.what_ifs.iter().any(|w| matches!(w, WhatIf::Named(n) if *n == named));
    let local_faults = has(Named::LocalFaults);
    let mut cluster = Cluster {
        me: NodeId(0),
        nodes: bound.nodes,
        threads: bound.threads,
        pages: (pages.flats.len() as u32).max(1),
        page_words: bound.page_words,
        step,
        homes: Homes::FirstTouch,
        alone: false,
        log: LOG,
        inbox: 0,
        slots: (slots.len() as u32).max(1),
        exclusive: false,
        prefetch: if has(Named::Prefetch) { PREFETCH } else { 0 },
        migrate: has(Named::Migrate),
        sorted: has(Named::Sorted),
        tickets: has(Named::Tickets),
        tree: has(Named::Tree),
        extra: 0,
    };
    cluster.inbox = cluster.least_inbox();
    let mut last: Option<Rc<World>> = None;
    let make = || {
        let modelled = Modelled { net: net.clone(), local_faults, checks: bound.checks, faults: bound.faults, notes };
        let system = System::new(modelled, cluster, pages.clone(), slots.clone());
        if let Some(before) = last.replace(system.world.clone()) {
            before.give_up();
        }
        Ok::<_, ClusterError>((system, bound.slowed(gaps())))
    };
    let done = simulate(data, bindings, options, make);
    let done = done.map_err(|e| match (e, &last) {
        (ClusterError::Timed(TimedError::Suspended(threads)), Some(world)) => {
            let e = deadlock::error((data, bindings), (world, pages, slots), &threads);
            world.give_up();
            e
        }
        (e, _) => e,
    });
    let done = done?;
    let world = &done.memory.world;
    Ok((row(bound, &step, &done), world.tapes.take(world.nodes.iter().map(|n| n.cluster))))
}

fn row(bound: &Bound<'_>, step: &Step, done: &Simulated<System>) -> Row {
    let mut times = Times::default();
    done.times.iter().for_each(|t| times.add(t));
    let [lock, barrier] = done.memory.synchronised();
    let (at, most_work) = most_work(&bound.bindings, &done.times);
    let (mut counts, mut interrupts, mut work) = (Counts::default(), Interrupts::default(), Work::default());
    for node in &done.memory.world.nodes {
        counts.join(&node.counts.borrow());
        interrupts.join(&node.interrupts.borrow());
        work.join(&node.work.borrow());
    }
    let cycles = done.span();
    let end = done.spans.iter().flatten().map(|s| s.1).max().unwrap_or(0);
    let processors = u64::from(bound.nodes) * u64::from(bound.threads);
    Row {
        protocol: step.name,
        nodes: bound.nodes.into(),
        processors: bound.threads.into(),
        cycles,
        sequential: bound.sequential,
        compute: times.instructions,
        local: times.private,
        most_work,
        most_work_at: at.into(),
        phases: phases(done),
        data: times.shared,
        lock,
        barrier,
        other: times.synchronisation.saturating_sub(lock + barrier),
        interrupted: times.kernel_overhead,
        idle: cycles.saturating_mul(processors).saturating_sub(times.cycles()),
        work,
        counts,
        interrupts,
        servers: servers(&done.waits),
        pages: done.memory.pages_waited_for(),
        synchronisation: done.memory.synchronisation(),
        node_data: node_data(&bound.bindings, &done.times, (bound.nodes, bound.threads)),
        faults: done.memory.faults(),
        shared_pages: bound.pages.flats.len() as u64,
        private_pages: bound.pages.private,
        read: done.memory.world.contents.as_ref().map(|c| c.read.get()),
        stale: done.memory.world.contents.as_ref().map(|c| c.stale.get()),
        injected: done.memory.world.faults.as_ref().map(|f| f.injected(end)),
        refs: done.refs,
        spins: done.spins,
        recorded_objects: done.recorded_objects,
    }
}

/// The servers of each kind together.
fn servers(waits: &[Waits]) -> Vec<Server> {
    let of = |(part, name): (usize, &&'static str)| {
        let mut server = Server { name, waits: Waits::default(), busiest: 0 };
        for w in waits.iter().skip(part).step_by(PARTS.len()) {
            server.waits.served += w.served;
            server.waits.busy += w.busy;
            server.waits.waited += w.waited;
            server.busiest = server.busiest.max(w.busy);
        }
        server
    };
    PARTS.iter().enumerate().map(of).collect()
}
