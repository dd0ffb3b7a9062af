//! What an evaluation does not rest on: everything that was not seen, and which conclusions that takes away.
//!
//! A report that finds nothing says so only if nothing of the kind in [`GapKind`] is missing: absence of a finding is no
//! finding of absence. Gaps come from the recording ([`of_recording`]) and from the evaluation itself.
use homenode_openmp::{Construct, What};
use homenode_trace::manifest::Blind;
use homenode_trace::order::Apart;
use homenode_trace::symbols::{Site, Symbols};
use homenode_trace::{Event, EventKind, Events, Manifest, SampleUnit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Samples that cost something below which shares of costs scatter by more than ten points either way.
const SAMPLES_MIN: f64 = 100.0;
/// Libraries named in a sentence.
const NAMED: usize = 4;

/// What was not seen. Empty: every reference of the whole run, in an order that the program enforced or that is known
/// not to matter, with every remedy tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// What is missing, what takes away most first, one of each kind.
    pub gaps: Vec<Gap>,
}

/// One thing that was not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gap {
    /// What kind of thing.
    pub kind: GapKind,
    /// What cannot be concluded for want of it.
    pub doubts: Doubt,
    /// One sentence: what was not seen.
    pub sentence: String,
    /// What would tell, as an imperative clause; empty if nothing would.
    pub remedy: String,
}

/// What a gap takes away, least first; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// What was found stands, but there may be more: nobody can say that there is nothing to change.
    Absence,
    /// What was found may be an artefact, too.
    Findings,
    /// Not even shares of local and remote accesses are known.
    Locality,
}

/// Kinds of things that are not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// The recording did not end in order: killed, damaged, recovered, still running.
    Incomplete,
    /// The recording, or the program, ended before its time, as asked for or not.
    Ended,
    /// Restricted to a phase.
    Roi,
    /// References were dropped, not recorded or of threads that are not known.
    Dropped,
    /// Samples instead of all references.
    Samples,
    /// Too few samples for any share.
    FewSamples,
    /// Samples that say who came first to a page in a window of time, of a machine where nothing is remote.
    OneNode,
    /// The barriers and locks of an `OpenMP` runtime, or what is not understood of it.
    OpenMp,
    /// A library that hands tasks from thread to thread: oneTBB.
    TaskScheduler,
    /// Loops whose iterations another run deals to other threads.
    Schedule,
    /// Threads that the recording put one after the other by chance.
    Apart,
    /// No synchronisation at all.
    Unsynchronised,
    /// Memory that several processes share.
    SharedMemory,
    /// Code of libraries without hooks.
    Libraries,
    /// Data of the analysis that was given up for want of room.
    Pruned,
    /// Remedies that were not tried.
    Untried,
    /// Memory that holds less than the program uses.
    Capacity,
    /// Memory that serves less than the program asks for.
    Bandwidth,
    /// References to some pages alone.
    Pages,
}

impl Evidence {
    /// Adds a gap; one of each kind is kept.
    pub fn add(&mut self, gap: Gap) {
        if self.gaps.iter().all(|g| g.kind != gap.kind) {
            self.gaps.push(gap);
            self.gaps.sort_by_key(|g| (std::cmp::Reverse(g.doubts), g.kind));
        }
    }

    /// Whether nothing is missing: then "nothing to change" can be said.
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The gap that takes away this conclusion, if one does.
    pub fn against(&self, doubt: Doubt) -> Option<&Gap> {
        self.gaps.iter().find(|g| g.doubts >= doubt)
    }
}

impl Gap {
    fn new(kind: GapKind, doubts: Doubt, sentence: String, remedy: &str) -> Gap {
        Gap { kind, doubts, sentence, remedy: remedy.to_owned() }
    }

    /// Transfers of cache lines that were not watched, or no longer.
    pub fn pruned(transfers: u64) -> Gap {
        let what = if transfers == 1 { "1 transfer".to_owned() } else { format!("{transfers} transfers") };
        let sentence =
            format!("{what} of cache lines could not be told apart: more lines travelled than were watched.");
        Gap::new(GapKind::Pruned, Doubt::Absence, sentence, "record a smaller problem")
    }

    /// This many candidates were left out, the most promising of them for this object.
    pub fn untried(candidates: u64, first: &str) -> Gap {
        let sentence = match candidates {
            1 => format!("1 change that looked worth trying was not tried: one of `{first}`."),
            n => format!("{n} changes that looked worth trying were not tried, the most promising one of `{first}`."),
        };
        Gap::new(GapKind::Untried, Doubt::Absence, sentence, "cure what is found and report again")
    }

