//! Thread maps: the rules, their syntax, sharing and errors.
use homenode_base::{Cost, Life, NodeId, ThreadId};
use homenode_machine::{Machine, MapError, MapRule, ThreadMap, ThreadTable, models};

fn machine(cores: &[u16]) -> Machine {
    let mut m = models::find("two-socket").expect("in the registry");
    let matrix = homenode_machine::Matrix::uniform(cores.len(), Cost(1), Cost(2));
    (m.cost.read, m.cost.write, m.cost.write_back) = (matrix.clone(), matrix.clone(), matrix);
    m.shape.cores = cores.to_vec();
    m
}

/// Binds threads that all live at the same time.
fn bind(m: &Machine, rule: &MapRule, refs: &[u64]) -> Result<ThreadMap, MapError> {
    ThreadMap::new(m, Some(rule), &ThreadTable::at_once(refs))
}

fn bindings(m: &Machine, map: &str, refs: &[u64]) -> Vec<(u16, u16)> {
    let map = bind(m, &map.parse().expect(map), refs).expect(map);
    map.bindings().iter().map(|s| (s.cpu.0, s.node.0)).collect()
}

#[test]
fn rules_bind_threads_as_documented() {
    let m = machine(&[4, 4]);
    assert_eq!(bindings(&m, "sockets", &[1; 4]), [(0, 0), (1, 0), (4, 1), (5, 1)]);
    assert_eq!(bindings(&m, "sockets", &[1; 3]), [(0, 0), (1, 0), (4, 1)], "floor(2 x 2 / 3) = 1");
    assert_eq!(bindings(&m, "compact", &[1; 5]), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)]);
    assert_eq!(bindings(&m, "spread", &[1; 4]), [(0, 0), (4, 1), (1, 0), (5, 1)]);
    assert_eq!(bindings(&m, "7, 0", &[1; 3]), [(7, 1), (0, 0), (7, 1)]);
    assert_eq!(bindings(&m, "1=cpu6,2=node0", &[1; 4]), [(1, 0), (6, 1), (0, 0), (4, 1)]);
    assert_eq!(bindings(&m, "sockets", &[1]), [(0, 0)]);
    assert_eq!(bindings(&m, "sockets", &[]), []);
}

#[test]
fn default_rule_is_the_formula_for_any_number_of_threads_and_nodes() {
    for nodes in 1..9usize {
        for threads in 1..40usize {
            let m = machine(&vec![64; nodes]);
            let found = bindings(&m, "sockets", &vec![1; threads]);
            let expected: Vec<u16> = (0..threads).map(|i| (i * nodes / threads) as u16).collect();
            assert_eq!(found.iter().map(|s| s.1).collect::<Vec<_>>(), expected);
            assert!(found.iter().all(|(cpu, node)| m.node_of(homenode_base::CpuId(*cpu)) == Some(NodeId(*node))));
            assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), threads, "one processor each");
        }
    }
}

/// The reason why a first thread that only initialises needs no rule of its own.
#[test]
fn waiting_first_thread_leaves_workers_in_equal_groups() {
    for (nodes, workers) in [(2usize, 4usize), (2, 8), (2, 2), (4, 8), (4, 16), (8, 8), (3, 12)] {
        let m = machine(&vec![64; nodes]);
        let node = |found: &[(u16, u16)]| found.iter().map(|s| s.1).collect::<Vec<_>>();
        let alone = node(&bindings(&m, "sockets", &vec![1; workers]));
        assert_eq!(
            node(&bindings(&m, "sockets", &vec![1; workers + 1]))[1..],
            alone,
            "{nodes} nodes, {workers} workers"
        );
    }
}

#[test]
fn threads_without_references_do_not_count() {
    let m = machine(&[4, 4]);
    assert_eq!(bindings(&m, "sockets", &[5, 0, 5, 0, 5, 5]), [(0, 0), (0, 0), (1, 0), (0, 0), (4, 1), (5, 1)]);
}

