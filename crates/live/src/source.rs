//! Which samples a live run lives on.
use homenode_command::Failure;
use homenode_sampling::SampleSource;
use homenode_sampling::hinting::{FaultSource, Kernel};
use homenode_sampling::perf::{EventChoice, PerfOptions, PerfSource, Target};

/// What sampling may cost the program, in thousandths of its processor time.
const OVERHEAD_PERMILLE: u32 = 20;

/// Samples of a process tree: memory references by the processor's own sampling where there is some, else accesses at ticks of
/// the clock, which every machine has; else the kernel's NUMA-hinting faults, where it makes them or may be told to.
///
/// # Errors
/// What all of them lack, and how to grant it.
pub(crate) fn open(target: Target, kernel: Kernel) -> Result<Box<dyn SampleSource>, Failure> {
    let options = PerfOptions { overhead_permille: OVERHEAD_PERMILLE, ..PerfOptions::default() };
    let perf = match PerfSource::open(target, EventChoice::Memory, &options) {
        Ok(source) => return Ok(Box::new(source)),
        Err(why) => why,
    };
    let clock = match PerfSource::open(target, EventChoice::Clock, &options) {
        Ok(source) => return Ok(Box::new(source)),
        Err(why) => why,
    };
    match FaultSource::open(target, OVERHEAD_PERMILLE, kernel) {
        Ok(source) => Ok(Box::new(source)),
        Err(faults) => Err(Failure::work(format!("nothing can be sampled here: {perf}; {clock}; {faults}"))),
    }
}
