//! Why there is no virtual time for a recording on a cluster.
use homenode_machine::MapError;
use homenode_timed::engine::TimedError;
use homenode_trace::TraceError;

/// Why a recording cannot be run on a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The dataset, or its synchronisation.
    #[error(transparent)]
    Timed(#[from] TimedError),
    /// Threads and processors.
    #[error("--map: {0}")]
    Map(#[from] MapError),
    /// The machine says nothing of a network.
    #[error(
        "machine '{0}' has no [network] section, which clusters in virtual time need; machine 'svm-achievable' has one, and docs/machines.md describes it"
    )]
    NoSection(String),
    /// A barrier that the protocol cannot have.
    #[error(
        "barrier {object:#x} takes {parties} threads, one a processor, and the cluster has {processors} processors; there come {come}{}: a barrier is of the same processors every time; take nodes with {parties} processors in all, such as {parties}x1, or a map by which they are",
        missing_too(.missing)
    )]
    Barrier {
        /// Address of the barrier.
        object: u64,
        /// Threads that it takes.
        parties: u32,
        /// Processors of the cluster.
        processors: u32,
        /// Threads that come to it.
        come: String,
        /// Threads that do not.
        missing: String,
    },
    /// A barrier that is another one later.
    #[error(
        "barrier {object:#x} takes {before} threads, and later {parties}: on a cluster a barrier is one of the same threads every time"
    )]
    Parties {
        /// Address of the barrier.
        object: u64,
        /// Threads that it takes first.
        before: u32,
        /// Threads that it takes later.
        parties: u32,
    },
    /// Threads that nothing lets go on any more.
    #[error("deadlock, nothing happens any more: {waiting}{}", given_up(*.gone))]
    Deadlock {
        /// Who waits for what.
        waiting: String,
        /// Packets that were lost and not sent again.
        gone: u64,
    },
    /// More locks than there is room for the protocol's words of.
    #[error("the program has {locks} locks and barriers, and on {nodes} nodes at most {most} can be")]
    ManyLocks {
        /// Locks and barriers.
        locks: usize,
        /// Most of them.
        most: usize,
        /// Nodes.
        nodes: usize,
    },
    /// More pages than there is room for the protocol's words of.
    #[error(
        "{pages} pages are shared, and on {nodes} nodes at most {most} can be: take larger pages (--page) or fewer nodes (--nodes)"
    )]
    ManyPages {
        /// Shared pages.
        pages: usize,
        /// Most of them.
        most: usize,
        /// Nodes.
        nodes: usize,
    },
}

/// Numbers of threads, in words; nothing if there are none.
pub(crate) fn threads(numbers: impl Iterator<Item = u32>) -> String {
    let numbers: Vec<String> = numbers.map(|n| n.to_string()).collect();
    match &numbers[..] {
        [] => String::new(),
        [one] => format!("thread {one}"),
        more => format!("threads {}", more.join(", ")),
    }
}

fn missing_too(threads: &str) -> String {
    if threads.is_empty() { String::new() } else { format!(", and not {threads}") }
}

fn given_up(packets: u64) -> String {
    match packets {
        0 => String::new(),
        n => format!(" ({n} packets were lost for ever: 'tries' of --faults)"),
    }
}

impl From<TraceError> for ClusterError {
    fn from(e: TraceError) -> ClusterError {
        ClusterError::Timed(e.into())
    }
}
