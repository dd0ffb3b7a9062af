//! The thread of a rank that does, by its MPI, what the rank's node asks in its mailbox.
use homenode_base::NodeId;
use homenode_svm::transports::carried::{OneSided, serve};
use homenode_svm::transports::mailbox::Mailbox;
use homenode_sys::mpi::{Exposed, Ranks};
use homenode_sys::process::hide;
use homenode_sys::words::Words;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// Name of the thread.
const THREAD: &str = "homenode mpi";

/// The thread, and how it is ended.
#[derive(Debug)]
pub(super) struct Carrier {
    thread: JoinHandle<Option<Ranks>>,
    is_over: Arc<AtomicBool>,
}

/// Heaps of all nodes, as ranks reach them.
struct Heaps(Exposed);

impl Carrier {
    /// Lets other ranks reach the heap in this file, and starts the thread; waits until all do. The node's mailbox.
    pub(super) fn start(ranks: Ranks, heap: &File) -> io::Result<(Carrier, File)> {
        let words = (heap.metadata()?.len() / 8) as usize;
        let file = Mailbox::file()?;
        hide(file.as_fd())?;
        let (mailbox, mut heaps) = (Mailbox::of(&file)?, Heaps(ranks.expose(Words::of_file(heap, 0, words)?)?));
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let carry = move || match serve(&mailbox, &mut heaps, || ends.load(Ordering::Acquire)) {
            Ok(()) => heaps.0.hide().ok(),
            Err(why) => {
                // The node sees that nobody serves it, and ends the run.
                eprintln!("homenode: the MPI beside a node: {why}");
                None
            }
        };
        let thread = thread::Builder::new().name(THREAD.to_owned()).spawn(carry)?;
        Ok((Carrier { thread, is_over }, file))
    }
    /// Ends the thread, when those of all ranks end.
    pub(super) fn end(self) -> Option<Ranks> {
        self.is_over.store(true, Ordering::Release);
        self.thread.join().ok().flatten()
    }
}

impl OneSided for Heaps {
    fn get(&mut self, node: NodeId, word: usize, into: &[AtomicU64]) -> Result<(), String> {
        self.0.get(node.index(), word, into).map_err(|e| e.to_string())
    }
    fn put(
        &mut self,
        node: NodeId,
        word: usize,
        from: &[AtomicU64],
        bytes: impl Iterator<Item = Range<usize>>,
    ) -> Result<(), String> {
        self.0.put(node.index(), word, from, bytes).map_err(|e| e.to_string())
    }
    fn go_on(&mut self) -> Result<(), String> {
        self.0.go_on().map_err(|e| e.to_string())
    }
}
