//! How much DRAM is enough, and what less costs.
use super::terminal::{Paint, render, wrap};
use crate::capacity::{CapacityDoc, CapacityPoint};
use crate::doc::ReportDoc;
use crate::units::{bytes, factor};
use homenode_base::TotalCost;
use homenode_table::{Column, Table, clean};

/// Sizes in the table, at most.
const SIZES: usize = 8;

/// The sentence, and costs at the sizes that were named, as many as there is room for.
pub(super) fn capacity(doc: &ReportDoc, room: usize, width: usize, paint: Paint) -> Vec<String> {
    let Some(c) = &doc.capacity else { return Vec::new() };
    let all = |rows| block(c, rows, width, paint);
    (1..=SIZES).rev().map(all).find(|lines| lines.len() < room).unwrap_or_else(|| all(1))
}

fn block(c: &CapacityDoc, rows: usize, width: usize, paint: Paint) -> Vec<String> {
    let mut lines = wrap(&clean(&c.sentence), width, 0);
    let named: Vec<&CapacityPoint> = c.points.iter().filter(|p| p.asked).collect();
    if !named.is_empty() {
        let exact = c.is_exact();
        let heads = ["of its data", "first come", "hottest first", if exact { "optimum" } else { "bound" }, "plan"];
        let heads = heads.into_iter().take(if exact { 4 } else { 5 }).map(Column::number);
        let mut table = Table::new([Column::words("Cost over all in DRAM", 21)].into_iter().chain(heads).collect());
        let over = |cost: TotalCost| factor(cost.ratio_to(c.in_dram));
        for p in named.iter().take(rows) {
            let size = [bytes(p.size.bytes), c.portion(p.size)];
            let plan = (!exact).then(|| p.plan.map_or("–".to_owned(), over));
            table.push_words(size.into_iter().chain([p.first_come, p.hottest, p.optimum].map(over)).chain(plan));
        }
        lines.extend(render(&table, width, paint));
        if named.len() > rows {
            lines.push(paint.dim(&format!("{} more with --json or -o report.html", named.len() - rows)));
        }
    }
    let notes = c.notes.iter().flat_map(|n| wrap(&clean(&format!("Note: {n}.")), width, 2));
    lines.extend(notes.map(|l| paint.dim(&l)));
    lines
}
