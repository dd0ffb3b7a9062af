//! Every claim of the thesis with a verdict.
use super::Outcome;
use homenode_command::Failure;
use homenode_judging::doc::{Claim, Verdict};
use homenode_machine::{Machine, models};
use serde::Deserialize;

const CLAIMS: &str = include_str!("../../data/thakkar_claims.json");

#[derive(Deserialize)]
struct Published {
    id: String,
    what: String,
    theirs: String,
    unit: String,
    place: String,
}

/// Ours, verdict, why.
type Judged = (String, Verdict, String);

/// Claims in the order of the file.
pub(super) fn judge(outcomes: &[Outcome]) -> Result<Vec<Claim>, Failure> {
    let published: Vec<Published> = serde_json::from_str(CLAIMS).map_err(Failure::work)?;
    let claim = |p: Published| {
        let (ours, verdict, why) = verdict(&p.id, outcomes);
        Claim { what: p.what, place: p.place, theirs: format!("{} {}", p.theirs, p.unit), ours, verdict, why }
    };
    Ok(published.into_iter().map(claim).collect())
}

fn verdict(id: &str, outcomes: &[Outcome]) -> Judged {
    match id {
        "penalty" => penalty(),
        "extra-latency" => extra_latency(),
        "mbind" => mbind(),
        "capture" => gone(
            "what a counter of 2005 loses cannot be measured on other processors; the table of lossy plans shows what losing 90 % and 99 % does to a plan",
        ),
        "migration-share" => gone(
            "neither the page counts nor the run times of these runs are printed; 6.3 us a page is what the printed totals give",
        ),
        "migration" => gone(
            "the published figures are arithmetic on two different runs, not one measured run; the savings of this page are of placement from the start, not of moving in the middle",
        ),
        "set1-lu" => gone(
            "their LU is a solver of NAS misled by traces of L1 misses that sharing one L2 polluted; our lu is another program, and neither that machine nor those traces are left",
        ),
        _ => savings(id, outcomes),
    }
}

fn gone(why: &str) -> Judged {
    (String::new(), Verdict::CannotBeKnown, why.to_owned())
}

/// Index of a series of savings.
const HOP: usize = 0;
const UNIFORM: usize = 1;
const INTERLEAVED: usize = 3;

/// Half of the last digit that is printed: what is nearer to each other is printed alike.
const PRINTED_HALF: f64 = 0.05;
/// Most pages on which the two rules differ in table 4.3, in percent.
const DIFFER_MOST: f64 = 7.76;

/// The directions of a row: who gains, who loses, who is ahead. How much of a run time it is cannot be known, since the machines
/// are gone; which way it goes, the model has numbers for. A row agrees if all of its directions do.
fn savings(id: &str, outcomes: &[Outcome]) -> Judged {
    let on = |machine: &str, series: usize| -> Vec<f64> {
        let chosen = outcomes.iter().filter(|o| machine.is_empty() || o.machine == machine);
        chosen.map(|o| o.savings[series]).collect()
    };
    let both = || (mean(&on("opteron8", HOP)), mean(&on("opteron8", UNIFORM)));
    let (ours, verdict, why) = match id {
        "set1-l2" => spread(&on("opteron4", HOP), -7.0, Some(12.2)),
        "set2-l2-range" => spread(&on("opteron8", HOP), -27.0, None),
        "set2-l1-range" => spread(&on("opteron8", HOP), -11.0, None),
        "set2-l2-mean" => ahead(both(), (12.2, 13.1)),
        "set2-l1-mean" => ahead(both(), (10.0, 15.0)),
        "interleave" => sign(mean(&on("opteron8", INTERLEAVED)), "interleaving", 11.0),
        "worst" => {
            let (ours, verdict, why) = spread(&on("", HOP), -30.0, None);
            (ours, verdict, format!("{why}; the thesis itself has 27 and 30 for this program"))
        }
        "rules-differ" => return pages(outcomes),
        _ => sign(mean(&on("", HOP)), "placement by affinity", 14.0),
    };
    (format!("{ours} percent of memory cost (model)"), verdict, format!("direction only, run times are gone: {why}"))
}

fn agrees(alike: bool) -> Verdict {
    if alike { Verdict::Agrees } else { Verdict::Differs }
}

/// What a mean saving is called.
fn word(saved: f64) -> &'static str {
    match saved {
        s if s >= PRINTED_HALF => "saves",
        s if s <= -PRINTED_HALF => "loses",
        _ => "neither saves nor loses",
    }
}

fn sign(ours: f64, who: &str, theirs: f64) -> Judged {
    let (here, there) = (word(ours), word(theirs));
    let why = if here == there {
        format!("on average {who} {here} there and here")
    } else {
        format!("on average {who} {there} there and {here} here")
    };
    (format!("mean {ours:.1}"), agrees(here == there), why)
}

/// A range whose lower end is a loss in the thesis.
fn spread(ours: &[f64], theirs_least: f64, theirs_mean: Option<f64>) -> Judged {
    let ((least, _), middle) = (range_of(ours), mean(ours));
    let loses = least <= -PRINTED_HALF;
    let worst = if loses {
        format!("some program loses there ({theirs_least:.0}) and here ({least:.1})")
    } else {
        format!(
            "some program loses there ({theirs_least:.0}) and none here (least {least:.1}): a plan made of the whole trace \
             cannot mislead the run that it was made of"
        )
    };
    match theirs_mean {
        None => (range(ours), agrees(loses), worst),
        Some(theirs) => {
            let (_, mean_agrees, of_mean) = sign(middle, "placement by affinity", theirs);
            let alike = loses && mean_agrees == Verdict::Agrees;
            (format!("{}; mean {middle:.1}", range(ours)), agrees(alike), format!("{of_mean}; {worst}"))
        }
    }
}

