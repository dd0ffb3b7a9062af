//! Entries of the debugging information and what they refer to.
use crate::answers::Slice;
use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, UnitOffset};

/// Longest chain of typedefs and qualifiers.
const CHAIN_MAX: usize = 32;
/// Most entries below one.
const CHILDREN_MAX: usize = 100_000;

pub(super) type Entry<'d> = DebuggingInformationEntry<Slice<'d>>;

/// An entry: unit and offset in the unit.
pub(super) type Die = (usize, UnitOffset);

/// All units of a file.
pub(super) struct Units<'d> {
    pub(super) dwarf: gimli::Dwarf<Slice<'d>>,
    pub(super) units: Vec<gimli::Unit<Slice<'d>>>,
}

impl<'d> Units<'d> {
    pub(super) fn of(dwarf: gimli::Dwarf<Slice<'d>>) -> Units<'d> {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        Units { dwarf, units }
    }

    pub(super) fn entry(&self, die: Die) -> Option<Entry<'d>> {
        self.units.get(die.0)?.entry(die.1).ok()
    }

    /// The entry that an attribute of another one refers to.
    pub(super) fn refers(&self, die: Die, attribute: gimli::DwAt) -> Option<Die> {
        match self.entry(die)?.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some((die.0, offset)),
            AttributeValue::DebugInfoRef(offset) => self.units.iter().enumerate().find_map(|(i, unit)| {
                let inside = offset.to_unit_offset(&unit.header)?;
                Some((i, inside))
            }),
            _ => None,
        }
    }

    /// The type of a variable, member, function and so on; if it is the definition of something declared elsewhere, that of
    /// the declaration.
    pub(super) fn type_of(&self, mut die: Die) -> Option<Die> {
        for _ in 0..4 {
            if let Some(found) = self.refers(die, gimli::DW_AT_type) {
                return Some(found);
            }
            die = self
                .refers(die, gimli::DW_AT_specification)
                .or_else(|| self.refers(die, gimli::DW_AT_abstract_origin))?;
        }
        None
    }

    pub(super) fn name(&self, die: Die) -> Option<String> {
        let value = self.entry(die)?.attr_value(gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(self.units.get(die.0)?, value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    /// Whether the entry is of a C program, where structures are named with their keyword.
    pub(super) fn is_c(&self, die: Die) -> bool {
        let unit = &self.units[die.0];
        let root = unit.entry(unit.header.root_offset()).ok();
        let language = root.and_then(|r| r.attr_value(gimli::DW_AT_language));
        matches!(
            language,
            Some(AttributeValue::Language(
                gimli::DW_LANG_C | gimli::DW_LANG_C89 | gimli::DW_LANG_C99 | gimli::DW_LANG_C11
            ))
        )
    }

    /// Entries directly below one.
    pub(super) fn children(&self, die: Die) -> Vec<Die> {
        let mut found = Vec::new();
        let Some(unit) = self.units.get(die.0) else { return found };
        let Ok(mut tree) = unit.entries_tree(Some(die.1)) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            if found.len() == CHILDREN_MAX {
                break;
            }
            found.push((die.0, child.entry().offset()));
        }
        found
    }

    /// Elements of one dimension of an array; 0 if unknown.
    pub(super) fn dimension(&self, die: Die) -> Option<u64> {
        let entry = self.entry(die)?;
        if entry.tag() != gimli::DW_TAG_subrange_type {
            return None;
        }
        let number = |name| entry.attr_value(name).and_then(|v: AttributeValue<_>| v.udata_value());
        let last = number(gimli::DW_AT_upper_bound);
        Some(number(gimli::DW_AT_count).or(last.and_then(|l| l.checked_add(1))).unwrap_or(0))
    }

    /// What a pointer or reference points to, if that says what lies there: not bytes, functions or nothing.
    pub(super) fn pointed_to(&self, die: Die) -> Option<Die> {
        let (_, pointer) = strip(self, die)?;
        let tag = self.entry(pointer)?.tag();
        if tag != gimli::DW_TAG_pointer_type && tag != gimli::DW_TAG_reference_type {
            return None;
        }
        let target = self.type_of(pointer)?;
        let (_, plain) = strip(self, target)?;
        let entry = self.entry(plain)?;
        let bytes = entry.attr_value(gimli::DW_AT_byte_size).and_then(|v| v.udata_value());
        match entry.tag() {
            gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type => (bytes? > 1).then_some(target),
            gimli::DW_TAG_subroutine_type | gimli::DW_TAG_unspecified_type => None,
            _ => Some(target),
        }
    }
}

/// A type without typedefs and qualifiers, and the name of the innermost typedef.
pub(super) fn strip(units: &Units<'_>, mut die: Die) -> Option<(Option<String>, Die)> {
    let mut name = None;
    for _ in 0..CHAIN_MAX {
        match units.entry(die)?.tag() {
            gimli::DW_TAG_typedef => name = units.name(die),
            gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => {}
            _ => return Some((name, die)),
        }
        die = units.refers(die, gimli::DW_AT_type)?;
    }
    None
}
