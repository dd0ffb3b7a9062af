//! Runs of a recording, kept where a run that is killed can be taken up.
use super::program::{LIST, Listed, Recorded};
use super::settings::{self, Setting};
use homenode_cluster::{Bound, Question, Row, run};
use homenode_command::Failure;
use homenode_command::gaps::Source;
use homenode_hlrc::steps;
use homenode_judging::work::together;
use homenode_reproducing::elsewhere::{Elsewhere, Unit};
use homenode_timed::engine::Options;
use homenode_trace::dataset::DatasetReader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What came of one run, in cycles of all processors where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Cycles from the first that counts to the last.
    pub(super) cycles: u64,
    /// Of one processor.
    pub(super) sequential: u64,
    /// Processors.
    pub(super) processors: u64,
    pub(super) compute: u64,
    pub(super) local: u64,
    pub(super) data: u64,
    pub(super) lock: u64,
    pub(super) barrier: u64,
    pub(super) interrupted: u64,
    pub(super) protection: u64,
    pub(super) diffs: u64,
    pub(super) twins: u64,
    /// Calls that protect pages.
    pub(super) protections: u64,
    pub(super) fetches: u64,
    pub(super) faults: u64,
    pub(super) messages: u64,
    pub(super) interrupts: u64,
    /// Share of the run in percent that the busiest bus, I/O bus, interface out, link, interface in is at work.
    pub(super) used: [f64; 5],
    /// References.
    pub(super) refs: u64,
}

impl Outcome {
    fn of(row: &Row) -> Outcome {
        let mut used = [0.0; 5];
        for (used, server) in used.iter_mut().zip(&row.servers) {
            *used = 100.0 * server.busiest as f64 / row.cycles.max(1) as f64;
        }
        Outcome {
            cycles: row.cycles,
            sequential: row.sequential,
            processors: u64::from(row.nodes) * u64::from(row.processors),
            compute: row.compute,
            local: row.local,
            data: row.data,
            lock: row.lock,
            barrier: row.barrier,
            interrupted: row.interrupted,
            protection: row.work.protection,
            diffs: row.work.diffs,
            twins: row.work.twins,
            protections: row.counts.protections,
            fetches: row.counts.fetches,
            faults: row.pages.iter().map(|p| p.faults).sum(),
            messages: row.counts.messages,
            interrupts: row.interrupts.all(),
            used,
            refs: row.refs,
        }
    }
    /// Times that one processor takes over what the cluster takes.
    pub(super) fn speedup(&self) -> f64 {
        self.sequential as f64 / self.cycles.max(1) as f64
    }
    /// Speedup if processors only computed and waited for their own memory.
    pub(super) fn ideal(&self) -> f64 {
        (self.sequential * self.processors) as f64 / (self.compute + self.local).max(1) as f64
    }
    /// Percent of the time of all processors.
    pub(super) fn share(&self, cycles: u64) -> f64 {
        100.0 * cycles as f64 / (self.cycles * self.processors).max(1) as f64
    }
}

/// Runs of a program, of one or more recordings with different numbers of threads.
pub(super) struct Runs {
    /// The program.
    pub(super) listed: &'static Listed,
    outcomes: BTreeMap<Setting, Outcome>,
    /// Speedup on 16 processors that share memory in hardware; not a number if that was not run.
    pub(super) hardware: f64,
}

