//! Calls of functions that were recorded, and the order of threads that comes of them.
use super::entry::marker;
use super::testfile::{TestFile, folder};
use crate::testing::{Imported, imported};
use homenode_trace::event::SyncKind;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{EventKind, Op};

const LOCK: u64 = 1;
const UNLOCK: u64 = 2;
const MAKE: u64 = 3;
const BARRIER: u64 = 4;
const MALLOC: u64 = 5;
const READ: u64 = 6;
const WRITE: u64 = 7;
const RW_UNLOCK: u64 = 8;
const WAIT: u64 = 9;
const SIGNAL: u64 = 10;
const SEM_MAKE: u64 = 11;
const SEM_TAKE: u64 = 12;
const SEM_POST: u64 = 13;
const LIST: &str = "1,1,0x10,libc.so.6!pthread_mutex_lock\n2,1,0x20,noret,libc.so.6!pthread_mutex_unlock\n\
    3,3,0x30,libc.so.6!pthread_barrier_init\n4,1,0x40,libc.so.6!pthread_barrier_wait\n5,1,0x50,libc.so.6!malloc\n\
    6,1,0x60,libc.so.6!pthread_rwlock_rdlock\n7,1,0x70,libc.so.6!pthread_rwlock_wrlock\n8,1,0x80,libc.so.6!pthread_rwlock_unlock\n\
    9,2,0x90,libc.so.6!pthread_cond_wait\n10,1,0xa0,libc.so.6!pthread_cond_signal\n11,3,0xb0,libc.so.6!sem_init\n\
    12,1,0xc0,libc.so.6!sem_wait\n13,1,0xd0,libc.so.6!sem_post\n";

/// Imports files of threads 5, 6 and so on of a process, with the list of functions.
fn traced(files: Vec<TestFile>) -> Imported {
    let named = ["t5.trace", "t6.trace", "t7.trace", "t8.trace"];
    let mut all: Vec<(&str, Vec<u8>)> =
        named.into_iter().zip((5..).zip(files)).map(|(name, (tid, file))| (name, file.ended(tid))).collect();
    all.push(("raw/funclist.log", LIST.as_bytes().to_vec()));
    imported(folder(&all).path()).unwrap()
}

fn thread(tid: u64) -> TestFile {
    TestFile::of(100, tid, 0)
}

/// Addresses of all references in the model order, with their threads.
fn in_order(found: &Imported) -> Vec<(u32, u64)> {
    let mut order = Order::new(&found.data, OrderKind::Model).unwrap();
    let mut all = Vec::new();
    while let Some(piece) = order.pull().unwrap() {
        all.extend(piece.refs.iter().map(|r| (r.thread, r.addr)));
    }
    all
}

/// Acquires and releases of a thread: whether it acquires, after how many references, object, epoch, kind.
fn synchronisation(found: &Imported, thread: u32) -> Vec<(bool, u64, u64, u64, SyncKind)> {
    let events = found.data.thread_events(thread).map(|e| e.into_owned());
    let of = |e: homenode_trace::Event| match e.kind {
        EventKind::Acquire { object, epoch, sync, .. } => Some((true, e.at, object, epoch, sync)),
        EventKind::Release { object, epoch, sync, .. } => Some((false, e.at, object, epoch, sync)),
        _ => None,
    };
    events.filter_map(of).collect()
}

fn notes(found: &Imported) -> String {
    found.data.manifest().blind.notes.join("\n")
}

#[test]
fn who_holds_a_mutex_keeps_others_out_of_what_it_guards() {
    const M: u64 = 0x7000;
    // By the stamps, which stand long before the calls, the second thread takes the lock while the first holds it.
    let first = thread(5).at(10).load(1).called(LOCK, M).load(2).at(40).load(3).call(UNLOCK, &[M]).load(4);
    let second = thread(6).at(20).load(11).load(12).called(LOCK, M).load(13).call(UNLOCK, &[M]).at(50).load(14);
    let found = traced(vec![first, second]);
    let mutex = |acquires, at| (acquires, at, M, 0, SyncKind::Mutex);
    assert_eq!(synchronisation(&found, 0), [mutex(true, 1), mutex(false, 3)]);
    assert_eq!(synchronisation(&found, 1), [mutex(true, 2), mutex(false, 3)]);
    let order = in_order(&found);
    let at = |addr: u64| order.iter().position(|r| r.1 == addr).unwrap();
    assert!(at(3) < at(13), "{order:?}");
    let counts = ["calls of functions", "calls that order threads"].map(|name| found.counted(name));
    assert_eq!(counts, [4, 4]);
    assert!(notes(&found).contains("order threads: 2 of pthread_mutex_lock, 2 of pthread_mutex_unlock"));
    assert!(!found.data.manifest().synchronised, "atomics and the begins of threads are still not known");
    assert!(!notes(&found).contains("held"), "{}", notes(&found));
}

