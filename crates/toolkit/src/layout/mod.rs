//! Another layout of data for protocols of page coherence: which changes are worth it, by trying them.
//!
//! The layout is that of `sweep --realign field`. What it costs is what the protocols cost on the relocated references; the
//! cheapest protocol before stands against the cheapest one after. A change stays in the advice only if the others are worth
//! noticeably less without it.
mod words;

use homenode_base::TotalCost;
use homenode_coherence::protocols::ALL;
use homenode_command::Failure;
use homenode_machine::Machine;
use homenode_realign::Private;
use homenode_realign::fields::{self, Census, Change, Kind, Layout, Relocated};
use homenode_report::layout::{LayoutChange, LayoutDoc, LayoutRow, LayoutSize, LayoutVerdict, ProtocolCost};
use homenode_sim::evidence::Doubt;
use homenode_sim::names::NameTable;
use homenode_sim::{Evaluation, Objects, SharedRefs, ThreadBinding};
use homenode_study::{Partitioner, Question, answer};
use homenode_trace::order::Source;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Sizes of pages of the study that the protocols are from, in bytes.
const PAGES: [u64; 6] = [64, 256, 1024, 4096, 16384, 65536];
/// Changes that are tried without each other, at most: those with most references.
const TRIED: usize = 8;
/// Larger recordings are not asked: they would be read some twenty times, each time as a whole in memory.
const REFS_MAX: u64 = 50_000_000;
/// A change stays if without it a fiftieth of the gain is lost.
const SHARE: i128 = 50;

/// Costs by page size and place of the protocol in the registry.
type Costs = BTreeMap<(u64, usize), TotalCost>;

/// What is asked about.
pub(crate) struct Asked<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) bindings: &'a [ThreadBinding],
    pub(crate) page_bytes: u64,
    /// Least gain worth a change, in percent.
    pub(crate) percent: u32,
    pub(crate) names: &'a NameTable<'a>,
    pub(crate) refs: u64,
    /// Whether a processor has several threads at a time.
    pub(crate) crowded: bool,
}

/// A change by what it is about.
type Key = (u32, Kind);

fn key(change: &Change) -> Key {
    (change.row, change.kind)
}

/// The advice, or why there is none.
///
/// # Errors
/// The references cannot be read.
pub(crate) fn advise(asked: &Asked<'_>, source: &mut dyn Source, e: &Evaluation) -> Result<LayoutDoc, Failure> {
    let mut doc = LayoutDoc {
        verdict: LayoutVerdict::CannotTell,
        sentence: String::new(),
        unit: e.unit.clone(),
        page_bytes: asked.page_bytes,
        changes: Vec::new(),
        sizes: Vec::new(),
        rows: Vec::new(),
    };
    if let Some(why) = unanswerable(asked, e) {
        doc.sentence = format!("Whether another layout helps cannot be told: {why}.");
        return Ok(doc);
    }
    let names = asked.names;
    let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
    let census = Census::of(&mut *source, 0, &objects, asked.bindings)?;
    let mut trial = Trial { asked, source, census };
    let found = trial.layout(asked.page_bytes, None).changes;
    let sizes: BTreeSet<u64> = PAGES.into_iter().chain([asked.page_bytes]).collect();
    let before = trial.recorded(&sizes.iter().copied().collect::<Vec<_>>())?;
    let (kept, after) = match &found[..] {
        [] => (Vec::new(), before.clone()),
        found => trial.chosen(found, least(&before, asked.page_bytes))?,
    };
    let (least_before, least_after) = (least(&before, asked.page_bytes), least(&after, asked.page_bytes));
    let gain = least_before - least_after;
    let worth_it = gain > TotalCost::ZERO && gain.0 * 100 >= least_before.0 * i128::from(asked.percent);
    let tried: BTreeSet<Key> = kept.iter().map(|(change, _)| key(change)).collect();
    let mut all = after;
    for size in sizes.iter().filter(|s| **s != asked.page_bytes && !tried.is_empty()) {
        all.extend(trial.relocated(*size, &tried)?);
    }
    table(&mut doc, &before, &all);
    let size = doc.sizes.iter().find(|s| s.page_bytes == asked.page_bytes);
    doc.verdict = match (worth_it, e.evidence.is_complete()) {
        (true, _) => LayoutVerdict::Advice,
        (false, true) => LayoutVerdict::NoGain,
        (false, false) => LayoutVerdict::CannotTell,
    };
    doc.sentence = words::sentence(doc.verdict, size, !found.is_empty(), e);
    if worth_it {
        let change = |(change, worth): &(Change, TotalCost)| LayoutChange {
            kind: words::kind(change.kind),
            object: change.object.name.clone(),
            place: change.object.place.clone(),
            fields: change.fields.iter().filter(|f| !f.is_empty()).cloned().collect(),
            advice: words::advice(change, asked.page_bytes),
            worth: *worth,
        };
        doc.changes = kept.iter().map(change).collect();
        doc.changes.sort_by_key(|c| Reverse(c.worth));
    }
    Ok(doc)
}

/// Why the question makes no sense, if it does not.
fn unanswerable(asked: &Asked<'_>, e: &Evaluation) -> Option<String> {
    if e.totals.sampled.is_some() {
        return Some("the recording is sampled, and protocols need the order of all references".to_owned());
    }
    if asked.crowded {
        let why = "threads share processors on this machine, and protocols of page coherence need one for each";
        return Some(why.to_owned());
    }
    if asked.refs > REFS_MAX {
        return Some(format!(
            "the recording has more than {REFS_MAX} references (homenode sweep --protocols all --realign field takes them)"
        ));
    }
    let gap = e.evidence.against(Doubt::Findings)?;
    Some(gap.sentence.trim_end_matches('.').to_owned())
}

