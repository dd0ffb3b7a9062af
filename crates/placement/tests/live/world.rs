//! A machine that exists on paper: pages with homes, nodes with room, a kernel that refuses now and then, and checks of
//! everything that the governor must never do.
use homenode_base::{NodeId, Rng};
use homenode_machine::Machine;
use homenode_placement::live::{
    Config, Effect, Event, Governor, Header, Line, MigrationCandidate, MoveRefusal, MoveStatus, PageId, Use, Verdict,
    journal::JOURNAL_SCHEMA,
};
use homenode_placement::policies::Choice;
use std::collections::BTreeMap;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// What moving a small page takes unless a test says otherwise.
pub(crate) const MOVE_NS: u64 = 5_000;

pub(crate) struct World<'m> {
    pub(crate) governor: Governor<'m>,
    pub(crate) config: Config,
    pub(crate) homes: BTreeMap<PageId, NodeId>,
    pub(crate) free: Vec<u64>,
    pub(crate) now_ns: u64,
    pub(crate) rng: Rng,
    /// Of 16 moves so many fail.
    pub(crate) fails_of_16: u64,
    /// Moves of every page: when.
    pub(crate) moves: BTreeMap<PageId, Vec<u64>>,
    pub(crate) journal: String,
    /// Nanoseconds spent and planned for moving so far.
    pub(crate) spent_ns: u64,
    pub(crate) last_batch_ns: u64,
    pub(crate) move_ns: u64,
    /// What the moves were expected to gain, one by one.
    pub(crate) gains: Vec<i64>,
}

impl<'m> World<'m> {
    pub(crate) fn new(machine: &'m Machine, policy: &str, config: Config) -> World<'m> {
        let choice = Choice::parse(policy).expect("a policy");
        let header = Header {
            schema: JOURNAL_SCHEMA.into(),
            machine: machine.clone(),
            os_nodes: (0..machine.nodes() as u32).collect(),
            policy: choice.to_string(),
            config: config.clone(),
            evidence: "made up".into(),
        };
        let mut world = World {
            governor: Governor::new(machine, &choice, config.clone()).expect("runs here"),
            config,
            homes: BTreeMap::new(),
            free: vec![1_000_000; machine.nodes()],
            now_ns: 0,
            rng: Rng::new(1),
            fails_of_16: 0,
            moves: BTreeMap::new(),
            journal: Line::Header(Box::new(header)).to_json(),
            spent_ns: 0,
            last_batch_ns: 0,
            move_ns: MOVE_NS,
            gains: Vec::new(),
        };
        world.tell(Event::Tick);
        world
    }

    /// One event, and all that follows from it.
    pub(crate) fn tell(&mut self, event: Event) {
        let mut todo = vec![event];
        while let Some(event) = todo.pop() {
            let mut effects = Vec::new();
            self.governor.handle(self.now_ns, &event, &mut effects);
            self.journal += &Line::In { at_ns: self.now_ns, event }.to_json();
            for effect in effects {
                self.journal += &Line::Out { effect: effect.clone() }.to_json();
                todo.extend(self.carry_out(effect));
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Locate { pages } => {
                assert!(pages.is_sorted() && !pages.is_empty());
                let at = pages.iter().map(|p| (*p, self.homes.get(p).copied())).collect();
                Some(Event::Located { at })
            }
            Effect::Move { candidates, limit_ns } => Some(self.carry_out_moves(&candidates, limit_ns)),
            Effect::Rate { per_mille } => {
                assert!((1..=1000).contains(&per_mille));
                None
            }
        }
    }

    fn carry_out_moves(&mut self, candidates: &[MigrationCandidate], limit_ns: u64) -> Event {
        assert!(!candidates.is_empty() && !self.governor.is_off());
        self.spent_ns += self.last_batch_ns;
        let allowed = self.now_ns / 1000 * u64::from(self.config.move_per_mille);
        assert!(limit_ns + self.spent_ns <= allowed, "credit {limit_ns} + {} of {allowed}", self.spent_ns);
        let mut verdicts = Vec::new();
        let mut took_ns = 0;
        for candidate in candidates {
            assert_eq!(self.homes.get(&candidate.page), Some(&candidate.from), "it knows where pages are");
            assert!(candidate.from != candidate.to && candidate.gain > 0);
            took_ns += self.move_ns * u64::from(candidate.pages);
            self.gains.push(candidate.gain);
            let status = if self.rng.below(16) < self.fails_of_16 {
                let any = [MoveRefusal::Busy, MoveRefusal::OutOfTime, MoveRefusal::Other, MoveRefusal::Shared];
                MoveStatus::Refused(any[self.rng.below(4) as usize])
            } else {
                self.check_move(candidate);
                MoveStatus::Moved
            };
            verdicts.push(Verdict { page: candidate.page, status });
        }
        self.last_batch_ns = took_ns;
        Event::Moved { verdicts, took_ns }
    }

    fn check_move(&mut self, candidate: &MigrationCandidate) {
        let room = &mut self.free[candidate.to.index()];
        *room = room.checked_sub(u64::from(candidate.pages)).expect("never more than fits");
        assert!(*room >= self.config.reserve_pages, "the reserve stays free");
        self.free[candidate.from.index()] += u64::from(candidate.pages);
        self.homes.insert(candidate.page, candidate.to);
        let past = self.moves.entry(candidate.page).or_default();
        let since = past.last().map(|at| self.now_ns - at);
        assert!(since.is_none_or(|s| s >= self.config.freeze_within_ns), "ping-pong after {since:?} ns");
        past.push(self.now_ns);
        let earned_in = (self.config.defrost_after_ns / 5).max(self.config.freeze_within_ns).max(1);
        for (i, from) in past.iter().enumerate() {
            let allowed = u64::from(self.config.moves_per_page) + (self.now_ns - from) / earned_in;
            assert!((past.len() - i) as u64 <= allowed, "more moves than allowed: {past:?}");
        }
    }

    /// A window in which these (page, node, reads, writes) happen.
    pub(crate) fn window(&mut self, uses: &[(u64, u16, u32, u32)]) {
        self.window_of(1, uses);
    }

    /// A window in which these uses of pages of `pages` small ones happen.
    pub(crate) fn window_of(&mut self, pages: u32, uses: &[(u64, u16, u32, u32)]) {
        let used = |&(page, node, reads, writes): &(u64, u16, u32, u32)| Use {
            page: id(page),
            pages,
            node: NodeId(node),
            reads,
            writes,
        };
        self.tell(Event::Used { uses: uses.iter().map(used).collect() });
        let free = self.free.iter().enumerate().map(|(n, f)| (NodeId(n as u16), *f)).collect();
        self.tell(Event::Free { pages: free });
        self.now_ns += self.config.window_ns;
        self.tell(Event::Tick);
    }

    pub(crate) fn total_moves(&self) -> usize {
        self.moves.values().map(Vec::len).sum()
    }
}

pub(crate) fn id(page: u64) -> PageId {
    PageId { space: 1, page }
}
