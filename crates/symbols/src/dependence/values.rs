//! The values of a function, from its instructions: each register and each slot of the stack holds one at each place, and where
//! ways meet, one of those that come along them.
use super::effects::{Effects, Target};
use super::flow::{Call, Flow};
use super::frame::{Frame, number};
use super::nodes::{How, NOWHERE, Nodes, Value};
use iced_x86::{Instruction, InstructionInfoFactory, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes of a slot of the stack.
const SLOT: i64 = 4;
/// Slots that are followed.
const SLOTS_MAX: usize = 192;
/// Numbers of places: general registers, flags, vector registers, slots.
const FLAGS: usize = 16;
const VECTORS: usize = 17;
const SLOTS: usize = 49;
/// Operations that are no instructions: several slots as one value, and the begin of a segment.
const TOGETHER: u32 = u32::MAX;
const SEGMENT: u32 = u32::MAX - 1;
/// Registers that a called function may change, by number.
const CLOBBERED: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];

/// A write to memory that is no slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    pub(super) block: u32,
    pub(super) address: Value,
    pub(super) bytes: i64,
    pub(super) data: Value,
}

/// What a function computes.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) nodes: Nodes,
    pub(super) stores: Vec<Store>,
    /// Bytes that loads read.
    pub(super) loaded: HashMap<Value, i64>,
    /// By address of the last byte of a hook's call: its block and the address that it is given.
    pub(super) sites: BTreeMap<u64, (u32, Value)>,
    /// By block: whether a function is called there that may change any variable.
    pub(super) calls: Vec<bool>,
}

/// The work on one function.
pub(super) struct Builder<'f> {
    flow: &'f Flow<'f>,
    frame: Frame,
    /// Places of slots, by offset.
    slots: BTreeMap<i64, usize>,
    /// How many places there are.
    places: usize,
    factory: InstructionInfoFactory,
    values: Values,
    now: Vec<Value>,
    /// Loads of this block since memory may last have changed, by address and instruction.
    recent: HashMap<(Value, u32), Value>,
    block: u32,
    base: Value,
}

impl<'f> Builder<'f> {
    /// `None` if the function is too large.
    pub(super) fn build(flow: &'f Flow<'f>) -> Option<Values> {
        let frame = Frame::new(flow);
        let mut nodes = Nodes::default();
        let base = nodes.new_value(NOWHERE, How::Frame, Vec::new());
        let values = Values { nodes, calls: vec![false; flow.blocks.len()], ..Values::default() };
        let (factory, slots) = (InstructionInfoFactory::new(), BTreeMap::new());
        let mut builder = Builder {
            flow,
            frame,
            slots,
            places: 0,
            factory,
            values,
            now: Vec::new(),
            recent: HashMap::new(),
            block: 0,
            base,
        };
        builder.find_slots();
        builder.all_blocks()?;
        let Values { nodes, stores, loaded, sites, .. } = &mut builder.values;
        let same = nodes.simplify(&flow.nest.inner);
        let now = |v: &mut Value| *v = same[*v as usize];
        stores.iter_mut().for_each(|s| [&mut s.address, &mut s.data].into_iter().for_each(now));
        sites.values_mut().for_each(|s| now(&mut s.1));
        loaded.retain(|v, _| same[*v as usize] == *v);
        Some(builder.values)
    }

    /// Gives slots their places: one to those that are read and written together alone.
    fn find_slots(&mut self) {
        let all = self.flow.function.instructions();
        let used = self.flow.order.iter().flat_map(|b| self.flow.blocks.spans[*b].clone());
        let accesses: BTreeSet<(i64, i64)> = used.filter_map(|n| self.slot(n, &all[n])).collect();
        let mut of: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        for access in accesses {
            slots_of(access.0, access.1).for_each(|slot| of.entry(slot).or_default().push(access));
        }
        let mut places: HashMap<Vec<(i64, i64)>, usize> = HashMap::new();
        for (slot, together) in of {
            let next = places.len();
            if next < SLOTS_MAX || places.contains_key(&together) {
                self.slots.insert(slot, SLOTS + *places.entry(together).or_insert(next));
            }
        }
        self.places = SLOTS + places.len();
    }

