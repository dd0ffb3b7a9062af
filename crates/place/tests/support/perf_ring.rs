//! A perf ring as the kernel would fill it on a Skylake with PEBS, record by record as perf_event_open(2) lays them out,
//! and the backend that reads it. Knows nothing of the reader but the numbers of the two events.
use homenode_capture::CaptureError;
use homenode_capture::sampled::{Sampler, Subject};
use homenode_sampling::perf::{Decoder, EventChoice, EventPlan};
use homenode_sampling::{Notice, RawSample, SampleSource, SamplingError};
use homenode_sys::clock::monotonic_ns;
use homenode_trace::SampleUnit;
use std::path::Path;
use std::time::Duration;

pub(crate) const LOADS: u64 = 70;
pub(crate) const STORES: u64 = 71;
/// A load that local memory, or another node's, answered; a store that hit or missed the caches.
pub(crate) const LOCAL: u64 = 2 | (2 | 0x80) << 5;
pub(crate) const REMOTE: u64 = 2 | (2 | 0x100) << 5;
pub(crate) const STORE_HIT: u64 = 4 | (2 | 8) << 5;
pub(crate) const STORE_MISS: u64 = 4 | (4 | 8) << 5;

const SKYLAKE: [(&str, &str); 7] = [
    ("type", "4"),
    ("format/event", "config:0-7"),
    ("format/umask", "config:8-15"),
    ("format/ldlat", "config1:0-15"),
    ("caps/max_precise", "3"),
    ("events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
    ("events/mem-stores", "event=0xd0,umask=0x82"),
];

/// What the backend would open there.
pub(crate) fn skylake(dir: &Path) -> EventPlan {
    for (name, text) in SKYLAKE {
        let path = dir.join("bus/event_source/devices/cpu").join(name);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        std::fs::write(path, text).expect("written");
    }
    EventChoice::Memory.plan(dir, 1000).expect("PEBS")
}

/// One sample.
#[derive(Clone, Copy)]
pub(crate) struct Put {
    pub(crate) event: u64,
    pub(crate) tid: u32,
    pub(crate) addr: u64,
    pub(crate) period: u64,
    pub(crate) cpu: u64,
    pub(crate) source: u64,
}

/// Writes records; every one is a microsecond younger than the one before.
pub(crate) struct Kernel {
    pub(crate) pid: u32,
    time_ns: u64,
    bytes: Vec<u8>,
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn text(s: &str) -> Vec<u8> {
    let mut bytes = s.as_bytes().to_vec();
    bytes.resize((s.len() + 1).next_multiple_of(8), 0);
    bytes
}

impl Kernel {
    pub(crate) fn new(pid: u32) -> Kernel {
        Kernel { pid, time_ns: monotonic_ns(), bytes: Vec::new() }
    }
    fn now(&mut self) -> u64 {
        self.time_ns += 1000;
        self.time_ns
    }
    fn words(&mut self, all: &[u64]) {
        self.bytes.extend(all.iter().flat_map(|w| w.to_le_bytes()));
    }
    fn head(&mut self, kind: u32, misc: u16, body: usize) {
        let size = u16::try_from(8 + body).expect("a small record");
        self.bytes.extend([&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes()].concat());
    }
    /// Thread, time, processor and identity after every record that is no sample (`sample_id_all`).
    fn side(&mut self, kind: u32, tid: u32, time: u64, body: &[u64], name: &[u8]) {
        self.head(kind, 0, body.len() * 8 + name.len() + 32);
        self.words(body);
        self.bytes.extend(name);
        self.words(&[pair(self.pid, tid), time, 0, LOADS]);
    }
    pub(crate) fn comm(&mut self, name: &str) {
        let (time, id) = (self.now(), pair(self.pid, self.pid));
        self.side(3, self.pid, time, &[id], &text(name));
    }
    /// MMAP2: where, how long, offset in the file, protection.
    pub(crate) fn map(&mut self, addr: u64, bytes: u64, offset: u64, prot: u32, path: &str) {
        let (time, id) = (self.now(), pair(self.pid, self.pid));
        self.side(10, self.pid, time, &[id, addr, bytes, offset, pair(8, 1), 77, 1, pair(prot, 2)], &text(path));
    }
    pub(crate) fn fork(&mut self, tid: u32) {
        let time = self.now();
        self.side(7, self.pid, time, &[pair(self.pid, self.pid), pair(tid, self.pid), time], &[]);
    }
    pub(crate) fn exit(&mut self, tid: u32) {
        let time = self.now();
        self.side(4, tid, time, &[pair(self.pid, self.pid), pair(tid, self.pid), time], &[]);
    }
    pub(crate) fn lost(&mut self, records: u64) {
        let time = self.now();
        self.side(2, self.pid, time, &[LOADS, records], &[]);
    }
    /// IDENTIFIER, IP, TID, TIME, ADDR, CPU, PERIOD, WEIGHT_STRUCT, DATA_SRC.
    pub(crate) fn sample(&mut self, p: Put) {
        let time = self.now();
        self.head(9, 0x4002, 72);
        let thread = pair(self.pid, p.tid);
        self.words(&[p.event, 0x40_1010, thread, time, p.addr, p.cpu, p.period, 300 | 7 << 32, p.source]);
    }
}

/// The backend whose rings are written by `script` for the process that the recorder holds.
pub(crate) struct Written<F> {
    pub(crate) plan: EventPlan,
    pub(crate) script: F,
}

impl<F: FnMut(&mut Kernel)> Sampler for Written<F> {
    fn name(&self) -> &'static str {
        "perf"
    }
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError> {
        let mut kernel = Kernel::new(subject.pid);
        (self.script)(&mut kernel);
        let decoder = self.plan.decoder([(0, LOADS), (1, STORES)].into_iter());
        Ok(Box::new(Ring { plan: self.plan.clone(), decoder, bytes: kernel.bytes, read: 0 }))
    }
}

/// A ring of 4 KiB: written and drained in turns, wrapping as it goes; records lie across the end of the area.
struct Ring {
    plan: EventPlan,
    decoder: Decoder,
    bytes: Vec<u8>,
    read: usize,
}

const AREA: usize = 4096;

impl Ring {
    /// Whole records that fit into the area, through the area.
    fn drained(&mut self) -> Vec<u8> {
        let mut end = self.read;
        while let Some(size) = self.bytes.get(end + 6..end + 8).map(|b| usize::from(b[0]) | usize::from(b[1]) << 8) {
            if end + size - self.read > AREA {
                break;
            }
            end += size;
        }
        let mut area = [0; AREA];
        (self.read..end).for_each(|i| area[i % AREA] = self.bytes[i]);
        let out = (self.read..end).map(|i| area[i % AREA]).collect();
        self.read = end;
        out
    }
}

impl SampleSource for Ring {
    fn unit(&self) -> SampleUnit {
        self.plan.unit
    }
    fn event(&self) -> String {
        self.plan.words.clone()
    }
    fn sees_writes(&self) -> bool {
        self.plan.sees_writes
    }
    fn poll(
        &mut self,
        timeout: Duration,
        samples: &mut Vec<RawSample>,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError> {
        let bytes = self.drained();
        self.decoder.decode(&bytes, samples, notices);
        assert_eq!(self.decoder.counts.damaged, 0, "every record is understood");
        if bytes.is_empty() {
            std::thread::sleep(timeout);
        }
        Ok(true)
    }
    fn set_rate(&mut self, _: u64) -> Result<(), SamplingError> {
        Ok(())
    }
    fn lost(&self) -> u64 {
        self.decoder.counts.lost
    }
    fn unaddressed(&self) -> u64 {
        self.decoder.counts.unaddressed + self.decoder.counts.kernel
    }
}
