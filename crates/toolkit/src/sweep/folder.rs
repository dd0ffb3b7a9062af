//! The folder of a sweep: what is where, whose it is, and that only one sweep works on it at a time.
//!
//! ```text
//! NAME.sweep/study.toml        the question as asked
//!            study.json        its digest, by which results of other studies are told apart
//!            results.parquet   the table (results.csv too, if asked for)
//!            *.csv             tables of analyses
//!            run.json          manifest; written last: a folder with one is done
//!            work/             partitions, plans and answers of units; removed at the end
//! ```
use super::ask::Text;
use super::doc::SweepDoc;
use super::loaded::Loaded;
use homenode_command::{Failure, output};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder of a sweep.
pub(super) struct Folder {
    root: PathBuf,
    /// Held as long as somebody works here.
    _lock: Option<File>,
}

/// What the folder is to a study.
pub(super) enum Claim {
    /// There is work to do, perhaps some is done.
    Work,
    /// All is done.
    Done(Box<SweepDoc>),
}

/// Whose folder it is.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Owner {
    schema: String,
    digest: String,
    base: PathBuf,
    name: String,
}

const SCHEMA: &str = "https://github.com/homenode/homenode/schema/sweep-folder-1";
const OWNER: &str = "study.json";
const TEXT: &str = "study.toml";
const RUN: &str = "run.json";
const WORK: &str = "work";

impl Folder {
    /// The folder for an output and a name, and where else the table goes.
    pub(super) fn of(output: Option<&Path>, name: &str) -> (Folder, Option<PathBuf>) {
        let (root, table) = match output {
            None => (PathBuf::from(format!("{name}.sweep")), None),
            Some(path) if path.extension().is_some_and(|e| e == "parquet") => {
                (path.with_extension("sweep"), Some(path.to_owned()))
            }
            Some(path) => (path.to_owned(), None),
        };
        (Folder { root, _lock: None }, table)
    }

