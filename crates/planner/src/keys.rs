//! Objects of a dataset by what finds them again in another run.
use homenode_base::stackhash::{Frame, stack_hash};
use homenode_placement::plan::{LEAST_BYTES, ModuleBuild, ObjectKey, Site, SourceLine, StackHash, Why};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::event::{AllocSource, EventKind};
use std::collections::HashMap;

/// A module in the memory of the process.
struct MappedModule {
    bias: u64,
    bytes: u64,
    path: String,
    build_id: Option<String>,
}

/// Keys of all objects, and where threads stand.
pub(crate) struct Keys {
    /// By object id; `Err` says why there is none.
    pub(crate) of: Vec<Result<ObjectKey, Why>>,
    /// By thread: its path if it is of that process.
    pub(crate) paths: Vec<Option<Vec<u32>>>,
    /// Modules that keys name; the executable first, if it has a build id.
    pub(crate) modules: Vec<ModuleBuild>,
}

impl Keys {
    /// In the order of [`ObjectTable`](homenode_objects::ObjectTable): globals, then what each thread created.
    pub(crate) fn new(reader: &DatasetReader) -> Keys {
        let process = process(reader);
        let loaded = loaded(reader, process);
        let paths = thread_paths(reader, process);
        let mut of = globals(reader, process, &loaded);
        for (t, path) in (0..).zip(&paths) {
            of.extend(created(reader, t, path.as_deref(), &loaded));
        }
        Keys { of, paths, modules: modules(reader, process, &loaded) }
    }
}

/// The process whose data is planned: the one with the most references, not the shell or launcher that started it. What a
/// program forked without executing anything anew cannot be told from it in another run: then it is the program itself.
fn process(reader: &DatasetReader) -> u32 {
    let (threads, processes) = (&reader.manifest().threads, &reader.manifest().processes);
    let mut refs = vec![0u64; processes.len()];
    for (t, thread) in (0..).zip(threads) {
        if let Some(sum) = refs.get_mut(thread.process as usize) {
            *sum = sum.saturating_add(reader.refs(t));
        }
    }
    let busiest = (0..processes.len()).max_by_key(|p| (refs[*p], std::cmp::Reverse(*p))).unwrap_or(0);
    let executable = |p: u32| processes.get(p as usize).map(|m| m.executable.as_str());
    let forker = |p: u32| {
        let first = threads.iter().find(|t| t.process == p)?;
        let parent = threads.get(first.parent? as usize)?.process;
        (parent < p && executable(parent) == executable(p)).then_some(parent)
    };
    let mut found = busiest as u32;
    while let Some(parent) = forker(found) {
        found = parent;
    }
    found
}

fn loaded(reader: &DatasetReader, own: u32) -> Vec<MappedModule> {
    let known: HashMap<&str, &str> =
        reader.symbols().modules.iter().map(|m| (m.path.as_str(), m.build_id.as_str())).collect();
    let process = |thread: u32| reader.manifest().threads.get(thread as usize).map(|t| t.process);
    let mut all = Vec::new();
    for event in reader.events().iter().filter(|e| process(e.thread) == Some(own)) {
        if let EventKind::Module { bias, bytes, path } = &event.kind {
            let build_id = known.get(path.as_str()).map(|id| (*id).to_owned());
            all.push(MappedModule { bias: *bias, bytes: *bytes, path: path.clone(), build_id });
        }
    }
    all
}

fn modules(reader: &DatasetReader, own: u32, loaded: &[MappedModule]) -> Vec<ModuleBuild> {
    let executable = reader.manifest().processes.get(own as usize).map(|p| p.executable.as_str()).unwrap_or_default();
    let mut list: Vec<ModuleBuild> = Vec::new();
    for m in loaded {
        if let Some(build_id) = m.build_id.clone().filter(|id| list.iter().all(|l| l.build_id != *id)) {
            list.push(ModuleBuild { build_id, path: m.path.clone() });
        }
    }
    list.sort_by_key(|m| m.path != executable);
    list
}

/// For each thread of that process: of the initial thread the a-th thread created, and so on.
fn thread_paths(reader: &DatasetReader, own: u32) -> Vec<Option<Vec<u32>>> {
    let threads = &reader.manifest().threads;
    let of_process = |t: u32| threads.get(t as usize).is_some_and(|m| m.process == own);
    let mut number: HashMap<u32, u32> = HashMap::new();
    for parent in (0..threads.len() as u32).filter(|t| of_process(*t)) {
        let mut next = 0;
        for event in reader.thread_events(parent) {
            if let EventKind::Spawn { child } = event.kind
                && of_process(child)
            {
                number.insert(child, next);
                next += 1;
            }
        }
    }
    let mut paths: Vec<Option<Vec<u32>>> = vec![None; threads.len()];
    for (t, thread) in threads.iter().enumerate().filter(|(t, _)| of_process(*t as u32)) {
        paths[t] = match thread.parent.filter(|p| of_process(*p)) {
            None => Some(Vec::new()),
            // Ids are given in order of appearance, so a parent's path is known; a hostile dataset has none.
            Some(parent) => paths.get(parent as usize).cloned().flatten().and_then(|mut path| {
                path.push(*number.get(&(t as u32))?);
                Some(path)
            }),
        };
    }
    paths
}

