//! A study with its machines, policies and traces found.
use crate::digest;
use crate::request::{StudySource, Text};
use crate::spec::{Disturbance, Point, Study};
use crate::task::AnalysisTask;
use homenode_base::NodeId;
use homenode_command::Failure;
use homenode_command::dataset::{Opened, open, refs};
use homenode_machine::{BindingSummary, Machine, ThreadMap, ThreadTable};
use homenode_realign::Rule;
use homenode_sim::{ReplayOptions, ThreadBinding};
use homenode_study::{Question, Want};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::OrderKind;
use homenode_trace::{Counting, Sampling};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A dataset of the study.
pub(crate) struct Trace {
    /// As the study names it.
    pub(crate) label: String,
    pub(crate) path: PathBuf,
    pub(crate) digest: String,
    pub(crate) refs: u64,
    /// Threads, as they are bound.
    thread_table: ThreadTable,
    /// Address space of each thread.
    spaces: Vec<u32>,
    pub(crate) sampled: Option<Counting>,
    /// Open for as long as the study is; of clusters alone, which share what they know of a recording.
    reader: OnceLock<DatasetReader>,
}

/// A study, its text and its traces.
pub struct ResolvedStudy {
    /// What is asked.
    pub study: Study,
    /// As it was asked.
    pub text: Text,
    pub(crate) traces: Vec<Trace>,
    /// Digest of everything that the table depends on.
    pub digest: String,
}

/// One trace in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replay {
    pub(crate) trace: usize,
    /// Seed of the recorded order; the model order if absent.
    pub(crate) seed: Option<u64>,
    /// What is done to that order.
    pub(crate) disturbance: Option<Disturbance>,
    /// Whether it is of references to shared memory alone, for protocols of page coherence.
    pub(crate) shared: bool,
    /// How these are realigned, and for which block size, if not for all.
    pub(crate) realigned: Option<(Rule, Option<u64>)>,
}

impl ResolvedStudy {
    /// Reads the study and opens its traces; all of them are read once, for their digests.
    ///
    /// # Errors
    /// A study that cannot be, a trace that cannot be read.
    pub fn load(asked: &StudySource) -> Result<ResolvedStudy, Failure> {
        ResolvedStudy::from_text(asked.text()?, None)
    }

    /// Resolves the study of `text`; a worker is told the digest (`known`).
    pub(crate) fn from_text(text: Text, known: Option<String>) -> Result<ResolvedStudy, Failure> {
        let study = text.study()?;
        let traces = study.traces.iter().map(|label| Trace::load(&text, label, known.is_none()));
        let traces = traces.collect::<Result<Vec<Trace>, Failure>>()?;
        if let Some(t) = traces.iter().find(|t| t.sampled.is_some() && !study.disturbances.is_empty()) {
            let why = "is sampled: the order of samples says nothing about that of references, so disturbing it does not either";
            return Err(Failure::input(format!("{} {why}; leave perturb out", t.label)));
        }
        let digest = match known {
            Some(known) => known,
            None => digest::study(&study, &digests(&study, &traces)?),
        };
        Ok(ResolvedStudy { study, text, traces, digest })
    }

    /// Rows of the table, at most.
    pub(crate) fn points(&self) -> u128 {
        let of_clusters = self.study.cluster_rows().saturating_mul(self.traces.len() as u128);
        self.study.points().saturating_add(of_clusters)
    }

    /// All replays, trace by trace; none if nothing is asked of them.
    pub(crate) fn replays(&self) -> Vec<Replay> {
        let study = &self.study;
        if study.points() == 0 {
            return Vec::new();
        }
        let seeds: Vec<Option<u64>> = match &study.seeds {
            None => vec![None],
            Some(seeds) => seeds.iter().copied().map(Some).collect(),
        };
        let mut all = Vec::new();
        for trace in 0..self.traces.len() {
            for &seed in &seeds {
                let disturbances = std::iter::once(None).chain(study.disturbances.iter().copied().map(Some));
                for disturbance in disturbances {
                    let replay = Replay { trace, seed, disturbance, shared: false, realigned: None };
                    all.extend(study.asks_placement().then_some(replay));
                    let shared = Replay { shared: true, ..replay };
                    all.extend((!study.protocols.is_empty()).then_some(shared));
                    all.extend(self.realigned().map(|r| Replay { realigned: Some(r), ..shared }));
                }
            }
        }
        all
    }

