//! The actuator: what the governor wants, as system calls; and what came of them, as its events.
use homenode_base::NodeId;
use homenode_host::clock::Clock;
use homenode_machine::Topology;
use homenode_migrate::{At, MigrateError, Mover, PAGE_BYTES, Request, where_are};
use homenode_placement::live::{Event, MigrationCandidate, MoveRefusal, MoveStatus, PageId, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Calls listed by a dry run at most; the rest is counted.
const CALLS_LISTED: usize = 100_000;

/// Does, or in a dry run lists.
pub(crate) struct Actuator {
    clock: Arc<dyn Clock>,
    os_ids: Vec<u32>,
    dry_run: bool,
    /// Moves already listed, so that a dry run says each once.
    listed: BTreeSet<(PageId, NodeId)>,
    pub(crate) calls: Vec<String>,
    pub(crate) calls_unlisted: u64,
    /// The first process that could not be looked into, and why.
    pub(crate) trouble: Option<MigrateError>,
}

impl Actuator {
    pub(crate) fn new(topology: &Topology, dry_run: bool, clock: Arc<dyn Clock>) -> Actuator {
        let os_ids = topology.nodes.iter().map(|n| n.os_id).collect();
        let (listed, calls) = Default::default();
        Actuator { clock, os_ids, dry_run, listed, calls, calls_unlisted: 0, trouble: None }
    }

    fn node_of(&self, os: u32) -> Option<NodeId> {
        self.os_ids.iter().position(|n| *n == os).map(|i| NodeId(i as u16))
    }

    /// Free room of all nodes.
    pub(crate) fn free(&self) -> Event {
        let pages = |(i, os): (usize, &u32)| {
            let bytes = homenode_migrate::process::free_bytes(*os)?;
            Some((NodeId(i as u16), bytes / PAGE_BYTES))
        };
        Event::Free { pages: self.os_ids.iter().enumerate().filter_map(pages).collect() }
    }

    /// Where pages are; processes that have ended come as events of their own, first.
    pub(crate) fn locate(&mut self, pages: &[PageId]) -> Vec<Event> {
        let (mut events, mut at) = (Vec::new(), Vec::with_capacity(pages.len()));
        for group in pages.chunk_by(|a, b| a.space == b.space) {
            let addresses: Vec<u64> = group.iter().map(|p| p.page * PAGE_BYTES).collect();
            match where_are(group[0].space, &addresses) {
                Ok(found) => {
                    at.extend(group.iter().zip(found).map(|(p, a)| (*p, At::node(a).and_then(|os| self.node_of(os)))));
                }
                Err(error) => {
                    at.extend(group.iter().map(|p| (*p, None)));
                    if matches!(error, MigrateError::Gone(_)) {
                        events.push(Event::Ended { space: group[0].space });
                    } else {
                        self.trouble.get_or_insert(error);
                    }
                }
            }
        }
        events.push(Event::Located { at });
        events
    }

    /// Moves, and says what processor time that took: what it costs, also where this thread has to wait for a processor.
    pub(crate) fn carry_out(&mut self, candidates: &[MigrationCandidate], limit_ns: u64) -> (Event, u64) {
        let (start, used) = (self.clock.now(), self.clock.used());
        let mut spaces: BTreeMap<u32, Vec<&MigrationCandidate>> = BTreeMap::new();
        candidates.iter().for_each(|w| spaces.entry(w.page.space).or_default().push(w));
        let mut verdicts = Vec::with_capacity(candidates.len());
        for (space, candidates) in spaces {
            if self.dry_run {
                verdicts.extend(self.list(space, &candidates));
                continue;
            }
            let left = Duration::from_nanos(limit_ns).saturating_sub(self.clock.now() - start);
            let request =
                |w: &&MigrationCandidate| Request { page: w.page.page * PAGE_BYTES, node: self.os_ids[w.to.index()] };
            let requests: Vec<Request> = candidates.iter().map(request).collect();
            let mut move_statuses = Vec::new();
            Mover::new(space).run(&requests, Some(left), &mut move_statuses);
            verdicts.extend(
                candidates.iter().zip(&move_statuses).map(|(w, f)| Verdict { page: w.page, status: (*f).into() }),
            );
        }
        let took_ns = u64::try_from((self.clock.used() - used).as_nanos()).unwrap_or(u64::MAX);
        (Event::Moved { verdicts, took_ns }, took_ns)
    }

    /// A dry run: one line for the pages of one process that would go to one node in one call.
    fn list(&mut self, space: u32, candidates: &[&MigrationCandidate]) -> Vec<Verdict> {
        let mut targets: BTreeMap<NodeId, Vec<&MigrationCandidate>> = BTreeMap::new();
        for candidate in candidates {
            if self.listed.insert((candidate.page, candidate.to)) {
                targets.entry(candidate.to).or_default().push(candidate);
            }
        }
        for (to, mut candidates) in targets {
            candidates.sort_by_key(|w| w.page);
            for batch in candidates.chunks(homenode_migrate::mover::BATCH_PAGES) {
                let line = self.line(space, to, batch);
                if self.calls.len() < CALLS_LISTED { self.calls.push(line) } else { self.calls_unlisted += 1 }
            }
        }
        candidates.iter().map(|w| Verdict { page: w.page, status: MoveStatus::Refused(MoveRefusal::Other) }).collect()
    }

    fn line(&self, space: u32, to: NodeId, batch: &[&MigrationCandidate]) -> String {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for candidate in batch {
            let (first, end) = (candidate.page.page, candidate.page.page + u64::from(candidate.pages));
            match runs.last_mut() {
                Some((_, last)) if *last == first => *last = end,
                _ => runs.push((first, end)),
            }
        }
        let words = |(first, end): &(u64, u64)| format!("{:#x}-{:#x}", first * PAGE_BYTES, end * PAGE_BYTES);
        let pages: Vec<String> = runs.iter().map(words).collect();
        let node = self.os_ids[to.index()];
        format!(
            "move_pages(pid={space}, count={}, pages=[{}], node={node}, MPOL_MF_MOVE)",
            batch.len(),
            pages.join(" ")
        )
    }
}
