//! A plan in sentences.
use homenode_base::TotalCost;
use homenode_placement::plan::{Bandwidth, Expected, Home, HugePages, NodeDemand, Plan};
use homenode_report::units;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of a list before it is cut.
const ROWS: usize = 12;

pub(crate) fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let e = &plan.expected;
    let writes = "writing to a string cannot fail";
    writeln!(
        out,
        "{} on {}: {} threads, {} ranges",
        plan.evidence.dataset,
        plan.machine,
        plan.threads.len(),
        plan.entries.len()
    )
    .expect(writes);
    writeln!(out, "rule {}, {} {}", plan.evidence.rule, units::integer(plan.evidence.counted), plan.evidence.counts)
        .expect(writes);
    writeln!(
        out,
        "expected (model, not measured): {} of first touch; the best static placement {}",
        percent(e.planned, e.now),
        percent(e.best_static, e.now)
    )
    .expect(writes);
    for (name, row) in objects(plan) {
        writeln!(
            out,
            "  {} pages of `{name}` to {}, worth {}",
            units::integer(row.pages),
            row.homes(),
            percent(row.gain, e.now)
        )
        .expect(writes);
    }
    if plan.entries.is_empty() {
        out.push_str("  nothing to place\n");
    }
    for u in plan.unplaceable.iter().take(ROWS) {
        writeln!(
            out,
            "  not placed: {} pages of `{}` ({}): {}",
            units::integer(u.pages),
            u.name,
            u.why.words(),
            u.advice
        )
        .expect(writes);
    }
    out.extend(plan.bandwidth.iter().flat_map(bandwidth));
    out.extend(plan.huge.iter().map(|h| huge(h, e)));
    plan.evidence.notes.iter().for_each(|n| writeln!(out, "note: {n}").expect(writes));
    out
}

/// What memory is asked for: the node that is asked for most of what it serves, and what was spread and why.
fn bandwidth(b: &Bandwidth) -> Vec<String> {
    let share = |n: &NodeDemand, asked: u64| 100.0 * asked as f64 / n.serves_mbs.max(1) as f64;
    let over: Vec<&NodeDemand> = b.nodes.iter().filter(|n| n.asked_mbs > n.serves_mbs).collect();
    let mut lines = Vec::new();
    for n in &over {
        lines.push(format!(
            "bandwidth: node {} would be asked for {} of the {} MB/s that it serves; as planned for {}\n",
            n.node,
            units::integer(n.asked_mbs),
            units::integer(n.serves_mbs),
            units::integer(n.planned_mbs)
        ));
    }
    let most = b.nodes.iter().max_by(|x, y| share(x, x.planned_mbs).total_cmp(&share(y, y.planned_mbs)));
    if over.is_empty() {
        lines.extend(most.map(|n| {
            let part = share(n, n.planned_mbs);
            format!("bandwidth: no node is asked for more than it serves (node {} for {part:.0} %)\n", n.node)
        }));
    } else {
        lines.push(format!("  {} pages go to nodes that can serve them\n", units::integer(b.pages)));
    }
    if b.excess_mbs > 0 {
        let left = units::integer(b.excess_mbs);
        lines.push(format!(
            "  {left} MB/s more are asked for than all nodes with room serve: memory will be the limit\n"
        ));
    }
    lines.push(format!("  bandwidths {}; {}\n", b.source, b.basis));
    lines
}

fn huge(h: &HugePages, e: &Expected) -> String {
    let (pages, size) = (units::integer(h.pages), h.page_bytes >> 20);
    let split = match h.split {
        0 => "splitting none pays".to_owned(),
        n => format!("splitting pays for {} and saves {} after copying", units::integer(n), percent(h.gain, e.now)),
    };
    let whole = units::integer(h.whole);
    format!("huge pages: {pages} of {size} MiB, {whole} placed whole; {split}; longer translations are not counted\n")
}

fn percent(part: TotalCost, whole: TotalCost) -> String {
    if whole == TotalCost::ZERO { "0.0 %".into() } else { format!("{:.1} %", 100.0 * part.as_f64() / whole.as_f64()) }
}

#[derive(Default)]
struct Row {
    pages: u64,
    gain: TotalCost,
    by_home: BTreeMap<String, u64>,
}

impl Row {
    fn homes(&self) -> String {
        let mut homes: Vec<(&String, &u64)> = self.by_home.iter().collect();
        homes.sort_by_key(|(_, pages)| std::cmp::Reverse(**pages));
        match &homes[..] {
            [(only, _)] => (*only).clone(),
            many => many.iter().map(|(h, n)| format!("{h} ({})", units::integer(**n))).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Objects by name, the most worth first.
fn objects(plan: &Plan) -> Vec<(&str, Row)> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for entry in &plan.entries {
        let row = rows.entry(&entry.name).or_default();
        let pages = entry.bytes.div_ceil(plan.page_bytes);
        let home = match &entry.home {
            Home::Node(n) => format!("node {n}"),
            Home::Thread(t) => format!("the node of thread {t}"),
            Home::Interleave(nodes) => format!("{} nodes in turn", nodes.len()),
        };
        row.pages += pages;
        row.gain += entry.worth.now - entry.worth.planned;
        *row.by_home.entry(home).or_default() += pages;
    }
    let mut rows: Vec<(&str, Row)> = rows.into_iter().collect();
    rows.sort_by_key(|(name, row)| (std::cmp::Reverse(row.gain), *name));
    rows.truncate(ROWS);
    rows
}
