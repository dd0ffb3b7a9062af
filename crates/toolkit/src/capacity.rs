//! How much DRAM is enough in front of slower memory, for reports: what `sim memory` finds of tiers, for placements that stay and the optimum.
use crate::sim_tiers::sizes::Sizes;
use crate::sim_tiers::{failure, is_thin, notes};
use homenode_base::TotalCost;
use homenode_command::Failure;
use homenode_machine::{Machine, MapRule};
use homenode_placement::tiers::Savings;
use homenode_report::CapacityDoc;
use homenode_report::capacity::{CapacityEnough, CapacityMoves, CapacityPoint, SizeDoc};
use homenode_report::units;
use homenode_timed::tiers::{Limits, Point, Recorded, TierError, TierMachine, curve};
use homenode_trace::dataset::DatasetReader;

/// Percent of the pages that every curve has points at.
const PERCENT: [u64; 13] = [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
/// Percent above the cost of all DRAM that are little.
const WITHIN: [u32; 2] = [5, 1];
/// A tick that no recording is longer than.
const WHOLE: u64 = u64::MAX;
/// Percent at which curves of large recordings have points.
const FEW_PERCENT: [u64; 5] = [10, 30, 50, 70, 90];
/// Work on the optimum that a report waits for; `sim memory` waits longer.
const LIMITS: Limits = Limits { exact: 20_000_000, entries: 1_000_000, rounds: 50 };
/// Entries times sizes times rounds of the bound, at most, while there are some rounds.
const BOUND_WORK: u64 = 300_000_000;
const ROUNDS_LEAST: u64 = 5;

/// What is asked about.
pub(crate) struct Asked<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) map: Option<&'a MapRule>,
    pub(crate) page_bytes: u64,
    /// Sizes that the user named.
    pub(crate) sizes: Option<&'a Sizes>,
    /// Whether other options ask for something that is not modelled here.
    pub(crate) differs: bool,
}

/// Sizes as the user wrote them, for a machine that has somewhere else for what does not fit.
///
/// # Errors
/// A size that is none, a machine without a node for the rest.
pub(crate) fn sizes(words: &[String], machine: &Machine) -> Result<Option<Sizes>, Failure> {
    if words.is_empty() {
        return Ok(None);
    }
    let sizes = Sizes::parse("--capacity", words)?;
    if !TierMachine::has(machine) {
        return Err(Failure::usage(format!(
            "--capacity: machine '{}' has no node without processors, where what does not fit could live: take one that has, such as \
             'dram-cxl', or add one to a machine file (`cores = [16, 0]`, docs/machines.md)",
            machine.name
        )));
    }
    Ok(Some(sizes))
}

/// What can be said; nothing about machines that have one kind of memory, or that tiers are not modelled on.
///
/// # Errors
/// Sizes were named that there cannot be; the dataset is damaged.
pub(crate) fn capacity(asked: &Asked<'_>, reader: &DatasetReader) -> Result<Option<CapacityDoc>, Failure> {
    let read = |tick: Option<u64>| {
        let tiers = TierMachine::of(asked.machine, asked.page_bytes, tick)?;
        let recorded = Recorded::of(reader, asked.machine, &tiers, asked.map, &mut |_| ())?;
        Ok((tiers, recorded))
    };
    if asked.sizes.is_none() {
        match read(Some(WHOLE)) {
            Err(TierError::Nothing) => return Ok(Some(nothing(asked))),
            Err(TierError::NoTiers(_) | TierError::NotModelled { .. } | TierError::Page { .. }) => return Ok(None),
            Err(e) => return Err(failure(e)),
            Ok((tiers, recorded)) if holds_all(&tiers, &recorded) => {
                return Ok(Some(describe(asked, &tiers, &recorded, &[], Vec::new())));
            }
            Ok(_) => {}
        }
    }
    // Moves matter: once more, tick by tick.
    let (tiers, recorded) = match read(None) {
        Err(TierError::Nothing) => return Ok(Some(nothing(asked))),
        read => read.map_err(failure)?,
    };
    let (named, left_out) = named(asked, &tiers, &recorded)?;
    Ok(Some(describe(asked, &tiers, &recorded, &named, left_out)))
}

/// Whether the machine's DRAM holds all pages, as it does where no capacity is known.
fn holds_all(tiers: &TierMachine, recorded: &Recorded) -> bool {
    tiers.capacity.is_none_or(|[dram, _]| dram >= recorded.pages.len() as u64)
}

/// Of a recording of which nothing reaches memory.
fn nothing(asked: &Asked<'_>) -> CapacityDoc {
    CapacityDoc {
        sentence: "None of its accesses reaches memory, so it makes no difference how much DRAM there is.".to_owned(),
        unit: asked.machine.unit.to_string(),
        page_bytes: asked.page_bytes,
        pages: 0,
        in_dram: TotalCost::ZERO,
        in_expander: TotalCost::ZERO,
        enough: Vec::new(),
        moves: None,
        points: Vec::new(),
        notes: Vec::new(),
    }
}

/// The sizes that the user or the machine names, and what had to be left out.
fn named(asked: &Asked<'_>, tiers: &TierMachine, recorded: &Recorded) -> Result<(Vec<SizeDoc>, Vec<String>), Failure> {
    match (asked.sizes, tiers.capacity) {
        (Some(sizes), _) => {
            // Whoever names sizes asks what DRAM there should be, not what there is.
            let mut any = tiers.clone();
            any.capacity = any.capacity.map(|[_, expander]| [u64::MAX, expander]);
            sizes.frames(recorded, &any)
        }
        (None, Some([dram, _])) => Ok((vec![size(dram, tiers, recorded)], Vec::new())),
        (None, None) => Ok((Vec::new(), Vec::new())),
    }
}

