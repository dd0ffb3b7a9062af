//! The exact recorder: a program with hooks, started, recorded through its rings and turned into a dataset.
use crate::calibrate;
use crate::control::{Control, RINGS, remove_rings};
use crate::drain::Ledger;
use crate::error::CaptureError;
use crate::facts::Tables;
use crate::finish::{self, Ending};
use crate::manifest;
use crate::options::{Progress, RecordOptions, RecordSummary, Snapshot};
use crate::output::Appender;
use crate::store::{DirStore, NewDataset, replace_target};
use crate::workers::Recording;
use homenode_base::ring::{CONTROL_ENV, STOP_USER};
use homenode_host::clock::{Clock, Real};
use homenode_host::launch;
use homenode_host::supervise::{Outcome, Supervised, Supervisor};
use homenode_sys::clock;
use homenode_sys::dir::Dir;
use homenode_sys::process::Subreaper;
use homenode_trace::framing::Codec;
use homenode_trace::manifest::{Manifest, Native};
use homenode_trace::writer::EventFile;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the supervisor looks around while nothing happens.
const LOOK: Duration = Duration::from_millis(20);
/// How often progress is told.
const TELL: Duration = Duration::from_millis(100);

/// Runs `options.command`, which has the hooks, and records every reference of it.
///
/// # Errors
/// [`CaptureError::Backend`] for what only sampling can do; a program that cannot be started or makes no contact; what writing
/// meets.
pub(crate) fn record(options: &RecordOptions, progress: &mut dyn Progress) -> Result<RecordSummary, CaptureError> {
    let sampling = [("--pid", options.pid.is_some()), ("--duration", options.duration.is_some())];
    let sampling = sampling.into_iter().chain([("--overhead", options.overhead_permille.is_some())]);
    if let Some((option, _)) = sampling.into_iter().find(|(_, given)| *given) {
        let why =
            format!("{option} is for the sampling backends; this one records every reference of a program it starts");
        return Err(CaptureError::Backend { name: "hooks".to_owned(), why });
    }
    let program = launch::find_program(&options.command)?;
    if options.count_only {
        return count(options, &program, progress);
    }
    let native = match &options.calibrate {
        None => None,
        Some(asked) => {
            // What is in the way of the dataset is said before anything runs.
            replace_target(&options.out, options.force)?;
            Some(calibrate::measure(asked, &options.command)?)
        }
    };
    let new = NewDataset::create(&options.out, options.force)?;
    match record_into(&new.dir, options, (&program, native), progress) {
        Ok(summary) => {
            new.settle()?;
            Ok(RecordSummary { path: Some(options.out.clone()), ..summary })
        }
        Err((ran, error)) => {
            if !ran {
                new.abandon();
            }
            Err(error)
        }
    }
}

/// Records into the directory `root`. An error comes with whether the program ran and made contact, so that what is there
/// is worth keeping.
fn record_into(
    root: &Dir,
    options: &RecordOptions,
    (program, native): (&Path, Option<Native>),
    progress: &mut dyn Progress,
) -> Result<RecordSummary, (bool, CaptureError)> {
    let mut manifest = Manifest { native, ..manifest::first_manifest(options) };
    let recording = begin(root, &manifest, options).map_err(|e| (false, e))?;
    let (began, cpu) = (Real.now(), clock::children_cpu_seconds());
    let outcome = run(&recording, options, progress).map_err(|e| (false, e))?;
    let run_seconds = (Real.now() - began).as_secs_f64();
    manifest.cpu_us = Some(((clock::children_cpu_seconds() - cpu) * 1e6).max(0.0) as u64);
    made_contact(&recording.control, program, &outcome).map_err(|e| (false, e))?;
    let mut summary = complete(root, manifest, &recording, &outcome, options).map_err(|e| (true, e))?;
    summary.run_seconds = run_seconds;
    summary.finish_seconds = (Real.now() - began).as_secs_f64() - run_seconds;
    Ok(summary)
}

/// Everything that a recording needs before its program starts.
fn begin(root: &Dir, manifest: &Manifest, options: &RecordOptions) -> Result<Recording, CaptureError> {
    manifest::write_manifest(root, manifest)?;
    let (events, rings) = files_of(root)?;
    let control = Control::create(&rings, false, options.roi.as_deref())?;
    control.allow_repeats();
    if let Some(pages) = options.pages {
        control.draw(pages);
    }
    // A limit is exact only if nobody else takes from it meanwhile.
    let workers = if options.limit_refs.is_some() { 1 } else { workers_for(manifest.host_cpus) };
    Ok(Recording::new(root.clone(), control, Ledger::new(events, options.limit_refs), workers))
}

/// The event file and the directory of rings of a new dataset.
fn files_of(root: &Dir) -> Result<(EventFile<Appender>, Dir), CaptureError> {
    let events = EventFile::create(&DirStore::of(root), Codec::Lz4)
        .map_err(CaptureError::io("create events.bin in", root.path()))?;
    let rings = root.sub(RINGS).map_err(CaptureError::io("open rings in", root.path()))?;
    Ok((events, rings))
}

