//! When a node is asked for more than its bandwidth: pages are spread over tiers.
//!
//! The model: time is one interval, a page demands a fixed number of units in it, a home serves at most so many. What a
//! node cannot serve goes, page by page, to homes that still can, those first that lose least per unit of demand: a
//! weighted interleave whose weights are what each tier can serve. It knows no queues, no bursts and no shared links; it
//! says where the steady demand fits and no more. Latency below the limit is taken as constant.
use super::{Assigned, Class, cost_of};
use homenode_base::TotalCost;

/// What homes can hold and serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pages each home can hold.
    pub capacity: Vec<u64>,
    /// Units each home can serve in the interval.
    pub served: Vec<u64>,
}

/// An assignment whose demand was spread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Who goes where.
    pub assigned: Assigned,
    /// Units asked of each home.
    pub demand: Vec<u64>,
    /// Units above what homes can serve, that no home could take.
    pub excess: u64,
    /// Price of the assignment before: no assignment that keeps the limits costs less.
    pub bound: TotalCost,
}

/// Moves pages away from homes that are asked for more than they can serve. `demand[c]` is what one page of class c asks
/// for; `from` is an assignment within the capacities, the cheapest one if the bound is to hold. Where nothing more can
/// be moved the rest is [`Spread::excess`].
pub fn spread(classes: &[Class], demand: &[u64], from: Assigned, limits: &Limits) -> Spread {
    let homes = limits.capacity.len();
    let mut state = State { pages: from.pages, load: vec![0; homes], asked: vec![0; homes], demand, limits };
    state.count();
    for home in 0..homes {
        for (class, to) in orders(classes, demand, &state, home) {
            state.shift(class, home, to);
        }
    }
    let over = |k: usize| state.asked[k].saturating_sub(limits.served[k]);
    let excess = (0..homes).map(over).fold(0, u64::saturating_add);
    let cost = cost_of(classes, &state.pages);
    Spread { demand: state.asked, excess, bound: from.cost, assigned: Assigned { pages: state.pages, cost } }
}

/// Ways to move classes away from a home, cheapest per unit of demand first.
fn orders(classes: &[Class], demand: &[u64], state: &State<'_>, home: usize) -> Vec<(usize, usize)> {
    let homes = state.limits.capacity.len();
    let mut all: Vec<(i128, u64, usize, usize)> = Vec::new();
    for (c, class) in classes.iter().enumerate().filter(|(c, _)| state.pages[*c][home] > 0 && demand[*c] > 0) {
        for to in (0..homes).filter(|k| *k != home) {
            all.push((class.prices[to].0 - class.prices[home].0, demand[c], c, to));
        }
    }
    // a / b < c / d without division.
    all.sort_by(|x, y| {
        let (left, right) = (x.0.saturating_mul(i128::from(y.1)), y.0.saturating_mul(i128::from(x.1)));
        left.cmp(&right).then(y.1.cmp(&x.1)).then((x.2, x.3).cmp(&(y.2, y.3)))
    });
    all.into_iter().map(|(_, _, class, to)| (class, to)).collect()
}

struct State<'a> {
    pages: Vec<Vec<u64>>,
    load: Vec<u64>,
    asked: Vec<u64>,
    demand: &'a [u64],
    limits: &'a Limits,
}

impl State<'_> {
    fn count(&mut self) {
        for (at, demand) in self.pages.iter().zip(self.demand) {
            for (k, n) in at.iter().enumerate() {
                self.load[k] += n;
                self.asked[k] = self.asked[k].saturating_add(n.saturating_mul(*demand));
            }
        }
    }

    /// Moves as many pages of a class as relieve `from` and fit at `to` in both respects.
    fn shift(&mut self, class: usize, from: usize, to: usize) {
        let Limits { capacity, served } = self.limits;
        let (each, over) = (self.demand[class], self.asked[from].saturating_sub(served[from]));
        let wanted = over.div_ceil(each);
        let room = capacity[to].saturating_sub(self.load[to]);
        let spare = served[to].saturating_sub(self.asked[to]) / each;
        let pages = wanted.min(room).min(spare).min(self.pages[class][from]);
        self.pages[class][from] -= pages;
        self.pages[class][to] += pages;
        self.load[from] -= pages;
        self.load[to] += pages;
        self.asked[from] -= pages * each;
        self.asked[to] += pages * each;
    }
}
