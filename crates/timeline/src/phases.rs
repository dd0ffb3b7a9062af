//! Phases of threads as slices that nest.
use std::collections::HashMap;

/// Slices at most; more are counted and left out.
const SLICES_MAX: usize = 1 << 17;

/// A phase of a thread, or a piece of it. Of one thread any two lie apart or one inside the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) thread: u32,
    /// Number of the name.
    pub(crate) name: u32,
    /// Places in the order.
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Phases so far.
#[derive(Default)]
pub(crate) struct Phases {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// By thread, what has begun: name and place in the order.
    open: HashMap<u32, Vec<(u32, u64)>>,
    slices: Vec<Slice>,
    /// Slices that are left out.
    omitted: u64,
}

/// What there was.
pub(crate) struct Found {
    pub(crate) names: Vec<String>,
    /// By thread and beginning, the longest first.
    pub(crate) slices: Vec<Slice>,
    pub(crate) omitted: u64,
}

impl Phases {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    pub(crate) fn begin(&mut self, thread: u32, name: &str, at: u64) {
        let name = self.number(name);
        self.open.entry(thread).or_default().push((name, at));
    }

    /// Ends the last phase of that name; of one that never began there is nothing to end. Phases that began inside it and go on are
    /// cut here, since slices nest.
    pub(crate) fn end(&mut self, thread: u32, name: &str, at: u64) {
        let name = self.number(name);
        let open = self.open.entry(thread).or_default();
        let Some(place) = open.iter().rposition(|(n, _)| *n == name) else { return };
        let cut: Vec<(u32, u64)> = open[place..].to_vec();
        open.remove(place);
        open[place..].iter_mut().for_each(|(_, from)| *from = at);
        cut.into_iter().for_each(|(name, from)| self.slice(Slice { thread, name, from, to: at }));
    }

    fn slice(&mut self, slice: Slice) {
        if self.slices.len() < SLICES_MAX {
            self.slices.push(slice);
        } else {
            self.omitted += 1;
        }
    }

    /// Ends all phases that still go on.
    pub(crate) fn finish(mut self, at: u64) -> Found {
        let open = std::mem::take(&mut self.open);
        for (thread, phases) in open {
            phases.into_iter().for_each(|(name, from)| self.slice(Slice { thread, name, from, to: at }));
        }
        self.slices.sort_by_key(|s| (s.thread, s.from, std::cmp::Reverse(s.to), s.name));
        Found { names: self.names, slices: self.slices, omitted: self.omitted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_ends_cuts_those_that_began_inside_it() {
        let mut phases = Phases::default();
        phases.begin(0, "a", 0);
        phases.begin(0, "b", 2);
        phases.end(0, "never", 3);
        phases.end(0, "a", 4);
        phases.begin(1, "a", 5);
        let found = phases.finish(9);
        let slices: Vec<_> =
            found.slices.iter().map(|s| (s.thread, &*found.names[s.name as usize], s.from, s.to)).collect();
        assert_eq!(slices, [(0, "a", 0, 4), (0, "b", 2, 4), (0, "b", 4, 9), (1, "a", 5, 9)]);
    }
}
