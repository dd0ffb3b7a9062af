//! The commands about machines: `topo`, `doctor`, `--machine this`.
use homenode_command::Class;
use homenode_toolkit::{TopoRequest, doctor, topo};
use std::path::Path;

fn snapshot(folder: &Path) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("sys/devices/system/cpu/online", "0-3");
    for (id, cpus, distance) in [(0, "0-1", "10 20 40"), (2, "2-3", "20 10 30"), (7, "", "40 30 10")] {
        write(&format!("sys/devices/system/node/node{id}/cpulist"), cpus);
        write(&format!("sys/devices/system/node/node{id}/distance"), distance);
        write(&format!("sys/devices/system/node/node{id}/meminfo"), &format!("Node {id} MemTotal: 1048576 kB\n"));
    }
}

#[test]
fn another_machine_is_described_from_its_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    snapshot(folder.path());
    let output = folder.path().join("m.toml");
    let from = Some(folder.path().to_owned());
    let doc = topo(&TopoRequest { from, output: Some(output.clone()), ..TopoRequest::default() }, &mut ()).unwrap();
    let text = doc.to_text();
    for part in
        ["3 memory nodes, 4 processors", "no processors", "node 7", "estimated, not measured", "240.0", "saved: "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let machine = homenode_machine::Machine::from_toml(&std::fs::read_to_string(output).unwrap()).unwrap();
    assert_eq!(machine.shape.cores, [2, 2, 0]);
}

#[test]
fn what_cannot_be_read_or_measured_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let of = |from: &Path, measure| {
        let request = TopoRequest { from: Some(from.to_owned()), measure, ..TopoRequest::default() };
        topo(&request, &mut ()).unwrap_err()
    };
    let empty = of(folder.path(), false);
    assert!(empty.class == Class::Input && empty.message.contains("describes no processor"), "{empty}");
    let file = folder.path().join("x.xml");
    assert!(of(&file, false).message.contains("x.xml: No such file"));
    std::fs::write(&file, "<html/>").unwrap();
    assert!(of(&file, false).message.contains("not a topology of hwloc"));
    snapshot(folder.path());
    assert_eq!(of(folder.path(), true).class, Class::Usage);
}

#[test]
fn this_machine_is_measured_quickly_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("deep/machine.toml");
    let request = TopoRequest { measure: true, quick: true, output: Some(output.clone()), ..TopoRequest::default() };
    let doc = topo(&request, &mut ()).unwrap();
    assert!(doc.to_text().contains("idle load latency, ns"));
    let text = std::fs::read_to_string(output).unwrap();
    let machine = homenode_machine::Machine::from_toml(&text).unwrap();
    let measured = machine.sections.measured.expect("raw values are kept");
    assert_eq!(machine.name, "this");
    let all = measured.idle_ps.mean.iter().chain(&measured.read_mbs.mean).chain(&measured.write_mbs.mean);
    assert!(all.flatten().all(|v| *v > 0), "{measured:?}");
    assert!(measured.idle_ps.mean.iter().flatten().all(|ps| (1_000..100_000_000).contains(ps)), "{measured:?}");
}

#[test]
fn the_doctor_says_what_why_and_what_to_do() {
    let doc = doctor();
    let text = doc.to_text();
    for what in [
        "memory nodes",
        "performance events",
        "NUMA-hinting",
        "move_pages",
        "userfaultfd",
        "left behind",
        "compiling C ",
    ] {
        assert!(text.contains(what), "{what}: {text}");
    }
    assert!(doc.checks.iter().all(|c| !c.why.is_empty() && !c.why.contains('\n')));
}
