//! Doing one task; and the worker process, which does those it reads from its standard input.
use super::clock::Clock;
use super::folder::{self, Folder};
use super::loaded::{Loaded, Replay};
use super::plan::{Plan, Task, Unit, batches};
use super::spill::{FileSpill, FileStore};
use super::{WORKER_BYTES_MIN, answers};
use crate::{Failure, output};
use homenode_base::VirtualTime;
use homenode_study::analyses::Perturber;
use homenode_study::{Layout, Partition, Partitioner, Question, StudyError, answer};
use homenode_trace::order::{Consumer, drive};
use homenode_trace::{Event, Merged};
use serde::{Deserialize, Serialize};
use std::fs::File;
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
        }
    }

    fn partition(&mut self, number: usize, told: &mut dyn FnMut(u64)) -> Result<(), Failure> {
        self.opened = None;
        let clock = Clock::start();
        let replay = self.loaded.replays()[number];
        let question = self.loaded.question(replay, self.loaded.representatives()?)?;
        let to = path(self.folder, number);
        let mut partition = self.cut(&question, replay, &to, None, told)?;
        // A region is folded as a whole. Where one is too busy for that, smaller regions have less in each.
        let busiest = (0..partition.regions()).map(|r| partition.weight(r)).max().unwrap_or(0);
        let least = question.blocks.last().copied().unwrap_or(REGION_BYTES_MIN).max(REGION_BYTES_MIN);
        let sampled = self.loaded.traces[replay.trace].sampled.is_some();
        // Not so with samples: there are few, and their intervals are drawn from groups of regions.
        if !sampled && busiest.saturating_mul(FOLD_BYTES) > self.budget() && least < partition.region_bytes() {
            drop(partition);
            partition = self.cut(&question, replay, &to, Some(least), told)?;
        }
        write(&partition, &to)?;
        let plan = Plan::new(&self.loaded.digest, &partition, sampled, clock.seconds());
        plan.write(self.folder, number)
    }

    /// Bytes of records that may be in memory.
    fn budget(&self) -> u64 {
        self.memory_bytes.saturating_sub(OTHER_BYTES).max(WORKER_BYTES_MIN / 6)
    }

    fn cut(
        &self,
        question: &Question,
        replay: Replay,
        to: &Path,
        region_bytes: Option<u64>,
        told: &mut dyn FnMut(u64),
    ) -> Result<Partition, Failure> {
        let spill = output::temporary(to).with_extension("spill");
        let spill = FileSpill::new(&spill).map_err(|e| self.folder.failed("write", &e))?;
        let layout = Layout { region_bytes, budget_bytes: self.budget() as usize, spill: Box::new(spill) };
        let partitioner = Partitioner::new(question, layout).map_err(blame)?;
        let mut filling = Filling { partitioner, told, refs: 0, reported: 0, failed: None };
        let (reader, order) = (self.loaded.traces[replay.trace].open()?, replay.order().kind());
        match replay.disturbance {
            None => drive(&reader, order, &mut filling).map(drop)?,
            Some(d) => {
                let mut perturber = Perturber::new(d.filter, d.sync, d.seed, &question.seats[0], &mut filling)
                    .map_err(Failure::usage)?;
                drive(&reader, order, &mut perturber)?;
                perturber.finish();
            }
        }
        let Filling { partitioner, failed, .. } = filling;
        failed.map_or_else(|| partitioner.finish(), Err).map_err(blame)
    }

    fn unit(&mut self, unit: Unit) -> Result<(), Failure> {
        let clock = Clock::start();
        let loaded = self.loaded;
        let question =
            loaded.question(loaded.replays()[unit.replay], loaded.machines(batches(loaded)[unit.batch].clone())?)?;
        let (plan, partition) = self.open(unit.replay)?;
        let answer = answer(&question, partition, plan.groups[unit.group].clone()).map_err(blame)?;
        answers::write(self.folder, &loaded.digest, unit, clock.seconds(), &answer)
    }

    fn open(&mut self, replay: usize) -> Result<(&Plan, &Partition), Failure> {
        if self.opened.as_ref().is_none_or(|(number, ..)| *number != replay) {
            let gone = || Failure::work(format!("the partition of replay {replay} is gone; start the sweep again"));
            let plan = Plan::read(self.folder, &self.loaded.digest, replay).ok_or_else(gone)?;
            let store = FileStore::open(&path(self.folder, replay)).map_err(|e| self.folder.failed("read", &e))?;
            self.opened = Some((replay, plan, Partition::open(Box::new(store)).map_err(blame)?));
        }
        let (_, plan, partition) = self.opened.as_ref().expect("it was opened just now");
        Ok((plan, partition))
    }
}

/// The file of a partition.
pub(super) fn path(folder: &Folder, replay: usize) -> PathBuf {
    folder.work(&format!("partition-{replay}"))
}

/// Writes the partition whole or not at all.
fn write(partition: &Partition, to: &Path) -> Result<(), Failure> {
    let part = output::temporary(to);
    let io = |e: std::io::Error| format!("cannot write to disk: {e}");
    let done = File::create(&part).map_err(|e| StudyError::Spill(io(e))).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        partition.write(&mut |bytes| out.write_all(bytes).map_err(io))?;
        out.flush().and_then(|()| std::fs::rename(&part, to)).map_err(|e| StudyError::Spill(io(e)))
    });
    done.map_err(|e| {
        // What could not be finished must not stay; that removing it fails too changes nothing for the user.
        let _ = folder::remove(&part);
        blame(e)
    })
}

/// Whose fault it is that a study cannot be answered.
fn blame(e: StudyError) -> Failure {
    match e {
        StudyError::Spill(_) | StudyError::Damaged(_) => Failure::work(e),
        _ => Failure::usage(e),
    }
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
            output.write_all(crate::json_line(said).as_bytes())?;
            output.flush()
        };
        // Progress that nobody hears is no reason to stop.
        let done = worker.carry_out(task, &mut |refs| drop(say(&Said::At(refs))));
        let said = done.map_or_else(|f| Said::Failed(f.class.exit_status(), f.message), |()| Said::Done);
        say(&said).map_err(lost)?;
    }
    Ok(())
}
