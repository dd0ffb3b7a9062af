//! Effective addresses where none was recorded: from the instruction at the program counter and the registers beside it.
//!
//! The instruction is decoded by a library (iced-x86, yaxpeax-arm), never by tables of our own: operand forms are where
//! hand-written decoders go wrong. What cannot be known is dropped, and every reason is counted.
mod aarch64;
#[cfg(test)]
mod aarch64_tests;
mod line;
#[cfg(test)]
mod testing;
mod x86;
#[cfg(test)]
mod x86_tests;

use super::records::Registers;
use homenode_trace::Op;

/// When the registers were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the instruction ran: an interrupt stops at the next instruction to be run.
    Before,
    /// After it ran: precise events (PEBS) report the instruction itself, but the registers behind it.
    After,
}

/// Whose instructions the code holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// x86-64.
    X86_64,
    /// AArch64.
    Aarch64,
}

impl Isa {
    /// By the name that uname(2) gives a machine.
    pub fn of_machine(machine: &str) -> Option<Isa> {
        match machine {
            "x86_64" => Some(Isa::X86_64),
            "aarch64" => Some(Isa::Aarch64),
            _ => None,
        }
    }
    /// Of the machine that this runs on.
    pub fn here() -> Option<Isa> {
        Isa::of_machine(std::env::consts::ARCH)
    }
    /// The registers that addresses are made of, as bits of perf's register masks.
    pub fn address_registers(self) -> u64 {
        match self {
            Isa::X86_64 => line::ADDRESS_REGISTERS,
            Isa::Aarch64 => 0xffff_ffff,
        }
    }
    /// Number of the stack pointer in perf's registers.
    fn stack_pointer(self) -> u32 {
        match self {
            Isa::X86_64 => 7,
            Isa::Aarch64 => 31,
        }
    }
}

/// One access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Virtual address.
    pub addr: u64,
    /// Bytes; 1 if not known.
    pub size: u32,
    /// What it does.
    pub op: Op,
}

/// Why there is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// There are no bytes of code at the program counter.
    NoCode,
    /// The bytes are no instruction.
    NoInstruction,
    /// The instruction does not refer to data.
    NoMemory,
    /// The instruction has overwritten a register of its own address.
    Overwritten,
    /// The access goes through FS or GS, whose bases are not among the recorded registers.
    Segment,
    /// A register of the address was not recorded, or the program is a 32-bit one.
    NoRegister,
    /// The instruction gathers from or scatters to many addresses.
    Scattered,
    /// The code is of a machine that is not named or whose instructions are not decoded.
    Machine,
}

/// How often each reason applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; 8]);

impl DropCounts {
    /// Counts one.
    pub fn add(&mut self, why: Dropped) {
        self.0[why as usize] += 1;
    }
    /// How often.
    pub fn of(&self, why: Dropped) -> u64 {
        self.0[why as usize]
    }
    /// All together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// The accesses of the instruction that begins with `code[0]` at address `ip`, in the order of its operands.
///
/// # Errors
/// Why there is none.
pub fn accesses(isa: Isa, code: &[u8], ip: u64, when: When, registers: &Registers<'_>) -> Result<Vec<Access>, Dropped> {
    match isa {
        Isa::X86_64 => x86::accesses(code, ip, when, registers),
        Isa::Aarch64 => aarch64::accesses(code, ip, when, registers),
    }
}

/// Bytes around the stack pointer that count as the stack: what is used all the time is in a cache wherever its page is.
const STACK_BELOW: u64 = 128;
const STACK_ABOVE: u64 = 4 << 10;

/// Code about to be run, read once for all samples at this place.
#[derive(Clone, Debug)]
pub struct Ahead(Form);

#[derive(Clone, Debug)]
enum Form {
    X86(line::Line),
    Aarch64 { code: [u8; 4], n: usize, ip: u64 },
}

impl Ahead {
    /// The line of instructions that begins at `ip`; `code` is what there is from address `start` on.
    pub fn read(isa: Isa, code: &[u8], start: u64, ip: u64) -> Ahead {
        Ahead(match isa {
            Isa::X86_64 => Form::X86(line::Line::read(code, start, ip)),
            Isa::Aarch64 => {
                let before = usize::try_from(ip.saturating_sub(start)).unwrap_or(usize::MAX);
                let code = code.get(before..).unwrap_or_default();
                let n = code.len().min(4);
                let mut first = [0; 4];
                first[..n].copy_from_slice(&code[..n]);
                Form::Aarch64 { code: first, n, ip }
            }
        })
    }
    /// First access to anything but the top of the stack, no instruction having run yet. (On AArch64 the first's.)
    ///
    /// # Errors
    /// Why there is none, or why it cannot be known.
    pub fn access(&self, registers: &Registers<'_>) -> Result<Access, Dropped> {
        let isa = if matches!(self.0, Form::X86(_)) { Isa::X86_64 } else { Isa::Aarch64 };
        let stack = registers.get(isa.stack_pointer()).ok_or(Dropped::NoRegister)?;
        let top = stack.saturating_sub(STACK_BELOW)..stack.saturating_add(STACK_ABOVE);
        match &self.0 {
            Form::X86(line) => line.first(registers, &top),
            Form::Aarch64 { code, n, ip } => {
                let all = aarch64::accesses(&code[..*n], *ip, When::Before, registers)?;
                all.into_iter().find(|a| !top.contains(&a.addr)).ok_or(Dropped::NoMemory)
            }
        }
    }
}
