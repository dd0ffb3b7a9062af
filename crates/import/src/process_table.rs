//! Processes, threads and mappings of a file, numbered as the dataset numbers them: those with samples, in the order of
//! their first sample.
use homenode_sampling::Notice;
use homenode_symbols::Mapping;
use homenode_trace::EventKind;
use homenode_trace::manifest::{Process, Thread};
use std::collections::{BTreeMap, HashMap};

/// Protection bit of mmap(2).
const PROT_EXEC: u32 = 4;
/// Most mappings kept for one process.
const MAPS_MAX: usize = 65_536;

/// The events that a mapping is in a dataset. Whether the file is still what it was is not known, so a module's bias is taken
/// as if the file were linked at its offsets, which is what linkers do.
fn events(mapping: &Mapping) -> Vec<EventKind> {
    let &Mapping { addr, bytes, file_offset, prot, .. } = mapping;
    let mut events = vec![EventKind::Map { addr, bytes, prot, flags: 0, device: 0, inode: 0, offset: None }];
    if is_code(mapping) {
        let (bias, bytes) = (addr.wrapping_sub(file_offset), file_offset.saturating_add(bytes));
        events.push(EventKind::Module { bias, bytes, path: mapping.path.clone() });
    }
    events
}

fn is_code(mapping: &Mapping) -> bool {
    // Old records have no protection and are of code only.
    (mapping.prot == 0 || mapping.prot & PROT_EXEC != 0) && mapping.path.starts_with('/')
}

#[derive(Debug, Default)]
struct ProcessEntry {
    /// Index in the dataset, once it has a sample.
    index: Option<u32>,
    /// The dataset thread that speaks for it.
    speaker: u32,
    parent: u32,
    name: String,
    maps: Vec<Mapping>,
}

/// Processes and threads that the importer has met, with the rows of the manifest for those with samples.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    known: BTreeMap<u32, ProcessEntry>,
    threads: HashMap<(u32, u32), u32>,
    /// Rows of the manifest.
    pub(super) rows: Vec<Thread>,
    /// Rows of the manifest.
    pub(super) processes: Vec<Process>,
}

/// What is new when a thread is asked for.
pub(super) struct ThreadLookup {
    pub(super) thread: u32,
    /// Events with which its process begins, if it is the first one of it.
    pub(super) begin: Vec<EventKind>,
}

impl ProcessTable {
    /// The dataset thread of a host thread.
    pub(super) fn thread(&mut self, pid: u32, tid: u32) -> ThreadLookup {
        if let Some(&thread) = self.threads.get(&(pid, tid)) {
            return ThreadLookup { thread, begin: Vec::new() };
        }
        let thread = self.rows.len() as u32;
        let known = self.known.entry(pid).or_default();
        let mut begin = Vec::new();
        let process = *known.index.get_or_insert_with(|| {
            known.speaker = thread;
            begin.push(EventKind::Process { pid, parent: known.parent });
            begin.extend(known.maps.iter().flat_map(events));
            let address_space = self.processes.len() as u32;
            let code = known.maps.iter().find(|m| is_code(m)).map(|m| m.path.clone());
            let executable = code.unwrap_or_else(|| known.name.clone());
            self.processes.push(Process { pid, address_space, executable });
            address_space
        });
        self.threads.insert((pid, tid), thread);
        self.rows.push(Thread { process, tid, ..Thread::default() });
        ThreadLookup { thread, begin }
    }
    /// A process took a name; by exec it lost its mappings.
    pub(super) fn name(&mut self, pid: u32, name: &str, exec: bool) {
        let known = self.known.entry(pid).or_default();
        known.name = name.to_owned();
        if exec {
            known.maps.clear();
        }
    }
    /// Takes note; returns the thread and the events if the dataset should say it.
    pub(super) fn notice(&mut self, notice: &Notice) -> Option<(u32, Vec<EventKind>)> {
        match notice {
            Notice::Fork { pid, parent_pid, time_ns, .. } if pid != parent_pid => {
                // `perf` describes processes that were there before with forks at time 0; their mappings follow.
                let parent = self.known.get(parent_pid).filter(|_| *time_ns > 0);
                let maps = parent.map(|k| k.maps.clone()).unwrap_or_default();
                let known = self.known.entry(*pid).or_default();
                known.parent = *parent_pid;
                if known.maps.is_empty() {
                    known.maps = maps;
                }
                None
            }
            Notice::Exit { pid, tid, .. } => {
                let thread = self.threads.remove(&(*pid, *tid))?;
                Some((thread, vec![EventKind::Exit]))
            }
            Notice::Map { pid, addr, bytes, file_offset, prot, path, .. } => {
                let mapping =
                    Mapping { addr: *addr, bytes: *bytes, file_offset: *file_offset, prot: *prot, path: path.clone() };
                self.mapped(*pid, mapping)
            }
            _ => None,
        }
    }
    fn mapped(&mut self, pid: u32, mapping: Mapping) -> Option<(u32, Vec<EventKind>)> {
        // The kernel's own image is mapped "by" process 2^32 - 1.
        if mapping.addr >= 1 << 63 || pid == u32::MAX {
            return None;
        }
        let known = self.known.entry(pid).or_default();
        let events = events(&mapping);
        if known.maps.len() < MAPS_MAX {
            known.maps.push(mapping);
        }
        known.index.is_some().then_some((known.speaker, events))
    }
    /// The module and offset of a program counter.
    pub(super) fn place(&self, process: u32, pc: u64) -> Option<(&str, u64)> {
        let pid = self.processes.get(process as usize)?.pid;
        let maps = &self.known.get(&pid)?.maps;
        // The youngest mapping that covers it holds.
        let m = maps.iter().rev().find(|m| pc.checked_sub(m.addr).is_some_and(|d| d < m.bytes) && is_code(m))?;
        Some((&m.path, (pc - m.addr).wrapping_add(m.file_offset)))
    }
}
