//! What `homenode report --quick` says: a first answer, from some of the pages.
use crate::doc::to_json_line;
use crate::provenance::Provenance;
use crate::units::percent;
use homenode_base::TotalCost;
use homenode_sim::evaluation::Interval;
use homenode_sim::evidence::Doubt;
use homenode_sim::{ChangeEstimate, Estimate, EstimateRow, Evidence, ObjectEstimate};
use homenode_trace::manifest::{Manifest, PageSample};
use schemars::JsonSchema;
use serde::Serialize;

/// Value of [`QuickDoc::schema`], described by `docs/schema/quick.json`.
pub const QUICK_SCHEMA: &str = "https://github.com/homenode/homenode/schema/quick-1";

/// What `homenode report --quick --json` prints. Intervals are those of 95 % confidence; an end that nobody knows is null. Costs are
/// in the machine's unit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QuickDoc {
    /// Identifier of this kind of document.
    #[schemars(extend("const" = QUICK_SCHEMA))]
    pub schema: &'static str,
    /// Where the data comes from.
    pub provenance: Provenance,
    /// Machine name.
    pub machine: String,
    /// Unit of every cost ("ps" or the quantum in words).
    pub unit: String,
    /// Placement block in bytes.
    pub block_bytes: u64,
    /// How threads were bound to processors, in words.
    pub binding: String,
    /// Whether placement is worth something.
    pub verdict: Verdict,
    /// That in a sentence.
    pub sentence: String,
    /// References of the recording, busy waiting among them.
    pub refs: u64,
    /// References that were replayed.
    pub replayed: u64,
    /// Which pages the recording has; null if all.
    pub pages: Option<PagesDoc>,
    /// Groups of blocks that never meet in a set of a cache (page colours); of a recording of some pages, groups of as many pages.
    pub colours: u64,
    /// Of these, so many were replayed.
    pub looked_at: u64,
    /// Blocks touched, of those replayed.
    pub blocks: u64,
    /// References that are more than those to pages like the recorded ones can be: to few pages that are used much and were not drawn.
    /// Every range allows for what they cost at most. 0 unless the recording is of some pages.
    pub unlike: u64,
    /// Policies in registry order.
    pub policies: Vec<QuickRow>,
    /// Bounds, the lowest first.
    pub optimum: Vec<QuickRow>,
    /// Cache-to-cache transfers as a share of the first-touch total; null where there is no first touch.
    pub transfer: Option<Interval>,
    /// Data objects by their share of the first-touch total, largest first; those of few blocks may be missing.
    pub objects: Vec<ObjectEstimate>,
    /// Changes of who initialises, keeps or copies an object that may save what is worth a finding, the best of each object, those that
    /// save most first; null unless asked for (`--changes`).
    pub changes: Option<Vec<ChangeEstimate>>,
    /// Such changes that were not tried, beyond those that looked best.
    pub untried_changes: u64,
    /// Share of the first-touch total from which on a saving is worth a finding, 0 to 1.
    pub threshold: f64,
    /// Share of it from which on a change is told: the threshold, or more where nearly every reference hits and such a share would not be
    /// noticed; 0 unless changes were asked for.
    pub least_saving: f64,
    /// What the recording did not see.
    pub evidence: Evidence,
    /// Sentences for the reader.
    pub warnings: Vec<String>,
}

/// Pages drawn for a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PagesDoc {
    /// One in so many.
    pub one_in: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// References to other pages, which were left out.
    pub left_out: u64,
    /// Pages that have many of all references and were recorded whether drawn or not, once they were found; absent if none were.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub certain: usize,
}

/// For a member that is left out where there is nothing.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl PagesDoc {
    /// What a manifest says; nothing if all pages were recorded.
    pub fn of(manifest: &Manifest) -> Option<PagesDoc> {
        let PageSample { one_in, page_bytes, left_out } = manifest.pages?;
        Some(PagesDoc { one_in, page_bytes, left_out, certain: manifest.certain.len() })
    }
}

/// Whether a better placement is worth something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The best one saves at least the threshold.
    Worth,
    /// No one does.
    Little,
    /// The interval holds the threshold.
    CannotTell,
}

