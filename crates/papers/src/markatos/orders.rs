//! E6 and E7: which protocol is ahead of which, and from what page size on.
use super::costs::{Costs, Printed, View, dearest};
use super::printed::CELLS;
use super::variant::{INV, INV_DEL, PAGES, PROTOCOLS, UPT, UPT_DEL};
use super::{CLAIMS, texts};
use homenode_judging::Found;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;

/// Protocols that the tables have.
const PRINTED: [usize; 4] = [UPT, INV, UPT_DEL, INV_DEL];
/// Part by which exact sums must differ for an order to count; ours.
const APART: f64 = 0.10;

/// What the claims on one program are called: on orders, on orders of realigned data, on crossings.
const IDS: [(&str, [&str; 3]); 4] = [
    ("FFT", ["order-fft", "order-fft-realigned", "crossing-fft"]),
    ("SIMPLE", ["order-simple", "order-simple-realigned", "crossing-simple"]),
    ("WEATHER", ["order-weather", "order-weather-realigned", "crossing-weather"]),
    ("SPEECH", ["order-speech", "order-speech-realigned", "crossing-speech"]),
];

/// Pairs of protocols.
fn pairs() -> impl Iterator<Item = [usize; 2]> {
    (0..PRINTED.len()).flat_map(|a| (a + 1..PRINTED.len()).map(move |b| [PRINTED[a], PRINTED[b]]))
}

fn named(pair: [usize; 2]) -> String {
    format!("{} and {}", PROTOCOLS[pair[0]], PROTOCOLS[pair[1]])
}

/// The greater of both over the less.
fn apart(costs: [f64; 2]) -> f64 {
    costs[0].max(costs[1]) / costs[0].min(costs[1]) - 1.0
}

/// Orders of one program: kept, of so many, and rows on those that are not.
fn kept(
    app: &'static str,
    realigned: bool,
    printed: &Printed<'_>,
    ours: &View<'_>,
) -> (usize, usize, Vec<Vec<String>>) {
    let (mut kept, mut all, mut lost) = (0, 0, Vec::new());
    for page in PAGES {
        for pair in pairs() {
            let both = |costs: &dyn Costs| {
                let each = pair.map(|role| costs.cost(app, realigned, role, page));
                each[0].zip(each[1]).map(|(a, b)| [a, b])
            };
            let Some((theirs, mine)) = both(printed).filter(|c| apart(*c) >= APART).zip(both(ours)) else { continue };
            all += 1;
            if (theirs[0] - theirs[1]) * (mine[0] - mine[1]) > 0.0 {
                kept += 1;
            } else {
                lost.push(lost_row((app, realigned, page, pair), theirs, mine, printed, ours));
            }
        }
    }
    (kept, all, lost)
}

