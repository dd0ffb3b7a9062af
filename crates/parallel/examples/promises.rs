//! What the crate promises, held by a program: `promises COMMAND`, by itself or under `homenode svm run`. What does not hold is a panic.
use homenode_parallel::{AtomicWord, Condition, Error, Flag, Lock, SharedSlice, Table, Worker, run, shared};
use std::collections::HashMap;
use std::process::ExitCode;

/// Threads if the program runs by itself and nobody says how many.
const THREADS: usize = 4;
const TIMES: u64 = 200;

shared! {
    struct Counts {
        one: Lock<u64>,
        many: Table<Lock<u32>>,
        word: AtomicWord<u64>,
        small: AtomicWord<u32>,
        won: AtomicWord<u32>,
    }
}

/// Locks and words lose nothing.
fn counts() -> Result<(), Error> {
    let locks = (0..16).map(Lock::new).collect::<Result<Vec<_>, _>>()?;
    let counts = Counts {
        one: Lock::new(0)?,
        many: Table::new(&locks)?,
        word: SharedSlice::zeroed(3)?.word(2),
        small: AtomicWord::new(u32::MAX)?,
        won: AtomicWord::new(0)?,
    };
    for round in 1..=2 {
        run(THREADS, counts, |worker, counts| {
            for _ in 0..TIMES {
                *counts.one.lock() += 1;
                counts.word.fetch_add(2);
                counts.small.fetch_add(1);
            }
            counts.many.iter().for_each(|count| *count.lock() += 1);
            worker.barrier();
            if counts.won.compare_exchange(0, 1 + worker.index() as u32).is_ok() {
                assert_eq!(counts.won.load(), 1 + worker.index() as u32);
            }
            worker.barrier();
            let threads = worker.count() as u64;
            let one = *counts.one.lock();
            assert!(one.is_multiple_of(threads * TIMES) && one > 0, "{one} of {threads} threads");
            assert_eq!(counts.word.load(), 2 * one);
            assert_eq!(counts.small.load(), u32::MAX.wrapping_add(one as u32));
        })?;
        let threads = (*counts.one.lock() / TIMES) as u32 / round;
        assert!(counts.many.iter().zip(0..).all(|(count, at)| *count.lock() == at + threads * round));
        assert!((1..=threads).contains(&counts.won.swap(0)));
        counts.won.store(0);
    }
    Ok(())
}

shared! {
    struct Ring {
        turn: Lock<usize>,
        changed: Condition,
        all: Flag,
        seen: SharedSlice<[f32; 3]>,
    }
}

/// Conditions hand a turn around, flags and barriers what was written.
fn turns() -> Result<(), Error> {
    let ring =
        Ring { turn: Lock::new(0)?, changed: Condition::new()?, all: Flag::new()?, seen: SharedSlice::zeroed(1)? };
    run(THREADS, ring, |worker, ring| {
        for round in 0..20 {
            let mine = round * worker.count() + worker.index();
            let mut turn = ring.changed.wait_while(ring.turn.lock(), |turn| *turn != mine);
            *turn += 1;
            drop(turn);
            ring.changed.notify_all();
        }
        for round in 1..20 {
            if round as usize % worker.count() == worker.index() {
                assert!(!ring.all.is_set());
                ring.seen.set(0, [round as f32; 3]);
                ring.all.set();
            }
            ring.all.wait();
            assert!(ring.all.is_set());
            assert_eq!(ring.seen.get(0), [round as f32; 3]);
            worker.barrier();
            if worker.index() == 0 {
                ring.all.clear();
            }
            worker.barrier();
        }
    })
}

/// Reductions are of all threads, in their order.
fn reductions() -> Result<(), Error> {
    run(THREADS, (), |worker, ()| {
        let (index, count) = (worker.index() as i64, worker.count() as i64);
        assert_eq!(worker.sum(index + 1), count * (count + 1) / 2);
        assert_eq!((worker.min(5 - index), worker.max(-index)), (6 - count, 0));
        assert_eq!(worker.sum(i64::MAX), i64::MAX.wrapping_mul(count));
        let parts: Vec<f64> = (0..count).map(|i| 0.1 * (i + 1) as f64).collect();
        let in_order = parts.iter().copied().reduce(|a, b| a + b).unwrap_or_default();
        assert_eq!(worker.sum(parts[worker.index()]).to_bits(), in_order.to_bits());
        assert_eq!((worker.min(index as f64), worker.max(index as f64)), (0.0, (count - 1) as f64));
        let one_nan = if index == count - 1 { f64::NAN } else { 1.0 };
        assert!(worker.min(one_nan).is_nan() && worker.max(one_nan).is_nan() && worker.sum(one_nan).is_nan());
    })
}

shared! {
    struct Given {
        /// What each thread has taken.
        taken: Lock<[Option<SharedSlice<u16>>; 64]>,
        /// Locks that threads have made.
        made: Lock<[Option<Lock<u64>>; 64]>,
        bytes: SharedSlice<u8>,
    }
}

