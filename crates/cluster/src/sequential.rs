//! One processor with all references, which speedups are relative to: its caches, no protocol, nobody to wait for (Bilas and Singh, section
//! 1.3.6). Threads run one after the other as far as each comes before it must wait for another.
use crate::ClusterError;
use crate::caches::{Brought, Caches, Found, NONE_PAGE, WriteBuffer};
use crate::fabric::Fabric;
use homenode_base::spaces::tag;
use homenode_machine::Network;
use homenode_timed::engine::Gaps;
use homenode_trace::event::EventKind;
use homenode_trace::order::{Feeds, Next};
use homenode_trace::{DatasetReader, Merged};
use std::collections::VecDeque;

/// References of a piece.
const PIECE_REFS: usize = 4096;

struct Processor {
    net: Network,
    fabric: Fabric,
    caches: Caches,
    writes: WriteBuffer,
    brought: Brought,
    cycles: u64,
}

/// Cycles of all references of a recording, or of those in a phase.
pub(crate) fn cycles(
    data: &DatasetReader,
    net: &Network,
    gaps: &mut dyn Gaps,
    phase: Option<&str>,
) -> Result<u64, ClusterError> {
    let mut processor = Processor {
        net: net.clone(),
        fabric: Fabric::new(net.clone()),
        caches: Caches::new(net, 1, 1),
        writes: WriteBuffer::default(),
        brought: Brought::default(),
        cycles: 0,
    };
    let mut feeds = Feeds::new(data, None)?;
    let mut counts = vec![phase.is_none(); data.threads() as usize];
    let (mut ready, mut counted) = (VecDeque::new(), 0);
    loop {
        while let Some((thread, _)) = feeds.woken() {
            ready.push_back(thread);
        }
        let Some(thread) = ready.pop_front() else {
            if feeds.give_up_turns() {
                continue;
            }
            break;
        };
        loop {
            let before = processor.cycles;
            match feeds.next(thread, processor.cycles, PIECE_REFS)? {
                Next::Refs(refs, first) => {
                    let space = tag(data.address_space(thread));
                    for (r, index) in refs.iter().zip(first..) {
                        processor.cycles += u64::from(gaps.before(r, index)?);
                        processor.refer(r, space);
                    }
                    if counts[thread as usize] {
                        counted += processor.cycles - before;
                    }
                }
                Next::Event(e, _) => match &e.kind {
                    EventKind::PhaseBegin { name } if Some(name.as_str()) == phase => counts[thread as usize] = true,
                    EventKind::PhaseEnd { name } if Some(name.as_str()) == phase => counts[thread as usize] = false,
                    _ => {}
                },
                Next::Later(_) => {}
                Next::Waits | Next::End => break,
            }
        }
    }
    feeds.finished()?;
    Ok(counted)
}

impl Processor {
    fn refer(&mut self, r: &Merged, space: u64) {
        let shift = self.net.line_bytes.trailing_zeros();
        let end = r.addr.saturating_add(u64::from(r.size.max(1)) - 1) ^ space;
        for line in (r.addr ^ space) >> shift..=end >> shift {
            self.access(line, r.op.writes());
        }
    }

    fn access(&mut self, line: u64, writes: bool) {
        if self.caches.hits(0, line, writes) {
            self.cycles += 1;
            return;
        }
        let found = self.caches.access((0, line, NONE_PAGE), (writes, true), &mut self.brought);
        self.brought.withdrawn.clear();
        let cycles = match found {
            Found::Second => self.net.l2_hit,
            Found::Upgrade => self.fabric.upgrade(0).cycles(),
            Found::Memory => self.fabric.line(0).cycles(),
        };
        self.cycles += if writes { 1 + self.writes.put(self.cycles, cycles) } else { cycles };
    }
}
