//! What `homenode sim cluster` says.
use super::objects::{LockWaits, ObjectWaits};
use homenode_cluster::{Row, Server};
use homenode_command::gaps::Known;
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
    /// What is another one than on the machine; null: nothing.
    pub what_if: Option<String>,
    /// Percent of the time that this saves; null: nothing is another one.
    pub saves_percent: Option<f64>,
    /// Objects whose pages threads waited for longest; of the machine as it is.
    pub objects: Vec<ObjectWaits>,
    /// Locks and barriers that threads waited for longest; of the machine as it is.
    pub locks: Vec<LockWaits>,
}

impl RowDoc {
    /// A row, and the counterfactual that it is of with the cycles of the machine as it is.
    pub(super) fn new(row: Row, what_if: Option<(String, u64)>) -> RowDoc {
        let saves = |cycles: u64| 100.0 * (1.0 - row.cycles as f64 / cycles.max(1) as f64);
        let (what_if, saves_percent) = what_if.map(|(words, cycles)| (words, saves(cycles))).unzip();
        RowDoc { speedup: row.speedup(), row, what_if, saves_percent, objects: Vec::new(), locks: Vec::new() }
    }
    /// Cycles of all processors.
    fn all(&self) -> f64 {
        self.row.cycles.max(1) as f64 * f64::from(self.row.nodes) * f64::from(self.row.processors)
    }
    /// Share of the run in which the server of a kind that is used most is at work.
    fn used(&self, server: &Server) -> f64 {
        100.0 * server.busiest as f64 / self.row.cycles.max(1) as f64
    }
}

