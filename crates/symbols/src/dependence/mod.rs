//! Whether consecutive misses of a code location wait for each other, from the machine code of x86-64.
//!
//! A load whose address is made of what the same load brought the round before (`p = p->next`) cannot begin before that is
//! there; one whose address is a matter of counting (`a[i]`), or of a load that is (`a[index[i]]`), can, and a processor that
//! executes out of order has several such misses under way at once.
//!
//! Asked for are the sites of hooks, each of which is given the address of the reference behind it. The values of the function
//! are followed backwards from that address: through registers and slots of the stack, and through memory where a loop reads and
//! writes one address that stays the same in it. The innermost loop decides in which the address changes:
//!
//! * [`Dependence::Carried`]: the address is, this round or the next, less than a cache line from that of a load in a *chain*: a
//!   cycle from round to round in which a load's value becomes its next address. So `p->payload` is carried like `p->next`
//!   beside it: which of them misses is a question of their order.
//! * [`Dependence::Independent`]: what the address is made of ends in constants, in what does not change in the loop, in counting
//!   or in loads that are in no chain; or it lies further than a line from what the chain reads, so that the miss adds nothing to it.
//! * [`Dependence::Unknown`]: the address is made of what a called function returned or may have changed, of arguments outside of
//!   any loop, or is a distance from the chain that cannot be told.
//!
//! Branches are taken to be predicted: what only decides where control goes makes no address wait. What is not seen, and how
//! compilers' loops come out: `docs/design/dependence.md`.
//!
//! Work on one function is bounded: 256 KiB of code, 8192 blocks, 2^20 values, 2^23 steps over them; what is larger is unknown.
mod effects;
mod flow;
mod frame;
mod nodes;
mod rounds;
#[cfg(test)]
mod tests;
mod values;

use crate::answers::BYTES_MAX;
use crate::debug_file;
use crate::image::{self, Functions, functions_of_archive};
use crate::returns::{Code, Function};
use flow::{Around, Flow};
use homenode_sys::dir;
use homenode_trace::symbols::{Site, Symbols};
use rounds::{Answer, Rounds};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use values::Builder;

/// Instructions that are looked at in one file.
const INSTRUCTIONS_MAX: usize = 8 << 20;

/// Whether consecutive misses of a code location wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependence {
    /// Each waits for what the one before brought.
    Carried,
    /// Several may be under way at once.
    Independent,
    /// The code does not say.
    Unknown,
}

impl std::fmt::Display for Dependence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Dependence::Carried => "carried",
            Dependence::Independent => "independent",
            Dependence::Unknown => "unknown",
        })
    }
}

/// Where a code location stands among the loops of the program; numbers of loops are from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteLoops {
    /// Innermost loop that it is in; 0 in none.
    pub own: u32,
    /// Of a carried one, the loop in each of whose rounds the chain begins anew, from what no chain of that loop brought; 0 if none is known.
    pub anew: u32,
}

/// Numbers of loops, by path of the file, begin of the function, and number in it.
type LoopNumbers<'p> = HashMap<(&'p str, u64, usize), u32>;

impl SiteLoops {
    fn of<'p>(found: Answer, (path, function): (&'p str, u64), loops: &mut LoopNumbers<'p>) -> SiteLoops {
        let mut number = |level: usize| {
            let next = loops.len() as u32 + 1;
            if level == 0 { 0 } else { *loops.entry((path, function, level)).or_insert(next) }
        };
        SiteLoops { own: number(found.own), anew: found.anew.map_or(0, number) }
    }
}

/// Answers for the code locations of a dataset.
#[derive(Debug)]
pub struct Dependences<'s> {
    sites: &'s [Site],
    /// By path of the file and address in it.
    known: HashMap<(&'s str, u64), (Dependence, SiteLoops)>,
}

