//! The steps from a recording to a plan.
use crate::bandwidth::{Bandwidths, Traffic};
use crate::chooser::HomeChooser;
use crate::entries::RangeBuilder;
use crate::error::PlannerError;
use crate::evidence::{self, Evidence};
use crate::unit::Unit;
use crate::{estimate, huge, keys, spacing, warn};
use homenode_base::{NodeId, ThreadId, TotalCost};
use homenode_machine::{Machine, MapRule, Target, ThreadMap};
use homenode_objects::ObjectTable;
use homenode_placement::affinity::{Distances, Rule};
use homenode_placement::counts::PageUse;
use homenode_placement::plan::{Bandwidth, Expected, HugePages, Plan, ThreadPin};
use homenode_placement::threads::{co_optimise, fair_shares};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::sample::{DataSource, SampleUnit};
use std::collections::BTreeMap;

/// See [`HomeChooser::margin_percent`]: on two nodes as far apart as those of `two-socket`, a node that makes less than two
/// thirds of the uses does not win a page from its first toucher.
const MARGIN_PERCENT: i128 = 20;

/// What a plan is to be.
#[derive(Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The machine, whose nodes can reference each other's memory.
    pub machine: &'a Machine,
    /// Affinity rule.
    pub rule: &'a Rule,
    /// Threads to processors; the default rule if absent.
    pub map: Option<&'a MapRule>,
    /// Whether threads may change nodes where that lowers the cost.
    pub move_threads: bool,
    /// Page size in bytes, one that the machine can have.
    pub page_bytes: u64,
    /// Pages that each node can hold; absent: no limit.
    pub capacity: Option<&'a [u64]>,
    /// What the nodes' memories serve, where that is known.
    pub bandwidths: Option<&'a Bandwidths>,
}

impl std::fmt::Debug for PlanRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlanRequest({} on {}, pages of {} bytes)", self.rule, self.machine.name, self.page_bytes)
    }
}

/// Plans where data and threads of a recorded program should live. `progress` is told how many references are done, from the
/// first on again where threads may move. The plan does not say which dataset it is from.
///
/// # Errors
/// Threads that have no bindings, pages that fit nowhere, or a damaged dataset.
pub fn plan(
    reader: &DatasetReader,
    asked: &PlanRequest<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Plan, PlannerError> {
    let unit = reader.manifest().sampling.as_ref().map(|s| s.unit);
    let blind_to_caches = unit == Some(SampleUnit::Reference) && asked.machine.sections.caches.is_some();
    let chooser = HomeChooser {
        machine: asked.machine,
        distances: Distances::of(asked.machine),
        rule: asked.rule,
        page_bytes: asked.page_bytes,
        capacity: asked.capacity.map(<[u64]>::to_vec),
        margin_percent: if blind_to_caches { MARGIN_PERCENT } else { 0 },
        sample_weight: sample_weight(unit, asked.rule),
    };
    let planner = Planner {
        reader,
        keys: keys::Keys::new(reader),
        table: ObjectTable::build(reader.manifest(), reader.events(), reader.symbols()),
        chooser,
        bandwidths: asked.bandwidths,
        huge: huge::HugeRanges::of(reader.manifest(), reader.events()),
    };
    planner.plan(asked, progress)
}

/// References or samples of a recording.
fn refs(reader: &DatasetReader) -> u64 {
    (0..reader.threads()).map(|t| reader.refs(t)).sum()
}

/// Windows weigh by their spacing, which finds owners better than counting; but the filters of the thesis have thresholds in
/// numbers of samples, so they get numbers.
fn sample_weight(unit: Option<SampleUnit>, rule: &Rule) -> u32 {
    let counting = rule.to_string().starts_with("filtered");
    if unit == Some(SampleUnit::Window) && !counting { spacing::WHOLE } else { 1 }
}

struct Planner<'a> {
    reader: &'a DatasetReader,
    keys: keys::Keys,
    table: ObjectTable,
    chooser: HomeChooser<'a>,
    bandwidths: Option<&'a Bandwidths>,
    huge: huge::HugeRanges,
}

