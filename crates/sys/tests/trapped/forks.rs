//! Children with a heap of their own at the same address.
use crate::support::{AT, BOTH, Case, GOOD, PAGE, end_of, heap, in_child, load, store, trapped, watch, word};
use homenode_sys::fork::{Forked, die_with_parent, fork_alone, thread_id};
use homenode_sys::views::{Allowed, Traps, Views};
use homenode_sys::words::memory_file;
use std::io::{self, ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("a child has its own heap and the parent's globals", own_heap),
    ("an inherited heap can be dropped after it was replaced", dropped_after),
    ("a child leaves its parent's heap and keeps nothing of it", left),
    ("threads that were joined do not hinder a fork", joined),
    ("a second thread does", second_thread),
    ("a child dies with its parent", dies),
    ("a child may use threads and locks", child_works),
];

static GLOBAL: AtomicU64 = AtomicU64::new(1);
const BYTES: u64 = 16 * PAGE as u64;

fn own_heap() {
    for traps in BOTH {
        let run = || {
            let views = heap(16, PAGE, traps);
            store(AT, 10);
            GLOBAL.store(2, Ordering::Relaxed);
            trapped();
            let end = in_child(|| {
                assert_eq!(GLOBAL.swap(3, Ordering::Relaxed), 2, "as the parent left it");
                let file = memory_file("child", BYTES).unwrap();
                let own = watch(Views::map(&file, AT, BYTES, PAGE, Some(traps)).unwrap());
                assert_eq!((load(AT), trapped()), (0, (1, 0)), "nothing is allowed at first");
                store(AT, 20);
                own.allow(0, 16, Allowed::Reading).unwrap();
                store(AT + 8 * PAGE, 21);
                assert_eq!(trapped(), (0, 2));
                assert_eq!(word(own, 0).load(Ordering::Relaxed), 20);
                assert_eq!(views.allow(0, 1, Allowed::Writing).unwrap_err().kind(), ErrorKind::PermissionDenied);
                assert_eq!(word(views, 0).load(Ordering::Relaxed), 10, "the parent's is still there, elsewhere");
            });
            assert_eq!(end, GOOD);
            assert_eq!((load(AT), GLOBAL.load(Ordering::Relaxed), trapped()), (10, 2, (0, 0)));
            store(AT + 8 * PAGE, 11);
            assert_eq!((load(AT + 8 * PAGE), trapped()), (11, (0, 1)), "what the child allowed does not count here");
        };
        assert_eq!(in_child(run), GOOD, "{traps:?}");
    }
}

fn dropped_after() {
    for traps in BOTH {
        let file = memory_file("parent", BYTES).unwrap();
        let inherited = Views::map(&file, AT, BYTES, PAGE, Some(traps)).unwrap();
        let end = in_child(|| {
            let file = memory_file("child", BYTES / 2).unwrap();
            let own = Views::map(&file, AT, BYTES / 2, PAGE, Some(traps)).unwrap();
            drop(inherited);
            own.allow(0, 8, Allowed::Writing).unwrap();
            store(AT, 3);
            assert_eq!((load(AT), word(&own, 0).load(Ordering::Relaxed)), (3, 3));
            drop(own);
            assert!(Views::address_free(AT, BYTES));
        });
        assert_eq!(end, GOOD, "{traps:?}");
        // The parent's copy was moved into the closure, and dropped with it in the parent, too.
        assert!(Views::address_free(AT, BYTES));
    }
}

fn left() {
    for traps in BOTH {
        let file = memory_file("of the parent", BYTES).unwrap();
        let views = Views::map(&file, AT, BYTES, PAGE, Some(traps)).unwrap();
        views.allow(0, 16, Allowed::Writing).unwrap();
        store(AT, 10);
        drop(file);
        assert_eq!(views.detach().unwrap_err().kind(), ErrorKind::PermissionDenied, "its own");
        let end = in_child(|| {
            views.detach().unwrap();
            let file = memory_file("of the child", BYTES).unwrap();
            let own = watch(Views::map(&file, AT, BYTES, PAGE, Some(traps)).unwrap());
            own.allow(0, 16, Allowed::Writing).unwrap();
            store(AT, 20);
            word(&views, 0).store(30, Ordering::Relaxed);
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            assert!(maps.contains("of the child") && !maps.contains("of the parent"), "{maps}");
            let open =
                |entry: io::Result<std::fs::DirEntry>| std::fs::read_link(entry.unwrap().path()).unwrap_or_default();
            let open: Vec<_> = std::fs::read_dir("/proc/self/fd").unwrap().map(open).collect();
            let faults = open.iter().filter(|to| to.to_string_lossy().contains("userfaultfd")).count();
            assert_eq!(faults, usize::from(traps == Traps::Userfaultfd), "its own alone: {open:?}");
        });
        assert_eq!(end, GOOD, "{traps:?}");
        assert_eq!((load(AT), word(&views, 0).load(Ordering::Relaxed)), (10, 10));
    }
}

fn joined() {
    for _ in 0..100 {
        let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(thread_id)).collect();
        let ids: Vec<u32> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert!(!ids.contains(&thread_id()));
        assert_eq!(in_child(|| assert_eq!(thread_id(), std::process::id())), GOOD);
    }
}

fn second_thread() {
    let (tell, wait) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || wait.recv().is_ok());
    let error = fork_alone().unwrap_err();
    assert!(error.kind() == ErrorKind::ResourceBusy && error.to_string().contains("2 threads"), "{error}");
    drop(tell);
    other.join().unwrap();
    assert_eq!(in_child(|| ()), GOOD);
}

fn dies() {
    let (mut reader, writer) = io::pipe().unwrap();
    let (mut ready, said) = io::pipe().unwrap();
    let Forked::Parent(middle) = fork_alone().unwrap() else {
        if fork_alone().unwrap() == Forked::Child {
            die_with_parent().unwrap();
            drop(said);
            std::thread::sleep(Duration::from_secs(100));
            std::process::exit(0);
        }
        drop((said, writer));
        // End of file: the other has arranged its death and let go.
        ready.read_to_end(&mut Vec::new()).unwrap();
        std::process::exit(0);
    };
    drop((writer, said));
    assert_eq!(end_of(middle), GOOD);
    let start = std::time::Instant::now();
    reader.read_to_end(&mut Vec::new()).unwrap();
    assert!(start.elapsed() < Duration::from_secs(50), "end of file, since the last writer was killed");
}

fn child_works() {
    let before = std::sync::Mutex::new(vec![1, 2, 3]);
    let end = in_child(|| {
        let sum: i32 = std::thread::scope(|s| s.spawn(|| before.lock().unwrap().iter().sum()).join().unwrap());
        assert_eq!((sum, format!("{:?}", std::env::current_dir().is_ok())), (6, "true".to_owned()));
    });
    assert_eq!(end, GOOD);
}
