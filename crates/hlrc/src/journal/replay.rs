//! A journal carried out again: the same protocol code on what the journal says that the host gave. What it asks for is compared.
use super::code;
use super::record::{Kind, Record};
use super::{Tape, run};
use crate::access::{Does, Place};
use crate::cluster::{Cluster, Layout, PageId};
use crate::diff::Run;
use crate::host::{Access, Count, Host, Interrupt, Wake};
use crate::operation::Operation;
use homenode_base::NodeId;
use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What a replay of a whole journal came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Operations that ended.
    pub operations: u64,
    /// Records of what the protocol asked for, all equal.
    pub compared: u64,
    /// Records of what the host gave.
    pub given: u64,
    /// Whether the last operation had not ended when the journal did: the thread was killed, ended the program, or the journal was full.
    pub unfinished: bool,
}

/// Where a replay is not what the journal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Operations before this one.
    pub operations: u64,
    /// The operation, if the journal says one.
    pub operation: Option<Operation>,
    /// Index of the record.
    pub at: usize,
    /// What the journal has there, if it goes on.
    pub noted: Option<Record>,
    /// What the protocol does.
    pub done: Done,
}

/// What the protocol does where the journal says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Asks the host for this, or to be given this.
    Asks(Record),
    /// Waits where the operation of the journal did not.
    Waits,
    /// Cannot go on with what the host gave: no host gives that.
    Stops,
    /// Nothing: no operation begins there.
    NoBeginning,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noted = self.noted.map_or_else(|| "nothing more".to_owned(), |record| record.to_string());
        write!(f, "record {}: the journal has '{noted}', ", self.at)?;
        match self.done {
            Done::Asks(record) => write!(f, "the protocol does '{record}'")?,
            Done::Waits => write!(f, "the protocol waits")?,
            Done::Stops => write!(f, "with which the protocol cannot go on: no host gives that")?,
            Done::NoBeginning => write!(f, "which is no beginning of an operation")?,
        }
        match self.operation {
            Some(operation) => write!(f, "; in operation {}, {operation:?}", self.operations),
            None => write!(f, "; after {} operations", self.operations),
        }
    }
}

/// The journal, as what the host gives.
struct Reader<'j> {
    records: &'j [Record],
    at: Cell<usize>,
    given: Cell<u64>,
    asks: Cell<Option<Record>>,
}

/// What unwinds a protocol that does not do what is noted, or more than is noted.
struct Stop;

impl Reader<'_> {
    /// The next record, whose head must be that of `wanted`, and the value as well if the protocol asks for it.
    fn next(&self, wanted: Record) -> Record {
        let at = self.at.get();
        let noted = self.records.get(at).filter(|noted| noted.head == wanted.head);
        let is_given = wanted.kind().is_some_and(Kind::is_given);
        match noted {
            Some(noted) if self.asks.get().is_none() && (is_given || noted.value == wanted.value) => {
                self.at.set(at + 1);
                return *noted;
            }
            _ => {}
        }
        if self.asks.get().is_none() {
            self.asks.set(Some(wanted));
        }
        // Locks of pages are given back while the protocol is unwound, too.
        if wanted.is_unlock() { wanted } else { resume_unwind(Box::new(Stop)) }
    }
}

impl Tape for Reader<'_> {
    fn asks(&self, record: Record) {
        self.next(record);
    }
    fn given(&self, record: Record) -> u64 {
        self.given.set(self.given.get() + 1);
        self.next(record).value
    }
}

