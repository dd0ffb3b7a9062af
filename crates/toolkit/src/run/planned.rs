//! A program under a plan: dynamic ones place their memory themselves through the preloaded library, before first touch;
//! static ones are moved from outside, as soon as there is something to move.
use super::{RunRequest, wait};
use crate::Failure;
use crate::live::Here;
use crate::live::child::{Child, cannot_start, start};
use crate::live::doc::{ActDoc, PlanOutcome};
use crate::migrate::SIGUSR1;
use homenode_base::agentresult::{self, Outcome, ProcessResult};
use homenode_hooks::agent;
use homenode_migrate::{Fate, Mover, PAGE_BYTES, Request, process, where_are};
use homenode_placement::plan::Plan;
use homenode_sys::signals::StopRequests;
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Object, ObjectSegment};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
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

/// Pages of static data and where they are to be.
struct Target {
    vaddr: u64,
    bytes: u64,
    nodes: Vec<u32>,
}

pub(super) fn run(
    request: &RunRequest,
    file: &Path,
    program: &Path,
    here: &Here,
    doc: &mut ActDoc,
) -> Result<(), Failure> {
    let named = |e: &dyn std::fmt::Display| Failure::input(format!("{}: {e}", file.display()));
    let plan = Plan::from_json(&fs::read_to_string(file).map_err(|e| named(&e))?).map_err(|e| named(&e))?;
    let text = crate::place::agent_plan(&plan, &here.topology, program, request.matching)?;
    let image = Image::read(program)?;
    doc.mode = "plan";
    let way = if image.dynamic { "preloaded library" } else { "from outside" };
    let mut outcome = PlanOutcome {
        file: file.display().to_string(),
        way,
        entries: text.lines().count().saturating_sub(2) as u64,
        pages_right: 0,
        pages_looked_at: 0,
        moved_pages: 0,
        library: Vec::new(),
    };
    notes(&image, here, &text, doc);
    if request.options.dry_run {
        doc.calls = calls(&text, image.dynamic);
        doc.plan = Some(outcome);
        doc.command.clear();
        doc.ended = "dry run: the program was not started".to_owned();
        return Ok(());
    }
    execute(request, &image, &text, doc, &mut outcome)?;
    doc.plan = Some(outcome);
    Ok(())
}

fn notes(image: &Image, here: &Here, text: &str, doc: &mut ActDoc) {
    if here.one_node() {
        doc.notes.push(crate::live::ONE_NODE.to_owned());
    }
    if !image.dynamic {
        doc.notes.push(
            "the program is static, so no library can be preloaded: its static data is moved from outside once it is \
             touched; threads, stacks and heap of the plan are left to the system"
                .to_owned(),
        );
        let left = text.lines().filter(|l| l.starts_with("heap ") || l.starts_with("stack ") || l.starts_with("pin "));
        let left = left.count();
        if left > 0 {
            doc.notes.push(format!("{left} entries of the plan are not carried out for that reason"));
        }
    }
}

/// The calls that a plan means, one a line.
fn calls(text: &str, dynamic: bool) -> Vec<String> {
    let say = |line: &str| -> Option<String> {
        let words: Vec<&str> = line.split(' ').collect();
        match (words.as_slice(), dynamic) {
            (["pin", path, cpu], true) => Some(format!("sched_setaffinity(thread {path}, cpu {cpu})")),
            (["stack", path, node], true) => {
                Some(format!("mbind(stack of thread {path}, MPOL_PREFERRED, node {node})"))
            }
            (["static", _, vaddr, bytes, home], true) => Some(format!("mbind(0x{vaddr} as linked, {bytes}, {home})")),
            (["static", _, vaddr, bytes, home], false) => {
                Some(format!("move_pages(0x{vaddr} as linked, {bytes} bytes, {home}, MPOL_MF_MOVE)"))
            }
            (["heap", _, stack, path, ordinal, size, offset, bytes, home], true) => Some(format!(
                "mbind(allocation {ordinal} of {size} bytes by thread {path} at stack {stack}, +{offset}, {bytes}, {home})"
            )),
            _ => None,
        }
    };
    text.lines().filter_map(say).collect()
}

