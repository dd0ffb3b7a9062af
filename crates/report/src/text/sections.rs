//! The blocks of the screen: each a heading and rows, the long ones cut to what fits.
use super::terminal::{Paint, cut_end, render, wrap};
use crate::compare::{first_touch, share};
use crate::doc::ReportDoc;
use crate::headline::{best_placement, bound_name, named};
use crate::layout::LayoutVerdict;
use crate::sampling::{range, share_with_interval};
use crate::traffic;
use crate::units::{CostUnit, bytes, count, factor, hits, misses, percent, plural, ranges};
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{PatternRow, PolicyRow};
use homenode_table::{Column, Table, clean};

/// Characters of the longest bar.
const BAR: usize = 14;
/// Bars shorter than this say nothing and are left out.
const BAR_LEAST: usize = 6;
/// Lines that warnings and blind spots may take.
const NOTE_LINES: usize = 5;
/// Lines that what decides trust may take, one more if there is more.
const TRUST_LINES: usize = 4;
/// Policies in the table.
const POLICIES: usize = 10;
/// Bounds in the table.
const BOUNDS: usize = 4;
/// Changes of layout that are spelt out.
const LAYOUT_CHANGES: usize = 3;
/// Column of what hits in last levels cost beside the cost, where they have prices.
const HITS: &str = "hits";
/// Findings named in the heading after the first.
const FURTHER: usize = 3;

/// One line on what was recorded and for which machine; the command is last, for it may be cut.
pub(super) fn subject(doc: &ReportDoc) -> String {
    let p = &doc.provenance;
    let machine = doc.evaluations.first();
    let machine = machine.map_or(String::new(), |e| {
        let unit = CostUnit::of(&e.unit).meaning().map_or(String::new(), |m| format!(" (unit of cost: {m})"));
        format!(" · {}{unit} · {} blocks", e.machine, bytes(e.block_bytes))
    });
    let refs = format!("{}, {} references", plural(p.threads, "thread", "threads"), count(p.refs));
    clean(&format!("{}{machine} · {refs} · {}", p.dataset, p.command.join(" ")))
}

/// The findings after the first, one line each.
pub(super) fn further_findings(e: &Evaluation, width: usize) -> Vec<String> {
    let rest = e.findings.iter().skip(1);
    let mut lines: Vec<String> = rest
        .clone()
        .take(FURTHER)
        .enumerate()
        .map(|(k, f)| {
            let before = e.findings[..=k].iter().find(|g| crate::headline::same_advice(g, f));
            let advice = match before {
                Some(first) => format!("as for `{}`", first.object),
                None => crate::headline::decapitalised(f.advice.trim().trim_end_matches('.')),
            };
            cut_end(
                &clean(&format!(
                    "  also {}, worth {}: {advice}",
                    named(f, &e.objects),
                    share_with_interval(f.saving_share, f.saving_interval)
                )),
                width,
            )
        })
        .collect();
    match rest.count().saturating_sub(FURTHER) {
        0 => {}
        n => lines.push(format!("  and {n} more with --json or -o report.html")),
    }
    lines
}

/// What decides whether to trust the finding, below it: the first sentences.
pub(super) fn trust(doc: &ReportDoc, sentences: &[String], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let all: Vec<&String> = doc.warnings.iter().chain(sentences).collect();
    for (i, sentence) in all.iter().enumerate() {
        let wrapped = wrap(&clean(&format!("! {sentence}")), width, 2);
        if lines.len() + wrapped.len() > TRUST_LINES {
            lines.push(format!("! {} with --json or -o report.html", plural((all.len() - i) as u64, "more", "more")));
            break;
        }
        lines.extend(wrapped);
    }
    lines
}

