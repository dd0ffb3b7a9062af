//! Journals of a run: a file a node in a folder that the user names, and their replay.
use homenode_base::NodeId;
use homenode_command::Failure;
use homenode_hlrc::cluster::Cluster;
use homenode_hlrc::journal::{self, Record};
use homenode_svm::job::Job;
use homenode_svm::journal::{Journal, prepare, write};
use homenode_sys::dir::Dir;
use homenode_sys::process::Inherited;
use homenode_table::clean;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Identifier of these documents, described by `docs/schema/svm-replay.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/svm-replay-1";

fn name(node: u16) -> String {
    format!("node-{node}.journal")
}

/// A folder for journals, made now or empty.
fn empty_folder(folder: &Path) -> Result<Dir, Failure> {
    let failed = |e| cannot_make(folder, &e);
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    let dir = Dir::open(folder).map_err(failed)?;
    if !dir.names().map_err(failed)?.is_empty() {
        return Err(Failure::usage(format!("--journal: {} is not empty; name another folder", folder.display())));
    }
    Ok(dir)
}

fn cannot_make(folder: &Path, e: &io::Error) -> Failure {
    Failure::work(format!("cannot make journals in {}: {e}", folder.display()))
}

/// A folder for journals of a simulated run.
pub struct JournalFolder {
    dir: Dir,
}

impl JournalFolder {
    /// Makes the folder, or finds it empty.
    ///
    /// # Errors
    /// It has something in it; what the file system says.
    pub fn make(folder: &Path) -> Result<JournalFolder, Failure> {
        Ok(JournalFolder { dir: empty_folder(folder)? })
    }
    /// Writes the journal of a node, as a node of `homenode svm run` does: tapes, each of them records and whether there was no room for all.
    ///
    /// # Errors
    /// A journal has no room for so many tapes; what the file system says.
    pub fn write<'r>(
        &self,
        cluster: &Cluster,
        tapes: impl ExactSizeIterator<Item = (&'r [Record], bool)>,
    ) -> Result<(), Failure> {
        let written = self.dir.replace_with(&name(cluster.me.0), |file| write(file, cluster, tapes));
        written.map_err(|e| cannot_make(self.dir.path(), &e))
    }
}

/// Files that the nodes of a run write.
pub(crate) struct Journals {
    dir: Dir,
    files: Vec<File>,
}

impl Journals {
    /// Makes the folder and the files, of which the job is told.
    pub(crate) fn make(folder: &Path, job: &mut Job) -> Result<Journals, Failure> {
        let dir = empty_folder(folder)?;
        let file = |node: u16| {
            let file = dir.create(&name(node))?;
            prepare(&file, &job.cluster(NodeId(node), false))?;
            Ok(file)
        };
        let files = (0..job.nodes).map(file).collect::<io::Result<Vec<File>>>();
        let files = files.map_err(|e| cannot_make(folder, &e))?;
        job.journals = files.iter().map(AsRawFd::as_raw_fd).collect();
        Ok(Journals { dir, files })
    }

    /// While this lives, a program that is started has the files.
    pub(crate) fn inherited(&self) -> io::Result<Inherited<'_>> {
        Inherited::of(self.files.iter().map(AsFd::as_fd))
    }

    /// Leaves of each file what was written, once nobody writes any more; what a reader of the run should know.
    pub(crate) fn end(self) -> Vec<String> {
        let mut notes = Vec::new();
        for (node, file) in (0..).zip(self.files) {
            let journal = match Journal::open(file) {
                Ok(journal) => journal,
                Err(e) => {
                    notes.push(format!("the journal of node {node} cannot be read: {e}"));
                    continue;
                }
            };
            if journal.tapes.iter().any(|tape| tape.is_cut) {
                notes.push(format!("the journal of node {node} has not all: a thread wrote more than it has room for, or the disk is full"));
            }
            if let Err(e) = self.dir.replace_with(&name(node), |file| journal.compact(file)) {
                notes.push(format!("the journal of node {node} is left with room between its parts: {e}"));
            }
        }
        notes
    }
}

/// What the replay of journals came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SvmReplay {
    /// Identifier of this kind of document, described by `docs/schema/svm-replay.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The journals, by node.
    pub journals: Vec<ReplayedDoc>,
}

