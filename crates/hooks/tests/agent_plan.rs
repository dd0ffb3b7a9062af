//! Where memory is after the agent has applied a plan, asked of the kernel page by page. One node is enough for that:
//! homes are told apart by their policies (`p0`: prefers node 0, `i0`: interleaves over node 0, `d`: none).
mod support;

use homenode_base::agentplan::{AgentPlan, By, Home, Line};
use homenode_base::agentresult::{self, Outcome};
use homenode_hooks::agent;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use support::build::COMPILERS;
use support::preload::{self, Place, places, plain, planned, recorded, text};

const MB: u64 = 1 << 20;

/// For every process, whatever program it runs.
fn unkeyed(lines: Vec<Line>) -> AgentPlan {
    AgentPlan { lines, ..AgentPlan::default() }
}

fn preferred() -> Home {
    Home::Node(0)
}

fn interleaved() -> Home {
    Home::Interleave(vec![0])
}

/// Address of a symbol as linked, by another reader than ours.
fn symbol(program: &Path, name: &str) -> u64 {
    let out = Command::new("nm").arg(program).output().expect("binutils");
    let text = String::from_utf8(out.stdout).unwrap();
    let line = text.lines().find(|l| l.split(' ').next_back() == Some(name)).expect("the symbol exists");
    u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
}

fn fixed(program: &Path, name: &str, offset: u64, bytes: u64, home: Home) -> Line {
    let build_id = preload::build_id(program.to_str().unwrap());
    Line::Static { build_id, vaddr: symbol(program, name) + offset, bytes, home }
}

/// The obvious way: every page to the policy that has most of its bytes, the first of equals.
fn expected(place: &Place, ranges: &[(u64, u64, &str)]) -> Vec<(String, u64)> {
    let mut runs: Vec<(String, u64)> = Vec::new();
    let mut page = place.addr & !4095;
    while page < place.addr + place.bytes {
        let mut best = ("d", 0);
        for policy in ["p0", "i0"] {
            let share = |&(offset, bytes, _): &(u64, u64, &str)| {
                let (from, to) = (place.addr + offset, place.addr + offset + bytes);
                to.min(page + 4096).saturating_sub(from.max(page))
            };
            let sum: u64 = ranges.iter().filter(|r| r.2 == policy).map(share).sum();
            best = if sum > best.1 { (policy, sum) } else { best };
        }
        match runs.last_mut() {
            Some((last, n)) if last == best.0 => *n += 1,
            _ => runs.push((best.0.to_string(), 1)),
        }
        page += 4096;
    }
    runs
}

/// Offset, bytes, policy.
type Range = (u64, u64, &'static str);
type Ranges = BTreeMap<&'static str, Vec<Range>>;

/// What is placed of `objects.c`; ranges begin and end within pages, too.
fn wanted_homes() -> Ranges {
    let all: [(&'static str, &[Range]); 14] = [
        ("zero", &[(0, 16 * 4096, "p0"), (16 * 4096, 16 * 4096, "i0")]),
        ("initial", &[(4 * 4096, 5 * 4096, "i0")]),
        ("crumbs", &[(0, 1024, "p0"), (1024, 3072, "i0")]),
        ("heap1", &[(0, MB / 2, "p0"), (MB / 2, MB / 2, "i0")]),
        ("heap2", &[(100_000, 100_000, "i0"), (200_000, 3000, "p0"), (203_000, 70_000, "i0")]),
        ("small", &[(0, 5000, "i0")]),
        ("cleared", &[(0, 1_000_000, "p0")]),
        ("aligned", &[(4096, 8192, "p0"), (65536, 65536, "i0")]),
        ("page", &[(0, 20 * 4096, "i0")]),
        ("grown", &[(0, 2 * MB, "p0")]),
        ("grown-again", &[(0, 4 * MB, "i0"), (4 * MB, 1000, "p0")]),
        ("map", &[(0, MB, "p0"), (MB, MB, "i0"), (2 * MB, MB, "p0")]),
        ("worker1.1", &[(0, 300_000, "i0")]),
        ("worker2.0", &[(0, 300_000, "p0")]),
    ];
    all.into_iter().map(|(name, ranges)| (name, ranges.to_vec())).collect()
}

fn plan_for(program: &Path, wanted_homes: &Ranges, with_stacks: bool) -> AgentPlan {
    let keys = recorded(program, &[]);
    let mut lines = vec![Line::Stack { path: vec![1], node: 0 }, Line::Stack { path: vec![], node: 0 }];
    for (name, ranges) in wanted_homes {
        for &(offset, bytes, policy) in ranges {
            let home = if policy == "p0" { preferred() } else { interleaved() };
            lines.push(match &keys[*name] {
                None => fixed(program, name, offset, bytes, home),
                Some(key) if with_stacks => key.line(offset, bytes, home),
                Some(key) => by_size(key, name, offset, bytes, home),
            });
        }
    }
    unkeyed(lines)
}

/// Ordinals among equal sizes are read off the source: every size but these two is asked for once.
fn by_size(key: &preload::Key, name: &str, offset: u64, bytes: u64, home: Home) -> Line {
    let Line::Heap { build_id, path, size, .. } = key.line(offset, bytes, home.clone()) else { unreachable!() };
    let ordinal = match name {
        "heap1" | "worker1.1" => 1,
        "heap2" => 2,
        "aligned" => 3,
        _ => 0,
    };
    Line::Heap { build_id, by: By::Size, path, ordinal, size, offset, bytes, home }
}

fn check(program: &Path, plan: &AgentPlan, wanted_homes: &Ranges, dir: &Path) {
    let output = planned(program, plan, dir).output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    let found = places(&text(&output));
    for (name, place) in &found {
        match name.as_str() {
            "stack1" | "stack" => assert_eq!(place.runs[0].0, "p0", "{name}"),
            name => {
                let wanted = wanted_homes.get(name).map_or(&[][..], |r| &r[..]);
                assert_eq!(place.runs, expected(place, wanted), "{name} {:x}", place.addr);
            }
        }
    }
}

#[test]
fn every_kind_of_object_is_placed_by_its_stack_in_twenty_runs() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let program = plain(dir.path(), compiler, "objects.c", &[]);
        let plan = plan_for(&program, &wanted_homes(), true);
        (0..20).for_each(|_| check(&program, &plan, &wanted_homes(), dir.path()));
    }
}