fn lost_row(
    (app, realigned, page, pair): (&'static str, bool, u64, [usize; 2]),
    theirs: [f64; 2],
    mine: [f64; 2],
    printed: &Printed<'_>,
    ours: &View<'_>,
) -> Vec<String> {
    let cause = cause(app, realigned, page, pair, printed, ours);
    let name = if realigned { format!("{app} re-aligned") } else { app.to_owned() };
    let cost = |c: f64| format!("{c:.2}");
    let [a, b] = pair.map(|role| PROTOCOLS[role].to_owned());
    vec![name, page.to_string(), a, b, cost(theirs[0]), cost(theirs[1]), cost(mine[0]), cost(mine[1]), cause]
}

/// Which column of which of both is farthest from the printed one, in cycles a reference.
fn cause(app: &str, realigned: bool, page: u64, pair: [usize; 2], printed: &Printed<'_>, ours: &View<'_>) -> String {
    let far = |role: usize| {
        let mine = ours.cells(app, realigned, role, page).ok()?;
        let row = printed.row(app, realigned, role, page)?;
        let theirs = row.exact_cells(printed.prices, role);
        let (column, by) = dearest(&mine, &theirs);
        Some((
            by.abs(),
            format!("{} of {}: {:.1} here, {:.1} there", CELLS[column], PROTOCOLS[role], mine[column], theirs[column]),
        ))
    };
    let most = pair.into_iter().filter_map(far).max_by(|a, b| a.0.total_cmp(&b.0));
    most.map_or_else(String::new, |m| m.1)
}

/// E6: every pair of protocols that exact sums separate keeps its order in our programs.
pub(super) fn orders(printed: &Printed<'_>, ours: &View<'_>) -> Found {
    let (mut judged, mut rows) = (Vec::new(), Vec::new());
    for (id, app, realigned) in IDS.iter().flat_map(|(app, ids)| [(ids[0], *app, false), (ids[1], *app, true)]) {
        let (kept, all, lost) = kept(app, realigned, printed, ours);
        let measures = Measures::default().value("orders lost", (all - kept) as f64).value("orders", all as f64);
        let why = match lost.first() {
            None => "all keep their order".to_owned(),
            Some(_) => format!("lost: {}", lost.iter().map(|l| why_lost(l)).collect::<Vec<_>>().join("; ")),
        };
        judged.push(CLAIMS.ruled(id, format!("{kept} of {all}"), &measures, &why));
        rows.extend(lost);
    }
    Found { tables: vec![lost_table(rows)], judged, ..Found::default() }
}

fn why_lost(row: &[String]) -> String {
    format!("{} B {} and {} ({})", row[1], row[2], row[3], row[8])
}

fn lost_table(mut rows: Vec<Vec<String>>) -> Table {
    let columns = [
        "program",
        "page",
        "one",
        "other",
        "one, printed",
        "other, printed",
        "one, ours",
        "other, ours",
        "farthest off, cycles a reference",
    ];
    if rows.is_empty() {
        rows.push(columns.map(|_| "-".to_owned()).to_vec());
    }
    Table {
        title: format!(
            "pairs that exact sums of the printed tables set apart by {:.0} % or more and whose order is another here (cost over local)",
            100.0 * APART
        ),
        columns: texts(&columns),
        rows,
    }
}

/// Where one protocol overtakes the other: the places in [`PAGES`] between which the sign of their difference changes.
/// Differences below `least` count as unknown.
fn crossings(costs: &dyn Costs, app: &str, pair: [usize; 2], least: f64) -> Option<(Vec<(usize, usize)>, bool)> {
    let mut found = Vec::new();
    let mut last: Option<(usize, bool)> = None;
    for (i, page) in PAGES.into_iter().enumerate() {
        let each = pair.map(|role| costs.cost(app, false, role, page));
        let Some(both) = each[0].zip(each[1]).map(|(a, b)| [a, b]) else { continue };
        if apart(both) < least {
            continue;
        }
        let ahead = both[0] < both[1];
        if let Some((before, was)) = last
            && was != ahead
        {
            found.push((before, i));
        }
        last = Some((i, ahead));
    }
    last.map(|l| (found, l.1))
}

fn place((from, to): (usize, usize)) -> String {
    format!("{} to {}", PAGES[from], PAGES[to])
}

fn places(all: &[(usize, usize)]) -> String {
    if all.is_empty() { "never".into() } else { all.iter().map(|c| place(*c)).collect::<Vec<_>>().join(", ") }
}

/// Whether ours cross where theirs do, within a step, and end with the same one ahead.
fn alike(theirs: &(Vec<(usize, usize)>, bool), ours: &(Vec<(usize, usize)>, bool)) -> bool {
    let near = |(t, o): (&(usize, usize), &(usize, usize))| o.1 + 1 > t.0 && o.0 < t.1 + 1;
    theirs.1 == ours.1 && theirs.0.len() == ours.0.len() && theirs.0.iter().zip(&ours.0).all(near)
}

/// E7: page sizes at which one protocol overtakes another.
pub(super) fn crossing(printed: &Printed<'_>, ours: &View<'_>) -> Found {
    let (mut judged, mut rows) = (Vec::new(), Vec::new());
    for (app, [.., id]) in IDS {
        let (mut same, mut all, mut other) = (0, 0, Vec::new());
        for pair in pairs() {
            let Some(theirs) = crossings(printed, app, pair, APART) else { continue };
            let Some(mine) = crossings(&OnPrintedPages(printed, ours), app, pair, APART) else { continue };
            let fits = alike(&theirs, &mine);
            (same, all) = (same + usize::from(fits), all + 1);
            let row = [named(pair), places(&theirs.0), places(&mine.0)];
            if !fits {
                let page = PAGES[theirs.0.iter().chain(&mine.0).map(|c| c.0).min().unwrap_or(0)];
                let cause = cause(app, false, page, pair, printed, ours);
                other.push(format!("{}: there {}, here {}; at {page} B {cause}", row[0], row[1], row[2]));
            }
            let verdict = if fits { "same" } else { "another" };
            rows.push([app.to_owned()].into_iter().chain(row).chain([verdict.to_owned()]).collect());
        }
        let measures =
            Measures::default().value("pairs that cross elsewhere", (all - same) as f64).value("pairs", all as f64);
        let why = if other.is_empty() { "all cross where theirs do".into() } else { other.join("; ") };
        judged.push(CLAIMS.ruled(id, format!("{same} of {all}"), &measures, &why));
    }
    let table = Table {
        title: "page sizes in bytes between which one protocol overtakes the other; where they are within 10 % of each other, neither is ahead".into(),
        columns: texts(&["program", "protocols", "printed", "ours", "within a step"]),
        rows,
    };
    Found { tables: vec![table], judged, ..Found::default() }
}

/// Ours where the paper has a row.
struct OnPrintedPages<'a>(&'a Printed<'a>, &'a View<'a>);

impl Costs for OnPrintedPages<'_> {
    fn cost(&self, app: &str, realigned: bool, role: usize, page_bytes: u64) -> Option<f64> {
        self.0.row(app, realigned, role, page_bytes).and_then(|_| self.1.cost(app, realigned, role, page_bytes))
    }
    fn all_remote(&self, app: &str) -> Option<f64> {
        self.1.all_remote(app)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_agree_within_a_step() {
        let crosses = |at: &[(usize, usize)], ahead| (at.to_vec(), ahead);
        let theirs = crosses(&[(1, 2)], true);
        for (from, fits) in [(0, true), (1, true), (2, true), (3, false)] {
            assert_eq!(alike(&theirs, &crosses(&[(from, from + 1)], true)), fits, "{from}");
        }
        assert!(!alike(&theirs, &crosses(&[(1, 2)], false)));
        assert!(!alike(&theirs, &crosses(&[], true)));
        assert!(alike(&crosses(&[], true), &crosses(&[], true)));
    }
}
