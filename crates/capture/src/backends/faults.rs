//! `faults`: the kernel's NUMA-hinting faults.
use super::Backend;
use crate::CaptureError;
use crate::options::{Progress, RecordOptions, RecordSummary};
use crate::protect::{self, Protect};
use crate::sampled::{self, Sampler, Subject};
use homenode_host::balancing::Status;
use homenode_sampling::SampleSource;
use homenode_sampling::hinting::{FaultSource, Kernel, SWITCHED_OFF};
use homenode_sampling::perf::Target;

pub(crate) static SPEC: Backend = Backend {
    name: "faults",
    summary: "any program on a machine with several memory nodes: which thread comes first to each page in a window",
    sees: "Sees, for every page that the kernel takes away for a moment (automatic NUMA balancing), the thread that comes \
           first to use it again, with its program counter; threads, mappings and, for dynamically linked programs, \
           allocations. Does not see how often a page is used, whether it is read or written, what happens inside a page, \
           synchronisation, nor memory under an explicit policy. \
           With --tune-kernel, for root on a kernel with DAMON, it says how much memory was in use, and from how much of that no sample came. Programs that it starts get no transparent huge pages, so \
           that each small page speaks for itself. The kernel may move pages meanwhile; they are counted. \
           On a machine with one node the preloaded library takes pages away itself, from programs started with it.",
    available,
    unasked,
    record,
};

/// Hinting faults; on a machine with one node, where the kernel makes none, protection by the preloaded library. Where
/// hinting faults are only not permitted, that is said and nothing else done in their place.
fn available() -> Result<(), String> {
    let status = Status::here();
    match (status.missing_in_words(), protect::missing_in_words()) {
        (None, _) => Ok(()),
        (Some(_), None) if !status.several_nodes() => Ok(()),
        (Some(missing), Some(also)) if !status.several_nodes() => Err(format!("{missing}; {also}")),
        (Some(missing), _) => Err(missing),
    }
}

/// Protection reaches deep into a program: only who asks for it by name gets it.
fn unasked() -> Result<(), String> {
    let status = Status::here();
    match status.missing_in_words() {
        None if !status.faults_happen() => Err(SWITCHED_OFF.to_owned()),
        None => Ok(()),
        Some(missing) => Err(format!("{missing}; that has to be asked for by name (`--backend faults`)")),
    }
}

fn record(options: &RecordOptions, progress: &mut dyn Progress) -> Result<RecordSummary, CaptureError> {
    if Status::here().several_nodes() || options.pid.is_some() || protect::missing_in_words().is_some() {
        return sampled::record(&mut Faults, options, progress);
    }
    sampled::record(&mut Protect::default(), options, progress)
}

/// Opens hinting faults for the sampled recorder.
#[derive(Debug)]
struct Faults;

impl Sampler for Faults {
    fn name(&self) -> &'static str {
        SPEC.name
    }
    fn small_pages(&self) -> bool {
        true
    }
    fn wants_heat(&self) -> bool {
        true
    }
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError> {
        let target = if subject.held { Target::BeforeExec(subject.pid) } else { Target::Running(subject.pid) };
        let kernel = if subject.tune_kernel { Kernel::Tuned } else { Kernel::Untouched };
        Ok(Box::new(FaultSource::open(target, subject.overhead_permille, kernel)?))
    }
}
