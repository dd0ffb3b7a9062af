//! What `homenode sim cluster` says as tables, of which text and page are made.
use super::doc::{KEYS, RowDoc, SimClusterDoc};
use homenode_cluster::{COUNTS, InPhase, Number, Server, TIMES, WORK};
use homenode_openmp::Construct;
use homenode_table::{Cell, Column, Table};

/// Phases of a row that are shown, at most.
const PHASES_MOST: usize = 16;
/// Classes of time that phases have: all but the last one, idle.
pub(super) const PHASE_TIMES: usize = TIMES.len() - 1;

/// A title, and a table.
pub(super) type Titled = (&'static str, Table);

impl SimClusterDoc {
    /// Speedups and times.
    pub(super) fn times(&self) -> Titled {
        let mut names = vec!["speedup", "ideal", "ms"];
        names.extend(TIMES.iter().map(|(name, _)| *name));
        let cells = |r: &RowDoc| {
            let mut cells = vec![format!("{:.2}", r.speedup), format!("{:.2}", r.ideal)];
            cells.push(format!("{:.3}", self.milliseconds(r)));
            cells.extend(TIMES.iter().map(|(_, of)| format!("{:.1}", r.share(of(&r.row)))));
            cells
        };
        ("speedup over one processor; percent of the processors' time", self.rows_of(&names, cells))
    }

    /// Times by phase of the program, of the machine as it is; without rows if no thread was in one.
    pub(super) fn phases(&self) -> Titled {
        let keys = ["nodes", "protocol", "phase"].map(|name| Column::words(name, 0));
        let names = ["all"].into_iter().chain(TIMES[..PHASE_TIMES].iter().map(|(name, _)| *name));
        let mut table = Table::new(keys.into_iter().chain(names.map(Column::number)).collect());
        for (r, p) in self.in_phases() {
            let shares = [p.cycles()].into_iter().chain(p.classes()).map(|cycles| format!("{:.1}", r.share(cycles)));
            table.push_words([r.shape(), r.row.protocol.to_owned(), phase_name(p)].into_iter().chain(shares));
        }
        ("by phase of the program; percent of the processors' time in the whole run", table)
    }
    /// Phases of rows of the machine as it is, those with most time.
    pub(super) fn in_phases(&self) -> impl Iterator<Item = (&RowDoc, &InPhase)> {
        let has_phases = |r: &&RowDoc| r.row.phases.iter().any(|p| !p.name.is_empty());
        let of = |r: &'_ RowDoc| {
            let mut most: Vec<usize> = (0..r.row.phases.len()).collect();
            most.sort_by_key(|at| std::cmp::Reverse(r.row.phases[*at].cycles()));
            most.truncate(PHASES_MOST);
            most.sort_unstable();
            most
        };
        self.plain().filter(has_phases).flat_map(move |r| of(r).into_iter().map(move |at| (r, &r.row.phases[at])))
    }

    /// What the protocol computed, and what it did.
    pub(super) fn work(&self) -> [Titled; 2] {
        let names = |of: &[Number]| -> Vec<&'static str> { of.iter().map(|(name, _)| *name).collect() };
        let work = |r: &RowDoc| WORK.iter().map(|(_, of)| format!("{:.1}", r.share(of(&r.row)))).collect();
        let counts = |r: &RowDoc| COUNTS.iter().map(|(_, of)| of(&r.row).to_string()).collect();
        let title = "work of the protocol, within these times, in percent of the processors' time";
        [(title, self.rows_of(&names(&WORK), work)), ("what the protocol did", self.rows_of(&names(&COUNTS), counts))]
    }

    /// How buses, interfaces and links were used.
    pub(super) fn servers(&self) -> Titled {
        let names: Vec<&str> = self.rows.first().iter().flat_map(|r| &r.row.servers).map(|s| s.name).collect();
        let cells = |r: &RowDoc| {
            let cell =
                |s: &Server| format!("{:.0} {:.0} {:.0}", r.used(s), mean(s.waits.waited, s), mean(s.waits.busy, s));
            r.row.servers.iter().map(cell).collect()
        };
        let title = "the busiest of each kind: percent of the run at work; of all, mean cycles in front and in service";
        (title, self.rows_of(&names, cells))
    }

    /// What each change saves.
    pub(super) fn saved(&self) -> Titled {
        let columns = KEYS.iter().map(|name| Column::words(*name, 0)).chain([Column::number("saves %")]);
        let mut table = Table::new(columns.collect());
        for (r, saves) in self.rows.iter().filter_map(|r| Some((r, r.saves_percent?))) {
            table.push(self.key(r).into_iter().chain([Cell::from(format!("{saves:.1}"))]));
        }
        ("time that a cluster saves of which this is another one", table)
    }

    /// What threads waited for: objects, locks and barriers.
    pub(super) fn waited_for(&self) -> [Titled; 2] {
        let columns = |left: &[&'static str], right: &[&'static str]| {
            let left = left.iter().map(|name| Column::words(*name, 0));
            Table::new(left.chain(right.iter().map(|name| Column::number(*name))).collect())
        };
        let counts = ["waited %", "pages", "faults", "fetches", "invalidations"];
        let mut pages = columns(&["nodes", "protocol", "object"], &counts);
        let mut locks = columns(&["nodes", "protocol", "kind", "object"], &["waited %", "times"]);
        for r in self.plain() {
            let share = |cycles: u64| format!("{:.1}", r.share(cycles));
            for o in &r.objects {
                let counts = [o.pages, o.faults, o.fetches, o.invalidations].map(|n| n.to_string());
                let front = [r.shape(), r.row.protocol.to_owned(), o.object.clone(), share(o.waited)];
                pages.push_words(front.into_iter().chain(counts));
            }
            for l in &r.locks {
                let place = format!("{} ({:#x})", l.object, l.address);
                let front = [r.shape(), r.row.protocol.to_owned(), l.kind.to_owned(), place];
                locks.push_words(front.into_iter().chain([share(l.waited), l.times.to_string()]));
            }
        }
        [("objects whose pages threads waited for", pages), ("locks and barriers that they waited for", locks)]
    }

    fn rows_of(&self, names: &[&'static str], cells: impl Fn(&RowDoc) -> Vec<String>) -> Table {
        let keys = KEYS.iter().map(|name| Column::words(*name, 0));
        let mut table = Table::new(keys.chain(names.iter().map(|name| Column::number(*name))).collect());
        for r in &self.rows {
            table.push(self.key(r).into_iter().chain(cells(r).into_iter().map(Cell::from)));
        }
        table
    }

    fn key(&self, r: &RowDoc) -> Vec<Cell<'static>> {
        let what_if = self.change(r).map_or(Cell::Absent, Cell::from);
        vec![Cell::from(r.shape()), Cell::from(r.row.protocol), what_if]
    }
}

/// Of what a kind of server served, a mean.
pub(super) fn mean(cycles: u64, of: &Server) -> f64 {
    cycles as f64 / of.waits.served.max(1) as f64
}

/// Name of a phase for people.
pub(super) fn phase_name(p: &InPhase) -> String {
    match p.name.as_str() {
        "" => "outside".to_owned(),
        name => Construct::of(name).map_or_else(|| name.to_owned(), |c| c.words()),
    }
}
