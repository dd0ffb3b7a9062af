//! Every field of every layout, by a writer that knows the order of perf_event_open(2) and nothing of the reader.
use crate::perf::notices::{Side, side};
use crate::perf::records::{Fields, Layout, Record, Records, fields, trailer};
use crate::perf::{Decoder, EventFacts};
use crate::samples::Notice;
use homenode_base::Rng;
use homenode_sys::perf::attr::sample as s;
use homenode_trace::Op;

/// One record with its header.
pub(super) fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &(8 + body.len() as u16).to_le_bytes(), body].concat()
}

pub(super) fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A sample's body for any layout, and the fields that a reader should find.
fn written(l: &Layout, rng: &mut Rng) -> (Vec<u8>, [u64; 12]) {
    let mut out = Vec::new();
    let mut seen = [0; 12];
    let has = |f: u64| l.sample_type & f != 0;
    let simple = [(s::IDENTIFIER, 0), (s::IP, 1), (s::TID, 2), (s::TIME, 3), (s::ADDR, 4), (s::ID, 0)];
    for (field, place) in simple.into_iter().chain([(s::STREAM_ID, 11), (s::CPU, 5), (s::PERIOD, 6)]) {
        if has(field) {
            seen[place] = rng.next_u64();
            out.extend(words(&[seen[place]]));
        }
    }
    variable(l, rng, &mut out, &mut seen);
    for (field, place) in [(s::WEIGHT | s::WEIGHT_STRUCT, 7), (s::DATA_SRC, 8), (s::TRANSACTION, 11)] {
        if has(field) {
            seen[place] = rng.next_u64();
            out.extend(words(&[seen[place]]));
        }
    }
    if has(s::REGS_INTR) {
        let registers: Vec<u64> = (0..l.regs_intr.count_ones()).map(|_| rng.next_u64()).collect();
        seen[10] = registers.first().copied().unwrap_or(0);
        out.extend(words(&[2]));
        out.extend(words(&registers));
    }
    (out, seen)
}

fn variable(l: &Layout, rng: &mut Rng, out: &mut Vec<u8>, seen: &mut [u64; 12]) {
    let has = |f: u64| l.sample_type & f != 0;
    let mut some = |n: u64, out: &mut Vec<u8>| (0..n).for_each(|_| out.extend(words(&[rng.next_u64()])));
    if has(s::READ) {
        let each = 1 + u64::from((l.read_format & 20).count_ones());
        let times = u64::from((l.read_format & 3).count_ones());
        if l.read_format & 8 != 0 {
            out.extend(words(&[3]));
            some(times + 3 * each, out);
        } else {
            some(times + each, out);
        }
    }
    if has(s::CALLCHAIN) {
        out.extend(words(&[5]));
        some(5, out);
    }
    if has(s::RAW) {
        out.extend(12_u32.to_le_bytes());
        out.extend([7; 12]);
    }
    if has(s::BRANCH_STACK) {
        out.extend(words(&[2]));
        let index = l.branch_sample_type >> 17 & 1;
        some(index + 2 * 3 + 2 * (l.branch_sample_type >> 19 & 1), out);
    }
    if has(s::REGS_USER) {
        out.extend(words(&[2]));
        seen[9] = 0x1234_5678;
        out.extend(words(&[0x1234_5678]));
        some(u64::from(l.regs_user.count_ones()) - 1, out);
    }
    if has(s::STACK_USER) {
        out.extend(words(&[16]));
        some(3, out);
    }
}

fn read(f: &Fields<'_>) -> [u64; 12] {
    let first = |r: Option<crate::perf::records::Registers<'_>>| r.and_then(|r| r.get(r.mask.trailing_zeros()));
    let tid = u64::from(f.pid) | u64::from(f.tid) << 32;
    [
        f.id,
        f.ip,
        tid,
        f.time,
        f.addr,
        f.cpu.map_or(0, u64::from),
        f.period,
        f.weight,
        f.data_src,
        first(f.regs_user).unwrap_or(0),
        first(f.regs_intr).unwrap_or(0),
        0,
    ]
}

