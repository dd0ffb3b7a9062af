//! What a node keeps of pages: how each is mapped, and its page cache.

/// Where a page of another node is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// Not at all yet.
    Nowhere,
    /// To its home.
    Home,
    /// To a frame of the page cache.
    Frame(u32),
    /// Not any more: it was thrown out of the page cache.
    Out,
}

const NOWHERE: u32 = u32::MAX;
const HOME: u32 = u32::MAX - 1;
const OUT: u32 = u32::MAX - 2;

/// A frame of the page cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    pub(super) page: Option<u32>,
    /// Chunks that are valid.
    pub(super) valid: u32,
    /// The TLB's reference bit.
    pub(super) referenced: bool,
    /// Misses that it satisfied.
    pub(super) refetches: u32,
}

/// One node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    mapped: Vec<u32>,
    thresholds: Vec<u32>,
    /// Refetches of each page by this node, as its home counts them.
    pub(super) refetches: Vec<u32>,
    pub(super) frames: Vec<Frame>,
    free: Vec<u32>,
    /// Where the clock hand of the page-out daemon stands.
    pub(super) hand: usize,
    /// Chunk in the remote access cache.
    pub(super) rac: Option<u64>,
    /// When the daemon may run again.
    pub(super) daemon_at: u64,
}

impl Node {
    pub(super) fn new(pages: usize, frames: u32) -> Node {
        Node {
            mapped: vec![NOWHERE; pages],
            thresholds: vec![u32::MAX; pages],
            refetches: vec![0; pages],
            frames: vec![Frame::default(); frames as usize],
            free: (0..frames).rev().collect(),
            hand: 0,
            rac: None,
            daemon_at: 0,
        }
    }
    pub(super) fn mapping(&self, page: u32) -> Mapping {
        match self.mapped[page as usize] {
            NOWHERE => Mapping::Nowhere,
            HOME => Mapping::Home,
            OUT => Mapping::Out,
            frame => Mapping::Frame(frame),
        }
    }
    /// Refetches after which a page is due, as it was when the page was mapped to its home.
    pub(super) fn threshold(&self, page: u32) -> u32 {
        self.thresholds[page as usize]
    }
    pub(super) fn set_threshold(&mut self, page: u32, threshold: u32) {
        self.thresholds[page as usize] = threshold;
    }
    pub(super) fn map_home(&mut self, page: u32) {
        self.mapped[page as usize] = HOME;
    }
    /// Frames that hold nothing.
    pub(super) fn free(&self) -> u32 {
        self.free.len() as u32
    }
    /// The page moves into a free frame; all of its chunks are invalid. Whether there was one.
    pub(super) fn take(&mut self, page: u32) -> bool {
        let Some(frame) = self.free.pop() else { return false };
        self.frames[frame as usize] = Frame { page: Some(page), referenced: true, ..Frame::default() };
        self.mapped[page as usize] = frame;
        true
    }
    /// The page in a frame leaves it, for its home or for nowhere.
    pub(super) fn give_back(&mut self, frame: u32, to_home: bool) {
        if let Some(page) = self.frames[frame as usize].page.take() {
            self.mapped[page as usize] = if to_home { HOME } else { OUT };
            self.free.push(frame);
        }
    }
    /// The frame under the hand, which moves on.
    pub(super) fn under_hand(&mut self) -> u32 {
        let frame = self.hand as u32;
        self.hand = (self.hand + 1) % self.frames.len();
        frame
    }
}
