//! Ring bytes under any layout: whatever they say, everything is counted and nothing panics.
#![no_main]
use homenode_sampling::perf::records::Layout;
use homenode_sampling::perf::{Decoder, EventFacts};
use homenode_trace::Op;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((head, bytes)) = data.split_at_checked(40) else { return };
    let mut words = head.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("chunks of 8")));
    let mut word = || words.next().expect("40 bytes are five words");
    let (sample_type, mix) = (word(), word());
    let layout = Layout {
        sample_type: sample_type & 0x1ff_ffff,
        read_format: mix & 31,
        branch_sample_type: word(),
        regs_user: word(),
        regs_intr: word(),
        sample_id_all: mix & 32 != 0,
    };
    let fact = |id| EventFacts { id, op: Op::Read, period: mix >> 8 & 0xffff, only_misses: mix & 64 != 0 };
    let mut decoder = Decoder::new(layout, (0..1 + (mix >> 7 & 1)).map(fact).collect());
    let (mut samples, mut notices) = (Vec::new(), Vec::new());
    decoder.decode(bytes, &mut samples, &mut notices);
    let c = decoder.counts;
    assert_eq!(c.delivered, samples.len() as u64);
    assert!(c.delivered + c.unaddressed + c.kernel + c.hits <= c.seen);
    assert!(samples.iter().all(|s| s.weight >= 1 && s.size >= 1 && s.addr > 0 && s.addr < 1 << 63));
});
