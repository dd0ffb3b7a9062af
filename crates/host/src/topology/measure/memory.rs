//! Buffers on one memory node.
use super::{Effort, MeasureError};
use homenode_base::{NodeId, Rng};
use homenode_machine::Topology;
use homenode_sys::chase::Buffer;
use homenode_sys::numa;
use std::io;

/// Words between two loads of the cycle: 256 bytes.
pub(super) const STRIDE: usize = 32;
const SMALLEST: u64 = 4 << 20;
const LARGEST: u64 = 1 << 30;
const LARGEST_QUICK: u64 = 128 << 20;
/// Private caches that a footprint is as large as: of loads at random an eighth hit the private cache.
const PRIVATE_CACHES: u64 = 8;
/// Fewer say little of the level behind: a quarter would hit the private cache.
const PRIVATE_CACHES_LEAST: u64 = 4;
/// Pages of a buffer that the kernel is asked about.
const ASKED: usize = 4096;

/// Buffers on one node.
pub(super) struct Memory {
    /// In base pages.
    pub(super) small: Chain,
    /// In huge pages if the kernel gives any.
    pub(super) large: Chain,
    /// In base pages, for the last level to hold; none where that cannot be measured.
    pub(super) cached: Option<Chain>,
    /// Whether most of `large` is in huge pages.
    pub(super) really_huge: bool,
    /// What limits the measurement, in words.
    pub(super) note: Option<String>,
}

/// A buffer with a random cycle through it: the word at each visited place is the index of the next.
pub(super) struct Chain {
    pub(super) buffer: Buffer,
    seed: u64,
}

impl Memory {
    /// Binds and touches the buffers. `only`: there is no other node with memory, so a refused binding changes nothing.
    pub(super) fn on(t: &Topology, node: NodeId, only: bool, effort: Effort) -> Result<Memory, MeasureError> {
        let (bytes, note) = size(t, node, effort.quick);
        let os_id = t.nodes[node.index()].os_id;
        let small = Chain::on(os_id, bytes, false, only)?;
        let large = Chain::on(os_id, bytes, true, only)?;
        let cached = footprint(t).map(|bytes| Chain::on(os_id, bytes, false, only)).transpose()?;
        let really_huge = huge_bytes(&large.buffer) > large.buffer.bytes() as u64 / 2;
        Ok(Memory { small, large, cached, really_huge, note })
    }
}

/// Twice the last level, within a sixteenth to an eighth of what is free on the node.
fn size(t: &Topology, node: NodeId, quick: bool) -> (u64, Option<String>) {
    let last_level = t.caches.map_or(32 << 20, |c| c.shared.bytes);
    let node = &t.nodes[node.index()];
    let free = if node.free_bytes > 0 { node.free_bytes } else { node.memory_bytes / 2 };
    let most = (free / 8).min(if quick { LARGEST_QUICK } else { LARGEST }).max(SMALLEST);
    let bytes = last_level.saturating_mul(2).clamp(SMALLEST, most);
    let short = bytes < last_level.saturating_mul(2);
    let note = short.then(|| {
        format!(
            "buffers of {} MiB on node {} where twice the last level would be {} MiB (lines are flushed)",
            bytes >> 20,
            node.os_id,
            last_level >> 19
        )
    });
    (bytes, note)
}

/// Bytes of the footprint: eight private caches, and at most half of the last level; none where that is too little to tell the two apart.
pub(super) fn footprint(t: &Topology) -> Option<u64> {
    let caches = t.caches?;
    let bytes = caches.private.bytes.saturating_mul(PRIVATE_CACHES).min(caches.shared.bytes / 2);
    (bytes >= caches.private.bytes.saturating_mul(PRIVATE_CACHES_LEAST)).then_some(bytes)
}

