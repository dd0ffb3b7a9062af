//! `homenode svm report`: where the time of a run on nodes went, and beside another run, what that one did without.
use crate::advice::{Advice, Evidence, Mean, advice, finished};
use crate::doc::{SCHEMA, SvmDoc, TrafficDoc};
use crate::pages::sum;
use homenode_command::Failure;
use homenode_sys::dir;
use homenode_table::{Column, Layout, Table, clean};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Identifier of these documents, described by `docs/schema/svm-report.json`.
const REPORT_SCHEMA: &str = "https://github.com/homenode/homenode/schema/svm-report-1";
/// Largest document that is read.
const BYTES_MOST: u64 = 256 << 20;
/// Rows of the tables of objects, pages and locks.
const ROWS: usize = 8;

/// A run, what it could do without, and a run that it is compared with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SvmReport {
    /// Identifier of this kind of document, described by `docs/schema/svm-report.json`.
    #[schemars(extend("const" = REPORT_SCHEMA))]
    pub schema: &'static str,
    /// The run.
    pub run: SvmDoc,
    /// Seconds a thread, over all threads that ended.
    pub mean: Mean,
    /// What takes time that could be saved, the most first.
    pub advice: Vec<Advice>,
    /// Why there is no advice, if there is none.
    pub without_advice: Option<String>,
    /// The other run.
    pub compared: Option<Compared>,
}

/// Another run, compared with the first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// The other run.
    pub run: SvmDoc,
    /// Seconds a thread there.
    pub mean: Mean,
    /// Seconds a thread of the first run over those of the other.
    pub speedup: Option<f64>,
    /// Class of time that differs most, in the direction in which the whole does, and how many seconds a thread the other run saved of it.
    pub saved_most: Option<(String, f64)>,
}

/// Reads the document of a run, and that of another one.
///
/// # Errors
/// A file cannot be read, or is no document of `homenode svm run`.
pub fn report(run: &Path, compare: Option<&Path>) -> Result<SvmReport, Failure> {
    let run = load(run)?;
    let mean = Mean::of(finished(&run));
    let compared = compare.map(|other| load(other).map(|other| compared(&mean, other))).transpose()?;
    let (advice, without_advice) = advice(&Evidence::of(&run));
    Ok(SvmReport { schema: REPORT_SCHEMA, mean, advice, without_advice, compared, run })
}

fn load(path: &Path) -> Result<SvmDoc, Failure> {
    let bytes = dir::content(path, BYTES_MOST).map_err(|e| Failure::work(format!("{}: {e}", path.display())))?;
    let bad = |why: String| Failure::input(format!("{}: no document of `homenode svm run -o`: {why}", path.display()));
    let doc: SvmDoc = serde_json::from_slice(&bytes).map_err(|e| bad(clean(&e.to_string())))?;
    if doc.schema != SCHEMA {
        return Err(bad(format!("its schema is '{}' and not {SCHEMA}", clean(&doc.schema))));
    }
    Ok(doc)
}

fn compared(mean: &Mean, run: SvmDoc) -> Compared {
    let other = Mean::of(finished(&run));
    let saved = mean.classes().into_iter().zip(other.classes()).map(|((name, a), (_, b))| (name, a - b));
    let direction = if mean.seconds < other.seconds { -1.0 } else { 1.0 };
    let most = saved.filter(|(_, s)| s * direction > 0.0).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    Compared {
        speedup: (other.seconds > 0.0).then(|| mean.seconds / other.seconds),
        saved_most: most.map(|(name, seconds)| (name.to_owned(), seconds)),
        mean: other,
        run,
    }
}

