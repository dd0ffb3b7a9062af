//! The plan as the preloaded agent takes it: one sorted, checked table. [`write`] makes it, the agent
//! (`crates/hooks/c/agent/table.c`) reads the file into memory of its own and uses it in place, [`read`] is for tests and for
//! the writer itself, which gives out nothing that the agent would refuse. The C header `crates/hooks/c/agent/plan_layout.h`
//! is printed from the records here by `xtask gen-header`, and CI compares it with the committed one.
//!
//! A table is a [`Head`], its [`Item`]s, its [`Group`]s and its [`Nodes`], one after the other without gaps; fields are
//! little-endian. Items come kind by kind (threads to pin, stacks, static data, allocations), within a kind by `by`,
//! `key`, `path`, `ordinal`, `size`, `build`, `offset`: the order in which the agent looks things up. No field that a kind
//! does not use is other than 0. There are no strings: build ids and thread paths stand there as the hashes that the agent
//! compares ([`build_hash`], [`path_hash`]).
use crate::agentplan::{AgentPlan, By, Home, Line};
use crate::stackhash::{BASIS, PRIME, build_hash, path_hash, site_hash};
use std::collections::BTreeMap;

/// First eight bytes.
pub const PLAN_MAGIC: u64 = u64::from_le_bytes(*b"HNAGPLAN");
/// Version of the table; 1 and 2 were text.
pub const PLAN_VERSION: u32 = 3;
/// Flag of a head: [`AgentPlan::same_sizes`].
pub const PLAN_SAME_SIZES: u32 = 1;
/// Most items of a table.
pub const PLAN_ITEMS_MOST: u64 = 10_000_000;
/// Bound of addresses as linked, sizes of objects and ordinals.
pub const PLAN_BYTES_MOST: u64 = 1 << 47;
/// Bound of processors.
pub const PLAN_CPUS: u32 = 8192;
/// Bound of nodes.
pub const PLAN_NODES: u32 = 1024;
/// Where what the checksum is of begins: behind the magic and itself.
pub const PLAN_SUMMED_FROM: usize = 16;
/// [`Item::by`]: by call stack; also of what is no allocation.
pub const PLAN_BY_STACK: u32 = 0;
/// [`Item::by`]: by size.
pub const PLAN_BY_SIZE: u32 = 1;
/// [`Item::by`]: by the place of the call.
pub const PLAN_BY_SITE: u32 = 2;

/// Words of a set of nodes.
const WORDS: usize = PLAN_NODES as usize / 64;

/// What a record is made of.
trait Field: Sized {
    const BYTES: usize;
    fn put(&self, to: &mut Vec<u8>);
    /// From exactly [`Field::BYTES`] bytes.
    fn take(from: &[u8]) -> Option<Self>;
    fn c(name: &str) -> String;
}

macro_rules! number {
    ($kind:ty, $c:literal) => {
        impl Field for $kind {
            const BYTES: usize = size_of::<$kind>();
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn take(from: &[u8]) -> Option<Self> {
                Some(<$kind>::from_le_bytes(from.try_into().ok()?))
            }
            fn c(name: &str) -> String {
                format!("{} {name}", $c)
            }
        }
    };
}
number!(u32, "uint32_t");
number!(u64, "uint64_t");

impl Field for [u64; WORDS] {
    const BYTES: usize = WORDS * 8;
    fn put(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|word| word.put(to));
    }
    fn take(from: &[u8]) -> Option<Self> {
        let words: Option<Vec<u64>> = from.chunks(8).map(u64::take).collect();
        words?.try_into().ok()
    }
    fn c(name: &str) -> String {
        format!("uint64_t {name}[{WORDS}]")
    }
}