/// Bounds first, then policies, with their parts and, where there is room, a bar.
pub(super) fn policies(e: &Evaluation, width: usize, paint: Paint) -> Vec<String> {
    let plain = render(&policies_table(e, 0), width, Paint(false));
    let widest = plain.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let bar = width.saturating_sub(widest + 2).min(BAR);
    let mut lines = render(&policies_table(e, if bar < BAR_LEAST { 0 } else { bar }), width, paint);
    lines.extend(misses(&e.totals).map(|words| paint.dim(&cut_end(&words, width))));
    lines.extend(hits(&e.totals, &CostUnit::of(&e.unit)).map(|words| paint.dim(&cut_end(&words, width))));
    let beside = traffic::sentence(e).filter(|_| traffic::short(e).is_none());
    lines.extend(beside.iter().flat_map(|words| wrap(&clean(words), width, 0)).map(|l| paint.dim(&l)));
    lines.extend(over_orders(e).map(|words| paint.dim(&cut_end(&words, width))));
    if e.policies.len() > POLICIES {
        lines.push(paint.dim(&format!("{} more with --json or -o report.html", e.policies.len() - POLICIES)));
    }
    lines
}

/// How much totals differ over the merges, where there are several.
fn over_orders(e: &Evaluation) -> Option<String> {
    let spreads = e.policies.iter().map(|p| p.spread).chain(e.optimum.iter().map(|o| o.spread));
    let widest = |s: Option<(TotalCost, TotalCost)>| s.map(|(low, high)| share(high - low, low));
    let most = spreads.filter_map(widest).reduce(f64::max)?;
    Some(if most > 0.0 {
        format!("over 3 seeded orders no total above differs by more than {}", percent(most))
    } else {
        "over 3 seeded orders every total above is the same".to_owned()
    })
}

fn policies_table(e: &Evaluation, bar_width: usize) -> Table {
    let unit = CostUnit::of(&e.unit);
    let parts = cost_parts(e);
    let largest = e.policies.iter().map(|p| p.total).max().unwrap_or(TotalCost::ZERO);
    let mut columns = vec![Column::words("Policies and bounds", 14), Column::number("total"), Column::number("ratio")];
    columns.extend(parts.iter().map(|(name, _)| Column::number(*name)));
    let waits = traffic::matters(e);
    if waits {
        columns.push(Column::number("bandwidth"));
    }
    if bar_width > 0 {
        columns.push(Column::words("", bar_width));
    }
    let mut table = Table::new(columns);
    let reference = e.optimum.first().map(|o| o.total);
    for o in e.optimum.iter().take(BOUNDS) {
        let ratio = reference.map_or(f64::NAN, |r| o.total.ratio_to(r));
        let name = bound_name(e, o, "bound");
        let mut cells = vec![name, unit.cost(o.total), factor(ratio)];
        let moves = some_percent(share(o.movement, o.total));
        cells.extend(parts.iter().map(|(name, _)| if *name == "moves" { moves.clone() } else { String::new() }));
        cells.extend(waits.then(String::new));
        cells.push(bar(share(o.total, largest), bar_width));
        table.push_words(cells);
    }
    for p in e.policies.iter().take(POLICIES) {
        let mut cells = vec![p.name.clone(), unit.cost(p.total), factor(p.ratio)];
        cells.extend(parts.iter().map(|(_, part)| some_percent(share(part(p), p.total))));
        cells.extend(waits.then(|| longer(e, &p.name)));
        cells.push(bar(share(p.total, largest), bar_width));
        table.push_words(cells);
    }
    table
}

/// By how much a policy takes longer for want of bandwidth; empty where that was not looked at.
fn longer(e: &Evaluation, policy: &str) -> String {
    traffic::longer(e, policy).map_or(String::new(), |part| match part {
        0.0 => "–".to_owned(),
        part => format!("+{}", percent(part)),
    })
}

/// Per cent, with a dash for nothing at all.
fn some_percent(share: f64) -> String {
    if share == 0.0 { "–".to_owned() } else { percent(share) }
}

type Part = fn(&PolicyRow) -> TotalCost;

/// The parts of a total that are not zero everywhere.
fn cost_parts(e: &Evaluation) -> Vec<(&'static str, Part)> {
    let all: [(&str, Part); 5] = [
        ("local", |p| p.local),
        ("remote", |p| p.remote),
        ("global", |p| p.global),
        ("moves", |p| p.movement),
        ("transfers", |p| p.transfer),
    ];
    all.into_iter().filter(|(_, part)| e.policies.iter().any(|p| part(p) != TotalCost::ZERO)).collect()
}

fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

/// Another layout of data: what can be said, what to change, and what it would be worth by page size.
pub(super) fn layout(doc: &ReportDoc, width: usize, paint: Paint) -> Vec<String> {
    let Some(l) = &doc.layout else { return Vec::new() };
    let unit = CostUnit::of(&l.unit);
    let mut lines = wrap(&clean(&l.sentence), width, 0);
    for c in l.changes.iter().take(LAYOUT_CHANGES) {
        let words = format!("  {} (worth {})", c.advice.trim_end_matches('.'), unit.cost(c.worth));
        lines.extend(wrap(&clean(&words), width, 4));
    }
    if l.changes.len() > LAYOUT_CHANGES {
        lines.push(format!("  and {} more with --json or -o report.html", l.changes.len() - LAYOUT_CHANGES));
    }
    if l.verdict != LayoutVerdict::Advice {
        return lines;
    }
    let head = ["before", "after"].map(|when| [Column::number(when), Column::words("protocol", 8)]);
    let columns = [Column::words("Pages", 8)].into_iter().chain(head.into_iter().flatten());
    let mut table = Table::new(columns.chain([Column::number("saved")]).collect());
    for s in &l.sizes {
        let costs = [&s.before, &s.after].map(|p| [unit.cost(p.cost), p.protocol.clone()]);
        let saved = percent(share(s.before.cost - s.after.cost, s.before.cost));
        table.push_words([bytes(s.page_bytes)].into_iter().chain(costs.into_iter().flatten()).chain([saved]));
    }
    lines.extend(render(&table, width, paint));
    lines
}

/// One line for each evaluation after the first.
pub(super) fn other_evaluations(doc: &ReportDoc, width: usize, paint: Paint) -> Vec<String> {
    let others = doc.evaluations.get(1..).unwrap_or_default();
    if others.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::words("Also evaluated", 14),
        Column::number("blocks"),
        Column::number("first touch"),
        Column::number("best"),
        Column::number("ratio"),
        Column::number("findings"),
    ];
    let mut table = Table::new(columns);
    for e in others.iter().take(4) {
        let unit = CostUnit::of(&e.unit);
        let (base, best) = (first_touch(e), best_placement(e));
        let ratio = base.zip(best).map_or(f64::NAN, |(a, b)| a.total.ratio_to(b.total));
        table.push_words(vec![
            e.machine.clone(),
            bytes(e.block_bytes),
            base.map_or(String::new(), |r| unit.cost(r.total)),
            best.map_or(String::new(), |r| unit.cost(r.total)),
            factor(ratio),
            e.findings.len().to_string(),
        ]);
    }
    render(&table, width, paint)
}

/// A table that may be cut, with the rows it has, and wants at most and at least.
pub(super) struct Flexible<'a> {
    table: fn(&Evaluation, usize) -> Table,
    evaluation: &'a Evaluation,
    have: usize,
    most: usize,
    least: usize,
}

/// The tables that share what is left of the screen, the most useful first.
pub(super) fn tables(e: &Evaluation) -> Vec<Flexible<'_>> {
    let flexible = |table, have, most, least| Flexible { table, evaluation: e, have, most, least };
    let all = [
        flexible(objects, e.objects.len(), 6, 2),
        flexible(lines, e.lines.len(), 5, 2),
        flexible(loops, e.loops.len(), 5, 1),
        flexible(false_sharing, e.false_sharing.len(), 3, 1),
    ];
    all.into_iter().filter(|f| f.have > 0).collect()
}

/// Renders the tables in at most `spare` lines, each followed by an empty line: rows go first, then whole tables, whose
/// room the others take.
pub(super) fn fit(mut tables: Vec<Flexible<'_>>, spare: usize, width: usize, paint: Paint) -> Vec<Vec<String>> {
    let height = |rows: &[usize]| rows.iter().map(|r| r + 2).sum::<usize>();
    let mut rows: Vec<usize> = tables.iter().map(|t| t.have.min(t.most)).collect();
    while height(&rows) > spare {
        let shrinkable = (0..rows.len()).filter(|i| rows[*i] > tables[*i].least);
        match shrinkable.max_by_key(|i| rows[*i]) {
            Some(i) => rows[i] -= 1,
            None => {
                tables.pop();
                rows.pop();
            }
        }
    }
    for (i, table) in tables.iter().enumerate() {
        let most = table.have.min(table.most);
        rows[i] += (spare - height(&rows)).min(most - rows[i]);
    }
    tables.iter().zip(rows).map(|(t, n)| render(&(t.table)(t.evaluation, n), width, paint)).collect()
}

