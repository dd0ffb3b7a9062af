//! Which functions return pointers, by the debugging information: what tells, of an inlined function that allocates, whether it
//! allocates for its caller. (Of functions that were not inlined, the machine code tells more: see `returns`.)
use crate::answers::Slice;
use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, UnitRef};
use std::collections::{BTreeMap, BTreeSet};

/// Entries of debugging information that are looked at for one file.
const ENTRIES_MAX: u64 = 50_000_000;

/// Of the functions named (linkage names, or plain ones in C), those that return a pointer or a reference. Two functions of
/// one name that disagree count as not.
pub(super) fn returning_pointers(dwarf: &gimli::Dwarf<Slice<'_>>, wanted: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    let mut left = ENTRIES_MAX;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let unit = unit.unit_ref(dwarf);
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            left = left.saturating_sub(1);
            if left == 0 {
                return BTreeSet::new();
            }
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            if let Some(name) = name_of(&unit, entry).filter(|n| wanted.contains(n)) {
                let pointer = returns_pointer(&unit, entry);
                found.entry(name).and_modify(|p| *p &= pointer).or_insert(pointer);
            }
        }
    }
    found.into_iter().filter_map(|(name, pointer)| pointer.then_some(name)).collect()
}

type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

fn name_of<'a>(unit: &UnitRef<'_, Slice<'a>>, entry: &Entry<'a>) -> Option<String> {
    let names = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name, gimli::DW_AT_name];
    let value = names.iter().find_map(|&n| entry.attr_value(n))?;
    Some(unit.attr_string(value).ok()?.to_string_lossy().into_owned())
}

fn returns_pointer(unit: &UnitRef<'_, Slice<'_>>, entry: &Entry<'_>) -> bool {
    let mut at = entry.attr_value(gimli::DW_AT_type);
    // Through typedefs and qualifiers; a chain that is longer is a damaged one.
    for _ in 0..16 {
        let Some(AttributeValue::UnitRef(offset)) = at else { return false };
        let Ok(of) = unit.entry(offset) else { return false };
        match of.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => return true,
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type => at = of.attr_value(gimli::DW_AT_type),
            _ => return false,
        }
    }
    false
}
