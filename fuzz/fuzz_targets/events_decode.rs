//! Any bytes as a chunk of events: no panic; what is accepted survives being written again.
#![no_main]
use homenode_fuzz::repaired;
use homenode_trace::dataset::scan_events;
use homenode_trace::events::{EventEncoder, decode_chunk};
use homenode_trace::framing::Codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = scan_events(data);
    let bytes = repaired(data, b"HNEV");
    let mut events = Vec::new();
    if decode_chunk(&bytes, &mut Vec::new(), &mut events).is_ok() {
        let mut again = Vec::new();
        EventEncoder::default().encode(0, &events, Codec::Lz4, &mut again);
        let (back, good, fault) = scan_events(&again);
        assert!(back == events && good == again.len() && fault.is_none());
    }
});
