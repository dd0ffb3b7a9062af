//! Operations and their results as records.
use super::record::{Kind, Record};
use crate::cluster::PageId;
use crate::operation::{Operation, Refused};
use crate::reduce::Reduction;
use homenode_base::NodeId;

const REDUCTIONS: [Reduction; 6] = [
    Reduction::SumOfInts,
    Reduction::LeastInt,
    Reduction::GreatestInt,
    Reduction::SumOfReals,
    Reduction::LeastReal,
    Reduction::GreatestReal,
];

/// Records of an operation's beginning: code and three arguments.
const BEGIN: usize = 3;

/// Code of an operation and its arguments; those that it does not have are 0.
fn code(operation: Operation) -> (u64, [u64; BEGIN]) {
    let slot = |slot: u32| [u64::from(slot), 0, 0];
    match operation {
        Operation::Fault { page, write } => (0, [page.0.into(), write.into(), 0]),
        Operation::Find { key } => (1, [key, 0, 0]),
        Operation::Acquire { slot: of } => (2, slot(of)),
        Operation::Release { slot: of } => (3, slot(of)),
        Operation::Barrier { slot: of } => (4, slot(of)),
        Operation::Wait { slot, lock } => (5, [slot.into(), lock.into(), 0]),
        Operation::Signal { slot: of } => (6, slot(of)),
        Operation::Broadcast { slot: of } => (7, slot(of)),
        Operation::SetFlag { slot: of } => (8, slot(of)),
        Operation::ClearFlag { slot: of } => (9, slot(of)),
        Operation::IsFlagSet { slot: of } => (10, slot(of)),
        Operation::AwaitFlag { slot: of } => (11, slot(of)),
        Operation::Change { slot, word } => (12, [slot.into(), word as u64, 0]),
        Operation::Read { slot, word } => (13, [slot.into(), word as u64, 0]),
        Operation::Reduce { slot, what, value } => (14, [slot.into(), what as u64, value]),
        Operation::Post { to } => (15, [to.0.into(), 0, 0]),
        Operation::Take => (16, [0; BEGIN]),
        Operation::Serve => (17, [0; BEGIN]),
        Operation::GiveHome { page, home } => (18, [page.0.into(), home.0.into(), 0]),
        Operation::Meet { slot, some } => (19, [slot.into(), some.into(), 0]),
    }
}

/// The operation of this code; `None` if there is none, or not with these arguments.
fn operation(code: u64, [a, b, c]: [u64; BEGIN]) -> Option<Operation> {
    let slot = u32::try_from(a).ok();
    let page = slot.map(PageId);
    let node = |number: u64| u16::try_from(number).ok().map(NodeId);
    Some(match code {
        0 => Operation::Fault { page: page?, write: b != 0 },
        1 => Operation::Find { key: a },
        2 => Operation::Acquire { slot: slot? },
        3 => Operation::Release { slot: slot? },
        4 => Operation::Barrier { slot: slot? },
        5 => Operation::Wait { slot: slot?, lock: u32::try_from(b).ok()? },
        6 => Operation::Signal { slot: slot? },
        7 => Operation::Broadcast { slot: slot? },
        8 => Operation::SetFlag { slot: slot? },
        9 => Operation::ClearFlag { slot: slot? },
        10 => Operation::IsFlagSet { slot: slot? },
        11 => Operation::AwaitFlag { slot: slot? },
        12 => Operation::Change { slot: slot?, word: usize::try_from(b).ok()? },
        13 => Operation::Read { slot: slot?, word: usize::try_from(b).ok()? },
        14 => {
            let what = *REDUCTIONS.get(usize::try_from(b).ok()?)?;
            Operation::Reduce { slot: slot?, what, value: c }
        }
        15 => Operation::Post { to: node(a)? },
        16 => Operation::Take,
        17 => Operation::Serve,
        18 => Operation::GiveHome { page: page?, home: node(b)? },
        19 => Operation::Meet { slot: slot?, some: b != 0 },
        _ => return None,
    })
}

/// Records with which an operation begins. `alone`: the other nodes have not begun.
pub(super) fn begin(operation: Operation, thread: u16, alone: bool) -> [Record; BEGIN] {
    let (code, [a, b, c]) = code(operation);
    let first = Record::new(Kind::Begin, thread, code << 1 | u64::from(alone), a);
    [first, Record::plain(Kind::Argument, b), Record::plain(Kind::Argument, c)]
}

/// How an operation began.
pub(super) struct Begun {
    pub(super) operation: Operation,
    pub(super) thread: u16,
    pub(super) alone: bool,
}

/// Reads how an operation began; `None` if these records say something else, `Some` of fewer records is none either.
pub(super) fn begun(records: &[Record]) -> Option<Begun> {
    let [first, b, c] = *records.first_chunk::<BEGIN>()?;
    let is_begun = first.kind() == Some(Kind::Begin);
    let has_arguments = [b, c].iter().all(|record| record.kind() == Some(Kind::Argument));
    if !is_begun || !has_arguments {
        return None;
    }
    let operation = operation(first.large() >> 1, [first.value, b.value, c.value])?;
    Some(Begun { operation, thread: first.small(), alone: first.large() & 1 == 1 })
}

/// The record with which an operation ends.
pub(super) fn end(result: Result<u64, Refused>) -> Record {
    let (how, value) = match result {
        Ok(value) => (0, value),
        Err(Refused::NotHeld) => (1, 0),
        Err(Refused::TableFull) => (2, 0),
        Err(Refused::Mixed) => (3, 0),
    };
    Record::new(Kind::End, how, 0, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_read_as_they_were_noted() {
        let mut kinds = 0;
        for code in 0.. {
            let Some(wanted) = operation(code, [7, 3, 9]) else { break };
            kinds += 1;
            let records = begin(wanted, 5, code % 2 == 0);
            let found = begun(&records).expect("it was noted");
            assert_eq!((found.operation, found.thread, found.alone), (wanted, 5, code % 2 == 0));
            assert!(begun(&records[..BEGIN - 1]).is_none());
        }
        assert_eq!(kinds, 20);
        for bad in [(0, [1 << 32, 0, 0]), (14, [0, 6, 0]), (15, [1 << 16, 0, 0]), (20, [0; 3])] {
            assert_eq!(operation(bad.0, bad.1), None);
        }
    }
}
