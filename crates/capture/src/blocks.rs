//! What the blocks of references are that recorded programs write into their rings (`homenode_base::ring`, `W0_BLOCK`).
//!
//! The program puts a file of definitions beside the rings before it writes the first header that needs it, so a number that is
//! not known is looked for among the files that came since. What is in them is checked like everything that comes from another process.
use crate::control::Control;
use homenode_base::ring::*;
use homenode_sys::dir::Dir;
use homenode_trace::frame::{BlockRefs, RawRef};
use homenode_trace::record::Op;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ending of the files' names.
pub(crate) const ENDING: &str = ".blocks";
/// Bytes of the largest file that is read: some 15 million references in the program's code.
const FILE_BYTES_MAX: u64 = 128 << 20;
/// Files that are read: executables and libraries of all processes together.
const FILES_MAX: usize = 65_536;
/// Size code of the largest reference of a block, of 16 bytes.
const CODE_MAX: u64 = 4;
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
    /// Definitions of the recording that this control file belongs to.
    pub(crate) fn of(control: &Control) -> Arc<Definitions> {
        Arc::new(Definitions { places: control.places(), found: Mutex::default() })
    }

    /// Definitions that a test made, numbered from 1 on.
    #[cfg(test)]
    pub(crate) fn made(blocks: &[Vec<[u64; 2]>]) -> Arc<Definitions> {
        let ends = blocks.iter().scan(0, |end, block| {
            *end += block.len() as u32;
            Some(*end)
        });
        let table = Table { before: 0, begins: [0].into_iter().chain(ends).collect(), slots: blocks.concat() };
        let found = Found { tables: vec![Arc::new(table)], ..Found::default() };
        Arc::new(Definitions { places: Vec::new(), found: Mutex::new(found) })
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
                let (code, op) = (word >> W0_SIZE_SHIFT & 15, word >> W0_OP_SHIFT & 3);
                if code > CODE_MAX || op > Op::Write as u64 {
                    return None;
                }
                slots.push([code << W0_SIZE_SHIFT | op << W0_OP_SHIFT, word & W1_PC_MASK]);
            }
            begins.push(u32::try_from(slots.len()).ok()?);
        }
        rest.is_empty().then_some(Table { before, begins, slots })
    }

    /// Whether it has block `number`.
    #[inline]
    fn has(&self, number: u32) -> bool {
        (number.wrapping_sub(self.before).wrapping_sub(1) as usize) < self.begins.len() - 1
    }

    /// The references of block `number`: their slots without addresses.
    #[inline]
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
    /// Tables that were needed so far; first the one in which the last block was found.
    known: Vec<Arc<Table>>,
}

impl Blocks {
    /// Of these definitions.
    pub(crate) fn defined_by(all: Arc<Definitions>) -> Blocks {
        Blocks { all: Some(all), known: Vec::new() }
    }

    /// The references of the block with which `slots` begin, and how many slots it has. `None` if it is no block, not known or not whole.
    pub(crate) fn expand<'a>(&'a mut self, slots: &'a [[u64; 2]]) -> Option<(impl Iterator<Item = RawRef>, usize)> {
        let header = slots.first()?[0];
        let refs = block_refs(header)?;
        let used = block_slots(refs) as usize;
        let addresses = slots.get(..used)?.as_flattened().get(1..)?;
        let definition = self.refs_of(header)?.get(..refs as usize)?;
        let slots = definition.iter().zip(addresses).map(|(&[bits, pc], address)| [bits | address & W0_ADDR_MASK, pc]);
        Some((slots.filter_map(|slot| RawRef::of_slot(&slot)), used))
    }

    /// Puts the table with block `number` first.
    #[cold]
    fn look_up(&mut self, number: u32) -> Option<()> {
        let at = match self.known.iter().position(|t| t.has(number)) {
            Some(at) => at,
            None => {
                self.known.push(self.all.as_ref()?.table(number)?);
                self.known.len() - 1
            }
        };
        self.known.swap(0, at);
        Some(())
    }
}

