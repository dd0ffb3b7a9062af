//! Memory of a cluster: a heap and a region a node, made by the launcher, which reads in the regions how the nodes are.
use crate::collect::process;
use homenode_base::NodeId;
use homenode_command::Failure;
use homenode_hlrc::cluster::Layout;
use homenode_svm::job::{Job, SECRET_BYTES};
use homenode_svm::shared::{ALLOCATED, EXITED, STATUS, Shared, TOLD};
use homenode_sys::net;
use homenode_sys::process::hide;
use homenode_sys::words::{Words, memory_file};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeEnd {
    /// The program ended there, with this status.
    Exited(u8),
    /// Another node told it to end.
    Told,
    /// Nothing was said: the node lives, or was killed.
    Unknown,
}

/// The files, which the program inherits, and the regions as the launcher sees them.
pub(crate) struct Memory {
    /// Heaps and regions by node, the secret and the list of homes: open until the program has its own, or to the end if nodes run on several hosts.
    heaps: Vec<File>,
    files: Vec<File>,
    secret: Option<File>,
    plan: Option<File>,
    pub(crate) layout: Layout,
    pub(crate) regions: Vec<Words>,
}

impl Memory {
    /// Makes the memory for a job, which is told the descriptors; `plan`: the text of a list of homes.
    pub(crate) fn make(job: &mut Job, plan: Option<&str>) -> Result<Memory, Failure> {
        let failed = |e| Failure::work(format!("cannot make memory for {} nodes: {e}", job.nodes));
        let layout = job.cluster(NodeId(0), false).layout();
        let words = layout.words();
        let each = |kind: &str, bytes: u64| {
            let make = |node| memory_file(&format!("homenode {kind} {node}"), bytes);
            (0..job.nodes).map(make).collect::<io::Result<Vec<File>>>()
        };
        let heaps = each("heap", job.heap_bytes).map_err(failed)?;
        let files = each("region", region_bytes(job)).map_err(failed)?;
        let regions = files.iter().map(|f| Words::of_file(f, 0, words)).collect::<io::Result<_>>().map_err(failed)?;
        job.heaps = heaps.iter().map(AsRawFd::as_raw_fd).collect();
        job.regions = files.iter().map(AsRawFd::as_raw_fd).collect();
        let secret = job.transport.is_apart.then(secret).transpose();
        let secret = secret.map_err(|e| Failure::work(format!("cannot make a secret for the nodes: {e}")))?;
        job.secret = secret.as_ref().map(AsRawFd::as_raw_fd);
        let plan = plan.map(list_file).transpose();
        let plan = plan.map_err(|e| Failure::work(format!("cannot write the list of homes for the nodes: {e}")))?;
        job.plan = plan.as_ref().map(AsRawFd::as_raw_fd);
        Ok(Memory { heaps, files, secret, plan, layout, regions })
    }

    /// Gives the launcher's own descriptors up, once the program has its.
    pub(crate) fn close(&mut self) {
        self.heaps.clear();
        self.files.clear();
        (self.secret, self.plan) = (None, None);
    }
    /// Keeps them, for nodes of other hosts, from programs that are started from now on.
    pub(crate) fn hide(&self) -> io::Result<()> {
        self.heaps
            .iter()
            .chain(&self.files)
            .chain(&self.secret)
            .chain(&self.plan)
            .try_for_each(|file| hide(file.as_fd()))
    }
    /// Heap and region of a node, while they are open.
    pub(crate) fn files(&self, node: u16) -> [&File; 2] {
        [&self.heaps, &self.files].map(|files| &files[usize::from(node)])
    }
    /// The list of homes, if there is one.
    pub(crate) fn plan(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = &self.plan else { return Ok(None) };
        let mut bytes = vec![0; file.metadata()?.len() as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Some(bytes))
    }
    /// The job's secret, if it has one.
    pub(crate) fn secret(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; SECRET_BYTES];
        self.secret.as_ref().map_or(Ok(()), |file| file.read_exact_at(&mut bytes, 0))?;
        Ok(bytes)
    }

    pub(crate) fn words(&self, node: usize) -> Shared<'_> {
        Shared::of(&self.regions[node], self.layout.extra())
    }
    /// Processes of the nodes that have begun, by node.
    pub(crate) fn processes(&self) -> impl Iterator<Item = (usize, u32)> {
        let all = self.regions.iter().enumerate().map(|(node, region)| (node, process(region, &self.layout)));
        all.filter(|(_, process)| *process != 0)
    }
    /// How a node ended, as far as it said so itself.
    pub(crate) fn end(&self, node: usize) -> NodeEnd {
        match self.words(node).word(STATUS).load(Ordering::Acquire) {
            word if word & EXITED != 0 => NodeEnd::Exited(word as u8),
            word if word & TOLD != 0 => NodeEnd::Told,
            _ => NodeEnd::Unknown,
        }
    }
    /// Bytes of the heap that were given out.
    pub(crate) fn allocated(&self) -> u64 {
        self.words(0).word(ALLOCATED).load(Ordering::Acquire)
    }
}

/// Bytes of a region's file, which is mapped in whole pages of the system.
pub(crate) fn region_bytes(job: &Job) -> u64 {
    (8 * job.cluster(NodeId(0), false).layout().words() as u64).next_multiple_of(4096)
}

/// A file in memory with this text.
fn list_file(text: &str) -> io::Result<File> {
    let file = memory_file("homenode homes", text.len() as u64)?;
    file.write_all_at(text.as_bytes(), 0)?;
    Ok(file)
}

/// A file of random bytes that nobody else can open.
fn secret() -> io::Result<File> {
    let mut bytes = [0; SECRET_BYTES];
    net::random(&mut bytes)?;
    let file = memory_file("homenode secret", SECRET_BYTES as u64)?;
    file.write_all_at(&bytes, 0)?;
    Ok(file)
}
