//! Measurements in machine files, and the machine made of them.
use homenode_base::{Cost, NodeId};
use homenode_machine::topology::{Access, CpuCaches, MemoryNode};
use homenode_machine::{CacheGeometry, HitCosts, Hits, Machine, Measured, Table, Topology};

fn table(rows: &[&[i64]]) -> Table {
    let mean: Vec<Vec<i64>> = rows.iter().map(|r| r.to_vec()).collect();
    let deviation = mean.iter().map(|r| r.iter().map(|v| v / 50).collect()).collect();
    Table { mean, deviation, repeats: 5 }
}

/// Two nodes with processors and a slow one without; the raw local latency of node 5 is not the least of its row.
fn both() -> (Topology, Measured) {
    let node = |os_id: u32, cpus: Vec<u32>| MemoryNode { os_id, cpus, memory_bytes: 1, ..MemoryNode::default() };
    let mut slow = node(7, vec![]);
    slow.best_access = Some(Access { initiators: vec![5], read_latency_ns: 200, ..Access::default() });
    let nodes = vec![node(0, vec![0, 1]), node(5, vec![2, 3]), slow];
    let distances = vec![vec![10, 20, 30], vec![20, 10, 24], vec![30, 24, 10]];
    let measured = Measured {
        when: "2026-11-21T12:00:00Z".into(),
        how: "by hand".into(),
        cpu_nodes: vec![0, 5],
        memory_nodes: vec![0, 5, 7],
        idle_ps: table(&[&[100_000, 170_000, 300_000], &[125_000, 126_000, 260_000]]),
        loaded_ps: Some(table(&[&[150_000, 250_000, 600_000], &[250_000, 150_000, 500_000]])),
        read_mbs: table(&[&[20_000, 10_000, 5_000], &[10_000, 20_000, 6_000]]),
        write_mbs: table(&[&[12_800, 6_400, 3_200], &[6_400, 12_800, 3_200]]),
        ..Measured::default()
    };
    (Topology { nodes, distances, ..Topology::default() }, measured)
}

#[test]
fn measured_latencies_are_used_and_repaired_and_the_raw_ones_kept() {
    let (topology, measured) = both();
    let this = topology.machine(Some(&measured)).expect("a machine");
    let rows = |r: &[[i64; 3]]| r.iter().map(|r| r.iter().map(|c| Cost(*c)).collect()).collect::<Vec<Vec<Cost>>>();
    let slow = [260_000; 3];
    assert_eq!(this.raw_read.rows(), rows(&[[100_000, 170_000, 300_000], [125_000, 126_000, 260_000], slow]));
    assert_eq!(this.machine.cost.read.rows(), rows(&[[100_000, 170_000, 300_000], [125_000, 125_000, 260_000], slow]));
    assert_eq!(this.machine.cost.write_back.at(NodeId(0), NodeId(0)), Cost(64 * 1_000_000 * 2 / 12_800));
    assert!(this.machine.sources.iter().any(|s| s.contains("2026-11-21T12:00:00Z: by hand")));
    let repaired = this.machine.sources.iter().any(|s| s.contains("126000 -> 125000"));
    assert!(repaired, "{:?}", this.machine.sources);
}

#[test]
fn pairs_that_were_not_measured_are_estimated_in_the_measured_scale() {
    let (topology, mut measured) = both();
    measured.memory_nodes.truncate(2);
    for t in [&mut measured.idle_ps, &mut measured.read_mbs, &mut measured.write_mbs] {
        t.mean.iter_mut().chain(&mut t.deviation).for_each(|r| r.truncate(2));
    }
    measured.loaded_ps = None;
    let this = topology.machine(Some(&measured)).expect("a machine");
    let scale = (100_000 + 170_000 + 125_000 + 126_000, 2 * (80_000 + 160_000));
    assert_eq!(this.raw_read.at(NodeId(1), NodeId(2)), Cost(200_000 * scale.0 / scale.1));
}

