//! Busy waiting: rounds that change nothing are spins but for the last one, however many the host made of them.
use homenode_base::Rng;
use homenode_synthetic::Builder;
use homenode_trace::DatasetReader;
use homenode_trace::event::EventKind;
use homenode_trace::order::{Order, OrderKind, Summary, rest};
use homenode_trace::record::Op;

const LOCK: u64 = 0x9000;
const FLAG: u64 = 0x100;
const DATA: u64 = 0x2000;

/// What is charged, in model order.
fn charged(data: &DatasetReader) -> (Vec<(u32, u64, Op)>, Summary) {
    let mut order = Order::new(data, OrderKind::Model).expect("in order");
    let refs = rest(&mut order).expect("in order");
    (refs.iter().filter(|r| r.op != Op::Spin).map(|r| (r.thread, r.addr, r.op)).collect(), order.summary())
}

/// A flag that thread 1 sets after some work; thread 0 has work of its own and then waits in `rounds` failed rounds.
fn program(rounds: usize, wait: impl Fn(&mut Builder), set: impl Fn(&mut Builder)) -> DatasetReader {
    let mut b = Builder::new(2);
    (0..20).for_each(|i| {
        b.write(0, DATA + 8 * i).read(1, DATA + 8 * i);
    });
    (0..rounds).for_each(|_| wait(&mut b));
    (0..20).for_each(|i| {
        b.write(1, DATA + 0x400 + 8 * i);
    });
    set(&mut b);
    wait(&mut b);
    (0..20).for_each(|i| {
        b.write(0, DATA + 0x400 + 8 * i);
    });
    b.open().expect("a dataset")
}

fn same_for_all_hosts(wait: impl Fn(&mut Builder), set: impl Fn(&mut Builder), per_round: u64, what: &str) {
    let (first, _) = charged(&program(0, &wait, &set));
    for rounds in [1, 2, 3, 7, 100, 30_000] {
        let (found, summary) = charged(&program(rounds, &wait, &set));
        assert_eq!(found, first, "{what}: {rounds} failed rounds");
        assert_eq!(summary.spins, rounds as u64 * per_round, "{what}");
    }
}

#[test]
fn flags_under_a_lock() {
    let wait = |b: &mut Builder| {
        b.acquire(0, LOCK, 0).read(0, FLAG).release(0, LOCK, 0);
    };
    let set = |b: &mut Builder| {
        b.acquire(1, LOCK, 0).write(1, FLAG).release(1, LOCK, 0);
    };
    same_for_all_hosts(wait, set, 1, "mutex");
    // The words of the lock may be recorded too.
    let word = |b: &mut Builder| {
        b.acquire(0, LOCK, 0).access(0, LOCK, 4, Op::Atomic, 0x50).read(0, FLAG);
        b.access(0, LOCK, 4, Op::Write, 0x51).release(0, LOCK, 0);
    };
    same_for_all_hosts(word, set, 3, "mutex with its word");
    let cas = |b: &mut Builder| {
        b.access(0, LOCK, 4, Op::Atomic, 0x50).acq_rel(0, LOCK, 0).read(0, FLAG);
        b.access(0, LOCK, 4, Op::Write, 0x51).release(0, LOCK, 0);
    };
    same_for_all_hosts(cas, set, 3, "spin lock of the program");
}

#[test]
fn atomics_and_several_flags() {
    let set = |b: &mut Builder| {
        b.write(1, FLAG).release(1, FLAG, 0);
    };
    let load = |b: &mut Builder, addr: u64| {
        b.acquire(0, addr, 0).access(0, addr, 4, Op::Read, 0x60 + addr);
    };
    same_for_all_hosts(|b| load(b, FLAG), set, 1, "atomic");
    let two = |b: &mut Builder| {
        load(b, FLAG);
        load(b, FLAG + 0x100);
    };
    same_for_all_hosts(two, set, 2, "two flags in turn");
    let failing = |b: &mut Builder| {
        b.acquire(0, FLAG, 0).access(0, FLAG, 4, Op::Atomic, 0x70);
    };
    same_for_all_hosts(failing, set, 1, "compare-and-swap that fails");
}

