//! Recordings that others measure, such as workers of a cluster: all experiments look at one recording in one run, so that it is
//! partitioned once.
use super::program::{self, Listed, Program};
use super::repeat::RECORDINGS;
use super::{ALL, Running, SIZES, SPEC};
use homenode_command::{Failure, Progress};
use homenode_reproducing::elsewhere::{self, Elsewhere, Unit};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What was found in one recording.
#[derive(Serialize, Deserialize)]
struct OfRecording {
    /// See [`Program::print`].
    print: u64,
    /// By experiment of the run: what it measured, as JSON.
    measured: Vec<String>,
}

/// Has others look at all recordings of all programs, and gives the experiments what they found. Returns what the page cost.
///
/// # Errors
/// A program that cannot be built or recorded, or a run that fails.
pub(super) fn all_programs(
    elsewhere: &dyn Elsewhere,
    programs: &[&'static Listed],
    (folder, size): (&Path, usize),
    running: &mut [Running],
    progress: &mut dyn Progress,
) -> Result<String, Failure> {
    let began = std::time::Instant::now();
    let ids: Vec<&str> = running.iter().map(|r| r.spec.id).collect();
    let mut units = Vec::new();
    for (i, listed) in (0..).zip(programs) {
        progress.at(listed.name, i, Some(programs.len() as u64));
        for number in 0..RECORDINGS {
            let recording = listed.record_all(folder, (size, number))?;
            let run = format!("{} {number} {}", SIZES[size], ids.join(" "));
            units.push(Unit { paper: SPEC.name.into(), program: listed.name.into(), recording, run });
        }
    }
    let recorded = began.elapsed().as_secs_f64();
    let answers: Vec<OfRecording> = elsewhere::answered(elsewhere, &units)?;
    answers.chunks(RECORDINGS).try_for_each(|of_program| give(of_program, running))?;
    Ok(format!(
        "Cost of this page: building and recording the programs {recorded:.0} s on the clock; experiments were done by a cluster."
    ))
}

/// Gives experiments what was found in the recordings of one program; those with the same references count as one.
fn give(found: &[OfRecording], running: &mut [Running]) -> Result<(), Failure> {
    for (number, one) in found.iter().enumerate() {
        let before = found[..number].iter().position(|other| other.print == one.print);
        for (i, running) in running.iter_mut().enumerate() {
            match before {
                Some(before) => running.experiment.as_before(number, before),
                None => {
                    let measured = one.measured.get(i).ok_or_else(|| Failure::work("a run lacks an experiment"))?;
                    running.experiment.take(number, measured)?;
                }
            }
        }
    }
    Ok(())
}

/// Does one run: all experiments of its name look at a recording.
///
/// # Errors
/// A run or recording that there is not, or that fails.
pub(super) fn carry_out(unit: &Unit) -> Result<String, Failure> {
    let none = || Failure::usage(format!("bolosky has no run '{}' of {}", unit.run, unit.program));
    let listed = program::all().iter().find(|l| l.name == unit.program).ok_or_else(none)?;
    let mut words = unit.run.split(' ');
    let size = words.next().and_then(|size| SIZES.iter().position(|s| *s == size)).ok_or_else(none)?;
    let number = words.next().and_then(|n| n.parse().ok()).filter(|n| *n < RECORDINGS).ok_or_else(none)?;
    let specs = words.map(|id| ALL.iter().copied().find(|s| s.id == id).ok_or_else(none));
    let running = specs.map(|spec| spec.map(Running::new)).collect::<Result<Vec<Running>, _>>()?;
    let folder = unit.recording.parent().ok_or_else(none)?;
    let program = Program::recorded_before(listed, folder, (size, number))?;
    let measured = running.iter().map(|r| r.experiment.measured(&program));
    let found = OfRecording { print: program.print(), measured: measured.collect::<Result<_, _>>()? };
    serde_json::to_string(&found).map_err(Failure::work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_recordings_that_there_are_not_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |program: &str, run: &str| {
            let recording = folder.path().join("gauss.8.0.hnt");
            let unit = Unit { paper: "bolosky".into(), program: program.into(), recording, run: run.into() };
            carry_out(&unit).expect_err("refused").to_string()
        };
        for run in ["", "S", "S 3 E1", "XL 0 E1", "S 0 E99", "S 0 E1 "] {
            assert!(refused("gauss", run).contains("has no run"), "{run}");
        }
        assert!(refused("gaus", "S 0 E1").contains("has no run"));
        assert!(!refused("gauss", "S 0 E1").contains("has no run"), "there is no recording");
    }
}
