//! What lies at an address, and what it is called.
use homenode_analysis::{ConstructName, FieldName, Names, ObjectName, SiteName, UNKNOWN_OBJECT};
use homenode_base::spaces::{tag, unflatten};
use homenode_trace::Event;

/// An answer to "what is at this address now".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRange {
    /// Object row, [`UNKNOWN_OBJECT`] if none is known.
    pub object: u32,
    /// First byte of a range around the address to which the answer applies until the next event.
    pub from: u64,
    /// Last byte of that range.
    pub last: u64,
}

/// Objects in the address spaces of a dataset. Events come in merged order between the references; questions about
/// addresses are about now, those about names come at the end.
pub trait Objects: Send {
    /// A copy of this world before its first event, for whoever follows other references; `None` if there cannot be several.
    fn fork(&self) -> Option<Box<dyn Objects + '_>> {
        None
    }
    /// The next event; those that only order threads may be left out.
    fn event(&mut self, event: &Event);
    /// What lies at this address of this address space.
    fn at(&mut self, space: u32, addr: u64) -> ObjectRange;
    /// The object row with this id (never [`UNKNOWN_OBJECT`]).
    fn object(&self, object: u32) -> ObjectName;
    /// First byte and size of the allocation of row `object` that contains, or last contained, `addr`, if known.
    fn extent(&self, object: u32, space: u32, addr: u64) -> Option<(u64, u64)>;
    /// The field of row `object` at `addr`, with run-time addresses; see [`Names::field`].
    fn field(&self, _object: u32, _space: u32, _addr: u64) -> Option<FieldName> {
        None
    }
    /// The code location with this id.
    fn site(&self, site: u32) -> SiteName;
    /// The loop or region of OpenMP that this event begins or ends.
    fn construct_of(&self, _event: &Event) -> Option<u32> {
        None
    }
    /// What that is called; see [`Names::construct`].
    fn construct(&self, _construct: u32) -> Option<ConstructName> {
        None
    }
}

/// Nothing is known: all memory is one unknown object and sites are numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObjects;

impl Objects for NoObjects {
    fn fork(&self) -> Option<Box<dyn Objects + '_>> {
        Some(Box::new(NoObjects))
    }
    fn event(&mut self, _: &Event) {}
    fn at(&mut self, _: u32, _: u64) -> ObjectRange {
        ObjectRange { object: UNKNOWN_OBJECT, from: 0, last: u64::MAX }
    }
    fn object(&self, _: u32) -> ObjectName {
        ObjectName::default()
    }
    fn extent(&self, _: u32, _: u32, _: u64) -> Option<(u64, u64)> {
        None
    }
    fn site(&self, site: u32) -> SiteName {
        SiteName { place: format!("site {site}"), function: String::new() }
    }
}

/// The analysis knows flat addresses only.
pub(super) struct FlatNames<'a>(pub(super) &'a dyn Objects);

impl Names for FlatNames<'_> {
    fn object(&self, object: u32) -> ObjectName {
        self.0.object(object)
    }
    fn extent(&self, object: u32, flat: u64) -> Option<(u64, u64)> {
        let (space, addr) = unflatten(flat);
        self.0.extent(object, space, addr).map(|(from, bytes)| (from ^ tag(space), bytes))
    }
    fn field(&self, object: u32, flat: u64) -> Option<FieldName> {
        let (space, addr) = unflatten(flat);
        let salted =
            |f: FieldName| FieldName { addr: f.addr ^ tag(space), element_addr: f.element_addr ^ tag(space), ..f };
        self.0.field(object, space, addr).map(salted)
    }
    fn site(&self, site: u32) -> SiteName {
        self.0.site(site)
    }
    fn construct(&self, construct: u32) -> Option<ConstructName> {
        self.0.construct(construct)
    }
}
