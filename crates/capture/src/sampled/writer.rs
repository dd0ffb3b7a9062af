//! Samples and events of all threads, in order of time, to frames and the event file.
use crate::facts::{Counts, Facts};
use crate::output::{Appender, EventsFile};
use homenode_sys::dir::Dir;
use homenode_trace::event::EventKind;
use homenode_trace::frame::{FRAME_REFS_MAX, FrameEncoder};
use homenode_trace::framing::Codec;
use homenode_trace::{Event, Op, Sample};
use std::collections::BTreeMap;
use std::io;

/// One sample of a known thread, its time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Time.
    pub ticks: u64,
    /// Virtual address of the data.
    pub addr: u64,
    /// Bytes, at least 1.
    pub size: u32,
    /// Operation.
    pub op: Op,
    /// Program counter; 0 if not known.
    pub ip: u64,
    /// Weight, latency, processor, data source.
    pub sample: Sample,
}

/// One thread's part of the dataset.
#[derive(Debug, Default)]
struct Lane {
    out: Option<Appender>,
    /// Not written yet, ascending in time.
    samples: Vec<Stamped>,
    counts: Counts,
    /// Time of the last sample or frame end: stamps never run backwards within a thread.
    floor: u64,
    /// Its exit is in the dataset: what was sampled later, while the system took the thread apart, is left out.
    exited: bool,
}

/// Everything that goes into files.
#[derive(Debug)]
pub struct Writer {
    root: Dir,
    events: EventsFile,
    pub(crate) facts: Facts,
    lanes: BTreeMap<u32, Lane>,
    /// Events of the current round.
    round: Vec<Event>,
    encoder: FrameEncoder,
    bytes: Vec<u8>,
    /// Samples accepted, in files or not.
    pub samples: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// Samples taken after their thread had said that it ends.
    pub after_exit: u64,
    frame_bytes: u64,
    codec: Codec,
}

impl Writer {
    /// Starts the files.
    pub fn new(root: &Dir, codec: Codec) -> io::Result<Writer> {
        let events = EventsFile::open(root, 0, 0)?;
        let (facts, lanes, round, encoder, bytes) = Default::default();
        let [samples, weight, after_exit, frame_bytes] = [0; 4];
        Ok(Writer {
            root: root.clone(),
            events,
            facts,
            lanes,
            round,
            encoder,
            bytes,
            samples,
            weight,
            after_exit,
            frame_bytes,
            codec,
        })
    }
    /// Takes a sample; those of one thread come in order of time.
    pub fn sample(&mut self, thread: u32, mut sample: Stamped) {
        let lane = self.lanes.entry(thread).or_default();
        if lane.exited {
            self.after_exit += 1;
            return;
        }
        sample.ticks = sample.ticks.max(lane.floor);
        lane.floor = sample.ticks;
        lane.samples.push(sample);
        self.samples += 1;
        self.weight = self.weight.saturating_add(sample.sample.weight.into());
    }
    /// Takes an event that happened at `ticks`, after all events of its thread taken before.
    pub fn event(&mut self, thread: u32, ticks: u64, stamp: u64, kind: EventKind) {
        let lane = self.lanes.entry(thread).or_default();
        let before = lane.samples.partition_point(|s| s.ticks < ticks);
        if kind == EventKind::Exit {
            let late = lane.samples.drain(before..);
            (self.samples, self.after_exit) = (self.samples - late.len() as u64, self.after_exit + late.len() as u64);
            self.weight -= late.map(|s| u64::from(s.sample.weight)).sum::<u64>();
            lane.exited = true;
        }
        let at = lane.counts.refs + before as u64;
        self.round.push(Event { thread, at, stamp, kind });
    }
    /// Whether the exit of a thread was taken.
    pub fn is_exited(&self, thread: u32) -> bool {
        self.lanes.get(&thread).is_some_and(|l| l.exited)
    }
    /// Events that wait.
    pub fn events_waiting(&self) -> usize {
        self.round.len()
    }
    /// Most samples that any thread has waiting.
    pub fn longest(&self) -> usize {
        self.lanes.values().map(|l| l.samples.len()).max().unwrap_or(0)
    }
    /// Samples of a thread that are in files.
    pub fn refs(&self, thread: u32) -> u64 {
        self.lanes.get(&thread).map_or(0, |l| l.counts.refs)
    }
    /// Bytes of all files.
    pub fn file_bytes(&self) -> u64 {
        self.frame_bytes + self.events.len()
    }
    /// Counts by thread, `threads` of them.
    pub fn counts(&self, threads: u32) -> Vec<Counts> {
        (0..threads).map(|t| self.lanes.get(&t).map_or_else(Counts::default, |l| l.counts)).collect()
    }

    /// Writes the samples of threads that have this many waiting.
    pub fn flush_samples(&mut self, at_least: usize) -> io::Result<()> {
        for (&thread, lane) in self.lanes.iter_mut().filter(|l| l.1.samples.len() >= at_least) {
            while !lane.samples.is_empty() {
                let done = frame((&self.root, self.codec), thread, lane, &mut self.encoder, &mut self.bytes)?;
                lane.samples.drain(..done);
                lane.counts.refs += done as u64;
                self.frame_bytes += self.bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// Writes everything taken so far, samples first: an event may not stand behind samples that are not there.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flush_samples(1)?;
        self.events.append(&self.round)?;
        for event in &self.round {
            self.facts.see(event);
            if let Some(lane) = self.lanes.get_mut(&event.thread) {
                lane.counts.events += 1;
            }
        }
        self.round.clear();
        Ok(())
    }
}

/// Writes one frame of a thread's first samples; returns how many.
fn frame(
    (root, codec): (&Dir, Codec),
    thread: u32,
    lane: &mut Lane,
    encoder: &mut FrameEncoder,
    bytes: &mut Vec<u8>,
) -> io::Result<usize> {
    bytes.clear();
    encoder.begin(thread, lane.counts.refs);
    let mut done = 0;
    let mut stamp = None;
    for s in lane.samples.iter().take(FRAME_REFS_MAX) {
        // A stamp for each sample, except where the counter stood still.
        if stamp != Some(s.ticks) && !encoder.stamp(s.ticks) {
            break;
        }
        stamp = Some(s.ticks);
        if !encoder.push_sample(s.addr, s.size, s.op, s.ip, &s.sample) {
            break;
        }
        done += 1;
    }
    encoder.finish(stamp.unwrap_or(lane.floor), codec, bytes);
    let out = match &mut lane.out {
        Some(out) => out,
        None => lane.out.insert(Appender::frames(root, thread, 0)?),
    };
    out.append(bytes)?;
    Ok(done)
}
