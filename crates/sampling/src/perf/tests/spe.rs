//! SPE packets made byte by byte.
use crate::perf::spe::{SpeRecord, decode};
use homenode_trace::{DataSource, Op};

fn packet(header: &[u8], payload: &[u8]) -> Vec<u8> {
    [header, payload].concat()
}

fn load() -> Vec<u8> {
    [
        packet(&[0xb0], &0x80ff_0000_0040_1000_u64.to_le_bytes()),
        packet(&[0x65], &4321_u32.to_le_bytes()),
        packet(&[0x49], &[0]),
        packet(&[0x52], &0x0216_u16.to_le_bytes()),
        packet(&[0x98], &321_u16.to_le_bytes()),
        packet(&[0x99], &7_u16.to_le_bytes()),
        packet(&[0xb2], &0x5a00_ffff_8000_1234_u64.to_le_bytes()),
        packet(&[0x43], &[0xe]),
        packet(&[0x71], &99_u64.to_le_bytes()),
    ]
    .concat()
}

fn wanted() -> SpeRecord {
    SpeRecord {
        pc: 0xff_0000_0040_1000,
        addr: Some(0xffff_8000_1234),
        op: Some(Op::Read),
        latency_cycles: Some(321),
        ticks: Some(99),
        context: Some(4321),
        events: 0x216,
        source_code: Some(0xe),
    }
}

fn all(bytes: &[u8]) -> (Vec<SpeRecord>, u64) {
    let mut out = Vec::new();
    let bad = decode(bytes, &mut out);
    (out, bad)
}

#[test]
fn a_load_a_store_and_an_atomic_are_read() {
    let store = [packet(&[0x49], &[1]), packet(&[0x20, 0xb2], &64_u64.to_le_bytes()), vec![0x01]].concat();
    let atomic = [packet(&[0x49], &[0x07]), packet(&[0xb2], &128_u64.to_le_bytes()), vec![0x01]].concat();
    let branch = [packet(&[0x4a], &[1]), packet(&[0xb1], &[0; 8]), vec![0x01]].concat();
    let (records, bad) = all(&[load(), vec![0; 5], store, atomic, branch].concat());
    assert_eq!((records.len(), bad), (4, 0));
    assert_eq!(records[0], wanted());
    assert_eq!((records[1].op, records[1].addr), (Some(Op::Write), Some(64)));
    assert_eq!((records[2].op, records[2].addr), (Some(Op::Atomic), Some(128)));
    assert_eq!((records[3].op, records[3].addr), (None, None));
}

#[test]
fn alignment_jumps_to_the_next_boundary_and_indices_beyond_seven_are_others() {
    // 0x23 aligns to 16 bytes.
    let far = [vec![0x23, 0x00], vec![0xff; 14], load()].concat();
    assert_eq!(all(&far), (vec![wanted()], 0));
    let other = [packet(&[0x21, 0xb2], &64_u64.to_le_bytes()), vec![0x01]].concat();
    assert_eq!(all(&other).0[0].addr, None);
}

#[test]
fn sources_come_from_codes_of_known_cores_and_else_from_events() {
    let of = |source_code, events, neoverse| SpeRecord { source_code, events, ..SpeRecord::default() }.source(neoverse);
    assert_eq!(of(Some(0xe), 0, true), DataSource::LocalMemory);
    assert_eq!(of(Some(0xd), 0, true), DataSource::RemoteCache);
    assert_eq!(of(Some(0x8), 0, true), DataSource::Cache);
    assert_eq!(of(Some(0xe), 0, false), DataSource::Unknown);
    assert_eq!(of(None, 1 << 10 | 1 << 9, true), DataSource::RemoteMemory);
    assert_eq!(of(None, 1 << 9, false), DataSource::LocalMemory);
    assert_eq!(of(None, 1 << 2, false), DataSource::Cache);
    assert_eq!(of(None, 1 << 2 | 1 << 3, false), DataSource::Unknown);
}

#[test]
fn damage_is_counted_and_the_next_record_is_found_again() {
    let (records, bad) = all(&[vec![0xff, 0xff, 0xff], load()].concat());
    assert_eq!((records.last(), bad > 0), (Some(&wanted()), true));
    for n in 0..load().len() {
        assert!(all(&load()[..n]).0.is_empty(), "{n}");
    }
    let mut rng = homenode_base::Rng::new(2);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..rng.below(64)).map(|_| rng.next_u64() as u8).collect();
        let (records, bad) = all(&bytes);
        assert!(records.len() as u64 + bad <= bytes.len() as u64);
    }
}
