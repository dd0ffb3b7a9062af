//! The affinity policy on scripted accesses, window by window.
mod common;
use common::machine;
use homenode_base::{Cost, NodeId, VirtualTime};
use homenode_machine::{AccessClass, Location, Machine, Matrix};
use homenode_placement::policies::Choice;
use homenode_placement::{Access, AccessKind, Outcome, Sink};

/// Allows or forbids every move, and keeps the nodes moved to.
struct Moves(Vec<u16>, Outcome);

impl Sink for Moves {
    fn place(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
    fn replicate(&mut self, _: Location, _: Location) -> Outcome {
        unreachable!("affinity keeps one copy")
    }
    fn migrate(&mut self, _: Location, to: Location) -> Outcome {
        if let Location::Node(n) = to {
            self.0.push(n.0);
        }
        self.1
    }
    fn drop_copy(&mut self, _: Location) -> Outcome {
        unreachable!("affinity keeps one copy")
    }
}

/// Windows of ten units of time; each word `node*weight` is one access in the next window, `.` an empty window.
fn run(policy: &str, m: &Machine, text: &str, outcome: Outcome) -> (Vec<u16>, Vec<Location>) {
    let choice = Choice::parse(policy).expect("a policy");
    let mut engine = choice.engine(m, 1).expect("runs here");
    let slot = engine.open(0, None);
    let (mut moves, mut served) = (Moves(Vec::new(), outcome), Vec::new());
    for (window, accesses) in text.split('|').enumerate() {
        for word in accesses.split_whitespace() {
            let (node, weight) = word.split_once('*').expect("node*weight");
            let access = Access {
                node: NodeId(node.parse().expect("a node")),
                kind: AccessKind::Read,
                class: AccessClass::Read,
                weight: weight.parse().expect("a weight"),
                t: VirtualTime(window as u64 * 10),
            };
            served.push(engine.step(slot, &access, &mut moves));
        }
    }
    (moves.0, served)
}

fn moved(policy: &str, text: &str) -> Vec<u16> {
    run(policy, &machine(3, 1, 5, 20, None), text, Outcome::Done).0
}

#[test]
fn a_block_follows_a_lasting_change_of_user_and_nothing_shorter() {
    // 10 accesses x (5 - 1) x 2 windows = 80 > 2 x 20.
    assert_eq!(moved("affinity(10,2,2)", "0*1 | 1*10 | 1*10 | 1*10"), [1]);
    assert_eq!(moved("affinity(10,2,2)", "0*1 | 1*10 | 0*99 | 1*10 | 0*99"), [0u16; 0]);
    assert_eq!(moved("affinity(10,3,2)", "0*1 | 1*10 | 1*10 | 1*10"), [0u16; 0]);
    assert_eq!(moved("affinity(10,3,2)", "0*1 | 1*10 | 1*10 | 1*10 | 1*1"), [1]);
}

#[test]
fn a_move_must_pay_for_itself_twice() {
    // Nine of ten accesses: 4 x (9 - 1) x 1 = 32 is below 40; after decay and another window the sum is enough.
    assert_eq!(moved("affinity(10,1,2)", "0*1 1*9 | 1*1"), [0u16; 0]);
    assert_eq!(moved("affinity(10,1,2)", "0*1 1*12 | 1*1"), [1]);
    assert_eq!(moved("affinity(10,1,2)", "0*1 1*9 | 1*9 | 1*1"), [1]);
}

#[test]
fn the_limit_ends_moving_and_no_limit_follows_for_ever() {
    let there_and_back = "0*1 | 1*50 | 1*50 | 0*400 | 0*400 | 1*4000 | 1*4000 | 1*1";
    assert_eq!(moved("affinity(10,1,2)", there_and_back), [1, 0]);
    assert_eq!(moved("affinity(10,1,9)", there_and_back), [1, 0, 1]);
    assert_eq!(moved("affinity(10,1,0)", there_and_back), [0u16; 0]);
}

#[test]
fn a_failed_move_is_tried_again_and_the_block_is_not_believed_elsewhere() {
    let m = machine(3, 1, 5, 20, None);
    let (moves, served) = run("affinity(10,1,2)", &m, "0*1 | 1*50 | 1*50 | 1*50 | 1*1", Outcome::Failed);
    assert_eq!(moves, [1, 1, 1]);
    assert!(served.iter().all(|l| *l == Location::Node(NodeId(0))));
}

#[test]
fn distances_decide_not_majorities() {
    let mut m = machine(3, 1, 9, 1, None);
    let row = |cells: [i64; 3]| cells.map(Cost).to_vec();
    m.cost.read = Matrix::from_rows(&[row([1, 2, 9]), row([2, 1, 2]), row([9, 2, 1])]).expect("square");
    // Nodes 0 and 2 use it alike; node 1 lies between them.
    let (moves, _) = run("affinity(10,1,2)", &m, "0*10 2*10 | 0*10 2*10", Outcome::Done);
    assert_eq!(moves, [1]);
}

#[test]
fn a_probe_changes_nothing_and_a_reopened_slot_remembers_nothing() {
    let m = machine(3, 1, 5, 20, None);
    let choice = Choice::parse("affinity(10,1,2)").expect("a policy");
    let mut engine = choice.engine(&m, 1).expect("runs here");
    let slot = engine.open(0, None);
    let access = |node, t| Access {
        node: NodeId(node),
        kind: AccessKind::Read,
        class: AccessClass::Read,
        weight: 50,
        t: VirtualTime(t),
    };
    let mut moves = Moves(Vec::new(), Outcome::Done);
    engine.step(slot, &access(0, 0), &mut moves);
    let coming = [access(1, 10), access(1, 20), access(1, 30)];
    for _ in 0..3 {
        assert_eq!(engine.probe(slot, &coming, &mut moves), Some(Location::Node(NodeId(1))));
    }
    assert_eq!((moves.0.len(), engine.probe(slot, &[], &mut moves)), (3, None));
    assert_eq!(engine.step(slot, &access(1, 5), &mut moves), Location::Node(NodeId(0)));
    engine.reopen(slot, 9, None);
    assert_eq!(engine.step(slot, &access(2, 0), &mut moves), Location::Node(NodeId(2)));
}
