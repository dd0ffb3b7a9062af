//! AS-COMA again (Kuo, Carter, Kuramkote, Swanson 1998): six programs on five architectures under memory pressure, with a verdict
//! on each claim.
//!
//! Programs are recorded, initialisation included, and run in virtual time; the study's measured phase counts. Each is recorded three
//! times, at XS once. At XS only what holds for any program is judged: page caches of a few frames say nothing of others.
//!
//! Where a claim differs, programs are changed and open points switched, one at a time, to see what decides it: above size S points only
//! on the programs, and at the pressures, of claims that differ, are about one program, have no cause, and that no changed program
//! turns. A run that was killed is taken up with every result that it had.
//!
//! Reading order: this file, [`program`] (what is run), [`runs`] (how), [`measure`] (what claims are about), [`identities`],
//! [`tables`] (and pictures).
mod identities;
mod measure;
mod printed;
mod probes;
mod program;
mod runs;
mod tables;

use homenode_command::{Failure, Progress};
use homenode_judging::claims::{Claims, Judged, worded};
use homenode_judging::doc::{ReproduceDoc, SCHEMA, Table, Verdict};
use homenode_judging::{Found, settled};
use homenode_reproducing::paper::{Job, Page, Paper, SIZES};
use homenode_reproducing::stacked::Stacks;
use measure::{Study, deciding};
use program::{Change, LIST, Listed};
use runs::{NEVER, Runs, switches};

/// What was published.
pub(crate) const CLAIMS: Claims = Claims(include_str!("../../data/ascoma_claims.json"));

pub(crate) static SPEC: Paper = Paper {
    name: "ascoma",
    summary: "CC-NUMA, S-COMA and hybrids under memory pressure of Kuo and others 1998",
    experiments: None,
    programs: Some(|| LIST.iter().map(|l| l.name).collect()),
    sizes: &SIZES,
    run,
    carry_out: runs::carry_out,
};

/// Recordings of each program, but for XS.
const RECORDINGS: usize = 3;
/// The least size.
const XS: usize = 0;
/// The greatest size at which every open point is switched for every program.
const S: usize = 1;

/// How far a reproduction is: recordings, changed programs and programs with open points.
struct Steps {
    done: u64,
    total: u64,
}

impl Steps {
    fn next(&mut self, progress: &mut dyn Progress, name: &str) {
        progress.at(name, self.done, Some(self.total));
        self.done += 1;
    }
}

fn run(job: &Job<'_>, progress: &mut dyn Progress) -> Page {
    let size = SIZES.iter().position(|s| *s == job.size).unwrap_or(XS);
    let recordings = if size == XS { 1 } else { RECORDINGS };
    let mut studies: Vec<Vec<Runs>> = (0..recordings).map(|_| Vec::new()).collect();
    let chosen: Vec<&Listed> = LIST.iter().filter(|l| job.runs(l.name)).collect();
    let changes: usize = chosen.iter().map(|l| l.changes.len()).sum();
    let beyond = [0, changes, changes + chosen.len()][size.min(S + 1)];
    let mut steps = Steps { done: 0, total: (chosen.len() * recordings + beyond) as u64 };
    for &listed in &chosen {
        for (number, study) in studies.iter_mut().enumerate() {
            steps.next(progress, listed.name);
            let recorded = listed.recorded(job.folder, (size, number), None, &mut ())?;
            study.push(Runs::of(
                recorded,
                job.elsewhere,
                if size == S && number == 0 { listed.pressures } else { &[] },
            )?);
        }
    }
    let found = studies.iter().map(|all| found(all)).collect();
    let mut found = settled::merged(found);
    if let Some(first) = studies.first_mut().filter(|_| size != XS) {
        let mut changed = Vec::new();
        for (listed, change) in chosen.iter().flat_map(|l| l.changes.iter().map(move |c| (*l, c))) {
            steps.next(progress, change.name);
            let recorded = listed.recorded(job.folder, (size, 0), Some(change), &mut ())?;
            changed.push((change, Runs::of(recorded, job.elsewhere, &[])?));
        }
        let mut asked = undecided(&found.judged)?;
        let by_change = by_change(first, &changed);
        asked.retain(|id| !by_change.iter().any(|turned| turned.contains(id)));
        for (listed, runs) in chosen.iter().zip(first.iter_mut()).filter(|_| size > S) {
            let pressures = deciding(listed, &asked);
            if !pressures.is_empty() {
                steps.next(progress, &format!("{}, open points", listed.name));
                let recorded = listed.recorded(job.folder, (size, 0), None, &mut ())?;
                *runs = Runs::of(recorded, job.elsewhere, &pressures)?;
            }
        }
        sensitivities(first, &changed, &mut found)?;
        found.tables.extend([printed::allows()]);
    }
    found.notes.splice(0..0, job.left_out_note());
    found.notes.push("* Bands are ours: the study prints a number, \"about\" or a range.".to_owned());
    let pictures = studies.first().map_or_else(Vec::new, |first| tables::pictures(first));
    let doc = ReproduceDoc {
        schema: SCHEMA,
        experiment: "ascoma".into(),
        size: job.size.into(),
        programs: format!(
            "{} of the six programs of the study, written as it describes them; {recordings} recording(s) of each with the hooks just \
             now; pictures, switched points and changed programs are of the first",
            chosen.len()
        ),
        tables: found.tables,
        claims: worded(CLAIMS.beside(&["claim", "identity"], found.judged, job.size)?),
        notes: found.notes,
    };
    Ok((doc, Box::new(Stacks(pictures))))
}

