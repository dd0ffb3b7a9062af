//! Back into order of time: a file holds what each processor's ring held, one ring after another, round after round.
//!
//! `perf` marks the end of each round over all rings. What is older than the newest record of the round before cannot be
//! overtaken any more.

/// Items with times, released in order. Items of one time keep the order in which they came.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: Vec<(u64, T)>,
    newest: u64,
    limit: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { waiting: Vec::new(), newest: 0, limit: 0 }
    }
}

impl<T> Queue<T> {
    /// Takes an item.
    pub(super) fn push(&mut self, time: u64, item: T) {
        self.newest = self.newest.max(time);
        self.waiting.push((time, item));
    }
    /// A round is over: gives out what nothing can overtake any more.
    pub(super) fn round(&mut self) -> Vec<(u64, T)> {
        let limit = std::mem::replace(&mut self.limit, self.newest);
        self.release(limit)
    }
    /// Gives out everything.
    pub(super) fn rest(&mut self) -> Vec<(u64, T)> {
        self.release(u64::MAX)
    }
    fn release(&mut self, limit: u64) -> Vec<(u64, T)> {
        self.waiting.sort_by_key(|w| w.0);
        let old = self.waiting.partition_point(|w| w.0 <= limit);
        let young = self.waiting.split_off(old);
        std::mem::replace(&mut self.waiting, young)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    #[test]
    fn rings_read_round_by_round_come_out_sorted_and_nothing_waits_longer_than_two_rounds() {
        let mut rng = Rng::new(3);
        let mut queue = Queue::default();
        let (mut out, mut pushed) = (Vec::new(), 0_u64);
        for round in 0..50_u64 {
            // Each of four rings is read at another moment of the round, so its last record is older or younger.
            for ring in 0..4_u64 {
                let from = round * 1000 + ring * 10;
                let mut times: Vec<u64> = (0..rng.below(20)).map(|_| from + rng.below(1000)).collect();
                times.sort_unstable();
                for t in times {
                    queue.push(t, ring);
                    pushed += 1;
                }
            }
            out.extend(queue.round());
        }
        assert!(out.len() as u64 > pushed - 200);
        out.extend(queue.rest());
        assert_eq!(out.len() as u64, pushed);
        assert!(out.is_sorted_by_key(|o| o.0));
    }

    #[test]
    fn equal_times_keep_their_order() {
        let mut queue = Queue::default();
        for i in 0..10 {
            queue.push(5, i);
        }
        queue.push(4, 100);
        let out: Vec<i32> = queue.rest().into_iter().map(|o| o.1).collect();
        assert_eq!(out, [100, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}