impl SvmReport {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", headline(&self.run));
        let mut table = |title: &str, table: &Table| {
            if table.rows().next().is_some() {
                let _ = write!(out, "\n{title}\n{}", table.text(&Layout::default()));
            }
        };
        table("seconds a thread, by phase (the last two are part of the others)", &self.phases());
        table("what happened to shared memory, by object", &self.objects());
        table("pages to which most happened", &self.pages());
        table("locks, barriers, conditions and flags with the most time in them, all threads together", &self.locks());
        if let Some(other) = &self.compared {
            table(&format!("beside it: {}", headline(&other.run)), &self.beside(other));
        }
        let _ = writeln!(out);
        for a in &self.advice {
            let share = 100.0 * a.seconds / self.mean.seconds;
            let _ = writeln!(out, "{:.3} s a thread ({share:.0} %): {}", a.seconds, clean(&a.text));
        }
        self.without_advice.iter().for_each(|why| {
            let _ = writeln!(out, "{why}");
        });
        if let Some(other) = &self.compared {
            let _ = writeln!(out, "{}", self.verdict(other));
        }
        self.run.notes.iter().for_each(|note| {
            let _ = writeln!(out, "note: {}", clean(note));
        });
        out
    }

    fn phases(&self) -> Table {
        let names =
            ["phase", "threads", "total", "compute", "data", "lock", "barrier", "serving", "other", "mprotect", "diff"];
        let columns = names.iter().enumerate().map(|(at, name)| match at {
            0 => Column::words(*name, 8),
            _ => Column::number(*name),
        });
        let mut table = Table::new(columns.collect());
        let mut row = |name: &str, threads: usize, mean: &Mean| {
            let classes = mean.classes().map(|(_, seconds)| seconds);
            let seconds = [mean.seconds].into_iter().chain(classes).chain([mean.protect, mean.diff]);
            let front = [clean(name), threads.to_string()];
            table.push_words(front.into_iter().chain(seconds.map(|s| format!("{s:.3}"))));
        };
        row("all", finished(&self.run).count(), &self.mean);
        if self.run.phases.len() > 1 {
            for phase in &self.run.phases {
                let name = if phase.name.is_empty() { "outside" } else { &phase.name };
                row(name, phase.threads.len(), &Mean::of(phase.threads.iter()));
            }
        }
        table
    }

    fn objects(&self) -> Table {
        let mut table = traffic_table(&["object", "bytes"]);
        let mut objects: Vec<_> = self.run.objects.iter().filter(|o| heat(&o.traffic) > 0).collect();
        objects.sort_by_key(|o| std::cmp::Reverse(heat(&o.traffic)));
        for object in objects.iter().take(ROWS) {
            let name = if object.site.is_empty() { format!("{:#x}", object.address) } else { clean(&object.site) };
            table.push_words([name, object.bytes.to_string()].into_iter().chain(traffic_cells(&object.traffic)));
        }
        table
    }

    fn place(&self, object: Option<u32>, offset: u64) -> String {
        let named = object.and_then(|o| self.run.objects.get(o as usize)).filter(|o| !o.site.is_empty());
        named.map_or_else(|| format!("heap + {offset:#x}"), |o| format!("{} + {offset:#x}", clean(&o.site)))
    }

    fn pages(&self) -> Table {
        let mut table = traffic_table(&["page", "home"]);
        for page in self.run.pages.iter().take(ROWS) {
            let cells =
                [self.place(page.object, page.offset), page.home.map_or_else(|| "?".to_owned(), |h| h.to_string())];
            table.push_words(cells.into_iter().chain(traffic_cells(&page.traffic)));
        }
        table
    }

    fn locks(&self) -> Table {
        let names = [Column::words("name", 8), Column::words("what", 7)];
        let mut table =
            Table::new(names.into_iter().chain(["times", "remote", "seconds"].map(Column::number)).collect());
        for lock in self.run.locks.iter().take(ROWS) {
            let name = match lock.object {
                Some(_) => self.place(lock.object, lock.offset),
                None => format!("{:#x}", lock.name),
            };
            let numbers = [lock.times.to_string(), lock.remote.to_string(), format!("{:.3}", lock.seconds)];
            table.push_words([name, clean(&lock.what)].into_iter().chain(numbers));
        }
        table
    }

    fn beside(&self, other: &Compared) -> Table {
        let mut table = Table::new(
            [Column::words("", 0)].into_iter().chain(["this run", "the other", "saved"].map(Column::number)).collect(),
        );
        let mut row = |name: &str, a: f64, b: f64| {
            table.push_words([
                format!("{name}, s a thread"),
                format!("{a:.3}"),
                format!("{b:.3}"),
                format!("{:+.3}", a - b),
            ]);
        };
        row("all", self.mean.seconds, other.mean.seconds);
        for ((name, a), (_, b)) in self.mean.classes().into_iter().zip(other.mean.classes()) {
            row(name, a, b);
        }
        row("mprotect", self.mean.protect, other.mean.protect);
        row("diff", self.mean.diff, other.mean.diff);
        for (what, a) in totals(&self.run) {
            let b = totals(&other.run).into_iter().find(|(name, _)| *name == what).map_or(0, |(_, n)| n);
            if a > 0 || b > 0 {
                let saved = i128::from(a) - i128::from(b);
                table.push_words([what, a.to_string(), b.to_string(), format!("{saved:+}")]);
            }
        }
        table
    }

    fn verdict(&self, other: &Compared) -> String {
        let Some(speedup) = other.speedup.filter(|_| self.mean.seconds > 0.0) else {
            return "cannot tell which run is faster: no thread of one of them ended".to_owned();
        };
        let saved = match &other.saved_most {
            Some((class, seconds)) if *seconds > 0.0 => format!("; it saves most of {class}, {seconds:.3} s"),
            Some((class, seconds)) => format!("; most of what it takes more is {class}, {:.3} s", -seconds),
            None => String::new(),
        };
        let predicted = match self.advice.first() {
            Some(a) => {
                format!(
                    "; what is first above takes {:.3} s, saved were {:.3} s",
                    a.seconds,
                    self.mean.seconds - other.mean.seconds
                )
            }
            None => String::new(),
        };
        format!("the other run took {:.2} of the time a thread{saved}{predicted}", 1.0 / speedup)
    }
}

