//! AS-COMA again (Kuo, Carter, Kuramkote, Swanson 1998): six programs on five architectures under memory pressure, with a verdict
//! on each claim.
//!
//! Programs are recorded, initialisation included, and run in virtual time; the study's measured phase counts. Each is recorded three
//! times, at XS once. At XS only what holds for any program is judged: page caches of a few frames say nothing of others.
//!
//! Reading order: this file, [`program`] (what is run), [`runs`] (how), [`measure`] (what claims are about), [`identities`],
//! [`tables`], [`stacked`] (pictures).
mod identities;
mod measure;
mod probes;
mod program;
mod runs;
mod stacked;
mod tables;

use crate::paper::{Job, Page, Paper, SIZES};
use homenode_command::{Failure, Progress};
use homenode_judging::claims::Claims;
use homenode_judging::doc::{ReproduceDoc, SCHEMA, Table, Verdict};
use homenode_judging::{Found, settled};
use measure::Study;
use program::LIST;
use runs::{NEVER, Runs, switches};
use stacked::Stacks;

/// What was published.
pub(crate) const CLAIMS: Claims = Claims(include_str!("../../data/ascoma_claims.json"));

pub(crate) static SPEC: Paper = Paper {
    name: "ascoma",
    summary: "CC-NUMA, S-COMA and hybrids under memory pressure of Kuo and others 1998",
    experiments: None,
    programs: None,
    sizes: &SIZES,
    run,
};

/// Recordings of each program, but for XS.
const RECORDINGS: usize = 3;
/// The least size.
const XS: usize = 0;

fn run(job: &Job<'_>, progress: &mut dyn Progress) -> Page {
    let size = SIZES.iter().position(|s| *s == job.size).unwrap_or(XS);
    let recordings = if size == XS { 1 } else { RECORDINGS };
    let mut studies: Vec<Vec<Runs>> = (0..recordings).map(|_| Vec::new()).collect();
    let total = (LIST.len() * recordings) as u64;
    for (i, listed) in LIST.iter().enumerate() {
        for (number, study) in studies.iter_mut().enumerate() {
            progress.at(listed.name, (i * recordings + number) as u64, Some(total));
            let reader = listed.recorded(job.folder, (size, number), &mut ())?;
            study.push(Runs::of(listed, &reader, size != XS && number == 0)?);
        }
    }
    let found = studies.iter().map(|all| found(all)).collect();
    let mut found = settled::merged(found);
    if let Some(first) = studies.first().filter(|_| size != XS) {
        sensitivities(first, &mut found)?;
    }
    let pictures = studies.first().map_or_else(Vec::new, |first| tables::pictures(first));
    let doc = ReproduceDoc {
        schema: SCHEMA,
        experiment: "ascoma".into(),
        size: job.size.into(),
        programs: format!(
            "the six programs of the study, written as it describes them; {recordings} recording(s) of each with the hooks just now; \
             pictures are of the first"
        ),
        tables: found.tables,
        claims: CLAIMS.beside(&["claim", "identity"], found.judged, job.size)?,
        notes: found.notes,
    };
    Ok((doc, Box::new(Stacks(pictures))))
}

/// Tables and verdicts of one recording of every program.
fn found(all: &[Runs]) -> Found {
    let mut judged = Study { all, switch: 0 }.judged();
    judged.extend(identities::judged(all));
    Found { tables: tables::tables(all), judged, ..Found::default() }
}

/// Adds what switching open points does to one recording, and says at each claim that differs which of them decide it.
fn sensitivities(first: &[Runs], found: &mut Found) -> Result<(), Failure> {
    let published = CLAIMS.published()?;
    let verdicts = |switch| Study { all: first, switch }.judged();
    let ours = verdicts(0);
    let turned: Vec<Vec<&'static str>> = (0..switches().len())
        .map(|switch| {
            let others = verdicts(switch);
            let pairs = ours.iter().zip(&others).filter(|(a, b)| switch > NEVER && a.verdict != b.verdict);
            pairs.map(|(a, _)| a.id).collect()
        })
        .collect();
    let names = switches();
    let (mut explained, mut unexplained) = (0, Vec::new());
    for j in found.judged.iter_mut().filter(|j| j.verdict == Verdict::Differs) {
        let deciding: Vec<&str> =
            (0..names.len()).filter(|s| turned[*s].contains(&j.id)).map(|s| names[s].name.as_str()).collect();
        let is_caused = published.iter().any(|p| p.id == j.id && p.has_cause());
        let said = match (deciding.is_empty(), is_caused) {
            (false, _) => format!("Turns with {}", deciding.join(", ")),
            (true, true) => "No open point turns it".to_owned(),
            (true, false) => "No open point turns it, and it is not explained".to_owned(),
        };
        match deciding.is_empty() && !is_caused {
            true => unexplained.push(j.id),
            false => explained += 1,
        }
        j.why = format!("{}. {said}", j.why);
    }
    found.tables.extend([tables::mixtures(first), tables::sensitivities(first, &turned)] as [Table; 2]);
    let list = if unexplained.is_empty() { String::new() } else { format!(": {}", unexplained.join(", ")) };
    let n = unexplained.len();
    found.notes.push(format!(
        "Of the claims that differ {explained} turn with an open point or have a cause, {n} are not explained{list}."
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::CLAIMS;
    use homenode_judging::checked::checked;

    #[test]
    fn every_rule_of_the_data_can_hold_and_can_fail() {
        assert_eq!(checked(&CLAIMS), 35);
    }

    #[test]
    fn there_are_32_claims_and_five_identities() {
        let all = CLAIMS.published().expect("data");
        let of = |experiment: &str| all.iter().filter(|p| p.experiment == experiment).count();
        assert_eq!((of("claim"), of("identity")), (32, 5));
    }
}
