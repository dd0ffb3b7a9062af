//! Plans from outside: they cost what they claim, their keys hold in another run, the agent is told what was planned.
mod support;

use homenode_base::TotalCost;
use homenode_base::agentplan::{self, AgentPlan, By, Line};
use homenode_machine::topology::{MemoryNode, Topology};
use homenode_place::{Match, agent_plan, place, price};
use homenode_placement::plan::{Home, ObjectKey, Plan, Why};
use homenode_synthetic::{Builder, PROGRAMS, Scale};
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::symbols::{Global, Module};
use std::path::Path;
use support::{build, recorded, request, write};

const MODULE: &str = "/bin/app";
const BIAS: u64 = 0x5500_0000_0000;
const HEAP: u64 = 0x7f00_0000_0000;

/// Two threads; thread 0 touches everything first, thread 1 uses the second half of a block and a table.
fn program(shift: u64) -> Builder {
    let mut b = Builder::new(2);
    let bias = BIAS + shift;
    b.event(0, EventKind::Module { bias, bytes: 0x10_0000, path: MODULE.into() });
    b.symbols().modules = vec![Module { path: MODULE.into(), build_id: "00112233445566778899".into() }];
    let (name, module) = ("table".to_owned(), MODULE.to_owned());
    b.symbols().globals = vec![Global { process: 0, addr: bias + 0x4000, bytes: 8192, name, module, of: None }];
    let heap = HEAP + shift;
    b.alloc(0, heap, 8 * 4096, &[bias + 0x1234, bias + 0x2000]);
    b.alloc(0, heap + 0x10_0000, 64, &[bias + 0x1300]);
    (0..8).for_each(|page| _ = b.write(0, heap + 4096 * page));
    b.write(0, bias + 0x4000).write(0, heap + 0x10_0000);
    b.spawn(0, 1);
    for _ in 0..50 {
        (0..4).for_each(|page| _ = b.write(0, heap + 4096 * page));
        (4..8).for_each(|page| _ = b.write(1, heap + 4096 * page));
        b.read(1, bias + 0x4000).read(1, heap + 0x10_0000);
    }
    b
}

fn saved(dir: &Path, name: &str, b: &Builder) -> std::path::PathBuf {
    let to = dir.join(name);
    write(&*b.store(), &to);
    to
}

#[test]
fn a_plan_costs_what_it_claims_and_its_keys_hold_elsewhere() {
    let dir = tempfile::tempdir().expect("a folder");
    let (here, there) = (saved(dir.path(), "a.hnt", &program(0)), saved(dir.path(), "b.hnt", &program(0x77_0000)));
    let doc = place(&request(&here, "opteron4"), &mut ()).expect("a plan");
    let plan = &doc.plan;
    assert_eq!(Plan::from_json(&doc.to_json()).as_ref(), Ok(plan));
    let homes: Vec<(u64, u64, &Home)> = plan.entries.iter().map(|e| (e.offset, e.bytes, &e.home)).collect();
    assert_eq!(homes, [(0, 4096, &Home::Node(2)), (0, 16384, &Home::Node(0)), (16384, 16384, &Home::Node(2))]);
    let small: Vec<(Why, u64, u16)> = plan.unplaceable.iter().map(|u| (u.why, u.pages, u.node)).collect();
    assert_eq!(small, [(Why::SmallObjects, 1, 2)], "64 bytes cannot be placed");
    assert!(plan.expected.planned < plan.expected.now && plan.expected.best_static < plan.expected.planned);
    let (covered, warned) = (plan.evidence.covered.expect("counted"), &plan.evidence.warnings);
    assert!(
        2 * covered > plan.evidence.counted && covered < plan.evidence.counted,
        "all but the small object: {covered}"
    );
    assert!(warned.len() == 1 && warned[0].starts_with("thin evidence: only "), "{warned:?}");
    for dataset in [&here, &there] {
        let judged = price(plan, dataset, "opteron4", &mut ()).expect("priced");
        assert_eq!((judged.first_touch, judged.planned), (plan.expected.now, plan.expected.planned), "another address");
        assert_eq!((judged.pages, judged.conflicts), (9, 0));
    }
    let entries: TotalCost = plan.entries.iter().map(|e| e.worth.now - e.worth.planned).sum();
    assert_eq!(entries, plan.expected.now - plan.expected.planned, "the parts add up to the whole");
    let text = doc.to_text();
    assert!(text.contains("8 pages of `heap block") && text.contains("not placed: 1 pages"), "{text}");
}

