//! Locks and words that threads take again and again go round in the model order, whatever the host did.
mod common;
use common::{Log, cases};
use homenode_base::Rng;
use homenode_synthetic::Builder;
use homenode_trace::order::OrderKind;
use homenode_trace::{DatasetReader, EventKind, Op};

const LOCK: u64 = 0x1000;
const DATA: u64 = 0x2000;
const OWN: u64 = 0x10_0000;

fn model(b: &Builder) -> Vec<(u32, Option<Op>, u64)> {
    Log::of(&b.open().expect("valid"), OrderKind::Model).expect("acyclic").0.entries
}

/// Who touched `addr`, in order.
fn users(entries: &[(u32, Option<Op>, u64)], addr: u64) -> Vec<u32> {
    entries.iter().filter(|e| e.1.is_some() && e.2 == addr).map(|e| e.0).collect()
}

fn handovers(users: &[u32]) -> usize {
    users.windows(2).filter(|w| w[0] != w[1]).count()
}

/// What a host does: who makes how many turns before somebody else does.
#[derive(Clone, Copy, Debug)]
enum Host {
    /// Each all of its turns.
    Runs,
    /// One after the other.
    Alternates,
    /// Time slices of random length.
    Slices(u64),
}

/// All threads make `turns` turns, done by `turn`, in an order that the host chooses.
fn record(threads: u32, turns: u64, host: Host, turn: impl Fn(&mut Builder, u32, u64)) -> Builder {
    let mut b = Builder::new(threads);
    let mut rng = Rng::new(if let Host::Slices(seed) = host { seed } else { 0 });
    let mut done = vec![0; threads as usize];
    let mut next = 0;
    while done.iter().any(|d| *d < turns) {
        let slice = match host {
            Host::Runs => turns,
            Host::Alternates => 1,
            Host::Slices(_) => 1 + rng.below(turns),
        };
        let t = next % threads;
        next += if let Host::Slices(_) = host { 1 + rng.below(3) as u32 } else { 1 };
        for _ in 0..slice.min(turns - done[t as usize]) {
            turn(&mut b, t, done[t as usize]);
            done[t as usize] += 1;
        }
    }
    b
}

fn hosts() -> Vec<Host> {
    [Host::Runs, Host::Alternates].into_iter().chain((1..cases(8, 100)).map(Host::Slices)).collect()
}

fn locked(b: &mut Builder, t: u32, inside: u64) {
    locked_at(b, t, inside, 1);
}

/// By the code at `pc`.
fn locked_at(b: &mut Builder, t: u32, inside: u64, pc: u64) {
    b.acquire(t, LOCK, 0).access(t, LOCK, 4, Op::Atomic, pc);
    for _ in 0..inside {
        b.read(t, DATA).write(t, DATA);
    }
    b.access(t, LOCK, 4, Op::Write, 2).release(t, LOCK, 0);
}

#[test]
fn a_lock_goes_round_and_its_sections_stay_whole() {
    for outside in [0, 1, 7] {
        for host in hosts() {
            let b = record(3, 100, host, |b, t, n| {
                for i in 0..outside {
                    b.write(t, OWN * u64::from(t + 1) + 8 * (n + i));
                }
                locked(b, t, 2);
            });
            let order = model(&b);
            let word = users(&order, LOCK);
            assert!(word.chunks(2).all(|c| c[0] == c[1]), "sections overlap: {host:?}");
            assert!(handovers(&word) >= 290, "{host:?}, {outside} outside: {}", handovers(&word));
            assert_eq!(handovers(&word), handovers(&users(&order, DATA)));
            let follows = word.windows(2).filter(|w| w[0] != w[1] && w[1] == (w[0] + 1) % 3).count();
            assert!(follows >= 285, "who is next in a round is up to the host: {host:?}, {follows}");
        }
    }
}

#[test]
fn a_word_changed_by_atomics_goes_round() {
    for host in hosts() {
        let b = record(4, 80, host, |b, t, _| {
            b.access(t, DATA, 8, Op::Atomic, 1).acq_rel(t, DATA, 0);
        });
        assert!(handovers(&users(&model(&b), DATA)) >= 310, "{host:?}");
        // A loop of compare-and-swap reads first.
        let b = record(2, 80, host, |b, t, _| {
            b.acquire(t, DATA, 0).read(t, DATA).access(t, DATA, 8, Op::Atomic, 1).acq_rel(t, DATA, 0);
        });
        assert!(handovers(&users(&model(&b), DATA)) >= 150, "{host:?}");
    }
}

