//! Doing one task; and the worker process, which does those it reads from its standard input.
use super::folder::{self, Folder};
use super::loaded::{Loaded, Replay};
use super::plan::{Examination, Plan, Task, Unit, batches};
use super::spill::{FileSpill, FileStore};
use super::{WORKER_BYTES_MIN, analyses, answers};
use homenode_base::VirtualTime;
use homenode_command::{Failure, output};
use homenode_study::analyses::{Perturber, Refused, Source};
use homenode_study::{Layout, Partition, Partitioner, Question, StudyError, answer};
use homenode_sys::clock::ThreadClock;
use homenode_sys::dir::create_new;
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Consumer, drive};
use homenode_trace::{Event, Merged, TraceError};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Memory of a worker that is not records: the program itself, frames being decoded, writing buffers.
const OTHER_BYTES: u64 = 40 << 20;
/// What folding one 32-bit word of a region takes at its worst, in bytes: measured, with every record a step of its own.
const FOLD_BYTES: u64 = 64;
/// Smallest regions that are made, unless blocks are larger: each has a buffer of its own.
const REGION_BYTES_MIN: u64 = 4096;
/// References between two reports of progress.
const REPORT_REFS: u64 = 1 << 20;

/// Somebody who does tasks.
pub(super) struct Worker<'a> {
    loaded: &'a Loaded,
    folder: &'a Folder,
    memory_bytes: u64,
    /// The partition that the last unit was about.
    opened: Option<(usize, Plan, Partition)>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(loaded: &'a Loaded, folder: &'a Folder, memory_bytes: u64) -> Worker<'a> {
        Worker { loaded, folder, memory_bytes, opened: None }
    }

    /// Does a task; `told` hears how many references a partition has taken so far.
    pub(super) fn carry_out(&mut self, task: Task, told: &mut dyn FnMut(u64)) -> Result<(), Failure> {
        match task {
            Task::Partition(replay) => self.partition(replay, told),
            Task::Unit(unit) => self.unit(unit),
            Task::Analysis(examination) => self.analysis(examination),
        }
    }

    fn partition(&mut self, number: usize, told: &mut dyn FnMut(u64)) -> Result<(), Failure> {
        self.opened = None;
        let clock = ThreadClock::start();
        let replay = self.loaded.replays()[number];
        let question = self.loaded.question(replay, self.loaded.representatives()?)?;
        let to = path(self.folder, number);
        let trace = &self.loaded.traces[replay.trace];
        let reader = trace.open()?;
        let mut source = |consumer: &mut dyn Consumer| drive_disturbed(&reader, replay, &question, consumer);
        let partition =
            self.partition_of(&question, &to, &mut source, told).map_err(|e| self.refused(&trace.path, e))?;
        write(&partition, &to).map_err(|e| self.blame(e))?;
        let sampled = question.options.sampled.is_some();
        let plan = Plan::new(&self.loaded.digest, &partition, sampled, clock.seconds());
        plan.write(self.folder, number)
    }

    /// Cuts what the source gives; what does not fit into memory goes to a file beside `to`.
    pub(super) fn partition_of(
        &self,
        question: &Question,
        to: &Path,
        source: &mut Source<'_>,
        told: &mut dyn FnMut(u64),
    ) -> Result<Partition, Refused> {
        let partition = self.cut(question, to, None, source, told)?;
        // A region is folded as a whole. Where one is too busy for that, smaller regions have less in each.
        let busiest = (0..partition.regions()).map(|r| partition.weight(r)).max().unwrap_or(0);
        let least = question.blocks.last().copied().unwrap_or(REGION_BYTES_MIN).max(REGION_BYTES_MIN);
        // Not so with samples: there are few, and their intervals are drawn from groups of regions.
        let sampled = question.options.sampled.is_some();
        if sampled || busiest.saturating_mul(FOLD_BYTES) <= self.budget() || least >= partition.region_bytes() {
            return Ok(partition);
        }
        drop(partition);
        self.cut(question, to, Some(least), source, told)
    }

    fn analysis(&self, examination: Examination) -> Result<(), Failure> {
        let clock = ThreadClock::start();
        let tables = analyses::run(self, self.loaded, self.folder, examination)?;
        analyses::keep(self.folder, &self.loaded.digest, examination, clock.seconds(), tables)
    }

    /// The question, folded in no more memory than there is.
    pub(super) fn within_memory(&self, question: Question) -> Question {
        Question { fold_bytes: question.fold_bytes.min(self.budget() as usize / 2), ..question }
    }

    /// Bytes of records that may be in memory.
    fn budget(&self) -> u64 {
        self.memory_bytes.saturating_sub(OTHER_BYTES).max(WORKER_BYTES_MIN / 6)
    }

    fn cut(
        &self,
        question: &Question,
        to: &Path,
        region_bytes: Option<u64>,
        source: &mut Source<'_>,
        told: &mut dyn FnMut(u64),
    ) -> Result<Partition, Refused> {
        let spill = output::temporary(to).with_extension("spill");
        let unwritten = |e| StudyError::Spill(self.folder.failed("write", &e).message);
        let spill = FileSpill::new(&spill).map_err(unwritten)?;
        let layout = Layout { region_bytes, budget_bytes: self.budget() as usize, spill: Box::new(spill) };
        let partitioner = Partitioner::new(question, layout)?;
        let mut filling = Filling { partitioner, told, refs: 0, reported: 0, failed: None };
        source(&mut filling)?;
        let Filling { partitioner, failed, .. } = filling;
        Ok(failed.map_or_else(|| partitioner.finish(), Err)?)
    }

    fn unit(&mut self, unit: Unit) -> Result<(), Failure> {
        let clock = ThreadClock::start();
        let loaded = self.loaded;
        let machines = loaded.machines(batches(loaded)[unit.batch].clone())?;
        let question = self.within_memory(loaded.question(loaded.replays()[unit.replay], machines)?);
        let answer = self.open(unit.replay).and_then(|(plan, partition)| {
            let regions = plan.groups.get(unit.group).cloned().ok_or_else(|| damaged("it has no such group"))?;
            answer(&question, partition, regions)
        });
        let answer = answer.map_err(|e| self.unreadable(unit.replay, e))?;
        answers::write(self.folder, &loaded.digest, unit, clock.seconds(), &answer)
    }

    /// Whose fault it is that a study cannot be answered.
    fn blame(&self, e: StudyError) -> Failure {
        let folder = self.folder.path().display();
        match e {
            StudyError::Spill(why) => Failure::work(format!(
                "{folder}: {why}; make room there and give the same command again, or choose another folder with -o"
            )),
            StudyError::Damaged(_) => Failure::work(e),
            _ => Failure::usage(e),
        }
    }

    /// Whose fault it is that there is no partition or analysis of the trace.
    pub(super) fn refused(&self, trace: &Path, e: Refused) -> Failure {
        match e {
            Refused::Study(e) => self.blame(e),
            Refused::Trace(e) => Failure { message: format!("{}: {e}", trace.display()), ..e.into() },
            other => Failure::usage(other),
        }
    }

    /// A partition that cannot be read is of no use: without it the next call cuts the trace again.
    fn unreadable(&self, replay: usize, e: StudyError) -> Failure {
        if !matches!(e, StudyError::Damaged(_)) {
            return self.blame(e);
        }
        let (file, name) = (path(self.folder, replay), &self.loaded.traces[self.loaded.replays()[replay].trace].label);
        let again = match folder::remove(&file) {
            Ok(()) => "the same command cuts it again".to_owned(),
            Err(e) => format!("remove {} ({e}), then the same command cuts it again", file.display()),
        };
        Failure::work(format!("what was cut of {name} is damaged ({e}); {again}"))
    }

    fn open(&mut self, replay: usize) -> Result<(&Plan, &Partition), StudyError> {
        if self.opened.as_ref().is_none_or(|(number, ..)| *number != replay) {
            let plan =
                Plan::read(self.folder, &self.loaded.digest, replay).ok_or_else(|| damaged("its plan is gone"))?;
            let store = FileStore::open(&path(self.folder, replay)).map_err(|e| damaged(&e.to_string()))?;
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

/// Gives a replay to a consumer.
fn drive_disturbed(
    reader: &DatasetReader,
    replay: Replay,
    question: &Question,
    consumer: &mut dyn Consumer,
) -> Result<(), TraceError> {
    let order = replay.order();
    let Some(d) = replay.disturbance else { return drive(reader, order, consumer).map(drop) };
    let mut perturber = Perturber::new(d.filter, d.sync, d.seed, &question.seats[0], consumer)
        .expect("a study has the filters of the source, which are in range");
    drive(reader, order, &mut perturber)?;
    perturber.finish();
    Ok(())
}

fn damaged(what: &str) -> StudyError {
    StudyError::Damaged(what.to_owned())
}

/// The file of a partition.
pub(super) fn path(folder: &Folder, replay: usize) -> PathBuf {
    folder.work(&format!("partition-{replay}"))
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
    done.inspect_err(|_| drop(folder::remove(&part)))
}

/// Takes references into a partitioner.
struct Filling<'t> {
    partitioner: Partitioner,
    told: &'t mut dyn FnMut(u64),
    refs: u64,
    reported: u64,
    /// A consumer cannot stop the merge, so the rest is merged for nothing.
    failed: Option<StudyError>,
}

impl Consumer for Filling<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        if self.failed.is_none() {
            self.failed = self.partitioner.refs(refs).err();
        }
        self.refs += refs.len() as u64;
        if self.refs - self.reported >= REPORT_REFS {
            self.reported = self.refs;
            (self.told)(self.refs);
        }
    }
    fn event(&mut self, _: &Event, _: VirtualTime) {}
}

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// References that the partition has taken so far.
    At(u64),
    /// The task is done.
    Done,
    /// It cannot be done: exit status and message.
    Failed(u8, String),
}

