//! Topologies of odd machines, from snapshots of the few files that matter.
mod damage;
mod limits;
mod processors;
mod snapshot;

use homenode_base::{Cost, NodeId};
use homenode_host::topology::read;
use homenode_machine::Topology;
use homenode_machine::topology::{MemoryNode, NearBy};
use snapshot::{NODES, Snapshot, rich};

fn ids(t: &Topology) -> Vec<u32> {
    t.nodes.iter().map(|n| n.os_id).collect()
}

fn cpus(t: &Topology) -> Vec<usize> {
    t.nodes.iter().map(|n| n.cpus.len()).collect()
}

#[test]
fn node_numbers_may_have_gaps() {
    let s = Snapshot::new(&[]);
    s.online("0-2,33", "0-7");
    s.node(0, "0-1", 1000, "10 16 16 22");
    s.node(1, "2-3", 1000, "16 10 22 16");
    s.node(2, "4-5", 1000, "16 22 10 16");
    s.node(33, "6-7", 1000, "22 16 16 10");
    let t = read(s.root()).unwrap();
    assert_eq!((ids(&t), cpus(&t)), (vec![0, 1, 2, 33], vec![2; 4]));
    assert_eq!(t.distances, [[10, 16, 16, 22], [16, 10, 22, 16], [16, 22, 10, 16], [22, 16, 16, 10]]);
    assert_eq!((t.node_of_cpu(7), t.node_of_os(33), t.os_id(NodeId(3))), (Some(NodeId(3)), Some(NodeId(3)), Some(33)));
    assert_eq!(t.notes, Vec::<String>::new());
    assert_eq!(t.nodes[0].memory_bytes, 1000 * 1024);
}

#[test]
fn memory_without_processors_has_hmat_tier_and_cost() {
    let t = read(rich().root()).unwrap();
    let slow = &t.nodes[2];
    assert_eq!((slow.os_id, slow.cpus.len(), slow.tier, t.nodes[0].tier), (3, 0, Some(18), Some(4)));
    let access = slow.best_access.as_ref().unwrap();
    assert_eq!(
        (access.initiators.as_slice(), access.read_latency_ns, access.read_bandwidth_mbs),
        (&[1u32][..], 250, 8000)
    );
    assert_eq!((access.write_latency_ns, access.write_bandwidth_mbs), (300, 4000));
    assert_eq!(t.nodes[0].memory_side_cache_bytes, 1 << 20);
    let this = t.machine(None).unwrap();
    let read_cost = |q: u16, j: u16| this.machine.cost.read.at(NodeId(q), NodeId(j));
    assert_eq!(read_cost(1, 2), Cost(250_000), "the HMAT figure, from its initiator");
    assert_eq!(read_cost(0, 2), Cost(250_000 * 40 / 30), "in proportion to the distance from elsewhere");
    assert_eq!(read_cost(0, 0), Cost(90_000));
    assert_eq!(read_cost(1, 1), Cost(80_000), "no HMAT: 8 ns a unit of distance");
    assert_eq!(read_cost(2, 2), Cost(250_000), "row of a node without processors: what the best placed pay");
    assert_eq!(this.machine.shape.cores, [2, 2, 0]);
    assert!(this.machine.sources.iter().any(|s| s.contains("not measured") && s.contains("no nanoseconds")));
}

#[test]
fn memory_without_processors_keeps_its_place_although_all_distances_are_alike() {
    let s = Snapshot::new(&[]);
    s.online("0-1,4,6", "0-3");
    s.node(0, "0-1", 1000, "10 20 20 20");
    s.node(1, "2-3", 1000, "20 10 20 20");
    s.node(4, "", 1000, "20 20 10 20");
    s.node(6, "", 1000, "20 20 20 10");
    let near = |t: &Topology| t.localities().into_iter().map(|l| (l.node, l.nearest, l.by)).collect::<Vec<_>>();
    let t = read(s.root()).unwrap();
    assert_eq!(near(&t), [(4, vec![0, 1], NearBy::Distance), (6, vec![0, 1], NearBy::Distance)]);
    // A bandwidth alone, of the class that counts processors; the other class names a device without processors.
    s.access(1, 4, 1, 0, 10_000);
    s.access(0, 6, 4, 0, 100);
    let t = read(s.root()).unwrap();
    assert_eq!(near(&t), [(4, vec![1], NearBy::Initiators), (6, vec![0, 1], NearBy::Distance)]);
    let cost = t.machine(None).unwrap().machine.cost;
    let read_cost = |q: u16, j: u16| cost.read.at(NodeId(q), NodeId(j));
    assert_eq!((read_cost(1, 2), read_cost(0, 2)), (Cost(160_000), Cost(240_000)), "the way to the initiator on top");
    s.access(0, 6, 0, 0, 100);
    assert_eq!(
        near(&read(s.root()).unwrap())[1],
        (6, vec![0], NearBy::Initiators),
        "of two initiators the one with processors"
    );
    for node in [0, 1, 4, 6] {
        s.remove(&format!("{NODES}/node{node}/distance"));
    }
    std::fs::remove_dir_all(s.root().join(format!("{NODES}/node4/access1"))).unwrap();
    assert_eq!(near(&read(s.root()).unwrap())[0], (4, vec![0, 1], NearBy::Nothing));
}

