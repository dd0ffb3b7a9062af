//! `homenode report`: where pages should live, what that is worth and what to change.
use crate::capacity;
use crate::info::{provenance, unseen};
use crate::layout::{self, advise};
use crate::sim_tiers::sizes::Sizes;
use crate::threads::Threads;
use homenode_command::dataset::{Opened, open, refs};
use homenode_command::{Failure, Progress, machine};
use homenode_machine::MapRule;
use homenode_placement::policies::{self, Choice};
use homenode_report::traffic;
use homenode_report::units::{self, CostUnit};
use homenode_report::{CapacityDoc, Comparison, LayoutDoc, ReportDoc};
use homenode_sim::evaluation::{BindingRow, FindingKind};
use homenode_sim::names::NameTable;
use homenode_sim::{
    BoundMachine, EvalContext, EvalOptions, Evaluation, MissModel, ReplayOptions, Setup, SimError, TrafficOptions,
    Verified, VerifiedRow, Waits, evaluate, evidence, verify,
};
use homenode_timed::tiers::TierMachine;
use homenode_trace::TraceError;
use homenode_trace::dataset::{DatasetReader, MANIFEST_FILE};
use homenode_trace::order::{Again, Apart, Order, OrderKind, Piece, Source, Stream, SyncCache};
use std::path::{Path, PathBuf};

/// Further merges on which policies are run where the order was recorded: three seeds in all.
const MORE_MERGES: u32 = 2;
/// Memory for accesses that are priced again.
const VERIFY_BYTES: usize = 1 << 30;

/// What to report.
#[derive(Clone, Debug)]
pub struct ReportRequest {
    /// The dataset.
    pub dataset: PathBuf,
    /// A second one to show beside it.
    pub compare: Option<PathBuf>,
    /// Machine name or TOML file.
    pub machine: String,
    /// Placement blocks in bytes; the machine's page if empty.
    pub blocks: Vec<u64>,
    /// Policies; if empty those meant for reports that the machine can carry out.
    pub policies: Vec<String>,
    /// Threads to processors; the default rule if absent.
    pub map: Option<String>,
    /// Order of the replay.
    pub order: OrderKind,
    /// Charge busy-wait references.
    pub charge_spins: bool,
    /// What misses cost.
    pub model: MissModel,
    /// Smallest saving worth a finding, in percent.
    pub threshold_percent: u32,
    /// Price every figure again by the checker of placements.
    pub verify: bool,
    /// Sizes of DRAM before slower memory, as `SimTiersRequest` has them; those of the machine if none.
    pub capacity: Vec<String>,
}

/// What the request comes to, once for all datasets.
pub(crate) struct Plan<'r> {
    pub(crate) request: &'r ReportRequest,
    pub(crate) bound_machine: BoundMachine,
    pub(crate) policies: Vec<Choice>,
    pub(crate) blocks: Vec<u64>,
    sizes: Option<Sizes>,
    map: Option<MapRule>,
    /// Whether one thread replays everything, in order.
    in_order: bool,
}

/// Replays the dataset(s) and describes what was found.
pub fn report(request: &ReportRequest, progress: &mut dyn Progress) -> Result<ReportDoc, Failure> {
    report_with(request, Vec::new(), progress)
}

