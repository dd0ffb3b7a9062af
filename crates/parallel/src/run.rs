//! Threads that run a function, of one process or on all nodes.
use crate::error::Error;
use crate::library::{Library, Work, checked};
use crate::memory::Place;
use crate::shared::Shared;
use crate::team::{Team, is_in_one};
use std::ffi::CStr;
use std::io::Write;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::Arc;
use std::thread;

/// Environment variable with the number of threads of a program that runs by itself.
pub const THREADS_ENV: &str = "HOMENODE_THREADS";
/// As many threads as a cluster may have.
const THREADS_MOST: usize = 64 * 64;
/// Bytes of a thread's stack, as on nodes.
const STACK: usize = 8 << 20;
/// What has the address by which the barrier of all threads is named: the same on all nodes, and in each run.
static BARRIER: u8 = 0;
/// Exit status of a program that has panicked, as Rust's own.
const PANICKED: i32 = 101;

/// Runs a function with the same value on all threads and waits until all have returned. The calling thread is the first of them.
///
/// Under `homenode svm run` there are as many threads as its nodes have together. Otherwise there are `threads`, or as many as
/// the environment variable `HOMENODE_THREADS` says, or, for 0, as many as the machine runs at once.
///
/// The function is one without variables of its own: on nodes, other threads live in other processes, where private memory has other
/// content. What threads share goes in `value`, which is put in shared memory.
///
/// ```
/// use homenode_parallel::{SharedSlice, run};
///
/// let greetings = SharedSlice::<u32>::zeroed(4)?;
/// run(4, greetings, |worker, greetings| greetings.set(worker.index(), 7))?;
/// assert_eq!((0..4).map(|i| greetings.get(i)).sum::<u32>(), 28);
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
///
/// ```compile_fail
/// // A function with variables of its own.
/// let seen = std::cell::Cell::new(0);
/// homenode_parallel::run(2, (), |_, ()| seen.set(1)).unwrap();
/// ```
///
/// # Errors
/// `HOMENODE_THREADS` is no number of threads; the calling thread is in `run` already; memory or threads cannot be had.
///
/// # Panics
/// One of the threads has: the others stop when they wait for another one next, and the panic goes on in the calling thread. On nodes a
/// panic ends the program, with a line and status 101.
pub fn run<T: Shared>(threads: usize, value: T, function: fn(&Worker, &T)) -> Result<(), Error> {
    if is_in_one() {
        return Err(Error::of("run: the calling thread is in `run` already: begin all threads at once"));
    }
    match checked()? {
        Some(library) => on_nodes(library, value, function),
        None => by_itself(asked(threads)?, &value, function),
    }
}

/// How many threads are asked for.
fn asked(threads: usize) -> Result<usize, Error> {
    let most = || Error::of(format!("run: {threads} threads are more than the {THREADS_MOST} that there may be"));
    let Some(text) = std::env::var_os(THREADS_ENV) else {
        let count = if threads == 0 { thread::available_parallelism().map_or(1, usize::from) } else { threads };
        return if count <= THREADS_MOST { Ok(count) } else { Err(most()) };
    };
    let number = text.to_str().and_then(|t| t.parse().ok()).filter(|n| (1..=THREADS_MOST).contains(n));
    number.ok_or_else(|| {
        let text = text.to_string_lossy();
        Error::of(format!("{THREADS_ENV}={text:?} is no number of threads: give one from 1 to {THREADS_MOST}"))
    })
}

fn by_itself<T: Shared>(threads: usize, value: &T, function: fn(&Worker, &T)) -> Result<(), Error> {
    let team = &Team::of(threads);
    let one = |index| {
        let worker = Worker { index, node: 0, nodes: 1, with: With::Team(Arc::clone(team)), stays: PhantomData };
        team.with(|| catch_unwind(AssertUnwindSafe(|| function(&worker, value)))).unwrap_or_else(|why| team.stop(why));
    };
    let begun = thread::scope(|scope| {
        for index in 1..threads {
            let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || one(index));
            if let Err(why) = thread {
                team.stop(Box::new(()));
                return Err(Error::of(format!("run: thread {index} of {threads} cannot be made: {why}: give fewer")));
            }
        }
        one(0);
        Ok(())
    });
    begun.map(|()| team.end())
}

fn on_nodes<T: Shared>(library: &'static Library, value: T, function: fn(&Worker, &T)) -> Result<(), Error> {
    if library.thread() != 0 {
        return Err(Error::of("run: on nodes only the program's first thread may begin others"));
    }
    let job = Place::of(Job { function, value })?.get();
    flush();
    for _ in 1..library.svm_threads() {
        library.create(job);
    }
    job.work();
    library.join();
    Ok(())
}

/// What all threads on nodes do, in shared memory.
struct Job<T> {
    function: fn(&Worker, &T),
    value: T,
}