impl BlockRefs for Blocks {
    fn refs_of(&mut self, header: u64) -> Option<&[[u64; 2]]> {
        let number = (header & BLOCK_NUMBER_MASK) as u32;
        if self.known.first().is_none_or(|t| !t.has(number)) {
            self.look_up(number)?;
        }
        self.known.first()?.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    fn word(refs: u64, number: u64) -> [u8; 8] {
        (W0_BLOCK | refs << W0_KIND_SHIFT | number).to_le_bytes()
    }
    fn reference(code: u64, op: u64, pc: u64) -> [u8; 8] {
        (code << W0_SIZE_SHIFT | op << W0_OP_SHIFT | pc).to_le_bytes()
    }

    #[test]
    fn files_are_read_when_a_number_is_asked_for_that_is_not_known() {
        let t = tempfile::tempdir().unwrap();
        let all = Arc::new(Definitions { places: vec![Dir::open(t.path()).unwrap()], found: Mutex::default() });
        let mut blocks = Blocks::defined_by(all);
        let slots = [[W0_BLOCK | 2 << W0_KIND_SHIFT | 8, 0x1000], [0xffff_0000_0000_2000, 0], [7, 7]];
        assert!(blocks.expand(&slots).is_none());
        let file =
            [word(1, 8), reference(3, 1, 0x40), word(2, 9), reference(0, 0, 0x50), reference(4, 1, 0x60)].concat();
        std::fs::write(t.path().join("7.blocks"), &file).unwrap();
        std::fs::write(t.path().join("x.blocks"), &file).unwrap();
        assert!(blocks.expand(&slots).is_none(), "block 8 has one reference");
        let slots = slots.map(|[a, b]| [a + u64::from(a == slots[0][0]), b]);
        let (refs, used) = blocks.expand(&slots).unwrap();
        let raw = |addr, size, op, pc| RawRef { addr, size, op, pc };
        assert_eq!(refs.collect::<Vec<_>>(), [raw(0x1000, 1, Op::Read, 0x50), raw(0x2000, 16, Op::Write, 0x60)]);
        assert_eq!(used, 2);
        assert!(blocks.expand(&slots[..1]).is_none(), "cut");
    }

    #[test]
    fn definitions_that_cannot_be_are_none() {
        let good = [word(1, 8), reference(3, 1, 0x40)].concat();
        assert!(Table::parse(7, &good).is_some());
        assert!(Table::parse(6, &good).is_none(), "another number");
        assert!(Table::parse(7, &good[..12]).is_none(), "cut");
        assert!(Table::parse(7, &word(1, 8)).is_none(), "a reference is missing");
        assert!(Table::parse(u32::MAX, &good).is_none());
        assert!(Table::parse(7, &[word(0, 8), word(1, 9)].concat()).is_none());
        for (code, op) in [(5, 0), (SIZE_RANGE, 0), (3, 2), (3, 3)] {
            assert!(Table::parse(7, &[word(1, 8), reference(code, op, 0x40)].concat()).is_none(), "{code} {op}");
        }
        let mut rng = Rng::new(3);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..rng.below(80)).map(|_| rng.next_u64() as u8).collect();
            let _ = Table::parse(rng.next_u64() as u32, &bytes);
        }
    }

    #[test]
    fn hostile_numbers_do_not_make_the_recorder_look_for_ever() {
        let t = tempfile::tempdir().unwrap();
        let all = Definitions { places: vec![Dir::open(t.path()).unwrap()], found: Mutex::default() };
        (0..1000).for_each(|n| assert!(all.table(n).is_none()));
        std::fs::write(t.path().join("0.blocks"), [word(1, 1), reference(3, 1, 0x40)].concat()).unwrap();
        assert!(all.table(1).is_none(), "nobody looks any more");
    }
}
