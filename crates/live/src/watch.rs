//! The loop itself.
use crate::actuator::Actuator;
use crate::evidence::Evidence;
use crate::here::Here;
use crate::journal::JournalFile;
use crate::meter::{Meter, Sums, When};
use crate::options::LiveOptions;
use homenode_capture::sampled::Beside;
use homenode_command::{Failure, Progress};
use homenode_host::clock::Clock;
use homenode_machine::Machine;
use homenode_placement::live::{Effect, Event, Governor, Header, Line, journal::JOURNAL_SCHEMA};
use homenode_sampling::SampleSource;
use homenode_sys::signals::{self, StopRequests};
use homenode_trace::SampleUnit;
use std::sync::Arc;
use std::time::Duration;

/// Longest sleep: how soon the program's end is noticed, and a signal that comes at an unlucky moment.
const LOOK: Duration = Duration::from_millis(250);
/// Longest time from a sample to the question where its page is: the kernel may move it meanwhile.
const METER: Duration = Duration::from_millis(100);
/// Longest time from a sample to the question where its page is, while nothing is to be done.
const CALM_METER: Duration = Duration::from_secs(1);
/// Longest sleep for want of processor time: the program's end is to be noticed.
const PAUSE_MOST: Duration = Duration::from_secs(1);
/// A look may take what will have been earned so much later.
const LENT: Duration = Duration::from_secs(1);
/// Samples a second where nothing is decided.
const METERED_PER_S: u64 = 400;
/// Windows as configured from look to look at samples while nothing is to be done.
const CALM_LOOK: u32 = 2;
/// While nothing is to be done, free room is asked for so rarely.
const ROOM_EVERY: Duration = Duration::from_secs(30);

/// Off switch of the live loop, which runs on, and on again.
pub(crate) const SIGUSR1: i32 = 10;

/// Whose end the loop waits for.
pub(crate) trait Life {
    /// Whether it is over.
    fn over(&mut self) -> bool;
    /// Ctrl-C or a request to terminate arrived; returns whether the loop ends now.
    fn asked_to_stop(&mut self, signal: i32) -> bool;
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The program did.
    Program,
    /// The time asked for was over.
    Duration,
    /// A signal.
    Signal(i32),
}

impl End {
    /// How the loop ended, for the report.
    pub(crate) fn words(self) -> String {
        match self {
            End::Program => "the program ended".to_owned(),
            End::Duration => "the time asked for was over; the program runs on".to_owned(),
            End::Signal(signal) => format!("stopped by {}; the program runs on", signals::name(signal)),
        }
    }
}

/// A live run.
pub(crate) struct LiveRun<'m> {
    governor: Governor<'m>,
    machine: &'m Machine,
    /// That of the samples.
    clock: Arc<dyn Clock>,
    source: Box<dyn SampleSource>,
    evidence: Evidence,
    meter: Meter,
    /// Whether anything is decided, or only metered.
    decides: bool,
    actuator: Actuator,
    journal: Option<JournalFile>,
    record: Option<Beside>,
    full_rate_per_s: u64,
    /// Most processor time for looking and deciding, and what this thread had used when it began.
    decide_permille: u64,
    begin_cpu_ns: u64,
    /// What of it went into samples.
    gathering_ns: u64,
    window: Duration,
    duration: Option<Duration>,
    started: Duration,
    /// When the next look is due, and when free room was last asked for.
    next: Duration,
    room_asked: Option<Duration>,
    /// Processor time of this thread, which does it all, when deciding was last accounted, and what of it since then went into moving.
    cpu_ns: u64,
    moving_cpu_ns: u64,
}

/// What a live run leaves behind, for the report.
pub(crate) struct Left<'m> {
    pub(crate) governor: Governor<'m>,
    pub(crate) unit: SampleUnit,
    pub(crate) event: String,
    /// Accesses that a unit was taken for, if weights do not count them.
    pub(crate) assumed: Option<u32>,
    pub(crate) samples: u64,
    pub(crate) unusable: u64,
    pub(crate) lost: u64,
    pub(crate) seconds: f64,
    /// Length of a window as configured, in seconds.
    pub(crate) window_s: f64,
    /// Where the accesses went.
    pub(crate) metered: Sums,
    pub(crate) calls: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Left<'_> {
    /// Who did the work, if it was not the loop alone.
    pub(crate) fn who_moved(&self, kernel_moves: u64) -> Option<String> {
        let now = self.metered.now();
        crate::kernel::who_moved(self.governor.stats().moved_pages, kernel_moves, (now.weight > 0).then(|| now.share()))
    }
}