/// The least cost with pages of this size.
fn least(costs: &Costs, page_bytes: u64) -> TotalCost {
    costs.iter().filter(|((size, _), _)| *size == page_bytes).map(|(_, cost)| *cost).min().unwrap_or(TotalCost::ZERO)
}

/// Fills in costs by size; what was not asked after the changes is as before.
fn table(doc: &mut LayoutDoc, before: &Costs, after: &Costs) {
    let name = |place: usize| ALL[place].choose(&[]).map_or_else(|_| ALL[place].name.to_owned(), |c| c.to_string());
    for (at, cost) in before {
        let after = after.get(at).copied().unwrap_or(*cost);
        doc.rows.push(LayoutRow { page_bytes: at.0, protocol: name(at.1), before: *cost, after });
    }
    for rows in doc.rows.chunk_by(|a, b| a.page_bytes == b.page_bytes) {
        let cheapest = |cost: fn(&LayoutRow) -> TotalCost| {
            let row = rows.iter().min_by_key(|r| cost(r)).expect("chunks have rows");
            ProtocolCost { protocol: row.protocol.clone(), cost: cost(row) }
        };
        let (before, after) = (cheapest(|r| r.before), cheapest(|r| r.after));
        doc.sizes.push(LayoutSize { page_bytes: rows[0].page_bytes, before, after });
    }
}

/// Layouts that are tried on one recording.
struct Trial<'a, 's> {
    asked: &'a Asked<'a>,
    source: &'s mut dyn Source,
    census: Census,
}

impl Trial<'_, '_> {
    /// The layout for pages of this size, with all changes or these.
    fn layout(&self, page_bytes: u64, only: Option<&BTreeSet<Key>>) -> Layout {
        let keep = |row: u32, kind: Kind| only.is_none_or(|only| only.contains(&(row, kind)));
        fields::layout(&self.census, &self.asked.names.follow(), page_bytes, &keep)
    }

    /// Costs of the references as they are.
    fn recorded(&mut self, sizes: &[u64]) -> Result<Costs, Failure> {
        let Asked { machine, bindings, names, .. } = *self.asked;
        let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
        costs(machine, bindings, sizes, &mut SharedRefs::new(&mut *self.source, &objects, bindings))
    }

    /// Costs with these changes.
    fn relocated(&mut self, page_bytes: u64, only: &BTreeSet<Key>) -> Result<Costs, Failure> {
        let layout = self.layout(page_bytes, Some(only));
        let Asked { machine, bindings, names, .. } = *self.asked;
        let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
        let mut source = Relocated::by(layout, &mut *self.source, &objects, bindings, Private::LeftOut);
        costs(machine, bindings, &[page_bytes], &mut source)
    }

    /// The changes without which the cheapest protocol is noticeably dearer, with how much; and the costs with them. Fewer
    /// references first: what is small and worth nothing is not advised.
    fn chosen(&mut self, found: &[Change], before: TotalCost) -> Result<(Vec<(Change, TotalCost)>, Costs), Failure> {
        let page = self.asked.page_bytes;
        let mut kept: BTreeSet<Key> = found.iter().map(key).collect();
        let mut costs = self.relocated(page, &kept)?;
        let mut worth: BTreeMap<Key, TotalCost> = BTreeMap::new();
        let mut by_refs: Vec<&Change> = found.iter().collect();
        by_refs.sort_by_key(|c| (Reverse(c.refs), key(c)));
        // What nobody has room to try is left out.
        for untried in by_refs.iter().skip(TRIED) {
            kept.remove(&key(untried));
        }
        if found.len() > TRIED {
            costs = self.relocated(page, &kept)?;
        }
        for change in by_refs.iter().take(TRIED).rev() {
            let mut without = kept.clone();
            without.remove(&key(change));
            let other = self.relocated(page, &without)?;
            let lost = least(&other, page) - least(&costs, page);
            if lost.0 * SHARE <= (before - least(&costs, page)).0.max(0) {
                (kept, costs) = (without, other);
            } else {
                worth.insert(key(change), lost);
            }
        }
        let chosen = found.iter().filter_map(|c| Some((c.clone(), *worth.get(&key(c))?)));
        Ok((chosen.collect(), costs))
    }
}

/// What every protocol costs on the references of a source.
fn costs(
    machine: &Machine,
    bindings: &[ThreadBinding],
    sizes: &[u64],
    source: &mut dyn Source,
) -> Result<Costs, Failure> {
    let mut question = Question::new(vec![machine.clone()], vec![bindings.to_vec()], sizes.to_vec());
    question.protocols = ALL.iter().filter_map(|s| s.choose(&[]).ok()).collect();
    let layout = homenode_study::Layout::default();
    let mut partitioner = Partitioner::new(&question, layout).map_err(Failure::work)?;
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        partitioner.refs(piece.refs).map_err(Failure::work)?;
    }
    drop(stream);
    let partition = partitioner.finish().map_err(Failure::work)?;
    let answer = answer(&question, &partition, 0..partition.regions()).map_err(Failure::work)?;
    let protocols = answer.rows.iter().filter(|row| row.done.is_some());
    Ok(protocols.map(|row| ((row.block_bytes, row.what.member() as usize), row.cost)).collect())
}
