//! Caches before the memory.
use super::Section;
use crate::limits::{BLOCK_BYTES_MAX, MachineError, reject, validate_cost};
use crate::shape::Shape;
use homenode_base::Cost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Per-core private cache and shared last level per node; MESI at line size, set-associative, LRU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caches {
    /// Line size, a power of two.
    pub line_bytes: u32,
    /// Private cache of each core.
    pub private: CacheGeometry,
    /// Last level of each node.
    pub shared: CacheGeometry,
    /// Cache-to-cache transfer between cores of one node: a constant of its block, whatever the placement.
    pub transfer_near: Cost,
    /// Cache-to-cache transfer between nodes.
    pub transfer_far: Cost,
}

/// Size and associativity of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheGeometry {
    /// Capacity in bytes; a multiple of ways times line.
    pub bytes: u64,
    /// Lines per set.
    pub ways: u32,
}

impl Section for Caches {
    fn validate(&self, _: &Shape) -> Result<(), MachineError> {
        validate_caches(self)
    }
}

fn validate_caches(c: &Caches) -> Result<(), MachineError> {
    if !c.line_bytes.is_power_of_two() || !(8..=4096).contains(&c.line_bytes) {
        return Err(reject("caches.line_bytes", c.line_bytes, "a power of two from 8 to 4096"));
    }
    validate_cache("caches.private", c.private, c.line_bytes)?;
    validate_cache("caches.shared", c.shared, c.line_bytes)?;
    validate_cost("caches.transfer_near", c.transfer_near)?;
    validate_cost("caches.transfer_far", c.transfer_far)?;
    if c.transfer_far < c.transfer_near {
        let allowed = format!("at least caches.transfer_near, {}", c.transfer_near.0);
        return Err(reject("caches.transfer_far", c.transfer_far.0, allowed));
    }
    Ok(())
}

fn validate_cache(key: &str, cache: CacheGeometry, line_bytes: u32) -> Result<(), MachineError> {
    if !(1..=1024).contains(&cache.ways) {
        return Err(reject(&format!("{key}.ways"), cache.ways, "1 to 1024"));
    }
    let set = u64::from(cache.ways) * u64::from(line_bytes);
    if cache.bytes == 0 || !cache.bytes.is_multiple_of(set) || cache.bytes > BLOCK_BYTES_MAX {
        let allowed = format!("a multiple of ways x line = {set}, at most {BLOCK_BYTES_MAX}");
        return Err(reject(&format!("{key}.bytes"), cache.bytes, allowed));
    }
    Ok(())
}
