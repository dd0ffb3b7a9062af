//! `homenode info` for people.
use super::table::{Paint, Table, clean, number, words, wrap};
use crate::info::InfoDoc;
use crate::units::{bytes, count, integer};

/// Rows of the thread table; 1,000 threads must not scroll the facts away.
const THREADS: usize = 16;
const WIDTH: usize = 100;

/// All facts, threads beyond the sixteenth and phases beyond the twelfth summed up in a line.
pub(crate) fn info(doc: &InfoDoc) -> String {
    let mut lines = facts(doc);
    lines.push(String::new());
    lines.extend(threads(doc));
    if !doc.phases.is_empty() {
        lines.push(String::new());
        let mut table = Table::new(vec![words("phase", 8), number("entered"), number("references")]);
        doc.phases.iter().take(12).for_each(|p| table.row(vec![p.name.clone(), integer(p.entered), integer(p.refs)]));
        lines.extend(table.render(WIDTH, Paint(false)));
        more(&mut lines, doc.phases.len(), 12, "phases");
    }
    for sentence in &doc.blind {
        lines.extend(wrap(&clean(&format!("Not seen: {sentence}")), WIDTH, 2));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn facts(doc: &InfoDoc) -> Vec<String> {
    let p = &doc.provenance;
    let state = match (p.complete, p.exit_status) {
        (false, _) => "did not end in order".to_owned(),
        (true, Some(0)) => "complete".to_owned(),
        (true, Some(n)) if n < 0 => format!("complete; the program was killed by signal {}", n.unsigned_abs()),
        (true, Some(n)) => format!("complete; the program ended with status {n}"),
        (true, None) => "complete; exit status unknown".to_owned(),
    };
    let per_ref = doc.bytes_per_ref.map_or(String::new(), |b| format!(", {b:.3} B/ref"));
    let rows = [
        ("dataset", format!("{} ({state})", p.dataset)),
        ("command", p.command.join(" ")),
        ("backend", format!("{}, clock {}", p.backend, p.clock)),
        ("host", format!("{} ({} processors)", p.host, p.host_cpus)),
        (
            "references",
            format!(
                "{} ({} read, {} write, {} atomic, {} spin)",
                integer(doc.ops.total()),
                count(doc.ops.read),
                count(doc.ops.write),
                count(doc.ops.atomic),
                count(doc.ops.spin)
            ),
        ),
        ("referenced", bytes(doc.bytes_referenced)),
        ("size", format!("{} in {} frames{per_ref}", bytes(doc.dataset_bytes), integer(doc.frames))),
        ("events", integer(p.events)),
        ("objects", format!("{}, used from {} code locations", integer(doc.objects), integer(doc.sites))),
    ];
    rows.iter().map(|(name, value)| format!("{name:<11} {}", clean(value))).collect()
}

fn threads(doc: &InfoDoc) -> Vec<String> {
    let heads = ["thread", "process", "tid", "parent", "reads", "writes", "atomics", "spins", "events"];
    let mut table = Table::new(heads.iter().map(|h| number(h)).collect());
    for t in doc.threads.iter().take(THREADS) {
        let parent = t.parent.map_or("–".to_owned(), |p| p.to_string());
        let mut row = vec![t.thread.to_string(), t.process.to_string(), t.tid.to_string(), parent];
        row.extend([t.ops.read, t.ops.write, t.ops.atomic, t.ops.spin, t.events].map(count));
        table.row(row);
    }
    let mut lines = table.render(WIDTH, Paint(false));
    more(&mut lines, doc.threads.len(), THREADS, "threads");
    lines
}

fn more(lines: &mut Vec<String>, have: usize, shown: usize, what: &str) {
    if have > shown {
        lines.push(format!("… and {} more {what} (--json lists all)", have - shown));
    }
}
