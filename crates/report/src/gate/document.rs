//! What a gate reads of a report's document, of this run or of an earlier one: a few members, which keep their meaning as long as the
//! number in the document's identifier stands. Members that it does not know may be there.
use crate::compare::is_named;
use crate::doc::REPORT_SCHEMA;
use crate::quick::QUICK_SCHEMA;
use crate::units::percent;
use homenode_sim::evaluation::Interval;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};

/// The document of a report, whole or `--quick`, as far as a gate looks at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Identifier of the kind of document.
    pub(super) schema: String,
    /// Command line that was recorded.
    pub(super) command: Vec<String>,
    /// Order of the replay.
    pub(super) order: String,
    /// Whether it is of samples.
    pub(super) sampled: bool,
    /// One a block size.
    pub(super) cases: Vec<Case>,
}

/// What it says of one block size.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Case {
    pub(super) machine: String,
    /// Title of the machine; empty where the document has none.
    pub(super) title: String,
    pub(super) unit: String,
    pub(super) block_bytes: u64,
    pub(super) policies: Vec<String>,
    /// Whether misses have classes (`--model overlap`).
    pub(super) classes: bool,
    pub(super) gaps: Vec<Gap>,
    /// Why nothing can be said of costs here, if that is so.
    pub(super) unknown: Option<String>,
    /// What could be saved, as shares of the first-touch total.
    pub(super) savings: Vec<Saving>,
    /// First-touch total, if there is one that another run's can be compared with.
    pub(super) cost: Option<Interval>,
    /// Remote and global accesses as a share of it.
    pub(super) remote: Option<Interval>,
    /// Cache-to-cache transfers as a share of it.
    pub(super) transfer: Option<Interval>,
}

/// Something that would make the program cheaper.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Saving {
    /// What, in words.
    pub(super) what: String,
    /// Share of the first-touch total.
    pub(super) share: Interval,
}

/// Something that was not seen.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Gap {
    pub(super) kind: String,
    pub(super) doubts: String,
    pub(super) sentence: String,
    pub(super) remedy: String,
}

impl Document {
    /// Reads the text of a document.
    ///
    /// # Errors
    /// It is no JSON, not of a kind or version that is known, or lacks a member: one sentence.
    pub fn read(text: &str) -> Result<Document, String> {
        let no_document = |e: serde_json::Error| format!("no document of `homenode report --json`: {e}");
        let Named { schema } = serde_json::from_str(text).map_err(no_document)?;
        match schema.as_str() {
            REPORT_SCHEMA => Ok(serde_json::from_str::<Whole>(text).map_err(no_document)?.document(schema)),
            QUICK_SCHEMA => Ok(serde_json::from_str::<Quick>(text).map_err(no_document)?.document(schema)),
            other => Err(format!("its schema is '{other}'; this homenode reads {REPORT_SCHEMA} and {QUICK_SCHEMA}")),
        }
    }
}

#[derive(Deserialize)]
struct Named {
    schema: String,
}

#[derive(Deserialize)]
struct Origin {
    command: Vec<String>,
    order: String,
}

#[derive(Deserialize)]
struct Whole {
    provenance: Origin,
    sampling: Option<IgnoredAny>,
    evaluations: Vec<Evaluated>,
}

#[derive(Deserialize)]
struct Evaluated {
    machine: String,
    machine_title: String,
    unit: String,
    block_bytes: u64,
    totals: Totals,
    policies: Vec<Policy>,
    optimum: Vec<Bound>,
    spread: Option<Spread>,
    findings: Vec<Finding>,
    predicted_all: Option<Cost>,
    evidence: Evidence,
}

#[derive(Deserialize)]
struct Totals {
    misses: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Policy {
    name: String,
    total: Cost,
    remote: Cost,
    global: Cost,
    transfer: Cost,
    spread: Option<(Cost, Cost)>,
}

#[derive(Deserialize)]
struct Bound {
    name: String,
    total: Cost,
}

#[derive(Deserialize)]
struct Spread {
    effective: Option<f64>,
}

#[derive(Deserialize)]
struct Finding {
    object: String,
    places: Vec<String>,
    advice: String,
    saving_share: Option<f64>,
    saving_interval: Option<Ends>,
}

#[derive(Deserialize)]
struct Evidence {
    gaps: Vec<Gap>,
}

/// An interval as documents have it: an end that nobody knows is null.
#[derive(Clone, Copy, Deserialize)]
struct Ends {
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Ends> for Interval {
    fn from(e: Ends) -> Interval {
        Interval { low: e.low.unwrap_or(f64::NEG_INFINITY), high: e.high.unwrap_or(f64::INFINITY) }
    }
}

/// A cost, for shares: a number, digits, or `infinite`.
#[derive(Clone, Copy)]
struct Cost(f64);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Cost, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Words(String),
        }
        match Written::deserialize(d)? {
            Written::Number(n) => Ok(Cost(n)),
            Written::Words(w) if w == "infinite" => Ok(Cost(f64::INFINITY)),
            Written::Words(w) => w.parse().map(Cost).map_err(|_| D::Error::custom(format!("'{w}' is no cost"))),
        }
    }
}

/// A value that is known exactly.
pub(super) fn point(value: f64) -> Interval {
    Interval { low: value, high: value }
}

/// The row of first touch, else the first one.
fn base<T>(rows: &[T], name: impl Fn(&T) -> &str) -> Option<&T> {
    rows.iter().find(|r| is_named(name(r), "first touch")).or(rows.first())
}

impl Whole {
    fn document(self, schema: String) -> Document {
        let Origin { command, order } = self.provenance;
        let sampled = self.sampling.is_some();
        let cases = self.evaluations.into_iter().map(|e| e.case(sampled)).collect();
        Document { schema, command, order, sampled, cases }
    }
}

