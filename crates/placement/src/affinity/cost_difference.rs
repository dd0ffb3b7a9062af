//! Equation 2.2 where it is worth a move (the Altix prototype of Thakkar 2008, section 3.2).
//!
//! The thesis moves a page if D = mean over k of C_k - min over k of C_k is large and gives no threshold. Ours: the gain
//! expected (C_home - C_best where the home is known, else D), times the uses to come for each one counted, must exceed
//! `factor` times the cost of the move.
use super::{Question, Spec, latency, least};
use crate::policies::Param;
use homenode_base::{NodeId, TotalCost};

static FACTOR: Param = Param {
    name: "factor",
    summary: "gain demanded, in costs of the move",
    default: 2,
    min: 0,
    max: 1000,
    variant: false,
};

pub(crate) static SPEC: Spec = Spec {
    name: "cost-difference",
    summary: "hop-sensitive, but only if the gain exceeds the cost of the move so many times (Thakkar 2008, sec 3.2)",
    params: &[FACTOR],
    decide: |values, question| {
        let costs = latency(question);
        let best = least(&costs, question)?;
        let worth = exceeds(gain_times_homes(question, &costs, best), costs.len(), question, values[0]);
        (question.home == Some(best) || worth).then_some(best)
    },
    price: latency,
};

/// The gain times the number of homes, so that the mean stays a whole number.
fn gain_times_homes(question: &Question<'_>, costs: &[TotalCost], best: NodeId) -> i128 {
    let n = costs.len() as i128;
    let least = costs[best.index()].0;
    match question.home.and_then(|h| costs.get(h.index())) {
        Some(now) => (now.0 - least).saturating_mul(n),
        None => costs.iter().map(|c| c.0 - least).fold(0, i128::saturating_add),
    }
}

fn exceeds(gain_times_homes: i128, homes: usize, question: &Question<'_>, factor: u32) -> bool {
    let gain = gain_times_homes.saturating_mul(i128::from(question.terms.scale));
    gain > i128::from(question.terms.move_cost.0) * i128::from(factor) * homes as i128
}
