//! Registers for tests.
use super::{Access, Dropped, Isa, When, accesses};
use crate::perf::records::{Layout, Registers, fields};
use homenode_sys::perf::attr::sample;

/// Where the instruction stands.
pub(super) const IP: u64 = 0x40_1000;

/// Asks for the accesses with these values in the registers named by `mask`.
pub(super) fn run(
    isa: Isa,
    code: &[u8],
    when: When,
    (abi, mask): (u64, u64),
    values: &[u64],
) -> Result<Vec<Access>, Dropped> {
    with(abi, mask, values, |registers| accesses(isa, code, IP, when, registers))
}

/// As [`run`], for [`super::Ahead`].
pub(super) fn ahead(isa: Isa, code: &[u8], (abi, mask): (u64, u64), values: &[u64]) -> Result<Access, Dropped> {
    with(abi, mask, values, |registers| super::Ahead::read(isa, code, IP, IP).access(registers))
}

/// As [`ahead`], stopped `at` bytes behind the beginning.
pub(super) fn ahead_at(
    isa: Isa,
    code: &[u8],
    at: u64,
    (abi, mask): (u64, u64),
    values: &[u64],
) -> Result<Access, Dropped> {
    with(abi, mask, values, |registers| super::Ahead::read(isa, code, IP, IP + at).access(registers))
}

fn with<T>(abi: u64, mask: u64, values: &[u64], ask: impl FnOnce(&Registers<'_>) -> T) -> T {
    let words: Vec<u64> = values.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|v| *v.1).collect();
    let body: Vec<u8> = [abi].iter().chain(&words).flat_map(|w| w.to_le_bytes()).collect();
    let layout = Layout { sample_type: sample::REGS_USER, regs_user: mask, ..Layout::default() };
    let registers = fields(&body, &layout).unwrap().regs_user.unwrap();
    ask(&registers)
}