    /// Threads that could have run at the same time and did not.
    pub fn apart(a: &Apart) -> Gap {
        let (one, other) = (a.first.min(a.waiter), a.first.max(a.waiter));
        let more = match a.pairs {
            0 | 1 => String::new(),
            2 => " (nor did another pair)".to_owned(),
            n => format!(" (nor did {} more pairs)", n - 1),
        };
        let sentence = format!(
            "Threads {one} and {other} never ran together for {} references of thread {}{more}: a lock, an atomic or memory \
             given back put one before the other in this recording, and nothing in the program does; what they share when \
             they run at once was not seen.",
            a.wait, a.first,
        );
        let remedy = "record on a machine with a processor for each thread";
        Gap::new(GapKind::Apart, Doubt::Absence, sentence, remedy)
    }

    /// References of threads that the dataset does not list.
    pub fn strangers(refs: u64) -> Gap {
        let sentence = format!("{refs} references of threads that the dataset does not list were left out.");
        Gap::new(GapKind::Dropped, Doubt::Absence, sentence, "record again")
    }

    /// DRAM that does not hold what the program uses: an evaluation is of all of it there.
    pub fn capacity(sentence: String) -> Gap {
        Gap::new(GapKind::Capacity, Doubt::Absence, sentence, "")
    }

    /// Memory that is asked for more than it serves, which is in no cost, and what would tell, if something would.
    pub fn bandwidth(sentence: String, remedy: &str) -> Gap {
        Gap::new(GapKind::Bandwidth, Doubt::Absence, sentence, remedy)
    }

    /// Loops whose iterations go to whoever comes next, with their share of the cost: what is best for this run's threads is so in
    /// this run only.
    pub fn schedule(loops: &[(String, String)], percent: i128) -> Gap {
        let named: Vec<String> =
            loops.iter().take(NAMED).map(|(words, place)| format!("{place} (`{words}`)")).collect();
        let (what, deal) = match loops.len() {
            1 => ("The loop at", "has {} % of the memory cost and gives its iterations"),
            _ => ("The loops at", "have {} % of the memory cost and give their iterations"),
        };
        let deal = deal.replace("{}", &percent.to_string());
        let sentence = format!(
            "{what} {} {deal} to whoever comes next: which thread uses which memory is of this run, and no placement will fit the \
             next one.",
            named.join(", "),
        );
        let remedy = "record with `schedule(static)`; where the iterations are alike, keep it";
        Gap::new(GapKind::Schedule, Doubt::Absence, sentence, remedy)
    }

    /// Too few samples: `charged` ones, worth `effective` independent ones; `None` if they are enough.
    pub fn few_samples(charged: u64, effective: f64) -> Option<Gap> {
        let sentence = match charged {
            0 => "No sample says anything of what memory costs.".to_owned(),
            1 => "Only 1 sample says anything of what memory costs.".to_owned(),
            n => format!(
                "Only {n} samples say anything of what memory costs; they are worth {effective:.0} independent ones."
            ),
        };
        let remedy = "record all references, with `homenode cc` and `--backend hooks`, or sample for longer";
        (effective < SAMPLES_MIN).then(|| Gap::new(GapKind::FewSamples, Doubt::Locality, sentence, remedy))
    }
}

/// What the recording did not see. `events` are all of the dataset, looked at only where several processes were recorded.
pub fn of_recording(manifest: &Manifest, symbols: &Symbols, events: &Events) -> Evidence {
    let mut evidence = Evidence::default();
    let threads = manifest.threads.iter().filter(|t| t.refs > 0).count();
    let gaps = [
        ending(manifest),
        manifest.roi.as_ref().map(|roi| {
            let sentence = format!("Only the phase `{roi}` was recorded, so who touched memory first is not known.");
            Gap::new(GapKind::Roi, Doubt::Absence, sentence, "record without --roi")
        }),
        dropped(&manifest.blind),
        sampled(manifest),
        pages(manifest),
        one_node(manifest),
        if threads > 1 { open_mp(manifest, symbols, events) } else { None },
        if threads > 1 { task_scheduler(symbols) } else { None },
        if threads > 1 { unsynchronised(manifest) } else { None },
        if manifest.processes.len() > 1 { shared_memory(manifest, events) } else { None },
        if manifest.sampling.is_none() { libraries(symbols) } else { None },
    ];
    gaps.into_iter().flatten().for_each(|gap| evidence.add(gap));
    evidence
}

