//! What global variables and allocated blocks are made of, by the debugging information. The type of a block is that of the
//! pointer that gets it: of the function that returns it, or of the variable that holds it afterwards, which the machine code
//! tells (see `returns`). Where there is no such pointer, or several that disagree, the type is not known.
mod dies;
mod names;
mod scopes;
mod table;

use super::returns::{Returns, State};
use crate::answers::{Global, Slice};
use addr2line::gimli;
use dies::{Die, Units, strip};
use homenode_trace::symbols::{Element, Returned};
use homenode_trace::types::Type;
use names::Names;
use scopes::{Function, Local, Scopes};
use std::collections::{BTreeMap, BTreeSet};
use table::Table;

/// What is found in one file.
#[derive(Clone, Debug, Default)]
pub(super) struct FileTypes {
    pub(super) types: Vec<Type>,
    /// Types of variables by address in the file.
    pub(super) globals: BTreeMap<u64, u32>,
    /// What blocks hold, by the address of the allocating call.
    pub(super) elements: BTreeMap<u64, Element>,
    /// The variable or member that gets the block, by the address of the allocating call.
    pub(super) holders: BTreeMap<u64, String>,
}

/// Looks for the types of `globals` and of what is obtained at `sites` (addresses of calls).
pub(super) fn find(
    dwarf: gimli::Dwarf<Slice<'_>>,
    globals: &[Global],
    sites: impl Iterator<Item = u64>,
    returns: Option<&mut Returns<'_>>,
) -> FileTypes {
    let units = Units::of(dwarf);
    let sites: Vec<u64> = sites.collect();
    let named = globals;
    let globals: BTreeSet<u64> = globals.iter().map(|g| g.address).collect();
    let scopes = Scopes::of(&units, &sites);
    let mut table = Table::new(&units);
    let mut found = FileTypes::default();
    for (&address, &die) in scopes.variables.iter().filter(|(a, _)| globals.contains(a)) {
        if let Some(of) = units.type_of(die).and_then(|t| table.index(t)) {
            found.globals.insert(address, of);
        }
    }
    if let Some(returns) = returns {
        let target = |die: Die| units.pointed_to(units.type_of(die)?);
        let pointers = scopes.variables.iter().filter_map(|(&a, &die)| Some((a, target(die)?))).collect();
        for site in sites {
            if let Some((die, one)) = element_of(&units, &scopes, &pointers, site, returns)
                && let Some(of) = table.index(die)
            {
                found.elements.insert(site, Element { of, one });
            }
            if let Some(function) = scopes.function(site) {
                let mut names = Names::of(&units, named, &scopes.variables, function);
                if returns.returned(site, &mut |ip, state| names.see(ip, state)) == Returned::No {
                    let name = names.owner(site, returns).or_else(|| names.name());
                    found.holders.extend(name.map(|name| (site, name)));
                }
            }
        }
    }
    found.types = table.types;
    found
}

/// The type of what the call at `site` obtains, and whether it is one object and not any number of them.
/// `pointers` are the variables with fixed addresses that are pointers, with what they point to.
fn element_of(
    units: &Units<'_>,
    scopes: &Scopes,
    pointers: &BTreeMap<u64, Die>,
    site: u64,
    returns: &mut Returns<'_>,
) -> Option<(Die, bool)> {
    let function = scopes.function(site)?;
    let one = returns.called(site).is_some_and(|name| name.starts_with("_Znw"));
    for inlined in function.inlined_at(site) {
        if let Some(of) = returned_type(units, inlined) {
            return Some((of, one && !is_allocator(units, inlined)));
        }
        if !returns_pointer(units, inlined) {
            break;
        }
    }
    let held = Holders::of(units, pointers, function);
    // Only the first that get it: later ones may point to the block's first member.
    let mut types: BTreeSet<Die> = BTreeSet::new();
    let returned = returns.returned(site, &mut |ip, state| {
        if types.is_empty() {
            held.add(ip, state, &mut types);
        }
    });
    if returned == Returned::Whole
        && let Some(of) = returned_type(units, function.die)
    {
        return Some((of, one && !is_allocator(units, function.die)));
    }
    let mut plain = types.iter().filter_map(|&t| Some((strip(units, t)?.1, t)));
    let first = plain.next()?;
    plain.all(|p| p.0 == first.0).then_some((first.1, one))
}

fn returned_type(units: &Units<'_>, function: Die) -> Option<Die> {
    units.pointed_to(units.type_of(function)?)
}

fn returns_pointer(units: &Units<'_>, function: Die) -> bool {
    let tag = units.type_of(function).and_then(|t| units.entry(strip(units, t)?.1)).map(|e| e.tag());
    tag == Some(gimli::DW_TAG_pointer_type)
}

/// Allocators of the C++ library return any number of objects that they made as one.
fn is_allocator(units: &Units<'_>, function: Die) -> bool {
    let origin = units.refers(function, gimli::DW_AT_abstract_origin).unwrap_or(function);
    let origin = units.refers(origin, gimli::DW_AT_specification).unwrap_or(origin);
    units.name(origin).is_some_and(|n| n.contains("allocate"))
}

/// Pointers that may come to hold a block, with the types that they point to.
struct Holders<'p> {
    fixed: &'p BTreeMap<u64, Die>,
    locals: Vec<(Local, Die)>,
}

impl<'p> Holders<'p> {
    fn of(units: &Units<'_>, fixed: &'p BTreeMap<u64, Die>, function: &Function) -> Holders<'p> {
        let target = |die: Die| units.pointed_to(units.type_of(die)?);
        let locals = function.locals(units, |die| target(die).is_some());
        let locals = locals.into_iter().filter_map(|l| target(l.die).map(|t| (l, t))).collect();
        Holders { fixed, locals }
    }

    fn add(&self, ip: u64, state: &State, types: &mut BTreeSet<Die>) {
        types.extend(state.fixed_that_hold().filter_map(|a| self.fixed.get(&a)));
        types.extend(self.locals.iter().filter(|(l, _)| l.holds(ip, state)).map(|(_, t)| *t));
    }
}