impl<T: Shared> Work for Job<T> {
    fn work(&self) {
        let Ok(Some(library)) = checked() else { return };
        let count = library.svm_threads();
        let worker = Worker {
            index: library.thread() as usize,
            node: library.node() as usize,
            nodes: library.nodes() as usize,
            with: With::Nodes { library, count },
            stays: PhantomData,
        };
        // One thread of a node may be in one run at a time, as by itself.
        let done = Team::of(1).with(|| catch_unwind(AssertUnwindSafe(|| (self.function)(&worker, &self.value))));
        if done.is_err() {
            let (thread, node) = (worker.index, worker.node);
            // Where nobody hears it, it is said in vain.
            let said = format!("homenode: thread {thread} (node {node}) panicked: the program ends\n");
            let _ = std::io::stderr().write_all(said.as_bytes());
            exit(PANICKED);
        }
        flush();
    }
}

/// Writes what this process has printed of a line: other nodes begin with what is left of it, and end without a look at theirs.
fn flush() {
    // Where nobody reads it, it is written in vain.
    let _ = std::io::stdout().flush();
}

/// A thread of [`run`]: which one it is, and what it does together with the others. It stays in its thread.
///
/// ```
/// use homenode_parallel::run;
///
/// run(3, (), |worker, ()| {
///     assert_eq!(worker.count(), 3);
///     assert_eq!(worker.sum(worker.index() as i64), 3);
///     assert_eq!(worker.max(0.5 * worker.index() as f64), 1.0);
///     let part = worker.part(10);
///     assert_eq!(worker.sum(part.len() as i64), 10);
/// })?;
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
#[derive(Debug)]
pub struct Worker {
    index: usize,
    node: usize,
    nodes: usize,
    with: With,
    stays: PhantomData<*const ()>,
}

#[derive(Debug)]
enum With {
    Team(Arc<Team>),
    Nodes { library: &'static Library, count: u32 },
}

impl Worker {
    /// Number of this thread, from 0 for the one that called [`run`].
    pub fn index(&self) -> usize {
        self.index
    }
    /// Number of threads.
    pub fn count(&self) -> usize {
        match &self.with {
            With::Team(team) => team.count(),
            With::Nodes { count, .. } => *count as usize,
        }
    }
    /// Node of this thread, from 0.
    pub fn node(&self) -> usize {
        self.node
    }
    /// Number of nodes: 1 for a program that runs by itself.
    pub fn nodes(&self) -> usize {
        self.nodes
    }
    /// This thread's part of so many items, which are shared out in order, each thread getting as many as any other or one more.
    pub fn part(&self, items: usize) -> Range<usize> {
        let first = |thread: usize| items / self.count() * thread + thread.min(items % self.count());
        first(self.index)..first(self.index + 1)
    }
    /// Waits until all threads have come here. What they wrote before is seen after it.
    pub fn barrier(&self) {
        match &self.with {
            With::Team(team) => _ = team.meet(self.index, "barrier", 0, |_, last| last),
            With::Nodes { library, count } => library.barrier((&raw const BARRIER).cast(), *count),
        }
    }
    /// Sum of the values of all threads, which is the same every time: they are added in the order of threads. Of whole numbers modulo
    /// 2^64. All threads call it; it is a barrier, too, and so are [`min`](Worker::min) and [`max`](Worker::max).
    pub fn sum<N: Number>(&self, value: N) -> N {
        N::sum(self, value)
    }
    /// Least value of all threads. A NaN makes it a NaN.
    pub fn min<N: Number>(&self, value: N) -> N {
        N::min(self, value)
    }
    /// Greatest value of all threads. A NaN makes it a NaN.
    pub fn max<N: Number>(&self, value: N) -> N {
        N::max(self, value)
    }
    /// Does something as a phase of this name: `homenode svm report` says where the time of each phase went.
    pub fn phase<R>(&self, name: &CStr, run: impl FnOnce() -> R) -> R {
        let With::Nodes { library, .. } = &self.with else { return run() };
        library.phase_begin(name.as_ptr());
        let result = run();
        library.phase_end(name.as_ptr());
        result
    }
}

/// Numbers that [`Worker::sum`] and its like take: `i64` and `f64`.
pub trait Number: private::Number {}

mod private {
    use super::Worker;

    /// What threads make of a number each.
    pub trait Number: Copy {
        fn sum(worker: &Worker, value: Self) -> Self;
        fn min(worker: &Worker, value: Self) -> Self;
        fn max(worker: &Worker, value: Self) -> Self;
    }
}

/// Declares numbers, with what becomes of two, and the functions on nodes.
macro_rules! numbers {
    ($($type:ty, $to:expr, $from:expr; $($name:ident: $on_nodes:ident $fold:expr),+;)+) => {$(
        impl Number for $type {}
        impl private::Number for $type {
            $(fn $name(worker: &Worker, value: $type) -> $type {
                match &worker.with {
                    With::Team(team) => {
                        let fold = |a, b| { let fold: fn($type, $type) -> $type = $fold; $to(fold($from(a), $from(b))) };
                        $from(team.meet(worker.index, stringify!($on_nodes), $to(value), fold))
                    }
                    With::Nodes { library, .. } => library.$on_nodes(value),
                }
            })+
        }
    )+};
}

numbers! {
    i64, i64::cast_unsigned, u64::cast_signed;
        sum: reduce_sum_i64 i64::wrapping_add, min: reduce_min_i64 Ord::min, max: reduce_max_i64 Ord::max;
    f64, f64::to_bits, f64::from_bits;
        sum: reduce_sum_f64 |a, b| a + b,
        min: reduce_min_f64 |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) },
        max: reduce_max_f64 |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
}