#[test]
fn a_node_whose_processors_are_all_offline_is_near_to_another() {
    let s = rich();
    ["2", "3"].iter().for_each(|c| s.write(&format!("sys/devices/system/cpu/cpu{c}/online"), "0\n"));
    let t = read(s.root()).unwrap();
    let near: Vec<(u32, Vec<u32>)> = t.localities().into_iter().map(|l| (l.node, l.nearest)).collect();
    assert_eq!(near, [(1, vec![0]), (3, vec![0])], "the initiator of node 3 has no processors any more");
}

#[test]
fn caches_and_hypervisor_are_read() {
    let t = read(rich().root()).unwrap();
    let caches = t.caches.unwrap();
    assert_eq!((caches.private.bytes, caches.shared.bytes, caches.line_bytes), (2 << 20, 30 << 20, 64));
    assert_eq!(t.virtual_machine.as_deref(), Some("QEMU"));
    assert!(t.machine(None).unwrap().machine.sections.caches.is_some());
}

#[test]
fn two_last_level_caches_in_a_node_count_together() {
    let s = rich();
    s.write("sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0");
    assert_eq!(read(s.root()).unwrap().caches.unwrap().shared.bytes, 60 << 20);
}

#[test]
fn a_node_that_is_not_online_is_left_out() {
    let s = Snapshot::new(&[(&format!("{NODES}/possible"), "0-1")]);
    s.online("1", "1,3");
    s.node(0, "", 0, "10 21");
    s.node(1, "1,3", 1000, "21 10");
    let t = read(s.root()).unwrap();
    assert_eq!((ids(&t), t.nodes[0].cpus.clone(), t.distances.clone()), (vec![1], vec![1, 3], vec![vec![10]]));
    assert_eq!(t.notes, ["node 0 is described but not online: left out"]);
}

#[test]
fn processors_of_an_offline_node_are_counted_to_an_online_one() {
    let s = Snapshot::new(&[]);
    s.online("1\n\0\0", "2-5");
    s.node(0, "", 0, "10 21");
    s.node(1, "1,3,5,7", 1000, "21 10");
    let t = read(s.root()).unwrap();
    assert_eq!((ids(&t), t.nodes[0].cpus.clone()), (vec![1], vec![2, 3, 4, 5]));
    assert!(t.notes.iter().any(|n| n == "cpus 2,4 belong to no online node: counted to node 1"), "{:?}", t.notes);
}

#[test]
fn processors_that_are_offline_are_left_out() {
    let s = Snapshot::new(&[]);
    s.online("0", "0,2-3");
    s.node(0, "0-3", 1000, "10");
    assert_eq!(read(s.root()).unwrap().nodes[0].cpus, [0, 2, 3]);
}

#[test]
fn nodes_that_all_claim_all_processors_are_one() {
    let s = Snapshot::new(&[]);
    s.online("0-7", "0-7");
    (0..8).for_each(|i| s.node(i, "0-7", 2048, "10 10 10 10 10 10 10 10"));
    let t = read(s.root()).unwrap();
    assert_eq!((ids(&t), cpus(&t), t.nodes[0].memory_bytes), (vec![0], vec![8], 8 * 2048 * 1024));
    assert_eq!(t.distances, [[10]]);
    assert!(t.notes[0].starts_with("firmware error: 8 nodes claim the same processors"), "{:?}", t.notes);
}

#[test]
fn a_processor_claimed_twice_belongs_to_the_lower_node() {
    let s = Snapshot::new(&[]);
    s.online("0-1", "0-3");
    s.node(0, "0-2", 1000, "10 20");
    s.node(1, "2-3", 1000, "20 10");
    let t = read(s.root()).unwrap();
    assert_eq!((cpus(&t), t.notes.len()), (vec![3, 1], 1));
}

