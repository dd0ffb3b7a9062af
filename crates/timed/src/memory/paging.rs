//! The operating system of a node: faults, relocation, eviction, the page-out daemon (Kuo and others 1998, sections 2 to 4.1).
use super::archs::Pool;
use super::node::Mapping;
use super::system::{Shared, System};
use crate::engine::Effects;
use homenode_machine::Reading;

/// What a TLB refill takes where it is not taken to be within a remapping.
const TLB_REFILL: u64 = 50;

impl System {
    fn pool(&self, node: u32) -> Pool {
        Pool { free: self.nodes[node as usize].free(), min: self.sizes.free_min }
    }

    /// Maps the page if it is not mapped.
    pub(super) fn fault(&mut self, s: Shared, now: u64, fx: &mut Effects) {
        let again = match self.nodes[s.node as usize].mapping(s.page) {
            Mapping::Home | Mapping::Frame(_) => return,
            Mapping::Nowhere => false,
            Mapping::Out => true,
        };
        if again {
            self.count(s.node, |c| &mut c.refaults);
            fx.before.overhead += self.hybrid.interrupt + self.remapping();
        } else {
            self.count(s.node, |c| &mut c.faults);
            fx.before.base += self.hybrid.fault;
        }
        if s.home == s.node || !self.has_page_cache() {
            return self.map_home(s.node, s.page);
        }
        let mut overhead = self.daemon(s.node, now, fx);
        let pool = self.pool(s.node);
        if self.decider(s.node).caches_at_fault(pool) {
            if pool.free == 0 {
                overhead += self.evict_one(s.node, again, fx);
            }
            self.nodes[s.node as usize].take(s.page);
        } else {
            self.map_home(s.node, s.page);
        }
        fx.before.overhead += overhead;
    }

    /// Moves the page into the page cache if it was refetched often enough.
    pub(super) fn relocate(&mut self, s: Shared, now: u64, fx: &mut Effects) {
        let node = s.node as usize;
        if !self.has_page_cache() || self.nodes[node].mapping(s.page) != Mapping::Home {
            return;
        }
        let mut threshold = self.decider(s.node).threshold().unwrap_or(u32::MAX);
        if self.hybrid.reads(Reading::NewPagesOnly) {
            threshold = self.nodes[node].threshold(s.page);
        }
        let due = self.nodes[node].refetches[s.page as usize] >= threshold;
        if !due || threshold == u32::MAX {
            return;
        }
        self.nodes[node].refetches[s.page as usize] = 0;
        if self.decider(s.node).relocation_stopped() {
            fx.after.overhead += self.daemon(s.node, now, fx);
            return;
        }
        let mut overhead = self.hybrid.interrupt + self.daemon(s.node, now, fx);
        if self.pool(s.node).free == 0 && self.decider(s.node).evicts() {
            overhead += self.evict_one(s.node, true, fx);
        }
        if self.pool(s.node).free > 0 {
            self.flush(s.node, s.page, fx);
            self.nodes[node].take(s.page);
            self.count(s.node, |c| &mut c.relocated);
            overhead += self.remapping();
        } else {
            self.decider(s.node).refused();
            self.count(s.node, |c| &mut c.refused);
        }
        fx.after.overhead += overhead;
    }

    /// Runs the page-out daemon if frames are short and it is its time. Cycles that it takes.
    fn daemon(&mut self, node: u32, now: u64, fx: &mut Effects) -> u64 {
        let n = node as usize;
        if self.nodes[n].free() >= self.sizes.free_min || now < self.nodes[n].daemon_at {
            return 0;
        }
        let target = self.sizes.free_target.min(self.sizes.page_cache);
        let mut cycles = self.hybrid.daemon[0];
        for _ in 0..self.nodes[n].frames.len() {
            if self.nodes[n].free() >= target {
                break;
            }
            let frame = self.nodes[n].under_hand();
            if self.nodes[n].frames[frame as usize].page.is_none() {
                continue;
            }
            cycles += self.hybrid.daemon[1];
            if !self.take_reference(node, frame) {
                cycles += self.remapping();
                self.evict(node, frame, fx);
            }
        }
        let reached = self.nodes[n].free() >= target;
        self.decider(node).daemon_ran(reached);
        let gap = self.decider(node).daemon_gap();
        self.nodes[n].daemon_at = now + gap;
        self.count(node, |c| &mut c.daemon_runs);
        if !reached {
            self.count(node, |c| &mut c.daemon_failures);
        }
        cycles
    }