/// As [`report`], with policies that are in no registry beside the others. Those are asked about references in the order of the
/// replay, by one thread.
///
/// # Errors
/// As [`report`]; two policies with one name, or a policy that cannot run on the machine.
pub fn report_with(
    request: &ReportRequest,
    owned: Vec<Choice>,
    progress: &mut dyn Progress,
) -> Result<ReportDoc, Failure> {
    let mut plan = plan(request)?;
    plan.in_order = !owned.is_empty();
    plan.policies.extend(owned);
    let opened = open(&request.dataset)?;
    let second = request.compare.as_deref().map(open).transpose()?;
    let passes = plan.passes_max();
    let total = refs(&opened.reader) * passes * plan.blocks.len() as u64
        + second.as_ref().map_or(0, |s| refs(&s.reader) * passes);
    let progress = &mut Whole { progress, done: 0, total };
    let (evaluations, capacity) = std::thread::scope(|scope| {
        // It reads the references once more, and needs nothing of the rest.
        let capacity = plan.has_expander().then(|| scope.spawn(|| plan.capacity(&opened.reader)));
        let evaluations = plan.blocks.iter().map(|&b| plan.evaluate(&opened.reader, b, progress));
        let evaluations = evaluations.collect::<Result<Vec<_>, Failure>>();
        (evaluations, capacity.map(|c| c.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    });
    let evaluations = evaluations?;
    let order = order_name(request.order);
    let facts = provenance(&request.dataset, &opened.reader, order);
    let mut doc = ReportDoc::new(opened.reader.manifest(), facts, evaluations);
    doc.blind = unseen(&opened.reader);
    doc.layout = plan.layout(&opened.reader, &doc.evaluations[0], progress)?;
    doc.capacity = capacity.transpose()?.flatten();
    if let Some(short) = doc.capacity.as_ref().and_then(CapacityDoc::short) {
        doc.evaluations.iter_mut().for_each(|e| e.evidence.add(evidence::Gap::capacity(short.clone())));
    }
    let written = std::fs::metadata(request.dataset.join(MANIFEST_FILE)).and_then(|m| m.modified());
    doc.sources = crate::sources::read(&doc, opened.reader.symbols(), written.ok());
    doc.paths = crate::sources::paths(&doc, opened.reader.symbols());
    if let (Some(path), Some(second)) = (&request.compare, &second) {
        doc.compare = Some(compare(&plan, (path, second), &doc.evaluations[0], order, progress)?);
    }
    Ok(doc)
}

/// What an order is called.
pub(crate) fn order_name(order: OrderKind) -> &'static str {
    match order {
        OrderKind::Model => "model",
        OrderKind::Recorded { .. } => "as recorded",
    }
}

fn compare(
    plan: &Plan<'_>,
    (path, second): (&Path, &Opened),
    before: &Evaluation,
    order: &str,
    progress: &mut Whole<'_>,
) -> Result<Comparison, Failure> {
    let after = plan.evaluate(&second.reader, plan.blocks[0], progress)?;
    let blind = unseen(&second.reader);
    Ok(Comparison::new(before, after, provenance(path, &second.reader, order), blind, None))
}

/// The HTML page of a report.
pub fn html(doc: &ReportDoc) -> String {
    homenode_report::html::render(doc)
}

/// The report for a terminal of this many columns.
pub fn text(doc: &ReportDoc, width: usize, colour: bool) -> String {
    homenode_report::text::render(doc, homenode_report::text::Style { width, colour })
}

/// What a request comes to.
pub(crate) fn plan(request: &ReportRequest) -> Result<Plan<'_>, Failure> {
    let bound_machine = BoundMachine::new(machine::named(&request.machine)?, request.map.as_deref())
        .map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let machine = &bound_machine.machine;
    let blocks = if request.blocks.is_empty() { vec![machine.shape.page_bytes] } else { request.blocks.clone() };
    check_model(request, machine)?;
    for &block in &blocks {
        machine.check_block("--block", block).map_err(Failure::usage)?;
    }
    let policies = match &Choice::whole(&request.policies)[..] {
        [] => policies::reported(machine, blocks[0]),
        names => names
            .iter()
            .map(|n| Choice::parse(n))
            .collect::<Result<_, _>>()
            .map_err(|e| Failure::usage(format!("--policy: {e}")))?,
    };
    let sizes = capacity::sizes(&request.capacity, machine)?;
    let map = request.map.as_deref().and_then(|words| words.parse().ok());
    Ok(Plan { request, bound_machine, policies, blocks, sizes, map, in_order: false })
}

