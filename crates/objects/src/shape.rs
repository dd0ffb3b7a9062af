//! How objects get their ids, and which events make them.
use crate::object::ObjectKind;
use homenode_trace::event::{AllocSource, EventKind};

/// What is needed to give objects their ids while following events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// Process and address space of each thread.
    pub(crate) threads: Vec<(u32, u32)>,
    /// Id of the first object of each thread.
    pub(crate) first_of_thread: Vec<u32>,
    /// Space, address and bytes of each global, by id.
    pub(crate) globals: Vec<(u32, u64, u64)>,
}

/// Kind, address and bytes of the object that an event creates.
pub(crate) fn creates(kind: &EventKind) -> Option<(ObjectKind, u64, u64)> {
    match *kind {
        EventKind::Alloc { addr, bytes, source, .. } => {
            let kind = match source {
                AllocSource::Heap => ObjectKind::Heap,
                AllocSource::Stack => ObjectKind::Stack,
                AllocSource::Map => ObjectKind::Map,
                AllocSource::Shared => ObjectKind::Shared,
            };
            Some((kind, addr, bytes))
        }
        EventKind::Map { addr, bytes, .. } => Some((ObjectKind::Map, addr, bytes)),
        _ => None,
    }
}