/// As the recorder writes it: three reads as they are, then spins, and at last the read that succeeds.
/// A table looked at again and again under a lock, and a wait whose flag nobody else sets: work, in whatever registers.
#[test]
fn long_rounds_that_nobody_could_end_are_work() {
    let table = |flag: Option<u64>| {
        move |b: &mut Builder| {
            for i in 0..16 {
                b.acquire(0, LOCK, 0).read(0, FLAG + 64 * (1 + i));
                flag.into_iter().for_each(|f| _ = b.read(0, f));
                b.release(0, LOCK, 0);
            }
        }
    };
    let set = |b: &mut Builder| {
        b.acquire(1, LOCK, 0).write(1, FLAG).write(1, FLAG + 64 * 3).release(1, LOCK, 0);
    };
    for (flag, waits) in [(None, false), (Some(FLAG), true), (Some(FLAG + 8), false)] {
        let (_, summary) = charged(&program(100, table(flag), set));
        assert_eq!(summary.spins, if waits { 3200 } else { 0 }, "{flag:?}");
    }
}

/// Nobody has work for a thread that looks into the queues of all eight, each time under two locks.
#[test]
fn rounds_over_the_queues_of_all() {
    let wait = |b: &mut Builder| {
        for queue in 0..8 {
            let lock = LOCK + 64 * (1 + queue);
            b.acquire(0, LOCK, 0).acquire(0, lock, 0).read(0, FLAG + 64 * (1 + queue)).read(0, FLAG);
            b.release(0, lock, 0).release(0, LOCK, 0);
        }
    };
    let set = |b: &mut Builder| {
        b.acquire(1, LOCK, 0).write(1, FLAG).release(1, LOCK, 0);
    };
    same_for_all_hosts(wait, set, 16, "queues of all");
}

#[test]
fn what_the_recorder_marked_from_the_fourth_on() {
    for numbered in [true, false] {
        let wait = |rounds: u32| {
            let mut b = Builder::new(1);
            b.write(0, DATA);
            for i in 0..=rounds {
                let spin = i >= 3 && i < rounds;
                if numbered && !spin {
                    b.acquire(0, FLAG, 0);
                }
                b.access(0, FLAG, 4, if spin { Op::Spin } else { Op::Read }, 0x60);
            }
            b.write(0, DATA);
            charged(&b.open().expect("a dataset")).0
        };
        for rounds in [4, 5, 100, 1000] {
            assert_eq!(wait(rounds), [(0, DATA, Op::Write), (0, FLAG, Op::Read), (0, DATA, Op::Write)], "{numbered}");
        }
    }
}

#[test]
fn work_is_no_waiting() {
    let all = |b: &Builder| {
        let data = b.open().expect("a dataset");
        let refs: u64 = (0..data.threads()).map(|t| data.refs(t)).sum();
        let (found, summary) = charged(&data);
        assert_eq!((found.len() as u64, summary.spins), (refs, 0));
    };
    let repeat = |f: &dyn Fn(&mut Builder)| {
        let mut b = Builder::new(2);
        (0..50).for_each(|_| f(&mut b));
        all(&b);
    };
    // A counter under a lock, an atomic counter, an empty critical section, a plain loop, a barrier in a loop, another address each time.
    repeat(&|b| {
        b.acquire(0, LOCK, 0).read(0, FLAG).write(0, FLAG).release(0, LOCK, 0);
    });
    repeat(&|b| {
        b.access(0, FLAG, 8, Op::Atomic, 0x40).acq_rel(0, FLAG, 0);
    });
    repeat(&|b| {
        b.acquire(0, LOCK, 0).access(0, LOCK, 4, Op::Atomic, 0x50);
        b.access(0, LOCK, 4, Op::Write, 0x51).release(0, LOCK, 0);
    });
    repeat(&|b| {
        b.read(0, FLAG);
    });
    repeat(&|b| {
        b.read(0, FLAG).read(1, FLAG).barrier(LOCK, 0..2);
    });
    let mut b = Builder::new(1);
    (0..50).for_each(|i| {
        b.acquire(0, LOCK, 0).read(0, FLAG + 8 * i).release(0, LOCK, 0);
    });
    all(&b);
}

/// What the waiting thread wrote before it began to wait is published by its first round, though that failed.
#[test]
fn the_first_round_still_publishes() {
    let mut b = Builder::new(2);
    (0..100).for_each(|_| {
        b.read(0, DATA + 8);
    });
    b.write(0, DATA);
    (0..5).for_each(|_| {
        b.acquire(0, LOCK, 0).read(0, FLAG).release(0, LOCK, 0);
    });
    b.acquire(1, LOCK, 0).read(1, DATA).write(1, FLAG).release(1, LOCK, 0);
    b.acquire(0, LOCK, 0).read(0, FLAG).release(0, LOCK, 0);
    let (found, _) = charged(&b.open().expect("a dataset"));
    let at = |r: (u32, u64, Op)| found.iter().position(|f| *f == r);
    assert!(at((0, DATA, Op::Write)) < at((1, DATA, Op::Read)), "{found:?}");
}

