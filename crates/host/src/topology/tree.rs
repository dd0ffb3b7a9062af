//! Reading the small files of sysfs and procfs below a root, so that tests and other machines' snapshots read alike.
use homenode_machine::topology::Ranges;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest file read: a mask of 65,536 processors has 18 KB, a meminfo 3 KB.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Most entries of a folder looked at.
const ENTRIES_MAX: usize = 65_536;
/// Most processors of a machine, as in machine files.
pub(super) const CPUS_MAX: u64 = 65_535;

/// A root and what was odd below it.
pub(super) struct Tree {
    root: PathBuf,
    /// In sentences.
    pub(super) notes: Vec<String>,
}

impl Tree {
    pub(super) fn new(root: &Path) -> Tree {
        Tree { root: root.to_owned(), notes: Vec::new() }
    }
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative.trim_start_matches('/'))
    }
    pub(super) fn bytes(&self, relative: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let path = self.path(relative);
        // A fifo or device in a damaged snapshot would block for ever.
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
    /// The file without white space round it (nor zero bytes, which some copies of sysfs end with); `None` if it cannot be
    /// read.
    pub(super) fn text(&self, relative: &str) -> Option<String> {
        let bytes = self.bytes(relative)?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }
    /// A number file; a damaged one is noted and counts as missing.
    pub(super) fn number<T: std::str::FromStr>(&mut self, relative: &str) -> Option<T> {
        let text = self.text(relative)?;
        let shown = || text.chars().filter(|c| !c.is_control()).take(40).collect::<String>();
        text.parse().map_err(|_| self.notes.push(format!("{relative}: '{}' is no such number; ignored", shown()))).ok()
    }
    /// A list file; a damaged one is noted and counts as missing.
    pub(super) fn list(&mut self, relative: &str) -> Option<Ranges> {
        let text = self.text(relative)?;
        self.checked(relative, Ranges::parse_list(&text))
    }
    /// A mask file likewise.
    pub(super) fn mask(&mut self, relative: &str) -> Option<Ranges> {
        let text = self.text(relative)?;
        self.checked(relative, Ranges::parse_mask(&text))
    }
    fn checked<E: std::fmt::Display>(&mut self, relative: &str, set: Result<Ranges, E>) -> Option<Ranges> {
        set.map_err(|e| self.notes.push(format!("{relative}: {e}; ignored"))).ok()
    }
    /// Numbers N of the entries `prefixN` of a folder, ascending.
    pub(super) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let Ok(entries) = self.path(folder).read_dir() else { return Vec::new() };
        let names = entries.take(ENTRIES_MAX).filter_map(|e| e.ok()?.file_name().into_string().ok());
        let number = |name: String| {
            let digits = name.strip_prefix(prefix)?;
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let mut numbers: Vec<u32> = names.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }
    pub(super) fn exists(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }
}