#[test]
fn every_combination_of_fields_is_read_where_it_was_written_and_cuts_are_noticed() {
    let mut rng = Rng::new(42);
    for _ in 0..5000 {
        let layout = Layout {
            sample_type: rng.next_u64() & 0x1f_ffff & !(s::PHYS_ADDR | s::AUX),
            read_format: rng.next_u64() & 31,
            branch_sample_type: rng.next_u64() & (1 << 17 | 1 << 19),
            regs_user: rng.next_u64() | 1 << 3,
            regs_intr: rng.next_u64() | 1 << 5,
            sample_id_all: true,
        };
        let (body, mut wanted) = written(&layout, &mut rng);
        wanted[5] &= 0xffff_ffff;
        wanted[11] = 0;
        let found = fields(&body, &layout).expect("it is whole");
        assert_eq!(read(&found), wanted, "{layout:x?}");
        if !body.is_empty() {
            // The last field may be one that only this reader passes over; all that it needs must be there.
            assert_eq!(fields(&body[..body.len() - 1], &layout), None, "{layout:x?}");
        }
    }
}

#[test]
fn registers_are_found_by_number_and_none_where_the_kernel_had_none() {
    let layout = Layout { sample_type: s::REGS_USER, regs_user: 0b1010_0001, ..Layout::default() };
    let f = fields(&words(&[2, 10, 50, 70]), &layout).map(|f| f.regs_user.unwrap().get(5));
    assert_eq!(f, Some(Some(50)));
    let body = words(&[2, 10, 50, 70]);
    let r = fields(&body, &layout).unwrap().regs_user.unwrap();
    assert_eq!(
        [0, 5, 7, 1, 63, 64, u32::MAX].map(|n| r.get(n)),
        [Some(10), Some(50), Some(70), None, None, None, None]
    );
    assert_eq!(fields(&words(&[0]), &layout).unwrap().regs_user, None);
}

#[test]
fn hostile_sizes_are_refused_and_bad_headers_end_the_walk() {
    for (field, body) in [
        (s::CALLCHAIN, words(&[u64::MAX, 1])),
        (s::RAW, words(&[u64::MAX])),
        (s::BRANCH_STACK, words(&[1 << 61, 1])),
        (s::STACK_USER, words(&[u64::MAX, 0])),
        (s::READ, words(&[u64::MAX])),
    ] {
        let layout = Layout { sample_type: field, read_format: 8 | 31, ..Layout::default() };
        assert_eq!(fields(&body, &layout), None, "{field:#x}");
    }
    for size in [0_u16, 7, 9, 100] {
        let mut bytes = record(9, 0, &[]);
        bytes[6..8].copy_from_slice(&size.to_le_bytes());
        let mut walk = Records::new(&bytes);
        assert_eq!((walk.next(), walk.rest().len()), (None, 8), "{size}");
    }
    let bytes = [record(4, 1, &[1, 2]), record(7, 2, &[])].concat();
    let all: Vec<Record<'_>> = Records::new(&bytes).collect();
    assert_eq!(all, [Record { kind: 4, misc: 1, body: &[1, 2] }, Record { kind: 7, misc: 2, body: &[] }]);
}

