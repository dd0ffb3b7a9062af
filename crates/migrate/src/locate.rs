//! Where pages are, as the kernel says.
use crate::move_status::{MigrateError, Refusal};
use homenode_sys::numa;

/// Pages asked about in one call: the kernel needs no more to be efficient, and holds its lock no longer.
const AT_ONCE: usize = 4096;

/// EINVAL: what the kernel says of a process that has ended and is not yet waited for; its memory is gone.
const NO_MEMORY: i32 = 22;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// On this operating-system node.
    Node(u32),
    /// Not in memory, not mapped, or not to be told: the reason.
    Nowhere(Refusal),
}

impl At {
    /// The node, if there is one.
    pub fn node(self) -> Option<u32> {
        match self {
            At::Node(n) => Some(n),
            At::Nowhere(_) => None,
        }
    }
    fn of_status(status: i32) -> At {
        match u32::try_from(status) {
            Ok(node) => At::Node(node),
            Err(_) if status == numa::UNTOUCHED => At::Nowhere(Refusal::Unconfirmed),
            Err(_) => At::Nowhere(Refusal::of_page(-status)),
        }
    }
}

/// Where the pages of a process (0 = this one) are that contain these addresses, in their order.
///
/// # Errors
/// The process is gone or may not be looked into, or the kernel has no such call.
pub fn where_are(pid: u32, addresses: &[u64]) -> Result<Vec<At>, MigrateError> {
    let mut status = vec![numa::UNTOUCHED; addresses.len()];
    for (pages, status) in addresses.chunks(AT_ONCE).zip(status.chunks_mut(AT_ONCE)) {
        numa::query_pages(pid, pages, status).map_err(|e| refused(pid, e))?;
    }
    Ok(status.into_iter().map(At::of_status).collect())
}

/// Tells a forbidden process from a forbidden system call.
fn refused(pid: u32, error: std::io::Error) -> MigrateError {
    if error.raw_os_error() == Some(NO_MEMORY) {
        return MigrateError::Gone(pid);
    }
    let own_too = error.raw_os_error() == Some(1) && numa::query_pages(0, &[], &mut []).is_err();
    if own_too { MigrateError::Unsupported } else { MigrateError::of(pid, error) }
}
