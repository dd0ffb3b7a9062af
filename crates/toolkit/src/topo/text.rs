//! The machine as tables.
use super::{MeasuredDoc, TopoDoc};
use homenode_machine::Table as Measured;
use homenode_machine::topology::{Locality, MemoryNode, NearBy, Ranges};
use homenode_table::{Column, Layout, Table};
use std::fmt::Write;

pub(super) fn render(doc: &TopoDoc) -> String {
    let mut out = String::new();
    nodes(&mut out, doc);
    let ids: Vec<u32> = doc.topology.nodes.iter().map(|n| n.os_id).collect();
    if !doc.topology.distances.is_empty() {
        let rows: Vec<Vec<String>> = doc.topology.distances.iter().map(|r| words(r)).collect();
        table(&mut out, "firmware distances (local = 10; not nanoseconds)", &ids, &ids, &rows);
    }
    if let Some(measured) = &doc.measured {
        measurements(&mut out, measured);
    }
    costs(&mut out, doc, &ids);
    for line in doc.topology.notes.iter().map(|n| format!("note: {n}")) {
        let _ = writeln!(out, "{line}");
    }
    if let Some(path) = &doc.saved {
        let _ = writeln!(out, "saved: {path}");
    }
    out
}

fn words<T: ToString>(row: &[T]) -> Vec<String> {
    row.iter().map(T::to_string).collect()
}

fn nodes(out: &mut String, doc: &TopoDoc) {
    let t = &doc.topology;
    let cpus: usize = t.nodes.iter().map(|n| n.cpus.len()).sum();
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let _ = writeln!(out, "{}: {}, {}", doc.of, plural(t.nodes.len(), "memory node"), plural(cpus, "processor"));
    let columns = [Column::words("", 0).wide(8), Column::number("").wide(11), Column::words("", 0)];
    let mut table = Table::new(columns.into());
    for node in &t.nodes {
        let cpus: Ranges = node.cpus.iter().copied().collect();
        let cpus = if node.cpus.is_empty() { "no processors".to_owned() } else { format!("cpus {cpus}") };
        table.push_words([format!("node {}", node.os_id), bytes(node.memory_bytes), cpus + &extras(node, doc)]);
    }
    out.push_str(&table.text(&Layout { indent: 2, head: false, ..Layout::default() }));
    if let Some(c) = t.caches {
        let (own, last) = (bytes(c.private.bytes), bytes(c.shared.bytes));
        let _ = writeln!(out, "  caches: {own} a core, {last} last level a node, {}-byte lines", c.line_bytes);
    }
    if let Some(vm) = &t.virtual_machine {
        let _ = writeln!(out, "  runs under {vm}");
    }
    let offline: Ranges = t.offline_cpus.iter().copied().collect();
    if !offline.is_empty() {
        let _ = writeln!(out, "  cpus {offline} are offline");
    }
    let forbidden: Ranges = t.forbidden_cpus.iter().copied().collect();
    if !forbidden.is_empty() {
        let _ = writeln!(out, "  this process may not use cpus {forbidden}");
    }
    for limit in &t.limits {
        let _ = writeln!(out, "  limit: {} {} ({})", limit.of, limit.allowed, limit.by);
    }
}

/// What memory without processors is near to, in words.
fn near(locality: &Locality, cpu_nodes: usize) -> String {
    let all = locality.nearest.len() == cpu_nodes;
    let nodes: Ranges = locality.nearest.iter().copied().collect();
    let plural = if locality.nearest.len() == 1 { "node" } else { "nodes" };
    match locality.by {
        NearBy::Initiators => format!("near {plural} {nodes}"),
        NearBy::Distance if all && cpu_nodes > 1 => "equally far from all processors".into(),
        NearBy::Distance => format!("near {plural} {nodes} by distance"),
        NearBy::Nothing => "nothing says to which processors it is near".into(),
    }
}

/// Performance that the firmware names; nothing for what it does not know.
fn firmware(node: &MemoryNode) -> Option<String> {
    let access = node.best_access.as_ref()?;
    let figures = [(access.read_latency_ns, "ns"), (access.read_bandwidth_mbs, "MB/s")];
    let figures: Vec<String> = figures.iter().filter(|f| f.0 > 0).map(|(f, unit)| format!("{f} {unit}")).collect();
    let from: Ranges = access.initiators.iter().copied().collect();
    let from = if from.is_empty() { String::new() } else { format!(" from node {from}") };
    (!figures.is_empty()).then(|| format!("HMAT{from}: {}", figures.join(", ")))
}