#[test]
fn full_nodes_and_rules_that_are_not_convinced_are_obeyed() {
    let dir = tempfile::tempdir().expect("a folder");
    let here = saved(dir.path(), "a.hnt", &program(0));
    let mut tight = request(&here, "opteron4");
    tight.capacity = Some(vec![3 * 4096, 3 * 4096, 3 * 4096, 3 * 4096]);
    let plan = place(&tight, &mut ()).expect("a plan").plan;
    let on = |k: u16| -> u64 {
        plan.entries.iter().filter(|e| e.home == Home::Node(k)).map(|e| e.bytes.div_ceil(4096)).sum()
    };
    assert!((0..4).all(|k| on(k) <= 3), "{plan:?}");
    assert_eq!((0..4).map(on).sum::<u64>(), 9);
    assert_eq!(price(&plan, &here, "opteron4", &mut ()).expect("priced").planned, plan.expected.planned);
    tight.capacity = Some(vec![4096; 4]);
    assert!(place(&tight, &mut ()).expect_err("no room").message.contains("--capacity"));
    tight.capacity = Some(vec![4096; 3]);
    assert!(place(&tight, &mut ()).expect_err("three nodes").message.contains("4 nodes"));
    let mut careful = request(&here, "opteron4");
    careful.rule = Some("cost-difference(1000)".into());
    let plan = place(&careful, &mut ()).expect("a plan").plan;
    assert_eq!(plan.expected.planned, plan.expected.now, "no move pays a thousand times over");
    careful.rule = Some("nearest".into());
    assert!(place(&careful, &mut ()).expect_err("no such rule").message.contains("hop-sensitive"));
}

/// Every synthetic program, every rule, with and without caches: the simulator agrees to the last unit.
#[test]
fn the_simulator_agrees_with_every_plan() {
    let dir = tempfile::tempdir().expect("a folder");
    for (i, program) in PROGRAMS.iter().enumerate() {
        let mut b = (program.build)(7, Scale { threads: 4, rounds: 30 });
        b.event(0, EventKind::Module { bias: 0x40_0000, bytes: 0x10_0000, path: MODULE.into() });
        b.symbols().modules = vec![Module { path: MODULE.into(), build_id: "aabb".into() }];
        let dataset = saved(dir.path(), &format!("{i}.hnt"), &b);
        for machine in ["two-socket", "opteron8"] {
            for rule in homenode_placement::affinity::ALL {
                let mut wanted = request(&dataset, machine);
                let defaults: String = rule.params.iter().map(|p| format!("({})", p.default)).collect();
                wanted.rule = Some(format!("{}{defaults}", rule.name));
                wanted.move_threads = i % 2 == 0;
                let plan = place(&wanted, &mut ()).expect("a plan").plan;
                plan.validate().expect("a sound plan");
                let judged = price(&plan, &dataset, machine, &mut ()).expect("priced");
                assert_eq!(judged.planned, plan.expected.planned, "{} {machine} {}", program.name, rule.name);
                assert!(judged.planned >= plan.expected.best_static);
            }
        }
    }
}

fn topology(nodes: u32) -> Topology {
    let node = |i: u32| MemoryNode {
        os_id: 10 * i,
        cpus: vec![2 * i, 2 * i + 1],
        memory_bytes: 1 << 30,
        allowed: true,
        ..MemoryNode::default()
    };
    Topology { nodes: (0..nodes).map(node).collect(), ..Topology::default() }
}

#[test]
fn the_agent_is_told_what_was_planned_and_only_for_that_build() {
    let dir = tempfile::tempdir().expect("a folder");
    let here = saved(dir.path(), "a.hnt", &program(0));
    let mut plan = place(&request(&here, "opteron4"), &mut ()).expect("a plan").plan;
    let binary = std::env::current_exe().expect("this test");
    let other = agent_plan(&plan, &topology(4), &binary, Match::Build).expect_err("another build").message;
    assert!(other.contains("another build") && other.contains("--match size"), "{other}");
    let build =
        homenode_symbols::read_module(&binary).expect("an object file").build_id.expect("rustc's linker adds it");
    plan.modules[0].build_id.clone_from(&build);
    let told = agent_plan(&plan, &topology(4), &binary, Match::Build).expect("lines");
    let ObjectKey::Heap { stack, .. } = &plan.entries[1].object else { panic!("{plan:?}") };
    let id = "00112233445566778899".to_owned();
    let heap = |id: &str, by, offset, node| {
        let (build_id, path, size, bytes, home) = (id.to_owned(), vec![], 32768, 16384, agentplan::Home::Node(node));
        Line::Heap { build_id, by, path, ordinal: 0, size, offset, bytes, home }
    };
    let by = By::Stack(stack.0);
    let lines = vec![
        Line::Pin { path: vec![], cpu: 0 },
        Line::Pin { path: vec![0], cpu: 4 },
        Line::Static { build_id: id.clone(), vaddr: 0x4000, bytes: 4096, home: agentplan::Home::Node(20) },
        heap(&id, by, 0, 0),
        heap(&id, by, 16384, 20),
    ];
    assert_eq!(told, AgentPlan { lines, ..AgentPlan::default() });
    let by_size = agent_plan(&plan, &topology(4), &binary, Match::Size).expect("lines").lines;
    assert!(by_size.contains(&heap(&build, By::Size, 16384, 20)), "{by_size:?}");
    assert!(!by_size.iter().any(|l| matches!(l, Line::Static { .. })), "this binary has no such table");
    let few = agent_plan(&plan, &topology(1), &binary, Match::Build).expect_err("one node").message;
    assert!(few.contains("this machine has 2") || few.contains("1 node"), "{few}");
    assert!(agent_plan(&plan, &topology(4), Path::new("/nowhere"), Match::Build).is_err());
}