/// Carries the operations of a journal out again, which one thread of the node `cluster.me` wrote while all nodes existed or, as it says of
/// itself, before.
///
/// # Errors
/// The first [`Difference`].
pub fn replay(cluster: &Cluster, records: &[Record]) -> Result<Replayed, Box<Difference>> {
    let reader = Reader { records, at: Cell::new(0), given: Cell::new(0), asks: Cell::new(None) };
    let mut replayed = Replayed::default();
    while reader.at.get() < records.len() {
        let at = reader.at.get();
        let Some(begun) = code::begun(&records[at..]) else {
            // A beginning that was cut off, and nothing after it.
            if records.len() - at < 3 {
                replayed.unfinished = true;
                break;
            }
            let noted = Some(records[at]);
            return Err(Box::new(Difference {
                operations: replayed.operations,
                operation: None,
                at,
                noted,
                done: Done::NoBeginning,
            }));
        };
        let nowhere = Nowhere::of(cluster, &begun);
        match once(&reader, &nowhere, begun.operation) {
            None => replayed.operations += 1,
            Some(Done::Asks(_)) if reader.at.get() == records.len() => {
                replayed.unfinished = true;
                break;
            }
            Some(done) => {
                let at = reader.at.get();
                return Err(Box::new(Difference {
                    operations: replayed.operations,
                    operation: Some(begun.operation),
                    at,
                    noted: records.get(at).copied(),
                    done,
                }));
            }
        }
    }
    replayed.given = reader.given.get();
    replayed.compared = reader.at.get() as u64 - replayed.given;
    Ok(replayed)
}

/// Carries one operation out; what it does otherwise, if it does.
fn once(reader: &Reader<'_>, nowhere: &Nowhere, operation: Operation) -> Option<Done> {
    let polled = catch_unwind(AssertUnwindSafe(|| {
        let mut program = |value| value;
        let mut running = pin!(run(nowhere, reader, operation, &mut program));
        running.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }));
    match polled {
        Ok(Poll::Ready(_)) => reader.asks.take().map(Done::Asks),
        Ok(Poll::Pending) => Some(Done::Waits),
        Err(why) if why.is::<Stop>() => Some(reader.asks.take().map_or(Done::Stops, Done::Asks)),
        Err(_) => Some(Done::Stops),
    }
}

/// A host that does nothing: what it gives is not looked at.
struct Nowhere {
    cluster: Cluster,
    layout: Layout,
    thread: u16,
}

impl Nowhere {
    fn of(cluster: &Cluster, begun: &code::Begun) -> Nowhere {
        let cluster = if begun.alone { cluster.before_others() } else { *cluster };
        Nowhere { cluster, layout: cluster.layout(), thread: begun.thread }
    }
}

impl Host for Nowhere {
    fn cluster(&self) -> &Cluster {
        &self.cluster
    }
    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn thread(&self) -> u16 {
        self.thread
    }
    fn access(&self, _: Place, _: Does) -> u64 {
        0
    }
    fn make_twin(&self, _: PageId) {}
    fn changed(&self, _: PageId, _: usize, _: &mut Run) -> bool {
        false
    }
    fn allow(&self, _: Range<u32>, _: Access) {}
    async fn get(&self, _: NodeId, _: usize, _: &mut [u64]) {}
    async fn put(&self, _: NodeId, _: usize, _: &[u64], _: Wake) {}
    async fn compare_swap(&self, _: NodeId, _: usize, _: u64, _: u64) -> u64 {
        0
    }
    async fn fetch_add(&self, _: NodeId, _: usize, _: u64, _: Wake) -> u64 {
        0
    }
    async fn get_pages(&self, _: NodeId, _: usize, _: &mut [u64], _: Range<u32>) {}
    async fn put_page(&self, _: NodeId, _: PageId) {}
    async fn put_run(&self, _: NodeId, _: PageId, _: usize, _: &[(u64, u64)]) {}
    async fn interrupt(&self, _: NodeId, _: Interrupt) {}
    fn bell(&self) -> u64 {
        0
    }
    fn ring(&self) {}
    async fn until_rung(&self, _: u64) {}
    async fn a_moment(&self, _: u64) {}
    fn expects(&self, _: bool) {}
    // Whoever stands before this host serves.
    async fn serve(&self) {}
    async fn scan(&self) {}
    fn count(&self, _: Count, _: u64) {}
    fn count_at(&self, _: PageId, _: Count, _: u64) {}
    fn diffing(&self, _: bool) {}
}