impl<'s> Dependences<'s> {
    /// Reads the files in which the sites of a dataset lie. Nothing is said of one that is missing, is another one by now (its
    /// build id differs) or is not for x86-64. `runtime` is the archive of what instrumentation linked into the programs.
    pub fn new(symbols: &'s Symbols, runtime: &[u8]) -> Dependences<'s> {
        let not_own = functions_of_archive(runtime);
        let mut offsets: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for site in symbols.sites.iter().filter(|s| !s.module.is_empty()) {
            offsets.entry(&site.module).or_default().insert(site.offset);
        }
        let (mut known, mut loops) = (HashMap::new(), LoopNumbers::new());
        for (path, asked) in offsets {
            let id = symbols.modules.iter().find(|m| m.path == path).map(|m| m.build_id.as_str());
            let found = id.and_then(|id| of_file(Path::new(path), Some(id), Some(&asked), &not_own));
            for (at, (function, found)) in found.into_iter().flatten() {
                known.insert((path, at), (found.dependence, SiteLoops::of(found, (path, function), &mut loops)));
            }
        }
        Dependences { sites: &symbols.sites, known }
    }

    /// The answer for a site, by its number in the dataset.
    pub fn of(&self, site: u32) -> Dependence {
        self.found(site).map_or(Dependence::Unknown, |f| f.0)
    }

    /// Loops of a site.
    pub fn loops_of(&self, site: u32) -> SiteLoops {
        self.found(site).map_or(SiteLoops::default(), |f| f.1)
    }

    fn found(&self, site: u32) -> Option<(Dependence, SiteLoops)> {
        let site = self.sites.get(site as usize)?;
        self.known.get(&(site.module.as_str(), site.offset)).copied()
    }
}

/// Answers for all calls of hooks in a program file, by the address in the file of each call's last byte; `runtime` as in
/// [`Dependences::new`]. `None` if the file cannot be read or is not for x86-64.
pub fn dependences(path: &Path, runtime: &[u8]) -> Option<BTreeMap<u64, Dependence>> {
    let found = of_file(path, None, None, &functions_of_archive(runtime))?;
    Some(found.into_iter().map(|(site, (_, found))| (site, found.dependence)).collect())
}

/// Loops of all calls of hooks in a program file, likewise.
pub fn site_loops(path: &Path, runtime: &[u8]) -> Option<BTreeMap<u64, SiteLoops>> {
    let (found, mut loops) = (of_file(path, None, None, &functions_of_archive(runtime))?, LoopNumbers::new());
    let of = |(site, (function, found))| (site, SiteLoops::of(found, ("", function), &mut loops));
    Some(found.into_iter().map(of).collect())
}

/// Answers for the sites that are `asked` for, if any are, otherwise for all, each with the begin of its function.
fn of_file(
    path: &Path,
    id: Option<&str>,
    asked: Option<&BTreeSet<u64>>,
    not_own: &BTreeSet<String>,
) -> Option<BTreeMap<u64, (u64, Answer)>> {
    let bytes = dir::content(path, BYTES_MAX).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    if id.is_some() && debug_file::build_id(&file).as_deref() != id {
        return None;
    }
    let functions = Functions::of(&file, None);
    let code = Code::of(&file, &functions.spans)?;
    let around = Around::new(&code, not_own, image::variables(&file))?;
    let begins: BTreeSet<u64> = match asked {
        Some(asked) => asked.iter().filter_map(|site| code.begin(*site)).collect(),
        None => code.begins().filter(|(_, name)| !not_own.contains(*name)).map(|f| f.0).collect(),
    };
    let mut found = BTreeMap::new();
    let mut left = INSTRUCTIONS_MAX;
    for begin in begins {
        let Some(function) = code.function(begin).filter(|f| f.begin() == begin) else { continue };
        left = left.saturating_sub(function.instructions().len());
        if left > 0 {
            found.extend(of_function(&around, &function).into_iter().map(|(site, found)| (site, (begin, found))));
        }
    }
    if let Some(asked) = asked {
        found.retain(|site, _| asked.contains(site));
    }
    Some(found)
}

/// Answers for all calls of hooks in a function.
fn of_function(around: &Around<'_>, function: &Function) -> BTreeMap<u64, Answer> {
    let unknown = Answer { dependence: Dependence::Unknown, own: 0, anew: None };
    let mut found: BTreeMap<u64, Answer> = around.sites(function).map(|s| (s, unknown)).collect();
    let flow = if found.is_empty() { None } else { Flow::new(around, function) };
    if let Some(flow) = flow
        && let Some(mut values) = Builder::build(&flow)
    {
        let mut rounds = Rounds::new(&flow, &mut values, &around.data);
        found.iter_mut().for_each(|(site, found)| *found = rounds.of(*site));
    }
    found
}
