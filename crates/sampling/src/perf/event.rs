//! Which event to sample, turned into what perf_event_open(2) wants.
use super::effective::Isa;
use super::plan::{COMMON, COMMON_FLAGS, EventPlan, Planned};
use super::pmu::Pmu;
use super::{ibs, pebs};
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

impl EventChoice {
    /// What this choice is on the machine whose `sys` is at `sysfs` (`/sys`, or a copy of it elsewhere).
    ///
    /// # Errors
    /// One line saying what is missing.
    pub fn plan(self, sysfs: &Path, period: u64) -> Result<EventPlan, String> {
        match self {
            EventChoice::PageFaults => Ok(page_faults()),
            EventChoice::Memory => memory(sysfs, period),
            EventChoice::Clock => clock(period),
        }
    }
}

/// Loads and stores by whatever unit this machine has.
fn memory(sysfs: &Path, period: u64) -> Result<EventPlan, String> {
    let intel: Vec<Pmu> = ["cpu", "cpu_core"].iter().filter_map(|n| Pmu::open(sysfs, n)).collect();
    if let Some(pmu) = intel.iter().find(|p| p.has_event("mem-loads")) {
        return pebs::plan(pmu, period);
    }
    if let Some(pmu) = Pmu::open(sysfs, "ibs_op") {
        return ibs::plan(&pmu, period);
    }
    if Pmu::open(sysfs, "arm_spe_0").is_some() {
        return Err(
            "this processor has ARM SPE, which is imported from perf.data (`homenode import`) and not recorded here. The \
             backends `faults` and `hooks` need none"
                .into(),
        );
    }
    Err("this machine offers no event that records data addresses: neither `mem-loads` (Intel PEBS) nor `ibs_op` (AMD \
         IBS) is below /sys/bus/event_source/devices. Virtual machines usually have none of these; on real hardware the \
         kernel must have been built with them. The backends `faults` and `hooks` need none"
        .to_owned())
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
