//! Which block of one compilation of a function is which block of another.
//!
//! Loops of the one are paired with loops of the other, and then blocks of paired loops: by the source lines that their
//! instructions come from (with the calls that were inlined), by whether each round of the loop passes them, by how many ways go
//! on, and by what lies before and behind them (as similarity flooding does: Melnik, Garcia-Molina and Rahm 2002).
use super::blocks::Blocks;
use super::nest::Nest;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Pairs of blocks, and of loops, that are compared in one function.
const BLOCK_PAIRS_MAX: usize = 4 << 20;
const LOOP_PAIRS_MAX: usize = 100_000;
/// Loops share at least this much, of 2, to be the same one: of all their lines, and of those outside inner loops.
const LOOPS_SHARE: f64 = 0.3;
/// What the likeness of two blocks is made of: lines, being passed in each round, and how many ways go on.
const LINES: f64 = 0.6;
const ALWAYS: f64 = 0.25;
const WAYS: f64 = 0.15;
/// How far around a block is looked at.
const ROUNDS: usize = 4;

/// A function as it is compared.
pub(super) struct Shape {
    pub(super) blocks: Blocks,
    pub(super) nest: Nest,
    /// By block: where its instructions come from, one number for each position in the source.
    pub(super) lines: Vec<Vec<u32>>,
}

impl Shape {
    pub(super) fn new(blocks: Blocks, lines: Vec<Vec<u32>>) -> Shape {
        Shape { nest: Nest::new(&blocks), blocks, lines }
    }

    /// Lines of each loop: all, and those outside inner loops.
    fn loops(&self) -> Vec<[BTreeSet<u32>; 2]> {
        let of = |(number, body): (usize, &Vec<usize>)| {
            let own = body.iter().filter(|b| self.nest.inner[**b] == number);
            [
                body.iter().flat_map(|b| &self.lines[*b]).copied().collect(),
                own.flat_map(|b| &self.lines[*b]).copied().collect(),
            ]
        };
        self.nest.bodies.iter().enumerate().map(of).collect()
    }

    /// In how many blocks each line is.
    fn frequencies(&self, into: &mut HashMap<u32, f64>) {
        for lines in &self.lines {
            lines.iter().collect::<BTreeSet<_>>().into_iter().for_each(|l| *into.entry(*l).or_default() += 1.0);
        }
    }
}

/// By block of `plain` the block of `hooked` that executes as often, as far as there is one; `None` if the function is too large.
pub(super) fn pairs(plain: &Shape, hooked: &Shape) -> Option<Vec<Option<usize>>> {
    let fits = plain.blocks.len().saturating_mul(hooked.blocks.len()) <= BLOCK_PAIRS_MAX
        && plain.nest.bodies.len().saturating_mul(hooked.nest.bodies.len()) <= LOOP_PAIRS_MAX;
    fits.then(|| Likeness::new(plain, hooked, &loops(plain, hooked)).pairs())
}

/// By loop of `plain` the one of `hooked`: that of the loop around it, if it has none of its own.
fn loops(plain: &Shape, hooked: &Shape) -> Vec<usize> {
    let (p, h) = (plain.loops(), hooked.loops());
    let around = |shape: &Shape| (0..shape.nest.parent.len()).map(|l| shape.nest.around(l)).collect::<Vec<_>>();
    let (p_around, h_around) = (around(plain), around(hooked));
    let mut candidates = Vec::new();
    for a in 1..p.len() {
        for b in 1..h.len() {
            let share = (0..2).map(|n| share(&p[a][n], &h[b][n])).sum::<f64>();
            if share >= LOOPS_SHARE {
                candidates.push((share, p_around[a].len().abs_diff(h_around[b].len()), a, b));
            }
        }
    }
    candidates.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2, x.3).cmp(&(y.1, y.2, y.3))));
    let mut found: HashMap<usize, usize> = HashMap::from([(0, 0)]);
    let mut taken = HashSet::from([0]);
    for (_, _, a, b) in candidates {
        let same = |(x, y): (&usize, &usize)| {
            p_around[a].contains(x) == h_around[b].contains(y) && p_around[*x].contains(&a) == h_around[*y].contains(&b)
        };
        if !found.contains_key(&a) && !taken.contains(&b) && found.iter().all(same) {
            found.insert(a, b);
            taken.insert(b);
        }
    }
    let mut all = vec![0; p.len()];
    for l in 1..p.len() {
        all[l] = found.get(&l).copied().unwrap_or(all[plain.nest.parent[l]]);
    }
    all
}

fn share(a: &BTreeSet<u32>, b: &BTreeSet<u32>) -> f64 {
    a.intersection(b).count() as f64 / a.union(b).count().max(1) as f64
}

