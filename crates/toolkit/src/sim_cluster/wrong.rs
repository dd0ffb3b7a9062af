//! What faults were injected, in words.
use super::doc::RowDoc;

/// A line a row.
pub(super) fn injected(rows: &[RowDoc], text: &mut String) {
    for r in rows {
        let Some(i) = &r.row.injected else { continue };
        let what_if = r.what_if.as_ref().map_or(String::new(), |w| format!(" {w}"));
        let node = |node: Option<u16>, what: &str| node.map_or(String::new(), |n| format!("; node {n} {what}"));
        let pauses = format!("stood still {} times, at most {} cycles", i.pauses, i.longest_pause);
        text.push_str(&format!(
            "{}x{} {}{what_if}, faults {}: of {} packets {} times one was lost, {} given up, {} delayed, at most {} cycles, {} overtook others{}{}\n",
            r.row.nodes,
            r.row.processors,
            r.row.protocol,
            i.faults,
            i.packets,
            i.lost,
            i.gone,
            i.delayed,
            i.longest,
            i.overtaking,
            node(i.slow_node, "was slow"),
            node(i.pausing_node, &pauses),
        ));
    }
}