/// A worker: reads tasks line by line from `input`, does them in the folder of a sweep, says on `output` what became of
/// them, and ends with its input.
///
/// # Errors
/// The folder is no sweep's, or there is nobody to talk to.
pub fn serve(root: &Path, memory_bytes: u64, input: impl BufRead, mut output: impl Write) -> Result<(), Failure> {
    let folder = Folder::at(root);
    let (text, digest) = folder.study()?;
    let loaded = Loaded::from_text(text, Some(digest))?;
    let mut worker = Worker::new(&loaded, &folder, memory_bytes);
    let lost = |e: std::io::Error| Failure::work(format!("the sweep does not listen any more: {e}"));
    for line in input.lines() {
        let line = line.map_err(lost)?;
        let task: Task = serde_json::from_str(&line).map_err(|e| Failure::work(format!("no task: {e}")))?;
        let mut say = |said: &Said| -> std::io::Result<()> {
            output.write_all(homenode_command::json_line(said).as_bytes())?;
            output.flush()
        };
        // Progress that nobody hears is no reason to stop.
        let done = worker.carry_out(task, &mut |refs| drop(say(&Said::At(refs))));
        let said = done.map_or_else(|f| Said::Failed(f.class.exit_status(), f.message), |()| Said::Done);
        say(&said).map_err(lost)?;
    }
    Ok(())
}
