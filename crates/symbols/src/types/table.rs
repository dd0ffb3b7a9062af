//! Types of the debugging information, as the dataset keeps them.
use super::dies::{Die, Units, strip};
use addr2line::gimli::{self, AttributeValue};
use homenode_trace::types::{Member, Shape, Type};
use std::collections::HashMap;

/// Types and members that one file may add: what is beyond stays unknown.
const TYPES_MAX: usize = 20_000;
const MEMBERS_MAX: usize = 200_000;
/// How deep types lie in each other at most.
const DEPTH_MAX: u32 = 24;
/// Dimensions of an array.
const DIMENSIONS_MAX: usize = 8;

/// Collects types that are asked for, and those that they are made of.
pub(super) struct Table<'u, 'd> {
    units: &'u Units<'d>,
    pub(super) types: Vec<Type>,
    known: HashMap<Die, Option<u32>>,
    members: usize,
}

impl<'u, 'd> Table<'u, 'd> {
    pub(super) fn new(units: &'u Units<'d>) -> Table<'u, 'd> {
        Table { units, types: Vec::new(), known: HashMap::new(), members: 0 }
    }

    /// The index of a type, which is added if it is new. `None` for what has no extent, such as declarations, and for what is
    /// too much.
    pub(super) fn index(&mut self, die: Die) -> Option<u32> {
        self.add(die, 0)
    }

    fn add(&mut self, die: Die, depth: u32) -> Option<u32> {
        let (typedef, die) = strip(self.units, die)?;
        if let Some(&known) = self.known.get(&die) {
            return known;
        }
        if depth >= DEPTH_MAX || self.types.len() >= TYPES_MAX {
            return None;
        }
        // A type that contains itself finds this.
        self.known.insert(die, None);
        let made = self.make(die, typedef, depth);
        let index = made.map(|t| self.push(t));
        self.known.insert(die, index);
        index
    }

    fn push(&mut self, made: Type) -> u32 {
        self.types.push(made);
        self.types.len() as u32 - 1
    }

    fn make(&mut self, die: Die, typedef: Option<String>, depth: u32) -> Option<Type> {
        let entry = self.units.entry(die)?;
        let bytes = entry.attr_value(gimli::DW_AT_byte_size).and_then(|v| v.udata_value());
        let own = self.units.name(die);
        let named = |keyword: &str| match &own {
            Some(name) if self.units.is_c(die) && !keyword.is_empty() => format!("{keyword} {name}"),
            Some(name) => name.clone(),
            None => typedef.clone().unwrap_or_default(),
        };
        let plain = |name: String, bytes: u64| Some(Type { name, bytes, shape: Shape::Plain });
        match entry.tag() {
            gimli::DW_TAG_base_type => plain(named(""), bytes?),
            gimli::DW_TAG_enumeration_type => plain(named("enum"), bytes?),
            gimli::DW_TAG_union_type => plain(named("union"), bytes?),
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                plain("pointer".to_owned(), bytes.unwrap_or(8))
            }
            gimli::DW_TAG_ptr_to_member_type => plain("pointer to member".to_owned(), bytes.unwrap_or(8)),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                let name = named("struct");
                let members = self.members(die, depth)?;
                Some(Type { name, bytes: bytes?, shape: Shape::Struct(members) })
            }
            gimli::DW_TAG_array_type => self.array(die, depth),
            _ => None,
        }
    }

    fn members(&mut self, die: Die, depth: u32) -> Option<Vec<Member>> {
        if self.units.entry(die)?.attr(gimli::DW_AT_declaration).is_some() {
            return None;
        }
        let mut members = Vec::new();
        for child in self.units.children(die) {
            self.members += 1;
            if self.members > MEMBERS_MAX {
                return None;
            }
            members.extend(self.member(child, depth));
        }
        members.sort_by_key(|m| m.offset);
        Some(members)
    }

    fn member(&mut self, die: Die, depth: u32) -> Option<Member> {
        let entry = self.units.entry(die)?;
        let number = |name| entry.attr_value(name).and_then(|v: AttributeValue<_>| v.udata_value());
        let is_base = entry.tag() == gimli::DW_TAG_inheritance;
        if !is_base && (entry.tag() != gimli::DW_TAG_member || entry.attr(gimli::DW_AT_external).is_some()) {
            return None;
        }
        let of = self.add(self.units.type_of(die)?, depth + 1)?;
        let name = if is_base { String::new() } else { self.units.name(die).unwrap_or_default() };
        let at = number(gimli::DW_AT_data_member_location);
        match (number(gimli::DW_AT_data_bit_offset), number(gimli::DW_AT_bit_size)) {
            (Some(first), Some(bits)) => {
                let offset = first / 8;
                let last = first.checked_add(bits.max(1))? - 1;
                Some(Member { name, offset, of, bytes: last / 8 - offset + 1 })
            }
            // Older forms count bits from the other end: the unit that the field is in is known, and that is enough.
            _ if is_base && at.is_none() => None,
            _ => Some(Member { name, offset: at.unwrap_or(0), of, bytes: 0 }),
        }
    }

    fn array(&mut self, die: Die, depth: u32) -> Option<Type> {
        let mut at = self.add(self.units.type_of(die)?, depth + 1)?;
        let dimensions: Vec<u64> =
            self.units.children(die).into_iter().filter_map(|c| self.units.dimension(c)).take(DIMENSIONS_MAX).collect();
        let mut made = None;
        for &count in dimensions.iter().rev() {
            if let Some(inner) = made.take() {
                at = self.push(inner);
            }
            let bytes = self.types[at as usize].bytes.saturating_mul(count);
            made = Some(Type { name: String::new(), bytes, shape: Shape::Array { of: at, count } });
        }
        made
    }
}
