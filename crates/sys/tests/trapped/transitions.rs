//! What is allowed and what is trapped, from every state to every state.
use crate::support::{
    AT, BOTH, Case, GOOD, Numbers, PAGE, heap, in_child, last_address, load, store, trapped, watch, word,
};
use homenode_sys::views::{Allowed, Traps, Views};
use std::sync::Barrier;
use std::sync::atomic::Ordering;

pub(crate) const CASES: &[Case] = &[
    ("every transition of one page", every_transition),
    ("ranges of mixed states", mixed_ranges),
    ("ranges of mixed states, large pages", mixed_ranges_large),
    ("many scattered pages at a time", scattered),
    ("both views show the same words, and content survives", same_words),
    ("two threads fault at once on a page", two_threads),
    ("threads allow neighbouring pages", neighbours),
    ("pages that the kernel took out are allowed again", taken_out),
    ("pages that the file lost are made again", holes),
];

const STATES: [Allowed; 3] = [Allowed::Nothing, Allowed::Reading, Allowed::Writing];

/// Reads and writes that this access makes the handler see.
fn expected(state: Allowed, write: bool) -> (usize, usize) {
    match (state, write) {
        (Allowed::Nothing, false) => (1, 0),
        (Allowed::Nothing | Allowed::Reading, true) => (0, 1),
        _ => (0, 0),
    }
}

fn for_both(body: fn(Traps)) {
    for traps in BOTH {
        assert_eq!(in_child(|| body(traps)), GOOD, "{traps:?}");
    }
}

fn every_transition() {
    for_both(|traps| {
        // Pages that the file has, and pages that it does not have yet.
        let views = heap(100, PAGE, traps);
        assert_eq!(views.traps(), traps);
        let mut page = 0;
        for present in [false, true] {
            for (from, to, write) in
                STATES.iter().flat_map(|f| STATES.map(|t| (f, t))).flat_map(|(f, t)| [false, true].map(|w| (*f, t, w)))
            {
                if present {
                    word(views, page as usize * PAGE).store(5, Ordering::Relaxed);
                }
                views.allow(page, 1, from).unwrap();
                views.allow(page, 1, to).unwrap();
                let address = AT + page as usize * PAGE + 8 * 7;
                if write {
                    store(address, 9);
                } else {
                    load(address);
                }
                assert_eq!(trapped(), expected(to, write), "{from:?} to {to:?}, write {write}, present {present}");
                if expected(to, write) != (0, 0) {
                    assert_eq!(last_address(), address);
                }
                assert_eq!(load(address), if write { 9 } else { 0 });
                assert_eq!(load(AT + page as usize * PAGE), if present { 5 } else { 0 });
                page += 1;
            }
        }
        assert_eq!(page, 36);
    });
}

fn mixed_ranges() {
    for_both(|traps| walk(heap(24, PAGE, traps), 20_000));
}
fn mixed_ranges_large() {
    for_both(|traps| walk(heap(24, 4 * PAGE, traps), 5_000));
}

/// Allows this and that for random ranges, with accesses in between, beside a list of what must be allowed.
fn walk(views: &Views, steps: usize) {
    let (pages, bytes) = ((views.bytes() as usize) / views.page_bytes(), views.page_bytes());
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut states = vec![Allowed::Nothing; pages];
    let mut content = vec![0; pages * bytes / PAGE];
    for step in 0..steps {
        let first = numbers.below(pages);
        let many = 1 + numbers.below(pages - first);
        let what = STATES[numbers.below(3)];
        if numbers.below(4) == 0 {
            let some: Vec<u32> = (0..many as u32).map(|_| numbers.below(pages) as u32).collect();
            views.forbid(&some).unwrap();
            some.iter().for_each(|page| states[*page as usize] = Allowed::Nothing);
        } else {
            views.allow(first as u32, many as u32, what).unwrap();
            states[first..first + many].fill(what);
        }
        for _ in 0..numbers.below(6) {
            let (place, write) = (numbers.below(content.len()), numbers.below(2) == 1);
            let page = place * PAGE / bytes;
            if write {
                content[place] = step as u64;
                store(AT + place * PAGE, step as u64);
            } else {
                assert_eq!(load(AT + place * PAGE), content[place]);
            }
            assert_eq!(trapped(), expected(states[page], write), "step {step}, page {page} {:?}", states[page]);
            assert_eq!(word(views, place * PAGE).load(Ordering::Relaxed), content[place]);
            states[page] = states[page].max(if write { Allowed::Writing } else { Allowed::Reading });
        }
    }
}

/// More ranges than one request takes.
fn scattered() {
    for_both(|traps| {
        let views = heap(1000, PAGE, traps);
        views.allow(0, 1000, Allowed::Writing).unwrap();
        let pages: Vec<u32> = (0..1000).filter(|p| p % 7 < 2 || p % 11 == 3).collect();
        views.forbid(&pages).unwrap();
        views.forbid(&[]).unwrap();
        for page in 0..1000 {
            store(AT + page as usize * PAGE, 1);
            assert_eq!(trapped(), (0, usize::from(pages.contains(&page))), "{page}");
        }
        assert!(views.forbid(&[0, 1000]).is_err() && views.forbid(&[u32::MAX]).is_err());
        load(AT);
        assert_eq!(trapped(), (0, 0), "refused as a whole");
    });
}

