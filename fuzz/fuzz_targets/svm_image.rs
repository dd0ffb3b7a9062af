//! Any bytes as an image of a program's variables: what is accepted is written again as it was read, and nothing panics.
#![no_main]
use homenode_svm::image::{Image, private_areas};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(image) = Image::parse(data) {
        assert!(image.data.iter().all(|(range, bytes)| range.end - range.start == bytes.len() as u64));
        assert_eq!(image.bytes(), data);
    }
    // The same bytes as what the system says of a process's memory.
    for (range, what) in private_areas(&String::from_utf8_lossy(data), &[]) {
        assert!(data.len() >= "0-1 rwp".len() && what.starts_with("its ") && range.start < range.end);
    }
});
