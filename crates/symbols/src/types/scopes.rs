//! Variables with a fixed address, and the functions around some addresses with their variables.
use super::super::returns::State;
use super::dies::{Die, Entry, Units};
use crate::answers::Slice;
use addr2line::gimli::{self, Expression, Operation};
use std::collections::BTreeMap;

/// Entries that are looked at for one file.
const ENTRIES_MAX: u64 = 50_000_000;
/// Variables and inlined functions of one function.
const PARTS_MAX: usize = 20_000;
/// Ranges of addresses of one function or place.
const RANGES_MAX: usize = 10_000;
/// DWARF numbers the registers of x86-64 in another order than instructions do.
const REGISTERS: [usize; 16] = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];

type Ranges = Vec<(u64, u64)>;

/// Variables with a fixed address, and the functions around some addresses with their variables.
#[derive(Default)]
pub(super) struct Scopes {
    /// Variables by address in the file.
    pub(super) variables: BTreeMap<u64, Die>,
    functions: Vec<Function>,
}

/// A function with machine code of its own.
pub(super) struct Function {
    pub(super) die: Die,
    ranges: Ranges,
    /// What offsets of variables count from: a register, or the stack pointer at the call.
    base: Option<Where>,
    /// Variables and parameters that the programmer wrote.
    variables: Vec<Die>,
    /// What was inlined, outer functions first.
    inlined: Vec<(Die, Ranges)>,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Register(usize),
    Memory(usize, i64),
    Frame(i64),
}

/// A local variable with the places where it is, by ranges of addresses; no ranges: everywhere.
pub(super) struct Local {
    pub(super) die: Die,
    places: Vec<(u64, u64, Where)>,
}

impl Scopes {
    pub(super) fn of(units: &Units<'_>, sites: &[u64]) -> Scopes {
        let mut sites = sites.to_vec();
        sites.sort_unstable();
        let (mut scopes, mut left) = (Scopes::default(), ENTRIES_MAX);
        for unit in 0..units.units.len() {
            scopes.read(units, unit, &sites, &mut left);
        }
        scopes
    }

    fn read(&mut self, units: &Units<'_>, unit: usize, sites: &[u64], left: &mut u64) {
        let mut entries = units.units[unit].entries();
        // The function that the entry lies in, if it is one of those wanted, and how deep that one lies.
        let mut inside: Option<(usize, isize)> = None;
        while let Ok(Some(entry)) = entries.next_dfs() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            inside = inside.filter(|&(_, depth)| entry.depth() > depth);
            let die = (unit, entry.offset());
            match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    let ranges = ranges_of(units, unit, entry);
                    if holds_any(&ranges, sites) {
                        let base = entry.attr_value(gimli::DW_AT_frame_base);
                        let base = base.and_then(|v| v.exprloc_value()).and_then(|e| place(units, unit, e, None));
                        let (variables, inlined) = Default::default();
                        self.functions.push(Function { die, ranges, base, variables, inlined });
                        inside = Some((self.functions.len() - 1, entry.depth()));
                    }
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => self.variable(units, die, entry, inside),
                gimli::DW_TAG_inlined_subroutine => {
                    let function = inside.map(|(f, _)| &mut self.functions[f]);
                    if let Some(f) = function.filter(|f| f.inlined.len() < PARTS_MAX) {
                        f.inlined.push((die, ranges_of(units, unit, entry)));
                    }
                }
                _ => {}
            }
        }
    }

    fn variable<'a>(&mut self, units: &Units<'a>, die: Die, entry: &Entry<'a>, inside: Option<(usize, isize)>) {
        let Some(location) = entry.attr_value(gimli::DW_AT_location) else { return };
        if let Some(address) = location.exprloc_value().and_then(|e| fixed(units, die.0, e)) {
            self.variables.insert(address, die);
            return;
        }
        let function = inside.map(|(f, _)| &mut self.functions[f]);
        if let Some(f) = function.filter(|f| f.variables.len() < PARTS_MAX)
            && !is_artificial(units, die)
        {
            f.variables.push(die);
        }
    }

    /// The function around an address.
    pub(super) fn function(&self, address: u64) -> Option<&Function> {
        self.functions.iter().find(|f| holds(&f.ranges, address))
    }
}

impl Function {
    /// Functions that were inlined around an address, innermost first.
    pub(super) fn inlined_at(&self, address: u64) -> impl Iterator<Item = Die> {
        self.inlined.iter().rev().filter(move |(_, ranges)| holds(ranges, address)).map(|i| i.0)
    }

