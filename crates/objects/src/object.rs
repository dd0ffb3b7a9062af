//! Objects, and groups of objects that readers of a report should see as one.
use homenode_base::SiteId;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// Named data of an executable or library.
    Global,
    /// From malloc or operator new.
    Heap,
    /// Stack of a thread.
    Stack,
    /// A mapping.
    Map,
    /// From the workloads' shared allocation.
    Shared,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Address space it was created in; a forked child sees it in its own space too.
    pub space: u32,
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub bytes: u64,
    /// Thread that created it; `None` for globals.
    pub thread: Option<u32>,
    /// Index into [`crate::ObjectTable::groups`].
    pub group: u32,
    /// Position of the event that created it; 0 for globals.
    pub born: u64,
    /// Position of the event that ended it (in the space it was created in); `u64::MAX` if it lived to the end.
    pub died: u64,
}

/// Objects that a reader of a report should see as one: one global, or everything allocated by one stack of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What its objects are.
    pub kind: ObjectKind,
    /// Name of the global, else a description such as `heap block from stencil.c:41`.
    pub name: String,
    /// The line people should look at: the innermost frame outside libraries and functions that return what they allocate.
    pub place: Option<SiteId>,
    /// Which of that site's callers the line is, if the site is in inlined functions that allocate for it.
    pub caller: Option<u32>,
    /// Where the innermost of such functions allocated, if there is one between the line and the library.
    pub through: Option<SiteId>,
    /// Call stack of the allocation, innermost first; empty if there is none.
    pub stack: Vec<SiteId>,
    /// Number of objects.
    pub objects: u64,
    /// Bytes of all of them together, whenever they lived.
    pub bytes: u64,
    /// Bytes of the largest.
    pub largest: u64,
}