/// Rounds of any kind, made of anything: never a cycle, and no reference is lost.
#[test]
fn any_program_stays_in_order() {
    let mut rng = Rng::new(77);
    for _ in 0..300 {
        let mut b = Builder::new(3);
        for _ in 0..60 {
            let (t, addr) = (rng.below(3) as u32, 0x100 * (1 + rng.below(3)));
            let times = 1 + rng.below(4);
            let what = rng.below(6);
            for _ in 0..times {
                match what {
                    0 => b.acquire(t, addr, 0).read(t, FLAG).release(t, addr, 0),
                    1 => b.acquire(t, addr, 0).read(t, addr),
                    2 => b.write(t, addr).release(t, addr, 0),
                    3 => b.access(t, addr, 8, Op::Atomic, 0x40).acq_rel(t, addr, 0),
                    4 => b.access(t, addr, 8, Op::Spin, 0x40),
                    _ => b.event(t, EventKind::Free { addr }).read(t, addr),
                };
            }
        }
        let data = b.open().expect("a dataset");
        for kind in [OrderKind::Model, OrderKind::Recorded { seed: 3 }] {
            let refs = rest(&mut Order::new(&data, kind).expect("in order")).expect("in order").len() as u64;
            assert_eq!(refs, (0..3).map(|t| data.refs(t)).sum::<u64>());
        }
    }
}

/// What the recorder of a program with volatile flags writes: every read after the first is marked, and an event says so
/// where what was read never changed.
#[test]
fn marked_reads_leave_the_last_one() {
    // A flag polled at once, in one try, and in many; the last one is marked as well if there was one before it.
    let poll = |tries: usize, counter: bool| {
        let mut b = Builder::new(2);
        b.write(1, DATA);
        for i in 0..=tries {
            b.access(0, FLAG, 4, if i > 0 { Op::Spin } else { Op::Read }, 0x70);
            if counter && i < tries {
                b.access(0, DATA + 0x800, 8, Op::Read, 0x71).access(0, DATA + 0x800, 8, Op::Write, 0x72);
            }
        }
        b.write(0, DATA + 0x40);
        charged(&b.open().expect("a dataset")).0
    };
    for counter in [false, true] {
        let first = poll(0, counter);
        assert_eq!(first.len(), 3);
        for tries in [1, 2, 3, 4, 50, 5_000] {
            assert_eq!(poll(tries, counter), first, "{tries} tries, own counter: {counter}");
        }
    }
}

#[test]
fn a_loop_that_counts_is_no_wait() {
    for between in [0, 3, 700] {
        let mut b = Builder::new(2);
        b.write(1, DATA);
        for i in 0..1000 {
            b.access(0, FLAG, 4, if i > 0 { Op::Spin } else { Op::Read }, 0x70);
        }
        (0..between).for_each(|i| {
            b.read(0, DATA + 64 * i);
        });
        b.event(0, EventKind::NoWait { reads: 999 });
        // A wait after it.
        (0..10).for_each(|i| {
            b.access(0, FLAG + 64, 4, if i > 0 { Op::Spin } else { Op::Read }, 0x80);
        });
        let (found, _) = charged(&b.open().expect("a dataset"));
        assert_eq!(found.len() as u64, 1 + 1000 + between + 1);
        let flag = found.iter().filter(|r| r.1 == FLAG && r.2 == Op::Read).count();
        assert_eq!(flag, 1000);
    }
    // What an event of a hostile dataset takes back need not be there.
    let mut b = Builder::new(1);
    b.read(0, DATA).event(0, EventKind::NoWait { reads: u64::MAX }).event(0, EventKind::NoWait { reads: 7 });
    assert_eq!(charged(&b.open().expect("a dataset")).0.len(), 1);
}

#[test]
fn work_between_two_polls_of_one_site_is_no_wait() {
    let mut b = Builder::new(2);
    b.write(1, DATA);
    for i in 0..5 {
        (0..10).for_each(|n| {
            b.access(0, FLAG, 4, if n > 0 { Op::Spin } else { Op::Read }, 0x70);
        });
        b.write(0, DATA + 64 * i).write(0, DATA + 64 * i + 8);
        // Here it need not wait.
        b.access(0, FLAG, 4, Op::Read, 0x70).write(0, DATA + 64 * i + 16);
    }
    let (found, _) = charged(&b.open().expect("a dataset"));
    assert_eq!(found.iter().filter(|r| r.0 == 0 && r.2 == Op::Write).count(), 15);
}
