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

/// Who reads and writes heaps of other nodes. Words are counted from their beginning.
pub trait OneSided {
    /// Reads words, and has them when it ends.
    ///
    /// # Errors
    /// They do not exist.
    fn get(&mut self, node: NodeId, word: usize, into: &[AtomicU64]) -> Result<(), String>;
    /// Writes bytes of words, those in `bytes` of `from`, whose first word is `word` there. They are there when it ends.
    ///
    /// # Errors
    /// They do not exist.
    fn put(
        &mut self,
        node: NodeId,
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
    match asked.operation {
        Operation::Get((word, _)) => by.get(node, word, data),
        Operation::Put((word, _)) => by.put(node, word, data, iter::once(0..size_of_val(data))),
        Operation::PutRun((word, count)) => {
            let (values, masks) = data.split_at(count);
            by.put(node, word, values, runs(masks))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::mpi::mailbox::{DATA, FIRST, KIND, STATE};
    use homenode_sys::words::Words;

    #[test]
    fn runs_are_of_the_bytes_that_the_masks_name() {
        let masks = |words: &[u64]| words.iter().map(|word| AtomicU64::new(word.to_le())).collect::<Vec<_>>();
        let found = |words: &[u64]| runs(&masks(words)).collect::<Vec<_>>();
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[0, 0]), []);
        assert_eq!(found(&[u64::MAX, u64::MAX]), vec![0..16]);
        assert_eq!(found(&[0xff00, 0, 0xff00_0000_0000_0000, 0xff]), [1..2, 23..25]);
        assert_eq!(found(&[0x00ff_00ff]), [0..1, 2..3]);
    }

    /// Nobody's memory: whatever is asked is wrong.
    struct Nothing;

    impl OneSided for Nothing {
        fn get(&mut self, _: NodeId, _: usize, _: &[AtomicU64]) -> Result<(), String> {
            Err("nothing can be read".to_owned())
        }
        fn put(
            &mut self,
            _: NodeId,
            _: usize,
            _: &[AtomicU64],
            _: impl Iterator<Item = Range<usize>>,
        ) -> Result<(), String> {
            Ok(())
        }
        fn go_on(&mut self) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn what_does_not_exist_ends_the_service_and_nobody_waits_for_it() {
        let asked = |words: [u64; 3]| {
            let file = Mailbox::file().expect("memory");
            let (mailbox, words_of) = (Mailbox::of(&file).expect("one"), file.metadata().expect("known").len() / 8);
            let seen = Words::of_file(&file, 0, words_of as usize).expect("mapped");
            let slot = &seen[8..];
            slot[KIND].store(words[0], Ordering::Relaxed);
            slot[FIRST..][..2].iter().zip(&words[1..]).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
            slot[STATE].store(2, Ordering::Release);
            let why = serve(&mailbox, &mut Nothing, || false).expect_err("it is wrong");
            assert_eq!(seen[2].load(Ordering::Relaxed), 1, "the node sees it");
            why
        };
        for wrong in [
            [0, 0, 0],
            [4, 0, 1],
            [1, 0, DATA as u64 + 1],
            [1, 0, u64::MAX],
            [2, 0, DATA as u64 + 1],
            [3, 0, DATA as u64 / 2 + 1],
            [3, 0, u64::MAX],
        ] {
            assert!(asked(wrong).contains("does not exist"), "{wrong:?}");
        }
        assert_eq!(asked([1, u64::MAX, 1]), "nothing can be read");
        assert!(Mailbox::of(&homenode_sys::words::memory_file("short", 4096).expect("memory")).is_err());
    }
}
