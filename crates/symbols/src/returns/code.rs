//! The machine code of a file, by function.
use super::inlined::Inlined;
use iced_x86::{Code as Op, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use object::{Architecture, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::{BTreeSet, HashMap};

/// Bytes of the longest function that is looked at.
const FUNCTION_BYTES_MAX: u64 = 256 << 10;

/// Bytes of code that are looked at for calls.
const CALLS_BYTES_MAX: u64 = 256 << 20;

/// Code and what is known about addresses in it.
pub(crate) struct Code<'a> {
    /// (address, bytes) of sections with code.
    sections: Vec<(u64, &'a [u8])>,
    /// (begin, end, mangled name), sorted.
    functions: &'a [(u64, u64, String)],
    /// Names of the functions whose addresses the loader writes to these places.
    imported: HashMap<u64, String>,
    hooks: Inlined,
}

/// One function's instructions.
pub(crate) struct Function {
    begin: u64,
    instructions: Vec<Instruction>,
    targets: BTreeSet<u64>,
}

impl<'a> Code<'a> {
    /// `None` unless the file is for x86-64.
    pub(crate) fn of(file: &object::File<'a>, functions: &'a [(u64, u64, String)]) -> Option<Code<'a>> {
        if file.architecture() != Architecture::X86_64 {
            return None;
        }
        let text = file.sections().filter(|s| s.kind() == SectionKind::Text);
        let sections = text.filter_map(|s| Some((s.address(), s.data().ok()?))).collect();
        let mut imported = HashMap::new();
        let names = file.dynamic_symbol_table();
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            if let (RelocationTarget::Symbol(index), Some(names)) = (relocation.target(), &names)
                && let Ok(name) = object::ObjectSymbolTable::symbol_by_index(names, index).and_then(|s| s.name())
            {
                imported.insert(at, name.to_owned());
            }
        }
        Some(Code { sections, functions, imported, hooks: Inlined::of(file) })
    }

    /// Code that is in no file.
    #[cfg(test)]
    pub(crate) fn made(at: u64, bytes: &'a [u8], functions: &'a [(u64, u64, String)]) -> Code<'a> {
        Code { sections: vec![(at, bytes)], functions, imported: HashMap::new(), hooks: Inlined::default() }
    }

    fn span(&self, address: u64) -> Option<&(u64, u64, String)> {
        let after = self.functions.partition_point(|f| f.0 <= address);
        self.functions[..after].last().filter(|f| address < f.1)
    }

    fn bytes(&self, begin: u64, end: u64) -> Option<&'a [u8]> {
        let &(at, bytes) = self.sections.iter().find(|(at, b)| begin.wrapping_sub(*at) < b.len() as u64)?;
        bytes.get((begin - at) as usize..)?.get(..(end - begin) as usize)
    }

    /// The function around an address.
    pub(crate) fn function(&self, address: u64) -> Option<Function> {
        let &(begin, end, _) = self.span(address)?;
        let end = end.min(begin.saturating_add(FUNCTION_BYTES_MAX));
        let bytes = self.bytes(begin, end)?;
        let instructions = self.hooks.decode(bytes, begin);
        let branches = instructions.iter().filter(|i| is_branch(i));
        let targets = branches.map(Instruction::near_branch_target).collect();
        Some(Function { begin, instructions, targets })
    }

    /// Functions: begin and mangled name, in order.
    pub(crate) fn begins(&self) -> impl Iterator<Item = (u64, &'a str)> {
        self.functions.iter().map(|f| (f.0, f.2.as_str()))
    }

    /// Begin of the function around an address.
    pub(crate) fn begin(&self, address: u64) -> Option<u64> {
        self.span(address).map(|f| f.0)
    }

    /// Direct calls, and jumps from one function to the begin of another: last bytes of the instructions, by target.
    pub(crate) fn calls(&self) -> HashMap<u64, Vec<u64>> {
        let mut calls: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut left = CALLS_BYTES_MAX;
        for &(begin, end, _) in self.functions {
            let end = end.min(begin.saturating_add(FUNCTION_BYTES_MAX));
            let Some(bytes) = self.bytes(begin, end) else { continue };
            left = left.saturating_sub(bytes.len() as u64);
            if left == 0 {
                break;
            }
            for i in self.hooks.decode(bytes, begin) {
                let leaves = matches!(i.flow_control(), FlowControl::Call | FlowControl::UnconditionalBranch);
                if leaves && i.op0_kind() == OpKind::NearBranch64 && self.begin(i.near_branch_target()) != Some(begin) {
                    calls.entry(i.near_branch_target()).or_default().push(i.next_ip() - 1);
                }
            }
        }
        calls
    }

    /// Where a call goes: the function, or the place that the loader fills in.
    pub(crate) fn target(&self, i: &Instruction) -> Option<u64> {
        match i.op0_kind() {
            OpKind::NearBranch64 => Some(i.near_branch_target()),
            OpKind::Memory if i.memory_base() == Register::RIP => Some(i.memory_displacement64()),
            _ => None,
        }
    }

    /// Mangled name of what a call of this target reaches.
    pub(crate) fn name(&self, target: u64) -> Option<String> {
        if let Some(name) = self.imported.get(&target) {
            return Some(name.clone());
        }
        if let Some(name) = self.hooks.name(target) {
            return Some(name.to_owned());
        }
        if let Some(f) = self.span(target).filter(|f| f.0 == target) {
            return Some(f.2.clone());
        }
        // An entry of the procedure linkage table: a jump through such a place.
        let bytes = self.bytes(target, target.checked_add(16)?)?;
        let jump = Decoder::with_ip(64, bytes, target, DecoderOptions::NONE)
            .into_iter()
            .take(2)
            .find(|i| i.is_jmp_near_indirect())?;
        self.imported.get(&jump.memory_displacement64()).cloned()
    }
}

impl Function {
    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    pub(crate) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Index of the instruction at an address.
    pub(crate) fn index(&self, ip: u64) -> Option<usize> {
        self.instructions.binary_search_by_key(&ip, Instruction::ip).ok()
    }

    /// The fixed address that a register gets in the instructions right before one, without a jump between.
    pub(crate) fn address_in(&self, register: Register, before: usize) -> Option<u64> {
        for i in self.instructions[..before].iter().rev().take(8) {
            if i.flow_control() != FlowControl::Next {
                return None;
            }
            if i.op_count() > 0 && i.op0_kind() == OpKind::Register && i.op0_register().full_register() == register {
                return match i.mnemonic() {
                    Mnemonic::Lea if i.memory_base() == Register::RIP => Some(i.memory_displacement64()),
                    Mnemonic::Mov if i.op1_kind() == OpKind::Immediate32 => Some(u64::from(i.immediate32())),
                    _ => None,
                };
            }
        }
        None
    }

    /// Whether something jumps to the instruction with this index.
    pub(crate) fn is_target(&self, index: usize) -> bool {
        self.targets.contains(&self.instructions[index].ip())
    }

    /// Whether there is no way out: no return, and no jump to elsewhere or to what cannot be known.
    pub(crate) fn cannot_return(&self) -> bool {
        !self.instructions.iter().any(|i| match i.flow_control() {
            FlowControl::Return | FlowControl::IndirectBranch => true,
            _ => is_branch(i) && self.index(i.near_branch_target()).is_none() || i.code() == Op::INVALID,
        })
    }
}

fn is_branch(i: &Instruction) -> bool {
    matches!(i.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
}
