//! The worker pool: worker processes, or the calling process itself.
use crate::store::ResultStore;
use crate::task::Task;
use crate::work::{Message, Worker};
use homenode_command::{Class, Failure};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Why a task was not done.
pub(crate) enum Broken {
    /// The task cannot be done.
    Failed(Failure),
    /// Whoever did it died; how, in words.
    Died(String),
}

/// What does tasks, one at a time.
pub(crate) trait Runner: Send {
    /// Does a task; `told` hears of progress.
    fn carry_out(&mut self, task: Task, told: &mut dyn FnMut(u64)) -> Result<(), Broken>;
}

impl Runner for Worker<'_> {
    fn carry_out(&mut self, task: Task, told: &mut dyn FnMut(u64)) -> Result<(), Broken> {
        Worker::carry_out(self, task, told).map_err(Broken::Failed)
    }
}

/// The process of a runner, so that others can end it.
#[derive(Clone, Default)]
pub(crate) struct KillHandle(Arc<Mutex<WorkerProcess>>);

#[derive(Default)]
struct WorkerProcess {
    child: Option<Child>,
    /// No process is to be started any more.
    ended: bool,
}

impl KillHandle {
    fn held(&self) -> std::sync::MutexGuard<'_, WorkerProcess> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Kills the process, if there is one, and lets no other begin.
    pub(crate) fn end(&self) {
        let mut held = self.held();
        held.ended = true;
        if let Some(child) = &mut held.child {
            // It may have ended by itself.
            let _ = child.kill();
        }
    }
}

/// A worker process, started when there is something to do and again after it died.
pub(crate) struct Process {
    command: Vec<OsString>,
    kill_handle: KillHandle,
    pipes: Option<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Process {
    /// One that works in this folder with so much memory.
    pub(crate) fn new(command: &[OsString], store: &ResultStore, memory_bytes: u64) -> Process {
        let mut command = command.to_vec();
        command.extend([store.path().as_os_str().to_owned(), memory_bytes.to_string().into()]);
        Process { command, kill_handle: KillHandle::default(), pipes: None }
    }
    pub(crate) fn kill_handle(&self) -> KillHandle {
        self.kill_handle.clone()
    }

    fn pipes(&mut self) -> Result<&mut (ChildStdin, BufReader<ChildStdout>), Broken> {
        if self.pipes.is_none() {
            let mut held = self.kill_handle.held();
            if held.ended {
                return Err(Broken::Died("was stopped".to_owned()));
            }
            let mut command = Command::new(&self.command[0]);
            command.args(&self.command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let cannot = |e| Broken::Failed(Failure::work(format!("cannot start a worker: {e}")));
            let mut child = command.spawn().map_err(cannot)?;
            let pipes = child.stdin.take().zip(child.stdout.take()).expect("both were asked for");
            held.child = Some(child);
            self.pipes = Some((pipes.0, BufReader::new(pipes.1)));
        }
        Ok(self.pipes.as_mut().expect("they were just made"))
    }

    fn talk(&mut self, task: Task, told: &mut dyn FnMut(u64)) -> Result<Option<Message>, Broken> {
        let (to, from) = self.pipes()?;
        let mut line = homenode_command::json_line(&task);
        if to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_err() {
            return Ok(None);
        }
        loop {
            line.clear();
            match from.read_line(&mut line) {
                Ok(n) if n > 0 => {}
                _ => return Ok(None),
            }
            match serde_json::from_str(&line) {
                Ok(Message::At(refs)) => told(refs),
                Ok(said) => return Ok(Some(said)),
                // The end of a line that was cut off by a death.
                Err(_) => return Ok(None),
            }
        }
    }

    /// Reaps a process that has ended; says how it did.
    fn reap(&mut self) -> String {
        self.pipes = None;
        let Some(mut child) = self.kill_handle.held().child.take() else { return "was stopped".to_owned() };
        // It has closed its end or cannot be talked to: in both cases it is of no use.
        let _ = child.kill();
        let status = child.wait();
        let mut words = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            // What it wrote is welcome; without it there is still the status.
            let _ = stderr.read_to_string(&mut words);
        }
        let last =
            words.lines().filter(|l| !l.trim().is_empty() && !l.starts_with("note:")).collect::<Vec<_>>().join(" ");
        let how = status.map_or_else(|e| e.to_string(), ended);
        if last.is_empty() { how } else { format!("{how}: {last}") }
    }
}

fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => format!("was killed by {}", homenode_sys::signals::name(signal)),
        None => format!("ended with status {}", status.code().unwrap_or_default()),
    }
}

impl Runner for Process {
    fn carry_out(&mut self, task: Task, told: &mut dyn FnMut(u64)) -> Result<(), Broken> {
        match self.talk(task, told)? {
            Some(Message::Failed(status, message)) => {
                Err(Broken::Failed(Failure { class: Class::of(status), message }))
            }
            Some(_) => Ok(()),
            None => Err(Broken::Died(self.reap())),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its input ends, and so does it.
        self.pipes = None;
        let child = self.kill_handle.held().child.take();
        if let Some(mut child) = child {
            // How it ended does not matter any more.
            let _ = child.wait();
        }
    }
}