macro_rules! record {
    ($(#[$doc:meta])* $name:ident as $c:literal { $($(#[doc = $text:literal])+ $field:ident: $kind:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name { $($(#[doc = $text])+ pub $field: $kind,)+ }

        impl $name {
            /// Bytes of a record.
            pub const BYTES: usize = 0 $(+ <$kind as Field>::BYTES)+;

            fn put(&self, to: &mut Vec<u8>) {
                $(self.$field.put(to);)+
            }

            /// From exactly [`Self::BYTES`] bytes.
            fn take(mut from: &[u8]) -> Option<Self> {
                $(let $field = <$kind as Field>::take(from.split_off(..<$kind as Field>::BYTES)?)?;)+
                from.is_empty().then_some($name { $($field),+ })
            }

            fn c() -> String {
                let mut text = format!("struct {} {{\n", $c);
                $(text += &format!("    {}; /*{} */\n", <$kind as Field>::c(stringify!($field)), concat!($($text),+));)+
                text + &format!("}};\n_Static_assert(sizeof(struct {}) == {}, \"no gaps\");\n", $c, Self::BYTES)
            }
        }
    };
}

record! {
    /// How a table begins.
    Head as "hnag_head" {
        /// HN_PLAN_MAGIC
        magic: u64,
        /// of every word behind it
        checksum: u64,
        /// of the whole table
        bytes: u64,
        /// hash of the build id of the executable whose processes are placed; 0: any
        program: u64,
        /// HN_PLAN_VERSION
        version: u32,
        /// HN_PLAN_SAME_SIZES or 0
        flags: u32,
        /// items: threads to pin
        pins: u32,
        /// items: stacks of threads
        stacks: u32,
        /// items: static data
        statics: u32,
        /// items: allocations
        heaps: u32,
        /// groups
        groups: u32,
        /// homes
        homes: u32,
    }
}

record! {
    /// One line of a plan.
    Item as "hnag_item" {
        /// hash of the build id of the module that has the data or allocates
        build: u64,
        /// allocation: hash of the stack or site, or the size
        key: u64,
        /// hash of the thread's path
        path: u64,
        /// allocation: how many by that thread with that key came before
        ordinal: u64,
        /// allocation: bytes asked for
        size: u64,
        /// first byte: address as linked, or from the allocation's begin
        offset: u64,
        /// bytes of the range
        bytes: u64,
        /// line of the plan, from 0
        line: u32,
        /// which of the homes
        home: u32,
        /// processor
        cpu: u32,
        /// allocation: what finds it, HN_PLAN_BY_*
        by: u32,
    }
}

record! {
    /// The allocations with one stack, size or site and one thread: consecutive items.
    Group as "hnag_group" {
        /// as of its items
        key: u64,
        /// as of its items
        path: u64,
        /// size of the largest object
        largest: u64,
        /// as of its items
        by: u32,
        /// first item, counted from the first of all
        first: u32,
        /// end of the items
        end: u32,
        /// 0
        zero: u32,
    }
}

record! {
    /// A home.
    Nodes as "hnag_home" {
        /// 1: page by page over the nodes in turn; 0: on the node
        interleave: u64,
        /// a bit a node
        nodes: [u64; WORDS],
    }
}

/// A table that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// How it begins.
    pub head: Head,
    /// In the table's order.
    pub items: Vec<Item>,
    /// By rising `by`, `key`, `path`.
    pub groups: Vec<Group>,
    /// Without repeats if [`write`] made them.
    pub homes: Vec<Nodes>,
}

/// The layout as a C header.
pub fn c_header() -> String {
    let mut text = String::from(
        "/* Generated from crates/base/src/agenttable.rs by `cargo xtask gen-header`. Do not edit. */\n#pragma once\n\
         #include <stdint.h>\n\n",
    );
    let numbers = [
        ("MAGIC", PLAN_MAGIC),
        ("VERSION", PLAN_VERSION.into()),
        ("SAME_SIZES", PLAN_SAME_SIZES.into()),
        ("ITEMS_MOST", PLAN_ITEMS_MOST),
        ("BYTES_MOST", PLAN_BYTES_MOST),
        ("CPUS", PLAN_CPUS.into()),
        ("NODES", PLAN_NODES.into()),
        ("SUMMED_FROM", PLAN_SUMMED_FROM as u64),
        ("BY_STACK", PLAN_BY_STACK.into()),
        ("BY_SIZE", PLAN_BY_SIZE.into()),
        ("BY_SITE", PLAN_BY_SITE.into()),
    ];
    for (name, value) in numbers {
        text += &format!("#define HN_PLAN_{name} UINT64_C({value:#x})\n");
    }
    for record in [Head::c(), Item::c(), Group::c(), Nodes::c()] {
        text += &format!("\n{record}");
    }
    text
}

/// FNV-1a by words of eight bytes instead of bytes, of all behind the head's two first fields; it changes whenever one
/// word does. Bytes that make no whole word do not count.
pub fn checksum(table: &[u8]) -> u64 {
    let words = table.get(PLAN_SUMMED_FROM..).unwrap_or_default().chunks_exact(8).filter_map(u64::take);
    words.fold(BASIS, |hash, word| (hash ^ word).wrapping_mul(PRIME))
}

