//! Whether misses of a code location wait for each other, for the model of misses that overlap.
use homenode_sim::Waits;
use homenode_trace::dataset::DatasetReader;

/// By code location of a dataset.
pub(crate) fn of_sites(reader: &DatasetReader) -> Vec<Waits> {
    let _ = reader;
    Vec::new()
}
