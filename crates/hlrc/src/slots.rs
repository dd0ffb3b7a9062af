//! Slots of locks and barriers: each is named by its address in shared memory, and has the slot that its manager has noted for it.
use crate::host::Host;
use std::sync::atomic::Ordering;

/// All slots are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// The slot of an address, which must not be 0. Nodes that ask at the same time agree.
///
/// # Errors
/// [`TableFull`] if there are more locks and barriers than slots.
pub async fn find<H: Host>(host: &H, address: u64) -> Result<u32, TableFull> {
    let cluster = host.cluster();
    let first = mixed(address) % u64::from(cluster.slots);
    for probe in 0..u64::from(cluster.slots) {
        let slot = ((first + probe) % u64::from(cluster.slots)) as u32;
        let word = host.layout().key(slot);
        let known = &host.region()[word];
        let mut key = known.load(Ordering::Acquire);
        if key == 0 {
            let found = host.compare_swap(cluster.manager(slot), word, 0, address).await;
            key = if found == 0 { address } else { found };
            known.store(key, Ordering::Release);
        }
        if key == address {
            return Ok(slot);
        }
    }
    Err(TableFull)
}

/// The mixer of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(address: u64) -> u64 {
    let x = (address ^ address >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
