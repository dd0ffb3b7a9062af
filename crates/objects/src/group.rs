//! Groups and the frame people should look at.
use crate::object::{Group, Object, ObjectKind};
use hashbrown::HashMap;
use homenode_base::SiteId;
use homenode_trace::symbols::{Returned, Site, Symbols};

/// Libraries whose code is never the place to change. Compared with the start of the file name.
const LIBRARIES: &[&str] = &[
    "libc.so",
    "libc-",
    "libc.musl",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "ld-linux",
    "libpthread",
    "libm.so",
    "libtsan",
    "libasan",
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libnuma",
    "libgomp",
    "libomp",
];
/// Beginnings of function names that wrap or implement allocation wherever they are linked.
const WRAPPERS: &[&str] = &[
    "operator new",
    "std::",
    "__gnu_cxx::",
    "__cxxabiv1::",
    "alloc::",
    "<alloc::",
    "core::",
    "<core::",
    "__rust",
    "__rdl_",
    "__tsan_",
    "__interceptor_",
    "__wrap_",
    "__libc_",
    "hn_",
    "homenode_",
];
/// Whole names of functions that allocate.
const ALLOCATORS: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "mmap",
    "mmap64",
    "mremap",
    "strdup",
    "strndup",
    "numa_alloc_onnode",
    "numa_alloc_interleaved",
    "numa_alloc_local",
];

/// Whether a frame is plumbing of allocation and not the place where the program decided to allocate.
pub(crate) fn is_plumbing(site: &Site) -> bool {
    let module = site.module.rsplit('/').next().unwrap_or("");
    LIBRARIES.iter().any(|l| module.starts_with(l))
        || WRAPPERS.iter().any(|w| site.function.starts_with(w))
        || ALLOCATORS.contains(&site.function.split('(').next().unwrap_or(""))
        || ["/usr/include/c++/", "/rustc/", "/rustlib/src/"].iter().any(|p| site.file.contains(p))
}

/// What makes two objects belong together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GroupKey {
    Global(usize),
    Allocated { process: u32, kind: ObjectKind, stack: Vec<u64> },
    Stack(u32),
    Mapped { process: u32, addr: u64 },
}

#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) list: Vec<Group>,
    index: HashMap<GroupKey, u32>,
}

impl Groups {
    /// The group of an object, made if there is none; the object is counted in.
    pub(crate) fn enter(&mut self, key: GroupKey, o: &Object, symbols: &Symbols) -> u32 {
        let next = self.list.len() as u32;
        let id = match self.index.get(&key) {
            Some(&id) => id,
            None => {
                self.list.push(make(&key, o, symbols));
                self.index.insert(key, next);
                next
            }
        };
        let g = &mut self.list[id as usize];
        g.objects += 1;
        g.bytes = g.bytes.saturating_add(o.bytes);
        g.largest = g.largest.max(o.bytes);
        id
    }
}

fn make(key: &GroupKey, o: &Object, symbols: &Symbols) -> Group {
    let mut stack = Vec::new();
    let mut way = Way::default();
    if let GroupKey::Allocated { process, stack: pcs, .. } = key {
        stack = pcs.iter().filter_map(|&pc| symbols.site_id(*process, pc)).collect();
        way = way_of(&stack, symbols);
    }
    let name = match key {
        GroupKey::Global(i) => symbols.globals[*i].name.clone(),
        GroupKey::Stack(thread) => format!("stack of thread {thread}"),
        GroupKey::Mapped { addr, .. } => format!("mapping at {addr:#x}"),
        GroupKey::Allocated { kind, .. } => allocated_name(*kind, &way, symbols),
    };
    let Way { place, caller, through } = way;
    Group { kind: o.kind, name, place, caller, through, stack, objects: 0, bytes: 0, largest: 0 }
}

/// How an allocation is called: see the fields of [`Group`].
#[derive(Debug, Default)]
struct Way {
    place: Option<SiteId>,
    caller: Option<u32>,
    through: Option<SiteId>,
}

/// From the innermost frame that is no plumbing outward, as long as each function returns what it was given. A function
/// that calls itself allocates for itself.
fn way_of(stack: &[SiteId], symbols: &Symbols) -> Way {
    let mut way = Way::default();
    let mut functions: Vec<&str> = Vec::new();
    for (id, site) in stack.iter().filter_map(|&id| Some((id, symbols.site(id)?))).filter(|(_, s)| !is_plumbing(s)) {
        if functions.contains(&site.function.as_str()) {
            break;
        }
        way.through = way.through.or(way.place);
        (way.place, way.caller) = (Some(id), None);
        functions.push(&site.function);
        for (i, caller) in (0..).zip(&site.callers) {
            way.through = way.through.or(way.place);
            way.caller = Some(i);
            functions.push(&caller.function);
        }
        if site.returned == Returned::No {
            break;
        }
    }
    way.place = way.place.or(stack.first().copied());
    way
}

fn allocated_name(kind: ObjectKind, way: &Way, symbols: &Symbols) -> String {
    let what = match kind {
        ObjectKind::Map => "mapping",
        ObjectKind::Shared => "shared block",
        _ => "heap block",
    };
    let Some(site) = way.place.and_then(|s| symbols.site(s)) else { return format!("{what} from an unknown place") };
    let what = if site.variable.is_empty() { what } else { &site.variable };
    let place = match way.caller.and_then(|i| site.callers.get(i as usize)) {
        Some(c) => format!("{}:{}", c.file, c.line),
        None => site.place(),
    };
    match way.through.and_then(|s| symbols.site(s)) {
        Some(by) => format!("{what} from {place} through {}", by.place()),
        None => format!("{what} from {place}"),
    }
}
