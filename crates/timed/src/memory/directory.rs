//! Full directory at the homes: for every chunk who has had a copy since it was last written, and who owns it.

const NOBODY: u8 = u8::MAX;

/// A chunk of a shared page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Nodes that fetched it since somebody else wrote it. Clean copies go without a word, so some may have none any more.
    pub(super) copies: u64,
    /// Nodes that ever fetched it.
    pub(super) seen: u64,
    /// Nodes whose copies a remapping threw away.
    pub(super) flushed: u64,
    owner: u8,
}

impl Default for Chunk {
    fn default() -> Chunk {
        Chunk { copies: 0, seen: 0, flushed: 0, owner: NOBODY }
    }
}

impl Chunk {
    /// The node that has written it, and with it the only valid copy.
    pub(super) fn owner(&self) -> Option<u32> {
        (self.owner != NOBODY).then_some(self.owner.into())
    }
    pub(super) fn set_owner(&mut self, node: Option<u32>) {
        self.owner = node.map_or(NOBODY, |n| n as u8);
    }
    /// Nodes beside this one that may have a copy.
    pub(super) fn others(&self, node: u32) -> impl Iterator<Item = u32> + use<> {
        let mut others = self.copies & !(1 << node);
        std::iter::from_fn(move || {
            let next = (others != 0).then(|| others.trailing_zeros())?;
            others &= others - 1;
            Some(next)
        })
    }
    pub(super) fn has(&self, node: u32) -> bool {
        self.copies >> node & 1 == 1
    }
    pub(super) fn forget(&mut self, node: u32) {
        self.copies &= !(1 << node);
    }
}
