//! What is known about registers and memory at one instruction, as far as it matters for an allocated pointer.
use iced_x86::Register;
use std::collections::BTreeMap;

/// Slots of memory that are followed at once; a function that needs more is followed in part.
const SLOTS_MAX: usize = 256;
/// Number of the stack pointer.
const STACK_POINTER: u8 = 4;
/// Base of memory with a fixed address.
const FIXED: u8 = u8::MAX;

/// What a register or a slot may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A constant: no object, or an error.
    Constant,
    /// What the call in question returned.
    Mine,
    /// A place inside that block.
    Inside,
    /// What another allocating call returned.
    Allocated,
    /// What a register held when the function began, plus an offset.
    Begin(u8, i64),
    /// Anything.
    Other,
}

impl Value {
    /// What is known when either may be there.
    pub(super) fn or(self, other: Value) -> Value {
        use Value::{Allocated, Constant, Inside, Mine, Other};
        match (self, other) {
            (a, b) if a == b => a,
            (Inside, Mine | Constant | Allocated) | (Mine | Constant | Allocated, Inside) => Inside,
            (Mine, Constant | Allocated) | (Constant | Allocated, Mine) => Mine,
            (Allocated, Constant) | (Constant, Allocated) => Allocated,
            _ => Other,
        }
    }

    /// After adding a constant.
    pub(super) fn plus(self, by: i64) -> Value {
        match self {
            Value::Begin(base, offset) => Value::Begin(base, offset.wrapping_add(by)),
            Value::Mine if by != 0 => Value::Inside,
            other => other,
        }
    }

    /// After arithmetic with an unknown number: a pointer stays a pointer into its object.
    pub(super) fn moved(self) -> Value {
        match self {
            Value::Mine | Value::Inside => Value::Inside,
            Value::Allocated => Value::Allocated,
            _ => Value::Other,
        }
    }
}

/// An address that is known well enough to find again what was stored there.
pub(super) type Slot = (u8, i64);

/// The slot at a fixed address.
pub(super) fn fixed(address: u64) -> Slot {
    (FIXED, address as i64)
}

/// Registers by number and memory by slot; a slot that is not there holds anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    registers: [Value; 16],
    slots: BTreeMap<Slot, Value>,
}

impl State {
    /// Number of the stack pointer.
    pub(crate) const STACK: u8 = STACK_POINTER;

    /// At the begin of a function.
    pub(super) fn begin() -> State {
        let mut registers = [Value::Other; 16];
        (0u8..).zip(&mut registers).for_each(|(n, r)| *r = Value::Begin(n, 0));
        State { registers, slots: BTreeMap::new() }
    }

    pub(super) fn get(&self, register: Register) -> Value {
        number(register).map_or(Value::Other, |n| self.registers[n])
    }

    pub(super) fn set(&mut self, register: Register, value: Value) {
        if let Some(n) = number(register) {
            self.registers[n] = value;
        }
    }

    /// Whether the block is anywhere in sight.
    pub(crate) fn holds(&self) -> bool {
        self.registers.iter().chain(self.slots.values()).any(|&v| v == Value::Mine)
    }

    /// Whether the block's address is in a register, given by its number.
    pub(crate) fn register_holds(&self, register: usize) -> bool {
        self.registers.get(register) == Some(&Value::Mine)
    }

    /// Whether the block's address is in memory at an offset from what a register, given by its number, points to.
    pub(crate) fn memory_holds(&self, register: usize, offset: i64) -> bool {
        let base = self.registers.get(register).map_or(Value::Other, |v| v.plus(offset));
        matches!(base, Value::Begin(base, offset) if self.load(Some((base, offset))) == Value::Mine)
    }

    /// Likewise from the stack pointer as it was before the function was called.
    pub(crate) fn frame_holds(&self, offset: i64) -> bool {
        self.load(Some((STACK_POINTER, offset.wrapping_add(8)))) == Value::Mine
    }

    /// Fixed addresses where the block's address is.
    pub(crate) fn fixed_that_hold(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().filter(|(slot, v)| slot.0 == FIXED && **v == Value::Mine).map(|(slot, _)| slot.1 as u64)
    }

    /// Offsets from what a register, given by its number, pointed to when the function began, where the block's address is.
    pub(crate) fn behind(&self, register: u8) -> impl Iterator<Item = i64> {
        let holds = move |&(slot, v): &(&Slot, &Value)| slot.0 == register && *v == Value::Mine;
        self.slots.iter().filter(holds).map(|(slot, _)| slot.1)
    }

    /// Likewise offsets from the stack pointer as it was before the function was called.
    pub(crate) fn frame_that_holds(&self) -> impl Iterator<Item = i64> {
        self.behind(STACK_POINTER).map(|offset| offset.wrapping_sub(8))
    }

    pub(super) fn load(&self, slot: Option<Slot>) -> Value {
        slot.and_then(|s| self.slots.get(&s).copied()).unwrap_or(Value::Other)
    }

    pub(super) fn store(&mut self, slot: Option<Slot>, value: Value) {
        let Some(slot) = slot else { return };
        if value == Value::Other {
            self.slots.remove(&slot);
        } else if self.slots.len() < SLOTS_MAX || self.slots.contains_key(&slot) {
            self.slots.insert(slot, value);
        }
    }

    /// What is left when control may come from here or there; whether that is less than was known here.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (a, b) in self.registers.iter_mut().zip(&other.registers) {
            *a = a.or(*b);
        }
        self.slots.retain(|slot, value| {
            *value = value.or(other.load(Some(*slot)));
            *value != Value::Other
        });
        *self != before
    }
}

/// Number of a general register, whatever part of it is named.
pub(super) fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register() as usize - Register::RAX as usize)
}
