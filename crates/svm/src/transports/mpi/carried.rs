//! What the process beside a node does for it: operations of the mailbox as reads and writes of somebody who has no processor there.
use super::mailbox::{Asked, Mailbox, Operation};
use homenode_base::NodeId;
use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Looks before who carries sleeps.
const TURNS: u32 = 2000;
/// How long it sleeps at most: somebody may wait for this process, too.
const NAP: Duration = Duration::from_millis(1);

/// A part of a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The region.
    Region,
    /// The heap.
    Heap,
}

/// Who reads and writes memory of other nodes. Words are counted from the beginning of a part.
pub trait OneSided {
    /// Reads words, and has them when it ends.
    ///
    /// # Errors
    /// They do not exist.
    fn get(&mut self, node: NodeId, part: Part, word: usize, into: &[AtomicU64]) -> Result<(), String>;
    /// Writes bytes of words, those in `bytes` of `from`, whose first word is `word` there. They are there when it ends.
    ///
    /// # Errors
    /// They do not exist.
    fn put(
        &mut self,
        node: NodeId,
        part: Part,
        word: usize,
        from: &[AtomicU64],
        bytes: impl Iterator<Item = Range<usize>>,
    ) -> Result<(), String>;
    /// Does what others may wait for, who read and write this process's memory.
    ///
    /// # Errors
    /// It cannot.
    fn go_on(&mut self) -> Result<(), String>;
}

/// Does what was asked.
fn carry(asked: &Asked<'_>, by: &mut impl OneSided) -> Result<(), String> {
    let (node, data) = (asked.node, asked.data);
    let mut write = |part, word, data: &[AtomicU64]| by.put(node, part, word, data, iter::once(0..size_of_val(data)));
    match asked.operation {
        Operation::Get { region, heap } => {
            let (first, second) = data.split_at(region.1);
            for (part, word, into) in [(Part::Region, region.0, first), (Part::Heap, heap.0, second)] {
                if !into.is_empty() {
                    by.get(node, part, word, into)?;
                }
            }
            Ok(())
        }
        Operation::PutRegion((word, _)) => write(Part::Region, word, data),
        Operation::PutHeap((word, _)) => write(Part::Heap, word, data),
        Operation::PutRun((word, count)) => {
            let (values, masks) = data.split_at(count);
            by.put(node, Part::Heap, word, values, runs(masks))
        }
    }
}

/// Runs of bytes that the masks name.
fn runs(masks: &[AtomicU64]) -> impl Iterator<Item = Range<usize>> {
    let is_named = |at: usize| masks[at / 8].load(Ordering::Relaxed).to_ne_bytes()[at % 8] != 0;
    let (mut from, end) = (0, size_of_val(masks));
    iter::from_fn(move || {
        let first = (from..end).find(|at| is_named(*at))?;
        let last = (first..end).find(|at| !is_named(*at)).unwrap_or(end);
        from = last;
        Some(first..last)
    })
}

/// Does what a node asks until `ends` says that it is over.
///
/// # Errors
/// What is asked does not exist, or cannot be done; the node sees that nothing will be done any more.
pub fn serve(mailbox: &Mailbox, by: &mut impl OneSided, mut ends: impl FnMut() -> bool) -> Result<(), String> {
    let mut idle = 0;
    while !ends() {
        match step(mailbox, by, idle) {
            Ok(next) => idle = next,
            Err(why) => {
                mailbox.close();
                return Err(why);
            }
        }
    }
    Ok(())
}

/// Does one thing, or waits if there has been none for so many looks; the looks without anything since.
fn step(mailbox: &Mailbox, by: &mut impl OneSided, idle: u32) -> Result<u32, String> {
    let seen = mailbox.times();
    if let Some(asked) = mailbox.next()? {
        carry(&asked, by)?;
        asked.done();
        return Ok(0);
    }
    if idle < TURNS {
        std::hint::spin_loop();
        return Ok(idle + 1);
    }
    by.go_on()?;
    mailbox.wait(seen, NAP);
    Ok(idle)
}
