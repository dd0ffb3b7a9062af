//! Commands that look at this machine.
use super::{Done, print};
use crate::args::{Doctor, Topo};
use crate::progress::Bar;
use homenode_command::output;
use homenode_toolkit as toolkit;

pub(super) fn topo(a: Topo, quiet: bool) -> Done {
    if let Some(path) = &a.output {
        output::refuse_existing(path, a.force)?;
    }
    let request = toolkit::TopoRequest { from: a.from, measure: a.measure, quick: a.quick, output: a.output };
    let doc = toolkit::topo(&request, &mut Bar::new(quiet))?;
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}

pub(super) fn doctor(a: &Doctor) -> Done {
    let doc = toolkit::doctor();
    print(&if a.json { doc.to_json() } else { doc.to_text() })
}