#[test]
fn a_lock_that_was_not_got_and_calls_within_calls_order_nothing() {
    let failed = thread(5).at(10).load(1).call(LOCK, &[0x70]).returned(LOCK, 110).load(2);
    // What a lock calls itself is how it is done.
    let nested = thread(6).at(10).load(3).call(LOCK, &[0x80]).called(LOCK, 0x80).load(4).returned(LOCK, 0).load(5);
    // A return without a call, and a call that never returns, whose thread goes on.
    let odd = thread(7).at(10).load(6).returned(LOCK, 0).load(7).call(LOCK, &[0x90]).load(8).at(20).load(9);
    let found = traced(vec![failed, nested, odd]);
    assert_eq!(synchronisation(&found, 0), []);
    assert_eq!(synchronisation(&found, 1), [(true, 2, 0x80, 0, SyncKind::Mutex)]);
    assert_eq!(synchronisation(&found, 2), []);
}

#[test]
fn a_barrier_is_left_when_all_have_come() {
    const B: u64 = 0x8000;
    let round = |file: TestFile, us: u64, addr: u64, told: i64| {
        file.at(us).load(addr).call(BARRIER, &[B]).returned(BARRIER, told).load(addr + 1)
    };
    let one = |made: bool| {
        let mut first = thread(5).at(1).load(1);
        if made {
            first = first.call(MAKE, &[B, 0, 2]).returned(MAKE, 0);
        }
        // The first thread leaves, by its stamps, long before the second comes.
        let first = round(round(first, 10, 0x100, -1), 20, 0x110, 0);
        let second = round(round(thread(6), 30, 0x200, 0), 40, 0x210, -1);
        traced(vec![first, second])
    };
    for found in [one(true), one(false)] {
        let barrier = |acquires, at, epoch| (acquires, at, B, epoch, SyncKind::Barrier { parties: 2 });
        let rounds = |n| [barrier(false, n, 0), barrier(true, n, 0), barrier(false, n + 2, 1), barrier(true, n + 2, 1)];
        assert_eq!((synchronisation(&found, 0), synchronisation(&found, 1)), (rounds(2).to_vec(), rounds(1).to_vec()));
        let order = in_order(&found);
        let at = |addr: u64| order.iter().position(|r| r.1 == addr).unwrap();
        assert!(at(0x200) < at(0x101) && at(0x100) < at(0x201) && at(0x210) < at(0x111), "{order:?}");
    }
    // Three arrivals and two rounds: nobody knows how many threads it takes.
    let odd = traced(vec![round(round(round(thread(5), 1, 0x100, -1), 2, 0x110, -1), 3, 0x120, 0)]);
    assert_eq!(synchronisation(&odd, 0), []);
    assert!(notes(&odd).contains("3 arrivals at barriers order nothing"), "{}", notes(&odd));
}

#[test]
fn readers_share_and_writers_do_not() {
    const L: u64 = 0x9000;
    let reader =
        |tid, us| thread(tid).at(us).load(tid).called(READ, L).load(tid + 16).called(RW_UNLOCK, L).load(tid + 32);
    let writer = thread(7).at(11).load(7).called(WRITE, L).store(23).called(RW_UNLOCK, L).load(39);
    let found = traced(vec![reader(5, 10), reader(6, 10), writer]);
    let (r, w) = (SyncKind::RwRead, SyncKind::RwWrite);
    assert_eq!(synchronisation(&found, 0), [(true, 1, L, 0, r), (false, 2, L, 1, r)]);
    assert_eq!(synchronisation(&found, 2), [(true, 1, L, 0, w), (true, 1, L, 1, w), (false, 2, L, 0, w)]);
    let order = in_order(&found);
    let at = |addr: u64| order.iter().position(|r| r.1 == addr).unwrap();
    assert!(at(21).max(at(22)) < at(23), "{order:?}");
}

#[test]
fn who_waits_for_a_condition_gives_the_lock_back_meanwhile() {
    const M: u64 = 0x7000;
    const C: u64 = 0x7100;
    let waits = thread(5).at(10).called(LOCK, M).load(1).call(WAIT, &[C, M]).load(2).at(50).returned(WAIT, 0).load(3);
    let waits = waits.call(UNLOCK, &[M]);
    let signals = thread(6).at(20).called(LOCK, M).store(11).called(SIGNAL, C).call(UNLOCK, &[M]).at(30).load(12);
    let found = traced(vec![waits, signals]);
    let (m, c) =
        (|acquires, at| (acquires, at, M, 0, SyncKind::Mutex), |acquires, at, sync| (acquires, at, C, 0, sync));
    let all = [m(true, 0), m(false, 1), c(true, 2, SyncKind::Condition), m(true, 2), m(false, 3)];
    assert_eq!(synchronisation(&found, 0), all);
    assert_eq!(synchronisation(&found, 1), [m(true, 0), c(false, 1, SyncKind::Signal), m(false, 1)]);
    assert!(!notes(&found).contains("that another thread held"), "{}", notes(&found));
}