#[test]
fn every_kind_of_object_is_placed_by_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let program = plain(dir.path(), "gcc", "objects.c", &[]);
    check(&program, &plan_for(&program, &wanted_homes(), false), &wanted_homes(), dir.path());
}

/// Where huge pages come by themselves, a boundary that is nearly at one moves there; others stay where the plan says.
#[test]
fn big_ranges_meet_at_huge_pages_if_that_is_near() {
    let thp = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let dir = tempfile::tempdir().unwrap();
    let program = plain(dir.path(), "gcc", "objects.c", &[]);
    let key = recorded(&program, &[])["huge"].clone().expect("a mapping");
    for first in [3 * MB, 4 * MB + 12 * 4096] {
        let lines = vec![key.line(0, first, preferred()), key.line(first, 8 * MB - first, interleaved())];
        let huge = &places(&text(&planned(&program, &unkeyed(lines), dir.path()).output().unwrap()))["huge"];
        let boundary = huge.addr + first;
        let nearest = (boundary + MB) & !(2 * MB - 1);
        let moves = thp.starts_with("[always]") && nearest.abs_diff(boundary) <= 65536;
        let pages = (if moves { nearest } else { boundary } - huge.addr) / 4096;
        assert_eq!(huge.runs, [("p0".to_string(), pages), ("i0".to_string(), 2048 - pages)], "{:x}", huge.addr);
    }
}

#[test]
fn the_result_has_a_line_for_every_line() {
    let dir = tempfile::tempdir().unwrap();
    let program = plain(dir.path(), "gcc", "objects.c", &[]);
    let mut plan = plan_for(&program, &wanted_homes(), true);
    let met = plan.lines.len() as u32;
    let key = recorded(&program, &[])["heap0"].clone().unwrap();
    plan.lines.push(preload::Key { ordinal: 77, ..key.clone() }.line(0, 4096, preferred()));
    plan.lines.push(preload::Key { size: 77_777, ..key.clone() }.line(0, 4096, preferred()));
    plan.lines.push(preload::Key { build_id: "00".into(), ordinal: 1, ..key.clone() }.line(0, 4096, preferred()));
    plan.lines.push(fixed(&program, "zero", 1 << 40, 4096, preferred()));
    plan.lines.push(Line::Pin { path: vec![0], cpu: 8000 });
    plan.lines.push(key.line(0, 4096, Home::Node(1000)));
    let result = dir.path().join("result");
    for _ in 0..2 {
        text(&planned(&program, &plan, dir.path()).env(agent::RESULT_ENV, &result).output().unwrap());
    }
    let all = agentresult::parse(&std::fs::read_to_string(&result).unwrap()).unwrap();
    assert_eq!(all.len(), 2, "every run appends");
    assert_ne!(all[0].pid, all[1].pid);
    assert_eq!(all[0].items.len(), plan.lines.len());
    for item in &all[0].items[..met as usize] {
        assert!(matches!(item.outcome, Outcome::Matched { times: 1, .. }), "{item:?}");
    }
    let rest: Vec<Outcome> = all[0].items[met as usize..].iter().map(|i| i.outcome).collect();
    let failed = Outcome::Failed { error: 22 };
    // Of two lines about one object the one of another size loses; so does that of another build.
    let expected = [Outcome::NotSeen, Outcome::OtherSizeOrBuild, Outcome::OtherSizeOrBuild, Outcome::OutsideModule];
    assert_eq!(rest, [&expected[..], &[failed, failed]].concat());
    assert!(all[0].errors >= 1 && all[0].refused == 0 && all[0].calls > 20);
}

