//! The state machine: watch, ask where the used pages are, decide, have them moved, learn what became of it.
mod follow;

use super::attention::{Attention, Demand};
use super::backoff::Backoff;
use super::budget::Budget;
use super::config::Config;
use super::event::{Effect, Event, MigrationCandidate, MoveRefusal, MoveStatus, PageId, Use, Verdict};
use super::guard::Pass;
use super::pace::{Astray, Pace, Round};
use super::pages::{Pages, Real, Seen, cost};
use super::spread::{Now, Spread};
use super::stats::{Locality, Stats};
use crate::engine::BlockEngine;
use crate::policies::{Choice, PolicyError};
use follow::price;
use homenode_base::NodeId;
use homenode_machine::{Location, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a small page, the block of the policies.
const PAGE_BYTES: u64 = 4096;
/// One in so many of the pages looked at may have moved, or wait, in a window in which nothing much was to do.
const FEW: usize = 32;
/// Windows between two looks for pages to forget.
const SWEEP_EVERY: u64 = 64;

enum Phase {
    Watching,
    Locating(BTreeMap<PageId, Seen>),
    Moving { seen: BTreeMap<PageId, Seen>, candidates: Vec<MigrationCandidate> },
}

/// The controller of the live loop. The same events at the same times give the same effects.
pub struct Governor<'m> {
    machine: &'m Machine,
    config: Config,
    engine: Box<dyn BlockEngine + 'm>,
    pages: Pages,
    current: BTreeMap<PageId, Seen>,
    free: Vec<u64>,
    /// Nodes that a process may not use; no node = nothing of it may be moved.
    barred: BTreeSet<(u32, Option<NodeId>)>,
    /// Windows as configured that have passed: a longer one counts for several.
    window: u64,
    swept: u64,
    pace: Pace,
    phase: Phase,
    off: bool,
    budget: Budget,
    attention: Attention,
    astray: Astray,
    round: Round,
    spread: Spread,
    /// Pages of this window that follow their neighbours, and how many of them are away.
    following: (u64, u64),
    /// Pages looked at in the last window, and those of them that moved.
    looked_at: usize,
    moved_lately: usize,
    /// Pages whose moves there was no time for, with what the policy has not heard of them yet.
    late: BTreeMap<PageId, Seen>,
    /// Pages of this window whose moves there was no time for.
    unaffordable: BTreeSet<PageId>,
    backoff: Backoff,
    stats: Stats,
}

impl<'m> Governor<'m> {
    /// A controller that knows nothing yet.
    ///
    /// # Errors
    /// The policy does not exist on this machine.
    pub fn new(machine: &'m Machine, policy: &Choice, config: Config) -> Result<Governor<'m>, PolicyError> {
        Ok(Governor {
            machine,
            engine: policy.engine(machine, PAGE_BYTES)?,
            pages: Pages::default(),
            current: BTreeMap::new(),
            free: vec![0; machine.nodes()],
            barred: BTreeSet::new(),
            window: 0,
            swept: 0,
            pace: Pace::new(config.window_ns),
            phase: Phase::Watching,
            off: false,
            budget: Budget::new(config.move_per_mille, config.window_ns, config.first_move_ns),
            attention: Attention::new(&config),
            astray: Astray::default(),
            round: Round::default(),
            spread: Spread::default(),
            following: (0, 0),
            looked_at: 0,
            moved_lately: 0,
            late: BTreeMap::new(),
            unaffordable: BTreeSet::new(),
            backoff: Backoff::new(machine.nodes()),
            stats: Stats::default(),
            config,
        })
    }

    /// What has been done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// How often samples are wanted now: [`Effect::Rate`] tells of changes.
    pub fn rate_per_mille(&self) -> u32 {
        self.attention.rate_per_mille()
    }
    /// When the window ends, on the clock of the events: an [`Event::Tick`] before that decides nothing. 0 before the first.
    pub fn due_ns(&self) -> u64 {
        self.pace.due_ns()
    }
    /// How many windows as configured the present one lasts: 1, or more while there is nothing to do. Evidence that comes in
    /// meanwhile is best told soon; it may end the window earlier.
    pub fn stretch(&self) -> u32 {
        self.pace.stretch()
    }
    /// Huge pages that were used from more than one node since they are known.
    pub fn shared_huge_pages(&self) -> usize {
        self.pages.known.values().filter(|p| p.pages > 1 && p.shared).count()
    }
    /// Whether moving is switched off.
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// Takes note of an event at the time `now_ns` and appends what is to be done.
    pub fn handle(&mut self, now_ns: u64, event: &Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Used { uses } => self.used(now_ns, uses, effects),
            Event::Tick => self.tick(now_ns, false, effects),
            Event::Marker => self.tick(now_ns, true, effects),
            Event::Located { at } => self.located(now_ns, at, effects),
            Event::Free { pages } => {
                for (node, free) in pages {
                    if let Some(known) = self.free.get_mut(node.index()) {
                        *known = *free;
                    }
                }
            }
            Event::Moved { verdicts, took_ns } => self.moved(now_ns, verdicts, *took_ns),
            Event::Spent { deciding_ns } => {
                self.stats.deciding_ns = self.stats.deciding_ns.saturating_add(*deciding_ns);
                self.attention.spent(*deciding_ns);
            }
            Event::Ended { space } => self.ended(*space),
            Event::Off => {
                self.off = true;
                self.current.clear();
                self.late.clear();
            }
            Event::On => self.off = false,
        }
    }

