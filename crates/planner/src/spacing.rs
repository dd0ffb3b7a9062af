//! What a window weighs beside others of its page: the time since the page was last seen, up to a limit. Derived, and compared
//! with counting, in `docs/design/faults.md`.
//!
//! While a page waits for its next access, the scans that pass over it open no further windows; all of them would have found
//! the same thread. So one window stands for the time since the one before. And several windows within one burst are one
//! piece of evidence. A long time says little: the page was idle, or in somebody's caches, hence the limit.
use homenode_trace::frame::DecodedFrame;
use homenode_trace::{DataSource, DatasetReader, TraceError};
use std::collections::HashMap;

/// Weight of a window as far from the one before as counts; a nearer one has a share of it, at least 1.
pub const WHOLE: u32 = 16;
/// The recording's length over the longest time that counts. Chosen on recordings of LU and radix sort among 1 to 20, and
/// checked on larger ones and on other programs.
const SPANS: u64 = 8;
const PAGE_SHIFT: u32 = 12;

/// Weighs the windows of pages, which come in order of time.
#[derive(Clone, Debug)]
pub struct Spacing<K> {
    longest: u64,
    last: HashMap<K, u64>,
}

impl<K: std::hash::Hash + Eq> Spacing<K> {
    /// For a recording that takes `span` units of time.
    pub fn new(span: u64) -> Spacing<K> {
        Spacing { longest: (span / SPANS).max(1), last: HashMap::new() }
    }
    /// The page was brought in: from now on a window could have been opened.
    pub fn begins(&mut self, page: K, time: u64) {
        self.last.insert(page, time);
    }
    /// The weight, 1 to [`WHOLE`], of a window of the page that closed now.
    pub fn weight(&mut self, page: K, time: u64) -> u32 {
        let before = self.last.insert(page, time);
        let since = before.map_or(self.longest, |b| time.saturating_sub(b).min(self.longest));
        // At most WHOLE, because `since` is at most `longest`.
        (u128::from(since) * u128::from(WHOLE)).div_ceil(u128::from(self.longest)).max(1) as u32
    }
}

/// A sample where it was taken.
struct Window {
    time: u64,
    page: (u32, u64),
    thread: u32,
    first_touch: bool,
}

/// Weights of all samples of a recording in windows, by thread in its own order; first touches of a page keep weight 1.
///
/// # Errors
/// A damaged frame.
pub fn weights(reader: &DatasetReader) -> Result<Vec<Vec<u32>>, TraceError> {
    let mut windows = Vec::new();
    for thread in 0..reader.threads() {
        collect(reader, thread, &mut windows)?;
    }
    let from = windows.iter().map(|w| w.time).min().unwrap_or(0);
    let to = windows.iter().map(|w| w.time).max().unwrap_or(0);
    // Stable: samples of one thread at one time stay in their order.
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|i| windows[*i].time);
    let mut spacing = Spacing::new(to - from);
    let mut weighed = vec![1; windows.len()];
    // A recording without times says nothing of spacing: all weigh alike.
    for i in order.into_iter().filter(|_| from < to) {
        let w = &windows[i];
        match w.first_touch {
            true => spacing.begins(w.page, w.time),
            false => weighed[i] = spacing.weight(w.page, w.time),
        }
    }
    let mut of_threads = vec![Vec::new(); reader.threads() as usize];
    for (w, weight) in windows.iter().zip(weighed) {
        of_threads[w.thread as usize].push(weight);
    }
    Ok(of_threads)
}

/// All samples of a thread.
fn collect(reader: &DatasetReader, thread: u32, windows: &mut Vec<Window>) -> Result<(), TraceError> {
    let (space, mut bytes, mut frame) = (reader.address_space(thread), Vec::new(), DecodedFrame::default());
    for i in 0..reader.frames(thread).len() {
        reader.read_frame(thread, i, &mut bytes, &mut frame)?;
        let times = frame.batches.iter().flat_map(|b| std::iter::repeat_n(b.begin, b.refs as usize));
        for ((addr, sample), time) in frame.addr.iter().zip(frame.samples()).zip(times) {
            let first_touch = sample.source == DataSource::FirstTouch;
            windows.push(Window { time, page: (space, addr >> PAGE_SHIFT), thread, first_touch });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_stands_for_the_time_since_the_one_before() {
        let mut spacing = Spacing::new(800);
        spacing.begins('a', 0);
        let weights: Vec<u32> = [50, 51, 151, 400, 400].iter().map(|&t| spacing.weight('a', t)).collect();
        assert_eq!(weights, [8, 1, WHOLE, WHOLE, 1]);
        // Nobody saw it come: it was there long before. Then time that runs backwards.
        assert_eq!((spacing.weight('b', 500), spacing.weight('b', 400)), (WHOLE, 1));
        assert_eq!((Spacing::new(0).weight('a', 0), Spacing::new(u64::MAX).weight('a', u64::MAX)), (WHOLE, WHOLE));
    }

    #[test]
    fn windows_of_one_burst_do_not_outvote_those_of_regular_use() {
        let mut spacing = Spacing::new(8_000);
        spacing.begins((), 0);
        let mut votes = [0, 0];
        for time in (1_000..10_000).step_by(1_000) {
            votes[0] += spacing.weight((), time);
            // In one phase, another thread comes first 30 times.
            for burst in 1..=30 {
                votes[1] += if time == 5_000 { spacing.weight((), time + burst) } else { 0 };
            }
        }
        assert!(votes[0] > 3 * votes[1], "{votes:?}");
    }
}
