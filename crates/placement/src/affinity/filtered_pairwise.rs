//! Equation 2.1 behind the filter of equation 3.1, read as the thesis's prose has it: the winner must lead each other
//! node by 2. Stricter than the printed formula: (10, 10, 0, 0) does not pass.
use super::{Spec, own, remote_uses, totals, uniform};

pub(crate) static SPEC: Spec = Spec {
    name: "filtered-pairwise",
    summary: "uniform, but only if the node leads each other one by 2 uses (Thakkar 2008, eq 3.1 in prose)",
    params: &[],
    decide: |_, question| {
        let winner = uniform::winner(question)?;
        let r = totals(question.uses);
        let lead = own(&r, winner.index()) - 2;
        let clear = r.iter().enumerate().all(|(k, r)| k == winner.index() || *r <= lead);
        (question.home == Some(winner) || clear).then_some(winner)
    },
    price: remote_uses,
};
