//! AMD IBS: every so many micro-ops one is tagged, whatever it does; those without a data address are dropped later.
use super::pebs::MEMORY_FIELDS;
use super::plan::{COMMON, COMMON_FLAGS, EventPlan, Planned};
use super::pmu::Pmu;
use homenode_sys::perf::attr::{flag, sample};
use homenode_trace::{Op, SampleUnit};
use std::collections::BTreeMap;

/// Micro-ops between samples to begin with.
const PERIOD: u64 = 250_000;
/// The counter ignores the low four bits of its period.
const GRANULE: u64 = 16;

/// The event of unit `ibs_op`.
///
/// # Errors
/// A file of the unit that makes no sense.
pub(super) fn plan(pmu: &Pmu, period: u64) -> Result<EventPlan, String> {
    let mut terms = BTreeMap::new();
    let mut notes = Vec::new();
    let mut flags = COMMON_FLAGS;
    let mut words = pmu.name.clone();
    if pmu.has_format("cnt_ctl") {
        // Count micro-ops rather than cycles: else slow code is sampled more often than it refers to memory.
        terms.insert("cnt_ctl".to_owned(), 1);
        words.push_str("/cnt_ctl=1/");
    }
    if pmu.has_format("swfilt") {
        terms.insert("swfilt".to_owned(), 1);
        flags |= flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV;
    } else {
        notes.push(
            "this kernel cannot keep IBS out of the kernel (no `swfilt`): it needs CAP_PERFMON, or \
             kernel.perf_event_paranoid at most 1; addresses of the kernel are dropped"
                .to_owned(),
        );
    }
    let mut attr = pmu.attr(&terms)?.with(flags);
    let period = if period == 0 { PERIOD } else { period };
    attr.period = period.next_multiple_of(GRANULE);
    // AMD gives one latency, in the plain weight.
    attr.sample_type = COMMON | MEMORY_FIELDS & !sample::WEIGHT_STRUCT | sample::WEIGHT;
    let event =
        Planned { attr, leader: None, op: Op::Read, only_misses: false, cpus: pmu.cpus.clone(), granule: GRANULE };
    Ok(EventPlan {
        events: vec![event],
        unit: SampleUnit::Reference,
        words,
        sees_writes: true,
        adjustable: true,
        notes,
    })
}
