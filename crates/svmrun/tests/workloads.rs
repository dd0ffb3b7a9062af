//! The project's own programs verify their results on nodes that share their memory by the protocol.
mod support;

use homenode_svmrun::SvmRequest;
use support::{cluster, compile, is_slow, on, over};

/// Transports and shapes of clusters: over sockets a sample unless told otherwise.
fn shapes() -> Vec<(&'static str, u16, u16)> {
    let all = [(2, 1), (4, 1), (2, 2)];
    let apart = if is_slow() { &all[..] } else { &all[..1] };
    let of = |transport, shapes: &[(u16, u16)]| shapes.iter().map(|(n, t)| (transport, *n, *t)).collect::<Vec<_>>();
    [of("shm", &all), of("tcp", apart)].concat()
}

fn verifies(name: &str) {
    verifies_as(name, &[]);
}

/// A workload compiled with these flags, which choose a variant.
fn verifies_as(name: &str, flags: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(&format!("workloads/{name}.c"), folder.path(), flags);
    let steps: &[&str] = if is_slow() { &["base", "dw", "rf", "dd", "genima"] } else { &["base", "genima"] };
    for step in steps {
        for (transport, nodes, threads) in shapes() {
            let all = (nodes * threads).to_string();
            let exclusive = SvmRequest { exclusive: nodes % 2 == 1 || threads > 1, ..cluster(nodes, threads, step) };
            let request = over(transport, exclusive);
            let doc = on(&request, &program, &["-s", "XS", "-p", &all]).expect("it runs");
            assert_eq!(doc.exit_status, 0, "{name}: {step}, {nodes} x {threads}, {transport}");
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

#[test]
fn water_in_cells() {
    verifies_as("water", &["-DHN_SPATIAL=1"]);
}

#[test]
fn raytrace() {
    verifies("raytrace");
}

#[test]
fn raytrace_with_ids() {
    verifies_as("raytrace", &["-DHN_RAY_IDS=1"]);
}

#[test]
fn barnes_of_one_tree_under_locks() {
    verifies_as("barnes", &["-DHN_LOCKED=1"]);
}

#[test]
fn barnes_by_pieces_of_space() {
    verifies_as("barnes", &["-DHN_SPATIAL=1"]);
}

#[test]
fn ssort() {
    verifies("ssort");
}

#[test]
fn volrend() {
    verifies("volrend");
}

#[test]
fn volrend_balanced() {
    verifies_as("volrend", &["-DHN_BALANCED=1"]);
}