/// What the replay of a node's journal came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReplayedDoc {
    /// File.
    pub file: String,
    /// Node.
    pub node: u16,
    /// Operations that were carried out again to their ends.
    pub operations: u64,
    /// Records of what the protocol asked for, equal to those of the journal.
    pub compared: u64,
    /// Records of what the host gave.
    pub given: u64,
    /// Operations that the journal does not have to the end: threads were in them when the node ended.
    pub unfinished: u64,
    /// Whether a thread had more to note than there was room for.
    pub cut: bool,
    /// The first thing that the protocol does otherwise, and where; `null` if there is none.
    pub difference: Option<String>,
}

impl SvmReplay {
    /// Whether the protocol did what all journals say.
    pub fn is_equal(&self) -> bool {
        self.journals.iter().all(|j| j.difference.is_none())
    }
    /// The document as JSON.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for j in &self.journals {
            let ReplayedDoc { file, operations, compared, given, .. } = j;
            let open = match j.unfinished {
                0 => String::new(),
                n => format!(", {n} not noted to the end"),
            };
            let cut = if j.cut { "; it has not all that happened" } else { "" };
            let _ = match &j.difference {
                None => writeln!(
                    text,
                    "{file}: {operations} operations{open}: {compared} effects equal, on {given} values{cut}"
                ),
                Some(difference) => writeln!(text, "{file}: differs. {difference}"),
            };
        }
        text
    }
}

/// Carries out again what the nodes of a run noted in a folder, and compares.
///
/// # Errors
/// The folder has no journals, or damaged ones.
pub fn replay(folder: &Path) -> Result<SvmReplay, Failure> {
    let bad = |e: io::Error| Failure::input(format!("{}: {e}", folder.display()));
    let dir = Dir::open(folder).map_err(bad)?;
    let is_there = |node: &u16| dir.kind(&name(*node)).is_ok_and(|kind| kind.is_some());
    let nodes: Vec<u16> = (0..homenode_hlrc::MAX_LIVE_NODES as u16).filter(is_there).collect();
    if nodes.is_empty() {
        let first = name(0);
        let who = "`homenode svm run --journal` and `homenode sim cluster --journal` write them";
        let what = format!("{}: no journal is there, as {first}: {who}", folder.display());
        return Err(Failure::input(what));
    }
    // A damaged journal can give the protocol what no host gives; that it stops there is part of the answer.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let journals: Result<Vec<ReplayedDoc>, Failure> =
        nodes.into_iter().map(|node| of_node(&dir, &folder.join(name(node)), node)).collect();
    std::panic::set_hook(hook);
    Ok(SvmReplay { schema: SCHEMA, journals: journals? })
}

fn of_node(dir: &Dir, path: &Path, node: u16) -> Result<ReplayedDoc, Failure> {
    let file = clean(&path.display().to_string());
    let bad = |e: io::Error| Failure::input(format!("{file}: {e}"));
    let journal = dir.read(&name(node)).and_then(Journal::open).map_err(bad)?;
    let mut doc = ReplayedDoc {
        node: journal.cluster.me.0,
        file: file.clone(),
        operations: 0,
        compared: 0,
        given: 0,
        unfinished: 0,
        cut: journal.tapes.iter().any(|tape| tape.is_cut),
        difference: None,
    };
    for (number, tape) in journal.tapes.iter().enumerate() {
        match journal::replay(&journal.cluster, &journal.records(tape).map_err(bad)?) {
            Ok(replayed) => {
                doc.operations += replayed.operations;
                doc.compared += replayed.compared;
                doc.given += replayed.given;
                doc.unfinished += u64::from(replayed.unfinished);
            }
            Err(difference) => {
                doc.difference = Some(format!("Tape {number}, {difference}"));
                break;
            }
        }
    }
    Ok(doc)
}
