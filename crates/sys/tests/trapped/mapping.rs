//! Where views can be mapped, how large they may be, and what happens at limits.
use crate::support::{AT, BOTH, Case, GOOD, PAGE, heap, in_child, load, store, trapped, watch, word};
use homenode_sys::trap::on_trap;
use homenode_sys::views::{Allowed, Traps, Views};
use homenode_sys::words::memory_file;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

pub(crate) const CASES: &[Case] = &[
    ("only whole pages at free addresses are mapped", refusals),
    ("a dropped heap leaves nothing mapped", dropped),
    ("a heap of 64 GiB takes what is touched", large),
    ("traps that nobody chose, and on ordinary files", unforced),
    ("one mapping with userfaultfd, a clear limit with mprotect", limits),
    ("system calls on trapped memory fail", system_calls),
    ("errno survives a trap, and deferred signals wait", quiet),
];

fn refusals() {
    let file = memory_file("f", 1 << 20).unwrap();
    for traps in BOTH {
        let kind = |at, bytes, page| Views::map(&file, at, bytes, page, Some(traps)).unwrap_err().kind();
        for (at, bytes, page) in [
            (AT + 8, 4096, 4096),
            (AT, 4095, 4096),
            (AT, 0, 4096),
            (AT, 4096, 0),
            (AT, 4096, 2048),
            (AT, 4096, 8192),
            (AT + 4096, 8192, 8192),
            (0, 4096, 4096),
            (usize::MAX - 4095, 4096, 4096),
            (AT, u64::MAX - 4095, 4096),
        ] {
            assert_eq!(kind(at, bytes, page), ErrorKind::InvalidInput, "{at:#x} {bytes} {page}");
        }
        assert_eq!(kind(AT, (1 << 20) + 4096, 4096), ErrorKind::InvalidData);
        let taken = (refusals as *const () as usize) & !4095;
        assert_eq!(kind(taken, 4096, 4096), ErrorKind::AddrInUse);
        let _first = Views::map(&file, AT, 1 << 20, 4096, Some(traps)).unwrap();
        assert_eq!(kind(AT, 1 << 20, 4096), ErrorKind::AddrInUse);
        assert_eq!(kind(AT + (1 << 19), 1 << 20, 4096), ErrorKind::AddrInUse);
        assert!(!Views::address_free(AT, 4096) && Views::address_free(AT + (1 << 20), 4096));
    }
    assert!(!Views::address_free(0, 4096) && !Views::address_free(AT, 0) && !Views::address_free(AT, u64::MAX));
}

fn mappings_between(start: usize, end: usize) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let starts = maps.lines().filter_map(|l| usize::from_str_radix(l.split('-').next()?, 16).ok());
    starts.filter(|s| (start..end).contains(s)).count()
}

fn dropped() {
    for traps in BOTH {
        let handles = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = (mappings_between(0, usize::MAX), handles());
        for _ in 0..100 {
            let file = memory_file("f", 1 << 20).unwrap();
            let views = Views::map(&file, AT, 1 << 20, 4096, Some(traps)).unwrap();
            views.allow(3, 7, Allowed::Writing).unwrap();
            assert!(!Views::address_free(AT, 4096));
        }
        assert!(Views::address_free(AT, 1 << 20));
        let after = (mappings_between(0, usize::MAX), handles());
        // The allocator may have taken a mapping more.
        assert!(after.0 <= before.0 + 2 && after.1 == before.1, "{before:?} {after:?}");
    }
}

fn large() {
    for traps in BOTH {
        let run = || {
            let views = heap((64 << 30) / PAGE as u64, PAGE, traps);
            views.allow(0, 1 << 24, Allowed::Nothing).unwrap();
            let end = AT + (64 << 30);
            store(end - 8, 7);
            views.allow((1 << 24) - 2, 2, Allowed::Reading).unwrap();
            assert_eq!((load(end - 8), load(end - PAGE - 8), trapped()), (7, 0, (0, 1)));
            assert_eq!(word(views, (64 << 30) - 8).load(Ordering::Relaxed), 7);
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let resident = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
            let kib: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(kib < 64 << 10, "{kib} KiB");
        };
        assert_eq!(in_child(run), GOOD, "{traps:?}");
    }
}

