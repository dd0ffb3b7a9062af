//! Names for the program counters and the global data of a dataset.
use crate::answers::{Answers, Place};
use crate::image;
use crate::modules::Module;
use crate::sites::{self, Sites};
use homenode_trace::TraceError;
use homenode_trace::manifest::Thread;
use homenode_trace::store::Store;
use homenode_trace::symbols::{Caller, Element, Global, Module as Built, Site, Symbols};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Names, and what the recording could not see.
#[derive(Debug, Default)]
pub struct Named {
    /// Sites, globals, types and modules.
    pub symbols: Symbols,
    /// Sentences about modules without hooks.
    pub unseen: Vec<String>,
}

/// Names every site of the dataset in `store` and the global data of every module; `modules` by process. `runtime` is the
/// archive of what instrumentation linked into the programs, whose thread-local variables are nobody's business.
///
/// # Errors
/// [`TraceError`] where files of the dataset cannot be read or contradict themselves.
pub fn name_everything(
    store: &dyn Store,
    threads: &[Thread],
    modules: &[Vec<Module>],
    runtime: &[u8],
) -> Result<Named, TraceError> {
    Ok(name_sites(&sites::all_sites(store, threads)?, modules, runtime))
}

fn name_sites(all: &Sites, modules: &[Vec<Module>], runtime: &[u8]) -> Named {
    let sites = &all.all;
    let lookups: Vec<Option<&Module>> = sites.iter().map(|&(p, pc)| module_of(modules, p, pc)).collect();
    let mut wanted: BTreeMap<&str, BTreeMap<u64, bool>> = BTreeMap::new();
    for module in modules.iter().flatten() {
        wanted.entry(&module.path).or_default();
    }
    for (site, module) in sites.iter().zip(&lookups) {
        if let Some(m) = module {
            let allocating = wanted.entry(&m.path).or_default().entry(site.1.wrapping_sub(m.bias)).or_default();
            *allocating |= all.allocating.contains(site);
        }
    }
    let mut images = BTreeMap::new();
    let mut named = Named::default();
    for (path, wanted) in wanted {
        let addresses: Vec<u64> = wanted.keys().copied().collect();
        let allocating: Vec<u64> = wanted.iter().filter_map(|(&a, &allocates)| allocates.then_some(a)).collect();
        let mut answers = answers_for(path, &addresses, &allocating, &mut named.symbols.notes);
        let first_type = named.symbols.add_types(std::mem::take(&mut answers.types));
        images.insert(path, Image { addresses, answers, first_type });
    }
    for (&(process, pc), module) in sites.iter().zip(&lookups) {
        named.symbols.sites.push(site(process, pc, *module, &images));
    }
    let mut sources = Sources::default();
    for site in named.symbols.sites.iter_mut().filter(|s| all.asking.contains(&(s.process, s.pc))) {
        site.asks = !sources.shares_out(&site.file, site.line);
    }
    named.symbols.globals = globals(modules, &images);
    let built = |(path, image): (&&str, &Image)| {
        Some(Built { path: (*path).to_owned(), build_id: image.answers.build_id.clone()? })
    };
    named.symbols.modules = images.iter().filter_map(built).collect();
    named.symbols.notes.extend(thread_local_note(&images, runtime));
    named.unseen.extend(unseen(&images));
    // The runtime writes 0 where it knows no caller.
    let lost = sites.iter().zip(&lookups).filter(|(site, module)| site.1 != 0 && module.is_none()).count();
    if lost > 0 {
        named.symbols.notes.push(format!("{lost} code locations lie in no known module, such as generated code, or where one library was loaded after another"));
    }
    named.symbols.normalise();
    named
}

/// Source files, as far as they are there when the recording ends.
#[derive(Default)]
struct Sources(BTreeMap<String, Vec<String>>);

/// A directive stands so many lines before its loop at most.
const DIRECTIVE_LINES: u32 = 8;

/// A file beyond this is no source that anybody wrote.
const SOURCE_MAX: u64 = 64 << 20;

impl Sources {
    /// Whether a loop that `OpenMP` shares out begins on this line, or what it says above it.
    fn shares_out(&mut self, file: &str, line: u32) -> bool {
        let directive = |text: &str| {
            let text = text.to_ascii_lowercase();
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').skip_while(|w| *w != "omp");
            words.any(|w| matches!(w, "for" | "do" | "loop" | "distribute" | "workshare"))
        };
        let asks = self.line(file, line).contains("omp_get_");
        !asks && (line.saturating_sub(DIRECTIVE_LINES)..=line).any(|l| directive(self.line(file, l)))
    }

    /// A line, counted from 1; empty if it cannot be read.
    fn line(&mut self, file: &str, line: u32) -> &str {
        let read = |file: &str| {
            let fits = std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.len() <= SOURCE_MAX);
            let bytes = if fits { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
            String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
        };
        let lines = self.0.entry(file.to_owned()).or_insert_with(|| read(file));
        (line as usize).checked_sub(1).and_then(|i| lines.get(i)).map_or("", String::as_str)
    }
}

