//! What people call a block: the variable or member that its address is put into. A global variable or a member outlives the
//! function and wins over a local variable; in C++ a member is named by its class, wherever the object lies. What a container
//! or smart pointer of the C++ library obtains has the name of that object.
use super::dies::{Die, Units, strip};
use super::scopes::{Function, Local};
use crate::answers::Global;
use crate::returns::{Pointed, Returns, State};
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
            let mut found: Vec<String> = state.fixed_that_hold().filter_map(|a| self.global(a)).collect();
            for &(register, of) in &self.pointees {
                let offsets = state.behind(register).filter_map(|at| u64::try_from(at).ok());
                found.extend(offsets.filter_map(|at| self.member(of, at, 0)));
            }
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
        let found: Vec<String> = state.frame_that_holds().filter_map(|at| self.on_frame(at)).collect();
        self.lasting.extend(found.iter().filter(|n| n.contains("::")).cloned());
        self.passing.extend(found);
    }

    /// The local variable of a structured type around a place on the frame, or its member there.
    fn on_frame(&self, at: i64) -> Option<String> {
        self.locals.iter().find_map(|local| {
            let of = strip(self.units, self.units.type_of(local.die)?)?.1;
            let offset = u64::try_from(at.checked_sub(local.on_frame()?)?).ok()?;
            (offset < bytes_of(self.units, of)?).then(|| self.in_variable(local.die, of, offset)).flatten()
        })
    }

    /// The object whose member function, or the result of whose making, the call at `site` is: if that is one of the C++
    /// library, it owns what is allocated there.
    pub(super) fn owner(&self, site: u64, returns: &mut Returns<'_>) -> Option<String> {
        let called = returns.called(site)?;
        if !["_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx"].iter().any(|p| called.starts_with(p)) {
            return None;
        }
        match returns.first_argument(site)? {
            Pointed::Fixed(address) => self.global(address),
            Pointed::Behind(register, offset) if register == State::STACK => self.on_frame(offset.checked_sub(8)?),
            Pointed::Behind(register, offset) => {
                let of = self.pointees.iter().find(|p| p.0 == register)?.1;
                self.member(of, u64::try_from(offset).ok()?, 0)
            }
        }
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

    /// The name that the programmer gave; names with two underscores are the library's.
    fn name_of(&self, die: Die) -> Option<String> {
        let origin = || {
            let of = self.units.refers(die, gimli::DW_AT_abstract_origin);
            of.or_else(|| self.units.refers(die, gimli::DW_AT_specification)).and_then(|o| self.units.name(o))
        };
        self.units.name(die).or_else(origin).filter(|name| !name.starts_with("__"))
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
        let is_c = self.units.is_c(of);
        match self.member(of, offset, 0) {
            Some(name) if !is_c && !is_librarys(&name) => Some(name),
            Some(name) if is_c => Some(format!("{}.{}", self.name_of(variable)?, name.split_once('.')?.1)),
            _ => self.name_of(variable),
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
