//! Plans: JSON there and back, hostile input, and homes of blocks.
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{Location, models};
use homenode_placement::plan::{
    Conflict, Entry, Expected, Home, ModuleBuild, ObjectKey, PLAN_SCHEMA, Plan, SourceLine, StackHash, ThreadPin,
    Unplaceable, Why, Worth,
};

fn symbol(name: &str) -> ObjectKey {
    ObjectKey::Symbol { build_id: "00ff".into(), symbol: name.into(), address: 0x4010, size: 9000 }
}

fn heap(ordinal: u64, size: u64) -> ObjectKey {
    let stack = StackHash(0xfedc_ba98_7654_3210);
    ObjectKey::Heap {
        build_id: "00ff".into(),
        stack,
        thread_path: vec![0, 2],
        ordinal,
        size,
        size_ordinal: 3,
        site: None,
        source: Some(SourceLine { file: "src/app.c".into(), line: 7, ordinal }),
    }
}

fn plan() -> Plan {
    let pin = |thread, path, cpu| ThreadPin { thread, path, cpu };
    let worth = Worth { now: TotalCost(1 << 60), planned: TotalCost(7), moving: TotalCost(9) };
    let entry = |object, offset, bytes, home| Entry { object, offset, bytes, home, name: "object".into(), worth };
    Plan {
        threads: vec![pin(0, vec![], 0), pin(1, vec![0], 8)],
        unplaceable: vec![Unplaceable {
            name: "nodes of a list".into(),
            why: Why::SmallObjects,
            objects: 900,
            pages: 3,
            bytes: 9000,
            uses: 1000,
            node: 1,
            advice: "allocate them from one arena".into(),
        }],
        modules: vec![ModuleBuild { build_id: "00ff".into(), path: "/bin/app".into() }],
        expected: Expected { now: TotalCost(i128::MAX), ..Expected::default() },
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
fn plans_of_the_version_before_are_read() {
    let old = plan().to_json().replacen("schema/plan-3", "schema/plan-2", 1);
    assert!(!old.contains("\"site\"") && !old.contains("warnings"), "what the old version did not know: {old}");
    assert_eq!(Plan::from_json(&old), Ok(plan()));
}

#[test]
fn wrong_plans_get_one_clear_line() {
    let good = plan().to_json();
    let cases: [(&str, &str, &[&str]); 15] = [
        ("schema/plan-3", "schema/plan-1", &["plan-3", "plan-1", "homenode place"]),
        ("\"schema\"", "\"scheme\"", &["schema is 'absent'"]),
        ("\"threads\"", "\"treads\"", &["line", "treads"]),
        ("\"page_bytes\": 4096", "\"page_bytes\": 4095", &["page_bytes", "power of two"]),
        ("\"moving\": 9", "\"moving\": \"x\"", &["'x' is no whole number"]),
        ("\"cpu\": 8", "\"cpu\": -8", &["line", "-8"]),
        ("\"thread\": 1,", "\"thread\": 0,", &["threads[1].thread", "twice"]),
        ("\"bytes\": 64", "\"bytes\": 0", &["entries[3].bytes", "0"]),
        ("\"bytes\": 64", "\"bytes\": 18446744073709551615, \"x\": 1", &["unknown field", "x"]),
        ("\"offset\": 10000", "\"offset\": 9999", &["entries[1]", "overlaps entries[0]"]),
        ("\"offset\": 10000", "\"offset\": 10001", &["entries[1].bytes", "20001", "20000"]),
        ("\"build_id\": \"00ff\"", "\"build_id\": \"zz\"", &["modules[0].build_id", "zz"]),
        ("fedcba9876543210", "fedcba987654321", &["16 hexadecimal digits"]),
        ("\"symbol\": \"table\"", "\"symbol\": \"\"", &["entries[3].object.symbol", "empty"]),
        ("\"kind\": \"symbol\"", "\"kind\": \"mapping\"", &["mapping"]),
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
    p.entries[3].object = ObjectKey::Symbol { build_id: String::new(), symbol: "x".into(), address: 0, size: 9 };
    assert!(p.validate().expect_err("no build id").to_string().contains("entries[3].object.build_id"));
    p.entries[3].object = ObjectKey::Stack { thread_path: vec![] };
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
        ObjectKey::Symbol { .. } | ObjectKey::Stack { .. } => None,
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
    let whole = ObjectKey::Stack { thread_path: vec![1] };
    let worth = Worth::default();
    let name = "stack".to_owned();
    p.entries[0] = Entry { object: whole, offset: 5000, bytes: u64::MAX - 5000, home: Home::Node(1), name, worth };
    assert_eq!((p.validate(), homes(&p, 0, 9000).len()), (Ok(()), 2), "no further than the object itself");
    assert_eq!((homes(&p, 0, 5000), homes(&p, 0, 0)), (vec![], vec![]));
}
