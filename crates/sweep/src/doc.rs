//! What a sweep says when it is done; also the manifest of its folder.
use crate::tables::SHOWN;
pub use crate::tables::{AnalysisDoc, TableDoc};
use homenode_table::{Cell, Column, Kind, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Identifier of this kind of document, described by `docs/schema/sweep.json`.
pub const SWEEP_SCHEMA: &str = "https://github.com/homenode/homenode/schema/sweep-1";
/// Rows that the document itself holds, at most.
pub(crate) const FIRST_ROWS: usize = 60;
/// Rows of a study with protocols of page coherence that the document holds, at most, and as many of each realignment: all of
/// them at all page sizes side by side.
pub(crate) const FIRST_ROWS_PROTOCOLS: usize = 200;

/// A sweep that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepDoc {
    /// Identifier of this kind of document.
    #[schemars(extend("const" = SWEEP_SCHEMA))]
    pub schema: String,
    /// Version of Homenode.
    pub version: String,
    /// Name of the study.
    pub name: String,
    /// Digest of everything that the table depends on.
    pub digest: String,
    /// Datasets.
    pub traces: Vec<TraceDoc>,
    /// `model`, or the seeds of the recorded order.
    pub order: String,
    /// Machines.
    pub machines: u64,
    /// Machines in a shape, on which traces ran in virtual time.
    #[serde(default)]
    pub clusters: u64,
    /// Block sizes in bytes.
    pub block_bytes: Vec<u64>,
    /// Policies.
    pub policies: Vec<String>,
    /// Protocols of page coherence.
    pub protocols: Vec<String>,
    /// Realignments on which the protocols were asked about too.
    pub realign: Vec<String>,
    /// Rows of the table.
    pub rows: u64,
    /// Units of work.
    pub units: u64,
    /// Worker processes of the call that ended it; 0 if the calling process did the work.
    pub workers: u64,
    /// Memory for all workers together, in bytes.
    pub memory_bytes: u64,
    /// Where the time went.
    pub seconds: SecondsDoc,
    /// Path of the table.
    pub table: PathBuf,
    /// SHA-256 of the table.
    pub table_sha256: String,
    /// Path of the table as CSV, if it was asked for.
    pub csv: Option<PathBuf>,
    /// The first rows of the table; `docs/sweep.md` describes all columns.
    pub first_rows: Vec<RowDoc>,
    /// The first rows of the table of a study of clusters, which has no others.
    #[serde(default)]
    pub cluster_rows: Vec<ClusterRowDoc>,
    /// What analyses found, trace by trace.
    pub analyses: Vec<AnalysisDoc>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// One dataset of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceDoc {
    /// As the study names it.
    pub name: String,
    /// SHA-256 of its files.
    pub digest: String,
    /// References, spins included; samples where it is sampled.
    pub refs: u64,
    /// Whether it is sampled.
    pub sampled: bool,
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondsDoc {
    /// Cutting traces into regions: processor time, summed over workers and calls.
    pub partitions: f64,
    /// Answering: processor time, summed over workers and calls.
    pub units: f64,
    /// Analysing: processor time, summed over workers and calls.
    #[schemars(range(min = 0))]
    pub analyses: f64,
    /// The call that ended it, on the clock.
    pub last_call: f64,
}

/// A row of the table, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowDoc {
    /// Dataset.
    pub trace: String,
    /// Order of its references: `model`, or the seed of the recorded one; and what was done to it.
    pub order: String,
    /// How words were realigned before the protocols saw them, if they were.
    pub realigned: Option<String>,
    /// Machine, with what was set.
    pub machine: String,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Policy or optimum.
    pub what: String,
    /// Cost in the machine's unit: a whole number, as text.
    pub cost: String,
    /// Cost per access charged.
    pub mcpr: Option<f64>,
    /// Whether it is exact; else it is a lower bound.
    pub exact: bool,
    /// Cost over that of the optimum of page coherence; of protocols of page coherence.
    pub over_optimum: Option<f64>,
}

/// A row of the table of a study of clusters, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterRowDoc {
    /// Dataset.
    pub trace: String,
    /// Machine.
    pub machine: String,
    /// Nodes x processors of each.
    pub nodes: String,
    /// Step of the protocol.
    pub protocol: String,
    /// What is another one than on the machine; null: nothing.
    pub what_if: Option<String>,
    /// Cycles of one processor over those of the cluster.
    pub speedup: f64,
    /// The speedup if nothing but computing and misses inside nodes took time, evenly shared out.
    pub ideal: f64,
    /// The kind of bus, interface or link of which one is at work longest; null: nothing went over any.
    pub busiest: Option<String>,
}

/// What a row is of: trace, order, machine, block size, policy or protocol.
type Key<'r> = (&'r str, &'r str, &'r str, u64, &'r str);

