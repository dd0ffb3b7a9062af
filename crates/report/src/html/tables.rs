//! Tables of the page. Numbers are right-aligned, long names may break anywhere but in a `file:line`; rows that hardly cost
//! anything are folded.
use super::escape::{esc, name, prose};
use super::view;
use crate::compare::{first_touch, share};
use crate::headline::bound_name;
use crate::layout::{LayoutChange, LayoutDoc, LayoutSize};
use crate::sampling::{range, share_with_interval};
use crate::text::sorted;
use crate::traffic;
use crate::units::{CostUnit, bytes, count, factor, percent, ranges};
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{Finding, HeatRow, Interval, ObjectRow};

/// Rows shown of a long table; the JSON has all.
const ROWS: usize = 24;

/// Folded rows shown.
const FOLDED: usize = 200;
/// Rows below this part of the total are folded.
const NOISE: f64 = 0.001;

/// A cell: escaped text, whether it is a number, and the value that rows are sorted by if not the text.
pub(super) struct Cell {
    html: String,
    class: &'static str,
    key: Option<f64>,
}

impl Cell {
    pub(super) fn key(self, key: f64) -> Cell {
        Cell { key: Some(key), ..self }
    }
}

/// A row, and the name by which it can be linked to.
pub(super) struct Row {
    id: Option<String>,
    cells: Vec<Cell>,
}

/// Names of rows: of evaluation `i`, row `k` of a kind of table. Rows further down are not in the page.
pub(super) fn row_id(kind: &str, i: usize, k: usize) -> Option<String> {
    (k < ROWS + FOLDED).then(|| format!("{kind}-{i}-{k}"))
}

/// A cell of words.
pub(super) fn text(s: &str) -> Cell {
    Cell { html: esc(s), class: "", key: None }
}
/// A cell of code or a path.
pub(super) fn code(s: &str) -> Cell {
    Cell { html: if s.is_empty() { String::new() } else { name(s) }, class: "", key: None }
}
/// A number.
pub(super) fn num(s: &str) -> Cell {
    Cell { html: esc(s), class: "n", key: None }
}
/// A share with a bar.
pub(super) fn bar(value: f64) -> Cell {
    let width = (value.clamp(0.0, 1.0) * 1000.0).round() / 10.0;
    let drawing =
        format!("<svg class=\"inline-bar\" aria-hidden=\"true\"><rect width=\"{width}%\" height=\"100%\"/></svg>");
    Cell { html: format!("{}{drawing}", esc(&percent(value))), class: "n bar", key: Some(value) }
}
/// A cell with the range its value lies in, if that is an estimate.
fn within(cell: Cell, interval: Option<Interval>) -> Cell {
    let under = interval.map(|i| format!("<span class=\"under\">{}</span>", esc(&range(i))));
    Cell { html: cell.html + &under.unwrap_or_default(), ..cell }
}
fn raw(html: String) -> Cell {
    Cell { html, class: "", key: None }
}
/// A cost.
fn cost_cell(unit: &CostUnit, cost: TotalCost) -> Cell {
    num(&unit.cost(cost)).key(cost.as_f64())
}
/// Head of the column of what hits in last levels cost, which is in no other cost.
const HITS: (&str, bool) = ("Hits", true);
/// Adds that column, or its cell in a row, where hits have prices.
fn insert_hits<T>(cells: &mut Vec<T>, at: usize, hits: bool, cell: impl FnOnce() -> T) {
    if hits {
        cells.insert(at, cell());
    }
}
/// A count.
fn count_cell(n: u64) -> Cell {
    num(&count(n)).key(n as f64)
}
/// A share.
fn share_cell(share: f64) -> Cell {
    num(&percent(share)).key(share)
}

