//! Plans: JSON there and back, hostile input, and homes of blocks.
use homenode_base::NodeId;
use homenode_machine::{Location, models};
use homenode_placement::plan::{Conflict, Entry, Home, ObjectKey, PLAN_SCHEMA, Plan, StackHash, ThreadPin};

fn symbol(name: &str) -> ObjectKey {
    ObjectKey::Symbol { build_id: "00ff".into(), symbol: name.into() }
}

fn heap(ordinal: u64, size: u64) -> ObjectKey {
    let stack = StackHash(0xfedc_ba98_7654_3210);
    ObjectKey::Heap { build_id: "00ff".into(), stack, thread_path: vec![0, 2], ordinal, size }
}

fn plan() -> Plan {
    let entry = |object, offset, bytes, home| Entry { object, offset, bytes, home };
    Plan {
        threads: vec![ThreadPin { thread: 0, cpu: 0 }, ThreadPin { thread: 1, cpu: 8 }],
        entries: vec![
            entry(heap(0, 20_000), 0, 10_000, Home::Thread(0)),
            entry(heap(0, 20_000), 10_000, 10_000, Home::Thread(1)),
            entry(heap(1, 20_000), 0, 20_000, Home::Interleave(vec![0, 1])),
            entry(symbol("table"), 0, 64, Home::Node(1)),
        ],
        ..Plan::new("two-socket")
    }
}

#[test]
fn plans_survive_their_json() {
    let text = plan().to_json();
    assert_eq!(Plan::from_json(&text), Ok(plan()));
    assert!(text.contains(PLAN_SCHEMA) && text.contains("\"fedcba9876543210\"") && text.contains("\"thread\": 1"));
    assert_eq!(plan().check_machine(&models::find("two-socket").expect("in the registry")), Ok(()));
}

#[test]
fn wrong_plans_get_one_clear_line() {
    let good = plan().to_json();
    let cases: [(&str, &str, &[&str]); 13] = [
        ("schema/plan-1", "schema/plan-2", &["plan-2", "plan-1"]),
        ("\"schema\"", "\"scheme\"", &["schema is 'absent'"]),
        ("\"threads\"", "\"treads\"", &["line 4", "treads"]),
        ("\"cpu\": 8", "\"cpu\": -8", &["line", "-8"]),
        ("\"thread\": 1,", "\"thread\": 0,", &["threads[1].thread", "twice"]),
        ("\"bytes\": 64", "\"bytes\": 0", &["entries[3].bytes", "0"]),
        ("\"bytes\": 64", "\"bytes\": 18446744073709551615, \"x\": 1", &["unknown field", "x"]),
        ("\"offset\": 10000", "\"offset\": 9999", &["entries[1]", "overlaps entries[0]"]),
        ("\"offset\": 10000", "\"offset\": 10001", &["entries[1].bytes", "20001", "20000"]),
        ("\"build_id\": \"00ff\"", "\"build_id\": \"zz\"", &["entries[0].object.build_id", "zz"]),
        ("fedcba9876543210", "fedcba987654321", &["16 hexadecimal digits"]),
        ("\"symbol\": \"table\"", "\"symbol\": \"\"", &["entries[3].object.symbol", "empty"]),
        ("\"kind\": \"symbol\"", "\"kind\": \"stack\"", &["stack"]),
    ];
    for (from, to, named) in cases {
        assert!(good.contains(from), "{from} in {good}");
        let error = Plan::from_json(&good.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(
            named.iter().all(|n| error.contains(n)) && !error.contains('\n'),
            "{to}: {error:?} must name {named:?}"
        );
    }
    for text in ["", "[]", "{", "null", "\u{0}", "{\"schema\": 3}"] {
        assert!(Plan::from_json(text).is_err(), "{text:?}");
    }
    let mut p = plan();
    p.entries[3].offset = u64::MAX;
    assert!(p.validate().expect_err("wraps").to_string().contains("end of memory"));
    p = plan();
    p.entries[2].home = Home::Interleave(vec![1, 1]);
    assert!(p.validate().expect_err("twice").to_string().contains("none twice"));
}

#[test]
fn machines_must_have_what_a_plan_names() {
    let m = models::find("two-socket").expect("in the registry");
    let mut p = plan();
    p.threads[0].cpu = 16;
    assert!(p.check_machine(&m).expect_err("16 processors").to_string().contains("threads[0].cpu"));
    p = plan();
    p.entries[2].home = Home::Interleave(vec![0, 2]);
    assert!(p.check_machine(&m).expect_err("2 nodes").to_string().contains("no node 2"));
}

#[test]
fn blocks_get_the_homes_of_their_objects() {
    let address = |o: &ObjectKey| match o {
        ObjectKey::Heap { ordinal: 0, .. } => Some((0x10_0000, 20_000)),
        ObjectKey::Heap { .. } => Some((0x20_0000, 20_000)),
        ObjectKey::Symbol { .. } => None,
    };
    let (homes, conflicts) = plan().homes(4096, address, |t| NodeId(t.0 as u16));
    let at = |block| homes.get(block).map(|l| if l == Location::Node(NodeId(0)) { 0 } else { 1 });
    assert_eq!([0x100, 0x101, 0x102, 0x103, 0x104].map(at), [Some(0), Some(0), None, Some(1), Some(1)]);
    assert_eq!(conflicts, [Conflict { block: 0x102, first: 0, second: 1 }], "bytes 8192 to 12287 are of both halves");
    assert_eq!([0x200, 0x201, 0x202, 0x203, 0x204, 0x205].map(at), [Some(0), Some(1), Some(0), Some(1), Some(0), None]);
    assert_eq!((homes.len(), homes.sorted()[0]), (9, (0x100, Location::Node(NodeId(0)))));
    let whole = plan().homes(1 << 30, address, |_| NodeId(0));
    assert_eq!(whole.1.len(), 0, "all agree on node 0: {:?}", whole.1);
}

#[test]
fn ranges_end_where_object_and_memory_do() {
    let mut p = plan();
    p.entries.truncate(1);
    let homes = |p: &Plan, address, size| p.homes(4096, |_| Some((address, size)), |_| NodeId(1)).0.sorted();
    assert_eq!(homes(&p, u64::MAX - 100, 1 << 40), [(u64::MAX / 4096, Location::Node(NodeId(1)))]);
    p.entries[0] = Entry { object: symbol("table"), offset: 5000, bytes: u64::MAX - 5000, home: Home::Node(1) };
    assert_eq!((p.validate(), homes(&p, 0, 9000).len()), (Ok(()), 2), "no further than the object itself");
    assert_eq!((homes(&p, 0, 5000), homes(&p, 0, 0)), (vec![], vec![]));
}
