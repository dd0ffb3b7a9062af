//! A first answer for a terminal.
use super::terminal::{Paint, render as table, wrap};
use super::{Style, WIDTH_MIN, join};
use crate::headline::doing;
use crate::quick::{Beside, QuickDoc, QuickRow, Verdict, between, cost, unlike};
use crate::units::{CostUnit, bytes, count, percent};
use homenode_sim::ChangeEstimate;
use homenode_sim::evaluation::{FindingKind, Interval};
use homenode_table::{Column, Table, clean};

/// A first answer in lines, each ending in a newline.
pub fn render_quick(doc: &QuickDoc, style: Style) -> String {
    let (width, paint) = (style.width.max(WIDTH_MIN), Paint(style.colour));
    let share = doc.replayed as f64 / doc.refs.max(1) as f64;
    let part = match &doc.pages {
        None => format!("a first answer, from {} of {} colours", doc.looked_at, doc.colours),
        Some(pages) => format!("an estimate, from one page in {}: {}", pages.one_in, count(doc.blocks)),
    };
    let heading = format!(
        "{} on {}: {part} of {} blocks, {} of {} references",
        clean(&doc.provenance.dataset),
        doc.machine,
        bytes(doc.block_bytes),
        percent(share),
        count(doc.refs)
    );
    let mut lines: Vec<String> = wrap(&heading, width, 2).iter().map(|l| paint.bold(l)).collect();
    lines.extend(wrap(&clean(&doc.binding), width, 2).iter().map(|l| paint.dim(l)));
    lines.push(String::new());
    let colour = |line: &String| match doc.verdict {
        Verdict::Little => paint.good(line),
        Verdict::Worth | Verdict::CannotTell => paint.warn(line),
    };
    lines.extend(wrap(&doc.sentence, width, 2).iter().map(colour));
    lines.push(String::new());
    lines.extend(table(&rows(doc), width, paint));
    if let Some(transfer) = doc.transfer.filter(|t| t.high > 0.0) {
        let sentence = format!("lines from other caches: {} of first touch, wherever pages are", shares(transfer));
        lines.extend(wrap(&sentence, width, 2).iter().map(|l| paint.dim(l)));
    }
    if !doc.objects.is_empty() {
        lines.push(String::new());
        lines.extend(table(&objects(doc), width, paint));
    }
    if let Some(changes) = &doc.changes {
        lines.push(String::new());
        let best = doc.optimum.first().and_then(|o| o.ratio);
        lines.extend(
            changed((changes, doc.untried_changes), best, (doc.least_saving, doc.threshold))
                .iter()
                .flat_map(|c| wrap(c, width, 2)),
        );
    }
    lines.push(String::new());
    lines.extend(notes(doc).iter().flat_map(|n| wrap(n, width, 2)).map(|l| paint.dim(&l)));
    join(lines)
}

