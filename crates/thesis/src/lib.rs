//! # homenode-thesis: Bolosky 1993 again
//!
//! Experiments E1 to E12 on our programs, with a verdict on every table, figure and claim.
//!
//! The references of one program at a time are recorded, partitioned and given to every experiment in turn, so memory does
//! not grow with the number of programs. Each program is recorded three times, and what was measured in one recording is
//! taken for another one with the same references. To add an experiment: a file here that defines `SPEC`, and its name in
//! the list.
//!
//! **Invariant:** every table, figure and claim that an experiment stands for gets a verdict.
//!
//! Reading order: this file, [`program`] (what is run), [`repeat`] (an experiment over several recordings), [`elsewhere`]
//! (recordings that others measure), [`CLAIMS`] (what was published), then the experiments.
#![forbid(unsafe_code)]

mod cards;
mod elsewhere;
mod lookup;
mod moves_case;
mod paper;
mod program;
mod repeat;
mod slopes;

use homenode_command::{Failure, Progress};
use homenode_judging::bars::Bars;
use homenode_judging::claims::{self, Claims};
use homenode_judging::doc::{ReproduceDoc, SCHEMA};
use homenode_judging::figure::Figure;
use homenode_judging::work::{timed, together};
use homenode_judging::{Found, Pictures, experiments};
use homenode_reproducing::paper::{Job, Page, Paper, SIZES};
use program::{Listed, Program};
use repeat::{Gathered, RECORDINGS, Study};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;

homenode_base::registry!(
    /** Every experiment, in the order of the page. */ Spec;
    e01, e02, e03, e04, e05, e06, e07, e08, e09, e10, e11, e12, printed, figures
);

/// One experiment.
struct Spec {
    /// `E1` to `E12`.
    id: &'static str,
    /// What it is about, a few words.
    title: &'static str,
    /// Ready for the first program.
    begin: fn() -> Box<dyn Experiment>,
}

/// What gathers the results of an experiment, program by program.
trait Experiment: Send {
    /// Whether it looks at programs at all.
    fn looks(&self) -> bool {
        true
    }
    /// The recording of this number of the next program.
    fn program(&mut self, number: usize, program: &Program) -> Result<(), Failure>;
    /// What [`Experiment::program`] would keep of a program, as JSON.
    fn measured(&self, program: &Program) -> Result<String, Failure>;
    /// The recording of this number of the next program, measured elsewhere.
    fn take(&mut self, number: usize, measured: &str) -> Result<(), Failure>;
    /// The recording of this number has the references of one before.
    fn as_before(&mut self, number: usize, before: usize);
    /// All programs were seen.
    fn finish(self: Box<Self>) -> Result<Found, Failure>;
}

/// What was published.
pub const CLAIMS: Claims = Claims(include_str!("../data/bolosky_claims.json"));

/// The paper.
pub static SPEC: Paper = Paper {
    name: "bolosky",
    summary: "policies, machines, TLBs, false sharing and disturbance of Bolosky 1993: E1 to E12",
    experiments: Some("E1 to E12"),
    programs: Some(|| program::all().iter().map(|l| l.name).collect()),
    sizes: &SIZES,
    run,
    carry_out: elsewhere::carry_out,
};

/// Runs the experiments of these names (`E8`), or all if there is none.
///
/// # Errors
/// A name that does not exist; a program that cannot be built or recorded.
fn run(job: &Job<'_>, progress: &mut dyn Progress) -> Page {
    let chosen = experiments::chosen(ALL.iter().copied(), |s| s.id, job.only)?;
    let size_number = SIZES.iter().position(|s| *s == job.size).unwrap_or(0);
    let mut running: Vec<Running> = chosen.iter().map(|spec| Running::new(spec)).collect();
    let looks = running.iter().any(|r| r.experiment.looks());
    let programs: Vec<&Listed> = program::all().iter().filter(|l| looks && job.runs(l.name)).collect();
    let at = (job.folder, size_number);
    let costs = match job.elsewhere {
        Some(others) => elsewhere::all_programs(others, &programs, at, &mut running, progress)?,
        None => costs(all_programs(&programs, at, &mut running, progress)?, &running),
    };
    let found = running.into_iter().map(|r| r.experiment.finish()).collect::<Result<Vec<Found>, Failure>>()?;
    let (doc, pictures) = page(&chosen, job, programs.len(), found, costs)?;
    Ok((doc, Box::new(pictures)))
}

/// An experiment at work.
struct Running {
    spec: &'static Spec,
    experiment: Box<dyn Experiment>,
    /// Processor time so far.
    seconds: f64,
}

impl Running {
    fn new(spec: &'static Spec) -> Running {
        Running { spec, experiment: (spec.begin)(), seconds: 0.0 }
    }
}

