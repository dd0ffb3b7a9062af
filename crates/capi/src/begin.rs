//! Before `main`: the launcher's job is read and the process made a node; after it, the other nodes are told.
use crate::functions::end_node;
use crate::recorded;
use homenode_svm::job::{Hosts, JOB_ENV, Job};
use homenode_svm::transports::{Files, HostFiles};
use homenode_svm::{Border, Started, Trouble, exited, start};
use std::ffi::{OsStr, c_int, c_void};
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Environment variable by which the loader got this library, as the first of a list.
const PRELOAD_ENV: &str = "LD_PRELOAD";

/// Called by the loader before the program's own constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

// SAFETY: the C library's function has this type.
unsafe extern "C" {
    /// Calls `handler` with the status when the process ends by `exit` or by returning from `main`.
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn begin() {
    let Some(text) = std::env::var_os(JOB_ENV) else { return };
    let preloaded = std::env::var_os(PRELOAD_ENV).unwrap_or_default();
    set(JOB_ENV, None);
    set(PRELOAD_ENV, after_first(&preloaded));
    // SAFETY: `at_exit` has the type that on_exit(3) wants, and lives as long as the process, for this library is never unloaded.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    match read(&text).and_then(|(job, files)| start(job, files, Border { call, end })) {
        Err(why) => crate::give_up(&why),
        // The program runs on another host, and nothing of it but its threads here.
        Ok(Started::Node) => end_node(),
        Ok(Started::Program) => {}
    }
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    exited(status);
}

/// What follows the first entry of a list of libraries to preload.
fn after_first(list: &OsStr) -> Option<&OsStr> {
    let bytes = list.as_bytes();
    let end = bytes.iter().position(|b| matches!(b, b':' | b' '))?;
    Some(OsStr::from_bytes(&bytes[end + 1..]))
}

/// Sets a variable of the environment, or takes it out.
fn set(name: &str, value: Option<&OsStr>) {
    // SAFETY: the loader calls constructors in the process's only thread, before the program's own code runs.
    unsafe {
        match value {
            Some(value) => std::env::set_var(name, value),
            None => std::env::remove_var(name),
        }
    }
}

fn read(text: &OsStr) -> Result<(Job, Files), Trouble> {
    let bad = |why: String| Trouble::new(&format!("{JOB_ENV} is not what `homenode svm run` writes"), why);
    let job = text.to_str().ok_or_else(|| "it is no text".to_owned()).and_then(Job::parse).map_err(bad)?;
    let all = |numbers: &[c_int]| numbers.iter().map(|n| taken(*n)).collect::<io::Result<Vec<File>>>();
    let files = || {
        let (secret, plan) = (job.secret.map(taken).transpose()?, job.plan.map(taken).transpose()?);
        let hosts = job.hosts.as_ref().map(of_hosts).transpose()?;
        let mailboxes = job.mailbox.map(taken).transpose()?.into_iter().collect();
        Ok(Files {
            heaps: all(&job.heaps)?,
            regions: all(&job.regions)?,
            secret,
            plan,
            mailboxes,
            journals: all(&job.journals)?,
            hosts,
        })
    };
    let files = files().map_err(|e: io::Error| bad(format!("a descriptor cannot be used: {e}")))?;
    let of_hosts = job.hosts.iter().flat_map(|h| [Some(h.listening), Some(h.image), h.gate]).flatten();
    let of_all = job
        .heaps
        .iter()
        .chain(&job.regions)
        .chain(&job.secret)
        .chain(&job.plan)
        .chain(&job.journals)
        .chain(&job.mailbox);
    for number in of_all.copied().chain(of_hosts) {
        // SAFETY: the launcher opened these for this process alone, they were open a moment ago, and nothing in it owns them.
        unsafe { libc::close(number) };
    }
    Ok((job, files))
}

fn of_hosts(job: &Hosts) -> io::Result<HostFiles> {
    let (listening, gate) = (taken(job.listening)?, job.gate.map(taken).transpose()?);
    let listening = TcpListener::from(OwnedFd::from(listening));
    Ok(HostFiles { me: job.me, listening, image: taken(job.image)?, gate, peers: job.peers.clone() })
}

/// A descriptor of our own for the file behind one of the launcher's, which programs that this one starts do not inherit.
fn taken(number: c_int) -> io::Result<File> {
    // SAFETY: fcntl takes plain numbers, and F_GETFD changes nothing.
    if number < 0 || unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, as just seen, and stays so during this call: there is one thread.
    let theirs = unsafe { BorrowedFd::borrow_raw(number) };
    Ok(File::from(theirs.try_clone_to_owned()?))
}

/// Calls a function of the program.
fn call(start: u64, argument: u64) {
    // SAFETY: `start` is what homenode_create was given by the program in this process or in the one it was forked from, so the same
    // function is there; its type is that of the declaration.
    let start = unsafe { std::mem::transmute::<usize, extern "C" fn(*mut c_void)>(start as usize) };
    recorded::in_thread(|| start(std::ptr::without_provenance_mut(argument as usize)));
}

fn end() -> ! {
    // SAFETY: _exit ends the process, also out of handlers of signals.
    unsafe { libc::_exit(1) }
}
