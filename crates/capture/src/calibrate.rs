//! What a program takes by itself: runs of the same program built without hooks, before it is recorded.
//!
//! It gets the arguments of the recorded one, since time of another input would say nothing. Time is that of the process and of all
//! children that were waited for: processor time, which other work on the machine hardly changes, and time on the clock.
use crate::error::CaptureError;
use crate::marks::is_built_with_hooks;
use crate::options::Calibrate;
use homenode_host::clock::{Clock, Real};
use homenode_host::launch;
use homenode_host::supervise::{Outcome, Supervised, Supervisor};
use homenode_sys::{clock, process::Subreaper, signals};
use homenode_trace::manifest::Native;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

/// How often it is looked at whether the children of the program have ended, too.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the program as often as asked; the run with the least processor time.
///
/// # Errors
/// It has hooks, cannot be started, or does not end well; the user stops it; its input can be read only once.
pub(crate) fn measure(asked: &Calibrate, recorded: &[OsString]) -> Result<Native, CaptureError> {
    let command: Vec<OsString> = [&asked.program].into_iter().chain(&recorded[1..]).cloned().collect();
    let program = launch::find_program(&command)?;
    if is_built_with_hooks(&program) {
        let why = "has the capture hooks in it, which take time of their own; name the program as it is without them \
                   (`homenode cc --plain` builds both)";
        return Err(CaptureError::Option(format!("--calibrate: {} {why}", program.display())));
    }
    let input = Input::of_this_process()?;
    let mut least: Option<Native> = None;
    for _ in 0..asked.runs.max(1) {
        let one = once(&command)?;
        input.rewind()?;
        least = Some(least.filter(|l| l.cpu_us() <= one.cpu_us()).unwrap_or(one));
    }
    Ok(Native { runs: asked.runs.max(1), ..least.unwrap_or_default() })
}

/// One run, to the end of the program and its children.
fn once(command: &[OsString]) -> Result<Native, CaptureError> {
    let _reaper = Subreaper::set();
    let (began, before) = (Real.now(), clock::children_cpu_us());
    let pid = launch::start(command, &[])?;
    let mut watch = Supervisor::new(pid, Real::shared());
    let outcome = loop {
        if let Some(outcome) = watch.look(&Nobody) {
            break outcome;
        }
        watch.wait(LOOK);
    };
    let wall_us = (Real.now() - began).as_micros();
    let after = clock::children_cpu_us();
    let [user_us, system_us] = std::array::from_fn(|i| after[i].saturating_sub(before[i]));
    let command: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(end) = bad_end(&outcome) {
        return Err(CaptureError::Native { program: command[0].clone(), end });
    }
    Ok(Native { command, runs: 1, wall_us: u64::try_from(wall_us).unwrap_or(u64::MAX), user_us, system_us })
}

/// Why its time says nothing, if so.
fn bad_end(outcome: &Outcome) -> Option<String> {
    match (outcome.stopped_by, outcome.status) {
        (Some(signal), _) => Some(format!("it was stopped by {}", signals::name(signal))),
        (None, Some(0)) => None,
        (None, _) => Some(outcome.words()),
    }
}

/// Nothing is recorded.
struct Nobody;

impl Supervised for Nobody {
    fn stop(&self) {}
    fn live_pids(&self) -> Vec<u32> {
        Vec::new()
    }
    fn orphan(&self, _: u32) {}
}

/// Standard input, which every run and the recording read from the same place.
struct Input(Option<(File, u64)>);

impl Input {
    fn of_this_process() -> Result<Input, CaptureError> {
        // Without a standard input programs have none, either.
        let Ok(file) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else { return Ok(Input(None)) };
        let Ok(kind) = file.metadata().map(|m| m.file_type()) else { return Ok(Input(None)) };
        if kind.is_fifo() || kind.is_socket() {
            let why =
                "standard input is a pipe, which only one run can read; give a file (< FILE), or nothing (< /dev/null)";
            return Err(CaptureError::Option(format!("--calibrate: {why}")));
        }
        let mut file = file;
        let at = if kind.is_file() { file.stream_position().ok() } else { None };
        Ok(Input(at.map(|at| (file, at))))
    }
    fn rewind(&self) -> Result<(), CaptureError> {
        let Some((file, at)) = &self.0 else { return Ok(()) };
        let mut file: &File = file;
        let failed = |e| CaptureError::Option(format!("--calibrate: standard input cannot be read again: {e}"));
        file.seek(SeekFrom::Start(*at)).map(drop).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_not_good_is_said() {
        let end = |status, stopped_by| bad_end(&Outcome { status, stopped_by });
        assert_eq!(end(Some(0), None), None);
        assert_eq!(end(Some(3), None).as_deref(), Some("exit status 3"));
        assert_eq!(end(Some(-9), None).as_deref(), Some("it was killed by SIGKILL"));
        assert_eq!(end(Some(0), Some(2)).as_deref(), Some("it was stopped by SIGINT"), "whatever it made of it");
        assert!(end(None, None).is_some());
    }
}