fn unforced() {
    let file = memory_file("f", 8192).unwrap();
    let views = Views::map(&file, AT, 8192, 4096, None).unwrap();
    assert_eq!(views.traps(), Traps::Userfaultfd, "this host has it");
    drop(views);
    let folder = std::env::current_dir().unwrap();
    let ordinary = tempfile::tempfile_in(folder).unwrap();
    ordinary.set_len(8192).unwrap();
    let error = Views::map(&ordinary, AT, 8192, 4096, Some(Traps::Userfaultfd)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let views = watch(Views::map(&ordinary, AT, 8192, 4096, None).unwrap());
    assert_eq!((views.traps(), load(AT), trapped()), (Traps::Mprotect, 0, (1, 0)));
}

fn limits() {
    let most: u32 = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    // Where somebody raised the limit, what is tested is that all goes well.
    let pairs = most.min(200_000) / 2 + 100;
    for traps in BOTH {
        let run = || {
            let views = heap(2 * u64::from(pairs), PAGE, traps);
            let result: io::Result<()> = (0..pairs).try_for_each(|i| views.allow(2 * i, 1, Allowed::Reading));
            if traps == Traps::Userfaultfd {
                result.unwrap();
                assert_eq!(mappings_between(AT, AT + views.bytes() as usize), 1);
            } else if most > 200_000 {
                result.unwrap();
            } else {
                // Here not even the allocator gets a mapping more.
                let error = result.unwrap_err();
                assert!(views.why(&error).unwrap().contains("max_map_count"), "{error}");
                views.allow(0, 2 * pairs, Allowed::Writing).unwrap();
                assert_eq!(mappings_between(AT, AT + views.bytes() as usize), 1);
            }
        };
        assert_eq!(in_child(run), GOOD, "{traps:?}");
    }
}

fn system_calls() {
    use std::os::fd::AsRawFd;
    for traps in BOTH {
        let run = || {
            heap(2, PAGE, traps);
            let (reader, writer) = io::pipe().unwrap();
            let (at, out, into) = (AT as *mut libc::c_void, writer.as_raw_fd(), reader.as_raw_fd());
            let failed =
                |result: isize| result == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT);
            // SAFETY: the kernel checks the addresses it is given.
            assert!(failed(unsafe { libc::write(out, at, 8) }));
            load(AT);
            // SAFETY: as above.
            assert_eq!(unsafe { libc::write(out, at, 8) }, 8);
            // SAFETY: as above.
            assert!(failed(unsafe { libc::read(into, at, 8) }));
            store(AT, 1);
            // SAFETY: as above; nothing of Rust refers to that memory.
            assert_eq!(unsafe { libc::write(out, at, 8) + libc::read(into, at, 8) }, 16);
            assert_eq!(trapped(), (1, 1));
        };
        assert_eq!(in_child(run), GOOD, "{traps:?}");
    }
}

static DEFERRED: AtomicI32 = AtomicI32::new(0);
static EARLY: AtomicBool = AtomicBool::new(false);

fn quiet() {
    use homenode_sys::interrupt;
    for traps in BOTH {
        let run = || {
            let file = memory_file("f", PAGE as u64).unwrap();
            let views = Box::leak(Box::new(Views::map(&file, AT, PAGE as u64, PAGE, Some(traps)).unwrap()));
            static VIEWS: std::sync::OnceLock<&Views> = std::sync::OnceLock::new();
            VIEWS.set(views).unwrap();
            interrupt::on_interrupt(|| {
                DEFERRED.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
            let resolve = |_: usize, _: bool| {
                // SAFETY: a signal to this thread, and a call that fails and so changes errno.
                unsafe { libc::raise(interrupt::signal()) };
                // SAFETY: as above.
                unsafe { libc::close(-1) };
                EARLY.store(DEFERRED.load(Ordering::Relaxed) != 0, Ordering::Relaxed);
                VIEWS.get().unwrap().allow(0, 1, Allowed::Writing).is_ok()
            };
            on_trap(resolve, Some(interrupt::signal())).unwrap();
            // SAFETY: errno of this thread.
            unsafe { *libc::__errno_location() = 77 };
            store(AT, 1);
            assert_eq!(io::Error::last_os_error().raw_os_error(), Some(77));
            assert_eq!((DEFERRED.load(Ordering::Relaxed), EARLY.load(Ordering::Relaxed)), (1, false));
        };
        assert_eq!(in_child(run), GOOD, "{traps:?}");
    }
}
