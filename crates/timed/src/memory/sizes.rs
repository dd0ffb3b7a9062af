//! Memory pressure and frames (Kuo and others 1998, sections 4.1 and 5).
use super::MemoryError;
use super::layout::Layout;
use homenode_machine::{Hybrid, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many frames a node has at a pressure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// Home pages that every node has room for.
    pub home: u32,
    /// Frames in all.
    pub frames: u32,
    /// Frames of the page cache.
    pub page_cache: u32,
    /// Free frames below which the daemon runs.
    pub free_min: u32,
    /// Free frames up to which it frees.
    pub free_target: u32,
}

impl Sizes {
    /// Of nodes with so many home pages at a pressure in percent: home pages over frames. What is no whole frame is none; of the
    /// reserve at least one.
    ///
    /// # Errors
    /// A pressure above 100 or of 0; more frames than can be counted; a cache above memory.
    pub fn at(hybrid: &Hybrid, page_bytes: u64, home: u64, percent: u32) -> Result<Sizes, MemoryError> {
        if !(1..=100).contains(&percent) || home > u64::from(u32::MAX) {
            return Err(MemoryError::Pressure(percent));
        }
        let frames = home * 100 / u64::from(percent);
        let bytes = frames.saturating_mul(page_bytes);
        if hybrid.cache_bytes > bytes {
            return Err(MemoryError::CacheAboveMemory { cache: hybrid.cache_bytes, memory: bytes });
        }
        let of = if hybrid.reads(Reading::ReserveOfPageCache) { frames - home } else { frames };
        let reserve = |share: u32| (of * u64::from(share) / 100).max(1);
        let number = |n: u64| u32::try_from(n).map_err(|_| MemoryError::Pressure(percent));
        let [min, target] = hybrid.free_percent;
        Ok(Sizes {
            home: number(home)?,
            frames: number(frames)?,
            page_cache: number(frames - home)?,
            free_min: number(reserve(min))?,
            free_target: number(reserve(target))?,
        })
    }

    /// Bits of state beside the caches on all nodes (table 2): 2 a chunk and 44 a page of the page caches, and refetch counters of 6 bits
    /// a page and node where pages are relocated.
    pub fn state_bits(&self, hybrid: &Hybrid, layout: &Layout, relocates: bool) -> u64 {
        let chunks = (1u64 << layout.page_shift) / hybrid.chunk_bytes;
        let nodes = layout.nodes as u64;
        let counters = if relocates { 6 * layout.pages() as u64 * nodes } else { 0 };
        u64::from(self.page_cache) * nodes * (2 * chunks + 44) + counters
    }
}
