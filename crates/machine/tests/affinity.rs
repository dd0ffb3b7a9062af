//! Bindings by recorded affinity.
use homenode_base::{Life, Pinned};
use homenode_machine::{Machine, MapError, MapRule, Matrix, ThreadMap, ThreadTable, models};

fn machine(cores: &[u16]) -> Machine {
    let mut m = models::find("two-socket").expect("in the registry");
    let matrix = Matrix::uniform(cores.len(), homenode_base::Cost(1), homenode_base::Cost(2));
    (m.cost.read, m.cost.write, m.cost.write_back) = (matrix.clone(), matrix.clone(), matrix);
    m.shape.cores = cores.to_vec();
    m
}

fn told(cpus: &[u32], asked: bool) -> Option<Pinned> {
    (!cpus.is_empty()).then(|| Pinned { cpus: cpus.iter().copied().collect(), asked })
}

fn binding(
    m: &Machine,
    rule: Option<&MapRule>,
    masks: &[&[u32]],
    asked: bool,
    host: u32,
) -> Result<ThreadMap, MapError> {
    let thread_table = ThreadTable::at_once(&vec![1; masks.len()]);
    ThreadMap::new(m, rule, &thread_table.told(masks.iter().map(|c| told(c, asked)).collect(), host))
}

fn cpus(map: &ThreadMap) -> Vec<u16> {
    map.bindings().iter().map(|s| s.cpu.0).collect()
}

#[test]
fn calls_win_over_the_default_and_not_over_a_rule_that_was_asked_for() {
    let m = machine(&[4, 4]);
    let masks: [&[u32]; 4] = [&[7], &[2], &[5], &[0]];
    let map = binding(&m, None, &masks, true, 2).expect("bindings");
    assert_eq!(cpus(&map), [7, 2, 5, 0]);
    assert_eq!((map.summary().rule.as_str(), map.summary().pinned, map.summary().note.as_str()), ("recorded", 4, ""));
    let map = binding(&m, Some(&MapRule::Sockets), &masks, true, 2).expect("bindings");
    assert_eq!((cpus(&map), map.summary().rule.as_str()), (vec![0, 1, 4, 5], "sockets"));
    assert_eq!("recorded".parse::<MapRule>().expect("a rule").to_string(), "recorded");
}

#[test]
fn threads_that_nobody_bound_sit_by_the_rule() {
    let m = machine(&[4, 4]);
    let map = binding(&m, None, &[&[], &[6], &[3]], true, 8).expect("bindings");
    assert_eq!(cpus(&map), [0, 6, 3]);
    assert_eq!(map.summary().pinned, 2);
}

#[test]
fn several_processors_are_filled_evenly() {
    let m = machine(&[4, 4]);
    let node1: &[u32] = &[4, 5, 6, 7];
    let map = binding(&m, None, &[node1, node1, node1, &[4], &[0, 1]], true, 8).expect("bindings");
    assert_eq!(cpus(&map), [5, 6, 7, 4, 0], "those with one first");
    let all: Vec<u32> = (0..8).collect();
    let map = binding(&m, None, &[&all, &all], true, 8).expect("bindings");
    assert_eq!(map.summary().rule, "sockets", "all processors of the host say nothing");
}

#[test]
fn a_smaller_machine_keeps_order_and_company() {
    let m = machine(&[2, 2]);
    let masks: [&[u32]; 5] = [&[100], &[64], &[8], &[0], &[64]];
    let map = binding(&m, None, &masks, true, 128).expect("bindings");
    assert_eq!(cpus(&map), [3, 2, 1, 0, 2]);
    assert!(map.summary().note.contains("4 processors, up to number 100"), "{}", map.summary().note);
    assert_eq!(map.summary().shared_cpus, 1);
    assert_eq!(map.warnings().len(), 1);
}

#[test]
fn what_only_the_host_decided_is_left() {
    let m = machine(&[4, 4]);
    let wrapped: [&[u32]; 4] = [&[0], &[1], &[0], &[1]];
    let map = binding(&m, None, &wrapped, true, 2).expect("bindings");
    assert_eq!((cpus(&map), map.summary().rule.as_str()), (vec![0, 1, 4, 5], "sockets"));
    assert!(map.summary().note.contains("up to 2 threads at once"), "{}", map.summary().note);
    assert_eq!(cpus(&binding(&m, Some(&MapRule::Recorded), &wrapped, true, 2).expect("bindings")), [0, 1, 0, 1]);
    // The host has more: the program meant it.
    assert_eq!(cpus(&binding(&m, None, &wrapped, true, 8).expect("bindings")), [0, 1, 0, 1]);
    // One after the other is no crowd.
    let life = |rank: u32| Life { rank, ended_before: (0..rank / 2 * 2).collect() };
    let thread_table =
        ThreadTable::new(&[1; 4], (0..4).map(life).collect()).told(wrapped.iter().map(|c| told(c, true)).collect(), 2);
    assert_eq!(cpus(&ThreadMap::new(&m, None, &thread_table).expect("bindings")), [0, 1, 0, 1]);
    // A mask around everything says nothing; masks that differ by process do.
    let map = binding(&m, None, &[&[1], &[1]], false, 2).expect("bindings");
    assert_eq!((cpus(&map), map.summary().rule.as_str()), (vec![0, 4], "sockets"));
    assert!(map.summary().note.contains("processor 1 alone"), "{}", map.summary().note);
    assert_eq!(cpus(&binding(&m, None, &[&[5], &[1]], false, 8).expect("bindings")), [5, 1]);
}

#[test]
fn nothing_recorded_cannot_be_followed() {
    let m = machine(&[4, 4]);
    assert_eq!(binding(&m, Some(&MapRule::Recorded), &[&[], &[]], true, 2), Err(MapError::NothingRecorded));
}
