//! Interrupts that reach threads of other processes.
use crate::support::{Case, GOOD, end_of};
use homenode_sys::fork::{Forked, fork_alone, thread_id};
use homenode_sys::interrupt::{blocked, interrupt, on_interrupt};
use homenode_sys::words::{Words, memory_file};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) const CASES: &[Case] = &[
    ("an interrupt reaches a computing thread elsewhere", reaches),
    ("blocked delays it, also nested and after a panic", delays),
    ("system calls go on", restarts),
    ("who has ended is not interrupted", ended),
];

static SERVED: AtomicU64 = AtomicU64::new(0);
fn serve() {
    SERVED.fetch_add(1, Ordering::Relaxed);
}

fn wait_for(word: &AtomicU64, value: u64) {
    let start = Instant::now();
    while word.load(Ordering::Acquire) != value {
        assert!(start.elapsed() < Duration::from_secs(30), "{} is not {value}", word.load(Ordering::Relaxed));
        std::thread::yield_now();
    }
}

/// Of several threads, the one that is meant.
fn reaches() {
    let shared = Words::of_file(&memory_file("shared", 4096).unwrap(), 0, 512).unwrap();
    let (thread, served, end) = (&shared[0], &shared[1], &shared[2]);
    match fork_alone().unwrap() {
        Forked::Child => {
            static BY: AtomicU64 = AtomicU64::new(0);
            on_interrupt(|| {
                serve();
                BY.store(thread_id().into(), Ordering::Relaxed);
            })
            .unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    thread.store(thread_id().into(), Ordering::Release);
                    // Computes: no system call, no sleep.
                    while end.load(Ordering::Acquire) == 0 {
                        served.store(SERVED.load(Ordering::Relaxed), Ordering::Release);
                    }
                    assert_eq!(BY.load(Ordering::Relaxed), u64::from(thread_id()));
                });
            });
            std::process::exit(0);
        }
        Forked::Parent(child) => {
            let start = Instant::now();
            while thread.load(Ordering::Acquire) == 0 {
                assert!(start.elapsed() < Duration::from_secs(30));
            }
            for count in 1..=100 {
                assert!(interrupt(child, thread.load(Ordering::Relaxed) as u32).unwrap());
                wait_for(served, count);
            }
            end.store(1, Ordering::Release);
            assert_eq!(end_of(child), GOOD);
        }
    }
}

fn delays() {
    on_interrupt(serve).unwrap();
    let count = || SERVED.load(Ordering::Relaxed);
    let hit = || assert!(interrupt(std::process::id(), thread_id()).unwrap());
    hit();
    assert_eq!(count(), 1);
    let inside = blocked(|| {
        hit();
        blocked(hit);
        count()
    });
    assert_eq!((inside, count()), (1, 3), "not inside, and each that was sent afterwards");
    std::panic::set_hook(Box::new(|_| {}));
    let panicked = std::panic::catch_unwind(|| blocked(|| hit_and_panic(&hit)));
    assert!(panicked.is_err());
    assert_eq!(count(), 4);
    hit();
    assert_eq!(count(), 5, "and it is not blocked any more");
}

fn hit_and_panic(hit: &dyn Fn()) {
    hit();
    panic!("on purpose");
}

fn restarts() {
    on_interrupt(|| {
        serve();
        // SAFETY: a call that fails and so changes errno.
        unsafe { libc::close(-1) };
    })
    .unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (own, process) = (thread_id(), std::process::id());
    let other = std::thread::spawn(move || {
        for _ in 0..20 {
            assert!(interrupt(process, own).unwrap());
            std::thread::sleep(Duration::from_millis(2));
        }
        writer.write_all(b"x").unwrap();
    });
    let mut byte = [0_u8];
    // A single read(2), which no standard library repeats.
    assert_eq!(rustix::io::read(&reader, &mut byte), Ok(1));
    other.join().unwrap();
    assert_eq!(SERVED.load(Ordering::Relaxed), 20);
    // SAFETY: errno of this thread.
    unsafe { *libc::__errno_location() = 77 };
    assert!(interrupt(process, own).unwrap());
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(77));
}

fn ended() {
    let Forked::Parent(child) = fork_alone().unwrap() else { std::process::exit(0) };
    assert_eq!(end_of(child), GOOD);
    assert!(!interrupt(child, child).unwrap());
    let thread = std::thread::spawn(thread_id).join().unwrap();
    let start = Instant::now();
    // A thread that has been joined may exist a moment longer; the signal goes to nobody.
    while interrupt(std::process::id(), thread).unwrap() {
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
