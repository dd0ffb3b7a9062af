//! Locks with what they guard, and conditions to wait for.
use crate::error::Error;
use crate::library::library;
use crate::memory::Place;
use crate::shared::Shared;
use crate::team::{LOOK, free, look, taken};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::RefUnwindSafe;
use std::sync::{Condvar, Mutex, MutexGuard};

/// A lock and the value that it guards, in shared memory: a handle, which can be copied and means the same on all nodes. Not recursive.
///
/// ```
/// use homenode_parallel::{Lock, run};
///
/// let sum = Lock::new(0_u64)?;
/// run(4, sum, |worker, sum| *sum.lock() += worker.index() as u64)?;
/// assert_eq!(*sum.lock(), 6);
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
///
/// A guard stays in its thread:
///
/// ```compile_fail
/// let lock = homenode_parallel::Lock::new(0).unwrap();
/// let guard = lock.lock();
/// std::thread::spawn(move || drop(guard));
/// ```
pub struct Lock<T>(Place<Guarded<T>>);

struct Guarded<T> {
    /// Of a program that runs by itself; on nodes the address alone counts.
    own: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the lock, and with it the value.
unsafe impl<T: Send> Sync for Guarded<T> {}
// A lock that a panic has left is not taken again.
impl<T> RefUnwindSafe for Guarded<T> {}
// SAFETY: it refers to shared memory alone.
unsafe impl<T: Shared> Shared for Lock<T> {}

impl<T> Clone for Lock<T> {
    fn clone(&self) -> Lock<T> {
        *self
    }
}
impl<T> Copy for Lock<T> {}

impl<T> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lock({:?})", self.0)
    }
}

impl<T: Shared> Lock<T> {
    /// A lock and the value that it guards.
    ///
    /// # Errors
    /// There is no shared memory left.
    pub fn new(value: T) -> Result<Lock<T>, Error> {
        Place::of(Guarded { own: Mutex::new(()), value: UnsafeCell::new(value) }).map(Lock)
    }
    /// Waits for the lock and takes it.
    pub fn lock(&self) -> Guard<T> {
        let own = match library() {
            Some(library) => {
                library.lock(self.0.address());
                None
            }
            None => Some(taken(self.0.get().own.lock())),
        };
        Guard { lock: self.0, own }
    }
}

/// A lock that is taken: it is given back when this is dropped.
pub struct Guard<T: Shared> {
    lock: Place<Guarded<T>>,
    own: Option<MutexGuard<'static, ()>>,
}

impl<T: Shared> Deref for Guard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the thread has the lock, and the guard is borrowed as long as the reference lives.
        unsafe { &*self.lock.get().value.get() }
    }
}

impl<T: Shared> DerefMut for Guard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed by nobody else.
        unsafe { &mut *self.lock.get().value.get() }
    }
}

impl<T: Shared> Drop for Guard<T> {
    fn drop(&mut self) {
        if let Some(library) = library() {
            library.unlock(self.lock.address());
        }
    }
}

impl<T: Shared + fmt::Debug> fmt::Debug for Guard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Something that threads wait for under a lock, in shared memory: a handle.
///
/// ```
/// use homenode_parallel::{Condition, Lock, run};
///
/// let (ready, changed) = (Lock::new(false)?, Condition::new()?);
/// run(2, (ready, changed), |worker, (ready, changed)| {
///     if worker.index() == 0 {
///         *ready.lock() = true;
///         changed.notify_all();
///     } else {
///         let guard = changed.wait_while(ready.lock(), |ready| !*ready);
///         assert!(*guard);
///     }
/// })?;
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(Place<Condvar>);

// SAFETY: it refers to shared memory alone.
unsafe impl Shared for Condition {}

impl Condition {
    /// A condition that nobody waits for.
    ///
    /// # Errors
    /// There is no shared memory left.
    pub fn new() -> Result<Condition, Error> {
        Place::of(Condvar::new()).map(Condition)
    }
    /// Gives the lock up, waits until it is notified, and takes the lock again. A thread may go on without having been notified, and
    /// another one may have had the lock before: what it waits for is to be looked at again.
    pub fn wait<T: Shared>(&self, mut guard: Guard<T>) -> Guard<T> {
        match (library(), guard.own.take()) {
            (Some(library), _) => library.cond_wait(self.0.address(), guard.lock.address()),
            (None, Some(own)) => {
                look();
                guard.own = Some(taken(self.0.get().wait_timeout(own, LOOK)).0);
            }
            (None, None) => {}
        }
        guard
    }
    /// Waits as long as something is so.
    pub fn wait_while<T: Shared>(&self, mut guard: Guard<T>, mut is_so: impl FnMut(&mut T) -> bool) -> Guard<T> {
        while is_so(&mut guard) {
            guard = self.wait(guard);
        }
        guard
    }
    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        library().map_or_else(|| self.0.get().notify_one(), |l| l.cond_signal(self.0.address()));
    }
    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        library().map_or_else(|| self.0.get().notify_all(), |l| l.cond_broadcast(self.0.address()));
    }
}

/// Something that is set once, or again and again, and that threads wait for, in shared memory: a handle. Who has waited, or asks and
/// finds it set, sees what the one saw who set it.
///
/// ```
/// use homenode_parallel::{Flag, SharedSlice, run};
///
/// let (done, result) = (Flag::new()?, SharedSlice::<f64>::zeroed(1)?);
/// run(2, (done, result), |worker, (done, result)| {
///     if worker.index() == 1 {
///         result.set(0, 0.5);
///         done.set();
///     }
///     done.wait();
///     assert_eq!(result.get(0), 0.5);
/// })?;
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag(Place<Own>);

/// The flag of a program that runs by itself.
#[derive(Debug)]
struct Own {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    is_set: bool,
    /// How often it was set.
    times: u64,
}

// SAFETY: it refers to shared memory alone.
unsafe impl Shared for Flag {}

impl Flag {
    /// A flag that is not set.
    ///
    /// # Errors
    /// There is no shared memory left.
    pub fn new() -> Result<Flag, Error> {
        let state = Mutex::new(State { is_set: false, times: 0 });
        Place::of(Own { state, changed: Condvar::new() }).map(Flag)
    }
    /// Sets it.
    pub fn set(&self) {
        if let Some(library) = library() {
            return library.flag_set(self.0.address());
        }
        let own = self.0.get();
        let mut state = free(own.state.lock());
        *state = State { is_set: true, times: state.times + 1 };
        own.changed.notify_all();
    }
    /// Takes it back.
    pub fn clear(&self) {
        match library() {
            Some(library) => library.flag_clear(self.0.address()),
            None => free(self.0.get().state.lock()).is_set = false,
        }
    }
    /// Waits until it is set, and goes on then, also if it is taken back at once.
    pub fn wait(&self) {
        if let Some(library) = library() {
            return library.flag_wait(self.0.address());
        }
        let own = self.0.get();
        let mut state = free(own.state.lock());
        let before = state.times;
        while !state.is_set && state.times == before {
            look();
            state = free(own.changed.wait_timeout(state, LOOK)).0;
        }
    }
    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        match library() {
            Some(library) => library.flag_is_set(self.0.address()) != 0,
            None => free(self.0.get().state.lock()).is_set,
        }
    }
}