    fn used(&mut self, now_ns: u64, uses: &[Use], effects: &mut Vec<Effect>) {
        let mut wakes = false;
        for used in uses.iter().filter(|u| u.node.index() < self.free.len() && !self.off) {
            self.current.entry(used.page).or_default().add(used, self.window);
            let contradicts = if self.config.neighbours { self.spread.add(used, self.window) } else { None };
            if !self.pace.is_calm() {
                continue;
            }
            let stray = match self.pages.known.get(&used.page) {
                Some(page) => Some(page.home != used.node && !page.held && !page.history.frozen(now_ns)),
                None => contradicts,
            };
            wakes |= stray.is_some_and(|stray| self.pace.used(stray));
        }
        if wakes {
            self.pace.wake();
            effects.extend(self.attention.wake().map(|per_mille| Effect::Rate { per_mille }));
        }
    }

    fn tick(&mut self, now_ns: u64, marker: bool, effects: &mut Vec<Effect>) {
        self.budget.earn(now_ns);
        if !matches!(self.phase, Phase::Watching) {
            return;
        }
        let Some(passed_ns) = self.pace.over(now_ns, marker) else { return };
        let astray = self.astray.many() || self.pages.many_wait();
        // A page here and there that finds its place is no reason to stay awake.
        let moved = std::mem::take(&mut self.moved_lately) > self.looked_at / FEW;
        let few_wait = self.late.len() <= self.looked_at / FEW;
        self.pace.close(now_ns, !astray && !moved && few_wait, self.round.windows());
        // To the nearest, and at least one: windows are counted as the policy's time.
        let half = self.config.window_ns / 2;
        self.window += (passed_ns.saturating_add(half) / self.config.window_ns.max(1)).max(1);
        self.stats.windows += 1;
        self.stats.calm_windows += 1;
        self.backoff.close();
        let demand =
            Demand { pages: self.pages.known.len(), looked_at: self.looked_at, astray, calm: self.pace.is_calm() };
        effects.extend(self.attention.adapt(passed_ns, demand).map(|per_mille| Effect::Rate { per_mille }));
        if self.window >= self.swept + SWEEP_EVERY {
            self.swept = self.window;
            self.pages.sweep(self.window);
        }
        let now = Now { ns: now_ns, stay_ns: self.config.freeze_within_ns };
        self.spread.close(&mut self.current, self.window, now);
        let seen = self.hottest();
        self.looked_at = seen.len();
        if !seen.is_empty() {
            effects.push(Effect::Locate { pages: seen.keys().copied().collect() });
            self.phase = Phase::Locating(seen);
        }
    }

