//! The commands that look after datasets, and the compiler wrapper.
use homenode_command::dataset::open_any;
use homenode_command::output::next;
use homenode_command::{Failure, json_line};
use homenode_hooks::{install, plain};
use homenode_report::{CheckDoc, units};
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;

/// Identifier of these documents, described by `docs/schema/compact.json`.
const COMPACT_SCHEMA: &str = "https://github.com/homenode/homenode/schema/compact-1";

/// Identifier of these documents, described by `docs/schema/recover.json`.
const RECOVER_SCHEMA: &str = "https://github.com/homenode/homenode/schema/recover-1";

/// Language of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

/// Becomes the compiler, with the hooks; returns only if that fails, or if a build without hooks is wanted as well.
pub fn compile(language: Language, args: &[OsString]) -> Result<u8, Failure> {
    let mode = match language {
        Language::C => homenode_hooks::Mode::Cc,
        Language::Cxx => homenode_hooks::Mode::Cxx,
    };
    if !plain::is_wanted(args) {
        return Err(Failure::work(homenode_hooks::compile::exec(mode, args)));
    }
    let built = install::install().and_then(|archive| plain::build(mode, args, &archive, &build_id));
    Ok(u8::try_from(built.map_err(Failure::work)?).unwrap_or(1))
}

fn build_id(program: &Path) -> Option<String> {
    homenode_symbols::read_module(program).ok()?.build_id
}

/// Verifies a dataset. What cannot even be opened is a problem like any other, so that scripts get one document.
pub fn check(path: &Path) -> Result<CheckDoc, Failure> {
    let name = path.display().to_string();
    let opened = match open_any(path) {
        Ok(opened) => opened,
        Err(e) if e.class == homenode_command::Class::Input => {
            return Ok(CheckDoc::new(&name, false, 0, 0, vec![e.to_string()]));
        }
        Err(e) => return Err(e),
    };
    let found = homenode_trace::check::check(&opened.reader);
    let mut problems: Vec<String> = found.problems.iter().map(|p| format!("{}: {}", p.file, p.what)).collect();
    let more = found.problem_count - problems.len() as u64;
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    Ok(CheckDoc::new(&name, opened.reader.manifest().complete, found.frames, found.refs, problems))
}

/// What recovering came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecoverDoc {
    /// Identifier of this kind of document, described by `docs/schema/recover.json`.
    #[schemars(extend("const" = RECOVER_SCHEMA))]
    pub schema: &'static str,
    /// The dataset.
    pub dataset: String,
    /// Whether anything had to be done.
    pub changed: bool,
    /// References in the dataset now.
    pub refs: u64,
    /// Of these, how many were still in the rings.
    pub refs_from_rings: u64,
    /// Threads.
    pub threads: u32,
    /// Damaged bytes cut off the ends of files and kept aside.
    pub cut_bytes: u64,
    /// What was lost, in sentences.
    pub warnings: Vec<String>,
}

/// Makes a usable dataset of what a crash left behind.
pub fn recover(path: &Path) -> Result<RecoverDoc, Failure> {
    let s = homenode_capture::recover(path)?;
    Ok(RecoverDoc {
        schema: RECOVER_SCHEMA,
        dataset: s.path.display().to_string(),
        changed: s.changed,
        refs: s.refs,
        refs_from_rings: s.refs_from_rings,
        threads: s.threads,
        cut_bytes: s.cut_bytes,
        warnings: s.notes,
    })
}

impl RecoverDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        json_line(self)
    }
    /// For people, with the next command.
    pub fn to_text(&self) -> String {
        let (refs, threads) = (units::integer(self.refs), self.threads);
        let next = next(&self.dataset, self.refs);
        if !self.changed {
            return format!("{}: nothing to recover, {refs} references of {threads} thread(s)\n{next}", self.dataset);
        }
        let rings = units::integer(self.refs_from_rings);
        let cut = units::integer(self.cut_bytes);
        format!(
            "{}: recovered {refs} references of {threads} thread(s), {rings} of them from the rings; {cut} damaged bytes set aside\n{next}",
            self.dataset
        )
    }
}

/// What compacting came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompactDoc {
    /// Identifier of this kind of document, described by `docs/schema/compact.json`.
    #[schemars(extend("const" = COMPACT_SCHEMA))]
    pub schema: &'static str,
    /// The compacted dataset.
    pub dataset: String,
    /// References in it.
    pub refs: u64,
    /// Bytes before.
    pub bytes_before: u64,
    /// Bytes after.
    pub bytes_after: u64,
}

/// Re-encodes a dataset smaller, in place or into `output`.
pub fn compact(path: &Path, output: Option<&Path>, force: bool) -> Result<CompactDoc, Failure> {
    let s = homenode_capture::compact(path, output, force)?;
    Ok(CompactDoc {
        schema: COMPACT_SCHEMA,
        dataset: s.path.display().to_string(),
        refs: s.refs,
        bytes_before: s.bytes_before,
        bytes_after: s.bytes_after,
    })
}

impl CompactDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        json_line(self)
    }
    /// For people, with the next command.
    pub fn to_text(&self) -> String {
        let size = |bytes: u64, when: &str| match self.refs {
            0 => format!("{} bytes {when}", units::integer(bytes)),
            n => format!("{} bytes {when} ({:.4} B/ref)", units::integer(bytes), bytes as f64 / n as f64),
        };
        let (before, after) = (size(self.bytes_before, "before"), size(self.bytes_after, "after"));
        let next = next(&self.dataset, self.refs);
        format!("{}: {before}, {after}\n{next}", self.dataset)
    }
}
