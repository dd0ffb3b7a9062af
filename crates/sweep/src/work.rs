//! Doing one task; and the worker process, which does those it reads from its standard input.
use crate::clusters::Simulator;
use crate::cut::{Cutter, window_bytes};
use crate::plan::{Plan, batches};
use crate::resolved::ResolvedStudy;
use crate::spill::FileStore;
use crate::store::{self, ResultStore};
use crate::task::{AnalysisTask, ClusterTask, Task, Unit};
use crate::{analyses, answers, clusters};
use homenode_command::{Failure, output};
use homenode_realign::{Opening, Private};
use homenode_sim::Objects;
use homenode_sim::names::NameTable;
use homenode_sim::shared::Start;
use homenode_study::analyses::{AnalysisError, Perturbed};
use homenode_study::{Partition, SharedRefs, StudyError, answer};
use homenode_sys::clock::ThreadClock;
use homenode_sys::dir::create_new;
use homenode_trace::TraceError;
use homenode_trace::order::{Again, Source};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Does tasks in a store.
pub struct Worker<'a> {
    cutter: Cutter<'a>,
    /// The partition that the last unit was about.
    opened: Option<(usize, Plan, Partition)>,
    simulator: Simulator<'a>,
}

impl<'a> Worker<'a> {
    /// One with so much memory, in bytes.
    pub fn new(resolved: &'a ResolvedStudy, store: &'a ResultStore, memory_bytes: u64) -> Worker<'a> {
        Worker { cutter: Cutter { resolved, store, memory_bytes }, opened: None, simulator: Simulator::default() }
    }

    /// Does a task; `told` hears how many references a partition has taken or a cluster has run so far.
    ///
    /// # Errors
    /// What cannot be done, and whose fault that is. A unit needs the partition of its replay.
    pub fn carry_out(&mut self, task: Task, told: &mut dyn FnMut(u64)) -> Result<(), Failure> {
        match task {
            Task::Partition(replay) => self.partition(replay, told),
            Task::Unit(unit) => self.unit(unit),
            Task::Analysis(examination) => self.analysis(examination),
            Task::Cluster(task) => self.cluster(task, told),
        }
    }

    fn partition(&mut self, number: usize, told: &mut dyn FnMut(u64)) -> Result<(), Failure> {
        self.opened = None;
        let clock = ThreadClock::start();
        let replay = self.cutter.resolved.replays()[number];
        let question = self.cutter.resolved.question(replay, self.cutter.resolved.representatives()?)?;
        let to = path(self.cutter.store, number);
        let trace = &self.cutter.resolved.traces[replay.trace];
        let reader = trace.open()?;
        let mut recorded = Again { data: &reader, kind: replay.order() };
        let unread = |e: TraceError| self.cutter.refused(&trace.path, AnalysisError::Trace(e));
        let names = replay.shared.then(|| NameTable::new(&reader)).transpose().map_err(unread)?;
        let mut disturbed;
        let mut source: &mut dyn Source = &mut recorded;
        if let Some(d) = replay.disturbance {
            disturbed = Perturbed::new(d.filter, d.sync, d.seed, &question.bindings[0], source)
                .map_err(|e| self.cutter.refused(&trace.path, e))?;
            source = &mut disturbed;
        }
        let partition = match (&names, replay.realignment()) {
            (None, _) => self.cutter.partition_of(&question, &to, source, told),
            (Some(names), Some((rule, page_bytes))) => {
                let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
                let bindings = self.cutter.resolved.realigning_bindings(replay.trace)?;
                let (objects, bindings, private): (&Start<'_>, _, _) = (&objects, &*bindings, Private::LeftOut);
                let mut moved = rule
                    .open(Opening { source, objects, bindings, page_bytes, private })
                    .map_err(|e| Failure::usage(format!("realign: {e}")))?;
                let memory_bytes = self.cutter.memory_bytes.saturating_sub(window_bytes(rule));
                Cutter { memory_bytes, ..self.cutter }.partition_of(&question, &to, &mut *moved, told)
            }
            (Some(names), None) => {
                let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
                let mut shared = SharedRefs::new(source, &objects, &question.bindings[0]);
                self.cutter.partition_of(&question, &to, &mut shared, told)
            }
        };
        let partition = partition.map_err(|e| self.cutter.refused(&trace.path, e))?;
        write(&partition, &to).map_err(|e| self.cutter.blame(e))?;
        let sampled = question.options.sampled.is_some();
        let plan = Plan::new(&self.cutter.resolved.digest, &partition, sampled, clock.seconds());
        plan.write(self.cutter.store, number)
    }

    fn analysis(&self, examination: AnalysisTask) -> Result<(), Failure> {
        let clock = ThreadClock::start();
        let tables = analyses::run(&self.cutter, examination)?;
        analyses::keep(self.cutter.store, &self.cutter.resolved.digest, examination, clock.seconds(), tables)
    }

    fn cluster(&mut self, task: ClusterTask, told: &mut dyn FnMut(u64)) -> Result<(), Failure> {
        let clock = ThreadClock::start();
        let Cutter { resolved, store, .. } = self.cutter;
        let rows = self.simulator.rows(resolved, task, told)?;
        clusters::keep(store, &resolved.digest, task, clock.seconds(), rows)
    }

    fn unit(&mut self, unit: Unit) -> Result<(), Failure> {
        let clock = ThreadClock::start();
        let resolved = self.cutter.resolved;
        let machines = resolved.machines(batches(resolved)[unit.batch].clone())?;
        let question = self.cutter.within_memory(resolved.question(resolved.replays()[unit.replay], machines)?);
        let answer = self.open(unit.replay).and_then(|(plan, partition)| {
            let regions = plan.groups.get(unit.group).cloned().ok_or_else(|| damaged("it has no such group"))?;
            answer(&question, partition, regions)
        });
        let answer = answer.map_err(|e| self.unreadable(unit.replay, e))?;
        answers::write(self.cutter.store, &resolved.digest, unit, clock.seconds(), &answer)
    }

    /// A partition that cannot be read is of no use: without it the next call cuts the trace again.
    fn unreadable(&self, replay: usize, e: StudyError) -> Failure {
        if !matches!(e, StudyError::Damaged(_)) {
            return self.cutter.blame(e);
        }
        let (file, name) = (
            path(self.cutter.store, replay),
            &self.cutter.resolved.traces[self.cutter.resolved.replays()[replay].trace].label,
        );
        let again = match store::remove(&file) {
            Ok(()) => "the same command cuts it again".to_owned(),
            Err(e) => format!("remove {} ({e}), then the same command cuts it again", file.display()),
        };
        Failure::work(format!("what was cut of {name} is damaged ({e}); {again}"))
    }

    fn open(&mut self, replay: usize) -> Result<(&Plan, &Partition), StudyError> {
        if self.opened.as_ref().is_none_or(|(number, ..)| *number != replay) {
            let plan = Plan::read(self.cutter.store, &self.cutter.resolved.digest, replay)
                .ok_or_else(|| damaged("its plan is gone"))?;
            let store = FileStore::open(&path(self.cutter.store, replay)).map_err(|e| damaged(&e.to_string()))?;
            let partition = Partition::open(Box::new(store))?;
            if plan.groups.last().is_none_or(|g| g.end != partition.regions()) {
                return Err(damaged("its plan is that of another"));
            }
            self.opened = Some((replay, plan, partition));
        }
        let (_, plan, partition) = self.opened.as_ref().expect("it was opened just now");
        Ok((plan, partition))
    }
}