    /// The slot that an instruction reads or writes, and how many bytes.
    fn slot(&self, at: usize, i: &Instruction) -> Option<(i64, i64)> {
        use iced_x86::Mnemonic as M;
        let top = self.frame.offset(at, Register::RSP);
        let slot = match i.mnemonic() {
            M::Push => Some((top?.wrapping_sub(8), 8)),
            M::Pop => Some((top?, 8)),
            M::Leave => Some((self.frame.offset(at, Register::RBP)?, 8)),
            M::Lea | M::Nop => None,
            _ if (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory) => {
                Some((self.frame.slot(at, i)?, i.memory_size().size() as i64))
            }
            _ => None,
        };
        slot.filter(|s| s.0.unsigned_abs() < 1 << 40)
    }

    fn all_blocks(&mut self) -> Option<()> {
        let (flow, places) = (self.flow, self.places);
        let mut exits: Vec<Vec<Value>> = vec![Vec::new(); flow.blocks.len()];
        let mut phis: Vec<(usize, Value)> = Vec::new();
        for &block in &flow.order {
            self.block = block as u32;
            self.recent.clear();
            let pred = &flow.blocks.pred[block];
            match pred[..] {
                [only] if block != 0 && !flow.from_outside[block] && !exits[only].is_empty() => {
                    self.now.clone_from(&exits[only]);
                }
                [] if block == 0 && !flow.from_outside[block] => {
                    self.now = (0..places).map(|_| self.values.nodes.new_value(NOWHERE, How::Begin, vec![])).collect();
                }
                _ => {
                    let nodes = &mut self.values.nodes;
                    let first = nodes.all.len() as Value;
                    self.now = (0..places).map(|_| nodes.new_value(block as u32, How::Phi, Vec::new())).collect();
                    phis.push((block, first));
                }
            }
            for n in flow.blocks.spans[block].clone() {
                self.step(n);
            }
            exits[block] = std::mem::take(&mut self.now);
            if self.values.nodes.is_full() {
                return None;
            }
        }
        for (block, first) in phis {
            let mut others = Vec::new();
            if flow.from_outside[block] || flow.blocks.pred[block].iter().any(|p| exits[*p].is_empty()) {
                others.push(self.values.nodes.new_value(block as u32, How::Opaque, vec![]));
            }
            for place in 0..places {
                let mut inputs = others.clone();
                if block == 0 {
                    inputs.push(self.values.nodes.new_value(NOWHERE, How::Begin, vec![]));
                }
                inputs.extend(flow.blocks.pred[block].iter().filter_map(|p| exits[*p].get(place)));
                self.values.nodes.all[first as usize + place].inputs = inputs;
            }
        }
        Some(())
    }

    fn value(&mut self, how: How, inputs: Vec<Value>) -> Value {
        let inside = self.flow.nest.inner[self.block as usize];
        match how {
            How::Constant(_) => self.values.nodes.value(NOWHERE, 0, how, inputs),
            _ => self.values.nodes.value(self.block, inside, how, inputs),
        }
    }

    fn new_value(&mut self, how: How, inputs: Vec<Value>) -> Value {
        self.values.nodes.new_value(self.block, how, inputs)
    }

    fn in_frame(&mut self, offset: i64) -> Value {
        let base = self.base;
        self.value(How::Sum(vec![1], offset), vec![base])
    }

    /// What a register holds, whatever part of it is asked for.
    fn read(&mut self, at: usize, register: Register) -> Value {
        if let Some(offset) = self.frame.offset(at, register) {
            return self.in_frame(offset);
        }
        let Some(place) = place(register) else { return self.new_value(How::Opaque, vec![]) };
        let value = self.now[place];
        let node = &self.values.nodes.all[value as usize];
        let low = register.is_gpr8() && !is_high(register);
        if low && node.how == How::Low { node.inputs[0] } else { value }
    }

    fn write(&mut self, register: Register, value: Value) {
        let Some(place) = place(register) else { return };
        let part = register.is_gpr8() || register.is_gpr16();
        let old = self.now[place];
        self.now[place] = if part { self.new_value(How::Low, vec![value, old]) } else { value };
    }

