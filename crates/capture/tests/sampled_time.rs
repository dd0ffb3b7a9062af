//! What the sampled recorder does when, on a simulated clock: the process is real and does nothing, hours are over at once.
mod support;

use homenode_capture::sampled::{self, HOLD, Sampler, Subject};
use homenode_capture::{CaptureError, Progress, RecordOptions, RecordSummary, Snapshot};
use homenode_host::clock::{Clock, Simulated};
use homenode_sampling::{Notice, RawSample, SampleSource, SamplingError};
use homenode_trace::{DataSource, DatasetReader, Op, SampleUnit};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::open;

/// Between two samples.
const EVERY: Duration = Duration::from_millis(10);

/// A sample every ten milliseconds, of a process that waits for the end of its input, which comes at a time of its own.
struct Metronome {
    clock: Arc<Simulated>,
    child: Arc<Mutex<Child>>,
    end: Option<Duration>,
}

impl Sampler for Metronome {
    fn name(&self) -> &'static str {
        "metronome"
    }
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError> {
        let (clock, child) = (self.clock.clone(), self.child.clone());
        Ok(Box::new(Ticking { of: Metronome { clock, child, end: self.end }, pid: subject.pid, ticks: 0 }))
    }
}

struct Ticking {
    of: Metronome,
    pid: u32,
    ticks: u64,
}

impl SampleSource for Ticking {
    fn unit(&self) -> SampleUnit {
        SampleUnit::Reference
    }
    fn event(&self) -> String {
        "ticks".into()
    }
    fn sees_writes(&self) -> bool {
        true
    }
    fn poll(
        &mut self,
        timeout: Duration,
        samples: &mut Vec<RawSample>,
        _: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError> {
        self.of.clock.sleep(timeout);
        let now = self.of.clock.now();
        while EVERY * (self.ticks as u32 + 1) <= now {
            self.ticks += 1;
            samples.push(RawSample {
                time_ns: EVERY.as_nanos() as u64 * self.ticks,
                pid: self.pid,
                tid: self.pid,
                cpu: Some(0),
                ip: 0,
                addr: 4096 * self.ticks,
                size: 8,
                op: Op::Read,
                weight: 1,
                latency_cycles: None,
                source: DataSource::Unknown,
            });
        }
        if self.of.end.is_some_and(|end| now >= end) {
            let mut child = self.of.child.lock().unwrap();
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        Ok(true)
    }
    fn set_rate(&mut self, _: u64) -> Result<(), SamplingError> {
        Ok(())
    }
    fn lost(&self) -> u64 {
        0
    }
    fn clock(&self) -> Arc<dyn Clock> {
        self.of.clock.clone()
    }
}

/// When progress was told, and of how many samples.
struct Told(Arc<Simulated>, Vec<(Duration, u64)>);

impl Progress for Told {
    fn update(&mut self, snapshot: &Snapshot) {
        self.1.push((self.0.now(), snapshot.refs));
    }
}

/// Records for `duration`, or until the process ends at `end`.
fn recorded(duration: Duration, end: Option<Duration>) -> (RecordSummary, DatasetReader, Told, Arc<Mutex<Child>>) {
    let (clock, folder) = (Simulated::new(), tempfile::tempdir().unwrap());
    let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let options = RecordOptions {
        pid: Some(child.id()),
        out: folder.path().join("x.hnt"),
        backend: "metronome".into(),
        duration: Some(duration),
        ..RecordOptions::default()
    };
    let child = Arc::new(Mutex::new(child));
    let mut told = Told(clock.clone(), Vec::new());
    let mut sampler = Metronome { clock, child: child.clone(), end };
    let summary = sampled::record(&mut sampler, &options, &mut told).unwrap();
    (summary, open(&options.out), told, child)
}

#[test]
fn ten_minutes_are_recorded_to_the_last_sample_and_the_process_is_left_alone() {
    let minutes = Duration::from_secs(600);
    let (summary, reader, told, child) = recorded(minutes, None);
    let mut child = child.lock().unwrap();
    assert!(child.try_wait().unwrap().is_none(), "it runs on");
    assert!(summary.ended.contains("time asked for") && summary.exit_status.is_none(), "{}", summary.ended);
    // One last poll of 50 ms follows the deadline.
    let samples = (minutes + Duration::from_millis(50)).as_nanos() as u64 / EVERY.as_nanos() as u64;
    assert_eq!(summary.refs, samples, "{summary:?}");
    let sampling = reader.manifest().sampling.clone().unwrap();
    assert_eq!((sampling.unit, sampling.elapsed_ns), (SampleUnit::Reference, (samples - 1) * EVERY.as_nanos() as u64));
    // A user sees ten numbers a second, of samples that are old enough to be in order.
    assert!((5_990..=6_000).contains(&told.1.len()), "{}", told.1.len());
    for (at, refs) in &told.1 {
        let ripe = at.saturating_sub(HOLD).as_nanos() / EVERY.as_nanos();
        assert_eq!(u128::from(*refs), ripe, "{at:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_process_that_ends_ends_the_recording() {
    let (summary, reader, told, _) = recorded(Duration::from_secs(3600), Some(Duration::from_secs(90)));
    assert!(told.0.now() < Duration::from_secs(91), "{:?}", told.0.now());
    assert!(summary.ended.is_empty() && reader.manifest().complete, "{}", summary.ended);
    assert!((9_000..=9_100).contains(&summary.refs), "{}", summary.refs);
}