fn same_words() {
    for_both(|traps| {
        let views = heap(4, PAGE, traps);
        word(views, 8).store(1, Ordering::Relaxed);
        assert_eq!(load(AT + 8), 1);
        store(AT + 16, 2);
        assert_eq!(word(views, 16).load(Ordering::Relaxed), 2);
        for what in [Allowed::Nothing, Allowed::Reading, Allowed::Nothing, Allowed::Writing, Allowed::Nothing] {
            views.allow(0, 4, what).unwrap();
            word(views, 24).fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!((load(AT + 8), load(AT + 16), load(AT + 24)), (1, 2, 5));
        assert!(views.allow(4, 1, Allowed::Reading).is_err() && views.allow(0, u32::MAX, Allowed::Nothing).is_err());
        views.allow(4, 0, Allowed::Reading).unwrap();
    });
}

fn two_threads() {
    for_both(|traps| {
        const ROUNDS: usize = 3_000;
        let views = heap(2, PAGE, traps);
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let start = &start;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        if start.wait().is_leader() {
                            views.allow(0, 2, Allowed::Nothing).unwrap();
                        }
                        start.wait();
                        // Both write in even rounds; in odd ones one reads what nobody writes.
                        if thread == 0 || round % 2 == 0 {
                            store(AT + 8 * thread, round as u64 + 1);
                        } else {
                            assert_eq!(load(AT + 64), 0);
                        }
                    }
                });
            }
        });
        let (reads, writes) = trapped();
        assert!(writes >= ROUNDS && reads + writes >= ROUNDS, "{reads} {writes}");
        assert_eq!((load(AT), load(AT + 8)), (ROUNDS as u64, ROUNDS as u64 - 1));
    });
}

/// Pages of two threads alternate: no request may touch what belongs to the other.
fn neighbours() {
    for_both(|traps| {
        let views = heap(64, PAGE, traps);
        std::thread::scope(|scope| {
            for thread in 0..2_usize {
                scope.spawn(move || {
                    let mut numbers = Numbers(77 + thread as u64);
                    for round in 0..20_000 {
                        let page = 2 * numbers.below(32) + thread;
                        views.allow(page as u32, 1, STATES[numbers.below(3)]).unwrap();
                        store(AT + page * PAGE, round);
                        assert_eq!(word(views, page * PAGE).load(Ordering::Relaxed), round);
                    }
                });
            }
        });
    });
}

/// Takes pages out of the application's view as the kernel does when memory is short.
fn taken_out() {
    let views = heap(8, PAGE, Traps::Userfaultfd);
    for what in [Allowed::Reading, Allowed::Writing] {
        for range in [0..8, 3..5] {
            views.allow(0, 8, what).unwrap();
            let out = range.clone();
            let at = (AT + out.start * PAGE) as *mut libc::c_void;
            // SAFETY: only page-table entries of the application's view go, whose pages the file keeps.
            assert_eq!(unsafe { libc::madvise(at, out.len() * PAGE, libc::MADV_DONTNEED) }, 0);
            // Once by the traps of single accesses, once by allowing all again.
            if range.len() == 2 {
                views.allow(0, 8, what).unwrap();
            }
            for page in 0..8 {
                load(AT + page * PAGE);
            }
            // The handler allows reading what could be written: it may have to do so twice.
            let reads = trapped().0;
            assert!(if range.len() == 2 { reads == 0 } else { reads == 8 || reads == 16 && what == Allowed::Writing });
            views.allow(0, 8, what).unwrap();
            for page in 0..8 {
                store(AT + page * PAGE, 1);
            }
            assert_eq!(trapped(), (0, if what == Allowed::Reading { 8 } else { 0 }));
        }
    }
}

fn holes() {
    use std::os::fd::AsRawFd;
    let file = homenode_sys::words::memory_file("holes", 8 * PAGE as u64).unwrap();
    let views = Views::map(&file, AT, 8 * PAGE as u64, PAGE, Some(Traps::Userfaultfd)).unwrap();
    let views = watch(views);
    for what in [Allowed::Reading, Allowed::Writing] {
        for page in 0..8 {
            store(AT + page * PAGE, 3);
        }
        let flags = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        for page in [1, 2, 5] {
            // SAFETY: the descriptor is open; the pages read as zero afterwards.
            let done = unsafe { libc::fallocate(file.as_raw_fd(), flags, page * PAGE as i64, PAGE as i64) };
            assert_eq!(done, 0);
        }
        trapped();
        views.allow(0, 8, what).unwrap();
        let found: Vec<u64> = (0..8).map(|page| load(AT + page * PAGE)).collect();
        // Making pages read-only that are not there any more leaves them to the traps.
        let left = if what == Allowed::Reading { 3 } else { 0 };
        assert_eq!((found, trapped()), (vec![3, 0, 0, 3, 3, 0, 3, 3], (left, 0)));
    }
}