type Time = (&'static str, fn(&Row) -> u64);

/// Times of threads, in the order of the study's classes.
const TIMES: [Time; 8] = [
    ("compute", |r| r.compute),
    ("local", |r| r.local),
    ("data", |r| r.data),
    ("lock", |r| r.lock),
    ("barrier", |r| r.barrier),
    ("other", |r| r.other),
    ("interrupted", |r| r.interrupted),
    ("idle", |r| r.idle),
];

/// Work of the protocol, within those times.
const WORK: [Time; 6] = [
    ("mprotect", |r| r.work.protection),
    ("twins", |r| r.work.twins),
    ("diffs", |r| r.work.diffs),
    ("notices", |r| r.work.notices),
    ("requests", |r| r.work.requests),
    ("handlers", |r| r.work.handlers),
];

const COUNTS: [Time; 12] = [
    ("fetches", |r| r.counts.fetches),
    ("retries", |r| r.counts.retries),
    ("twins", |r| r.counts.twins),
    ("diffs", |r| r.counts.diffs),
    ("runs", |r| r.counts.runs),
    ("invalidations", |r| r.counts.invalidations),
    ("locks here", |r| r.counts.locks_local),
    ("locks remote", |r| r.counts.locks_remote),
    ("protections", |r| r.counts.protections),
    ("interrupts", |r| r.interrupts.all()),
    ("messages", |r| r.counts.messages),
    ("bytes", |r| r.counts.bytes),
];

impl SimClusterDoc {
    /// As JSON.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }

    /// All numbers of the rows as CSV.
    pub fn to_csv(&self) -> String {
        let mut columns = keys();
        columns.push(Column::new("speedup", Kind::Real));
        columns.extend(["cycles", "sequential"].map(|name| Column::new(name, Kind::Count)));
        columns.extend(TIMES.iter().map(|(name, _)| Column::new(format!("{name} cycles"), Kind::Count)));
        columns.extend(WORK.iter().map(|(name, _)| Column::new(format!("work {name}"), Kind::Count)));
        columns.extend(COUNTS.iter().map(|(name, _)| Column::new(*name, Kind::Count)));
        let mut table = Table::new(columns);
        for r in &self.rows {
            let mut cells = key(r);
            cells.extend([Cell::Real(r.speedup), Cell::from(r.row.cycles), Cell::from(r.row.sequential)]);
            cells.extend(TIMES.iter().chain(&WORK).chain(&COUNTS).map(|(_, of)| Cell::from(of(&r.row))));
            table.push(cells);
        }
        table.csv()
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{} on {}{}, pages of {} B\n",
            self.dataset,
            self.machine,
            self.phase.as_ref().map_or(String::new(), |p| format!(", phase {p}")),
            self.page_bytes,
        );
        self.notes.iter().for_each(|n| text.push_str(&format!("note: {n}\n")));
        self.checked(&mut text);
        text.extend(self.rows.iter().filter_map(|r| super::wrong::injected(&r.row, r.what_if.as_deref())));
        self.saved(&mut text);
        let milliseconds = |r: &RowDoc| format!("{:.3}", r.row.cycles as f64 / (1000.0 * self.mhz.max(1) as f64));
        let share = |r: &RowDoc, cycles: u64| Cell::from(format!("{:.1}", 100.0 * cycles as f64 / r.all()));
        let mut names = vec!["speedup", "ms"];
        names.extend(TIMES.iter().map(|(name, _)| *name));
        self.section(&mut text, "speedup over one processor; percent of the processors' time", &names, |r| {
            let mut cells = vec![Cell::from(format!("{:.2}", r.speedup)), Cell::from(milliseconds(r))];
            cells.extend(TIMES.iter().map(|(_, of)| share(r, of(&r.row))));
            cells
        });
        let names: Vec<&str> = WORK.iter().map(|(name, _)| *name).collect();
        let title = "work of the protocol, within these times, in percent of the processors' time";
        self.section(&mut text, title, &names, |r| WORK.iter().map(|(_, of)| share(r, of(&r.row))).collect());
        let names: Vec<&str> = COUNTS.iter().map(|(name, _)| *name).collect();
        self.section(&mut text, "what the protocol did", &names, |r| {
            COUNTS.iter().map(|(_, of)| Cell::from(of(&r.row).to_string())).collect()
        });
        self.servers(&mut text);
        self.waited_for(&mut text);
        text
    }

    /// What threads waited for: objects, locks and barriers.
    fn waited_for(&self, text: &mut String) {
        let right = |name| Column { side: Some(homenode_table::Side::Right), ..Column::new(name, Kind::Text) };
        let left = |name| Column::new(name, Kind::Text);
        let mut pages = Table::new(
            [left("nodes"), left("protocol"), left("object")]
                .into_iter()
                .chain(["waited %", "pages", "faults", "fetches", "invalidations"].map(right))
                .collect(),
        );
        let mut locks = Table::new(
            [left("nodes"), left("protocol"), left("kind"), left("object")]
                .into_iter()
                .chain(["waited %", "times"].map(right))
                .collect(),
        );
        for r in self.rows.iter().filter(|r| r.what_if.is_none()) {
            let shape = || Cell::from(format!("{}x{}", r.row.nodes, r.row.processors));
            let share = |cycles: u64| Cell::from(format!("{:.1}", 100.0 * cycles as f64 / r.all()));
            let count = |n: u64| Cell::from(n.to_string());
            for o in &r.objects {
                let cells = [shape(), Cell::from(r.row.protocol), Cell::from(o.object.as_str()), share(o.waited)];
                let counts = [o.pages, o.faults, o.fetches, o.invalidations].map(count);
                pages.push(cells.into_iter().chain(counts));
            }
            for l in &r.locks {
                let place = format!("{} ({:#x})", l.object, l.address);
                let cells = [shape(), Cell::from(r.row.protocol), Cell::from(l.kind), Cell::from(place)];
                locks.push(cells.into_iter().chain([share(l.waited), count(l.times)]));
            }
        }
        for (title, table) in
            [("objects whose pages threads waited for", pages), ("locks and barriers that they waited for", locks)]
        {
            text.push_str(&format!("\n{title}\n"));
            text.push_str(&table.text(&homenode_table::Layout { indent: 2, absent: "-", ..Default::default() }));
        }
    }

    /// What reads saw, if they were checked.
    fn checked(&self, text: &mut String) {
        for r in &self.rows {
            let (Some(read), Some(stale)) = (r.row.read, r.row.stale) else { continue };
            let what = match stale {
                0 => "every one as it was written last".to_owned(),
                n => format!(
                    "{n} not as they were written last: data races of the program, synchronisation that the protocol does not see, or a mistake"
                ),
            };
            let what_if = r.what_if.as_ref().map_or(String::new(), |w| format!(" {w}"));
            text.push_str(&format!(
                "{}x{} {}{what_if}: {read} words read from shared pages, {what}\n",
                r.row.nodes, r.row.processors, r.row.protocol
            ));
        }
    }

    /// What each counterfactual saves, and for a machine that is compared with, a sentence of that.
    fn saved(&self, text: &mut String) {
        let changed: Vec<(&RowDoc, &String, f64)> =
            self.rows.iter().filter_map(|r| Some((r, r.what_if.as_ref()?, r.saves_percent?))).collect();
        if changed.is_empty() {
            return;
        }
        let mut columns = vec![Column::new("nodes", Kind::Text), Column::new("protocol", Kind::Text)];
        columns.push(Column::new("what if", Kind::Text));
        columns.push(Column { side: Some(homenode_table::Side::Right), ..Column::new("saves %", Kind::Text) });
        let mut table = Table::new(columns);
        for (row, what_if, saves) in &changed {
            let shape = format!("{}x{}", row.row.nodes, row.row.processors);
            let cells = [Cell::from(shape), Cell::from(row.row.protocol), Cell::from(what_if.as_str())];
            table.push(cells.into_iter().chain([Cell::from(format!("{saves:.1}"))]));
        }
        text.push_str("\ntime that a cluster saves of which this is another one\n");
        text.push_str(&table.text(&homenode_table::Layout { indent: 2, absent: "-", ..Default::default() }));
        let Some(other) = &self.compare else { return };
        text.push('\n');
        for plain in self.rows.iter().filter(|r| r.what_if.is_none()) {
            let of = |r: &&(&RowDoc, &String, f64)| {
                let key = |r: &Row| (r.nodes, r.processors, r.protocol);
                key(&r.0.row) == key(&plain.row)
            };
            let mut rows: Vec<_> = changed.iter().filter(of).collect();
            // The last one is all of them.
            let Some(all) = rows.pop() else { continue };
            rows.sort_by(|a, b| b.2.total_cmp(&a.2));
            let most: Vec<String> = rows.iter().take(3).map(|r| format!("{} alone saves {:.1} %", r.1, r.2)).collect();
            let data = 100.0 * plain.row.data as f64 / plain.all();
            text.push_str(&format!(
                "{}x{} {}: {data:.0} % of the time is waiting for pages; all that {other} has otherwise saves {:.1} %: {}\n",
                plain.row.nodes, plain.row.processors, plain.row.protocol, all.2, most.join(", "),
            ));
        }
    }

    /// How buses, interfaces and links were used.
    fn servers(&self, text: &mut String) {
        let Some(first) = self.rows.first() else { return };
        let names: Vec<&str> = first.row.servers.iter().map(|s| s.name).collect();
        self.section(
            text,
            "the busiest of each kind: percent of the run at work; mean cycles in front of it",
            &names,
            |r| {
                let cell = |s: &Server| {
                    let waited = s.waits.waited as f64 / s.waits.served.max(1) as f64;
                    Cell::from(format!("{:.0} {waited:.0}", r.used(s)))
                };
                r.row.servers.iter().map(cell).collect()
            },
        );
    }

    fn section<'c>(
        &'c self,
        text: &mut String,
        title: &str,
        names: &[&'static str],
        cells: impl Fn(&'c RowDoc) -> Vec<Cell<'c>>,
    ) {
        let right =
            |name: &&'static str| Column { side: Some(homenode_table::Side::Right), ..Column::new(*name, Kind::Text) };
        let mut table = Table::new(keys().into_iter().chain(names.iter().map(right)).collect());
        for r in &self.rows {
            table.push(key(r).into_iter().chain(cells(r)));
        }
        text.push_str(&format!("\n{title}\n"));
        text.push_str(&table.text(&homenode_table::Layout { indent: 2, absent: "-", ..Default::default() }));
    }
}

fn keys() -> Vec<Column> {
    ["nodes", "protocol", "what if"].map(|name| Column::new(name, Kind::Text)).into()
}

fn key(r: &RowDoc) -> Vec<Cell<'_>> {
    let what_if = r.what_if.as_deref().map_or(Cell::Absent, Cell::from);
    vec![Cell::from(format!("{}x{}", r.row.nodes, r.row.processors)), Cell::from(r.row.protocol), what_if]
}
