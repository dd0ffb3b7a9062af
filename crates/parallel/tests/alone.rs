//! Programs that run by themselves, with threads.
use homenode_parallel::{Condition, Error, Flag, Lock, SharedSlice, THREADS_ENV, Table, Worker, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Runs an example of this crate.
fn example(name: &str, threads: &str, words: &[&str]) -> Output {
    let own = std::env::current_exe().expect("known");
    let program = own.parent().and_then(Path::parent).expect("a target folder").join("examples").join(name);
    assert!(program.exists(), "no {}: `cargo test` without --test builds examples, too", program.display());
    Command::new(program).env(THREADS_ENV, threads).env("RUST_BACKTRACE", "0").args(words).output().expect("it runs")
}

#[test]
fn examples_hold() {
    for threads in ["1", "2", "4"] {
        for (name, words) in [("sor", &["60", "7"][..]), ("sor", &["3"]), ("queue", &["50000"]), ("queue", &["0"])] {
            let done = example(name, threads, words);
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success() && said.contains("verified OK"), "{name}, {threads}: {done:?}");
        }
        for command in ["counts", "turns", "reductions", "memory", "std", "again", "nested"] {
            let done = example("promises", threads, &[command]);
            assert!(done.status.success(), "{command}, {threads}: {done:?}");
        }
    }
}

#[test]
fn a_panic_is_the_programs() {
    for (command, threads) in [("panic-first", "3"), ("panic-last", "3"), ("panic-first", "1")] {
        let done = example("promises", threads, &[command]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), said.matches("panicked at").count()), (Some(101), 1), "{command}: {said}");
    }
}

#[test]
fn numbers_of_threads_are_refused_in_one_line() {
    for threads in ["0", "-1", "4097", "two", "", "99999999999999999999"] {
        let done = example("promises", threads, &["counts"]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{threads}: {said}");
        assert!(
            said.lines().count() == 1 && said.contains("HOMENODE_THREADS=") && said.contains("from 1 to 4096"),
            "{said}"
        );
    }
    let why = run(5000, (), |_, ()| {}).expect_err("many");
    assert!(why.to_string().contains("5000 threads are more than the 4096"), "{why}");
}

/// What a run ends with when a thread panics.
fn panics<T: homenode_parallel::Shared>(threads: usize, value: T, function: fn(&Worker, &T)) -> String {
    let since = Instant::now();
    let why = catch_unwind(AssertUnwindSafe(|| run(threads, value, function))).expect_err("a panic");
    assert!(since.elapsed() < Duration::from_secs(20), "the others went on");
    why.downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| why.downcast::<String>().ok().map(|s| *s))
        .expect("a text")
}

#[test]
fn whoever_waits_for_a_thread_that_panics_stops() -> Result<(), Error> {
    for at in 0..4 {
        // The function has no variables: which wait is meant stands in what is shared.
        let shared = (Lock::new(at)?, Condition::new()?, Flag::new()?);
        let function: fn(&Worker, &(Lock<u32>, Condition, Flag)) = |worker, shared| {
            if worker.index() == 2 {
                std::thread::sleep(Duration::from_millis(30));
                panic!("the third one has had enough");
            }
            let which = *shared.0.lock();
            match which {
                0 => worker.barrier(),
                1 => _ = worker.max(1.5),
                2 => drop(shared.1.wait_while(shared.0.lock(), |_| true)),
                _ => shared.2.wait(),
            }
        };
        assert_eq!(panics(3, shared, function), "the third one has had enough", "{at}");
    }
    Ok(())
}

#[test]
fn a_lock_that_a_panic_left_is_not_taken_again() -> Result<(), Error> {
    let lock = Lock::new(0)?;
    let said = panics(4, lock, |worker, lock| {
        worker.barrier();
        let guard = lock.lock();
        assert!(*guard != 0, "not set");
    });
    assert_eq!(said, "not set");
    let alone = catch_unwind(|| *lock.lock()).expect_err("left");
    assert_eq!(alone.downcast_ref::<&str>(), Some(&"a thread panicked while it had this lock"));
    assert_eq!(panics(2, lock, |_, lock| *lock.lock() += 1), "a thread of an earlier run panicked while it had a lock");
    // Another one is as good as ever.
    run(2, Lock::new(0)?, |_, lock| *lock.lock() += 1)
}

#[test]
fn threads_that_call_other_things_are_told() {
    let said = panics(2, (), |worker, ()| if worker.index() == 0 { worker.barrier() } else { _ = worker.sum(1.5) });
    assert!(said.contains("all must call the same"), "{said}");
}

#[test]
fn threads_have_their_parts() -> Result<(), Error> {
    for items in [0, 1, 3, 7, 100] {
        let seen = SharedSlice::<u32>::zeroed(items)?;
        run(3, seen, |worker, seen| {
            let part = worker.part(seen.len());
            assert!(part.len() == seen.len() / 3 || part.len() == seen.len() / 3 + 1);
            part.for_each(|i| seen.set(i, seen.get(i) + 1));
        })?;
        assert!((0..items).all(|i| seen.get(i) == 1), "{items}");
    }
    Ok(())
}

#[test]
fn values_are_where_they_should_be() -> Result<(), Error> {
    let large = Lock::new([7_u64; 5000])?;
    large.lock()[4999] += 1;
    let values = *large.lock();
    assert_eq!((values[0], values[4999]), (7, 8));
    let many = (0..500).map(|i| Lock::new((i, i as f32))).collect::<Result<Vec<_>, _>>()?;
    let (many, none) = (Table::new(&many)?, Table::<u8>::new(&[])?);
    assert!(many.iter().enumerate().all(|(i, lock)| *lock.lock() == (i, i as f32)) && none.is_empty());
    let slice = SharedSlice::from_slice(&[1.5, -2.0, f64::INFINITY])?;
    assert_eq!([slice.get(0), slice.get(1), slice.get(2)], [1.5, -2.0, f64::INFINITY]);
    assert_eq!(slice.part(1..3).part(1..2).get(0), f64::INFINITY);
    let numbers = (SharedSlice::<i8>::from_slice(&[-1])?, SharedSlice::<isize>::from_slice(&[-5])?);
    assert_eq!((numbers.0.get(0), numbers.1.get(0)), (-1, -5));
    let flags = SharedSlice::from_slice(&[false, true])?;
    assert!(flags.get(1) && !flags.get(0));
    assert!(SharedSlice::<u64>::zeroed(usize::MAX / 8).is_err() && SharedSlice::<u64>::zeroed(usize::MAX).is_err());
    Ok(())
}

#[test]
fn what_is_outside_of_a_slice_is_a_panic() -> Result<(), Error> {
    let slice = SharedSlice::<u16>::zeroed(4)?;
    let outside: [&dyn Fn(); 6] = [
        &|| _ = slice.get(4),
        &|| slice.set(usize::MAX, 1),
        &|| _ = slice.part(2..5),
        &|| slice.write(3, &[1, 2]),
        &|| slice.read(usize::MAX, &mut [0, 0]),
        &|| _ = slice.part(1..4).get(3),
    ];
    for (at, access) in outside.iter().enumerate() {
        let why = catch_unwind(AssertUnwindSafe(access)).expect_err("outside");
        let said = why.downcast_ref::<String>().expect("a text");
        assert!(said.contains("of a shared slice of"), "{at}: {said}");
    }
    Ok(())
}
