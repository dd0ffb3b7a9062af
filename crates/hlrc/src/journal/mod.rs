//! Journals: what an operation asked of its host and what the host gave, record by record, so that it can be carried out again
//! without the cluster, and compared.
//!
//! A journal is one of a thread, since operations of a thread follow one another and all that another thread or a peer does
//! reaches the protocol as something that the host gave: a word that was read. Page data does not: of a page the protocol sees the runs of
//! changed words alone.
mod code;
mod record;
mod replay;
mod taped;

pub use record::{Kind, Record};
pub use replay::{Difference, Done, Replayed, replay};

use crate::host::Host;
use crate::operation::{self, Operation, Refused};

/// Where records go, or come from.
pub trait Tape {
    /// Something that the protocol asks for.
    fn asks(&self, record: Record);
    /// Something that the host gives: `record` with its value, as the host beneath has it. The value that the protocol gets.
    fn given(&self, record: Record) -> u64;
}

/// Carries an operation out as [`operation::run`] does, and notes it.
///
/// # Errors
/// As there.
pub async fn run<H: Host, T: Tape>(
    host: &H,
    tape: &T,
    operation: Operation,
    program: &mut impl FnMut(u64) -> u64,
) -> Result<u64, Refused> {
    for record in code::begin(operation, host.thread(), host.cluster().alone) {
        tape.asks(record);
    }
    let mut answer = |value| tape.given(Record::plain(Kind::Program, program(value)));
    let taped = taped::Taped { host, tape };
    let result = operation::run(&taped, operation, &mut answer).await;
    tape.asks(code::end(result));
    result
}
