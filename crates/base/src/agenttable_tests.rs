use super::*;
use crate::Rng;

fn id(rng: &mut Rng) -> String {
    ["0011aa", "00ff", "00112233445566778899aabbccddeeff00112233"][rng.below(3) as usize].to_owned()
}

fn any_home(rng: &mut Rng) -> Home {
    let node = rng.below(1000) as u32;
    [Home::Node(node % 3), Home::Node(node), Home::Interleave(vec![node, node + 20, 3 + node])][rng.below(3) as usize]
        .clone()
}

fn any_path(rng: &mut Rng) -> Vec<u32> {
    (0..rng.below(3)).map(|_| rng.below(4) as u32).collect()
}

/// Lines that may clash.
fn any_line(rng: &mut Rng) -> Line {
    let (path, build_id, home) = (any_path(rng), id(rng), any_home(rng));
    let size = [9000, 4096, 1 << 40][rng.below(3) as usize];
    let offset = rng.below(size.min(1 << 20));
    let bytes = 1 + rng.below((size - offset).min(3000));
    match rng.below(8) {
        0 => Line::Pin { path, cpu: rng.below(8192) as u32 },
        1 => Line::Stack { path, node: rng.below(1024) as u32 },
        2 | 3 => Line::Static { build_id, vaddr: rng.below(1 << 20), bytes, home },
        _ => {
            let by = [By::Stack(rng.below(3)), By::Size, By::Site(rng.below(3))][rng.below(3) as usize];
            Line::Heap { build_id, by, path, ordinal: rng.below(3), size, offset, bytes, home }
        }
    }
}

fn plan(rng: &mut Rng) -> AgentPlan {
    let program = (rng.below(2) == 0).then(|| id(rng));
    AgentPlan { program, same_sizes: rng.below(2) == 0, lines: (0..rng.below(12)).map(|_| any_line(rng)).collect() }
}

/// What clashes with a line, the obvious way.
fn clash(a: &Line, b: &Line) -> bool {
    let meet = |o: u64, n: u64, p: u64, m: u64| o < p + m && p < o + n;
    match (a, b) {
        (Line::Pin { path: a, .. }, Line::Pin { path: b, .. }) => a == b,
        (Line::Stack { path: a, .. }, Line::Stack { path: b, .. }) => a == b,
        (
            Line::Static { build_id: a, vaddr: o, bytes: n, .. },
            Line::Static { build_id: b, vaddr: p, bytes: m, .. },
        ) => a == b && meet(*o, *n, *p, *m),
        (
            Line::Heap { build_id: a, by: by1, path: p1, ordinal: o1, size: s1, offset: o, bytes: n, .. },
            Line::Heap { build_id: b, by: by2, path: p2, ordinal: o2, size: s2, offset: p, bytes: m, .. },
        ) => (a, by1, p1, o1, s1) == (b, by2, p2, o2, s2) && meet(*o, *n, *p, *m),
        _ => false,
    }
}

/// Whether an item of a table says what the line of the plan says.
fn says(table: &Table, item: &Item, line: &Line) -> bool {
    let digits = |id: &str| {
        build_hash(
            (0..id.len() / 2)
                .map(|i| u8::from_str_radix(&id[2 * i..2 * i + 2], 16).expect("digits"))
                .collect::<Vec<_>>(),
        )
    };
    let homed = |home: &Home| {
        let set = &table.homes[item.home as usize];
        let there = (0..PLAN_NODES).filter(|n| set.nodes[*n as usize / 64] >> (n % 64) & 1 == 1).collect::<Vec<_>>();
        match home {
            Home::Node(n) => set.interleave == 0 && there == [*n],
            Home::Interleave(nodes) => {
                let mut sorted = nodes.clone();
                sorted.sort_unstable();
                set.interleave == 1 && there == sorted
            }
        }
    };
    match line {
        Line::Pin { path, cpu } => (item.path, item.cpu) == (path_hash(path), *cpu),
        Line::Stack { path, node } => item.path == path_hash(path) && homed(&Home::Node(*node)),
        Line::Static { build_id, vaddr, bytes, home } => {
            (item.build, item.offset, item.bytes) == (digits(build_id), *vaddr, *bytes) && homed(home)
        }
        Line::Heap { build_id, by, path, ordinal, size, offset, bytes, home } => {
            let build = digits(build_id);
            let (by, key) = match by {
                By::Stack(hash) => (PLAN_BY_STACK, *hash),
                By::Size => (PLAN_BY_SIZE, *size),
                By::Site(at) => (PLAN_BY_SITE, site_hash(build, *at)),
            };
            let what = (item.build, item.by, item.key, item.path, item.ordinal, item.size);
            let range = (item.offset, item.bytes) == (*offset, *bytes);
            what == (build, by, key, path_hash(path), *ordinal, *size) && range && homed(home)
        }
    }
}