impl Runs {
    /// None yet.
    pub(super) fn new(listed: &'static Listed) -> Runs {
        Runs { listed, outcomes: BTreeMap::new(), hardware: f64::NAN }
    }
    /// Has others run a recording by all these settings, but for what an earlier run found: [`Runs::add`] finds it then.
    ///
    /// # Errors
    /// A run that fails, or results that cannot be kept.
    pub(super) fn fetch(
        recorded: &mut Recorded,
        elsewhere: &dyn Elsewhere,
        settings: &[Setting],
    ) -> Result<(), Failure> {
        let unit = |run: &str| Unit {
            paper: super::SPEC.name.into(),
            program: recorded.listed.name.into(),
            recording: recorded.path.clone(),
            run: run.into(),
        };
        let names: Vec<String> = settings.iter().map(Setting::name).collect();
        recorded.results.fetch(elsewhere, &names, unit)
    }
    /// Runs a recording by all these settings, as many at a time as there are processors, but for what an earlier run found.
    ///
    /// # Errors
    /// A recording that cannot be run, or results that cannot be kept.
    pub(super) fn add(&mut self, recorded: &Recorded, settings: &[Setting]) -> Result<(), Failure> {
        let mut bindings: Vec<_> = settings.iter().map(Setting::binding).collect();
        bindings.sort_unstable();
        bindings.dedup();
        let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let bounds: Vec<Mutex<Option<Bound<'_>>>> = bindings.iter().map(|_| Mutex::new(None)).collect();
        let work = || -> Result<(), Failure> {
            let source = Source::new(&recorded.reader, 1.0);
            while let Some(setting) = settings.get(next.fetch_add(1, Ordering::Relaxed)) {
                let name = setting.name();
                let outcome = match recorded.results.get(&name) {
                    Some(known) => known,
                    None => {
                        let at = bindings.iter().position(|b| *b == setting.binding()).unwrap_or(0);
                        let bound = bound(&bounds[at], recorded.listed, &recorded.reader, setting, &source)?;
                        let outcome = ran(&bound, setting, &source)?;
                        let kept = recorded.results.keep(&name, &outcome);
                        kept.map_err(|e| Failure::work(format!("cannot keep a result: {e}")))?;
                        outcome
                    }
                };
                found.lock().expect("nobody panics while adding one").insert(setting.clone(), outcome);
            }
            Ok(())
        };
        together(work).into_iter().collect::<Result<(), Failure>>()?;
        self.outcomes.append(&mut found.into_inner().expect("nobody panics while adding one"));
        Ok(())
    }
    /// What came of a setting, if it was run.
    pub(super) fn get(&self, setting: &Setting) -> Option<&Outcome> {
        self.outcomes.get(setting)
    }
    /// Speedup of a setting; not a number if it was not run.
    pub(super) fn speedup(&self, setting: &Setting) -> f64 {
        self.get(setting).map_or(f64::NAN, Outcome::speedup)
    }
    /// Cycles of a setting; not a number if it was not run.
    pub(super) fn cycles(&self, setting: &Setting) -> f64 {
        self.get(setting).map_or(f64::NAN, |o| o.cycles as f64)
    }
}

/// A binding of a recording with what the setting changes; made once for all settings that have it in common.
fn bound<'d>(
    shared: &Mutex<Option<Bound<'d>>>,
    listed: &Listed,
    reader: &'d DatasetReader,
    setting: &Setting,
    source: &Source<'d>,
) -> Result<Bound<'d>, Failure> {
    let mut shared = shared.lock().expect("nobody panics while binding");
    if shared.is_none() {
        let options = Options { phase: Some(listed.phase.to_owned()), ..Options::default() };
        let question = Question { machine: &setting.machine()?, map: None, options, checks: false, faults: None };
        let name = listed.name;
        let failed = |e| Failure::work(format!("{name}: {e}"));
        *shared = Some(question.bind(reader, source.run()).map_err(failed)?);
    }
    let Some(bound) = shared.as_ref() else { return Err(Failure::work("nothing is bound")) };
    Ok(bound.with(&setting.what_ifs()?))
}

fn ran(bound: &Bound<'_>, setting: &Setting, source: &Source<'_>) -> Result<Outcome, Failure> {
    let step = steps::find(setting.step).ok_or_else(|| Failure::work(format!("no step '{}'", setting.step)))?;
    let row = run(bound, step, || source.run()).map_err(|e| Failure::work(format!("{}: {e}", setting.name())))?;
    Ok(Outcome::of(&row))
}

/// Does one run of a recording.
///
/// # Errors
/// A run or recording that there is not, or that fails.
pub(super) fn carry_out(unit: &Unit) -> Result<String, Failure> {
    let listed = LIST.iter().find(|l| l.name == unit.program);
    let setting = settings::all().into_iter().find(|s| s.name() == unit.run);
    let (Some(listed), Some(setting)) = (listed, setting) else {
        return Err(Failure::usage(format!("bilas has no run '{}' of {}", unit.run, unit.program)));
    };
    let opened = homenode_command::dataset::open(&unit.recording)?;
    let source = Source::new(&opened.reader, 1.0);
    let bound = bound(&Mutex::new(None), listed, &opened.reader, &setting, &source)?;
    serde_json::to_string(&ran(&bound, &setting, &source)?).map_err(Failure::work)
}
