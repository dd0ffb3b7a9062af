//! Host thread ids to dataset threads, which are indices of the ring table.
use crate::control::Control;
use homenode_base::ring::ENTRY_FREE;
use std::collections::{BTreeSet, HashMap};

/// Who is who. Times are the samples': what they say of a thread is asked when they are old enough to be written.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_tid: HashMap<u32, u32>,
    /// By index: whether the entry has been given its thread id (or never will be).
    linked: Vec<bool>,
    /// By index: whether this recorder claimed it.
    own: Vec<bool>,
    /// Processes of which the preloaded library reports threads and modules.
    reporting: BTreeSet<u32>,
    /// Threads that no entry was left for.
    pub(super) nameless: u64,
}

/// What became of a question for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadLookup {
    /// Known before, with or without a ring.
    Known(u32),
    /// Without a ring; got an entry in the ring table now.
    New(u32),
}

impl Names {
    /// Learns which threads have entered themselves in the ring table since the last call.
    pub(super) fn refresh(&mut self, control: &Control) {
        let rings = control.rings();
        self.linked.resize(rings as usize, false);
        self.own.resize(rings as usize, false);
        for index in 0..rings {
            if self.linked[index as usize] {
                continue;
            }
            let entry = control.entry(index);
            if entry.state != ENTRY_FREE as u32 && entry.tid != 0 {
                self.linked[index as usize] = true;
                self.reporting.insert(entry.pid);
                self.by_tid.insert(entry.tid, index);
            }
        }
    }
    /// The dataset thread of a host thread; one that is not known gets an entry. `None` if the table is full.
    pub(super) fn find(&mut self, control: &Control, pid: u32, tid: u32, parent: Option<u32>) -> Option<ThreadLookup> {
        if let Some(&thread) = self.by_tid.get(&tid) {
            return Some(ThreadLookup::Known(thread));
        }
        let Some(index) = control.claim(pid, tid, parent) else {
            self.nameless += 1;
            return None;
        };
        let past = index as usize + 1;
        self.linked.resize(self.linked.len().max(past), false);
        self.own.resize(self.own.len().max(past), false);
        (self.linked[index as usize], self.own[index as usize]) = (true, true);
        self.by_tid.insert(tid, index);
        Some(ThreadLookup::New(index))
    }
    /// The dataset thread of a host thread, if it has one.
    pub(super) fn known(&self, tid: u32) -> Option<u32> {
        self.by_tid.get(&tid).copied()
    }
    /// The host may give the number to somebody else from now on.
    pub(super) fn forget(&mut self, tid: u32) {
        self.by_tid.remove(&tid);
    }
    /// Whether the preloaded library (or the hooks runtime) of this process reports for itself.
    pub(super) fn reports(&self, pid: u32) -> bool {
        self.reporting.contains(&pid)
    }
    /// Whether this recorder made the entry, so that there is no ring.
    pub(super) fn is_own(&self, thread: u32) -> bool {
        self.own.get(thread as usize).copied().unwrap_or(false)
    }
    /// Whether any process reports for itself.
    pub(super) fn anybody_reports(&self) -> bool {
        !self.reporting.is_empty()
    }
}

/// Threads of a running process, oldest first.
pub(super) fn threads_of(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let tids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    let mut tids: Vec<(u64, u32)> = tids.map(|tid| (start_ticks(pid, tid).unwrap_or(u64::MAX), tid)).collect();
    tids.sort_unstable();
    tids.into_iter().map(|(_, tid)| tid).collect()
}

/// Field 22 of the thread's stat: when it started, in clock ticks since boot.
fn start_ticks(pid: u32, tid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    // The name, in parentheses, may contain anything; field 3 follows it.
    stat.rsplit(')').next()?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Parent of a process, 0 if unknown.
pub(super) fn parent_of(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|s| s.split_ascii_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
