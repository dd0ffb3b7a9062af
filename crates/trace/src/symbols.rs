//! `symbols.json`: what program counters and addresses of global data mean in the source.
use crate::TraceError;
use crate::types::{self, Field, Type};
use homenode_base::SiteId;
use serde::{Deserialize, Serialize};

/// Names of code and data. A dataset without the file still has sites: the reader makes bare ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Symbols {
    /// Code locations, sorted by (process, pc), each pair once; the index is the dataset-wide [`SiteId`]. Contains every
    /// site of every reference and the program counters of allocation stacks.
    pub sites: Vec<Site>,
    /// Named data, sorted by (process, address).
    pub globals: Vec<Global>,
    /// Build ids of executables and libraries, sorted by path: what plans know modules by. Modules without one are not
    /// there.
    pub modules: Vec<Module>,
    /// Types of data, as far as the debugging information gives them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<Type>,
    /// What is missing and why, in sentences for the reader of a report.
    pub notes: Vec<String>,
}

/// An executable or library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Module {
    /// Path.
    pub path: String,
    /// GNU build id, lower-case hexadecimal digits.
    pub build_id: String,
}

/// One code location. Empty strings and line 0 mean unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Site {
    /// Index into the manifest's processes.
    pub process: u32,
    /// Run-time address inside the instruction.
    pub pc: u64,
    /// Path of the executable or library.
    pub module: String,
    /// Address inside the module's file.
    pub offset: u64,
    /// Function, demangled.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Source line, 1-based.
    pub line: u32,
    /// If this place is in inlined functions that allocate for their callers: where they are called, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Caller>,
    /// If this place is in library code that was not inlined: where the program calls it, by file and line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Caller>,
    /// Whether the function returns what the call here returned: it allocates for its caller.
    #[serde(skip_serializing_if = "Returned::is_no")]
    pub returned: Returned,
    /// Whether the program itself asks OpenMP's runtime here how many threads there are or which one this is: in a loop that is
    /// shared out the compiler does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The variable or member (`Class::member`) that gets what the call here obtained; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variable: String,
    /// What a block holds that the call here obtained, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<Element>,
}

/// Whether a function returns what a call in it returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Returned {
    /// The function does not, or that is not known.
    #[default]
    No,
    /// Address that the call returned.
    Whole,
    /// An address inside the block: something is in front of what the caller gets.
    Inside,
}

impl Returned {
    fn is_no(&self) -> bool {
        *self == Returned::No
    }
}

/// What a block holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Element {
    /// Type, an index into [`Symbols::types`].
    pub of: u32,
    /// Whether it is exactly one; else it is a whole number of them.
    pub one: bool,
}

/// A place that called an inlined function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caller {
    /// Function, demangled.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Source line, 1-based.
    pub line: u32,
}

/// One named datum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Global {
    /// Index into the manifest's processes.
    pub process: u32,
    /// Run-time address of the first byte.
    pub addr: u64,
    /// Bytes.
    pub bytes: u64,
    /// Name, demangled.
    pub name: String,
    /// Path of the executable or library.
    pub module: String,
    /// Type, an index into [`Symbols::types`], if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
}

impl Symbols {
    /// File name inside a dataset.
    pub const FILE: &'static str = "symbols.json";

    /// Reads and checks the file's text.
    pub fn from_json(text: &[u8]) -> Result<Symbols, TraceError> {
        let damaged = |what: String| TraceError::Damaged { name: Symbols::FILE.into(), offset: 0, what };
        let symbols: Symbols = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
        if symbols.sites.len() > u32::MAX as usize {
            return Err(damaged("more sites than 32-bit ids".into()));
        }
        if let Some(i) = symbols.sites.windows(2).position(|w| (w[0].process, w[0].pc) >= (w[1].process, w[1].pc)) {
            return Err(damaged(format!("sites {i} and {} are not in order of process and program counter", i + 1)));
        }
        Ok(symbols)
    }

    /// The file's text.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and integers always serialise")
    }

    /// Sorts sites and globals and drops repeated sites (the first of equal ones stays).
    pub fn normalise(&mut self) {
        self.sites.sort_by_key(|s| (s.process, s.pc));
        self.sites.dedup_by_key(|s| (s.process, s.pc));
        self.globals.sort_by_key(|g| (g.process, g.addr));
    }

    /// The id of a code location.
    pub fn site_id(&self, process: u32, pc: u64) -> Option<SiteId> {
        self.sites.binary_search_by_key(&(process, pc), |s| (s.process, s.pc)).ok().map(|i| SiteId(i as u32))
    }

    /// Adds types that refer to each other by their positions; returns what to add to those positions.
    pub fn add_types(&mut self, types: Vec<Type>) -> u32 {
        let first = u32::try_from(self.types.len()).unwrap_or(u32::MAX);
        self.types.extend(types.into_iter().map(|t| t.moved(first)));
        first
    }

    /// The field at `offset` of a global.
    pub fn field_of_global(&self, global: usize, offset: u64) -> Option<Field> {
        types::field_of(&self.types, self.globals.get(global)?.of?, offset)
    }

    /// The field at `offset` of a block of `bytes` bytes that was allocated by this stack, innermost first: by the innermost
    /// call that says what the block holds, as long as each function returns what it was given.
    pub fn field_of_block(&self, stack: &[SiteId], bytes: u64, offset: u64) -> Option<Field> {
        for site in stack.iter().map(|&s| self.site(s)) {
            let site = site?;
            if let Some(Element { of, one }) = site.element {
                let fits = !one || self.types.get(of as usize)?.bytes == bytes;
                return if fits { types::field_in_block(&self.types, of, bytes, offset) } else { None };
            }
            if site.returned != Returned::Whole {
                return None;
            }
        }
        None
    }

    /// The code location with this id.
    pub fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.get(id.index())
    }
}

impl Site {
    /// `file:line`, or `module+0xoffset`, or the bare program counter: the best that is known.
    pub fn place(&self) -> String {
        if !self.file.is_empty() {
            format!("{}:{}", self.file, self.line)
        } else if !self.module.is_empty() {
            format!("{}+{:#x}", self.module, self.offset)
        } else {
            format!("{:#x}", self.pc)
        }
    }
}
