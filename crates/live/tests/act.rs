//! `run` and `migrate` as far as any machine goes: what is refused and how, and a machine on which there is nothing to do.
use homenode_command::{Class, Failure};
use homenode_live::{ActDoc, LiveOptions, MigrateRequest, RunRequest, migrate, run};
use std::ffi::OsString;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

fn command(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn refused(done: Result<ActDoc, Failure>, class: Class, part: &str) {
    let failure = done.map(|d| d.to_text()).expect_err(part);
    assert_eq!(failure.class, class, "{failure}");
    assert!(failure.message.contains(part) && !failure.to_string().contains('\n'), "{failure}");
}

fn run_of(words: &[&str]) -> RunRequest {
    RunRequest { command: command(words), ..RunRequest::default() }
}

/// Nodes with memory of the machine under test.
fn nodes() -> usize {
    homenode_command::machine::topology()
        .expect("every machine has one")
        .nodes
        .iter()
        .filter(|n| n.memory_bytes > 0)
        .count()
}

#[test]
fn what_cannot_be_run_is_refused_in_one_line() {
    refused(run(&run_of(&[]), &mut ()), Class::Usage, "no command");
    refused(run(&run_of(&["/no/such/program"]), &mut ()), Class::Work, "no such file");
    let options = LiveOptions { policy: "nothing".into(), ..LiveOptions::default() };
    let request = RunRequest { options, ..run_of(&["true"]) };
    refused(run(&request, &mut ()), Class::Usage, "unknown policy");
    let request = RunRequest { compare: vec!["nothing".into()], ..run_of(&["true"]) };
    refused(run(&request, &mut ()), Class::Usage, "no regime 'nothing'");
    let plan = tempfile::NamedTempFile::new().expect("a file");
    let request = RunRequest { plan: Some(plan.path().to_owned()), ..run_of(&["true"]) };
    refused(run(&request, &mut ()), Class::Input, "plan, line 1");
    let request = RunRequest { compare: vec!["interleave".into()], ..request };
    refused(run(&request, &mut ()), Class::Usage, "--plan");
}

#[test]
fn a_process_that_is_gone_or_not_ours_is_refused() {
    let mut child = Command::new("true").spawn().expect("true is everywhere");
    let pid = child.id();
    child.wait().expect("it ends");
    let request = MigrateRequest { pid, options: LiveOptions::default() };
    refused(migrate(&request, &mut ()), Class::Input, "does not exist");
    refused(migrate(&MigrateRequest { pid: u32::MAX, ..request }, &mut ()), Class::Input, "does not exist");
}

#[test]
fn one_node_means_there_is_nothing_to_place_and_the_program_just_runs() {
    if nodes() > 1 {
        let why = "SKIPPED: this machine has several nodes; the scenarios in tests/guest show what happens there";
        std::io::stderr().write_all(format!("{why}\n").as_bytes()).expect("stderr");
        return;
    }
    let doc = run(&run_of(&["sh", "-c", "exit 7"]), &mut ()).expect("it runs");
    assert_eq!((doc.exit_status, doc.mode, doc.program_failed()), (Some(7), "plain", true));
    assert!(doc.to_text().contains("one memory node"), "{}", doc.to_text());
    let mut child = Command::new("sleep").arg("30").spawn().expect("sleep is everywhere");
    let options = LiveOptions { duration: Some(Duration::from_secs(1)), ..LiveOptions::default() };
    let doc = migrate(&MigrateRequest { pid: child.id(), options }, &mut ()).expect("nothing to do");
    assert!(doc.to_text().contains("nothing to place") && !doc.program_failed());
    child.kill().expect("it sleeps");
    child.wait().expect("it ends");
}

#[test]
fn regimes_are_run_one_after_the_other_and_what_cannot_be_is_said() {
    let compare = ["first-touch", "interleave", "autonuma", "homenode"].map(String::from).to_vec();
    let request = RunRequest { compare, ..run_of(&["sh", "-c", "exit 0"]) };
    let doc = run(&request, &mut ()).expect("each is run or explained");
    assert_eq!((doc.regimes.len(), doc.exit_status), (4, Some(0)));
    for regime in &doc.regimes {
        assert!(regime.ran || !regime.note.is_empty(), "{regime:?}");
        assert!(!regime.ran || regime.exit_status == Some(0), "{regime:?}");
    }
    assert!(doc.regimes[1].ran, "interleaving needs no privilege: {:?}", doc.regimes[1]);
    assert!(doc.to_text().contains("virtual machine"));
    let policy = homenode_sys::numa::mempolicy(None).expect("this thread has one");
    assert_eq!(policy.0, 0, "the comparison leaves no policy behind");
}