#[test]
fn a_semaphore_that_is_0_lets_nobody_on() {
    const S: u64 = 0x7200;
    let takes = thread(5).at(5).call(SEM_MAKE, &[S, 0, 0]).returned(SEM_MAKE, 0).load(1).called(SEM_TAKE, S).load(2);
    let posts = thread(6).at(20).store(11).called(SEM_POST, S).load(12);
    let found = traced(vec![takes, posts]);
    assert_eq!(synchronisation(&found, 0), [(true, 1, S, 0, SyncKind::Semaphore)]);
    let order = in_order(&found);
    let at = |addr: u64| order.iter().position(|r| r.1 == addr).unwrap();
    assert!(at(11) < at(2), "{order:?}");
}

#[test]
fn what_contradicts_itself_goes_on_and_is_said() {
    // Both hold what the other one wants; a barrier that one thread of two reaches; a lock whose holder ends.
    let file = |tid, a, b| thread(tid).at(tid).called(LOCK, a).at(20).load(1).called(LOCK, b).load(2);
    let found = traced(vec![
        file(5, 0x70, 0x80),
        file(6, 0x80, 0x70),
        thread(7).at(1).call(MAKE, &[0x90, 0, 2]).returned(MAKE, 0).called(BARRIER, 0x90).load(3),
    ]);
    let refs: Vec<usize> = (0..3).map(|t| found.refs(t).len()).collect();
    assert_eq!(refs, [2, 2, 1]);
    assert!(notes(&found).contains("3 calls took a lock that another thread held"), "{}", notes(&found));
}

#[test]
fn functions_that_are_not_listed_are_counted_and_nothing_is_concluded() {
    let file = || thread(5).at(1).called(MALLOC, 64).called(LOCK, 0x70).called(77, 1).load(1);
    let found = traced(vec![file()]);
    assert_eq!((found.counted("calls of functions"), found.counted("calls that order threads")), (3, 1));
    let said = notes(&found);
    assert!(
        said.contains("nothing is concluded: 1 of malloc") && said.contains("1 calls of functions that funclist.log"),
        "{said}"
    );
    let bare = imported(folder(&[("t5.trace", file().ended(5))]).path()).unwrap();
    assert_eq!(synchronisation(&bare, 0), []);
    assert_eq!((bare.counted("calls of functions"), bare.counted("calls that order threads")), (3, 0));
    assert!(notes(&bare).contains("import the whole trace folder"), "{}", notes(&bare));
    // Calls in the kernel's part of a trace, and markers without a function, are none.
    let odd = thread(5).at(1).mark(marker::ARGUMENT, 1).mark(marker::RESULT, 1).mark(marker::KERNEL_BEGIN, 0);
    let odd = traced(vec![odd.called(LOCK, 0x70).mark(marker::KERNEL_END, 0).load(1)]);
    assert_eq!((synchronisation(&odd, 0), odd.counted("calls of functions")), (Vec::new(), 0));
    assert_eq!(odd.refs(0)[0].2, Op::Read);
}

#[test]
fn calls_and_waits_in_the_kernel_are_one_order() {
    const M: u64 = 0x7000;
    // The second thread waits for the lock in the kernel, and is woken by who gives it back.
    let first = thread(5).at(1).called(LOCK, M).load(1).call(UNLOCK, &[M]).futex((20, 21), [M, 129, 1], 1).load(2);
    let second = thread(6).at(5).load(11).call(LOCK, &[M]).futex((6, 30), [M, 128, 2], 0).returned(LOCK, 0).load(12);
    let second = second.call(UNLOCK, &[M]).load(13);
    let found = traced(vec![first, second]);
    let kinds = |thread| synchronisation(&found, thread).iter().map(|s| (s.0, s.4)).collect::<Vec<_>>();
    let (m, k) = (SyncKind::Mutex, SyncKind::Unknown);
    assert_eq!((kinds(0), kinds(1)), (vec![(true, m), (false, m), (false, k)], vec![(true, k), (true, m), (false, m)]));
    assert_eq!(found.counted("waits in the kernel"), 1);
    let order = in_order(&found);
    let at = |addr: u64| order.iter().position(|r| r.1 == addr).unwrap();
    assert!(at(1) < at(12), "{order:?}");
}