impl Evaluated {
    fn case(self, sampled: bool) -> Case {
        let mut case = Case {
            policies: self.policies.iter().map(|p| p.name.clone()).collect(),
            classes: self.totals.misses.is_some(),
            unknown: locality(&self.evidence.gaps),
            ..Case::default()
        };
        match base(&self.policies, |p| &p.name) {
            Some(base) if base.total.0.is_finite() => self.costs(base, sampled, &mut case),
            _ => {
                case.unknown = case.unknown.or_else(|| Some("first touch is not possible on this machine.".to_owned()))
            }
        }
        Case {
            machine: self.machine,
            title: self.machine_title,
            unit: self.unit,
            block_bytes: self.block_bytes,
            gaps: self.evidence.gaps,
            ..case
        }
    }

    fn costs(&self, base: &Policy, sampled: bool, case: &mut Case) {
        // How much of the program samples stand for is not known well enough to compare two runs.
        let (low, high) = base.spread.map_or((base.total, base.total), |s| s);
        case.cost = (!sampled).then_some(Interval { low: low.0, high: high.0 });
        let total = base.total.0;
        let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
        let effective = self.spread.as_ref().map(|s| s.effective.unwrap_or(0.0));
        let known = |share: f64| match effective {
            Some(effective) => Interval::of_share(share.clamp(0.0, 1.0), effective),
            None => point(share),
        };
        case.remote = Some(known(share(base.remote.0 + base.global.0)));
        case.transfer = Some(known(share(base.transfer.0)));
        case.savings = self.findings.iter().map(Finding::saving).collect();
        if let Some(all) = self.predicted_all.filter(|_| self.findings.len() > 1) {
            let what = format!("all {} changes of the findings together", self.findings.len());
            case.savings.push(Saving { what, share: known(share(total - all.0)) });
        }
        let best = self.optimum.iter().find(|o| is_named(&o.name, "best static")).or(self.optimum.first());
        if let Some(best) = best.filter(|b| b.total.0.is_finite()) {
            case.savings.push(Saving { what: placed(), share: known(share(total - best.total.0)) });
        }
    }
}

fn placed() -> String {
    "the best placement of pages (`homenode place`)".to_owned()
}

/// Words on why not even shares of local and remote accesses are known.
fn locality(gaps: &[Gap]) -> Option<String> {
    gaps.iter().find(|g| g.doubts == "locality").map(Gap::words)
}

impl Gap {
    /// What was not seen, and what would tell.
    pub(super) fn words(&self) -> String {
        let sentence = self.sentence.trim_end_matches('.');
        if self.remedy.is_empty() { format!("{sentence}.") } else { format!("{sentence}; {}.", self.remedy) }
    }
}

impl Finding {
    fn saving(&self) -> Saving {
        let exact = point(self.saving_share.unwrap_or(0.0));
        Saving {
            what: change(&self.object, &self.places, &self.advice),
            share: self.saving_interval.map_or(exact, Into::into),
        }
    }
}

/// A change in words: object, place, what to do.
fn change(object: &str, places: &[String], advice: &str) -> String {
    let place = places.first().filter(|p| !object.contains(p.as_str()));
    let place = place.map(|p| format!(" ({p})")).unwrap_or_default();
    format!("`{object}`{place}: {}", advice.trim().trim_end_matches('.'))
}

#[derive(Deserialize)]
struct Quick {
    provenance: Origin,
    machine: String,
    unit: String,
    block_bytes: u64,
    policies: Vec<Row>,
    optimum: Vec<Row>,
    transfer: Option<Ends>,
    changes: Option<Vec<Change>>,
    evidence: Evidence,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    total: Ends,
    ratio: Option<Ends>,
}

#[derive(Deserialize)]
struct Change {
    object: String,
    places: Vec<String>,
    advice: String,
    saving: Ends,
}

impl Quick {
    fn document(self, schema: String) -> Document {
        let Origin { command, order } = self.provenance;
        let best = self.optimum.iter().find(|o| is_named(&o.name, "best static")).or(self.optimum.first());
        let best = best.and_then(|b| b.ratio).map(Interval::from);
        let no_base =
            || "this machine has no first touch to compare with, or what was looked at cost nothing.".to_owned();
        let changes = self
            .changes
            .iter()
            .flatten()
            .map(|c| Saving { what: change(&c.object, &c.places, &c.advice), share: c.saving.into() });
        // No saving is below nothing: the best placement costs no more than first touch.
        let placing = best.map(|ratio| Saving {
            what: placed(),
            share: Interval { low: (1.0 - ratio.high).max(0.0), high: (1.0 - ratio.low).max(0.0) },
        });
        let case = Case {
            policies: self.policies.iter().map(|p| p.name.clone()).collect(),
            unknown: locality(&self.evidence.gaps).or_else(|| best.is_none().then(no_base)),
            savings: changes.chain(placing).collect(),
            cost: base(&self.policies, |p| &p.name).map(|b| b.total.into()),
            transfer: self.transfer.map(Interval::from),
            machine: self.machine,
            unit: self.unit,
            block_bytes: self.block_bytes,
            gaps: self.evidence.gaps,
            ..Case::default()
        };
        Document { schema, command, order, sampled: false, cases: vec![case] }
    }
}

/// A range of shares in words.
pub(super) fn shares(i: Interval) -> String {
    let end = |x: f64| if x.is_finite() { percent(x) } else { "an unknown share".to_owned() };
    let (low, high) = (end(i.low), end(i.high));
    if low == high { low } else { format!("{low} to {high}") }
}
