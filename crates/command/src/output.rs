//! Output files: never replaced unasked, never half written; and standard output, when it is for results alone.
use crate::Failure;
use homenode_sys::dir::create_new;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Fails if the path exists and `force` is not given, or if its folder does not exist: before the work and not after it.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
        return Err(Failure::work(format!("cannot write {}: there is no folder {}", path.display(), folder.display())));
    }
    if !force && path.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!("{} exists; --force replaces it", path.display())));
    }
    Ok(())
}

/// Fails if the name does not end in one of these.
pub fn refuse_kind(path: &Path, kinds: &[&str]) -> Result<(), Failure> {
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if kinds.contains(&kind) {
        return Ok(());
    }
    let names: Vec<String> = kinds.iter().map(|k| format!(".{k}")).collect();
    Err(Failure::usage(format!("{}: the name must end in {}", path.display(), names.join(" or "))))
}

/// Width of a screen that is none, such as a pipe.
const COLUMNS: usize = 100;

/// Characters in a line of standard output: what `COLUMNS` says, else what the terminal says, else 100.
pub fn columns() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|c| c.trim().parse().ok()).filter(|c| *c > 0);
    asked.or_else(|| homenode_sys::terminal::columns(&std::io::stdout())).unwrap_or(COLUMNS)
}

/// The name to write to before renaming to `path`: in the same directory, so that the rename is atomic.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Writes the whole file or nothing.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fill(path, |file| file.write_all(bytes))
}

/// As [`write()`], with what writes into the file.
pub fn fill(path: &Path, with: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<(), Failure> {
    let part = temporary(path);
    let done = create_new(&part).and_then(|mut f| with(&mut f)).and_then(|()| std::fs::rename(&part, path));
    done.map_err(|e| {
        // What could not be finished must not stay; that removing it fails too changes nothing for the user.
        let _ = std::fs::remove_file(&part);
        Failure::work(format!("cannot write {}: {e}", path.display()))
    })
}

/// A word of a command line as a shell reads it back, control characters left out.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+,:@%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let shown: String = word.chars().filter(|c| !c.is_control()).collect();
    format!("'{}'", shown.replace('\'', "'\\''"))
}

/// The command to give next about a dataset with so many references, for people.
pub fn next(dataset: &str, refs: u64) -> String {
    let command = if refs == 0 { "info" } else { "report" };
    format!("next: homenode {command} {}\n", quoted(dataset))
}

/// Where a command's result is printed: standard output.
#[derive(Debug, Default)]
pub struct Results(Option<File>);

impl Results {
    /// Standard output for the result alone if `alone` is asked for (`--json`): what the programs that are started print
    /// there goes to standard error.
    pub fn new(alone: bool) -> Result<Results, Failure> {
        let kept = alone.then(homenode_sys::stdio::results_only).transpose();
        kept.map(Results).map_err(|e| Failure::work(format!("cannot keep stdout for the result: {e}")))
    }
    /// Prints a result; a closed pipe (`| head`) is no error.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        let done = match &mut self.0 {
            Some(file) => file.write_all(text.as_bytes()),
            None => std::io::stdout().lock().write_all(text.as_bytes()),
        };
        match done {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::work(format!("cannot write to stdout: {e}")))
            }
            _ => Ok(()),
        }
    }
}