impl RowDoc {
    fn key(&self) -> Key<'_> {
        (&self.trace, &self.order, &self.machine, self.block_bytes, &self.what)
    }
}

impl SweepDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }

    /// What was asked, the rows if they are few, and where the table is.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let (traces, blocks) = (self.traces.len(), self.block_bytes.len());
        let on = match self.clusters {
            0 => format!("{} machine(s), {blocks} block size(s)", self.machines),
            clusters => format!("{clusters} cluster(s)"),
        };
        let _ = writeln!(text, "{}: {traces} trace(s), {on}: {} rows", self.name, self.rows);
        let first = self.first_rows.len().max(self.cluster_rows.len());
        if self.rows as usize <= first && self.clusters > 0 {
            self.write_clusters(&mut text);
        } else if self.rows as usize <= first {
            self.write_rows(&mut text);
        } else {
            let most = first;
            let _ = writeln!(text, "more than {most} rows are not shown: they are in the table (--csv: as text too)");
        }
        self.analyses.iter().for_each(|a| a.write(&mut text));
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        let _ = writeln!(
            text,
            "processor time: {:.1} s cutting, {:.1} s answering, {:.1} s analysing; this call: {:.1} s",
            self.seconds.partitions, self.seconds.units, self.seconds.analyses, self.seconds.last_call
        );
        let _ = writeln!(text, "table: {}", self.table.display());
        if let Some(csv) = &self.csv {
            let _ = writeln!(text, "       {}", csv.display());
        }
        text
    }

    fn write_clusters(&self, text: &mut String) {
        let words = ["trace", "machine", "nodes", "protocol", "what if"].map(|name| Column::new(name, Kind::Text));
        let numbers = ["speedup", "ideal"].map(Column::number);
        let columns = words.into_iter().chain(numbers).chain([Column::new("busiest", Kind::Text)]);
        let mut table = Table::new(columns.collect());
        for r in &self.cluster_rows {
            let words = [&r.trace, &r.machine, &r.nodes, &r.protocol].map(Cell::from);
            let what_if = Cell::from(r.what_if.as_deref());
            let numbers = [r.speedup, r.ideal].map(|x| Cell::from(format!("{x:.2}")));
            let busiest = Cell::from(r.busiest.as_deref());
            table.push(words.into_iter().chain([what_if]).chain(numbers).chain([busiest]));
        }
        text.push_str(&table.text(&SHOWN));
    }

    /// Rows of realigned references by the name of the realignment and what they stand beside.
    fn realigned(&self) -> BTreeMap<(&str, Key<'_>), &RowDoc> {
        self.first_rows.iter().filter_map(|r| Some(((r.realigned.as_deref()?, r.key()), r))).collect()
    }

    fn write_rows(&self, text: &mut String) {
        // One order for all needs no column.
        let several = self.first_rows.iter().any(|r| r.order != self.first_rows[0].order);
        let words = |name: &str| Column::new(name, Kind::Text);
        let order = several.then(|| words("order"));
        let columns = [words("trace")].into_iter().chain(order).chain([
            words("machine"),
            Column::new("block", Kind::Count),
            words("what"),
            Column::number("cost"),
            Column::number("per access"),
        ]);
        let protocols = self.first_rows.iter().any(|r| r.over_optimum.is_some());
        let columns = columns.chain(protocols.then(|| Column::number("over optimum")));
        let beside = self.realign.iter().flat_map(|name| [Column::number(name), Column::number("gain")]);
        let mut table = Table::new(columns.chain(beside).collect());
        let realigned = self.realigned();
        for r in self.first_rows.iter().filter(|r| r.realigned.is_none()) {
            let bound = if r.exact { "" } else { " (bound)" };
            let order = several.then(|| Cell::from(&r.order));
            let over = protocols.then(|| Cell::from(r.over_optimum.map(|o| format!("{o:.3}"))));
            let cells = [Cell::from(&r.trace)].into_iter().chain(order).chain([
                Cell::from(&r.machine),
                Cell::from(r.block_bytes),
                Cell::from(format!("{}{bound}", r.what)),
                Cell::from(&r.cost),
                Cell::from(r.mcpr.map(|m| format!("{m:.3}"))),
            ]);
            let beside = self.realign.iter().flat_map(|name| {
                let mcpr = realigned.get(&(name.as_str(), r.key())).and_then(|moved| moved.mcpr);
                let gain = r.mcpr.zip(mcpr.filter(|m| *m > 0.0)).map(|(before, after)| before / after);
                [mcpr, gain].map(|x| Cell::from(x.map(|x| format!("{x:.3}"))))
            });
            table.push(cells.chain(over).chain(beside));
        }
        text.push_str(&table.text(&SHOWN));
    }
}
