//! What `homenode sim cluster` says.
use super::objects::{LockWaits, ObjectWaits};
use homenode_cluster::{COUNTS, Row, Server, TIMES, WORK, WhatIf};
use homenode_command::gaps::Known;
use homenode_svmrun::Advice;
use homenode_table::{Cell, Column, Kind, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// Identifier of the document.
pub(super) const SIM_CLUSTER_SCHEMA: &str = "https://github.com/homenode/homenode/schema/sim-cluster-1";

/// What came of a recording on clusters.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimClusterDoc {
    /// Identifier of this kind of document, described by `docs/schema/sim-cluster.json`.
    #[schemars(extend("const" = SIM_CLUSTER_SCHEMA))]
    pub schema: &'static str,
    /// Path as the user gave it.
    pub dataset: String,
    /// Name of the machine.
    pub machine: String,
    /// Cycles a microsecond.
    pub mhz: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// The phase that is counted; null: everything is.
    pub phase: Option<String>,
    /// Factor of the instructions between references.
    pub gaps: f64,
    /// How the instructions between references are known.
    pub instructions: Known,
    /// What the result does not rest on, in words.
    pub notes: Vec<String>,
    /// The machine that is compared with, if one is.
    pub compare: Option<String>,
    /// One row a shape and protocol, and behind it one a counterfactual.
    pub rows: Vec<RowDoc>,
}

/// A row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowDoc {
    /// What was counted.
    #[serde(flatten)]
    pub row: Row,
    /// Cycles of one processor over those of the cluster.
    pub speedup: f64,
    /// The speedup if nothing but computing and misses inside nodes took time, evenly shared out.
    pub ideal: f64,
    /// What is another one than on the machine; null: nothing.
    pub what_if: Option<String>,
    /// How much of a machine that is compared with it has; null: it is not of one.
    pub compared: Option<Compared>,
    /// Percent of the time that this saves; null: nothing is another one.
    pub saves_percent: Option<f64>,
    /// What is between the speedup and the ideal one, in a sentence; of the machine as it is.
    pub cause: Option<String>,
    /// Which bus, interface or link limits, in a sentence; of the machine as it is.
    pub limit: Option<String>,
    /// What the program could do without, the greatest saving first, as `homenode svm report` says it of a run; of the machine as it is.
    pub advice: Vec<Advice>,
    /// Why there is no advice, if there is none; of the machine as it is.
    pub without_advice: Option<String>,
    /// Objects whose pages threads waited for longest; of the machine as it is.
    pub objects: Vec<ObjectWaits>,
    /// Locks and barriers that threads waited for longest; of the machine as it is.
    pub locks: Vec<LockWaits>,
}

/// How much a row has of a machine that is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// One parameter.
    One,
    /// All in which they differ.
    All,
}

impl RowDoc {
    /// A row of the machine as it is.
    pub(super) fn new(row: Row) -> RowDoc {
        RowDoc {
            speedup: row.speedup(),
            ideal: row.ideal(),
            row,
            what_if: None,
            compared: None,
            saves_percent: None,
            cause: None,
            limit: None,
            advice: Vec::new(),
            without_advice: None,
            objects: Vec::new(),
            locks: Vec::new(),
        }
    }
    /// A row of a machine of which something is another one, beside the cycles of that as it is.
    pub(super) fn changed(row: Row, change: &Change, cycles: u64) -> RowDoc {
        let saves = 100.0 * (1.0 - row.cycles as f64 / cycles.max(1) as f64);
        let (what_if, compared) = (Some(change.words()), change.compared);
        RowDoc { what_if, compared, saves_percent: Some(saves), ..RowDoc::new(row) }
    }
    /// Nodes and processors of each.
    pub(super) fn shape(&self) -> String {
        format!("{}x{}", self.row.nodes, self.row.processors)
    }
    /// Percent of the processors' time.
    pub(super) fn share(&self, cycles: u64) -> f64 {
        let all = self.row.cycles.max(1) as f64 * f64::from(self.row.nodes) * f64::from(self.row.processors);
        100.0 * cycles as f64 / all
    }
    /// Share of the run in which the server of a kind that is used most is at work.
    pub(super) fn used(&self, server: &Server) -> f64 {
        100.0 * server.busiest as f64 / self.row.cycles.max(1) as f64
    }
    /// Whether another row is of the same shape and protocol.
    fn is_beside(&self, other: &RowDoc) -> bool {
        let key = |r: &Row| (r.nodes, r.processors, r.protocol);
        key(&self.row) == key(&other.row)
    }
}

/// Something that is another one than on the machine.
pub(super) struct Change {
    pub(super) what_ifs: Vec<WhatIf>,
    pub(super) compared: Option<Compared>,
}

impl Change {
    /// As it is written.
    fn words(&self) -> String {
        self.what_ifs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

impl SimClusterDoc {
    /// As JSON.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }

    /// All numbers of the rows as CSV.
    pub fn to_csv(&self) -> String {
        let mut columns: Vec<Column> = KEYS.iter().map(|name| Column::new(*name, Kind::Text)).collect();
        columns.extend(["speedup", "ideal"].map(|name| Column::new(name, Kind::Real)));
        columns.extend(["cycles", "sequential"].map(|name| Column::new(name, Kind::Count)));
        columns.extend(TIMES.iter().map(|(name, _)| Column::new(format!("{name} cycles"), Kind::Count)));
        columns.extend(WORK.iter().map(|(name, _)| Column::new(format!("work {name}"), Kind::Count)));
        columns.extend(COUNTS.iter().map(|(name, _)| Column::new(*name, Kind::Count)));
        let mut table = Table::new(columns);
        for r in &self.rows {
            let mut cells = key(r);
            cells.extend([Cell::Real(r.speedup), Cell::Real(r.ideal)]);
            cells.extend([r.row.cycles, r.row.sequential].map(Cell::from));
            cells.extend(TIMES.iter().chain(&WORK).chain(&COUNTS).map(|(_, of)| Cell::from(of(&r.row))));
            table.push(cells);
        }
        table.csv()
    }

    /// Rows of the machine as it is, and behind each those of which something is another one.
    pub(super) fn beside(&self) -> impl Iterator<Item = (&RowDoc, Vec<&RowDoc>)> {
        let changed = |plain: &RowDoc| -> Vec<&RowDoc> {
            self.rows.iter().filter(|r| r.what_if.is_some() && r.is_beside(plain)).collect()
        };
        self.plain().map(move |plain| (plain, changed(plain)))
    }
    /// Rows of the machine as it is.
    pub(super) fn plain(&self) -> impl Iterator<Item = &RowDoc> {
        self.rows.iter().filter(|r| r.what_if.is_none())
    }
    /// Milliseconds of a row.
    pub(super) fn milliseconds(&self, r: &RowDoc) -> f64 {
        r.row.cycles as f64 / (1000.0 * self.mhz.max(1) as f64)
    }
    /// What is another one in a row, short enough for tables.
    pub(super) fn change(&self, r: &RowDoc) -> Option<String> {
        match (r.compared, &self.compare) {
            (Some(Compared::All), Some(other)) => Some(format!("all of {other}")),
            _ => r.what_if.clone(),
        }
    }
}

/// What a row is of.
pub(super) const KEYS: [&str; 3] = ["nodes", "protocol", "what if"];

fn key(r: &RowDoc) -> Vec<Cell<'_>> {
    let what_if = r.what_if.as_deref().map_or(Cell::Absent, Cell::from);
    vec![Cell::from(r.shape()), Cell::from(r.row.protocol), what_if]
}
