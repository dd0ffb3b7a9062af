//! Ways between places, by what they cost.
use super::Family;
use hashbrown::HashMap;
use homenode_base::{Cost, NodeId};
use homenode_machine::{Location, Machine};

/// Numbers of paths where only near, far and global memory are told apart.
const GLOBAL: usize = 0;
const NEAR: usize = 1;

/// The paths of one or more machines with equally many nodes, numbered from 0. Those with the same number lead alike (to
/// the place itself, to another node, from or to global memory) and cost the same on each of the machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    nodes: usize,
    /// By `from * places + to`, with global memory as the last place. Empty if [`GLOBAL`], [`NEAR`] and the one after
    /// that are all there are.
    numbers: Box<[u32]>,
    /// One path of each number.
    examples: Vec<(Location, Location)>,
}

impl Paths {
    /// The paths of these machines for events of this family, with blocks of so many bytes. Panics if there is no machine
    /// or if they differ in their numbers of nodes.
    pub fn new(family: &Family, machines: &[&Machine], block_bytes: u64) -> Paths {
        let nodes = machines[0].nodes();
        assert!(machines.iter().all(|m| m.nodes() == nodes), "machines of different sizes have no paths in common");
        let mut paths = Paths { nodes, numbers: Box::default(), examples: Vec::new() };
        let uneven: Vec<&Machine> = machines.iter().copied().filter(|m| !m.is_even()).collect();
        if uneven.is_empty() {
            let [here, there] = [0, 1].map(|n| Location::Node(NodeId(n)));
            paths.examples = vec![(here, Location::Global), (here, here), (here, there)];
            paths.examples.truncate(nodes + 1);
            return paths;
        }
        let all = Paths::apart(nodes).examples;
        paths.numbers = all.iter().map(|(from, to)| paths.number(*from, *to) as u32).collect();
        // Machines on which all nodes are alike tell no more apart.
        uneven.iter().for_each(|machine| divide(family, machine, block_bytes, &all, &mut paths.numbers));
        for (number, path) in paths.numbers.iter().zip(&all) {
            if *number as usize == paths.examples.len() {
                paths.examples.push(*path);
            }
        }
        paths
    }
    /// The paths of so many nodes, each with a number of its own, for who asks which nodes they lead to.
    pub fn apart(nodes: usize) -> Paths {
        let places = || (0..nodes).map(|n| Location::Node(NodeId(n as u16))).chain([Location::Global]);
        let examples: Vec<_> = places().flat_map(|from| places().map(move |to| (from, to))).collect();
        Paths { nodes, numbers: (0..examples.len() as u32).collect(), examples }
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.examples.len()
    }
    /// Never: a machine has a node.
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }
    /// The number of a path.
    #[inline]
    pub fn number(&self, from: Location, to: Location) -> usize {
        match (from, to) {
            (Location::Node(from), _) => self.number_from(from, to),
            _ if !self.numbers.is_empty() => self.listed(self.nodes, to),
            (Location::Global, Location::Global) => NEAR,
            _ => GLOBAL,
        }
    }
    /// The number of a path from a node.
    #[inline]
    pub fn number_from(&self, from: NodeId, to: Location) -> usize {
        if !self.numbers.is_empty() {
            return self.listed(from.index(), to);
        }
        match to {
            Location::Node(to) => NEAR + usize::from(from != to),
            Location::Global => GLOBAL,
        }
    }
    /// A path of this number, from a node if one of them is. Panics if there is none.
    pub fn example(&self, number: usize) -> (Location, Location) {
        self.examples[number]
    }

    #[inline]
    fn listed(&self, from: usize, to: Location) -> usize {
        let to = match to {
            Location::Node(to) => to.index(),
            Location::Global => self.nodes,
        };
        self.numbers[from * (self.nodes + 1) + to] as usize
    }
}

/// Gives paths of one number that cost differently on this machine different ones, in order of their first.
fn divide(family: &Family, machine: &Machine, block_bytes: u64, paths: &[(Location, Location)], numbers: &mut [u32]) {
    let mut found: HashMap<(u32, Vec<Cost>), u32> = HashMap::new();
    for (number, (from, to)) in numbers.iter_mut().zip(paths) {
        let prices = family.kinds.iter().map(|kind| (kind.price)(machine, block_bytes, *from, *to)).collect();
        let next = found.len() as u32;
        *number = *found.entry((*number, prices)).or_insert(next);
    }
}