fn module_at(loaded: &[MappedModule], pc: u64) -> Option<&MappedModule> {
    loaded.iter().filter(|m| pc.checked_sub(m.bias).is_some_and(|o| o < m.bytes)).max_by_key(|m| m.bias)
}

fn globals(reader: &DatasetReader, own: u32, loaded: &[MappedModule]) -> Vec<Result<ObjectKey, Why>> {
    let key = |g: &homenode_trace::symbols::Global| {
        if g.process != own {
            return Err(Why::OtherProcess);
        }
        let module = module_at(loaded, g.addr).filter(|m| m.path == g.module);
        let module = module.or_else(|| loaded.iter().find(|m| m.path == g.module)).ok_or(Why::NoBuildId)?;
        let build_id = module.build_id.clone().ok_or(Why::NoBuildId)?;
        let address = g.addr.wrapping_sub(module.bias);
        Ok(ObjectKey::Symbol { build_id, symbol: g.name.clone(), address, size: g.bytes })
    };
    reader.symbols().globals.iter().map(key).collect()
}

/// How often something was seen before.
#[derive(Default)]
struct Ordinals<K>(HashMap<K, u64>);

impl<K: std::hash::Hash + Eq> Ordinals<K> {
    fn next(&mut self, key: K) -> u64 {
        let n = self.0.entry(key).or_default();
        *n += 1;
        *n - 1
    }
}

/// Keys of what one thread created, in its program order.
fn created(
    reader: &DatasetReader,
    thread: u32,
    path: Option<&[u32]>,
    loaded: &[MappedModule],
) -> Vec<Result<ObjectKey, Why>> {
    let (mut stacks, mut sizes, mut places) = (Ordinals::default(), Ordinals::default(), Ordinals::default());
    let mut lines = Ordinals::default();
    let hooked = reader.manifest().backend == "hooks";
    let mut keys = Vec::new();
    for event in reader.thread_events(thread) {
        let key =
            match &event.kind {
                EventKind::Map { .. } => Err(Why::UnknownMemory),
                EventKind::Alloc { source: AllocSource::Stack, .. } => {
                    path.map(|p| ObjectKey::Stack { thread_path: p.to_vec() }).ok_or(Why::OtherProcess)
                }
                EventKind::Alloc { bytes, .. } if *bytes < LEAST_BYTES => Err(Why::SmallObjects),
                EventKind::Alloc { bytes, stack, .. } => {
                    let hash = hash(stack, loaded);
                    let (ordinal, size_ordinal) = (stacks.next(hash), sizes.next(*bytes));
                    let module = stack.first().and_then(|pc| Some((*pc, module_at(loaded, *pc)?)));
                    let build = module.and_then(|(_, m)| m.build_id.clone());
                    // As in [`hash`]: recorded program counters stand inside the call.
                    let site = module.filter(|_| hooked).map(|(pc, m)| {
                        let address = pc.wrapping_add(1).wrapping_sub(m.bias);
                        Site { address, ordinal: places.next((m.bias, address)) }
                    });
                    let source = stack.first().and_then(|pc| line_of(reader, thread, *pc)).map(|(file, line)| {
                        SourceLine { file: file.to_owned(), line, ordinal: lines.next((file, line)) }
                    });
                    // Another process has other modules, so its builds are not known here.
                    let path = path.ok_or(Why::OtherProcess);
                    let found = path.and_then(|path| Ok((build.ok_or(Why::NoBuildId)?, path.to_vec())));
                    found.map(|(build_id, thread_path)| {
                        let (stack, size) = (StackHash(hash), *bytes);
                        ObjectKey::Heap { build_id, stack, thread_path, ordinal, size, size_ordinal, site, source }
                    })
                }
                _ => continue,
            };
        keys.push(key);
    }
    keys
}

/// File and line of a program counter, where the recording knows them.
fn line_of(reader: &DatasetReader, thread: u32, pc: u64) -> Option<(&str, u32)> {
    let (symbols, process) = (reader.symbols(), reader.manifest().threads.get(thread as usize)?.process);
    let site = symbols.site(symbols.site_id(process, pc)?)?;
    (site.line > 0 && !site.file.is_empty()).then_some((site.file.as_str(), site.line))
}

/// The hash of recorded program counters, which stand inside the call, a byte before where it returns to.
fn hash(pcs: &[u64], loaded: &[MappedModule]) -> u64 {
    let frame = |pc: &u64| {
        let module = module_at(loaded, *pc);
        let id = module.and_then(|m| m.build_id.as_deref()).unwrap_or_default();
        Frame { build: first_bytes(id), returns_to: pc.wrapping_add(1).wrapping_sub(module.map_or(0, |m| m.bias)) }
    };
    stack_hash(&pcs.iter().map(frame).collect::<Vec<_>>())
}

/// The first eight bytes that hexadecimal digits stand for.
fn first_bytes(digits: &str) -> [u8; 8] {
    let mut bytes = [0; 8];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let text = std::str::from_utf8(pair).unwrap_or_default();
        *byte = u8::from_str_radix(text, 16).unwrap_or(0);
    }
    bytes
}
