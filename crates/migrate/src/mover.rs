//! Moving pages in batches, with a verdict for each page that the kernel has confirmed.
//!
//! The kernel stops a call at the first page that will not move (a result above 0, since Linux 4.17): what came before is
//! done and has a status, what comes after was not even looked at. So a batch has one target, its statuses are set to a
//! value that the kernel never writes, pages without an answer are looked up, and what is left is tried again in halves
//! until single pages are known to be busy.
use crate::move_status::{MoveStatus, Refusal};
use homenode_sys::numa;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Pages of one call. The call's own cost is below 1 % then, also where other processors are slow to answer, and a batch, which
/// cannot be interrupted, takes some milliseconds.
pub const BATCH_PAGES: usize = 2048;
/// How often one page is tried that the kernel holds at this moment.
const TRIES: u32 = 3;

/// A page and where it is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// First byte of the page; of a huge page that of the whole.
    pub page: u64,
    /// Operating-system node.
    pub node: u32,
}

/// What moving took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// System calls.
    pub calls: u64,
    /// Nanoseconds of wall-clock time.
    pub ns: u64,
}

/// Moves pages of one process.
#[derive(Clone, Debug)]
pub struct Mover {
    pid: u32,
    batch: usize,
    shared: bool,
}

impl Mover {
    /// For the process `pid`; 0 is this one.
    pub fn new(pid: u32) -> Mover {
        Mover { pid, batch: BATCH_PAGES, shared: false }
    }
    /// With this many pages a call, at least 1.
    #[must_use]
    pub fn batch(mut self, pages: usize) -> Mover {
        self.batch = pages.max(1);
        self
    }
    /// Moves pages that other processes map too (takes CAP_SYS_NICE).
    #[must_use]
    pub fn shared(mut self, yes: bool) -> Mover {
        self.shared = yes;
        self
    }

    /// Carries out the requests, of which no two name the same page, grouped by target; `move_statuses[i]` becomes that of
    /// `requests[i]`. Nothing new is begun when `limit` is over. Never fails as a whole: a process that is gone is a
    /// refusal of each page.
    pub fn run(&self, requests: &[Request], limit: Option<Duration>, move_statuses: &mut Vec<MoveStatus>) -> Spent {
        let start = Instant::now();
        move_statuses.clear();
        move_statuses.resize(requests.len(), MoveStatus::Refused(Refusal::OutOfTime));
        let mut order: Vec<u32> = (0..requests.len() as u32).collect();
        let key = |i: &u32| (requests[*i as usize].node, requests[*i as usize].page);
        if !order.is_sorted_by_key(key) {
            order.sort_unstable_by_key(key);
        }
        let mut work =
            Work { mover: self, requests, move_statuses, full: BTreeSet::new(), calls: 0, buffers: Buffers::default() };
        let over = || limit.is_some_and(|l| start.elapsed() >= l);
        for group in order.chunk_by(|a, b| requests[*a as usize].node == requests[*b as usize].node) {
            for batch in group.chunks(self.batch) {
                work.batch(batch, &over);
            }
        }
        Spent { calls: work.calls, ns: u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX) }
    }
}

#[derive(Default)]
struct Buffers {
    pages: Vec<u64>,
    nodes: Vec<i32>,
    status: Vec<i32>,
}

struct Work<'a> {
    mover: &'a Mover,
    requests: &'a [Request],
    move_statuses: &'a mut Vec<MoveStatus>,
    /// Nodes that had no room for a page.
    full: BTreeSet<u32>,
    calls: u64,
    buffers: Buffers,
}

