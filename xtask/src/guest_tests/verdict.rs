//! Whether a run ended as its scenario says. A scenario prints `ok: NAME` or `FAIL: NAME` for every check and
//! `end: N checks` at its end, so that one that stops half-way, or checks nothing, does not pass.
use crate::guest::boot::Ended;
use anyhow::bail;

/// How a scenario should end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Every check passes.
    Pass,
    /// Named checks fail and all others pass.
    Fails(Vec<String>),
    /// The time is over before the scenario is.
    TimeOut,
    /// The guest breaks down, and the reason contains this text.
    Broken(String),
}

impl Expect {
    /// Reads the value of an `# expect:` line.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Expect> {
        Ok(match text.split_once(' ').unwrap_or((text, "")) {
            ("time-out", "") => Expect::TimeOut,
            ("broken", why) if !why.is_empty() => Expect::Broken(why.to_owned()),
            ("fails", names) if !names.is_empty() => Expect::Fails(names.split(", ").map(str::to_owned).collect()),
            _ => bail!("`expect: {text}`: want `fails NAME, NAME`, `time-out` or `broken WORDS`"),
        })
    }
}

/// The verdict in a few words: what was as it should be, or what was not.
pub(crate) fn judge(expect: &Expect, ended: &Ended, printed: &str) -> Result<String, String> {
    match (expect, ended) {
        (Expect::Pass, Ended::Status(_)) => checks(ended, printed, &[]),
        (Expect::Fails(names), Ended::Status(_)) => checks(ended, printed, names),
        (Expect::TimeOut, Ended::TimeOut) => Ok("timed out, as it should".to_owned()),
        (Expect::Broken(word), Ended::Broken(why)) if why.contains(word) => Ok("broke down, as it should".to_owned()),
        (_, Ended::Status(s)) => Err(format!("ended with status {s}, should not have ended")),
        (_, Ended::TimeOut) => Err("not done in time".to_owned()),
        (_, Ended::Broken(why)) => Err(why.clone()),
    }
}

/// A trap where no instruction of the kernel has one: its code was changed while another processor ran it, as jump labels are, and
/// QEMU's emulation with a thread a processor took an instruction half changed.
const CHANGED_CODE: &str = "int3: 0000";

/// Whether a guest broke down without the scenario's doing, so that it says nothing about the scenario: before its first word, or
/// by the emulation.
pub(crate) fn says_nothing(ended: &Ended, printed: &str) -> bool {
    matches!(ended, Ended::Broken(why) if printed.is_empty() || why.contains(CHANGED_CODE))
}

/// The lines of the checks that failed, each with what its command said: `check.sh` sets that in. They come first where a log may
/// be cut.
pub(crate) fn failures(printed: &str) -> String {
    let mut inside = false;
    let of_failures = |line: &&str| {
        inside = line.starts_with("FAIL: ") || inside && line.starts_with("    ");
        inside
    };
    printed.lines().filter(of_failures).map(|l| format!("{l}\n")).collect()
}