/// Homes found for one binding of threads.
struct Decided {
    map: ThreadMap,
    evidence: Evidence,
    units: Vec<Unit>,
    expected: Expected,
    bandwidth: Option<Bandwidth>,
    huge: Option<HugePages>,
}

impl Planner<'_> {
    fn plan(&self, asked: &PlanRequest<'_>, progress: &mut dyn FnMut(u64)) -> Result<Plan, PlannerError> {
        let mut best = self.decide(asked.map, progress)?;
        let mut notes = Vec::new();
        if asked.move_threads {
            best = self.move_threads(best, &mut notes, progress)?;
        }
        notes.extend(self.notes(&best));
        Ok(self.write(best, notes))
    }

    fn decide(&self, rule: Option<&MapRule>, progress: &mut dyn FnMut(u64)) -> Result<Decided, PlannerError> {
        let machine = self.chooser.machine;
        let map = homenode_sim::thread_map(self.reader, machine, rule)?;
        let evidence = evidence::gather(self.reader, &self.table, &self.chooser, &map, progress)?;
        let (mut units, huge) = self.chooser.decide(&evidence, &self.keys, &map, &self.huge)?;
        let traffic = |known| Traffic { chooser: &self.chooser, known, reader: self.reader, map: &map };
        let bandwidth = self.bandwidths.and_then(|known| traffic(known).relieve(&mut units));
        let transfers = evidence.profile.totals.transfer_cost;
        let sum = |price: &dyn Fn(&Unit) -> TotalCost| units.iter().map(price).sum::<TotalCost>();
        let expected = Expected {
            now: sum(&|u| self.chooser.now(u)) + transfers,
            planned: sum(&|u| self.chooser.planned(u)) + transfers,
            best_static: sum(&|u| self.chooser.best(u)) + transfers,
            moving: sum(&|u| self.chooser.moving(u)),
        };
        Ok(Decided { map, evidence, units, expected, bandwidth, huge })
    }

    /// Other bindings if a second replay agrees that they cost less.
    fn move_threads(
        &self,
        start: Decided,
        notes: &mut Vec<String>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Decided, PlannerError> {
        let counts = start.evidence.profile.counts.sorted();
        let pages: Vec<&PageUse> = counts.iter().map(|(_, u)| *u).collect();
        let node_of: Vec<NodeId> = start.map.bindings().iter().map(|s| s.node).collect();
        let active = (0..self.reader.threads()).filter(|t| self.reader.refs(*t) > 0).count();
        let mut bindings = fair_shares(&self.chooser.machine.shape.cores, active);
        // Threads without references sit anywhere and take nobody's place.
        let idle = node_of.len() - active;
        bindings
            .iter_mut()
            .zip(&self.chooser.machine.shape.cores)
            .filter(|(_, c)| **c > 0)
            .for_each(|(s, _)| *s += idle as u64);
        let found = co_optimise(&self.chooser.distances, &pages, &node_of, &bindings);
        if found.node_of == node_of {
            notes.push("threads: no other bindings cost less".to_owned());
            return Ok(start);
        }
        let pairs: BTreeMap<ThreadId, Target> =
            found.node_of.iter().zip(0..).map(|(node, t)| (ThreadId(t), Target::Node(*node))).collect();
        let other = self.decide(Some(&MapRule::Pairs(pairs)), progress)?;
        if other.expected.planned < start.expected.planned {
            let gain = 100.0 * (1.0 - other.expected.planned.ratio_to(start.expected.planned));
            notes.push(format!("threads: other bindings cost {gain:.1} % less than the map's"));
            return Ok(Decided { expected: Expected { now: start.expected.now, ..other.expected }, ..other });
        }
        notes.push("threads: other bindings looked better but cost more behind the caches".to_owned());
        Ok(start)
    }

    fn notes(&self, d: &Decided) -> Vec<String> {
        let mut notes: Vec<String> = d.map.warnings();
        notes.push("costs come from the machine model; nothing was timed".to_owned());
        notes.extend(d.evidence.dealt.clone());
        if let Some(s) = &self.reader.manifest().sampling {
            let sources = d.evidence.profile.totals.sampled.iter().flat_map(|t| &t.sources);
            let known = sources.into_iter().any(|row| row.source == DataSource::FirstTouch);
            let first = if known { "" } else { "first touch is that of the first sample; " };
            notes.push(format!("sampled by {}: {first}only ratios of costs mean something", s.event));
            if s.unit == SampleUnit::Window {
                notes.push(
                    "windows show the first toucher only: a page that several nodes use may look private".to_owned(),
                );
            }
        }
        if d.huge.is_none() {
            notes.extend(huge::note(&d.evidence.profile.counts, &self.chooser, &d.map));
        }
        notes
    }

    fn write(&self, d: Decided, notes: Vec<String>) -> Plan {
        let builder =
            RangeBuilder { chooser: &self.chooser, evidence: &d.evidence, keys: &self.keys, table: &self.table };
        let manifest = self.reader.manifest();
        let mut plan = Plan::new(&self.chooser.machine.name);
        plan.cores.clone_from(&self.chooser.machine.shape.cores);
        plan.page_bytes = self.chooser.page_bytes;
        plan.unit = self.chooser.machine.unit.to_string();
        plan.expected = d.expected;
        (plan.bandwidth, plan.huge) = (d.bandwidth, d.huge);
        plan.modules = self.keys.modules.clone();
        plan.threads = self.pins(&d.map);
        plan.unplaceable = builder.unplaceable(&d.units);
        plan.evidence.backend = manifest.backend.clone();
        plan.evidence.sampled = manifest.sampling.is_some();
        plan.evidence.counts = self.counted_words().to_owned();
        plan.evidence.counted =
            d.evidence.profile.counts.sorted().iter().map(|(_, u)| u.total()).fold(0, u64::saturating_add);
        plan.evidence.rule = self.chooser.rule.to_string();
        plan.evidence.notes = notes;
        plan.evidence.command.clone_from(&manifest.command);
        let covered = warn::covered(&d.units);
        plan.evidence.covered = Some(covered);
        plan.evidence.warnings = warn::warnings(&warn::Basis {
            manifest,
            refs: refs(self.reader),
            counted: plan.evidence.counted,
            covered,
            units: &d.units,
            unplaceable: &plan.unplaceable,
        });
        let silent = match &manifest.sampling {
            Some(_) => estimate::silent(&d.units, &self.keys, &self.table, self.chooser.page_bytes),
            None => Vec::new(),
        };
        plan.entries = builder.entries(&d.units, &silent);
        plan
    }

    fn counted_words(&self) -> &'static str {
        match self.reader.manifest().sampling.as_ref().map(|s| s.unit) {
            None if self.chooser.machine.sections.caches.is_some() => "memory accesses behind the caches",
            None => "references",
            Some(SampleUnit::Reference) => "sampled references",
            Some(SampleUnit::Miss) => "sampled misses",
            Some(SampleUnit::Window) if self.chooser.sample_weight == 1 => "windows",
            Some(SampleUnit::Window) => "sixteenths of windows, weighed by their spacing",
        }
    }

    fn pins(&self, map: &ThreadMap) -> Vec<ThreadPin> {
        let named = (0..).zip(map.bindings()).zip(&self.keys.paths);
        let active = named.filter(|((t, _), _)| self.reader.refs(*t) > 0);
        active
            .filter_map(|((thread, binding), path)| Some(ThreadPin { thread, path: path.clone()?, cpu: binding.cpu.0 }))
            .collect()
    }
}
