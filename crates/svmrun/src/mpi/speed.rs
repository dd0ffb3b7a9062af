//! What the basic operations of nodes on ranks cost: two nodes in one process, as [`speeds`](homenode_svm::trial::speeds) has them, but
//! what they ask in their mailboxes is done by the MPI of two ranks.
use super::{MPI, PLACE, Ranks, padded, unpadded, unusable};
use homenode_command::Failure;
use homenode_svm::transports::find;
use homenode_svm::trial::{Times, memory, speeds_beside};
use homenode_sys::words::{Words, memory_file};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Words that both ranks have: where the second one's mailbox is (descriptor and process), and whether all is over.
const MAILBOX: usize = 0;
const PROCESS: usize = 1;
const OVER: usize = 2;
/// How long a rank waits for the other one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files of the first rank, as the second one opens them.
#[derive(Serialize, Deserialize)]
struct Said {
    process: u32,
    heap: i32,
    words: i32,
}

impl Ranks {
    /// Measures, at rank 0 of two on one host; the other one serves it. `None` if the MPI needs the other side's help to read memory, and at
    /// the other rank.
    ///
    /// # Errors
    /// They are not two, or not on one host; no memory, no socket.
    pub fn speeds(mut self) -> Result<Option<Vec<Times>>, Failure> {
        if self.places.len() != 2 {
            return Err(Failure::usage(format!(
                "speeds are those between 2 ranks, and there are {}",
                self.places.len()
            )));
        }
        let measured = if self.are_one_sided {
            if self.me == 0 { self.first().map(Some) } else { self.second().map(|()| None) }
        } else {
            Ok(None)
        };
        let measured = measured.map_err(|e| unusable(&e))?;
        self.leave();
        Ok(measured)
    }

    fn first(&mut self) -> io::Result<Vec<Times>> {
        let spec = find(MPI).ok_or_else(|| io::Error::other("there is no such transport"))?;
        let (mut files, shared) = (memory(spec)?, memory_file("homenode speeds", 4096)?);
        let words = Words::of_file(&shared, 0, 512)?;
        let (heap, process) = (files.heaps[1].as_raw_fd(), std::process::id());
        let mut said: [u8; PLACE] = padded(&Said { process, heap, words: shared.as_raw_fd() })?;
        self.said(&mut said)?;
        let mine = self.exposed(&files.heaps[0])?;
        await_word(&words, PROCESS)?;
        let theirs = opened(words[PROCESS].load(Ordering::Acquire), words[MAILBOX].load(Ordering::Acquire))?;
        files.mailboxes = vec![mine, theirs];
        let measured = speeds_beside(spec, &files);
        words[OVER].store(1, Ordering::Release);
        measured
    }

    fn second(&mut self) -> io::Result<()> {
        let mut said = [0; PLACE];
        self.said(&mut said)?;
        let said: Said = unpadded(&said)?;
        let file = |descriptor: i32| opened(said.process.into(), descriptor.unsigned_abs().into());
        let (heap, shared) = (file(said.heap)?, file(said.words)?);
        let words = Words::of_file(&shared, 0, 512)?;
        let mailbox = self.exposed(&heap)?;
        words[MAILBOX].store(mailbox.as_raw_fd().unsigned_abs().into(), Ordering::Release);
        words[PROCESS].store(std::process::id().into(), Ordering::Release);
        await_word(&words, OVER)
    }

    fn said(&mut self, said: &mut [u8]) -> io::Result<()> {
        self.broadcast(said).map_err(|why| io::Error::other(why.message))
    }
    fn exposed(&mut self, heap: &File) -> io::Result<File> {
        self.expose(heap)?.ok_or_else(|| io::Error::other("its memory is exposed already"))
    }
}

/// A file that another process of this host has open.
fn opened(process: u64, descriptor: u64) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"))
}

/// Waits until a word is not 0.
fn await_word(words: &Words, at: usize) -> io::Result<()> {
    let since = Instant::now();
    while words[at].load(Ordering::Acquire) == 0 {
        if since.elapsed() > PATIENCE {
            return Err(io::Error::other("the other rank does not answer"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
