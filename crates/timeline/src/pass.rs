//! The pass over a recording.
use crate::TimelineRequest;
use crate::phases::Phases;
use crate::scale::Scale;
use crate::stamps::Stamps;
use crate::timeline::{Thread, Timeline};
use crate::windows::{WINDOWS_MAX, Window, Windows};
use homenode_base::TotalCost;
use homenode_command::dataset::{open, refs};
use homenode_command::{Failure, Progress, machine};
use homenode_machine::{Machine, Unit};
use homenode_report::units::CostUnit;
use homenode_sim::names::NameTable;
use homenode_sim::{BoundMachine, Charges, Objects, Setup, ThreadBinding};
use homenode_trace::event::EventKind;
use homenode_trace::manifest::Clock;
use homenode_trace::order::{Order, OrderKind, Piece, Stream};
use homenode_trace::{DatasetReader, Event, Manifest, Op, SampleUnit, TraceError};
use std::collections::HashMap;

/// What a reference takes besides what its accesses cost, where nobody knows: a nanosecond.
const ASSUMED_PS: u64 = 1_000;
/// Windows of sampled recordings to begin with: a millisecond.
const SAMPLED_WIDTH_NS: u64 = 1_000_000;
/// Windows of exact recordings have so many references at least: below, a few misses that happen to meet would look like demand.
const EXACT_WIDTH_MIN: u64 = 1024;

/// Makes the timeline and hands it on; returns what is to be said of it.
pub(crate) fn run(
    request: &TimelineRequest,
    stop: &dyn Fn() -> Result<(), Failure>,
    progress: &mut dyn Progress,
    done: impl FnOnce(&Timeline<'_>) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let bound = BoundMachine::new(machine::named(&request.machine)?, request.map.as_deref())
        .map_err(|e| Failure::usage(format!("--map: {e}")))?;
    refuse_quanta(&bound.machine)?;
    let block_bytes = request.block.unwrap_or(bound.machine.shape.page_bytes);
    bound.machine.check_block("--block", block_bytes).map_err(Failure::usage)?;
    let opened = open(&request.dataset)?;
    let reader = &opened.reader;
    if request.viewer.places && by_window(reader.manifest()) {
        return Err(Failure::input(format!(
            "{}: its samples say in which windows of time a page was used, not what that cost: there is nothing to weigh code and data by; \
             --perfetto shows them over time",
            request.dataset.display()
        )));
    }
    let bindings = bound.bindings(reader).map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let options = bound.replay_options(reader);
    let setup = Setup { machine: &bound.machine, bindings: &bindings, block_bytes, options, waits: &[] };
    let names = NameTable::new(reader)?;
    let mut pass = Pass::new(reader, setup, &names, request.viewer.places)?;
    let mut order = Order::new(reader, OrderKind::Model)?;
    let total = refs(reader);
    while let Some(piece) = order.pull()? {
        stop()?;
        pass.piece(piece)?;
        progress.at("reading", pass.read, Some(total));
    }
    let timeline = pass.finish()?;
    done(&timeline)?;
    let (windows, time) = (timeline.windows.len(), duration(timeline.scale.end()));
    let notes = timeline.notes.iter().map(|note| format!("\n{note}")).collect::<String>();
    Ok(format!("{}: {windows} windows, {time}{notes}", request.to.display()))
}

/// A machine whose costs are no times has no time axis.
fn refuse_quanta(machine: &Machine) -> Result<(), Failure> {
    match &machine.unit {
        Unit::Picoseconds => Ok(()),
        Unit::Quantum(unit) => Err(Failure::usage(format!(
            "--machine {}: its costs are no times (its unit: {unit}); take one with costs in time, such as two-socket",
            machine.name
        ))),
    }
}

/// Where the time of a recording comes from.
enum Times<'d> {
    /// From its stamps, which are nanoseconds.
    Stamps(Stamps<'d>),
    /// From the machine.
    Modelled,
}

struct Pass<'a> {
    reader: &'a DatasetReader,
    setup: Setup<'a>,
    charges: Charges<'a>,
    names: &'a NameTable<'a>,
    objects: homenode_sim::names::ObjectNames<'a>,
    times: Times<'a>,
    windows: Windows,
    phases: Phases,
    /// By thread, where in the order it was seen first and last.
    lived: Vec<Option<(u64, u64)>>,
    /// Where the order is: references without spins, or ticks.
    now: u64,
    /// References, spins included.
    read: u64,
}