#[test]
fn what_is_handed_over_in_order_is_read_after_it_was_written() {
    let item = |n: u64| DATA + 64 * n;
    for host in [Host::Runs, Host::Alternates] {
        let b = record(2, 60, host, |b, t, n| {
            b.acquire(t, LOCK, 0).access(t, LOCK, 4, Op::Atomic, 1);
            if t == 0 {
                b.write(t, item(n))
            } else {
                b.read(t, item(n))
            };
            b.release(t, LOCK, 0);
        });
        let order = model(&b);
        (0..60).for_each(|n| assert_eq!(users(&order, item(n)), [0, 1], "{host:?}"));
    }
}

#[test]
fn who_looks_once_follows_everything() {
    for host in hosts() {
        let mut b = record(3, 50, host, |b, t, _| {
            if t < 2 {
                locked(b, t, 1);
            }
        });
        b.acquire(2, LOCK, 0).read(2, DATA).release(2, LOCK, 0);
        let data = users(&model(&b), DATA);
        assert_eq!((data.len(), *data.last().unwrap()), (201, 2), "{host:?}");
    }
}

#[test]
fn turns_that_would_wait_for_each_other_are_let_go() {
    // The locks in opposite orders, never at the same time in the recording.
    let both = |b: &mut Builder, t: u32, _: u64| {
        let order = if t == 0 { [LOCK, DATA] } else { [DATA, LOCK] };
        for l in order {
            b.acquire(t, l, 0).access(t, l, 4, Op::Atomic, 1);
        }
        for l in order.into_iter().rev() {
            b.release(t, l, 0);
        }
    };
    let b = record(2, 50, Host::Runs, both);
    assert_eq!(model(&b).iter().filter(|e| e.1.is_some()).count(), 200);
}

#[test]
fn places_that_several_hold_at_once_do_not_exclude() {
    // A semaphore of two: both threads hold it all the time.
    let mut b = Builder::new(2);
    for n in 0..40 {
        for t in 0..2 {
            b.acquire(t, LOCK, 0);
        }
        for t in 0..2 {
            b.write(t, OWN * u64::from(t + 1) + 8 * n).write(t, DATA);
        }
        for t in 0..2 {
            b.release(t, LOCK, 0);
        }
    }
    assert!(handovers(&users(&model(&b), DATA)) >= 75);
}

/// Two threads with 5,000 references each, of which one of each, at this place, is of the word that both change by an atomic.
fn once_each(at: [u64; 2], order: [u32; 2], then: u64) -> Builder {
    let mut b = Builder::new(2);
    for t in order {
        for n in 0..5_000 {
            b.write(t, OWN * u64::from(t + 1) + 8 * n);
            if n == at[t as usize] {
                b.access(t, DATA, 8, Op::Atomic, 1).acq_rel(t, DATA, 0);
            }
        }
        (0..then).for_each(|n| _ = b.write(t, OWN * u64::from(t + 1) + 8 * n));
    }
    b
}

fn apart(b: &Builder) -> Option<(u32, u32, u32)> {
    let (_, summary) = Log::of(&b.open().expect("valid"), OrderKind::Model).expect("acyclic");
    summary.apart.map(|a| (a.first, a.waiter, a.pairs))
}

#[test]
fn threads_that_a_recording_put_apart_are_told() {
    // Thread 1 comes early to what thread 0 comes to late, but the recording has thread 0 first.
    assert_eq!(apart(&once_each([4_900, 10], [0, 1], 0)), Some((0, 1, 1)));
    assert_eq!(apart(&once_each([4_900, 10], [1, 0], 0)), None, "in the order in which they come anyway");
    assert_eq!(apart(&once_each([10, 10], [0, 1], 0)), None, "at the same time");
    assert_eq!(apart(&once_each([4_900, 10], [0, 1], 50)).map(|a| a.2), Some(1));
    assert_eq!(apart(&once_each([4_990, 4_999], [0, 1], 0)), None, "nothing comes after");
}

#[test]
fn who_waits_for_another_is_not_apart() {
    // A flag that thread 0 sets late.
    let mut b = Builder::new(2);
    (0..5_000).for_each(|n| _ = b.write(0, OWN + 8 * n));
    b.write(0, DATA).release(0, DATA, 0);
    b.acquire(1, DATA, 0).read(1, DATA);
    (0..5_000).for_each(|n| _ = b.write(1, 2 * OWN + 8 * n));
    assert_eq!(apart(&b), None);
    // A section that thread 0 was in before thread 1 came.
    let mut b = Builder::new(2);
    b.acquire(0, LOCK, 0).access(0, LOCK, 4, Op::Atomic, 1);
    (0..5_000).for_each(|n| _ = b.write(0, OWN + 8 * n));
    b.access(0, LOCK, 4, Op::Write, 1).release(0, LOCK, 0);
    (0..10).for_each(|n| _ = b.write(1, 2 * OWN + 8 * n));
    locked(&mut b, 1, 1);
    (0..5_000).for_each(|n| _ = b.write(1, 2 * OWN + 8 * n));
    assert_eq!(apart(&b), None);
}

