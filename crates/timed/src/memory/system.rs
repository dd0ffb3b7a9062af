//! The hardware: where an access goes, and what coherence does (Kuo and others 1998, sections 2.1 and 4.1).
//!
//! State changes when a request goes out: what the request does to others, too. Servers say how long it takes.
use super::archs::{Architecture, Spec};
use super::counters::Counters;
use super::directory::Chunk;
use super::l1::{Cache, State};
use super::layout::Layout;
use super::node::{Mapping, Node};
use super::paths::Paths;
use super::sizes::Sizes;
use crate::engine::{Access, Effects, Memory};
use homenode_machine::{Hybrid, Reading};
use std::sync::Arc;

/// What a refetch counter of 6 bits holds (table 2).
const COUNTER_MAX: u32 = 63;

/// A memory system.
pub(super) struct System {
    pub(super) hybrid: Hybrid,
    pub(super) sizes: Sizes,
    pub(super) layout: Arc<Layout>,
    pub(super) paths: Paths,
    pub(super) caches: Vec<Cache>,
    pub(super) nodes: Vec<Node>,
    deciders: Vec<Box<dyn Architecture>>,
    refetches_max: u32,
    pub(super) chunks: Vec<Chunk>,
    has_page_cache: bool,
    needs_page_cache: bool,
    line_shift: u32,
    chunk_shift: u32,
    counts: Vec<bool>,
    counters: Vec<Counters>,
}

/// An access to a shared page.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) node: u32,
    pub(super) line: u64,
    pub(super) writes: bool,
    pub(super) page: u32,
    /// Number of the chunk among all.
    pub(super) chunk: u64,
    pub(super) home: u32,
}

impl System {
    /// All caches empty, nothing mapped.
    pub(super) fn new(spec: &Spec, hybrid: &Hybrid, sizes: Sizes, layout: Arc<Layout>) -> System {
        let nodes = layout.nodes;
        let frames = if spec.has_page_cache { sizes.page_cache } else { 0 };
        let (line_shift, chunk_shift) = (hybrid.line_bytes.trailing_zeros(), hybrid.chunk_bytes.trailing_zeros());
        let deciders = if hybrid.reads(Reading::GlobalThreshold) { 1 } else { nodes };
        let chunks = layout.pages() << (layout.page_shift - chunk_shift);
        System {
            paths: Paths::new(hybrid),
            caches: vec![Cache::new(hybrid.cache_bytes >> line_shift); nodes],
            nodes: vec![Node::new(layout.pages(), frames); nodes],
            deciders: (0..deciders).map(|_| (spec.decider)(hybrid)).collect(),
            refetches_max: if hybrid.reads(Reading::CountersSaturate) { COUNTER_MAX } else { u32::MAX },
            chunks: vec![Chunk::default(); chunks],
            has_page_cache: frames > 0,
            needs_page_cache: spec.needs_page_cache,
            line_shift,
            chunk_shift,
            counts: vec![true; nodes],
            counters: vec![Counters::default(); nodes],
            hybrid: hybrid.clone(),
            sizes,
            layout,
        }
    }

    /// What decides for a node.
    pub(super) fn decider(&mut self, node: u32) -> &mut dyn Architecture {
        let at = if self.deciders.len() == 1 { 0 } else { node as usize };
        &mut *self.deciders[at]
    }

    /// What was counted, by node.
    pub(super) fn counters(&self) -> &[Counters] {
        &self.counters
    }

    /// Servers of a node: bus, engine, port, then banks.
    pub(super) fn servers_of_a_node(&self) -> usize {
        self.paths.each() as usize
    }

    /// Counts something of a node, while it counts.
    #[inline]
    pub(super) fn count(&mut self, node: u32, what: impl FnOnce(&mut Counters) -> &mut u64) {
        if self.counts[node as usize] {
            *what(&mut self.counters[node as usize]) += 1;
        }
    }

