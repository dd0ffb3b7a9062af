//! A program under a plan: dynamic ones place their memory themselves through the preloaded library, before first touch;
//! static ones are moved from outside, as soon as there is something to move. A plan may go through scripts and launchers.
use crate::child::{Child, cannot_start, start, wait};
use crate::doc::{ActDoc, PlanOutcome};
use crate::here::Here;
use crate::run::program::Program;
use crate::run::request::RunRequest;
use crate::run::tally::Tally;
use crate::watch::SIGUSR1;
use homenode_base::agentplan::{AgentPlan, By, Home, Line};
use homenode_base::agentresult::{self, Outcome, ProcessResult};
use homenode_base::agenttable;
use homenode_command::Failure;
use homenode_hooks::agent;
use homenode_host::clock::{Clock, Real};
use homenode_migrate::{MoveStatus, Mover, PAGE_BYTES, Request, where_are};
use homenode_place::{Source, agent_lines};
use homenode_placement::plan::Plan;
use homenode_sys::signals::StopRequests;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Pauses between looks at a running program: at first short, since programs touch their memory early, then longer.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LAST_LOOK: Duration = Duration::from_millis(500);

/// A directory of our own that vanishes; a program that gives up its privileges can still read its plan there.
fn workplace() -> Result<TempDir, Failure> {
    let readable = fs::Permissions::from_mode(0o755);
    let made = tempfile::Builder::new().prefix("homenode-run-").permissions(readable).tempdir();
    made.map_err(|e| Failure::work(format!("cannot create a temporary directory: {e}")))
}

/// A plan on its way to a program.
struct Sent<'a> {
    plan: &'a Plan,
    program: Program,
    lines: AgentPlan,
    /// What each line carries out.
    sources: Vec<Source>,
}

pub(crate) fn run(
    request: &RunRequest,
    file: &Path,
    first: &Path,
    here: &Here,
    doc: &mut ActDoc,
) -> Result<(), Failure> {
    let named = |e: &dyn std::fmt::Display| Failure::input(format!("{}: {e}", file.display()));
    let plan = Plan::from_json(&fs::read_to_string(file).map_err(|e| named(&e))?).map_err(|e| named(&e))?;
    let program = Program::of(&plan, request.matching, &request.command, first)?;
    let (mut lines, sources) = agent_lines(&plan, &here.topology, program.file.as_ref(), request.matching)?;
    lines.program.clone_from(&program.build_id);
    lines.same_sizes = same_arguments(&plan, &request.command);
    let sent = Sent { plan: &plan, program, lines, sources };
    doc.mode = "plan";
    let way = if sent.program.dynamic() { "preloaded library" } else { "from outside" };
    let mut outcome = PlanOutcome {
        file: file.display().to_string(),
        way,
        entries: (plan.threads.len() + plan.entries.len()) as u64,
        ..PlanOutcome::default()
    };
    notes(&sent, here, doc);
    if request.options.dry_run {
        doc.calls = calls(&sent.lines, &sent.sources, sent.program.dynamic());
        doc.plan = Some(outcome);
        doc.command.clear();
        doc.ended = "dry run: the program was not started".to_owned();
        return Ok(());
    }
    execute(request, &sent, doc, &mut outcome)?;
    doc.plan = Some(outcome);
    Ok(())
}

/// Whether the words after the program are those of the recording, so that its objects should have the sizes of the plan.
fn same_arguments(plan: &Plan, command: &[OsString]) -> bool {
    let then = plan.evidence.command.iter().skip(1).map(String::as_str);
    !plan.evidence.command.is_empty() && then.eq(command.iter().skip(1).map(|w| w.to_str().unwrap_or_default()))
}