#[test]
fn threads_are_pinned_and_others_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let program = plain(dir.path(), "gcc", "pins.c", &[]);
    let allowed = text(&preload::command(&program).output().unwrap());
    let all = allowed.lines().next().unwrap().split_once(' ').unwrap().1.to_string();
    let lines = vec![
        Line::Pin { path: vec![], cpu: 0 },
        Line::Pin { path: vec![1], cpu: 0 },
        Line::Pin { path: vec![1, 0], cpu: 0 },
    ];
    let output = planned(&program, &unkeyed(lines), dir.path()).output().unwrap();
    let mut lines: Vec<String> = text(&output).lines().map(str::to_string).collect();
    lines.sort();
    let one = |who: &str| format!("{who} 0");
    let many = |who: &str| format!("{who} {all}");
    assert_eq!(lines, [one("-"), many("0"), many("0.0"), one("1"), one("1.0"), many("child"), many("executed")]);
}

/// A plan with more pieces than the process may have mappings leaves the program enough of them.
#[test]
fn placing_stops_before_the_mappings_run_out() {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse::<u64>().unwrap();
    let (dir, pages) = (tempfile::tempdir().unwrap(), 70_000);
    let program = plain(dir.path(), "gcc", "many.c", &[]);
    let build_id = preload::build_id(program.to_str().unwrap());
    let line = |i: u64| Line::Heap {
        build_id: build_id.clone(),
        by: By::Size,
        path: vec![],
        ordinal: 0,
        size: pages * 4096,
        offset: i * 4096,
        bytes: 4096,
        home: if i.is_multiple_of(2) { preferred() } else { interleaved() },
    };
    let plan = unkeyed((0..pages).map(line).collect());
    let result = dir.path().join("result");
    let output = planned(&program, &plan, dir.path()).env(agent::RESULT_ENV, &result).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let all = agentresult::parse(&std::fs::read_to_string(&result).unwrap()).unwrap();
    let found = places(&text(&output));
    assert_eq!(found["first"].runs[0].0, "p0");
    if most - most / 8 < pages {
        assert!(said.contains("vm.max_map_count") && said.lines().count() == 1, "{said}");
        assert_eq!(found["last"].runs[0].0, "d");
        assert!(all[0].refused > 0 && all[0].calls > most / 2 && all[0].calls < most, "{:?}", all[0].calls);
    } else {
        assert_eq!((all[0].refused, &*found["last"].runs[0].0), (0, "i0"));
    }
}

/// `sized.c` under a plan that was made of it with objects of 1 and 3 MB; the first has a quarter, the second a half of its
/// own apart. By its call stacks, or by the place that allocates.
struct Sized {
    dir: tempfile::TempDir,
    program: std::path::PathBuf,
    lines: Vec<Line>,
}

impl Sized {
    fn new(by_site: bool) -> Sized {
        let dir = tempfile::tempdir().unwrap();
        let program = plain(dir.path(), "gcc", "sized.c", &[]);
        let keys = recorded(&program, &["1000000", "3000000"]);
        let line = |name: &str, offset, bytes, home| match keys[name].as_ref().unwrap() {
            key if by_site => match key.line(offset, bytes, home) {
                Line::Heap { build_id, path, ordinal, size, offset, bytes, home, .. } => {
                    Line::Heap { build_id, by: By::Site(key.site), path, ordinal, size, offset, bytes, home }
                }
                other => other,
            },
            key => key.line(offset, bytes, home),
        };
        let lines = vec![
            line("o0", 0, 250_000, preferred()),
            line("o0", 250_000, 750_000, interleaved()),
            line("o1", 1_500_000, 1_500_000, preferred()),
        ];
        Sized { dir, program, lines }
    }

    fn run(&self, same_sizes: bool, sizes: &[&str]) -> (BTreeMap<String, Place>, Vec<Outcome>) {
        let plan = AgentPlan { lines: self.lines.clone(), same_sizes, ..AgentPlan::default() };
        let result = self.dir.path().join("result");
        let mut c = planned(&self.program, &plan, self.dir.path());
        let found = places(&text(&c.args(sizes).env(agent::RESULT_ENV, &result).output().unwrap()));
        let all = agentresult::parse(&std::fs::read_to_string(&result).unwrap()).unwrap();
        std::fs::remove_file(result).unwrap();
        (found, all[0].items.iter().map(|i| i.outcome).collect())
    }
}