fn ending(manifest: &Manifest) -> Option<Gap> {
    let ended = manifest.ended.trim_end_matches('.');
    if !manifest.complete {
        let why = if ended.is_empty() { "the reason is not known" } else { ended };
        let sentence =
            format!("The recording did not end in order ({why}); everything below is about a part of the run.");
        return Some(Gap::new(GapKind::Incomplete, Doubt::Absence, sentence, "record again"));
    }
    let mut letters = ended.chars();
    let first = letters.next()?;
    let sentence = format!("{}{}: what came after was not seen.", first.to_uppercase(), letters.as_str());
    Some(Gap::new(GapKind::Ended, Doubt::Absence, sentence, "record the whole run"))
}

fn dropped(blind: &Blind) -> Option<Gap> {
    let refs = blind.dropped.saturating_add(blind.signal_refs);
    let counted = [
        (refs, "reference was not recorded", "references were not recorded"),
        (blind.unringed_threads, "thread was not recorded", "threads were not recorded"),
        (blind.unnumbered, "atomic operation has no known order", "atomic operations have no known order"),
    ];
    let parts: Vec<String> = counted
        .iter()
        .filter(|(n, _, _)| *n > 0)
        .map(|(n, one, many)| format!("{n} {}", if *n == 1 { one } else { many }))
        .collect();
    let sentence = format!("{}.", parts.join("; "));
    (!parts.is_empty()).then(|| Gap::new(GapKind::Dropped, Doubt::Absence, sentence, "record again"))
}

const EXACT: &str = "record all references: build with `homenode cc` and use `--backend hooks`";

fn sampled(manifest: &Manifest) -> Option<Gap> {
    let s = manifest.sampling.as_ref()?;
    let sentence = match s.unit {
        SampleUnit::Window => {
            "Samples only say which thread came first to a page in a window of time: not how often it \
            was used, by whom after that, nor which lines are shared."
        }
        _ if !s.sees_writes => "Samples of loads only: stores, and with them most sharing, were not seen.",
        _ => "Samples do not show which lines are shared, nor mostly who touched a page first.",
    };
    Some(Gap::new(GapKind::Samples, Doubt::Absence, sentence.to_owned(), EXACT))
}

fn pages(manifest: &Manifest) -> Option<Gap> {
    let pages = manifest.pages.as_ref()?;
    let sentence = format!(
        "One page in {} was recorded: a page that alone costs as much as many others is probably not among them.",
        pages.one_in
    );
    Some(Gap::new(GapKind::Pages, Doubt::Absence, sentence, "record without --sample"))
}

/// Faults on a machine of one node: threads are where the model puts them and not where they ran, windows open at
/// random, and of threads that use a page by turns only the one that comes first is seen.
fn one_node(manifest: &Manifest) -> Option<Gap> {
    let windows = manifest.sampling.as_ref().is_some_and(|s| s.unit == SampleUnit::Window);
    let sentence = match manifest.host_nodes {
        0 => {
            "How many memory nodes the recording machine had is not known, and faults on pages show no locality on one node."
        }
        1 => {
            "The recording machine has one memory node: its faults say who came first to a page in a window, not where \
            accesses would go on several nodes."
        }
        _ => return None,
    };
    windows.then(|| Gap::new(GapKind::OneNode, Doubt::Locality, sentence.to_owned(), EXACT))
}

/// The file name of a path without its version: `libgomp` of `/usr/lib/libgomp.so.1.0.0`.
fn library(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split(".so").next().unwrap_or(file)
}

/// Runtimes of `OpenMP`.
fn is_runtime(path: &str) -> bool {
    matches!(library(path), "libgomp" | "libomp" | "libiomp5")
}

/// What was recorded of `OpenMP`: whether there were regions, and what was met and not understood.
#[derive(Default)]
struct Constructs {
    regions: bool,
    unseen: BTreeSet<String>,
}

impl Constructs {
    fn of(manifest: &Manifest, symbols: &Symbols, events: &Events) -> Constructs {
        let mut found = Constructs::default();
        for event in events.iter() {
            let EventKind::PhaseBegin { name } = &event.kind else { continue };
            let Some(construct) = Construct::of(name) else { continue };
            match construct.what {
                What::Region => found.regions = true,
                What::Unseen(what) => {
                    let process = manifest.threads.get(event.thread as usize).map_or(0, |t| t.process);
                    let site = construct.site(symbols, process).filter(|s| s.line > 0);
                    let file = |s: &Site| s.file.rsplit('/').next().unwrap_or_default().to_owned();
                    let at = site.map_or(String::new(), |s| format!(" at {}:{}", file(s), s.line));
                    found.unseen.insert(format!("{what}{at}"));
                }
                _ => {}
            }
        }
        found
    }
}

