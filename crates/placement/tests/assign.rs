//! Assignment under capacity, bandwidth and with huge pages against brute force.
mod common;

use homenode_base::{Cost, Rng, TotalCost};
use homenode_placement::assign::{
    AssignError, Class, Item, Limits, SplitTerms, assign, assign_mixed, cost_of, split, spread,
};

fn prices(rng: &mut Rng, homes: usize) -> Vec<TotalCost> {
    (0..homes).map(|_| TotalCost(i128::from(rng.below(12)))).collect()
}

/// Least cost over all ways to bind `items` (price rows and sizes), by trying every one that `allowed` accepts.
fn brute(items: &[(Vec<TotalCost>, u64)], homes: usize, allowed: &dyn Fn(&[usize]) -> bool) -> Option<TotalCost> {
    let mut best = None;
    let ways = homes.pow(items.len() as u32);
    for way in 0..ways {
        let at: Vec<usize> = (0..items.len()).map(|i| way / homes.pow(i as u32) % homes).collect();
        if allowed(&at) {
            let cost: TotalCost = items.iter().zip(&at).map(|((p, _), k)| p[*k]).sum();
            best = Some(best.map_or(cost, |b: TotalCost| b.min(cost)));
        }
    }
    best
}

fn fits(items: &[(Vec<TotalCost>, u64)], at: &[usize], capacity: &[u64]) -> bool {
    (0..capacity.len()).all(|k| {
        let load: u64 = items.iter().zip(at).filter(|(_, home)| **home == k).map(|((_, n), _)| n).sum();
        load <= capacity[k]
    })
}

#[test]
fn pages_under_capacities_are_placed_as_cheaply_as_can_be() {
    let mut rng = Rng::new(11);
    for case in 0..common::cases(25) {
        let (homes, kinds) = (1 + rng.below(4) as usize, 1 + rng.below(4) as usize);
        let classes: Vec<Class> =
            (0..kinds).map(|_| Class { prices: prices(&mut rng, homes), pages: rng.below(3) }).collect();
        let items: Vec<(Vec<TotalCost>, u64)> =
            classes.iter().flat_map(|c| (0..c.pages).map(|_| (c.prices.clone(), 1))).collect();
        let capacity: Vec<u64> = (0..homes).map(|_| rng.below(5)).collect();
        let wanted = brute(&items, homes, &|at| fits(&items, at, &capacity));
        match assign(&classes, &capacity) {
            Ok(got) => {
                assert_eq!(Some(got.cost), wanted, "{case}: {classes:?} {capacity:?}");
                assert_eq!(got.cost, cost_of(&classes, &got.pages));
                for (c, at) in classes.iter().zip(&got.pages) {
                    assert_eq!(at.iter().sum::<u64>(), c.pages);
                }
                let load = |k: usize| got.pages.iter().map(|at| at[k]).sum::<u64>();
                assert!((0..homes).all(|k| load(k) <= capacity[k]));
            }
            Err(e) => assert!(wanted.is_none() && matches!(e, AssignError::Full { .. }), "{case}: {e}"),
        }
    }
}

#[test]
fn a_hundred_thousand_pages_are_placed_at_once() {
    let mut rng = Rng::new(12);
    let class =
        |rng: &mut Rng| Class { prices: (0..8).map(|_| TotalCost(i128::from(rng.below(100_000)))).collect(), pages: 1 };
    let classes: Vec<Class> = (0..100_000).map(|_| class(&mut rng)).collect();
    let free = assign(&classes, &[u64::MAX; 8]).expect("room");
    let tight = assign(&classes, &[5_000, 5_000, 30_000, 30_000, 30_000, 30_000, 0, 0]).expect("room");
    assert!(free.cost < tight.cost);
    assert_eq!(tight.pages.iter().map(|at| at[6] + at[7]).sum::<u64>(), 0);
    assert!(matches!(assign(&classes, &[10; 8]), Err(AssignError::Full { pages: 100_000, room: 80 })));
    assert!(matches!(assign(&classes[..1], &[1; 3]), Err(AssignError::Shape { class: 0, prices: 8, homes: 3 })));
}

