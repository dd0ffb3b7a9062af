//! The handler of trapped accesses: SIGBUS and SIGSEGV, as [`crate::views`] make them happen.
//!
//! A fault that is not ours (a null pointer of the program) goes to the handler that was installed before, so that the
//! program dies, or recovers, as it would have. That handler runs on the ordinary stack and with the signals blocked that
//! were given here.
use crate::check;
use crate::interrupt::{keep_errno, set_of};
use std::io;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What resolves a trapped access to `address`. True: the access is to be tried again; false: the fault is not ours.
pub type OnTrap = fn(address: usize, is_write: bool) -> bool;

/// The signals: userfaultfd makes the first, mprotect the second.
const SIGNALS: [libc::c_int; 2] = [libc::SIGBUS, libc::SIGSEGV];
static HANDLER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
/// What was installed before, by signal.
static BEFORE: [OnceLock<Action>; 2] = [const { OnceLock::new() }; 2];

struct Action(libc::sigaction);

/// From now on `handler` is asked about every SIGBUS and SIGSEGV that an access of this process causes, in the thread that
/// accessed, on its stack. Signals of the numbers in `defer` wait while it runs. errno is the same afterwards. A later call
/// replaces the handler. It may do only what is allowed in a signal handler, but since the fault is that of an access to
/// trapped memory it knows that the thread holds no lock other than those that are held around such accesses.
///
/// `is_write` is exact on x86-64; on other processors, where it is not known, it is true.
///
/// # Errors
/// What sigaction(2) says.
pub fn on_trap(handler: OnTrap, defer: Option<i32>) -> io::Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    HANDLER.store(handler as *mut (), Ordering::Release);
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        // SAFETY: sigaction is a plain C struct for which all-zero means default action, no flags, empty mask.
        let (mut old, mut new): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
        // SAFETY: a null new action only reads the current one into `old`.
        check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut old) })?;
        let ours = trapped as *const () as libc::sighandler_t;
        if old.sa_sigaction != ours {
            // What was there when we first came stays; a handler that came after us may call us.
            before.get_or_init(|| Action(old));
        }
        new.sa_sigaction = ours;
        // No alternate stack: a protocol needs more than the few pages that threads have there.
        new.sa_flags = libc::SA_SIGINFO;
        new.sa_mask = set_of(defer.as_slice());
        // SAFETY: `trapped` keeps errno, allocates nothing and calls what the caller says may run in a signal handler.
        check(unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) })?;
    }
    Ok(())
}

extern "C" fn trapped(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    keep_errno(|| {
        // SAFETY: the kernel passes a valid siginfo_t to a handler with SA_SIGINFO.
        let code = unsafe { (*info).si_code };
        // Codes above 0 are of the kernel; others are of processes that sent the signal, and the address is none.
        if code > 0 {
            // SAFETY: as above; the union holds an address for these signals.
            let address = unsafe { (*info).si_addr() } as usize;
            let handler = HANDLER.load(Ordering::Acquire);
            // SAFETY: `on_trap` stored a function of this type before it installed this handler, and stores no others.
            let handler = unsafe { std::mem::transmute::<*mut (), OnTrap>(handler) };
            if handler(address, is_write(context)) {
                return;
            }
        }
        pass_on(signal, code > 0, info, context);
    });
}

#[cfg(target_arch = "x86_64")]
fn is_write(context: *mut libc::c_void) -> bool {
    /// Bit of the processor's page-fault error code: the access was a write.
    const WRITE: i64 = 1 << 1;
    // SAFETY: the kernel passes a valid ucontext_t to a handler with SA_SIGINFO.
    let error = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_ERR as usize] };
    error & WRITE != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_write(_context: *mut libc::c_void) -> bool {
    true
}

/// Does with the signal what would have been done without us.
fn pass_on(signal: libc::c_int, is_fault: bool, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = SIGNALS.iter().position(|s| *s == signal).and_then(|i| BEFORE[i].get());
    // `on_trap` fills these before it installs the handler.
    let Some(Action(before)) = before else { return };
    match before.sa_sigaction {
        libc::SIG_IGN if !is_fault => {}
        // The kernel kills for a fault that is ignored, too.
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: SIG_DFL installs no handler. The access is tried again when we return, and kills; a signal that a
            // process sent is sent again, and waits until then.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if !is_fault {
                    libc::raise(signal);
                }
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: whoever installed it with SA_SIGINFO gave a function of this type.
            let handler = unsafe { std::mem::transmute::<libc::sighandler_t, WithInfo>(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: whoever installed it without SA_SIGINFO gave a function of this type.
            let handler = unsafe { std::mem::transmute::<libc::sighandler_t, extern "C" fn(libc::c_int)>(handler) };
            handler(signal);
        }
    }
}
