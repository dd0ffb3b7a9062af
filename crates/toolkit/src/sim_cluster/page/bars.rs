//! Bars in rows of tables, as wide as there is room.
use super::super::doc::{Compared, RowDoc, SimClusterDoc};
use super::super::tables::{mean, phase_name};
use homenode_cluster::{InPhase, NAMED, Parameter, Server, TIMES};
use homenode_table::esc;

/// What the colours are.
pub(super) fn legend() -> String {
    let item = |name: &str| {
        format!(
            "<li><svg aria-hidden=\"true\"><rect class=\"{name}\" width=\"100%\" height=\"100%\"/></svg>{name}</li>"
        )
    };
    format!("<ul class=\"legend\">{}</ul>\n", TIMES.iter().map(|(name, _)| item(name)).collect::<String>())
}

/// A table with a bar at the end of each row, which is a class of the row, words, and the bar; so many columns at the left are words.
fn table(heading: &[&str], left: usize, rows: impl Iterator<Item = (&'static str, Vec<String>, String)>) -> String {
    let class = |at: usize| if at < left || at + 1 == heading.len() { " class=\"left\"" } else { "" };
    let head: String = heading.iter().enumerate().map(|(at, h)| format!("<th{}>{}</th>", class(at), esc(h))).collect();
    let row = |(row, cells, bar): (&str, Vec<String>, String)| {
        let cells: String =
            cells.iter().enumerate().map(|(at, c)| format!("<td{}>{}</td>", class(at), esc(c))).collect();
        format!("<tr class=\"{row}\">{cells}<td class=\"bar\">{bar}</td></tr>\n")
    };
    format!(
        "<div class=\"scroll\"><table class=\"bars\">\n<tr>{head}</tr>\n{}</table></div>\n",
        rows.map(row).collect::<String>()
    )
}

/// A picture for a cell; what it says to those who do not see it.
fn svg(label: &str, inside: &str) -> String {
    format!("<svg role=\"img\" aria-label=\"{}\">{inside}</svg>", esc(label))
}

/// A piece of a bar, from one percent of the width to another.
fn piece(class: &str, from: f64, wide: f64, title: &str) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{from:.2}%\" width=\"{wide:.2}%\" height=\"100%\"><title>{}</title></rect>",
        esc(title)
    )
}

fn class_of(r: &RowDoc) -> &'static str {
    match (&r.what_if, r.compared) {
        (_, Some(Compared::All)) => "all",
        (Some(_), _) => "changed",
        (None, _) => "plain",
    }
}

/// A bar of classes of time in their order, of all of the width that a row has.
fn stacked<const N: usize>(r: &RowDoc, cycles: [u64; N], wide: f64) -> String {
    let (mut at, mut inside, mut label) = (0.0, String::new(), Vec::new());
    for ((name, _), share) in TIMES.iter().zip(cycles.map(|c| r.share(c))).filter(|(_, share)| *share > 0.0) {
        let words = format!("{name} {share:.1} %");
        inside += &piece(name, at, share * wide, &words);
        at += share * wide;
        label.push(words);
    }
    svg(&label.join(", "), &inside)
}

/// Times of each phase, in parts of all the processors' time.
pub(super) fn phases(doc: &SimClusterDoc) -> String {
    let longest = doc.in_phases().map(|(r, p)| r.share(p.cycles())).fold(1e-9, f64::max);
    let row = |(r, p): (&RowDoc, &InPhase)| {
        let cells = vec![r.shape(), r.row.protocol.to_owned(), phase_name(p), format!("{:.1} %", r.share(p.cycles()))];
        ("", cells, stacked(r, p.classes(), 100.0 / longest))
    };
    table(&["nodes", "protocol", "phase", "of all time", "what processors do there"], 3, doc.in_phases().map(row))
}

