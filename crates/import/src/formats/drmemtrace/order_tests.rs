//! Orders of random calls: of programs that ran, whose stamps are coarse, and of anything at all.
use super::order::{Did, Note, Ordered, Ordering};
use homenode_base::Rng;
use homenode_trace::event::SyncKind;
use homenode_trace::{Event, EventKind};
use std::collections::HashMap;

const PID: u32 = 1;
const BARRIER: u64 = 0x9000;

fn ordered(mut notes: Vec<Note>) -> (Vec<Event>, Ordered) {
    notes.sort_by_key(|n| n.thread);
    let mut events = Vec::new();
    let done = Ordering::new(&notes).run(&mut |event| {
        events.push(event);
        Ok(())
    });
    (events, done.unwrap())
}

/// Calls of a program of some threads, in the order in which they happened, with the stamps that stand before them: they take locks one
/// at a time, and meet at a barrier.
fn program(rng: &mut Rng, threads: u32) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut stamps = vec![0; threads as usize];
    let mut at = vec![0; threads as usize];
    let mut note = |now: u64, thread: u32, word: u64, did: Did, fresh: bool| {
        let (stamp, at) = (&mut stamps[thread as usize], &mut at[thread as usize]);
        if fresh {
            *stamp = now;
        }
        *at += 1;
        notes.push(Note { ns: *stamp, at: *at, word, thread, pid: PID, did });
    };
    let mut now = 0;
    note(0, 0, BARRIER, Did::MakeBarrier(threads), true);
    for _ in 0..4 {
        for _ in 0..rng.below(12) {
            let (thread, word) = (rng.below(threads.into()) as u32, 0x7000 + rng.below(2) * 8);
            let sync = [SyncKind::Mutex, SyncKind::RwWrite][rng.below(2) as usize];
            now += 1;
            note(now, thread, word, Did::Lock(sync), rng.chance(1, 3));
            now += 1;
            note(now, thread, word, Did::Unlock, rng.chance(1, 3));
        }
        now += 1;
        (0..threads).for_each(|t| note(now, t, BARRIER, Did::Arrive, rng.chance(1, 3)));
        now += 1;
        (0..threads).for_each(|t| note(now, t, BARRIER, Did::Leave(t == 0), rng.chance(1, 3)));
    }
    notes
}

fn of_thread(events: &[Event], thread: u32) -> Vec<u64> {
    events.iter().filter(|e| e.thread == thread).map(|e| e.at).collect()
}

#[test]
fn what_ran_is_put_in_an_order_in_which_it_can_run() {
    let mut rng = Rng::new(5);
    for case in 0..300 {
        let threads = 2 + case % 4;
        let notes = program(&mut rng, threads);
        let (events, done) = ordered(notes.clone());
        assert_eq!(done, Ordered::default(), "case {case}: {notes:?}");
        for t in 0..threads {
            assert!(of_thread(&events, t).is_sorted(), "case {case}");
        }
        let mut holders: HashMap<u64, u32> = HashMap::new();
        let mut arrived: HashMap<u64, u32> = HashMap::new();
        for e in &events {
            match e.kind {
                EventKind::Acquire { sync: SyncKind::Barrier { .. }, epoch, .. } => {
                    assert_eq!(arrived[&epoch], threads, "case {case}: left too early");
                }
                EventKind::Release { sync: SyncKind::Barrier { .. }, epoch, .. } => {
                    *arrived.entry(epoch).or_default() += 1
                }
                EventKind::Acquire { object, .. } => {
                    let holder = *holders.entry(object).or_insert(e.thread);
                    assert_eq!(holder, e.thread, "case {case}: two hold {object:#x}");
                }
                EventKind::Release { object, .. } => assert_eq!(holders.remove(&object), Some(e.thread), "case {case}"),
                _ => unreachable!("{e:?}"),
            }
        }
        assert!(holders.is_empty() && arrived.len() == 4, "case {case}");
    }
}

#[test]
fn anything_is_put_in_some_order_once_each() {
    let mut rng = Rng::new(9);
    let any = [
        Did::Wake,
        Did::WasWoken,
        Did::Joined(3),
        Did::Lock(SyncKind::Mutex),
        Did::Lock(SyncKind::RwRead),
        Did::Lock(SyncKind::RwWrite),
        Did::Unlock,
        Did::MakeBarrier(2),
        Did::MakeBarrier(0),
        Did::Arrive,
        Did::Leave(true),
        Did::Leave(false),
        Did::Signal(SyncKind::Broadcast),
        Did::Waited,
        Did::MakeSemaphore(1),
        Did::Post,
        Did::Take,
    ];
    let mut forced = 0;
    for case in 0..500 {
        let threads = 1 + case % 5;
        let notes: Vec<Note> = (1..=rng.below(60))
            .map(|i| {
                let (thread, did) = (rng.below(threads) as u32, any[rng.below(any.len() as u64) as usize]);
                // Times of a thread never go back, as those who make notes see to.
                Note { ns: i / 3, at: i, word: rng.below(3), thread, pid: rng.below(2) as u32, did }
            })
            .collect();
        let (events, done) = ordered(notes.clone());
        forced += done.forced;
        let mut last = HashMap::new();
        for e in &events {
            let before = last.insert(e.thread, e.at).unwrap_or(0);
            assert!(before <= e.at, "case {case}: {notes:?}");
        }
        // Whatever waits for nobody is there once; numbers are never given twice.
        let simple =
            |did: Did| matches!(did, Did::Wake | Did::WasWoken | Did::Signal(_) | Did::Waited | Did::Post | Did::Take);
        let expected = notes.iter().filter(|n| simple(n.did)).count();
        assert!(events.len() >= expected, "case {case}: {} of {expected}", events.len());
        let mut numbers: Vec<u64> = events
            .iter()
            .map(|e| match e.kind {
                EventKind::Acquire { seq, .. } | EventKind::Release { seq, .. } => seq,
                _ => unreachable!("{e:?}"),
            })
            .collect();
        numbers.dedup();
        assert_eq!(numbers.len(), events.len());
    }
    assert!(forced > 10, "{forced}");
}
