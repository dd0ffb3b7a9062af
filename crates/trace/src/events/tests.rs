use super::*;
use crate::event::{AffinityHow, AllocSource, Event, EventKind, SyncKind};
use crate::framing::Codec;
use homenode_base::{CpuMask, Rng};

pub(crate) fn random_kind(rng: &mut Rng) -> EventKind {
    let mut n = || rng.next_u64() >> rng.below(64);
    let (a, b, c) = (n(), n(), n());
    let sync = SyncKind::of_code(rng.below(16) as u8, a as u32).unwrap_or_default();
    match rng.below(16) {
        0 => EventKind::Process { pid: a as u32, parent: b as u32 },
        1 => EventKind::Release { object: a, epoch: b, seq: c, sync },
        2 => EventKind::Acquire { object: a, epoch: b, seq: c, sync },
        3 => EventKind::AcqRel { object: a, epoch: b, seq: c, sync },
        4 => EventKind::Spawn { child: a as u32 },
        5 => EventKind::Exit,
        6 => {
            let sources = [AllocSource::Heap, AllocSource::Stack, AllocSource::Map, AllocSource::Shared];
            let source = sources[rng.below(4) as usize];
            EventKind::Alloc { addr: a, bytes: b, source, stack: (0..rng.below(20)).map(|_| rng.next_u64()).collect() }
        }
        7 => EventKind::Free { addr: a },
        8 => EventKind::Map {
            addr: a,
            bytes: b,
            prot: c as u32,
            flags: a as u32,
            device: b,
            inode: c,
            offset: (a % 2 == 0).then_some(c),
        },
        9 => EventKind::Unmap { addr: a, bytes: b },
        10 => EventKind::Module { bias: a, bytes: b, path: "/usr/lib/läuft.so".repeat(rng.below(4) as usize) },
        11 => EventKind::PhaseBegin { name: "phase".into() },
        14 => EventKind::NoWait { reads: a },
        12 => EventKind::Waited { pid: a as u32 },
        13 => {
            let how = [AffinityHow::Call, AffinityHow::Seen, AffinityHow::Inherited][rng.below(3) as usize];
            let words: Vec<u64> = (0..rng.below(40)).map(|_| rng.next_u64()).collect();
            EventKind::Affinity { target: a as u32, how, cpus: CpuMask::from_words(&words) }
        }
        _ => EventKind::PhaseEnd { name: String::new() },
    }
}

fn random_events(seed: u64, n: usize) -> Vec<Event> {
    let mut rng = Rng::new(seed);
    let mut event = || Event {
        thread: rng.below(5) as u32,
        at: rng.next_u64() >> rng.below(64),
        stamp: rng.next_u64() >> rng.below(64),
        kind: random_kind(&mut rng),
    };
    (0..n).map(|_| event()).collect()
}

fn decode_all(mut bytes: &[u8]) -> Vec<Event> {
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    while !bytes.is_empty() {
        let before = out.len() as u64;
        let chunk = decode_chunk(bytes, &mut scratch, &mut out).expect("undamaged");
        assert_eq!((chunk.first, chunk.events as usize), (before, out.len() - before as usize));
        bytes = &bytes[chunk.len..];
    }
    out
}

#[test]
fn every_kind_survives_in_every_codec() {
    for codec in [Codec::Raw, Codec::Lz4, Codec::Zstd] {
        let events = random_events(codec as u64, 10_000);
        let mut bytes = Vec::new();
        EventEncoder::default().encode(0, &events, codec, &mut bytes);
        assert_eq!(decode_all(&bytes), events);
    }
}

#[test]
fn long_names_and_stacks_are_cut_not_refused() {
    let long = "é".repeat(TEXT_BYTES_MAX);
    let stack = vec![u64::MAX; STACK_MAX + 7];
    let alloc = EventKind::Alloc { addr: 0, bytes: u64::MAX, source: AllocSource::Heap, stack };
    let events = [EventKind::PhaseBegin { name: long }, alloc].map(|kind| Event { thread: 0, at: 0, stamp: 0, kind });
    let mut bytes = Vec::new();
    EventEncoder::default().encode(0, &events, Codec::Lz4, &mut bytes);
    let back = decode_all(&bytes);
    assert!(matches!(&back[0].kind, EventKind::PhaseBegin { name } if name.len() == TEXT_BYTES_MAX));
    assert!(matches!(&back[1].kind, EventKind::Alloc { stack, .. } if stack.len() == STACK_MAX));
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let mut bytes = Vec::new();
    EventEncoder::default().encode(7, &random_events(9, 60), Codec::Raw, &mut bytes);
    let decode = |b: &[u8]| decode_chunk(b, &mut Vec::new(), &mut Vec::new());
    for n in 0..bytes.len() {
        assert!(decode(&bytes[..n]).is_err(), "cut at {n}");
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[n] ^= 1 << bit;
            assert!(decode(&bad).is_err(), "bit {bit} of byte {n}");
        }
    }
}
