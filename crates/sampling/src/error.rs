//! Why there are no samples.

/// A source that cannot be had here, or that the kernel took away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("backend {name}: {why}")]
pub struct SamplingError {
    /// Name of the source, as on the command line.
    pub name: &'static str,
    /// What the machine lacks or the kernel refuses, and what to do.
    pub why: String,
}