#[test]
fn sharing_wraps_and_warns() {
    let m = machine(&[2, 2]);
    let map = |threads: usize| bind(&m, &MapRule::Sockets, &vec![1; threads]).expect("bindings");
    assert!(map(4).warnings().is_empty());
    let five = map(5);
    assert_eq!(five.binding(ThreadId(2)).cpu, five.binding(ThreadId(0)).cpu, "the third of node 0 begins anew");
    assert_eq!(five.warnings().len(), 1);
    assert!(five.warnings()[0].contains("5 threads on the 4 processors"), "{:?}", five.warnings());
    let many = bind(&m, &MapRule::Compact, &[1; 1000]).expect("bindings");
    assert_eq!((many.binding(ThreadId(999)).cpu.0, many.warnings().len()), (3, 1));
}

#[test]
fn memory_only_nodes_take_no_threads() {
    let m = machine(&[0, 2, 0, 2]);
    assert_eq!(bindings(&m, "sockets", &[1; 4]), [(0, 1), (1, 1), (2, 3), (3, 3)]);
    assert_eq!(bindings(&m, "spread", &[1; 2]), [(0, 1), (2, 3)]);
    let error = bind(&m, &"0=node2".parse().expect("a map"), &[1]).expect_err("no processors").to_string();
    assert!(error.contains("node 2") && error.contains("1, 3"), "{error}");
}

#[test]
fn maps_are_written_as_they_are_read() {
    for text in ["sockets", "compact", "spread", "0,1,8,9", "3", "0=cpu3,1=node1"] {
        let rule: MapRule = text.parse().expect(text);
        assert_eq!(rule.to_string(), text);
    }
}

#[test]
fn errors_say_what_is_wrong() {
    for (text, part) in [
        ("", "''"),
        ("0,,1", "''"),
        ("0=cpux", "0=cpux"),
        ("a", "'a'"),
        ("0=3", "0=3"),
        ("-1", "-1"),
        ("70000", "70000"),
    ] {
        let error = text.parse::<MapRule>().expect_err(text).to_string();
        assert!(error.contains(part) && error.contains("compact"), "{text}: {error}");
    }
    assert!("0=cpu1,0=cpu2".parse::<MapRule>().expect_err("twice").to_string().contains("thread 0 twice"));
    let m = machine(&[2, 2]);
    for (text, part) in [("9", "0 to 3"), ("0=cpu4", "0 to 3"), ("0=node2", "0, 1"), ("7=cpu0", "threads 0 to 1")] {
        let error = bind(&m, &text.parse().expect(text), &[1, 1]).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

/// Generations of threads after a main thread that outlives them: rank 0, then each generation.
fn generations(sizes: &[u32]) -> ThreadTable {
    let mut lives = vec![Life::default()];
    for &size in sizes {
        let first = lives.len() as u32;
        lives.extend((first..first + size).map(|rank| Life { rank, ended_before: (1..first).collect() }));
    }
    ThreadTable::new(&vec![1; lives.len()], lives)
}

#[test]
fn a_thread_sits_where_the_same_one_of_the_generation_before_sat() {
    for (rule, nodes) in [(None, 2), (Some("compact"), 2), (Some("spread"), 4), (Some("sockets"), 4), (None, 4)] {
        let m = machine(&vec![4; nodes]);
        let rule: Option<MapRule> = rule.map(|r| r.parse().expect(r));
        let pool = ThreadMap::new(&m, rule.as_ref(), &ThreadTable::at_once(&[1; 9])).expect("bindings");
        let made_anew = ThreadMap::new(&m, rule.as_ref(), &generations(&[8, 8, 8])).expect("bindings");
        for t in 1..25 {
            assert_eq!(made_anew.bindings()[t], pool.bindings()[(t - 1) % 8 + 1], "thread {t}");
        }
        assert_eq!((made_anew.summary().threads, made_anew.summary().most_at_once), (25, 9));
        assert_eq!(made_anew.warnings().is_empty(), nodes == 4, "9 threads at once: {:?}", made_anew.warnings());
    }
}

#[test]
fn generations_of_any_size_are_spread_over_all_nodes() {
    let m = machine(&[8, 8]);
    let map = ThreadMap::new(&m, None, &generations(&[8, 4, 2, 8])).expect("bindings");
    let nodes: Vec<u16> = map.bindings()[1..].iter().map(|s| s.node.0).collect();
    assert_eq!(nodes, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1]);
    assert!(map.warnings().is_empty(), "{:?}", map.warnings());
}