/// How alike blocks of paired loops are: 0 to 1, and 0 for other blocks.
struct Likeness<'a> {
    plain: &'a Shape,
    hooked: &'a Shape,
    /// By block of `plain`: blocks of `hooked` in the loop of its own, and what they are worth alone.
    own: Vec<Vec<(usize, f64)>>,
    /// By block of `plain`, then of `hooked`.
    all: Vec<f64>,
}

impl<'a> Likeness<'a> {
    fn new(plain: &'a Shape, hooked: &'a Shape, loops: &[usize]) -> Likeness<'a> {
        let mut often = HashMap::new();
        plain.frequencies(&mut often);
        hooked.frequencies(&mut often);
        let mut inside = vec![Vec::new(); hooked.nest.bodies.len()];
        hooked.nest.inner.iter().enumerate().for_each(|(b, l)| inside[*l].push(b));
        let sets =
            |shape: &Shape| shape.lines.iter().map(|l| l.iter().copied().collect()).collect::<Vec<BTreeSet<u32>>>();
        let (p, h) = (sets(plain), sets(hooked));
        let alone = |a: usize, b: usize| {
            let weight = |lines: &mut dyn Iterator<Item = &u32>| lines.map(|l| 1.0 / often[l]).sum::<f64>();
            let (both, any) = (weight(&mut p[a].intersection(&h[b])), weight(&mut p[a].union(&h[b])));
            let same = |yes: bool, worth: f64| if yes { worth } else { 0.0 };
            LINES * both / any.max(f64::MIN_POSITIVE)
                + same(plain.nest.always[a] == hooked.nest.always[b], ALWAYS)
                + same(plain.blocks.succ[a].len() == hooked.blocks.succ[b].len(), WAYS)
        };
        let of = |a: usize| inside[loops[plain.nest.inner[a]]].iter().map(|b| (*b, alone(a, *b))).collect();
        let own: Vec<Vec<(usize, f64)>> = (0..plain.blocks.len()).map(of).collect();
        let mut all = vec![0.0; plain.blocks.len() * hooked.blocks.len()];
        for (a, list) in own.iter().enumerate() {
            list.iter().for_each(|(b, v)| all[a * hooked.blocks.len() + b] = *v);
        }
        let mut likeness = Likeness { plain, hooked, own, all };
        (0..ROUNDS).for_each(|_| likeness.look_around());
        likeness
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        self.all[a * self.hooked.blocks.len() + b]
    }

    /// Half of what blocks are worth alone, and half of what those before and behind them are worth.
    fn look_around(&mut self) {
        let mut next = vec![0.0; self.all.len()];
        for (a, list) in self.own.iter().enumerate() {
            for &(b, alone) in list {
                let before = self.neighbours(&self.plain.blocks.pred[a], &self.hooked.blocks.pred[b]);
                let behind = self.neighbours(&self.plain.blocks.succ[a], &self.hooked.blocks.succ[b]);
                next[a * self.hooked.blocks.len() + b] = (alone + (before + behind) / 2.0) / 2.0;
            }
        }
        self.all = next;
    }

    fn neighbours(&self, plain: &[usize], hooked: &[usize]) -> f64 {
        if plain.is_empty() && hooked.is_empty() {
            return 1.0;
        }
        let best = |x: &usize| hooked.iter().map(|y| self.of(*x, *y)).fold(0.0, f64::max);
        plain.iter().map(best).sum::<f64>() / plain.len().max(hooked.len()) as f64
    }

    /// First each block at most once, the most alike first. What is left (a block that was copied) goes to the most alike of
    /// those that are passed in each round, or not, as it is itself; one that may not be passed only where they share a line.
    fn pairs(&self) -> Vec<Option<usize>> {
        let shares = |a: usize, b: usize| self.plain.lines[a].iter().any(|l| self.hooked.lines[b].contains(l));
        let candidates = self.own.iter().enumerate().flat_map(|(a, list)| list.iter().map(move |(b, _)| (a, *b)));
        let mut order: Vec<(usize, usize)> = candidates.filter(|(a, b)| shares(*a, *b)).collect();
        order.sort_by(|x, y| self.of(y.0, y.1).total_cmp(&self.of(x.0, x.1)).then(x.cmp(y)));
        let (mut found, mut taken) = (vec![None; self.own.len()], HashSet::new());
        for (a, b) in order {
            if found[a].is_none() && taken.insert(b) {
                found[a] = Some(b);
            }
        }
        for (a, found) in found.iter_mut().enumerate().filter(|(_, f)| f.is_none()) {
            let always = self.plain.nest.always[a];
            let fits = |b: &usize| self.hooked.nest.always[*b] == always && (always || shares(a, *b));
            let rest = self.own[a].iter().map(|(b, _)| *b).filter(fits);
            *found = rest.max_by(|x, y| self.of(a, *x).total_cmp(&self.of(a, *y)).then(y.cmp(x)));
        }
        found
    }
}