/// Tables and verdicts of one recording of every program.
fn found(all: &[Runs]) -> Found {
    let mut judged = Study { all: all.iter().collect(), switch: 0 }.judged();
    judged.extend(identities::judged(all));
    Found { tables: tables::tables(all), judged, ..Found::default() }
}

/// Claims that differ and have no cause.
fn undecided(judged: &[Judged]) -> Result<Vec<&'static str>, Failure> {
    let published = CLAIMS.published()?;
    let is_caused = |id| published.iter().any(|p| p.id == id && p.has_cause());
    let differs = judged.iter().filter(|j| j.verdict == Verdict::Differs && !is_caused(j.id));
    Ok(differs.map(|j| j.id).collect())
}

/// A study with one program in place of the one of that name.
fn with<'r>(first: &'r [Runs], other: &'r Runs) -> Vec<&'r Runs> {
    first.iter().map(|r| if r.listed.name == other.listed.name { other } else { r }).collect()
}

/// Studies with two programs changed, where one is not enough for a claim about several.
fn pairs<'r>(first: &'r [Runs], changed: &'r [(&'static Change, Runs)]) -> Vec<(String, Vec<&'r Runs>)> {
    let mut pairs = Vec::new();
    for (i, (one, runs)) in changed.iter().enumerate() {
        for (two, others) in changed[i + 1..].iter().filter(|(_, r)| r.listed.name != runs.listed.name) {
            let place = |r: &'r Runs| if r.listed.name == others.listed.name { others } else { r };
            pairs.push((format!("{} and {}", one.name, two.name), with(first, runs).into_iter().map(place).collect()));
        }
    }
    pairs
}

/// Claims with another verdict in a study than in one of ours.
fn turned(ours: &[Judged], study: &Study<'_>) -> Vec<&'static str> {
    let others = study.judged();
    let is_other = |a: &Judged, b: &Judged| a.verdict != b.verdict && b.verdict != Verdict::NotJudged;
    let pairs = ours.iter().zip(&others).filter(|(a, b)| is_other(a, b) && !b.ours.contains("NaN"));
    pairs.map(|(a, _)| a.id).collect()
}

/// The study as we made it.
fn ours(first: &[Runs]) -> Vec<Judged> {
    Study { all: first.iter().collect(), switch: 0 }.judged()
}

/// Claims that each changed program turns.
fn by_change(first: &[Runs], changed: &[(&'static Change, Runs)]) -> Vec<Vec<&'static str>> {
    let (ours, all) = (ours(first), changed.iter());
    all.map(|(_, runs)| turned(&ours, &Study { all: with(first, runs), switch: 0 })).collect()
}

/// Adds what switching open points and changing programs does to one recording, and says at each claim that differs which decide it.
fn sensitivities(first: &[Runs], changed: &[(&'static Change, Runs)], found: &mut Found) -> Result<(), Failure> {
    let undecided = undecided(&found.judged)?;
    let ours = ours(first);
    let by_switch: Vec<Vec<&str>> =
        (0..switches().len())
            .map(|switch| {
                if switch > NEVER { turned(&ours, &Study { all: first.iter().collect(), switch }) } else { Vec::new() }
            })
            .collect();
    let by_change = by_change(first, changed);
    let names = switches().into_iter().map(|s| s.name).chain(changed.iter().map(|(c, _)| c.name.to_owned()));
    let all: Vec<(String, &Vec<&str>)> = names.zip(by_switch.iter().chain(&by_change)).collect();
    let pairs = pairs(first, changed);
    let by_pair: Vec<(String, Vec<&str>)> =
        pairs.into_iter().map(|(name, all)| (name, turned(&ours, &Study { all, switch: 0 }))).collect();
    let switched = Study { all: first.iter().collect(), switch: NEVER + 1 }.judged();
    let (mut explained, mut unexplained) = (0, Vec::new());
    for j in found.judged.iter_mut().filter(|j| j.verdict == Verdict::Differs) {
        let mut deciding: Vec<&str> = all.iter().filter(|(_, t)| t.contains(&j.id)).map(|(n, _)| n.as_str()).collect();
        if deciding.is_empty() {
            deciding = by_pair.iter().filter(|(_, t)| t.contains(&j.id)).map(|(n, _)| n.as_str()).collect();
        }
        let is_tried = switched.iter().any(|s| s.id == j.id && s.verdict != Verdict::NotJudged);
        let is_caused = !undecided.contains(&j.id);
        j.why = format!("{}. {}", j.why, said(&deciding, is_tried, is_caused));
        match deciding.is_empty() && !is_caused {
            true => unexplained.push(j.id),
            false => explained += 1,
        }
    }
    found.tables.extend([
        tables::mixtures(first),
        tables::sensitivities(first, &by_switch),
        tables::changes(first, changed, &by_change),
    ] as [Table; 3]);
    let list = if unexplained.is_empty() { String::new() } else { format!(": {}", unexplained.join(", ")) };
    let n = unexplained.len();
    found.notes.push(format!(
        "Of the claims that differ {explained} turn with an open point or a changed program or have a cause, {n} are not explained{list}."
    ));
    Ok(())
}

/// What was found of a claim that differs.
fn said(deciding: &[&str], is_tried: bool, is_caused: bool) -> String {
    if !deciding.is_empty() {
        return format!("Turns with {}", deciding.join(", "));
    }
    let nothing = match is_tried {
        true => "Nothing that was switched or changed turns it",
        false => "No changed program turns it; at this size open points are not switched for it",
    };
    format!("{nothing}{}", if is_caused { "" } else { ", and it is not explained" })
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
