//! What faults were injected, in words.
use homenode_cluster::Row;

/// A line for a row.
pub(super) fn injected(row: &Row, what_if: Option<&str>) -> Option<String> {
    let i = row.injected.as_ref()?;
    let what_if = what_if.map_or(String::new(), |w| format!(" {w}"));
    let node = |node: Option<u16>, what: &str| node.map_or(String::new(), |n| format!("; node {n} {what}"));
    let pauses = format!("stood still {} times, at most {} cycles", i.pauses, i.longest_pause);
    Some(format!(
        "{}x{} {}{what_if}, faults {}: of {} packets {} times one was lost, {} given up, {} delayed, at most {} cycles, {} overtook others{}{}",
        row.nodes,
        row.processors,
        row.protocol,
        i.faults,
        i.packets,
        i.lost,
        i.gone,
        i.delayed,
        i.longest,
        i.overtaking,
        node(i.slow_node, "was slow"),
        node(i.pausing_node, &pauses),
    ))
}
