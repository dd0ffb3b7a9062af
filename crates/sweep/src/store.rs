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
use crate::digest;
use crate::doc::SweepDoc;
use crate::request::Text;
use homenode_command::{Failure, output};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder of a sweep: its question, what was answered, and the table in the end. Several processes and machines may
/// work in it at once; parts appear whole or not at all.
pub struct ResultStore {
    root: PathBuf,
    /// Held as long as somebody works here.
    _lock: Option<File>,
}

/// What the folder is to a study.
pub enum Claim {
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
    /// Version of homenode whose answers these are; empty in folders from before versions were written down.
    #[serde(default)]
    homenode: String,
    digest: String,
    base: PathBuf,
    name: String,
}

impl Owner {
    /// Whose answers these are, in words.
    fn program(&self) -> String {
        match self.homenode.as_str() {
            "" => "an older homenode".to_owned(),
            version => format!("homenode {version}"),
        }
    }
}

/// Another version may answer the same question otherwise: its answers are not mixed with ours.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/sweep-folder-1";
const OWNER: &str = "study.json";
const TEXT: &str = "study.toml";
const RUN: &str = "run.json";
const WORK: &str = "work";

impl ResultStore {
    /// The folder for an output and a name, and where else the table goes.
    pub fn of(output: Option<&Path>, name: &str) -> (ResultStore, Option<PathBuf>) {
        let (root, table) = match output {
            None => (PathBuf::from(format!("{name}.sweep")), None),
            Some(path) if path.extension().is_some_and(|e| e == "parquet") => {
                (path.with_extension("sweep"), Some(path.to_owned()))
            }
            Some(path) => (path.to_owned(), None),
        };
        (ResultStore { root, _lock: None }, table)
    }

    /// The folder that another has claimed, which holds its lock.
    pub fn at(root: &Path) -> ResultStore {
        ResultStore { root: root.to_owned(), _lock: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }
    pub(crate) fn table(&self) -> PathBuf {
        self.root.join("results.parquet")
    }
    pub(crate) fn csv(&self) -> PathBuf {
        self.root.join("results.csv")
    }
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.root.join(WORK).join(name)
    }

    /// Makes the folder that of this question and digest, or finds that it is; held until the store is dropped.
    ///
    /// # Errors
    /// The folder is another study's or version's (`force` replaces it), another user's, in use, or not writable.
    pub fn claim(self, text: &Text, digest: &str, force: bool) -> Result<(ResultStore, Claim), Failure> {
        let failed = |e: std::io::Error| self.failed("make", &e);
        self.refuse_foreign()?;
        let there = self.owner()?;
        fs::create_dir_all(&self.root).map_err(failed)?;
        let lock = self.lock()?;
        let folder = ResultStore { root: self.root.clone(), _lock: Some(lock) };
        match there {
            Some(owner) if owner.digest == digest && owner.homenode != VERSION && !force => {
                return Err(Failure::usage(format!(
                    "{} holds answers of {}, and this is homenode {VERSION}, which may answer otherwise; choose another \
                     folder, or --force replaces them",
                    folder.root.display(),
                    owner.program()
                )));
            }
            Some(owner) if owner.digest == digest && !force => {
                if let Some(doc) = folder.done() {
                    return Ok((folder, Claim::Done(Box::new(doc))));
                }
                // What a killed process was writing is of no use to anybody.
                folder.sweep_parts();
                // Workers read the question here: as it was asked now, wherever its traces have gone meanwhile.
                folder.ask(text, digest)?;
            }
            Some(_) if !force => {
                return Err(Failure::usage(format!(
                    "{} holds results of another study, or of other contents of its traces; choose another folder, or --force \
                     replaces them",
                    folder.root.display()
                )));
            }
            _ => folder.begin(text, digest)?,
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
    fn begin(&self, text: &Text, digest: &str) -> Result<(), Failure> {
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
        self.ask(text, digest)
    }

    /// Writes the question and whose it is.
    fn ask(&self, text: &Text, digest: &str) -> Result<(), Failure> {
        output::write(&self.root.join(TEXT), text.text.as_bytes())?;
        let owner = Owner {
            schema: SCHEMA.to_owned(),
            homenode: VERSION.to_owned(),
            digest: digest.to_owned(),
            base: text.base.clone(),
            name: text.name().to_owned(),
        };
        output::write(&self.root.join(OWNER), homenode_command::json_line(&owner).as_bytes())
    }

    /// The study that the folder is for, and its digest.
    pub(crate) fn study(&self) -> Result<(Text, String), Failure> {
        let owner = self.owner()?.ok_or_else(|| Failure::work("the folder of the sweep is gone"))?;
        if owner.homenode != VERSION {
            let program = owner.program();
            return Err(Failure::work(format!("the sweep is of {program}, this worker of homenode {VERSION}")));
        }
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
    pub(crate) fn finish(&self, doc: &SweepDoc) -> Result<(), Failure> {
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

    /// Writes a part of the work: a line with the checksum of the rest, then JSON. The file appears whole or not at all.
    pub(crate) fn put(&self, name: &str, part: &impl Serialize) -> Result<(), Failure> {
        let body = homenode_command::json_line(part);
        let text = format!("{}\n{body}", digest::bytes(body.as_bytes()));
        output::write(&self.work(name), text.as_bytes())
    }

    /// What [`put`](ResultStore::put) wrote, if it is there and whole.
    pub(crate) fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = fs::read_to_string(self.work(name)).ok()?;
        let (checksum, body) = text.split_once('\n')?;
        if digest::bytes(body.as_bytes()) != checksum {
            return None;
        }
        serde_json::from_str(body).ok()
    }

    pub(crate) fn failed(&self, what: &str, e: &std::io::Error) -> Failure {
        Failure::work(format!("cannot {what} {}: {e}", self.root.display()))
    }
}

/// Whether there is nothing but what a killed process was about to write.
fn empty(mut entries: fs::ReadDir) -> bool {
    entries.all(|e| e.is_ok_and(|e| e.file_name().to_string_lossy().starts_with('.') || e.file_name() == TEXT))
}

/// Removes a file if it is there.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
