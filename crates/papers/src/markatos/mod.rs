//! Markatos and Chronaki 1993 again: protocols of page coherence on 64 processors, with a verdict on what the paper says.
//!
//! The traces are gone, so programs of ours stand in: orders can be compared, digits cannot. What follows from printed numbers
//! needs no programs. Each program is recorded three times, with three seeds, and what recordings disagree about is unsettled.
//!
//! Reading order: this file, [`variant`] (what protocols are asked), [`program`] (what is run), [`costs`], [`text`] and [`orders`]
//! (what is claimed), then what makes tables of it.
mod costs;
mod open;
mod orders;
mod prices;
mod printed;
mod program;
mod tables;
mod text;
mod variant;

use costs::{Printed, View};
use homenode_command::{Failure, Progress};
use homenode_judging::claims::{self, Claims};
use homenode_judging::doc::{ReproduceDoc, SCHEMA};
use homenode_judging::{Found, Pictures, experiments, settled};
use homenode_machine::{Coherence, Machine, models};
use homenode_reproducing::elsewhere::{self, Elsewhere, Unit};
use homenode_reproducing::paper::{Job, Page, Paper, SIZES};
use program::{Asked, LIST, Measured, REALIGNED, Recorder};
use std::sync::mpsc::sync_channel;
use variant::{BASE, OTHERS, Variant};

/// What was published.
pub(crate) const CLAIMS: Claims = Claims(include_str!("../../data/markatos_claims.json"));

pub(crate) static SPEC: Paper = Paper {
    name: "markatos",
    summary: "update, invalidate, counters and freezing of Markatos and Chronaki 1993: E1 to E8",
    experiments: Some("E1 to E8"),
    programs: None,
    sizes: &SIZES,
    run,
    carry_out,
};

/// Recordings of each program.
const RECORDINGS: usize = 3;
/// At this size only what hangs on no program is judged.
const SMALLEST: &str = "XS";

/// How the programs came to be, without which orders would look like independent evidence.
const FITTED: &str = "Sharing, layout and mix of reads and writes of the stand-ins were shaped by comparing with the printed \
     replications, updates and costs, in SIMPLE with the order of protocols itself: where orders and crossings agree before \
     re-alignment, that is in part fitted. Costs after re-alignment were not compared then.";

/// What an experiment makes of one recording of every program.
type Conclude = fn(&Context<'_>, &[Measured]) -> Result<Found, Failure>;

/// One experiment.
struct Spec {
    id: &'static str,
    title: &'static str,
    /// Whether it looks at programs.
    looks: bool,
    conclude: Conclude,
}

/// What all experiments look at beside programs.
struct Context<'a> {
    machine: &'a Machine,
    printed: Printed<'a>,
    size: &'a str,
}

impl Context<'_> {
    fn view<'v>(&'v self, programs: &'v [Measured]) -> View<'v> {
        View { programs, prices: self.printed.prices, variant: BASE, realigned: REALIGNED }
    }
}

/// Every experiment, in the order of the page.
static ALL: [Spec; 8] = [
    Spec { id: "E1", title: "exact rows", looks: false, conclude: |c, _| Ok(prices::exact(c.machine, &c.printed)) },
    Spec { id: "E2", title: "programs", looks: true, conclude: |c, p| Ok(tables::cards(c.size, &c.view(p))) },
    Spec { id: "E3", title: "protocols", looks: true, conclude: |c, p| tables::original(&c.printed, &c.view(p)) },
    Spec { id: "E4", title: "re-aligned", looks: true, conclude: |c, p| tables::realigned(&c.printed, &c.view(p)) },
    Spec { id: "E5", title: "the text", looks: true, conclude: |c, p| Ok(open::of_text(&c.view(p))) },
    Spec { id: "E6", title: "orders", looks: true, conclude: |c, p| Ok(orders::orders(&c.printed, &c.view(p))) },
    Spec { id: "E7", title: "crossings", looks: true, conclude: |c, p| Ok(orders::crossing(&c.printed, &c.view(p))) },
    Spec { id: "E8", title: "open points", looks: true, conclude: |c, p| Ok(open::points(&c.printed, p)) },
];

/// The paper's machine.
fn machine() -> Result<Machine, Failure> {
    models::find("markatos").ok_or_else(|| Failure::work("there is no machine markatos"))
}

fn coherence(machine: &Machine) -> Result<&Coherence, Failure> {
    machine.sections.coherence.as_ref().ok_or_else(|| Failure::work("machine markatos has no prices of coherence"))
}

/// Headings of a table.
fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|t| (*t).to_owned()).collect()
}

/// Runs the experiments of these names, or all if there is none.
///
/// # Errors
/// A name that does not exist; a program that cannot be built or recorded.
fn run(job: &Job<'_>, progress: &mut dyn Progress) -> Page {
    let smallest = job.size == SMALLEST;
    // Open points are not judged by programs that are too small.
    let chosen: Vec<&Spec> = experiments::chosen(ALL.iter(), |s| s.id, job.only)?
        .into_iter()
        .filter(|s| !(smallest && s.id == "E8"))
        .collect();
    let machine = machine()?;
    let rows = printed::rows();
    let context =
        Context { machine: &machine, printed: Printed { rows: &rows, prices: coherence(&machine)? }, size: job.size };
    let looks = chosen.iter().any(|s| s.looks);
    let sweeps = chosen.iter().any(|s| s.id == "E8");
    let recordings = if smallest { 1 } else { RECORDINGS };
    let asked = asked(sweeps)?;
    let cuts = job.elsewhere.is_none();
    let recorder = Recorder { folder: job.folder, size: job.size, asked: &asked, all_layouts: sweeps, cuts };
    let measured = match job.elsewhere {
        _ if !looks => Vec::new(),
        Some(elsewhere) => measured_by(elsewhere, &recorder, recordings, progress)?,
        None => measured(&recorder, recordings, progress)?,
    };
    let mut found = Vec::new();
    for spec in &chosen {
        let each: Result<Vec<Found>, Failure> = match spec.looks {
            true => measured.iter().map(|programs| (spec.conclude)(&context, programs)).collect(),
            false => (spec.conclude)(&context, &[]).map(|one| vec![one]),
        };
        found.push(settled::merged(each?));
    }
    let (doc, pictures) = page(&chosen, job.size, looks.then_some(recordings), found)?;
    Ok((doc, Box::new(pictures)))
}

