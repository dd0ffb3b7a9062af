//! One-sided operations on memory of this process, in place of an MPI's: mailboxes are tried with them, and measured.
use crate::transports::Files;
use crate::transports::carried::{OneSided, serve};
use crate::transports::mailbox::Mailbox;
use homenode_base::NodeId;
use homenode_hlrc::diff;
use homenode_sys::words::Words;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// Heaps of all nodes.
#[derive(Debug)]
struct All(Vec<Words>);

/// Threads that do what is asked in the mailboxes of all nodes, until the value is dropped.
#[derive(Debug)]
pub(crate) struct Near {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Near {
    /// Does what is asked in these mailboxes.
    pub(crate) fn of(files: &Files, heap_words: usize) -> io::Result<Near> {
        let mut near = Near { is_over: Arc::default(), threads: Vec::new() };
        for file in &files.mailboxes {
            let heaps = files.heaps.iter().map(|heap| Words::of_file(heap, 0, heap_words));
            let mut all = All(heaps.collect::<io::Result<_>>()?);
            let (mailbox, is_over) = (Mailbox::of(file)?, near.is_over.clone());
            near.threads.push(thread::spawn(move || {
                // Who asks for what does not exist sees that nothing is done any more.
                let _ = serve(&mailbox, &mut all, || is_over.load(Ordering::Acquire));
            }));
        }
        Ok(near)
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // What it has to say it has said.
            let _ = thread.join();
        }
    }
}

impl All {
    fn words(&self, node: NodeId, words: Range<usize>) -> Result<&[AtomicU64], String> {
        let found = self.0.get(node.index()).and_then(|heap| heap.get(words));
        found.ok_or_else(|| "no such words".to_owned())
    }
}

impl OneSided for All {
    fn get(&mut self, node: NodeId, word: usize, into: &[AtomicU64]) -> Result<(), String> {
        for (to, from) in into.iter().zip(self.words(node, word..word + into.len())?) {
            to.store(from.load(Ordering::Acquire), Ordering::Relaxed);
        }
        Ok(())
    }
    fn put(
        &mut self,
        node: NodeId,
        word: usize,
        from: &[AtomicU64],
        bytes: impl Iterator<Item = Range<usize>>,
    ) -> Result<(), String> {
        for Range { start, end } in bytes {
            let (first, end_word) = (start / 8, end.div_ceil(8));
            let to = self.words(node, word + first..word + end_word)?;
            for ((to, from), at) in to.iter().zip(&from[first..]).zip((8 * first..).step_by(8)) {
                let value = from.load(Ordering::Relaxed);
                let mask = std::array::from_fn(|byte| if (start..end).contains(&(at + byte)) { 0xff } else { 0 });
                match u64::from_ne_bytes(mask) {
                    u64::MAX => to.store(value, Ordering::Release),
                    mask => diff::merge(to, value, mask),
                }
            }
        }
        Ok(())
    }
    fn go_on(&mut self) -> Result<(), String> {
        Ok(())
    }
}