/// What a node has beyond processors and memory.
fn extras(node: &MemoryNode, doc: &TopoDoc) -> String {
    let mut parts = Vec::new();
    let cpu_nodes = doc.topology.nodes.iter().filter(|n| !n.cpus.is_empty()).count();
    parts.extend(doc.localities.iter().find(|l| l.node == node.os_id).map(|l| near(l, cpu_nodes)));
    parts.extend(node.tier.map(|t| format!("tier {t}")));
    if node.memory_side_cache_bytes > 0 {
        parts.push(format!("memory-side cache {}", bytes(node.memory_side_cache_bytes)));
    }
    parts.extend(firmware(node));
    match (node.memory_bytes, node.allowed) {
        (0, _) => parts.push("no memory".into()),
        (_, false) => parts.push("not allowed to this process".into()),
        _ => {}
    }
    if parts.is_empty() { String::new() } else { format!("  ({})", parts.join(", ")) }
}

fn bytes(n: u64) -> String {
    match n {
        n if n >= 10 << 30 => format!("{} GiB", n >> 30),
        n if n >= 10 << 20 => format!("{} MiB", n >> 20),
        n => format!("{} KiB", n >> 10),
    }
}

fn measurements(out: &mut String, m: &MeasuredDoc) {
    let _ = writeln!(out, "measured {}: {}", m.when, m.how);
    if !m.caution.is_empty() {
        let _ = writeln!(out, "CAUTION: {}", m.caution);
    }
    let tables = [
        ("idle load latency, ns", Some(&m.idle_ps), 1000.0),
        ("idle load latency in huge pages, ns", m.idle_huge_ps.as_ref(), 1000.0),
        ("loaded load latency, ns", m.loaded_ps.as_ref(), 1000.0),
        ("a line in order, one processor, ns", m.streamed_ps.as_ref(), 1000.0),
        ("loads that do not depend on each other, one processor, ns a load", m.overlapped_ps.as_ref(), 1000.0),
        ("hit in the last level, each load depends on the one before, ns", m.hit_waited_ps.as_ref(), 1000.0),
        ("hits in the last level that do not depend on each other, ns a load", m.hit_overlapped_ps.as_ref(), 1000.0),
        ("a line in order out of the last level, ns", m.hit_streamed_ps.as_ref(), 1000.0),
        (
            "loads that do not depend on each other in as much as the last level is large, ns a load",
            m.level_ps.as_ref(),
            1000.0,
        ),
        ("read bandwidth, MB/s", Some(&m.read_mbs), 1.0),
        ("write bandwidth, MB/s", Some(&m.write_mbs), 1.0),
    ];
    for (title, t, unit) in tables.iter().filter_map(|(title, t, unit)| t.map(|t| (title, t, *unit))) {
        let title = format!("{title}: mean ± deviation of {}", t.repeats);
        table(out, &title, &m.cpu_nodes, &m.memory_nodes, &cells(t, unit));
    }
}

fn cells(t: &Measured, unit: f64) -> Vec<Vec<String>> {
    let places = if unit > 1.0 { 1 } else { 0 };
    let cell = |(m, d): (&i64, &i64)| format!("{:.places$} ± {:.places$}", *m as f64 / unit, *d as f64 / unit);
    t.mean.iter().zip(&t.deviation).map(|(m, d)| m.iter().zip(d).map(cell).collect()).collect()
}

/// Costs of `--machine this`: rows of nodes with processors only.
fn costs(out: &mut String, doc: &TopoDoc, ids: &[u32]) {
    let how = if doc.measured.is_some() { "from measurements" } else { "estimated, not measured" };
    let with_cpus: Vec<usize> = (0..ids.len()).filter(|&i| !doc.topology.nodes[i].cpus.is_empty()).collect();
    let rows = |m: &[Vec<i64>]| -> Vec<Vec<String>> {
        with_cpus.iter().map(|&i| m[i].iter().map(|c| format!("{:.1}", *c as f64 / 1000.0)).collect()).collect()
    };
    let from: Vec<u32> = with_cpus.iter().map(|&i| ids[i]).collect();
    table(out, &format!("load cost of machine `this`, ns ({how})"), &from, ids, &rows(&doc.machine.read_ps));
    if !doc.machine.repairs.is_empty() {
        table(out, "the same before the repair, ns", &from, ids, &rows(&doc.machine.raw_read_ps));
    }
    for source in &doc.machine.sources {
        let _ = writeln!(out, "  {source}");
    }
}

/// Rows are nodes of processors, columns nodes of memory, all as wide as the widest.
fn table(out: &mut String, title: &str, from: &[u32], to: &[u32], rows: &[Vec<String>]) {
    let width = rows.iter().flatten().map(|c| c.chars().count()).max().unwrap_or(0);
    let width = width.max(to.iter().map(|t| t.to_string().len()).max().unwrap_or(0));
    let nodes = to.iter().map(|id| Column::number(id.to_string()).wide(width));
    let mut table = Table::new(std::iter::once(Column::words("cpu \\ memory", 0)).chain(nodes).collect());
    for (id, row) in from.iter().zip(rows) {
        table.push_words(std::iter::once(&format!("node {id}")).chain(row));
    }
    let _ = write!(out, "{title}\n{}", table.text(&Layout { indent: 2, ..Layout::default() }));
}