fn checks(ended: &Ended, printed: &str, should_fail: &[String]) -> Result<String, String> {
    let named = |prefix: &str| -> Vec<String> {
        let names = printed.lines().filter_map(|l| l.strip_prefix(prefix));
        names.map(|n| n.split(" -- ").next().unwrap_or(n).trim().to_owned()).collect()
    };
    let (passed, failed) = (named("ok: "), named("FAIL: "));
    let count = passed.len() + failed.len();
    if !printed.lines().any(|l| l == format!("end: {count} checks")) || count == 0 {
        return Err(format!("stopped after {count} checks, {ended:?}"));
    }
    if failed != should_fail {
        return Err(format!("failed: [{}], should fail: [{}]", failed.join(", "), should_fail.join(", ")));
    }
    let status = u8::from(!failed.is_empty());
    if *ended != Ended::Status(status) {
        return Err(format!("{ended:?} is not the status of {} failed checks", failed.len()));
    }
    Ok(match failed.len() {
        0 => format!("{count} checks"),
        n => format!("{count} checks, {n} failed as they should"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "noise\nok: a\nok: b c\nend: 2 checks\n";
    const BAD: &str = "ok: a\nFAIL: b -- where count 1: status 1\n    details\nend: 2 checks\n";

    fn fails(names: &[&str]) -> Expect {
        Expect::Fails(names.iter().map(|&n| n.to_owned()).collect())
    }

    #[test]
    fn passing_means_all_checks_and_the_end() {
        let pass = |status, printed| judge(&Expect::Pass, &Ended::Status(status), printed);
        assert_eq!(pass(0, GOOD), Ok("2 checks".to_owned()));
        assert!(pass(1, GOOD).is_err(), "the status counts");
        assert!(pass(1, BAD).unwrap_err().contains("failed: [b]"));
        assert!(pass(0, "ok: a\nok: b\n").unwrap_err().contains("stopped after 2"));
        assert!(pass(0, "ok: a\nend: 2 checks\n").is_err(), "a lost line");
        assert!(pass(0, "end: 0 checks\n").is_err(), "nothing was checked");
        assert!(pass(0, "").is_err());
    }

    #[test]
    fn a_scenario_that_should_fail_must_fail_just_so() {
        assert!(judge(&fails(&["b"]), &Ended::Status(1), BAD).is_ok());
        assert!(judge(&fails(&["a"]), &Ended::Status(1), BAD).is_err());
        assert!(judge(&fails(&["a", "b"]), &Ended::Status(1), BAD).is_err());
        assert!(judge(&fails(&["b"]), &Ended::Status(0), GOOD).is_err());
    }

    #[test]
    fn other_ends_are_only_right_if_expected() {
        let broken = Ended::Broken("Kernel panic - not syncing: sysrq".to_owned());
        assert!(judge(&Expect::TimeOut, &Ended::TimeOut, "").is_ok());
        assert!(judge(&Expect::Broken("sysrq".into()), &broken, "").is_ok());
        for (expect, ended) in [
            (Expect::Pass, Ended::TimeOut),
            (Expect::Pass, broken.clone()),
            (Expect::TimeOut, broken.clone()),
            (Expect::TimeOut, Ended::Status(0)),
            (Expect::Broken("memory".into()), broken),
            (Expect::Broken("sysrq".into()), Ended::Status(0)),
        ] {
            assert!(judge(&expect, &ended, GOOD).is_err(), "{expect:?} {ended:?}");
        }
    }

    #[test]
    fn a_guest_that_broke_by_itself_says_nothing() {
        let broken = |why: &str| Ended::Broken(why.to_owned());
        assert!(says_nothing(&broken("Kernel panic - not syncing: no init"), ""));
        assert!(says_nothing(&broken("[ 1.5] int3: 0000 [#1] PREEMPT SMP; Kernel panic"), "ok: a\n"));
        assert!(!says_nothing(&broken("Kernel panic - not syncing: sysrq"), "ok: a\n"));
        assert!(!says_nothing(&Ended::TimeOut, "") && !says_nothing(&Ended::Status(1), ""));
    }

    #[test]
    fn failures_come_with_what_they_said_and_nothing_else() {
        let printed = "ok: a\n    of a\nFAIL: b -- status 1\n    one\n    two\nplain\n    of plain\nFAIL: c -- status 2\nend: 3 checks\n";
        assert_eq!(failures(printed), "FAIL: b -- status 1\n    one\n    two\nFAIL: c -- status 2\n");
        assert_eq!(failures(GOOD), "");
    }

    #[test]
    fn expect_lines() {
        assert_eq!(Expect::parse("fails a b, c").unwrap(), fails(&["a b", "c"]));
        assert_eq!(Expect::parse("time-out").unwrap(), Expect::TimeOut);
        assert_eq!(Expect::parse("broken Kernel panic").unwrap(), Expect::Broken("Kernel panic".into()));
        for wrong in ["", "fails", "broken", "time-out soon", "pass"] {
            assert!(Expect::parse(wrong).is_err(), "{wrong}");
        }
    }
}
