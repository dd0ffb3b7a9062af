//! From the bytes of a ring, as a processor with PEBS fills it, to what a placement is computed from: who uses which page.
use super::bytes::{record, words};
use super::machines::SKYLAKE;
use crate::perf::event::EventChoice;
use homenode_base::Rng;
use std::collections::BTreeMap;
use std::fs;

const PAGE: u64 = 4096;
const LOCAL: u64 = 2 | (2 | 0x80) << 5;
const REMOTE: u64 = 2 | (2 | 0x100) << 5;
const STORE_MISS: u64 = 4 | (4 | 8) << 5;

/// A ring of 4 KiB between a writer that wraps and a reader that drains now and then.
struct Ring {
    area: Vec<u8>,
    head: u64,
    tail: u64,
}

impl Ring {
    fn put(&mut self, bytes: &[u8]) -> bool {
        if self.head - self.tail + bytes.len() as u64 > self.area.len() as u64 {
            return false;
        }
        for b in bytes {
            let at = (self.head % self.area.len() as u64) as usize;
            self.area[at] = *b;
            self.head += 1;
        }
        true
    }
    fn drain(&mut self) -> Vec<u8> {
        let n = self.area.len() as u64;
        let out = (self.tail..self.head).map(|i| self.area[(i % n) as usize]).collect();
        self.tail = self.head;
        out
    }
}

#[test]
fn ring_bytes_of_pebs_become_exact_counts_by_thread_and_page() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in SKYLAKE {
        let path = dir.path().join("bus/event_source/devices").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let plan = EventChoice::Memory.plan(dir.path(), 1000).unwrap();
    let mut decoder = plan.decoder([(0, 70), (1, 71)].into_iter());
    let mut ring = Ring { area: vec![0; 4096], head: 0, tail: 0 };
    let mut rng = Rng::new(9);
    let mut truth: BTreeMap<(u64, u32), u64> = BTreeMap::new();
    let (mut samples, mut notices, mut lost) = (Vec::new(), Vec::new(), 0);
    for time in 0..20_000 {
        let (page, tid) = (0x7f00_0000 + rng.below(50), 100 + rng.below(4) as u32);
        let (id, src) = [(70, LOCAL), (70, REMOTE), (71, STORE_MISS)][rng.below(3) as usize];
        let period = 900 + rng.below(200);
        let addr = page * PAGE + rng.below(PAGE);
        // IDENTIFIER, IP, TID, TIME, ADDR, CPU, PERIOD, WEIGHT_STRUCT, DATA_SRC.
        let thread = 99 | u64::from(tid) << 32;
        let body = words(&[id, 0x40_1000, thread, time, addr, 2, period, 300 | 7 << 32, src]);
        if ring.put(&record(9, 0x4002, &body)) {
            *truth.entry((page, tid)).or_default() += period;
        } else {
            lost += 1;
        }
        if rng.chance(1, 40) {
            decoder.decode(&ring.drain(), &mut samples, &mut notices);
            if lost > 0 {
                assert!(ring.put(&record(2, 0, &words(&[70, lost]))));
                lost = 0;
            }
        }
    }
    decoder.decode(&ring.drain(), &mut samples, &mut notices);
    let mut counts: BTreeMap<(u64, u32), u64> = BTreeMap::new();
    for s in &samples {
        *counts.entry((s.addr / PAGE, s.tid)).or_default() += u64::from(s.weight);
    }
    assert_eq!(counts, truth);
    let c = decoder.counts;
    assert_eq!((c.damaged, c.seen), (0, samples.len() as u64));
    assert_eq!(c.seen + c.lost + lost, 20_000);
    assert!(c.lost > 0, "the ring did overflow");
    assert!(samples.iter().all(|s| s.latency_cycles == Some(300) && s.cpu == Some(2) && s.pid == 99));
}
