//! x86-64, by iced-x86: the accesses of a line of instructions, as sums of the registers before it. Jumps are followed, those on a
//! condition if they lead back, as loops do: an interrupt mostly stops at the end of an iteration.
//!
//! Moves, additions and effective addresses keep every register a sum of registers before, times constants. What else writes
//! a register makes it unknown from there on. So a line is decoded once, and each sample only adds up its own registers.
use super::x86::{full, number, reads, writes};
use super::{Access, Dropped};
use crate::perf::records::Registers;
use homenode_trace::Op;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register, UsedMemory,
};
use std::ops::Range;

/// RAX to RSP and R8 to R15 in the kernel's asm/perf_regs.h.
pub(super) const ADDRESS_REGISTERS: u64 = 0xff_00ff;
const REGISTERS: usize = 24;
/// Instructions of a line at most.
const INSTRUCTIONS: usize = 24;
/// `abi` of a 64-bit program in perf's registers.
const ABI_64: u64 = 2;

/// A sum of registers, times constants, and a constant; all of it modulo 2^64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    terms: Vec<(u32, u64)>,
    constant: u64,
}

impl Sum {
    fn register(n: u32) -> Sum {
        Sum { terms: vec![(n, 1)], constant: 0 }
    }
    fn constant(constant: u64) -> Sum {
        Sum { terms: Vec::new(), constant }
    }
    /// With `times` times the other added.
    fn plus(mut self, times: u64, other: &Sum) -> Sum {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(times));
        for (n, factor) in &other.terms {
            let by = factor.wrapping_mul(times);
            match self.terms.iter_mut().find(|t| t.0 == *n) {
                Some(term) => term.1 = term.1.wrapping_add(by),
                None => self.terms.push((*n, by)),
            }
        }
        self
    }
    fn of(&self, registers: &Registers<'_>) -> Option<u64> {
        self.terms.iter().try_fold(self.constant, |sum, (n, factor)| {
            Some(sum.wrapping_add(registers.get(*n)?.wrapping_mul(*factor)))
        })
    }
}

/// The accesses in the line, and why there are no more.
#[derive(Clone, Debug)]
pub(super) struct Line {
    accesses: Vec<(Sum, u32, Op)>,
    end: Dropped,
}

impl Line {
    /// The line that begins at address `ip`; `code` is what there is from address `start` on.
    pub(super) fn read(code: &[u8], start: u64, ip: u64) -> Line {
        let mut reader = Reader { known: std::array::from_fn(|i| Some(Sum::register(i as u32))), accesses: Vec::new() };
        let end = reader.line(code, start, ip);
        Line { accesses: reader.accesses, end }
    }
    /// The first access of the line that is not within `stack`.
    pub(super) fn first(&self, registers: &Registers<'_>, stack: &Range<u64>) -> Result<Access, Dropped> {
        if registers.abi != ABI_64 {
            return Err(Dropped::NoRegister);
        }
        for (sum, size, op) in &self.accesses {
            let addr = sum.of(registers).ok_or(Dropped::NoRegister)?;
            if !stack.contains(&addr) {
                return Ok(Access { addr, size: *size, op: *op });
            }
        }
        Err(self.end)
    }
}

/// Goes on at another address, if there is code.
fn go(decoder: &mut Decoder<'_>, bytes: usize, start: u64, to: u64) -> bool {
    let at = to.checked_sub(start).and_then(|d| usize::try_from(d).ok()).filter(|at| *at < bytes);
    let went = at.is_some_and(|at| decoder.set_position(at).is_ok());
    decoder.set_ip(to);
    went
}

struct Reader {
    known: [Option<Sum>; REGISTERS],
    accesses: Vec<(Sum, u32, Op)>,
}