/// Whether the machine says what the asked classes of misses cost.
fn check_model(request: &ReportRequest, machine: &homenode_machine::Machine) -> Result<(), Failure> {
    match request.model {
        MissModel::Overlap if machine.sections.caches.is_none() => Err(Failure::usage(format!(
            "--model overlap: {} has no caches, so it has no misses; --model latency",
            machine.name
        ))),
        MissModel::Overlap if machine.sections.misses.is_none() => Err(Failure::usage(format!(
            "--model overlap: {} does not say what misses cost that overlap ([misses] in its file; `homenode topo --measure` measures them here for --machine this); --model latency",
            machine.name
        ))),
        _ => Ok(()),
    }
}

impl Plan<'_> {
    fn evaluate(&self, reader: &DatasetReader, block_bytes: u64, whole: &mut Whole<'_>) -> Result<Evaluation, Failure> {
        let map = self.bound_machine.map(reader).map_err(|e| Failure::usage(format!("--map: {e}")))?;
        let bindings = homenode_sim::bindings(&map, |t| reader.address_space(t));
        let options = ReplayOptions {
            charge_spins: self.request.charge_spins,
            model: self.request.model,
            ..self.bound_machine.replay_options(reader)
        };
        if options.sampled.is_some() && options.model == MissModel::Overlap {
            return Err(Failure::usage(
                "--model overlap needs an exact recording: of samples it is not known which misses were near each other; --model latency",
            ));
        }
        let waits = self.waits(reader);
        let machine = &self.bound_machine.machine;
        let setup = Setup { machine, bindings: &bindings, block_bytes, options, waits: &waits };
        let recorded = matches!(self.request.order, OrderKind::Recorded { .. });
        let options = EvalOptions {
            finding_permille: self.request.threshold_percent * 10,
            merges: if recorded { MORE_MERGES } else { 0 },
            traffic: self.traffic(reader),
            ..Default::default()
        };
        let threads = if self.in_order { Threads::one() } else { Threads::new() };
        let context = EvalContext { setup, policies: &self.policies, options, workers: &threads };
        let (kind, total) = (self.request.order, whole.total);
        let mut source = Passes { done: whole.done, ..Passes::new(reader, kind, whole.progress, total) };
        whole.done += refs(reader) * self.passes_max();
        let names = NameTable::new(reader)?;
        let mut evaluation = evaluate(&mut source, &mut names.follow(), &context).map_err(blame)?;
        evaluation.warnings.extend(map.warnings());
        evaluation.binding = BindingRow::of(map.summary());
        source.apart.iter().for_each(|a| evaluation.evidence.add(evidence::Gap::apart(a)));
        let waited = waiting(&evaluation, self.request.charge_spins);
        evaluation.warnings.extend(waited);
        evaluation.warnings.extend(unknown(&evaluation));
        evaluation.warnings.extend(unbound(&evaluation, reader));
        if let Some((words, remedy)) = traffic::short(&evaluation) {
            evaluation.evidence.add(evidence::Gap::bandwidth(words, remedy));
        }
        for gap in evidence::of_recording(reader.manifest(), reader.symbols(), reader.events()).gaps {
            evaluation.evidence.add(gap);
        }
        if self.request.verify {
            source.stage = Some("pricing again");
            evaluation.verified = Some(verified(&mut source, &context, &evaluation)?);
        }
        Ok(evaluation)
    }

    /// How traffic is counted, where misses overlap: processors that wait for each miss alone ask for little.
    fn traffic(&self, reader: &DatasetReader) -> Option<TrafficOptions> {
        let machine = Some(&self.bound_machine.machine).filter(|_| self.request.model == MissModel::Overlap)?;
        TrafficOptions::new(machine, refs(reader), homenode_report::memory_time::native_ps(reader.manifest()))
    }

    /// By code location, whether its misses wait for each other, if that is asked about.
    fn waits(&self, reader: &DatasetReader) -> Vec<Waits> {
        match self.request.model {
            MissModel::Latency => Vec::new(),
            MissModel::Overlap => crate::waits::of_sites(reader),
        }
    }

    /// What another layout would be worth, on machines with prices for protocols of page coherence.
    fn layout(
        &self,
        reader: &DatasetReader,
        first: &Evaluation,
        whole: &mut Whole<'_>,
    ) -> Result<Option<LayoutDoc>, Failure> {
        let machine = &self.bound_machine.machine;
        if machine.sections.coherence.is_none() {
            return Ok(None);
        }
        let map = self.bound_machine.map(reader).map_err(|e| Failure::usage(format!("--map: {e}")))?;
        let bindings = homenode_sim::bindings(&map, |t| reader.address_space(t));
        let (names, crowded) = (NameTable::new(reader)?, map.summary().shared_cpus > 0);
        let asked = layout::Asked {
            machine,
            bindings: &bindings,
            page_bytes: self.blocks[0],
            percent: self.request.threshold_percent,
            names: &names,
            refs: refs(reader),
            crowded,
        };
        whole.progress.at("trying layouts", whole.total, Some(whole.total));
        let mut source = Again { data: reader, kind: self.request.order };
        advise(&asked, &mut source, first).map(Some)
    }

    /// How much DRAM is enough, on machines with memory beside it that no processor is at.
    fn capacity(&self, reader: &DatasetReader) -> Result<Option<CapacityDoc>, Failure> {
        let request = self.request;
        let recorded = matches!(request.order, OrderKind::Recorded { .. });
        let asked = capacity::Asked {
            machine: &self.bound_machine.machine,
            map: self.map.as_ref(),
            page_bytes: self.blocks[0],
            sizes: self.sizes.as_ref(),
            differs: recorded || request.charge_spins || request.model != MissModel::Latency,
        };
        capacity::capacity(&asked, reader)
    }

    fn has_expander(&self) -> bool {
        TierMachine::has(&self.bound_machine.machine)
    }

    /// How often an evaluation reads the references at most: once for everything, for the findings one by one, for all of
    /// them together, for what the best homes ask of memories, and for each further merge.
    fn passes_max(&self) -> u64 {
        let recorded = matches!(self.request.order, OrderKind::Recorded { .. });
        let priced_again = if self.request.verify { 2 } else { 0 };
        let placed = u64::from(self.request.model == MissModel::Overlap);
        3 + placed + priced_again + if recorded { u64::from(MORE_MERGES) } else { 0 }
    }
}

