//! x86-64, by iced-x86.
use super::{Access, Dropped, When};
use crate::perf::records::Registers;
use homenode_trace::Op;
use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, Register, UsedMemory};

/// `abi` of a 64-bit program in perf's registers.
const ABI_64: u64 = 2;

/// See [`super::accesses`].
pub(super) fn accesses(code: &[u8], ip: u64, when: When, registers: &Registers<'_>) -> Result<Vec<Access>, Dropped> {
    if code.is_empty() {
        return Err(Dropped::NoCode);
    }
    if registers.abi != ABI_64 {
        return Err(Dropped::NoRegister);
    }
    let mut instruction = Instruction::default();
    Decoder::with_ip(64, code, ip, DecoderOptions::NONE).decode_out(&mut instruction);
    if instruction.is_invalid() {
        return Err(Dropped::NoInstruction);
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&instruction);
    let written: Vec<Register> =
        info.used_registers().iter().filter(|r| writes(r.access())).map(|r| full(r.register())).collect();
    let real = info.used_memory().iter().filter(|m| reads(m.access()) || writes(m.access()));
    let state = State { instruction: &instruction, when, registers, written };
    let found = real.map(|m| state.access(m)).collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() { Err(Dropped::NoMemory) } else { Ok(found) }
}

struct State<'a> {
    instruction: &'a Instruction,
    when: When,
    registers: &'a Registers<'a>,
    written: Vec<Register>,
}

impl State<'_> {
    fn access(&self, memory: &UsedMemory) -> Result<Access, Dropped> {
        if matches!(memory.segment(), Register::FS | Register::GS) {
            return Err(Dropped::Segment);
        }
        if memory.index().is_vector_register() {
            return Err(Dropped::Scattered);
        }
        let mut why = Dropped::NoRegister;
        let addr = memory.virtual_address(0, |register, _, _| match self.value(register) {
            Ok(value) => Some(value),
            Err(reason) => {
                why = reason;
                None
            }
        });
        let op = match (reads(memory.access()), writes(memory.access())) {
            (true, true) => Op::Atomic,
            (_, true) => Op::Write,
            _ => Op::Read,
        };
        let size = u32::try_from(memory.memory_size().size()).unwrap_or(0).max(1);
        addr.map(|addr| Access { addr, size, op }).ok_or(why)
    }

    /// The value that a register had before the instruction.
    fn value(&self, register: Register) -> Result<u64, Dropped> {
        if register.is_segment_register() {
            // All but FS and GS begin at 0 in 64-bit programs.
            return Ok(0);
        }
        let whole = full(register);
        if self.when == When::After && self.written.contains(&whole) {
            return self.undone(whole).ok_or(Dropped::Overwritten);
        }
        let value = number(whole).and_then(|n| self.registers.get(n)).ok_or(Dropped::NoRegister)?;
        // Address-size prefix: the upper half does not count.
        Ok(if register.size() == 4 { value & 0xffff_ffff } else { value })
    }

    /// A push, pop, call or return moves the stack pointer by a known amount; other changes cannot be undone.
    fn undone(&self, register: Register) -> Option<u64> {
        let by = i64::from(self.instruction.stack_pointer_increment());
        let explicit = (0..self.instruction.op_count()).any(|i| {
            self.instruction.op_kind(i) == iced_x86::OpKind::Register
                && full(self.instruction.op_register(i)) == register
        });
        if register != Register::RSP || !self.instruction.is_stack_instruction() || by == 0 || explicit {
            return None;
        }
        let after = self.registers.get(number(Register::RSP)?)?;
        Some(after.wrapping_sub(by as u64))
    }
}

pub(super) fn full(register: Register) -> Register {
    register.full_register()
}

pub(super) fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

pub(super) fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// Number in the kernel's asm/perf_regs.h.
pub(super) fn number(register: Register) -> Option<u32> {
    use Register::{R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
    let order = [RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP];
    let upper = [R8, R9, R10, R11, R12, R13, R14, R15];
    let low = order.iter().position(|&r| r == register);
    low.or_else(|| upper.iter().position(|&r| r == register).map(|i| i + 16)).and_then(|n| u32::try_from(n).ok())
}
