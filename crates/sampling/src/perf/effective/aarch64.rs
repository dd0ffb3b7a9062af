//! AArch64, by yaxpeax-arm.
use super::{Access, Dropped, When};
use crate::perf::records::Registers;
use homenode_trace::Op;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode, Operand, SIMDSizeCode, ShiftStyle, SizeCode};

/// `abi` of a 64-bit program in perf's registers.
const ABI_64: u64 = 2;
/// Bytes of every instruction.
const INSTRUCTION_BYTES: usize = 4;
/// As an operand the zero register, as a base the stack pointer; the latter's number in the kernel's asm/perf_regs.h too.
const ZERO_OR_SP: u16 = 31;
/// Linux has the processor pass over the upper byte of a user's address: it may hold a tag.
const UNTAGGED: u64 = (1 << 56) - 1;
/// Bit that tells addresses of the kernel from those of users.
const KERNEL: u64 = 1 << 55;

/// See [`super::accesses`].
pub(super) fn accesses(code: &[u8], ip: u64, when: When, registers: &Registers<'_>) -> Result<Vec<Access>, Dropped> {
    if code.is_empty() {
        return Err(Dropped::NoCode);
    }
    if registers.abi != ABI_64 {
        return Err(Dropped::NoRegister);
    }
    let word = code.get(..INSTRUCTION_BYTES).ok_or(Dropped::NoInstruction)?;
    let instruction = InstDecoder::default().decode(&mut U8Reader::new(word)).map_err(|_| Dropped::NoInstruction)?;
    if matches!(instruction.opcode, Opcode::LDRAA | Opcode::LDRAB) {
        // The base is signed; what the address is once it is authenticated depends on the kernel's configuration.
        return Err(Dropped::NoInstruction);
    }
    let (op, each) = operation(instruction.opcode).ok_or(Dropped::NoMemory)?;
    let state = State { instruction: &instruction, op, when, registers };
    let addr = instruction.operands.iter().find_map(|o| state.address(o, ip)).ok_or(Dropped::NoMemory)??;
    let addr = if addr & KERNEL == 0 { addr & UNTAGGED } else { addr };
    Ok(vec![Access { addr, size: size(&instruction, each), op }])
}

struct State<'a> {
    instruction: &'a Instruction,
    op: Op,
    when: When,
    registers: &'a Registers<'a>,
}

impl State<'_> {
    /// The address, if the operand is the one that refers to memory.
    fn address(&self, operand: &Operand, ip: u64) -> Option<Result<u64, Dropped>> {
        let moved = |base: Result<u64, Dropped>, by: i64| base.map(|b| b.wrapping_add_signed(by));
        let behind = self.when == When::After;
        Some(match *operand {
            Operand::PCOffset(by) => Ok(ip.wrapping_add_signed(by)),
            // Written back, the base is the address itself afterwards, or has already been moved on from it.
            Operand::RegPreIndex(base, by, back) => moved(self.base(base), if back && behind { 0 } else { by.into() }),
            Operand::RegPostIndex(base, by) => moved(self.base(base), if behind { -i64::from(by) } else { 0 }),
            Operand::RegPostIndexReg(base, by) if behind => {
                self.base(base).and_then(|b| Ok(b.wrapping_sub(self.index(by)?)))
            }
            Operand::RegPostIndexReg(base, _) => self.base(base),
            Operand::RegRegOffset(base, index, _, extend, shift) => self
                .base(base)
                .and_then(|b| Ok(b.wrapping_add(extended(self.index(index)?, extend)?.wrapping_shl(shift.into())))),
            _ => return None,
        })
    }
    fn base(&self, number: u16) -> Result<u64, Dropped> {
        self.value(number)
    }
    fn index(&self, number: u16) -> Result<u64, Dropped> {
        if number == ZERO_OR_SP { Ok(0) } else { self.value(number) }
    }
    /// The value that a register had, but for what writing back did to it.
    fn value(&self, number: u16) -> Result<u64, Dropped> {
        if self.when == When::After && self.overwrites(number) {
            return Err(Dropped::Overwritten);
        }
        self.registers.get(number.into()).ok_or(Dropped::NoRegister)
    }
    /// Whether a register is among those loaded. Atomic operations and exclusive stores write one of their registers, and
    /// for all of them that is assumed.
    fn overwrites(&self, number: u16) -> bool {
        let plain_store = self.op == Op::Write && !is_exclusive(self.instruction.opcode);
        let written = |o: &Operand| match *o {
            Operand::Register(_, n) => n == number,
            Operand::RegisterPair(_, n) => n == number || n + 1 == number,
            _ => false,
        };
        number != ZERO_OR_SP && !plain_store && self.instruction.operands.iter().any(written)
    }
}

fn extended(value: u64, extend: ShiftStyle) -> Result<u64, Dropped> {
    match extend {
        ShiftStyle::LSL | ShiftStyle::UXTX | ShiftStyle::SXTX => Ok(value),
        ShiftStyle::UXTW => Ok(value & 0xffff_ffff),
        ShiftStyle::SXTW => Ok(value as u32 as i32 as i64 as u64),
        // No address has another one.
        _ => Err(Dropped::NoInstruction),
    }
}