/// Threads of OpenMP that may run anywhere, where a change rests on who touches memory first.
fn unbound(evaluation: &Evaluation, reader: &DatasetReader) -> Option<String> {
    let first_touch = evaluation.findings.iter().any(|f| f.kind == FindingKind::FirstTouch);
    let bound = homenode_sim::pinned(reader).iter().flatten().any(|p| p.asked);
    (first_touch && !evaluation.loops.is_empty() && !bound).then(|| {
        "The program binds no thread to processors: with data placed by who touches it first, run it with OMP_PROC_BIND=true, or \
         threads may leave their data behind."
            .to_owned()
    })
}

/// The figures priced again, all of them right.
fn verified(source: &mut Passes<'_>, context: &EvalContext<'_>, evaluation: &Evaluation) -> Result<Verified, Failure> {
    if context.setup.options.sampled.is_some() {
        return Err(Failure::usage(
            "--verify needs an exact recording: a sample stands for many accesses, of which no placement is known",
        ));
    }
    let verified = verify(source, context, evaluation, VERIFY_BYTES).map_err(blame)?;
    if let Some(VerifiedRow { name, said, checked: Some(checked), .. }) = verified.wrong().next() {
        return Err(Failure::work(format!(
            "{name} on {}: the report says {}, its placements cost {}; this is an error of homenode, please report it",
            evaluation.machine, said.0, checked.0
        )));
    }
    Ok(verified)
}

