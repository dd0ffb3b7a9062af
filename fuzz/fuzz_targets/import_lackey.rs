//! Logs of lackey.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| homenode_fuzz::import::file("lackey", data));
