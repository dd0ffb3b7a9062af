//! For tests: the table of states, read row by row, one access at a time; and the optimum by trying every set of holders.
use crate::effects::{Effect, Effects};
use crate::protocols::Choice;
use homenode_base::TotalCost;
use homenode_machine::Coherence;
use homenode_placement::{AccessKind, Step};
use std::collections::BTreeMap;

/// How a processor has a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// N: not at all.
    Unmapped,
    /// R: remotely, with its counter.
    Remote(u64),
    /// L: a copy of its own.
    Local,
}

/// What an INV of some kind knows of a page beside its copies.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    frozen: bool,
    invalidated: Option<u64>,
}

/// A protocol as columns of the table, slowly. All pages share the clock.
#[derive(Clone, Debug)]
pub struct Table {
    update: bool,
    /// Start, and whether every access counts.
    counter: Option<(u64, bool)>,
    /// Recent, defrost.
    windows: Option<(u64, u64)>,
    restart: bool,
    late: bool,
    master: bool,
    processors: u16,
    mappings: BTreeMap<(u64, u16), Mapping>,
    pages: BTreeMap<u64, Page>,
    now: u64,
}

impl Table {
    /// A protocol with pages of so many bytes on so many processors, before the first reference.
    pub fn new(choice: &Choice, page_bytes: u64, processors: u16) -> Table {
        let value = |name: &str| {
            let at = choice.spec.params.iter().position(|p| p.name == name);
            at.map(|at| u64::from(choice.values[at]))
        };
        let on = |name: &str| value(name) == Some(1);
        let eighth = if on("every") { page_bytes / 8 } else { page_bytes.div_ceil(4) / 8 };
        let counter = |c| if c == 0 { eighth.max(1) } else { c };
        Table {
            update: choice.spec.name.starts_with("upt"),
            counter: value("c").map(|c| (counter(c), on("every"))),
            windows: value("recent").zip(value("defrost")),
            restart: on("restart"),
            late: on("late"),
            master: on("master"),
            processors,
            mappings: BTreeMap::new(),
            pages: BTreeMap::new(),
            now: 0,
        }
    }

    /// How a processor has a page.
    pub fn mapping(&self, page: u64, processor: u16) -> Mapping {
        self.mappings.get(&(page, processor)).copied().unwrap_or(Mapping::Unmapped)
    }

    fn holders(&self, page: u64, but: u16) -> Vec<u16> {
        (0..self.processors).filter(|p| *p != but && self.mapping(page, *p) == Mapping::Local).collect()
    }

    /// The next reference of the machine, in time `now`, not before the one before.
    pub fn reference(&mut self, page: u64, processor: u16, kind: AccessKind, now: u64) -> Effects {
        if let Some((_, defrost)) = self.windows
            && now / defrost > self.now / defrost
        {
            self.pages.values_mut().for_each(|p| p.frozen = false);
        }
        self.now = now;
        let mut effects = Effects::default();
        let before = self.mapping(page, processor);
        let after = match kind {
            AccessKind::Read => self.read(page, before, &mut effects),
            AccessKind::Write => self.write(page, processor, before, &mut effects),
        };
        self.mappings.insert((page, processor), after);
        effects
    }

    fn read(&mut self, page: u64, mapping: Mapping, effects: &mut Effects) -> Mapping {
        match (mapping, self.counter) {
            (Mapping::Local, _) => {
                effects.add(Effect::Local, 1);
                Mapping::Local
            }
            (Mapping::Unmapped, _) if self.freezes(page) => self.freeze(page, effects),
            (Mapping::Unmapped | Mapping::Remote(_), None) => {
                effects.add(Effect::Fetch, 1);
                Mapping::Local
            }
            (Mapping::Unmapped, Some((start, _))) => self.counted(page, start, effects),
            (Mapping::Remote(left), Some(_)) => self.counted(page, left, effects),
        }
    }

