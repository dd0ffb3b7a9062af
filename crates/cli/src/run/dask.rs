//! Sweeps on a Dask cluster: the Python package hands out the tasks.
use super::{Done, print};
use homenode_command::Failure;
use homenode_sweep::{SweepDoc, SweepRequest};
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

/// Names the Python interpreter that has the package.
const PYTHON: &str = "HOMENODE_PYTHON";

/// Has the cluster whose scheduler is at this address do a request. `itself` starts another process of this command, which may be
/// that of a Python package.
pub(super) fn sweep(address: &str, request: &SweepRequest, itself: &[OsString], json: bool) -> Done {
    let python = match itself {
        [python, module, ..] if module == "-m" => python.clone(),
        _ => std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into()),
    };
    check(&python)?;
    let mut child = Command::new(&python)
        .args(["-m", "homenode.dask", address, env!("CARGO_PKG_VERSION")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| Failure::work(format!("--dask: cannot start {}: {e}", python.display())))?;
    let text = serde_json::to_string(request).map_err(|e| Failure::usage(format!("--dask: {e}")))?;
    if let Some(mut to) = child.stdin.take() {
        // One that ended early has said why.
        let _ = to.write_all(text.as_bytes());
    }
    let done = child.wait_with_output().map_err(|e| Failure::work(format!("--dask: {e}")))?;
    if !done.status.success() {
        // It has said why, in one line.
        return Ok(done.status.code().and_then(|status| u8::try_from(status).ok()).unwrap_or(1));
    }
    let said = String::from_utf8_lossy(&done.stdout);
    let doc: SweepDoc = serde_json::from_str(&said)
        .map_err(|e| Failure::work(format!("--dask: {} printed no summary: {e}", python.display())))?;
    print(&if json { doc.to_json() } else { doc.to_text() })
}

/// Whether the interpreter has the package, with what it needs for this.
fn check(python: &OsString) -> Result<(), Failure> {
    let tried = Command::new(python).args(["-c", "import homenode.dask"]).stdin(Stdio::null()).output();
    match tried {
        Ok(done) if done.status.success() => Ok(()),
        _ => Err(Failure::usage(format!(
            "--dask: {} does not have the Python package: pip install 'homenode[dask]', or name an interpreter that has it in {PYTHON}",
            python.display()
        ))),
    }
}
