//! Who does what next, what is done already, and when to stop.
use crate::plan::{Plan, batches};
use crate::pool::{Broken, KillHandle, Process, Runner};
use crate::request::SweepRequest;
use crate::resolved::ResolvedStudy;
use crate::store::{self, ResultStore};
use crate::task::{ClusterTask, Task, Unit};
use crate::work::{self, Worker};
use crate::{analyses, clusters, pending};
use homenode_command::{Failure, Progress};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often progress is shown and signals are looked for.
const GLANCE: Duration = Duration::from_millis(100);

/// What all runners share.
struct Board<'a> {
    resolved: &'a ResolvedStudy,
    store: &'a ResultStore,
    batches: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    partitions: VecDeque<usize>,
    units: VecDeque<Unit>,
    /// Tasks that need no other: analyses, and runs on clusters.
    single: VecDeque<Task>,
    /// How many of these are done, and of how many; references of those that are done.
    singles: (usize, usize, u64),
    /// References that runs on clusters have done of tasks in progress.
    running: Vec<(ClusterTask, u64)>,
    /// Partitions being made: their units are still to come.
    making: usize,
    /// By replay: references taken by its partition, units done, all its units.
    at: Vec<(u64, usize, usize)>,
    runners: usize,
    /// Units that killed their worker twice.
    lost: Vec<String>,
    fatal: Option<Failure>,
    stop: bool,
}

/// Does everything that is not done yet.
///
/// # Errors
/// Work that cannot be done, workers that die, or a request to stop.
pub(crate) fn run(
    resolved: &ResolvedStudy,
    store: &ResultStore,
    request: &SweepRequest,
    workers: usize,
    progress: &mut dyn Progress,
) -> Result<(), Failure> {
    let board = Board {
        resolved,
        store,
        batches: batches(resolved).len(),
        state: Mutex::new(State { at: vec![(0, 0, 0); resolved.replays().len()], ..State::default() }),
        changed: Condvar::new(),
    };
    for replay in 0..resolved.replays().len() {
        board.find_done(replay)?;
    }
    board.find_singles();
    let memory_bytes = request.memory_bytes / workers as u64;
    let (runners, kill_handles): (Vec<Box<dyn Runner + '_>>, Vec<KillHandle>) = match &request.worker {
        None => (vec![Box::new(Worker::new(resolved, store, memory_bytes))], Vec::new()),
        Some(command) => (0..workers)
            .map(|_| {
                let process = Process::new(command, store, memory_bytes);
                let kill_handle = process.kill_handle();
                (Box::new(process) as Box<dyn Runner>, kill_handle)
            })
            .unzip(),
    };
    board.lock().runners = runners.len();
    // Without handlers (nested use) Ctrl-C just ends the process; what is done is on disk all the same.
    let handles_signals = progress.is_stopped().is_none();
    let stop = handles_signals.then(homenode_sys::signals::StopRequests::install).and_then(Result::ok);
    std::thread::scope(|scope| {
        for runner in runners {
            scope.spawn(|| board.serve(runner));
        }
        board.watch(stop.as_ref(), &kill_handles, progress);
    });
    board.verdict()
}