fn notes(sent: &Sent<'_>, here: &Here, doc: &mut ActDoc) {
    if here.one_node() {
        doc.notes.push("this machine has one memory node: every home of the plan is there".to_owned());
    }
    doc.notes.extend(sent.plan.evidence.warnings.iter().map(|w| format!("the plan says of itself: {w}")));
    if let (true, Some(recorded)) = (sent.program.launched, sent.plan.modules.first()) {
        let path = sent.program.image.as_ref().map_or(recorded.path.clone(), |i| i.path().display().to_string());
        doc.notes.push(format!("the plan is carried out in the process that runs {path}"));
    }
    if !sent.program.dynamic() {
        doc.notes.push(
            "the program is static, so no library can be preloaded: its static data is moved from outside once it is \
             touched; threads, stacks and heap of the plan are left to the system"
                .to_owned(),
        );
    }
}

/// The calls that a plan means, one a line; of two ways to find the same data the first.
fn calls(plan: &AgentPlan, sources: &[Source], dynamic: bool) -> Vec<String> {
    let path = |p: &[u32]| {
        if p.is_empty() { "-".to_owned() } else { p.iter().map(u32::to_string).collect::<Vec<_>>().join(".") }
    };
    let say = |line: &Line| -> Option<String> {
        match line {
            Line::Static { vaddr, bytes, home, .. } if !dynamic => {
                Some(format!("move_pages(0x{vaddr:x} as linked, {bytes} bytes, {home}, MPOL_MF_MOVE)"))
            }
            _ if !dynamic => None,
            Line::Pin { path: p, cpu } => Some(format!("sched_setaffinity(thread {}, cpu {cpu})", path(p))),
            Line::Stack { path: p, node } => {
                Some(format!("mbind(stack of thread {}, MPOL_PREFERRED, node {node})", path(p)))
            }
            Line::Static { vaddr, bytes, home, .. } => Some(format!("mbind(0x{vaddr:x} as linked, {bytes}, {home})")),
            Line::Heap { by, path: p, ordinal, size, offset, bytes, home, .. } => {
                let place = match by {
                    By::Site(address) => format!("that returns to 0x{address:x} as linked"),
                    By::Stack(_) | By::Size => format!("at stack {by}"),
                };
                let p = path(p);
                Some(format!(
                    "mbind(allocation {ordinal} of {size} bytes by thread {p} {place}, +{offset}, {bytes}, {home})"
                ))
            }
        }
    };
    let again = |i: usize| i > 0 && sources[i] == sources[i - 1];
    plan.lines.iter().enumerate().filter(|(i, _)| !again(*i)).filter_map(|(_, line)| say(line)).collect()
}

fn execute(request: &RunRequest, sent: &Sent<'_>, doc: &mut ActDoc, outcome: &mut PlanOutcome) -> Result<(), Failure> {
    let place = workplace()?;
    let (plan_file, result_file) = (place.path().join("plan"), place.path().join("result"));
    let dynamic = sent.program.dynamic();
    let environment = if dynamic { environment(&sent.lines, &plan_file, &result_file)? } else { Vec::new() };
    let mut tally = Tally::new(sent.plan, &sent.sources, dynamic);
    let begin = Real.now();
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    let held = start(&request.command, &environment)?;
    let pid = held.go().map_err(|e| cannot_start(&request.command, &e))?;
    let mut child = Child::new(pid);
    let targets = targets(&sent.lines, &sent.sources);
    let (mut next, mut pause, mut moved) = (Duration::ZERO, FIRST_LOOK, BTreeSet::new());
    wait(&mut child, stop.as_ref(), &Real, |elapsed| {
        if elapsed < next || targets.is_empty() {
            return;
        }
        look(pid, sent, &targets, outcome, &mut Seen { moved: &mut moved, tally: &mut tally });
        next = elapsed + pause;
        pause = (pause * 2).min(LAST_LOOK);
    });
    outcome.moved_pages = moved.len() as u64;
    doc.pid = Some(pid);
    doc.exit_status = child.status;
    doc.ended = "the program ended".to_owned();
    doc.seconds = (Real.now() - begin).as_secs_f64();
    if dynamic {
        report(&result_file, sent, &mut tally, outcome, doc);
    }
    tally.tell(outcome);
    Ok(())
}

