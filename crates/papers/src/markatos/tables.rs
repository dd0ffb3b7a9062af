//! E2 to E4: cards of the programs, tables 2 to 9 cell by cell, and figures 1 to 8.
use super::costs::{APPS, Costs, Printed, View, writes};
use super::printed::{CELLS, Row};
use super::variant::{PAGES, PROTOCOLS};
use super::{CLAIMS, texts};
use homenode_command::Failure;
use homenode_judging::Found;
use homenode_judging::doc::Table;
use homenode_judging::figure::Figure;
use homenode_judging::rules::Measures;
use homenode_study::analyses::Series;

/// What the paper tells of a program.
struct Card {
    app: &'static str,
    /// References in millions, all and shared; the latter follow from the tables.
    millions: [f64; 2],
    /// Why something misses.
    why: &'static str,
}

const CARDS: [Card; 4] = [
    Card { app: "FFT", millions: [7.44, 1.0469], why: "" },
    Card { app: "SIMPLE", millions: [27.03, 5.5], why: "" },
    Card { app: "WEATHER", millions: [31.76, 5.0163], why: "" },
    Card { app: "SPEECH", millions: [11.77, 11.763], why: "" },
];

/// Part by which a number may miss without a word.
const MISS: f64 = 0.15;

/// E2: a card for each program.
pub(super) fn cards(size: &str, ours: &View<'_>) -> Found {
    let (mut rows, mut far) = (Vec::new(), 0);
    for card in &CARDS {
        let Some(counted) = ours.program(card.app).map(|p| p.counted) else { continue };
        let millions = [counted.all, counted.shared].map(|n| n as f64 / 1e6);
        let write = counted.writes as f64 / counted.shared.max(1) as f64;
        let [share, theirs] = [millions, card.millions].map(|m| m[1] / m[0]);
        let printed = writes(card.app).unwrap_or(f64::NAN);
        let length = if size == "P" { miss(millions[0], card.millions[0]) } else { None };
        let misses = [("length", length), ("shared share", miss(share, theirs)), ("write share", miss(write, printed))];
        let missed: Vec<String> =
            misses.iter().filter_map(|(what, m)| Some(format!("{what} {:+.0} %", 100.0 * (*m)?))).collect();
        far += missed.len();
        let note = if missed.is_empty() { "-".to_owned() } else { format!("{}: {}", missed.join(", "), card.why) };
        rows.push(vec![
            card.app.to_owned(),
            format!("{} / {:.2}", card.millions[0], millions[0]),
            format!("{:.3} / {share:.3}", theirs),
            format!("{printed:.3} / {write:.3}"),
            note,
        ]);
    }
    let table = Table {
        title: format!(
            "cards of the programs: stand-ins, of which orders count and digits do not; paper / ours at size {size}. Shares of writes \
             of the paper are least ones but for FFT's; a miss is more than {:.0} %",
            100.0 * MISS
        ),
        columns: texts(&["program", "million references", "shared among them", "writes among shared", "misses"]),
        rows,
    };
    let measures = Measures::default().value("misses", far as f64);
    let judged = CLAIMS.ruled("cards", format!("{far} misses"), &measures, "lengths are compared at size P alone");
    Found { tables: vec![table], judged: vec![judged], ..Found::default() }
}

/// By which part ours misses, if it is worth a word.
fn miss(ours: f64, theirs: f64) -> Option<f64> {
    let off = ours / theirs - 1.0;
    (off.abs() > MISS).then_some(off)
}

/// E3: tables 2 to 9 beside ours, and the optimum.
pub(super) fn original(printed: &Printed<'_>, ours: &View<'_>) -> Result<Found, Failure> {
    let mut found = Found::default();
    for number in 2..=9 {
        found.tables.extend(table(number, printed.rows, ours)?);
    }
    found.tables.push(optimum(false, ours));
    for (number, app) in FIGURES.into_iter().flat_map(|(plain, counted, app)| [(plain, app), (counted, app)]) {
        found.figures.push(figure(number, app, printed, ours));
    }
    found.figures.sort_by_key(|f| f.name.clone());
    Ok(found)
}

/// Numbers of the figures with realigned data, and their program.
const REALIGNED: [(u32, &str); 4] = [(9, "FFT"), (10, "SPEECH"), (11, "SIMPLE"), (12, "WEATHER")];

/// E4: tables 10 to 13 and figures 9 to 12, with what the text says of them.
pub(super) fn realigned(printed: &Printed<'_>, ours: &View<'_>) -> Result<Found, Failure> {
    let mut found = Found { judged: super::open::of_realigned(ours), ..Found::default() };
    for number in 10..=13 {
        found.tables.extend(table(number, printed.rows, ours)?);
    }
    found.tables.push(optimum(true, ours));
    let all: Vec<usize> = (0..PROTOCOLS.len()).collect();
    for (number, app) in REALIGNED {
        let title = format!("Figure {number}: {app} re-aligned");
        found.figures.push(drawn(format!("E4-figure-{number}"), title, (app, true), &all, printed, ours));
    }
    Ok(found)
}