    /// Whether pages of other nodes can be used through the page cache only.
    pub(super) fn needs_page_cache(&self) -> bool {
        self.needs_page_cache
    }
    pub(super) fn has_page_cache(&self) -> bool {
        self.has_page_cache
    }
    /// Lines of a chunk.
    pub(super) fn lines_of(&self, first_line: u64) -> std::ops::Range<u64> {
        let lines = 1 << (self.chunk_shift - self.line_shift);
        let first = first_line & !(lines - 1);
        first..first + lines
    }
    /// Number of the chunk of a line of a shared page.
    fn chunk_of(&self, page: u32, line: u64) -> u64 {
        let shift = self.layout.page_shift - self.chunk_shift;
        let within = line >> (self.chunk_shift - self.line_shift) & ((1 << shift) - 1);
        (u64::from(page) << shift) + within
    }
    /// The access as one to a shared page, if it is.
    #[inline]
    pub(super) fn shared(&self, a: Access) -> Option<Shared> {
        let page = self.layout.number(a.line >> (self.layout.page_shift - self.line_shift))?;
        let (chunk, home) = (self.chunk_of(page, a.line), self.layout.home(page));
        Some(Shared { node: a.processor, line: a.line, writes: a.writes, page, chunk, home })
    }
    pub(super) fn line_bits(&self) -> (u32, u32) {
        (self.line_shift, self.chunk_shift)
    }
    pub(super) fn valid_bit(&self, chunk: u64) -> u32 {
        1 << (chunk & ((1 << (self.layout.page_shift - self.chunk_shift)) - 1))
    }

    /// Makes room for a line in a processor's cache.
    fn displace(&mut self, node: u32, line: u64, fx: &mut Effects) {
        let Some((victim, dirty, touched)) = self.caches[node as usize].victim(line) else { return };
        self.caches[node as usize].remove(victim);
        let old = Access { processor: node, line: victim, writes: false, words: 0 };
        let Some(s) = self.shared(old) else {
            if dirty {
                fx.posted.push(self.paths.local(node, victim >> (self.chunk_shift - self.line_shift)));
            }
            return;
        };
        if let Mapping::Frame(frame) = self.nodes[node as usize].mapping(s.page) {
            self.nodes[node as usize].frames[frame as usize].referenced |= touched;
            if dirty {
                fx.posted.push(self.paths.local(node, s.chunk));
            }
        } else if dirty {
            fx.posted.push(self.paths.write_back(node, s.home, s.chunk));
            if s.home != node {
                self.count(node, |c| &mut c.written_back);
            }
            let cache = &self.caches[node as usize];
            if self.lines_of(victim).all(|l| cache.state(l) != State::Dirty) {
                self.chunks[s.chunk as usize].set_owner(None);
            }
        }
    }

    fn private(&mut self, a: Access, fx: &mut Effects) {
        let state = if a.writes { State::Dirty } else { State::Clean };
        if self.caches[a.processor as usize].state(a.line) == State::Invalid {
            self.displace(a.processor, a.line, fx);
            fx.private = true;
            fx.first = self.paths.local(a.processor, a.line >> (self.chunk_shift - self.line_shift));
            self.count(a.processor, |c| &mut c.private);
        }
        self.caches[a.processor as usize].put(a.line, state);
    }

    fn satisfy(&mut self, s: Shared, fx: &mut Effects) {
        let held = self.caches[s.node as usize].state(s.line) != State::Invalid;
        if !held {
            self.displace(s.node, s.line, fx);
        }
        let mapping = self.nodes[s.node as usize].mapping(s.page);
        let rac = self.nodes[s.node as usize].rac == Some(s.chunk) && !self.hybrid.reads(Reading::NoRac);
        match mapping {
            _ if held => self.own(s, fx),
            _ if s.home == s.node => self.at_home(s, fx),
            Mapping::Frame(frame) => self.in_frame(s, frame, fx),
            _ if rac => self.in_rac(s, fx),
            _ => {
                self.fetch(s, fx);
                self.nodes[s.node as usize].rac = Some(s.chunk);
            }
        }
        let state = if s.writes { State::Dirty } else { State::Clean };
        self.caches[s.node as usize].put(s.line, state);
    }