fn environment(lines: &AgentPlan, plan: &Path, result: &Path) -> Result<Vec<(OsString, OsString)>, Failure> {
    let table = agenttable::write(lines);
    let table = table.map_err(|why| Failure::input(format!("the plan cannot be carried out: {why}")))?;
    fs::write(plan, table).map_err(|e| Failure::work(format!("cannot write {}: {e}", plan.display())))?;
    let library = agent::install().map_err(Failure::work)?;
    let mut preload = OsString::from(&library);
    if let Some(before) = std::env::var_os("LD_PRELOAD").filter(|p| !p.is_empty()) {
        preload.push(":");
        preload.push(before);
    }
    Ok(vec![
        ("LD_PRELOAD".into(), preload),
        (agent::PLAN_ENV.into(), plan.into()),
        (agent::RESULT_ENV.into(), result.into()),
    ])
}

/// Pages of static data and where they are to be.
struct Target {
    vaddr: u64,
    bytes: u64,
    nodes: Vec<u32>,
    source: Source,
}

/// What looks have found so far.
struct Seen<'s, 'a> {
    moved: &'s mut BTreeSet<u64>,
    tally: &'s mut Tally<'a>,
}

/// Compares, and in static programs moves, what there is of the plan's static data. Pages that nobody has touched are left so.
fn look(pid: u32, sent: &Sent<'_>, targets: &[Target], outcome: &mut PlanOutcome, seen: &mut Seen<'_, '_>) {
    let Some((pid, bias)) = sent.program.running(pid) else { return };
    let mut requests = Vec::new();
    for t in targets {
        let (first, end) =
            (t.vaddr.wrapping_add(bias) / PAGE_BYTES, t.vaddr.wrapping_add(bias).saturating_add(t.bytes));
        let pages = (first..end.div_ceil(PAGE_BYTES)).enumerate();
        requests.extend(pages.map(|(i, p)| (Request { page: p * PAGE_BYTES, node: t.nodes[i % t.nodes.len()] }, t)));
    }
    let addresses: Vec<u64> = requests.iter().map(|(r, _)| r.page).collect();
    let Ok(found) = where_are(pid, &addresses) else { return };
    let present = requests.iter().zip(&found).filter_map(|((r, t), a)| Some((r, *t, a.node()?)));
    let present: Vec<(&Request, &Target, u32)> = present.collect();
    if present.is_empty() {
        return;
    }
    outcome.pages_looked_at = present.len() as u64;
    outcome.pages_right = present.iter().filter(|(r, _, at)| r.node == *at).count() as u64;
    if sent.program.dynamic() {
        return;
    }
    present.iter().filter(|(r, _, at)| r.node == *at).for_each(|(_, t, _)| seen.tally.placed(t.source, t.bytes));
    let wrong: Vec<(Request, &Target)> =
        present.iter().filter(|(r, _, at)| r.node != *at).map(|(r, t, _)| (**r, *t)).collect();
    let (requests, mut move_statuses): (Vec<Request>, Vec<MoveStatus>) =
        (wrong.iter().map(|w| w.0).collect(), Vec::new());
    Mover::new(pid).run(&requests, None, &mut move_statuses);
    let before = seen.moved.len();
    for ((request, target), _) in wrong.iter().zip(&move_statuses).filter(|(_, f)| **f == MoveStatus::Moved) {
        seen.moved.insert(request.page);
        seen.tally.placed(target.source, target.bytes);
    }
    outcome.pages_right += (seen.moved.len() - before) as u64;
}

/// Static lines of a plan.
fn targets(plan: &AgentPlan, sources: &[Source]) -> Vec<Target> {
    let target = |(line, source): (&Line, &Source)| {
        let Line::Static { vaddr, bytes, home, .. } = line else { return None };
        let nodes = match home {
            Home::Node(n) => vec![*n],
            Home::Interleave(nodes) => nodes.clone(),
        };
        Some(Target { vaddr: *vaddr, bytes: *bytes, nodes, source: *source })
    };
    plan.lines.iter().zip(sources).filter_map(target).collect()
}