#[test]
fn seventeen_nodes_with_masks_only_and_one_without_processors() {
    let s = Snapshot::new(&[("sys/devices/system/cpu/online", "0-31\n")]);
    for i in 0..17u32 {
        let distance: Vec<&str> = (0..17)
            .map(|j| {
                if i == j {
                    "10"
                } else if i == 16 || j == 16 {
                    "14"
                } else {
                    "29"
                }
            })
            .collect();
        s.node(i, "", 1000, &distance.join(" "));
        s.remove(&format!("{NODES}/node{i}/cpulist"));
        let bits = if i < 16 { 3u64 << (2 * i) } else { 0 };
        s.write(&format!("{NODES}/node{i}/cpumap"), &format!("{:08x},{:08x}\n", bits >> 32, bits & 0xffff_ffff));
    }
    let t = read(s.root()).unwrap();
    assert_eq!((t.nodes.len(), t.nodes[15].cpus.clone(), t.nodes[16].cpus.len()), (17, vec![30, 31], 0));
    assert!((0..16).all(|i| t.distances[i][16] == 14 && t.distances[16][i] == 14));
}

#[test]
fn a_hypercube_of_eight_costs_its_hops() {
    let s = Snapshot::new(&[]);
    s.online("0-7", "0-7");
    for i in 0..8u32 {
        let distance: Vec<String> = (0..8u32).map(|j| (10 + 10 * (i ^ j).count_ones()).to_string()).collect();
        s.node(i, &i.to_string(), 1000, &distance.join(" "));
    }
    let this = read(s.root()).unwrap().machine(None).unwrap();
    for (i, j) in (0..8u16).flat_map(|i| (0..8u16).map(move |j| (i, j))) {
        let hops = i64::from((i ^ j).count_ones());
        assert_eq!(this.machine.cost.read.at(NodeId(i), NodeId(j)), Cost(80_000 * (1 + hops)));
    }
    assert!(this.changes.is_empty());
}

#[test]
fn missing_and_odd_distances_are_noted_and_repaired() {
    let s = rich();
    s.remove(&format!("{NODES}/node3/distance"));
    let t = read(s.root()).unwrap();
    assert_eq!(t.distances[2], [40, 30, 10], "as in the other direction");
    s.write(&format!("{NODES}/node3/distance"), "40 30");
    assert!(read(s.root()).unwrap().notes.iter().any(|n| n.contains("2 distances for 3 nodes")));
    s.write(&format!("{NODES}/node3/distance"), "45 30 10");
    assert!(read(s.root()).unwrap().notes.iter().any(|n| n.contains("not symmetric: node 0 to 3 is 40, back 45")));
    s.write(&format!("{NODES}/node0/distance"), "30 20 40");
    let t = read(s.root()).unwrap();
    assert!(t.notes.iter().any(|n| n.contains("nearer to another node")), "{:?}", t.notes);
    ["0", "1", "3"].iter().for_each(|n| s.write(&format!("{NODES}/node{n}/distance"), "ten"));
    let t = read(s.root()).unwrap();
    assert!(t.distances.is_empty() && t.machine(None).is_ok());
}

#[test]
fn a_matrix_that_contradicts_itself_is_repaired_for_costs_and_shown_raw() {
    let node = |os_id| MemoryNode { os_id, cpus: vec![os_id], memory_bytes: 1, ..MemoryNode::default() };
    let t =
        Topology { nodes: vec![node(0), node(1)], distances: vec![vec![12, 11], vec![20, 10]], ..Topology::default() };
    let this = t.machine(None).unwrap();
    assert_eq!(this.raw_read.at(NodeId(0), NodeId(0)), Cost(96_000));
    assert_eq!(this.machine.cost.read.at(NodeId(0), NodeId(0)), Cost(88_000));
    assert_eq!(this.changes.len(), 1);
}

#[test]
fn a_kernel_without_numa_is_one_node() {
    let s = Snapshot::new(&[
        ("proc/cpuinfo", "processor : 0\n\nprocessor : 1\n"),
        ("proc/meminfo", "MemTotal: 2048 kB\nMemFree: 1024 kB\n"),
    ]);
    let t = read(s.root()).unwrap();
    assert_eq!((ids(&t), cpus(&t), t.nodes[0].memory_bytes), (vec![0], vec![2], 2 << 20));
    assert!(t.notes[0].contains("no memory nodes"));
    let nothing = Snapshot::new(&[]);
    let error = read(nothing.root()).unwrap_err().to_string();
    assert!(error.contains("describes no processor") && !error.contains('\n'), "{error}");
}

#[test]
fn the_machine_this_runs_on_is_read() {
    let t = read(std::path::Path::new("/")).unwrap();
    let cpus = homenode_sys::numa::affinity(0).unwrap();
    let usable: Vec<u32> = (0..t.nodes.len()).flat_map(|i| t.usable_cpus(NodeId(i as u16))).collect();
    assert!(cpus.iter().all(|c| usable.contains(c)), "{cpus:?} {usable:?}");
    let allowed: Vec<u32> = t.nodes.iter().filter(|n| n.allowed).map(|n| n.os_id).collect();
    assert_eq!(allowed, homenode_sys::numa::allowed_nodes().unwrap());
    assert!(t.page_bytes.is_power_of_two() && t.machine(None).is_ok());
}
