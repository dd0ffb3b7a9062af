//! Who works at the same time. This crate knows no threads: whoever calls it brings them.

/// Runs jobs.
pub trait Workers: Sync {
    /// How many jobs run at the same time, from 1.
    fn count(&self) -> usize;
    /// Calls `here` on this thread and each of `jobs` somewhere, at the same time or not and in any order; returns when all have
    /// returned.
    fn run(&self, here: &mut dyn FnMut(), jobs: &mut [Job<'_>]);
}

/// What may run on another thread.
pub type Job<'j> = Box<dyn FnMut() + Send + 'j>;

/// Nobody but the caller: one job after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Workers for Alone {
    fn count(&self) -> usize {
        1
    }
    fn run(&self, here: &mut dyn FnMut(), jobs: &mut [Job<'_>]) {
        here();
        jobs.iter_mut().for_each(|job| job());
    }
}
