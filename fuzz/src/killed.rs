//! A recording whose recorder was killed: the control file, two rings, what the blocks in them are, and the files of a dataset, in memory.
use homenode_base::ring::*;
use std::fs;
use std::path::Path;

/// Bytes of slots of each ring.
const BYTES: u64 = RING_BYTES_MIN;
/// Address of slot 0 in the program.
const BASE: u64 = 0x7f00_0000_1000;
/// A process that does not run.
const DEAD: u32 = 4_294_967;

fn put(bytes: &mut [u8], offset: u64, value: &[u8]) {
    let at = offset as usize;
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn control() -> Vec<u8> {
    let mut bytes = vec![0; CONTROL_BYTES as usize];
    put(&mut bytes, CONTROL_OFF_MAGIC, &CONTROL_MAGIC.to_le_bytes());
    put(&mut bytes, CONTROL_OFF_VERSION, &(LAYOUT_VERSION as u32).to_le_bytes());
    put(&mut bytes, CONTROL_OFF_RECORDER_PID, &DEAD.to_le_bytes());
    put(&mut bytes, CONTROL_OFF_NEXT_RING, &2u32.to_le_bytes());
    for index in 0..2 {
        let at = CONTROL_OFF_TABLE + index * ENTRY_BYTES;
        put(&mut bytes, at + ENTRY_OFF_STATE, &(ENTRY_ACTIVE as u32).to_le_bytes());
        put(&mut bytes, at + ENTRY_OFF_PID, &DEAD.to_le_bytes());
        put(&mut bytes, at + ENTRY_OFF_PARENT, &u32::MAX.to_le_bytes());
        put(&mut bytes, at + ENTRY_OFF_BYTES, &BYTES.to_le_bytes());
    }
    bytes
}

fn ring(index: u32) -> Vec<u8> {
    let mut bytes = vec![0; (RING_HEADER_BYTES + BYTES) as usize];
    let written = 3 * BATCH_SLOTS + 20;
    let words = [
        (RING_OFF_MAGIC, RING_MAGIC),
        (RING_OFF_BYTES, BYTES),
        (RING_OFF_BASE, BASE),
        (RING_OFF_CURSOR, BASE + written * SLOT_BYTES),
        (RING_OFF_BATCH_HEAD, 3 * BATCH_SLOTS),
    ];
    words.iter().for_each(|(offset, word)| put(&mut bytes, *offset, &word.to_le_bytes()));
    put(&mut bytes, RING_OFF_INDEX, &index.to_le_bytes());
    if index == 1 {
        beside(&mut bytes);
    }
    for slot in 0..written {
        let stamp = [W0_EVENT | EVENT_STAMP << W0_KIND_SHIFT, 1000 + slot * 10];
        let reference = [0x1000_0000 + slot * 8 | 3 << W0_SIZE_SHIFT, 0x40_1000 + slot % 4 * 8];
        let address = 0x2000_0000 + slot * 8;
        let repeat = |given: u64, n: u64| [W0_EVENT | EVENT_REPEAT << W0_KIND_SHIFT | given << W0_SIZE_SHIFT | n, 16];
        let words = match slot % BATCH_SLOTS {
            0 => stamp,
            5 if index == 1 => repeat(1, 9),
            6 if index == 1 => [16, 16],
            7 if index == 1 => repeat(0, 20),
            1 | 3 => [header(2, 3), address],
            2 | 4 => [address + 0x1000, address + 0x2000],
            _ => reference,
        };
        let at = RING_HEADER_BYTES + slot * SLOT_BYTES;
        put(&mut bytes, at, &words[0].to_le_bytes());
        put(&mut bytes, at + 8, &words[1].to_le_bytes());
    }
    bytes
}

/// What a thread that leaves repetitions out had written: to the ring the blocks at the begin of a batch and repetitions of the last one, beside it a batch
/// whose last block it did not finish.
fn beside(bytes: &mut [u8]) {
    let head = RingHead { slots: 3 * BATCH_SLOTS, kept: 8, side: 2 };
    let side = head.side_offset().expect("it is one of two");
    put(bytes, RING_OFF_BATCH_HEAD, &head.word().to_le_bytes());
    put(bytes, RING_OFF_CURSOR, &(BASE - RING_HEADER_BYTES + side + 3 * SLOT_BYTES).to_le_bytes());
    let stamp = [W0_EVENT | EVENT_STAMP << W0_KIND_SHIFT, 9000];
    let slots =
        [stamp, [header(2, 3), 0x2000_0000], [0x2000_1000, 0x2000_2000], [header(2, 3), 0x2000_0008], [0x2000_1008, 0]];
    for (slot, word) in (0..).zip(slots.as_flattened()) {
        put(bytes, side + 8 * slot, &word.to_le_bytes());
    }
}

/// Definitions of two blocks, of one reference and of three; in rings the second one stands twice behind each stamp.
fn blocks() -> Vec<u8> {
    let reference = |n: u64| 3 << W0_SIZE_SHIFT | (n % 2) << W0_OP_SHIFT | 0x40_2000 + n * 8;
    let words = [header(1, 1), reference(0), header(2, 3), reference(1), reference(2), reference(3)];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn header(number: u64, refs: u64) -> u64 {
    W0_BLOCK | refs << W0_KIND_SHIFT | number
}

/// The folder.
pub struct Killed {
    folder: tempfile::TempDir,
    control: Vec<u8>,
    rings: [Vec<u8>; 2],
    blocks: Vec<u8>,
}

impl Default for Killed {
    fn default() -> Killed {
        Killed::new()
    }
}

impl Killed {
    /// As the recorder left it.
    pub fn new() -> Killed {
        Killed { folder: crate::folder(), control: control(), rings: [ring(0), ring(1)], blocks: blocks() }
    }
    /// Its path.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }
    /// Makes the folder anew, with some of its bytes replaced: a byte that says which file, two that say where, one with the
    /// length, and the bytes. Files of the dataset consist of what is said alone.
    pub fn fill(&self, mut data: &[u8]) {
        let root = self.root();
        for entry in fs::read_dir(root).expect("it is there").flatten() {
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
        let (mut control, mut rings, mut blocks) = (self.control.clone(), self.rings.clone(), self.blocks.clone());
        let mut plain: [Vec<u8>; 3] = Default::default();
        while let [which, low, high, length, rest @ ..] = data {
            let (new, more) = rest.split_at(rest.len().min(usize::from(*length)));
            let at = usize::from(u16::from_le_bytes([*low, *high]));
            match which % 9 {
                0 => overwrite(&mut control, at, new),
                // The table, where most of the offsets would miss it.
                1 => overwrite(&mut control, CONTROL_OFF_TABLE as usize + at % 64, new),
                2 => overwrite(&mut rings[0], at, new),
                3 => overwrite(&mut rings[1], at % 256, new),
                4 => overwrite(&mut rings[1], RING_HEADER_BYTES as usize + at % 4096, new),
                8 => overwrite(&mut blocks, at % 64, new),
                n => plain[usize::from(n) - 5].extend_from_slice(new),
            }
            data = more;
        }
        for inner in ["rings", "threads"] {
            fs::create_dir_all(root.join(inner)).expect("memory takes it");
        }
        let [frames, events, manifest] = plain;
        let [first, second] = rings;
        let files =
            [("rings/control", control), ("rings/0.ring", first), ("rings/1.ring", second), ("rings/0.blocks", blocks)];
        let dataset = [("threads/0.frames", frames), ("events.bin", events), ("manifest.json", manifest)];
        let dataset = dataset.into_iter().filter(|(_, bytes)| !bytes.is_empty());
        for (name, bytes) in files.into_iter().chain(dataset) {
            fs::write(root.join(name), bytes).expect("memory takes it");
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    let at = at.min(bytes.len());
    let n = new.len().min(bytes.len() - at);
    bytes[at..at + n].copy_from_slice(&new[..n]);
}

/// What makes a file of the dataset (5 the first thread's frames, 6 events, 7 the manifest) of these bytes.
pub fn whole(which: u8, bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(255).flat_map(|c| [&[which, 0, 0, c.len() as u8][..], c].concat()).collect()
}
