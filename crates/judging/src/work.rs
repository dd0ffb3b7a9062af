//! Work on all processors at once, and what it costs.
use homenode_command::Failure;
use homenode_study::{Answer, Partition, Question, StudyError};
use homenode_sys::clock::ThreadClock;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that work at once, at most: each has buffers of its own.
const WORKERS_MAX: usize = 8;

thread_local! {
    /// Processor seconds of threads that worked for this one.
    static HELPERS: Cell<f64> = const { Cell::new(0.0) };
}

/// Threads that [`together`] uses.
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}

/// Calls `work` on as many threads as there are processors, this one among them, and returns what each of them returned.
/// `work` takes its share from whatever all of them look at.
pub fn together<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..workers()).map(|_| scope.spawn(|| timed(&work))).collect();
        let mut all = vec![work()];
        for helper in helpers {
            let (result, seconds) = helper.join().expect("a panic of a worker is one of the work");
            HELPERS.set(HELPERS.get() + seconds);
            all.push(result);
        }
        all
    })
}

/// What `work` returns, and the processor seconds that it took, those of helpers included.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (before, clock) = (HELPERS.replace(0.0), ThreadClock::start());
    let result = work();
    let seconds = clock.seconds() + HELPERS.get();
    HELPERS.set(before);
    (result, seconds)
}

/// Parts of a question for each worker, so that none waits long for the last.
const PARTS_EACH: usize = 6;

/// What `each` returns for ranges of regions that make up the whole, in no order, on all processors.
///
/// # Errors
/// The first of `each`.
pub fn by_parts<T: Send>(
    partition: &Partition,
    each: impl Fn(Range<usize>) -> Result<T, StudyError> + Sync,
) -> Result<Vec<T>, Failure> {
    let regions = partition.regions();
    let step = regions.div_ceil(workers() * PARTS_EACH).max(1);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<T>, StudyError> {
        let mut mine = Vec::new();
        loop {
            let from = next.fetch_add(step, Ordering::Relaxed);
            // Without regions there is still an answer: nothing.
            if from >= regions && from > 0 {
                return Ok(mine);
            }
            mine.push(each(from..(from + step).min(regions))?);
        }
    };
    let all: Result<Vec<Vec<T>>, StudyError> = together(work).into_iter().collect();
    Ok(all.map_err(Failure::work)?.into_iter().flatten().collect())
}

/// The answer of the folded engine, on all processors: answers of parts add up.
///
/// # Errors
/// The question cannot be answered.
pub fn answer(question: &Question, partition: &Partition) -> Result<Answer, Failure> {
    let mut whole = Answer::default();
    for part in by_parts(partition, |part| homenode_study::answer(question, partition, part))? {
        whole.add(&part).map_err(Failure::work)?;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn all_work_is_done_once_and_helpers_are_paid_for() {
        let (next, spun) = (AtomicU64::new(0), AtomicU64::new(0));
        let share = || {
            let mut mine = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= 64 {
                    return mine;
                }
                mine.push(i);
                (0..200_000).for_each(|_| _ = spun.fetch_add(1, Ordering::Relaxed));
            }
        };
        let (found, seconds) = timed(|| together(share));
        let mut all: Vec<u64> = found.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<u64>>());
        assert!(seconds > 0.0);
        assert_eq!(HELPERS.get(), 0.0, "who measured has taken what helpers used");
    }
}
