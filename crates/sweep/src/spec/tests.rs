//! Whole studies.
use super::*;
use homenode_machine::{Machine, models};

fn resolve(name: &str) -> Result<Machine, String> {
    models::find(name).ok_or_else(|| format!("there is no machine '{name}'"))
}

fn read(text: &str) -> Result<Study, String> {
    Study::from_toml(text, "x", &resolve).map_err(|e| e.to_string())
}

const FULL: &str = r#"
traces = ["lu.hnt", "sor.hnt"]
blocks = "64..8192"
machines = ["cc", "butterfly"]
policies = ["ace(1..4)", "first-touch"]
optimum = "parts"
without_replication = "cost"
best_static = "parts"
order = "recorded"
seed = 7
merges = 3
charge_spins = true
map = "spread"
start = "single"
perturb = [{ filter = "gap", seeds = 2, synchronisation = "ignored" }]

[[machine]]
family = "numa"
lambda = [10, 50, 500]
o_s = { from = 10, to = 1000, points = 3, log = true }

[[machine]]
base = "butterfly"
r = [2, "inf"]
"#;

#[test]
fn a_study_is_counted_without_being_expanded() {
    let study = read(FULL).unwrap();
    assert_eq!(study.machine_count(), 2 + 9 + 2);
    assert_eq!(study.points(), 2 * 3 * 3 * 8 * 13 * (5 + 3));
    assert_eq!(study.seeds, Some(vec![7, 8, 9]));
    assert_eq!((study.name.as_str(), study.charge_spins, study.start), ("x", true, Start::FreeSingle));
    let params: Vec<String> = (0..13).map(|i| study.point(i).unwrap().params).collect();
    assert_eq!(params[2], "lambda=10 o_s=10");
    assert_eq!(params[12], "r=inf");
    assert!(study.point(13).is_err());
}

#[test]
fn ten_to_the_nine_points_are_counted_at_once() {
    let text = "traces = ['a']\nblocks = 64\npolicies = []\n[[machine]]\nbase = 'butterfly'\n\
                R = { from = 1, to = 1_000_000_000, step = 1 }";
    assert_eq!(read(text).unwrap().points(), 1_000_000_000);
}

#[test]
fn mistakes_name_line_and_key_and_the_nearest_name() {
    let with = |from: &str, to: &str| {
        assert!(FULL.contains(from), "{from}");
        read(&FULL.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to} was taken"))
    };
    let cases = [
        ("policies =", "polices =", "line 5: unknown field `polices`", "did you mean 'policies'?"),
        ("lambda =", "lamda =", "line 19: unknown field `lamda`", "did you mean 'lambda'?"),
        ("first-touch", "first-tuch", "line 5: there is no policy 'first-tuch'", "did you mean 'first-touch'?"),
        ("\"numa\"", "\"nuam\"", "line 18: there is no family of machines 'nuam'", "did you mean 'numa'?"),
        ("\"butterfly\"]", "\"butterfyl\"]", "line 4: there is no machine 'butterfyl'", ""),
        ("64..8192", "64..100", "line 3: blocks: '100'", "powers of two"),
        ("\"parts\"", "\"part\"", "line 6: there is no value of optimum 'part'", "did you mean 'parts'?"),
        ("[10, 50, 500]", "[]", "line 19: lambda: the list is empty", ""),
        ("[2, \"inf\"]", "[0]", "line 22: r = 0 is less than a local reference", ""),
        ("\"recorded\"", "\"model\"", "line 10: seed and merges", ""),
        ("\"spread\"", "\"spred\"", "line 13: map: ", ""),
        ("\"gap\"", "\"gab\"", "line 15: there is no value of filter 'gab'", "did you mean 'gap'?"),
        ("seeds = 2", "seeds = 0", "line 15: seeds = 0 is not allowed", ""),
        ("merges = 3", "merges = 0", "merges = 0 is not allowed", ""),
        ("traces = [\"lu.hnt\", \"sor.hnt\"]", "traces = []", "line 2: traces: the list is empty", ""),
        ("\"sor.hnt\"]", "\"lu.hnt\"]", "line 2: traces: 'lu.hnt' stands there twice", ""),
        ("seed = 7", "seed = 99999999999999999999", "line 10: a number is too large", ""),
        ("r = [2, \"inf\"]", "r = 9223372036854775808", "line 24: a number is too large", "at most 1000000000000"),
        ("r = [2, \"inf\"]", "family = \"cc\"", "line 22: a [[machine]] has either", ""),
        ("blocks = ", "blocks = = ", "line 3: ", ""),
        ("traces = ", "name = \"a/b\"\ntraces = ", "line 2: name = 'a/b'", ""),
    ];
    for (from, to, begin, inside) in cases {
        let message = with(from, to);
        assert!(message.starts_with(begin) && message.contains(inside), "{to}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn a_machine_with_dear_copies_is_found_at_the_block_size_where_it_is_one() {
    let text = "traces = ['a']\nblocks = [64, 4096]\n[[machine]]\nbase = 'ace'\nG = 2248";
    let study = read(text).unwrap();
    assert_eq!(study.point(0).map(|p| p.params), Ok("G=2248".to_owned()));
    let text = text.replace("2248", "2247");
    assert!(read(&text).unwrap().point(0).unwrap_err().message.contains("R = 4496 is more than 2G = 4494"));
}