fn headline(doc: &SvmDoc) -> String {
    format!(
        "{}: {} nodes of {} threads, {} over {}, status {} after {:.2} s (measured)",
        clean(&doc.command.join(" ")),
        doc.nodes.len(),
        doc.threads_per_node,
        clean(&doc.with_options()),
        clean(&doc.transport),
        doc.exit_status,
        doc.seconds
    )
}

fn heat(traffic: &TrafficDoc) -> u64 {
    sum(&traffic.fetches).saturating_add(sum(&traffic.writes))
}

fn traffic_table(front: &[&'static str; 2]) -> Table {
    let numbers = ["fetches", "by node", "writes", "runs", "invalidations"];
    let front = [Column::words(front[0], 12), Column::words(front[1], 6)];
    Table::new(front.into_iter().chain(numbers.map(Column::number)).collect())
}

fn traffic_cells(traffic: &TrafficDoc) -> [String; 5] {
    let by_node: Vec<String> = traffic.fetches.iter().map(u64::to_string).collect();
    [
        sum(&traffic.fetches).to_string(),
        by_node.join(" "),
        sum(&traffic.writes).to_string(),
        traffic.runs.to_string(),
        traffic.invalidations.to_string(),
    ]
}

/// Counters and messages of all nodes together.
fn totals(doc: &SvmDoc) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    let mut add = |name: String, times: u64| match all.iter_mut().find(|(n, _)| *n == name) {
        Some((_, sum)) => *sum = sum.saturating_add(times),
        None => all.push((name, times)),
    };
    for node in &doc.nodes {
        node.counts.iter().for_each(|c| add(clean(&c.what), c.times));
        node.interrupts.iter().for_each(|c| add(format!("interrupts: {}", clean(&c.what)), c.times));
        node.messages.iter().for_each(|m| add(format!("{}: bytes", clean(&m.kind)), m.bytes));
    }
    all
}
