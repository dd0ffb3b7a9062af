//! This run beside an earlier one.
use super::Judged;
use super::document::{Case, Document, Gap, point, shares};
use crate::quick::cost;
use crate::units::{CostUnit, bytes, percent};
use homenode_sim::evaluation::Interval;

/// Picoseconds by which costs of one program may differ from run to run, a hundred misses: who comes first where threads meet, how often
/// the C library is asked. Of a small program that is more than any limit.
const NOISE_PS: f64 = 1e7;

/// Holds a limit against what has become worse since `old`, as shares of the first-touch total there: growth of that total, of what can
/// be saved, of remote memory and of cache-to-cache transfers. A program that costs less is not worse for the shares of what is left, and
/// growth of less than ten microseconds is none.
///
/// # Errors
/// The two are not of the same question: one sentence.
pub fn judge_against(now: &Document, old: &Document, limit: f64) -> Result<Judged, String> {
    comparable(now, old)?;
    let mut judged = Judged::default();
    if programs(now) != programs(old) {
        let [is, was] = [now, old].map(|d| d.command.join(" "));
        judged.doubts.push(format!("the baseline is of another command: `{was}`, and this is `{is}`"));
    }
    for (now, old) in now.cases.iter().zip(&old.cases) {
        if let Some(why) = now.unknown.as_ref().or(old.unknown.as_ref()) {
            let whose = if now.unknown.is_some() { "" } else { "the baseline's: " };
            judged.failures.push(format!("cannot tell what became worse on {}: {whose}{why}", now.on()));
            continue;
        }
        let (worse, perhaps) = grown(now, old, limit);
        if !worse.is_empty() {
            judged.over(now, format!("worse on {} than the baseline: {}", now.on(), worse.join(", ")));
            continue;
        }
        if !perhaps.is_empty() {
            let (limit, on) = (percent(limit), now.on());
            judged.doubts.push(format!(
                "cannot tell whether this is worse by more than {limit} on {on}: {}",
                perhaps.join(", ")
            ));
        }
        let is_new = |gap: &Gap| old.gaps.iter().all(|o| o.kind != gap.kind);
        judged.unseen(now, is_new);
    }
    Ok(judged)
}

/// The program and its arguments, wherever it lies.
fn programs(d: &Document) -> Vec<&str> {
    let mut words: Vec<&str> = d.command.iter().map(String::as_str).collect();
    if let Some(first) = words.first_mut() {
        *first = first.rsplit('/').next().unwrap_or_default();
    }
    words
}

/// What is the same in documents that answer the same question.
fn question(d: &Document) -> Vec<(&'static str, String)> {
    let first = d.cases.first().cloned().unwrap_or_default();
    let blocks: Vec<String> = d.cases.iter().map(|c| bytes(c.block_bytes)).collect();
    let said = |is: bool, yes: &str, no: &str| if is { yes } else { no }.to_owned();
    vec![
        ("schema", d.schema.clone()),
        ("machine", first.machine),
        ("machine", first.title),
        ("unit", first.unit),
        ("block size", blocks.join(", ")),
        ("list of policies", first.policies.join(", ")),
        ("order", d.order.clone()),
        ("model of misses", said(first.classes, "overlap", "latency")),
        ("kind of recording", said(d.sampled, "samples", "all references")),
    ]
}

fn comparable(now: &Document, old: &Document) -> Result<(), String> {
    let differ = question(now).into_iter().zip(question(old)).find(|(now, old)| now.1 != old.1);
    match differ {
        Some(((what, is), (_, was))) => Err(format!(
            "cannot be compared: its {what} is '{was}' and here it is '{is}'; make a baseline with the options of this report"
        )),
        None => Ok(()),
    }
}

/// What is worse by more than the limit, and what may be.
fn grown(now: &Case, old: &Case, limit: f64) -> (Vec<String>, Vec<String>) {
    let (mut worse, mut perhaps) = (Vec::new(), Vec::new());
    let mut note = |(growth, words): (Interval, String)| {
        if growth.low > limit {
            worse.push(words);
        } else if growth.high > limit {
            perhaps.push(words);
        }
    };
    let figures = [
        ("what can be saved", Some(most(now)), Some(most(old))),
        ("remote memory", now.remote, old.remote),
        ("cache-to-cache transfers", now.transfer, old.transfer),
    ];
    let figures = figures.into_iter().filter_map(|(what, is, was)| Some((what, is?, was?)));
    match now.cost.zip(old.cost) {
        Some((is, was)) => {
            note(cost_grown("memory cost", now, (is, was), was));
            figures.for_each(|(what, a, b)| note(cost_grown(what, now, (times(a, is), times(b, was)), was)));
        }
        // Without totals that can be compared there are shares of each run's own.
        None => figures.for_each(|(what, is, was)| {
            let growth = Interval { low: is.low - was.high, high: is.high - was.low };
            note((growth, format!("{what} {} of the cost instead of {}", shares(is), shares(was))));
        }),
    }
    (worse, perhaps)
}

/// Growth of a cost as a share of what all memory cost before, and that in words.
fn cost_grown(what: &str, case: &Case, (is, was): (Interval, Interval), all: Interval) -> (Interval, String) {
    let unit = CostUnit::of(&case.unit);
    let costs = |i: Interval| {
        let (low, high) = (unit.cost(cost(i.low)), unit.cost(cost(i.high)));
        if low == high { low } else { format!("{low} to {high}") }
    };
    let over = |more: f64, all: f64| match more {
        0.0 => 0.0,
        m if all > 0.0 => m / all,
        m => m * f64::INFINITY,
    };
    let noise = if matches!(unit, CostUnit::Time) { NOISE_PS } else { 0.0 };
    let seen = |more: f64| if more.abs() <= noise { 0.0 } else { more };
    // Of a total that is not known exactly, the end that makes it smaller, or larger.
    let (less, more) = (seen(is.low - was.high), seen(is.high - was.low));
    let ends = |more: f64| (over(more, all.low), over(more, all.high));
    let ((a, b), (c, d)) = (ends(less), ends(more));
    (Interval { low: a.min(b), high: c.max(d) }, format!("{what} {} instead of {}", costs(is), costs(was)))
}

/// A share of a cost that is not negative.
fn times(share: Interval, cost: Interval) -> Interval {
    let at_least_nothing = |x: f64| x.max(0.0);
    Interval { low: at_least_nothing(share.low) * cost.low, high: at_least_nothing(share.high) * cost.high }
}

/// What can be saved at most by one of the ways that there are.
fn most(case: &Case) -> Interval {
    let larger = |a: Interval, b: Interval| Interval { low: a.low.max(b.low), high: a.high.max(b.high) };
    case.savings.iter().map(|s| s.share).fold(point(0.0), larger)
}
