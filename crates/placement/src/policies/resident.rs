//! What the policies that never move a block share.
use super::place_somewhere;
use crate::access::Access;
use crate::policy::{BlockContext, Sink};
use homenode_machine::Location;

/// Where the block lives; `None` until its first placement succeeded.
pub(super) type Home = Option<Location>;

/// Serves an access at the block's home, placing it at `wanted` if it has none yet.
#[inline]
pub(super) fn serve(
    block: &BlockContext<'_>,
    home: &mut Home,
    wanted: impl FnOnce() -> Location,
    sink: &mut impl Sink,
) -> Location {
    if let Some(at) = *home {
        return at;
    }
    let wanted = wanted();
    *home = place_somewhere(block.machine, wanted, sink);
    home.unwrap_or(wanted)
}

/// The node of the processor that makes the access.
#[inline]
pub(super) fn toucher(access: &Access) -> Location {
    Location::Node(access.node)
}
