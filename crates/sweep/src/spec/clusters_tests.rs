use crate::spec::Study;
use homenode_machine::models;

fn study(cluster: &str) -> Result<Study, String> {
    let resolve = |name: &str| models::find(name).ok_or_else(|| format!("there is no '{name}'"));
    let text = format!("traces = ['x.hnt']\n[[cluster]]\n{cluster}");
    Study::from_toml(&text, "x", &resolve).map_err(|e| e.to_string())
}

fn points(cluster: &str) -> Vec<String> {
    let set = &study(cluster).expect(cluster).clusters[0];
    let words = |n| set.point(n).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    (0..set.points()).map(words).collect()
}

const MACHINE: &str = "machine = 'svm-achievable'\n";

#[test]
fn a_grid_has_all_combinations_and_each_has_one_at_a_time() {
    let two = format!("{MACHINE}interrupts = [0, 500]\noverhead = {{ from = 1, to = 100, points = 3, log = true }}\n");
    let grid = ["overhead=1 interrupts=0", "overhead=1 interrupts=500", "overhead=10 interrupts=0"];
    assert_eq!(points(&two)[..3], grid);
    assert_eq!(points(&two).len(), 6);
    let named = format!("{two}what_if = ['no-diffs', 'io=4x']\n");
    assert_eq!(points(&named).len(), 18);
    assert_eq!(points(&named)[17], "overhead=100 interrupts=500 io=4x");
    let each = ["", "no-diffs", "io=4x", "overhead=1", "overhead=10", "overhead=100", "interrupts=0", "interrupts=500"];
    assert_eq!(points(&format!("{named}vary = 'each'\n")), each);
    assert_eq!(points(MACHINE), [""]);
}

#[test]
fn machines_shapes_and_steps_are_lists() {
    let text = "machine = ['svm-achievable', 'rdma100']\nnodes = ['4x4', '8x2']\nprotocols = ['base', 'genima']\n";
    let study = study(text).expect("a study");
    let shapes: Vec<_> = study.clusters[0].clusters().map(|m| (m.name.clone(), m.shape.cores.len())).collect();
    let (a, b) = ("svm-achievable".to_owned(), "rdma100".to_owned());
    assert_eq!(shapes, [(a.clone(), 4), (a, 8), (b.clone(), 4), (b, 8)]);
    assert_eq!(study.cluster_rows(), 8);
}

#[test]
fn what_cannot_be_is_said_with_its_line() {
    for (text, said) in [
        ("", "line 2: a [[cluster]] has machine"),
        ("machine = 'numa'", "line 3: machine 'numa' has no [network] section"),
        ("machine = 'svm-achievable'\nnodes = ['4*4']", "line 4: nodes: '4*4' is not nodes x processors"),
        (
            "machine = 'svm-achievable'\nprotocols = 'nul'",
            "line 4: there is no protocol of clusters 'nul'; did you mean 'nil'?",
        ),
        (
            "machine = 'svm-achievable'\ninterupts = 5",
            "line 4: there is no key of [[cluster]] 'interupts'; did you mean 'interrupts'?",
        ),
        (
            "machine = 'svm-achievable'\ninterrupts = 2_000_000",
            "line 4: interrupts: 'interrupts=2000000' is beyond 1048576",
        ),
        ("machine = 'svm-achievable'\nl1 = [5000]", "no power of two"),
        ("machine = 'svm-achievable'\nwhat_if = 'io'", "line 4: what_if: 'io' gives io neither"),
        ("machine = ['svm-achievable', 'svm-achievable']", "stands there twice"),
        ("machine = 'svm-achievable'\nvary = 'all'", "line 4: there is no value of vary 'all'"),
        ("machine = 'svm-achievable'\n[[machine]]\nbase = 'numa'", "ask about clusters in a study of their own"),
    ] {
        let error = study(text).err().expect(text);
        assert!(error.contains(said), "{error}");
    }
}
