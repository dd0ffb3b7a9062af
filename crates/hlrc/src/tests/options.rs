//! Steps whose notices come in another way, or whose intervals end otherwise, than the ladder has it.
use super::programs::{run, shape};
use super::sim::Sim;
use crate::host::Count;
use crate::steps::{ALL, Intervals, Notices, Step, find};
use homenode_base::NodeId;

const NOTICES: [Option<Notices>; 4] = [None, Some(Notices::WithLock), Some(Notices::Pushed), Some(Notices::Fetched)];
const INTERVALS: [Option<Intervals>; 3] = [None, Some(Intervals::Lazy), Some(Intervals::Released)];

/// Every step with everything that goes together.
pub(super) fn everything() -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for step in ALL {
        for (notices, intervals) in NOTICES.iter().flat_map(|n| INTERVALS.map(|i| (*n, i))) {
            let step = step.with(notices, intervals);
            all.extend(step.into_iter().filter(|step| !all.contains(step)).collect::<Vec<_>>());
        }
    }
    all
}

fn of(name: &str) -> Step {
    *find(name).expect("a step")
}

#[test]
fn steps_take_what_goes_together() {
    // With the lock, lazily or not; pushed; fetched: of each step whose locks are handed over.
    assert_eq!(everything().len(), 4 * 4 + 2);
    let lazy = Some(Intervals::Lazy);
    assert!(of("nil").with(Some(Notices::WithLock), None).expect_err("no host").contains("no host hands over"));
    assert!(of("dw").with(None, lazy).expect_err("pushed").contains("notices with the lock"));
    assert!(of("base").with(Some(Notices::Fetched), lazy).expect_err("fetched").contains("notices with the lock"));
    assert_eq!(of("base").with(Some(Notices::Pushed), None), Ok(named(of("dw"), of("base"))));
    assert_eq!(
        of("dw").with(Some(Notices::WithLock), lazy).map(|s| (s.notices, s.intervals)),
        Ok((Notices::WithLock, Intervals::Lazy))
    );
    ALL.iter().for_each(|step| assert_eq!(step.with(None, None), Ok(**step)));
}

/// A step with another one's names.
fn named(step: Step, as_: Step) -> Step {
    Step { name: as_.name, also: as_.also, summary: as_.summary, ..step }
}

/// One node writes another's page under a lock that nobody else takes, and a third one reads the page after a barrier: diffs and messages
/// with notices of the writer, and such messages of all.
fn lonely(step: &Step) -> (u64, u64, u64) {
    const ROUNDS: u8 = 10;
    let world = run(shape(step, 3, 1, 5), |sim, number| async move {
        if number == 1 {
            sim.write(64, 1).await;
        }
        sim.barrier().await;
        for round in 0..if number == 0 { ROUNDS } else { 0 } {
            sim.lock(3).await;
            sim.write(64, round).await;
            sim.unlock(3).await;
        }
        sim.barrier().await;
        if number == 2 {
            sim.read(64).await;
        }
    });
    let at = |me| Sim { world: world.clone(), me: NodeId(me), thread: 0 };
    let all = (0..3).map(|me| at(me).counted(Count::NoticeMessage)).sum();
    (at(0).counted(Count::Diff), at(0).counted(Count::NoticeMessage), all)
}

#[test]
fn what_is_sent_at_a_release_and_by_whom() {
    let with =
        |name: &str, notices, intervals| lonely(&of(name).with(Some(notices), intervals).expect("they go together"));
    for name in ["base", "rf", "dd"] {
        // One diff and its notice at the barrier; ten diffs at the releases, and their notices still at the barrier alone.
        assert_eq!(with(name, Notices::WithLock, Some(Intervals::Lazy)).0, 1, "{name}");
        assert_eq!(with(name, Notices::WithLock, Some(Intervals::Released)).0, 10, "{name}");
        let messages = |intervals| with(name, Notices::WithLock, Some(intervals)).2;
        assert_eq!(messages(Intervals::Lazy), messages(Intervals::Released), "{name}");
    }
    for step in ALL {
        // To both others at each release, or read by both others behind the barrier; the page's first change the same way by both.
        assert_eq!(with(step.name, Notices::Pushed, None), (10, 20, 22), "{}", step.name);
        assert_eq!(with(step.name, Notices::Fetched, None), (10, 1, 4), "{}", step.name);
    }
}
