//! Memory that several processes share is one memory: the same byte of the same file, wherever each of them has mapped it.
//!
//! A shared mapping says which file it is of (device and inode) and from which byte on; an anonymous one is the memory of
//! those who inherit it. [`Shared`] says what that comes to: who takes references from an order gets an address that lies in
//! another address space than the thread's with the [`tag`](homenode_base::spaces::tag)s of both, and synchronisation objects
//! there are one object.
//!
//! Only programs whose runtime says from which byte of the file a mapping begins are treated so: there, numbers of
//! synchronisation are comparable between processes.
use crate::event::{AllocSource, Event, EventKind};
use crate::manifest::Manifest;
use crate::packed::Events;
use hashbrown::HashMap;
use homenode_base::spaces::{Claim, Memory, Shared, USER_LAST, Uses};
use std::collections::BTreeMap;

/// Most shared mappings of an address space that are looked at, and most other uses of one.
const CLAIMS_MAX: usize = 1 << 10;
const OTHER_MAX: usize = 1 << 20;
/// Mappings are of whole pages, of this size at least.
const PAGE_MASK: u64 = 0xfff;
/// Of mmap(2): the bits that say whether it is shared, and what they are then (`MAP_SHARED`, `MAP_SHARED_VALIDATE`).
const MAP_TYPE: u32 = 0xf;
const SHARED_KINDS: [u32; 2] = [1, 3];

/// What the mappings among these events say.
pub(crate) fn find(manifest: &Manifest, events: &Events) -> Shared {
    let first = manifest.processes.first().map(|p| p.address_space);
    if manifest.processes.iter().all(|p| Some(p.address_space) == first) {
        return Shared::default();
    }
    let found = uses(manifest, events).into_iter();
    // A space with more other uses than are looked at shares nothing.
    let known = |of: Space| if of.uses.other.len() < OTHER_MAX { of.uses } else { Uses::default() };
    Shared::new(found.map(|(space, of)| (space, known(of))).collect())
}

/// What an address space was used for.
#[derive(Debug, Default)]
struct Space {
    uses: Uses,
    /// Shared mappings that are still there, for those who inherit them.
    live: Vec<Claim>,
    /// First and last byte of what all claims lie in; other uses outside of it are of no concern.
    within: Option<(u64, u64)>,
}

/// What every space was used for. A process inherits the shared mappings that are there when it is forked, so spaces are looked
/// through in the order in which they began: a creator's thread number is the lower one.
fn uses(manifest: &Manifest, events: &Events) -> BTreeMap<u32, Space> {
    let space_of = |thread: u32| {
        let process = manifest.threads.get(thread as usize)?.process;
        manifest.processes.get(process as usize).map(|p| p.address_space)
    };
    let mut by_space: HashMap<u32, Vec<(usize, &Event)>> = HashMap::new();
    let mut any = false;
    for (n, e) in events.others() {
        any |= shared_from(&e.kind).is_some();
        let matters = matches!(
            e.kind,
            EventKind::Map { .. } | EventKind::Unmap { .. } | EventKind::Alloc { .. } | EventKind::Spawn { .. }
        );
        if let Some(space) = space_of(e.thread).filter(|_| matters) {
            by_space.entry(space).or_default().push((n, e));
        }
    }
    let mut found: BTreeMap<u32, Space> = BTreeMap::new();
    if !any {
        return found;
    }
    let mut begun = Vec::new();
    for thread in 0..manifest.threads.len() as u32 {
        let Some(space) = space_of(thread).filter(|s| !begun.contains(s)) else { continue };
        begun.push(space);
        let mut of = found.remove(&space).unwrap_or_default();
        let own = by_space.remove(&space).unwrap_or_default();
        own.iter()
            .filter_map(|(_, e)| mapped(&e.kind).filter(|_| shared_from(&e.kind).is_some()))
            .for_each(|r| of.widen(r));
        for (n, e) in own {
            if let EventKind::Spawn { child } = e.kind {
                if let Some(theirs) = space_of(child).filter(|s| *s != space && !begun.contains(s)) {
                    let heir = found.entry(theirs).or_default();
                    of.live.iter().for_each(|c| heir.widen((c.first, c.last)));
                    heir.uses.claims.extend(&of.live);
                    heir.live.extend(&of.live);
                }
                continue;
            }
            of.event(n, &e.kind);
        }
        found.insert(space, of);
    }
    found
}

/// The byte of the file at which a mapping begins that is shared and says so.
fn shared_from(kind: &EventKind) -> Option<u64> {
    match kind {
        EventKind::Map { flags, offset, .. } if SHARED_KINDS.contains(&(flags & MAP_TYPE)) => *offset,
        _ => None,
    }
}

/// First and last byte of a mapping, which ends with a whole page.
fn mapped(kind: &EventKind) -> Option<(u64, u64)> {
    match *kind {
        EventKind::Map { addr, bytes, .. } | EventKind::Unmap { addr, bytes } if bytes > 0 => {
            Some((addr, addr.saturating_add((bytes - 1) | PAGE_MASK)))
        }
        _ => None,
    }
}

impl Space {
    fn widen(&mut self, (first, last): (u64, u64)) {
        let (from, to) = self.within.unwrap_or((first, last));
        self.within = Some((from.min(first), to.max(last)));
    }
    fn used(&mut self, first: u64, last: u64) {
        if self.uses.other.len() < OTHER_MAX && self.within.is_some_and(|w| w.0 <= last && first <= w.1) {
            self.uses.other.push((first, last));
        }
    }

    fn event(&mut self, n: usize, kind: &EventKind) {
        match *kind {
            EventKind::Map { addr, prot, device, inode, .. } => {
                let Some((_, last)) = mapped(kind) else { return };
                self.unmap(addr, last);
                let Some(offset) = shared_from(kind) else {
                    // A reservation holds nothing, and what is mapped over it later is no other use.
                    if prot != 0 {
                        self.used(addr, last);
                    }
                    return;
                };
                let file = (device, inode) != (0, 0);
                let memory = if file { Memory::File(device, inode) } else { Memory::Anonymous(n) };
                if last <= USER_LAST && offset.checked_add(last - addr).is_some() && self.uses.claims.len() < CLAIMS_MAX
                {
                    let claim = Claim { first: addr, last, memory, offset };
                    self.uses.claims.push(claim);
                    self.live.push(claim);
                }
            }
            EventKind::Unmap { addr, .. } => {
                mapped(kind).into_iter().for_each(|(_, last)| self.unmap(addr, last));
            }
            EventKind::Alloc { addr, bytes, source: AllocSource::Heap | AllocSource::Stack, .. } if bytes > 0 => {
                self.used(addr, addr.saturating_add(bytes - 1));
            }
            _ => {}
        }
    }

    /// Takes a range out of what is still there.
    fn unmap(&mut self, first: u64, last: u64) {
        let mut rest = Vec::new();
        self.live.retain(|c| {
            let apart = last < c.first || c.last < first;
            if !apart {
                rest.extend(c.cut(first, last));
            }
            apart
        });
        self.live.append(&mut rest);
    }
}
