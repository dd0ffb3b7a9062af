//! Tables of the page. Numbers are right-aligned, long names may break anywhere.
use super::escape::{esc, prose};
use super::view;
use crate::compare::{first_touch, share};
use crate::headline::bound_name;
use crate::sampling::{range, share_with_interval};
use crate::text::sorted;
use crate::units::{CostUnit, bytes, count, factor, percent, ranges};
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{HeatRow, Interval, ObjectRow};

/// Rows shown of a long table; the JSON has all.
const ROWS: usize = 24;

/// A cell: escaped text, and whether it is a number.
pub(super) struct Cell {
    html: String,
    class: &'static str,
}

/// A cell of words.
pub(super) fn text(s: &str) -> Cell {
    Cell { html: esc(s), class: "" }
}
/// A cell of code or a path.
pub(super) fn code(s: &str) -> Cell {
    Cell { html: if s.is_empty() { String::new() } else { format!("<code>{}</code>", esc(s)) }, class: "" }
}
/// A number.
pub(super) fn num(s: &str) -> Cell {
    Cell { html: esc(s), class: "n" }
}
/// A share with a bar.
pub(super) fn bar(value: f64) -> Cell {
    let width = (value.clamp(0.0, 1.0) * 1000.0).round() / 10.0;
    let drawing =
        format!("<svg class=\"inline-bar\" aria-hidden=\"true\"><rect width=\"{width}%\" height=\"100%\"/></svg>");
    Cell { html: format!("{}{drawing}", esc(&percent(value))), class: "n bar" }
}
/// The same with the range it lies in, if it is an estimate.
fn within(cell: Cell, interval: Option<Interval>) -> Cell {
    let under = interval.map(|i| format!("<span class=\"under\">{}</span>", esc(&range(i))));
    Cell { html: cell.html + &under.unwrap_or_default(), ..cell }
}
fn raw(html: String) -> Cell {
    Cell { html, class: "" }
}

