//! What a timed simulator grants anew, in its own time, instead of in the order of the recording.
use crate::event::{Event, EventKind, SyncKind};
use homenode_base::spaces::Shared;
use std::collections::BTreeSet;

/// Which synchronisation orders nothing by itself, because the caller grants it: mutexes, reader-writer locks, and barriers
/// whose number of threads is known; all of them but those named.
#[derive(Clone, Debug, Default)]
pub struct Granted {
    /// Address space and address of objects whose recorded order is kept.
    pub recorded: BTreeSet<(u32, u64)>,
}

impl Granted {
    /// The object that the caller grants at this event of a thread in address space `space`: where it lies, and of what kind.
    pub fn object(&self, shared: &Shared, space: u32, e: &Event) -> Option<((u32, u64), SyncKind)> {
        let (EventKind::Release { object, sync, .. }
        | EventKind::Acquire { object, sync, .. }
        | EventKind::AcqRel { object, sync, .. }) = e.kind
        else {
            return None;
        };
        self.place(shared, (space, object), sync).map(|place| (place, sync))
    }
    /// Where the object lies that the caller grants if it is one of this kind, at an address of a space.
    pub(super) fn place(&self, shared: &Shared, (space, object): (u32, u64), sync: SyncKind) -> Option<(u32, u64)> {
        if !matches!(sync, SyncKind::Mutex | SyncKind::RwRead | SyncKind::RwWrite | SyncKind::Barrier { parties: 1.. })
        {
            return None;
        }
        let place = if shared.is_empty() { (space, object) } else { shared.view(space).locate(object) };
        (!self.recorded.contains(&place)).then_some(place)
    }
}
