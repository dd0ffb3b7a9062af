//! What perf_event_open(2) is asked for: the events of a choice on one machine.
use super::decode::{Decoder, EventFacts};
use super::records::Layout;
use homenode_sys::perf::Attr;
use homenode_sys::perf::attr::{flag, sample};
use homenode_trace::{Op, SampleUnit};

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
