//! Equation 2.1 behind the filter of equation 3.1, read as it is printed.
//!
//! V = (1/n) sum over k of (r_a - r_k)^2 must reach 4 (n - 1) / n, n = nodes that can use the page. The thesis does not
//! define V; this form meets the threshold exactly where all others are 2 below the winner. (10, 10, 0, 0) passes.
use super::{Question, Spec, remote_uses, totals, uniform};
use homenode_base::NodeId;

pub(crate) static SPEC: Spec = Spec {
    name: "filtered-variance",
    summary: "uniform, but only pages whose counts differ enough move (Thakkar 2008, eq 3.1 as printed)",
    params: &[],
    decide: |_, question| {
        let winner = uniform::winner(question)?;
        (question.home == Some(winner) || passes(question, winner)).then_some(winner)
    },
    price: remote_uses,
};

/// n V >= 4 (n - 1), in whole numbers. Nodes that used nothing count as n has it: those with processors.
fn passes(question: &Question<'_>, winner: NodeId) -> bool {
    let r = totals(question.uses);
    let a = super::own(&r, winner.index());
    let square = |d: i128| d.saturating_mul(d);
    let n = question.distances.accessors() as i128;
    let users = r.iter().filter(|r| **r > 0);
    let silent = n - users.clone().count() as i128;
    let sum = users.map(|r| square(a - r)).fold(square(a).saturating_mul(silent.max(0)), i128::saturating_add);
    sum >= 4 * (n - 1)
}