impl Reader {
    /// Reads instructions for as long as it is clear which one follows.
    fn line(&mut self, code: &[u8], start: u64, ip: u64) -> Dropped {
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        if !go(&mut decoder, code.len(), start, ip) {
            return Dropped::NoCode;
        }
        let mut factory = InstructionInfoFactory::new();
        let mut instruction = Instruction::default();
        for i in 0..INSTRUCTIONS {
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                // Behind the first the code is cut off.
                return if i == 0 { Dropped::NoInstruction } else { Dropped::NoMemory };
            }
            let info = factory.info(&instruction);
            let real = info.used_memory().iter().filter(|m| reads(m.access()) || writes(m.access()));
            for memory in real {
                match self.memory(memory) {
                    Ok(Some(access)) => self.accesses.push(access),
                    Ok(None) => {}
                    Err(why) => return why,
                }
            }
            let on = match instruction.flow_control() {
                FlowControl::Next => true,
                FlowControl::UnconditionalBranch => {
                    go(&mut decoder, code.len(), start, instruction.near_branch_target())
                }
                FlowControl::ConditionalBranch => {
                    let to = instruction.near_branch_target();
                    to > instruction.ip() || go(&mut decoder, code.len(), start, to)
                }
                _ => false,
            };
            if !on {
                return Dropped::NoMemory;
            }
            let result = self.result(&instruction);
            for used in info.used_registers().iter().filter(|r| writes(r.access())) {
                if let Some(n) = number(full(used.register())) {
                    self.known[n as usize] = None;
                }
            }
            if let Some((n, sum)) = result {
                self.known[n as usize] = Some(sum);
            }
        }
        Dropped::NoMemory
    }

    /// What an instruction refers to; nothing where it is the thread's own, behind FS or GS.
    fn memory(&self, memory: &UsedMemory) -> Result<Option<(Sum, u32, Op)>, Dropped> {
        if matches!(memory.segment(), Register::FS | Register::GS) {
            return Ok(None);
        }
        if memory.index().is_vector_register() {
            return Err(Dropped::Scattered);
        }
        let place = (memory.base(), memory.index(), memory.scale(), memory.displacement());
        let sum = self.address(place).ok_or(Dropped::NoRegister)?;
        let op = match (reads(memory.access()), writes(memory.access())) {
            (true, true) => Op::Atomic,
            (_, true) => Op::Write,
            _ => Op::Read,
        };
        let size = u32::try_from(memory.memory_size().size()).unwrap_or(0).max(1);
        Ok(Some((sum, size, op)))
    }

    fn address(&self, (base, index, scale, displacement): (Register, Register, u32, u64)) -> Option<Sum> {
        let mut sum = Sum::constant(displacement);
        for (register, times) in [(base, 1), (index, scale)] {
            // Relative to the next instruction, the displacement is the address.
            if register != Register::None && register != Register::RIP {
                sum = sum.plus(times.into(), self.value(register)?);
            }
        }
        Some(sum)
    }

    fn value(&self, register: Register) -> Option<&Sum> {
        let whole = register.size() == 8;
        self.known[number(register).filter(|_| whole)? as usize].as_ref()
    }

    /// What a simple instruction writes to a whole register.
    fn result(&self, i: &Instruction) -> Option<(u32, Sum)> {
        if i.op_count() == 0 || i.op0_kind() != OpKind::Register {
            return None;
        }
        let (to, n) = (i.op0_register(), number(i.op0_register())?);
        let second = || match i.op1_kind() {
            OpKind::Register => self.value(i.op1_register()).cloned(),
            OpKind::Memory => None,
            _ => i.try_immediate(1).ok().map(Sum::constant),
        };
        let minus = u64::MAX;
        let sum = match (i.mnemonic(), i.op_count()) {
            (Mnemonic::Mov, 2) => second()?,
            (Mnemonic::Lea, 2) => {
                let place = (i.memory_base(), i.memory_index(), i.memory_index_scale(), i.memory_displacement64());
                self.address(place)?
            }
            (Mnemonic::Add, 2) => self.value(to)?.clone().plus(1, &second()?),
            (Mnemonic::Sub, 2) => self.value(to)?.clone().plus(minus, &second()?),
            (Mnemonic::Inc, 1) => self.value(to)?.clone().plus(1, &Sum::constant(1)),
            (Mnemonic::Dec, 1) => self.value(to)?.clone().plus(minus, &Sum::constant(1)),
            _ => return None,
        };
        Some((n, sum))
    }
}
