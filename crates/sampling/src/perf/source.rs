//! A process tree as a stream of samples.
use super::code::Code;
use super::control::{Interval, RateController, jittered};
use super::decode::{Counts, Decoder};
use super::effective::Isa;
use super::event::EventChoice;
use super::open::{OpenRequest, Opened, why_refused};
use super::plan::EventPlan;
use super::target::Target;
use crate::SamplingError;
use crate::samples::{Notice, RawSample, SampleSource};
use homenode_base::Rng;
use homenode_sys::perf::wait;
use homenode_trace::SampleUnit;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Smallest period of a hardware event.
const PERIOD_MIN: u64 = 1_000;
/// How often the rate is judged.
const JUDGE: Duration = Duration::from_secs(1);
/// Assumed of a thread in a microsecond of its processor time: it waits for memory all the time, one access after the other.
const ACCESSES_PER_US: u32 = 10;
/// Clock ticks per second in /proc, fixed on Linux for all programs.
const TICKS_PER_SECOND: u64 = 100;

/// How to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfOptions {
    /// Bytes of each processor's ring; rounded up to a power of two of pages.
    pub ring_bytes: usize,
    /// Events between samples to begin with; 0 = what suits the event.
    pub period: u64,
    /// What samples may cost, in thousandths of the program's processor time.
    pub overhead_permille: u32,
    /// Seed of the random periods.
    pub seed: u64,
}

impl Default for PerfOptions {
    fn default() -> PerfOptions {
        PerfOptions { ring_bytes: 1 << 20, period: 0, overhead_permille: 20, seed: 1 }
    }
}

/// Samples of one process tree. Dropping it switches the events off.
pub struct PerfSource {
    request: OpenRequest,
    opened: Opened,
    decoder: Decoder,
    /// Finds the addresses, where samples come without.
    code: Option<Code>,
    controller: RateController,
    rng: Rng,
    bytes: Vec<u8>,
    judged: Judged,
    paused: bool,
    /// Whether losses at the end have been told.
    settled: bool,
}

/// What stood when the rate was last judged.
struct Judged {
    at: Instant,
    counts: Counts,
    program_ns: u64,
    decoding: Duration,
    /// Processes seen so far.
    processes: BTreeSet<u32>,
}

impl std::fmt::Debug for PerfSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PerfSource({}, {} events open)", self.request.plan.words, self.opened.events.len())
    }
}

impl PerfSource {
    /// Opens the events of `choice` for `target`. A child that waits before its exec is sampled from the exec on.
    ///
    /// # Errors
    /// [`SamplingError`] with one line saying what the machine lacks or the kernel refuses, and what to do.
    pub fn open(target: Target, choice: EventChoice, options: &PerfOptions) -> Result<PerfSource, SamplingError> {
        let refuse = |why: String| SamplingError { name: "perf", why };
        let plan = choice.plan(Path::new("/sys"), options.period).map_err(refuse)?;
        let mut request = OpenRequest { plan, target, ring_bytes: options.ring_bytes };
        let opened = request.open().map_err(|e| refuse(why_refused(&e)))?;
        let decoder = decoder_of(&request.plan, &opened);
        let period = request.plan.events.first().map_or(1, |p| p.attr.period);
        Ok(PerfSource {
            controller: RateController::new(period, PERIOD_MIN.min(period), options.overhead_permille),
            code: Isa::here().filter(|_| choice == EventChoice::Clock).map(Code::new),
            judged: Judged {
                at: Instant::now(),
                counts: Counts::default(),
                program_ns: 0,
                decoding: Duration::ZERO,
                processes: BTreeSet::from([target.pid()]),
            },
            rng: Rng::new(options.seed),
            bytes: Vec::new(),
            paused: false,
            settled: false,
            request,
            opened,
            decoder,
        })
    }

    /// What was seen and dropped so far.
    pub fn counts(&self) -> Counts {
        self.decoder.counts
    }
    /// What is sampled, with notes on what could not be had.
    pub fn plan(&self) -> &EventPlan {
        &self.request.plan
    }
    /// Mean events between samples now.
    pub fn period(&self) -> u64 {
        self.controller.period()
    }

    fn drain(&mut self, samples: &mut Vec<RawSample>, notices: &mut Vec<Notice>) {
        let started = Instant::now();
        let (first_sample, first_notice) = (samples.len(), notices.len());
        for (ring, _) in self.opened.rings.values_mut() {
            self.bytes.clear();
            ring.drain(&mut self.bytes);
            match &mut self.code {
                Some(code) => code.decode(&mut self.decoder, &self.bytes, samples, notices),
                None => self.decoder.decode(&self.bytes, samples, notices),
            }
        }
        samples[first_sample..].sort_by_key(|s| s.time_ns);
        for notice in &notices[first_notice..] {
            if let Notice::Fork { pid, .. } = notice {
                self.judged.processes.insert(*pid);
            }
        }
        self.judged.decoding += started.elapsed();
    }

    /// At the end: the kernel tells of lost records only with the next record, which the last ones never have. Where every
    /// event is a sample the counters know.
    fn settle(&mut self) -> Option<Notice> {
        if self.request.plan.adjustable || self.code.is_some() || std::mem::replace(&mut self.settled, true) {
            return None;
        }
        let counted: u64 = self.opened.events.iter().filter_map(|o| o.event.count().ok()).sum();
        let counts = &mut self.decoder.counts;
        let untold = counted.saturating_sub(counts.seen).saturating_sub(counts.lost);
        counts.lost += untold;
        (untold > 0).then_some(Notice::Lost(untold))
    }