fn open_mp(manifest: &Manifest, symbols: &Symbols, events: &Events) -> Option<Gap> {
    let linked =
        symbols.modules.iter().any(|m| is_runtime(&m.path)) || symbols.sites.iter().any(|s| is_runtime(&s.module));
    let inside = |name: &str| name.starts_with("gomp_") || name.starts_with("__kmp_");
    let gap = |sentence: String, remedy| Some(Gap::new(GapKind::OpenMp, Doubt::Findings, sentence, remedy));
    if !linked && !symbols.globals.iter().any(|g| inside(&g.name)) {
        return None;
    }
    let known = Constructs::of(manifest, symbols, events);
    if manifest.sampling.is_none() && known.regions && known.unseen.is_empty() {
        return None;
    }
    if manifest.sampling.is_none() && known.regions {
        let mut what: Vec<String> = known.unseen.into_iter().collect();
        let more = what.len().saturating_sub(NAMED);
        what.truncate(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let sentence = format!(
            "The program uses what is not understood of OpenMP, {}{more}: what orders its threads there was not seen.",
            what.join(", ")
        );
        return gap(sentence, "check with a program that does without");
    }
    let sentence = "The program uses an OpenMP runtime whose barriers and locks were not seen: the order of its threads, \
        and with it who touched memory first, is a guess.";
    gap(sentence.to_owned(), "build it with `homenode cc -fopenmp` of this version and record again")
}

/// A scheduler of tasks that decides inside of a library which thread goes on with what.
fn task_scheduler(symbols: &Symbols) -> Option<Gap> {
    let tbb = |path: &str| matches!(library(path), "libtbb" | "libtbb_debug");
    let found = symbols.modules.iter().any(|m| tbb(&m.path)) || symbols.sites.iter().any(|s| tbb(&s.module));
    let sentence = "The program uses oneTBB, itself or behind `std::execution`: that library hands work from thread to thread, which was \
        not seen, so the order of its threads, and with it who touched memory first, is a guess.";
    let remedy = "check with the same program on OpenMP, pthreads or C++ threads";
    found.then(|| Gap::new(GapKind::TaskScheduler, Doubt::Findings, sentence.to_owned(), remedy))
}

fn unsynchronised(manifest: &Manifest) -> Option<Gap> {
    let sentence =
        "Synchronisation was not recorded: the order of threads, and with it who touched memory first, is a guess.";
    (!manifest.synchronised && manifest.sampling.is_none())
        .then(|| Gap::new(GapKind::Unsynchronised, Doubt::Findings, sentence.to_owned(), EXACT))
}

/// MAP_SHARED and PROT_WRITE of mmap(2).
const SHARED: u32 = 1;
const WRITABLE: u32 = 2;

fn shared_memory(manifest: &Manifest, events: &Events) -> Option<Gap> {
    let shared = |e: &Event| match e.kind {
        // One that says from which byte of which file it begins is known to be the same memory as others of that file.
        EventKind::Map { prot, flags, offset: None, .. } => flags & SHARED != 0 && prot & WRITABLE != 0,
        _ => false,
    };
    let found = events.iter().any(|e| shared(&e));
    let sentence = format!(
        "{} processes map memory that they may share: each one's view of it is taken for memory of its own, so what they \
         share is not seen.",
        manifest.processes.len()
    );
    found.then(|| Gap::new(GapKind::SharedMemory, Doubt::Absence, sentence, "check with threads in place of processes"))
}

/// Parts of the compiler and the C library, whose references to the program's data are recorded where they are made
/// (string functions) or make no difference.
const SYSTEM: [&str; 16] = [
    "libc",
    "libm",
    "libmvec",
    "libpthread",
    "libdl",
    "librt",
    "libresolv",
    "libutil",
    "libstdc++",
    "libgcc_s",
    "libc++",
    "libc++abi",
    "libatomic",
    "ld-linux-x86-64",
    "linux-vdso",
    "libunwind",
];

fn libraries(symbols: &Symbols) -> Option<Gap> {
    let seen: BTreeSet<&str> = symbols.sites.iter().map(|s| s.module.as_str()).collect();
    let silent: BTreeSet<&str> = symbols
        .modules
        .iter()
        .map(|m| m.path.as_str())
        .filter(|path| path.contains(".so") && !seen.contains(path))
        .map(library)
        .filter(|name| {
            !SYSTEM.contains(name) && !matches!(*name, "libgomp" | "libomp" | "libiomp5" | "libtbb" | "libtbb_debug")
        })
        .collect();
    let mut names: Vec<&str> = silent.into_iter().collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let sentence = format!("No reference was seen from the code of {}{more}.", names.join(", "));
    let remedy = "build these with `homenode cc`, too";
    (!names.is_empty()).then(|| Gap::new(GapKind::Libraries, Doubt::Absence, sentence, remedy))
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
