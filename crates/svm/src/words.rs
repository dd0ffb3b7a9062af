//! Words of the heap that the program reads and changes at once.
use crate::current::here;
use crate::locks::named;
use crate::mapped::ADDRESS;
use crate::node::Node;
use crate::shared::Class;
use crate::trouble::Trouble;
use homenode_hlrc::operation::{Operation, Refused};
use homenode_hlrc::slots::Use;
use homenode_hlrc::word;

/// A word of the program, of 8 or of 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Address.
    pub address: u64,
    /// Bytes: 8 or 4.
    pub bytes: u32,
}

impl Word {
    /// Index of the word of 64 bits in the heap, and by how many bits the word is shifted in it.
    fn place(self, node: &Node, function: &str) -> Result<(usize, u32), Trouble> {
        let Word { address, bytes } = self;
        if !address.is_multiple_of(bytes.into()) {
            return Err(Trouble::of(format!(
                "{function}: the word at {address:#x} is not aligned to its {bytes} bytes"
            )));
        }
        let offset = address.checked_sub(ADDRESS).filter(|offset| *offset < node.job.heap_bytes);
        let outside =
            || Trouble::of(format!("{function}: {address:#x} is no shared memory: homenode_shared_alloc gives it"));
        let offset = offset.ok_or_else(outside)?;
        // Bytes of a word of the heap are in the order of the machine's addresses.
        let shift = if cfg!(target_endian = "big") { 8 - bytes - (offset % 8) as u32 } else { (offset % 8) as u32 };
        Ok(((offset / 8) as usize, 8 * shift))
    }
    fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes)
    }
}

/// Reads a word: whoever changed it is seen with all that it saw. `function` is what the program called.
///
/// # Errors
/// The word is no shared memory, or not aligned.
pub fn load(function: &str, of: Word) -> Result<u64, Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let (at, shift) = of.place(node, function)?;
    let it = named(node, function, Use::Word, word::name(at))?;
    it.used(false);
    Ok(value_of(node.run(Operation::Read { slot: it.slot, word: at })) >> shift & of.mask())
}

/// Changes a word to what `change` makes of it; what it was.
///
/// # Errors
/// The word is no shared memory, or not aligned.
pub fn change(function: &str, of: Word, change: impl Fn(u64) -> u64) -> Result<u64, Trouble> {
    let node = here()?;
    let _inside = node.enter(Class::Lock);
    let (at, shift) = of.place(node, function)?;
    let it = named(node, function, Use::Word, word::name(at))?;
    it.used(false);
    let mask = of.mask();
    let mut whole = |value: u64| value & !(mask << shift) | (change(value >> shift & mask) & mask) << shift;
    Ok(value_of(node.run_with(Operation::Change { slot: it.slot, word: at }, &mut whole)) >> shift & mask)
}

/// What an operation gave that is never refused.
fn value_of(result: Result<u64, Refused>) -> u64 {
    result.unwrap_or(0)
}
