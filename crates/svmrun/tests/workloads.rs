//! The project's own programs verify their results on nodes that share their memory by the protocol.
mod support;

use support::{cluster, compile, on};

fn verifies(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(&format!("workloads/{name}.c"), folder.path(), &[]);
    for step in ["base", "genima"] {
        for (nodes, threads) in [(2, 1), (4, 1), (2, 2)] {
            let all = (nodes * threads).to_string();
            let doc = on(&cluster(nodes, threads, step), &program, &["-s", "XS", "-p", &all]).expect("it runs");
            assert_eq!(doc.exit_status, 0, "{name}: {step}, {nodes} x {threads}");
            assert_eq!(doc.nodes.len(), usize::from(nodes));
        }
    }
    let doc = on(&cluster(2, 1, "genima"), &program, &["-p", "3"]).expect("it runs");
    assert_eq!(doc.exit_status, 1, "a number of threads that the nodes do not have");
}

#[test]
fn lu() {
    verifies("lu");
}

#[test]
fn sor() {
    verifies("sor");
}

#[test]
fn radix() {
    verifies("radix");
}

#[test]
fn fft() {
    verifies("fft");
}

#[test]
fn water() {
    verifies("water");
}