/// How many pages of `o0` and `o1` are where, and that none of them came into memory by being placed.
fn shares(found: &BTreeMap<String, Place>, name: &str) -> Vec<(String, u64)> {
    let there = found[&name.replace('o', "r")].runs[0].1;
    assert!(there <= 1, "{there} pages of {name} are in memory, which nobody has touched");
    found[name].runs.clone()
}

#[test]
fn an_object_of_another_size_is_placed_by_shares_and_no_page_of_it_is_touched() {
    for by_site in [false, true] {
        let sized = Sized::new(by_site);
        let (found, outcomes) = sized.run(true, &["1000000", "3000000"]);
        assert_eq!(shares(&found, "o0"), expected(&found["o0"], &[(0, 250_000, "p0"), (250_000, 750_000, "i0")]));
        assert_eq!(shares(&found, "o1"), expected(&found["o1"], &[(1_500_000, 1_500_000, "p0")]));
        assert!(outcomes.iter().all(|o| matches!(o, Outcome::Matched { times: 1, .. })), "{outcomes:?}");

        // Three times as large: the first one has the size that the second had.
        let (found, outcomes) = sized.run(false, &["3000000", "9000000"]);
        assert_eq!(shares(&found, "o0"), expected(&found["o0"], &[(0, 750_000, "p0"), (750_000, 2_250_000, "i0")]));
        assert_eq!(shares(&found, "o1"), expected(&found["o1"], &[(4_500_000, 4_500_000, "p0")]));
        let sizes = [3_000_000, 3_000_000, 9_000_000];
        for (outcome, came) in outcomes.iter().zip(sizes) {
            assert!(matches!(outcome, Outcome::Scaled { times: 1, size, .. } if *size == came), "{outcomes:?}");
        }
        // Smaller, by an odd number.
        let (found, _) = sized.run(true, &["333333", "1000001"]);
        assert_eq!(shares(&found, "o0"), expected(&found["o0"], &[(0, 83_333, "p0"), (83_333, 250_000, "i0")]));
        assert_eq!(shares(&found, "o1"), expected(&found["o1"], &[(500_000, 500_001, "p0")]));
    }
}

#[test]
fn objects_in_another_order_and_ones_that_go_on_growing_are_known() {
    let sized = Sized::new(false);
    let (first, second) = ([(0, 250_000, "p0"), (250_000, 750_000, "i0")], [(1_500_000, 1_500_000, "p0")]);
    let (found, outcomes) = sized.run(true, &["3000000", "1000000"]);
    assert_eq!(shares(&found, "o0"), expected(&found["o0"], &second));
    assert_eq!(shares(&found, "o1"), expected(&found["o1"], &first));
    assert!(outcomes.iter().all(|o| matches!(o, Outcome::Matched { times: 1, .. })), "{outcomes:?}");

    let (found, _) = sized.run(true, &["1000000", "3000000", "9000000", "2000000"]);
    assert_eq!(shares(&found, "o1"), expected(&found["o1"], &second));
    assert_eq!(shares(&found, "o2"), expected(&found["o2"], &[(4_500_000, 4_500_000, "p0")]), "grown");
    assert_eq!(shares(&found, "o3"), expected(&found["o3"], &[]), "neither of the plan nor larger than all of it");
}

#[test]
fn a_plan_goes_through_launchers_to_its_program_and_to_one_process_at_a_time() {
    let sized = Sized::new(false);
    let (name, id) = (sized.program.to_str().unwrap(), preload::build_id(sized.program.to_str().unwrap()));
    let plan = AgentPlan { program: Some(id), same_sizes: true, lines: sized.lines.clone() };
    let result = sized.dir.path().join("result");
    let asked = format!("env nice {name} 1000000 3000000 && {name} 1000000 also '{name} 1000000'");
    let mut c = planned(Path::new("/bin/sh"), &plan, sized.dir.path());
    let output = c.arg("-c").arg(asked).env(agent::RESULT_ENV, &result).output().unwrap();
    let at = text(&output);
    let placed: Vec<bool> = at.lines().filter(|l| l.starts_with("o0 ")).map(|l| place_of(l) == "p0").collect();
    assert_eq!(placed, [true, true, false], "{at}");
    let mut all = agentresult::parse(&std::fs::read_to_string(&result).unwrap()).unwrap();
    let met = |r: &agentresult::ProcessResult| r.items.iter().filter(|i| i.outcome != Outcome::NotSeen).count();
    all.sort_by_key(|r| (r.beside, met(r)));
    let told: Vec<(bool, usize)> = all.iter().map(|r| (r.beside, met(r))).collect();
    assert_eq!(told, [(false, 2), (false, 3), (true, 0)], "neither the shell nor env nor nice");
}

/// Where the first page of a line of `where.h` is.
fn place_of(line: &str) -> &str {
    line.split(' ').nth(3).and_then(|run| run.split('*').next()).unwrap_or_default()
}
