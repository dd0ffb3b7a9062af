//! Words of shared memory that are changed at once, by one thread after the other: each change synchronises with the ones before. They
//! stay words of their page, under a lock.
use crate::access::{Does, Place};
use crate::cluster::PageId;
use crate::host::{Access, Host};
use crate::memory::Word;
use crate::{lock, page, state};
use std::sync::atomic::Ordering;

/// Locks of all words together: no thread holds two of them.
pub const LOCKS: u64 = 4096;

/// The name of the lock of a word of the heap, counted from its beginning; not 0.
pub const fn name(word: usize) -> u64 {
    word as u64 % LOCKS + 1
}

/// Changes a word of the heap, counted from its beginning, to what `change` makes of it; what it was. `slot` is that of its lock.
pub async fn change<H: Host>(host: &H, slot: u32, word: usize, mut change: impl FnMut(u64) -> u64) -> u64 {
    at(host, slot, word, true, |at| {
        let mut before = at.load(Ordering::SeqCst);
        loop {
            // Other threads of this node may write bytes of the word that are none of the program's atomics.
            match at.does(Does::CompareSwap(before, change(before))) {
                found if found == before => return before,
                found => before = found,
            }
        }
    })
    .await
}

/// Reads a word of the heap; `seen` is called with it at once.
pub async fn read<H: Host>(host: &H, slot: u32, word: usize, mut seen: impl FnMut(u64)) -> u64 {
    at(host, slot, word, false, |at| {
        let value = at.load(Ordering::SeqCst);
        seen(value);
        value
    })
    .await
}

/// Does something with the word while the program could, too: under the page's lock that does not change.
async fn at<'h, H: Host>(
    host: &'h H,
    slot: u32,
    word: usize,
    write: bool,
    mut act: impl FnMut(Word<'h, H>) -> u64,
) -> u64 {
    let page = PageId((word / host.cluster().page_words) as u32);
    let wanted = if write { Access::Write } else { Access::Read };
    lock::acquire(host, slot).await;
    let result = loop {
        page::fault(host, page, write).await;
        let done = state::of(host).page(page, |s| (s.access >= wanted).then(|| act(Word::at(host, Place::Copy(word)))));
        if let Some(result) = done {
            break result;
        }
    };
    lock::give_back(host, slot).await;
    result
}