fn execute(
    request: &RunRequest,
    image: &Image,
    text: &str,
    doc: &mut ActDoc,
    outcome: &mut PlanOutcome,
) -> Result<(), Failure> {
    let place = workplace()?;
    let (plan_file, result_file) = (place.path().join("plan"), place.path().join("result"));
    let environment = if image.dynamic { environment(text, &plan_file, &result_file)? } else { Vec::new() };
    let begin = Instant::now();
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    let held = start(&request.command, &environment)?;
    let pid = held.go().map_err(|e| cannot_start(&request.command, &e))?;
    let mut child = Child::new(pid);
    let targets = targets(text);
    let (mut next, mut pause, mut moved) = (Duration::ZERO, FIRST_LOOK, BTreeSet::new());
    wait(&mut child, stop.as_ref(), |elapsed| {
        if elapsed < next || targets.is_empty() {
            return;
        }
        look(pid, image, &targets, outcome, &mut moved);
        next = elapsed + pause;
        pause = (pause * 2).min(LAST_LOOK);
    });
    outcome.moved_pages = moved.len() as u64;
    doc.pid = Some(pid);
    doc.exit_status = child.status;
    doc.ended = "the program ended".to_owned();
    doc.seconds = begin.elapsed().as_secs_f64();
    if image.dynamic {
        report(&result_file, outcome, doc);
    }
    Ok(())
}

fn environment(text: &str, plan: &Path, result: &Path) -> Result<Vec<(OsString, OsString)>, Failure> {
    fs::write(plan, text).map_err(|e| Failure::work(format!("cannot write {}: {e}", plan.display())))?;
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

/// Compares, and in static programs moves, what there is of the plan's static data.
fn look(pid: u32, image: &Image, targets: &[Target], outcome: &mut PlanOutcome, moved: &mut BTreeSet<u64>) {
    let Some(bias) = image.bias(pid) else { return };
    let mut requests = Vec::new();
    for t in targets {
        let (first, end) =
            (t.vaddr.wrapping_add(bias) / PAGE_BYTES, t.vaddr.wrapping_add(bias).saturating_add(t.bytes));
        let pages = (first..end.div_ceil(PAGE_BYTES)).enumerate();
        requests.extend(pages.map(|(i, p)| Request { page: p * PAGE_BYTES, node: t.nodes[i % t.nodes.len()] }));
    }
    let addresses: Vec<u64> = requests.iter().map(|r| r.page).collect();
    let Ok(found) = where_are(pid, &addresses) else { return };
    let present: Vec<(&Request, u32)> = requests.iter().zip(&found).filter_map(|(r, a)| Some((r, a.node()?))).collect();
    if present.is_empty() {
        return;
    }
    outcome.pages_looked_at = present.len() as u64;
    outcome.pages_right = present.iter().filter(|(r, at)| r.node == *at).count() as u64;
    if image.dynamic {
        return;
    }
    let wrong: Vec<Request> = present.iter().filter(|(r, at)| r.node != *at).map(|(r, _)| **r).collect();
    let mut fates = Vec::new();
    Mover::new(pid).run(&wrong, None, &mut fates);
    let done = wrong.iter().zip(&fates).filter(|(_, f)| **f == Fate::Moved).map(|(r, _)| r.page);
    let before = moved.len();
    moved.extend(done);
    outcome.pages_right += (moved.len() - before) as u64;
}

/// Static lines of a plan that our own code has written.
fn targets(text: &str) -> Vec<Target> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let ["static", _, vaddr, bytes, home] = words.as_slice() else { return None };
        let nodes: Option<Vec<u32>> = home.get(1..)?.split(',').map(|n| n.parse().ok()).collect();
        let nodes = nodes.filter(|n| !n.is_empty())?;
        Some(Target { vaddr: u64::from_str_radix(vaddr, 16).ok()?, bytes: bytes.parse().ok()?, nodes })
    };
    text.lines().filter_map(line).collect()
}

/// What the library says about each process.
fn report(result: &Path, outcome: &mut PlanOutcome, doc: &mut ActDoc) {
    let text = fs::read_to_string(result).unwrap_or_default();
    match agentresult::parse(&text) {
        Ok(processes) if processes.is_empty() => doc
            .notes
            .push("the preloaded library reported nothing: the program was killed, or replaced LD_PRELOAD".to_owned()),
        Ok(processes) => outcome.library = processes.iter().map(summary).collect(),
        Err(why) => doc.notes.push(format!("the preloaded library's report is damaged: {why}")),
    }
}