impl Board<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an earlier call has done of a replay, and what is left.
    fn find_done(&self, replay: usize) -> Result<(), Failure> {
        let left = pending::of_replay(self.resolved, self.store, replay);
        let mut state = self.lock();
        match left {
            Some((left, all)) => {
                state.at[replay] = (self.refs(replay), all - left.len(), all);
                if left.is_empty() {
                    self.drop_partition(replay)?;
                }
                state.units.extend(left);
            }
            None => state.partitions.push_back(replay),
        }
        Ok(())
    }

    /// Tasks that need no other, and which of them an earlier call has done.
    fn find_singles(&self) {
        let digest = &self.resolved.digest;
        let analyses = self.resolved.examinations().into_iter();
        let analyses = analyses.map(|e| (Task::Analysis(e), analyses::is_done(self.store, digest, e)));
        let runs = clusters::tasks(self.resolved).into_iter();
        let runs = runs.map(|t| (Task::Cluster(t), clusters::is_done(self.store, digest, t)));
        for (task, is_done) in analyses.chain(runs) {
            self.lock().singles.1 += 1;
            if is_done {
                self.single_done(task);
            } else {
                self.lock().single.push_back(task);
            }
        }
    }

    /// References that a task which needs no other goes over.
    fn single_refs(&self, task: Task) -> u64 {
        match task {
            Task::Analysis(e) => self.resolved.traces[e.trace].refs,
            Task::Cluster(t) => clusters::refs(self.resolved, t),
            Task::Partition(_) | Task::Unit(_) => 0,
        }
    }

    fn single_done(&self, task: Task) {
        let refs = self.single_refs(task);
        let mut state = self.lock();
        state.singles.0 += 1;
        state.singles.2 += refs;
        state.running.retain(|(t, _)| Task::Cluster(*t) != task);
    }

    /// Progress of a task.
    fn told(&self, task: Task, refs: u64) {
        let mut state = self.lock();
        match task {
            Task::Partition(replay) => state.at[replay].0 = refs,
            Task::Cluster(t) => match state.running.iter_mut().find(|(known, _)| *known == t) {
                Some((_, at)) => *at = refs,
                None => state.running.push((t, refs)),
            },
            Task::Unit(_) | Task::Analysis(_) => {}
        }
    }

    fn refs(&self, replay: usize) -> u64 {
        self.resolved.traces[self.resolved.replays()[replay].trace].refs
    }

    fn drop_partition(&self, replay: usize) -> Result<(), Failure> {
        store::remove(&work::path(self.store, replay)).map_err(|e| self.store.failed("remove work of", &e))
    }

    /// A runner works until nothing is left.
    fn serve(&self, mut runner: Box<dyn Runner + '_>) {
        while let Some(task) = self.next() {
            let mut told = |refs| self.told(task, refs);
            let mut done = runner.carry_out(task, &mut told);
            if matches!(done, Err(Broken::Died(_))) && !self.lock().stop {
                done = runner.carry_out(task, &mut told);
            }
            self.done(task, done);
        }
        drop(runner);
        self.lock().runners -= 1;
        self.changed.notify_all();
    }

    /// Units come before partitions, so that few partitions are on disk at once.
    fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.stop || state.fatal.is_some() {
                return None;
            }
            if let Some(unit) = state.units.pop_front() {
                return Some(Task::Unit(unit));
            }
            if let Some(replay) = state.partitions.pop_front() {
                state.making += 1;
                return Some(Task::Partition(replay));
            }
            if let Some(task) = state.single.pop_front() {
                return Some(task);
            }
            if state.making == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, task: Task, done: Result<(), Broken>) {
        let result = match (done, task) {
            (Ok(()), Task::Partition(replay)) => self.partitioned(replay),
            (Ok(()), Task::Unit(unit)) => self.counted(unit.replay),
            (Ok(()), Task::Analysis(_) | Task::Cluster(_)) => {
                self.single_done(task);
                Ok(())
            }
            (Err(Broken::Failed(failure)), _) => Err(failure),
            (Err(Broken::Died(how)), _) => {
                self.lock().lost.push(format!("{}: the worker {how}", self.words(task)));
                Ok(())
            }
        };
        let mut state = self.lock();
        state.making -= usize::from(matches!(task, Task::Partition(_)));
        if let Err(failure) = result {
            state.fatal.get_or_insert(failure);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// What a task is about, for people.
    fn words(&self, task: Task) -> String {
        let label = |trace: usize| &self.resolved.traces[trace].label;
        let of_replay = |replay: usize| label(self.resolved.replays()[replay].trace);
        match task {
            Task::Partition(replay) => format!("{}, its partition", of_replay(replay)),
            Task::Unit(u) => format!("{}, group {}, batch {}", of_replay(u.replay), u.group, u.batch),
            Task::Analysis(e) => {
                format!("{}, analysis {}", label(e.trace), self.resolved.study.analyses[e.analysis].name)
            }
            Task::Cluster(t) => format!("{}, batch {}", clusters::words(self.resolved, t), t.batch),
        }
    }

    fn partitioned(&self, replay: usize) -> Result<(), Failure> {
        let plan = Plan::read(self.store, &self.resolved.digest, replay);
        let plan = plan.ok_or_else(|| Failure::work("a partition was made and its plan is not there"))?;
        let units: Vec<Unit> = plan.units(replay, self.batches).collect();
        let mut state = self.lock();
        state.at[replay] = (self.refs(replay), 0, units.len());
        state.units.extend(units);
        Ok(())
    }

    fn counted(&self, replay: usize) -> Result<(), Failure> {
        let (_, done, all) = {
            let mut state = self.lock();
            state.at[replay].1 += 1;
            state.at[replay]
        };
        if done == all { self.drop_partition(replay) } else { Ok(()) }
    }

    /// Shows progress and looks for signals until all runners are done.
    fn watch(
        &self,
        stop: Option<&homenode_sys::signals::StopRequests>,
        kill_handles: &[KillHandle],
        progress: &mut dyn Progress,
    ) {
        let single = self.resolved.examinations().into_iter().map(Task::Analysis);
        let single = single.chain(clusters::tasks(self.resolved).into_iter().map(Task::Cluster));
        let single = single.map(|task| self.single_refs(task)).sum::<u64>();
        let total = (0..self.resolved.replays().len()).map(|r| self.refs(r) * 2).sum::<u64>() + single;
        loop {
            let mut state = self.lock();
            if state.runners == 0 {
                return;
            }
            if stop.is_some_and(|s| s.take().is_some()) || progress.is_stopped() == Some(true) {
                state.stop = true;
            }
            let done: u64 = state.at.iter().enumerate().map(|(r, at)| self.work_done(r, *at)).sum();
            let done = done + state.singles.2 + state.running.iter().map(|(_, refs)| refs).sum::<u64>();
            let over = state.stop || state.fatal.is_some();
            drop(state);
            if over {
                kill_handles.iter().for_each(KillHandle::end);
                self.changed.notify_all();
            }
            progress.at("sweeping", done, Some(total));
            let state = self.lock();
            if state.runners > 0 {
                drop(self.changed.wait_timeout(state, GLANCE));
            }
        }
    }

    /// In references: half of the work is taken to be the partition, half the units.
    fn work_done(&self, replay: usize, (taken, done, all): (u64, usize, usize)) -> u64 {
        taken + self.refs(replay) * done as u64 / all.max(1) as u64
    }

    fn verdict(&self) -> Result<(), Failure> {
        let mut state = self.lock();
        let (done, all, _) = state.singles;
        let (done, all) = state.at.iter().fold((done, all), |(d, a), at| (d + at.1, a + at.2));
        if state.stop {
            let again = "the same command goes on from there";
            return Err(Failure::work(format!("stopped with {done} of {all} units done; {again}")));
        }
        if let Some(failure) = state.fatal.take() {
            return Err(failure);
        }
        if state.lost.is_empty() {
            return Ok(());
        }
        let lost = state.lost.join("; ");
        Err(Failure::work(format!("not everything could be computed: {lost}; the same command tries only that again")))
    }
}
