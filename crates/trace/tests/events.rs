//! Events of any kind through the chunks of their file.
mod common;
use common::{cases, check};
use homenode_base::CpuMask;
use homenode_trace::Event;
use homenode_trace::dataset::scan_events;
use homenode_trace::event::{AffinityHow, AllocSource, EventKind as E, SyncKind};
use homenode_trace::events::EventEncoder;
use homenode_trace::framing::Codec;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers of all lengths.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u8).prop_map(|(n, shift)| n >> shift)
}

fn sync() -> impl Strategy<Value = (u64, u64, u64, SyncKind)> {
    let kind =
        (0..16_u8, any::<u32>()).prop_map(|(code, parties)| SyncKind::of_code(code, parties).unwrap_or_default());
    (number(), number(), number(), kind)
}

fn kinds() -> impl Strategy<Value = E> {
    let sources = select(&[AllocSource::Heap, AllocSource::Stack, AllocSource::Map, AllocSource::Shared][..]);
    let how = select(&[AffinityHow::Call, AffinityHow::Seen, AffinityHow::Inherited][..]);
    let id = any::<u32>;
    prop_oneof![
        Just(E::Exit),
        (id(), id()).prop_map(|(pid, parent)| E::Process { pid, parent }),
        sync().prop_map(|(object, epoch, seq, sync)| E::Release { object, epoch, seq, sync }),
        sync().prop_map(|(object, epoch, seq, sync)| E::Acquire { object, epoch, seq, sync }),
        sync().prop_map(|(object, epoch, seq, sync)| E::AcqRel { object, epoch, seq, sync }),
        id().prop_map(|child| E::Spawn { child }),
        (number(), number(), sources, vec(any::<u64>(), 0..20)).prop_map(|(addr, bytes, source, stack)| E::Alloc {
            addr,
            bytes,
            source,
            stack
        }),
        number().prop_map(|addr| E::Free { addr }),
        (number(), number(), id(), id(), (number(), number(), proptest::option::of(number()))).prop_map(
            |(addr, bytes, prot, flags, (device, inode, offset))| E::Map {
                addr,
                bytes,
                prot,
                flags,
                device,
                inode,
                offset
            },
        ),
        (number(), number()).prop_map(|(addr, bytes)| E::Unmap { addr, bytes }),
        (number(), number(), 0..4_usize).prop_map(|(bias, bytes, n)| E::Module {
            bias,
            bytes,
            path: "/usr/lib/läuft.so".repeat(n)
        }),
        select(&["", "phase", "Länge"][..]).prop_map(|name| E::PhaseBegin { name: name.into() }),
        select(&["", "phase", "Länge"][..]).prop_map(|name| E::PhaseEnd { name: name.into() }),
        number().prop_map(|reads| E::NoWait { reads }),
        id().prop_map(|pid| E::Waited { pid }),
        (id(), how, vec(any::<u64>(), 0..40)).prop_map(|(target, how, words)| E::Affinity {
            target,
            how,
            cpus: CpuMask::from_words(&words)
        }),
    ]
}

#[test]
fn any_events_survive_in_every_codec() {
    let event = (0..5_u32, number(), number(), kinds());
    let events = vec(event.prop_map(|(thread, at, stamp, kind)| Event { thread, at, stamp, kind }), 0..60);
    check(cases(300, 20_000), &events, |events| {
        for codec in [Codec::Raw, Codec::Lz4, Codec::Zstd] {
            let mut bytes = Vec::new();
            EventEncoder::default().encode(0, &events, codec, &mut bytes);
            let (read, _, fault) = scan_events(&bytes);
            assert!(fault.is_none() && read == events, "{codec:?}: {fault:?} {read:?}");
        }
    });
}
