//! Sets of machines.
use super::*;
use crate::spec::families::family;
use homenode_machine::models::{self, family::MEMBERS};

fn set_of(base: &str, axes: &[(Param, Values)]) -> MachineSet {
    let base = Base::Machine(Box::new(models::find(base).expect("a machine")));
    MachineSet { base, axes: axes.to_vec() }
}

fn list(values: &[i64]) -> Values {
    Values::List(values.to_vec())
}

#[test]
fn all_combinations_come_once_and_the_last_parameter_varies_fastest() {
    let axes = vec![(Param::Lambda, list(&[10, 50])), (Param::Os, list(&[75, 750, 1000]))];
    let set = MachineSet { base: Base::Family(family("numa").unwrap()), axes };
    assert_eq!(set.count(), 6);
    let params: Vec<String> = (0..6).map(|i| set.point(i).unwrap().params).collect();
    assert_eq!(params[..4], ["lambda=10 o_s=75", "lambda=10 o_s=750", "lambda=10 o_s=1000", "lambda=50 o_s=75"]);
    let view = set.point(1).unwrap().machine.single_remote(4096).unwrap();
    assert_eq!((view.copy, view.far[0]), (Cost(2048 + 40 + 750), Cost(22)));
}

#[test]
fn r_g_and_copies_are_set_and_r_may_be_infinite() {
    let axes =
        [(Param::Remote, list(&[3, Cost::INFINITE.0])), (Param::GlobalCopy, list(&[300])), (Param::Copy, list(&[-1]))];
    let set = set_of("ace", &axes);
    let (one, two) = (set.point(0).unwrap(), set.point(1).unwrap());
    let view = one.machine.single_remote(4096).unwrap();
    assert_eq!((view.far[0], view.copy, view.copy_global), (Cost(3), Cost(600), Some(Cost(300))));
    assert!(!two.machine.cost.remote_access);
    assert_eq!((one.params.as_str(), two.params.as_str()), ("r=3 G=300 R=2G", "r=inf G=300 R=2G"));
    assert_eq!(check_copies(&one.machine, 4096), Ok(()));
}

#[test]
fn machines_that_cannot_be_are_refused_with_the_reason() {
    let wrong = |base: &str, axes: &[(Param, Values)]| set_of(base, axes).point(0).expect_err("no machine").to_string();
    assert!(wrong("butterfly", &[(Param::Remote, list(&[0]))]).contains("less than a local reference, 1"));
    assert!(wrong("ace", &[(Param::Global, list(&[0]))]).contains("g = 0 is less than a local reference"));
    assert!(wrong("opteron4", &[(Param::Remote, list(&[9]))]).contains("not equally far"));
    assert!(wrong("butterfly", &[(Param::Global, list(&[2]))]).contains("give both g and G"));
    assert!(wrong("butterfly", &[(Param::GlobalCopy, list(&[2]))]).contains("no global memory"));
    assert!(wrong("butterfly", &[(Param::Copy, list(&[TWICE_GLOBAL]))]).contains("no global memory"));
    assert!(wrong("butterfly", &[(Param::Lambda, list(&[2]))]).contains("not a family"));
    let set = MachineSet { base: Base::Family(family("cc").unwrap()), axes: vec![(Param::Nodes, list(&[0]))] };
    assert!(set.point(0).unwrap_err().to_string().contains("nodes = 0 is not allowed: 1 to"));
    let huge = vec![(Param::Lambda, list(&[1_000_000_000_000]))];
    let set = MachineSet { base: Base::Family(family("cc").unwrap()), axes: huge };
    assert!(set.point(0).unwrap_err().to_string().contains("is not allowed"));
}

#[test]
fn more_than_2g_for_a_direct_copy_is_refused_where_there_is_global_memory() {
    let ace = set_of("ace", &[(Param::GlobalCopy, list(&[100]))]).point(0).unwrap().machine;
    let message = check_copies(&ace, 4096).unwrap_err().to_string();
    assert!(message.contains("R = 4496 is more than 2G = 200 at blocks of 4096 bytes"), "{message}");
    for machine in models::ALL.iter().map(|s| s.build()) {
        (6..=21).for_each(|shift| assert_eq!(check_copies(&machine, 1 << shift), Ok(())));
    }
    for f in MEMBERS {
        assert_eq!(check_copies(&MachineSet::family(f).point(0).unwrap().machine, 64), Ok(()));
    }
}
