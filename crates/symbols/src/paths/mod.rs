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
//! instruction, chooses other induction variables and keeps other things in registers. Held against callgrind's counts of the same
//! sources built without hooks (gcc 12, -O2, XS, two threads; `crates/toolkit/tests/instructions.rs` prints them), the totals
//! are 16 % below (LU: its inner loop has 9 instructions where the compiler needs 11 without hooks), 7 % above (SOR) and 15 %
//! above (radix: counts are incremented in one instruction without hooks, in three with them).
mod graph;
mod search;

use crate::answers::BYTES_MAX;
use crate::debug_file;
use crate::image::{Functions, functions_of_archive};
use crate::returns::Code;
use graph::Graph;
use homenode_sys::dir;
use homenode_trace::symbols::{Site, Symbols};
use search::Search;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

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
    /// is not for x86-64 has no estimates. `runtime` is the archive of what instrumentation linked into the programs.
    pub fn new(symbols: &'s Symbols, runtime: &[u8]) -> Paths<'s> {
        let not_own = functions_of_archive(runtime);
        let mut offsets: HashMap<&str, BTreeSet<u64>> = HashMap::new();
        for site in symbols.sites.iter().filter(|s| !s.module.is_empty()) {
            offsets.entry(&site.module).or_default().insert(site.offset);
        }
        let read = |(path, sites): (&'s str, BTreeSet<u64>)| {
            let id = symbols.modules.iter().find(|m| m.path == path).map(|m| m.build_id.as_str());
            (path, search(Path::new(path), id, &sites, &not_own))
        };
        let files = offsets.into_iter().map(read).collect();
        Paths { sites: &symbols.sites, files, known: HashMap::new() }
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

fn search(path: &Path, id: Option<&str>, sites: &BTreeSet<u64>, not_own: &BTreeSet<String>) -> Option<Search> {
    let bytes = dir::content(path, BYTES_MAX).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    if id.is_none() || debug_file::build_id(&file).as_deref() != id {
        return None;
    }
    let functions = Functions::of(&file, None);
    let code = Code::of(&file, &functions.spans)?;
    Some(Search::new(Graph::new(&code, sites, not_own)))
}
