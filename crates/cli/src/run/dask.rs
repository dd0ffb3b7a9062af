//! Sweeps, and runs of reproductions, on a Dask cluster: the Python package hands out the tasks.
use super::{Done, print};
use homenode_command::{Class, Failure};
use homenode_papers::Elsewhere;
use homenode_sweep::{SweepDoc, SweepRequest};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// Names the Python interpreter that has the package.
const PYTHON: &str = "HOMENODE_PYTHON";

/// Has the cluster whose scheduler is at this address do a request. `itself` starts another process of this command, which may be
/// that of a Python package.
pub(super) fn sweep(address: &str, request: &SweepRequest, itself: &[OsString], json: bool) -> Done {
    let mut child = Cluster::reached(address, itself)?.asked(&[])?;
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
        .map_err(|e| Failure::work(format!("--dask: the Python package printed no summary: {e}")))?;
    print(&if json { doc.to_json() } else { doc.to_text() })
}

/// A cluster, and the interpreter that speaks with it.
pub(super) struct Cluster<'a> {
    address: &'a str,
    python: OsString,
}

impl<'a> Cluster<'a> {
    /// The cluster whose scheduler is at this address. `itself` starts another process of this command, as in [`sweep`].
    pub(super) fn reached(address: &'a str, itself: &[OsString]) -> Result<Cluster<'a>, Failure> {
        let python = match itself {
            [python, module, ..] if module == "-m" => python.clone(),
            _ => std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into()),
        };
        check(&python)?;
        Ok(Cluster { address, python })
    }
    /// A process of the package that is asked something on its standard input.
    fn asked(&self, words: &[&str]) -> Result<Child, Failure> {
        Command::new(&self.python)
            .args(["-m", "homenode.dask", self.address, env!("CARGO_PKG_VERSION")])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| Failure::work(format!("--dask: cannot start {}: {e}", self.python.display())))
    }
}

impl Elsewhere for Cluster<'_> {
    fn answers(
        &self,
        units: &[String],
        each: &mut dyn FnMut(usize, String) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if units.is_empty() {
            return Ok(());
        }
        let failed = |e: &dyn std::fmt::Display| Failure::work(format!("--dask: {e}"));
        let mut child = self.asked(&["--runs"])?;
        let text = serde_json::to_string(units).map_err(|e| failed(&e))?;
        if let Some(mut to) = child.stdin.take() {
            // One that ended early says why.
            let _ = to.write_all(text.as_bytes());
        }
        let told = child.stdout.take().map_or(Ok(None), |from| told(BufReader::new(from), each));
        if told.is_err() {
            // Its answers are wanted no more.
            let _ = child.kill();
        }
        let status = child.wait().map_err(|e| failed(&e))?;
        match told? {
            Some(message) => Err(Failure { class: Class::of(status.code().map_or(1, |s| s as u8)), message }),
            None if status.success() => Ok(()),
            None => Err(failed(&format!("the Python package ended early ({status})"))),
        }
    }
}

/// Lines of answers, `number, tab, JSON`; returns why there are no more, from a line that begins with `!`.
fn told(
    lines: impl BufRead,
    each: &mut dyn FnMut(usize, String) -> Result<(), Failure>,
) -> Result<Option<String>, Failure> {
    for line in lines.lines() {
        let line = line.map_err(|e| Failure::work(format!("--dask: {e}")))?;
        let answer = line.split_once('\t').and_then(|(number, text)| Some((number.parse().ok()?, text.to_owned())));
        match (line.strip_prefix('!'), answer) {
            (Some(why), _) => return Ok(Some(why.to_owned())),
            (None, Some((number, text))) => each(number, text)?,
            (None, None) => return Err(Failure::work(format!("--dask: no answer of a run: {line:.80}"))),
        }
    }
    Ok(None)
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
