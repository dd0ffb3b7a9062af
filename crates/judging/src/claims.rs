//! Every table, figure and claim of the thesis that an experiment stands for, with a verdict.
use super::rules::{Measures, Rule};
use crate::doc::{Claim, SIZES, Verdict};
use homenode_command::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Claims as data: JSON, an array of [`Published`].
pub struct Claims(pub &'static str);

/// One published claim.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Short name, by which experiments judge it.
    pub id: String,
    /// `E1` to `E12`: who judges it.
    pub experiment: String,
    what: String,
    theirs: String,
    #[serde(default)]
    unit: String,
    /// Whether it holds for any programs: it follows from the model or from constants.
    #[serde(default)]
    identity: bool,
    /// Whether it is about printed numbers or references at random alone, so that programs of any size settle it.
    #[serde(default)]
    exact: bool,
    /// What differs where it does not agree: the program, its compiler, its size, the machine. The numbers beside it
    /// are the evidence.
    #[serde(default)]
    cause: String,
    /// By what it is judged, where that is data: all must hold.
    #[serde(default)]
    pub rules: Vec<Rule>,
    place: String,
}

impl Published {
    /// Whether it says what differs where it does not agree.
    pub fn has_cause(&self) -> bool {
        !self.cause.is_empty()
    }
}

/// Ours beside one claim.
pub struct Judged {
    /// The claim's short name.
    pub id: &'static str,
    /// Ours; empty where there is none.
    pub ours: String,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why that verdict.
    pub why: String,
    /// Whether it would be another with each of [`OTHER_POINTS`].
    pub turns: [bool; 2],
}

/// Points of percent by which a mean or a share may be off and still agree: other programs, other means. The rule is
/// ours, and so is that "most programs" are more than half of them.
pub const POINTS: f64 = 15.0;
const OTHER_POINTS: [f64; 2] = [10.0, 20.0];

impl Judged {
    /// Agrees or differs.
    pub fn by(id: &'static str, ours: impl Into<String>, agrees: bool, why: impl Into<String>) -> Judged {
        let verdict = if agrees { Verdict::Agrees } else { Verdict::Differs };
        Judged { id, ours: ours.into(), verdict, why: why.into(), turns: [false; 2] }
    }
    /// Agrees or differs by a number of points; `agrees` says which for any of them.
    pub fn by_points(
        id: &'static str,
        ours: impl Into<String>,
        agrees: impl Fn(f64) -> bool,
        why: impl Into<String>,
    ) -> Judged {
        let ours_is = agrees(POINTS);
        Judged { turns: OTHER_POINTS.map(|p| agrees(p) != ours_is), ..Judged::by(id, ours, ours_is, why) }
    }
    /// Cannot be known; `ours` is what stands beside it here.
    pub fn unknown(id: &'static str, ours: impl Into<String>, why: impl Into<String>) -> Judged {
        Judged { id, ours: ours.into(), verdict: Verdict::CannotBeKnown, why: why.into(), turns: [false; 2] }
    }
}

/// The rules that are ours, and what hangs on one of them.
pub fn rules(judged: &[Judged]) -> String {
    let turned = |i: usize| {
        let ids: Vec<&str> = judged.iter().filter(|j| j.turns[i]).map(|j| j.id).collect();
        let names = if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) };
        format!("with {} points {} of {} verdicts would be another{names}", OTHER_POINTS[i], ids.len(), judged.len())
    };
    format!(
        "Two rules of the verdicts are ours: \"most programs\" are more than half of them, and shares and means agree within \
         {POINTS} points of percent; {}, {}.",
        turned(0),
        turned(1)
    )
}

impl Claims {
    /// What was published, in the order of the file.
    pub fn published(&self) -> Result<Vec<Published>, Failure> {
        serde_json::from_str(self.0).map_err(Failure::work)
    }

    /// The claims of these experiments with their verdicts, in the order of the file. At size XS programs are too small to
    /// speak for anything but exact rows and identities: the others have numbers and no verdict.
    ///
    /// # Errors
    /// A claim without a verdict, or a verdict without a claim: both would leave the page untrue.
    pub fn beside(&self, experiments: &[&str], judged: Vec<Judged>, size: &str) -> Result<Vec<Claim>, Failure> {
        let mut by_id: BTreeMap<&str, Judged> = judged.into_iter().map(|j| (j.id, j)).collect();
        let mut claims = Vec::new();
        for p in self.published()?.into_iter().filter(|p| experiments.contains(&p.experiment.as_str())) {
            let Some(j) = by_id.remove(p.id.as_str()) else {
                return Err(Failure::work(format!("{} says nothing of the claim '{}'", p.experiment, p.id)));
            };
            let theirs = format!("{} {}", p.theirs, p.unit).trim_end().to_owned();
            let what = format!("{}: {}", p.experiment, p.what);
            let holds = p.identity && j.verdict == Verdict::Agrees;
            let open = size == SIZES[0] && !p.identity && !p.exact && j.verdict != Verdict::CannotBeKnown;
            let verdict = match j.verdict {
                _ if holds => Verdict::Identity,
                _ if open => Verdict::NotJudged,
                other => other,
            };
            let caused = matches!(verdict, Verdict::Differs | Verdict::Unsettled) && !p.cause.is_empty();
            let why = if caused { format!("{}. Cause: {}", j.why, p.cause) } else { j.why };
            claims.push(Claim { what, place: p.place, theirs, ours: j.ours, verdict, why });
        }
        match by_id.into_keys().next() {
            Some(id) => Err(Failure::work(format!("a verdict on the claim '{id}', which nobody made"))),
            None => Ok(claims),
        }
    }
    /// Agrees if all rules hold that stand beside the claim; they follow `why` in words.
    pub fn ruled(&self, id: &'static str, ours: impl Into<String>, measures: &Measures, why: &str) -> Judged {
        let claim = self.published().ok().into_iter().flatten().find(|p| p.id == id);
        let rules = claim.map_or(Vec::new(), |p| p.rules);
        let words: Vec<String> = rules.iter().map(|r| r.words(POINTS)).collect();
        let why = if why.is_empty() { String::new() } else { format!("{why}. ") };
        let why = format!("{why}Agrees if {}", words.join("; "));
        let missing: Vec<&str> = rules.iter().filter_map(|r| r.missing(measures)).collect();
        let ours = match missing[..] {
            [] => ours.into(),
            _ => format!("not measured: {}", missing.join(", ")),
        };
        // Without rules nothing could fail.
        let agrees = |points: f64| !rules.is_empty() && rules.iter().all(|r| r.holds(measures, points));
        Judged::by_points(id, ours, agrees, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_that_hang_on_the_points_are_named() {
        let off = |points: f64| move |allowed: f64| points <= allowed;
        let all = [
            Judged::by_points("near", "", off(3.0), "why"),
            Judged::by_points("twelve", "", off(12.0), "why"),
            Judged::by_points("eighteen", "", off(18.0), "why"),
            Judged::by("exact", "", true, "why"),
            Judged::unknown("gone", "", "why"),
        ];
        assert_eq!([0, 1, 2].map(|i| all[i].verdict), [Verdict::Agrees, Verdict::Agrees, Verdict::Differs]);
        let text = rules(&all);
        assert!(text.contains("with 10 points 1 of 5 verdicts would be another (twelve)"), "{text}");
        assert!(text.contains("with 20 points 1 of 5 verdicts would be another (eighteen)"), "{text}");
    }
}