/// A table of the paper beside ours: `printed / ours` in every cell.
fn table(number: u32, rows: &[Row], ours: &View<'_>) -> Result<Option<Table>, Failure> {
    let mine: Vec<&Row> = rows.iter().filter(|r| r.table == number).collect();
    let Some(first) = mine.first() else { return Ok(None) };
    let mut lines = Vec::new();
    for row in &mine {
        let role = PROTOCOLS.iter().position(|p| *p == row.policy).unwrap_or(0);
        let cells = ours.cells(row.app, row.realigned, role, row.page_bytes)?;
        let mut line = vec![format!("{} {}", row.policy, row.page_bytes)];
        line.extend(row.cells.iter().zip(cells).map(|(p, o)| format!("{p} / {}", short(o))));
        let cost = ours.cost(row.app, row.realigned, role, row.page_bytes).unwrap_or(f64::NAN);
        line.push(format!("{} / {}", short(row.exact), short(cost)));
        lines.push(line);
    }
    let columns = std::iter::once("protocol, page").chain(CELLS).chain(["cost over local, exact"]);
    Ok(Some(Table {
        title: format!("table {number}, {}: printed / ours; cycles, then packets a shared reference", first.app),
        columns: columns.map(str::to_owned).collect(),
        rows: lines,
    }))
}

/// With so many digits that pages stay readable.
fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// Every protocol over the exact optimum.
pub(super) fn optimum(realigned: bool, ours: &View<'_>) -> Table {
    let mut rows = Vec::new();
    for (app, page) in APPS.into_iter().flat_map(|app| PAGES.map(|page| (app, page))) {
        let Some(least) = ours.optimum(app, realigned, page) else { continue };
        let over = |role: usize| ours.cost(app, realigned, role, page).map_or(String::new(), |c| short(c / least));
        let line = [format!("{app} {page}"), short(least)].into_iter();
        rows.push(line.chain((0..PROTOCOLS.len()).map(over)).collect());
    }
    let columns = ["program, page", "optimum"].into_iter().chain(PROTOCOLS);
    Table {
        title: "the exact optimum over local, and each protocol over the optimum".into(),
        columns: columns.map(str::to_owned).collect(),
        rows,
    }
}

/// Numbers of the figures without and with counters, and their program: figures and tables do not go in one order.
const FIGURES: [(u32, u32, &str); 4] = [(1, 5, "FFT"), (2, 7, "SIMPLE"), (3, 6, "SPEECH"), (4, 8, "WEATHER")];

fn figure(number: u32, app: &'static str, printed: &Printed<'_>, ours: &View<'_>) -> Figure {
    let roles: &[usize] = if number <= 4 { &[0, 1, 2] } else { &[0, 1, 3, 4, 5] };
    let what = if number <= 4 { "without counters" } else { "with and without counters" };
    drawn(format!("E3-figure-{number}"), format!("Figure {number}: {app} {what}"), (app, false), roles, printed, ours)
}

/// Lines of ours, of the printed rows, the optimum, all local, all remote.
pub(super) fn drawn(
    name: String,
    title: String,
    (app, realigned): (&str, bool),
    roles: &[usize],
    printed: &Printed<'_>,
    ours: &View<'_>,
) -> Figure {
    let line = |label: String, of: &dyn Fn(u64) -> Option<f64>| {
        let points = PAGES.iter().filter_map(|page| Some((*page as f64, of(*page)?))).collect();
        Series { label, points }
    };
    let mut lines: Vec<Series> = Vec::new();
    for role in roles {
        lines.push(line(PROTOCOLS[*role].to_owned(), &|page| ours.cost(app, realigned, *role, page)));
    }
    for role in roles.iter().filter(|r| printed.cost(app, realigned, **r, 4096).is_some()) {
        let label = format!("{}, paper", PROTOCOLS[*role]);
        lines.push(line(label, &|page| printed.cost(app, realigned, *role, page)));
    }
    lines.push(line("optimum".into(), &|page| ours.optimum(app, realigned, page)));
    lines.push(line("all remote".into(), &|_| ours.all_remote(app)));
    lines.push(line("all local".into(), &|_| Some(1.0)));
    Figure {
        name,
        title,
        axes: ["page size (bytes)", "mean cost of a shared reference (local references)"],
        log: true,
        lines,
        ranges: Vec::new(),
    }
}
