//! What the events say about processes and modules, collected while they pass by, and the tables made of it.
use crate::control::Entry;
use homenode_symbols::Module;
use homenode_trace::manifest::{Process, Thread};
use homenode_trace::writer::Counts;
use homenode_trace::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Processes, modules and phases that events have named so far.
#[derive(Debug, Default)]
pub(crate) struct Facts(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By the thread that begins the process: its pid.
    processes: BTreeMap<u32, u32>,
    /// By reporting thread.
    modules: BTreeMap<u32, Vec<Module>>,
    /// Names of phases that began, the first [`PHASES_MAX`] of them.
    phases: BTreeSet<String>,
}

/// More names of phases than anybody writes by hand; a program that makes them up must not fill the recorder's memory.
const PHASES_MAX: usize = 256;

/// Process and thread tables of the manifest, and the modules of each process.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) processes: Vec<Process>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) modules: Vec<Vec<Module>>,
}

impl Facts {
    /// Takes note of an event.
    pub(crate) fn see(&self, event: &Event) {
        match &event.kind {
            EventKind::Process { pid, .. } => {
                self.lock().processes.insert(event.thread, *pid);
            }
            EventKind::Module { bias, bytes, path } => {
                let module = Module { bias: *bias, bytes: *bytes, path: path.clone() };
                self.lock().modules.entry(event.thread).or_default().push(module);
            }
            EventKind::PhaseBegin { name } => {
                let phases = &mut self.lock().phases;
                if phases.len() < PHASES_MAX && !phases.contains(name) {
                    phases.insert(name.clone());
                }
            }
            _ => {}
        }
    }
    /// What to say if the phase that was to be recorded never began; `None` if it did, or too many others began to know.
    pub(crate) fn without_phase(&self, wanted: &str) -> Option<String> {
        let phases = &self.lock().phases;
        if phases.contains(wanted) || phases.len() >= PHASES_MAX {
            return None;
        }
        let named: Vec<String> = phases.iter().take(8).map(|p| format!("'{p}'")).collect();
        let instead = match named.is_empty() {
            true => "the program named no phase at all (homenode_phase_begin)".to_owned(),
            false => format!("phases that the program named: {}", named.join(", ")),
        };
        Some(format!("the phase '{wanted}' never began, so no reference was recorded; {instead}"))
    }
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the tables; `counts` and ring table entries by thread. Thread ids are ring indices: the order in which threads
    /// were created.
    pub(crate) fn tables(&self, entry_of: impl Fn(u32) -> Entry, counts: &[Counts]) -> Tables {
        let inner = self.lock();
        let mut tables = Tables::default();
        // Process index by (first thread, pid), so that a program that execs another one is two processes.
        let mut begun: Vec<(u32, u32)> = inner.processes.iter().map(|(&thread, &pid)| (thread, pid)).collect();
        for (thread, counts) in (0u32..).zip(counts) {
            let entry = entry_of(thread);
            let process = process_of(&mut begun, thread, &entry);
            let Counts { refs, spins, events } = *counts;
            let parent = entry.parent.filter(|&p| p < thread);
            tables.threads.push(Thread { process, tid: entry.tid, parent, refs, spins, events });
        }
        tables.modules = vec![Vec::new(); begun.len()];
        for (&thread, modules) in &inner.modules {
            if let Some(t) = tables.threads.get(thread as usize) {
                tables.modules[t.process as usize].extend_from_slice(modules);
            }
        }
        tables.processes = (0u32..)
            .zip(begun.iter().zip(&tables.modules))
            .map(|(i, (&(_, pid), modules))| Process {
                pid,
                address_space: i,
                executable: modules.first().map(|m| m.path.clone()).unwrap_or_default(),
            })
            .collect();
        tables
    }
}

/// Index into `begun` of the process of a thread: the latest process with its pid that began no later than the thread. A
/// process that never said so (killed before its first event) is added.
fn process_of(begun: &mut Vec<(u32, u32)>, thread: u32, entry: &Entry) -> u32 {
    let fits = |&(first, pid): &(u32, u32)| pid == entry.pid && first <= thread;
    let place = begun.iter().rposition(fits).or_else(|| begun.iter().position(|b| b.1 == entry.pid));
    let index = place.unwrap_or_else(|| {
        // An entry that nobody claimed has no pid; it belongs to the first process for want of a better one.
        if entry.pid != 0 || begun.is_empty() {
            begun.push((thread, entry.pid));
            begun.len() - 1
        } else {
            0
        }
    });
    u32::try_from(index).expect("there are at most RINGS_MAX processes")
}
