//! Runs that do not depend on each other, on all processors.
use homenode_command::{Failure, Progress};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What `each` makes of the numbers below `count`, in their order, whichever of the workers made it. `own` makes what a worker keeps for itself; `stage`
/// and the number before these ones and of all are for `progress`.
///
/// # Errors
/// That of the lowest number which has one: lower ones are taken before, and none after it.
pub(super) fn on_all<W, T: Send>(
    (workers, count): (usize, usize),
    (progress, stage, before, total): (&mut dyn Progress, &str, usize, usize),
    own: impl Fn() -> W + Sync,
    each: impl Fn(&mut W, usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let (next, over, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<T, Failure>)>> = Mutex::new(Vec::with_capacity(count));
    let work = |tell: &mut dyn FnMut(usize)| {
        let mut mine = own();
        loop {
            tell(over.load(Ordering::Relaxed));
            if failed.load(Ordering::Relaxed) {
                return;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = each(&mut mine, number);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            over.fetch_add(1, Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    std::thread::scope(|scope| {
        (1..workers.min(count)).for_each(|_| _ = scope.spawn(|| work(&mut |_| ())));
        work(&mut |over| progress.at(stage, (before + over) as u64, Some(total as u64)));
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_errors_are_those_of_one_worker() {
        for workers in 1..5 {
            let square = |_: &mut (), n| Ok(n * n);
            let all = on_all((workers, 40), (&mut (), "", 0, 40), || (), square).expect("no errors");
            assert_eq!(all, (0..40).map(|n| n * n).collect::<Vec<usize>>());
            let fails = |_: &mut (), n| if n % 7 == 6 { Err(Failure::usage(format!("number {n}"))) } else { Ok(n) };
            let error = on_all((workers, 40), (&mut (), "", 0, 40), || (), fails).expect_err("fails");
            assert!(error.to_string().contains("number 6"), "{error}");
        }
    }
}
