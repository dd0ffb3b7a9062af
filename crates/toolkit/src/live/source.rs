//! Which samples a live run lives on.
use crate::Failure;
use homenode_capture::SampleSource;
use homenode_capture::hinting::FaultSource;
use homenode_capture::perf::{EventChoice, PerfOptions, PerfSource, Target};

/// What sampling may cost the program, in thousandths of its processor time.
const OVERHEAD_PERMILLE: u32 = 20;

/// Samples of a process tree: memory references by the processor's own sampling where there is some, else the kernel's
/// NUMA-hinting faults.
///
/// # Errors
/// What both of them lack, and how to grant it.
pub(crate) fn open(target: Target) -> Result<Box<dyn SampleSource>, Failure> {
    let options = PerfOptions { overhead_permille: OVERHEAD_PERMILLE, ..PerfOptions::default() };
    let perf = match PerfSource::open(target, EventChoice::Memory, &options) {
        Ok(source) => return Ok(Box::new(source)),
        Err(why) => why,
    };
    match FaultSource::open(target, OVERHEAD_PERMILLE) {
        Ok(source) => Ok(Box::new(source)),
        Err(faults) => Err(Failure::work(format!("nothing can be sampled here: {perf}; {faults}"))),
    }
}
