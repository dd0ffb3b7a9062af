//! One instruction's effect on what is known.
use super::state::{Slot, State, Value, fixed};
use iced_x86::{ConditionCode, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

/// Registers that a called function may change.
const CLOBBERED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// After a call that returns `result`.
pub(super) fn called(state: &mut State, result: Value) {
    CLOBBERED.iter().for_each(|&r| state.set(r, Value::Other));
    state.set(Register::RAX, result);
}

/// After any other instruction.
pub(super) fn step(state: &mut State, i: &Instruction, factory: &mut InstructionInfoFactory) {
    match i.mnemonic() {
        Mnemonic::Mov if whole(i, 1) => {
            let value = operand(state, i, 1);
            assign(state, i, value);
        }
        Mnemonic::Lea => {
            let value = match address(state, i) {
                Some((base, offset)) if i.memory_base() != Register::RIP => Value::Begin(base, offset),
                _ if i.memory_index() == Register::None => {
                    state.get(i.memory_base()).plus(i.memory_displacement64() as i64)
                }
                _ => state.get(i.memory_base()).moved().or_else_moved(state.get(i.memory_index())),
            };
            assign(state, i, value);
        }
        Mnemonic::Xor | Mnemonic::Sub if same_registers(i) => assign(state, i, Value::Constant),
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Or => arithmetic(state, i),
        Mnemonic::Push => {
            let value = operand(state, i, 0);
            let top = state.get(Register::RSP).plus(-8);
            state.set(Register::RSP, top);
            state.store(slot_of(top), value);
        }
        Mnemonic::Pop => pop(state, i.op0_register()),
        Mnemonic::Leave => {
            let frame = state.get(Register::RBP);
            state.set(Register::RSP, frame);
            pop(state, Register::RBP);
        }
        _ if is_conditional_move(i) => {
            let value = operand(state, i, 0).or(operand(state, i, 1));
            assign(state, i, value);
        }
        _ => forget_written(state, i, factory),
    }
}

/// Whether an operand is eight bytes wide, or an immediate, or a register whose upper half becomes zero.
fn whole(i: &Instruction, n: u32) -> bool {
    match i.op_kind(n) {
        OpKind::Register => i.op_register(n).is_gpr() && (i.op_register(n).size() >= 4),
        OpKind::Memory => i.memory_size().size() == 8,
        _ => true,
    }
}

/// The only instructions with a condition that are no branches and have two operands.
fn is_conditional_move(i: &Instruction) -> bool {
    i.condition_code() != ConditionCode::None && i.op_count() == 2 && i.op1_kind() != OpKind::NearBranch64
}

fn same_registers(i: &Instruction) -> bool {
    i.op0_kind() == OpKind::Register && i.op1_kind() == OpKind::Register && i.op0_register() == i.op1_register()
}

fn operand(state: &State, i: &Instruction, n: u32) -> Value {
    match i.op_kind(n) {
        OpKind::Register => {
            let (register, value) = (i.op_register(n), state.get(i.op_register(n)));
            if register.size() == 8 || value == Value::Constant { value } else { Value::Other }
        }
        OpKind::Memory if i.memory_size().size() == 8 => state.load(address(state, i)),
        OpKind::Memory => Value::Other,
        _ => Value::Constant,
    }
}

fn assign(state: &mut State, i: &Instruction, value: Value) {
    match i.op0_kind() {
        OpKind::Register => state.set(i.op0_register(), value),
        OpKind::Memory => {
            let slot = address(state, i);
            state.store(slot, value);
        }
        _ => {}
    }
}

fn arithmetic(state: &mut State, i: &Instruction) {
    let by = match i.op1_kind() {
        OpKind::Register | OpKind::Memory => None,
        _ => Some(i.immediate(1) as i64),
    };
    let before = operand(state, i, 0);
    let after = match (i.mnemonic(), by) {
        (Mnemonic::Add, Some(by)) => before.plus(by),
        (Mnemonic::Sub, Some(by)) => before.plus(by.wrapping_neg()),
        // -1 and other errors.
        (Mnemonic::Or, Some(_)) if before == Value::Other => Value::Constant,
        (Mnemonic::And | Mnemonic::Or, Some(_)) => before.moved(),
        _ => before.moved().or_else_moved(operand(state, i, 1)),
    };
    assign(state, i, after);
}

impl Value {
    /// Of a sum, the part that is a pointer.
    fn or_else_moved(self, other: Value) -> Value {
        if self == Value::Other { other.moved() } else { self }
    }
}

fn pop(state: &mut State, to: Register) {
    let top = state.get(Register::RSP);
    let value = state.load(slot_of(top));
    state.set(Register::RSP, top.plus(8));
    state.set(to, value);
}

/// The slot that a pointer points to, if it is known.
pub(super) fn slot_of(value: Value) -> Option<Slot> {
    match value {
        Value::Begin(base, offset) => Some((base, offset)),
        _ => None,
    }
}

/// The slot of the memory operand, if its address is known.
fn address(state: &State, i: &Instruction) -> Option<Slot> {
    if i.memory_index() != Register::None || i.segment_prefix() != Register::None {
        return None;
    }
    match i.memory_base() {
        Register::RIP => Some(fixed(i.memory_displacement64())),
        Register::None => Some(fixed(i.memory_displacement64())),
        base => slot_of(state.get(base).plus(i.memory_displacement64() as i64)),
    }
}

/// An instruction that is not understood: whatever it writes is unknown then.
fn forget_written(state: &mut State, i: &Instruction, factory: &mut InstructionInfoFactory) {
    let slot = (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory).then(|| address(state, i)).flatten();
    let info = factory.info(i);
    let writes =
        |access| !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
    for r in info.used_registers().iter().filter(|r| writes(r.access())) {
        state.set(r.register(), Value::Other);
    }
    if info.used_memory().iter().any(|m| writes(m.access())) {
        state.store(slot, Value::Other);
    }
}
