//! Where threads were told to run.
use homenode_base::CpuMask;
use homenode_synthetic::Builder;
use homenode_threads::pinned;
use homenode_trace::event::{AffinityHow, EventKind};

fn mask(cpus: &[u32]) -> CpuMask {
    cpus.iter().copied().collect()
}

fn tell(b: &mut Builder, by: u32, target: u32, how: AffinityHow, cpus: &[u32]) {
    b.event(by, EventKind::Affinity { target, how, cpus: mask(cpus) });
}

fn of(b: &Builder) -> Vec<Option<(Vec<u32>, bool)>> {
    let pinned = pinned(&b.open().expect("a dataset"));
    pinned.into_iter().map(|p| p.map(|p| (p.cpus.iter().collect(), p.asked))).collect()
}

#[test]
fn nothing_said_is_nothing_known() {
    let mut b = Builder::new(2);
    b.spawn(0, 1).write(1, 64);
    assert_eq!(of(&b), [None, None]);
}

#[test]
fn own_calls_hold_from_there_on_and_what_others_ask_from_the_beginning() {
    let mut b = Builder::new(4);
    b.spawn_all();
    b.write(1, 64);
    tell(&mut b, 1, 1, AffinityHow::Call, &[3]);
    b.write(1, 64).write(1, 128);
    b.write(2, 64);
    tell(&mut b, 0, 2, AffinityHow::Call, &[5]);
    (0..9).for_each(|_| {
        b.write(3, 192);
    });
    tell(&mut b, 3, 3, AffinityHow::Call, &[1]);
    b.write(3, 192);
    assert_eq!(of(&b), [None, Some((vec![3], true)), Some((vec![5], true)), None], "most of thread 3 ran anywhere");
}

#[test]
fn creators_hand_their_mask_on_and_a_seen_one_holds_for_all_of_a_life() {
    let mut b = Builder::new(4);
    tell(&mut b, 0, 0, AffinityHow::Inherited, &[0, 1]);
    b.spawn(0, 1).write(0, 64);
    tell(&mut b, 0, 0, AffinityHow::Call, &[7]);
    b.spawn(0, 2).spawn(0, 3).write(0, 64).write(1, 64).write(2, 64).write(3, 64);
    tell(&mut b, 3, 3, AffinityHow::Seen, &[9]);
    let of = of(&b);
    assert_eq!(of[0], Some((vec![7], true)));
    assert_eq!(of[1], Some((vec![0, 1], false)));
    assert_eq!(of[2], Some((vec![7], true)));
    assert_eq!(of[3], Some((vec![9], true)));
}

#[test]
fn circles_of_creation_and_threads_that_are_not_there_do_no_harm() {
    let mut b = Builder::new(2);
    b.event(0, EventKind::Spawn { child: 1 }).event(1, EventKind::Spawn { child: 0 });
    tell(&mut b, 0, 1, AffinityHow::Call, &[2]);
    tell(&mut b, 0, 0, AffinityHow::Call, &[]);
    if let Ok(data) = b.open() {
        assert_eq!(pinned(&data).len(), 2);
    }
}