    fn counted(&mut self, page: u64, left: u64, effects: &mut Effects) -> Mapping {
        if left > 1 {
            effects.add(Effect::RemoteRead, 1);
            return Mapping::Remote(left - 1);
        }
        if self.freezes(page) && !self.late {
            return self.freeze(page, effects);
        }
        effects.add(Effect::FetchMapped, 1);
        Mapping::Local
    }

    fn freezes(&mut self, page: u64) -> bool {
        let Some((recent, _)) = self.windows else { return false };
        let p = self.pages.entry(page).or_default();
        p.frozen || p.invalidated.is_some_and(|then| self.now - then <= recent)
    }

    fn freeze(&mut self, page: u64, effects: &mut Effects) -> Mapping {
        self.pages.entry(page).or_default().frozen = true;
        effects.add(Effect::RemoteRead, 1);
        Mapping::Unmapped
    }

    fn write(&mut self, page: u64, processor: u16, mapping: Mapping, effects: &mut Effects) -> Mapping {
        let others = self.holders(page, processor);
        if self.update {
            effects.add(Effect::Update, others.len() as u64);
            effects.add(Effect::Multicast, u64::from(!others.is_empty()));
        } else if !others.is_empty() {
            effects.add(Effect::Invalidation, others.len() as u64);
            for p in 0..self.processors {
                let lost =
                    others.contains(&p) || (self.restart && p != processor && self.mapping(page, p) != Mapping::Local);
                if lost {
                    self.mappings.insert((page, p), Mapping::Unmapped);
                }
            }
            self.pages.entry(page).or_default().invalidated = Some(self.now);
        }
        if mapping == Mapping::Local {
            effects.add(Effect::Local, 1);
            effects.add(Effect::Update, u64::from(self.master));
            return Mapping::Local;
        }
        effects.add(Effect::RemoteWrite, 1);
        match (mapping, self.counter) {
            (_, None) => mapping,
            (Mapping::Remote(left), Some((_, every))) => Mapping::Remote(if every { left.max(2) - 1 } else { left }),
            (_, Some((start, every))) => Mapping::Remote(if every { start.max(2) - 1 } else { start }),
        }
    }
}

/// Most processors that [`brute_force`] takes.
pub const BRUTE_FORCE_MAX: u32 = 6;

/// The optimum of a page by trying every set of holders after every access. Panics above [`BRUTE_FORCE_MAX`] processors.
pub fn brute_force(prices: &Coherence, page_bytes: u64, processors: u32, steps: &[Step]) -> TotalCost {
    assert!(processors <= BRUTE_FORCE_MAX, "2^{processors} sets are too many");
    let price = |effect: Effect| i128::from(effect.price(prices, page_bytes).0);
    let sets = 1usize << processors;
    let mut best: Vec<Option<i128>> = vec![None; sets];
    best[0] = Some(0);
    let singles = steps.iter().flat_map(|s| std::iter::repeat_n(s.access, s.access.weight as usize));
    for access in singles {
        let own = 1usize << access.node.0;
        let mut next: Vec<Option<i128>> = vec![None; sets];
        for (held, cost) in best.iter().enumerate().filter_map(|(s, c)| c.map(|c| (s, c))) {
            // Any of the copies may be given up before the access.
            for kept in (0..sets).filter(|kept| kept & !held == 0) {
                let mut put = |set: usize, paid: i128| {
                    next[set] = Some(next[set].map_or(cost + paid, |c| c.min(cost + paid)));
                };
                match (access.kind, kept & own != 0) {
                    (AccessKind::Read, true) => put(kept, price(Effect::Local)),
                    (AccessKind::Read, false) => {
                        put(kept, price(Effect::RemoteRead));
                        put(kept | own, price(Effect::Fetch));
                    }
                    (AccessKind::Write, holds) => {
                        let served = price(if holds { Effect::Local } else { Effect::RemoteWrite });
                        put(kept, served + price(Effect::Update) * i128::from((kept & !own).count_ones()));
                    }
                }
            }
        }
        best = next;
    }
    TotalCost(best.into_iter().flatten().min().unwrap_or(0))
}