impl Work<'_> {
    /// One batch of one target, to its end.
    fn batch(&mut self, batch: &[u32], over: &dyn Fn() -> bool) {
        let mut left: Vec<(Vec<u32>, u32)> = Vec::new();
        self.attempt(batch, 1, over, &mut left);
        while let Some((pages, tries)) = left.pop() {
            self.attempt(&pages, tries, over, &mut left);
        }
    }

    /// One call; what has no verdict after it is added to `left`.
    fn attempt(&mut self, batch: &[u32], tries: u32, over: &dyn Fn() -> bool, left: &mut Vec<(Vec<u32>, u32)>) {
        let Some(node) = batch.first().map(|i| self.requests[*i as usize].node) else { return };
        if over() {
            return;
        }
        if self.full.contains(&node) {
            return self.refuse(batch, Refusal::NodeFull);
        }
        self.fill(batch);
        let Buffers { pages, nodes, status } = &mut self.buffers;
        let called = numa::move_pages(self.mover.pid, pages, nodes, status, self.mover.shared);
        self.calls += 1;
        match called {
            Ok(0) => self.settle(batch, tries, None, left),
            Ok(_) => {
                self.look_up_untouched();
                self.settle(batch, tries, None, left);
            }
            Err(e) => {
                let why = match Refusal::of_call(e.raw_os_error().unwrap_or(0)) {
                    // A process that has ended is an invalid argument too; then it cannot be asked either.
                    Refusal::NodeForbidden if numa::query_pages(self.mover.pid, &[], &mut []).is_err() => {
                        Refusal::ProcessGone
                    }
                    why => why,
                };
                if !matches!(why, Refusal::ProcessGone | Refusal::NotPermitted) {
                    self.look_up_untouched();
                }
                self.settle(batch, tries, Some(why), left);
                if why == Refusal::NodeFull {
                    self.full.insert(node);
                }
            }
        }
    }

    fn fill(&mut self, batch: &[u32]) {
        let Buffers { pages, nodes, status } = &mut self.buffers;
        pages.clear();
        nodes.clear();
        status.clear();
        pages.extend(batch.iter().map(|i| self.requests[*i as usize].page));
        // A node number beyond i32 cannot exist; -1 makes the kernel say so.
        nodes.extend(batch.iter().map(|i| i32::try_from(self.requests[*i as usize].node).unwrap_or(-1)));
        status.resize(batch.len(), numa::UNTOUCHED);
    }

    /// Asks where the pages are that got no answer.
    fn look_up_untouched(&mut self) {
        let Buffers { pages, status, nodes } = &mut self.buffers;
        let open: Vec<usize> = (0..status.len()).filter(|i| status[*i] == numa::UNTOUCHED).collect();
        let asked: Vec<u64> = open.iter().map(|i| pages[*i]).collect();
        let mut answer = vec![numa::UNTOUCHED; open.len()];
        self.calls += 1;
        if numa::query_pages(self.mover.pid, &asked, &mut answer).is_err() {
            return;
        }
        for (i, found) in open.into_iter().zip(answer) {
            // Elsewhere is no verdict: the page was not tried.
            if found == nodes[i] || found < 0 {
                status[i] = found;
            }
        }
    }

    /// Gives each page of the call its move status, or puts it into `left`. `why`: the call failed for this reason.
    fn settle(&mut self, batch: &[u32], tries: u32, why: Option<Refusal>, left: &mut Vec<(Vec<u32>, u32)>) {
        const EBUSY: i32 = -16;
        let (mut busy, mut open) = (Vec::new(), Vec::new());
        for (&i, (&status, &node)) in batch.iter().zip(self.buffers.status.iter().zip(&self.buffers.nodes)) {
            let move_status = match status {
                s if s == node => MoveStatus::Moved,
                numa::UNTOUCHED => match why {
                    Some(why) => MoveStatus::Refused(why),
                    None => {
                        open.push(i);
                        continue;
                    }
                },
                EBUSY if tries < TRIES => {
                    busy.push(i);
                    continue;
                }
                s if s < 0 => MoveStatus::Refused(Refusal::of_page(-s)),
                _ => MoveStatus::Refused(Refusal::Unconfirmed),
            };
            self.move_statuses[i as usize] = move_status;
        }
        if !busy.is_empty() {
            left.push((busy, tries + 1));
        }
        match open.len() {
            0 => {}
            1 if tries >= TRIES => self.refuse(&open, Refusal::Busy),
            1 => left.push((open, tries + 1)),
            n => {
                let second = open.split_off(n / 2);
                left.extend([(second, tries), (open, tries)]);
            }
        }
    }

    fn refuse(&mut self, batch: &[u32], why: Refusal) {
        for &i in batch {
            self.move_statuses[i as usize] = MoveStatus::Refused(why);
        }
    }
}
