//! The checker behind `homenode check`: reads every byte of a dataset and says what is wrong.
//!
//! The checker shares as little as it can with the reader: frames are walked and decoded a second time by a plain
//! decoder that follows `docs/format.md` ([`plain`]), the order is tested on the events alone, counts are taken anew.
mod events;
mod frames;
mod order;
pub mod plain;

use crate::dataset::DatasetReader;
use crate::packed::SyncEvent;
use homenode_base::numbers::{Numbers, Room};
use serde::Serialize;

/// Problems listed one by one; further ones are only counted.
const PROBLEMS_LISTED: usize = 100;

/// What the checker found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// What is wrong, in order of discovery, at most 100.
    pub problems: Vec<Problem>,
    /// How many problems there are.
    pub problem_count: u64,
    /// Things worth knowing that are not wrong, such as a torn end of a recording that was killed.
    pub notes: Vec<String>,
    /// Threads.
    pub threads: u64,
    /// Frames decoded.
    pub frames: u64,
    /// References decoded, spins included.
    pub refs: u64,
    /// Of these, spins.
    pub spins: u64,
    /// Events.
    pub events: u64,
    /// Bytes of all thread files and the event file.
    pub bytes: u64,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// File inside the dataset.
    pub file: String,
    /// What and where in it.
    pub what: String,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn ok(&self) -> bool {
        self.problem_count == 0
    }
    fn problem(&mut self, file: &str, what: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_LISTED {
            self.problems.push(Problem { file: file.to_owned(), what: what.into() });
        }
    }
}

/// Checks a dataset that could be opened. Never fails: what cannot be read is a problem too.
pub fn check(data: &DatasetReader) -> CheckReport {
    let mut report = CheckReport { threads: data.threads().into(), ..CheckReport::default() };
    let found: Vec<frames::FramesSummary> = (0..data.threads()).map(|t| frames::check(data, t, &mut report)).collect();
    events::check(data, &found, &mut report);
    if let Err(stuck) = order::check(data) {
        report.problem(crate::dataset::EVENTS_FILE, stuck);
    }
    names(data, &mut report);
    if !data.manifest().complete {
        report.notes.push(format!("the recording did not end in order: {}", ended(data)));
    }
    report
}

fn ended(data: &DatasetReader) -> &str {
    if data.manifest().ended.is_empty() { "no reason is recorded" } else { &data.manifest().ended }
}

/// Empty sets, one for each synchronisation object, with room for the numbers of these acquires and releases.
fn room(data: &DatasetReader, of: impl Fn(&SyncEvent) -> bool) -> Numbers {
    let mut room = Room::new(data.events().objects().len());
    each_sync(data, |s| {
        if of(&s) {
            room.count(s.object, s.seq);
        }
    });
    Numbers::new(room)
}

/// The acquires and releases of each thread, one after the other.
fn each_sync(data: &DatasetReader, mut f: impl FnMut(SyncEvent)) {
    for thread in 0..data.threads() {
        let mut walk = data.thread_events(thread);
        while let Some(item) = walk.item() {
            item.sync().into_iter().for_each(&mut f);
        }
    }
}

/// Thread files that the manifest does not know.
fn names(data: &DatasetReader, report: &mut CheckReport) {
    let names = match data.store().names() {
        Ok(names) => names,
        Err(e) => return report.problem("", format!("the files cannot be listed: {e}")),
    };
    for name in names {
        let number = name.strip_prefix("threads/").and_then(|n| n.strip_suffix(".frames"));
        if number.is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n >= data.threads())) {
            let what = format!("the manifest has only {} threads", data.threads());
            report.problem(&name, what);
        }
    }
}