impl<'m> LiveRun<'m> {
    /// Everything that can fail before the first sample does so here.
    pub(crate) fn new(
        here: &'m Here,
        options: &LiveOptions,
        source: Box<dyn SampleSource>,
        may_move: bool,
    ) -> Result<LiveRun<'m>, Failure> {
        let choice = options.choice()?;
        let config = options.config(&choice, &*source, &here.topology, may_move);
        let full_rate_per_s = config.full_rate_per_s;
        let governor = Governor::new(&here.machine, &choice, config.clone()).map_err(Failure::usage)?;
        let mut journal = options.journal.as_deref().map(|p| JournalFile::create(p, options.force)).transpose()?;
        if let Some(journal) = &mut journal {
            journal.write(&Line::Header(Box::new(Header {
                schema: JOURNAL_SCHEMA.into(),
                machine: here.machine.clone(),
                os_nodes: here.topology.nodes.iter().map(|n| n.os_id).collect(),
                policy: choice.to_string(),
                config,
                evidence: source.event(),
            })));
        }
        let clock = source.clock();
        let mut watch = LiveRun {
            governor,
            machine: &here.machine,
            meter: Meter::new(&here.topology, source.unit()),
            source,
            evidence: Evidence::new(&here.topology),
            decides: may_move,
            actuator: Actuator::new(&here.topology, options.dry_run, clock.clone()),
            journal,
            record: None,
            full_rate_per_s,
            decide_permille: u64::from(options.decide_permille.max(1)),
            begin_cpu_ns: nanoseconds(clock.used()),
            gathering_ns: 0,
            window: options.window,
            duration: options.duration,
            started: clock.now(),
            next: clock.now(),
            room_asked: None,
            cpu_ns: nanoseconds(clock.used()),
            moving_cpu_ns: 0,
            clock,
        };
        let rate = if may_move { watch.rate(watch.governor.rate_per_mille()) } else { METERED_PER_S };
        watch.source.set_rate(rate)?;
        watch.tell(Event::Tick);
        Ok(watch)
    }

    /// What is sampled goes into this dataset as well.
    pub(crate) fn recording(self, record: Option<Beside>) -> LiveRun<'m> {
        LiveRun { record, ..self }
    }

    /// Runs until the program, the time or the user's patience ends.
    ///
    /// # Errors
    /// The source fails, or nothing at all can be learned about the process.
    pub(crate) fn run(
        &mut self,
        life: &mut dyn Life,
        stop: Option<&StopRequests>,
        progress: &mut dyn Progress,
    ) -> Result<End, Failure> {
        let (mut samples, mut notices) = (Vec::new(), Vec::new());
        self.schedule();
        loop {
            let rest = self.next.saturating_sub(self.clock.now()).max(self.pause());
            let calm = self.governor.stretch() > 1;
            let longest = if calm { CALM_METER } else { METER };
            let before_ns = self.used_ns();
            let flowing = self.source.poll(rest.min(longest.max(self.pause())), &mut samples, &mut notices)?;
            let when = When { now: self.clock.now(), moved: self.governor.stats().moves > 0, calm };
            self.meter.add(&samples, &mut self.evidence, self.machine, when);
            self.evidence.add(&samples);
            if let Some(record) = &mut self.record {
                record.add(&samples, &notices);
            }
            samples.clear();
            notices.clear();
            self.gathering_ns += self.used_ns() - before_ns;
            if let Some(signal) = stop.and_then(StopRequests::take) {
                if signal == SIGUSR1 {
                    let event = if self.governor.is_off() { Event::On } else { Event::Off };
                    self.tell(event);
                } else if life.asked_to_stop(signal) {
                    return Ok(End::Signal(signal));
                }
            }
            if self.clock.now() >= self.next && self.affords() {
                self.look()?;
                self.schedule();
                progress.at("watching", self.governor.stats().windows, None);
            }
            if life.over() {
                return Ok(End::Program);
            }
            if self.duration.is_some_and(|d| self.elapsed() >= d) {
                return Ok(End::Duration);
            }
            if !flowing {
                self.clock.sleep(rest.min(LOOK));
            }
        }
    }

    /// How long to wait for the next samples, so that gathering and metering them take at most a third of the allowance since the
    /// start; the rest is for deciding.
    fn pause(&self) -> Duration {
        let earned_ns = self.now_ns() / 3000 * self.decide_permille;
        let short_ns = self.gathering_ns.saturating_sub(earned_ns);
        Duration::from_nanos(short_ns.saturating_mul(3000) / self.decide_permille).min(PAUSE_MOST)
    }
    /// Whether there is time for a look.
    fn affords(&self) -> bool {
        let spent_ns = self.used_ns().saturating_sub(self.begin_cpu_ns).saturating_sub(self.governor.stats().moving_ns);
        spent_ns <= (self.now_ns() + LENT.as_nanos() as u64) / 1000 * self.decide_permille
    }

    /// Samples a second.
    fn rate(&self, per_mille: u32) -> u64 {
        (self.full_rate_per_s.saturating_mul(u64::from(per_mille)) / 1000).max(1)
    }

    /// The next look is at the window's end, or before it in a long window: what is seen may end it.
    fn schedule(&mut self) {
        let due = self.started + Duration::from_nanos(self.governor.due_ns());
        let end = self.duration.map_or(due, |d| self.started + d);
        self.next = due.min(end).min(self.clock.now() + self.window * CALM_LOOK);
    }

    /// Tells what was sampled, and decides if the window is over.
    fn look(&mut self) -> Result<(), Failure> {
        let uses = if self.decides { self.evidence.take() } else { self.evidence.forget() };
        let seen = !uses.is_empty();
        if seen {
            self.tell(Event::Used { uses });
        }
        if self.now_ns() < self.governor.due_ns() {
            return Ok(());
        }
        let asked_lately = self.room_asked.is_some_and(|at| self.clock.now() < at + ROOM_EVERY);
        if seen && (self.governor.stretch() == 1 || !asked_lately) {
            self.room_asked = Some(self.clock.now());
            let free = self.actuator.free();
            self.tell(free);
        }
        self.tell(Event::Tick);
        let cpu_ns = self.used_ns();
        let deciding_ns = (cpu_ns - self.cpu_ns).saturating_sub(std::mem::take(&mut self.moving_cpu_ns));
        self.cpu_ns = cpu_ns;
        self.tell(Event::Spent { deciding_ns });
        if let Some(journal) = &mut self.journal {
            journal.flush();
        }
        let seen_something = self.governor.stats().looked_at > 0;
        match &self.actuator.trouble {
            Some(error) if !seen_something => Err(Failure::work(error)),
            _ => Ok(()),
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock.now().saturating_sub(self.started)
    }
    /// Processor time of this thread.
    fn used_ns(&self) -> u64 {
        nanoseconds(self.clock.used())
    }
    /// The clock of all events.
    fn now_ns(&self) -> u64 {
        nanoseconds(self.elapsed())
    }

    /// One event and all that follows from it.
    fn tell(&mut self, event: Event) {
        let mut todo = std::collections::VecDeque::from([event]);
        let mut effects = Vec::new();
        while let Some(event) = todo.pop_front() {
            let at_ns = self.now_ns();
            self.governor.handle(at_ns, &event, &mut effects);
            if let Some(journal) = &mut self.journal {
                journal.write(&Line::In { at_ns, event });
                effects.iter().for_each(|e| journal.write(&Line::Out { effect: e.clone() }));
            }
            for effect in effects.drain(..) {
                match effect {
                    Effect::Locate { pages } => todo.extend(self.actuator.locate(&pages)),
                    Effect::Move { candidates, limit_ns } => {
                        let (event, cpu_ns) = self.actuator.carry_out(&candidates, limit_ns);
                        self.moving_cpu_ns += cpu_ns;
                        todo.push_back(event);
                    }
                    // A source that cannot change its rate goes on as before; deciding looks at fewer pages anyway.
                    Effect::Rate { per_mille } => _ = self.source.set_rate(self.rate(per_mille)),
                }
            }
        }
    }

    /// Ends sampling and hands over what is to be reported.
    pub(crate) fn finish(mut self) -> Left<'m> {
        let mut notes = self.source.notes();
        if let Some(mut journal) = self.journal.take() {
            journal.flush();
            notes.extend(journal.trouble.take());
        }
        notes.extend(self.record.take().map(|record| recorded(record, &*self.source)));
        notes.extend(self.actuator.trouble.take().map(|e| e.to_string()));
        if self.actuator.calls_unlisted > 0 {
            notes.push(format!("{} more calls are not listed", self.actuator.calls_unlisted));
        }
        let shared = self.governor.shared_huge_pages();
        if shared > 0 {
            notes.push(format!(
                "{shared} huge pages were used from several nodes and can only be on one of them: with \
                 transparent_hugepage=madvise, or MADV_NOHUGEPAGE on such memory, each part can be with its user"
            ));
        }
        if self.governor.is_off() {
            notes.push("moving was switched off by signal".into());
        }
        Left {
            unit: self.source.unit(),
            event: self.source.event(),
            assumed: self.source.assumed_accesses(),
            samples: self.evidence.samples,
            unusable: self.evidence.unusable,
            lost: self.source.lost(),
            seconds: self.elapsed().as_secs_f64(),
            window_s: self.window.as_secs_f64(),
            metered: self.meter.sums(),
            calls: self.actuator.calls,
            governor: self.governor,
            notes,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Completes the dataset of the evidence, and says what it came to.
fn recorded(record: Beside, source: &dyn SampleSource) -> String {
    const NOTE: &str = "the samples are those that the live loop asked for: few while nothing was to be done, and pages were \
                        moved meanwhile";
    match record.finish(source, NOTE) {
        Ok(summary) if summary.write_failed => {
            format!("the recording ends early, after {} samples: it could not be written", summary.refs)
        }
        Ok(summary) => format!("the evidence is recorded: {} samples", summary.refs),
        Err(e) => format!("the recording could not be completed: {e}"),
    }
}
