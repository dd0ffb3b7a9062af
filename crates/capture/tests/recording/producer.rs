//! A producer that fills rings as the C runtime does, with content that is known in advance.
use homenode_base::ring::*;
use homenode_sys::map::SharedMap;
use homenode_sys::{clock, disk, futex};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Address of slot 0 that rings claim; any page will do, nobody dereferences it.
const BASE: u64 = 0x7f00_0000_1000;

/// The control file, seen by a recorded process.
pub(crate) struct Attached {
    map: SharedMap,
    dir: PathBuf,
    /// The directory in memory, if there is one.
    memory: Option<PathBuf>,
}

impl Attached {
    /// Attaches this process to a control file.
    pub(crate) fn open(path: &Path) -> Attached {
        let map = SharedMap::open(path, CONTROL_BYTES, true).unwrap();
        assert_eq!(map.load_u64(CONTROL_OFF_MAGIC), Some(CONTROL_MAGIC));
        let path = |offset, room| {
            let mut text = vec![0; room];
            assert!(map.copy_bytes(offset, &mut text));
            text.truncate(text.iter().position(|&b| b == 0).unwrap());
            PathBuf::from(String::from_utf8(text).unwrap())
        };
        let (dir, memory) = (path(CONTROL_OFF_DIR, 3072), path(CONTROL_OFF_MEMORY, 256));
        let memory = Some(memory).filter(|m| m.is_absolute());
        let attached = Attached { map, dir, memory };
        attached.add32(CONTROL_OFF_ATTACHED, 1);
        attached
    }
    pub(crate) fn counting(&self) -> bool {
        self.map.load_u32(CONTROL_OFF_MODE) == Some(MODE_COUNT as u32)
    }
    pub(crate) fn stopped(&self) -> u64 {
        self.map.load_u32(CONTROL_OFF_STOP).unwrap().into()
    }
    pub(crate) fn add32(&self, offset: u64, n: u32) -> u32 {
        self.map.u32_mut(offset).unwrap().fetch_add(n, Ordering::AcqRel)
    }
    pub(crate) fn add64(&self, offset: u64, n: u64) {
        self.map.u64_mut(offset).unwrap().fetch_add(n, Ordering::AcqRel);
    }
    pub(crate) fn doorbell(&self) {
        self.add32(CONTROL_OFF_DOORBELL, 1);
        futex::wake_all(self.map.u32_mut(CONTROL_OFF_DOORBELL).unwrap());
    }
    fn entry32(&self, index: u32, offset: u64, value: u32) {
        let at = CONTROL_OFF_TABLE + u64::from(index) * ENTRY_BYTES + offset;
        self.map.u32_mut(at).unwrap().store(value, Ordering::Release);
    }
    /// Claims a ring for a thread created by `parent`.
    pub(crate) fn claim(&self, parent: Option<u32>) -> u32 {
        let index = self.add32(CONTROL_OFF_NEXT_RING, 1);
        assert!(index < RINGS_MAX);
        self.entry32(index, ENTRY_OFF_PID, std::process::id());
        self.entry32(index, ENTRY_OFF_TID, 1000 + index);
        self.entry32(index, ENTRY_OFF_PARENT, parent.unwrap_or(u32::MAX));
        self.entry32(index, ENTRY_OFF_STATE, ENTRY_CLAIMED as u32);
        index
    }
    /// Creates the file of a claimed ring.
    pub(crate) fn create(&self, index: u32) -> Producer<'_> {
        let bytes = ring_bytes(index);
        // As a program that finds no room in memory for every third one.
        let place = self.memory.as_ref().filter(|_| index % 3 != 2).unwrap_or(&self.dir);
        let path = place.join(format!("{index}.ring"));
        let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        disk::allocate(&file, RING_HEADER_BYTES + bytes).unwrap();
        let map = SharedMap::of_file(&file, RING_HEADER_BYTES + bytes, true).unwrap();
        for (offset, value) in [
            (RING_OFF_BYTES, bytes),
            (RING_OFF_BASE, BASE),
            (RING_OFF_CURSOR, BASE),
            (RING_OFF_BATCH_START, BASE),
            (RING_OFF_MAGIC, RING_MAGIC),
        ] {
            map.u64_mut(offset).unwrap().store(value, Ordering::Release);
        }
        map.u32_mut(RING_OFF_INDEX).unwrap().store(index, Ordering::Release);
        let at = CONTROL_OFF_TABLE + u64::from(index) * ENTRY_BYTES + ENTRY_OFF_BYTES;
        self.map.u64_mut(at).unwrap().store(bytes, Ordering::Release);
        self.entry32(index, ENTRY_OFF_STATE, ENTRY_ACTIVE as u32);
        Producer { control: self, map, index, slots: bytes / SLOT_BYTES, written: 0, head: 0, over: false }
    }
}