    /// Each realignment, with the block size it is for if each has its own.
    fn realigned(&self) -> impl Iterator<Item = (Rule, Option<u64>)> + use<'_> {
        self.study.realign.iter().flat_map(|realign| {
            let sizes: Vec<Option<u64>> = match realign.page_bytes() {
                Some(_) => vec![None],
                None => self.study.blocks.iter().copied().map(Some).collect(),
            };
            sizes.into_iter().map(|size| (*realign, size))
        })
    }

    /// All that is to be analysed, trace by trace.
    pub(crate) fn examinations(&self) -> Vec<AnalysisTask> {
        let of = |trace| (0..self.study.analyses.len()).map(move |analysis| AnalysisTask { trace, analysis });
        (0..self.traces.len()).flat_map(of).collect()
    }

    /// A trace as analyses see it: the first merge, undisturbed.
    pub(crate) fn plain_replay(&self, trace: usize) -> Replay {
        let seed = self.study.seeds.as_ref().and_then(|s| s.first().copied());
        Replay { trace, seed, disturbance: None, shared: false, realigned: None }
    }

    /// Whether every machine can be, and protocols can be asked about if they are.
    pub(crate) fn check_points(&self) -> Result<(), Failure> {
        let prices = |m: &Machine| m.sections.coherence.is_some();
        if !self.study.protocols.is_empty() {
            if !self.representatives()?.iter().any(prices) {
                let why = "no machine has prices for protocols of page coherence: name markatos, or write a [coherence] table into \
                           a machine file (docs/machines.md)";
                return Err(Failure::usage(why));
            }
            if let Some(t) = self.traces.iter().find(|t| t.sampled.is_some()) {
                let why = "is sampled: protocols of page coherence need the order of all references";
                return Err(Failure::usage(format!("{} {why}", t.label)));
            }
            for trace in &self.traces {
                self.representatives()?.iter().try_for_each(|m| self.bindings(trace, m).map(drop))?;
            }
            self.check_realigned()?;
        }
        (0..self.study.machine_count()).try_for_each(|i| self.point(i).map(drop))
    }

    /// Where words go depends on the processors of threads, so they must be the same on all machines with prices.
    fn check_realigned(&self) -> Result<(), Failure> {
        let machines = self.representatives()?;
        let priced: Vec<&Machine> = machines.iter().filter(|m| m.sections.coherence.is_some()).collect();
        for trace in self.traces.iter().filter(|_| !self.study.realign.is_empty()) {
            let nodes = |m: &Machine| -> Result<Vec<NodeId>, Failure> {
                Ok(self.bindings(trace, m)?.iter().map(|b| b.node).collect())
            };
            let first = nodes(priced[0])?;
            for other in &priced[1..] {
                if nodes(other)? != first {
                    let (a, b) = (&priced[0].name, &other.name);
                    let why =
                        "threads have other processors there, so words go elsewhere; ask about one of them at a time";
                    return Err(Failure::usage(format!("realign: machines {a} and {b}: {why}")));
                }
            }
        }
        Ok(())
    }

    /// The bindings by which words are realigned: those of the first machine with prices.
    pub(crate) fn realigning_bindings(&self, trace: usize) -> Result<Vec<ThreadBinding>, Failure> {
        let machines = self.representatives()?;
        let priced = machines.iter().find(|m| m.sections.coherence.is_some());
        let priced = priced.ok_or_else(|| Failure::usage("realign: no machine has prices for protocols"))?;
        self.bindings(&self.traces[trace], priced)
    }

    pub(crate) fn point(&self, number: u128) -> Result<Point, Failure> {
        self.study.point(number).map_err(|e| self.text.blame(&e))
    }

    /// What is asked of a replay about these machines.
    pub(crate) fn question(&self, replay: Replay, machines: Vec<Machine>) -> Result<Question, Failure> {
        let trace = &self.traces[replay.trace];
        let bindings = machines.iter().map(|m| self.bindings(trace, m)).collect::<Result<Vec<_>, Failure>>()?;
        let study = &self.study;
        let mut question = Question::new(machines, bindings, study.blocks.clone());
        if replay.shared {
            question.protocols.clone_from(&study.protocols);
            question.counters = study.counters;
            if let Some((_, Some(block))) = replay.realigned {
                question.blocks = vec![block];
            }
        } else {
            question.policies.clone_from(&study.policies);
            question.best_static = study.best_static;
            question.without_replication = study.without_replication;
            question.with_replication = study.with_replication;
        }
        question.start = study.start;
        question.options =
            ReplayOptions { charge_spins: study.charge_spins, sampled: trace.sampled, ..ReplayOptions::default() };
        Ok(question)
    }

    /// The machines with these numbers.
    pub(crate) fn machines(&self, numbers: Range<u128>) -> Result<Vec<Machine>, Failure> {
        numbers.map(|i| self.point(i).map(|p| p.machine)).collect()
    }

    /// One machine of each set: what machines of a set have in common is all that a partition depends on.
    pub(crate) fn representatives(&self) -> Result<Vec<Machine>, Failure> {
        let first = |set: &crate::spec::MachineSet| set.point(0).map_err(|e| self.text.blame(&e));
        self.study.machines.iter().map(|set| first(set).map(|p| p.machine)).collect()
    }

    fn bindings(&self, trace: &Trace, machine: &Machine) -> Result<Vec<ThreadBinding>, Failure> {
        let map = ThreadMap::new(machine, self.study.map.as_ref(), &trace.thread_table);
        let map = map.map_err(|e| Failure::usage(format!("map: {}: {e}", trace.label)))?;
        self.check_processors(trace, machine, map.summary())?;
        Ok(homenode_sim::bindings(&map, |t| trace.spaces[t as usize]))
    }

    /// Protocols of page coherence are between processors with one thread each at a time.
    fn check_processors(&self, trace: &Trace, machine: &Machine, bound: &BindingSummary) -> Result<(), Failure> {
        if self.study.protocols.is_empty() || machine.sections.coherence.is_none() || bound.shared_cpus == 0 {
            return Ok(());
        }
        let (label, name, cpus, threads) = (&trace.label, &machine.name, bound.cpus, bound.most_at_once);
        let what = if threads > cpus {
            format!("{threads} threads run at once, more than the {cpus} processors of machine {name}")
        } else {
            format!("the thread map puts several threads at once on a processor of machine {name}")
        };
        let instead =
            "protocols of page coherence need a processor for each: name a machine file with more of them in cores";
        Err(Failure::usage(format!("{label}: {what}; {instead}, or another map")))
    }

    /// Whether the parts of an optimum are wanted anywhere.
    pub(crate) fn wants_parts(&self) -> bool {
        [self.study.best_static, self.study.with_replication, self.study.without_replication].contains(&Want::Parts)
    }
}