#[test]
fn what_is_written_is_read_and_clashes_are_refused() {
    let mut rng = Rng::new(10);
    let (mut written, mut refused) = (0, 0);
    for round in 0..5000 {
        let plan = plan(&mut rng);
        let lines = &plan.lines;
        let clashes = (0..lines.len()).any(|i| (0..i).any(|j| clash(&lines[i], &lines[j])));
        let bytes = match write(&plan) {
            Err(why) => {
                assert!(clashes && why.starts_with("line "), "round {round}: {why}\n{plan:?}");
                refused += 1;
                continue;
            }
            Ok(bytes) => bytes,
        };
        assert!(!clashes, "round {round}: {plan:?}");
        let table = read(&bytes).expect("what was written");
        assert_eq!(table.bytes(), bytes);
        assert_eq!(
            (table.head.flags == PLAN_SAME_SIZES, table.head.program != 0),
            (plan.same_sizes, plan.program.is_some())
        );
        assert_eq!(table.items.len(), lines.len());
        let mut met: Vec<u32> = table.items.iter().map(|i| i.line).collect();
        met.sort_unstable();
        assert!(met.iter().enumerate().all(|(i, line)| i as u32 == *line), "{met:?}");
        assert!(table.items.iter().all(|i| says(&table, i, &lines[i.line as usize])), "round {round}: {plan:?}");
        written += 1;
    }
    assert!(written > 1000 && refused > 200, "{written} {refused}");
}

#[test]
fn lines_that_make_no_sense_are_named() {
    let fixed = |build_id: &str, vaddr, bytes, home| Line::Static { build_id: build_id.to_owned(), vaddr, bytes, home };
    let heap = |size, offset, bytes| {
        let (build_id, by, path, home) = ("ab".to_owned(), By::Size, vec![], Home::Node(0));
        Line::Heap { build_id, by, path, ordinal: 0, size, offset, bytes, home }
    };
    let wrong = [
        (fixed("abc", 0, 1, Home::Node(0)), "a build id"),
        (fixed("xy", 0, 1, Home::Node(0)), "a build id"),
        (fixed("", 0, 1, Home::Node(0)), "a build id"),
        (fixed("ab", 0, 1, Home::Node(1024)), "a home"),
        (fixed("ab", 0, 1, Home::Interleave(vec![1, 1])), "a home"),
        (fixed("ab", 0, 1, Home::Interleave(vec![])), "a home"),
        (fixed("ab", 0, 0, Home::Node(0)), "a number"),
        (fixed("ab", 1 << 47, 1, Home::Node(0)), "a number"),
        (Line::Pin { path: vec![], cpu: 8192 }, "a number"),
        (Line::Stack { path: vec![], node: 1024 }, "a home"),
        (heap(9000, 9000, 1), "a number"),
        (heap(9000, 8999, 2), "a number"),
        (heap(0, 0, 1), "a number"),
    ];
    for (line, says) in wrong {
        let said = write(&AgentPlan {
            lines: vec![Line::Pin { path: vec![7], cpu: 1 }, line.clone()],
            ..AgentPlan::default()
        });
        assert!(said.clone().is_err_and(|e| e.starts_with(&format!("line 1: {says}"))), "{line:?}: {said:?}");
    }
    let program = Some("x".to_owned());
    assert!(write(&AgentPlan { program, ..AgentPlan::default() }).is_err());
}

/// Every word replaced, with and without the checksum mended: refused or read, never anything else, and what is read is
/// what lies there.
#[test]
fn damaged_tables_are_refused_or_read() {
    let mut rng = Rng::new(11);
    let good = std::iter::repeat_with(|| write(&plan(&mut rng))).find_map(|t| t.ok().filter(|t| t.len() > 1000));
    let good = good.expect("one of them has several lines");
    for at in (0..good.len()).step_by(4) {
        for new in [0, 1, 1 << 31, u32::MAX] {
            let mut table = good.clone();
            table[at..at + 4].copy_from_slice(&u32::to_le_bytes(new));
            assert!(table == good || read(&table).is_err(), "{new} at {at}");
            seal(&mut table);
            if let Ok(read) = read(&table) {
                assert_eq!(read.bytes(), table);
            }
        }
    }
    (0..good.len()).for_each(|n| assert!(read(&good[..n]).is_err(), "{n}"));
}

#[test]
fn the_layout_has_no_gaps() {
    assert_eq!((Head::BYTES, Item::BYTES, Group::BYTES, Nodes::BYTES), (64, 72, 40, 136));
    assert!(c_header().contains("_Static_assert(sizeof(struct hnag_item) == 72"));
}