#[test]
fn records_beside_samples_become_notices() {
    let layout = Layout { sample_type: s::IDENTIFIER | s::TID | s::TIME, sample_id_all: true, ..Layout::default() };
    let end = words(&[0, 777, 9]);
    let say = |kind: u32, body: Vec<u8>| side(&Record { kind, misc: 0, body: &body }, &layout);
    let two = |a: u64, b: u64| a | b << 32;
    assert_eq!(
        say(7, words(&[two(5, 1), two(6, 2), 99])),
        Some(Side::Notice(Notice::Fork { time_ns: 99, pid: 5, tid: 6, parent_pid: 1, parent_tid: 2 }))
    );
    assert_eq!(
        say(4, words(&[two(5, 1), two(6, 2), 98])),
        Some(Side::Notice(Notice::Exit { time_ns: 98, pid: 5, tid: 6 }))
    );
    assert_eq!(say(2, words(&[1, 12])), Some(Side::Notice(Notice::Lost(12))));
    assert_eq!(say(13, words(&[13])), Some(Side::Notice(Notice::Lost(13))));
    assert_eq!(say(5, words(&[1, 2, 3])), Some(Side::Notice(Notice::Throttled)));
    assert_eq!(say(11, words(&[1, 2, 3])), Some(Side::Aux { offset: 1, bytes: 2, flags: 3 }));
    let map = |kind: u32, middle: &[u64], path: &[u8]| {
        say(kind, [words(&[two(5, 6), 0x1000, 0x2000, 0x3000]), words(middle), path.to_vec(), end.clone()].concat())
    };
    let expect = |prot: u32, path: &str| {
        let path = path.to_owned();
        Some(Side::Notice(Notice::Map {
            time_ns: 777,
            pid: 5,
            addr: 0x1000,
            bytes: 0x2000,
            file_offset: 0x3000,
            prot,
            path,
        }))
    };
    assert_eq!(map(1, &[], b"/bin/a\0\0"), expect(0, "/bin/a"));
    assert_eq!(map(10, &[0, 0, 0, two(5, 2)], b"/bin/b\0\0"), expect(5, "/bin/b"));
    assert_eq!(map(10, &[0, 0, 0, two(3, 2)], b"//anon\0\0"), expect(3, ""));
    let named = say(3, [words(&[two(5, 6)]), b"worker\0\0".to_vec(), end.clone()].concat());
    assert_eq!(named, Some(Side::Name { pid: 5, tid: 6, name: "worker".to_owned() }));
    assert_eq!(say(1234, vec![]), Some(Side::Other));
    for kind in [1, 2, 3, 4, 7, 10, 11, 13] {
        assert_eq!(say(kind, vec![0; 7]), None, "{kind}");
    }
    assert_eq!(trailer(&end, &layout).map(|t| (t.time, t.id, t.bytes)), Some((777, 9, 24)));
}

#[test]
fn the_decoder_counts_what_it_drops() {
    let layout = Layout { sample_type: s::ADDR | s::DATA_SRC | s::ID, ..Layout::default() };
    let event = |id| EventFacts { id, op: Op::Write, period: 7, only_misses: true };
    let mut d = Decoder::new(layout, vec![event(2), event(1)]);
    let (mut samples, mut notices) = (Vec::new(), Vec::new());
    const STORE_HIT: u64 = 4 | (2 | 8) << 5;
    const STORE_MISS: u64 = 4 | (4 | 8) << 5;
    let one = |addr: u64, id: u64, src: u64| record(9, 0, &words(&[addr, id, src]));
    let bytes = [
        one(0x1000, 1, STORE_MISS),
        one(0x2000, 2, STORE_HIT),
        one(0, 1, 0),
        one(1 << 63, 1, 0),
        one(0x3000, 3, 0),
        record(9, 0, &[1]),
        record(2, 0, &words(&[1, u64::MAX])),
        record(13, 0, &words(&[5])),
        vec![1, 2, 3],
    ];
    d.decode(&bytes.concat(), &mut samples, &mut notices);
    let c = d.counts;
    assert_eq!((c.seen, c.delivered, c.hits, c.unaddressed, c.kernel), (6, 1, 1, 1, 1));
    assert_eq!((c.damaged, c.lost), (3, u64::MAX));
    assert_eq!((samples[0].addr, samples[0].op, samples[0].weight), (0x1000, Op::Write, 7));
    assert_eq!(notices.len(), 2);
}