    fn read_slot(&mut self, offset: i64, bytes: i64) -> Value {
        let mut found: Vec<Value> = Vec::new();
        for slot in slots_of(offset, bytes) {
            let value = match self.slots.get(&slot) {
                Some(place) => self.now[*place],
                None => self.new_value(How::Opaque, vec![]),
            };
            found.push(value);
        }
        found.dedup();
        if found.len() == 1 { found[0] } else { self.value(How::Computed(TOGETHER, 0), found) }
    }

    fn write_slot(&mut self, offset: i64, bytes: i64, value: Value, certain: bool) {
        for slot in slots_of(offset, bytes) {
            let Some(&place) = self.slots.get(&slot) else { continue };
            let whole = certain && slot >= offset && slot + SLOT <= offset + bytes;
            let old = self.now[place];
            self.now[place] = if whole { value } else { self.new_value(How::Made, vec![value, old]) };
        }
    }

    /// The address of a memory operand.
    fn address(&mut self, at: usize, i: &Instruction) -> Value {
        let (mut inputs, mut factors) = (Vec::new(), Vec::new());
        let displacement = i.memory_displacement64() as i64;
        for (register, factor) in [(i.memory_base(), 1), (i.memory_index(), i64::from(i.memory_index_scale()))] {
            if !matches!(register, Register::None | Register::RIP | Register::EIP) {
                inputs.push(self.read(at, register));
                factors.push(factor);
            }
        }
        if matches!(i.segment_prefix(), Register::FS | Register::GS) {
            inputs.push(self.value(How::Computed(SEGMENT, i.segment_prefix() as u64), vec![]));
            factors.push(1);
        }
        self.sum(factors, displacement, inputs)
    }

    fn sum(&mut self, factors: Vec<i64>, constant: i64, inputs: Vec<Value>) -> Value {
        match inputs[..] {
            [] => self.value(How::Constant(constant as u64), vec![]),
            [only] if constant == 0 && factors[0] == 1 => only,
            _ => self.value(How::Sum(factors, constant), inputs),
        }
    }

    fn load(&mut self, address: Value, others: Vec<Value>, bytes: i64) -> Value {
        let inputs = [address].into_iter().chain(others).collect();
        let load = self.new_value(How::Load, inputs);
        self.values.loaded.insert(load, bytes);
        load
    }

    fn store(&mut self, address: Value, bytes: i64, data: Value) {
        self.recent.clear();
        self.values.stores.push(Store { block: self.block, address, bytes, data });
    }

    fn step(&mut self, at: usize) {
        let i = &self.flow.function.instructions()[at];
        if let Some(&call) = self.flow.calls.get(&at) {
            return self.call(at, i, call);
        }
        let effects = Effects::of(i, &mut self.factory);
        let mut inputs: Vec<Value> = effects.reads.iter().map(|r| self.read(at, *r)).collect();
        if effects.reads_flags {
            inputs.push(self.now[FLAGS]);
        }
        let slot = self.slot(at, i);
        let address = match slot {
            None if effects.loads || effects.stores || effects.leas => Some(self.address(at, i)),
            _ => None,
        };
        let bytes = (i.memory_size().size() as i64).max(1);
        let memory = match (slot, address) {
            _ if !effects.loads => None,
            (Some((offset, bytes)), _) => Some(self.read_slot(offset, bytes)),
            // What string instructions and others read without an operand is read where their registers point.
            (None, Some(address)) if effects.has_operand => {
                let key = (address, i.code() as u32);
                let load = self.recent.get(&key).copied().unwrap_or_else(|| self.load(address, Vec::new(), bytes));
                self.recent.insert(key, load);
                Some(load)
            }
            _ => {
                let address = self.new_value(How::Made, inputs.clone());
                Some(self.load(address, Vec::new(), bytes))
            }
        };
        inputs.extend(memory);
        let result = match (&effects.how, address) {
            (How::Sum(..), Some(address)) if effects.leas => address,
            (How::Made, Some(address)) if effects.leas => self.value(How::Computed(i.code() as u32, 0), vec![address]),
            (How::Sum(factors, constant), _) if factors.len() == inputs.len() => {
                self.sum(factors.clone(), *constant, inputs.clone())
            }
            (How::Constant(c), _) => self.value(How::Constant(*c), vec![]),
            (How::Computed(code, constant), _) => self.value(How::Computed(*code, *constant), inputs.clone()),
            _ => self.new_value(How::Made, inputs.clone()),
        };
        self.finish(i, &effects, result, (slot, address, bytes), &inputs);
    }

