//! Where the heap lies, and what of it was given back.
use crate::job::Job;
use crate::trouble::Trouble;
use homenode_sys::views::Views;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Mutex;

/// Where the heap lies in every node: far from what the system chooses by itself.
pub const ADDRESS: u64 = 0x2000_0000_0000;
/// Memory that was given back in this process: addresses by size in bytes.
#[derive(Debug, Default)]
pub(crate) struct Freed(pub(crate) Mutex<BTreeMap<u64, Vec<u64>>>);

/// Maps a node's heap.
pub(crate) fn map(file: &File, job: &Job) -> Result<Views, Trouble> {
    let address = usize::try_from(ADDRESS).map_err(|e| Trouble::new("needs addresses of 64 bits", e))?;
    Views::map(file, address, job.heap_bytes, job.page_bytes as usize, None).map_err(|e| {
        let (bytes, taken) = (job.heap_bytes, e.kind() == io::ErrorKind::AddrInUse);
        let what = format!("cannot map the shared heap, {bytes} bytes at {ADDRESS:#x}");
        match taken {
            true => Trouble::of(format!("{what}: the program uses addresses there; give a smaller --heap")),
            false => Trouble::new(&what, e),
        }
    })
}
