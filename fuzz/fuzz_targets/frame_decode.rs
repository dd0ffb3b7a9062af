//! Any bytes as a frame: no panic, bounded memory, and the plain decoder says the same.
#![no_main]
use homenode_fuzz::repaired;
use homenode_trace::check::plain;
use homenode_trace::frame::{DecodedFrame, decode_frame};
use homenode_trace::framing::{Header, Kind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut frame = DecodedFrame::default();
    let _ = decode_frame(data, &mut frame);
    let bytes = repaired(data, b"HNFR");
    let Ok(header) = Header::parse(&bytes, Kind::Refs) else { return };
    let mut scratch = Vec::new();
    let Ok(payload) = header.open(&bytes, &mut scratch) else { return };
    if header.count > 65_536 {
        assert!(decode_frame(&bytes, &mut frame).is_err());
        return;
    }
    let second = plain::decode(payload, &header);
    match decode_frame(&bytes, &mut frame) {
        Err(_) => assert!(second.is_none(), "only the plain decoder accepts it"),
        Ok(_) => {
            let second = second.expect("the plain decoder accepts it too");
            let first = (0..frame.len()).map(|i| {
                let r = frame.get(i);
                (r.addr, r.size, r.op as u8, frame.pcs[r.site as usize])
            });
            assert!(second.same_columns(&frame), "the decoders agree about columns");
            assert!(first.eq(second.refs), "the decoders agree");
            assert!(frame.samples().iter().all(|s| s.weight >= 1));
        }
    }
});