fn head_of(name: &str, shown: usize, have: usize) -> String {
    if shown < have { format!("{name} ({shown} of {have})") } else { name.to_owned() }
}

fn total(e: &Evaluation) -> TotalCost {
    first_touch(e).map_or(TotalCost::ZERO, |r| r.total)
}

fn objects(e: &Evaluation, rows: usize) -> Table {
    let unit = CostUnit::of(&e.unit);
    let head = head_of("Objects", rows, e.objects.len());
    let sampled = e.totals.sampled.is_some();
    let mut columns = vec![Column::words(head, 20), Column::number("cost"), Column::number("share")];
    columns.extend(sampled.then(|| Column::number("95 % range")));
    let hits = e.objects.iter().any(|o| o.hit_cost.is_some());
    columns.extend(hits.then(|| Column::number(HITS)));
    columns.extend([
        Column::number("remote"),
        Column::number("best home"),
        Column::words("used by", 7),
        Column::words(if sampled { "first seen" } else { "first touch by" }, 5),
        Column::words("pattern", 8),
    ]);
    let mut table = Table::new(columns);
    for o in e.objects.iter().take(rows) {
        let firsts: Vec<u32> = sorted(o.first_touch.iter().map(|(t, _)| *t));
        let place = with_place(&o.name, o.place.as_deref());
        let mut row = vec![place, unit.cost(o.cost), percent(share(o.cost, total(e)))];
        row.extend(sampled.then(|| o.share_interval.map_or(String::new(), range)));
        row.extend(hits.then(|| o.hit_cost.map_or(String::new(), |c| unit.cost(c))));
        row.extend([percent(share(o.remote_cost, o.cost)), unit.cost(o.best_static)]);
        row.extend([ranges(&o.users), ranges(&firsts), o.pattern.clone()]);
        table.push_words(row);
    }
    table
}

