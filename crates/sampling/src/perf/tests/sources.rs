//! The kernel's data source words, as processors' drivers build them.
use crate::perf::source_bits::{data_source, operation};
use homenode_trace::DataSource::{
    Cache, Io, LocalMemory, RemoteCache, RemoteMemory, RemoteModified, SlowMemory, Unknown,
};
use homenode_trace::Op;

const LOAD: u64 = 2;
const STORE: u64 = 4;
const HIT: u64 = 2 << 5;
const MISS: u64 = 4 << 5;
const HITM: u64 = 0x10 << 19;
const REMOTE: u64 = 1 << 37;

const fn number(n: u64) -> u64 {
    n << 33
}
const fn hops(n: u64) -> u64 {
    n << 43
}

#[test]
fn old_and_new_levels_are_understood() {
    let cases = [
        (0, Unknown),
        (LOAD | HIT | 0x8 << 5, Cache),
        (LOAD | HIT | 0x10 << 5, Cache),
        (LOAD | HIT | 0x40 << 5, Cache),
        (LOAD | HIT | 0x80 << 5, LocalMemory),
        (LOAD | HIT | 0x100 << 5, RemoteMemory),
        (LOAD | HIT | 0x200 << 5, RemoteMemory),
        (LOAD | HIT | 0x400 << 5, RemoteCache),
        (LOAD | HIT | 0x800 << 5 | HITM, RemoteModified),
        (LOAD | HIT | 0x1000 << 5, Io),
        (LOAD | HIT | 0x2000 << 5, Io),
        (LOAD | MISS | 0x40 << 5, Unknown),
        (STORE | MISS | 0x8 << 5, Unknown),
        (STORE | HIT | 0x8 << 5, Cache),
        (LOAD | number(1), Cache),
        (LOAD | number(3) | HITM, RemoteModified),
        (LOAD | number(0xb) | REMOTE, RemoteCache),
        (LOAD | number(0xb) | hops(1), Cache),
        (LOAD | number(0xb) | hops(2), RemoteCache),
        (LOAD | number(0xc), Cache),
        (LOAD | number(0xd), LocalMemory),
        (LOAD | number(0xd) | REMOTE, RemoteMemory),
        (LOAD | number(0xd) | hops(3), RemoteMemory),
        (LOAD | number(0xd) | HITM, RemoteModified),
        (LOAD | number(6), LocalMemory),
        (LOAD | number(9), SlowMemory),
        (LOAD | number(0xe) | REMOTE, SlowMemory),
        (LOAD | number(8), Io),
        (LOAD | number(0xa), Io),
        (LOAD | number(0xf) | HIT | 0x80 << 5, LocalMemory),
        // Words of a public recording, with what `perf script` says of them.
        (0x6810_0142, Cache),
        (0x118_6810_0242, Cache),
        (0x106_5010_0842, Cache),
    ];
    for (word, wanted) in cases {
        assert_eq!(data_source(word), wanted, "{word:#x}");
    }
}

#[test]
fn locked_accesses_change_memory() {
    assert_eq!(operation(LOAD), Some(Op::Read));
    assert_eq!(operation(STORE), Some(Op::Write));
    assert_eq!(operation(LOAD | 2 << 24), Some(Op::Atomic));
    assert_eq!(operation(STORE | 2 << 24), Some(Op::Atomic));
    assert_eq!(operation(0x6a10_0142), Some(Op::Atomic), "`LCK Yes` in a public recording");
    assert_eq!([0, 1, 8, 16].map(operation), [None; 4]);
}

#[test]
fn any_word_has_an_answer() {
    let mut rng = homenode_base::Rng::new(5);
    for _ in 0..100_000 {
        let word = rng.next_u64();
        let (_, _) = (data_source(word), operation(word));
    }
}
