//! Lives of threads: joins and creations decide, not the host.
use homenode_base::Life;
use homenode_synthetic::Builder;
use homenode_threads::lives;
use homenode_trace::Sampling;
use homenode_trace::event::{EventKind, SyncKind};
use homenode_trace::order::{Order, OrderKind, rest};

const LOCK: u64 = 0x9000;

/// The thread's end, as the recorder writes it; its handle is used again by later threads.
fn end(b: &mut Builder, thread: u32, handle: u64) {
    b.release(thread, handle, 0).event(thread, EventKind::Exit);
}

fn join(b: &mut Builder, thread: u32, handle: u64) {
    b.acquire(thread, handle, 0);
}

fn of(b: &Builder) -> Vec<Life> {
    lives(&b.open().expect("a dataset"))
}

fn before(life: &Life, threads: u32) -> Vec<u32> {
    (0..threads).filter(|&r| life.ended_before.contains(r)).collect()
}

/// Three generations of four threads; `late` delays ends, `shuffled` makes them end in another order.
fn fork_join(shuffled: bool) -> Builder {
    let mut b = Builder::new(13);
    b.write(0, 8);
    for generation in 0..3 {
        let threads: Vec<u32> = (1..5).map(|i| generation * 4 + i).collect();
        threads.iter().for_each(|&t| {
            b.spawn(0, t).write(t, 64 * u64::from(t));
        });
        let handle = |t: u32| 0x7000 + u64::from(t % 4) * 0x100;
        let mut ends = threads.clone();
        if shuffled {
            ends.reverse();
        }
        ends.iter().for_each(|&t| end(&mut b, t, handle(t)));
        threads.iter().for_each(|&t| join(&mut b, 0, handle(t)));
    }
    b
}

#[test]
fn joined_generations_follow_each_other() {
    for shuffled in [false, true] {
        let lives = of(&fork_join(shuffled));
        assert_eq!(lives.iter().map(|l| l.rank).collect::<Vec<_>>(), (0..13).collect::<Vec<_>>());
        for t in 1..13u32 {
            let generation = (t - 1) / 4;
            assert_eq!(before(&lives[t as usize], 13), (1..1 + 4 * generation).collect::<Vec<_>>(), "thread {t}");
        }
        assert!(before(&lives[0], 13).is_empty());
    }
}

#[test]
fn what_the_host_lets_happen_early_is_not_known() {
    // Thread 1 has ended and released a lock that main takes before it creates thread 2; it is joined after that.
    let mut b = Builder::new(3);
    b.write(0, 8).spawn(0, 1).write(1, 64).release(1, LOCK, 0);
    end(&mut b, 1, 0x7000);
    b.acquire(0, LOCK, 0).spawn(0, 2).write(2, 128);
    end(&mut b, 2, 0x7100);
    join(&mut b, 0, 0x7000);
    join(&mut b, 0, 0x7100);
    assert!(before(&of(&b)[2], 3).is_empty());
}

#[test]
fn detached_threads_have_ended_for_whoever_heard_of_it() {
    let mut b = Builder::new(4);
    b.write(0, 8).spawn(0, 1).spawn(0, 2);
    b.write(1, 64).release(1, LOCK, 0);
    b.write(2, 64).release(2, LOCK, 0).write(2, 72); // goes on
    b.acquire(0, LOCK, 0).spawn(0, 3).write(3, 128);
    assert_eq!(before(&of(&b)[3], 4), [1]);
}

#[test]
fn descendants_of_joined_threads_have_ended_too() {
    // 1 creates and joins 2; main joins 1 and creates 3, which creates 4.
    let mut b = Builder::new(5);
    b.write(0, 8).spawn(0, 1).write(1, 64).spawn(1, 2).write(2, 64);
    end(&mut b, 2, 0x7200);
    join(&mut b, 1, 0x7200);
    end(&mut b, 1, 0x7100);
    join(&mut b, 0, 0x7100);
    b.spawn(0, 3).write(3, 64).spawn(3, 4).write(4, 64);
    let lives = of(&b);
    assert_eq!((before(&lives[2], 5), before(&lives[3], 5), before(&lives[4], 5)), (vec![], vec![1, 2], vec![1, 2]));
}