/// Memory that threads take is everybody's; neighbours in a page do not disturb each other.
fn memory() -> Result<(), Error> {
    let mut given = Given {
        taken: Lock::new([None; 64])?,
        made: Lock::new([None; 64])?,
        bytes: SharedSlice::from_slice(&[9; 1000])?,
    };
    run(THREADS, given, |worker, given| {
        let own = SharedSlice::zeroed(3000).expect("memory");
        assert!((0..own.len()).all(|i| own.get(i) == 0));
        own.write(1, &[worker.index() as u16; 2999]);
        given.taken.lock()[worker.index()] = Some(own);
        let lock = Lock::new(worker.index() as u64).expect("memory");
        given.made.lock()[worker.index()] = Some(lock);
        (worker.index()..1000).step_by(worker.count()).for_each(|i| given.bytes.set(i, (i % 251) as u8));
        worker.barrier();
        let of = (worker.index() + 1) % worker.count();
        let other = given.taken.lock()[of].expect("taken");
        let mut copy = [0; 2999];
        other.part(1..3000).read(0, &mut copy);
        assert_eq!((other.get(0), copy), (0, [of as u16; 2999]));
        *given.made.lock()[of].expect("made").lock() += 1000;
        worker.barrier();
        assert_eq!(*lock.lock(), 1000 + worker.index() as u64);
        assert!((0..1000).all(|i| given.bytes.get(i) == (i % 251) as u8));
    })?;
    // SAFETY: all threads are done, and nothing else has the bytes.
    let sum: u32 = unsafe { given.bytes.view_mut(0..1000).iter().map(|byte| u32::from(*byte)).sum() };
    assert_eq!(sum, (0..1000).map(|i| i % 251).sum());
    // SAFETY: as above, and they are not used again.
    unsafe { given.bytes.give_back() };
    given.bytes = SharedSlice::zeroed(1000)?;
    assert!((0..1000).all(|i| given.bytes.get(i) == 0), "memory that is taken again is zeroed, too");
    Ok(())
}

/// What of std works in a thread of any node.
fn std() -> Result<(), Error> {
    println!("before");
    print!("begun; ");
    run(THREADS, (), |worker, ()| {
        thread_local! { static HERE: std::cell::RefCell<Vec<usize>> = const { std::cell::RefCell::new(Vec::new()) } }
        HERE.with_borrow_mut(|here| here.push(worker.index()));
        let squares: HashMap<u64, u64> = (0..100).map(|i| (i, i * i)).collect();
        assert_eq!((squares[&9], HERE.with_borrow(Vec::len)), (81, 1));
        assert_eq!(std::thread::current().id(), std::thread::current().id());
        let arguments = std::env::args().count();
        assert!(arguments == 0 || arguments == 2 && worker.node() < worker.nodes());
        println!("thread {} says something", worker.index());
        eprintln!("thread {} warns", worker.index());
        print!("and the rest of thread {}; ", worker.index());
        worker.barrier();
    })?;
    println!("after");
    Ok(())
}

/// Threads are begun again and again.
fn again() -> Result<(), Error> {
    const RUNS: i64 = 20;
    let sum = SharedSlice::<i64>::zeroed(1)?;
    for round in 0..RUNS {
        run(THREADS, (sum, round), |worker, (sum, round)| {
            let seen = sum.get(0);
            worker.barrier();
            if worker.index() + 1 == worker.count() {
                sum.set(0, seen + *round);
            }
        })?;
    }
    assert_eq!(sum.get(0), RUNS * (RUNS - 1) / 2);
    Ok(())
}

/// A thread panics while the others wait for it.
fn panic(worker: &Worker, who: &Lock<usize>) {
    let lock = who.lock();
    assert!(worker.index() != (*lock).min(worker.count() - 1), "as it should");
    drop(lock);
    worker.barrier();
}

fn overflow(worker: &Worker, _: &()) {
    fn deeper(depth: u64) -> u64 {
        let page = std::hint::black_box([depth; 512]);
        if depth == u64::MAX { 0 } else { deeper(depth + 1).wrapping_add(page[(depth % 512) as usize]) }
    }
    if worker.index() + 1 == worker.count() {
        std::hint::black_box(deeper(0));
    }
    worker.barrier();
}

fn command(word: &str) -> Result<(), Box<dyn std::error::Error>> {
    match word {
        "counts" => counts(),
        "turns" => turns(),
        "reductions" => reductions(),
        "memory" => memory(),
        "std" => std(),
        "again" => again(),
        "panic-first" => run(THREADS, Lock::new(0)?, panic),
        "panic-last" => run(THREADS, Lock::new(usize::MAX)?, panic),
        "overflow" => run(THREADS, (), overflow),
        "nested" => run(THREADS, (), |_, ()| assert!(run(2, (), |_, ()| {}).is_err())),
        other => return Err(format!("{other:?} is no command").into()),
    }?;
    Ok(())
}

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    match command(&word) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("promises: {why}");
            ExitCode::FAILURE
        }
    }
}
