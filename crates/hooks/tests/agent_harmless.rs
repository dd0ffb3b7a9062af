//! Programs that the agent must not disturb, and files that must not disturb it.
mod support;

use homenode_base::Rng;
use homenode_base::agentplan::{AgentPlan, By, Home, Line};
use homenode_base::ring::*;
use homenode_hooks::agent;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use support::Recording;
use support::build::COMPILERS;
use support::preload::{self, command, places, plain, planned, recorded, text};

fn everything(program: &Path, size: u64) -> AgentPlan {
    let build_id = preload::build_id(program.to_str().unwrap());
    let home = Home::Node(0);
    let line = Line::Heap { build_id, by: By::Size, path: vec![], ordinal: 0, size, offset: 0, bytes: size, home };
    AgentPlan { lines: vec![line], ..AgentPlan::default() }
}

fn silent(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{output:?}");
    text(output)
}

#[test]
fn cpp_objects_are_placed_and_failures_thrown() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        for flags in [&["-std=c++17"][..], &["-std=c++17", "-static-libstdc++", "-static-libgcc"]] {
            let program = plain(dir.path(), compiler, "news.cc", flags);
            let keys = recorded(&program, &[]);
            assert!(!keys.contains_key("impossible"));
            let lines = keys.values().flatten().map(|k| k.line(0, k.size, Home::Node(0))).collect::<Vec<_>>();
            assert_eq!(lines.len(), 5, "{keys:?}");
            for (name, place) in places(&silent(
                &planned(&program, &AgentPlan { lines, ..AgentPlan::default() }, dir.path()).output().unwrap(),
            )) {
                assert_eq!(place.runs.len(), 1, "{name}");
                assert_eq!(place.runs[0].0, "p0", "{name}");
            }
        }
    }
}

#[test]
fn errors_children_and_a_dlsym_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [&["-ldl"][..], &["-ldl", "-DOWN_DLSYM"]] {
        let program = plain(dir.path(), "gcc", "polite.c", flags);
        let plan = everything(&program, 333_333);
        let found = places(&silent(&planned(&program, &plan, dir.path()).output().unwrap()));
        assert_eq!(found["forked"].runs[0].0, "p0", "the child goes on where its parent was");
        assert_eq!(found["parent"].runs[0].0, "p0");
        assert_eq!(found["executed"].runs[0].0, "d");
        let mut inert = command(&program);
        assert_eq!(places(&silent(&inert.output().unwrap()))["parent"].runs[0].0, "d");
        let r = Recording::new(MODE_RECORD);
        let mut c = r.command(&program, &[]);
        c.env("LD_PRELOAD", preload::library());
        let (output, rings) = r.run_command(c);
        silent(&output);
        assert_eq!((r.get32(CONTROL_OFF_ATTACHED), rings.len()), (4, 4), "parent, child, child, what it executes");
        let with = |size| rings.iter().filter(|r| r.events(EVENT_ALLOC).iter().any(|e| e.w1() == size)).count();
        assert_eq!((with(333_333), with(444_444)), (2, 1));
    }
}

