//! The family of chapter 6 against the numbers that the thesis prints and those that follow from its formulas.
use homenode_base::Cost;
use homenode_machine::models::{self, family};
use homenode_machine::{Machine, SingleRemote};

fn view(m: &Machine, block_bytes: u64) -> SingleRemote {
    m.single_remote(block_bytes).expect("one remote cost")
}

fn registered(name: &str) -> Machine {
    models::find(name).expect("in the registry")
}

/// r (`None` if infinite) and R of a member at its own block.
fn base(name: &str) -> (Option<i64>, i64) {
    let m = registered(name);
    let view = view(&m, m.shape.page_bytes);
    let far = (view.far[0] < Cost::INFINITE).then_some(view.far[0].0);
    assert_eq!(far.is_some(), m.cost.remote_access, "{name}");
    assert_eq!((view.near[0], view.near[1], view.global, view.nodes), (Cost(1), Cost(1), None, 8), "{name}");
    assert_eq!(view.far[0], view.far[1], "{name}");
    (far, view.copy.0)
}

/// Bolosky 1993, table 6.3.
#[test]
fn the_eight_numbers_of_table_6_3() {
    assert_eq!(base("numa"), (Some(102), 2323));
    assert_eq!(base("cc"), (None, 184));
    assert_eq!(base("cc-plus"), (Some(102), 184));
    assert_eq!(base("dsm"), (None, 2323));
    assert_eq!(base("dsm-plus"), (Some(250), 2323));
}

/// Block size, R in software, R in hardware: derived from table 6.2 for the block sizes of the figures.
const COPIES: [(u64, i64, i64); 12] = [
    (4, 277, 154),
    (8, 279, 156),
    (16, 283, 160),
    (32, 291, 168),
    (64, 307, 184),
    (128, 339, 216),
    (256, 403, 280),
    (512, 531, 408),
    (1024, 787, 664),
    (2048, 1299, 1176),
    (4096, 2323, 2200),
    (8192, 4371, 4248),
];

#[test]
fn copies_cost_what_the_formulas_say_at_every_block_size() {
    for (bytes, software, hardware) in COPIES {
        for name in ["numa", "dsm", "dsm-plus"] {
            assert_eq!(view(&registered(name), bytes).copy, Cost(software), "{name} at {bytes}");
        }
        for name in ["cc", "cc-plus"] {
            assert_eq!(view(&registered(name), bytes).copy, Cost(hardware), "{name} at {bytes}");
        }
    }
}

/// 64 lines of 64 bytes, as section 6.1.2 counts a page.
#[test]
fn a_page_by_lines() {
    assert_eq!(view(&registered("cc"), 64).copy.0 * 64, 11776);
}

#[test]
fn parameters_change_costs_and_the_name_says_so() {
    let p =
        family::Parameters { lambda: 10, o_s: 1000, processors: 3, base_block_bytes: Some(512), ..Default::default() };
    let m = family::DSM_PLUS.build(&p).expect("sound");
    assert_eq!((m.name.as_str(), m.shape.page_bytes, m.nodes()), ("dsm-plus,lambda=10,o_s=1000,p=3", 512, 3));
    assert_eq!((view(&m, 512).copy, view(&m, 512).far[1]), (Cost(256 + 40 + 1000), Cost(2020)));
    let m = family::CC_PLUS.build(&p).expect("sound");
    assert_eq!((view(&m, 64).copy, view(&m, 64).far[0]), (Cost(32 + 30 + 2), Cost(22)));
    for member in family::MEMBERS {
        assert_eq!(member.build(&family::Parameters::default()).as_ref(), Ok(&registered(member.name)));
    }
}

#[test]
fn unsound_parameters_are_refused() {
    let d = family::Parameters::default();
    let cases = [
        (family::Parameters { processors: 0, ..d }, "0 nodes"),
        (family::Parameters { processors: 1025, ..d }, "1025 nodes"),
        (family::Parameters { base_block_bytes: Some(3000), ..d }, "page_bytes"),
        (family::Parameters { base_block_bytes: Some(2), ..d }, "page_bytes"),
        (family::Parameters { lambda: 0, o_h: 0, ..d }, "read from node 0 to node 1"),
    ];
    for (parameters, part) in cases {
        let error = family::NUMA.build(&parameters).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
    family::CC.build(&family::Parameters { lambda: u32::MAX, o_h: u32::MAX, ..d }).expect("costs are in range");
}
