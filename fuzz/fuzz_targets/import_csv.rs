//! Tables of references as text.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| homenode_fuzz::import::file("csv", data));
