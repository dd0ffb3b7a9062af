//! A list of work under a lock, with a condition for those who find it empty: integers are split in two until they are small, and then
//! added up. Who finds that all is done sets a flag, for which the first thread waits.
//!
//! `queue [NUMBER]`, by itself or under `homenode svm run`.
use homenode_parallel::{AtomicWord, Condition, Error, Flag, Lock, SharedSlice, Worker, run, shared};
use std::process::ExitCode;

/// Ranges that the list has room for: those of a number's halves, and halves of these, and so on.
const ROOM: usize = 1 << 12;
/// Numbers that are not worth splitting.
const SMALL: u64 = 1 << 10;

shared! {
    /// What is under the lock.
    struct List {
        /// Ranges in the list.
        waiting: usize,
        /// Threads that work on one.
        busy: usize,
    }
}

shared! {
    struct Queue {
        list: Lock<List>,
        /// First and end of each range in the list.
        ranges: SharedSlice<[u64; 2]>,
        changed: Condition,
        sum: Lock<u64>,
        done: Flag,
        /// Ranges by the thread that had them.
        taken: SharedSlice<u64>,
        all_taken: AtomicWord<u64>,
    }
}

/// Takes a range, or waits for one; none if all are done.
fn take(queue: &Queue) -> Option<[u64; 2]> {
    let mut list = queue.changed.wait_while(queue.list.lock(), |list| list.waiting == 0 && list.busy > 0);
    list.waiting = list.waiting.checked_sub(1)?;
    list.busy += 1;
    Some(queue.ranges.get(list.waiting))
}

/// Puts the halves of a range in the list if it is large, else gives its sum.
fn split_or_add(queue: &Queue, [first, end]: [u64; 2]) -> u64 {
    if end - first <= SMALL {
        return (first..end).sum();
    }
    let middle = first + (end - first) / 2;
    let mut list = queue.list.lock();
    for range in [[first, middle], [middle, end]] {
        queue.ranges.set(list.waiting, range);
        list.waiting += 1;
    }
    0
}

fn work(worker: &Worker, queue: &Queue) {
    while let Some(range) = take(queue) {
        let sum = split_or_add(queue, range);
        *queue.sum.lock() += sum;
        let mine = queue.taken.get(worker.index());
        queue.taken.set(worker.index(), mine + 1);
        queue.all_taken.fetch_add(1);
        queue.list.lock().busy -= 1;
        queue.changed.notify_all();
    }
    queue.done.set();
    if worker.index() == 0 {
        queue.done.wait();
    }
}

fn queue(number: u64) -> Result<bool, Error> {
    let queue = Queue {
        list: Lock::new(List { waiting: 1, busy: 0 })?,
        ranges: SharedSlice::zeroed(ROOM)?,
        changed: Condition::new()?,
        sum: Lock::new(0)?,
        done: Flag::new()?,
        taken: SharedSlice::zeroed(64 * 64)?,
        all_taken: AtomicWord::new(0)?,
    };
    queue.ranges.set(0, [0, number]);
    run(0, queue, work)?;
    let taken: u64 = (0..queue.taken.len()).map(|at| queue.taken.get(at)).sum();
    let sum = *queue.sum.lock();
    println!("queue: sum {sum} of {taken} ranges");
    Ok(sum == number * number.saturating_sub(1) / 2 && taken == queue.all_taken.load() && queue.done.is_set())
}

fn main() -> ExitCode {
    let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|word| word.parse().ok()).collect();
    let number = match numbers.as_deref() {
        Some([]) => 200_000,
        Some([number]) if *number <= 1 << 20 => *number,
        _ => {
            eprintln!("usage: queue [NUMBER]; a NUMBER is {} or less", 1 << 20);
            return ExitCode::from(2);
        }
    };
    match queue(number) {
        Ok(true) => {
            println!("queue: verified OK");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            eprintln!("queue: SELF-CHECK FAILED");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("queue: {why}");
            ExitCode::FAILURE
        }
    }
}
