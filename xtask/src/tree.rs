//! The files under version control (and new ones not ignored), read once.
use anyhow::Context;
use std::path::PathBuf;
use std::process::Command;

/// One text file.
pub(crate) struct File {
    /// Path relative to the root.
    pub(crate) path: String,
    /// Text of the file.
    pub(crate) text: String,
}

/// All text files.
pub(crate) struct Tree {
    /// Sorted by path.
    pub(crate) files: Vec<File>,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

impl Tree {
    pub(crate) fn read() -> anyhow::Result<Tree> {
        let out = Command::new("git")
            .current_dir(root())
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .context("git ls-files")?;
        anyhow::ensure!(out.status.success(), "git ls-files failed");
        let names = String::from_utf8(out.stdout)?;
        let mut files: Vec<File> = names.split('\0').filter(|n| !n.is_empty()).filter_map(read).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(Tree { files })
    }

    /// Files whose name ends so.
    pub(crate) fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |f| f.path.ends_with(ending))
    }
}

fn read(name: &str) -> Option<File> {
    // Binary files and files deleted but not yet committed are none of tidy's business.
    let text = std::fs::read_to_string(root().join(name)).ok()?;
    Some(File { path: name.to_owned(), text })
}
