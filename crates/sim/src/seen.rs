//! Which zero-cost events can be left out.
//!
//! A hit may change a page's state: a node's first read, a store to a page that has copies. Most hits change nothing:
//!
//! * a *read hit* of a node that referenced the block since the last write or write-back of anybody else: its copy, or
//!   whatever the policy gave it, is still as it was left;
//! * a *store hit* right after a store of the same node to the same block, with nothing but such read hits between.
//!
//! Nor does the optimum change: a free read allows every set of copies, and of two stores in a row by one node the
//! second forbids nothing that the first allows (moves obey the triangle inequality). A write-back is not a store of its
//! node: policies may ignore it, so everything after it is reported anew. The test
//! `leaving_out_repeated_hits_changes_nothing` compares with reporting every hit.
use homenode_base::{NodeId, NodeSet};
use homenode_machine::AccessClass;
use homenode_placement::AccessKind;

/// What was reported of one block.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Nodes that referenced the block since the last write-back and the last store of another node.
    referenced: NodeSet,
    /// Whether the last event reported is a store; then `referenced` has its node alone.
    stored: bool,
}

impl Seen {
    /// Whether a hit can be left out.
    #[inline(always)]
    pub(crate) fn is_known(&self, node: NodeId, writes: bool) -> bool {
        (self.stored || !writes) && self.referenced.contains(node)
    }

    /// Takes note of an event; false if it can be left out. Events that cost something never can.
    #[inline]
    pub fn note(&mut self, node: NodeId, kind: AccessKind, class: AccessClass) -> bool {
        if class == AccessClass::Free && self.is_known(node, kind == AccessKind::Write) {
            return false;
        }
        let known = self.referenced.contains(node);
        match (class, kind) {
            (AccessClass::WriteBack, _) => self.referenced.clear(),
            (_, AccessKind::Read) if known => {}
            (_, AccessKind::Read) => _ = self.referenced.insert(node),
            (_, AccessKind::Write) => self.referenced = NodeSet::single(node),
        }
        self.stored = kind == AccessKind::Write && class != AccessClass::WriteBack;
        true
    }
}
