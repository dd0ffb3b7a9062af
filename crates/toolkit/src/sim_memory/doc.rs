//! What `homenode sim memory` says.
use homenode_command::gaps::Known;
use homenode_table::{Cell, Column, Kind, Table};
use homenode_timed::memory::{Layout, Relation, Row};
use schemars::JsonSchema;
use serde::Serialize;

/// Identifier of the document.
pub(super) const SIM_MEMORY_SCHEMA: &str = "https://github.com/homenode/homenode/schema/sim-memory-1";

/// What came of a recording on several architectures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimMemoryDoc {
    /// Identifier of this kind of document, described by `docs/schema/sim-memory.json`.
    #[schemars(extend("const" = SIM_MEMORY_SCHEMA))]
    pub schema: &'static str,
    /// Path as the user gave it.
    pub dataset: String,
    /// Name of the machine.
    pub machine: String,
    /// The phase that is counted; null: everything is.
    pub phase: Option<String>,
    /// Factor of the instructions between references.
    pub gaps: f64,
    /// Open points of which another reading than ours is taken.
    pub open: Vec<String>,
    /// How the instructions between references are known.
    pub instructions: Known,
    /// What the result does not rest on, in words.
    pub notes: Vec<String>,
    /// Pages.
    pub layout: LayoutDoc,
    /// One row an architecture and pressure, CC-NUMA first.
    pub rows: Vec<RowDoc>,
    /// Relations that the study expects.
    pub relations: Vec<Relation>,
}

/// Pages and their homes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LayoutDoc {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that nodes share.
    pub shared_pages: u64,
    /// Pages that one node has alone.
    pub private_pages: u64,
    /// Home pages by node.
    pub home_pages: Vec<u64>,
    /// Remote pages by node.
    pub remote_pages: Vec<u64>,
    /// Pressure in percent up to which all remote pages fit into every page cache.
    pub ideal_pressure: f64,
}

impl LayoutDoc {
    pub(super) fn new(layout: &Layout) -> LayoutDoc {
        LayoutDoc {
            page_bytes: 1 << layout.page_shift,
            shared_pages: layout.pages() as u64,
            private_pages: layout.private_pages,
            home_pages: layout.home_pages.clone(),
            remote_pages: layout.remote_pages.clone(),
            ideal_pressure: layout.ideal_pressure(),
        }
    }
}

/// A row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowDoc {
    /// What was counted.
    #[serde(flatten)]
    pub row: Row,
    /// Cycles over those of CC-NUMA.
    pub relative: f64,
}

/// Rows with their times over that of the first, CC-NUMA.
pub(super) fn relative(rows: Vec<Row>) -> Vec<RowDoc> {
    let base = rows.first().map_or(1, |r| r.cycles.max(1));
    rows.into_iter().map(|row| RowDoc { relative: row.cycles as f64 / base as f64, row }).collect()
}

