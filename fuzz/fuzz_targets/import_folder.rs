//! A trace folder of drmemtrace: files of threads or of processors, packed or not, and the list of functions.
#![no_main]
use homenode_fuzz::import::{read, unpacked};
use homenode_import::Input;
use homenode_sys::dir::Dir;
use libfuzzer_sys::fuzz_target;
use std::fs;

fuzz_target!(|data: &[u8]| {
    let folder = homenode_fuzz::folder();
    for (name, bytes) in unpacked(data) {
        fs::write(folder.path().join(name), bytes).expect("memory takes it");
    }
    let dir = Dir::open(folder.path()).expect("it was just made");
    read("drmemtrace", Input::Folder(&dir));
});