/// Changes of layout, and costs by page size.
pub(super) fn layout(l: &LayoutDoc) -> String {
    let unit = CostUnit::of(&l.unit);
    let change =
        |c: &LayoutChange| vec![code(&c.object), text(c.kind.name()), raw(prose(&c.advice)), cost_cell(&unit, c.worth)];
    let size = |s: &LayoutSize| {
        let saved = share(s.before.cost - s.after.cost, s.before.cost);
        let cells = [&s.before, &s.after].map(|p| [cost_cell(&unit, p.cost), code(&p.protocol)]);
        let ends = [num(&bytes(s.page_bytes)).key(s.page_bytes as f64), share_cell(saved)];
        let [first, last] = ends;
        [first].into_iter().chain(cells.into_iter().flatten()).chain([last]).collect()
    };
    let mut out = String::new();
    if !l.changes.is_empty() {
        let heads = [("object", false), ("change", false), ("what to do", false), ("worth", true)];
        out += &table("Changes of layout", &heads, l.changes.iter().map(change).collect());
        let heads = [
            ("pages", true),
            ("before", true),
            ("protocol", false),
            ("after", true),
            ("protocol", false),
            ("saved", true),
        ];
        out += &table("Cheapest protocol by page size", &heads, l.sizes.iter().map(size).collect());
    }
    out
}

/// A table in a scrolling frame; `heads` are (text, is a number).
pub(super) fn table(caption: &str, heads: &[(&str, bool)], rows: Vec<Vec<Cell>>) -> String {
    table_of(caption, heads, rows.into_iter().map(|cells| Row { id: None, cells }).collect())
}

