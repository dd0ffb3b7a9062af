//! Which samples a live run lives on.
use crate::Failure;
use homenode_capture::SampleSource;
use homenode_capture::perf::{EventChoice, PerfOptions, PerfSource, Target};

/// Samples of a process tree: memory references by the processor's own sampling where there is some, else page faults,
/// among them the kernel's NUMA-hinting faults.
pub(crate) fn open(target: Target, overhead_permille: u32) -> Result<Box<dyn SampleSource>, Failure> {
    let options = PerfOptions { overhead_permille, ..PerfOptions::default() };
    if let Ok(source) = PerfSource::open(target, EventChoice::Memory, &options) {
        return Ok(Box::new(source));
    }
    Ok(Box::new(PerfSource::open(target, EventChoice::PageFaults, &options)?))
}