/// The table of a plan.
///
/// # Errors
/// What is wrong with which line, counted from 0: an id or a home that makes no sense, a number out of its bounds, two lines
/// about one thread, ranges that overlap.
pub fn write(plan: &AgentPlan) -> Result<Vec<u8>, String> {
    let (mut items, mut homes) = ([const { Vec::new() }; 4], BTreeMap::new());
    for (line, what) in plan.lines.iter().enumerate() {
        let (kind, item) = item(what, &mut homes).map_err(|why| format!("line {line}: {why}"))?;
        items[kind].push(Item { line: u32::try_from(line).map_err(|_| "too many lines")?, ..item });
    }
    items.iter_mut().for_each(|i| i.sort_by_key(|i| (object(i), i.offset, i.line)));
    let [pins, stacks, statics, heaps] = [0, 1, 2, 3].map(|kind| items[kind].len() as u32);
    let groups = groups(&items[3], pins + stacks + statics);
    let head = Head {
        magic: PLAN_MAGIC,
        program: plan.program.as_deref().map_or(Ok(0), build)?,
        version: PLAN_VERSION,
        flags: if plan.same_sizes { PLAN_SAME_SIZES } else { 0 },
        groups: groups.len() as u32,
        homes: homes.len() as u32,
        ..Head { pins, stacks, statics, heaps, ..Head::default() }
    };
    let mut sets: Vec<(u32, Nodes)> = homes.into_iter().map(|(nodes, index)| (index, nodes)).collect();
    sets.sort_unstable();
    let homes = sets.into_iter().map(|(_, nodes)| nodes).collect();
    let table = Table { head, items: items.into_iter().flatten().collect(), groups, homes };
    table.check()?;
    Ok(table.bytes())
}

/// Puts the length and the checksum of a table into its head. A table shorter than that is left alone.
pub fn seal(table: &mut [u8]) {
    let length = (table.len() as u64).to_le_bytes();
    if let Some(field) = table.get_mut(16..24) {
        field.copy_from_slice(&length);
        let sum = checksum(table).to_le_bytes();
        table[8..16].copy_from_slice(&sum);
    }
}

/// Reads a table with all the checks that the agent makes.
///
/// # Errors
/// What is wrong, and if that is one line, which.
pub fn read(bytes: &[u8]) -> Result<Table, String> {
    let head = bytes.get(..Head::BYTES).and_then(Head::take).filter(|h| h.magic == PLAN_MAGIC);
    let head = head.filter(|h| h.version == PLAN_VERSION).ok_or("no plan of this version")?;
    let count: u64 = [head.pins, head.stacks, head.statics, head.heaps].map(u64::from).iter().sum();
    if count > PLAN_ITEMS_MOST {
        return Err("too long".to_owned());
    }
    let parts = [(count, Item::BYTES), (head.groups.into(), Group::BYTES), (head.homes.into(), Nodes::BYTES)];
    let length = parts.iter().map(|(n, each)| n * *each as u64).sum::<u64>() + Head::BYTES as u64;
    if length != bytes.len() as u64 || length != head.bytes {
        return Err("not as long as it says".to_owned());
    }
    if head.checksum != checksum(bytes) || head.flags > PLAN_SAME_SIZES {
        return Err("damaged".to_owned());
    }
    let (items, rest) = bytes[Head::BYTES..].split_at(count as usize * Item::BYTES);
    let (groups, homes) = rest.split_at(head.groups as usize * Group::BYTES);
    let table = Table {
        head,
        items: items.chunks(Item::BYTES).filter_map(Item::take).collect(),
        groups: groups.chunks(Group::BYTES).filter_map(Group::take).collect(),
        homes: homes.chunks(Nodes::BYTES).filter_map(Nodes::take).collect(),
    };
    table.check()?;
    Ok(table)
}

/// What says which object an item is about, in the order in which items are looked up.
fn object(i: &Item) -> (u32, u64, u64, u64, u64, u64) {
    (i.by, i.key, i.path, i.ordinal, i.size, i.build)
}

fn follows(a: &Item, b: &Item, kind: usize) -> bool {
    object(a) < object(b) || (kind > 1 && object(a) == object(b) && b.offset >= a.offset + a.bytes)
}

fn same_group(a: &Item, b: &Item) -> bool {
    (a.by, a.key, a.path) == (b.by, b.key, b.path)
}

fn groups(heaps: &[Item], before: u32) -> Vec<Group> {
    let mut at = before;
    let group = |items: &[Item]| {
        let largest = items.iter().map(|i| i.size).max().unwrap_or_default();
        let (first, Item { key, path, by, .. }) = (at, items[0]);
        at += items.len() as u32;
        Group { key, path, largest, by, first, end: at, zero: 0 }
    };
    heaps.chunk_by(same_group).map(group).collect()
}

/// Hash of a build id in lower-case hexadecimal.
fn build(id: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "a build id is 2 to 128 hexadecimal digits";
    let digits: Option<Vec<u8>> = id.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.filter(|d| d.len().is_multiple_of(2) && (2..=128).contains(&d.len())).ok_or(WRONG)?;
    Ok(build_hash(digits.chunks(2).map(|d| d[0] << 4 | d[1])))
}

