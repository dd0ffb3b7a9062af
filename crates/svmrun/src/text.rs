//! The report for people.
use crate::doc::{Counted, NodeDoc, PlannedDoc, SvmDoc};
use homenode_table::{Column, Layout, Table, clean};
use std::fmt::Write;

impl SvmDoc {
    /// For people: a line, and a table of the nodes.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{} nodes of {} threads, {} over {}: status {} after {:.2} s",
            self.nodes.len(),
            self.threads_per_node,
            self.with_options(),
            self.transport,
            self.exit_status,
            self.seconds
        );
        out += &times(&self.nodes).text(&Layout::default());
        out += &counts(&self.nodes).text(&Layout::default());
        self.planned.iter().for_each(|p| planned(p, self, &mut out));
        self.notes.iter().for_each(|note| {
            let _ = writeln!(out, "note: {note}");
        });
        out
    }
}

/// Rows of a list before it is cut.
const ROWS: usize = 8;

/// What came of the plan.
fn planned(p: &PlannedDoc, doc: &SvmDoc, out: &mut String) {
    let pages = doc.heap_used_bytes / doc.page_bytes.max(1);
    let mut line = |text: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{text}");
    };
    line(format!(
        "homes by {}: {} of its {} allocations found, {} pages ({} bytes) placed; {} other pages of shared memory by first touch",
        clean(&p.file),
        p.met,
        p.objects,
        p.placed_pages,
        p.placed_bytes,
        pages.saturating_sub(p.placed_pages)
    ));
    if p.own > 0 {
        line(format!("  {} variables and stacks of the plan are each node's own", p.own));
    }
    for r in p.resized.iter().take(ROWS) {
        let (name, planned, came) = (clean(&r.name), r.planned_bytes, r.came_bytes);
        line(format!("  `{name}`: {came} bytes instead of {planned}; its parts kept their shares"));
    }
    for u in p.unmet.iter().take(ROWS) {
        line(format!("  not found: `{}`, {} bytes in {} ranges: {}", clean(&u.name), u.bytes, u.ranges, clean(&u.why)));
    }
    for more in [p.resized.len(), p.unmet.len()].into_iter().filter_map(|n| n.checked_sub(ROWS)).filter(|n| *n > 0) {
        line(format!("  and {more} more"));
    }
}

/// Seconds a thread, by what for.
fn times(nodes: &[NodeDoc]) -> Table {
    let names =
        ["thread", "node", "compute", "data", "lock", "barrier", "serving", "other", "read faults", "write faults"];
    let mut table = Table::new(names.map(Column::number).into());
    for node in nodes {
        for t in &node.threads {
            let seconds = [
                t.compute_seconds,
                t.data_seconds,
                t.lock_seconds,
                t.barrier_seconds,
                t.serving_seconds,
                t.other_seconds,
            ];
            let front = [t.thread.to_string(), node.node.to_string()];
            let back = [t.read_faults.to_string(), t.write_faults.to_string()];
            table.push_words(front.into_iter().chain(seconds.map(|s| format!("{s:.3}"))).chain(back));
        }
    }
    table
}

/// Counters a node, those that are not 0 everywhere.
fn counts(nodes: &[NodeDoc]) -> Table {
    let host = |n: &NodeDoc| n.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
    let names = nodes.iter().map(|n| Column::number(format!("node {}{}", n.node, host(n))));
    let mut table = Table::new([Column::words("", 0)].into_iter().chain(names).collect());
    let all: Vec<Vec<(String, u64)>> = nodes.iter().map(rows).collect();
    let Some(first) = all.first() else { return table };
    for (row, (what, _)) in first.iter().enumerate() {
        if all.iter().any(|node| node[row].1 > 0) {
            table.push_words([what.clone()].into_iter().chain(all.iter().map(|node| node[row].1.to_string())));
        }
    }
    table
}

fn rows(node: &NodeDoc) -> Vec<(String, u64)> {
    let counted = |c: &Counted| (c.what.to_owned(), c.times);
    let interrupts = node.interrupts.iter().map(|c| (format!("interrupts: {}", c.what), c.times));
    let messages = node
        .messages
        .iter()
        .flat_map(|m| [(format!("{}: messages", m.kind), m.messages), (format!("{}: bytes", m.kind), m.bytes)]);
    let signals = [("signals received".to_owned(), node.signals)];
    node.counts.iter().map(counted).chain(interrupts).chain(signals).chain(messages).collect()
}
