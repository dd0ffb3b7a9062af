//! Programs that the agent must not disturb, and files that must not disturb it.
mod support;

use homenode_base::Rng;
use homenode_base::agentplan::{AgentPlan, By, Home, Line};
use homenode_base::agenttable;
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
    let mapper = plain(dir.path(), "gcc", "mapper.c", &["-shared", "-fPIC"]);
    let mut others = vec![format!("{us}:{rival}"), format!("{us} {rival}"), format!("{us}:{}", mapper.display())];
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

/// A line of every kind, and allocations in groups of several.
fn one_of_everything(program: &Path) -> Vec<u8> {
    let id = preload::build_id(program.to_str().unwrap());
    let fixed = |vaddr, home| Line::Static { build_id: id.clone(), vaddr, bytes: 4096, home };
    let heap = |by, ordinal, offset, bytes, home| Line::Heap {
        build_id: id.clone(),
        by,
        path: vec![],
        ordinal,
        size: 444_444,
        offset,
        bytes,
        home,
    };
    let lines = vec![
        Line::Pin { path: vec![], cpu: 0 },
        Line::Stack { path: vec![0, 1], node: 0 },
        fixed(0x4000, Home::Node(0)),
        fixed(0x5000, Home::Interleave(vec![0])),
        heap(By::Size, 0, 200_000, 244_444, Home::Interleave(vec![0])),
        heap(By::Size, 0, 0, 200_000, Home::Node(0)),
        heap(By::Site(0x1234), 1, 0, 4096, Home::Node(0)),
        heap(By::Stack(77), 0, 0, 4096, Home::Node(0)),
    ];
    agenttable::write(&AgentPlan { program: Some(id), same_sizes: false, lines }).expect("a sound plan")
}

/// Starts a program under a table: it runs to its end as ever, and the agent refuses what the Rust reader refuses, for the
/// same reason, and nothing else.
fn runs_under(program: &Path, file: &Path, table: &[u8], what: &str) {
    std::fs::write(file, table).unwrap();
    let output = command(program).env(agent::PLAN_ENV, file).arg("leaf").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{what}: {output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("leaf 0x"), "{what}: {output:?}");
    let why = agenttable::read(table).err().map(|e| e.split_once(": ").map_or(e.clone(), |(_, why)| why.to_owned()));
    let expected = why.map(|why| format!("homenode agent: plan {}: {why}; nothing is placed\n", file.display()));
    assert_eq!(said, expected.unwrap_or_default(), "{what}");
}

fn slow() -> bool {
    std::env::var_os("HOMENODE_SLOW").is_some()
}

struct Damaging {
    dir: tempfile::TempDir,
    program: std::path::PathBuf,
    good: Vec<u8>,
}

impl Damaging {
    fn new() -> Damaging {
        let dir = tempfile::tempdir().unwrap();
        let program = plain(dir.path(), "gcc", "polite.c", &["-ldl"]);
        let good = one_of_everything(&program);
        Damaging { dir, program, good }
    }

    fn run(&self, table: &[u8], what: &str) {
        runs_under(&self.program, &self.dir.path().join("plan"), table, what);
    }
}

#[test]
fn a_table_with_any_byte_damaged_is_refused() {
    let d = Damaging::new();
    d.run(&d.good, "as it was written");
    for at in 0..d.good.len() {
        let mut table = d.good.clone();
        table[at] ^= 1 << (at % 8);
        assert!(agenttable::read(&table).is_err(), "byte {at}");
        // A program under one byte of every word; all of them take minutes.
        if slow() || at % 8 == at / 8 % 8 {
            d.run(&table, &format!("byte {at}"));
        }
    }
    for length in [0, 1, 7, 63, 64, 65, 100, d.good.len() / 2, d.good.len() - 8, d.good.len() - 1] {
        d.run(&d.good[..length], &format!("{length} bytes"));
    }
    d.run(&[&d.good[..], &[0; 8]].concat(), "eight bytes more");
    let output = command(&d.program).env(agent::PLAN_ENV, d.dir.path().join("none")).arg("leaf").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no such file"), "{output:?}");
    text(&output);
}

/// Whoever tampers with a table may mend its checksum.
#[test]
fn a_table_with_any_field_damaged_is_refused_or_harmless() {
    let d = Damaging::new();
    let mut refused = 0;
    for at in (0..d.good.len()).step_by(4) {
        let old = u32::from_le_bytes(d.good[at..at + 4].try_into().unwrap());
        let values = [old.wrapping_add(1), !old, old.wrapping_sub(1), 1 << 31];
        for &new in &values[..if slow() { 4 } else { 2 }] {
            let mut table = d.good.clone();
            table[at..at + 4].copy_from_slice(&new.to_le_bytes());
            agenttable::seal(&mut table);
            refused += usize::from(agenttable::read(&table).is_err());
            d.run(&table, &format!("{new:x} for {old:x} at {at}"));
        }
    }
    assert!(refused > d.good.len() / 4, "{refused}");
}

/// Several fields changed, records doubled and left out, the checksum mended.
#[test]
fn mutated_tables_never_harm_the_program() {
    let d = Damaging::new();
    let mut rng = Rng::new(2008);
    let rounds = if slow() { 10_000 } else { 300 };
    for round in 0..rounds {
        let mut table = d.good.clone();
        for _ in 0..1 + rng.below(4) {
            let words = table.len() as u64 / 8;
            let (at, from) = (rng.below(words) as usize * 8, rng.below(words) as usize * 8);
            match rng.below(5) {
                0 => table.copy_within(from..from + 8, at),
                1 => table[at + rng.below(8) as usize] = rng.below(256) as u8,
                2 => table[at..at + 4].copy_from_slice(&(rng.below(12) as u32).to_le_bytes()),
                3 => drop(table.drain(at..(at + agenttable::Item::BYTES).min(table.len()))),
                _ => {
                    let piece = table[from..(from + agenttable::Item::BYTES).min(table.len())].to_vec();
                    table.splice(at..at, piece);
                }
            }
        }
        agenttable::seal(&mut table);
        d.run(&table, &format!("round {round}"));
    }
}
