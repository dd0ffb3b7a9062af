//! What an instruction reads and writes, and what it makes of it.
use super::nodes::How;
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits};

/// What is written besides the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// What the instruction names.
    Named,
    /// A register, from the stack.
    Pop(Register),
}

/// One instruction's effects; calls are no instructions here.
#[derive(Debug)]
pub(super) struct Effects {
    /// Registers whose values go into the result: operands in their order first.
    pub(super) reads: Vec<Register>,
    pub(super) reads_flags: bool,
    /// Registers that are written, and whether they certainly are.
    pub(super) writes: Vec<(Register, bool)>,
    /// Whether flags are written, and whether all of them.
    pub(super) flags: (bool, bool),
    /// Whether memory is read, written, or only its address made.
    pub(super) loads: bool,
    pub(super) stores: bool,
    pub(super) leas: bool,
    /// Whether an operand says where the memory is.
    pub(super) has_operand: bool,
    pub(super) how: How,
    pub(super) target: Target,
}

/// Flags that conditions look at.
const FLAGS: u32 = RflagsBits::CF | RflagsBits::ZF | RflagsBits::SF | RflagsBits::OF;

impl Effects {
    pub(super) fn of(i: &Instruction, factory: &mut InstructionInfoFactory) -> Effects {
        let info = factory.info(i);
        let reads =
            |a| matches!(a, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
        let writes =
            |a| matches!(a, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
        let operand = (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory);
        let mut effects = Effects {
            reads: Vec::new(),
            reads_flags: i.rflags_read() & FLAGS != 0,
            writes: Vec::new(),
            flags: (i.rflags_modified() & FLAGS != 0, i.rflags_modified() & FLAGS == FLAGS),
            loads: info.used_memory().iter().any(|m| reads(m.access())),
            stores: info.used_memory().iter().any(|m| writes(m.access())),
            leas: i.mnemonic() == Mnemonic::Lea,
            has_operand: operand,
            how: How::Made,
            target: Target::Named,
        };
        for n in 0..i.op_count() {
            if i.op_kind(n) == OpKind::Register && reads(info.op_access(n)) {
                effects.reads.push(i.op_register(n));
            }
        }
        let addresses = [i.memory_base(), i.memory_index()].map(|r| r.full_register());
        let explicit: Vec<Register> = (0..i.op_count())
            .filter(|n| i.op_kind(*n) == OpKind::Register)
            .map(|n| i.op_register(n).full_register())
            .collect();
        for used in info.used_registers() {
            let (register, whole) = (used.register(), used.register().full_register());
            let of_address = operand && addresses.contains(&whole);
            if reads(used.access()) && !of_address && !explicit.contains(&whole) && whole != Register::RSP {
                effects.reads.push(register);
            }
            if writes(used.access()) && whole != Register::RSP {
                let certain = matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite);
                effects.writes.push((register, certain));
            }
        }
        effects.how = effects.made(i);
        effects.stack(i);
        effects
    }

    /// Pushes and pops, whose memory has no operand.
    fn stack(&mut self, i: &Instruction) {
        match i.mnemonic() {
            Mnemonic::Pop if i.op0_kind() == OpKind::Register => {
                (self.reads, self.target) = (Vec::new(), Target::Pop(i.op0_register()));
            }
            Mnemonic::Leave => (self.reads, self.target) = (Vec::new(), Target::Pop(Register::RBP)),
            _ => {}
        }
    }

    /// How the result is made of what is read: registers as operands are, then memory.
    fn made(&self, i: &Instruction) -> How {
        use Mnemonic as M;
        let whole = |n: u32| match i.op_kind(n) {
            OpKind::Register => i.op_register(n).is_gpr64(),
            OpKind::Memory => i.memory_size().size() == 8,
            _ => true,
        };
        let immediate = |n: u32| i.try_immediate(n).is_ok();
        let wide = i.op_count() >= 1 && (0..i.op_count()).all(whole);
        let inputs = self.reads.len() + usize::from(self.loads);
        let to_memory = i.op_count() > 0 && i.op0_kind() == OpKind::Memory;
        let loads_second = self.loads && !to_memory;
        match i.mnemonic() {
            M::Mov if i.op_count() == 2 && immediate(1) => How::Constant(i.immediate(1)),
            M::Xor | M::Sub if inputs == 0 && i.op0_register().is_gpr() => How::Constant(0),
            M::Push if immediate(0) => How::Constant(i.immediate(0)),
            // A load is as wide as the register, or what is above it becomes zero.
            M::Mov if inputs == 1 && (wide || self.loads || to_memory) => How::Sum(vec![1], 0),
            M::Push | M::Pop | M::Leave if inputs == 1 || i.mnemonic() != M::Push => How::Sum(vec![1], 0),
            M::Movzx | M::Movsx | M::Movsxd | M::Movq | M::Movd if loads_second && inputs == 1 => How::Sum(vec![1], 0),
            M::Movq if inputs == 1 => How::Sum(vec![1], 0),
            M::Lea if whole(0) => How::Sum(Vec::new(), 0),
            M::Add | M::Sub if wide && i.op_count() == 2 && immediate(1) && inputs == 1 => {
                let by = i.immediate(1) as i64;
                How::Sum(vec![1], if i.mnemonic() == M::Add { by } else { by.wrapping_neg() })
            }
            M::Add if wide && inputs == 2 => How::Sum(vec![1, 1], 0),
            M::Sub if wide && inputs == 2 && !to_memory => How::Sum(vec![1, -1], 0),
            M::Inc if wide && inputs == 1 => How::Sum(vec![1], 1),
            M::Dec if wide && inputs == 1 => How::Sum(vec![1], -1),
            M::Neg if wide && inputs == 1 => How::Sum(vec![-1], 0),
            M::Shl if wide && i.op_count() == 2 && immediate(1) && inputs == 1 => {
                How::Sum(vec![1i64 << (i.immediate(1) & 63)], 0)
            }
            M::Imul if wide && i.op_count() == 3 && inputs == 1 => How::Sum(vec![i.immediate(2) as i64], 0),
            M::Lea => How::Made,
            // An operation whose order of inputs is as its operands are.
            _ if !self.loads && !self.stores => {
                let constant = (0..i.op_count()).filter(|n| immediate(*n)).map(|n| i.try_immediate(n).unwrap_or(0));
                How::Computed(i.code() as u32, constant.fold(0, |a, b| a << 32 ^ b))
            }
            _ => How::Made,
        }
    }
}
