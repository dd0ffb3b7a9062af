//! The manifest of a dataset: as it is first written, and replaced.
use crate::error::CaptureError;
use crate::options::RecordOptions;
use crate::store::DirStore;
use homenode_sys::dir::Dir;
use homenode_trace::dataset::MANIFEST_FILE;
use homenode_trace::manifest::{Clock, Manifest, PageSample};
use homenode_trace::writer;
use std::fs;
use std::path::Path;

/// The manifest that stands in the dataset while it is being recorded.
pub(crate) fn first_manifest(options: &RecordOptions) -> Manifest {
    Manifest {
        command: options.command.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
        host_cpus: std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        host: host(),
        ended: "the recording has not ended in order".to_owned(),
        roi: options.roi.clone(),
        host_nodes: memory_nodes(),
        recorded_at: Some(homenode_host::date::now()),
        pages: options.pages.map(PageSample::of),
        ..bare_manifest()
    }
    .of_format()
}

/// A manifest that knows nothing of its recording but the format.
pub fn bare_manifest() -> Manifest {
    Manifest { backend: "hooks".to_owned(), clock: Clock::Tsc, synchronised: true, ..Manifest::default() }.of_format()
}

/// Nodes with memory here, 0 if the kernel does not say.
fn memory_nodes() -> u32 {
    let nodes = homenode_host::topology::read(Path::new("/"))
        .map_or(0, |t| t.nodes.iter().filter(|n| n.memory_bytes > 0).count());
    u32::try_from(nodes).unwrap_or(0)
}

/// Kernel and processor in words.
fn host() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    format!("Linux {} {}, {model}", kernel.trim(), std::env::consts::ARCH)
}

/// Replaces the manifest of the dataset at `root`.
///
/// # Errors
/// [`CaptureError::Io`].
pub(crate) fn write_manifest(root: &Dir, manifest: &Manifest) -> Result<(), CaptureError> {
    writer::put_manifest(&DirStore::of(root), manifest)
        .map_err(CaptureError::io("write", &root.path().join(MANIFEST_FILE)))
}
