//! The journal while it is written.
use homenode_command::Failure;
use homenode_placement::live::Line;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A journal file; a write that fails ends it, not the run.
pub(crate) struct JournalFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    pub(crate) trouble: Option<String>,
}

impl JournalFile {
    pub(crate) fn create(path: &Path, force: bool) -> Result<JournalFile, Failure> {
        homenode_command::output::refuse_existing(path, force)?;
        let file = File::create(path).map_err(|e| Failure::work(format!("cannot write {}: {e}", path.display())))?;
        Ok(JournalFile { path: path.to_owned(), file: Some(BufWriter::new(file)), trouble: None })
    }
    pub(crate) fn write(&mut self, line: &Line) {
        let Some(file) = &mut self.file else { return };
        if let Err(e) = file.write_all(line.to_json().as_bytes()) {
            self.end(&e);
        }
    }
    /// What was written reaches the file: a run that is killed leaves a journal up to its last window.
    pub(crate) fn flush(&mut self) {
        if let Some(Err(e)) = self.file.as_mut().map(Write::flush) {
            self.end(&e);
        }
    }
    fn end(&mut self, e: &std::io::Error) {
        self.trouble = Some(format!("the journal {} ends early: {e}", self.path.display()));
        self.file = None;
    }
}
