//! Why there is no virtual time for a recording.
use homenode_trace::TraceError;

/// Why a recording cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum TimedError {
    /// The dataset.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A sample says nothing about the references around it.
    #[error("virtual time needs every reference, and this recording is sampled: record with `--backend hooks`")]
    Sampled,
    /// A barrier that too few threads reach.
    #[error(
        "barrier {object:#x} waits for {parties} threads, and {arrived} have come (threads {threads}): the recording has {arrivals} arrivals in all, which is no multiple of {parties}"
    )]
    Unmatched {
        /// Address of the barrier.
        object: u64,
        /// Threads that it takes.
        parties: u32,
        /// Threads that wait in it.
        arrived: u32,
        /// Who they are.
        threads: String,
        /// Arrivals in the whole recording.
        arrivals: u64,
    },
    /// Threads that nothing lets go on any more.
    #[error("threads {} wait for each other, and nothing happens any more", numbers(.0))]
    Suspended(Vec<u32>),
    /// Two threads on one processor at the same time.
    #[error(
        "threads {0} and {1} live at the same time and would share processor {2}: more threads than processors; take a machine with more nodes, or --map"
    )]
    Shared(u32, u32, u16),
    /// A thread on a processor that the memory system lacks.
    #[error("thread {0} is on processor {1}, and the memory system has {2}")]
    NoProcessor(u32, u32, u32),
}

fn numbers(threads: &[u32]) -> String {
    threads.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
}
