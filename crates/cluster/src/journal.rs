//! Journals of simulated nodes ([`homenode_hlrc::journal`]): what operations asked of their hosts and were given, kept in memory.
use homenode_hlrc::cluster::Cluster;
use homenode_hlrc::journal::{Record, Tape};
use homenode_hlrc::operation::Operation;
use std::cell::{Cell, RefCell};

/// Records of all tapes of a run, at most: 1 GiB.
const RECORDS_MAX: u64 = 1 << 26;

/// A journal of a node.
#[derive(Clone, Debug)]
pub struct Journal {
    /// The node and its cluster.
    pub cluster: Cluster,
    /// Of each processor one tape of its program and one of its interrupt handlers.
    pub tapes: Vec<Noted>,
}

/// A tape: operations that followed one another.
#[derive(Clone, Debug, Default)]
pub struct Noted {
    /// Records.
    pub records: Vec<Record>,
    /// Whether there was no room for all.
    pub is_cut: bool,
}

/// Tapes of all processors, two of each; none if no journal is written.
pub(crate) struct Tapes {
    tapes: Vec<RefCell<Noted>>,
    /// Records that there is room for.
    left: Cell<u64>,
}

impl Tapes {
    pub(crate) fn of(processors: u32) -> Tapes {
        let tapes = (0..2 * processors).map(|_| RefCell::default()).collect();
        Tapes { tapes, left: Cell::new(RECORDS_MAX) }
    }
    /// The tape for an operation of a processor: interrupt handlers serve, and programs do not.
    pub(crate) fn tape(&self, processor: u32, operation: Operation) -> Noting<'_> {
        let is_handler = operation == Operation::Serve;
        Noting { tape: &self.tapes[2 * processor as usize + usize::from(is_handler)], left: &self.left }
    }
    /// Journals of nodes, each with its part of the tapes, which are empty after that.
    pub(crate) fn take(&self, nodes: impl Iterator<Item = Cluster>) -> Vec<Journal> {
        let mut tapes = self.tapes.iter().map(RefCell::take);
        let journal = |cluster: Cluster| {
            let tapes = tapes.by_ref().take(2 * usize::from(cluster.threads)).collect();
            Journal { cluster, tapes }
        };
        nodes.map(journal).collect()
    }
}

/// A tape that an operation is noted on.
pub(crate) struct Noting<'t> {
    tape: &'t RefCell<Noted>,
    left: &'t Cell<u64>,
}

impl Tape for Noting<'_> {
    fn asks(&self, record: Record) {
        let mut tape = self.tape.borrow_mut();
        match self.left.get().checked_sub(1) {
            Some(left) if !tape.is_cut => {
                self.left.set(left);
                tape.records.push(record);
            }
            _ => tape.is_cut = true,
        }
    }
    fn given(&self, record: Record) -> u64 {
        self.asks(record);
        record.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_without_room_ends_and_says_so() {
        let tapes = Tapes { left: Cell::new(3), ..Tapes::of(2) };
        let record = |n: u64| Record { head: n, value: n * n };
        let (program, handler) = (Operation::Acquire { slot: 0 }, Operation::Serve);
        tapes.tape(0, program).asks(record(1));
        assert_eq!(tapes.tape(1, handler).given(record(5)), 25);
        (2..9).for_each(|n| tapes.tape(0, program).asks(record(n)));
        let noted = |tape: usize| (tapes.tapes[tape].borrow().records.clone(), tapes.tapes[tape].borrow().is_cut);
        assert_eq!(noted(0), (vec![record(1), record(2)], true));
        assert_eq!(noted(3), (vec![record(5)], false));
    }
}
