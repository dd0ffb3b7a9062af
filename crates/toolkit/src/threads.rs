//! Threads for work that can be done at the same time.
use homenode_sim::{Job, Workers};
use std::sync::Mutex;

/// All processors of this machine that the process may use.
pub(crate) struct Threads(usize);

impl Threads {
    /// As many as there are.
    pub(crate) fn new() -> Threads {
        Threads(std::thread::available_parallelism().map_or(1, usize::from))
    }
    /// The calling thread alone, for work in which order matters.
    pub(crate) const fn one() -> Threads {
        Threads(1)
    }
}

impl Workers for Threads {
    fn count(&self) -> usize {
        self.0
    }
    fn run(&self, here: &mut dyn FnMut(), jobs: &mut [Job<'_>]) {
        let helpers = self.0.min(jobs.len() + 1) - 1;
        let left = Mutex::new(jobs.iter_mut());
        let work = || {
            while let Some(job) = next(&left) {
                job();
            }
        };
        std::thread::scope(|scope| {
            (0..helpers).for_each(|_| _ = scope.spawn(work));
            here();
            work();
        });
    }
}

/// The next job that nobody has taken.
fn next<T>(left: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn every_job_runs_once_however_many_threads_there_are() {
        for threads in 1..6 {
            for jobs in 0..9u32 {
                let (ran, mut here) = (AtomicU64::new(0), 0);
                let count = |j: u32| {
                    Box::new({
                        let ran = &ran;
                        move || _ = ran.fetch_add(1 << (4 * j), Ordering::Relaxed)
                    })
                };
                let mut all: Vec<Job<'_>> = (0..jobs).map(|j| count(j) as Job<'_>).collect();
                Threads(threads).run(&mut || here += 1, &mut all);
                drop(all);
                let each_once = (0..jobs).map(|j| 1 << (4 * j)).sum::<u64>();
                assert_eq!((ran.into_inner(), here), (each_once, 1));
            }
        }
    }
}
