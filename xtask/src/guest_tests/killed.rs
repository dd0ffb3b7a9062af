//! Whatever ends the harness, no guest may stay behind and eat the machine.
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Name of this test among the scenarios.
pub(crate) const NAME: &str = "harness-killed";
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a guest by another run of this program, kills that run, and waits for QEMU's end.
pub(crate) fn run() -> Result<String, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    // What a killed harness leaves in the temporary folder goes with this one.
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut harness = Command::new(own)
        .env("TMPDIR", scratch.path())
        .args(["guest", "--nodes", "1", "--", "sleep", "600"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let qemu = wait_for(|| child_of(harness.id()));
    // SIGKILL: the harness cannot clean up.
    let killed = harness.kill().and_then(|()| harness.wait());
    let qemu = qemu.ok_or("no QEMU was started")?;
    killed.map_err(|e| e.to_string())?;
    let gone = wait_for(|| (!is_qemu(&qemu)).then_some(()));
    gone.map(|()| "QEMU died with it".to_owned()).ok_or(format!("QEMU (process {qemu}) is still there"))
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        match look() {
            None if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            found => return found,
        }
    }
}

/// A child of this process that has become QEMU.
fn child_of(parent: u32) -> Option<String> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().find(|c| is_qemu(c)).map(str::to_owned)
}

fn is_qemu(pid: &str) -> bool {
    let command = std::fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
    command.starts_with(b"qemu-system")
}