fn size(frames: u64, tiers: &TierMachine, recorded: &Recorded) -> SizeDoc {
    let percent = 100.0 * frames as f64 / recorded.pages.len() as f64;
    SizeDoc { frames, bytes: frames.saturating_mul(tiers.page_bytes), percent }
}

/// What pages cost that stay where they are put.
struct Fixed {
    hottest: Savings,
    first_come: Savings,
}

fn describe(
    asked: &Asked<'_>,
    tiers: &TierMachine,
    recorded: &Recorded,
    named: &[SizeDoc],
    left_out: Vec<String>,
) -> CapacityDoc {
    let pages = &recorded.pages;
    let fixed = Fixed { hottest: Savings::hottest_first(pages), first_come: Savings::first_come(pages) };
    let enough = if is_thin(recorded) { Vec::new() } else { enough(tiers, recorded, &fixed) };
    let points = if named.is_empty() { Vec::new() } else { self::points(tiers, recorded, &fixed, named, &enough) };
    let mut doc = CapacityDoc {
        unit: asked.machine.unit.to_string(),
        page_bytes: tiers.page_bytes,
        pages: pages.len() as u64,
        in_dram: recorded.in_dram,
        in_expander: recorded.in_expander,
        enough,
        moves: (!points.is_empty()).then_some(CapacityMoves {
            tick: tiers.tick,
            promote: tiers.moves.promote,
            demote: tiers.moves.demote,
        }),
        points: points.iter().map(|(_, doc)| doc.clone()).collect(),
        notes: left_out,
        sentence: String::new(),
    };
    doc.sentence = sentence(&doc, tiers, recorded);
    if !doc.points.is_empty() {
        let found: Vec<Point> = points.into_iter().map(|(point, _)| point).collect();
        doc.notes.extend(notes(asked.machine, tiers, recorded, &found));
    }
    if asked.differs {
        let words = "here every access to memory costs its latency, references are in the model order and busy waiting costs nothing";
        doc.notes.push(words.to_owned());
    }
    doc
}

fn kind(point: &Point) -> &'static str {
    if point.optimum.is_exact { "exact" } else { "bound" }
}

fn enough(tiers: &TierMachine, recorded: &Recorded, fixed: &Fixed) -> Vec<CapacityEnough> {
    let least = |within: u32, savings: &Savings| {
        let most = recorded.in_dram.0 * i128::from(100 + within) / 100;
        savings.least(TotalCost(recorded.in_expander.0 - most)).map(|frames| size(frames, tiers, recorded))
    };
    let of = |within_percent| {
        Some(CapacityEnough {
            within_percent,
            hottest: least(within_percent, &fixed.hottest)?,
            first_come: least(within_percent, &fixed.first_come)?,
        })
    };
    WITHIN.into_iter().filter_map(of).collect()
}

/// Costs at the sizes named, at those of every curve, and where enough begins.
fn points(
    tiers: &TierMachine,
    recorded: &Recorded,
    fixed: &Fixed,
    named: &[SizeDoc],
    enough: &[CapacityEnough],
) -> Vec<(Point, CapacityPoint)> {
    let pages = recorded.pages.len() as u64;
    let elsewhere = |frames: u64| pages.saturating_sub(frames);
    let fits = |frames: &u64| *frames > 0 && tiers.capacity.is_none_or(|[_, most]| elsewhere(*frames) <= most);
    let entries = recorded.pages.entries() as u64;
    let percent: &[u64] = if entries > LIMITS.entries { &FEW_PERCENT } else { &PERCENT };
    let usual = percent.iter().map(|p| pages * p / 100).chain(enough.iter().map(|e| e.hottest.frames)).filter(fits);
    let mut frames: Vec<u64> = usual.chain(named.iter().map(|s| s.frames)).collect();
    frames.sort_unstable();
    frames.dedup();
    let rounds = BOUND_WORK / (entries * frames.len() as u64).max(1);
    let rounds = rounds.clamp(ROUNDS_LEAST, LIMITS.rounds.into()) as u32;
    // No policies are run, so there is none to refuse.
    let found = curve(recorded, tiers, &frames, &[], Limits { rounds, ..LIMITS }, &mut |_| ()).unwrap_or_default();
    let doc = |point: &Point| CapacityPoint {
        size: size(point.frames, tiers, recorded),
        asked: named.iter().any(|s| s.frames == point.frames),
        first_come: recorded.in_expander - fixed.first_come.with(point.frames),
        hottest: recorded.in_expander - fixed.hottest.with(point.frames),
        optimum: point.optimum.at_least,
        kind: kind(point),
        plan: point.optimum.plan,
    };
    found.into_iter().map(|point| (point.clone(), doc(&point))).collect()
}

fn sentence(doc: &CapacityDoc, tiers: &TierMachine, recorded: &Recorded) -> String {
    let Some(least) = doc.least() else {
        return format!(
            "{} of {} are too few to tell how much DRAM is enough.",
            units::plural(recorded.samples.unwrap_or(0), "sample", "samples"),
            units::plural(doc.pages, "page", "pages")
        );
    };
    let outside = format!(
        "With all of it outside of DRAM they cost {} as much.",
        units::factor(doc.in_expander.ratio_to(doc.in_dram)).replace('×', "") + " times"
    );
    let here = match tiers.capacity {
        Some([dram, _]) if holds_all(tiers, recorded) => {
            let size = units::bytes(dram.saturating_mul(tiers.page_bytes));
            format!(" The machine's {size} of DRAM hold it all.")
        }
        _ => String::new(),
    };
    let near = if tiers.is_exact { "" } else { "If data were always at the nearest node of its kind: " };
    format!("{near}{} {outside}{here}", if near.is_empty() { least } else { uncapitalised(&least) })
}

fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
