//! What is decided on: pages that share a home.
use homenode_base::NodeId;
use homenode_placement::counts::{ClassCounts, PageKey};

/// Pages that go to one node together: one page, the parts of a huge page, or all pages of a stack.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) pages: Vec<PageKey>,
    /// Uses by node.
    pub(crate) uses: Vec<ClassCounts>,
    /// Node of the first toucher of each page, with the uses of that page.
    pub(crate) touched: Vec<(NodeId, Vec<ClassCounts>)>,
    /// Whether an object with a key lies there.
    pub(crate) placeable: bool,
    /// Where it is to live; `None`: wherever it is touched first.
    pub(crate) home: Option<NodeId>,
}

/// Pages of a unit by the node that holds them.
pub(crate) fn held(unit: &Unit) -> Vec<(NodeId, u64)> {
    match unit.home {
        Some(home) => vec![(home, unit.pages.len() as u64)],
        None => unit.touched.iter().map(|(node, _)| (*node, 1)).collect(),
    }
}

/// Makes one unit of two; both stay where they are touched.
pub(crate) fn join(unit: &mut Unit, other: Unit) {
    for (sum, more) in unit.uses.iter_mut().zip(&other.uses) {
        sum.iter_mut().zip(more).for_each(|(s, m)| *s = s.saturating_add(*m));
    }
    unit.pages.extend(other.pages);
    unit.touched.extend(other.touched);
}