    /// Cycles of a remapping.
    fn remapping(&self) -> u64 {
        let lines = 1 << (self.layout.page_shift - self.line_bits().0);
        let flush = if self.hybrid.reads(Reading::FlushByLine) { lines } else { 0 };
        let refill = if self.hybrid.reads(Reading::TlbRefill) { TLB_REFILL } else { 0 };
        self.hybrid.relocation + flush + refill
    }

    /// Maps a page to its home, under the threshold of now.
    fn map_home(&mut self, node: u32, page: u32) {
        let threshold = self.decider(node).threshold().unwrap_or(u32::MAX);
        self.nodes[node as usize].map_home(page);
        self.nodes[node as usize].set_threshold(page, threshold);
    }

    /// Evicts the first cold page of a sweep, else the one under the hand. Cycles that it takes; `paired` with another remapping.
    fn evict_one(&mut self, node: u32, paired: bool, fx: &mut Effects) -> u64 {
        let frames = self.nodes[node as usize].frames.len();
        let mut frame = self.nodes[node as usize].under_hand();
        for _ in 0..frames {
            if !self.take_reference(node, frame) {
                break;
            }
            frame = self.nodes[node as usize].under_hand();
        }
        self.evict(node, frame, fx);
        if paired && self.hybrid.reads(Reading::OneRemapping) { 0 } else { self.remapping() }
    }

    /// Clears the reference bit of the page in a frame; whether it was set.
    fn take_reference(&mut self, node: u32, frame: u32) -> bool {
        let f = &mut self.nodes[node as usize].frames[frame as usize];
        let mut referenced = std::mem::take(&mut f.referenced);
        if let Some(page) = f.page {
            for line in self.lines_of_page(page) {
                referenced |= self.caches[node as usize].take_touched(line);
            }
        }
        referenced
    }

    /// The page in a frame leaves the page cache.
    fn evict(&mut self, node: u32, frame: u32, fx: &mut Effects) {
        let f = self.nodes[node as usize].frames[frame as usize];
        let Some(page) = f.page else { return };
        self.flush(node, page, fx);
        let to_home = !self.needs_page_cache();
        let n = &mut self.nodes[node as usize];
        n.give_back(frame, to_home);
        n.refetches[page as usize] = 0;
        let frames = n.frames.len() as u32;
        if to_home {
            self.map_home(node, page);
        }
        self.decider(node).replaced(f.refetches, frames);
        self.count(node, |c| &mut c.evicted);
    }

    /// Throws away what a node has of a page; what it has written goes home.
    fn flush(&mut self, node: u32, page: u32, fx: &mut Effects) {
        let (line_shift, chunk_shift) = self.line_bits();
        let chunks = 1u64 << (self.layout.page_shift - chunk_shift);
        let home = self.layout.home(page);
        let first = self.lines_of_page(page).start;
        for within in 0..chunks {
            let chunk = u64::from(page) * chunks + within;
            let lines = 1u64 << (chunk_shift - line_shift);
            for line in first + within * lines..first + (within + 1) * lines {
                self.caches[node as usize].remove(line);
            }
            let c = &mut self.chunks[chunk as usize];
            if c.owner() == Some(node) {
                c.set_owner(None);
                fx.posted.push(self.paths.write_back(node, home, chunk));
                self.count(node, |c| &mut c.written_back);
            }
            let c = &mut self.chunks[chunk as usize];
            if c.has(node) && !self.hybrid.reads(Reading::CopiesStay) {
                c.forget(node);
                c.flushed |= 1 << node;
            }
            if self.nodes[node as usize].rac == Some(chunk) {
                self.nodes[node as usize].rac = None;
            }
        }
    }

    fn lines_of_page(&self, page: u32) -> std::ops::Range<u64> {
        let shift = self.layout.page_shift - self.line_bits().0;
        let first = self.layout.flat(page) << shift;
        first..first + (1 << shift)
    }
}
