//! Every claim of the thesis with a verdict.
use super::experiment::Outcome;
use super::{Claim, Verdict};
use crate::Failure;
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
            "the published figures are arithmetic on two different runs, not one measured run; ours would need run times",
        ),
        "set1-lu" => gone("traces of L1 misses polluted by sharing one L2; the machine and those traces are gone"),
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

/// Run time cannot be known; what the model says of the same thing is given beside it.
fn savings(id: &str, outcomes: &[Outcome]) -> Judged {
    let on = |machine: &str, series: usize| -> Vec<f64> {
        let chosen = outcomes.iter().filter(|o| machine.is_empty() || o.machine == machine);
        chosen.map(|o| o.savings[series]).collect()
    };
    let (ours, direction) = match id {
        "set1-l2" => {
            let v = on("opteron4", HOP);
            (format!("{}; mean {:.1}", range(&v), mean(&v)), "placement by affinity saves on average")
        }
        "set2-l2-range" | "set2-l1-range" => (
            range(&on("opteron8", HOP)),
            "what is saved depends on who touches first; no placement of a full trace loses in the model",
        ),
        "set2-l2-mean" | "set2-l1-mean" => {
            let (hop, uniform) = (mean(&on("opteron8", HOP)), mean(&on("opteron8", UNIFORM)));
            (
                format!("{hop:.1}; {uniform:.1}"),
                "both rules save nearly the same; in the model hop-sensitive is never behind",
            )
        }
        "interleave" => {
            (format!("{:.1}", mean(&on("opteron8", INTERLEAVED))), "interleaving is compared in the same table")
        }
        "worst" => {
            let v = on("", HOP);
            let least = v.iter().copied().fold(f64::INFINITY, f64::min);
            (
                format!("{:.1} at worst", least),
                "the thesis itself has 27 and 30 for this program; in the model a full trace cannot mislead its own plan",
            )
        }
        _ => (
            format!("mean {:.1}", mean(&on("", HOP))),
            "the thesis gives three different averages, its chapter 4 has 9.4 to 15",
        ),
    };
    let ours = format!("{ours} percent of memory cost (model)");
    (ours, Verdict::CannotBeKnown, format!("run time on machines that are gone; {direction}"))
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
    machine.read.rows().iter().map(|r| r.iter().map(|c| c.0 as f64 / 1000.0).collect()).collect()
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
