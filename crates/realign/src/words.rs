//! The transform, window by window: one look-up a reference, memory by the words moved and the words of a window.
use super::{Moves, RealignError, Realignment, area};
use crate::NumberMap;
use homenode_base::NodeId;
use homenode_base::spaces::{USER_LAST, tag};
use homenode_threads::ThreadBinding;
use homenode_trace::{Merged, Op};

/// Who referred to something in the window, if anybody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    One(NodeId),
    Several,
}

impl Users {
    fn and(self, other: Users) -> Users {
        if self == other { self } else { Users::Several }
    }
}

/// A location in the window.
#[derive(Clone, Copy, Debug)]
struct Location {
    /// Word as recorded.
    word: u64,
    /// Word where it is.
    at: u64,
    users: Users,
    written: bool,
    /// Words of the widest reference.
    words: u64,
}

/// A page in the window.
#[derive(Clone, Copy, Debug)]
struct Page {
    users: Users,
    written: bool,
}

impl Page {
    fn is_candidate(self) -> bool {
        self.users == Users::Several && self.written
    }
}

/// No location: a spin, a reference that stays, or one of a thread that the dataset does not have.
const NO_LOCATION: u32 = u32::MAX;

/// Moves words, window by window; addresses are as recorded before and after.
#[derive(Clone, Debug)]
pub struct Realigner {
    how: Realignment,
    word_shift: u32,
    /// Shift from a word to its page.
    page_shift: u32,
    /// What makes addresses flat, and the processor; by thread.
    threads: Vec<(u64, NodeId)>,
    /// Where words are that moved.
    moved: NumberMap<u64>,
    /// By processor: the next free word of its area.
    next: Vec<u64>,
    counts: Moves,
    // Of the window at hand.
    index: NumberMap<u32>,
    locations: Vec<Location>,
    of_refs: Vec<u32>,
    pages: NumberMap<Page>,
}

impl Realigner {
    /// Nothing has moved yet. Processors are the nodes of threads; references of threads without a binding stay.
    ///
    /// # Errors
    /// As [`Realignment::check`].
    pub fn new(how: Realignment, bindings: &[ThreadBinding]) -> Result<Realigner, RealignError> {
        how.check()?;
        let word_shift = how.word_bytes.trailing_zeros();
        let nodes = bindings.iter().map(|b| b.node.index() + 1).max().unwrap_or(0);
        let first = |node: usize| area(NodeId(node as u16)) >> word_shift;
        Ok(Realigner {
            how,
            word_shift,
            page_shift: how.page_bytes.trailing_zeros() - word_shift,
            threads: bindings.iter().map(|b| (tag(b.space), b.node)).collect(),
            moved: NumberMap::default(),
            next: (0..nodes).map(first).collect(),
            counts: Moves::default(),
            index: NumberMap::default(),
            locations: Vec::new(),
            of_refs: Vec::new(),
            pages: NumberMap::default(),
        })
    }

    /// How it moves.
    pub fn how(&self) -> Realignment {
        self.how
    }

    /// What moved so far.
    pub fn counts(&self) -> Moves {
        self.counts
    }

    /// Rewrites the next window. `stays` are the places, ascending, of references to memory that is private: they count
    /// for nothing and keep their addresses.
    pub fn window(&mut self, refs: &mut [Merged], stays: &[u32]) {
        self.look(refs, stays);
        self.mark();
        self.assign();
        self.rewrite(refs, stays);
        self.counts.windows += 1;
    }

    /// Who refers to which locations. Spins are no references here: whether there are any is chance.
    fn look(&mut self, refs: &[Merged], stays: &[u32]) {
        let Realigner { word_shift, threads, moved, index, locations, of_refs, .. } = self;
        index.clear();
        locations.clear();
        of_refs.clear();
        of_refs.resize(refs.len(), NO_LOCATION);
        let mut stays = Stays(stays);
        for (place, (r, of_ref)) in refs.iter().zip(of_refs).enumerate() {
            let Some(&(space_tag, node)) = threads.get(r.thread as usize) else { continue };
            if stays.has(place) || r.op == Op::Spin {
                continue;
            }
            let word = (r.addr ^ space_tag) >> *word_shift;
            let within = r.addr & ((1 << *word_shift) - 1);
            let words = (within + u64::from(r.size.max(1))).div_ceil(1 << *word_shift);
            let number = *index.entry(word).or_insert_with(|| {
                let at = moved.get(&word).copied().unwrap_or(word);
                let users = Users::One(node);
                locations.push(Location { word, at, users, written: false, words });
                locations.len() as u32 - 1
            });
            let location = &mut locations[number as usize];
            location.users = location.users.and(Users::One(node));
            location.written |= r.op.writes();
            location.words = location.words.max(words);
            *of_ref = number;
        }
    }

    /// Who refers to which pages.
    fn mark(&mut self) {
        self.pages.clear();
        for l in &self.locations {
            let page = Page { users: l.users, written: l.written };
            self.pages
                .entry(l.at >> self.page_shift)
                .and_modify(|p| *p = Page { users: p.users.and(l.users), written: p.written || l.written })
                .or_insert(page);
        }
    }

    /// Moves what only one processor refers to out of candidates.
    fn assign(&mut self) {
        let Realigner { how, word_shift, page_shift, moved, next, counts, locations, pages, .. } = self;
        let page_words = how.page_bytes >> *word_shift;
        // Pages of areas that somebody else refers to are closed.
        for (node, next) in next.iter_mut().enumerate() {
            let own = Users::One(NodeId(node as u16));
            if pages.get(&(*next >> *page_shift)).is_some_and(|p| p.users != own) {
                *next = next.next_multiple_of(page_words);
            }
        }
        for l in locations {
            let Users::One(node) = l.users else { continue };
            if !pages[&(l.at >> *page_shift)].is_candidate() {
                continue;
            }
            let to = next[node.index()];
            let end = to + l.words;
            // An area is full after 2^47 bytes.
            if end > (area(node) | USER_LAST) >> *word_shift {
                continue;
            }
            next[node.index()] = end;
            l.at = to;
            match moved.insert(l.word, to) {
                None => counts.words += 1,
                Some(_) => counts.again += 1,
            }
        }
    }

    fn rewrite(&mut self, refs: &mut [Merged], stays: &[u32]) {
        let Realigner { word_shift, threads, moved, counts, locations, of_refs, .. } = self;
        let mut stays = Stays(stays);
        for (place, (r, number)) in refs.iter_mut().zip(of_refs).enumerate() {
            if stays.has(place) {
                continue;
            }
            let Some(&(space_tag, _)) = threads.get(r.thread as usize) else { continue };
            let flat = r.addr ^ space_tag;
            let word = flat >> *word_shift;
            let at = match locations.get(*number as usize) {
                Some(location) => location.at,
                None => moved.get(&word).copied().unwrap_or(word),
            };
            if at != word {
                counts.refs += 1;
                r.addr = (at << *word_shift | flat & ((1 << *word_shift) - 1)) ^ space_tag;
            }
        }
    }
}

/// Places, ascending, asked about in order.
struct Stays<'a>(&'a [u32]);

impl Stays<'_> {
    #[inline]
    fn has(&mut self, place: usize) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return false };
        let there = *first as usize == place;
        if there {
            self.0 = rest;
        }
        there
    }
}
