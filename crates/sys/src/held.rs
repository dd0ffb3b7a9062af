//! Starting a program in two steps: first it exists and waits, then it runs. In between it can be observed from its first
//! instruction on.
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::JoinHandle;

/// A child process that waits before execve(2). Dropped without [`SuspendedChild::go`], it ends without having run anything.
#[derive(Debug)]
pub struct SuspendedChild {
    pid: u32,
    gate: Option<PipeWriter>,
    starter: Option<JoinHandle<io::Result<u32>>>,
}

/// Makes a child that will run `command` (program and arguments, looked up in PATH) as leader of a new process group with
/// extra environment variables, once [`SuspendedChild::go`] says so.
///
/// # Errors
/// No command, or the system has no process, thread or pipe left. What execve(2) says comes from [`SuspendedChild::go`].
pub fn hold(command: &[OsString], environment: &[(OsString, OsString)]) -> io::Result<SuspendedChild> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command given"))?;
    let (gate_reader, gate) = io::pipe()?;
    let (mut pid_reader, pid_writer) = io::pipe()?;
    let mut start = Command::new(program);
    start.args(arguments).process_group(0);
    start.envs(environment.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value))));
    wait_in_child(&mut start, gate_reader, gate.as_raw_fd(), pid_writer);
    // `spawn` returns when the program runs or cannot, so it needs a thread of its own. The command, and with it the
    // writing end for the process id, is gone when that thread ends: the read below never waits for nothing.
    let starter = std::thread::Builder::new().spawn(move || start.spawn().map(|child| child.id()))?;
    let mut held = SuspendedChild { pid: 0, gate: Some(gate), starter: Some(starter) };
    let mut pid = [0; 4];
    match pid_reader.read_exact(&mut pid) {
        Ok(()) => held.pid = u32::from_ne_bytes(pid),
        // The fork failed: the starter knows why.
        Err(error) => return Err(held.go().err().unwrap_or(error)),
    }
    Ok(held)
}

fn wait_in_child(start: &mut Command, gate: PipeReader, gate_of_parent: RawFd, pid: PipeWriter) {
    let wait = move || {
        // SAFETY: this runs in the child between fork and exec, in its own copy of the descriptor table, where nobody else
        // uses this number; the parent's end stays open. Without this the child would wait for itself if the parent died.
        unsafe { libc::close(gate_of_parent) };
        (&pid).write_all(&std::process::id().to_ne_bytes())?;
        let mut go = [0];
        match (&gate).read(&mut go)? {
            1 => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::ECANCELED)),
        }
    };
    // SAFETY: the closure only calls close, getpid, write and read, all of which may be called between fork and exec of a
    // process with threads; it allocates nothing and takes no lock.
    unsafe { start.pre_exec(wait) };
}

impl SuspendedChild {
    /// Process id of the child, which is also its group's.
    pub fn pid(&self) -> u32 {
        self.pid
    }
    /// Lets it run. Returns its process id.
    ///
    /// # Errors
    /// What execvp(3) says: not found, permission denied, not an executable format.
    pub fn go(mut self) -> io::Result<u32> {
        if let Some(mut gate) = self.gate.take() {
            // If this fails, nobody waits any more, and the starter says why.
            let _ = gate.write_all(&[1]);
        }
        let starter = self.starter.take().expect("taken only here and in drop, which come once");
        starter.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts programs panicked")))
    }
}

impl Drop for SuspendedChild {
    fn drop(&mut self) {
        self.gate = None;
        if let Some(starter) = self.starter.take() {
            // It reaps the child, which ends because the gate is gone; its error says just that.
            let _ = starter.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Change, PidFd, Polled, Whom, alive, poll_child};
    use std::time::Duration;

    fn words(text: &[&str]) -> Vec<OsString> {
        text.iter().map(OsString::from).collect()
    }

    #[test]
    fn it_waits_until_told_and_then_runs_under_the_same_number() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("ran");
        let script = format!("echo $$ $HN_HELD > {}; exit 7", mark.display());
        let held = hold(&words(&["sh", "-c", &script]), &[("HN_HELD".into(), "x".into())]).unwrap();
        let pid = held.pid();
        std::thread::sleep(Duration::from_millis(30));
        assert!(alive(pid) && !mark.exists());
        assert_eq!(held.go().unwrap(), pid);
        assert!(PidFd::open(pid).unwrap().wait(Duration::from_secs(20)));
        assert_eq!(poll_child(Whom::Group(pid)), Polled::Changed(pid, Change::Exited(7)));
        assert_eq!(std::fs::read_to_string(mark).unwrap(), format!("{pid} x\n"));
    }

    #[test]
    fn dropped_it_never_runs_and_what_cannot_run_is_an_error() {
        let held = hold(&words(&["sleep", "100"]), &[]).unwrap();
        let pid = held.pid();
        drop(held);
        assert!(!alive(pid));
        let nothing = hold(&words(&["/no/such/program"]), &[]).unwrap();
        assert_eq!(nothing.go().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(hold(&[], &[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
