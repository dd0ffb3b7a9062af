//! What the blocks of references are that recorded programs write into their rings (`homenode_base::ring`, `W0_BLOCK`).
//!
//! The program puts a file of definitions beside the rings before it writes the first header that needs it, so a number that is
//! not known is looked for among the files that came since. What is in them is checked like everything that comes from another process.
use crate::control::Control;
use homenode_base::ring::*;
use homenode_sys::dir::Dir;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ending of the files' names.
pub(crate) const ENDING: &str = ".blocks";
/// Bytes of the largest file that is read: some 15 million references in the program's code.
const FILE_BYTES_MAX: u64 = 128 << 20;
/// Files that are read: executables and libraries of all processes together.
const FILES_MAX: usize = 65_536;
/// How often files are looked for in vain before nobody looks any more.
const VAIN_MAX: u32 = 64;

/// The definitions of a recording, read as they are needed.
#[derive(Debug)]
pub(crate) struct Definitions {
    places: Vec<Dir>,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    tables: Vec<Arc<Table>>,
    /// Numbers by which files are named that were read or are of no use.
    seen: Vec<u32>,
    vain: u32,
}

/// The definitions of one file.
#[derive(Debug)]
struct Table {
    /// The number before that of the first block.
    before: u32,
    /// Where each block begins in `slots`, and where the last one ends.
    begins: Vec<u32>,
    /// For each reference its slot without the address.
    slots: Vec<[u64; 2]>,
}

impl Definitions {
    /// Those of the recording that this control file belongs to.
    pub(crate) fn of(control: &Control) -> Arc<Definitions> {
        Arc::new(Definitions { places: control.places(), found: Mutex::default() })
    }

    /// The table with block `number`.
    fn table(&self, number: u32) -> Option<Arc<Table>> {
        let mut found = self.lock();
        if let Some(known) = found.with(number) {
            return Some(known);
        }
        if found.vain >= VAIN_MAX {
            return None;
        }
        for place in &self.places {
            // A place that is gone has no definitions.
            let names = place.names().unwrap_or_default();
            names.iter().for_each(|name| found.read(place, name));
        }
        let now = found.with(number);
        found.vain += u32::from(now.is_none());
        now
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Found {
    fn with(&self, number: u32) -> Option<Arc<Table>> {
        self.tables.iter().find(|t| t.get(number).is_some()).cloned()
    }

    fn read(&mut self, place: &Dir, name: &str) {
        let Some(before) = name.strip_suffix(ENDING).and_then(|n| n.parse::<u32>().ok()) else { return };
        if self.seen.contains(&before) || self.seen.len() >= FILES_MAX {
            return;
        }
        self.seen.push(before);
        // A file of no use is as good as none: what needs it counts as damaged.
        self.tables.extend(read(place, name).ok().and_then(|bytes| Table::parse(before, &bytes)).map(Arc::new));
    }
}

fn read(place: &Dir, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    place.read(name)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(io::ErrorKind::InvalidData.into()),
        false => Ok(bytes),
    }
}

impl Table {
    /// `None` if the bytes are not definitions of blocks that are numbered from `before` on.
    fn parse(before: u32, bytes: &[u8]) -> Option<Table> {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let (mut begins, mut slots) = (vec![0], Vec::new());
        while let Some(header) = words.next() {
            let number = before.checked_add(u32::try_from(begins.len()).ok()?)?;
            let refs = block_refs(header).filter(|_| header & BLOCK_NUMBER_MASK == u64::from(number))?;
            for _ in 0..refs {
                let word = words.next()?;
                let bits = word & (15 << W0_SIZE_SHIFT | 3 << W0_OP_SHIFT);
                slots.push([bits, word & W1_PC_MASK]);
            }
            begins.push(u32::try_from(slots.len()).ok()?);
        }
        rest.is_empty().then_some(Table { before, begins, slots })
    }

    /// The references of block `number`: their slots without addresses.
    fn get(&self, number: u32) -> Option<&[[u64; 2]]> {
        let at = number.checked_sub(self.before)?.checked_sub(1)? as usize;
        let (&begin, &end) = (self.begins.get(at)?, self.begins.get(at + 1)?);
        self.slots.get(begin as usize..end as usize)
    }
}

/// One reader's way to the definitions.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    all: Option<Arc<Definitions>>,
    /// The table in which the last block was found.
    last: Option<Arc<Table>>,
}

impl Blocks {
    /// Of these definitions.
    pub(crate) fn of(all: Arc<Definitions>) -> Blocks {
        Blocks { all: Some(all), last: None }
    }

    /// Appends the references of the block with which `slots` begin as slots of one reference each, as far as `out` has room; how many
    /// slots it took. `None` if it is no block, not known or not whole.
    #[inline]
    pub(crate) fn expand(&mut self, slots: &[[u64; 2]], out: &mut Expanded) -> Option<usize> {
        let header = slots.first()?[0];
        let refs = block_refs(header)? as usize;
        let used = block_slots(refs as u64) as usize;
        let addresses = slots.get(..used)?.as_flattened().get(1..=refs)?;
        let number = (header & BLOCK_NUMBER_MASK) as u32;
        let known = self.last.as_ref().is_some_and(|t| t.get(number).is_some());
        if !known {
            self.last = Some(self.all.as_ref()?.table(number)?);
        }
        let definition = self.last.as_ref()?.get(number)?.get(..refs)?;
        let room = out.slots.get_mut(out.len..out.len + refs)?;
        for ((to, &[bits, pc]), &address) in room.iter_mut().zip(definition).zip(addresses) {
            *to = [address & W0_ADDR_MASK | bits, pc];
        }
        out.len += refs;
        Some(used)
    }
}

/// References of a batch, a slot each.
#[derive(Debug)]
pub(crate) struct Expanded {
    slots: [[u64; 2]; BATCH_REFS as usize],
    len: usize,
}

impl Default for Expanded {
    fn default() -> Expanded {
        Expanded { slots: [[0; 2]; BATCH_REFS as usize], len: 0 }
    }
}

impl Expanded {
    pub(crate) fn push(&mut self, slot: [u64; 2]) -> bool {
        let room = self.slots.get_mut(self.len);
        self.len += usize::from(room.is_some());
        room.map(|to| *to = slot).is_some()
    }
    pub(crate) fn take(&mut self) -> &[[u64; 2]] {
        &self.slots[..std::mem::take(&mut self.len)]
    }
}