#[test]
fn a_recorded_program_is_placed_where_it_is_used() {
    let dir = tempfile::tempdir().expect("a folder");
    let stencil = build(dir.path(), "stencil");
    let dataset = recorded(dir.path(), &stencil, &["-s", "XS", "-p", "4"]);
    let doc = place(&request(&dataset, "two-socket"), &mut ()).expect("a plan");
    let plan = &doc.plan;
    assert_eq!(plan.modules[0].path, stencil.display().to_string());
    let judged = price(plan, &dataset, "two-socket", &mut ()).expect("priced");
    assert_eq!((judged.first_touch, judged.planned), (plan.expected.now, plan.expected.planned));
    let (now, planned) = (plan.expected.now.as_f64(), plan.expected.planned.as_f64());
    assert!(planned < 0.95 * now, "one thread touches all first: {}", doc.to_text());
    assert!(planned <= 1.01 * plan.expected.best_static.as_f64(), "nearly everything can be placed");
    let told = agent_plan(plan, &topology(2), &stencil, Match::Build).expect("its own build").lines;
    assert!(told.iter().filter(|l| matches!(l, Line::Heap { .. })).count() >= 2, "{told:?}");
}

#[test]
fn allocations_are_counted_by_stack_and_by_size() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut b = Builder::new(1);
    b.event(0, EventKind::Module { bias: BIAS, bytes: 0x10_0000, path: MODULE.into() });
    b.symbols().modules = vec![Module { path: MODULE.into(), build_id: "00ff".into() }];
    let sizes = [(0x1000, 8192), (0x1000, 4096), (0x2000, 8192), (0x1000, 100), (0x1000, 8192)];
    for (i, (pc, bytes)) in (0..).zip(sizes) {
        let addr = HEAP + i * 0x10_0000;
        let stack = vec![BIAS + pc];
        b.event(0, EventKind::Alloc { addr, bytes, source: AllocSource::Map, stack }).write(0, addr);
    }
    // Two calls of one line.
    b.site(BIAS + 0x1000, "take", "src/app.c", 5).site(BIAS + 0x2000, "take", "src/app.c", 5);
    let dataset = saved(dir.path(), "a.hnt", &b);
    let plan = place(&request(&dataset, "opteron4"), &mut ()).expect("a plan").plan;
    let source = |key: &ObjectKey| match key {
        ObjectKey::Heap { source: Some(s), size, .. } => (s.ordinal, *size, s.file.clone(), s.line),
        other => panic!("{other:?}"),
    };
    let mut lines: Vec<_> = plan.entries.iter().map(|e| source(&e.object)).collect();
    lines.sort_unstable();
    let line = |ordinal, size| (ordinal, size, "src/app.c".to_owned(), 5);
    assert_eq!(lines, [line(0, 8192), line(1, 4096), line(2, 8192), line(3, 8192)]);
    assert_eq!(plan.cores, [1; 4]);
    let mut found: Vec<(u64, u64, u64)> = plan
        .entries
        .iter()
        .map(|e| match &e.object {
            ObjectKey::Heap { ordinal, size, size_ordinal, .. } => (*size, *ordinal, *size_ordinal),
            other => panic!("{other:?}"),
        })
        .collect();
    found.sort_unstable();
    // By stack: 0, 1, -, not counted, 2; the second stack has its own 0. By size: 8192 is seen thrice.
    assert_eq!(found, [(4096, 1, 0), (8192, 0, 0), (8192, 0, 1), (8192, 2, 2)]);
}

#[test]
fn a_plan_for_less_than_half_of_the_uses_says_so_and_why() {
    let mut b = program(0);
    for _ in 0..2000 {
        (0..8).for_each(|_| _ = b.write(1, HEAP + 0x10_0000));
    }
    let dir = tempfile::tempdir().expect("a folder");
    let doc = place(&request(&saved(dir.path(), "small.hnt", &b), "opteron4"), &mut ()).expect("a plan");
    let [warning] = &doc.plan.evidence.warnings[..] else { panic!("{:?}", doc.plan.evidence.warnings) };
    assert!(warning.starts_with("the plan covers ") && warning.contains("smaller than a page"), "{warning}");
    assert!(!doc.plan.entries.is_empty());
}