fn is_exclusive(opcode: Opcode) -> bool {
    use Opcode::{STLXP, STLXR, STLXRB, STLXRH, STXP, STXR, STXRB, STXRH};
    matches!(opcode, STLXP | STLXR | STLXRB | STLXRH | STXP | STXR | STXRB | STXRH)
}

/// What an instruction does and the bytes of each of its registers if its name says it; `None` for those that do not refer
/// to data (prefetches and tags of memory among them).
fn operation(opcode: Opcode) -> Option<(Op, Option<u32>)> {
    loads(opcode)
        .map(|bytes| (Op::Read, bytes))
        .or_else(|| stores(opcode).map(|bytes| (Op::Write, bytes)))
        .or_else(|| atomics(opcode).map(|bytes| (Op::Atomic, bytes)))
}

#[rustfmt::skip]
fn loads(opcode: Opcode) -> Option<Option<u32>> {
    use Opcode::*;
    Some(match opcode {
        LDAR | LDLAR | LDAXR | LDAXP | LDAPR | LDAPUR | LDP | LDNP | LDR | LDTR | LDUR | LDXP | LDXR | LD1 | LD2 | LD3 | LD4
        | LD1R | LD2R | LD3R | LD4R => None,
        LDARB | LDLARB | LDAXRB | LDAPRB | LDAPURB | LDAPURSB | LDRB | LDRSB | LDTRB | LDTRSB | LDURB | LDURSB | LDXRB => Some(1),
        LDARH | LDLARH | LDAXRH | LDAPRH | LDAPURH | LDAPURSH | LDRH | LDRSH | LDTRH | LDTRSH | LDURH | LDURSH | LDXRH => Some(2),
        LDPSW | LDRSW | LDTRSW | LDURSW | LDAPURSW => Some(4),
        _ => return None,
    })
}

#[rustfmt::skip]
fn stores(opcode: Opcode) -> Option<Option<u32>> {
    use Opcode::*;
    Some(match opcode {
        STLR | STLLR | STLXP | STLXR | STP | STNP | STR | STTR | STUR | STLUR | STXP | STXR | ST1 | ST2 | ST3 | ST4 => None,
        STLRB | STLLRB | STLXRB | STRB | STTRB | STURB | STLURB | STXRB => Some(1),
        STLRH | STLLRH | STLXRH | STRH | STTRH | STURH | STLURH | STXRH => Some(2),
        STRW => Some(4),
        _ => return None,
    })
}

#[rustfmt::skip]
fn atomics(opcode: Opcode) -> Option<Option<u32>> {
    use Opcode::*;
    Some(match opcode {
        SWP(_) | CAS(_) | CASP(_) | LDADD(_) | LDCLR(_) | LDEOR(_) | LDSET(_) | LDSMAX(_) | LDSMIN(_) | LDUMAX(_) | LDUMIN(_) => None,
        SWPB(_) | CASB(_) | LDADDB(_) | LDCLRB(_) | LDEORB(_) | LDSETB(_) | LDSMAXB(_) | LDSMINB(_) | LDUMAXB(_) | LDUMINB(_) => Some(1),
        SWPH(_) | CASH(_) | LDADDH(_) | LDCLRH(_) | LDEORH(_) | LDSETH(_) | LDSMAXH(_) | LDSMINH(_) | LDUMAXH(_) | LDUMINH(_) => Some(2),
        _ => return None,
    })
}

/// Bytes of the whole access: those of one register, times registers.
fn size(instruction: &Instruction, each: Option<u32>) -> u32 {
    use Opcode::{LD1R, LD2R, LD3R, LD4R, LDAXP, LDNP, LDP, LDPSW, LDXP, STLXP, STNP, STP, STXP};
    let repeated = matches!(instruction.opcode, LD1R | LD2R | LD3R | LD4R);
    // An exclusive store begins with the register for its outcome.
    let first = usize::from(is_exclusive(instruction.opcode));
    let one = match instruction.operands[first] {
        Operand::Register(SizeCode::W, _) => 4,
        Operand::Register(SizeCode::X, _) => 8,
        Operand::RegisterPair(SizeCode::W, _) => 8,
        Operand::RegisterPair(SizeCode::X, _) => 16,
        Operand::SIMDRegister(size, _) => bytes(size),
        Operand::SIMDRegisterGroup(vector, _, element, n) => {
            bytes(if repeated { element } else { vector }) * u32::from(n)
        }
        Operand::SIMDRegisterGroupLane(_, element, n, _) => bytes(element) * u32::from(n),
        _ => 1,
    };
    let two = matches!(instruction.opcode, LDAXP | LDNP | LDP | LDPSW | LDXP | STLXP | STNP | STP | STXP);
    each.unwrap_or(one) * if two { 2 } else { 1 }
}

fn bytes(size: SIMDSizeCode) -> u32 {
    match size {
        SIMDSizeCode::B => 1,
        SIMDSizeCode::H => 2,
        SIMDSizeCode::S => 4,
        SIMDSizeCode::D => 8,
        SIMDSizeCode::Q => 16,
    }
}
