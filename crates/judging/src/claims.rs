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
    /// The programs that it is about, where it is not about all: they alone decide it.
    #[serde(default)]
    programs: Vec<String>,
    /// Whether the cause is a guess: nothing that was measured decides it.
    #[serde(default)]
    guess: bool,
    /// By what it is judged, where that is data: all must hold.
    #[serde(default)]
    pub rules: Vec<Rule>,
    place: String,
}

impl Published {
    /// Whether it can be judged although these programs were not run.
    fn stands_without(&self, left_out: &[&str]) -> bool {
        let needs = |name: &&str| self.programs.is_empty() || self.programs.iter().any(|p| p == name);
        self.identity || self.exact || !left_out.iter().any(needs)
    }
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
    /// Not judged: the program that it is about was not run.
    pub fn not_run(id: &'static str) -> Judged {
        let why = "the program was not run".into();
        Judged { id, ours: String::new(), verdict: Verdict::NotJudged, why, turns: [false; 2] }
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

/// Claims of a paper that is one experiment: without the name of one; and bands are marked as ours.
pub fn worded(claims: Vec<Claim>) -> Vec<Claim> {
    let what = |c: &Claim| c.what.strip_prefix("claim: ").unwrap_or(&c.what).to_owned();
    claims.into_iter().map(|c| Claim { what: what(&c), why: c.why.replace("Agrees if ", "Agrees* if "), ..c }).collect()
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
        self.beside_without(experiments, judged, size, &[])
    }

    /// Claims with their verdicts where some of the paper's programs were left out: claims that need them have numbers, if any, and no verdict.
    ///
    /// # Errors
    /// As [`Claims::beside`], but for claims that need a program that was left out.
    pub fn beside_without(
        &self,
        experiments: &[&str],
        judged: Vec<Judged>,
        size: &str,
        left_out: &[&str],
    ) -> Result<Vec<Claim>, Failure> {
        let mut by_id: BTreeMap<&str, Judged> = judged.into_iter().map(|j| (j.id, j)).collect();
        let mut claims = Vec::new();
        for p in self.published()?.into_iter().filter(|p| experiments.contains(&p.experiment.as_str())) {
            let stands = p.stands_without(left_out);
            match by_id.remove(p.id.as_str()) {
                Some(j) => claims.push(claim(p, j, size, stands)),
                None if stands => {
                    return Err(Failure::work(format!("{} says nothing of the claim '{}'", p.experiment, p.id)));
                }
                None => {
                    let none = Judged {
                        id: "",
                        ours: String::new(),
                        verdict: Verdict::NotJudged,
                        why: String::new(),
                        turns: [false; 2],
                    };
                    claims.push(claim(p, none, size, stands));
                }
            }
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
        if !missing.is_empty() {
            let ours = format!("not measured: {}", missing.join(", "));
            return Judged { id, ours, verdict: Verdict::NotJudged, why, turns: [false; 2] };
        }
        // Without rules nothing could fail.
        let agrees = |points: f64| !rules.is_empty() && rules.iter().all(|r| r.holds(measures, points));
        Judged::by_points(id, ours, agrees, why)
    }
}

/// A claim with its verdict; `stands` unless programs that it needs were left out.
fn claim(p: Published, j: Judged, size: &str, stands: bool) -> Claim {
    let theirs = format!("{} {}", p.theirs, p.unit).trim_end().to_owned();
    let what = format!("{}: {}", p.experiment, p.what);
    let holds = p.identity && j.verdict == Verdict::Agrees;
    let small = size == SIZES[0] && !p.identity && !p.exact;
    let open = (small || !stands) && j.verdict != Verdict::CannotBeKnown;
    let verdict = match j.verdict {
        _ if holds => Verdict::Identity,
        _ if open => Verdict::NotJudged,
        other => other,
    };
    let why = match verdict {
        Verdict::Differs | Verdict::Unsettled if !p.cause.is_empty() => {
            let cause = if p.guess { "Probable cause, which nothing here decides" } else { "Cause" };
            format!("{}. {cause}: {}", j.why, p.cause)
        }
        Verdict::NotJudged if !stands && j.why.is_empty() => "programs that it needs were left out".to_owned(),
        Verdict::NotJudged if !stands => format!("programs that it needs were left out; {}", j.why),
        _ => j.why,
    };
    Claim { what, place: p.place, theirs, ours: j.ours, verdict, why }
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

    #[test]
    fn claims_that_need_what_was_left_out_are_not_judged() {
        let claim = |id: &str, more: &str| {
            format!(r#"{{"id": "{id}", "experiment": "E1", "what": "{id}", "theirs": "", "place": "here"{more}}}"#)
        };
        let one = r#", "programs": ["one"], "cause": "size", "guess": true"#;
        let all = [claim("all", ""), claim("one", one), claim("two", r#", "programs": ["two"]"#)];
        let more = [claim("exact", r#", "exact": true"#), claim("unsaid", ""), claim("unknown", "")];
        let text = format!("[{}, {}]", all.join(", "), more.join(", "));
        let claims = Claims(text.leak());
        let differs = |id| Judged::by(id, "", false, "so");
        let judged =
            || ["all", "one", "two", "exact"].map(differs).into_iter().chain([Judged::unknown("unknown", "", "gone")]);
        let found = claims.beside_without(&["E1"], judged().collect(), "S", &["two"]).expect("beside");
        let verdicts: Vec<Verdict> = found.iter().map(|c| c.verdict).collect();
        let open = Verdict::NotJudged;
        assert_eq!(verdicts, [open, Verdict::Differs, open, Verdict::Differs, open, Verdict::CannotBeKnown]);
        assert!(found[1].why.contains("Probable cause") && found[0].why.contains("were left out"), "{found:?}");
        let failure = claims.beside(&["E1"], judged().collect(), "S").expect_err("one claim has no verdict");
        assert!(failure.message.contains("unsaid"), "{}", failure.message);
    }
}
