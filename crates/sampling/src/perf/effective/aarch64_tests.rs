//! Instruction words by hand (and by an assembler), with what each refers to.
use super::testing::{self, IP};
use super::{Access, Dropped, Isa, When};
use When::{After, Before};
use homenode_trace::Op::{self, Atomic, Read, Write};

const SP: usize = 31;
/// All of x0 to x30 and sp.
const ALL: u64 = 0xffff_ffff;

/// Register i holds (i + 1) << 20, so that each address names its registers; the lower half of x9 is -16.
fn values() -> [u64; 32] {
    let mut all = std::array::from_fn(|i| (i as u64 + 1) << 20);
    all[9] = 0x1_ffff_fff0;
    all
}

fn r(number: usize) -> u64 {
    values()[number]
}

fn run(word: u32, when: When) -> Result<Vec<Access>, Dropped> {
    testing::run(Isa::Aarch64, &word.to_le_bytes(), when, (2, ALL), &values())
}

fn one(word: u32, when: When, addr: u64, size: u32, op: Op) {
    assert_eq!(run(word, when), Ok(vec![Access { addr, size, op }]), "{word:#010x} {when:?}");
}

#[test]
fn a_base_and_an_offset() {
    for (word, addr, size, op) in [
        (0xf940_0420, r(1) + 8, 8, Read),      // ldr x0, [x1, #8]
        (0x397f_fc20, r(1) + 4095, 1, Read),   // ldrb w0, [x1, #4095]
        (0xb9bf_fc83, r(4) + 16_380, 4, Read), // ldrsw x3, [x4, #16380]
        (0x3dc0_0820, r(1) + 32, 16, Read),    // ldr q0, [x1, #32]
        (0xb900_0fe2, r(SP) + 12, 4, Write),   // str w2, [sp, #12]
        (0x7900_0462, r(3) + 2, 2, Write),     // strh w2, [x3, #2]
        (0xf85f_8020, r(1) - 8, 8, Read),      // ldur x0, [x1, #-8]
        (0xf840_8820, r(1) + 8, 8, Read),      // ldtr x0, [x1, #8]
        (0x995f_c020, r(1) - 4, 4, Read),      // ldapur w0, [x1, #-4]
        (0xf800_003f, r(1), 8, Write),         // stur xzr, [x1]
        (0x88df_fc20, r(1), 4, Read),          // ldar w0, [x1]
        (0x48df_7c20, r(1), 2, Read),          // ldlarh w0, [x1]
        (0xc89f_ffe0, r(SP), 8, Write),        // stlr x0, [sp]
    ] {
        one(word, Before, addr, size, op);
        one(word, After, addr, size, op);
    }
}

#[test]
fn pairs() {
    for (word, addr, size, op) in [
        (0x2960_0440, r(2) - 256, 8, Read),   // ldp w0, w1, [x2, #-256]
        (0x6941_0440, r(2) + 8, 8, Read),     // ldpsw x0, x1, [x2, #8]
        (0xad7f_0440, r(2) - 32, 32, Read),   // ldp q0, q1, [x2, #-32]
        (0xa81f_8440, r(2) + 504, 16, Write), // stnp x0, x1, [x2, #504]
        (0xc820_8c22, r(1), 16, Write),       // stlxp w0, x2, x3, [x1]
        (0x4820_7c82, r(4), 16, Atomic),      // casp x0, x1, x2, x3, [x4]
    ] {
        one(word, Before, addr, size, op);
    }
}

#[test]
fn what_is_written_back_is_undone_after_the_fact() {
    for (word, before, after, size, op) in [
        (0x7890_0c20, r(1) - 256, r(1), 2, Read),    // ldrsh x0, [x1, #-256]!
        (0xf81f_0fe0, r(SP) - 16, r(SP), 8, Write),  // str x0, [sp, #-16]!
        (0xf841_07e0, r(SP), r(SP) - 16, 8, Read),   // ldr x0, [sp], #16
        (0x381f_f420, r(1), r(1) + 1, 1, Write),     // strb w0, [x1], #-1
        (0xa8c2_7bfd, r(SP), r(SP) - 32, 16, Read),  // ldp x29, x30, [sp], #32
        (0xa9be_7bfd, r(SP) - 32, r(SP), 16, Write), // stp x29, x30, [sp, #-32]!
        (0x4cdf_7820, r(1), r(1) - 16, 16, Read),    // ld1 {v0.4s}, [x1], #16
        (0x4c80_8c20, r(1), r(1) - r(0), 32, Write), // st2 {v0.2d, v1.2d}, [x1], x0
        (0x0d80_2420, r(1), r(1) - r(0), 3, Write),  // st3 {v0.b-v2.b}[1], [x1], x0
    ] {
        one(word, Before, before, size, op);
        one(word, After, after, size, op);
    }
}

#[test]
fn an_index_is_extended_and_shifted() {
    for (word, addr, size, op) in [
        (0xf862_6820, r(1) + r(2), 8, Read),               // ldr x0, [x1, x2]
        (0xf862_7820, r(1) + (r(2) << 3), 8, Read),        // ldr x0, [x1, x2, lsl #3]
        (0xb869_5820, r(1) + (0xffff_fff0 << 2), 4, Read), // ldr w0, [x1, w9, uxtw #2]
        (0x7869_d820, r(1) - 32, 2, Read),                 // ldrh w0, [x1, w9, sxtw #1]
        (0x3869_c820, r(1) - 16, 1, Read),                 // ldrb w0, [x1, w9, sxtw]
        (0xfc22_f820, r(1) + (r(2) << 3), 8, Write),       // str d0, [x1, x2, sxtx #3]
        (0xf87f_6820, r(1), 8, Read),                      // ldr x0, [x1, xzr]
        (0x3ce9_d820, r(1) - 256, 16, Read),               // ldr q0, [x1, w9, sxtw #4]
    ] {
        one(word, Before, addr, size, op);
    }
}

