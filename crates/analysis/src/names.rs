//! What things are called: the analysis works on ids and asks for words only at the end.
use homenode_openmp::Schedule;

/// Object id of memory that belongs to no known object.
pub const UNKNOWN_OBJECT: u32 = u32::MAX;
/// Site id of a charge that no instruction caused.
pub const UNKNOWN_SITE: u32 = u32::MAX;

/// One row of objects: a global, all allocations of one call stack, a stack, or unknown memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectName {
    /// What people call it: symbol, or `heap allocated at file:line in function`.
    pub name: String,
    /// `global`, `heap`, `stack`, `map`, `shared`, `unknown`.
    pub kind: String,
    /// `file:line` of the allocation, if known.
    pub place: Option<String>,
    /// Function of the allocation, if known.
    pub function: Option<String>,
    /// Number of allocations folded into it.
    pub instances: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// One code location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteName {
    /// `file:line`, or `module+offset`.
    pub place: String,
    /// Function.
    pub function: String,
}

/// What lies at an address inside an object, by the types that the program's debugging information gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldName {
    /// Way from the object's first byte: `[3].hits`, `.head.next`, `[7]`; written after the object's name.
    pub path: String,
    /// Path without positions in arrays: `[].hits`. Equal for one field of all elements.
    pub member: String,
    /// Type that the innermost member belongs to: `struct stats`; empty if the object is a plain array or number.
    pub of: String,
    /// First byte of the field.
    pub addr: u64,
    /// Bytes of the field.
    pub bytes: u64,
    /// First byte of the element of the object's (outermost) array in which the field lies; the object's first byte if it
    /// is no array.
    pub element_addr: u64,
    /// Bytes of such an element; those of the object if it is no array.
    pub element_bytes: u64,
}

/// One loop or region of OpenMP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConstructName {
    /// `omp for schedule(static)`, `omp parallel`.
    pub words: String,
    /// `file:line`.
    pub place: String,
    /// Function.
    pub function: String,
    /// How the iterations of a loop come to threads; `None` of what is no loop.
    pub schedule: Option<Schedule>,
}

/// Answers for ids; called once per id and row, after the last reference.
pub trait Names {
    /// The object row with this id (never [`UNKNOWN_OBJECT`]).
    fn object(&self, object: u32) -> ObjectName;
    /// First byte and size of the allocation of row `object` that contains `addr`, if known: offsets and element
    /// positions count from there.
    fn extent(&self, object: u32, addr: u64) -> Option<(u64, u64)>;
    /// The field of row `object` that contains `addr`, if the type of the object is known. A guess is no answer: without
    /// evidence it is `None`, and people are shown an offset.
    fn field(&self, _object: u32, _addr: u64) -> Option<FieldName> {
        None
    }
    /// The code location with this id (never [`UNKNOWN_SITE`]).
    fn site(&self, site: u32) -> SiteName;
    /// The loop or region with this id, if it is known where it is.
    fn construct(&self, _construct: u32) -> Option<ConstructName> {
        None
    }
}

/// What an object is called, an unknown one, too.
pub(crate) fn object_name(names: &dyn Names, id: u32) -> ObjectName {
    match id {
        UNKNOWN_OBJECT => ObjectName { name: "unknown memory".into(), kind: "unknown".into(), ..ObjectName::default() },
        _ => names.object(id),
    }
}

/// Where a site is, an unknown one, too.
pub(crate) fn site_name(names: &dyn Names, site: u32) -> SiteName {
    match site {
        UNKNOWN_SITE => SiteName { place: "unknown".into(), function: String::new() },
        _ => names.site(site),
    }
}

/// As [`Names::extent`]; unknown memory has none.
pub(crate) fn extent(names: &dyn Names, object: u32, addr: u64) -> Option<(u64, u64)> {
    if object == UNKNOWN_OBJECT { None } else { names.extent(object, addr) }
}
