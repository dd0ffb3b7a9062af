//! What viewers get: everything with times, in picoseconds from the beginning.
use crate::phases::Slice;
use crate::scale::Scale;
use crate::windows::Window;
use homenode_sim::names::ObjectNames;
use homenode_trace::symbols::Symbols;

/// A thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// Index of its process.
    pub(crate) process: u32,
    /// Thread id on the recorded machine.
    pub(crate) tid: u32,
    /// Node where the machine has it.
    pub(crate) node: u16,
    /// When it was seen first and last; `None` if it did nothing.
    pub(crate) lived: Option<(u64, u64)>,
}

/// A recording over time.
pub(crate) struct Timeline<'n> {
    /// What was recorded.
    pub(crate) command: String,
    /// Which time the axis shows, and what is left out: a sentence each.
    pub(crate) notes: Vec<String>,
    /// Name of the machine.
    pub(crate) machine: String,
    /// Whether costs and bytes are estimates from samples.
    pub(crate) sampled: bool,
    /// Whether there are costs and bytes: windows of scanned pages say who uses a page, not how often.
    pub(crate) counts_accesses: bool,
    /// When the recording began (RFC 3339), if known.
    pub(crate) recorded_at: Option<String>,
    /// Executables by process, with the process id on the recorded machine.
    pub(crate) processes: Vec<(String, u32)>,
    pub(crate) threads: Vec<Thread>,
    /// Names of phases.
    pub(crate) phases: Vec<String>,
    pub(crate) slices: Vec<Slice>,
    pub(crate) windows: Vec<Window>,
    pub(crate) scale: Scale,
    pub(crate) names: ObjectNames<'n>,
    pub(crate) symbols: &'n Symbols,
}

impl Timeline<'_> {
    /// What a thread is called.
    pub(crate) fn thread(&self, thread: u32) -> String {
        let node = self.threads.get(thread as usize).map_or(0, |t| t.node);
        format!("thread {thread} on node {node}")
    }

    /// What a process is called.
    pub(crate) fn process(&self, process: usize) -> String {
        let (executable, pid) = &self.processes[process];
        let name = executable.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("process");
        if *pid == 0 { name.to_owned() } else { format!("{name} (pid {pid})") }
    }
}
