//! What a recorder that was killed left behind in memory.
use crate::control;
use crate::memory;
use homenode_host::probe::{Check, State};
use std::path::PathBuf;

/// Rings in memory that wait for `homenode recover`.
pub fn rings_in_memory() -> Check {
    let what = "rings of killed recordings in memory";
    let found = left_behind();
    let Some((dataset, memory)) = found.first() else { return Check::new(what, State::Yes, "none", "") };
    let list: Vec<String> = found.iter().map(|(d, m)| format!("{} of {}", m.display(), d.display())).collect();
    let todo = format!("homenode recover {}; if it is gone: rm -r {}", dataset.display(), memory.display());
    Check::new(what, State::Limited, list.join("; "), todo)
}

/// What recordings of this user that were killed left in memory: the dataset each belongs to, as it was called then, and the
/// directory. Recordings that are under way are none of them.
fn left_behind() -> Vec<(PathBuf, PathBuf)> {
    let all = memory::directories().into_iter();
    all.filter_map(|dir| Some((control::abandoned(&dir)?, dir.path().to_owned()))).collect()
}
