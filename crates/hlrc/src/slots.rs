//! Slots of locks, barriers, conditions and flags: each is named by an address, and has the slot that its manager has noted for it.
use crate::host::Host;
use crate::memory::region;
use std::sync::atomic::Ordering;

/// All slots are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// What a slot is used as: one address may be the name of several things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A lock.
    Lock,
    /// A barrier.
    Barrier,
    /// A condition variable.
    Condition,
    /// A flag.
    Flag,
    /// The lock of words that are changed at once.
    Word,
    /// The barrier of reductions.
    Reduction,
}

/// Bits of an address.
const ADDRESS_BITS: u32 = 56;

/// The key of a name: an address of 56 bits, which is not 0, and what it names.
pub const fn key(what: Use, address: u64) -> u64 {
    address & ((1 << ADDRESS_BITS) - 1) | (what as u64) << ADDRESS_BITS
}

impl Use {
    /// All, in the order of their codes.
    pub const ALL: [Use; 6] = [Use::Lock, Use::Barrier, Use::Condition, Use::Flag, Use::Word, Use::Reduction];
}

/// What a key names, and the address.
pub fn of_key(key: u64) -> Option<(Use, u64)> {
    let what = Use::ALL.get((key >> ADDRESS_BITS) as usize)?;
    Some((*what, key & ((1 << ADDRESS_BITS) - 1)))
}

/// The slot of a key, which must not be 0. Nodes that ask at the same time agree.
///
/// # Errors
/// [`TableFull`] if there are more names than slots.
pub async fn find<H: Host>(host: &H, key: u64) -> Result<u32, TableFull> {
    let cluster = host.cluster();
    let first = mixed(key) % u64::from(cluster.slots);
    for probe in 0..u64::from(cluster.slots) {
        let slot = ((first + probe) % u64::from(cluster.slots)) as u32;
        let word = host.layout().key(slot);
        let known = region(host, word);
        let mut noted = known.load(Ordering::Acquire);
        if noted == 0 {
            let found = host.compare_swap(cluster.manager(slot), word, 0, key).await;
            noted = if found == 0 { key } else { found };
            known.store(noted, Ordering::Release);
        }
        if noted == key {
            return Ok(slot);
        }
    }
    Err(TableFull)
}

/// The mixer of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(key: u64) -> u64 {
    let x = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
