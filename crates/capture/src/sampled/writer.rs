//! Samples and events of all threads, in order of time, to frames and the event file.
use crate::facts::Facts;
use crate::store::DirStore;
use homenode_sys::dir::Dir;
use homenode_trace::event::EventKind;
use homenode_trace::frame::RawRef;
use homenode_trace::framing::Codec;
use homenode_trace::manifest::Manifest;
use homenode_trace::symbols::Symbols;
use homenode_trace::writer::{self, Counts};
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

/// What of one thread is not in the dataset yet.
#[derive(Debug, Default)]
struct PendingSamples {
    /// Not written yet, ascending in time.
    samples: Vec<Stamped>,
    /// Time of the last sample or frame end: stamps never run backwards within a thread.
    floor: u64,
    /// Whether the thread's exit is in the dataset: what was sampled while the system took it apart is left out.
    exited: bool,
}

/// Everything that goes into files: samples wait here until the events among them have found their places.
#[derive(Debug)]
pub struct Writer {
    files: writer::Writer<DirStore>,
    pub(crate) facts: Facts,
    pending_by_thread: BTreeMap<u32, PendingSamples>,
    /// Events of the current round.
    round: Vec<Event>,
    /// Samples accepted, in files or not.
    pub samples: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// Samples taken after their thread had said that it ends.
    pub after_exit: u64,
}

impl Writer {
    /// Starts the files; frames are compressed like this.
    ///
    /// # Errors
    /// `events.bin` cannot be made.
    pub fn new(root: &Dir, codec: Codec) -> io::Result<Writer> {
        let files = writer::Writer::new(DirStore::of(root), codec)?.events_in(Codec::Lz4);
        let (facts, pending_by_thread, round) = Default::default();
        let [samples, weight, after_exit] = [0; 3];
        Ok(Writer { files, facts, pending_by_thread, round, samples, weight, after_exit })
    }
    /// Takes a sample; those of one thread come in order of time.
    pub fn sample(&mut self, thread: u32, mut sample: Stamped) {
        let lane = self.pending_by_thread.entry(thread).or_default();
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
        let lane = self.pending_by_thread.entry(thread).or_default();
        let before = lane.samples.partition_point(|s| s.ticks < ticks);
        if kind == EventKind::Exit {
            let late = lane.samples.drain(before..);
            (self.samples, self.after_exit) = (self.samples - late.len() as u64, self.after_exit + late.len() as u64);
            self.weight -= late.map(|s| u64::from(s.sample.weight)).sum::<u64>();
            lane.exited = true;
        }
        let at = self.files.refs(thread) + before as u64;
        self.round.push(Event { thread, at, stamp, kind });
    }
    /// Whether the exit of a thread was taken.
    pub fn is_exited(&self, thread: u32) -> bool {
        self.pending_by_thread.get(&thread).is_some_and(|l| l.exited)
    }
    /// Events that wait.
    pub fn events_waiting(&self) -> usize {
        self.round.len()
    }
    /// Most samples that any thread has waiting.
    pub fn longest(&self) -> usize {
        self.pending_by_thread.values().map(|l| l.samples.len()).max().unwrap_or(0)
    }
    /// Samples of a thread that are in files.
    pub fn refs(&self, thread: u32) -> u64 {
        self.files.refs(thread)
    }
    /// Bytes of all files.
    pub fn file_bytes(&self) -> u64 {
        self.files.bytes()
    }
    /// Counts by thread, `threads` of them.
    pub fn counts(&self, threads: u32) -> Vec<Counts> {
        (0..threads).map(|t| self.files.counts(t)).collect()
    }

    /// Writes the samples of threads that have this many waiting.
    ///
    /// # Errors
    /// A frame could not be written; what is in none waits still.
    pub fn flush_samples(&mut self, at_least: usize) -> io::Result<()> {
        let files = &mut self.files;
        for (&thread, lane) in
            self.pending_by_thread.iter_mut().filter(|l| !l.1.samples.is_empty() && l.1.samples.len() >= at_least)
        {
            let before = files.refs(thread);
            let written = write(files, thread, &lane.samples);
            // A frame that could not be written does not count.
            lane.samples.drain(..(files.refs(thread) - before) as usize);
            written?;
        }
        Ok(())
    }

    /// Writes everything taken so far, samples first: an event may not stand behind samples that are not there.
    ///
    /// # Errors
    /// A frame, or the events, could not be written; what was not waits still.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flush_samples(1)?;
        self.files.events(&self.round)?;
        self.round.drain(..).for_each(|event| self.facts.see(&event));
        Ok(())
    }
    /// Completes a dataset that nobody records: see [`writer::Writer::finish`].
    ///
    /// # Errors
    /// What was not written yet, or the last two files, cannot be written.
    pub fn finish(mut self, symbols: &Symbols, manifest: Manifest) -> io::Result<Manifest> {
        self.flush()?;
        self.files.symbols(symbols)?;
        self.files.finish(manifest)
    }
}

/// Writes a thread's samples as frames, with a stamp for each sample except where the counter stood still.
fn write(files: &mut writer::Writer<DirStore>, thread: u32, samples: &[Stamped]) -> io::Result<()> {
    let mut stamp = None;
    for s in samples {
        if stamp != Some(s.ticks) {
            files.stamp(thread, s.ticks)?;
        }
        stamp = Some(s.ticks);
        files.push_sample(thread, RawRef { addr: s.addr, size: s.size, op: s.op, pc: s.ip }, &s.sample)?;
    }
    stamp.map_or(Ok(()), |end| files.end_frame(thread, end))
}