fn summary(p: &ProcessResult) -> String {
    let count = |f: &dyn Fn(&Outcome) -> bool| p.items.iter().filter(|i| f(&i.outcome)).count();
    let mut text = format!(
        "process {}: {} of {} entries met, {} bytes by {} calls of mbind",
        p.pid,
        count(&|o| matches!(o, Outcome::Matched { .. })),
        p.items.len(),
        p.bytes,
        p.calls
    );
    let rest = [
        (count(&|o| matches!(o, Outcome::Failed { .. })), "refused by the kernel"),
        (count(&|o| *o == Outcome::NotSeen), "not seen"),
        (count(&|o| *o == Outcome::OtherSizeOrBuild), "of another size or build"),
        (count(&|o| *o == Outcome::OutsideModule), "outside their module"),
    ];
    for (n, words) in rest.iter().filter(|r| r.0 > 0) {
        text += &format!(", {n} {words}");
    }
    text
}

/// What must be known of a program file.
struct Image {
    path: PathBuf,
    /// Whether it has an interpreter, so that libraries can be preloaded.
    dynamic: bool,
    /// Whether it is linked to a fixed address.
    fixed: bool,
    /// Address of its first segment as linked.
    first: u64,
}

impl Image {
    fn read(path: &Path) -> Result<Image, Failure> {
        let named = |e: &dyn std::fmt::Display| Failure::input(format!("{}: {e}", path.display()));
        let bytes = fs::read(path).map_err(|e| named(&e))?;
        let file = ElfFile::<object::elf::FileHeader64<object::Endianness>>::parse(&*bytes)
            .map_err(|e| named(&format!("a plan is for one program, and this is no 64-bit ELF program ({e})")))?;
        let endian = file.endian();
        let interpreted =
            |h: &&object::elf::ProgramHeader64<object::Endianness>| h.p_type(endian) == object::elf::PT_INTERP;
        Ok(Image {
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
            dynamic: file.elf_program_headers().iter().any(|h| interpreted(&h)),
            fixed: file.elf_header().e_type(endian) == object::elf::ET_EXEC,
            first: file.segments().map(|s| s.address()).min().unwrap_or(0) & !(PAGE_BYTES - 1),
        })
    }
    /// What to add to addresses as linked; `None` while the process does not run this program (yet).
    fn bias(&self, pid: u32) -> Option<u64> {
        let running = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        if running != self.path {
            return None;
        }
        if self.fixed {
            return Some(0);
        }
        let name = self.path.to_string_lossy();
        let areas = process::maps(pid).ok()?;
        let first = areas.iter().filter(|a| a.name == name).map(|a| a.start).min()?;
        Some(first.wrapping_sub(self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "homenode-agent-plan 1\npin - 3\nstatic aa 40c0 9000 n2\nstatic aa 9000 1 i0,3\n\
                        heap aa * - 0 9000 0 9000 n1\nend\n";

    #[test]
    fn every_entry_of_a_dry_run_is_one_line() {
        assert_eq!(calls(TEXT, true).len(), 4);
        let outside = calls(TEXT, false);
        assert_eq!(outside.len(), 2);
        assert!(outside.iter().all(|c| c.starts_with("move_pages(0x")), "{outside:?}");
    }

    #[test]
    fn static_lines_become_targets() {
        let found = targets(TEXT);
        assert_eq!((found.len(), found[0].vaddr, found[0].bytes), (2, 0x40c0, 9000));
        assert_eq!((&found[0].nodes, &found[1].nodes), (&vec![2], &vec![0, 3]));
    }

    #[test]
    fn this_test_program_knows_its_own_bias() {
        let path = std::env::current_exe().unwrap();
        let image = Image::read(&path).unwrap();
        assert!(image.dynamic && !image.fixed);
        let areas = process::maps(0).unwrap();
        let name = image.path.to_string_lossy();
        let first = areas.iter().filter(|a| a.name == name).map(|a| a.start).min().unwrap();
        assert_eq!(image.bias(std::process::id()), Some(first - image.first));
        assert!(Image::read(Path::new("/etc/passwd")).is_err());
    }
}