/// Whose fault it is that an evaluation cannot be done: mostly the options', else the dataset's.
pub(crate) fn blame(e: SimError) -> Failure {
    match e {
        SimError::Trace(_) => Failure::input(e),
        _ => Failure::usage(e),
    }
}

/// Progress over all evaluations of a report.
struct Whole<'a> {
    progress: &'a mut dyn Progress,
    /// References that the evaluations begun so far read at most.
    done: u64,
    /// References that all evaluations read at most.
    total: u64,
}

/// The passes of an evaluation over its dataset, whose progress is shown.
pub(crate) struct Passes<'a> {
    reader: &'a DatasetReader,
    kind: OrderKind,
    progress: &'a mut dyn Progress,
    /// Passes begun.
    pass: u64,
    /// References that were read before the first pass.
    done: u64,
    total: u64,
    /// Threads that the recording put one after the other.
    pub(crate) apart: Option<Apart>,
    /// What passes are now; by default what evaluations do.
    pub(crate) stage: Option<&'static str>,
    sync: SyncCache,
}

impl<'a> Passes<'a> {
    /// None yet, of `total` references that are read in all.
    pub(crate) fn new(
        reader: &'a DatasetReader,
        kind: OrderKind,
        progress: &'a mut dyn Progress,
        total: u64,
    ) -> Passes<'a> {
        Passes { reader, kind, progress, pass: 0, done: 0, total, apart: None, stage: None, sync: SyncCache::default() }
    }
}

/// One of them.
struct Pass<'a> {
    /// There until it ends.
    order: Option<Order<'a>>,
    sync: &'a mut SyncCache,
    done: u64,
    total: u64,
    stage: &'static str,
    progress: &'a mut dyn Progress,
    apart: &'a mut Option<Apart>,
}

impl Source for Passes<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        let order = Some(Order::again(self.reader, self.kind.merge(merge), &mut self.sync)?);
        let stage = self.stage.unwrap_or(if self.pass == 0 { "replaying" } else { "replaying what-ifs" });
        let done = self.done + self.pass * refs(self.reader);
        self.pass += 1;
        let Passes { progress, total, apart, sync, .. } = self;
        Ok(Box::new(Pass { order, sync, done, total: *total, stage, progress: &mut **progress, apart }))
    }
}

impl Stream for Pass<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        let Some(order) = &mut self.order else { return Ok(None) };
        let Some(piece) = order.pull()? else { return Ok(None) };
        self.done += piece.refs.len() as u64;
        self.progress.at(self.stage, self.done, Some(self.total));
        Ok(Some(piece))
    }
}

impl Drop for Pass<'_> {
    /// Keeps what only the order knows.
    fn drop(&mut self) {
        let Some(order) = self.order.take() else { return };
        if self.apart.is_none() {
            *self.apart = order.summary().apart;
        }
        order.keep(self.sync);
    }
}

/// What to say where nobody knows of many misses whether a processor waits for them.
fn unknown(e: &Evaluation) -> Option<String> {
    let misses = e.totals.misses?;
    let all = misses.waited + misses.unknown + misses.overlapped + misses.streamed;
    (misses.unknown > all / 100).then(|| {
        format!(
            "{} of {} misses are charged their latency because the program's code does not tell whether they depend on each other: \
             their cost is at most that.",
            units::integer(misses.unknown),
            units::integer(all)
        )
    })
}

/// What to say where much of the program was taken for busy waiting, and what that would cost if it was asked for.
fn waiting(e: &Evaluation, charged: bool) -> Option<String> {
    let (spins, refs) = (e.totals.spins, e.totals.refs);
    if spins == 0 || spins < refs / 100 {
        return None;
    }
    let taken = format!("{} of {} references were taken for busy waiting", units::integer(spins), units::integer(refs));
    Some(match charged {
        true => format!("{taken}: {} beside the total", CostUnit::of(&e.unit).cost(e.totals.spin_cost)),
        false => format!("{taken} and cost nothing here: --charge-spins says what they would cost"),
    })
}