pub(crate) fn sorted(ids: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut ids: Vec<u32> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn with_place(name: &str, place: Option<&str>) -> String {
    match place {
        Some(p) if !name.contains(p) => format!("{name} ({p})"),
        _ => name.to_owned(),
    }
}

fn lines(e: &Evaluation, rows: usize) -> Table {
    let unit = CostUnit::of(&e.unit);
    let head = head_of("Lines", rows, e.lines.len());
    let hits = e.lines.iter().any(|l| l.hit_cost.is_some());
    let mut columns = vec![
        Column::words(head, 20),
        Column::words("function", 8),
        Column::number("refs"),
        Column::number("cost"),
        Column::number("share"),
    ];
    columns.extend(hits.then(|| Column::number(HITS)));
    columns.extend([Column::number("remote"), Column::words("mostly on", 8)]);
    let mut table = Table::new(columns);
    for l in e.lines.iter().take(rows) {
        let mut row = vec![l.place.clone(), l.function.clone(), count(l.refs), unit.cost(l.cost)];
        row.push(percent(share(l.cost, total(e))));
        row.extend(hits.then(|| l.hit_cost.map_or(String::new(), |c| unit.cost(c))));
        row.extend([percent(share(l.remote_cost, l.cost)), l.object.clone()]);
        table.push_words(row);
    }
    table
}

/// Of OpenMP; what a region does outside of its loops is its own.
fn loops(e: &Evaluation, rows: usize) -> Table {
    let unit = CostUnit::of(&e.unit);
    let columns = vec![
        Column::words(head_of("Loops", rows, e.loops.len()), 20),
        Column::words("construct", 12),
        Column::number("refs"),
        Column::number("cost"),
        Column::number("share"),
        Column::number("remote"),
    ];
    let mut table = Table::new(columns);
    for l in e.loops.iter().take(rows) {
        table.push_words(vec![
            l.place.clone(),
            l.construct.clone(),
            count(l.refs),
            unit.cost(l.cost),
            percent(share(l.cost, total(e))),
            percent(share(l.remote_cost, l.cost)),
        ]);
    }
    table
}

fn false_sharing(e: &Evaluation, rows: usize) -> Table {
    let unit = CostUnit::of(&e.unit);
    let head = head_of("False sharing", rows, e.false_sharing.len());
    let columns = vec![
        Column::words(head, 16),
        Column::number("transfers"),
        Column::number("cost"),
        Column::number("words"),
        Column::words("threads", 7),
        Column::words("written at", 12),
    ];
    let mut table = Table::new(columns);
    for f in e.false_sharing.iter().take(rows) {
        let threads = sorted(f.words.iter().flat_map(|w| w.threads.iter().copied()));
        let site = f.words.iter().filter(|w| w.writes > 0).find_map(|w| w.sites.first()).cloned().unwrap_or_default();
        let sign = if f.offset < 0 { "−" } else { "+" };
        table.push_words(vec![
            format!("{} {sign}{}", f.object, f.offset.unsigned_abs()),
            count(f.transfers),
            unit.cost(f.cost),
            f.words.len().to_string(),
            ranges(&threads),
            site,
        ]);
    }
    table
}

/// The patterns side by side if they fit, else one below the other.
pub(super) fn patterns(e: &Evaluation, width: usize, paint: Paint) -> Vec<String> {
    let all_bytes = e.patterns.iter().map(|p| p.bytes as f64).sum::<f64>();
    let all_cost: TotalCost = e.patterns.iter().map(|p| p.cost).sum();
    let of_bytes = |p: &PatternRow| some_percent(if all_bytes > 0.0 { p.bytes as f64 / all_bytes } else { 0.0 });
    let of_cost = |p: &PatternRow| some_percent(share(p.cost, all_cost));
    if e.patterns.iter().all(|p| p.units == 0) {
        return Vec::new();
    }
    let mut columns = vec![Column::words("Sharing patterns", 16)];
    columns.extend(e.patterns.iter().map(|p| Column::number(p.pattern.clone())));
    let mut flat = Table::new(columns);
    let row = |name: &str, cell: &dyn Fn(&PatternRow) -> String| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(e.patterns.iter().map(cell)).collect()
    };
    flat.push_words(row("share of bytes", &of_bytes));
    flat.push_words(row("share of cost", &of_cost));
    if flat.fits(width) {
        return render(&flat, width, paint);
    }
    let mut dearest: Vec<&PatternRow> = e.patterns.iter().filter(|p| p.units > 0).collect();
    dearest.sort_by_key(|p| std::cmp::Reverse(p.cost));
    let head = head_of("Sharing patterns", dearest.len().min(3), dearest.len());
    let mut tall = Table::new(vec![Column::words(head, 16), Column::number("of bytes"), Column::number("of cost")]);
    dearest.iter().take(3).for_each(|p| tall.push_words(vec![p.pattern.clone(), of_bytes(p), of_cost(p)]));
    render(&tall, width, paint)
}

/// Warnings and what the recording could not see.
pub(super) fn notes(doc: &ReportDoc, e: &Evaluation, width: usize, paint: Paint) -> Vec<String> {
    let warnings = e.warnings.iter().map(|w| format!("! {w}"));
    let unseen = doc.sampling.iter().flat_map(|s| &s.unseen);
    let blind = unseen.chain(&doc.blind).map(|b| format!("Not seen: {b}"));
    let mut lines: Vec<String> = Vec::new();
    let mut hidden = 0u64;
    for note in warnings.chain(blind) {
        let wrapped = wrap(&clean(&note), width, 2);
        if hidden > 0 || lines.len() + wrapped.len() > NOTE_LINES {
            hidden += 1;
        } else {
            lines.extend(wrapped.iter().map(|l| paint.dim(l)));
        }
    }
    if hidden > 0 {
        lines.push(paint.dim(&format!("{} with --json or -o report.html", plural(hidden, "more note", "more notes"))));
    }
    lines
}