/// What a table shows of a row.
type Shown = (&'static str, fn(&RowDoc, f64) -> f64);

const TIMES: [Shown; 8] = [
    ("time", |r, _| r.relative),
    ("U-SH-MEM", |r, all| r.row.times.shared as f64 / all),
    ("K-BASE", |r, all| r.row.times.kernel_base as f64 / all),
    ("K-OVERHD", |r, all| r.row.times.kernel_overhead as f64 / all),
    ("U-INSTR", |r, all| r.row.times.instructions as f64 / all),
    ("U-LC-MEM", |r, all| r.row.times.private as f64 / all),
    ("SYNC", |r, all| r.row.times.synchronisation as f64 / all),
    ("idle", |r, all| r.row.idle as f64 / all),
];

/// A count of a row.
type Count = (&'static str, fn(&Row) -> u64);

const MISSES: [Count; 9] = [
    ("HOME", |r| r.total.home),
    ("S-COMA", |r| r.total.page_cache),
    ("RAC", |r| r.total.rac),
    ("COLD", |r| r.total.cold),
    ("induced", |r| r.total.cold_induced),
    ("coherence", |r| r.total.coherence),
    ("CONF/CAPC", |r| r.total.refetch),
    ("ownership", |r| r.total.ownership),
    ("private", |r| r.total.private),
];

const OVERHEAD: [Count; 6] = [
    ("N_pagecache T", |r| r.overhead.page_cache),
    ("N_remote T", |r| r.overhead.remote),
    ("N_cold T", |r| r.overhead.cold),
    ("T_overhead", |r| r.overhead.kernel),
    ("sum", |r| r.overhead.cycles()),
    ("stalled", |r| r.times.shared + r.times.kernel_overhead),
];

const PAGES: [Count; 10] = [
    ("frames", |r| r.sizes.frames.into()),
    ("page cache", |r| r.sizes.page_cache.into()),
    ("faults", |r| r.total.faults),
    ("refaults", |r| r.total.refaults),
    ("relocated", |r| r.total.relocated),
    ("refused", |r| r.total.refused),
    ("evicted", |r| r.total.evicted),
    ("daemon runs", |r| r.total.daemon_runs),
    ("failed", |r| r.total.daemon_failures),
    ("state bits", |r| r.state_bits),
];

impl SimMemoryDoc {
    /// As JSON.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }

    /// All numbers of the rows as CSV.
    pub fn to_csv(&self) -> String {
        let base = self.base();
        let reals = TIMES.iter().map(|(name, _)| Column::new(*name, Kind::Real));
        let counts = || MISSES.iter().chain(&OVERHEAD).chain(&PAGES);
        let mut columns = keys();
        columns.extend(reals);
        columns.extend(counts().map(|(name, _)| Column::new(*name, Kind::Count)));
        columns.push(Column::new("cycles", Kind::Count));
        let mut table = Table::new(columns);
        for r in &self.rows {
            let mut cells = key(r);
            cells.extend(TIMES.iter().map(|(_, of)| Cell::Real(of(r, base))));
            cells.extend(counts().map(|(_, of)| Cell::from(of(&r.row))));
            cells.push(Cell::from(r.row.cycles));
            table.push(cells);
        }
        table.csv()
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let l = &self.layout;
        let most = |pages: &[u64]| pages.iter().copied().max().unwrap_or(0);
        let mut text = format!(
            "{} on {}{}\n{} shared pages of {} B, at most {} at home and {} remote on a node; ideal pressure {:.0} %; {} private pages\n",
            self.dataset,
            self.machine,
            self.phase.as_ref().map_or(String::new(), |p| format!(", phase {p}")),
            l.shared_pages,
            l.page_bytes,
            most(&l.home_pages),
            most(&l.remote_pages),
            l.ideal_pressure,
            l.private_pages,
        );
        if !self.open.is_empty() {
            text.push_str(&format!("other readings of the study: {}\n", self.open.join(", ")));
        }
        self.notes.iter().for_each(|n| text.push_str(&format!("note: {n}\n")));
        let times = TIMES.iter().map(|(name, _)| Column::new(*name, Kind::Text)).collect();
        let base = self.base();
        let time = |r: &RowDoc| TIMES.iter().map(|(_, of)| Cell::from(format!("{:.3}", of(r, base)))).collect();
        self.section(&mut text, "time over ccnuma, and what it went into (mean of the processors)", times, time);
        for (title, counts) in [
            ("misses: where they were satisfied, and why they went to another node", &MISSES[..]),
            ("cycles by the equation of table 1, and stalled cycles of the run (U-SH-MEM + K-OVERHD)", &OVERHEAD),
            ("pages", &PAGES),
        ] {
            let columns = counts.iter().map(|(name, _)| Column::new(*name, Kind::Count)).collect();
            self.section(&mut text, title, columns, |r| counts.iter().map(|(_, of)| Cell::from(of(&r.row))).collect());
        }
        if !self.relations.is_empty() {
            text.push_str("\nrelations\n");
        }
        for r in &self.relations {
            let (holds, [a, b]) = (if r.holds { "holds" } else { "does not hold" }, r.values);
            let line =
                format!("  ({}) {} at {} %: {}: {a}, {b}: {holds}\n", r.number, r.architecture, r.pressure, r.words);
            text.push_str(&line);
        }
        text
    }

    fn section<'c>(
        &'c self,
        text: &mut String,
        title: &str,
        columns: Vec<Column>,
        cells: impl Fn(&'c RowDoc) -> Vec<Cell<'c>>,
    ) {
        let right = |c: Column| Column { side: Some(homenode_table::Side::Right), ..c };
        let mut table = Table::new(keys().into_iter().chain(columns.into_iter().map(right)).collect());
        for r in &self.rows {
            table.push(key(r).into_iter().chain(cells(r)));
        }
        text.push_str(&format!("\n{title}\n"));
        text.push_str(&table.text(&homenode_table::Layout { indent: 2, absent: "-", ..Default::default() }));
    }

    /// Cycles of all processors under CC-NUMA.
    fn base(&self) -> f64 {
        let cycles = self.rows.first().map_or(1, |r| r.row.cycles.max(1));
        cycles as f64 * self.layout.home_pages.len() as f64
    }
}

fn keys() -> Vec<Column> {
    vec![Column::new("architecture", Kind::Text), Column::new("pressure", Kind::Count)]
}

fn key(r: &RowDoc) -> Vec<Cell<'_>> {
    let pressure = r.row.pressure.map_or(Cell::Absent, |p| Cell::from(u64::from(p)));
    vec![Cell::from(r.row.architecture), pressure]
}
