//! A recorder of a few lines: makes the control file, runs a program and reads its rings by `read_at`, so that what the
//! runtime wrote is judged by code that shares nothing with it but the layout.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

pub mod build;
pub mod preload;
pub mod slots;

use homenode_base::ring::*;
use slots::Item;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

/// One ring, read to its end.
#[derive(Clone, Debug)]
pub struct Ring {
    pub index: u32,
    pub state: u64,
    pub pid: u32,
    pub tid: u32,
    pub parent: u32,
    /// Slots that the ring had in all.
    pub slots: u64,
    pub items: Vec<Item>,
}

/// A recording in a directory of its own.
pub struct Recording {
    pub dir: tempfile::TempDir,
    control: File,
}

fn get(file: &File, offset: u64, bytes: usize) -> u64 {
    let mut b = [0; 8];
    file.read_exact_at(&mut b[..bytes], offset).expect("the file is whole");
    u64::from_le_bytes(b)
}

fn put(file: &File, offset: u64, value: u64, bytes: usize) {
    file.write_all_at(&value.to_le_bytes()[..bytes], offset).expect("the file is writable");
}

impl Recording {
    pub fn new(mode: u64) -> Recording {
        let dir = tempfile::tempdir().unwrap();
        let control = File::options().read(true).write(true).create_new(true).open(dir.path().join("control")).unwrap();
        control.set_len(CONTROL_BYTES).unwrap();
        put(&control, CONTROL_OFF_MAGIC, CONTROL_MAGIC, 8);
        put(&control, CONTROL_OFF_VERSION, LAYOUT_VERSION, 4);
        put(&control, CONTROL_OFF_MODE, mode, 4);
        put(&control, CONTROL_OFF_RECORDER_PID, std::process::id().into(), 4);
        control.write_all_at(dir.path().as_os_str().as_encoded_bytes(), CONTROL_OFF_DIR).unwrap();
        Recording { dir, control }
    }

    pub fn control_path(&self) -> PathBuf {
        self.dir.path().join("control")
    }

    pub fn set32(&self, offset: u64, value: u64) {
        put(&self.control, offset, value, 4);
    }

    pub fn set_roi(&self, name: &str) {
        self.set32(CONTROL_OFF_ROI_SET, 1);
        self.control.write_all_at(name.as_bytes(), CONTROL_OFF_ROI).unwrap();
    }

    pub fn set_memory(&self, dir: &Path) {
        self.control.write_all_at(dir.as_os_str().as_encoded_bytes(), CONTROL_OFF_MEMORY).unwrap();
    }

    pub fn get64(&self, offset: u64) -> u64 {
        get(&self.control, offset, 8)
    }

    pub fn get32(&self, offset: u64) -> u64 {
        get(&self.control, offset, 4)
    }

    pub fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut c = Command::new(program);
        c.args(args).env(CONTROL_ENV, self.control_path());
        c
    }

    /// Runs the program while its rings are being emptied, and returns what it printed and what it recorded.
    pub fn run(&self, program: &Path, args: &[&str]) -> (Output, Vec<Ring>) {
        self.run_command(self.command(program, args))
    }

    pub fn run_command(&self, mut command: Command) -> (Output, Vec<Ring>) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| self.read_until(&over));
            let output = command.output().expect("the program starts");
            over.store(true, Ordering::Release);
            (output, reader.join().expect("the reader does not panic"))
        })
    }

    fn read_until(&self, over: &AtomicBool) -> Vec<Ring> {
        let mut drains: Vec<Drain> = Vec::new();
        loop {
            let last = over.load(Ordering::Acquire);
            let known = self.get32(CONTROL_OFF_NEXT_RING).min(RINGS_MAX.into()) as usize;
            (drains.len()..known).for_each(|i| drains.push(Drain::new(i as u32)));
            let moved = drains.iter_mut().fold(false, |any, d| d.step(self) | any);
            if last && !moved {
                return drains.into_iter().map(|d| d.finish(self)).collect();
            }
            if !moved {
                std::thread::sleep(std::time::Duration::from_micros(500));
            }
        }
    }
}

struct Drain {
    index: u32,
    file: Option<File>,
    tail: u64,
    slots: Vec<[u64; 2]>,
}

