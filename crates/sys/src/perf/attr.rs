//! `struct perf_event_attr` of perf_event_open(2), and the few constants of its ABI that this project speaks.

/// What to count or sample. Plain data: every bit pattern is safe, the kernel refuses what it does not know. Layout of
/// kernel 5.19 (136 bytes); an older kernel accepts it as long as what it does not know is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Attr {
    /// Number of the PMU.
    pub kind: u32,
    /// Bytes of this structure; [`Attr::new`] sets it.
    pub size: u32,
    /// Event within the PMU.
    pub config: u64,
    /// Events from one sample to the next (with [`flag::FREQ`]: samples per second).
    pub period: u64,
    /// Fields of a sample: bits of [`sample`].
    pub sample_type: u64,
    /// Fields of a counter value.
    pub read_format: u64,
    /// Bits of [`flag`].
    pub flags: u64,
    /// Bytes (with [`flag::WATERMARK`]) or samples after which a waiting reader is woken.
    pub wakeup: u32,
    /// Kind of a hardware breakpoint.
    pub breakpoint: u32,
    /// Second configuration word.
    pub config1: u64,
    /// Third configuration word.
    pub config2: u64,
    /// Which branches to record.
    pub branch_sample_type: u64,
    /// Which registers of user space to record.
    pub regs_user: u64,
    /// Bytes of user stack to record.
    pub stack_user: u32,
    /// Clock of the time stamps, with [`flag::USE_CLOCKID`].
    pub clockid: i32,
    /// Which registers at the interrupt to record.
    pub regs_intr: u64,
    /// Bytes of AUX data after which a reader is woken.
    pub aux_watermark: u32,
    /// Longest call chain.
    pub max_stack: u16,
    /// Unused.
    pub reserved2: u16,
    /// Bytes of AUX data copied into a sample.
    pub aux_sample_size: u32,
    /// Unused.
    pub reserved3: u32,
    /// Passed to a signal handler.
    pub sig_data: u64,
    /// Fourth configuration word.
    pub config3: u64,
}

impl Attr {
    /// Counts event `config` of PMU `kind`, everything else off.
    pub fn new(kind: u32, config: u64) -> Attr {
        Attr { kind, config, size: size_of::<Attr>() as u32, ..Attr::default() }
    }
    /// With these bits of [`flag`] besides.
    #[must_use]
    pub fn with(mut self, flags: u64) -> Attr {
        self.flags |= flags;
        self
    }
    /// The field `precise_ip`: 0 (arbitrary skid) to 3 (none).
    #[must_use]
    pub fn precise(mut self, level: u64) -> Attr {
        self.flags = self.flags & !(3 << 15) | (level & 3) << 15;
        self
    }
}

/// Bits of [`Attr::flags`].
pub mod flag {
    /// Off until enabled.
    pub const DISABLED: u64 = 1;
    /// Children are counted too.
    pub const INHERIT: u64 = 1 << 1;
    /// Not the kernel.
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    /// Not the hypervisor.
    pub const EXCLUDE_HV: u64 = 1 << 6;
    /// Records of executable mappings.
    pub const MMAP: u64 = 1 << 8;
    /// Records of names.
    pub const COMM: u64 = 1 << 9;
    /// [`super::Attr::period`] is a frequency.
    pub const FREQ: u64 = 1 << 10;
    /// Switched on by the next exec.
    pub const ENABLE_ON_EXEC: u64 = 1 << 12;
    /// Records of fork and exit.
    pub const TASK: u64 = 1 << 13;
    /// [`super::Attr::wakeup`] counts bytes.
    pub const WATERMARK: u64 = 1 << 14;
    /// Records of other mappings.
    pub const MMAP_DATA: u64 = 1 << 17;
    /// All records carry thread, time and identity.
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
    /// Mapping records with inode and protection.
    pub const MMAP2: u64 = 1 << 23;
    /// Name records say whether they come from exec.
    pub const COMM_EXEC: u64 = 1 << 24;
    /// [`super::Attr::clockid`] is used.
    pub const USE_CLOCKID: u64 = 1 << 25;
}

/// Bits of [`Attr::sample_type`].
pub mod sample {
    /// Program counter.
    pub const IP: u64 = 1;
    /// Process and thread.
    pub const TID: u64 = 1 << 1;
    /// Time stamp.
    pub const TIME: u64 = 1 << 2;
    /// Data address.
    pub const ADDR: u64 = 1 << 3;
    /// Counter values.
    pub const READ: u64 = 1 << 4;
    /// Call chain.
    pub const CALLCHAIN: u64 = 1 << 5;
    /// Identity of the event.
    pub const ID: u64 = 1 << 6;
    /// Processor.
    pub const CPU: u64 = 1 << 7;
    /// Period in force.
    pub const PERIOD: u64 = 1 << 8;
    /// Identity of the event instance.
    pub const STREAM_ID: u64 = 1 << 9;
    /// Raw data of tracepoints and of IBS.
    pub const RAW: u64 = 1 << 10;
    /// Branch records.
    pub const BRANCH_STACK: u64 = 1 << 11;
    /// Registers of user space.
    pub const REGS_USER: u64 = 1 << 12;
    /// Stack of user space.
    pub const STACK_USER: u64 = 1 << 13;
    /// Latency as one number.
    pub const WEIGHT: u64 = 1 << 14;
    /// Where the data came from.
    pub const DATA_SRC: u64 = 1 << 15;
    /// Identity in front of all else.
    pub const IDENTIFIER: u64 = 1 << 16;
    /// Transaction.
    pub const TRANSACTION: u64 = 1 << 17;
    /// Registers at the interrupt.
    pub const REGS_INTR: u64 = 1 << 18;
    /// Physical address.
    pub const PHYS_ADDR: u64 = 1 << 19;
    /// AUX data.
    pub const AUX: u64 = 1 << 20;
    /// Control group.
    pub const CGROUP: u64 = 1 << 21;
    /// Page size of the data.
    pub const DATA_PAGE_SIZE: u64 = 1 << 22;
    /// Page size of the code.
    pub const CODE_PAGE_SIZE: u64 = 1 << 23;
    /// Latencies as three numbers.
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// [`Attr::kind`] of software events.
pub const KIND_SOFTWARE: u32 = 1;
/// Software event: nanoseconds of a processor's clock while the thread runs.
pub const SOFTWARE_CPU_CLOCK: u64 = 0;
/// Software event: page faults of any kind.
pub const SOFTWARE_PAGE_FAULTS: u64 = 2;
/// Software event that counts nothing and only carries side-band records.
pub const SOFTWARE_DUMMY: u64 = 9;
