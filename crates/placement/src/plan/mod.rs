//! A plan: which threads on which processors, which data on which nodes. What `homenode place` writes and what acts on
//! it reads; the same keys find the same data in another run of the same build.
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

mod facts;
mod homes;
mod read;

pub use facts::{Bandwidth, Evidence, Expected, HugePages, ModuleBuild, NodeDemand, Unplaceable, Why, Worth};
pub use homes::{Conflict, Homes};
pub use read::PlanError;

/// The `schema` field of every plan of this version.
pub const PLAN_SCHEMA: &str = "https://github.com/homenode/homenode/schema/plan-3";
/// The one of the version before, which is read too: it knows no sites, no command and no warnings.
pub const PLAN_SCHEMA_BEFORE: &str = "https://github.com/homenode/homenode/schema/plan-2";

/// Which threads on which processors, which data on which nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Identifier of this kind of document. plan-3 is written; plan-2, which lacks the fields that are not required, is
    /// read too.
    #[schemars(extend("enum" = [PLAN_SCHEMA, PLAN_SCHEMA_BEFORE]))]
    pub schema: String,
    /// Name of the machine it was made for.
    pub machine: String,
    /// Processors of each node of that machine; empty in plans of an older version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u16>,
    /// Size of the pages it was made for, in bytes: a power of two.
    #[schemars(range(min = 1))]
    pub page_bytes: u64,
    /// Unit of all costs: `ps` or a quantum in words.
    pub unit: String,
    /// What it rests on.
    pub evidence: Evidence,
    /// What the whole program is expected to cost.
    pub expected: Expected,
    /// Executables and libraries whose data it places, none twice.
    pub modules: Vec<ModuleBuild>,
    /// Threads to processors; threads not named run anywhere. No thread twice.
    pub threads: Vec<ThreadPin>,
    /// Data to nodes; ranges of one object do not overlap.
    pub entries: Vec<Entry>,
    /// Data that cannot be placed by itself, most used first.
    pub unplaceable: Vec<Unplaceable>,
    /// What memory is asked for and serves; absent where the machine names no bandwidths or the evidence no demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth")]
    pub bandwidth: Option<Bandwidth>,
    /// Huge pages; absent where the recording knows of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HugePages")]
    pub huge: Option<HugePages>,
}

/// Where a thread is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadPin {
    /// Dataset thread, as homes name it.
    pub thread: u32,
    /// How to find it in another run: of the initial thread the a-th thread created, of that one the b-th, and so on; empty
    /// for the initial thread itself.
    pub path: Vec<u32>,
    /// Processor of the machine.
    pub cpu: u16,
}

/// Where a part of an object is to live. In a run where the object comes with another size, the part keeps its share of
/// it: from `offset / size` to `(offset + bytes) / size`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The object.
    pub object: ObjectKey,
    /// First byte, from the object's begin.
    pub offset: u64,
    /// Bytes, at least 1.
    #[schemars(range(min = 1))]
    pub bytes: u64,
    /// Home of the part.
    pub home: Home,
    /// What people call the object.
    pub name: String,
    /// What the placement of this range is worth.
    pub worth: Worth,
}

/// What finds an object again in another run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ObjectKey {
    /// A global variable.
    Symbol {
        /// Build id of its module, hexadecimal.
        #[schemars(regex(pattern = "^[0-9a-fA-F]+$"))]
        build_id: String,
        /// Name, demangled.
        #[schemars(length(min = 1))]
        symbol: String,
        /// Address as linked: run-time address minus load bias.
        address: u64,
        /// Bytes.
        size: u64,
    },
    /// An allocation.
    Heap {
        /// Build id of the module that allocated, hexadecimal.
        #[schemars(regex(pattern = "^[0-9a-fA-F]+$"))]
        build_id: String,
        /// Hash of the call stack.
        stack: StackHash,
        /// The allocating thread: of the initial thread the a-th thread created, of that one the b-th, and so on;
        /// empty for the initial thread itself.
        thread_path: Vec<u32>,
        /// Allocations of at least 4096 bytes ([`LEAST_BYTES`]) by that thread from that call stack before this one.
        ordinal: u64,
        /// Bytes asked for.
        size: u64,
        /// Allocations of this size by that thread before this one: finds it in another build, whose call stacks differ.
        size_ordinal: u64,
        /// Where it is allocated: finds it where call stacks cannot be told again, whatever its size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Site")]
        site: Option<Site>,
        /// The line of the program that allocates: finds it in whatever is compiled from the same source. Absent in plans of an
        /// older version and where the program has no line numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "SourceLine")]
        source: Option<SourceLine>,
    },
    /// The stack of a thread, which lives on one node as a whole.
    Stack {
        /// The thread: of the initial thread the a-th thread created, of that one the b-th, and so on; empty for the initial
        /// thread itself.
        thread_path: Vec<u32>,
    },
}

/// The place of the call that asks for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Where that call returns to, as linked, in the module whose build id the key has.
    pub address: u64,
    /// Allocations of at least 4096 bytes ([`LEAST_BYTES`]) by that thread from there before this one.
    pub ordinal: u64,
}

/// A line of the program's source that asks for memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceLine {
    /// Source file as the compiler was told.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Line, from 1.
    #[schemars(range(min = 1))]
    pub line: u32,
    /// Allocations of at least 4096 bytes ([`LEAST_BYTES`]) by that thread from this line before this one.
    pub ordinal: u64,
}

/// Allocations below this size share pages with others: they are neither counted nor placed.
pub const LEAST_BYTES: u64 = 4096;

/// Hash of a call stack. In JSON 16 hexadecimal digits, since not every reader keeps 64-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackHash(pub u64);

/// Where data is to live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// On the node where this thread runs.
    Thread(u32),
    /// On this node.
    Node(u16),
    /// Block by block over these nodes in turn; block number modulo their count picks one. Not empty, no node twice.
    Interleave(#[schemars(length(min = 1), extend("uniqueItems" = true))] Vec<u16>),
}

impl fmt::Display for StackHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
impl Serialize for StackHash {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl JsonSchema for StackHash {
    fn schema_name() -> Cow<'static, str> {
        "StackHash".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Hash of a call stack: 16 hexadecimal digits.",
            "type": "string",
            "pattern": "^[0-9a-fA-F]{16}$",
        })
    }
}
impl<'de> Deserialize<'de> for StackHash {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<StackHash, D::Error> {
        let text = String::deserialize(d)?;
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u64::from_str_radix(&text, 16).ok().filter(|_| digits);
        value.map(StackHash).ok_or_else(|| serde::de::Error::custom(format!("'{text}' is not 16 hexadecimal digits")))
    }
}

impl Plan {
    /// An empty plan for a machine.
    pub fn new(machine: &str) -> Plan {
        Plan {
            schema: PLAN_SCHEMA.into(),
            machine: machine.into(),
            cores: Vec::new(),
            page_bytes: 4096,
            unit: "ps".into(),
            evidence: Evidence::default(),
            expected: Expected::default(),
            modules: Vec::new(),
            threads: Vec::new(),
            entries: Vec::new(),
            unplaceable: Vec::new(),
            bandwidth: None,
            huge: None,
        }
    }
    /// As JSON that [`Plan::from_json`] reads back to an equal plan.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings, integers and lists are JSON")
    }
}
