//! Words of shared memory that are changed at once, by one thread after the other: each change synchronises with the ones before. They
//! stay words of their page, under a lock.
use crate::cluster::PageId;
use crate::host::{Access, Host};
use crate::{lock, page};
use std::sync::atomic::{AtomicU64, Ordering};

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
            match at.compare_exchange(before, change(before), Ordering::SeqCst, Ordering::SeqCst) {
                Ok(before) => return before,
                Err(found) => before = found,
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
async fn at<H: Host>(host: &H, slot: u32, word: usize, write: bool, mut act: impl FnMut(&AtomicU64) -> u64) -> u64 {
    let page_words = host.cluster().page_words;
    let (page, within) = (PageId((word / page_words) as u32), word % page_words);
    let wanted = if write { Access::Write } else { Access::Read };
    lock::acquire(host, slot).await;
    let result = loop {
        page::fault(host, page, write).await;
        let done = host.tables().page(page, |s| (s.access >= wanted).then(|| act(&host.copy(page)[within])));
        if let Some(result) = done {
            break result;
        }
    };
    lock::give_back(host, slot).await;
    result
}
