//! How fast samples become a dataset: `sampled_speed [MILLIONS]`. A source hands out samples made before; what the recorder
//! uses of processor time is divided by their number.
use homenode_capture::sampled::{self, Sampler, Subject};
use homenode_capture::{CaptureError, RecordOptions};
use homenode_sampling::{Notice, RawSample, SampleSource, SamplingError};
use homenode_sys::clock::{cpu_seconds, monotonic_ns};
use homenode_trace::{DataSource, Op, SampleUnit};
use std::time::Duration;

const BLOCK: usize = 100_000;

struct Ready(u64);

struct Blocks {
    pid: u32,
    left: u64,
    block: Vec<RawSample>,
}

impl Sampler for Ready {
    fn name(&self) -> &'static str {
        "speed"
    }
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError> {
        let sample = |i: usize| RawSample {
            time_ns: 0,
            pid: subject.pid,
            // Sixteen threads in turn, each with an array of its own and some far jumps.
            tid: subject.pid + (i / 50 % 16) as u32,
            cpu: Some((i / 50 % 16) as u32),
            ip: 0x40_0000 + (i % 37) as u64 * 4,
            addr: 0x7000_0000_0000 + (i / 50 % 16) as u64 * (1 << 30) + (i as u64 * 0x9e37_79b9 % (1 << 28)) / 8 * 8,
            size: 8,
            op: if i.is_multiple_of(3) { Op::Write } else { Op::Read },
            weight: 1000 + (i % 200) as u32,
            latency_cycles: Some(200 + (i * 7 % 300) as u32),
            source: DataSource::LocalMemory,
        };
        Ok(Box::new(Blocks { pid: subject.pid, left: self.0, block: (0..BLOCK).map(sample).collect() }))
    }
}

impl SampleSource for Blocks {
    fn unit(&self) -> SampleUnit {
        SampleUnit::Reference
    }
    fn event(&self) -> String {
        "made up".into()
    }
    fn sees_writes(&self) -> bool {
        true
    }
    fn poll(&mut self, _: Duration, out: &mut Vec<RawSample>, _: &mut Vec<Notice>) -> Result<bool, SamplingError> {
        if self.left == 0 {
            // Best effort: the program sleeps until it is told that all is done.
            homenode_sys::process::signal_group(self.pid, 15);
            return Ok(false);
        }
        self.left = self.left.saturating_sub(BLOCK as u64);
        let now = monotonic_ns();
        out.extend(self.block.iter().zip(0u64..).map(|(s, i)| RawSample { time_ns: now + i, ..*s }));
        Ok(true)
    }
    fn set_rate(&mut self, _: u64) -> Result<(), SamplingError> {
        Ok(())
    }
    fn lost(&self) -> u64 {
        0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millions: u64 = std::env::args().nth(1).map_or(Ok(20), |w| w.parse())?;
    let out = std::env::temp_dir().join(format!("sampled-speed-{}.hnt", std::process::id()));
    let options =
        RecordOptions { command: vec!["sleep".into(), "1000".into()], out: out.clone(), ..RecordOptions::default() };
    let before = cpu_seconds();
    let done = sampled::record(&mut Ready(millions * 1_000_000), &options, &mut ())?;
    let seconds = cpu_seconds() - before;
    std::fs::remove_dir_all(&out)?;
    println!(
        "{} samples, {:.2} s of processor time: {:.1} M samples/s; {:.2} bytes a sample",
        done.refs,
        seconds,
        done.refs as f64 / seconds * 1e-6,
        done.bytes as f64 / done.refs as f64
    );
    Ok(())
}
