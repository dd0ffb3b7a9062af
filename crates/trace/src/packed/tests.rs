use super::*;
use crate::events::tests::random_kind;
use homenode_base::Rng;

/// Any events, extreme values included, in runs of a thread and mixed.
fn random_events(rng: &mut Rng, n: usize) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let threads = 1 + rng.below(6);
    let sync_only = rng.below(2) == 0;
    while events.len() < n {
        let extreme = |rng: &mut Rng| [0, 1, u64::MAX, u64::MAX - 1, 1 << 63][rng.below(5) as usize];
        let any = |rng: &mut Rng| if rng.below(4) == 0 { extreme(rng) } else { rng.next_u64() >> rng.below(64) };
        let (object, epoch, seq) = (64 * rng.below(5), rng.below(3).wrapping_sub(1), any(rng));
        let code = if rng.below(3) > 0 { 1 } else { rng.below(16) as u8 };
        let sync = SyncKind::of_code(code, any(rng) as u32).unwrap_or_default();
        let kind = match rng.below(if sync_only { 3 } else { 5 }) {
            0 => EventKind::Acquire { object, epoch, seq, sync },
            1 => EventKind::Release { object, epoch, seq, sync },
            2 => EventKind::AcqRel { object: any(rng), epoch: any(rng), seq, sync },
            _ => random_kind(rng),
        };
        let (at, stamp) = (any(rng), any(rng));
        let same = events.last().map(|e| e.thread).filter(|_| rng.below(3) > 0);
        events.push(Event { thread: same.unwrap_or(rng.below(threads) as u32), at, stamp, kind });
    }
    events
}

#[test]
fn packed_events_are_the_list_they_were_made_of() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let n = rng.below(700) as usize;
        let list = random_events(&mut rng, n);
        let packed = Events::from(&list[..]);
        assert_eq!(packed.len(), list.len());
        assert_eq!(packed.to_vec(), list, "seed {seed}");
        let mut index = 0;
        for thread in 0..6 {
            let own: Vec<&Event> = list.iter().filter(|e| e.thread == thread).collect();
            if thread as usize >= packed.threads.len() {
                assert!(own.is_empty());
                continue;
            }
            assert_eq!(packed.first_of(thread), index);
            index += own.len() as u32;
            assert_eq!(packed.last_at(thread), own.last().map(|e| e.at));
            assert_eq!(packed.of_thread(thread).len(), own.len());
            assert!(packed.of_thread(thread).map(Cow::into_owned).eq(own.iter().map(|e| (*e).clone())));
            for n in 0..own.len() + 2 {
                let found = packed.of_thread_from(thread, n as u32).next();
                assert_eq!(found.as_deref(), own.get(n).copied(), "seed {seed}, event {n} of thread {thread}");
                let skip = rng.below(own.len() as u64 + 1) as usize;
                let later = packed.of_thread_from(thread, n as u32).nth(skip);
                assert_eq!(later.as_deref(), own.get(n + skip).copied());
            }
        }
    }
}

#[test]
fn objects_are_numbered_by_space_address_and_epoch() {
    let mut events = Events::default();
    let sync = |thread, object, epoch| {
        let kind = EventKind::Acquire { object, epoch, seq: 7, sync: SyncKind::Mutex };
        Event { thread, at: 0, stamp: 0, kind }
    };
    let keys = [(0, 64, 0), (1, 64, 0), (0, 64, 1), (0, 0, 0), (0, 64, 0)];
    for (space, object, epoch) in keys {
        assert!(events.push(space, sync(space, object, epoch)));
    }
    events.finish(3);
    assert_eq!(events.objects(), &keys[..4]);
    assert_eq!(events.object((1, 64, 0)), Some(1));
    assert_eq!(events.object((1, 64, 1)), None);
    let mut walk = events.iter();
    let mut seen = Vec::new();
    while let Some((thread, index, item)) = walk.item() {
        seen.push((thread, index, item.sync().map(|s| s.object)));
    }
    assert_eq!(seen, [(0, 0, Some(0)), (1, 4, Some(1)), (0, 1, Some(2)), (0, 2, Some(3)), (0, 3, Some(0))]);
}

#[test]
fn a_lock_that_goes_round_takes_few_bytes() {
    let (mut list, mut rng) = (Vec::new(), Rng::new(1));
    let (mut numbers, mut at, mut stamp) = ([0u64; 64], [0u64; 8], 1 << 50);
    for _ in 0..20_000 {
        let (thread, lock) = (rng.below(8) as u32, rng.below(64));
        for acquires in [true, false] {
            let (object, epoch, seq) = (0x7fff_0000_0000 + lock * 128, 0, numbers[lock as usize]);
            numbers[lock as usize] += 1;
            at[thread as usize] += 2;
            stamp += rng.below(400);
            let kind = match acquires {
                true => EventKind::Acquire { object, epoch, seq, sync: SyncKind::Mutex },
                false => EventKind::Release { object, epoch, seq, sync: SyncKind::Mutex },
            };
            list.push(Event { thread, at: at[thread as usize], stamp, kind });
        }
    }
    let packed = Events::from(&list[..]);
    assert!(packed.bytes() < 9 * list.len(), "{} bytes for {} events", packed.bytes(), list.len());
}