/// Gives all programs to all experiments. While they look at one, the next is recorded: recordings wait for threads and
/// disks. Returns the seconds on the clock that recordings took.
fn all_programs(
    programs: &[&'static Listed],
    (folder, size): (&Path, usize),
    running: &mut [Running],
    progress: &mut dyn Progress,
) -> Result<f64, Failure> {
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(0);
        scope.spawn(move || {
            for (listed, number) in programs.iter().flat_map(|l| (0..RECORDINGS).map(move |n| (l, n))) {
                let began = std::time::Instant::now();
                let program = Program::record(listed, folder, (size, number), &mut ());
                if send.send((program, began.elapsed())).is_err() {
                    return;
                }
            }
        });
        let mut seconds = 0.0;
        for (i, listed) in (0..).zip(programs) {
            progress.at(listed.name, i, Some(programs.len() as u64));
            let mut seen = Vec::new();
            for number in 0..RECORDINGS {
                let (program, took) = receive.recv().map_err(|_| Failure::work("recording ended early"))?;
                seconds += took.as_secs_f64();
                let program = program?;
                match seen.iter().position(|print| *print == program.print()) {
                    Some(before) => running.iter_mut().for_each(|r| r.experiment.as_before(number, before)),
                    None => all_experiments(running, number, &program)?,
                }
                seen.push(program.print());
            }
        }
        Ok(seconds)
    })
}

/// Gives a program to all experiments, as many at a time as there are processors, the dearest so far first.
fn all_experiments(running: &mut [Running], number: usize, program: &Program) -> Result<(), Failure> {
    let mut dearest: Vec<&mut Running> = running.iter_mut().collect();
    dearest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let queue = Mutex::new(dearest.into_iter());
    let next = || queue.lock().expect("nobody panics while taking one").next();
    let work = || -> Result<(), Failure> {
        while let Some(one) = next() {
            let (result, seconds) = timed(|| one.experiment.program(number, program));
            one.seconds += seconds;
            result?;
        }
        Ok(())
    };
    together(work).into_iter().collect()
}

/// What the page cost.
fn costs(recording: f64, running: &[Running]) -> String {
    let each: Vec<String> = running.iter().map(|r| format!("{} {:.1}", r.spec.id, r.seconds)).collect();
    format!(
        "Cost of this page: building, recording and partitioning the programs {recording:.0} s on the clock; experiments in \
         processor seconds: {}.",
        each.join(", ")
    )
}

fn page(
    chosen: &[&Spec],
    job: &Job<'_>,
    programs: usize,
    found: Vec<Found>,
    costs: String,
) -> Result<(ReproduceDoc, Pictures), Failure> {
    let ids: Vec<&str> = chosen.iter().map(|s| s.id).collect();
    let mut found = experiments::whole(chosen.iter().zip(found).map(|(spec, found)| (spec.id, spec.title, found)));
    found.notes.extend([claims::rules(&found.judged), costs]);
    found.notes.splice(0..0, job.left_out_note().filter(|_| programs > 0));
    let of_all = if job.left_out.is_empty() { String::new() } else { format!(" of {}", program::all().len()) };
    let doc = ReproduceDoc {
        schema: SCHEMA,
        experiment: "bolosky".into(),
        size: job.size.into(),
        programs: match programs {
            0 => "no programs: nothing here depends on any".into(),
            n => format!(
                "the {n}{of_all} programs of the thesis, written anew as it describes them, each recorded {RECORDINGS} times with \
                 the hooks just now"
            ),
        },
        tables: found.tables,
        claims: CLAIMS.beside_without(&ids, found.judged, job.size, if programs > 0 { job.left_out } else { &[] })?,
        notes: found.notes,
    };
    Ok((doc, Pictures { bars: found.bars, figures: found.figures }))
}

#[cfg(test)]
mod tests {
    use super::CLAIMS;
    use homenode_judging::rules::Rule;

    #[test]
    fn every_rule_of_the_data_can_hold_and_can_fail() {
        let rules = homenode_judging::checked::checked(&CLAIMS);
        assert!(rules >= 30, "{rules} rules");
    }

    #[test]
    fn programs_of_the_rules_exist() {
        let known: Vec<&str> = super::program::all().iter().map(|l| l.name).collect();
        for claim in CLAIMS.published().expect("data") {
            for rule in claim.rules {
                if let Rule::Names { of, at_least, .. } = rule {
                    assert!(of.len() >= at_least, "{}", claim.id);
                    assert!(of.iter().all(|n| known.contains(&n.as_str())), "{}: {of:?}", claim.id);
                }
            }
        }
    }
}