fn rows(doc: &QuickDoc) -> Table {
    let unit = CostUnit::of(&doc.unit);
    let columns = ["total", "of first touch", ""].map(Column::number);
    let mut out = Table::new(std::iter::once(Column::words("Policies and bounds", 14)).chain(columns).collect());
    let total = |i: Interval| match (unit.cost(cost(i.low)), unit.cost(cost(i.high))) {
        _ if !i.high.is_finite() && i.low <= 0.0 => "cannot tell".to_owned(),
        (low, _) if !i.high.is_finite() => format!("at least {low}"),
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    let row = |r: &QuickRow| {
        let word = match r.beside {
            Beside::CannotTell if r.ratio.is_some_and(|i| i.high.is_finite()) => "cannot tell",
            Beside::Less => "less",
            Beside::More => "more",
            Beside::Same | Beside::Nothing | Beside::CannotTell => "",
        };
        vec![r.name.clone(), total(r.total), r.ratio.map_or(String::new(), shares), word.to_owned()]
    };
    doc.optimum.iter().chain(&doc.policies).for_each(|r| out.push_words(row(r)));
    out
}

fn objects(doc: &QuickDoc) -> Table {
    let columns = ["of first touch", "of it remote", "from caches"].map(Column::number);
    let mut out = Table::new(std::iter::once(Column::words("Data", 20)).chain(columns).collect());
    doc.objects.iter().for_each(|o| {
        out.push_words(vec![clean(&o.name), shares(o.share), percent(o.remote), percent(o.transfer)]);
    });
    out
}

/// A sentence for each change, or one that says there is none; what is beyond the best placement, whose cost over that of first touch
/// this is; how many were not tried; what a change saves at least that is told, and what is worth a finding.
fn changed(
    (changes, untried): (&[ChangeEstimate], u64),
    best: Option<Interval>,
    (least, threshold): (f64, f64),
) -> Vec<String> {
    let sentence = |c: &ChangeEstimate| {
        let saving = match c.saving {
            Interval { low, high } if low <= 0.0 => format!("saves at most {}, if anything", percent(high)),
            Interval { low, high } => format!("saves {}", between(low, high)),
        };
        let places = if c.places.is_empty() { String::new() } else { format!(" [{}]", c.places.join(", ")) };
        clean(&format!("Change: {saving}: {}{places}", c.advice))
    };
    let none = || match best {
        Some(ratio) if !ratio.high.is_finite() => {
            "Changes: cannot tell, as the pages looked at cost nothing.".to_owned()
        }
        _ => {
            let hits = if least > threshold { ": less would not be noticed beside all that hits" } else { "" };
            let least = percent(least);
            format!(
                "Changes: none of who initialises, keeps or copies an object was found that may save {least}{hits}."
            )
        }
    };
    let more = (untried > 0).then(|| format!("Changes that may be worth it, too, and were not tried: {untried}."));
    let mut out: Vec<String> = changes.iter().map(sentence).collect();
    if changes.is_empty() {
        out.push(none());
    }
    let placing = best.map_or(f64::INFINITY, |ratio| 1.0 - ratio.low);
    let beyond: Vec<FindingKind> = changes.iter().filter(|c| c.saving.low > placing).map(|c| c.kind).collect();
    if !beyond.is_empty() {
        let saved = percent(placing.max(0.0));
        out.push(format!("With such changes {}: more than any placement saves (at most {saved}).", doing(&beyond)));
    }
    out.extend(more);
    out
}

fn shares(i: Interval) -> String {
    if i.high.is_finite() { between(i.low, i.high) } else { "cannot tell".to_owned() }
}

fn notes(doc: &QuickDoc) -> Vec<String> {
    let ranges = match doc.pages {
        None => {
            "Ranges: 95 % confidence. A block that few others are like may cost more; objects of few blocks may be missing."
        }
        Some(_) => {
            "Ranges: 95 % confidence, of what pages like those drawn cost, with caches a fifth smaller to a quarter larger. In no range: a few \
             pages that cost much by few references and were not drawn; objects of few pages may be missing."
        }
    };
    let mut out = vec![ranges.to_owned()];
    out.extend(unlike(doc.unlike, doc.refs).filter(|_| doc.verdict != Verdict::CannotTell));
    out.extend(doc.evidence.gaps.iter().map(|g| g.sentence.clone()));
    out.extend(doc.warnings.iter().cloned());
    let dataset = clean(&doc.provenance.dataset);
    // Where there is no first touch, there is nothing to save of.
    let has_base = doc.optimum.iter().any(|o| o.ratio.is_some());
    out.push(match (&doc.pages, &doc.changes) {
        (Some(_), None) => {
            let hint = if has_base { format!("homenode report {dataset} tries some changes; ") } else { String::new() };
            format!("Not looked at: {CHANGES}, false sharing, patterns. {hint}a recording without --sample tells all.")
        }
        (None, None) => {
            let hint = if has_base { "--changes tries some changes; " } else { "" };
            format!("Not looked at: {CHANGES}, false sharing, patterns. {hint}homenode report {dataset} tells all.")
        }
        (Some(_), Some(_)) => {
            "Not looked at: other layouts of lines (false sharing), patterns. A recording without --sample tells."
                .into()
        }
        (None, Some(_)) => {
            format!("Not looked at: other layouts of lines (false sharing), patterns. homenode report {dataset} tells.")
        }
    });
    out
}

/// What a first answer leaves out unless it is asked for.
const CHANGES: &str = "which changes of the program would save that";

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: FindingKind, low: f64, high: f64) -> ChangeEstimate {
        let (object, advice) = ("a".to_owned(), "Do it.".to_owned());
        ChangeEstimate { kind, object, places: vec!["a.c:1".to_owned()], advice, saving: Interval { low, high } }
    }

    #[test]
    fn changes_say_no_more_than_their_ranges() {
        let best = |low, high| Some(Interval { low, high });
        let said = |changes: &[ChangeEstimate], best| changed((changes, 0), best, (0.05, 0.05));
        let first = change(FindingKind::FirstTouch, 0.1, 0.2);
        assert_eq!(said(std::slice::from_ref(&first), best(0.7, 0.8)), ["Change: saves 10 % to 20 %: Do it. [a.c:1]"]);
        let beyond =
            "With such changes other threads initialise memory: more than any placement saves (at most 5.0 %).";
        assert_eq!(said(&[first], best(0.95, 0.98))[1], beyond);
        let perhaps = change(FindingKind::OwnersChange, -0.1, 0.2);
        assert_eq!(said(&[perhaps], best(0.95, 1.0)), ["Change: saves at most 20 %, if anything: Do it. [a.c:1]"]);
        assert_eq!(said(&[], best(0.0, f64::INFINITY)), ["Changes: cannot tell, as the pages looked at cost nothing."]);
        assert!(said(&[], best(0.9, 1.0))[0].ends_with("that may save 5.0 %."));
        assert_eq!(changed((&[], 3), best(0.9, 1.0), (0.05, 0.05)).len(), 2);
        let hits = changed((&[], 0), best(0.9, 1.0), (0.2, 0.05));
        assert!(hits[0].ends_with("that may save 20 %: less would not be noticed beside all that hits."), "{hits:?}");
    }
}
