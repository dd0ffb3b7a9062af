//! Nodes and sizes.
use serde::{Deserialize, Serialize};

/// How many nodes there are, and their sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Processors of each node; length = number of nodes. A node may have none (memory only).
    pub cores: Vec<u16>,
    /// Bytes of a machine word: a longer reference counts as one reference per word it touches (machines without
    /// caches; with caches, per line).
    pub word_bytes: u32,
    /// Size of a placement block when the user names none.
    pub page_bytes: u64,
}
