//! Logs and what becomes of them.
use super::line::{Line, What, begins_log, parse};
use crate::testing::{imported_bytes, refused};
use homenode_trace::Op;

const LOG: &str = "==7== Lackey, an example Valgrind tool\n==7== Command: ./app -n 3\n==7== \nI  0401ab70,3\nI  0401ab73,5\n \
                   S 1fff000758,8\nI  0401b770,1\n L 1fff000750,4\n M 1fff000748,8\n==7== \n==7== Exit code:       0\n";

#[test]
fn a_log_becomes_one_thread_with_its_instructions() {
    let found = imported_bytes(LOG.as_bytes()).unwrap();
    assert_eq!((found.summary.references, found.summary.threads, found.summary.samples), (4, 1, 0));
    let counted = [("instructions", 3), ("loads", 1), ("stores", 1), ("modified in place", 1)];
    assert_eq!(found.summary.counted, counted);
    let m = found.data.manifest();
    assert_eq!(
        (m.complete, m.synchronised, &m.command[..]),
        (true, false, &["./app", "-n", "3"].map(str::to_owned)[..])
    );
    let (w, r, pc) = (Op::Write, Op::Read, 0x401_b770);
    let all = [
        (0x1f_ff00_0758, 8, w, 0x401_ab73, 3),
        (0x1f_ff00_0750, 4, r, pc, 2),
        (0x1f_ff00_0748, 8, r, pc, 1),
        (0x1f_ff00_0748, 8, w, pc, 1),
    ];
    assert_eq!(found.refs(0), all);
}

#[test]
fn what_is_missing_is_said() {
    let found = imported_bytes(LOG.replace("==7== Exit code:       0\n", "hello\n").as_bytes()).unwrap();
    let m = found.data.manifest();
    assert!(!m.complete && m.ended.contains("1 line is") && m.ended.contains("last lines"), "{}", m.ended);
    let cut = &LOG.as_bytes()[..LOG.find(",4\n").unwrap()];
    assert!(!imported_bytes(cut).unwrap().data.manifest().complete);
}

#[test]
fn what_is_no_evidence_is_refused() {
    assert!(refused(b"==7== Lackey, an example Valgrind tool\nI  0401ab70,3\n").contains("no line of a load"));
    assert!(refused(format!("{LOG}==8== Lackey,\n").as_bytes()).contains("several processes"));
    // A line without an end takes no memory and becomes nothing.
    let long = format!("{LOG}{}", "x".repeat(3 << 18));
    assert!(!imported_bytes(long.as_bytes()).unwrap().data.manifest().complete);
    let inside = format!("{LOG}{}\n L 1000,8\n", "x".repeat(3 << 18));
    assert_eq!(imported_bytes(inside.as_bytes()).unwrap().summary.references, 5);
}

#[test]
fn lines_are_exactly_what_lackey_writes() {
    let line = |what, addr, size| Line { what, addr, size };
    assert_eq!(parse(b"I  0401ab70,3\nI  "), Some((line(What::Instruction, 0x401_ab70, 3), 14)));
    assert_eq!(parse(b" M ffffffffffffffff,512\n"), Some((line(What::Modify, u64::MAX, 512), 24)));
    for bad in
        ["I  0401ab70,3", "I 0401ab70,3\n", " L ,8\n", " L 10,\n", " L 10,0\n", " L 10000000000000000,8\n", " L 1G,8\n"]
    {
        assert_eq!(parse(bad.as_bytes()), None, "{bad}");
    }
    assert_eq!(parse(b" S 10,9999999999\n"), None);
    assert!(begins_log(b"out of order\n==1== Lackey, an example Valgrind tool\n") && !begins_log(b"==1== Memcheck,\n"));
}