/// The number of a home among those met so far.
fn home(home: &Home, homes: &mut BTreeMap<Nodes, u32>) -> Result<u32, &'static str> {
    let (interleave, nodes) = match home {
        Home::Node(node) => (0, std::slice::from_ref(node)),
        Home::Interleave(nodes) => (1, &nodes[..]),
    };
    const WRONG: &str = "a home is one node or different nodes, all below 1024";
    let mut set = Nodes { interleave, ..Nodes::default() };
    for node in nodes {
        let (word, bit) = (*node as usize / 64, 1 << (node % 64));
        match set.nodes.get_mut(word) {
            Some(word) if *word & bit == 0 => *word |= bit,
            _ => return Err(WRONG),
        }
    }
    if nodes.is_empty() {
        return Err(WRONG);
    }
    let next = homes.len() as u32;
    Ok(*homes.entry(set).or_insert(next))
}

/// Kind and item of a line, but for its number.
fn item(line: &Line, homes: &mut BTreeMap<Nodes, u32>) -> Result<(usize, Item), &'static str> {
    Ok(match line {
        Line::Pin { path, cpu } => (0, Item { path: path_hash(path), cpu: *cpu, ..Item::default() }),
        Line::Stack { path, node } => {
            (1, Item { path: path_hash(path), home: home(&Home::Node(*node), homes)?, ..Item::default() })
        }
        Line::Static { build_id, vaddr, bytes, home: h } => {
            let (build, home) = (build(build_id)?, home(h, homes)?);
            (2, Item { build, offset: *vaddr, bytes: *bytes, home, ..Item::default() })
        }
        Line::Heap { build_id, by, path, ordinal, size, offset, bytes, home: h } => {
            let (build, home, path) = (build(build_id)?, home(h, homes)?, path_hash(path));
            let (by, key) = match by {
                By::Stack(hash) => (PLAN_BY_STACK, *hash),
                By::Size => (PLAN_BY_SIZE, *size),
                By::Site(address) => (PLAN_BY_SITE, site_hash(build, *address)),
            };
            let (ordinal, size, offset, bytes) = (*ordinal, *size, *offset, *bytes);
            (3, Item { build, key, path, ordinal, size, offset, bytes, home, by, ..Item::default() })
        }
    })
}

impl Table {
    /// The table as [`read`] takes it, sealed.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.head.put(&mut bytes);
        self.items.iter().for_each(|i| i.put(&mut bytes));
        self.groups.iter().for_each(|g| g.put(&mut bytes));
        self.homes.iter().for_each(|h| h.put(&mut bytes));
        seal(&mut bytes);
        bytes
    }

    /// The items of a kind.
    fn kind(&self, kind: usize) -> &[Item] {
        let mut rest = &self.items[..];
        for (at, n) in [self.head.pins, self.head.stacks, self.head.statics, self.head.heaps].into_iter().enumerate() {
            let (these, others) = rest.split_at((n as usize).min(rest.len()));
            if at == kind {
                return these;
            }
            rest = others;
        }
        rest
    }

    fn check(&self) -> Result<(), String> {
        let full = |n: &Nodes| n.interleave <= 1 && n.nodes.iter().any(|w| *w != 0);
        if !self.homes.iter().all(full) {
            return Err("a home without nodes".to_owned());
        }
        for kind in 0..4 {
            let mut before = None;
            for item in self.kind(kind) {
                if !self.sound(item, kind) {
                    return Err(format!("line {}: a number is out of its bounds", item.line));
                }
                if before.is_some_and(|b| !follows(b, item, kind)) {
                    return Err(format!("line {}: out of order, or of what another line is of", item.line));
                }
                before = Some(item);
            }
        }
        let before = self.items.len() - self.kind(3).len();
        let right = self.groups == groups(self.kind(3), before as u32);
        right.then_some(()).ok_or_else(|| "groups that are not those of the items".to_owned())
    }

    /// Whether every number of an item can be.
    fn sound(&self, i: &Item, kind: usize) -> bool {
        let no_allocation = i.by == 0 && i.key | i.ordinal | i.size == 0;
        let thread = no_allocation && i.build | i.offset | i.bytes == 0;
        let homed = (i.home as usize) < self.homes.len() && i.cpu == 0;
        (i.line as usize) < self.items.len()
            && match kind {
                0 => thread && i.home == 0 && i.cpu < PLAN_CPUS,
                1 => thread && homed,
                2 => {
                    let bytes = (1..=PLAN_BYTES_MOST).contains(&i.bytes);
                    no_allocation && homed && i.path == 0 && i.offset < PLAN_BYTES_MOST && bytes
                }
                _ => {
                    let key = i.by <= PLAN_BY_SITE && (i.by != PLAN_BY_SIZE || i.key == i.size);
                    let object = i.ordinal <= PLAN_BYTES_MOST && (1..=PLAN_BYTES_MOST).contains(&i.size);
                    homed && key && object && i.offset < i.size && (1..=i.size - i.offset).contains(&i.bytes)
                }
            }
    }
}

#[cfg(test)]
#[path = "agenttable_tests.rs"]
mod tests;
