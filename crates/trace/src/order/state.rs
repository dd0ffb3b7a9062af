//! What both orders share: cursors, synchronisation, and what it means to execute an event.
use super::apart::{Chance, LONG};
use super::cursor::{Cursor, Head};
use super::granted::Granted;
use super::output::Output;
use super::sync::{Link, Sync};
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::EventKind;
use crate::polls;

#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) data: &'a DatasetReader,
    pub(super) cursors: Vec<Cursor<'a>>,
    pub(super) sync: Sync,
    /// What the next event of each thread means.
    links: Vec<Option<Link>>,
    /// Spawns that must happen before the thread begins.
    spawns: Vec<u32>,
    pub(super) spins: u64,
    /// Waits that only the recording makes necessary.
    pub(super) chances: Vec<Chance>,
    /// Threads that became able to go on; whoever drives takes them out.
    pub(super) woken: Vec<u32>,
}

/// What happened to a thread that was asked to execute its next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Done.
    Done,
    /// The thread waits; it will be in `woken` when it can go on.
    Waits,
}

impl<'a> State<'a> {
    /// With `by_turns` it is not the recording that decides who gets what is taken again and again.
    /// What is `granted` by others orders nothing.
    pub(super) fn new(
        data: &'a DatasetReader,
        by_turns: bool,
        granted: Option<Granted>,
    ) -> Result<State<'a>, TraceError> {
        State::with(data, Sync::new(data, polls::of(data)?, by_turns, granted)?)
    }

    /// With this synchronisation, of which nothing has happened.
    pub(super) fn with(data: &'a DatasetReader, sync: Sync) -> Result<State<'a>, TraceError> {
        let mut cursors: Vec<Cursor> = (0..data.threads()).map(|t| Cursor::new(data, t)).collect();
        cursors.iter_mut().try_for_each(|c| c.refill(data))?;
        let mut spawns = vec![0u32; cursors.len()];
        for (_, e) in data.events().others() {
            if let EventKind::Spawn { child } = e.kind
                && let Some(n) = spawns.get_mut(child as usize)
            {
                *n += 1;
            }
        }
        let link = |c: &Cursor<'a>| Some(sync.link(data, c.next_event_index(), c.event()?));
        let links = cursors.iter().map(link).collect();
        let woken = (0..data.threads()).filter(|&t| spawns[t as usize] == 0).collect();
        Ok(State { data, cursors, sync, links, spawns, spins: 0, chances: Vec::new(), woken })
    }

    pub(super) fn head(&self, thread: u32) -> Head {
        self.cursors[thread as usize].head()
    }

    /// Executes the next event of a thread, which is its head, if it can happen now. Its time is raised first if it must be.
    pub(super) fn event(&mut self, thread: u32, out: &mut Output<'a>) -> Step {
        let t = thread as usize;
        let (Some(link), Some(e)) = (self.links[t], self.cursors[t].event()) else { return Step::Waits };
        let Some(floor) = self.sync.ready(&link, e) else {
            self.sync.wait(&link, e);
            return Step::Waits;
        };
        let c = &self.cursors[t];
        let arrived = c.time;
        if floor >= arrived + LONG
            && let Some(first) = self.sync.first_by_chance(&link, arrived)
            && self.could_go_first(c.events_done(), e)
        {
            self.note_chance(thread, first, floor - arrived);
        }
        let c = &mut self.cursors[t];
        c.time = c.time.max(floor);
        let time = c.time;
        let Some(e) = c.event_done() else { return Step::Waits };
        self.sync.execute(&link, &e, time, &mut self.woken);
        self.links[t] = c.event().map(|next| self.sync.link(self.data, link.event + 1, next));
        if let EventKind::Spawn { child } = e.kind {
            self.spawned(child, time);
        }
        out.event(e, time);
        Step::Done
    }

    /// Whether this event is one of waiting that orders nothing.
    pub(super) fn is_poll(&self, event: u32) -> bool {
        polls::of(self.data).is_ok_and(|polls| polls.events.contains(&event))
    }

    fn spawned(&mut self, child: u32, time: u64) {
        let Some(left) = self.spawns.get_mut(child as usize) else { return };
        *left -= 1;
        let c = &mut self.cursors[child as usize];
        c.time = c.time.max(time);
        if *left == 0 {
            self.woken.push(child);
        }
    }

    /// The virtual time the thread's next node will have, given that it can happen now.
    pub(super) fn time_of_head(&self, thread: u32) -> u64 {
        let c = &self.cursors[thread as usize];
        match (c.head(), &self.links[thread as usize], c.event()) {
            (Head::Event, Some(link), Some(e)) => c.time.max(self.sync.ready(link, e).unwrap_or(0)),
            _ => c.time,
        }
    }

    /// Whether the thread's head is an event that cannot happen yet; it is then registered as waiting.
    pub(super) fn must_wait(&mut self, thread: u32) -> bool {
        let c = &self.cursors[thread as usize];
        let (Head::Event, Some(link), Some(e)) = (c.head(), &self.links[thread as usize], c.event()) else {
            return false;
        };
        let waits = self.sync.ready(link, e).is_none();
        if waits {
            self.sync.wait(link, e);
        }
        waits
    }

    /// Nobody can go on: lets go of what only the order of turns forbids. Whether somebody is `woken` by that.
    pub(super) fn give_up_turns(&mut self) -> bool {
        self.sync.give_up(&mut self.woken)
    }

    /// Spins of a thread, of which its head is the first: as many as come in a row and have room, at most `limit`.
    pub(super) fn spins(&mut self, thread: u32, limit: usize, out: &mut Output<'a>) -> Result<(), TraceError> {
        let n = self.cursors[thread as usize].spin_run(limit);
        let n = out.lockstep(&mut self.cursors, &[thread], n);
        let c = &mut self.cursors[thread as usize];
        c.spins_done(n);
        self.spins += n as u64;
        c.refill(self.data)
    }

    /// An error unless every thread is at its end.
    pub(super) fn finished(&self) -> Result<(), TraceError> {
        let stuck = (0..self.cursors.len() as u32).find(|&t| self.head(t) != Head::End);
        let Some(thread) = stuck else { return Ok(()) };
        let at = self.cursors[thread as usize].refs_done;
        let why = match (self.head(thread), self.cursors[thread as usize].event()) {
            _ if self.spawns[thread as usize] > 0 => "it is never created".to_owned(),
            (Head::Event, Some(e)) => format!("{:?} waits for releases that wait for it", e.kind),
            _ => "batches of other threads end before they begin".to_owned(),
        };
        Err(TraceError::Cycle(format!("thread {thread} cannot go on after {at} references: {why}")))
    }
}
