//! One sampled recording while it runs.
use super::awaited::Awaited;
use super::clock::Clocks;
use super::life::Life;
use super::names::Names;
use super::ring_reader::RingReader;
use super::start;
use super::tally::Tally;
use super::writer::Writer;
use super::{HOLD, Sampler};
use crate::control::Control;
use crate::error::CaptureError;
use crate::options::{Progress, RecordOptions, Snapshot};
use homenode_base::ring::{STOP_LIMIT, STOP_USER};
use homenode_host::clock::Clock;
use homenode_sampling::heat::{Seen, Watcher};
use homenode_sampling::huge::Watched;
use homenode_sampling::{Notice, RawSample, SampleSource};
use homenode_symbols::Modules;
use homenode_sys::dir::Dir;
use homenode_sys::process::Subreaper;
use homenode_trace::Manifest;
use homenode_trace::framing::Codec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Longest sleep in the source.
const POLL: Duration = Duration::from_millis(50);
/// How often progress is told.
const TELL: Duration = Duration::from_millis(100);

/// A recording.
pub(super) struct Session {
    /// That of the samples.
    pub(super) clock: Arc<dyn Clock>,
    pub(super) control: Control,
    /// As first written.
    pub(super) manifest: Manifest,
    pub(super) source: Option<Box<dyn SampleSource>>,
    pub(super) life: Life,
    pub(super) clocks: Clocks,
    pub(super) names: Names,
    pub(super) awaited: Awaited,
    pub(super) ring_readers: BTreeMap<u32, RingReader>,
    pub(super) modules: Modules,
    pub(super) writer: Writer,
    pub(super) fresh: Vec<RawSample>,
    pub(super) notices: Vec<Notice>,
    /// Processes whose begin is in the dataset, other than those that report for themselves.
    pub(super) begun: BTreeSet<u32>,
    /// Rings that are closed or cannot be used.
    pub(super) closed: BTreeSet<u32>,
    pub(super) limit: Option<u64>,
    deadline: Option<Duration>,
    pub(super) flushed: Duration,
    pub(super) tally: Tally,
    pub(super) huge: Watched,
    /// Of the process that was started or joined.
    pub(super) heat: Option<Watcher>,
    pub(super) seen: Seen,
    pub(super) root_pid: u32,
    _reaper: Option<Subreaper>,
}

impl Session {
    /// Opens the dataset, the program and the source, in this order: what cannot be sampled never runs.
    pub(super) fn begin(
        sampler: &mut dyn Sampler,
        options: &RecordOptions,
        root: &Dir,
    ) -> Result<Session, CaptureError> {
        let control = start::control(root)?;
        let reaper = options.pid.is_none().then(Subreaper::set).and_then(Result::ok);
        let (held, subject) = start::subject(sampler, options, &control, root)?;
        let source = sampler.open(&subject)?;
        let clock = source.clock();
        let mut tally = Tally { event: source.event(), unit: source.unit(), ..Tally::default() };
        tally.sees_writes = source.sees_writes();
        let manifest = start::manifest(root, options, sampler.name(), &tally)?;
        let writer = Writer::new(root, Codec::Lz4).map_err(CaptureError::io("create events.bin in", root.path()))?;
        let life = match held {
            Some(held) => {
                let pid = held.go().map_err(|e| homenode_host::launch::not_started(&options.command, &e))?;
                Life::child(pid, clock.clone())
            }
            None => Life::join(subject.pid)?,
        };
        let mut session = Session {
            source: Some(source),
            limit: options.limit_refs,
            deadline: options.duration.map(|d| clock.now() + d),
            heat: (sampler.wants_heat() && subject.tune_kernel).then(|| Watcher::start(subject.pid)),
            root_pid: subject.pid,
            awaited: Awaited::expecting(subject.held),
            _reaper: reaper,
            ..Session::assemble(control, manifest, life, writer, tally, clock)
        };
        if !subject.held {
            session.meet(subject.pid);
        }
        Ok(session)
    }

