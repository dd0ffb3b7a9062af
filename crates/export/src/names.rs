//! What rows say in words: source places, objects, phases. Words are kept once and rows have their numbers.
use homenode_analysis::UNKNOWN_OBJECT;
use homenode_sim::names::{NameTable, ObjectNames};
use homenode_sim::{ObjectRange, Objects};
use homenode_trace::event::EventKind;
use homenode_trace::symbols::Site;
use homenode_trace::{DatasetReader, Event};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of a word that there is none of.
pub(crate) const NO_TEXT: u32 = u32::MAX;

/// Words by number.
pub(crate) struct Texts {
    words: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Texts {
    fn new() -> Texts {
        Texts { words: Vec::new(), numbers: HashMap::new() }
    }

    /// The number of this word; the empty one is none.
    fn number(&mut self, word: &str) -> u32 {
        if word.is_empty() {
            return NO_TEXT;
        }
        if let Some(&number) = self.numbers.get(word) {
            return number;
        }
        let number = self.words.len() as u32;
        let word: Arc<str> = word.into();
        self.words.push(word.clone());
        self.numbers.insert(word, number);
        number
    }

    /// The word; nothing for [`NO_TEXT`].
    pub(crate) fn get(&self, number: u32) -> Option<&str> {
        self.words.get(number as usize).map(|word| &**word)
    }
}

/// A source place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) file: u32,
    /// 0 = unknown.
    pub(crate) line: u32,
    pub(crate) function: u32,
}

/// No place is known.
pub(crate) const NOWHERE: Place = Place { file: NO_TEXT, line: 0, function: NO_TEXT };

/// Entries of the memo of objects, and bytes of an entry, as powers of two.
const MEMO_BITS: u32 = 10;
const ENTRY_SHIFT: u32 = 8;

/// The names at a moment of a replay.
pub(crate) struct Now<'n> {
    pub(crate) texts: Texts,
    places: Vec<Place>,
    objects: ObjectNames<'n>,
    /// Name of each row of objects, once it was asked for.
    called: Vec<Option<u32>>,
    /// Recent answers, out of date if they are of an earlier generation: (generation, address space, answer).
    memo: Vec<(u64, u32, ObjectRange)>,
    generation: u64,
    phases: Phases,
    /// Pages of which the recording has one; 1 if it has all.
    pub(crate) pages_one_in: u32,
}

impl<'n> Now<'n> {
    /// Before the first event.
    pub(crate) fn new(names: &'n NameTable<'n>, reader: &DatasetReader) -> Now<'n> {
        let mut texts = Texts::new();
        let mut place = |s: &Site| Place {
            file: texts.number(&s.file),
            line: if s.file.is_empty() { 0 } else { s.line },
            function: texts.number(&s.function),
        };
        let places = reader.symbols().sites.iter().map(&mut place).collect();
        let nothing = ObjectRange { object: UNKNOWN_OBJECT, from: 0, last: 0 };
        Now {
            texts,
            places,
            objects: names.follow(),
            called: vec![None; names.rows()],
            memo: vec![(0, 0, nothing); 1 << MEMO_BITS],
            generation: 1,
            phases: Phases::default(),
            pages_one_in: reader.manifest().pages.map_or(1, |pages| pages.one_in),
        }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        use EventKind as E;
        match &event.kind {
            E::Alloc { .. } | E::Free { .. } | E::Map { .. } | E::Unmap { .. } | E::Module { .. } => {
                self.generation += 1;
            }
            E::PhaseBegin { name } => self.phases.begin(event.thread, self.texts.number(name)),
            E::PhaseEnd { name } => self.phases.end(event.thread, self.texts.number(name)),
            _ => {}
        }
        self.objects.event(event);
    }

    pub(crate) fn place(&self, site: u32) -> Place {
        self.places.get(site as usize).copied().unwrap_or(NOWHERE)
    }

    /// What lies there now, by the name that reports give it.
    pub(crate) fn object(&mut self, space: u32, addr: u64) -> u32 {
        let entry = &mut self.memo[((addr >> ENTRY_SHIFT) & ((1 << MEMO_BITS) - 1)) as usize];
        let (generation, known, found) = *entry;
        let holds = generation == self.generation && known == space && found.from <= addr && addr <= found.last;
        let found = if holds { found } else { self.objects.at(space, addr) };
        *entry = (self.generation, space, found);
        if found.object == UNKNOWN_OBJECT {
            return NO_TEXT;
        }
        let row = found.object as usize;
        *self.called[row].get_or_insert_with(|| self.texts.number(&self.objects.object(found.object).name))
    }

    /// The phase that this thread is in: the last that it began itself, else the last that any thread began.
    pub(crate) fn phase(&self, thread: u32) -> u32 {
        self.phases.current(thread)
    }
}

/// Phases that have begun and not ended, in order of their beginning: thread and name.
#[derive(Default)]
struct Phases(Vec<(u32, u32)>);

impl Phases {
    fn begin(&mut self, thread: u32, name: u32) {
        self.0.push((thread, name));
    }
    fn end(&mut self, thread: u32, name: u32) {
        if let Some(at) = self.0.iter().rposition(|open| *open == (thread, name)) {
            self.0.remove(at);
        }
    }
    fn current(&self, thread: u32) -> u32 {
        let own = self.0.iter().rev().find(|open| open.0 == thread);
        own.or(self.0.last()).map_or(NO_TEXT, |open| open.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_in_its_own_phase_or_in_that_of_others() {
        let mut phases = Phases::default();
        assert_eq!(phases.current(0), NO_TEXT);
        phases.begin(0, 7);
        phases.begin(1, 8);
        phases.begin(0, 9);
        assert_eq!([0, 1, 2].map(|t| phases.current(t)), [9, 8, 9]);
        phases.end(0, 7); // not the last that it began
        phases.end(2, 8); // never began
        assert_eq!([0, 1, 2].map(|t| phases.current(t)), [9, 8, 9]);
        phases.end(0, 9);
        assert_eq!([0, 1, 2].map(|t| phases.current(t)), [8, 8, 8]);
    }
}
