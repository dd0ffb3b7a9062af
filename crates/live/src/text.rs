//! The report for people.
use crate::doc::{ActDoc, LiveDoc, PlanOutcome, Regime};
use homenode_placement::live::RejectedCandidates;
use homenode_report::units::integer;
use homenode_table::{Column, Layout, Table};
use homenode_trace::SampleUnit;
use std::fmt::Write;

/// Writing to a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {{ let _ = writeln!($out, $($arg)*); }};
}

impl ActDoc {
    /// For people.
    pub fn to_text(&self) -> String {
        text(self)
    }
}

fn text(doc: &ActDoc) -> String {
    let mut out = String::new();
    doc.calls.iter().for_each(|c| line!(out, "{c}"));
    if !doc.ended.is_empty() {
        line!(out, "{} after {:.1} s", doc.ended, doc.seconds);
    }
    if let Some(live) = &doc.live {
        live_lines(&mut out, live);
    }
    if let Some(plan) = &doc.plan {
        plan_lines(&mut out, plan);
    }
    if !doc.regimes.is_empty() {
        regime_lines(&mut out, &doc.regimes);
    }
    if !doc.nodes.is_empty() {
        let mib = |b: u64| b as f64 / f64::from(1 << 20);
        let row = |n: &crate::doc::NodeBytes| {
            format!("node {} {:.1} -> {:.1}", n.node, mib(n.before_bytes), mib(n.after_bytes))
        };
        let rows: Vec<String> = doc.nodes.iter().map(row).collect();
        line!(out, "memory, MiB   {}", rows.join("; "));
    }
    doc.notes.iter().for_each(|n| line!(out, "note: {n}"));
    out
}

fn live_lines(out: &mut String, l: &LiveDoc) {
    let e = &l.evidence;
    line!(
        out,
        "evidence      {} samples of {} ({} unusable, {} lost)",
        integer(e.samples),
        e.event,
        integer(e.unusable),
        integer(e.lost)
    );
    line!(
        out,
        "moved         {} pages in {} moves by {}; calm for {} of {} windows",
        integer(l.moved_pages),
        integer(l.moves),
        l.policy,
        l.calm_windows,
        l.windows
    );
    for f in &l.matrix {
        line!(out, "              {} pages from node {} to node {}", integer(f.pages), f.from, f.to);
    }
    for r in &l.refused {
        line!(out, "refused       {} ({})", integer(r.pages), r.reason);
    }
    held_line(out, &l.held);
    after_lines(out, l);
}

fn held_line(out: &mut String, h: &RejectedCandidates) {
    let reasons = [
        (h.too_new, "too new"),
        (h.frozen, "frozen"),
        (h.gain, "gain too small"),
        (h.budget, "no time left"),
        (h.room, "no room"),
        (h.barred, "out of bounds"),
    ];
    let held: Vec<String> =
        reasons.iter().filter(|r| r.0 > 0).map(|(n, why)| format!("{} {why}", integer(*n))).collect();
    if !held.is_empty() {
        line!(out, "held back     {}", held.join(", "));
    }
}

fn after_lines(out: &mut String, l: &LiveDoc) {
    if l.moved_by_others + l.kernel_moves > 0 {
        line!(
            out,
            "by others     {} sampled pages; the kernel's balancing moved {} on the whole machine",
            integer(l.moved_by_others),
            integer(l.kernel_moves)
        );
    }
    let t = &l.time;
    line!(
        out,
        "time          deciding {:.1} ms ({:.2} % of a processor), moving {:.1} ms ({:.2} %)",
        t.deciding_ms,
        t.deciding_percent,
        t.moving_ms,
        t.moving_percent
    );
    local_line(out, l);
    let realised = l.gain.realised_per_window.map_or("unknown".to_owned(), amount);
    line!(
        out,
        "gain a window expected {} {}, realised {realised} {} ({})",
        amount(l.gain.expected_per_window),
        l.gain.unit,
        l.gain.unit,
        l.gain.basis
    );
}