#[test]
fn literals_stand_beside_the_code() {
    one(0x5880_0000, Before, IP.wrapping_sub(1 << 20), 8, Read); // ldr x0, .-1048576
    one(0x987f_ffe0, Before, IP + (1 << 20) - 4, 4, Read); // ldrsw x0, .+1048572
    one(0x5c00_0040, After, IP + 8, 8, Read); // ldr d0, .+8
}

#[test]
fn atomics_and_groups() {
    for (word, addr, size, op) in [
        (0xc85f_7c20, r(1), 8, Read),   // ldxr x0, [x1]
        (0x085f_fc20, r(1), 1, Read),   // ldaxrb w0, [x1]
        (0xc800_7c22, r(1), 8, Write),  // stxr w0, x2, [x1]
        (0xc8a0_7c22, r(1), 8, Atomic), // cas x0, x2, [x1]
        (0xb820_0022, r(1), 4, Atomic), // ldadd w0, w2, [x1]
        (0x38e0_8022, r(1), 1, Atomic), // swpalb w0, w2, [x1]
        (0xf820_003f, r(1), 8, Atomic), // stadd x0, [x1]
        (0x4c40_2020, r(1), 64, Read),  // ld1 {v0.16b-v3.16b}, [x1]
        (0x0d60_e420, r(1), 8, Read),   // ld4r {v0.4h-v3.4h}, [x1]
        (0x4d40_8020, r(1), 4, Read),   // ld1 {v0.s}[2], [x1]
    ] {
        one(word, Before, addr, size, op);
    }
}

#[test]
fn a_destination_that_is_base_or_index_loses_the_address_after_the_fact_only() {
    for (word, addr) in [
        (0xf940_0021, r(1)),        // ldr x1, [x1]
        (0xf862_6822, r(1) + r(2)), // ldr x2, [x1, x2]
        (0xa940_0442, r(2)),        // ldp x2, x1, [x2]
        (0xb821_0022, r(1)),        // ldadd w1, w2, [x1]
        (0xc801_7c22, r(1)),        // stxr w1, x2, [x1]
    ] {
        assert_eq!(run(word, Before).unwrap()[0].addr, addr, "{word:#x}");
        assert_eq!(run(word, After), Err(Dropped::Overwritten), "{word:#x}");
    }
    one(0xf900_0021, After, r(1), 8, Write); // str x1, [x1]
    one(0xf940_03ff, After, r(SP), 8, Read); // ldr xzr, [sp]: the zero register is not the stack pointer
}

#[test]
fn what_refers_to_no_data_is_dropped() {
    for word in [
        0xf980_0020, // prfm pldl1keep, [x1]
        0x1000_0040, // adr x0, .+8
        0x1400_0002, // b .+8
        0xb400_0040, // cbz x0, .+8
        0x3618_0040, // tbz w0, #3, .+8
        0xd503_201f, // nop
        0x8b02_0020, // add x0, x1, x2
        0xd503_3bbf, // dmb ish
    ] {
        assert_eq!(run(word, Before), Err(Dropped::NoMemory), "{word:#x}");
    }
    assert_eq!(run(0xf820_0420, Before), Err(Dropped::NoInstruction), "ldraa x0, [x1]: a signed base");
    assert_eq!(run(u32::MAX, Before), Err(Dropped::NoInstruction));
    let ask = |code: &[u8], abi, mask| testing::run(Isa::Aarch64, code, Before, (abi, mask), &values());
    let load = 0xf940_0420_u32.to_le_bytes();
    assert_eq!(ask(&[], 2, ALL), Err(Dropped::NoCode));
    assert_eq!(ask(&load[..3], 2, ALL), Err(Dropped::NoInstruction));
    assert_eq!(ask(&load, 1, ALL), Err(Dropped::NoRegister), "a 32-bit program");
    assert_eq!(ask(&load, 2, ALL - 2), Err(Dropped::NoRegister), "x1 is not there");
}

#[test]
fn tags_are_no_part_of_an_address() {
    let mut tagged = values();
    tagged[1] |= 0x5a << 56;
    let load = 0xf940_0420_u32.to_le_bytes();
    let found = testing::run(Isa::Aarch64, &load, Before, (2, ALL), &tagged).unwrap();
    assert_eq!(found[0].addr, r(1) + 8);
}

#[test]
fn no_word_makes_it_panic() {
    let mut rng = homenode_base::Rng::new(12);
    let mut found = 0;
    for _ in 0..400_000 {
        // Half of them from the space of loads and stores.
        let word = rng.next_u64() as u32;
        let word = if rng.chance(1, 2) { word & !(1 << 25) | 1 << 27 } else { word };
        for when in [Before, After] {
            if let Ok(all) = run(word, when) {
                assert!(all.len() == 1 && (1..=64).contains(&all[0].size), "{word:#x}");
                found += 1;
            }
        }
    }
    assert!(found > 50_000, "{found}");
}