    /// Once in a while: what the last interval cost, and the periods of the next.
    fn judge(&mut self, samples: &mut Vec<RawSample>, notices: &mut Vec<Notice>) -> io::Result<()> {
        if !self.request.plan.adjustable || self.paused || self.judged.at.elapsed() < JUDGE {
            return Ok(());
        }
        let (now, before) = (self.decoder.counts, self.judged.counts);
        let program_ns = self.judged.processes.iter().map(|&p| processor_ns(p)).sum::<u64>();
        let lost = now.lost.saturating_sub(before.lost);
        let interval = Interval {
            elapsed_ns: nanoseconds(self.judged.at.elapsed()),
            program_ns: program_ns.saturating_sub(self.judged.program_ns),
            taken: (now.seen - before.seen).saturating_add(lost),
            lost,
            throttled: now.throttled - before.throttled,
            decoding_ns: nanoseconds(self.judged.decoding),
        };
        let old = self.controller.period();
        let period = self.controller.observe(&interval);
        self.judged.at = Instant::now();
        self.judged.counts = now;
        self.judged.program_ns = program_ns;
        self.judged.decoding = Duration::ZERO;
        if period == old { self.redraw(period) } else { self.reopen(period, samples, notices) }
    }

    /// New random periods for the threads that have events of their own. (Threads that inherited theirs keep the period
    /// of that moment: the kernel's call does not reach them.)
    fn redraw(&mut self, mean: u64) -> io::Result<()> {
        for (open, &over) in self.opened.events.iter().zip(&self.opened.over) {
            if !over {
                let granule = self.request.plan.events[open.planned].granule;
                open.event.set_period(jittered(mean, granule, &mut self.rng))?;
            }
        }
        Ok(())
    }

    /// All events anew with another period: the only way to reach threads that inherited theirs.
    fn reopen(&mut self, mean: u64, samples: &mut Vec<RawSample>, notices: &mut Vec<Notice>) -> io::Result<()> {
        let mut request = self.request.clone();
        request.target = Target::Running(self.request.target.pid());
        for planned in &mut request.plan.events {
            planned.attr.period = jittered(mean, planned.granule, &mut self.rng);
        }
        self.opened.switch(false)?;
        self.drain(samples, notices);
        match request.open() {
            Ok(opened) => {
                let counts = self.decoder.counts;
                self.decoder = decoder_of(&request.plan, &opened);
                self.decoder.counts = counts;
                (self.opened, self.request) = (opened, request);
                Ok(())
            }
            // The root of the tree is gone, or may not be asked any more: what is open serves on as it was.
            Err(_) => self.opened.switch(true),
        }
    }
}

fn decoder_of(plan: &EventPlan, opened: &Opened) -> Decoder {
    plan.decoder(opened.events.iter().map(|open| (open.planned, open.id)))
}

/// Processor time of a process so far: fields 14 and 15 of its stat, counted after the name.
fn processor_ns(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |s| s.1);
    let ticks: u64 = after.split_whitespace().skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    ticks.saturating_mul(1_000_000_000 / TICKS_PER_SECOND)
}

fn nanoseconds(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

impl SampleSource for PerfSource {
    fn unit(&self) -> SampleUnit {
        self.request.plan.unit
    }
    fn event(&self) -> String {
        self.request.plan.words.clone()
    }
    fn sees_writes(&self) -> bool {
        self.request.plan.sees_writes
    }
    fn poll(
        &mut self,
        timeout: Duration,
        samples: &mut Vec<RawSample>,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError> {
        let refuse = |e: io::Error| SamplingError { name: "perf", why: why_refused(&e) };
        wait(self.opened.events.iter().map(|o| &o.event), &mut self.opened.over, timeout).map_err(refuse)?;
        self.drain(samples, notices);
        let over = self.opened.over.iter().all(|&over| over);
        if over {
            notices.extend(self.settle());
        } else {
            self.judge(samples, notices).map_err(refuse)?;
        }
        Ok(!over)
    }
    fn set_rate(&mut self, per_second: u64) -> Result<(), SamplingError> {
        let pause = per_second == 0;
        if pause != self.paused {
            let why = |e: io::Error| SamplingError { name: "perf", why: why_refused(&e) };
            self.opened.switch(!pause).map_err(why)?;
            self.paused = pause;
        }
        match &mut self.code {
            Some(code) => code.want(per_second),
            None => self.controller.want((!pause).then_some(per_second)),
        }
        Ok(())
    }
    fn assumed_accesses(&self) -> Option<u32> {
        self.code.is_some().then_some(ACCESSES_PER_US)
    }
    fn lost(&self) -> u64 {
        self.decoder.counts.lost
    }
    fn unaddressed(&self) -> u64 {
        let c = self.decoder.counts;
        c.unaddressed.saturating_add(c.kernel)
    }
    fn notes(&self) -> Vec<String> {
        let c = self.decoder.counts;
        let dropped = [
            (c.unaddressed, "had no data address (not a memory access, or not recorded)"),
            (c.kernel, "had an address of the kernel"),
            (c.hits, "were stores that hit a cache, where loads are sampled only when they miss"),
        ];
        let told = dropped.iter().filter(|d| d.0 > 0).map(|(n, why)| format!("{n} samples were dropped: they {why}"));
        self.request.plan.notes.iter().cloned().chain(told).collect()
    }
}