/// Where the accesses went, or why that cannot be told.
fn local_line(out: &mut String, l: &LiveDoc) {
    let share = |s: Option<f64>| s.map_or("unknown".to_owned(), |s| format!("{:.1} %", s * 100.0));
    let of = &l.locality;
    match of.whole {
        Some(_) => line!(
            out,
            "local         {} of the accesses in all, {} before the first move, {} in the last {:.0} s",
            share(of.whole),
            share(of.before),
            share(of.after),
            of.after_seconds
        ),
        None if l.evidence.unit == SampleUnit::Window => {
            line!(out, "local         cannot tell: hinting faults show who uses a page, not how much")
        }
        None => line!(out, "local         cannot tell: no usable samples"),
    }
}

/// A cost with a readable number of digits.
fn amount(value: f64) -> String {
    if value.abs() >= 1e6 { format!("{value:.3e}") } else { format!("{value:.0}") }
}

/// Rows of a list before it is cut.
const ROWS: usize = 12;

fn plan_lines(out: &mut String, p: &PlanOutcome) {
    let way = if p.way == "from outside" { "from outside" } else { "by the preloaded library" };
    line!(out, "plan          {}: {} threads and ranges, carried out {}", p.file, integer(p.entries), way);
    if p.placed > 0 {
        line!(out, "placed        {} of them, {} bytes", integer(p.placed), integer(p.placed_bytes));
    }
    let bytes = |n: u64| if n > 0 { format!(", {} bytes", integer(n)) } else { String::new() };
    for s in p.scaled.iter().take(ROWS) {
        let (then, now) = (integer(s.planned_bytes), integer(s.came_bytes));
        line!(
            out,
            "by shares     `{}`: {} ranges, planned at {then} bytes, came with {now}",
            s.name,
            integer(s.ranges)
        );
    }
    for u in p.unplaced.iter().take(ROWS) {
        line!(out, "not placed    `{}` ({}{}): {}", u.name, integer(u.ranges), bytes(u.bytes), u.why);
    }
    for (what, n) in [("by shares", p.scaled.len()), ("not placed", p.unplaced.len())] {
        if n > ROWS {
            line!(out, "{what:13} and {} more (--json has all)", integer((n - ROWS) as u64));
        }
    }
    if p.nothing_placed {
        line!(out, "NOTHING OF THE PLAN COULD BE PLACED");
    }
    if p.moved_pages > 0 {
        line!(out, "moved         {} pages from outside", integer(p.moved_pages));
    }
    if p.pages_looked_at > 0 {
        line!(out, "in place      {} of {} pages looked at", integer(p.pages_right), integer(p.pages_looked_at));
    }
    p.library.iter().for_each(|l| line!(out, "library       {l}"));
}

fn regime_lines(out: &mut String, regimes: &[Regime]) {
    let number = |name, width| Column::number(name).wide(width);
    let mut table = Table::new(vec![
        Column::words("regime", 0).wide(12),
        number("seconds", 9),
        number("local", 8),
        number("mean cost", 12),
        number("moved", 12),
        number("by kernel", 12),
    ]);
    for r in regimes {
        let share = r.locality.map_or("?".to_owned(), |s| format!("{:.1} %", s * 100.0));
        let cost = r.mean_cost.map_or("?".to_owned(), amount);
        let (moved, by_kernel) = (integer(r.moved_pages), integer(r.kernel_moves));
        table.push_words([r.name.clone(), format!("{:.2}", r.seconds), share, cost, moved, by_kernel]);
    }
    let mut lines = table.lines(&Layout { gap: 1, ..Layout::default() }).into_iter();
    lines.next().iter().for_each(|head| line!(out, "{head}"));
    for (r, shown) in regimes.iter().zip(lines) {
        match (r.ran, r.note.as_str()) {
            (false, note) => line!(out, "{:12} not run: {note}", r.name),
            (true, "") => line!(out, "{shown}"),
            (true, note) => line!(out, "{shown}\n{:12} {note}", ""),
        }
    }
}
