//! Where most uses come from (Thakkar 2008, equation 2.1).
use super::{Question, Spec, least, remote_uses};
use homenode_base::NodeId;

pub(crate) static SPEC: Spec = Spec {
    name: "uniform",
    summary: "the node that uses the page most, whatever distances are (Thakkar 2008, eq 2.1)",
    params: &[],
    decide: |_, question| winner(question),
    price: remote_uses,
};

/// argmax over k of r_k.
pub(super) fn winner(question: &Question<'_>) -> Option<NodeId> {
    least(&remote_uses(question), question)
}
