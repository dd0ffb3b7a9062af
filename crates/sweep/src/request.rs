//! The question as it is asked: a file, or words on a command line made into one.
use crate::spec::{SpecError, Study};
use homenode_command::Failure;
use homenode_machine::{Machine, models};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Largest study file that is read, in bytes.
const STUDY_BYTES_MAX: u64 = 16 << 20;

/// Memory of a sweep unless it is told how much, in bytes.
const fn default_memory_bytes() -> u64 {
    1 << 30
}

/// What to sweep, and how. As JSON it goes to whoever hands out the tasks elsewhere; members that are absent are as if nothing was
/// said.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepRequest {
    /// The question.
    pub asked: StudySource,
    /// ResultStore for the result, or a `.parquet` file beside which the folder is made; `NAME.sweep` if absent.
    #[serde(default)]
    pub output: Option<PathBuf>,
    /// Worker processes; one a processor if absent.
    #[serde(default)]
    pub workers: Option<usize>,
    /// Memory for all workers together, in bytes.
    #[serde(default = "default_memory_bytes")]
    pub memory_bytes: u64,
    /// Also write the table as CSV.
    #[serde(default)]
    pub csv: bool,
    /// Replace the result of another study.
    #[serde(default)]
    pub force: bool,
    /// Compute however many points there are.
    #[serde(default)]
    pub yes: bool,
    /// Command that starts a worker, to which the folder and its memory are added; without one the calling process does
    /// all the work itself.
    #[serde(skip)]
    pub worker: Option<Vec<OsString>>,
}

/// Where the question is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudySource {
    /// `STUDY.toml`.
    File(PathBuf),
    /// On the command line.
    Inline(Inline),
}

/// A question on the command line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inline {
    /// Datasets.
    pub traces: Vec<PathBuf>,
    /// Block sizes and ranges of them.
    pub blocks: Vec<String>,
    /// Machines: names, families, files.
    pub machines: Vec<String>,
    /// Policies.
    pub policies: Vec<String>,
    /// Protocols of page coherence.
    pub protocols: Vec<String>,
    /// Whether the best counters of protocols in hindsight are wanted too.
    pub counters: bool,
    /// Realignments on which protocols are asked about too.
    pub realign: Vec<String>,
    /// What is wanted of the optimum.
    pub optimum: Option<String>,
    /// Analyses.
    pub analyses: Vec<String>,
    /// Whether everything is asked again with the order of references disturbed.
    pub perturb: bool,
}

/// A question as text, and the folder that its paths are relative to.
pub struct Text {
    pub(crate) text: String,
    pub(crate) base: PathBuf,
    name: String,
    /// Whether lines mean something to the user.
    lines: Option<PathBuf>,
}

impl StudySource {
    /// Reads or makes the text.
    pub(crate) fn text(&self) -> Result<Text, Failure> {
        match self {
            StudySource::File(path) => from_file(path),
            StudySource::Inline(inline) => from_words(inline),
        }
    }
}

fn from_file(path: &Path) -> Result<Text, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::input(format!("cannot read {}: {e}", path.display()));
    let meta = std::fs::metadata(path).map_err(|e| failed(&e))?;
    if meta.len() > STUDY_BYTES_MAX {
        return Err(failed(&"a study is a short text, this is more than 16 MiB"));
    }
    let text = std::fs::read_to_string(path).map_err(|e| failed(&e))?;
    let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let base = base.canonicalize().map_err(|e| failed(&e))?;
    Ok(Text { text, base, name: stem(path), lines: Some(path.to_owned()) })
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "study".to_owned(), |s| s.to_string_lossy().into_owned())
}

fn from_words(inline: &Inline) -> Result<Text, Failure> {
    let base = std::env::current_dir().map_err(|e| Failure::work(format!("where is this? {e}")))?;
    let strings = |items: &[String]| toml::Value::Array(items.iter().cloned().map(toml::Value::String).collect());
    let trace = |p: &PathBuf| {
        let shown = p.to_str().map(str::to_owned);
        shown.ok_or_else(|| Failure::usage(format!("{}: a sweep needs names that are UTF-8", p.display())))
    };
    let traces = inline.traces.iter().map(trace).collect::<Result<Vec<String>, Failure>>()?;
    let mut table = toml::Table::new();
    table.insert("traces".into(), strings(&traces));
    table.insert("blocks".into(), strings(&inline.blocks));
    table.insert("machines".into(), strings(&inline.machines));
    table.insert("policies".into(), strings(&inline.policies));
    table.insert("protocols".into(), strings(&inline.protocols));
    if !inline.realign.is_empty() {
        table.insert("realign".into(), strings(&inline.realign));
    }
    if inline.counters {
        table.insert("counters".into(), true.into());
    }
    table.insert("analyses".into(), strings(&inline.analyses));
    if let Some(optimum) = &inline.optimum {
        table.insert("optimum".into(), optimum.clone().into());
    }
    if inline.perturb {
        let filter = |name: &str| toml::Value::Table(toml::Table::from_iter([("filter".to_owned(), name.into())]));
        table.insert("perturb".into(), toml::Value::Array(vec![filter("local"), filter("gap")]));
    }
    let name = inline.traces.first().map_or_else(|| "study".to_owned(), |p| stem(p));
    Ok(Text { text: table.to_string(), base, name, lines: None })
}

impl Text {
    /// What the text says.
    pub(crate) fn study(&self) -> Result<Study, Failure> {
        let resolve = |name: &str| machine(&self.base, name);
        Study::from_toml(&self.text, &self.name, &resolve).map_err(|e| match &self.lines {
            Some(path) => Failure::input(format!("{}: {e}", path.display())),
            None => Failure::usage(e.message),
        })
    }
    /// Whose fault it is if a point cannot be.
    pub(crate) fn blame(&self, e: &SpecError) -> Failure {
        match &self.lines {
            Some(path) => Failure::input(format!("{}: {e}", path.display())),
            None => Failure::usage(&e.message),
        }
    }
    /// The text as the folder keeps it: as the user wrote it, found again by a worker.
    pub(crate) fn kept(text: String, base: PathBuf, name: String) -> Text {
        Text { text, base, name, lines: None }
    }
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// A machine of the registry, this one, or a file.
fn machine(base: &Path, name: &str) -> Result<Machine, String> {
    if name == "this" {
        return homenode_command::machine::this().map_err(|e| e.message);
    }
    if let Some(machine) = models::find(name) {
        return Ok(machine);
    }
    let path = base.join(name);
    let known = models::ALL.iter().map(|s| s.name).chain(["this"]);
    match std::fs::read_to_string(&path) {
        Ok(text) => Machine::from_toml(&text).map_err(|e| format!("machine file {}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("{}, and no such file", SpecError::unknown("machine", name, known)))
        }
        Err(e) => Err(format!("machine file {}: {e}", path.display())),
    }
}