    /// The variables that `wanted` takes, with their places.
    pub(super) fn locals(&self, units: &Units<'_>, wanted: impl Fn(Die) -> bool) -> Vec<Local> {
        let local = |die: &Die| Local { die: *die, places: self.places(units, *die) };
        self.variables.iter().filter(|d| wanted(**d)).map(local).collect()
    }

    fn places(&self, units: &Units<'_>, die: Die) -> Vec<(u64, u64, Where)> {
        let Some(value) = units.entry(die).and_then(|e| e.attr_value(gimli::DW_AT_location)) else { return Vec::new() };
        if let Some(expression) = value.exprloc_value() {
            return place(units, die.0, expression, self.base).map(|w| (0, u64::MAX, w)).into_iter().collect();
        }
        let mut found = Vec::new();
        let Ok(Some(mut list)) = units.dwarf.attr_locations(&units.units[die.0], value) else { return found };
        while let Ok(Some(entry)) = list.next() {
            if found.len() == RANGES_MAX {
                break;
            }
            let whole = place(units, die.0, entry.data, self.base);
            found.extend(whole.map(|w| (entry.range.begin, entry.range.end, w)));
        }
        found
    }
}

impl Local {
    /// Where it begins, from the stack pointer before the function was called, if it is there all the time.
    pub(super) fn on_frame(&self) -> Option<i64> {
        match self.places[..] {
            [(_, _, Where::Frame(offset))] => Some(offset),
            _ => None,
        }
    }

    /// Whether the variable holds the block at this instruction.
    pub(super) fn holds(&self, ip: u64, state: &State) -> bool {
        let here = self.places.iter().filter(|&&(begin, end, _)| begin <= ip && ip < end);
        here.into_iter().any(|&(_, _, place)| match place {
            Where::Register(n) => state.register_holds(n),
            Where::Memory(n, offset) => state.memory_holds(n, offset),
            Where::Frame(offset) => state.frame_holds(offset),
        })
    }
}

/// Whether the compiler made it, as it makes `this`. Of what is inlined the original says so.
fn is_artificial(units: &Units<'_>, die: Die) -> bool {
    let origin = units.refers(die, gimli::DW_AT_abstract_origin).unwrap_or(die);
    units.entry(origin).is_some_and(|e| e.attr(gimli::DW_AT_artificial).is_some())
}

fn holds(ranges: &Ranges, address: u64) -> bool {
    ranges.iter().any(|&(begin, end)| begin <= address && address < end)
}

fn holds_any(ranges: &Ranges, sorted: &[u64]) -> bool {
    ranges.iter().any(|&(begin, end)| sorted.get(sorted.partition_point(|&s| s < begin)).is_some_and(|&s| s < end))
}

fn ranges_of<'a>(units: &Units<'a>, unit: usize, entry: &Entry<'a>) -> Ranges {
    let mut found = Vec::new();
    let Ok(mut ranges) = units.dwarf.die_ranges(&units.units[unit], entry) else { return found };
    while let Ok(Some(range)) = ranges.next() {
        if found.len() == RANGES_MAX {
            break;
        }
        found.push((range.begin, range.end));
    }
    found
}

/// The only operation of an expression.
fn only<'d>(units: &Units<'d>, unit: usize, expression: Expression<Slice<'d>>) -> Option<Operation<Slice<'d>>> {
    let mut operations = expression.operations(units.units[unit].encoding());
    let first = operations.next().ok()??;
    matches!(operations.next(), Ok(None)).then_some(first)
}

fn fixed<'d>(units: &Units<'d>, unit: usize, expression: Expression<Slice<'d>>) -> Option<u64> {
    match only(units, unit, expression)? {
        Operation::Address { address } => Some(address),
        Operation::AddressIndex { index } => units.dwarf.address(&units.units[unit], index).ok(),
        _ => None,
    }
}

fn place<'d>(units: &Units<'d>, unit: usize, expression: Expression<Slice<'d>>, base: Option<Where>) -> Option<Where> {
    let number = |r: gimli::Register| REGISTERS.get(usize::from(r.0)).copied();
    match only(units, unit, expression)? {
        Operation::Register { register } => number(register).map(Where::Register),
        Operation::RegisterOffset { register, offset, .. } => Some(Where::Memory(number(register)?, offset)),
        Operation::CallFrameCFA => Some(Where::Frame(0)),
        Operation::FrameOffset { offset } => match base? {
            Where::Register(n) => Some(Where::Memory(n, offset)),
            Where::Frame(at) => Some(Where::Frame(at.checked_add(offset)?)),
            Where::Memory(..) => None,
        },
        _ => None,
    }
}
