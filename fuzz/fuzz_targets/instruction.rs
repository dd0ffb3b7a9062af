//! Any bytes as code with any registers: its accesses are known or it is said why not.
#![no_main]
use homenode_sampling::perf::effective::{Isa, When, accesses};
use homenode_sampling::perf::records::{Layout, fields};
use homenode_sys::perf::attr::sample;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((head, rest)) = data.split_at_checked(9) else { return };
    let mask = u64::from_le_bytes(head[1..9].try_into().expect("eight bytes"));
    let (code, body) = rest.split_at(rest.len().min(16));
    let layout = Layout { sample_type: sample::REGS_USER, regs_user: mask, ..Layout::default() };
    // The registers are there only if the bytes reach: the rest is zeros.
    let mut body = body.to_vec();
    body.resize(body.len().max(8 * 66), 0);
    let Some(registers) = fields(&body, &layout).and_then(|f| f.regs_user) else { return };
    for isa in [Isa::X86_64, Isa::Aarch64] {
        for when in [When::Before, When::After] {
            if let Ok(found) = accesses(isa, code, 0x40_1000, when, &registers) {
                assert!(found.iter().all(|a| a.size >= 1));
            }
        }
    }
});
