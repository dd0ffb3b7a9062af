//! One executable or library: from addresses in the file to functions and lines, and its global data.
use crate::answers::{Answers, BYTES_MAX, Global, Obtained, Place, Slice};
use crate::callsites::CallSites;
use crate::demangle::demangle;
use crate::returns::{Code, Returns};
use crate::{debug_file, inlines, types};
use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use homenode_sys::dir;
use homenode_trace::symbols::Returned;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Reads `path` (and its separate debug file, looked for under `debug_root`) and answers for `addresses`, which are
/// addresses in the file: run-time address minus load bias; `allocating` are those of them that are on the stack of an
/// allocation.
///
/// # Errors
/// In words, if the file cannot be read or is no object file.
pub fn resolve(
    path: &Path,
    addresses: &[u64],
    allocating: &[u64],
    debug_root: Option<&Path>,
) -> Result<Answers, String> {
    let bytes = dir::content(path, BYTES_MAX).map_err(|e| e.to_string())?;
    let file = object::File::parse(&*bytes).map_err(|e| e.to_string())?;
    let own_lines = debug_file::has_debug_info(&file);
    let other = if own_lines { None } else { debug_file::separate(path, &file, debug_root) };
    let debug = other.as_ref().and_then(|b| object::File::parse(&**b).ok());
    let detailed = debug.as_ref().unwrap_or(&file);

    let functions = Functions::of(&file, debug.as_ref());
    let has_lines = own_lines || debug.is_some();
    let mut answers = Answers {
        places: addresses.iter().map(|&a| functions.place(a)).collect(),
        obtained: allocating.iter().map(|&a| (a, Obtained::default())).collect(),
        globals: globals(&file, debug.as_ref()),
        build_id: debug_file::build_id(&file),
        missing: missing(has_lines, &functions, debug_file::build_id(&file)),
        ..Answers::default()
    };
    let code = Code::of(&file, &functions.spans);
    let mut returns = code.as_ref().map(|code| Returns::new(code, allocating));
    if let Some(returns) = &mut returns {
        answers.obtained.iter_mut().for_each(|(&a, o)| o.returned = returns.returned(a, &mut |_, _| {}));
    }
    if has_lines && !addresses.is_empty() {
        add_debug_info(detailed, addresses, &mut answers, code.as_ref(), returns.as_mut());
    }
    Ok(answers)
}

fn missing(has_lines: bool, functions: &Functions, build_id: Option<String>) -> Option<String> {
    let debug = match build_id {
        Some(id) => format!("or install its debug package (build id {id}, looked for in /usr/lib/debug)"),
        None => "and do not strip it".to_owned(),
    };
    match (has_lines, functions.full) {
        (true, _) => None,
        (false, true) => Some(format!("no line numbers: compile it with -g {debug}")),
        (false, false) => Some(format!(
            "stripped, so only exported functions have names and no lines or variables are known: compile it with -g {debug}"
        )),
    }
}

/// Functions by address, from the symbol tables.
pub(crate) struct Functions {
    /// (begin, end, mangled name), sorted.
    pub(crate) spans: Vec<(u64, u64, String)>,
    /// Whether there was a full symbol table and not only exported names.
    full: bool,
}

impl Functions {
    pub(crate) fn of(file: &object::File<'_>, debug: Option<&object::File<'_>>) -> Functions {
        let mut spans = Vec::new();
        let tables = [debug.map(|d| d.symbols()), Some(file.symbols())];
        for symbol in tables.into_iter().flatten().flatten() {
            push_function(&symbol, &mut spans);
        }
        let full = !spans.is_empty();
        file.dynamic_symbols().for_each(|s| push_function(&s, &mut spans));
        spans.sort();
        spans.dedup_by_key(|s| s.0);
        Functions { spans, full }
    }
    fn place(&self, address: u64) -> Place {
        let after = self.spans.partition_point(|s| s.0 <= address);
        let hit = after.checked_sub(1).map(|i| &self.spans[i]).filter(|s| address < s.1);
        Place { function: hit.map(|s| demangle(&s.2)).unwrap_or_default(), ..Place::default() }
    }
}

fn push_function<'a>(symbol: &impl ObjectSymbol<'a>, spans: &mut Vec<(u64, u64, String)>) {
    if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
        return;
    }
    if let (Ok(name), Some(end)) = (symbol.name(), symbol.address().checked_add(symbol.size().max(1))) {
        spans.push((symbol.address(), end, name.to_owned()));
    }
}

/// What the debugging information adds. If it is damaged things stay as they are.
fn add_debug_info(
    file: &object::File<'_>,
    addresses: &[u64],
    answers: &mut Answers,
    code: Option<&Code<'_>>,
    returns: Option<&mut Returns<'_>>,
) {
    let Some((sections, endian)) = sections(file) else { return };
    let dwarf = || sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    add_types(types::find(dwarf(), &answers.globals, answers.obtained.keys().copied(), returns), answers);
    let Ok(context) = addr2line::Context::from_dwarf(dwarf()) else { return };
    add_lines(&context, addresses, &mut answers.places);
    if let Some(code) = code {
        add_calls(&context, code, addresses, answers);
    }
    add_callers(&context, &dwarf(), &mut answers.obtained);
}

