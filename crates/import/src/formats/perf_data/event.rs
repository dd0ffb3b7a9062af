//! Events of the file, and attributes of any age.
use homenode_sampling::perf::records::Layout;
use homenode_sampling::perf::wire::Cursor;
use homenode_sys::perf::Attr;

/// Bytes of the first published attribute: type to breakpoint.
pub(super) const ATTR_BYTES_MIN: usize = 64;

/// One event of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileEvent {
    pub(super) attr: Attr,
    pub(super) ids: Vec<u64>,
    pub(super) name: String,
}

impl FileEvent {
    pub(super) fn layout(&self) -> Layout {
        Layout::of(&self.attr)
    }
}

/// An attribute of any age; fields that it does not have are 0.
pub(super) fn attribute(bytes: &[u8]) -> Option<Attr> {
    if bytes.len() < ATTR_BYTES_MIN {
        return None;
    }
    let mut padded = [0; size_of::<Attr>()];
    let n = bytes.len().min(padded.len());
    padded[..n].copy_from_slice(&bytes[..n]);
    let mut c = Cursor(&padded);
    let mut attr = Attr { kind: c.u32()?, size: c.u32()?, config: c.u64()?, period: c.u64()?, ..Attr::default() };
    (attr.sample_type, attr.read_format, attr.flags) = (c.u64()?, c.u64()?, c.u64()?);
    (attr.wakeup, attr.breakpoint) = c.pair()?;
    (attr.config1, attr.config2) = (c.u64()?, c.u64()?);
    (attr.branch_sample_type, attr.regs_user) = (c.u64()?, c.u64()?);
    (attr.stack_user, _) = c.pair()?;
    attr.regs_intr = c.u64()?;
    Some(attr)
}
