//! Before and after: what the report of the first recording promised, and what the second one shows.
use crate::provenance::Provenance;
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{Finding, PolicyRow};
use schemars::JsonSchema;
use serde::Serialize;

/// A second recording (the repaired program) beside the first one, both on the same machine under first touch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// Where the second recording comes from.
    pub provenance: Provenance,
    /// What the second recording could not see, in sentences.
    pub blind: Vec<String>,
    /// Evaluation of the second recording.
    pub evaluation: Evaluation,
    /// Names of the objects whose findings are gone in the second recording.
    pub remedied: Vec<String>,
    /// First-touch total of the first recording.
    pub before: TotalCost,
    /// First-touch total of the second recording.
    pub after: TotalCost,
    /// What the first report promised as total: `before` minus the savings of the findings that are gone.
    pub predicted: TotalCost,
    /// `before - predicted`.
    pub predicted_saving: TotalCost,
    /// `before - after`.
    pub realised_saving: TotalCost,
    /// |predicted saving - realised saving| is at most a tenth of the realised one.
    pub within_tenth: bool,
}

impl Comparison {
    /// Compares `after` with `before`. `predicted` replaces the promise if the caller has replayed exactly the remedies
    /// that were applied. Otherwise the promise is that of all remedies at once if no finding is left, and the sum of
    /// the savings of the findings that are gone if some are.
    pub fn new(
        before: &Evaluation,
        after: Evaluation,
        provenance: Provenance,
        blind: Vec<String>,
        predicted: Option<TotalCost>,
    ) -> Comparison {
        let gone: Vec<&Finding> = before.findings.iter().filter(|f| !persists(f, &after)).collect();
        let total_before = first_touch(before).map_or(TotalCost::ZERO, |r| r.total);
        let total_after = first_touch(&after).map_or(TotalCost::ZERO, |r| r.total);
        let all = before.predicted_all.filter(|_| gone.len() == before.findings.len());
        let predicted = predicted.or(all).unwrap_or_else(|| total_before - gone.iter().map(|f| f.saving).sum());
        let (promised, realised) = (total_before - predicted, total_before - total_after);
        Comparison {
            provenance,
            blind,
            remedied: gone.iter().map(|f| f.object.clone()).collect(),
            before: total_before,
            after: total_after,
            predicted,
            predicted_saving: promised,
            realised_saving: realised,
            within_tenth: within_tenth(promised, realised),
            evaluation: after,
        }
    }

    /// Whether anything was promised: some finding of the first recording is gone.
    pub fn predicts(&self) -> bool {
        self.predicted != self.before
    }

    /// The realised saving as a share of the first total; 0 if that is 0.
    pub fn realised_share(&self) -> f64 {
        share(self.realised_saving, self.before)
    }

    /// The predicted saving as a share of the first total; 0 if that is 0.
    pub fn predicted_share(&self) -> f64 {
        share(self.predicted_saving, self.before)
    }
}

fn persists(finding: &Finding, after: &Evaluation) -> bool {
    after.findings.iter().any(|f| f.kind == finding.kind && f.object == finding.object)
}

fn within_tenth(promised: TotalCost, realised: TotalCost) -> bool {
    (promised.0 - realised.0).unsigned_abs().saturating_mul(10) <= realised.0.unsigned_abs()
}

/// `part / whole`, 0 if `whole` is 0.
pub(crate) fn share(part: TotalCost, whole: TotalCost) -> f64 {
    if whole == TotalCost::ZERO { 0.0 } else { part.as_f64() / whole.as_f64() }
}

/// The first-touch row, which findings are based on; the first row if no policy has that name.
pub fn first_touch(evaluation: &Evaluation) -> Option<&PolicyRow> {
    evaluation.policies.iter().find(|p| is_named(&p.name, "first touch")).or(evaluation.policies.first())
}

/// Whether a registry or row name is these words, whatever joins them.
pub(crate) fn is_named(name: &str, words: &str) -> bool {
    name.replace(['-', '_'], " ") == words
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_sim::evaluation::FindingKind;

    fn finding(object: &str, saving: i128) -> Finding {
        Finding {
            kind: FindingKind::FirstTouch,
            object: object.into(),
            places: Vec::new(),
            sentence: String::new(),
            advice: String::new(),
            predicted_total: TotalCost(1_000 - saving),
            saving: TotalCost(saving),
            saving_share: saving as f64 / 1_000.0,
            saving_interval: None,
        }
    }

    fn evaluation(total: i128, findings: Vec<Finding>, predicted_all: Option<i128>) -> Evaluation {
        let row = PolicyRow { name: "first-touch".into(), total: TotalCost(total), ..PolicyRow::default() };
        let policies = vec![PolicyRow::default(), row];
        Evaluation { policies, findings, predicted_all: predicted_all.map(TotalCost), ..Evaluation::default() }
    }

    fn compared(after: Evaluation) -> (Vec<String>, i128, i128, bool) {
        let before = evaluation(1_000, vec![finding("a", 300), finding("b", 100)], Some(650));
        let c = Comparison::new(&before, after, Provenance::default(), Vec::new(), None);
        (c.remedied.clone(), c.predicted_saving.0, c.realised_saving.0, c.within_tenth)
    }

    #[test]
    fn the_promise_is_that_of_the_findings_that_are_gone() {
        let names = |n: &[&str]| n.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let all = compared(evaluation(660, Vec::new(), None));
        assert_eq!(all, (names(&["a", "b"]), 350, 340, true), "the replay of all at once, not the sum 400");
        let one = compared(evaluation(720, vec![finding("b", 100)], Some(620)));
        assert_eq!(one, (names(&["a"]), 300, 280, true));
        let none = compared(evaluation(1_000, vec![finding("a", 300), finding("b", 100)], Some(650)));
        assert_eq!(none, (names(&[]), 0, 0, true));
        let broken = compared(evaluation(1_100, Vec::new(), None));
        assert_eq!(broken, (names(&["a", "b"]), 350, -100, false));
    }

    #[test]
    fn a_tenth_is_of_the_realised_saving_and_inclusive() {
        let check = |p, r| within_tenth(TotalCost(p), TotalCost(r));
        assert!(check(110, 100) && check(90, 100) && check(0, 0));
        assert!(!check(111, 100) && !check(89, 100) && !check(1, 0) && !check(-100, 100));
    }
}