/// Debugging information of a file, and its byte order.
pub(crate) type Sections<'a> = (gimli::DwarfSections<Cow<'a, [u8]>>, RunTimeEndian);

pub(crate) fn sections<'a>(file: &object::File<'a>) -> Option<Sections<'a>> {
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: gimli::SectionId| -> Result<Cow<'a, [u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|s| s.uncompressed_data().ok()).unwrap_or_default())
    };
    gimli::DwarfSections::load(load).ok().map(|sections| (sections, endian))
}

/// Gives `found` the file and line of each address that has one, innermost first: what lies in a function was inlined.
pub(crate) fn positions(file: &object::File<'_>, addresses: &[u64], found: &mut dyn FnMut(u64, Vec<(String, u32)>)) {
    let Some((sections, endian)) = sections(file) else { return };
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let Ok(context) = addr2line::Context::from_dwarf(dwarf) else { return };
    for &address in addresses {
        let chain = frames(&context, address).into_iter().map(|f| (f.place.file, f.place.line));
        found(address, chain.collect());
    }
}

fn add_types(found: types::FileTypes, answers: &mut Answers) {
    for g in answers.globals.iter_mut().filter(|g| !g.thread_local) {
        let fits = |of: &&u32| found.types.get(**of as usize).is_some_and(|t| t.bytes <= g.bytes);
        g.of = found.globals.get(&g.address).filter(fits).copied();
    }
    (answers.types, answers.elements, answers.holders) = (found.types, found.elements, found.holders);
}

/// Fills in function, file and line from the line tables, where they say more than the symbol table.
fn add_lines(context: &addr2line::Context<Slice<'_>>, addresses: &[u64], places: &mut [Place]) {
    for (&address, place) in addresses.iter().zip(places) {
        if let Some(found) = user_frame(&frames(context, address)) {
            let by_table = std::mem::replace(place, found);
            if place.function.is_empty() {
                place.function = by_table.function;
            }
        }
    }
}

/// Where the program calls the library code that addresses are in.
fn add_calls(context: &addr2line::Context<Slice<'_>>, code: &Code<'_>, addresses: &[u64], answers: &mut Answers) {
    let places = addresses.iter().zip(&answers.places);
    let inside: Vec<u64> = places.filter(|(_, p)| is_system_source(&p.file)).map(|(&a, _)| a).collect();
    if inside.is_empty() {
        return;
    }
    let sites = CallSites::of(code);
    let mut known: BTreeMap<u64, Option<Place>> = BTreeMap::new();
    let mut users = |at: u64| {
        let own = || user_frame(&frames(context, at)).filter(|p| !is_system_source(&p.file));
        known.entry(at).or_insert_with(own).clone()
    };
    let mut by_function: BTreeMap<u64, Vec<Place>> = BTreeMap::new();
    for address in inside {
        let Some(begin) = code.begin(address) else { continue };
        let calls = by_function.entry(begin).or_insert_with(|| sites.outside(code, address, &mut users));
        if !calls.is_empty() {
            answers.calls.insert(address, calls.clone());
        }
    }
}

/// Callers of inlined functions.
fn add_callers(
    context: &addr2line::Context<Slice<'_>>,
    dwarf: &gimli::Dwarf<Slice<'_>>,
    obtained: &mut BTreeMap<u64, Obtained>,
) {
    let chains: BTreeMap<u64, Vec<Frame>> = obtained.keys().map(|&a| (a, frames(context, a))).collect();
    let inlined = chains.values().flat_map(|c| &c[..c.len().saturating_sub(1)]).map(|f| f.raw.clone());
    let pointers = inlines::returning_pointers(dwarf, &inlined.collect());
    for (address, chain) in chains {
        let Some(o) = obtained.get_mut(&address) else { continue };
        if !callers_of(&chain, &pointers, &mut o.callers) {
            o.returned = Returned::No;
        }
    }
}

/// Callers in the user's code of the frame that names the place, as far as each inlined function on the way returns a
/// pointer; whether that is all the way to the function that was not inlined.
fn callers_of(chain: &[Frame], pointers: &BTreeSet<String>, callers: &mut Vec<Place>) -> bool {
    let users = |f: &&Frame| !is_system_source(&f.place.file);
    let first = chain.iter().position(|f| users(&f)).unwrap_or(0);
    let inlined = chain[..chain.len().saturating_sub(1)].iter().skip(first);
    let returning = inlined.take_while(|f| !users(f) || pointers.contains(&f.raw)).count();
    callers.extend(chain.iter().skip(first + 1).take(returning).filter(users).map(|f| f.place.clone()));
    first + returning + 1 >= chain.len()
}

/// One of the functions at an address: what lies in it was inlined.
struct Frame {
    place: Place,
    /// Name as the linker knows it.
    raw: String,
}

