//! Which processors run: the kernel's list, each processor's own file, and where they disagree.
use crate::snapshot::{NODES, Snapshot};
use homenode_host::topology::read;

fn two_nodes() -> Snapshot {
    let s = Snapshot::new(&[]);
    s.online("0-1", "0-7");
    s.node(0, "0-3", 1000, "10 20");
    s.node(1, "4-7", 1000, "20 10");
    (1..8).for_each(|cpu| own(&s, cpu, "1\n"));
    s
}

fn own(s: &Snapshot, cpu: u32, text: &str) {
    s.write(&format!("sys/devices/system/cpu/cpu{cpu}/online"), text);
}

fn all(s: &Snapshot) -> (Vec<u32>, Vec<u32>, Vec<String>) {
    let t = read(s.root()).unwrap();
    (t.nodes.iter().flat_map(|n| n.cpus.iter().copied()).collect(), t.offline_cpus, t.notes)
}

#[test]
fn a_processor_that_is_offline_by_its_own_file_is_left_out_and_named() {
    let s = two_nodes();
    assert_eq!(all(&s), ((0..8).collect(), vec![], vec![]));
    own(&s, 5, "0\n\0");
    own(&s, 2, "0");
    let (cpus, offline, notes) = all(&s);
    assert_eq!((cpus, offline), (vec![0, 1, 3, 4, 6, 7], vec![2, 5]));
    let said = "cpus 2,5 are offline by their own files, online by sys/devices/system/cpu/online: left out";
    assert_eq!(notes, [said]);
}

#[test]
fn without_the_list_the_own_files_count() {
    let s = two_nodes();
    s.remove("sys/devices/system/cpu/online");
    own(&s, 6, "0\n");
    assert_eq!(all(&s), (vec![0, 1, 2, 3, 4, 5, 7], vec![6], vec![]));
}

#[test]
fn the_list_leaves_out_what_the_own_file_and_the_node_claim() {
    let s = two_nodes();
    s.write("sys/devices/system/cpu/online", "0-5,7\n");
    let (cpus, offline, notes) = all(&s);
    assert_eq!((cpus, offline), (vec![0, 1, 2, 3, 4, 5, 7], vec![6]));
    assert!(notes[0].starts_with("cpus 6 are online by their own files, not by"), "{notes:?}");
    own(&s, 6, "0\n");
    assert_eq!(all(&s).2, Vec::<String>::new(), "both say the same");
    s.node(1, "4-9", 1000, "20 10");
    assert_eq!(all(&s).2, ["node 1 claims cpus 8-9, which do not run: left out"]);
}

#[test]
fn files_that_say_nothing_are_named_once() {
    let s = two_nodes();
    own(&s, 3, "");
    own(&s, 4, "yes");
    let (cpus, _, notes) = all(&s);
    assert_eq!((cpus.len(), notes.len()), (8, 1));
    assert!(notes[0].starts_with("cpus 3-4: their own files"), "{notes:?}");
    s.remove(&format!("{NODES}/node1/cpulist"));
    let (_, _, notes) = all(&s);
    assert!(notes.iter().any(|n| n.contains("node1: neither cpulist nor cpumap")), "{notes:?}");
}