/// What the library says about each process.
fn report(result: &Path, sent: &Sent<'_>, tally: &mut Tally<'_>, outcome: &mut PlanOutcome, doc: &mut ActDoc) {
    let text = fs::read_to_string(result).unwrap_or_default();
    match agentresult::parse(&text) {
        Ok(processes) if processes.is_empty() => doc.notes.push(
            "the preloaded library reported nothing: no process ran the program, or it was killed, or LD_PRELOAD was \
             replaced, or the library refused the plan (it says why on stderr)"
                .to_owned(),
        ),
        Ok(processes) => {
            processes.iter().for_each(|p| tally.hear(p, &sent.sources));
            outcome.library = processes.iter().map(|p| summary(p, &sent.sources)).collect();
        }
        Err(why) => doc.notes.push(format!("the preloaded library's report is damaged: {why}")),
    }
}

fn summary(p: &ProcessResult, sources: &[Source]) -> String {
    if p.beside {
        return format!(
            "process {}: left alone, a plan is of one process and another one of the program had it",
            p.pid
        );
    }
    // Of two lines for the same data one is met.
    let of = |line: u32| sources.get(line as usize);
    let met = |o: &Outcome| matches!(o, Outcome::Matched { .. } | Outcome::Scaled { .. });
    let done: BTreeSet<&Source> = p.items.iter().filter(|i| met(&i.outcome)).filter_map(|i| of(i.line)).collect();
    let all: BTreeSet<&Source> = sources.iter().collect();
    let rest = |f: &dyn Fn(&Outcome) -> bool| {
        let found = p.items.iter().filter(|i| f(&i.outcome)).filter_map(|i| of(i.line));
        found.filter(|s| !done.contains(s)).collect::<BTreeSet<_>>().len()
    };
    let mut text = format!(
        "process {}: {} of {} entries met, {} bytes by {} calls of mbind",
        p.pid,
        done.len(),
        all.len(),
        p.bytes,
        p.calls
    );
    let rest = [
        (rest(&|o| matches!(o, Outcome::Failed { .. })), "refused by the kernel or for want of mappings"),
        (rest(&|o| *o == Outcome::NotSeen), "not seen"),
        (rest(&|o| *o == Outcome::OtherSizeOrBuild), "of another size or build"),
        (rest(&|o| *o == Outcome::OutsideModule), "outside their module"),
    ];
    for (n, words) in rest.iter().filter(|r| r.0 > 0) {
        text += &format!(", {n} {words}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> AgentPlan {
        let build_id = || "aa".to_owned();
        let fixed = |vaddr, bytes, home| Line::Static { build_id: build_id(), vaddr, bytes, home };
        let (path, size, home) = (Vec::new(), 9000, Home::Node(1));
        let heap =
            Line::Heap { build_id: build_id(), by: By::Size, path, ordinal: 0, size, offset: 0, bytes: 9000, home };
        let again = heap.clone();
        let (pin, both) = (Line::Pin { path: vec![], cpu: 3 }, Home::Interleave(vec![0, 3]));
        let lines = vec![pin, fixed(0x40c0, 9000, Home::Node(2)), fixed(0x9000, 1, both), heap, again];
        AgentPlan { lines, ..AgentPlan::default() }
    }

    /// The last entry has two lines.
    const SOURCES: [Source; 5] =
        [Source::Pin(0), Source::Entry(0), Source::Entry(1), Source::Entry(2), Source::Entry(2)];

    #[test]
    fn every_entry_of_a_dry_run_is_one_line() {
        assert_eq!(calls(&lines(), &SOURCES, true).len(), 4);
        let outside = calls(&lines(), &SOURCES, false);
        assert_eq!(outside.len(), 2);
        assert!(outside.iter().all(|c| c.starts_with("move_pages(0x")), "{outside:?}");
    }

    #[test]
    fn static_lines_become_targets() {
        let found = targets(&lines(), &SOURCES);
        assert_eq!((found.len(), found[0].vaddr, found[0].bytes), (2, 0x40c0, 9000));
        assert_eq!((&found[0].nodes, &found[1].nodes), (&vec![2], &vec![0, 3]));
        assert_eq!(found[1].source, Source::Entry(1));
    }
}