    /// The used pages that there is time for: first those whose moves there was no time for, then the most used, of them
    /// those that have waited longest. The others wait: their samples have been paid for. (Not where samples speak for their
    /// neighbours: those are kept elsewhere, and what waited would be old.) What follows its neighbours costs little.
    fn hottest(&mut self) -> BTreeMap<PageId, Seen> {
        let (mut followers, mut seen): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.current).into_iter().partition(|(_, s)| s.follows);
        for (id, before) in std::mem::take(&mut self.late) {
            seen.entry(id).or_default().join(before);
        }
        let most = self.attention.pages();
        if seen.len() <= most {
            seen.append(&mut followers);
            return seen;
        }
        self.stats.passed_over += (seen.len() - most) as u64;
        let mut order: Vec<(PageId, Seen)> = seen.into_iter().collect();
        order.sort_by_key(|(id, s)| (s.carried.is_empty(), std::cmp::Reverse(s.weight()), s.since, *id));
        let mut rest = order.split_off(most);
        rest.truncate(self.config.most_pages);
        let waits = |s: &Seen| !self.config.neighbours || !s.carried.is_empty();
        for (id, seen) in rest.into_iter().filter(|(_, s)| waits(s)) {
            let waiting = if seen.carried.is_empty() { &mut self.current } else { &mut self.late };
            waiting.insert(id, seen);
        }
        followers.extend(order);
        followers
    }

    fn located(&mut self, now_ns: u64, at: &[(PageId, Option<NodeId>)], effects: &mut Vec<Effect>) {
        let Phase::Locating(mut seen) = std::mem::replace(&mut self.phase, Phase::Watching) else { return };
        let homes: BTreeMap<PageId, NodeId> =
            at.iter().filter_map(|(id, n)| Some((*id, n.filter(|n| n.index() < self.free.len())?))).collect();
        seen.retain(|id, _| {
            let there = homes.contains_key(id);
            if !there {
                self.pages.forget(*id);
            }
            there
        });
        self.stats.looked_at += seen.len() as u64;
        let followers = self.followers(&mut seen, &homes);
        self.meet(now_ns, &seen, &homes);
        let mut candidates: Vec<MigrationCandidate> = Vec::new();
        for (id, seen) in &seen {
            candidates.extend(self.candidate(now_ns, *id, seen));
        }
        candidates.extend(followers.into_iter().filter_map(|(id, seen)| self.follow(id, &seen, homes[&id])));
        let candidates = self.afford(candidates);
        if candidates.is_empty() {
            self.settle(now_ns, &seen, &[], &BTreeMap::new());
            return;
        }
        effects.push(Effect::Move { candidates: candidates.clone(), limit_ns: self.budget.credit_ns() });
        self.phase = Phase::Moving { seen, candidates };
    }

    /// Brings what is known of the used pages up to date.
    fn meet(&mut self, now_ns: u64, seen: &BTreeMap<PageId, Seen>, homes: &BTreeMap<PageId, NodeId>) {
        let mut window = Locality::default();
        if self.config.comes_round && !self.pace.is_calm() {
            let before = seen.keys().filter_map(|id| self.pages.known.get(id));
            self.round.saw(before.map(|page| self.window.saturating_sub(page.window)));
        }
        for (id, seen) in seen {
            let home = homes[id];
            let before = self.pages.known.get(id).map(|p| p.home);
            if self.pages.meet(*id, seen.pages, home, self.engine.as_mut()) {
                self.moved_by_others(now_ns, *id, before);
            }
            let page = self.pages.known.get_mut(id).expect("it has just been met");
            if page.history.renew(now_ns, &self.config) {
                self.engine.reopen(page.slot, id.page, None);
            }
            if !seen.by.is_empty() {
                page.warm(seen, self.window, self.config.comes_round);
            }
            window.add(&Locality {
                weight: seen.weight(),
                local: seen.by.iter().filter(|s| s.node == home).map(|s| s.reads + s.writes).sum(),
                cost: cost(self.machine, &seen.by, home, self.config.accesses_per_unit),
            });
        }
        self.stats.saw(window);
    }

    /// Somebody else moves this page: if it was ours a moment ago, keep out of it.
    fn moved_by_others(&mut self, now_ns: u64, id: PageId, before: Option<NodeId>) {
        self.stats.moved_by_others += 1;
        let Some(page) = self.pages.known.get_mut(&id) else { return };
        if page.history.soon(now_ns, &self.config) {
            page.history.freeze(now_ns, &self.config);
            self.stats.freezes += 1;
            before.into_iter().for_each(|node| self.backoff.lost(node));
        }
    }

    /// What the policy would do with a page, if nothing speaks against it.
    fn candidate(&mut self, now_ns: u64, id: PageId, seen: &Seen) -> Option<MigrationCandidate> {
        let accesses = self.accesses(id, seen);
        let page = self.pages.known.get_mut(&id)?;
        let from = page.home;
        page.held = false;
        let mut world = Real { home: Location::Node(from), moves_succeed: true };
        let Some(Location::Node(to)) = self.engine.probe(page.slot, &accesses, &mut world) else { return None };
        page.history.proposed((to != from).then_some(to), self.window);
        if seen.sure {
            page.history.proposed((to != from).then_some(to), self.window);
        }
        if to == from {
            return None;
        }
        let held = &mut self.stats.held;
        if self.spread.came_lately(id, from, now_ns, self.config.freeze_within_ns) {
            held.frozen += 1;
            return None;
        }
        if self.barred.contains(&(id.space, None)) || self.barred.contains(&(id.space, Some(to))) {
            held.barred += 1;
            page.held = true;
            return None;
        }
        let gain = page.gain(self.machine, to, &self.config);
        let price = price(self.machine, &self.budget, page.pages, from, to);
        // A candidate that has lasted long is expected to last as long again.
        let horizon = page.history.lasted(self.window).max(u64::from(self.config.horizon_windows));
        let worth = gain.0.saturating_mul(i128::from(horizon));
        if self.backoff.factor(to).is_none_or(|f| worth <= price.0.saturating_mul(i128::from(f))) {
            held.gain += 1;
            page.held = true;
            return None;
        }
        match page.history.pass(now_ns, &self.config) {
            Pass::Free => {
                let gain = i64::try_from(gain.0).unwrap_or(i64::MAX);
                return Some(MigrationCandidate { page: id, pages: page.pages, from, to, gain });
            }
            Pass::TooNew => held.too_new += 1,
            Pass::Frozen => held.frozen += 1,
            Pass::Freezes => {
                held.frozen += 1;
                self.stats.freezes += 1;
                if page.history.soon(now_ns, &self.config) {
                    self.backoff.lost(from);
                }
            }
        }
        None
    }

    /// Use of a known page as the policy sees it. Where evidence comes round, only windows with use are counted.
    fn accesses(&self, id: PageId, seen: &Seen) -> Vec<crate::Access> {
        let looks = || self.pages.known.get(&id).map_or(0, |p| p.looks);
        let window = if self.config.comes_round { looks() } else { self.window };
        let begin = window.saturating_mul(self.config.ticks_per_window);
        seen.accesses(self.config.accesses_per_unit, begin, begin.saturating_add(self.config.ticks_per_window))
    }

    /// The candidates that time and room allow, those with the greatest gain a small page first.
    fn afford(&mut self, mut candidates: Vec<MigrationCandidate>) -> Vec<MigrationCandidate> {
        candidates.sort_by(MigrationCandidate::by_gain_a_page);
        let mut time_ns = if self.off { 0 } else { self.budget.pages_ns() };
        // A page that takes longer than can ever be saved goes alone, and the debt is paid before the next.
        let mut on_credit = self.budget.is_full() && !self.off;
        let mut room: Vec<u64> = self.free.iter().map(|f| f.saturating_sub(self.config.reserve_pages)).collect();
        let (held, unaffordable, known) = (&mut self.stats.held, &mut self.unaffordable, &mut self.pages.known);
        candidates.retain(|w| {
            let (price, room) = (self.budget.price_ns(w.pages), &mut room[w.to.index()]);
            if u64::from(w.pages) > *room {
                held.room += 1;
                known.get_mut(&w.page).into_iter().for_each(|p| p.held = true);
                return false;
            }
            if price > time_ns && !on_credit {
                held.budget += 1;
                unaffordable.insert(w.page);
                return false;
            }
            on_credit = false;
            time_ns = time_ns.saturating_sub(price);
            *room -= u64::from(w.pages);
            true
        });
        let price_ns: u64 = candidates.iter().map(|w| self.budget.price_ns(w.pages)).fold(0, u64::saturating_add);
        if self.budget.waits(price_ns, self.window) {
            held.budget += candidates.len() as u64;
            unaffordable.extend(candidates.drain(..).map(|w| w.page));
        }
        candidates
    }

    fn moved(&mut self, now_ns: u64, verdicts: &[Verdict], took_ns: u64) {
        let Phase::Moving { seen, candidates } = std::mem::replace(&mut self.phase, Phase::Watching) else { return };
        let statuses: BTreeMap<PageId, MoveStatus> = verdicts.iter().map(|v| (v.page, v.status)).collect();
        self.stats.moving_ns = self.stats.moving_ns.saturating_add(took_ns);
        let tried = |w: &&MigrationCandidate| statuses.get(&w.page).is_some_and(MoveStatus::was_attempted);
        let small = candidates.iter().filter(tried).filter(|w| w.pages == 1).count() as u64;
        let huge = candidates.iter().filter(tried).filter(|w| w.pages > 1).count() as u64;
        self.budget.spend(small, huge, took_ns);
        self.settle(now_ns, &seen, &candidates, &statuses);
    }

    /// The second pass: the policy learns what became of its candidates, and so do the guards.
    fn settle(
        &mut self,
        now_ns: u64,
        seen: &BTreeMap<PageId, Seen>,
        candidates: &[MigrationCandidate],
        statuses: &BTreeMap<PageId, MoveStatus>,
    ) {
        let done = |id: &PageId| statuses.get(id) == Some(&MoveStatus::Moved);
        let moved: BTreeSet<PageId> = candidates.iter().map(|w| w.page).filter(done).collect();
        let unattempted = |w: &&MigrationCandidate| !statuses.get(&w.page).is_some_and(MoveStatus::was_attempted);
        let mut late = std::mem::take(&mut self.unaffordable);
        late.extend(candidates.iter().filter(unattempted).map(|w| w.page));
        // What follows its neighbours is told again.
        late.iter().filter(|id| !seen.contains_key(id)).for_each(|id| self.spread.again(*id));
        for (id, seen) in seen {
            // What there was no time for is decided in the next window, whether or not it is sampled again by then.
            if late.contains(id) && !self.off && self.config.move_per_mille > 0 {
                self.late.insert(*id, seen.clone().carry());
                continue;
            }
            let accesses = self.accesses(*id, seen);
            let Some(page) = self.pages.known.get_mut(id) else { continue };
            page.looks += 1;
            let mut world = Real { home: Location::Node(page.home), moves_succeed: moved.contains(id) };
            for access in &accesses {
                self.engine.step(page.slot, access, &mut world);
            }
        }
        for candidate in candidates {
            match statuses.get(&candidate.page) {
                Some(MoveStatus::Moved) => self.confirmed(now_ns, candidate),
                Some(MoveStatus::Refused(why)) => self.refused(candidate, *why),
                None => self.refused(candidate, MoveRefusal::OutOfTime),
            }
        }
        self.stats.worst_backoff = self.stats.worst_backoff.max(self.backoff.worst());
        let mut strays = 0;
        for id in seen.keys() {
            if let Some(user) = self.pages.judge(now_ns, *id) {
                strays += 1;
                self.spread.stray(*id, user);
            }
        }
        let (following, away) = std::mem::take(&mut self.following);
        self.astray.saw(seen.len() as u64 + following, strays + away);
    }

    fn confirmed(&mut self, now_ns: u64, candidate: &MigrationCandidate) {
        self.stats.moved(candidate);
        self.stats.calm_windows = 0;
        self.moved_lately += 1;
        self.backoff.came(candidate.to);
        let room = &mut self.free[candidate.to.index()];
        *room = room.saturating_sub(u64::from(candidate.pages));
        if let Some(page) = self.pages.known.get_mut(&candidate.page) {
            page.home = candidate.to;
            page.history.moved(now_ns, candidate.to, &self.config);
        }
    }

    fn refused(&mut self, candidate: &MigrationCandidate, why: MoveRefusal) {
        *self.stats.refused.entry(why).or_default() += 1;
        match why {
            MoveRefusal::NodeFull => {
                self.free[candidate.to.index()] = 0;
                self.backoff.lost(candidate.to);
            }
            MoveRefusal::NodeForbidden => _ = self.barred.insert((candidate.page.space, Some(candidate.to))),
            MoveRefusal::NotPermitted => _ = self.barred.insert((candidate.page.space, None)),
            MoveRefusal::Gone => self.ended(candidate.page.space),
            MoveRefusal::Absent => self.pages.forget(candidate.page),
            MoveRefusal::Shared => {
                if let Some(page) = self.pages.known.get_mut(&candidate.page) {
                    page.history.frozen_until = u64::MAX;
                    self.stats.freezes += 1;
                }
            }
            MoveRefusal::Busy | MoveRefusal::OutOfTime | MoveRefusal::Other => {}
        }
    }

    fn ended(&mut self, space: u32) {
        self.pages.forget_space(space);
        self.spread.forget_space(space);
        self.current.retain(|id, _| id.space != space);
        self.late.retain(|id, _| id.space != space);
    }
}