#[test]
fn ranks_are_the_order_of_creation_whatever_numbers_the_recorder_gave() {
    // Main creates 3 and 1; 3 creates 2, 1 creates 4.
    let mut b = Builder::new(5);
    b.spawn(0, 3).spawn(0, 1).spawn(3, 2).spawn(1, 4);
    let ranks: Vec<u32> = of(&b).iter().map(|l| l.rank).collect();
    assert_eq!(ranks, [0, 3, 2, 1, 4]);
}

#[test]
fn sampled_recordings_go_by_stamps() {
    let mut b = Builder::new(3);
    b.sampled(Sampling::default()).write(0, 8).spawn(0, 1).write(1, 64).event(1, EventKind::Exit);
    b.spawn(0, 2).write(2, 64);
    let lives = of(&b);
    assert_eq!((before(&lives[1], 3), before(&lives[2], 3)), (vec![], vec![1]));
}

#[test]
fn threads_that_wait_for_each_other_do_not_stop_anybody() {
    let mut b = Builder::new(4);
    b.write(0, 8).spawn(0, 1).spawn(0, 2);
    // Each joins the other before it ends: no program does, a damaged dataset may say so.
    let ends = |b: &mut Builder, t: u32, object: u64, other: u64, seq: u64| {
        b.write(t, 64).event(t, EventKind::Acquire { object: other, epoch: 0, seq, sync: SyncKind::Mutex });
        b.event(t, EventKind::Release { object, epoch: 0, seq: 1, sync: SyncKind::Mutex }).event(t, EventKind::Exit);
    };
    ends(&mut b, 1, 0x7100, 0x7200, 5);
    ends(&mut b, 2, 0x7200, 0x7100, 5);
    b.event(0, EventKind::Acquire { object: 0x7100, epoch: 0, seq: 6, sync: SyncKind::Mutex }).spawn(0, 3).write(3, 8);
    assert!(before(&of(&b)[3], 4).is_empty());
}

#[test]
fn a_process_has_ended_for_whoever_waited_for_it() {
    // Four processes, waited for one by one or all at the end.
    for one_by_one in [false, true] {
        let mut b = Builder::new(5);
        (1..5).for_each(|t| in_new_process(&mut b, t));
        b.write(0, 8);
        for t in 1..5u32 {
            b.spawn(0, t).write(t, 64).write(t, 128).event(t, EventKind::Exit);
            if one_by_one {
                b.event(0, EventKind::Waited { pid: 1000 + t });
            }
        }
        let lives = of(&b);
        for t in 1..5u32 {
            let ended = if one_by_one { (1..t).collect() } else { Vec::new() };
            assert_eq!(before(&lives[t as usize], 5), ended, "process {t}");
        }
        // What one does stands before what the next does, or they go on side by side.
        let data = b.open().expect("a dataset");
        let refs = rest(&mut Order::new(&data, OrderKind::Model).expect("in order")).expect("in order");
        let mut threads: Vec<u32> = refs.iter().map(|r| r.thread).collect();
        threads.dedup();
        assert_eq!(threads.len() == 5, one_by_one, "{threads:?}");
    }
}

/// Moves a thread to a process of its own, whose number is 1000 more than its index.
fn in_new_process(b: &mut Builder, thread: u32) {
    let process = b.process();
    b.manifest().threads[thread as usize].process = process;
}

#[test]
fn processes_that_a_script_starts_go_by_the_clock() {
    let mut b = Builder::new(4);
    (1..4).for_each(|t| in_new_process(&mut b, t));
    let begin = |b: &mut Builder, t: u32| {
        b.event(t, EventKind::Process { pid: 1000 + t, parent: 1 }).write(t, 64);
    };
    begin(&mut b, 0);
    b.event(0, EventKind::Exit);
    begin(&mut b, 1);
    begin(&mut b, 2);
    b.event(1, EventKind::Exit);
    begin(&mut b, 3);
    let lives = of(&b);
    let ended: Vec<Vec<u32>> = lives.iter().map(|l| before(l, 4)).collect();
    assert_eq!(ended, [vec![], vec![0], vec![0], vec![0, 1]], "process 2 has no end");
}