impl<'a> Pass<'a> {
    fn new(
        reader: &'a DatasetReader,
        setup: Setup<'a>,
        names: &'a NameTable<'a>,
        places: bool,
    ) -> Result<Pass<'a>, Failure> {
        let manifest = reader.manifest();
        let stamped = manifest.sampling.is_some() && manifest.clock == Clock::Ns;
        let threads = setup.bindings.len();
        let times = if stamped { Times::Stamps(Stamps::new(reader)?) } else { Times::Modelled };
        let width = match times {
            Times::Stamps(_) => SAMPLED_WIDTH_NS,
            Times::Modelled => refs(reader).div_ceil(WINDOWS_MAX as u64).max(EXACT_WIDTH_MIN),
        };
        Ok(Pass {
            reader,
            setup,
            charges: Charges::new(setup).map_err(Failure::usage)?,
            names,
            objects: names.follow(),
            times,
            windows: Windows::new(width, threads, setup.machine.nodes(), places),
            phases: Phases::default(),
            lived: vec![None; threads],
            now: 0,
            read: 0,
        })
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), TraceError> {
        for r in piece.refs {
            self.read += 1;
            let stamp = match &mut self.times {
                Times::Stamps(stamps) => Some(stamps.next(r.thread)?),
                Times::Modelled => None,
            };
            if r.op == Op::Spin || r.thread as usize >= self.lived.len() {
                continue;
            }
            // The order never runs backwards, where stamps of different threads may.
            self.now = stamp.map_or(self.now + u64::from(r.weight), |stamp| self.now.max(stamp));
            self.seen(r.thread);
            self.windows.advance(self.now);
            self.windows.reference(r.thread, r.weight);
            for charge in self.charges.reference(r) {
                self.windows.charge(charge, || self.objects.at(charge.space, charge.addr).object);
            }
        }
        if let Some((event, time)) = piece.event {
            if let Times::Stamps(_) = self.times {
                self.now = self.now.max(time.0);
            }
            self.event(event);
        }
        Ok(())
    }

    fn seen(&mut self, thread: u32) {
        if let Some(lived) = self.lived.get_mut(thread as usize) {
            lived.get_or_insert((self.now, self.now)).1 = self.now;
        }
    }

    fn event(&mut self, event: &Event) {
        self.seen(event.thread);
        match &event.kind {
            EventKind::PhaseBegin { name } => self.phases.begin(event.thread, &self.words(event, name), self.now),
            EventKind::PhaseEnd { name } => self.phases.end(event.thread, &self.words(event, name), self.now),
            _ => {}
        }
        self.objects.event(event);
    }

    /// A phase as reports call it: a region or loop of OpenMP by what it is and where.
    fn words(&self, event: &Event, name: &str) -> String {
        let construct = self.objects.construct_of(event).and_then(|c| self.objects.construct(c));
        construct.map_or_else(|| name.to_owned(), |c| format!("{} at {}", c.words, c.place))
    }

    fn finish(self) -> Result<Timeline<'a>, Failure> {
        let Pass { reader, setup, charges, names, times, windows, phases, lived, now, .. } = self;
        charges.finish().map_err(Failure::work)?;
        let manifest = reader.manifest();
        let (width, windows) = windows.finish();
        let (durations, mut notes) = if matches!(times, Times::Stamps(_)) {
            (vec![width.saturating_mul(1_000); windows.len()], vec!["Time is that of the recording.".to_owned()])
        } else {
            modelled(manifest, &setup, &windows)
        };
        if manifest.sampling.is_some() {
            notes.push(estimated(by_window(manifest), &setup.machine.name));
        }
        if windows.iter().flat_map(|w| &w.shares).all(|(_, share)| share.cost_ps == 0) {
            notes.push(
                "Nothing that was recorded came from memory: there are no costs, shares and bytes to show.".to_owned(),
            );
        }
        let scale = Scale::new(width, durations);
        let found = phases.finish(now);
        if found.omitted > 0 {
            notes.push(format!("{} phases are left out: there are too many to show.", found.omitted));
        }
        let lived = lived.into_iter().map(|lived| lived.map(|(from, to)| (scale.at(from), scale.at(to))));
        let threads = manifest.threads.iter().zip(setup.bindings).zip(lived);
        let threads = threads.map(|((t, b), lived)| Thread { process: t.process, tid: t.tid, node: b.node.0, lived });
        Ok(Timeline {
            command: manifest.command.join(" "),
            notes,
            machine: setup.machine.name.clone(),
            sampled: manifest.sampling.is_some(),
            counts_accesses: !by_window(manifest),
            recorded_at: manifest.recorded_at.clone(),
            processes: manifest.processes.iter().map(|p| (p.executable.clone(), p.pid)).collect(),
            threads: threads.collect(),
            phases: found.names,
            slices: found.slices,
            windows,
            scale,
            names: names.follow(),
            symbols: reader.symbols(),
        })
    }
}