/// A policy or bound.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuickRow {
    /// Registry name with parameters, or the name of the bound.
    pub name: String,
    /// Whether a placement reaches it; false for a mere bound.
    pub reached: bool,
    /// Total.
    pub total: Interval,
    /// The total over that of first touch; null where there is no first touch.
    pub ratio: Option<Interval>,
    /// Beside first touch.
    pub beside: Beside,
}

/// A cost beside that of first touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Beside {
    /// The whole interval lies below.
    Less,
    /// The whole interval lies above.
    More,
    /// No difference.
    Same,
    /// The interval holds it.
    CannotTell,
    /// There is no first touch.
    Nothing,
}

/// What an estimate is of.
#[derive(Clone, Debug)]
pub struct QuickFacts {
    /// See [`QuickDoc::provenance`].
    pub provenance: Provenance,
    /// See [`QuickDoc::machine`].
    pub machine: String,
    /// See [`QuickDoc::unit`].
    pub unit: String,
    /// See [`QuickDoc::block_bytes`].
    pub block_bytes: u64,
    /// See [`QuickDoc::binding`].
    pub binding: String,
    /// Which pages the recording has, if not all.
    pub pages: Option<PagesDoc>,
    /// Smallest saving worth something, 0 to 1.
    pub threshold: f64,
    /// See [`QuickDoc::evidence`].
    pub evidence: Evidence,
    /// See [`QuickDoc::warnings`].
    pub warnings: Vec<String>,
}

impl QuickDoc {
    /// The document of an estimate.
    pub fn new(facts: QuickFacts, e: Estimate) -> QuickDoc {
        let (verdict, mut sentence) = judged(e.optimum.first(), facts.threshold, &facts.evidence);
        if let Some(why) = unlike(e.unlike, e.refs).filter(|_| verdict == Verdict::CannotTell) {
            sentence = format!("{sentence} {why}");
        }
        QuickDoc {
            schema: QUICK_SCHEMA,
            provenance: facts.provenance,
            machine: facts.machine,
            unit: facts.unit,
            block_bytes: facts.block_bytes,
            binding: facts.binding,
            verdict,
            sentence,
            pages: facts.pages,
            refs: e.refs,
            replayed: e.replayed,
            colours: e.colours,
            looked_at: e.looked_at,
            blocks: e.blocks,
            unlike: e.unlike,
            policies: e.policies.into_iter().map(QuickRow::from).collect(),
            optimum: e.optimum.into_iter().map(QuickRow::from).collect(),
            transfer: e.transfer,
            objects: e.objects,
            changes: e.changes,
            untried_changes: e.untried,
            threshold: facts.threshold,
            least_saving: e.least_saving,
            evidence: facts.evidence,
            warnings: facts.warnings,
        }
    }

    /// The JSON document on one line, with a newline at the end.
    pub fn to_json(&self) -> String {
        to_json_line(self)
    }
}

impl From<EstimateRow> for QuickRow {
    fn from(row: EstimateRow) -> QuickRow {
        let beside = match row.ratio {
            None => Beside::Nothing,
            Some(r) if is_one(r.low) && is_one(r.high) => Beside::Same,
            Some(r) if r.high < 1.0 => Beside::Less,
            Some(r) if r.low > 1.0 => Beside::More,
            Some(_) => Beside::CannotTell,
        };
        QuickRow { name: row.name, reached: row.reached, total: row.total, ratio: row.ratio, beside }
    }
}

fn is_one(ratio: f64) -> bool {
    (ratio - 1.0).abs() < 1e-9
}