    /// Writes what an instruction writes.
    fn finish(
        &mut self,
        i: &Instruction,
        effects: &Effects,
        result: Value,
        (slot, address, bytes): (Option<(i64, i64)>, Option<Value>, i64),
        inputs: &[Value],
    ) {
        if let Target::Pop(register) = effects.target {
            // Frames are followed by themselves.
            if register != Register::RSP {
                self.write(register, result);
            }
            return;
        }
        if effects.flags != (false, false) {
            let mut inputs = inputs.to_vec();
            if !effects.flags.1 {
                inputs.push(self.now[FLAGS]);
            }
            self.now[FLAGS] = self.new_value(How::Made, inputs);
        }
        for (n, &(register, certain)) in effects.writes.iter().enumerate() {
            // What goes to a second register is another value of the same origin.
            let result = if n == 0 { result } else { self.new_value(How::Made, vec![result]) };
            let old = place(register).map(|p| self.now[p]);
            match old {
                Some(old) if !certain => {
                    let either = self.new_value(How::Made, vec![result, old]);
                    self.write(register, either);
                }
                _ => self.write(register, result),
            }
        }
        if effects.stores {
            match (slot, address) {
                (Some((offset, bytes)), _) => self.write_slot(offset, bytes, result, !i.has_rep_prefix()),
                (None, Some(address)) => self.store(address, bytes, result),
                _ => {}
            }
        }
    }

    fn call(&mut self, at: usize, i: &Instruction, call: Call) {
        let first = self.read(at, Register::RDI);
        let site = i.next_ip().wrapping_sub(1);
        let mut result = None;
        match call {
            Call::Hook => {
                self.values.sites.insert(site, (self.block, first));
            }
            Call::Atomic => {
                self.values.sites.insert(site, (self.block, first));
                let others = [Register::RSI, Register::RDX].map(|r| self.read(at, r)).to_vec();
                let load = self.load(first, others, 8);
                self.store(first, 8, load);
                result = Some(load);
                // Where a comparison fails, what is in memory goes where the second argument points.
                if let Some(offset) = self.frame.offset(at, Register::RSI) {
                    self.write_slot(offset, 8, load, false);
                }
            }
            Call::Mark => {}
            Call::Library(returns_first) => result = returns_first.then_some(first),
            Call::Program | Call::Ends => self.values.calls[self.block as usize] = true,
        }
        let opaque = self.new_value(How::Opaque, vec![]);
        if !matches!(call, Call::Hook | Call::Mark) {
            self.recent.clear();
        }
        if matches!(call, Call::Program | Call::Library(_)) {
            let given = self.slots.range(self.frame.escapes..).map(|s| *s.1).collect::<Vec<usize>>();
            given.into_iter().for_each(|place| self.now[place] = opaque);
        }
        CLOBBERED.into_iter().chain(FLAGS..SLOTS).for_each(|place| self.now[place] = opaque);
        self.now[0] = result.unwrap_or(opaque);
    }
}

/// Slots that bytes of the stack lie in.
fn slots_of(offset: i64, bytes: i64) -> impl Iterator<Item = i64> {
    let begin = offset.div_euclid(SLOT) * SLOT;
    (0..).map(move |n| begin + n * SLOT).take_while(move |s| *s < offset + bytes.clamp(1, 64))
}

/// Number of the place that a register is.
fn place(register: Register) -> Option<usize> {
    if register.is_vector_register() {
        return Some(VECTORS + register.number()).filter(|p| *p < SLOTS);
    }
    number(register)
}

fn is_high(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}
