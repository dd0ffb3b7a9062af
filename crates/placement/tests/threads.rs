//! Threads beside data against every binding there is.
mod common;

use homenode_base::{NodeId, Rng, ThreadId, TotalCost};
use homenode_placement::affinity::Distances;
use homenode_placement::counts::PageUse;
use homenode_placement::threads::{co_optimise, fair_shares, with_best_homes};

fn page(uses: &[(u32, u64)]) -> PageUse {
    PageUse { first: ThreadId(uses[0].0), by_thread: uses.iter().map(|(t, n)| (ThreadId(*t), [*n, 0, 0])).collect() }
}

fn random_pages(rng: &mut Rng, threads: u32) -> Vec<PageUse> {
    let one = |rng: &mut Rng| {
        let uses: Vec<(u32, u64)> = (0..threads).filter(|_| rng.chance(1, 3)).map(|t| (t, 1)).collect();
        let uses = if uses.is_empty() { vec![(rng.below(u64::from(threads)) as u32, 1)] } else { uses };
        page(&uses.into_iter().map(|(t, _)| (t, 1 + rng.below(50))).collect::<Vec<_>>())
    };
    (0..1 + rng.below(6)).map(|_| one(rng)).collect()
}

/// Best over all bindings that obey the limits, and how many bindings each uses.
fn brute(d: &Distances, pages: &[&PageUse], threads: usize, bindings: &[u64]) -> TotalCost {
    let nodes = bindings.len();
    let binding = |way: usize| -> Vec<NodeId> {
        (0..threads).map(|t| NodeId((way / nodes.pow(t as u32) % nodes) as u16)).collect()
    };
    let obeys = |s: &Vec<NodeId>| (0..nodes).all(|k| s.iter().filter(|n| n.index() == k).count() as u64 <= bindings[k]);
    let all = (0..nodes.pow(threads as u32)).map(binding).filter(obeys);
    all.map(|s| with_best_homes(d, pages, s).cost).min().expect("a binding")
}

#[test]
fn never_worse_than_the_start_and_close_to_the_best_of_all() {
    let mut rng = Rng::new(21);
    let (mut exact, mut cases, mut sum, mut least, mut before) = (0u32, 0u32, 0i128, 0i128, 0i128);
    for _ in 0..common::cases(50) {
        let nodes = 2 + rng.below(2) as usize;
        let mut m = common::random_matrix_machine(&mut rng, nodes);
        m.cost.remote_access = true;
        let d = Distances::of(&m);
        let threads = 2 + rng.below(4) as usize;
        let pages = random_pages(&mut rng, threads as u32);
        let pages: Vec<&PageUse> = pages.iter().collect();
        let bindings = fair_shares(&vec![4; nodes], threads);
        let start: Vec<NodeId> = (0..threads).map(|t| NodeId((t % nodes) as u16)).collect();
        let given = with_best_homes(&d, &pages, start.clone()).cost;
        let got = co_optimise(&d, &pages, &start, &bindings);
        assert!(got.cost <= given);
        assert_eq!(with_best_homes(&d, &pages, got.node_of.clone()), got, "what it claims is what it costs");
        assert!((0..nodes).all(|k| got.node_of.iter().filter(|n| n.index() == k).count() as u64 <= bindings[k]));
        let best = brute(&d, &pages, threads, &bindings);
        assert!(best <= got.cost);
        (exact, cases) = (exact + u32::from(best == got.cost), cases + 1);
        (sum, least, before) = (sum + got.cost.0, least + best.0, before + given.0);
    }
    let over = |n: i128| n as f64 / least as f64;
    println!("threads: {exact} of {cases} exactly, {:.4} x the best, start {:.4} x", over(sum), over(before));
    assert!(exact * 100 >= cases * 60, "{exact} of {cases}");
    assert!(sum * 100 <= least * 106, "{sum} against {least}");
}

#[test]
fn partners_meet_on_one_node() {
    // Threads 0 and 2, 1 and 3 share; the start separates them.
    let pages = [page(&[(0, 90), (2, 80)]), page(&[(1, 90), (3, 80)])];
    let pages: Vec<&PageUse> = pages.iter().collect();
    let d = Distances::of(&common::machine(2, 1, 2, 1, None));
    let start = [0, 0, 1, 1].map(NodeId);
    let got = co_optimise(&d, &pages, &start, &fair_shares(&[8, 8], 4));
    assert_eq!((got.cost, got.node_of[0], got.node_of[1]), (TotalCost(340), got.node_of[2], got.node_of[3]));
    assert_ne!(got.node_of[0], got.node_of[1], "two bindings a node");
}

#[test]
fn shares_are_fair_and_there_is_room_for_everybody() {
    assert_eq!(fair_shares(&[8, 8], 4), [2, 2]);
    assert_eq!(fair_shares(&[8, 0, 8], 5), [3, 0, 3]);
    assert_eq!(fair_shares(&[1, 4], 4), [1, 3]);
    assert_eq!(fair_shares(&[1, 1], 5), [3, 3]);
    for (cores, threads) in [(vec![1u16, 2, 3], 6), (vec![2, 2], 64), (vec![16; 4], 3)] {
        assert!(fair_shares(&cores, threads).iter().sum::<u64>() >= threads as u64);
    }
}