impl Chain {
    /// The contents.
    pub(super) fn words(&self) -> &[u64] {
        self.buffer.words()
    }
    /// The contents, for those that divide them.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.buffer.words_mut()
    }
    /// Throws all lines out of the caches.
    pub(super) fn flush(&self) {
        self.buffer.flush();
    }
    fn on(node: u32, bytes: u64, huge: bool, only: bool) -> Result<Chain, MeasureError> {
        let fail = |doing| move |source: io::Error| MeasureError::System { doing, node, source };
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut buffer = Buffer::map(size, huge).map_err(fail("map a buffer"))?;
        let bound = numa::mbind(buffer.address(), buffer.bytes() as u64, numa::Mode::Bind as i32, &[node], 0);
        if !only {
            bound.map_err(fail("bind memory with mbind"))?;
        }
        buffer.words_mut().iter_mut().step_by(512).for_each(|w| *w = 1);
        if !only {
            verify(&buffer, node)?;
        }
        let mut chain = Chain { buffer, seed: u64::from(node) << 1 | u64::from(huge) };
        chain.thread_cycle();
        Ok(chain)
    }

    /// Writes one random cycle through all places (Sattolo 1986) and throws the buffer out of the caches.
    pub(super) fn thread_cycle(&mut self) {
        self.seed += 1 << 32;
        let mut rng = Rng::new(self.seed);
        let words = self.buffer.words_mut();
        let places = words.len() / STRIDE;
        (0..places).for_each(|i| words[i * STRIDE] = (i * STRIDE) as u64);
        for i in (1..places).rev() {
            let j = rng.below(i as u64) as usize;
            words.swap(i * STRIDE, j * STRIDE);
        }
        self.buffer.flush();
    }
}

fn verify(buffer: &Buffer, node: u32) -> Result<(), MeasureError> {
    let pages = buffer.bytes() / 4096;
    let step = pages.div_ceil(ASKED);
    let asked: Vec<u64> = (0..pages).step_by(step).map(|p| buffer.address() + p as u64 * 4096).collect();
    let mut status = vec![numa::UNTOUCHED; asked.len()];
    numa::query_pages(0, &asked, &mut status).map_err(|source| MeasureError::System {
        doing: "ask where pages are with move_pages",
        node,
        source,
    })?;
    let wrong = status.iter().filter(|s| u32::try_from(**s).ok() != Some(node)).count();
    if wrong > 0 {
        return Err(MeasureError::Misplaced { node, wrong, asked: asked.len() });
    }
    Ok(())
}

/// Bytes of the buffer in transparent huge pages, from the kernel's table of mappings; 0 if it does not say.
fn huge_bytes(buffer: &Buffer) -> u64 {
    let table = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let mut inside = false;
    let mut bytes = 0;
    for line in table.lines() {
        let range = line.split_whitespace().next().and_then(|r| r.split_once('-'));
        let hex = |t: &str| u64::from_str_radix(t, 16).ok();
        if let Some((from, to)) = range.and_then(|(a, b)| Some((hex(a)?, hex(b)?))) {
            inside = from < buffer.address() + buffer.bytes() as u64 && buffer.address() < to;
        } else if let (true, Some(rest)) = (inside, line.strip_prefix("AnonHugePages:")) {
            let kb: u64 = rest.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
            bytes += kb * 1024;
        }
    }
    bytes.min(buffer.bytes() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_machine::CacheGeometry;
    use homenode_machine::topology::CpuCaches;

    #[test]
    fn the_cycle_visits_every_place_once() {
        let mut chain = Chain { buffer: Buffer::map(2 << 20, false).unwrap(), seed: 5 };
        for _ in 0..2 {
            chain.thread_cycle();
            let words = chain.buffer.words();
            let places = words.len() / STRIDE;
            let (mut at, mut seen) = (0, vec![false; places]);
            for _ in 0..places {
                assert!(!std::mem::replace(&mut seen[at / STRIDE], true));
                at = words[at] as usize;
            }
            assert!(at == 0 && seen.iter().all(|s| *s));
        }
    }

    #[test]
    fn buffers_stay_within_an_eighth_of_what_is_free() {
        let node = homenode_machine::topology::MemoryNode { free_bytes: 80 << 20, ..Default::default() };
        let t = Topology { nodes: vec![node], ..Topology::default() };
        let (bytes, note) = size(&t, NodeId(0), false);
        assert_eq!(bytes, 10 << 20);
        assert!(note.unwrap().contains("10 MiB"));
    }
    #[test]
    fn the_footprint_lies_between_the_two_levels_or_is_none() {
        let of = |private: u64, shared: u64| {
            let level = |kib: u64| CacheGeometry { bytes: kib << 10, ways: 8 };
            let caches = CpuCaches { line_bytes: 64, private: level(private), shared: level(shared) };
            footprint(&Topology { caches: Some(caches), ..Topology::default() }).map(|b| b >> 10)
        };
        assert_eq!([of(1024, 32_768), of(1024, 11_264), of(512, 4096)], [Some(8192), Some(5632), Some(2048)]);
        assert_eq!([of(2048, 2048), of(1024, 4096)], [None, None], "most loads would hit the private cache");
        assert_eq!(footprint(&Topology::default()), None);
    }
}
