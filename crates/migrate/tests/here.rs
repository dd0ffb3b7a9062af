//! What can be shown on any machine, one with a single node included.
use homenode_migrate::process::{self, Area, Balancing};
use homenode_migrate::{At, MigrateError, MoveStatus, Mover, Refusal, Request, where_are};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PAGES: u64 = 3000;

/// Touched memory and the addresses of its whole pages.
fn memory() -> (Vec<u8>, Vec<u64>) {
    let memory: Vec<u8> = (0..(PAGES + 1) * 4096).map(|i| (i / 4096 * 7) as u8).collect();
    let first = (memory.as_ptr() as u64).next_multiple_of(4096);
    (memory, (0..PAGES).map(|i| first + i * 4096).collect())
}

fn sleeper() -> Child {
    Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().expect("sleep is everywhere")
}

#[test]
fn every_page_gets_a_confirmed_verdict_and_keeps_its_bytes() {
    let (memory, pages) = memory();
    let homes = where_are(0, &pages).unwrap();
    let requests: Vec<Request> =
        pages.iter().zip(&homes).map(|(p, h)| Request { page: *p, node: h.node().expect("touched") }).collect();
    let mut move_statuses = vec![MoveStatus::Refused(Refusal::Busy); 3];
    for batch in [1, 7, 512, 100_000] {
        let spent = Mover::new(std::process::id()).batch(batch).run(&requests, None, &mut move_statuses);
        assert!(
            move_statuses.len() == requests.len() && move_statuses.iter().all(|f| *f == MoveStatus::Moved),
            "{move_statuses:?}"
        );
        assert!(spent.calls >= PAGES.div_ceil(batch as u64) && spent.ns > 0, "{spent:?}");
    }
    assert!(memory.iter().enumerate().all(|(i, b)| *b == (i as u64 / 4096 * 7) as u8));
}

#[test]
fn pages_that_cannot_move_are_refused_one_by_one_and_the_others_are_done() {
    let (_memory, pages) = memory();
    let home = where_are(0, &pages[..1]).unwrap()[0].node().expect("touched");
    let mut requests: Vec<Request> = pages.iter().map(|p| Request { page: *p, node: home }).collect();
    requests[5].page = 1 << 46;
    requests[700].node = 1000;
    requests[701].node = u32::MAX;
    let mut move_statuses = Vec::new();
    Mover::new(0).run(&requests, None, &mut move_statuses);
    for (i, move_status) in move_statuses.iter().enumerate() {
        let right = match i {
            5 => matches!(move_status, MoveStatus::Refused(Refusal::Absent | Refusal::Unmapped)),
            700 | 701 => *move_status == MoveStatus::Refused(Refusal::NodeForbidden),
            _ => *move_status == MoveStatus::Moved,
        };
        assert!(right, "{i}: {move_status:?}");
    }
    Mover::new(0).run(&requests, Some(Duration::ZERO), &mut move_statuses);
    assert!(move_statuses.iter().all(|f| *f == MoveStatus::Refused(Refusal::OutOfTime)));
}

#[test]
fn a_process_that_ends_is_a_refusal_of_each_page() {
    let mut child = sleeper();
    let pid = child.id();
    assert_eq!(where_are(pid, &[]).unwrap(), []);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut move_statuses = Vec::new();
    let requests = [Request { page: 0x1000, node: 0 }, Request { page: 0x2000, node: 0 }];
    Mover::new(pid).run(&requests, None, &mut move_statuses);
    assert_eq!(move_statuses, [MoveStatus::Refused(Refusal::ProcessGone); 2]);
    let gone = where_are(pid, &[0x1000]).unwrap_err();
    assert!(matches!(gone, MigrateError::Gone(p) if p == pid), "{gone}");
    assert!(process::numa_maps(pid).unwrap_err().to_string().contains("does not exist"));
}

#[test]
fn proc_tells_areas_threads_and_descendants() {
    let (memory, _) = memory();
    let me = std::process::id();
    let inside = |a: &Area| a.start <= memory.as_ptr() as u64 && (memory.as_ptr() as u64) < a.end;
    assert!(process::areas(0).unwrap().iter().any(inside));
    assert!(process::bytes_on_nodes(me).unwrap().values().sum::<u64>() >= PAGES * 4096);
    let mut child = sleeper();
    assert!(process::tree(me).is_superset(&[me, child.id()].into()));
    assert!(process::threads(me).iter().any(|(tid, _)| *tid == me));
    assert_eq!(process::user_of(me).unwrap(), process::user_of(child.id()).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(process::free_bytes(0).is_none_or(|b| b > 0));
    assert!(matches!(process::balancing(), Balancing::Absent | Balancing::Off | Balancing::On(_)));
    assert!(process::vmstat(&["pgfault"]).contains_key("pgfault"));
}

#[test]
fn texts_of_proc_are_read_and_nonsense_is_passed_over() {
    let smaps = "1000-3000 rw-p 00000000 00:00 0    [heap]\nAnonHugePages:  2048 kB\nKernelPageSize: 4 kB\n\
                 5000-4000 x\nzz\n200000-600000 rw-p 00000000 00:0f 5 /dev/hugepages/a b\nKernelPageSize: 2048 kB\n";
    let areas = process::parse_smaps(smaps);
    assert_eq!(areas.len(), 2, "{areas:?}");
    assert_eq!((areas[0].name.as_str(), areas[0].huge_bytes), ("[heap]", 2 << 20));
    assert_eq!((areas[1].name.as_str(), areas[1].huge_bytes), ("/dev/hugepages/a b", 4 << 20));
    let maps = "7f00 bind:0-1 anon=3 dirty=3 N0=1 N2=2 kernelpagesize_kB=4\nnonsense\n\
                9000 default file=/x huge N1=2 kernelpagesize_kB=2048\n";
    let areas = process::parse_numa_maps(maps);
    assert_eq!(areas.len(), 2, "{areas:?}");
    assert_eq!((areas[0].policy.as_str(), &areas[0].bytes_on), ("bind:0-1", &[(0, 4096), (2, 8192)].into()));
    assert_eq!(areas[1].bytes_on, [(1, 4 << 20)].into());
}

#[test]
fn where_pages_are_is_told_for_the_untouched_too() {
    let (_memory, pages) = memory();
    let found = where_are(0, &[pages[0], 1 << 46, pages[1]]).unwrap();
    assert!(matches!(found[..], [At::Node(_), At::Nowhere(_), At::Node(_)]), "{found:?}");
}
