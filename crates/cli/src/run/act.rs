//! Commands that decide and act.
use super::{Done, print};
use crate::args::Place;
use crate::progress::Bar;
use homenode_toolkit as toolkit;

pub(super) fn place(a: Place, quiet: bool) -> Done {
    let request = toolkit::PlaceRequest {
        dataset: a.dataset,
        machine: a.machine,
        rule: a.rule,
        map: a.map,
        move_threads: a.move_threads,
        capacity: a.capacity,
        page_bytes: a.page,
    };
    if let Some(path) = &a.output {
        toolkit::output::refuse_existing(path, a.force)?;
    }
    let doc = toolkit::place(&request, &mut Bar::new(quiet))?;
    if let Some(path) = &a.output {
        toolkit::output::write(path, doc.to_json().as_bytes())?;
    }
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}