    /// One without a source, that nobody ends.
    pub(super) fn assemble(
        control: Control,
        manifest: Manifest,
        life: Life,
        writer: Writer,
        tally: Tally,
        clock: Arc<dyn Clock>,
    ) -> Session {
        let (names, awaited, ring_readers, modules, fresh, notices, begun, closed) = Default::default();
        Session {
            control,
            manifest,
            source: None,
            life,
            clocks: Clocks::new(clock.clone()),
            names,
            awaited,
            ring_readers,
            modules,
            writer,
            fresh,
            notices,
            begun,
            closed,
            limit: None,
            deadline: None,
            flushed: clock.now(),
            tally,
            huge: Watched::new(clock.clone()),
            heat: None,
            seen: Seen::default(),
            root_pid: 0,
            _reaper: None,
            clock,
        }
    }

    /// Whether there was no sample and no thread.
    pub(super) fn saw_nothing(&self) -> bool {
        self.writer.samples == 0 && self.control.rings() == 0 && self.tally.write.is_none()
    }

    /// Records to the end of the program, of the time or of the user's patience.
    pub(super) fn run(mut self, progress: &mut dyn Progress) -> Session {
        let mut told = self.clock.now();
        loop {
            let over = self.life.look(&self.control);
            let (now_ns, now_ticks) = self.poll();
            self.advance(now_ns.saturating_sub(HOLD.as_nanos() as u64), now_ticks, false);
            self.stop_if_due();
            self.watch_huge_pages();
            if over.is_some() || (self.source.is_none() && self.life.is_joined()) {
                self.tally.outcome = over.unwrap_or_else(|| self.life.outcome());
                break;
            }
            if self.clock.now() - told >= TELL {
                told = self.clock.now();
                let (refs, bytes) = (self.writer.samples, self.writer.file_bytes());
                progress.update(&Snapshot { refs, bytes, threads: self.control.rings() });
            }
        }
        // Whatever the kernel still has; more than one look, since a source may deliver in pieces.
        for _ in 0..4 {
            self.poll();
        }
        self.close_source();
        let (_, now_ticks) = self.clocks.read();
        self.advance(u64::MAX, now_ticks, true);
        self
    }

    /// Notes which memory of the processes known is in huge pages, now and then.
    pub(super) fn watch_huge_pages(&mut self) {
        let live = (0..self.control.rings()).map(|i| self.control.entry(i).pid).filter(|pid| !self.life.is_dead(*pid));
        self.huge.look(live);
    }

    /// Waits for news and reads the clocks.
    fn poll(&mut self) -> (u64, u64) {
        let more = match &mut self.source {
            Some(source) => source.poll(POLL, &mut self.fresh, &mut self.notices),
            None => Ok(false),
        };
        let more = more.unwrap_or_else(|error| {
            self.tally.notes.push(format!("sampling broke off: {error}"));
            self.close_source();
            false
        });
        if !more {
            self.life.wait(&*self.clock, POLL);
        }
        self.names.refresh(&self.control);
        self.clocks.read()
    }

    /// Ends sampling when the limit, the time or the user's patience is over, or writing failed; the program runs on.
    fn stop_if_due(&mut self) {
        if self.limit.is_some_and(|n| self.writer.samples >= n) {
            self.control.stop(STOP_LIMIT);
        }
        if self.deadline.is_some_and(|d| self.clock.now() >= d) && self.control.stop_reason() == 0 {
            self.tally.duration_over = true;
            self.control.stop(STOP_USER);
        }
        if self.control.stop_reason() != 0 && self.source.is_some() {
            if self.tally.write.is_none() {
                // What is younger than the hold is still wanted, up to the limit.
                self.poll();
            }
            self.close_source();
            self.ring_readers.values().for_each(RingReader::wake);
        }
    }
    fn close_source(&mut self) {
        let Some(source) = self.source.take() else { return };
        self.tally.told(&*source);
        self.end_heat();
    }
    /// What memory was used as long as samples were taken, and which of it they came from.
    fn end_heat(&mut self) {
        let Some(watcher) = self.heat.take() else { return };
        let (heat, why) = watcher.end();
        self.tally.notes.extend(why);
        self.tally.heat = heat;
    }
}
