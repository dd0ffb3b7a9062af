//! Shortest paths from one reference to the next.
use super::graph::{Graph, Next};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Instructions looked at for one site, and for one called function.
const STEPS_MAX: usize = 100_000;
/// How deep called functions are followed.
const CALLS_MAX: u32 = 16;

/// Answers for one file.
#[derive(Debug)]
pub(super) struct Search {
    graph: Graph,
    /// By function: the least that passes from its begin to its end without a reference.
    through: HashMap<u32, Option<u32>>,
    /// By site: those that may come next, and the least before each.
    after: HashMap<u64, HashMap<u32, u32>>,
}

/// How a path has gone so far. One that has entered a function must not leave it to whoever else calls it: what lies behind the
/// call is reached by passing through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Way {
    Out,
    In,
}

/// Nodes still to be looked at, the nearest first: instructions before each, the node itself not counted.
#[derive(Default)]
struct Front {
    heap: BinaryHeap<Reverse<(u32, u32, Way)>>,
    done: HashSet<(u32, Way)>,
}

impl Front {
    fn add(&mut self, before: u32, node: u32, way: Way) {
        self.heap.push(Reverse((before, node, way)));
    }
    /// The next node that was not taken yet.
    fn take(&mut self) -> Option<(u32, u32, Way)> {
        while let Some(Reverse((before, node, way))) = self.heap.pop() {
            if self.done.len() < STEPS_MAX && self.done.insert((node, way)) {
                return Some((before, node, way));
            }
        }
        None
    }
}

impl Search {
    pub(super) fn new(graph: Graph) -> Search {
        Search { graph, through: HashMap::new(), after: HashMap::new() }
    }

    /// The least number of instructions after the reference at one site up to that at another.
    pub(super) fn between(&mut self, from: u64, to: u64) -> Option<u32> {
        let to = *self.graph.sites.get(&to)?;
        if !self.after.contains_key(&from) {
            let found = self.follow(*self.graph.sites.get(&from)?);
            self.after.insert(from, found);
        }
        self.after[&from].get(&to).copied()
    }

    /// The references that may come next after the one of this node, with the least before each, its own included.
    fn follow(&mut self, from: u32) -> HashMap<u32, u32> {
        let mut found = HashMap::new();
        let mut front = Front::default();
        front.add(0, from + 1, Way::Out);
        while let Some((before, n, way)) = front.take() {
            let Some(node) = self.graph.nodes.get(n as usize).copied() else { continue };
            let past = before.saturating_add(node.counts);
            if node.refers {
                found.entry(n).or_insert(past);
                continue;
            }
            match node.next {
                Next::On => front.add(past, n + 1, way),
                Next::Jump(to) => front.add(past, to, way),
                Next::Branch(to) => [to, n + 1].into_iter().for_each(|next| front.add(past, next, way)),
                Next::Call(to) => {
                    front.add(past, to, Way::In);
                    if let Some(inside) = self.pass(to, CALLS_MAX) {
                        front.add(past.saturating_add(inside), n + 1, way);
                    }
                }
                Next::Return if way == Way::Out => {
                    self.returns(node.function).into_iter().for_each(|to| front.add(past, to, way));
                }
                Next::Return | Next::Lost => {}
            }
        }
        found
    }

    /// Where a function returns to: behind the calls of it, and of those that jump into it.
    fn returns(&self, function: u32) -> Vec<u32> {
        let (mut all, mut todo) = (HashSet::from([function]), vec![function]);
        let mut to = Vec::new();
        while let Some(function) = todo.pop() {
            to.extend(self.graph.callers.get(&function).into_iter().flatten().map(|call| call + 1));
            let jumpers = self.graph.jumpers.get(&function).into_iter().flatten();
            todo.extend(jumpers.filter(|j| all.insert(**j)));
        }
        to
    }

    /// The least from the begin of a function, given by its first node, to its end without a reference.
    fn pass(&mut self, begin: u32, depth: u32) -> Option<u32> {
        let function = self.graph.nodes[begin as usize].function;
        if let Some(known) = self.through.get(&function) {
            return *known;
        }
        let depth = depth.checked_sub(1)?;
        // Recursion finds this.
        self.through.insert(function, None);
        let found = self.shortest(begin, depth);
        self.through.insert(function, found);
        found
    }

    fn shortest(&mut self, begin: u32, depth: u32) -> Option<u32> {
        let mut front = Front::default();
        front.add(0, begin, Way::In);
        while let Some((before, n, way)) = front.take() {
            let node = self.graph.nodes.get(n as usize).copied()?;
            let past = before.saturating_add(node.counts);
            if node.refers {
                continue;
            }
            match node.next {
                Next::On => front.add(past, n + 1, way),
                Next::Jump(to) => front.add(past, to, way),
                Next::Branch(to) => [to, n + 1].into_iter().for_each(|next| front.add(past, next, way)),
                Next::Call(to) => {
                    if let Some(inside) = self.pass(to, depth) {
                        front.add(past.saturating_add(inside), n + 1, way);
                    }
                }
                Next::Return => return Some(past),
                Next::Lost => {}
            }
        }
        None
    }
}