fn duration(ps: u64) -> String {
    CostUnit::Time.cost(TotalCost(ps.into()))
}

/// Whether samples are windows in which a thread used a page, and not accesses.
fn by_window(manifest: &Manifest) -> bool {
    manifest.sampling.as_ref().is_some_and(|s| s.unit == SampleUnit::Window)
}

/// What figures of samples are.
fn estimated(by_window: bool, machine: &str) -> String {
    if by_window {
        format!(
            "Remote shares count windows in which a thread used a page that {machine} has elsewhere under first touch: nothing says how often it did, and what that cost."
        )
    } else {
        format!(
            "Costs, remote shares and bytes are estimates, as {machine} has pages under first touch: each sample that may have come from memory counts as a line, with its weight."
        )
    }
}

/// How long each window takes on the machine, and what is to be said of it.
fn modelled(manifest: &Manifest, setup: &Setup<'_>, windows: &[Window]) -> (Vec<u64>, Vec<String>) {
    let shares = || windows.iter().flat_map(|w| &w.shares);
    let cost: u128 = shares().map(|(_, share)| u128::from(share.cost_ps)).sum();
    let refs: u128 = shares().map(|(_, share)| u128::from(share.refs)).sum();
    let native = homenode_report::memory_time::native_ps(manifest);
    let left = native.map(|ps| u128::from(ps).saturating_sub(cost) / refs.max(1));
    let each_ps = left.map_or(ASSUMED_PS, |ps| u64::try_from(ps).unwrap_or(u64::MAX));
    let each = duration(each_ps);
    let from = match native {
        Some(_) => "which is what is left of the program's time without hooks",
        None => "which is assumed: `homenode record --calibrate` measures it",
    };
    let notes = vec![
        format!(
            "Time is not that of the recording but that of {} under first touch, where each miss costs its latency.",
            setup.machine.name
        ),
        format!(
            "A reference takes {each} besides, {from}; a window takes as long as its busiest processor, and waits for locks and barriers are not shown."
        ),
    ];
    (windows.iter().map(|w| busiest(w, setup.bindings, each_ps)).collect(), notes)
}

/// Picoseconds of the processor that has most to do in a window.
fn busiest(window: &Window, bindings: &[ThreadBinding], reference_ps: u64) -> u64 {
    let mut processors: HashMap<u16, u64> = HashMap::new();
    for (thread, share) in &window.shares {
        let time = processors.entry(bindings[*thread as usize].cpu).or_default();
        let computed = share.refs.saturating_mul(reference_ps);
        *time = time.saturating_add(computed).saturating_add(share.cost_ps);
    }
    processors.into_values().max().unwrap_or(0)
}
