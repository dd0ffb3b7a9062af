//! Moving into a node that cannot keep what it gets is made harder, until it stops; it becomes easier while nothing comes
//! back. The idea is that of AS-COMA's page cache (Kuo, Carter, Kuramkote, Swanson 1998, sections 3 and 4.1): a run that
//! ends short raises the threshold by a step, a good run lowers it by one; here a node takes the part of the page cache.
use homenode_base::NodeId;

/// A gain must be at least this many times the price of the move.
const FLOOR: u32 = 2;
/// At this level nothing moves to the node any more.
const STOP: u32 = 16;

#[derive(Clone, Debug, Default)]
struct Tier {
    level: u32,
    /// Pages brought here, and pages that left again soon or found no room, in this window.
    came: u64,
    lost: u64,
}

/// Thresholds of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Backoff(Vec<Tier>);

impl Backoff {
    pub(super) fn new(nodes: usize) -> Backoff {
        Backoff(vec![Tier::default(); nodes])
    }
    /// How many times the price a gain must be; `None`: nothing is to move there.
    pub(super) fn factor(&self, to: NodeId) -> Option<u32> {
        self.0.get(to.index()).filter(|t| t.level < STOP).map(|t| FLOOR + t.level)
    }
    pub(super) fn came(&mut self, to: NodeId) {
        self.tier(to, |t| t.came += 1);
    }
    pub(super) fn lost(&mut self, to: NodeId) {
        self.tier(to, |t| t.lost += 1);
    }
    fn tier(&mut self, node: NodeId, f: impl FnOnce(&mut Tier)) {
        if let Some(t) = self.0.get_mut(node.index()) {
            f(t);
        }
    }
    /// A window is over.
    pub(super) fn close(&mut self) {
        for t in &mut self.0 {
            let (came, lost) = (std::mem::take(&mut t.came), std::mem::take(&mut t.lost));
            if lost > 0 && lost.saturating_mul(2) > came {
                // Doubling: a tier that thrashes is left alone after five windows, not after sixteen.
                t.level = (t.level * 2).clamp(1, STOP);
            } else if lost == 0 {
                t.level = t.level.saturating_sub(1);
            }
        }
    }
    /// The highest level of all nodes, 0 = calm.
    pub(super) fn worst(&self) -> u32 {
        self.0.iter().map(|t| t.level).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thrashing_node_is_left_alone_and_forgiven_later() {
        let (mut b, node) = (Backoff::new(2), NodeId(1));
        assert_eq!((b.factor(node), b.factor(NodeId(7))), (Some(2), None));
        for expected in [Some(3), Some(4), Some(6), Some(10), None, None] {
            b.lost(node);
            b.close();
            assert_eq!(b.factor(node), expected);
        }
        assert_eq!((b.factor(NodeId(0)), b.worst()), (Some(2), STOP));
        (0..16).for_each(|_| b.close());
        assert_eq!(b.factor(node), Some(2));
        (0..10).for_each(|_| b.came(node));
        (0..5).for_each(|_| b.lost(node));
        b.close();
        assert_eq!(b.factor(node), Some(2), "half may come back");
    }
}