    /// A page of the own node.
    fn at_home(&mut self, s: Shared, fx: &mut Effects) {
        self.count(s.node, |c| &mut c.home);
        let owner = self.chunks[s.chunk as usize].owner().filter(|o| *o != s.node);
        let shared = self.chunks[s.chunk as usize].others(s.node).next().is_some();
        match owner {
            Some(owner) => {
                fx.first = self.paths.directory(s.node);
                fx.then.push(self.paths.forward(owner, s.node, s.chunk));
                self.take_from(owner, s, fx);
            }
            None if s.writes && shared => {
                fx.first = self.paths.directory(s.node);
                fx.then.push(self.paths.local(s.node, s.chunk));
                self.invalidate_others(s, fx);
            }
            None => fx.first = self.paths.local(s.node, s.chunk),
        }
        self.enter(s);
    }

    /// A page in the page cache.
    fn in_frame(&mut self, s: Shared, frame: u32, fx: &mut Effects) {
        let bit = self.valid_bit(s.chunk);
        let f = &mut self.nodes[s.node as usize].frames[frame as usize];
        f.referenced = true;
        let valid = f.valid & bit != 0;
        f.valid |= bit;
        if !valid {
            self.fetch(s, fx);
            fx.posted.push(self.paths.local(s.node, s.chunk));
            return;
        }
        f.refetches = f.refetches.saturating_add(1);
        if s.writes && self.chunks[s.chunk as usize].owner() != Some(s.node) {
            return self.own(s, fx);
        }
        self.count(s.node, |c| &mut c.page_cache);
        fx.first = self.paths.local(s.node, s.chunk);
    }

    /// The chunk that came last from another node.
    fn in_rac(&mut self, s: Shared, fx: &mut Effects) {
        if s.writes && self.chunks[s.chunk as usize].owner() != Some(s.node) {
            return self.own(s, fx);
        }
        self.count(s.node, |c| &mut c.rac);
        fx.first = self.paths.rac(s.node);
    }

    /// A write to data that is there: the chunk becomes the node's own.
    fn own(&mut self, s: Shared, fx: &mut Effects) {
        let chunk = &self.chunks[s.chunk as usize];
        let alone = s.home == s.node && chunk.others(s.node).next().is_none();
        if chunk.owner() != Some(s.node) && !alone {
            self.count(s.node, |c| &mut c.ownership);
            if s.home == s.node {
                fx.first = self.paths.directory(s.node);
            } else {
                fx.first = self.paths.request(s.node, s.home);
                fx.then.push(self.paths.reply(s.home, s.node, s.chunk));
            }
            self.invalidate_others(s, fx);
        }
        self.enter(s);
    }

    /// A chunk from another node.
    fn fetch(&mut self, s: Shared, fx: &mut Effects) {
        self.classify(s);
        fx.first = self.paths.request(s.node, s.home);
        let owner = self.chunks[s.chunk as usize].owner().filter(|o| *o != s.node);
        if self.hybrid.reads(Reading::ChunkByLine) {
            // Minimal latencies stay: nobody waits for the lines after the first but those who come later.
            let more = (1 << (self.chunk_shift - self.line_shift)) - 1;
            let from = owner.unwrap_or(s.home);
            fx.posted.extend((0..more).map(|_| self.paths.local(from, s.chunk)));
        }
        match owner {
            Some(owner) if owner != s.home => {
                self.count(s.node, |c| &mut c.forwarded);
                fx.then.push(self.paths.forward(owner, s.node, s.chunk));
                self.take_from(owner, s, fx);
            }
            owner => {
                fx.then.push(self.paths.reply(s.home, s.node, s.chunk));
                if let Some(home) = owner {
                    self.take_from(home, s, fx);
                }
            }
        }
        if s.writes {
            self.invalidate_others(s, fx);
        }
        self.enter(s);
    }