/// Times of each row but those of single parameters of a machine that is compared with: as long as the run, the longest one all of the width.
pub(super) fn times(doc: &SimClusterDoc) -> String {
    let rows = || doc.rows.iter().filter(|r| r.compared != Some(Compared::One));
    let longest = rows().map(|r| r.row.cycles).max().unwrap_or(0).max(1) as f64;
    let bar = |r: &RowDoc| stacked(r, TIMES.map(|(_, of)| of(&r.row)), r.row.cycles as f64 / longest);
    let row = |r: &RowDoc| {
        let milliseconds = format!("{:.3}", doc.milliseconds(r));
        let what_if = doc.change(r).unwrap_or_default();
        let cells = vec![r.shape(), r.row.protocol.to_owned(), what_if, format!("{:.2}", r.speedup), milliseconds];
        (class_of(r), cells, bar(r))
    };
    table(&["nodes", "protocol", "what if", "speedup", "ms", "what processors do"], 3, rows().map(row))
}

/// What each change saves, the most first; what costs time goes to the left.
pub(super) fn tornado(doc: &SimClusterDoc) -> String {
    let saved = || doc.rows.iter().filter_map(|r| r.saves_percent);
    let (least, most) = (saved().fold(0.0, f64::min), saved().fold(0.0, f64::max));
    let wide = (most - least).max(1e-9);
    let zero = 100.0 * -least / wide;
    let bar = |saves: f64| {
        let long = 100.0 * saves.abs() / wide;
        let (class, from) = if saves < 0.0 { ("costs", zero - long) } else { ("saves", zero) };
        let label = format!("saves {saves:.1} %");
        let axis = format!("<line class=\"axis\" x1=\"{zero:.2}%\" x2=\"{zero:.2}%\" y1=\"0\" y2=\"100%\"/>");
        svg(&label, &(piece(class, from, long, &label) + &axis))
    };
    let of = |(plain, mut changed): (&RowDoc, Vec<&RowDoc>)| {
        changed.sort_by(|a, b| b.saves_percent.unwrap_or(0.0).total_cmp(&a.saves_percent.unwrap_or(0.0)));
        let row = |r: &&RowDoc| {
            let saves = r.saves_percent.unwrap_or(0.0);
            let class = if r.compared == Some(Compared::All) { "all" } else { "" };
            let cells = vec![doc.change(r).unwrap_or_default(), meaning(r), format!("{saves:.1} %")];
            (class, cells, bar(saves))
        };
        let table = table(&["what if", "which is", "saves", "costs time | saves time"], 2, changed.iter().map(row));
        format!("<h3>{} {}</h3>\n{table}", esc(&plain.shape()), esc(plain.row.protocol))
    };
    doc.beside().map(of).collect()
}

/// What is another one, in words.
fn meaning(r: &RowDoc) -> String {
    let Some(what) = r.what_if.as_deref().filter(|_| r.compared != Some(Compared::All)) else { return String::new() };
    let name = what.split('=').next().unwrap_or(what);
    let named = NAMED.iter().find(|n| n.0 == name).map(|n| n.1);
    Parameter::find(name).map(|p| p.summary).or(named).unwrap_or_default().to_owned()
}

/// How long the busiest server of each kind was at work.
pub(super) fn servers(doc: &SimClusterDoc) -> String {
    let of = |r: &RowDoc| {
        let row = |s: &Server| {
            let used = r.used(s).min(100.0);
            let label = format!("at work {used:.0} % of the run");
            let bar = svg(&label, &(piece("used", 0.0, used, &label) + &piece("unused", used, 100.0 - used, "idle")));
            let means = [s.waits.waited, s.waits.busy].map(|cycles| format!("{:.0}", mean(cycles, s)));
            let front = [r.shape(), r.row.protocol.to_owned(), s.name.to_owned(), s.waits.served.to_string()];
            ("", front.into_iter().chain(means).chain([format!("{used:.0} %")]).collect(), bar)
        };
        r.row.servers.iter().map(row).collect::<Vec<_>>()
    };
    let heading = [
        "nodes",
        "protocol",
        "servers",
        "served",
        "cycles in front",
        "in service",
        "busiest",
        "the busiest one at work",
    ];
    table(&heading, 3, doc.plain().flat_map(of))
}
