//! The exact optimum: frames flow through time (successive shortest paths with potentials; Ahuja, Magnanti and Orlin 1993, sections 9.7 and 9.8).
//!
//! A unit of flow is a frame. It waits in the pool of free frames from tick to tick, or serves a page: it enters for the price of a promotion
//! (nothing at the page's first access), earns the gains of the ticks it stays for, goes on to the page's next entry for
//! nothing, or back to the pool for the price of a demotion. `assign`'s flow is one of pages to nodes and knows no time; this
//! one is acyclic, so the first distances need no search, and its paths are long, so all shortest ones of equal length are taken at once.
use super::{Moves, Pages, Stay, TierPlan};
use homenode_base::TotalCost;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;
const FAR: i128 = i128::MAX / 4;

/// An arc; its reverse is the one whose number differs in the last bit.
#[derive(Clone, Copy, Debug)]
struct Arc {
    cost: i128,
    to: u32,
    /// Next arc that begins where this one does.
    next: u32,
    room: u32,
}

/// The arcs of an entry; each may be missing.
#[derive(Clone, Copy, Debug)]
struct Entry {
    serve: u32,
    stay: u32,
}

/// Frames on their way through time, as many as were asked for so far.
pub struct Frames<'p> {
    pages: &'p Pages,
    arcs: Vec<Arc>,
    first: Vec<u32>,
    entries: Vec<Entry>,
    potential: Vec<i128>,
    /// Where each node's search for arcs goes on within a phase.
    at: Vec<u32>,
    frames: u64,
    saved: i128,
    /// Whether a further frame saves nothing.
    done: bool,
}