/// Innermost first; those without a line are left out.
fn frames(context: &addr2line::Context<Slice<'_>>, address: u64) -> Vec<Frame> {
    let mut all = Vec::new();
    let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return all };
    while let Ok(Some(frame)) = frames.next() {
        let location = frame.location.as_ref();
        let function = frame.function.as_ref().and_then(|f| f.raw_name().ok());
        let place = Place {
            function: function.as_ref().map(|n| demangle(n)).unwrap_or_default(),
            file: location.and_then(|l| l.file).map(normal).unwrap_or_default(),
            line: location.and_then(|l| l.line).unwrap_or(0),
        };
        if place.line != 0 && !place.file.is_empty() {
            all.push(Frame { place, raw: function.unwrap_or_default().into_owned() });
        }
    }
    all
}

/// The innermost frame that is not in a header of the system or of the language: after inlining, the line that the
/// programmer can change. The innermost of all if every frame is such.
fn user_frame(frames: &[Frame]) -> Option<Place> {
    frames.iter().find(|f| !is_system_source(&f.place.file)).or(frames.first()).map(|f| f.place.clone())
}

/// A path without `.` and `..`: clang finds the headers of gcc by way of its own directory.
pub(crate) fn normal(path: &str) -> String {
    if !path.contains("/.") {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|p| !p.is_empty() && *p != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_system_source(file: &str) -> bool {
    ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"].iter().any(|p| file.starts_with(p))
        || file.contains("/.cargo/registry/")
        || file.contains("/lib/rustlib/src/")
}

fn globals(file: &object::File<'_>, debug: Option<&object::File<'_>>) -> Vec<Global> {
    let mut found: Vec<Global> = Vec::new();
    for table in [debug.map(|d| d.symbols()), Some(file.symbols()), Some(file.dynamic_symbols())].into_iter().flatten()
    {
        found.extend(table.filter_map(|s| global(&s)));
    }
    // Aliases (environ, _environ, __environ) are one object: the shortest name stays.
    found.sort_by(|a, b| {
        (a.thread_local, a.address, std::cmp::Reverse(a.bytes), a.name.len(), &a.name).cmp(&(
            b.thread_local,
            b.address,
            std::cmp::Reverse(b.bytes),
            b.name.len(),
            &b.name,
        ))
    });
    found.dedup_by_key(|g| (g.thread_local, g.address));
    found
}

/// Places of the variables that a file has fixed places for: begins and ends.
pub(crate) fn variables(file: &object::File<'_>) -> Vec<(u64, u64)> {
    let all = globals(file, None).into_iter().filter(|g| !g.thread_local);
    all.map(|g| (g.address, g.address.saturating_add(g.bytes))).collect()
}

fn global<'a>(symbol: &impl ObjectSymbol<'a>) -> Option<Global> {
    let thread_local = symbol.kind() == SymbolKind::Tls;
    if !(thread_local || symbol.kind() == SymbolKind::Data) || symbol.is_undefined() || symbol.size() == 0 {
        return None;
    }
    let name = symbol.name().ok().filter(|n| !n.is_empty())?;
    Some(Global { name: demangle(name), address: symbol.address(), bytes: symbol.size(), thread_local, of: None })
}

/// Names of the thread-local variables in an `ar` archive: those of the capture runtime, which are in every recorded program
/// and are not the programmer's.
pub(crate) fn thread_locals_of_archive(bytes: &[u8]) -> BTreeSet<String> {
    names_of_archive(bytes, SymbolKind::Tls)
}

/// Mangled names of the functions in an `ar` archive.
pub(crate) fn functions_of_archive(bytes: &[u8]) -> BTreeSet<String> {
    names_of_archive(bytes, SymbolKind::Text)
}

fn names_of_archive(bytes: &[u8], kind: SymbolKind) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Ok(archive) = object::read::archive::ArchiveFile::parse(bytes) else { return names };
    for member in archive.members().filter_map(Result::ok) {
        let file = member.data(bytes).ok().and_then(|data| object::File::parse(data).ok());
        for symbol in file.iter().flat_map(|f| f.symbols()).filter(|s| s.kind() == kind && !s.is_undefined()) {
            names.extend(symbol.name().map(|n| if kind == SymbolKind::Tls { demangle(n) } else { n.to_owned() }));
        }
    }
    names
}

/// What an executable or library says of itself: what a plan is checked against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleFile {
    /// GNU build id, lower-case hexadecimal digits, if it has one.
    pub build_id: Option<String>,
    /// Global data with a fixed address: name (demangled), address as linked, bytes.
    pub globals: Vec<(String, u64, u64)>,
}

/// Reads an executable or library.
///
/// # Errors
/// In words, if it cannot be read or is no object file.
pub fn read_module(path: &Path) -> Result<ModuleFile, String> {
    let answers = resolve(path, &[], &[], None)?;
    let fixed = answers.globals.into_iter().filter(|g| !g.thread_local);
    Ok(ModuleFile { build_id: answers.build_id, globals: fixed.map(|g| (g.name, g.address, g.bytes)).collect() })
}