/// What protocols are asked, of open points too or not.
fn asked(open_points: bool) -> Result<Asked, Failure> {
    let variants: Vec<Variant> = std::iter::once(BASE).chain(OTHERS.into_iter().filter(|_| open_points)).collect();
    Asked::new(machine()?, &variants)
}

/// Names of runs: without open points, and with them.
const RUNS: [&str; 2] = ["the paper's protocols", "open points too"];

/// Does one run of a recording: all protocols.
///
/// # Errors
/// A run or recording that there is not, or that fails.
fn carry_out(unit: &Unit) -> Result<String, Failure> {
    let Some(run) = RUNS.iter().position(|name| *name == unit.run) else {
        return Err(Failure::usage(format!("markatos has no run '{}' of {}", unit.run, unit.program)));
    };
    Measured::json(&asked(run == 1)?, &unit.recording, run == 1)
}

/// As [`measured`], with the protocols asked by others.
fn measured_by(
    elsewhere: &dyn Elsewhere,
    recorder: &Recorder<'_>,
    recordings: usize,
    progress: &mut dyn Progress,
) -> Result<Vec<Vec<Measured>>, Failure> {
    let mut units = Vec::new();
    for (i, listed) in (0..).zip(&LIST) {
        progress.at(listed.app, i, Some(LIST.len() as u64));
        for number in 0..recordings {
            recorder.record(listed, number, &mut |_| ())?;
            units.push(Unit {
                paper: SPEC.name.into(),
                program: listed.app.into(),
                recording: listed.recording(recorder.folder, number),
                run: RUNS[usize::from(recorder.all_layouts)].into(),
            });
        }
    }
    let mut found: Vec<Vec<Measured>> = (0..recordings).map(|_| Vec::new()).collect();
    for (i, answer) in elsewhere::answered(elsewhere, &units)?.into_iter().enumerate() {
        found[i % recordings].push(Measured::of(LIST[i / recordings].app, answer));
    }
    Ok(found)
}

/// All recordings of all programs, by recording. While protocols look at one, the next is recorded and cut.
fn measured(
    recorder: &Recorder<'_>,
    recordings: usize,
    progress: &mut dyn Progress,
) -> Result<Vec<Vec<Measured>>, Failure> {
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(0);
        scope.spawn(move || {
            for (listed, number) in LIST.iter().flat_map(|l| (0..recordings).map(move |n| (l, n))) {
                // Nobody receives any more after a failure.
                let mut gone = false;
                let done = recorder.record(listed, number, &mut |piece| gone |= send.send(Ok(piece)).is_err());
                if let Err(failure) = done {
                    gone = true;
                    _ = send.send(Err(failure));
                }
                if gone {
                    return;
                }
            }
        });
        let mut all: Vec<Vec<Measured>> = (0..recordings).map(|_| Vec::new()).collect();
        for (i, listed) in (0..).zip(&LIST) {
            progress.at(listed.app, i, Some(LIST.len() as u64));
            for of_recording in &mut all {
                let mut one = Measured::new(listed.app);
                while !one.take(receive.recv().map_err(|_| Failure::work("recording ended early"))??)? {}
                of_recording.push(one);
            }
        }
        Ok(all)
    })
}

fn page(
    chosen: &[&Spec],
    size: &str,
    recordings: Option<usize>,
    found: Vec<Found>,
) -> Result<(ReproduceDoc, Pictures), Failure> {
    let ids: Vec<&str> = chosen.iter().map(|s| s.id).collect();
    let mut found = experiments::whole(chosen.iter().zip(found).map(|(spec, found)| (spec.id, spec.title, found)));
    found.notes.extend(recordings.map(|_| FITTED.to_owned()));
    found.notes.push(claims::rules(&found.judged));
    let doc = ReproduceDoc {
        schema: SCHEMA,
        experiment: SPEC.name.into(),
        size: size.into(),
        programs: match recordings {
            None => "no programs: nothing here depends on any".into(),
            Some(n) => format!(
                "four programs that stand in for those of the paper, 64 threads each, recorded {n} time(s) with the hooks just now: \
                 orders count, digits do not"
            ),
        },
        tables: found.tables,
        claims: CLAIMS.beside(&ids, found.judged, size)?,
        notes: found.notes,
    };
    Ok((doc, Pictures { bars: found.bars, figures: found.figures }))
}

#[cfg(test)]
mod tests {
    use super::CLAIMS;
    use homenode_judging::checked::checked;

    #[test]
    fn every_rule_of_the_data_can_hold_and_can_fail() {
        let rules = checked(&CLAIMS);
        assert!(rules >= 35, "{rules} rules");
        let ruled = |c: &homenode_judging::claims::Published| !c.rules.is_empty();
        assert!(CLAIMS.published().expect("data").iter().all(ruled), "no claim is judged without a rule");
    }
}