#[test]
fn libraries_that_come_later_are_placed_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let library = plain(dir.path(), "gcc", "plugin.c", &["-shared", "-fPIC"]);
    let program = plain(dir.path(), "clang", "loader.c", &["-ldl"]);
    let nm = Command::new("nm").arg(&library).output().unwrap();
    let symbols = String::from_utf8(nm.stdout).unwrap();
    let line = symbols.lines().find(|l| l.ends_with(" table")).unwrap();
    let vaddr = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let build_id = preload::build_id(library.to_str().unwrap());
    let lines = vec![Line::Static { build_id, vaddr, bytes: 32 * 4096, home: Home::Node(0) }];
    let output =
        planned(&program, &AgentPlan { lines, ..AgentPlan::default() }, dir.path()).arg(&library).output().unwrap();
    let seen: Vec<_> = silent(&output).lines().map(|l| l.split(' ').skip(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(seen, ["p0*32 d*32", "p0*32 d*32"]);
}

#[test]
fn static_and_set_user_id_programs_do_not_notice() {
    let dir = tempfile::tempdir().unwrap();
    let program = plain(dir.path(), "gcc", "polite.c", &["-ldl"]);
    let plan = everything(&program, 333_333);
    let fixed = plain(dir.path(), "clang", "ownalloc.c", &["-static", "-Wl,--allow-multiple-definition"]);
    assert_eq!(places(&silent(&planned(&fixed, &plan, dir.path()).output().unwrap()))["own"].runs[0].0, "d");
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return; // only root can make a program that runs as somebody else
    }
    let copy = dir.path().join("privileged");
    std::fs::copy(&program, &copy).unwrap();
    for (path, mode) in [(dir.path(), 0o755), (&copy, 0o4755)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let as_nobody = |p: &Path| planned(p, &plan, dir.path()).uid(65534).gid(65534).output().unwrap();
    assert_eq!(places(&silent(&as_nobody(&copy)))["parent"].runs[0].0, "d");
}

#[test]
fn other_allocators_and_other_preloads() {
    let dir = tempfile::tempdir().unwrap();
    let own = plain(dir.path(), "gcc", "ownalloc.c", &[]);
    let output = planned(&own, &everything(&own, 500_000), dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("brings its own malloc") && said.lines().count() == 1, "{said}");
    assert_eq!(places(&text(&output))["own"].runs[0].0, "d");
    let chunk = everything(&own, 1 << 20);
    assert_eq!(places(&text(&planned(&own, &chunk, dir.path()).output().unwrap()))["own"].runs[0].0, "p0");

    let program = plain(dir.path(), "gcc", "polite.c", &["-ldl"]);
    let rival = plain(dir.path(), "gcc", "rival.c", &["-shared", "-fPIC", "-ldl"]);
    let (us, rival) = (preload::library().to_str().unwrap(), rival.to_str().unwrap());
    let mut others = vec![format!("{us}:{rival}"), format!("{us} {rival}")];
    let debian = ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"];
    let installed = debian.iter().map(|n| format!("/usr/lib/x86_64-linux-gnu/{n}")).filter(|p| Path::new(p).exists());
    others.extend(installed.map(|p| format!("{us}:{p}")));
    let objects = plain(dir.path(), "gcc", "objects.c", &[]);
    for order in others {
        let mut c = planned(&objects, &everything(&objects, 1_000_000), dir.path());
        let found = places(&silent(&c.env("LD_PRELOAD", &order).output().unwrap()));
        assert_eq!((found["cleared"].runs.len(), &*found["cleared"].runs[0].0), (1, "p0"), "{order}");
    }
    let mut c = planned(&program, &everything(&program, 333_333), dir.path());
    let output = c.env("LD_PRELOAD", format!("{rival}:{us}")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.lines().all(|l| l.contains("preload the agent first")), "{said}");
    text(&output);
}

/// Plans that are wrong in one way, and what is said of them.
const WRONG: &[(&str, &str)] = &[
    ("", "line 1: the first line"),
    ("homenode-agent-plan 1\nend\n", "line 1: the first line"),
    ("homenode-agent-plan 2 x same\nend\n", "line 1: a build id"),
    ("homenode-agent-plan 2 -\nend\n", "line 1: sizes are"),
    ("homenode-agent-plan 2 - same x\nend\n", "line 1: something follows"),
    ("homenode-agent-plan 2 - same\n", "line 2: there is no 'end'"),
    ("homenode-agent-plan 2 - same\nend\nend\n", "line 2: something follows 'end'"),
    ("homenode-agent-plan 2 - same\nmove - 1\nend\n", "line 2: a line begins with"),
    ("homenode-agent-plan 2 - same\npin - 1 1\nend\n", "line 2: something follows the last field"),
    ("homenode-agent-plan 2 - same\npin 0..1 1\nend\n", "line 2: a thread path"),
    ("homenode-agent-plan 2 - same\npin - 8192\nend\n", "line 2: a processor"),
    ("homenode-agent-plan 2 - same\nstack - -1\nend\n", "line 2: a node"),
    ("homenode-agent-plan 2 - same\npin - 1\npin - 2\nend\n", "line 3: the same thread"),
    ("homenode-agent-plan 2 - same\nstatic abc 0 1 n0\nend\n", "line 2: a build id"),
    ("homenode-agent-plan 2 - same\nstatic ab 0x1 1 n0\nend\n", "line 2: an address"),
    ("homenode-agent-plan 2 - same\nstatic ab 1 0 n0\nend\n", "line 2: bytes"),
    ("homenode-agent-plan 2 - same\nstatic ab 1 8 n0\nstatic ab 8 8 n1\nend\n", "line 3: overlaps another line"),
    ("homenode-agent-plan 2 - same\nstatic ab 1 8 i\nend\n", "line 2: a home"),
    ("homenode-agent-plan 2 - same\nstatic ab 1 8 i1,1\nend\n", "line 2: a home"),
    ("homenode-agent-plan 2 - same\nstatic ab 1 8 n1024\nend\n", "line 2: a home"),
    ("homenode-agent-plan 2 - same\nheap ab 12 - 0 9000 0 9 n0\nend\n", "line 2: a stack hash"),
    ("homenode-agent-plan 2 - same\nheap ab * - 0 9000 9000 9 n0\nend\n", "line 2: an offset"),
    ("homenode-agent-plan 2 - same\nheap ab * - 0 9000 8999 2 n0\nend\n", "line 2: bytes"),
];

fn run_with(program: &Path, file: &Path, plan: &[u8]) -> Output {
    std::fs::write(file, plan).unwrap();
    command(program).env(agent::PLAN_ENV, file).arg("leaf").output().unwrap()
}

#[test]
fn malformed_plans_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let program = plain(dir.path(), "gcc", "polite.c", &["-ldl"]);
    let file = dir.path().join("plan");
    for (plan, says) in WRONG {
        let output = run_with(&program, &file, plan.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let begin = format!("homenode agent: plan {}, {says}", file.display());
        assert!(said.starts_with(&begin) && said.lines().count() == 1, "{plan:?}: {said}");
        assert_eq!(places(&text(&output))["leaf"].runs[0].0, "d");
    }
    let output = command(&program).env(agent::PLAN_ENV, dir.path().join("none")).arg("leaf").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no such file"), "{output:?}");
    text(&output);
}

/// Bytes changed, cut out, doubled: the program runs as ever, and at most one line is said.
#[test]
fn mutated_plans_never_harm_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let program = plain(dir.path(), "gcc", "polite.c", &["-ldl"]);
    let id = preload::build_id(program.to_str().unwrap());
    let good = format!(
        "homenode-agent-plan 2 {id} other\npin - 0\nstack 0.1 0\nstatic {id} 4000 4096 n0\nheap {id} * - 0 444444 0 200000 n0\n\
         heap {id} * - 0 444444 200000 244444 i0\nheap {id} @1234 - 0 444444 0 4096 n0\nend\n"
    );
    let mut rng = Rng::new(2008);
    let rounds = if std::env::var_os("HOMENODE_SLOW").is_some() { 10_000 } else { 300 };
    for round in 0..rounds {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(5) {
                0 => bytes[at] = rng.below(256) as u8,
                1 => bytes[at] = b"0123456789abcdefni,.-*\n "[rng.below(24) as usize],
                2 => drop(bytes.drain(at..(at + 1 + rng.below(30) as usize).min(bytes.len()))),
                3 => bytes.truncate(at + 1),
                _ => {
                    let piece = bytes[at..(at + 1 + rng.below(60) as usize).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        let output = run_with(&program, &dir.path().join("plan"), &bytes);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "round {round}: {output:?}\n{}", String::from_utf8_lossy(&bytes));
        assert!(said.lines().count() <= 1, "round {round}: {said}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("leaf 0x"), "round {round}: {output:?}");
    }
}