fn table_of(caption: &str, heads: &[(&str, bool)], rows: Vec<Row>) -> String {
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
        out.push_str(&row.id.map_or("<tr>".to_owned(), |id| format!("<tr id=\"{}\" tabindex=\"-1\">", esc(&id))));
        for (i, cell) in row.cells.iter().enumerate() {
            let (tag, scope) = if i == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let class = if cell.class.is_empty() { String::new() } else { format!(" class=\"{}\"", cell.class) };
            let key = cell.key.filter(|k| k.is_finite()).map_or(String::new(), |k| format!(" data-k=\"{k}\""));
            out.push_str(&format!("<{tag}{scope}{class}{key}>{}</{tag}>", cell.html));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// A table of the rows that cost something, and folded below it those that do not; rows come with their shares.
fn costly(caption: &str, heads: &[(&str, bool)], rows: Vec<(Row, f64)>) -> String {
    let kept = rows.iter().take(ROWS).take_while(|(_, share)| *share >= NOISE).count().max(1).min(rows.len());
    let mut rows = rows;
    let noise = rows.split_off(kept);
    let mut out = table_of(caption, heads, rows.into_iter().map(|(row, _)| row).collect());
    if noise.is_empty() {
        return out;
    }
    let together: f64 = noise.iter().map(|(_, share)| share).sum();
    let what = if noise.len() == 1 { "row" } else { "rows" };
    let summary = format!("{} more {what}, together {}", count(noise.len() as u64), percent(together));
    let left = noise.len().saturating_sub(FOLDED);
    let shown = noise.into_iter().take(FOLDED).map(|(row, _)| row).collect();
    let inner = table_of(&format!("{caption}: the rest"), heads, shown);
    let note = match left {
        0 => String::new(),
        n => format!("<p class=\"note\">{} more are not shown; <code>--json</code> has all.</p>\n", count(n as u64)),
    };
    out.push_str(&format!("<details class=\"noise\"><summary>{}</summary>\n{inner}{note}</details>\n", esc(&summary)));
    out
}

/// Bounds and policies.
pub(super) fn policies(e: &Evaluation) -> String {
    let unit = CostUnit::of(&e.unit);
    let parts = view::parts(e);
    let mut heads = vec![("Policy or bound", false), ("Total", true), ("Ratio", true)];
    heads.extend(parts.iter().map(|(_, label, _)| (*label, true)));
    let waits = traffic::matters(e);
    heads.extend(waits.then_some(("Longer for bandwidth", true)));
    heads.extend([("Blocks moved", true), ("Copied", true)]);
    let cost = |c: TotalCost| num(&if c == TotalCost::ZERO { "–".to_owned() } else { unit.cost(c) }).key(c.as_f64());
    let some = |n: u64| num(&if n == 0 { "–".to_owned() } else { count(n) }).key(n as f64);
    let reference = e.optimum.first().map(|o| o.total);
    let mut rows = Vec::new();
    for o in &e.optimum {
        let name = bound_name(e, o, "a bound");
        let ratio = reference.map_or(f64::NAN, |r| o.total.ratio_to(r));
        let mut row = vec![
            named(&format!("<em>{}</em>", esc(&name)), &format!("{}{}", o.summary, over_orders(o.spread, &unit))),
            cost_cell(&unit, o.total),
            num(&factor(ratio)).key(ratio),
        ];
        row.extend(parts.iter().map(|(key, _, _)| if *key == "movement" { cost(o.movement) } else { num("") }));
        row.extend(waits.then(|| num("")));
        row.extend([some(o.moves), some(o.copies)]);
        rows.push(row);
    }
    for p in &e.policies {
        let summary = format!("{}{}", p.summary, over_orders(p.spread, &unit));
        let mut row =
            vec![named(&esc(&p.name), &summary), cost_cell(&unit, p.total), num(&factor(p.ratio)).key(p.ratio)];
        row.extend(parts.iter().map(|(_, _, part)| cost(part(p))));
        let longer = |part: f64| num(&percent(part)).key(part);
        row.extend(waits.then(|| traffic::longer(e, &p.name).map_or_else(|| num(""), longer)));
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
pub(super) fn objects(e: &Evaluation, i: usize) -> String {
    let unit = CostUnit::of(&e.unit);
    let total = first_touch(e).map_or(TotalCost::ZERO, |r| r.total);
    let hits = e.objects.iter().any(|o| o.hit_cost.is_some());
    let mut heads = vec![
        ("Object", false),
        ("Cost", true),
        ("Of total", true),
        ("Remote", true),
        ("At best home", true),
        ("Bytes", true),
        ("In words", false),
    ];
    insert_hits(&mut heads, 2, hits, || HITS);
    let row = |(k, o): (usize, &ObjectRow)| {
        let part = share(o.cost, total);
        let mut cells = vec![
            code(&o.name),
            cost_cell(&unit, o.cost),
            within(bar(part), o.share_interval),
            share_cell(share(o.remote_cost, o.cost)),
            cost_cell(&unit, o.best_static),
            num(&bytes(o.bytes)).key(o.bytes as f64),
            raw(prose(&object_words(e, o)) + &changes(e, i, |f| f.object == o.name)),
        ];
        insert_hits(&mut cells, 2, hits, || cost_cell(&unit, o.hit_cost.unwrap_or_default()));
        (Row { id: row_id("object", i, k), cells }, part)
    };
    let rows = e.objects.iter().enumerate().map(row).collect();
    costly(&with_unit("Data objects by cost under first touch", &unit), &heads, rows)
}

/// Links to the findings that this is about, with their worth.
fn changes(e: &Evaluation, i: usize, about: impl Fn(&Finding) -> bool) -> String {
    let link = |(k, f): (usize, &Finding)| {
        let worth = share_with_interval(f.saving_share, f.saving_interval);
        format!("<a class=\"change\" href=\"#finding-{i}-{k}\">{}</a>", prose(&format!("change worth {worth}")))
    };
    let links: Vec<String> = e.findings.iter().enumerate().filter(|(_, f)| about(f)).map(link).collect();
    if links.is_empty() { String::new() } else { format!(" {}", links.join(" ")) }
}

/// `allocated at F:L, first touched by thread 0, used by threads 0-7`.
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
    facts.join(", ")
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
pub(super) fn lines(e: &Evaluation, i: usize) -> String {
    let unit = CostUnit::of(&e.unit);
    let total = first_touch(e).map_or(TotalCost::ZERO, |r| r.total);
    let hits = e.lines.iter().any(|l| l.hit_cost.is_some());
    let mut heads = vec![
        ("Line", false),
        ("Function", false),
        ("Cost", true),
        ("Of total", true),
        ("Remote", true),
        ("References", true),
        ("Mostly on", false),
    ];
    insert_hits(&mut heads, 3, hits, || HITS);
    let row = |(k, l): (usize, &homenode_sim::evaluation::LineRow)| {
        let part = share(l.cost, total);
        let object = code(&l.object);
        let mut cells = vec![
            code(&l.place),
            code(&l.function),
            cost_cell(&unit, l.cost),
            bar(part),
            share_cell(share(l.remote_cost, l.cost)),
            count_cell(l.refs),
            Cell { html: object.html + &changes(e, i, |f| f.places.contains(&l.place)), ..raw(String::new()) },
        ];
        insert_hits(&mut cells, 3, hits, || cost_cell(&unit, l.hit_cost.unwrap_or_default()));
        (Row { id: row_id("line", i, k), cells }, part)
    };
    let rows = e.lines.iter().enumerate().map(row).collect();
    costly(&with_unit("Source lines by cost under first touch", &unit), &heads, rows)
}

/// Loops and regions of OpenMP.
pub(super) fn loops(e: &Evaluation, i: usize) -> String {
    let unit = CostUnit::of(&e.unit);
    let total = first_touch(e).map_or(TotalCost::ZERO, |r| r.total);
    let hits = e.loops.iter().any(|l| l.hit_cost.is_some());
    let mut heads = vec![
        ("Loop", false),
        ("Construct", false),
        ("Function", false),
        ("Cost", true),
        ("Of total", true),
        ("Remote", true),
        ("References", true),
    ];
    insert_hits(&mut heads, 4, hits, || HITS);
    let row = |(k, l): (usize, &homenode_sim::evaluation::LoopRow)| {
        let part = share(l.cost, total);
        let mut cells = vec![
            code(&l.place),
            code(&l.construct),
            code(&l.function),
            cost_cell(&unit, l.cost),
            bar(part),
            share_cell(share(l.remote_cost, l.cost)),
            count_cell(l.refs),
        ];
        insert_hits(&mut cells, 4, hits, || cost_cell(&unit, l.hit_cost.unwrap_or_default()));
        (Row { id: row_id("loop", i, k), cells }, part)
    };
    let rows = e.loops.iter().enumerate().map(row).collect();
    costly(&with_unit("Loops and regions by cost under first touch", &unit), &heads, rows)
}

/// The heat map in numbers: references by node for each run of bands of one object.
pub(super) fn heat(e: &Evaluation, i: usize) -> String {
    let nodes = view::nodes(e);
    let names: Vec<String> = (0..nodes).map(|n| format!("By node {n}")).collect();
    let mut heads = vec![("Object", false), ("From", true), ("Bytes", true), ("Home", true)];
    heads.extend(names.iter().map(|n| (n.as_str(), true)));
    let row = |(k, r): (usize, &HeatRow)| {
        let mut cells = vec![
            code(&r.object),
            num(&format!("{:#x}", r.addr)).key(r.addr as f64),
            num(&bytes(r.bytes)),
            num(&format!("node {}", r.home)),
        ];
        cells.extend((0..nodes).map(|n| {
            let refs = r.cells.iter().filter_map(|c| c.get(n)).fold(0u64, |a, b| a.saturating_add(*b));
            count_cell(refs)
        }));
        Row { id: row_id("band", i, k), cells }
    };
    table_of("References by address band and node", &heads, e.heat.rows.iter().enumerate().map(row).collect())
}

/// Thread binding.
pub(super) fn binding(e: &Evaluation) -> String {
    let heads = [("Thread", true), ("Processor", true), ("Node", true), ("References", true), ("Cost", true)];
    let unit = CostUnit::of(&e.unit);
    let row = |t: &homenode_sim::evaluation::ThreadRow| {
        let place = [t.thread.to_string(), t.cpu.to_string(), t.node.to_string(), count(t.refs), unit.cost(t.cost)];
        place.iter().map(|cell| num(cell)).collect()
    };
    table("Threads, processors and nodes", &heads, e.threads.iter().map(row).collect())
}
