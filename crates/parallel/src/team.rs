//! The threads of a program that runs by itself: they meet, put values together, and stop when one of them panics.
use std::any::Any;
use std::cell::RefCell;
use std::mem;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LockResult, Mutex, PoisonError};
use std::time::Duration;

/// How often who waits for another thread looks whether the team has stopped.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Threads that were begun together.
#[derive(Debug)]
pub(crate) struct Team {
    count: usize,
    meeting: Mutex<Meeting>,
    met: Condvar,
    has_stopped: AtomicBool,
    why: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A point that all threads come to.
#[derive(Debug)]
struct Meeting {
    /// What those do who have come.
    what: &'static str,
    come: usize,
    /// How many meetings there have been.
    number: u64,
    /// Values by thread.
    values: Vec<u64>,
    result: u64,
}

/// What a thread unwinds with because another one has panicked.
struct Stopped;

thread_local! {
    static TEAM: RefCell<Option<Arc<Team>>> = const { RefCell::new(None) };
}

impl Team {
    pub(crate) fn of(count: usize) -> Arc<Team> {
        let meeting = Meeting { what: "", come: 0, number: 0, values: vec![0; count], result: 0 };
        Arc::new(Team {
            count,
            meeting: Mutex::new(meeting),
            met: Condvar::new(),
            has_stopped: AtomicBool::new(false),
            why: Mutex::new(None),
        })
    }
    pub(crate) fn count(&self) -> usize {
        self.count
    }
    /// Makes the calling thread one of the team until `run` is over.
    pub(crate) fn with<R>(self: &Arc<Team>, run: impl FnOnce() -> R) -> R {
        TEAM.set(Some(Arc::clone(self)));
        let result = run();
        TEAM.set(None);
        result
    }

    /// Waits until all threads have come, each with a value; what comes of the values in the order of the threads.
    pub(crate) fn meet(&self, index: usize, what: &'static str, value: u64, fold: fn(u64, u64) -> u64) -> u64 {
        let mut meeting = free(self.meeting.lock());
        assert!(
            meeting.come == 0 || meeting.what == what,
            "a thread calls {what} where another one has called {}: all must call the same",
            meeting.what
        );
        meeting.what = what;
        meeting.values[index] = value;
        meeting.come += 1;
        if meeting.come == self.count {
            meeting.come = 0;
            meeting.number += 1;
            meeting.result = meeting.values.iter().copied().reduce(fold).unwrap_or(value);
            self.met.notify_all();
            return meeting.result;
        }
        let number = meeting.number;
        while meeting.number == number {
            self.look();
            meeting = free(self.met.wait_timeout(meeting, LOOK)).0;
        }
        // Nobody can come to the next meeting's end before this thread has come there.
        meeting.result
    }

    /// Notes what a thread panicked with; from now on all who wait for another one stop.
    pub(crate) fn stop(&self, why: Box<dyn Any + Send>) {
        let mut first = free(self.why.lock());
        if first.as_ref().is_none_or(|first| first.is::<Stopped>()) {
            *first = Some(why);
        }
        self.has_stopped.store(true, Ordering::Release);
        self.met.notify_all();
    }
    /// Goes on with the panic of the first thread that had one.
    pub(crate) fn end(&self) {
        match mem::take(&mut *free(self.why.lock())) {
            Some(why) if why.is::<Stopped>() => panic!("a thread of an earlier run panicked while it had a lock"),
            Some(why) => resume_unwind(why),
            None => {}
        }
    }
    fn look(&self) {
        if self.has_stopped.load(Ordering::Acquire) {
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// Stops the calling thread if its team has stopped. For whoever waits for another thread.
pub(crate) fn look() {
    if let Some(team) = current() {
        team.look();
    }
}

/// Whether the calling thread is one of a team.
pub(crate) fn is_in_one() -> bool {
    current().is_some()
}

fn current() -> Option<Arc<Team>> {
    TEAM.with_borrow(Clone::clone)
}

/// A lock of the program, which a thread may have had that panicked: who takes it then stops, too.
pub(crate) fn taken<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(|poisoned| {
        drop(poisoned);
        if is_in_one() {
            resume_unwind(Box::new(Stopped));
        }
        panic!("a thread panicked while it had this lock");
    })
}

/// What a mutex guards that nobody leaves in disorder.
pub(crate) fn free<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
