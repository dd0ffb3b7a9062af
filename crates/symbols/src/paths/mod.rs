//! How many of the program's own instructions lie between two references: an estimate from the machine code of x86-64.
//!
//! A recorded program calls a hook before each reference. Between two hooks the program takes some path; counted is the
//! shortest one that passes no other hook and no other place that made references: within a function, into functions that are
//! called and out to those that called. It is exact where there is only one path. What is estimated is the program without
//! hooks, so of the instructions on a path these are left out:
//!
//! * the call of a hook, and what gives it its arguments: in the straight line before it the move or `lea` into the first
//!   argument's register, a `lea` whose result is so moved, and constants for the other arguments of an atomic operation (whose
//!   hook stands for one instruction);
//! * moves between registers and the function's own stack (base `rsp`, no index): hooks destroy most registers, so that the
//!   compiler keeps on the stack across each of them what would be in registers without.
//!
//! Not counted is what happens inside libraries and inside the runtime: of such a call only the call itself. A path that
//! goes through a jump table, or into a function that is called by its address, is not known; a loop without references counts as
//! if it were left at once.
//!
//! What remains is what the compiler does otherwise without hooks: it folds a load, an addition and a store of one word into one
//! instruction, chooses other induction variables and keeps other things in registers. No rule about the code with hooks can
//! know that. Where the same program stands beside it built without hooks (`homenode cc --plain`; same build id), the instructions
//! of each of its blocks count where the block with hooks executes that is the same (`plain`, `pairs`); the rules above are for
//! functions that only the program with hooks has.
//!
//! How far all of this is off, and why: `docs/design/instructions.md`.
pub(crate) mod blocks;
pub(crate) mod graph;
pub(crate) mod nest;
#[cfg(test)]
mod nest_tests;
mod pairs;
mod plain;
mod search;

use crate::answers::BYTES_MAX;
use crate::debug_file;
use crate::image::{Functions, functions_of_archive};
use crate::returns::{Code, Function};
use graph::Graph;
use homenode_sys::dir;
use homenode_trace::symbols::{Site, Symbols};
use search::Search;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The place of a file without hooks, by that of the file with them.
pub type Beside = fn(&Path) -> PathBuf;

/// Estimates for the code locations of a dataset, made when they are asked for.
#[derive(Debug)]
pub struct Paths<'s> {
    sites: &'s [Site],
    /// By path of the file; `None` where nothing can be said of it.
    files: HashMap<&'s str, Option<Search>>,
    known: HashMap<(u32, u32), Option<u32>>,
}

impl<'s> Paths<'s> {
    /// Reads the files in which the sites of a dataset lie. One that is missing, is another one by now (its build id differs) or
    /// is not for x86-64 has no estimates. `runtime` is the archive of what instrumentation linked into the programs;
    /// `beside` says where the file is that was built without hooks, if it was.
    pub fn new(symbols: &'s Symbols, runtime: &[u8], beside: Beside) -> Paths<'s> {
        let not_own = functions_of_archive(runtime);
        let mut offsets: HashMap<&str, BTreeSet<u64>> = HashMap::new();
        for site in symbols.sites.iter().filter(|s| !s.module.is_empty()) {
            offsets.entry(&site.module).or_default().insert(site.offset);
        }
        let read = |(path, sites): (&'s str, BTreeSet<u64>)| {
            let id = symbols.modules.iter().find(|m| m.path == path).map(|m| m.build_id.as_str());
            (path, search(Path::new(path), id, &sites, &not_own, beside))
        };
        let files = offsets.into_iter().map(read).collect();
        Paths { sites: &symbols.sites, files, known: HashMap::new() }
    }

    /// The files of which something can be said, in ascending order.
    pub fn files(&self) -> Vec<&'s str> {
        let mut files: Vec<&str> = self.files.iter().filter(|(_, search)| search.is_some()).map(|(f, _)| *f).collect();
        files.sort_unstable();
        files
    }

    /// The least number of the program's own instructions after the reference at site `from` up to the one at site `to`;
    /// sites by their numbers in the dataset. `None` if no path is known.
    pub fn between(&mut self, from: u32, to: u32) -> Option<u32> {
        if let Some(known) = self.known.get(&(from, to)) {
            return *known;
        }
        let found = self.look_up(from, to);
        self.known.insert((from, to), found);
        found
    }

    fn look_up(&mut self, from: u32, to: u32) -> Option<u32> {
        let (a, b) = (self.sites.get(from as usize)?, self.sites.get(to as usize)?);
        if a.process != b.process || a.module != b.module {
            return None;
        }
        self.files.get_mut(a.module.as_str())?.as_mut()?.between(a.offset, b.offset)
    }
}

/// What the program's own instructions are, by their addresses in the file, and how many each counts for: 0 for those that are
/// left out. `runtime` and `beside` as in [`Paths::new`]; `None` if nothing can be said of the file.
pub fn counted(path: &Path, runtime: &[u8], beside: Beside) -> Option<Vec<(u64, u32)>> {
    let bytes = dir::content(path, BYTES_MAX).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let functions = Functions::of(&file, None);
    let code = Code::of(&file, &functions.spans)?;
    let not_own = functions_of_archive(runtime);
    let learnt = learnt(path, &file, &code, &not_own, beside);
    let mut all = Vec::new();
    for (begin, _) in code.begins().filter(|(_, name)| !not_own.contains(*name)) {
        if let Some(function) = code.function(begin).filter(|f| f.begin() == begin) {
            let counts = graph::counts(&code, &function);
            let count =
                |(i, by_rule): (&iced_x86::Instruction, u32)| (i.ip(), learnt.get(&i.ip()).copied().unwrap_or(by_rule));
            all.extend(function.instructions().iter().zip(counts).map(count));
        }
    }
    Some(all)
}

/// What instructions count by the program built without hooks, if that is there. It must have the build id of the program.
fn learnt(
    path: &Path,
    file: &object::File<'_>,
    code: &Code<'_>,
    not_own: &BTreeSet<String>,
    beside: Beside,
) -> HashMap<u64, u32> {
    let learn = || {
        let bytes = dir::content(&beside(path), BYTES_MAX).ok()?;
        let other = object::File::parse(&*bytes).ok()?;
        let same = debug_file::build_id(file).is_some_and(|id| debug_file::build_id(&other) == Some(id));
        if !same || !debug_file::has_debug_info(file) || !debug_file::has_debug_info(&other) {
            return None;
        }
        let functions = Functions::of(&other, None);
        let plain = plain::Side { file: &other, code: &Code::of(&other, &functions.spans)? };
        let rule = |function: &Function| graph::counts(code, function);
        Some(plain::weights(&plain::Side { file, code }, &plain, not_own, &rule))
    };
    learn().unwrap_or_default()
}

fn search(
    path: &Path,
    id: Option<&str>,
    sites: &BTreeSet<u64>,
    not_own: &BTreeSet<String>,
    beside: Beside,
) -> Option<Search> {
    let bytes = dir::content(path, BYTES_MAX).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    if id.is_none() || debug_file::build_id(&file).as_deref() != id {
        return None;
    }
    let functions = Functions::of(&file, None);
    let code = Code::of(&file, &functions.spans)?;
    let learnt = learnt(path, &file, &code, not_own, beside);
    Some(Search::new(Graph::new(&code, sites, not_own, &learnt)))
}