/// Which of the two rules is ahead: (hop-sensitive, uniform) here and there.
fn ahead(ours: (f64, f64), theirs: (f64, f64)) -> Judged {
    let leader = |(hop, uniform): (f64, f64)| match hop - uniform {
        d if d >= 2.0 * PRINTED_HALF => format!("hop-sensitive is ahead by {d:.1}"),
        d if d <= -2.0 * PRINTED_HALF => format!("uniform is ahead by {:.1}", -d),
        _ => "neither is ahead".to_owned(),
    };
    let kind = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let (here, there) = (leader(ours), leader(theirs));
    let why = format!(
        "there {there}, here {here}; in the model hop-sensitive affinity is the least of all homes, so uniform can tie with it \
         and never lead"
    );
    (format!("{:.1}; {:.1}", ours.0, ours.1), agrees(kind(&here) == kind(&there)), why)
}

/// Table 4.3: pages on which uniform and hop-sensitive affinity differ.
fn pages(outcomes: &[Outcome]) -> Judged {
    let all: Vec<f64> = outcomes.iter().map(|o| o.differ).collect();
    let most = outcomes.iter().max_by(|a, b| a.differ.total_cmp(&b.differ));
    let (_, high) = range_of(&all);
    let (alike, who) = (high <= DIFFER_MOST + 0.005, most.map_or("", |o| o.program));
    let why = if alike {
        format!("on no program of ours do they differ on more pages than there (most: {who}, {high:.2})")
    } else {
        format!("they differ on more pages of {who} ({high:.2}) than of any program there ({DIFFER_MOST})")
    };
    let ours = format!("{:.2} to {high:.2} percent of pages", range_of(&all).0);
    (ours, agrees(alike), format!("{why}; other programs, and references are counted here, not misses"))
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len().max(1) as f64
}

fn range(v: &[f64]) -> String {
    let (low, high) = v.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    format!("{low:.1} to {high:.1}")
}

fn table(name: &str) -> Vec<Vec<f64>> {
    let machine: Machine = models::find(name).expect("in the registry");
    machine.cost.read.rows().iter().map(|r| r.iter().map(|c| c.0 as f64 / 1000.0).collect()).collect()
}

/// The table as measured, before its diagonal was repaired.
fn raw_table_8() -> Vec<Vec<f64>> {
    models::OPTERON8_RAW_NS.iter().map(|r| r.iter().map(|ns| *ns as f64).collect()).collect()
}

/// Remote over local of each pair.
fn ratios(rows: &[Vec<f64>]) -> Vec<f64> {
    let pair = |i: usize| rows[i].iter().enumerate().filter(move |(j, _)| *j != i).map(move |(_, c)| c / rows[i][i]);
    (0..rows.len()).flat_map(pair).collect()
}

/// Mean gain of one access made local on the 4-node machine, in nanoseconds.
pub(super) fn mean_gain_ns() -> f64 {
    let rows = &table("opteron4");
    let gain = |i: usize| rows[i].iter().enumerate().filter(move |(j, _)| *j != i).map(move |(_, c)| c - rows[i][i]);
    mean(&(0..rows.len()).flat_map(gain).collect::<Vec<_>>())
}

fn penalty() -> Judged {
    let all = ratios(&table("opteron4"));
    // One hop is nearer than the middle between both kinds.
    let middle = (range_of(&all).0 + range_of(&all).1) / 2.0;
    let (near, far): (Vec<f64>, Vec<f64>) = all.iter().partition(|r| **r < middle);
    let (one, two) = (mean(&near), mean(&far));
    let verdict = if (one - 1.3).abs() < 0.1 && (two - 1.6).abs() < 0.1 { Verdict::Agrees } else { Verdict::Differs };
    (format!("{one:.2}; {two:.2}"), verdict, "table 4.1: mean over pairs one and two links apart, within 0.1".into())
}

fn range_of(v: &[f64]) -> (f64, f64) {
    v.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)))
}

fn extra_latency() -> Judged {
    let rows = raw_table_8();
    let worst = 100.0 * (range_of(&ratios(&rows)).1 - 1.0);
    let cells: Vec<f64> = rows.concat();
    let whole = 100.0 * (range_of(&cells).1 / range_of(&cells).0 - 1.0);
    let verdict = if worst >= 95.0 { Verdict::Agrees } else { Verdict::Differs };
    let why = format!(
        "table 4.2: a node's worst memory over its own; only largest over least of the whole table gives {whole:.0}"
    );
    (format!("{worst:.0} percent"), verdict, why)
}

fn mbind() -> Judged {
    let each = |seconds: f64| seconds / 130_000.0 * 1e6;
    let ours = format!("{:.1}; {:.0} us a page as published", each(0.82), each(74.0));
    let why = "kernels of 2008 searched the list of requests for every page; today's do not, so the 90 times are not to be \
               had again; `homenode topo` and the migration report say what a page costs here";
    (ours, Verdict::CannotBeKnown, why.into())
}