/// Makes a dataset of what the workers wrote.
fn complete(
    root: &Dir,
    manifest: Manifest,
    recording: &Recording,
    outcome: &Outcome,
    options: &RecordOptions,
) -> Result<RecordSummary, CaptureError> {
    let tables: Tables = recording.facts.tables(|thread| recording.control.entry(thread), &recording.counts());
    let mut ending = Ending::of(recording, outcome, options.limit_refs);
    let missed = options.roi.as_deref().and_then(|roi| recording.facts.without_phase(roi));
    if let Some(why) = &missed {
        ending.say(why);
    }
    if ending.incomplete {
        // The rings are of no more use, and their space lets the manifest be written on a full disk.
        remove_rings(root)?;
    }
    let mut summary = finish::dataset(root, manifest, tables, &ending)?;
    if !ending.incomplete {
        remove_rings(root)?;
    }
    summary.phase_missed = missed.is_some();
    // Threads without a ring are references that nobody asked to leave out.
    summary.write_failed |= ending.blind.unringed_threads > 0;
    Ok(summary)
}

/// A worker that cannot keep up makes all threads of the program wait. Two processors were busier with two: recordings of programs with two threads
/// took two thirds of the time that they took with one.
fn workers_for(cpus: u32) -> u32 {
    (cpus / 4).clamp(cpus.min(2), 8)
}

/// Starts the program and returns when it, its children and the workers have ended.
fn run(recording: &Recording, options: &RecordOptions, progress: &mut dyn Progress) -> Result<Outcome, CaptureError> {
    let _reaper = Subreaper::set();
    let control = recording.control.path();
    std::thread::scope(|scope| {
        let pid = launch::start(&options.command, &[(CONTROL_ENV, control.as_os_str())])?;
        recording.start(scope);
        let outcome = until_all_ended(recording, pid, progress);
        recording.finish();
        Ok(outcome)
    })
}

impl Supervised for Recording {
    fn stop(&self) {
        Recording::stop(self, STOP_USER);
    }
    fn live_pids(&self) -> Vec<u32> {
        Recording::live_pids(self)
    }
    fn orphan(&self, pid: u32) {
        Recording::orphan(self, pid);
    }
}

/// Waits until the program `main` (leader of its process group) and everything it started have ended.
fn until_all_ended(recording: &Recording, main: u32, progress: &mut dyn Progress) -> Outcome {
    let mut watch = Supervisor::new(main, Real::shared());
    let mut told = Real.now();
    loop {
        if let Some(outcome) = watch.look(recording) {
            return outcome;
        }
        watch.wait(LOOK);
        if Real.now() - told >= TELL {
            told = Real.now();
            progress.update(&snapshot(recording));
        }
    }
}

/// Counters at this moment.
fn snapshot(recording: &Recording) -> Snapshot {
    Snapshot {
        refs: recording.ledger.refs.load(Ordering::Relaxed),
        bytes: recording.ledger.bytes.load(Ordering::Relaxed) + recording.ledger.event_bytes(),
        threads: recording.control.rings(),
    }
}

fn made_contact(control: &Control, program: &Path, outcome: &Outcome) -> Result<(), CaptureError> {
    if control.attached() > 0 {
        return Ok(());
    }
    Err(why_no_contact(program, outcome))
}

/// Why a program that ran made no contact with the recorder.
fn why_no_contact(program: &Path, outcome: &Outcome) -> CaptureError {
    let name = program.display().to_string();
    if let Some(what) = launch::secure_mode(program) {
        return CaptureError::Secure { program: name, what };
    }
    let mut head = [0; 2];
    let is_script = fs::File::open(program).is_ok_and(|mut f| io::Read::read_exact(&mut f, &mut head).is_ok());
    let why = if is_script && &head == b"#!" {
        "it is a script, and no program that it ran has the capture hooks"
    } else {
        "it was not built with the capture hooks, or it ended before it could start"
    };
    CaptureError::NotInstrumented { program: name, end: outcome.words(), why: why.to_owned() }
}

/// Runs the program with counting runtimes; the control file lives in a temporary directory.
fn count(options: &RecordOptions, program: &Path, progress: &mut dyn Progress) -> Result<RecordSummary, CaptureError> {
    let temporary = tempfile::Builder::new().prefix("homenode-count-").tempdir();
    let temporary = temporary.map_err(CaptureError::io("create a folder in", &std::env::temp_dir()))?;
    let new = NewDataset::create(&temporary.path().join("dataset"), false)?;
    let (events, rings) = files_of(&new.dir)?;
    let control = Control::create(&rings, true, options.roi.as_deref())?;
    let recording = Recording::new(new.dir.clone(), control, Ledger::new(events, None), 1);
    let began = Real.now();
    let outcome = run(&recording, options, progress)?;
    made_contact(&recording.control, program, &outcome)?;
    Ok(RecordSummary {
        refs: recording.control.counted(),
        threads: recording.control.rings(),
        processes: recording.control.attached(),
        exit_status: outcome.status,
        blind: recording.control.blind(),
        run_seconds: (Real.now() - began).as_secs_f64(),
        ..RecordSummary::default()
    })
}