/// A table in a scrolling frame; `heads` are (text, is a number).
pub(super) fn table(caption: &str, heads: &[(&str, bool)], rows: Vec<Vec<Cell>>) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>\n<thead><tr>",
        esc(caption)
    );
    for (head, number) in heads {
        let class = if *number { " class=\"n\"" } else { "" };
        out.push_str(&format!("<th scope=\"col\"{class}>{}</th>", esc(head)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let (tag, scope) = if i == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let class = if cell.class.is_empty() { String::new() } else { format!(" class=\"{}\"", cell.class) };
            out.push_str(&format!("<{tag}{scope}{class}>{}</{tag}>", cell.html));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// "24 of 310 shown" or nothing.
pub(super) fn cut_note(have: usize, what: &str) -> String {
    if have <= ROWS {
        String::new()
    } else {
        format!("<p class=\"note\">{ROWS} of {have} {what} are shown; <code>--json</code> has all.</p>\n")
    }
}

/// Bounds and policies.
pub(super) fn policies(e: &Evaluation) -> String {
    let unit = CostUnit::of(&e.unit);
    let parts = view::parts(e);
    let mut heads = vec![("Policy or bound", false), ("Total", true), ("Ratio", true)];
    heads.extend(parts.iter().map(|(_, label, _)| (*label, true)));
    heads.extend([("Blocks moved", true), ("Copied", true)]);
    let cost = |c: TotalCost| num(&if c == TotalCost::ZERO { "–".to_owned() } else { unit.cost(c) });
    let some = |n: u64| num(&if n == 0 { "–".to_owned() } else { count(n) });
    let reference = e.optimum.first().map(|o| o.total);
    let mut rows = Vec::new();
    for o in &e.optimum {
        let name = bound_name(e, o, "a bound");
        let ratio = reference.map_or(f64::NAN, |r| o.total.ratio_to(r));
        let mut row = vec![
            named(&format!("<em>{}</em>", esc(&name)), &format!("{}{}", o.summary, over_orders(o.spread, &unit))),
            num(&unit.cost(o.total)),
            num(&factor(ratio)),
        ];
        row.extend(parts.iter().map(|(key, _, _)| if *key == "movement" { cost(o.movement) } else { num("") }));
        row.extend([some(o.moves), some(o.copies)]);
        rows.push(row);
    }
    for p in &e.policies {
        let summary = format!("{}{}", p.summary, over_orders(p.spread, &unit));
        let mut row = vec![named(&esc(&p.name), &summary), num(&unit.cost(p.total)), num(&factor(p.ratio))];
        row.extend(parts.iter().map(|(_, _, part)| cost(part(p))));
        row.extend([some(p.moves), some(p.copies)]);
        rows.push(row);
    }
    table(&with_unit("Cost of each policy beside the bounds", &unit), &heads, rows)
}

/// Totals on all merges, where there are several.
fn over_orders(spread: Option<(TotalCost, TotalCost)>, unit: &CostUnit) -> String {
    spread
        .map_or(String::new(), |(low, high)| format!("; {} to {} over seeded orders", unit.cost(low), unit.cost(high)))
}

/// A name with a line of explanation under it.
fn named(html: &str, summary: &str) -> Cell {
    raw(format!("{html}<span class=\"under\">{}</span>", esc(summary)))
}

fn with_unit(caption: &str, unit: &CostUnit) -> String {
    match unit {
        CostUnit::Time => caption.to_owned(),
        CostUnit::Quanta(name) => format!("{caption}, in {name}"),
    }
}

/// The six patterns.
pub(super) fn patterns(e: &Evaluation) -> String {
    let unit = CostUnit::of(&e.unit);
    let all_bytes = e.patterns.iter().map(|p| p.bytes as f64).sum::<f64>();
    let all_cost: TotalCost = e.patterns.iter().map(|p| p.cost).sum();
    let heads =
        [("Pattern", false), ("Bytes", true), ("Share", true), ("Cost", true), ("Share", true), ("Lines", true)];
    let row = |p: &homenode_sim::evaluation::PatternRow| {
        let of_bytes = if all_bytes > 0.0 { p.bytes as f64 / all_bytes } else { 0.0 };
        vec![
            text(&p.pattern),
            num(&bytes(p.bytes)),
            bar(of_bytes),
            num(&unit.cost(p.cost)),
            bar(share(p.cost, all_cost)),
            num(&count(p.units)),
        ]
    };
    table(&with_unit("Sharing patterns", &unit), &heads, e.patterns.iter().map(row).collect())
}

/// Objects with what happened to them and what to do, in words.
pub(super) fn objects(e: &Evaluation) -> String {
    let unit = CostUnit::of(&e.unit);
    let total = first_touch(e).map_or(TotalCost::ZERO, |r| r.total);
    let heads = [
        ("Object", false),
        ("Cost", true),
        ("Of total", true),
        ("Remote", true),
        ("At best home", true),
        ("Bytes", true),
        ("In words", false),
    ];
    let row = |o: &ObjectRow| {
        vec![
            code(&o.name),
            num(&unit.cost(o.cost)),
            within(bar(share(o.cost, total)), o.share_interval),
            num(&percent(share(o.remote_cost, o.cost))),
            num(&unit.cost(o.best_static)),
            num(&bytes(o.bytes)),
            raw(prose(&object_words(e, o))),
        ]
    };
    let rows = e.objects.iter().take(ROWS).map(row).collect();
    table(&with_unit("Data objects by cost under first touch", &unit), &heads, rows)
        + &cut_note(e.objects.len(), "objects")
}

/// `allocated at F:L, first touched by thread 0, used by threads 0-7: initialise in parallel; worth 38 % ...`.
fn object_words(e: &Evaluation, o: &ObjectRow) -> String {
    let mut facts = Vec::new();
    match (&o.place, o.kind.as_str()) {
        (Some(place), "global") => facts.push(format!("defined at {place}")),
        (Some(place), _) => facts.push(format!("allocated at {place}")),
        (None, kind) => facts.push(kind.to_owned()),
    }
    if o.instances > 1 {
        facts.push(format!("{} instances", count(o.instances)));
    }
    let first = if e.totals.sampled.is_some() { "first seen in use" } else { "first touched" };
    facts.push(format!("{first} by {}", threads(&sorted(o.first_touch.iter().map(|(t, _)| *t)))));
    facts.push(format!("used by {}", threads(&o.users)));
    facts.push(format!("mostly {}", o.pattern));
    let mut words = facts.join(", ");
    for f in e.findings.iter().filter(|f| f.object == o.name) {
        let advice = crate::headline::decapitalised(f.advice.trim().trim_end_matches('.'));
        words.push_str(&format!(
            ": {advice}; worth {} of memory cost on {}",
            share_with_interval(f.saving_share, f.saving_interval),
            e.machine
        ));
    }
    words
}

/// `thread 3`, `threads 0-7`, `no thread`.
pub(super) fn threads(ids: &[u32]) -> String {
    match ids {
        [] => "no thread".to_owned(),
        [one] => format!("thread {one}"),
        many => format!("threads {}", ranges(many)),
    }
}

/// Source lines.
pub(super) fn lines(e: &Evaluation) -> String {
    let unit = CostUnit::of(&e.unit);
    let total = first_touch(e).map_or(TotalCost::ZERO, |r| r.total);
    let heads = [
        ("Line", false),
        ("Function", false),
        ("Cost", true),
        ("Of total", true),
        ("Remote", true),
        ("References", true),
        ("Mostly on", false),
        ("Advice", false),
    ];
    let row = |l: &homenode_sim::evaluation::LineRow| {
        let advice = e.findings.iter().find(|f| f.object == l.object || f.places.contains(&l.place));
        vec![
            code(&l.place),
            code(&l.function),
            num(&unit.cost(l.cost)),
            bar(share(l.cost, total)),
            num(&percent(share(l.remote_cost, l.cost))),
            num(&count(l.refs)),
            code(&l.object),
            raw(advice.map_or(String::new(), |f| prose(&f.advice))),
        ]
    };
    let rows = e.lines.iter().take(ROWS).map(row).collect();
    table(&with_unit("Source lines by cost under first touch", &unit), &heads, rows) + &cut_note(e.lines.len(), "lines")
}

/// The heat map in numbers: references by node for each run of bands of one object.
pub(super) fn heat(e: &Evaluation) -> String {
    let nodes = view::nodes(e);
    let names: Vec<String> = (0..nodes).map(|n| format!("By node {n}")).collect();
    let mut heads = vec![("Object", false), ("From", true), ("Bytes", true), ("Home", true)];
    heads.extend(names.iter().map(|n| (n.as_str(), true)));
    let row = |r: &HeatRow| {
        let mut cells = vec![
            code(&r.object),
            num(&format!("{:#x}", r.addr)),
            num(&bytes(r.bytes)),
            num(&format!("node {}", r.home)),
        ];
        cells.extend((0..nodes).map(|n| {
            let refs = r.cells.iter().filter_map(|c| c.get(n)).fold(0u64, |a, b| a.saturating_add(*b));
            num(&count(refs))
        }));
        cells
    };
    table("References by address band and node", &heads, e.heat.rows.iter().map(row).collect())
}

/// Thread binding.
pub(super) fn binding(e: &Evaluation) -> String {
    let heads = [("Thread", true), ("Processor", true), ("Node", true), ("References", true)];
    let row = |t: &homenode_sim::evaluation::ThreadRow| {
        vec![num(&t.thread.to_string()), num(&t.cpu.to_string()), num(&t.node.to_string()), num(&count(t.refs))]
    };
    table("Threads, processors and nodes", &heads, e.threads.iter().map(row).collect())
}
