//! Shared virtual memory on clusters again (Bilas and Singh): simulated, measured and emulated clusters in virtual time, with a verdict on
//! each claim.
//!
//! Programs are recorded with as many threads as the cluster has processors, and run by `homenode_cluster`; their parallel phase counts. Each is recorded
//! three times, at XS once; recordings beyond the first are run where claims look. Measured and emulated clusters are machines of the registry, too:
//! what the study measured on them is compared with the model of them.
//!
//! Reading order: this file, [`program`] (what is run), [`settings`] (how), [`runs`], [`hardware`], [`measure`] (what claims are about), [`machines`], [`printed`],
//! [`cells`], [`tables`], [`pictures`].
mod cells;
mod hardware;
mod machines;
mod measure;
mod pictures;
mod printed;
mod program;
mod runs;
mod settings;
mod tables;

use homenode_command::{Failure, Progress};
use homenode_judging::claims::{Claims, worded};
use homenode_judging::doc::{ReproduceDoc, SCHEMA};
use homenode_judging::figure::Figure;
use homenode_judging::page::Picture;
use homenode_judging::{Drawn, Found, settled};
use homenode_reproducing::paper::{Job, Page, Paper};
use homenode_reproducing::stacked::Stacked;
use measure::Study;
use program::{LIST, Listed};
use runs::Runs;
use settings::Setting;
use std::path::Path;

/// What was published.
pub(crate) const CLAIMS: Claims = Claims(include_str!("../../data/bilas_claims.json"));

const SIZES: [&str; 3] = ["XS", "S", "M"];

pub(crate) static SPEC: Paper = Paper {
    name: "bilas",
    summary: "shared virtual memory on simulated, measured and emulated clusters, of Bilas and Singh",
    experiments: None,
    programs: Some(|| LIST.iter().map(|l| l.name).collect()),
    sizes: &SIZES,
    run,
    carry_out: runs::carry_out,
};

/// Recordings of each program, but for XS.
const RECORDINGS: usize = 3;
/// Processors that were simulated and measured, and numbers that were emulated.
const PROCESSORS: u32 = 16;
const EMULATED: [u32; 2] = [32, 64];

struct Pictures {
    figures: Vec<Figure>,
    stacks: Vec<Stacked>,
}

impl Drawn for Pictures {
    fn write(&self, folder: &Path) -> Result<Vec<Picture>, Failure> {
        let mut all: Vec<Picture> = self.figures.iter().map(|f| f.write(folder)).collect::<Result<_, _>>()?;
        all.extend(self.stacks.iter().map(|s| s.write(folder)).collect::<Result<Vec<_>, _>>()?);
        Ok(all)
    }
}

/// Numbers of threads with which a program is recorded, and what is run of each recording; less of recordings beyond the first.
fn plan(listed: &Listed, number: usize) -> Vec<(u32, Vec<Setting>)> {
    let mut sixteen = Vec::new();
    if listed.simulated.is_some() {
        sixteen.extend(if number == 0 { settings::simulated() } else { settings::judged() });
    }
    if listed.measured.is_some() {
        sixteen.extend(settings::measured());
    }
    let mut all = Vec::new();
    if !sixteen.is_empty() {
        all.push((PROCESSORS, sixteen));
    }
    if listed.emulated.is_some() {
        all.extend(EMULATED.map(|processors| (processors, settings::emulated(processors))));
    }
    all
}

fn run(job: &Job<'_>, progress: &mut dyn Progress) -> Page {
    let size = SIZES.iter().position(|s| *s == job.size).unwrap_or(0);
    let recordings = if size == 0 { 1 } else { RECORDINGS };
    let chosen: Vec<&'static Listed> = LIST.iter().filter(|l| job.runs(l.name)).collect();
    let mut studies: Vec<Vec<Runs>> = (0..recordings).map(|_| Vec::new()).collect();
    let total = (chosen.len() * recordings) as u64;
    let mut done = 0;
    for &listed in &chosen {
        for (number, study) in studies.iter_mut().enumerate() {
            progress.at(listed.name, done, Some(total));
            done += 1;
            let mut runs = Runs::new(listed);
            for (threads, settings) in plan(listed, number) {
                let mut recorded = listed.recorded(job.folder, (size, number), threads, &mut ())?;
                if let Some(elsewhere) = job.elsewhere {
                    Runs::fetch(&mut recorded, elsewhere, &settings)?;
                }
                runs.add(&recorded, &settings)?;
                if threads == PROCESSORS && listed.measured.is_some() {
                    runs.hardware = hardware::speedup(&recorded)?;
                }
            }
            study.push(runs);
        }
    }
    let found = studies.iter().map(|all| found(&Study(all))).collect();
    let mut found = settled::merged(found);
    let Some(first) = studies.first() else { return Err(Failure::work("nothing was recorded")) };
    let first = Study(first);
    found.tables.extend(tables::more_tables(&first));
    found.notes.splice(0..0, job.left_out_note());
    found.notes.extend(notes());
    let doc = ReproduceDoc {
        schema: SCHEMA,
        experiment: "bilas".into(),
        size: job.size.into(),
        programs: format!(
            "{} of our {} programs, written from descriptions of those of the study; {recordings} recording(s) of each with the hooks just now, with \
             16, 32 and 64 threads; pictures and tables of single figures are of the first",
            chosen.len(),
            LIST.len()
        ),
        tables: found.tables,
        claims: worded(CLAIMS.beside_without(&["claim", "identity"], found.judged, job.size, job.left_out)?),
        notes: found.notes,
    };
    let pictures = Pictures { figures: pictures::figures(&first), stacks: pictures::stacks(&first) };
    Ok((doc, Box::new(pictures)))
}

/// Tables and verdicts of one recording of every program.
fn found(study: &Study<'_>) -> Found {
    Found { tables: tables::tables(study), judged: study.judged(), ..Found::default() }
}

fn notes() -> Vec<String> {
    [
        "* Bands are ours: the study prints a number, \"about\" or a range.",
        "Problems are smaller than the study's, so that there is more communication for the same computing; whose machines were real, its times are compared with a model of them.",
        "Instructions are those of a compiler of today, fewer for the same work than in the study: `homenode sim cluster --gaps` says what more of them would do.",
    ]
    .map(str::to_owned)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_judging::checked::checked;
    use homenode_judging::doc::Claim;

    #[test]
    fn every_rule_of_the_data_can_hold_and_can_fail() {
        assert!(checked(&CLAIMS) >= 40);
    }

    #[test]
    fn every_claim_has_a_verdict_and_nothing_that_was_not_run_agrees() {
        let all: Vec<Runs> = LIST.iter().map(Runs::new).collect();
        let judged = Study(&all).judged();
        let ours = judged.len();
        let claims = CLAIMS.beside(&["claim", "identity"], judged, "S").expect("one each");
        assert_eq!(claims.len(), ours);
        let agrees = |c: &&Claim| c.verdict == homenode_judging::doc::Verdict::Agrees;
        let known: Vec<&str> = claims.iter().filter(agrees).map(|c| c.what.as_str()).collect();
        assert!(known.iter().all(|w| w.contains("microseconds")), "machines alone: {known:?}");
    }
}
