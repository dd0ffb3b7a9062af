//! Tables of references as Parquet. The library that reads it panics at some damaged files, which is an error to whoever reads: the hook
//! that ends the process at a panic is set before the one that keeps quiet at these (`homenode_import`), and is not asked.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| homenode_fuzz::import::file("parquet", data));
