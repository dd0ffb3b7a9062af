//! Types of data as the debugging information gives them, and which field lies at an offset.
use serde::{Deserialize, Serialize};

/// How deep structures and arrays lie in each other at most; whatever is deeper has no name.
const DEPTH_MAX: usize = 32;

/// A type. Others refer to it by its index in [`crate::Symbols::types`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Type {
    /// Name as in the source: `double`, `struct stats`; empty if it has none.
    pub name: String,
    /// Bytes; 0 if unknown.
    pub bytes: u64,
    /// What it is made of.
    pub shape: Shape,
}

/// What a type is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Nothing that has names: a number, a pointer, a union (which of its members is meant is not known).
    #[default]
    Plain,
    /// Elements of one type.
    Array {
        /// Type of an element.
        of: u32,
        /// Number of elements; 0 if unknown.
        count: u64,
    },
    /// Members, sorted by offset.
    Struct(Vec<Member>),
}

/// A member of a structure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Member {
    /// Name; empty for base classes and unnamed structures, whose members count as those of the whole.
    pub name: String,
    /// First byte, from the begin of the structure.
    pub offset: u64,
    /// Type.
    pub of: u32,
    /// Bytes, if they are not those of the type: those that a bit-field has a part of. 0 otherwise.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What lies at an offset in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Way from the object's first byte: `[3].hits`; empty for the object itself.
    pub path: String,
    /// Path without positions in arrays: `[].hits`.
    pub member: String,
    /// Name of the structure that the last member belongs to; empty if there is none.
    pub of: String,
    /// First byte, from the object's begin.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// First byte of the element of the outermost array; 0 if the object is none.
    pub element_offset: u64,
    /// Bytes of such an element; those of the object if it is none.
    pub element_bytes: u64,
}

impl Type {
    /// The type with other types at positions that are higher by `by`.
    pub(crate) fn moved(mut self, by: u32) -> Type {
        match &mut self.shape {
            Shape::Plain => {}
            Shape::Array { of, .. } => *of = of.saturating_add(by),
            Shape::Struct(members) => members.iter_mut().for_each(|m| m.of = m.of.saturating_add(by)),
        }
        self
    }
}

/// The field at `offset` of an object of type `root`.
pub fn field_of(types: &[Type], root: u32, offset: u64) -> Option<Field> {
    let whole = types.get(root as usize)?;
    let begin = Field { bytes: whole.bytes, element_bytes: whole.bytes, ..Field::default() };
    if whole.bytes != 0 && offset >= whole.bytes {
        return None;
    }
    descend(types, root, offset, begin).filter(|f| !f.path.is_empty() || whole.shape == Shape::Plain)
}

/// The field at `offset` of a block of `bytes` bytes that holds one or more objects of type `element`. `None` unless the
/// block holds a whole number of them.
pub fn field_in_block(types: &[Type], element: u32, bytes: u64, offset: u64) -> Option<Field> {
    let of = types.get(element as usize)?;
    let each = of.bytes;
    if each == 0 || !bytes.is_multiple_of(each) || offset >= bytes {
        return None;
    }
    let mut begin = Field { bytes: each, element_bytes: each, ..Field::default() };
    if bytes > each {
        begin.step_into_element(offset / each, each);
        begin.element_offset = begin.offset;
    }
    let inside = offset % each;
    descend(types, element, inside, begin).filter(|f| !f.path.is_empty() || of.shape == Shape::Plain)
}

impl Field {
    fn step_into_element(&mut self, index: u64, each: u64) {
        self.path.push_str(&format!("[{index}]"));
        self.member.push_str("[]");
        self.offset = self.offset.saturating_add(index.saturating_mul(each));
        self.bytes = each;
    }
}