    /// Why a chunk comes from another node.
    fn classify(&mut self, s: Shared) {
        let (chunk, bit) = (&mut self.chunks[s.chunk as usize], 1 << s.node);
        let (has, seen, flushed) = (chunk.has(s.node), chunk.seen & bit != 0, chunk.flushed & bit != 0);
        chunk.flushed &= !bit;
        match (has, seen, flushed) {
            (true, ..) => {
                self.count(s.node, |c| &mut c.refetch);
                let refetches = &mut self.nodes[s.node as usize].refetches[s.page as usize];
                *refetches = refetches.saturating_add(1).min(self.refetches_max);
            }
            (_, false, _) => self.count(s.node, |c| &mut c.cold),
            (_, _, true) => self.count(s.node, |c| &mut c.cold_induced),
            _ => self.count(s.node, |c| &mut c.coherence),
        }
    }

    /// The node has a copy from now on, and owns the chunk if it writes.
    fn enter(&mut self, s: Shared) {
        let (chunk, bit) = (&mut self.chunks[s.chunk as usize], 1 << s.node);
        chunk.copies |= bit;
        chunk.seen |= bit;
        if s.writes {
            chunk.copies = bit;
            chunk.set_owner(Some(s.node));
        }
    }

    /// The owner gives its data away: it keeps a clean copy if it is only read.
    fn take_from(&mut self, owner: u32, s: Shared, fx: &mut Effects) {
        if s.writes {
            self.lose(owner, s.chunk, s.line, fx);
        } else {
            for line in self.lines_of(s.line) {
                if self.caches[owner as usize].clean(line) {
                    fx.withdrawn.push((owner, line));
                }
            }
        }
        self.chunks[s.chunk as usize].set_owner(None);
    }

    fn invalidate_others(&mut self, s: Shared, fx: &mut Effects) {
        for other in self.chunks[s.chunk as usize].others(s.node) {
            if other != s.home {
                fx.then.push(self.paths.invalidate(other, s.node));
            }
            self.lose(other, s.chunk, s.line, fx);
        }
    }

    /// A node loses its copy of a chunk, of which this is a line.
    fn lose(&mut self, node: u32, chunk: u64, line: u64, fx: &mut Effects) {
        for line in self.lines_of(line) {
            if self.caches[node as usize].remove(line) != State::Invalid {
                fx.withdrawn.push((node, line));
            }
        }
        let (bit, page) = (self.valid_bit(chunk), (chunk >> (self.layout.page_shift - self.chunk_shift)) as u32);
        let n = &mut self.nodes[node as usize];
        if n.rac == Some(chunk) {
            n.rac = None;
        }
        if let Mapping::Frame(frame) = n.mapping(page) {
            n.frames[frame as usize].valid &= !bit;
        }
        self.chunks[chunk as usize].forget(node);
    }
}

impl Memory for System {
    fn processors(&self) -> u32 {
        self.layout.nodes as u32
    }
    fn servers(&self) -> usize {
        self.paths.servers(self.layout.nodes)
    }
    fn line_shift(&self) -> u32 {
        self.line_shift
    }
    #[inline]
    fn hits(&self, a: Access) -> bool {
        match self.caches[a.processor as usize].state(a.line) {
            State::Invalid => false,
            State::Clean => !a.writes,
            State::Dirty => true,
        }
    }
    #[inline]
    fn touched(&mut self, a: Access) {
        if self.has_page_cache {
            self.caches[a.processor as usize].touch(a.line);
        }
    }
    fn miss(&mut self, a: Access, now: u64, fx: &mut Effects) {
        let Some(s) = self.shared(a) else { return self.private(a, fx) };
        self.fault(s, now, fx);
        self.satisfy(s, fx);
        self.relocate(s, now, fx);
    }
    fn synchronise(&mut self, node: u32, address: u64, fx: &mut Effects) {
        let page = address >> self.layout.page_shift;
        let home = self.layout.number(page).map_or((page % self.layout.nodes as u64) as u32, |p| self.layout.home(p));
        let chunk = address >> self.chunk_shift;
        if home == node {
            fx.first = self.paths.local(node, chunk);
        } else {
            fx.first = self.paths.request(node, home);
            fx.then.push(self.paths.reply(home, node, chunk));
        }
    }
    fn counting(&mut self, node: u32, counts: bool) {
        self.counts[node as usize] = counts;
    }
}