/// One thread's ring.
pub(crate) struct Producer<'a> {
    control: &'a Attached,
    map: SharedMap,
    pub(crate) index: u32,
    slots: u64,
    written: u64,
    head: u64,
    /// Recording has stopped: slots are dropped.
    pub(crate) over: bool,
}

impl Producer<'_> {
    fn put64(&self, offset: u64, value: u64) {
        self.map.u64_mut(offset).unwrap().store(value, Ordering::Release);
    }
    /// Writes a slot; the cursor is not moved yet.
    fn write(&self, at: u64, slot: [u64; 2]) {
        let offset = RING_HEADER_BYTES + (at % self.slots) * SLOT_BYTES;
        self.put64(offset, slot[0]);
        self.put64(offset + 8, slot[1]);
    }
    fn publish(&mut self, written: u64) {
        self.written = written;
        let start = BASE + (self.head % self.slots) * SLOT_BYTES;
        self.put64(RING_OFF_CURSOR, start + (written - self.head) * SLOT_BYTES);
    }
    fn tail(&self) -> u64 {
        self.map.load_u64(RING_OFF_TAIL).unwrap()
    }

    /// Appends slots that must stand in one batch.
    pub(crate) fn put(&mut self, slots: &[[u64; 2]]) {
        if self.written == 0 && !self.over {
            self.open_batch();
        }
        if !self.over && self.written - self.head + slots.len() as u64 > BATCH_SLOTS {
            self.write(self.written, [event_word(EVENT_PAD, 0, 0), 0]);
            self.publish(self.head + BATCH_SLOTS);
            self.next_batch();
        }
        if self.over {
            self.control.add64(CONTROL_OFF_DROPPED, u64::from(slots[0][0] & W0_EVENT == 0));
            return;
        }
        for (i, &slot) in slots.iter().enumerate() {
            self.write(self.written + i as u64, slot);
        }
        self.publish(self.written + slots.len() as u64);
        if self.written - self.head == BATCH_SLOTS {
            self.next_batch();
        }
    }
    fn next_batch(&mut self) {
        self.head += BATCH_SLOTS;
        self.put64(RING_OFF_BATCH_HEAD, self.head);
        self.open_batch();
    }
    fn open_batch(&mut self) {
        let half = self.slots / 2;
        if self.head.is_multiple_of(half) {
            if self.head > 0 {
                self.control.doorbell();
            }
            self.wait_for_space(half);
        }
        self.over |= self.control.stopped() != 0;
        if self.over {
            return;
        }
        self.write(self.head, [event_word(EVENT_STAMP, 0, 0), clock::ticks()]);
        self.put64(RING_OFF_BATCH_START, BASE + (self.head % self.slots) * SLOT_BYTES);
        self.publish(self.head + 1);
    }
    fn wait_for_space(&mut self, half: u64) {
        while self.head - self.tail() > half && self.control.stopped() == 0 {
            let space = self.map.u32_mut(RING_OFF_SPACE).unwrap();
            let before = space.load(Ordering::Acquire);
            let waiting = self.map.u32_mut(RING_OFF_WAITING).unwrap();
            waiting.store(1, Ordering::SeqCst);
            if self.head - self.tail() > half && self.control.stopped() == 0 {
                futex::wait(space, before, Duration::from_millis(20));
            }
            waiting.store(0, Ordering::Release);
            let recorder = self.control.map.load_u32(CONTROL_OFF_RECORDER_PID).unwrap();
            if !homenode_sys::process::alive(recorder) {
                let stop = self.control.map.u32_mut(CONTROL_OFF_STOP).unwrap();
                let _ = stop.compare_exchange(0, STOP_RECORDER_GONE as u32, Ordering::AcqRel, Ordering::Acquire);
            }
        }
    }

    pub(crate) fn reference(&mut self, r: ExpectedReference) {
        let code =
            if r.size.is_power_of_two() && r.size <= 64 { u64::from(r.size.trailing_zeros()) } else { SIZE_RANGE };
        let word = r.addr | code << W0_SIZE_SHIFT | u64::from(r.op) << W0_OP_SHIFT;
        if code == SIZE_RANGE {
            self.put(&[[word, r.pc], [r.size.into(), 0]]);
        } else {
            self.put(&[[word, r.pc]]);
        }
    }
    pub(crate) fn event(&mut self, kind: u64, addr: u64, w1: u64, payload: &[[u64; 2]]) {
        let mut slots = vec![[event_word(kind, addr, payload.len()), w1]];
        slots.extend_from_slice(payload);
        self.put(&slots);
    }
    pub(crate) fn text(&mut self, kind: u64, addr: u64, w1: u64, text: &str) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
        let slots: Vec<[u64; 2]> = bytes.chunks(16).map(|c| [word(&c[..8]), word(&c[8..])]).collect();
        for (i, piece) in slots.chunks(EVENT_PAYLOAD_MAX as usize).enumerate() {
            self.event(if i == 0 { kind } else { EVENT_MORE }, addr, w1, piece);
        }
    }
    /// The thread ends in order.
    pub(crate) fn done(mut self) {
        self.event(EVENT_EXIT, 0, clock::ticks(), &[]);
        self.control.entry32(self.index, ENTRY_OFF_STATE, ENTRY_DONE as u32);
        self.control.doorbell();
    }
}

