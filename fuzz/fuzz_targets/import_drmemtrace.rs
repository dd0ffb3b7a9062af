//! One file of drmemtrace, packed or not: taken or refused, and what is taken comes in order.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| homenode_fuzz::import::file("drmemtrace", data));