/// Whether the best placement that there can be saves `threshold` of what first touch costs, as far as the recording knows.
fn judged(best: Option<&EstimateRow>, threshold: f64, evidence: &Evidence) -> (Verdict, String) {
    let cannot = |why: &str| (Verdict::CannotTell, format!("Cannot tell what placement is worth: {why}"));
    if let Some(gap) = evidence.against(Doubt::Locality) {
        return cannot(&gap.sentence);
    }
    let Some(ratio) = best.and_then(|b| b.ratio) else {
        return cannot("this machine has no first touch to compare with.");
    };
    if !ratio.high.is_finite() {
        return cannot("the pages looked at cost nothing.");
    }
    // No saving is below nothing: the best placement costs no more than first touch.
    let (low, high) = ((1.0 - ratio.high).max(0.0), (1.0 - ratio.low).max(0.0));
    let best = "the best one that there can be saves";
    let matters = low > 0.0 && low >= threshold;
    if !matters && high >= threshold {
        let (range, least) = (between(low, high), percent(threshold));
        return cannot(&format!("{best} {range} of what first touch costs, and less than {least} is not worth it."));
    }
    let sentence = match matters {
        true => format!("Placement matters: {best} {} of what first touch costs.", between(low, high)),
        false if high < 0.0005 => {
            "Placement matters little: even the best one saves less than 0.1 % of what first touch costs.".to_owned()
        }
        false => format!("Placement matters little: even {best} at most {} of what first touch costs.", percent(high)),
    };
    let whole = evidence.against(if matters { Doubt::Findings } else { Doubt::Absence }).is_none();
    let sentence = if whole { sentence } else { format!("As far as was recorded: p{}", &sentence[1..]) };
    (if matters { Verdict::Worth } else { Verdict::Little }, sentence)
}

/// What is known of pages that were not drawn and are like no others; `None` if nothing is.
pub(crate) fn unlike(unlike: u64, refs: u64) -> Option<String> {
    let part = || percent(unlike as f64 / refs.max(1) as f64);
    (unlike > 0).then(|| {
        format!(
            "{} of the references are to few pages that are used much and were not drawn; what they cost is not known.",
            part()
        )
    })
}

/// A range of shares in words.
pub(crate) fn between(low: f64, high: f64) -> String {
    let (low, high) = (percent(low), percent(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// A cost for people.
pub(crate) fn cost(value: f64) -> TotalCost {
    if value.is_finite() { TotalCost(value.round() as i128) } else { TotalCost(i128::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_sim::evidence::Gap;

    fn saves(low: f64, high: f64) -> EstimateRow {
        let ratio = Some(Interval { low: 1.0 - high, high: 1.0 - low });
        EstimateRow { name: "optimum".into(), reached: true, total: Interval { low: 1.0, high: 2.0 }, ratio }
    }

    #[test]
    fn a_verdict_holds_in_the_whole_interval() {
        let everything = Evidence::default();
        let of = |low, high| judged(Some(&saves(low, high)), 0.05, &everything).0;
        assert_eq!(of(0.05, 0.2), Verdict::Worth);
        assert_eq!(of(0.0, 0.049), Verdict::Little);
        assert_eq!(of(0.049, 0.051), Verdict::CannotTell);
        assert_eq!(of(-0.1, 0.3), Verdict::CannotTell);
        assert_eq!(judged(None, 0.05, &everything).0, Verdict::CannotTell);
        let unknown = EstimateRow { ratio: Some(Interval { low: 0.0, high: f64::INFINITY }), ..saves(0.1, 0.2) };
        assert_eq!(judged(Some(&unknown), 0.05, &everything).0, Verdict::CannotTell);
        assert!(judged(Some(&saves(0.34, 0.39)), 0.05, &everything).1.contains("34 % to 39 %"));
        assert_eq!(
            judged(Some(&saves(0.0, 0.1)), 0.0, &everything).0,
            Verdict::CannotTell,
            "nothing is too little, and it may be nothing"
        );
    }

    #[test]
    fn what_was_not_recorded_is_not_judged() {
        let mut some = Evidence::default();
        some.add(Gap::strangers(7));
        let said = |low, high, threshold| judged(Some(&saves(low, high)), threshold, &some).1;
        assert!(
            said(0.0, 0.01, 0.05).starts_with("As far as was recorded: placement matters little"),
            "{}",
            said(0.0, 0.01, 0.05)
        );
    }

    #[test]
    fn rows_say_less_only_where_the_whole_interval_is() {
        let of = |low, high| QuickRow::from(saves(low, high)).beside;
        assert_eq!((of(0.1, 0.2), of(-0.2, -0.1)), (Beside::Less, Beside::More));
        assert_eq!((of(0.0, 0.0), of(0.0, 0.2)), (Beside::Same, Beside::CannotTell));
    }
}
