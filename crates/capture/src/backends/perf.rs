//! `perf`: the processor's own sampling of memory accesses.
use super::Backend;
use crate::CaptureError;
use crate::options::{Progress, RecordOptions, RecordSummary};
use crate::sampled::{self, Sampler, Subject};
use homenode_sampling::SampleSource;
use homenode_sampling::perf::{EventChoice, PerfOptions, PerfSource, Target, permitted};

pub(crate) static SPEC: Backend = Backend {
    name: "perf",
    summary: "any program, cheaply, where the processor samples memory accesses (Intel PEBS, AMD IBS)",
    sees: "Sees a random sample of loads and, where the processor can, stores, each with address, program counter, thread, \
           processor, latency and where the data came from; threads and mappings of the whole process tree, and \
           allocations of dynamically linked programs. Rates stay within an overhead bound. Does not see every access, nor \
           synchronisation, nor what the kernel or another user's program does. Needs real hardware: virtual machines \
           rarely have it.",
    available: || permitted(EventChoice::Memory),
    unasked: || permitted(EventChoice::Memory),
    record,
};

fn record(options: &RecordOptions, progress: &mut dyn Progress) -> Result<RecordSummary, CaptureError> {
    sampled::record(&mut Perf, options, progress)
}

/// Opens memory events for the sampled recorder.
#[derive(Debug)]
struct Perf;

impl Sampler for Perf {
    fn name(&self) -> &'static str {
        SPEC.name
    }
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError> {
        let target = if subject.held { Target::BeforeExec(subject.pid) } else { Target::Running(subject.pid) };
        let options = PerfOptions { overhead_permille: subject.overhead_permille, ..PerfOptions::default() };
        Ok(Box::new(PerfSource::open(target, EventChoice::Memory, &options)?))
    }
}