#[test]
fn a_file_keeps_raw_measurements_and_refuses_impossible_ones() {
    let (topology, measured) = both();
    let machine = topology.machine(Some(&measured)).expect("a machine").machine;
    assert_eq!(machine.sections.measured.as_ref(), Some(&measured));
    let text = machine.to_toml();
    assert_eq!(Machine::from_toml(&text).as_ref(), Ok(&machine));
    let estimated = topology.machine(None).expect("a machine").machine;
    assert_eq!(Machine::from_toml(&estimated.to_toml()).map(|m| m.sections.measured), Ok(None));
    let error = |change: fn(&mut Measured)| {
        let mut changed = machine.clone();
        changed.sections.measured.as_mut().map(change).expect("they are there");
        Machine::from_toml(&changed.to_toml()).expect_err("impossible").to_string()
    };
    assert!(error(|m| m.cpu_nodes.clear()).contains("measured.cpu_nodes"));
    assert!(error(|m| m.memory_nodes.reverse()).contains("ascending"));
    assert!(error(|m| m.idle_ps.mean[1][2] = -1).contains("measured.idle_ps.mean = -1"));
    assert!(
        error(|m| {
            m.write_mbs.deviation.pop();
        })
        .contains("measured.write_mbs.deviation = 1 rows")
    );
    assert!(Machine::from_toml(&text.replace("how = ", "whence = ")).is_err());
}

#[test]
fn hits_cost_what_was_measured_and_nothing_where_it_was_not() {
    let (topology, mut measured) = both();
    let hits = |measured: &Measured| topology.machine(Some(measured)).expect("a machine").machine.sections.hits;
    assert_eq!(hits(&measured), None);
    measured.hit_waited_ps = Some(table(&[&[20_000, 24_000, 26_000], &[25_000, 22_000, 27_000]]));
    measured.hit_overlapped_ps = Some(table(&[&[2_000, 9_000, 9_000], &[9_000, 4_000, 9_000]]));
    assert_eq!(hits(&measured), None, "streams are missing");
    measured.hit_streamed_ps = Some(table(&[&[1_000, 9_000, 9_000], &[9_000, 2_000, 9_000]]));
    let shared = HitCosts { waited: Cost(21_000), overlapped: Cost(3_000), streamed: Cost(1_500) };
    assert_eq!(hits(&measured), Some(Hits { shared }), "lines of the memory that is nearest, mean of both nodes");
    let machine = topology.machine(Some(&measured)).expect("a machine").machine;
    assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine));
    measured.hit_streamed_ps = Some(table(&[&[90_000, 0, 0], &[90_000, 90_000, 0]]));
    assert_eq!(hits(&measured).map(|h| h.shared.streamed), Some(Cost(21_000)), "no dearer than waiting");
    measured.hit_streamed_ps = Some(table(&[&[0, 0, 0], &[0, 0, 0]]));
    assert_eq!(hits(&measured), None, "0 is no measurement");
}

/// Of misses at 100 and hits at 20, loads at 40 are three quarters hits, those at 20 all, and those at 110 none; a level keeps one way.
#[test]
fn a_last_level_is_as_large_as_was_found_of_it() {
    let (mut topology, mut measured) = both();
    let level = |mib: u64, ways| CacheGeometry { bytes: mib << 20, ways };
    topology.caches = Some(CpuCaches { line_bytes: 64, private: level(1, 8), shared: level(16, 16) });
    let size = |topology: &Topology, measured: &Measured| {
        let machine = topology.machine(Some(measured)).expect("a machine").machine;
        assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine.clone()));
        let told = machine.sources.iter().any(|s| s.starts_with("last level: "));
        let shared = machine.sections.caches.expect("it has caches").shared;
        (shared.bytes >> 20, shared.ways, told)
    };
    assert_eq!(size(&topology, &measured), (16, 16, false));
    let whole = |of: i64| Some(table(&[&[of, of, of], &[of, of, of]]));
    measured.overlapped_ps = whole(100);
    measured.hit_overlapped_ps = whole(20);
    for (level, found) in [(40, (12, 12, true)), (20, (16, 16, true)), (110, (1, 1, true)), (10, (16, 16, true))] {
        measured.level_ps = whole(level);
        assert_eq!(size(&topology, &measured), found, "{level}");
    }
    let mut odd = topology.clone();
    odd.caches = odd.caches.map(|c| CpuCaches { shared: CacheGeometry { bytes: 16 << 20, ways: 0 }, ..c });
    let odd = odd.machine(Some(&measured)).expect("a machine").machine;
    assert!(odd.sections.caches.is_none() && !odd.sources.iter().any(|s| s.starts_with("last level")), "no such cache");
    measured.level_ps = Some(table(&[&[40, 9, 9], &[100, 9, 9]]));
    assert_eq!(size(&topology, &measured), (6, 6, true), "three quarters and nothing");
    measured.hit_overlapped_ps = whole(100);
    assert_eq!(size(&topology, &measured), (16, 16, false), "hits that cost as much as misses tell nothing");
}