/// One file with the addresses asked for, sorted.
struct Image {
    addresses: Vec<u64>,
    answers: Answers,
    /// Index of its first type among those of the dataset.
    first_type: u32,
}

/// The module that contains the address: of those that cover it, the one that begins last. None if libraries lay there one
/// after the other: which of them it was cannot be told.
fn module_of(modules: &[Vec<Module>], process: u32, pc: u64) -> Option<&Module> {
    let covers = |m: &&Module| pc.checked_sub(m.bias).is_some_and(|offset| offset < m.bytes);
    let mut covering = modules.get(process as usize)?.iter().filter(covers);
    let last = covering.clone().max_by_key(|m| m.bias)?;
    let one = covering.all(|m| m.path == last.path || m.bias == 0 || last.bias == 0);
    one.then_some(last)
}

fn answers_for(path: &str, addresses: &[u64], allocating: &[u64], notes: &mut Vec<String>) -> Answers {
    let used = !addresses.is_empty();
    match image::resolve(Path::new(path), addresses, allocating, None) {
        Ok(answers) => {
            if let Some(missing) = answers.missing.as_ref().filter(|_| used) {
                notes.push(format!("{path}: {missing}"));
            }
            answers
        }
        Err(why) => {
            // Modules without a file (the vdso) are no news unless the program made references there.
            if used {
                notes.push(format!("{path}: no names, because it cannot be read ({why})"));
            }
            Answers { places: vec![Place::default(); addresses.len()], ..Answers::default() }
        }
    }
}

fn site(process: u32, pc: u64, module: Option<&Module>, images: &BTreeMap<&str, Image>) -> Site {
    let Some(m) = module else { return Site { process, pc, ..Site::default() } };
    let offset = pc.wrapping_sub(m.bias);
    let image = images.get(m.path.as_str());
    let place = image.and_then(|image| {
        let i = image.addresses.binary_search(&offset).ok()?;
        image.answers.places.get(i).cloned()
    });
    let obtained = image.and_then(|image| image.answers.obtained.get(&offset).cloned()).unwrap_or_default();
    let caller = |Place { function, file, line }| Caller { function, file, line };
    let callers = obtained.callers.into_iter().map(caller).collect();
    let calls = image.and_then(|image| image.answers.calls.get(&offset).cloned()).unwrap_or_default();
    let calls = calls.into_iter().map(caller).collect();
    let Place { function, file, line } = place.unwrap_or_default();
    let returned = obtained.returned;
    let element = image.and_then(|i| {
        let element = i.answers.elements.get(&offset)?;
        Some(Element { of: element.of + i.first_type, ..*element })
    });
    let variable = image.and_then(|i| i.answers.holders.get(&offset).cloned()).unwrap_or_default();
    Site {
        asks: false,
        variable,
        process,
        pc,
        module: m.path.clone(),
        offset,
        function,
        file,
        line,
        callers,
        calls,
        returned,
        element,
    }
}

fn globals(modules: &[Vec<Module>], images: &BTreeMap<&str, Image>) -> Vec<Global> {
    let mut found = Vec::new();
    for (process, modules) in (0u32..).zip(modules) {
        let mut done = BTreeSet::new();
        for m in modules.iter().filter(|m| done.insert((m.bias, &m.path))) {
            let Some(image) = images.get(m.path.as_str()) else { continue };
            let fixed = image.answers.globals.iter().filter(|g| !g.thread_local);
            found.extend(fixed.map(|g| Global {
                process,
                addr: m.bias.wrapping_add(g.address),
                bytes: g.bytes,
                name: g.name.clone(),
                module: m.path.clone(),
                of: g.of.map(|of| of + image.first_type),
            }));
        }
    }
    found
}

/// Thread-local variables have one address per thread, which no symbol table knows.
fn thread_local_note(images: &BTreeMap<&str, Image>, runtime: &[u8]) -> Option<String> {
    let used = images.values().filter(|i| !i.addresses.is_empty());
    let all = used.flat_map(|i| &i.answers.globals).filter(|g| g.thread_local).map(|g| g.name.as_str());
    let own = image::thread_locals_of_archive(runtime);
    let names: Vec<&str> = all.filter(|n| !own.contains(*n)).collect();
    let shown = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > 5 { ", ..." } else { "" };
    (!names.is_empty()).then(|| {
        format!("thread-local variables have an address of their own in each thread and are not named: {shown}{more}")
    })
}

/// Modules from which no reference came, although they were there.
fn unseen(images: &BTreeMap<&str, Image>) -> Option<String> {
    let silent = images.iter().filter(|(path, image)| image.addresses.is_empty() && Path::new(path).is_file());
    let names: BTreeSet<String> =
        silent.filter_map(|(path, _)| Some(Path::new(path).file_name()?.to_string_lossy().into_owned())).collect();
    let list = names.into_iter().collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then(|| {
        format!("no reference was seen from the code of {list}: not built with the hooks, or never run; see `homenode list backends`")
    })
}
