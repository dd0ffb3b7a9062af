//! Results of several recordings as one: median and range of every number, and verdicts on which they disagree.
use super::claims::Judged;
use super::{Bars, Figure, Found};
use crate::doc::{Table, Verdict};
use homenode_study::analyses::Series;

/// One result of several, in which tables, figures and verdicts stand in the same order.
pub fn merged(mut all: Vec<Found>) -> Found {
    let rest = all.split_off(1);
    let Some(mut first) = all.pop() else { return Found::default() };
    let others = || rest.iter();
    for (i, table) in first.tables.iter_mut().enumerate() {
        merge_table(table, &others().filter_map(|r| r.tables.get(i)).collect::<Vec<_>>());
    }
    for (i, figure) in first.figures.iter_mut().enumerate() {
        merge_figure(figure, &others().filter_map(|r| r.figures.get(i)).collect::<Vec<_>>());
    }
    for (i, bars) in first.bars.iter_mut().enumerate() {
        merge_bars(bars, &others().filter_map(|r| r.bars.get(i)).collect::<Vec<_>>());
    }
    for judged in &mut first.judged {
        let same = |r: &&'_ Found| r.judged.iter().position(|j| j.id == judged.id);
        let found: Vec<&Judged> = others().filter_map(|r| same(&r).map(|i| &r.judged[i])).collect();
        merge_judged(judged, &found);
    }
    for (i, note) in first.notes.iter_mut().enumerate() {
        *note = text(&with(note, others().filter_map(|r| r.notes.get(i))));
    }
    first
}

fn with<'a>(first: &'a str, others: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    std::iter::once(first).chain(others.map(String::as_str)).collect()
}

fn merge_table(table: &mut Table, others: &[&Table]) {
    for (r, row) in table.rows.iter_mut().enumerate() {
        for (c, cell) in row.iter_mut().enumerate() {
            *cell = text(&with(cell, others.iter().filter_map(|t| t.rows.get(r)?.get(c))));
        }
    }
}

/// Medians and ranges of points over the same values; where lines do not lie over the same ones, those of the first recording.
fn merge_figure(figure: &mut Figure, others: &[&Figure]) {
    figure.ranges.clear();
    for (i, line) in figure.lines.iter_mut().enumerate() {
        let same = |other: &&Series| {
            let alike = |(a, b): (&(f64, f64), &(f64, f64))| a.0 == b.0;
            other.points.len() == line.points.len() && other.points.iter().zip(&line.points).all(alike)
        };
        let found: Vec<Series> = others.iter().filter_map(|f| f.lines.get(i)).filter(same).cloned().collect();
        let mut spread = Vec::new();
        for (p, point) in line.points.iter_mut().enumerate() {
            let each = || std::iter::once(point.1).chain(found.iter().map(|s| s.points[p].1));
            spread.push(ends(each()));
            point.1 = median(each());
        }
        figure.ranges.push(spread);
    }
}

fn merge_bars(bars: &mut Bars, others: &[&Bars]) {
    bars.ranges.clear();
    for (name, values) in &mut bars.groups {
        let found: Vec<&Vec<f64>> =
            others.iter().filter_map(|b| b.groups.iter().find(|g| g.0 == *name)).map(|g| &g.1).collect();
        let mut spread = Vec::new();
        for (i, value) in values.iter_mut().enumerate() {
            let each = || std::iter::once(*value).chain(found.iter().filter_map(|f| f.get(i).copied()));
            spread.push(ends(each()));
            *value = median(each());
        }
        bars.ranges.push(spread);
    }
}

fn merge_judged(first: &mut Judged, others: &[&Judged]) {
    let verdicts: Vec<Verdict> = std::iter::once(first.verdict).chain(others.iter().map(|j| j.verdict)).collect();
    first.ours = text(&with(&first.ours, others.iter().map(|j| &j.ours)));
    first.why = text(&with(&first.why, others.iter().map(|j| &j.why)));
    if verdicts.iter().any(|v| *v != first.verdict) {
        let words: Vec<&str> = verdicts.iter().map(|v| v.words()).collect();
        first.verdict = Verdict::Unsettled;
        first.why = format!("recordings disagree ({}); {}", words.join(", "), first.why);
    }
    for other in others {
        first.turns = [0, 1].map(|i| first.turns[i] || other.turns[i]);
    }
}

/// The least and the greatest.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
}

/// The middle one, the mean of the two middle ones of an even number; not a number if one is not.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    if all.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    all.sort_by(f64::total_cmp);
    let (low, high) = ((all.len() - 1) / 2, all.len() / 2);
    if low == high { all[low] } else { f64::midpoint(all[low], all[high]) }
}