fn damaged(what: &str) -> StudyError {
    StudyError::Damaged(what.to_owned())
}

/// The file of a partition.
pub(crate) fn path(store: &ResultStore, replay: usize) -> PathBuf {
    store.work(&format!("partition-{replay}"))
}

/// Writes the partition whole or not at all.
fn write(partition: &Partition, to: &Path) -> Result<(), StudyError> {
    let part = output::temporary(to);
    let io = |e: std::io::Error| format!("cannot write to disk: {e}");
    let done = create_new(&part).map_err(|e| StudyError::Spill(io(e))).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        partition.write(&mut |bytes| out.write_all(bytes).map_err(io))?;
        out.flush().and_then(|()| std::fs::rename(&part, to)).map_err(|e| StudyError::Spill(io(e)))
    });
    // What could not be finished must not stay; that removing it fails too changes nothing for the user.
    done.inspect_err(|_| drop(store::remove(&part)))
}

/// What a worker says to who gave it a task, a line of JSON each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// References that the partition has taken, or the cluster has run, so far.
    At(u64),
    /// The task is done.
    Done,
    /// The task cannot be done: exit status and message.
    Failed(u8, String),
}

/// A worker: reads tasks line by line from `input`, does them in the folder of a sweep, says on `output` what became of
/// them, and ends with its input.
///
/// # Errors
/// The folder is no sweep's, or there is nobody to talk to.
pub fn serve(root: &Path, memory_bytes: u64, input: impl BufRead, mut output: impl Write) -> Result<(), Failure> {
    let store = ResultStore::at(root);
    let (text, digest) = store.study()?;
    let resolved = ResolvedStudy::from_text(text, Some(digest))?;
    let mut worker = Worker::new(&resolved, &store, memory_bytes);
    let lost = |e: std::io::Error| Failure::work(format!("the sweep does not listen any more: {e}"));
    for line in input.lines() {
        let line = line.map_err(lost)?;
        let task: Task = serde_json::from_str(&line).map_err(|e| Failure::work(format!("no task: {e}")))?;
        let mut say = |said: &Message| -> std::io::Result<()> {
            output.write_all(homenode_command::json_line(said).as_bytes())?;
            output.flush()
        };
        // Progress that nobody hears is no reason to stop.
        let done = worker.carry_out(task, &mut |refs| drop(say(&Message::At(refs))));
        let said = done.map_or_else(|f| Message::Failed(f.class.exit_status(), f.message), |()| Message::Done);
        say(&said).map_err(lost)?;
    }
    Ok(())
}