    /// The folder that a parent has claimed.
    pub(super) fn at(root: &Path) -> Folder {
        Folder { root: root.to_owned(), _lock: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.root
    }
    pub(super) fn table(&self) -> PathBuf {
        self.root.join("results.parquet")
    }
    pub(super) fn csv(&self) -> PathBuf {
        self.root.join("results.csv")
    }
    pub(super) fn work(&self, name: &str) -> PathBuf {
        self.root.join(WORK).join(name)
    }

    /// Makes the folder this study's, or finds that it is.
    pub(super) fn claim(self, loaded: &Loaded, force: bool) -> Result<(Folder, Claim), Failure> {
        let failed = |e: std::io::Error| self.failed("make", &e);
        self.refuse_foreign()?;
        let there = self.owner()?;
        fs::create_dir_all(&self.root).map_err(failed)?;
        let lock = self.lock()?;
        let folder = Folder { root: self.root.clone(), _lock: Some(lock) };
        match there {
            Some(owner) if owner.digest == loaded.digest && !force => {
                if let Some(doc) = folder.done() {
                    return Ok((folder, Claim::Done(Box::new(doc))));
                }
                // What a killed process was writing is of no use to anybody.
                folder.sweep_parts();
                // Workers read the question here: as it was asked now, wherever its traces have gone meanwhile.
                folder.ask(loaded)?;
            }
            Some(_) if !force => {
                return Err(Failure::usage(format!(
                    "{} holds results of another study, or of other contents of its traces; choose another folder, or --force \
                     replaces them",
                    folder.root.display()
                )));
            }
            _ => folder.begin(loaded)?,
        }
        fs::create_dir_all(folder.root.join(WORK)).map_err(|e| folder.failed("make", &e))?;
        Ok((folder, Claim::Work))
    }

    /// Fails if the folder is another user's, who could change what is found in it.
    fn refuse_foreign(&self) -> Result<(), Failure> {
        let Ok(meta) = fs::metadata(&self.root) else { return Ok(()) };
        match [homenode_sys::disk::effective_ids().0, 0].contains(&meta.uid()) {
            true => Ok(()),
            false => Err(Failure::usage(format!(
                "{} belongs to user {}, who could change the results in it; choose another folder",
                self.root.display(),
                meta.uid()
            ))),
        }
    }

    /// Whose the folder is; nobody's if it does not exist or is empty.
    fn owner(&self) -> Result<Option<Owner>, Failure> {
        let shown = self.root.display();
        match fs::read_to_string(self.root.join(OWNER)) {
            Ok(text) => match serde_json::from_str::<Owner>(&text) {
                Ok(owner) if owner.schema == SCHEMA => Ok(Some(owner)),
                _ => {
                    Err(Failure::input(format!("{shown}/{OWNER} is damaged or of another version; remove the folder")))
                }
            },
            Err(e) if e.kind() == ErrorKind::NotFound => match fs::read_dir(&self.root).map(empty) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                Ok(true) => Ok(None),
                _ => Err(Failure::usage(format!("{shown} exists and is no folder of a sweep; choose another"))),
            },
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                Err(Failure::usage(format!("{shown} is a file; a sweep needs a folder")))
            }
            Err(e) => Err(self.failed("read", &e)),
        }
    }

    fn lock(&self) -> Result<File, Failure> {
        let file = File::open(&self.root).map_err(|e| self.failed("open", &e))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Failure::usage(format!(
                "another sweep is at work on {}; wait for it or stop it",
                self.root.display()
            ))),
            // Some file systems have no locks; two sweeps at once then waste work, and give the same files.
            Err(TryLockError::Error(_)) => Ok(file),
        }
    }

    /// Removes what other studies left and writes whose it is now. The owner comes last: without it nothing counts.
    fn begin(&self, loaded: &Loaded) -> Result<(), Failure> {
        for name in [RUN, OWNER, "results.parquet"] {
            remove(&self.root.join(name)).map_err(|e| self.failed("write", &e))?;
        }
        // Tables of analyses have names that only their study knows.
        for entry in fs::read_dir(&self.root).map_err(|e| self.failed("read", &e))?.flatten() {
            if entry.path().extension().is_some_and(|e| e == "csv") {
                remove(&entry.path()).map_err(|e| self.failed("write", &e))?;
            }
        }
        self.clear().map_err(|e| self.failed("write", &e))?;
        self.ask(loaded)
    }

    /// Writes the question and whose it is.
    fn ask(&self, loaded: &Loaded) -> Result<(), Failure> {
        output::write(&self.root.join(TEXT), loaded.text.text.as_bytes())?;
        let owner = Owner {
            schema: SCHEMA.to_owned(),
            digest: loaded.digest.clone(),
            base: loaded.text.base.clone(),
            name: loaded.text.name().to_owned(),
        };
        output::write(&self.root.join(OWNER), homenode_command::json_line(&owner).as_bytes())
    }

    /// The study that the folder is for, and its digest.
    pub(super) fn study(&self) -> Result<(Text, String), Failure> {
        let owner = self.owner()?.ok_or_else(|| Failure::work("the folder of the sweep is gone"))?;
        let text = fs::read_to_string(self.root.join(TEXT)).map_err(|e| self.failed("read", &e))?;
        Ok((Text::kept(text, owner.base, owner.name), owner.digest))
    }

    /// The manifest, if everything is there.
    fn done(&self) -> Option<SweepDoc> {
        let text = fs::read_to_string(self.root.join(RUN)).ok()?;
        let doc: SweepDoc = serde_json::from_str(&text).ok()?;
        self.table().is_file().then_some(doc)
    }

    /// Writes the manifest; then the work is of no use any more.
    pub(super) fn finish(&self, doc: &SweepDoc) -> Result<(), Failure> {
        output::write(&self.root.join(RUN), doc.to_json().as_bytes())?;
        self.clear().map_err(|e| self.failed("remove work of", &e))
    }

    /// Removes all work. It changes its name first: the worker of a sweep that was killed may still be at it, and must not
    /// put new files into a folder that is being removed.
    fn clear(&self) -> std::io::Result<()> {
        let gone = self.root.join(format!(".{WORK}.{}.part", std::process::id()));
        match fs::rename(self.root.join(WORK), &gone) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
            Ok(()) => fs::remove_dir_all(&gone),
        }
    }

    /// Removes unfinished files of processes that were killed.
    fn sweep_parts(&self) {
        let entries =
            [self.root.clone(), self.root.join(WORK)].into_iter().filter_map(|d| fs::read_dir(d).ok()).flatten();
        for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with('.')) {
            // One that stays takes room and does no harm.
            let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
        }
    }

    pub(super) fn failed(&self, what: &str, e: &std::io::Error) -> Failure {
        Failure::work(format!("cannot {what} {}: {e}", self.root.display()))
    }
}

/// Whether there is nothing but what a killed process was about to write.
fn empty(mut entries: fs::ReadDir) -> bool {
    entries.all(|e| e.is_ok_and(|e| e.file_name().to_string_lossy().starts_with('.') || e.file_name() == TEXT))
}

/// Removes a file if it is there.
pub(super) fn remove(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