/// Thread 0 creates two threads, each with a block of memory that it gives back at its end; the host may have let the first
/// one end before it made the second, which then got the same block.
fn born(same: bool) -> Builder {
    let mut b = Builder::new(3);
    let block = |t: u64| if same { DATA } else { DATA + 64 * t };
    let give = |b: &mut Builder, t: u32| {
        b.acquire(0, block(u64::from(t)), u64::MAX).write(0, block(u64::from(t))).spawn(0, t);
    };
    let run = |b: &mut Builder, t: u32| {
        (0..3_000).for_each(|n| _ = b.write(t, OWN * u64::from(t) + 8 * n).write(t, LOCK + 8 * u64::from(t)));
        b.release(t, block(u64::from(t)), u64::MAX);
    };
    give(&mut b, 1);
    run(&mut b, 1);
    give(&mut b, 2);
    run(&mut b, 2);
    b
}

#[test]
fn memory_for_new_threads_does_not_put_them_one_after_the_other() {
    for same in [false, true] {
        let order = model(&born(same));
        let first = order.iter().position(|e| e.0 == 2).unwrap();
        let last = order.iter().rposition(|e| e.0 == 1 && e.1.is_some()).unwrap();
        assert!(first < 20 && last > 11_900, "{same}: {first} {last}");
    }
}

/// The rule said slowly: of threads with 16 acquires and releases the n-th turn follows the first n of each other, and of
/// all others, or to all others, everything with a lower number. If `alike` the first n - 1.
fn must_come_before(data: &DatasetReader, alike: bool) -> Vec<((u32, usize), (u32, usize))> {
    let of = |kind: &EventKind| match *kind {
        EventKind::Acquire { seq, .. } => Some((seq, true, false)),
        EventKind::Release { seq, .. } => Some((seq, false, true)),
        EventKind::AcqRel { seq, .. } => Some((seq, true, true)),
        _ => None,
    };
    // (thread, index of the event, number, turn, acquires, releases)
    let mut all = Vec::new();
    for t in 0..data.threads() {
        let mut turn = 1;
        for (i, (seq, acquires, releases)) in data.thread_events(t).filter_map(|e| of(&e.kind)).enumerate() {
            all.push((t, i, seq, turn, acquires, releases));
            turn += usize::from(releases);
        }
    }
    let regular = |t: u32| {
        let mine = all.iter().filter(|e| e.0 == t);
        mine.clone().filter(|e| e.4).count() >= 16 && mine.filter(|e| e.5).count() >= 16
    };
    let mut out = Vec::new();
    for b in all.iter().filter(|e| e.4) {
        for a in all.iter().filter(|a| a.5 && a.0 != b.0 && a.2 < b.2) {
            if a.3 + usize::from(alike) <= b.3 || !regular(a.0) || !regular(b.0) {
                out.push(((a.0, a.1), (b.0, b.1)));
            }
        }
    }
    out
}

#[test]
fn turns_follow_what_the_slow_rule_says() {
    let mut rng = Rng::new(77);
    for case in 0..cases(60, 2_000) {
        let threads = 2 + rng.below(3) as u32;
        let alike = rng.below(2) == 0;
        let mut b = Builder::new(threads);
        for n in 0..(threads as u64 * 40) {
            let t = rng.below(u64::from(threads)) as u32;
            let pc = if alike { 1 } else { 10 * u64::from(t) + 1 };
            match rng.below(if case % 2 == 0 { 3 } else { 4 }) {
                0 => locked_at(&mut b, t, 1, pc),
                1 => _ = b.acq_rel(t, LOCK, 0).access(t, OWN * u64::from(t + 1), 8, Op::Write, pc + 1),
                2 => _ = b.write(t, OWN * u64::from(t + 1) + 8 * n),
                _ => _ = b.acquire(t, LOCK, 0),
            }
        }
        let data = b.open().expect("valid");
        let (log, _) = Log::of(&data, OrderKind::Model).expect("acyclic");
        let mut at = vec![Vec::new(); threads as usize];
        for (i, e) in log.entries.iter().enumerate().filter(|(_, e)| e.1.is_none()) {
            at[e.0 as usize].push(i);
        }
        for ((t, i), (u, j)) in must_come_before(&data, alike) {
            assert!(at[t as usize][i] < at[u as usize][j], "case {case}, {alike}");
        }
    }
}