/// Texts that are the same but for their numbers, as one with "median (least to greatest)" where numbers differ; other
/// texts one after the other, each once.
pub fn text(all: &[&str]) -> String {
    let Some((first, rest)) = all.split_first() else { return String::new() };
    if rest.iter().all(|other| other == first) {
        return (*first).to_owned();
    }
    let pieces: Vec<Vec<&str>> = all.iter().map(|t| pieces(t)).collect();
    let alike = |p: &Vec<&str>| {
        let same = |(a, b): (&&str, &&str)| a == b || (number(a).is_some() && number(b).is_some());
        p.len() == pieces[0].len() && p.iter().zip(&pieces[0]).all(same)
    };
    if !pieces.iter().all(alike) {
        let mut each: Vec<&str> = Vec::new();
        all.iter().for_each(|t| {
            if !each.contains(t) {
                each.push(t)
            }
        });
        return each.join(" / ");
    }
    (0..pieces[0].len()).map(|i| piece(pieces.iter().map(|p| p[i]).collect())).collect()
}

fn number(piece: &str) -> Option<f64> {
    piece.parse().ok().filter(|x: &f64| x.is_finite())
}

/// One piece of all texts.
fn piece(mut each: Vec<&str>) -> String {
    if each.iter().all(|p| *p == each[0]) {
        return each[0].to_owned();
    }
    each.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
    format!("{} ({} to {})", each[each.len() / 2], each[0], each[each.len() - 1])
}

/// Numbers, and what stands between them.
fn pieces(text: &str) -> Vec<&str> {
    let digit = |c: char| c.is_ascii_digit();
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(digit) {
        let word_before = rest[..begin].chars().next_back().is_some_and(|c| c.is_alphanumeric());
        let sign = if !word_before && rest[..begin].ends_with('-') { begin - 1 } else { begin };
        let after = &rest[begin..];
        let mut length = after.find(|c: char| !digit(c) && c != '.').unwrap_or(after.len());
        length = after[..length].trim_end_matches('.').len();
        // An exponent, as in 1.0e-5.
        if let Some(power) = after[length..].strip_prefix("e-") {
            length += 2 + power.find(|c: char| !digit(c)).unwrap_or(power.len());
        }
        found.extend([&rest[..sign], &rest[sign..begin + length]]);
        rest = &rest[begin + length..];
    }
    found.push(rest);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_become_median_and_range() {
        assert_eq!(text(&["4.5", "4.5", "4.5"]), "4.5");
        assert_eq!(text(&["4.7", "4.2", "4.5"]), "4.5 (4.2 to 4.7)");
        assert_eq!(text(&["-3 points", "2 points", "-1 points"]), "-1 (-3 to 2) points");
        assert_eq!(text(&["p-qsort 8.91 of 2", "p-qsort 8.7 of 2", "p-qsort 9 of 2"]), "p-qsort 8.91 (8.7 to 9) of 2");
        assert_eq!(text(&["1.0e-5", "0.001", "0"]), "1.0e-5 (0 to 0.001)");
        assert_eq!(text(&["CC 5.", "CC 6.", "CC 7."]), "CC 6 (5 to 7).");
    }

    #[test]
    fn other_texts_stand_beside_each_other() {
        assert_eq!(text(&["none", "gauss", "none"]), "none / gauss");
        assert_eq!(text(&["2: a, b", "1: a", "2: a, b"]), "2: a, b / 1: a");
    }

    #[test]
    fn recordings_that_disagree_settle_nothing() {
        let result = |agrees: bool, cost: &str| Found {
            tables: vec![Table { title: "t".into(), columns: vec!["c".into()], rows: vec![vec![cost.into()]] }],
            judged: vec![Judged::by("one", cost, agrees, "why"), Judged::by("two", "", true, "why")],
            ..Found::default()
        };
        let found = merged(vec![result(true, "1"), result(false, "3"), result(true, "2")]);
        assert_eq!(found.tables[0].rows[0][0], "2 (1 to 3)");
        assert_eq!((found.judged[0].verdict, found.judged[1].verdict), (Verdict::Unsettled, Verdict::Agrees));
        assert_eq!(found.judged[0].ours, "2 (1 to 3)");
        assert!(found.judged[0].why.contains("agrees, differs, agrees"), "{}", found.judged[0].why);
    }

    #[test]
    fn figures_take_medians_where_they_lie_over_the_same_values() {
        let figure = |points: &[(f64, f64)]| Found {
            figures: vec![Figure {
                name: "f".into(),
                title: "f".into(),
                axes: ["x", "y"],
                log: false,
                lines: vec![Series { label: "l".into(), points: points.to_vec() }],
                ..Figure::default()
            }],
            ..Found::default()
        };
        let of = |all: Vec<Found>| merged(all).figures[0].lines[0].points.clone();
        let alike = vec![figure(&[(1.0, 5.0)]), figure(&[(1.0, 2.0)]), figure(&[(1.0, 3.0)])];
        assert_eq!(merged(alike).figures[0].ranges, [[(2.0, 5.0)]]);
        let alike = vec![figure(&[(1.0, 5.0)]), figure(&[(1.0, 2.0)]), figure(&[(1.0, 3.0)])];
        assert_eq!(of(alike), [(1.0, 3.0)]);
        assert_eq!(of(vec![figure(&[(1.0, 5.0)]), figure(&[(2.0, 2.0)]), figure(&[(3.0, 3.0)])]), [(1.0, 5.0)]);
    }
}
