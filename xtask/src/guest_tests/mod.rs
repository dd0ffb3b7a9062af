//! Scenarios in guests: `cargo run -p xtask -- guest-tests [--slow] [--only NAME]... [--homenode PATH]`.
//!
//! A scenario is a shell script in tests/guest; its first comment lines state the guest and the programs it wants
//! ([`scenario`]). It runs as the guest's command, reports each check in a line of its own, and [`verdict`] judges the run.
//! Some scenarios have to fail: they test the tests. tests/guest/README.md lists them.
mod killed;
mod programs;
mod scenario;
mod verdict;

use crate::guest::boot::{self, Ended, Port, Run};
use crate::guest::options::Vm;
use anyhow::{Context, ensure};
use clap::Parser;
use scenario::Scenario;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the scenarios of tests/guest, each in a Linux guest of its own, and prints one line for each.
#[derive(Parser)]
#[command(name = "cargo run -p xtask -- guest-tests", no_binary_name = true)]
struct Arguments {
    /// Runs the slow scenarios as well
    #[arg(long)]
    slow: bool,
    /// Runs only the scenarios of these names, slow or not
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The command under test; by default the one that `cargo build --release -p homenode-cli` left
    #[arg(long, value_name = "PATH")]
    homenode: Option<PathBuf>,
    /// Names the scenarios and runs none
    #[arg(long)]
    list: bool,
    /// Shows what scenarios print even if they pass
    #[arg(long)]
    verbose: bool,
}

/// What all scenarios share.
struct Setting {
    folder: tempfile::TempDir,
    homenode: PathBuf,
    verbose: bool,
}

/// Runs what was asked for; status 0 if all scenarios ended as they should, else 1.
///
/// # Errors
/// Missing packages, a scenario that cannot be read, a program that does not compile.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<u8> {
    let a = match Arguments::try_parse_from(arguments) {
        Ok(a) => a,
        Err(e) => {
            let status = if e.use_stderr() { 2 } else { 0 };
            e.print()?;
            return Ok(status);
        }
    };
    let all = scenario::read_all(&crate::tree::root().join("tests/guest"))?;
    let unknown = a.only.iter().find(|n| *n != killed::NAME && all.iter().all(|s| s.name != **n));
    ensure!(unknown.is_none(), "there is no scenario {} (see --list)", unknown.map_or("", |n| n));
    if a.list {
        all.iter().for_each(|s| println!("{}{}", s.name, if s.slow { " (slow)" } else { "" }));
        println!("{}", killed::NAME);
        return Ok(0);
    }
    crate::guest::packages::check()?;
    let wanted =
        |name: &str, slow: bool| if a.only.is_empty() { a.slow || !slow } else { a.only.iter().any(|n| n == name) };
    let chosen: Vec<Scenario> = all.into_iter().filter(|s| wanted(&s.name, s.slow)).collect();
    let homenode = a.homenode.clone().unwrap_or_else(|| built("homenode"));
    let setting = Setting { folder: tempfile::tempdir()?, homenode, verbose: a.verbose };
    programs::prepare(&chosen, &setting.homenode, setting.folder.path())?;
    let (began, mut failed) = (Instant::now(), 0);
    for s in &chosen {
        failed += u32::from(!one(s, &setting)?);
    }
    if wanted(killed::NAME, false) {
        failed += u32::from(!timed(killed::NAME, killed::run));
    }
    println!("{} guest scenarios, {failed} failed, {:.0} s", chosen.len(), began.elapsed().as_secs_f64());
    Ok(u8::from(failed > 0))
}

/// Where cargo leaves what it builds.
fn built(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::tree::root().join("target"), PathBuf::from);
    target.join("release").join(name)
}

/// How often a guest is booted for a scenario at most.
const BOOTS: u32 = 3;

/// Runs one scenario and prints its line; what it printed follows if it did not end as it should.
fn one(s: &Scenario, setting: &Setting) -> anyhow::Result<bool> {
    let mut vm = s.vm.clone();
    for name in &s.programs {
        vm.add.push(as_added(&setting.folder.path().join(name))?);
    }
    for file in s.files.iter().chain([&s.path, &s.library]) {
        vm.add.push(as_added(file)?);
    }
    let command = ["sh".to_owned(), format!("./{}.sh", s.name)];
    let began = Instant::now();
    let (mut run, mut printed) = boot(s, &vm, &command)?;
    for again in 2..=BOOTS {
        if let Ended::Broken(why) = &run.ended
            && verdict::says_nothing(&run.ended, &printed)
        {
            println!("     {:<24} boot {again} of at most {BOOTS}: {why}", s.name);
            (run, printed) = boot(s, &vm, &command)?;
        }
    }
    let judged = verdict::judge(&s.expect, &run.ended, &printed);
    line(&s.name, &judged, began);
    if judged.is_err() {
        print!("{}", indented(&verdict::failures(&printed)));
        println!("     everything that it printed:");
    }
    if setting.verbose || judged.is_err() {
        print!("{}", indented(&printed));
        print!("{}", indented(&run.last_lines));
    }
    Ok(judged.is_ok())
}

/// One run of a scenario, and what it printed.
fn boot(s: &Scenario, vm: &Vm, command: &[String]) -> anyhow::Result<(Run, String)> {
    let mut printed = Vec::new();
    let mut collect = |port: Port, bytes: &[u8]| {
        if matches!(port, Port::Out | Port::Err) {
            printed.extend_from_slice(bytes);
        }
    };
    let run = boot::run(vm, command, false, &mut collect).with_context(|| s.name.clone())?;
    Ok((run, String::from_utf8_lossy(&printed).into_owned()))
}

fn timed(name: &str, test: fn() -> Result<String, String>) -> bool {
    let began = Instant::now();
    let judged = test();
    line(name, &judged, began);
    judged.is_ok()
}

fn line(name: &str, judged: &Result<String, String>, began: Instant) {
    let (word, text) = match judged {
        Ok(text) => ("ok  ", text),
        Err(text) => ("FAIL", text),
    };
    println!("{word} {name:<24} {:6.1} s  {text}", began.elapsed().as_secs_f64());
}

fn as_added(path: &Path) -> anyhow::Result<String> {
    Ok(path.to_str().with_context(|| format!("{} is no UTF-8", path.display()))?.to_owned())
}

fn indented(text: &str) -> String {
    text.lines().map(|l| format!("     | {l}\n")).collect()
}