#[test]
fn blocks_come_close_to_the_exact_optimum_and_never_below_the_bound() {
    let mut rng = Rng::new(13);
    let (mut exact, mut found, mut sum, mut least, mut solved) = (0u32, 0u32, 0i128, 0i128, 0u32);
    for _ in 0..common::cases(50) {
        let homes = 2 + rng.below(2) as usize;
        let items: Vec<Item> =
            (0..1 + rng.below(6)).map(|_| Item { prices: prices(&mut rng, homes), pages: 1 + rng.below(4) }).collect();
        let rows: Vec<(Vec<TotalCost>, u64)> = items.iter().map(|i| (i.prices.clone(), i.pages)).collect();
        let total: u64 = rows.iter().map(|r| r.1).sum();
        let capacity: Vec<u64> = (0..homes).map(|_| total / homes as u64 + rng.below(4)).collect();
        let Some(best) = brute(&rows, homes, &|at| fits(&rows, at, &capacity)) else { continue };
        solved += 1;
        let Ok(got) = assign_mixed(&items, &capacity) else { continue };
        assert!(fits(&rows, &got.homes, &capacity));
        assert!(got.bound <= best && best <= got.cost, "{} {} {}", got.bound.0, best.0, got.cost.0);
        found += 1;
        exact += u32::from(got.cost == best);
        (sum, least) = (sum + got.cost.0, least + best.0);
    }
    println!("blocks: {found} of {solved} solved, {exact} exactly, {:.4} x the optimum", sum as f64 / least as f64);
    assert!(found * 100 >= solved * 90, "{found} of {solved}");
    assert!(exact * 100 >= found * 80, "{exact} of {found}");
    assert!(sum * 100 <= least * 105, "{sum} against {least}");
}

#[test]
fn demand_above_the_bandwidth_is_spread_within_the_limits() {
    let mut rng = Rng::new(14);
    let (mut sum, mut least, mut cases) = (0i128, 0i128, 0);
    for _ in 0..common::cases(100) {
        let homes = 2;
        let classes: Vec<Class> = (0..6).map(|_| Class { prices: prices(&mut rng, homes), pages: 1 }).collect();
        let demand: Vec<u64> = (0..6).map(|_| 1 + rng.below(6)).collect();
        let asked: u64 = demand.iter().sum();
        let limits = Limits { capacity: vec![6, 6], served: vec![asked / 2 + rng.below(4), asked] };
        let rows: Vec<(Vec<TotalCost>, u64)> = classes.iter().map(|c| (c.prices.clone(), 1)).collect();
        let asked_of = |at: &[usize], k: usize| -> u64 {
            at.iter().zip(&demand).filter(|(home, _)| **home == k).map(|(_, d)| d).sum()
        };
        let keeps = |at: &[usize]| (0..homes).all(|k| asked_of(at, k) <= limits.served[k]);
        let best = brute(&rows, homes, &keeps).expect("the second node serves all");
        let start = assign(&classes, &limits.capacity).expect("room");
        let got = spread(&classes, &demand, start.clone(), &limits);
        assert_eq!((got.excess, got.bound), (0, start.cost));
        assert_eq!(got.assigned.cost, cost_of(&classes, &got.assigned.pages));
        assert!(got.demand.iter().zip(&limits.served).all(|(d, s)| d <= s));
        assert!(got.bound <= best && best <= got.assigned.cost);
        (sum, least, cases) = (sum + got.assigned.cost.0, least + best.0, cases + 1);
    }
    println!("bandwidth: {:.3} x the optimum over {cases} cases", sum as f64 / least as f64);
    assert!(sum * 100 <= least * 115, "{sum} against {least}");
    // What nobody can serve is said.
    let one = [Class { prices: vec![TotalCost(1), TotalCost(2)], pages: 10 }];
    let limits = Limits { capacity: vec![10, 10], served: vec![30, 20] };
    let got = spread(&one, &[10], assign(&one, &[10, 10]).expect("room"), &limits);
    assert_eq!((got.assigned.pages, got.demand, got.excess), (vec![vec![8, 2]], vec![80, 20], 50));
}

#[test]
fn splitting_pays_where_parts_differ_by_more_than_it_costs() {
    let t = |n: i128| TotalCost(n);
    let halves = vec![vec![t(10), t(30)], vec![t(10), t(30)], vec![t(30), t(10)], vec![t(30), t(11)]];
    let free = split(&halves, 40, SplitTerms::default()).expect("pages");
    assert_eq!((free.whole_home, free.whole, free.split, free.gain), (0, t(80), t(41), t(39)));
    assert_eq!(free.homes, [0, 0, 1, 1]);
    let dear = split(&halves, 40, SplitTerms { once: Cost(20), per_use: Cost(1) }).expect("pages");
    assert_eq!(dear.gain, t(-21));
    let alike = split(&vec![vec![t(5), t(5)]; 3], 0, SplitTerms::default()).expect("pages");
    assert_eq!((alike.gain, alike.homes), (t(0), vec![0, 0, 0]));
    assert!(split(&[], 0, SplitTerms::default()).is_none() && split(&[vec![]], 0, SplitTerms::default()).is_none());
}