/// Name of each trace, and digest of what its rows depend on: on clusters on instructions between references, too.
fn digests(study: &Study, traces: &[Trace]) -> Result<Vec<(String, String)>, Failure> {
    let of = |t: &Trace| {
        let programs = if study.clusters.is_empty() { String::new() } else { digest::programs(t.reader()?)? };
        Ok((t.label.clone(), format!("{}{programs}", t.digest)))
    };
    traces.iter().map(of).collect()
}

impl Trace {
    fn load(text: &Text, label: &str, digested: bool) -> Result<Trace, Failure> {
        let path = text.base.join(label);
        let Opened { store, reader } = open(&path)?;
        let digest = if digested { digest::dataset(&store, &path)? } else { String::new() };
        Ok(Trace {
            label: label.to_owned(),
            digest,
            refs: refs(&reader),
            thread_table: homenode_sim::thread_table(&reader),
            spaces: (0..reader.threads()).map(|t| reader.address_space(t)).collect(),
            sampled: reader.manifest().sampling.as_ref().map(Sampling::counting),
            path,
            reader: OnceLock::new(),
        })
    }

    /// The recording, opened once.
    pub(crate) fn reader(&self) -> Result<&DatasetReader, Failure> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let opened = self.open()?;
        Ok(self.reader.get_or_init(|| opened))
    }

    pub(crate) fn open(&self) -> Result<DatasetReader, Failure> {
        open(&self.path).map(|o| o.reader)
    }
}

impl Replay {
    pub(crate) fn order(self) -> OrderKind {
        self.seed.map_or(OrderKind::Model, |seed| OrderKind::Recorded { seed })
    }
    /// How words are realigned, and for which simulated pages if that matters.
    pub(crate) fn realignment(self) -> Option<(Rule, u64)> {
        self.realigned.map(|(rule, block)| (rule, block.or(rule.page_bytes()).unwrap_or_default()))
    }
    /// What is done to the order, in words.
    pub(crate) fn disturbed(self) -> Option<String> {
        let d = self.disturbance?;
        Some(format!("{}, synchronisation {}, seed {}", d.filter.name(), d.sync.name(), d.seed))
    }
}