fn event_word(kind: u64, addr: u64, payload: usize) -> u64 {
    addr | W0_EVENT | kind << W0_KIND_SHIFT | (payload as u64) << W0_SIZE_SHIFT
}

/// One reference of a known sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedReference {
    pub(crate) addr: u64,
    pub(crate) size: u32,
    pub(crate) op: u8,
    pub(crate) pc: u64,
}

/// The `i`-th reference of a thread: strides with some disorder, now and then a range.
pub(crate) fn known(thread: u32, i: u64) -> ExpectedReference {
    let hash = (i ^ u64::from(thread) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let base = 0x5000_0000_0000 + (u64::from(thread) << 32);
    if hash.is_multiple_of(97) {
        return ExpectedReference { addr: base + hash, size: 100 + (hash % 1000) as u32, op: 1, pc: 0x40_2000 };
    }
    let site = i % 5;
    let op = if hash.is_multiple_of(31) { 3 } else { (site % 3) as u8 };
    ExpectedReference {
        addr: base + i * 8 % 65_536 + (site << 20),
        size: 1 << (site % 4),
        op,
        pc: 0x40_1000 + site * 8,
    }
}

impl Producer<'_> {
    /// Breaks the protocol, then ends as if nothing were wrong.
    pub(crate) fn misbehave(mut self, how: &str) {
        match how {
            "head" => self.put64(RING_OFF_BATCH_HEAD, 1 << 40),
            "cursor" => self.put64(RING_OFF_CURSOR, u64::MAX),
            "journal" => (0..2).for_each(|i| self.put64(RING_OFF_JOURNAL + i * RING_JOURNAL_BYTES, 12_345)),
            "garbage" => {
                let mut rng = homenode_base::Rng::new(9);
                for _ in 0..3 * self.slots {
                    self.put(&[[rng.next_u64(), rng.next_u64()]]);
                }
            }
            other => panic!("no misbehaviour {other}"),
        }
        let control = self.control;
        control.entry32(self.index, ENTRY_OFF_STATE, ENTRY_DONE as u32);
        control.doorbell();
    }
}
