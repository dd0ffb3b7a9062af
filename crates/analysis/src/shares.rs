//! What single objects have of single blocks: what was charged, and what it would be with the block elsewhere.
use crate::feed::Charge;
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, Location, Machine};

/// No share, and in general no number.
pub(crate) const NONE: u32 = u32::MAX;

/// What one object has of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Index into [`Attribution::objects`](crate::attribution::Attribution::objects).
    pub(crate) object: u32,
    pub(crate) cost: Cost,
    pub(crate) remote: Cost,
    /// What the same accesses would cost if each were local.
    pub(crate) local: Cost,
    /// The next share of the block.
    next: u32,
    /// The node that was charged last, and how many of its accesses, by class, are not in the costs at homes yet.
    charged_node: NodeId,
    charged: [u32; AccessClass::ALL.len()],
}

/// A share with the costs of its accesses at every possible home.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareCosts<'a> {
    pub(crate) share: &'a Share,
    /// All accesses.
    pub(crate) all: &'a [Cost],
    /// Costs of the accesses since the block became shared.
    pub(crate) after: &'a [Cost],
}

/// All shares; those of a block are a list that begins with the number that the block has.
#[derive(Debug)]
pub(crate) struct Shares {
    places: Vec<Location>,
    /// `[class][node][home]`, flattened.
    cost_of: Vec<Cost>,
    list: Vec<Share>,
    /// Two costs for each share and home: what all its accesses would cost at each home, then the same for those since the
    /// block became shared.
    home_costs: Vec<Cost>,
}

/// The sum, or [`Cost::INFINITE`] if that is less.
pub(crate) fn sum(a: Cost, b: Cost) -> Cost {
    Cost(a.0.saturating_add(b.0).min(Cost::INFINITE.0))
}

impl Shares {
    pub(crate) fn new(machine: &Machine) -> Shares {
        let nodes = (0..machine.nodes()).map(|n| Location::Node(NodeId(n as u16)));
        let places: Vec<Location> = nodes.chain(machine.cost.global.map(|_| Location::Global)).collect();
        let mut cost_of = Vec::new();
        for class in AccessClass::ALL {
            for node in 0..machine.nodes() {
                cost_of.extend(places.iter().map(|&h| machine.access(class, NodeId(node as u16), h)));
            }
        }
        Shares { places, cost_of, list: Vec::new(), home_costs: Vec::new() }
    }
    /// Possible homes, in the order of every share's costs.
    pub(crate) fn places(&self) -> &[Location] {
        &self.places
    }
    /// The share of an object in the list that begins with `first`; a new one is the first one then.
    #[inline]
    pub(crate) fn find(&mut self, first: &mut u32, object: u32) -> usize {
        let mut at = *first;
        while at != NONE {
            let s = &self.list[at as usize];
            if s.object == object {
                return at as usize;
            }
            at = s.next;
        }
        let next = std::mem::replace(first, self.list.len() as u32);
        let (cost, remote, local) = (Cost::ZERO, Cost::ZERO, Cost::ZERO);
        self.list.push(Share {
            object,
            cost,
            remote,
            local,
            next,
            charged_node: NodeId(0),
            charged: Default::default(),
        });
        self.home_costs.resize(self.home_costs.len() + 2 * self.places.len(), Cost::ZERO);
        self.list.len() - 1
    }
    /// Notes a charge to a share, with what of it is remote, and whether its block is shared. What the accesses cost at homes
    /// waits until another node is charged.
    #[inline]
    pub(crate) fn charge(&mut self, share: usize, c: &Charge, remote: Cost, shared: bool) {
        let class = c.class as usize;
        let each = self.cost_of[self.row(class, c.node) + c.node.index()];
        let s = &mut self.list[share];
        s.cost = sum(s.cost, c.cost);
        s.remote = sum(s.remote, remote);
        s.local = sum(s.local, Cost(each.0.saturating_mul(i64::from(c.weight))));
        match s.charged[class].checked_add(c.weight).filter(|_| s.charged_node == c.node) {
            Some(times) => s.charged[class] = times,
            None => {
                self.settle_one(share, shared);
                let s = &mut self.list[share];
                (s.charged_node, s.charged[class]) = (c.node, c.weight);
            }
        }
    }
    /// Where the costs of accesses of a class by a node begin, by home.
    #[inline]
    fn row(&self, class: usize, node: NodeId) -> usize {
        let nodes = self.cost_of.len() / self.places.len() / AccessClass::ALL.len();
        (class * nodes + node.index()) * self.places.len()
    }
    fn settle_one(&mut self, share: usize, shared: bool) {
        let (homes, charged) = (self.places.len(), std::mem::take(&mut self.list[share].charged));
        for (class, times) in charged.into_iter().enumerate().filter(|(_, times)| *times > 0) {
            let row = self.row(class, self.list[share].charged_node);
            for h in 0..homes {
                let cost = Cost(self.cost_of[row + h].0.saturating_mul(i64::from(times)));
                let all = &mut self.home_costs[2 * share * homes + h];
                *all = sum(*all, cost);
                if shared {
                    let after = &mut self.home_costs[(2 * share + 1) * homes + h];
                    *after = sum(*after, cost);
                }
            }
        }
    }
    /// Costs at homes of the shares of a block are whole, while the block is shared or before it is.
    pub(crate) fn settle(&mut self, first: u32, shared: bool) {
        let mut at = first;
        while at != NONE {
            self.settle_one(at as usize, shared);
            at = self.list[at as usize].next;
        }
    }
    /// Adds the shares of other blocks, which are settled. `objects`: their objects here. What is returned says where lists begin
    /// here.
    pub(crate) fn absorb(&mut self, other: &Shares, objects: &[u32]) -> impl Fn(u32) -> u32 + use<> {
        let first = self.list.len() as u32;
        let moved = move |at: u32| if at == NONE { NONE } else { first + at };
        let shares = other.list.iter();
        self.list.extend(shares.map(|s| Share { object: objects[s.object as usize], next: moved(s.next), ..*s }));
        self.home_costs.extend_from_slice(&other.home_costs);
        moved
    }
    /// The shares of a block, which are settled.
    pub(crate) fn of(&self, first: u32) -> impl Iterator<Item = ShareCosts<'_>> {
        let homes = self.places.len();
        let next = |&i: &u32| Some(self.list[i as usize].next).filter(|&n| n != NONE);
        std::iter::successors(Some(first).filter(|&n| n != NONE), next).map(move |i| {
            let (all, after) = self.home_costs[2 * i as usize * homes..][..2 * homes].split_at(homes);
            ShareCosts { share: &self.list[i as usize], all, after }
        })
    }
    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Share>() + self.home_costs.capacity() * size_of::<Cost>()
    }
}
