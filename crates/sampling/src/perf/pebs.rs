//! Intel PEBS: load latency and stores, as sysfs names them.
use super::plan::{COMMON, COMMON_FLAGS, EventPlan, Planned};
use super::pmu::Pmu;
use homenode_sys::perf::Attr;
use homenode_sys::perf::attr::{flag, sample};
use homenode_trace::{Op, SampleUnit};

/// A load counts if it took at least this many cycles: about what misses the second-level cache.
const LOAD_CYCLES_MIN: u64 = 30;
/// Events between samples to begin with.
const PERIOD: u64 = 10_007;

/// Fields besides the common ones.
pub(super) const MEMORY_FIELDS: u64 = sample::DATA_SRC | sample::WEIGHT_STRUCT;

/// Loads, and stores where the unit names them.
///
/// # Errors
/// A file of the unit that makes no sense.
pub(super) fn plan(pmu: &Pmu, period: u64) -> Result<EventPlan, String> {
    let period = if period == 0 { PERIOD } else { period };
    let sampled = |attr: Attr, op: Op| {
        let mut attr = attr.with(COMMON_FLAGS | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
        attr = attr.precise(pmu.max_precise().unwrap_or(2).clamp(1, 3));
        attr.period = period;
        attr.sample_type = COMMON | MEMORY_FIELDS;
        Planned { attr, leader: None, op, only_misses: op == Op::Write, cpus: pmu.cpus.clone(), granule: 1 }
    };
    let latency: &[(&str, u64)] = if pmu.has_format("ldlat") { &[("ldlat", LOAD_CYCLES_MIN)] } else { &[] };
    let mut loads = sampled(pmu.event("mem-loads", latency)?, Op::Read);
    if pmu.has_event("mem-loads-aux") {
        let mut leader = pmu.event("mem-loads-aux", &[])?.with(flag::INHERIT | flag::DISABLED);
        leader = leader.with(flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
        loads.leader = Some(leader);
        // Members of a group follow their leader's switch.
        loads.attr.flags &= !flag::DISABLED;
    }
    let mut events = vec![loads];
    let mut notes = Vec::new();
    if pmu.has_event("mem-stores") {
        events.push(sampled(pmu.event("mem-stores", &[])?, Op::Write));
    } else {
        notes.push("this processor samples loads only: pages that are only written are not seen".to_owned());
    }
    if !pmu.cpus.is_empty() {
        notes.push(format!("only the processors of unit {} are sampled", pmu.name));
    }
    let words = format!("{}/mem-loads,ldlat={LOAD_CYCLES_MIN}/P", pmu.name);
    let sees_writes = events.len() > 1;
    let words = if sees_writes { format!("{words} and {}/mem-stores/P (stores that miss)", pmu.name) } else { words };
    Ok(EventPlan { events, unit: SampleUnit::Miss, words, sees_writes, adjustable: true, notes })
}