impl<'p> Frames<'p> {
    /// No frames yet.
    pub fn new(pages: &'p Pages, moves: Moves) -> Frames<'p> {
        let nodes = pages.ticks as usize + 1 + 2 * pages.entries();
        let mut frames = Frames {
            pages,
            arcs: Vec::with_capacity(10 * pages.entries()),
            first: vec![NONE; nodes],
            entries: Vec::with_capacity(pages.entries()),
            potential: vec![FAR; nodes],
            at: vec![NONE; nodes],
            frames: 0,
            saved: 0,
            done: false,
        };
        frames.build(moves);
        frames.first_distances();
        frames
    }

    fn arc(&mut self, from: u32, to: u32, cost: i128, room: u32) -> u32 {
        let number = self.arcs.len() as u32;
        self.arcs.push(Arc { cost, to, next: self.first[from as usize], room });
        self.first[from as usize] = number;
        self.arcs.push(Arc { cost: -cost, to: from, next: self.first[to as usize], room: 0 });
        self.first[to as usize] = number + 1;
        number
    }

    /// Node of a tick's pool; that of the tick after the last is the sink.
    fn sink(&self) -> u32 {
        self.pages.ticks
    }

    fn build(&mut self, moves: Moves) {
        let (pages, sink) = (self.pages, self.sink());
        (0..sink).for_each(|t| _ = self.arc(t, t + 1, 0, u32::MAX));
        for gains in &pages.gains {
            for (i, g) in gains.iter().enumerate() {
                let (enter, leave) = self.nodes_of(self.entries.len());
                let promote = if i == 0 { 0 } else { moves.promote.0.into() };
                self.arc(g.tick, enter, promote, 1);
                let serve = self.arc(enter, leave, -g.gain.0, 1);
                let last = i + 1 == gains.len();
                let next = if last { sink } else { leave + 1 };
                let stay = self.arc(leave, next, 0, 1);
                if !last || g.tick + 1 < sink {
                    self.arc(leave, g.tick + 1, moves.demote.0.into(), 1);
                }
                self.entries.push(Entry { serve, stay });
            }
        }
    }

    fn nodes_of(&self, entry: usize) -> (u32, u32) {
        let enter = self.pages.ticks + 1 + 2 * entry as u32;
        (enter, enter + 1)
    }

    /// Distances from the first pool, tick by tick: arcs lead from a tick's pool to its entries, and from those to later ticks.
    fn first_distances(&mut self) {
        let ticks = self.pages.ticks as usize;
        let mut of_tick: Vec<Vec<u32>> = vec![Vec::new(); ticks];
        self.pages.gains.iter().flatten().zip(0..).for_each(|(g, entry)| of_tick[g.tick as usize].push(entry));
        self.potential[0] = 0;
        for (tick, entries) in of_tick.iter().enumerate() {
            self.relax(tick as u32);
            for &entry in entries {
                let (enter, leave) = self.nodes_of(entry as usize);
                self.relax(enter);
                self.relax(leave);
            }
        }
    }

    fn relax(&mut self, node: u32) {
        let here = self.potential[node as usize];
        let mut number = self.first[node as usize];
        while number != NONE {
            let arc = self.arcs[number as usize];
            if arc.room > 0 {
                let there = &mut self.potential[arc.to as usize];
                *there = (*there).min(here + arc.cost);
            }
            number = arc.next;
        }
    }

    /// Gives frames until there are so many, or until another one would save nothing. Numbers asked for ascend.
    pub fn raise(&mut self, frames: u64) {
        while self.frames < frames && !self.done {
            // The first distances are those of a flow of nothing.
            if self.frames > 0 {
                self.distances();
            }
            let length = self.potential[self.sink() as usize] - self.potential[0];
            if length >= 0 {
                self.done = true;
                return;
            }
            let sent = self.send(frames - self.frames);
            self.saved -= length * i128::from(sent);
            self.frames += sent;
            debug_assert!(sent > 0, "a shortest path exists");
        }
    }

    /// What the frames given save.
    pub fn saved(&self) -> TotalCost {
        TotalCost(self.saved)
    }

    /// Frames that are used.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Arc lengths that are never negative where there is room.
    fn reduced(&self, from: u32, arc: &Arc) -> i128 {
        arc.cost + self.potential[from as usize] - self.potential[arc.to as usize]
    }

    /// Adds to the potentials the distances of now, no further than that of the sink (Dijkstra).
    fn distances(&mut self) {
        let sink = self.sink();
        let mut far = vec![FAR; self.first.len()];
        let mut heap = BinaryHeap::from([Reverse((0i128, 0u32))]);
        far[0] = 0;
        while let Some(Reverse((d, node))) = heap.pop() {
            if d > far[node as usize] {
                continue;
            }
            if node == sink {
                break;
            }
            let mut number = self.first[node as usize];
            while number != NONE {
                let arc = self.arcs[number as usize];
                if arc.room > 0 {
                    let there = d + self.reduced(node, &arc);
                    if there < far[arc.to as usize] && there < far[sink as usize].saturating_add(1) {
                        far[arc.to as usize] = there;
                        heap.push(Reverse((there, arc.to)));
                    }
                }
                number = arc.next;
            }
        }
        let most = far[sink as usize];
        self.potential.iter_mut().zip(&far).for_each(|(p, d)| *p += (*d).min(most));
    }

    /// Sends frames along paths of reduced length zero, at most so many; each takes one.
    fn send(&mut self, most: u64) -> u64 {
        let (sink, mut sent) = (self.sink(), 0);
        self.at.copy_from_slice(&self.first);
        let mut seen = vec![false; self.first.len()];
        while sent < most {
            let mut path: Vec<u32> = Vec::new();
            let mut node = 0u32;
            seen[0] = true;
            while node != sink {
                match self.step(node, &seen) {
                    Some(number) => {
                        path.push(number);
                        node = self.arcs[number as usize].to;
                        seen[node as usize] = true;
                    }
                    // A dead end, at least in this phase; another search will find what this one misses.
                    None => match path.pop() {
                        Some(number) => node = self.arcs[number as usize ^ 1].to,
                        None => return sent,
                    },
                }
            }
            for &number in &path {
                self.arcs[number as usize].room -= 1;
                self.arcs[number as usize ^ 1].room += 1;
                seen[self.arcs[number as usize].to as usize] = false;
            }
            sent += 1;
        }
        sent
    }

    /// The next arc of length zero from here to where the search was not.
    fn step(&mut self, node: u32, seen: &[bool]) -> Option<u32> {
        loop {
            let number = self.at[node as usize];
            if number == NONE {
                return None;
            }
            let arc = self.arcs[number as usize];
            if arc.room > 0 && !seen[arc.to as usize] && self.reduced(node, &arc) == 0 {
                return Some(number);
            }
            self.at[node as usize] = arc.next;
        }
    }

    /// Where pages are with the frames given.
    pub fn plan(&self) -> TierPlan {
        let mut entries = self.entries.iter();
        let used = |number: u32| self.arcs[number as usize].room == 0;
        let stays_of = |gains: &Vec<super::Gain>| {
            let (mut stays, mut from) = (Vec::new(), None);
            for i in 0..gains.len() as u32 {
                let Some(entry) = entries.next() else { break };
                if !used(entry.serve) {
                    continue;
                }
                let begin = *from.get_or_insert(i);
                let last = i as usize + 1 == gains.len();
                if last || !used(entry.stay) {
                    stays.push(Stay { from: begin, to: i, leaves: !used(entry.stay) });
                    from = None;
                }
            }
            stays
        };
        TierPlan { stays: self.pages.gains.iter().map(stays_of).collect() }
    }
}