/// From a structure or array at `field`, `offset` bytes into it, to the innermost part with a name. Names that the language
/// keeps for its library are no way to show data.
fn descend(types: &[Type], mut at: u32, mut offset: u64, mut field: Field) -> Option<Field> {
    for _ in 0..DEPTH_MAX {
        let here = types.get(at as usize)?;
        match &here.shape {
            Shape::Plain => return Some(field),
            Shape::Array { of, count } => {
                let each = types.get(*of as usize)?.bytes;
                if each == 0 || *count != 0 && offset / each >= *count {
                    return Some(field);
                }
                let outermost = field.path.is_empty();
                field.step_into_element(offset / each, each);
                if outermost {
                    (field.element_offset, field.element_bytes) = (field.offset, each);
                }
                (at, offset) = (*of, offset % each);
            }
            Shape::Struct(members) => {
                let Some((member, bytes)) = members.iter().rev().find_map(|m| {
                    let bytes = if m.bytes != 0 { m.bytes } else { types.get(m.of as usize)?.bytes };
                    (offset.checked_sub(m.offset)? < bytes).then_some((m, bytes))
                }) else {
                    return Some(field);
                };
                if member.name.starts_with("_M_") || member.name.starts_with("__") {
                    return Some(field);
                }
                field.offset = field.offset.checked_add(member.offset)?;
                field.bytes = bytes;
                if !member.name.is_empty() {
                    field.path.push_str(&format!(".{}", member.name));
                    field.member.push_str(&format!(".{}", member.name));
                    field.of.clone_from(&here.name);
                }
                (at, offset) = (member.of, offset - member.offset);
                if member.bytes != 0 {
                    return Some(field);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: &str, bytes: u64) -> Type {
        Type { name: name.into(), bytes, shape: Shape::Plain }
    }

    fn member(name: &str, offset: u64, of: u32) -> Member {
        Member { name: name.into(), offset, of, bytes: 0 }
    }

    /// `struct stats { long hits; struct { int low, high; } range; int pair[2]; unsigned a:3, b:5; } stats[4];`
    fn types() -> Vec<Type> {
        let range = vec![member("low", 0, 1), member("high", 4, 1)];
        let flag = |name: &str| Member { bytes: 1, ..member(name, 24, 1) };
        let stats = vec![member("hits", 0, 0), member("range", 8, 2), member("pair", 16, 3), flag("a"), flag("b")];
        vec![
            plain("long", 8),
            plain("int", 4),
            Type { name: String::new(), bytes: 8, shape: Shape::Struct(range) },
            Type { name: String::new(), bytes: 8, shape: Shape::Array { of: 1, count: 2 } },
            Type { name: "struct stats".into(), bytes: 32, shape: Shape::Struct(stats) },
            Type { name: String::new(), bytes: 128, shape: Shape::Array { of: 4, count: 4 } },
        ]
    }

    #[test]
    fn paths_lead_to_the_innermost_name() {
        let types = types();
        let path = |offset| field_of(&types, 5, offset).map(|f| (f.path, f.offset, f.bytes));
        let is = |path: &str, offset, bytes| Some((path.to_owned(), offset, bytes));
        assert_eq!(path(0), is("[0].hits", 0, 8));
        assert_eq!(path(32 + 13), is("[1].range.high", 44, 4));
        assert_eq!(path(96 + 20), is("[3].pair[1]", 116, 4));
        assert_eq!(path(24), is("[0].b", 24, 1), "the last of the bit-fields that share a byte");
        assert_eq!(path(30), is("[0]", 0, 32), "padding has no name of its own");
        assert_eq!(path(128), None);
        let hits = field_of(&types, 5, 67).unwrap();
        assert_eq!((hits.member.as_str(), hits.of.as_str()), ("[].hits", "struct stats"));
        assert_eq!((hits.element_offset, hits.element_bytes), (64, 32));
    }

    #[test]
    fn blocks_hold_whole_numbers_of_elements() {
        let types = types();
        assert_eq!(field_in_block(&types, 4, 32, 8).unwrap().path, ".range.low");
        assert_eq!(field_in_block(&types, 4, 96, 72).unwrap().path, "[2].range.low");
        assert_eq!(field_in_block(&types, 4, 90, 8), None);
        assert_eq!(field_in_block(&types, 0, 80, 79).unwrap().path, "[9]");
    }

    #[test]
    fn hostile_types_have_no_fields() {
        let around = Type { name: "loop".into(), bytes: 8, shape: Shape::Struct(vec![member("", 0, 0)]) };
        assert_eq!(field_of(&[around], 0, 3), None);
        let nowhere = Type { name: "x".into(), bytes: 8, shape: Shape::Array { of: 9, count: 1 } };
        assert_eq!(field_of(&[nowhere], 0, 3), None);
        assert_eq!(field_of(&[], 0, 0), None);
        let far = Member { bytes: u64::MAX, ..member("far", u64::MAX, 0) };
        let far = Type { name: "x".into(), bytes: u64::MAX, shape: Shape::Struct(vec![far]) };
        assert_eq!(field_of(&[far], 0, u64::MAX - 1), None);
    }
}