impl Drain {
    fn new(index: u32) -> Drain {
        Drain { index, file: None, tail: 0, slots: Vec::new() }
    }

    fn entry(&self, r: &Recording, offset: u64) -> u64 {
        get(&r.control, CONTROL_OFF_TABLE + ENTRY_BYTES * u64::from(self.index) + offset, 4)
    }

    /// Takes what has been written; true if there was anything.
    fn step(&mut self, r: &Recording) -> bool {
        if self.file.is_none() && [ENTRY_ACTIVE, ENTRY_DONE].contains(&self.entry(r, ENTRY_OFF_STATE)) {
            let path = r.dir.path().join(format!("{}.ring", self.index));
            self.file = File::options().read(true).write(true).open(path).ok();
        }
        let Some(file) = &self.file else { return false };
        let (bytes, base) = (get(file, RING_OFF_BYTES, 8), get(file, RING_OFF_BASE, 8));
        assert_eq!(bytes, ring_bytes(self.index));
        let head = get(file, RING_OFF_BATCH_HEAD, 8);
        let written = slots_written(head, get(file, RING_OFF_CURSOR, 8), base, bytes);
        if head != get(file, RING_OFF_BATCH_HEAD, 8) || written == self.tail {
            return head != get(file, RING_OFF_BATCH_HEAD, 8);
        }
        assert!(written - self.tail <= bytes / SLOT_BYTES, "the producer overran the consumer");
        while self.tail < written {
            let at = self.tail * SLOT_BYTES % bytes;
            let n = ((written - self.tail) * SLOT_BYTES).min(bytes - at);
            let mut buffer = vec![0u8; n as usize];
            file.read_exact_at(&mut buffer, RING_HEADER_BYTES + at).unwrap();
            let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
            self.slots.extend(buffer.chunks_exact(16).map(|s| [word(&s[..8]), word(&s[8..])]));
            self.tail += n / SLOT_BYTES;
        }
        put(file, RING_OFF_TAIL, self.tail, 8);
        true
    }

    /// The slots with what a producer that was killed has stored of a block.
    fn all_slots(&self) -> Vec<[u64; 2]> {
        let mut slots = self.slots.clone();
        let Some(file) = &self.file else { return slots };
        let mut left = (BATCH_SLOTS - self.tail % BATCH_SLOTS) % BATCH_SLOTS;
        let mut at = RING_HEADER_BYTES + self.tail * SLOT_BYTES % get(file, RING_OFF_BYTES, 8);
        let head = RingHead::of(get(file, RING_OFF_BATCH_HEAD, 8));
        if let Some(side) = head.side_offset() {
            let written = head.beside(get(file, RING_OFF_CURSOR, 8), get(file, RING_OFF_BASE, 8));
            let whole = slots.len().next_multiple_of(BATCH_SLOTS as usize);
            slots.resize(whole, [W0_EVENT | EVENT_PAD << W0_KIND_SHIFT, 0]);
            slots.extend((0..2 * written).step_by(2).map(|i| [0, 8].map(|more| get(file, side + 8 * i + more, 8))));
            (left, at) = ((BATCH_SLOTS - written) % BATCH_SLOTS, side + written * SLOT_BYTES);
        }
        let word = |i: u64| get(file, at + 8 * i, 8);
        let mut begun: Vec<[u64; 2]> = (0..left).map(|i| [word(2 * i), word(2 * i + 1)]).collect();
        if let Some(header) = block_begun(&begun) {
            begun[0][0] = header;
            slots.extend(&begun[..block_slots(header >> W0_KIND_SHIFT) as usize]);
        }
        slots
    }

    fn finish(self, r: &Recording) -> Ring {
        Ring {
            index: self.index,
            state: self.entry(r, ENTRY_OFF_STATE),
            pid: self.entry(r, ENTRY_OFF_PID) as u32,
            tid: self.entry(r, ENTRY_OFF_TID) as u32,
            parent: self.entry(r, ENTRY_OFF_PARENT) as u32,
            slots: self.slots.len() as u64,
            items: slots::decode(&self.all_slots(), &slots::Blocks::read(r.dir.path())),
        }
    }
}
