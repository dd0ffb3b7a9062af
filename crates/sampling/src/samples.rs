//! What every sampling way of capture delivers, so that recorder and live loop do not care which one it is.
use crate::SamplingError;
use homenode_host::clock::{Clock, Real};
use homenode_trace::{DataSource, Op, SampleUnit};
use std::sync::Arc;
use std::time::Duration;

/// One sample as it came from the kernel or from the preloaded sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSample {
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// Process id on the host.
    pub pid: u32,
    /// Thread id on the host.
    pub tid: u32,
    /// Processor; `None` if not recorded.
    pub cpu: Option<u32>,
    /// Program counter; 0 if not known.
    pub ip: u64,
    /// Virtual address of the data.
    pub addr: u64,
    /// Bytes, at least 1; 1 if not known.
    pub size: u32,
    /// Operation; a page fault whose kind is not known counts as a read.
    pub op: Op,
    /// How many units it stands for, at least 1.
    pub weight: u32,
    /// Latency in processor cycles, if measured.
    pub latency_cycles: Option<u32>,
    /// Where the data came from.
    pub source: DataSource,
}

/// What happened besides samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A thread was created (a process if `pid` differs from `parent_pid`).
    Fork {
        /// Nanoseconds of CLOCK_MONOTONIC.
        time_ns: u64,
        /// Process of the thread.
        pid: u32,
        /// The thread.
        tid: u32,
        /// Process that created it.
        parent_pid: u32,
        /// Thread that created it.
        parent_tid: u32,
    },
    /// A thread ended.
    Exit {
        /// Nanoseconds of CLOCK_MONOTONIC.
        time_ns: u64,
        /// Process of the thread.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Executable or data was mapped.
    Map {
        /// Nanoseconds of CLOCK_MONOTONIC.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// First byte.
        addr: u64,
        /// Bytes.
        bytes: u64,
        /// Offset in the file.
        file_offset: u64,
        /// Protection bits as in mmap(2); 0 if not known.
        prot: u32,
        /// Path, or a name in brackets.
        path: String,
    },
    /// This many samples were lost.
    Lost(u64),
    /// The kernel reduced the rate.
    Throttled,
}

/// A stream of samples of one process tree. Not `Send`-bound to any thread; dropped = switched off.
pub trait SampleSource {
    /// What weights count.
    fn unit(&self) -> SampleUnit;
    /// The event in words.
    fn event(&self) -> String;
    /// Whether stores are seen.
    fn sees_writes(&self) -> bool;
    /// Waits at most `timeout` for news and appends them in order of time as far as the kernel allows. Returns false when
    /// the process tree has ended and nothing is left.
    ///
    /// # Errors
    /// The kernel refuses; a damaged record (which never happens with an honest kernel) is counted, not an error.
    fn poll(
        &mut self,
        timeout: Duration,
        samples: &mut Vec<RawSample>,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError>;
    /// Wanted samples per second of all processors together; a source may round or ignore (0 = pause).
    fn set_rate(&mut self, per_second: u64) -> Result<(), SamplingError>;
    /// Samples lost so far, those told by [`Notice::Lost`] included.
    fn lost(&self) -> u64;
    /// Samples dropped so far because they had no address of user space.
    fn unaddressed(&self) -> u64 {
        0
    }
    /// Accesses to memory that one unit of weight is taken for, where weights do not count them: an assumption.
    fn assumed_accesses(&self) -> Option<u32> {
        None
    }
    /// What a user should know about what was sampled so far, in sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// The clock whose time samples carry, by which whoever polls waits, too.
    fn clock(&self) -> Arc<dyn Clock> {
        Real::shared()
    }
    /// Pages that the kernel moved by itself since sampling began, if known.
    fn kernel_moves(&self) -> Option<u64> {
        None
    }
}
