//! Long work: on a thread of its own, while the caller's looks for Ctrl-C.
use homenode_command::{Class, Failure, Progress};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pyo3::import_exception!(homenode._errors, InputError);
pyo3::import_exception!(homenode._errors, UsageError);
pyo3::import_exception!(homenode._errors, WorkError);

/// How often Ctrl-C is looked for and progress told.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);
/// How long stopped work may take to clean up before its caller goes on without it.
const PATIENCE: Duration = Duration::from_millis(500);
/// Stack of a thread that works, in bytes: that of a main thread.
pub(crate) const STACK_BYTES: usize = 8 << 20;

/// The exception of a failure.
pub(crate) fn raised(failure: &Failure) -> PyErr {
    let text = failure.to_string();
    match failure.class {
        Class::Work => WorkError::new_err(text),
        Class::Usage => UsageError::new_err(text),
        Class::Input => InputError::new_err(text),
    }
}

/// Where work is, and whether it is to go on.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Watched>);

#[derive(Default)]
struct Watched {
    stop: AtomicBool,
    at: Mutex<Option<(String, u64, Option<u64>)>>,
    /// What Python code that the work calls has raised.
    broken: Mutex<Option<PyErr>>,
}

/// Payload of the unwinding with which work ends that was stopped.
struct Stopped;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// The work is to end.
    pub(crate) fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
    pub(crate) fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }
    /// Python code that the work calls has failed: the work ends, and its caller raises the first of these.
    pub(crate) fn broken(&self, error: PyErr) {
        lock(&self.0.broken).get_or_insert(error);
        self.stop();
    }
    fn take_broken(&self) -> Option<PyErr> {
        lock(&self.0.broken).take()
    }
}

impl Progress for Watch {
    fn at(&mut self, stage: &str, done: u64, total: Option<u64>) {
        if self.stopped() {
            resume_unwind(Box::new(Stopped));
        }
        // Who looks at it now sees the next.
        if let Ok(mut at) = self.0.at.try_lock() {
            match &mut *at {
                Some(at) if at.0 == stage => (at.1, at.2) = (done, total),
                at => *at = Some((stage.to_owned(), done, total)),
            }
        }
    }
    fn is_stopped(&self) -> Option<bool> {
        Some(self.stopped())
    }
}

/// What became of work on another thread.
type Ended<T> = Result<Result<T, Failure>, Box<dyn Any + Send>>;

/// Does work on a thread of its own; `told` is called with stage, done and total (or None) meanwhile.
///
/// # Errors
/// The exception of the failure, what Python code that was called raised, or KeyboardInterrupt.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    told: Option<&Bound<'_, PyAny>>,
    watch: &Watch,
    work: impl FnOnce(&mut Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (done, mut wait) = sync_channel::<Ended<T>>(1);
    let mut own = watch.clone();
    let body = move || drop(done.send(catch_unwind(AssertUnwindSafe(|| work(&mut own)))));
    std::thread::Builder::new().name("homenode".to_owned()).stack_size(STACK_BYTES).spawn(body)?;
    loop {
        let ended = &mut wait;
        match py.detach(move || ended.recv_timeout(GLANCE)) {
            Ok(ended) => return end(watch, ended),
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(stopped) = py.check_signals().and_then(|()| tell(told, watch)) {
            watch.stop();
            // It ends at its next step, and takes with it what it has not finished.
            let ended = &mut wait;
            py.detach(move || drop(ended.recv_timeout(PATIENCE)));
            return Err(stopped);
        }
    }
}

fn tell(told: Option<&Bound<'_, PyAny>>, watch: &Watch) -> PyResult<()> {
    let (Some(told), Some((stage, done, total))) = (told, lock(&watch.0.at).clone()) else { return Ok(()) };
    told.call1((stage, done, total)).map(drop)
}

fn end<T>(watch: &Watch, ended: Ended<T>) -> PyResult<T> {
    if let Some(error) = watch.take_broken() {
        return Err(error);
    }
    match ended {
        Ok(done) => done.map_err(|failure| raised(&failure)),
        // A defect of ours: as panics of native modules are.
        Err(panic) => resume_unwind(panic),
    }
}
