//! Frames of DRAM, and which pages are in them.

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first access.
    Absent,
    Expander,
    Frame(u32),
}

/// Frames of DRAM. A page that was accessed is in one of them or in the expander.
#[derive(Clone, Debug)]
pub struct Dram {
    places: Vec<Place>,
    frames: Vec<Option<u32>>,
    free: Vec<u32>,
    /// Reference bits by page: set by accesses, cleared by policies.
    referenced: Vec<bool>,
    hand: u32,
    promoted: u64,
    demoted: u64,
}

impl Dram {
    pub(super) fn new(pages: usize, frames: u64) -> Dram {
        // More frames than pages are of no use.
        let frames = frames.min(pages as u64) as u32;
        Dram {
            places: vec![Place::Absent; pages],
            frames: vec![None; frames as usize],
            free: (0..frames).rev().collect(),
            referenced: vec![false; pages],
            hand: 0,
            promoted: 0,
            demoted: 0,
        }
    }

    /// Number of frames.
    pub fn frames(&self) -> u32 {
        self.frames.len() as u32
    }
    /// Frames that are free.
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }
    /// Whether the page is in DRAM.
    pub fn holds(&self, page: u32) -> bool {
        matches!(self.places[page as usize], Place::Frame(_))
    }
    /// Pages in DRAM, by frame.
    pub fn pages(&self) -> impl Iterator<Item = u32> + '_ {
        self.frames.iter().flatten().copied()
    }
    /// Pages moved into DRAM and out of it.
    pub fn moved(&self) -> [u64; 2] {
        [self.promoted, self.demoted]
    }
    /// The page of the next frame under the clock's hand, if it has one.
    pub(super) fn under_hand(&mut self) -> Option<u32> {
        let frame = self.hand;
        self.hand = (self.hand + 1) % self.frames().max(1);
        self.frames.get(frame as usize).copied().flatten()
    }
    /// Whether the page was accessed since this was asked last.
    pub(super) fn take_reference(&mut self, page: u32) -> bool {
        std::mem::take(&mut self.referenced[page as usize])
    }

    pub(super) fn touch(&mut self, page: u32) {
        self.referenced[page as usize] = true;
    }
    pub(super) fn is_new(&self, page: u32) -> bool {
        self.places[page as usize] == Place::Absent
    }
    /// A page's first access: into a frame or not.
    pub(super) fn begin(&mut self, page: u32, in_dram: bool) {
        self.places[page as usize] = match self.free.pop_if(|_| in_dram) {
            Some(frame) => {
                self.frames[frame as usize] = Some(page);
                Place::Frame(frame)
            }
            None => Place::Expander,
        };
    }
    /// Moves a page of the expander into a free frame; whether there was one.
    pub(super) fn promote(&mut self, page: u32) -> bool {
        if self.places[page as usize] != Place::Expander || self.free.is_empty() {
            return false;
        }
        self.begin(page, true);
        self.promoted += 1;
        true
    }
    /// Moves a page of DRAM to the expander.
    pub(super) fn demote(&mut self, page: u32) {
        let Place::Frame(frame) = self.places[page as usize] else { return };
        self.places[page as usize] = Place::Expander;
        self.frames[frame as usize] = None;
        self.free.push(frame);
        self.demoted += 1;
    }
    /// Whether every frame is free or has the one page that is in it.
    pub(super) fn is_sound(&self) -> bool {
        let frames = self.frames.iter().zip(0..);
        let mut held = frames.filter_map(|(page, frame)| page.map(|p| self.places[p as usize] == Place::Frame(frame)));
        let count = self.places.iter().filter(|p| matches!(p, Place::Frame(_))).count();
        held.all(|right| right) && count + self.free.len() == self.frames.len()
    }
}
