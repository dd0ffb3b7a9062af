//! Faults that are not the heap's: what was installed before decides.
use crate::support::{AT, BOTH, Case, GOOD, PAGE, heap, in_child, load, store, trapped};
use homenode_sys::process::Change;
use homenode_sys::trap::on_trap;
use homenode_sys::views::Traps;

pub(crate) const CASES: &[Case] = &[
    ("a null pointer kills as it would have", null_pointer),
    ("a handler of the program is called", own_handler),
    ("a handler of the program may repair and go on", repairing_handler),
    ("signals that processes send are no traps", sent),
    ("a heap works beside them, installed twice", twice),
];

/// An access to address 0.
fn fall() {
    load(std::hint::black_box(0));
}

/// What a program installed for SIGSEGV and SIGBUS, before the traps.
fn install(handler: libc::sighandler_t, flags: libc::c_int) {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: sigaction is a plain C struct for which all-zero is valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        (action.sa_sigaction, action.sa_flags) = (handler, flags);
        // SAFETY: tests pass the constants, or functions of the type that `flags` says.
        assert_eq!(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }, 0);
    }
}

fn null_pointer() {
    for traps in BOTH {
        // As Rust's runtime left it, by default, and ignored, which the kernel does not do with faults.
        for before in [None, Some(libc::SIG_DFL), Some(libc::SIG_IGN)] {
            let end = in_child(|| {
                if let Some(before) = before {
                    install(before, 0);
                }
                heap(1, PAGE, traps);
                store(AT, 1);
                fall();
            });
            assert_eq!(end, Change::Killed(libc::SIGSEGV), "{traps:?} {before:?}");
        }
    }
}

extern "C" fn leave(signal: libc::c_int) {
    // SAFETY: ends this process.
    unsafe { libc::_exit(if signal == libc::SIGSEGV { 42 } else { 43 }) };
}
extern "C" fn leave_with_info(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's siginfo_t is passed on.
    let address = unsafe { (*info).si_addr() };
    let good = signal == libc::SIGSEGV && address.is_null() && !context.is_null();
    // SAFETY: ends this process.
    unsafe { libc::_exit(if good { 44 } else { 45 }) };
}

fn own_handler() {
    for traps in BOTH {
        for (handler, flags, status) in
            [(leave as *const (), 0, 42), (leave_with_info as *const (), libc::SA_SIGINFO, 44)]
        {
            let end = in_child(|| {
                install(handler as libc::sighandler_t, flags);
                heap(1, PAGE, traps);
                store(AT, 1);
                assert_eq!(trapped(), (0, 1));
                fall();
            });
            assert_eq!(end, Change::Exited(status), "{traps:?}");
        }
    }
}

const REPAIRED: usize = AT + (1 << 30);

extern "C" fn repair(_signal: libc::c_int) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: maps where nothing is.
    unsafe { libc::mmap(REPAIRED as *mut libc::c_void, PAGE, protection, flags, -1, 0) };
}

fn repairing_handler() {
    install(repair as *const () as libc::sighandler_t, 0);
    heap(1, PAGE, Traps::Userfaultfd);
    store(REPAIRED, 5);
    store(AT, 6);
    assert_eq!((load(REPAIRED), load(AT), trapped()), (5, 6, (0, 1)));
}

fn sent() {
    let with = |before, signal| {
        in_child(|| {
            install(before, 0);
            heap(1, PAGE, Traps::Userfaultfd);
            // SAFETY: a signal to this thread.
            unsafe { libc::raise(signal) };
            store(AT, 1);
            assert_eq!(trapped(), (0, 1));
        })
    };
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        assert_eq!(with(libc::SIG_DFL, signal), Change::Killed(signal));
        assert_eq!(with(libc::SIG_IGN, signal), GOOD);
    }
}

fn twice() {
    install(leave as *const () as libc::sighandler_t, 0);
    let end = in_child(|| {
        on_trap(|_, _| false, None).unwrap();
        heap(1, PAGE, Traps::Mprotect);
        store(AT, 1);
        fall();
    });
    assert_eq!(end, Change::Exited(42), "the program's handler, not this one calling itself");
}
