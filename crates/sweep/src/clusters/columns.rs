//! The columns of rows of clusters: what a row is of, and what `homenode sim cluster --csv` has.
use super::Cluster;
use crate::resolved::ResolvedStudy;
use homenode_cluster::{COUNTS, PARAMETERS, Parameter, Row, TIMES, WORK, WhatIf};
use homenode_table::{Cell, Column, Kind};

/// What a row is of.
pub(super) const KEYS: [&str; 5] = ["trace", "machine", "nodes", "protocol", "what_if"];
/// Which of them may be absent.
pub(super) const WHAT_IF: usize = 4;

/// Parameters that vary in a study, each of which has a column.
pub(super) fn varied(resolved: &ResolvedStudy) -> Vec<&'static Parameter> {
    let varies = |p: &&Parameter| {
        let axes = resolved.study.clusters.iter().flat_map(|set| &set.axes);
        axes.into_iter().any(|(q, _)| q.name == p.name)
    };
    PARAMETERS.iter().filter(varies).collect()
}

/// A name that questions in SQL need not quote, and that Parquet can have.
fn one_word(name: &str) -> String {
    name.replace([' ', '-'], "_")
}

/// The columns; `docs/sweep.md` says what each means.
pub(super) fn columns(varied: &[&'static Parameter]) -> Vec<Column> {
    let text = |(at, name): (usize, &&str)| {
        let column = Column::new(*name, Kind::Text);
        if at == WHAT_IF { column } else { column.required() }
    };
    let count = |name: String| Column::new(one_word(&name), Kind::Count).required();
    let mut columns: Vec<Column> = KEYS.iter().enumerate().map(text).collect();
    columns.extend(varied.iter().map(|p| count(format!("set {}", p.name))));
    columns.extend(["speedup", "ideal"].map(|name| Column::new(name, Kind::Real).required()));
    columns.extend(["cycles", "sequential"].map(|name| count(name.to_owned())));
    columns.extend(TIMES.iter().map(|(name, _)| count(format!("{name} cycles"))));
    columns.extend(WORK.iter().map(|(name, _)| count(format!("work {name}"))));
    columns.extend(COUNTS.iter().map(|(name, _)| count((*name).to_owned())));
    columns.extend([Column::new("busiest", Kind::Text), Column::new("busiest_percent", Kind::Real)]);
    columns.push(count("refs".to_owned()));
    columns
}

/// The cells of a run.
pub(super) fn cells<'r>(
    (trace, cluster): (&'r str, &'r Cluster<'_>),
    varied: &[&'static Parameter],
    what_ifs: &[WhatIf],
    row: &'r Row,
) -> Vec<Cell<'r>> {
    let words = what_ifs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let what_if = if words.is_empty() { Cell::Absent } else { Cell::from(words) };
    let name = Cell::from(&cluster.machine.name);
    let mut cells = vec![Cell::from(trace), name, Cell::from(cluster.shape()), Cell::from(row.protocol), what_if];
    if let Some(net) = &cluster.machine.sections.network {
        let net = WhatIf::network(what_ifs, net);
        cells.extend(varied.iter().map(|p| Cell::Count(p.get(&net))));
    }
    cells.extend([Cell::Real(row.speedup()), Cell::Real(row.ideal())]);
    cells.extend([row.cycles, row.sequential].map(Cell::Count));
    cells.extend(TIMES.iter().chain(&WORK).chain(&COUNTS).map(|(_, of)| Cell::Count(of(row))));
    let busiest = row.busiest();
    cells.push(busiest.map_or(Cell::Absent, |(server, _)| Cell::from(server.name)));
    cells.push(busiest.map_or(Cell::Absent, |(_, percent)| Cell::Real(percent)));
    cells.push(Cell::Count(row.refs));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_explained() {
        let page = include_str!("../../../../docs/sweep.md");
        for column in columns(&[]) {
            assert!(page.contains(&format!("`{}`", column.name)), "{} is not in docs/sweep.md", column.name);
        }
        for parameter in &PARAMETERS {
            assert!(page.contains(&format!("`{}`", parameter.name)), "{} is not in docs/sweep.md", parameter.name);
        }
    }
}
