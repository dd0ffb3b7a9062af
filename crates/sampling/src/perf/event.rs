//! Which event to sample, turned into what perf_event_open(2) wants.
use super::decode::{Decoder, EventFacts};
use super::effective::Isa;
use super::pmu;
use super::records::Layout;
use homenode_sys::perf::Attr;
use homenode_sys::perf::attr::{KIND_SOFTWARE, SOFTWARE_CPU_CLOCK, SOFTWARE_PAGE_FAULTS, flag, sample};
use homenode_trace::{Op, SampleUnit};
use std::path::Path;

/// What to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventChoice {
    /// Page faults, every one: the software event, on every machine.
    PageFaults,
    /// What this machine's processor offers for loads (and stores where it sees them): Intel PEBS or AMD IBS.
    Memory,
    /// The access that each running thread is about to make, every so often by the processor's clock: its address comes from
    /// the registers and the code at that moment. On every machine whose instructions are understood.
    Clock,
}

/// One event to open per thread and processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// As for perf_event_open(2); [`Attr::sample_type`] is the same in all events of a plan.
    pub attr: Attr,
    /// A counting event that must lead this one's group.
    pub leader: Option<Attr>,
    /// What a sample does where it does not say.
    pub op: Op,
    /// See [`super::decode::EventFacts::only_misses`].
    pub only_misses: bool,
    /// Processors that have it; empty = all.
    pub cpus: Vec<u32>,
    /// The period must be a multiple of this.
    pub granule: u64,
}

/// Everything that a choice comes to on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPlan {
    /// Events; the first one also carries forks, names and mappings.
    pub events: Vec<Planned>,
    /// What weights count.
    pub unit: SampleUnit,
    /// In words.
    pub words: String,
    /// Whether stores are seen.
    pub sees_writes: bool,
    /// Whether the period may be changed (page faults are all taken).
    pub adjustable: bool,
    /// What a user should know: filters that the processor lacks and the like.
    pub notes: Vec<String>,
}

/// Fields that every sample carries here, so that one layout serves all events of a ring.
pub(crate) const COMMON: u64 =
    sample::IDENTIFIER | sample::IP | sample::TID | sample::TIME | sample::ADDR | sample::CPU | sample::PERIOD;

/// Flags that every event has here.
pub(crate) const COMMON_FLAGS: u64 =
    flag::DISABLED | flag::INHERIT | flag::SAMPLE_ID_ALL | flag::USE_CLOCKID | flag::WATERMARK;

/// Flags of the event that carries forks, names and mappings too.
pub(crate) const TRACKING: u64 = flag::TASK | flag::COMM | flag::COMM_EXEC | flag::MMAP | flag::MMAP_DATA | flag::MMAP2;

impl EventPlan {
    /// The decoder of rings that these events write; `opened` names for every open event its index in
    /// [`EventPlan::events`] and the number by which records name it.
    pub fn decoder(&self, opened: impl Iterator<Item = (usize, u64)>) -> Decoder {
        let fact = |(i, id): (usize, u64)| {
            let planned = self.events.get(i)?;
            Some(EventFacts { id, op: planned.op, period: planned.attr.period, only_misses: planned.only_misses })
        };
        let layout = self.events.first().map(|p| Layout::of(&p.attr)).unwrap_or_default();
        Decoder::new(layout, opened.filter_map(fact).collect())
    }
}

impl EventChoice {
    /// What this choice is on the machine whose `sys` is at `sysfs` (`/sys`, or a copy of it elsewhere).
    ///
    /// # Errors
    /// One line saying what is missing.
    pub fn plan(self, sysfs: &Path, period: u64) -> Result<EventPlan, String> {
        match self {
            EventChoice::PageFaults => Ok(page_faults()),
            EventChoice::Memory => pmu::memory_events(sysfs, period),
            EventChoice::Clock => clock(period),
        }
    }
}

fn page_faults() -> EventPlan {
    let mut attr = Attr::new(KIND_SOFTWARE, SOFTWARE_PAGE_FAULTS).with(COMMON_FLAGS);
    attr.period = 1;
    attr.sample_type = COMMON;
    EventPlan {
        events: vec![Planned { attr, leader: None, op: Op::Read, only_misses: false, cpus: vec![], granule: 1 }],
        unit: SampleUnit::Window,
        words: "page-faults".to_owned(),
        sees_writes: true,
        adjustable: false,
        notes: vec![],
    }
}

/// Nanoseconds between clock samples: some 600 a second of each busy processor, each of which takes it 1 to 2 us. Not in step
/// with the scheduler's ticks.
const CLOCK_NS: u64 = 1_700_000;

fn clock(period: u64) -> Result<EventPlan, String> {
    let isa = Isa::here().ok_or("the instructions of this machine are not decoded")?;
    let mut attr =
        Attr::new(KIND_SOFTWARE, SOFTWARE_CPU_CLOCK).with(COMMON_FLAGS | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
    attr.period = if period == 0 { CLOCK_NS } else { period };
    attr.sample_type = COMMON | sample::REGS_USER;
    attr.regs_user = isa.address_registers();
    Ok(EventPlan {
        events: vec![Planned { attr, leader: None, op: Op::Read, only_misses: false, cpus: vec![], granule: 1 }],
        unit: SampleUnit::Reference,
        words: "memory accesses at ticks of the processor clock".to_owned(),
        sees_writes: true,
        adjustable: false,
        notes: vec![
            "a sample is the access that a thread was about to make at a tick of the processor's clock, its address from registers \
             and code: it weighs by processor time (one for each microsecond since the last tick), and what caches would \
             serve is in it; a share of such samples is one of time, not of the number of accesses"
                .to_owned(),
        ],
    })
}
