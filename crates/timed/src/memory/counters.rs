//! What is counted.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where misses were satisfied, and what remapping did. All of it of what counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Misses to pages that one node has alone: not among those below.
    pub private: u64,
    /// HOME: from the own node's memory, being the page's home.
    pub home: u64,
    /// S-COMA: from the page cache.
    pub page_cache: u64,
    /// RAC.
    pub rac: u64,
    /// COLD, essential: the node's first fetch of the chunk.
    pub cold: u64,
    /// COLD, induced: a remapping had thrown the copy away.
    pub cold_induced: u64,
    /// Another node had written the chunk.
    pub coherence: u64,
    /// CONF/CAPC: fetched again although nobody had written it.
    pub refetch: u64,
    /// Writes to lines that were only readable, asked of the home: the data was there.
    pub ownership: u64,
    /// Remote fetches that a third node answered.
    pub forwarded: u64,
    /// First accesses of nodes to pages.
    pub faults: u64,
    /// Pages moved into the page cache because of refetches.
    pub relocated: u64,
    /// Relocations asked for and refused.
    pub refused: u64,
    /// Faults on pages that had been thrown out of the page cache before.
    pub refaults: u64,
    /// Pages thrown out of the page cache.
    pub evicted: u64,
    /// Runs of the page-out daemon.
    pub daemon_runs: u64,
    /// Of these, those that did not reach their target.
    pub daemon_failures: u64,
    /// Chunks and lines written back over the network.
    pub written_back: u64,
}

impl Counters {
    /// Fetches from other nodes.
    pub fn remote(&self) -> u64 {
        self.cold + self.cold_induced + self.coherence + self.refetch
    }
    /// Misses of shared pages.
    pub fn misses(&self) -> u64 {
        self.home + self.page_cache + self.rac + self.remote()
    }
    /// Adds others.
    pub fn add(&mut self, o: &Counters) {
        let pairs: [(&mut u64, u64); 18] = [
            (&mut self.private, o.private),
            (&mut self.home, o.home),
            (&mut self.page_cache, o.page_cache),
            (&mut self.rac, o.rac),
            (&mut self.cold, o.cold),
            (&mut self.cold_induced, o.cold_induced),
            (&mut self.coherence, o.coherence),
            (&mut self.refetch, o.refetch),
            (&mut self.ownership, o.ownership),
            (&mut self.forwarded, o.forwarded),
            (&mut self.faults, o.faults),
            (&mut self.relocated, o.relocated),
            (&mut self.refused, o.refused),
            (&mut self.refaults, o.refaults),
            (&mut self.evicted, o.evicted),
            (&mut self.daemon_runs, o.daemon_runs),
            (&mut self.daemon_failures, o.daemon_failures),
            (&mut self.written_back, o.written_back),
        ];
        pairs.into_iter().for_each(|(sum, n)| *sum += n);
    }
}
