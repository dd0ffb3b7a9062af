//! Pages that come with others: how many fetches are saved is known, and what was in vain is not done again.
use super::programs::{run, shape};
use super::sim::Sim;
use super::world::Shape;
use crate::host::Count;
use crate::steps::{ALL, Pages, Step};
use homenode_base::NodeId;

/// Bytes of a page of these programs.
const PAGE: usize = 64;

/// Counts of node 1, which reads some pages that node 0 has written, in each of `rounds`.
fn counted(prefetch: u8, step: &'static Step, rounds: u64, read: fn(u64) -> Vec<usize>) -> [u64; 3] {
    let shape = Shape { pages: 26, prefetch, ..shape(step, 2, 1, 7) };
    let world = run(shape, |sim, number| async move {
        for round in 0..rounds {
            if number == 0 {
                for page in 0..26 {
                    sim.write(page * PAGE, round as u8 + 1).await;
                }
            }
            sim.barrier().await;
            for page in if number == 1 { read(round) } else { Vec::new() } {
                sim.read(page * PAGE).await;
            }
            sim.barrier().await;
        }
    });
    let sim = Sim { world, me: NodeId(1), thread: 0 };
    [Count::Fetch, Count::Prefetch, Count::PrefetchInVain].map(|what| sim.counted(what))
}

#[test]
fn pages_that_are_read_in_order_come_together() {
    for step in ALL {
        let all = |_| (0..26).collect();
        assert_eq!(counted(0, step, 3, all), [78, 0, 0]);
        let wanted = if step.pages == Pages::Fetched { [18, 60, 0] } else { [78, 0, 0] };
        // 26 pages: five times one and four more, and the last one alone.
        assert_eq!(counted(4, step, 3, all), wanted, "{}", step.name);
    }
}

#[test]
fn what_was_fetched_in_vain_is_not_fetched_again_until_it_is_wanted() {
    for step in ALL.iter().filter(|step| step.pages == Pages::Fetched) {
        // Every fifth page and no other: the first round learns it.
        let some = |_| (0..25).step_by(5).collect();
        assert_eq!(counted(4, step, 4, some), [20, 20, 5], "{}", step.name);
        // Then all: the first page comes alone, behind it all come together again, from the next round on as if nothing had been.
        let later = |round| if round < 2 { (0..25).step_by(5).collect() } else { (0..26).collect() };
        assert_eq!(counted(4, step, 2, later), [10, 20, 5], "{}", step.name);
        assert_eq!(counted(4, step, 4, later), [10 + 6 + 6, 20 + 20 + 20, 5], "{}", step.name);
    }
}
