//! Places in a function's own stack frame: which instructions name which, as offsets from the stack pointer at its begin.
use super::flow::{Call, Flow};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

/// Number of the stack pointer.
const STACK: usize = 4;
/// Number of the register that some functions keep the begin of their frame in.
const BASE: usize = 5;
/// Times that a function is gone through.
const ROUNDS_MAX: usize = 64;
/// How far below everything else a frame begins whose stack pointer was rounded down: by how much is not known.
const ROUNDED: i64 = 1 << 32;

/// Offsets that registers hold.
type Offsets = [Option<i64>; 16];

/// What is known of the frame.
pub(super) struct Frame {
    /// By instruction: what registers hold before it.
    pub(super) before: Vec<Offsets>,
    /// The lowest offset that was given away: to a function that is called, or into memory.
    pub(super) escapes: i64,
}

impl Frame {
    pub(super) fn new(flow: &Flow<'_>) -> Frame {
        let all = flow.function.instructions();
        let mut frame = Frame { before: vec![[None; 16]; all.len()], escapes: i64::MAX };
        let mut begin = [None; 16];
        begin[STACK] = Some(0);
        let mut known: Vec<Option<Offsets>> = vec![None; flow.blocks.len()];
        known[0] = Some(begin);
        let mut factory = InstructionInfoFactory::new();
        let mut changed = true;
        // Each round but the last makes some register of some block less known.
        for round in 0.. {
            if !std::mem::take(&mut changed) {
                break;
            }
            if round == ROUNDS_MAX {
                frame.before.fill([None; 16]);
                break;
            }
            for &block in &flow.order {
                let mut now = known[block].unwrap_or([None; 16]);
                if flow.from_outside[block] {
                    // A part of the function that lies elsewhere has the same frame.
                    now = std::array::from_fn(|n| if n == STACK || n == BASE { now[n] } else { None });
                }
                for n in flow.blocks.spans[block].clone() {
                    frame.before[n] = now;
                    step(&mut now, &all[n], &mut factory);
                }
                for &to in &flow.blocks.succ[block] {
                    let met = known[to].map_or(now, |there| meet(&there, &now));
                    changed |= known[to] != Some(met);
                    known[to] = Some(met);
                }
            }
        }
        let given = flow.order.iter().flat_map(|b| flow.blocks.spans[*b].clone());
        frame.escapes = given.filter_map(|n| frame.given(flow, n)).min().unwrap_or(i64::MAX);
        frame
    }

    /// The offset that a register holds before an instruction.
    pub(super) fn offset(&self, at: usize, register: Register) -> Option<i64> {
        self.before[at][number(register)?]
    }

    /// The slot that a memory operand names.
    pub(super) fn slot(&self, at: usize, i: &Instruction) -> Option<i64> {
        if i.memory_index() != Register::None || i.segment_prefix() != Register::None {
            return None;
        }
        Some(self.offset(at, i.memory_base())?.wrapping_add(i.memory_displacement64() as i64))
    }

    /// The lowest offset that an instruction gives away.
    fn given(&self, flow: &Flow<'_>, at: usize) -> Option<i64> {
        let i = &flow.function.instructions()[at];
        match flow.calls.get(&at) {
            Some(Call::Program | Call::Library(_)) => {
                [1, 2, 6, 7, 8, 9].into_iter().filter_map(|r| self.before[at][r]).min()
            }
            Some(_) => None,
            None => {
                let stored = i.mnemonic() == Mnemonic::Mov && i.op0_kind() == OpKind::Memory;
                let stored = stored && i.op1_kind() == OpKind::Register;
                stored.then(|| self.offset(at, i.op1_register())).flatten()
            }
        }
    }
}

/// Number of a whole general register.
pub(super) fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register() as usize - Register::RAX as usize)
}

fn meet(a: &Offsets, b: &Offsets) -> Offsets {
    std::array::from_fn(|n| if a[n] == b[n] { a[n] } else { None })
}

fn step(now: &mut Offsets, i: &Instruction, factory: &mut InstructionInfoFactory) {
    let get = |now: &Offsets, r: Register| number(r).and_then(|n| now[n]);
    let to =
        (i.op_count() > 0 && i.op0_kind() == OpKind::Register && i.op0_register().is_gpr64()).then(|| i.op0_register());
    let immediate = || i.try_immediate(1).ok().map(|by| by as i64);
    let value = match i.mnemonic() {
        Mnemonic::Push => now[STACK].map(|s| s.wrapping_sub(8)),
        Mnemonic::Pop => now[STACK].map(|s| s.wrapping_add(8)),
        Mnemonic::Leave => now[BASE].map(|s| s.wrapping_add(8)),
        Mnemonic::Mov if i.op1_kind() == OpKind::Register => get(now, i.op1_register()),
        Mnemonic::Lea if i.memory_index() == Register::None => {
            get(now, i.memory_base()).map(|s| s.wrapping_add(i.memory_displacement64() as i64))
        }
        Mnemonic::Add => to.and_then(|r| get(now, r)).zip(immediate()).map(|(s, by)| s.wrapping_add(by)),
        Mnemonic::Sub => to.and_then(|r| get(now, r)).zip(immediate()).map(|(s, by)| s.wrapping_sub(by)),
        Mnemonic::And if to == Some(Register::RSP) => now[STACK].map(|s| s.wrapping_sub(ROUNDED)),
        _ => None,
    };
    if i.is_call_near() || i.is_call_near_indirect() {
        [0, 1, 2, 6, 7, 8, 9, 10, 11].into_iter().for_each(|n| now[n] = None);
        return;
    }
    let writes = |a| !matches!(a, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
    for written in factory.info(i).used_registers().iter().filter(|u| writes(u.access())) {
        if let Some(n) = number(written.register()) {
            now[n] = None;
        }
    }
    match i.mnemonic() {
        Mnemonic::Push | Mnemonic::Pop | Mnemonic::Leave => {
            // A popped stack pointer is no more known than any other popped register.
            now[STACK] = value.filter(|_| i.mnemonic() != Mnemonic::Pop || to != Some(Register::RSP));
        }
        _ => {
            if let Some(n) = to.and_then(number) {
                now[n] = value;
            }
        }
    }
}
