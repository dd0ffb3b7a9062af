//! What people call a block: the variable or member that its address is put into. A global variable or a member outlives the
//! function and wins over a local variable; in C++ a member is named by its class, wherever the object lies.
use super::dies::{Die, Units, strip};
use super::scopes::{Function, Local};
use crate::symbols::image::Global;
use crate::symbols::returns::State;
use addr2line::gimli::{self, AttributeValue};
use std::collections::BTreeSet;

/// Registers of the first arguments by number, in order.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];
/// How deep members lie in each other at most.
const DEPTH_MAX: u32 = 8;

/// Names that a block may get in one function.
pub(super) struct Names<'n, 'u, 'd> {
    units: &'u Units<'d>,
    globals: &'n [Global],
    /// Types of variables by address.
    variables: &'n std::collections::BTreeMap<u64, Die>,
    /// Structures that arguments point to, by the register.
    pointees: Vec<(u8, Die)>,
    locals: Vec<Local>,
    lasting: BTreeSet<String>,
    passing: BTreeSet<String>,
}

impl<'n, 'u, 'd> Names<'n, 'u, 'd> {
    pub(super) fn of(
        units: &'u Units<'d>,
        globals: &'n [Global],
        variables: &'n std::collections::BTreeMap<u64, Die>,
        function: &Function,
    ) -> Names<'n, 'u, 'd> {
        let locals = function.locals(units, |die| units.type_of(die).is_some());
        let pointees = pointees(units, function.die);
        Names { units, globals, variables, pointees, locals, lasting: BTreeSet::new(), passing: BTreeSet::new() }
    }

    /// Takes note of where the block is before an instruction. What holds it first counts.
    pub(super) fn see(&mut self, ip: u64, state: &State) {
        if self.lasting.is_empty() {
            let fixed = state.fixed_that_hold().filter_map(|a| self.global(a));
            let members = self.pointees.iter().flat_map(|&(register, of)| {
                let offsets = state.behind(register);
                offsets.filter_map(move |at| self.member(of, u64::try_from(at).ok()?, 0))
            });
            let found: Vec<String> = fixed.chain(members).collect();
            self.lasting.extend(found);
        }
        if self.passing.is_empty() {
            let held = self.locals.iter().filter(|l| l.holds(ip, state));
            let found: Vec<String> = held.filter_map(|l| self.local(l.die)).collect();
            self.passing.extend(found);
            self.see_in_locals(state);
        }
    }

    /// Members of local variables.
    fn see_in_locals(&mut self, state: &State) {
        let mut found = Vec::new();
        for local in &self.locals {
            let Some(begin) = local.on_frame() else { continue };
            let Some(of) = self.units.type_of(local.die).and_then(|t| Some(strip(self.units, t)?.1)) else { continue };
            let bytes = bytes_of(self.units, of).unwrap_or(0);
            for at in state.frame_that_holds() {
                if let Some(offset) = at.checked_sub(begin).and_then(|o| u64::try_from(o).ok()).filter(|o| *o < bytes)
                    && let Some(member) = self.in_variable(local.die, of, offset)
                {
                    found.push(member);
                }
            }
        }
        self.lasting.extend(found.iter().filter(|n| n.contains("::")).cloned());
        self.passing.extend(found);
    }

    /// The name, if one can be told.
    pub(super) fn name(self) -> Option<String> {
        let best = if self.lasting.is_empty() { self.passing } else { self.lasting };
        best.into_iter().next()
    }

    fn local(&self, die: Die) -> Option<String> {
        let pointer = strip(self.units, self.units.type_of(die)?)?.1;
        let tag = self.units.entry(pointer)?.tag();
        matches!(tag, gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type).then(|| self.name_of(die)).flatten()
    }

    fn name_of(&self, die: Die) -> Option<String> {
        let origin = || {
            let of = self.units.refers(die, gimli::DW_AT_abstract_origin);
            of.or_else(|| self.units.refers(die, gimli::DW_AT_specification)).and_then(|o| self.units.name(o))
        };
        self.units.name(die).or_else(origin)
    }

    /// The variable around a fixed address, or its member there.
    fn global(&self, address: u64) -> Option<String> {
        let after = self.globals.partition_point(|g| !g.thread_local && g.address <= address);
        let around = |g: &&Global| !g.thread_local && address.wrapping_sub(g.address) < g.bytes.max(1);
        let global = self.globals[..after].iter().rev().take(4).find(around)?;
        let structure = || {
            let &die = self.variables.get(&global.address)?;
            let of = strip(self.units, self.units.type_of(die)?)?.1;
            let name = self.member(of, address - global.address, 0)?;
            let member = name.split_once(if self.units.is_c(of) { "." } else { "::" })?.1.to_owned();
            Some(if self.units.is_c(of) { format!("{}.{member}", global.name) } else { name })
        };
        structure().or_else(|| Some(global.name.clone()))
    }

    fn in_variable(&self, variable: Die, of: Die, offset: u64) -> Option<String> {
        let name = self.member(of, offset, 0)?;
        if !self.units.is_c(of) && !is_librarys(&name) {
            return Some(name);
        }
        let variable = self.name_of(variable)?;
        match name.split_once('.') {
            Some((_, member)) if self.units.is_c(of) => Some(format!("{variable}.{member}")),
            _ => Some(variable),
        }
    }

    /// The member of a structure at an offset, with the structure's name.
    fn member(&self, of: Die, offset: u64, depth: u32) -> Option<String> {
        let (typedef, of) = strip(self.units, of)?;
        let entry = self.units.entry(of)?;
        let structure = [gimli::DW_TAG_structure_type, gimli::DW_TAG_class_type, gimli::DW_TAG_union_type];
        if depth > DEPTH_MAX || !structure.contains(&entry.tag()) || bytes_of(self.units, of)? <= offset {
            return None;
        }
        let own = self.units.name(of).or(typedef);
        let (at, member) = self.covering(of, offset)?;
        let inner = self.units.type_of(member).and_then(|t| self.member(t, offset - at, depth + 1));
        let is_base = self.units.entry(member)?.tag() == gimli::DW_TAG_inheritance;
        let between = if self.units.is_c(of) { "." } else { "::" };
        match (inner, self.units.name(member)) {
            (Some(inner), _) if is_base => Some(inner),
            (Some(inner), Some(name)) if !is_librarys(&inner) => {
                let rest = inner.split_once(between).map_or(inner.as_str(), |(_, rest)| rest);
                Some(format!("{}{between}{name}.{rest}", own?))
            }
            (Some(inner), None) => Some(match (own, inner.split_once(between)) {
                (Some(own), Some((_, rest))) => format!("{own}{between}{rest}"),
                _ => inner,
            }),
            (_, Some(name)) => Some(format!("{}{between}{name}", own?)),
            (None, None) => None,
        }
    }

    /// The member or base that begins last at or before an offset.
    fn covering(&self, of: Die, offset: u64) -> Option<(u64, Die)> {
        let parts = self.units.children(of).into_iter().filter_map(|child| {
            let entry = self.units.entry(child)?;
            let wanted = [gimli::DW_TAG_member, gimli::DW_TAG_inheritance].contains(&entry.tag());
            let declared = entry.attr(gimli::DW_AT_external).is_some();
            let at = match entry.attr_value(gimli::DW_AT_data_member_location) {
                Some(value) => value.udata_value()?,
                None => 0,
            };
            (wanted && !declared && at <= offset).then_some((at, child))
        });
        parts.max_by_key(|p| p.0)
    }
}

