//! Samples and events of all threads, in order of time, to frames and the event file.
use crate::facts::{Counts, Facts};
use crate::output::{Appender, EventsFile};
use homenode_trace::event::EventKind;
use homenode_trace::frame::{FRAME_REFS_MAX, FrameEncoder};
use homenode_trace::framing::Codec;
use homenode_trace::{Event, Op, Sample};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// One sample of a known thread, its time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) ticks: u64,
    pub(super) addr: u64,
    pub(super) size: u32,
    pub(super) op: Op,
    pub(super) ip: u64,
    pub(super) sample: Sample,
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
pub(super) struct Writer {
    root: PathBuf,
    events: EventsFile,
    pub(super) facts: Facts,
    lanes: BTreeMap<u32, Lane>,
    /// Events of the current round.
    round: Vec<Event>,
    encoder: FrameEncoder,
    bytes: Vec<u8>,
    /// Samples accepted, in files or not.
    pub(super) samples: u64,
    /// Sum of their weights.
    pub(super) weight: u64,
    /// Samples taken after their thread had said that it ends.
    pub(super) after_exit: u64,
    frame_bytes: u64,
}

impl Writer {
    /// Starts the files.
    pub(super) fn new(root: &Path) -> io::Result<Writer> {
        let events = EventsFile::open(root, 0, 0)?;
        let (facts, lanes, round, encoder, bytes) = Default::default();
        let [samples, weight, after_exit, frame_bytes] = [0; 4];
        Ok(Writer {
            root: root.to_owned(),
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
        })
    }
    /// Takes a sample; those of one thread come in order of time.
    pub(super) fn sample(&mut self, thread: u32, mut sample: Stamped) {
        let lane = self.lanes.entry(thread).or_default();
        if lane.exited {
            self.after_exit += 1;
            return;
        }
        sample.ticks = sample.ticks.max(lane.floor);
        lane.floor = sample.ticks;
        lane.samples.push(sample);
        self.samples += 1;
        self.weight += u64::from(sample.sample.weight);
    }
    /// Takes an event that happened at `ticks`, after all events of its thread taken before.
    pub(super) fn event(&mut self, thread: u32, ticks: u64, stamp: u64, kind: EventKind) {
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
    /// Most samples that any thread has waiting.
    pub(super) fn longest(&self) -> usize {
        self.lanes.values().map(|l| l.samples.len()).max().unwrap_or(0)
    }
    /// Samples of a thread that are in files.
    pub(super) fn refs(&self, thread: u32) -> u64 {
        self.lanes.get(&thread).map_or(0, |l| l.counts.refs)
    }
    /// Bytes of all files.
    pub(super) fn file_bytes(&self) -> u64 {
        self.frame_bytes + self.events.len()
    }
    /// Counts by thread, `threads` of them.
    pub(super) fn counts(&self, threads: u32) -> Vec<Counts> {
        (0..threads).map(|t| self.lanes.get(&t).map_or_else(Counts::default, |l| l.counts)).collect()
    }

    /// Writes everything taken so far, samples first: an event may not stand behind samples that are not there.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        for (&thread, lane) in &mut self.lanes {
            while !lane.samples.is_empty() {
                let done = frame(&self.root, thread, lane, &mut self.encoder, &mut self.bytes)?;
                lane.samples.drain(..done);
                lane.counts.refs += done as u64;
                self.frame_bytes += self.bytes.len() as u64;
            }
        }
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
    root: &Path,
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
    encoder.finish(stamp.unwrap_or(lane.floor), Codec::Lz4, bytes);
    let out = match &mut lane.out {
        Some(out) => out,
        None => lane.out.insert(Appender::frames(root, thread, 0)?),
    };
    out.append(bytes)?;
    Ok(done)
}