/// Names that only a library's implementation has.
fn is_librarys(name: &str) -> bool {
    name.starts_with('_') || name.contains("::_M_") || name.contains("::__") || name.contains('<')
}

fn bytes_of(units: &Units<'_>, die: Die) -> Option<u64> {
    units.entry(die)?.attr_value(gimli::DW_AT_byte_size).and_then(|v: AttributeValue<_>| v.udata_value())
}

/// Structures that the arguments of a function point to, by register. Arguments in other registers take none of these;
/// after one that is passed in memory or in two registers it is not known where they are.
fn pointees(units: &Units<'_>, function: Die) -> Vec<(u8, Die)> {
    let mut found = Vec::new();
    let mut registers = ARGUMENTS.into_iter();
    for child in units.children(function) {
        if units.entry(child).is_none_or(|e| e.tag() != gimli::DW_TAG_formal_parameter) {
            continue;
        }
        let Some((_, plain)) = units.type_of(child).and_then(|t| strip(units, t)) else { break };
        let Some(of) = units.entry(plain) else { break };
        match of.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                let Some(register) = registers.next() else { break };
                if let Some(target) = units.type_of(plain) {
                    found.push((register, target));
                }
            }
            gimli::DW_TAG_enumeration_type => drop(registers.next()),
            gimli::DW_TAG_base_type => {
                let float = matches!(
                    of.attr_value(gimli::DW_AT_encoding),
                    Some(AttributeValue::Encoding(gimli::DW_ATE_float | gimli::DW_ATE_complex_float))
                );
                if !float {
                    registers.next();
                }
            }
            _ => break,
        }
    }
    found
}
