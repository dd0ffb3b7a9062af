//! The document of `homenode topo`.
use super::TopoRequest;
use homenode_machine::repair::Change;
use homenode_machine::topology::Locality;
use homenode_machine::{Measured, Table, ThisMachine, Topology};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// Identifier of these documents, described by `docs/schema/topo.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/topo-1";

/// What a machine is and what its memory costs. Described by `docs/schema/topo.json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TopoDoc {
    /// Identifier of this kind of document.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// `this machine`, or the path of the description.
    pub of: String,
    /// Nodes, processors, distances as the system gives them; odd things in `notes`.
    pub topology: Topology,
    /// What memory without processors is near to, a member for each such node; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub localities: Vec<Locality>,
    /// Costs made of them.
    pub machine: MachineDoc,
    /// Raw measurements, if there are some.
    pub measured: Option<MeasuredDoc>,
    /// File that the measurements were read from.
    pub measured_from: Option<String>,
    /// File that the machine was written to.
    pub saved: Option<String>,
}

/// Raw measurements: of a machine file, which leaves out what is absent where a document says `null`. Tables have one row a
/// node with processors, one column a node with memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MeasuredDoc {
    /// When, as RFC 3339 in UTC.
    pub when: String,
    /// Method.
    pub how: String,
    /// Why the values should not be believed; empty if nothing speaks against them.
    pub caution: String,
    /// Rows: operating-system numbers of nodes with processors.
    pub cpu_nodes: Vec<u32>,
    /// Columns: operating-system numbers of nodes with memory.
    pub memory_nodes: Vec<u32>,
    /// Idle load latency, picoseconds.
    pub idle_ps: Table,
    /// Idle load latency in huge pages, picoseconds.
    pub idle_huge_ps: Option<Table>,
    /// Load latency while the node's other processors read.
    pub loaded_ps: Option<Table>,
    /// A line of 64 bytes for one processor that reads in order, picoseconds.
    pub streamed_ps: Option<Table>,
    /// A load for one processor whose loads do not depend on each other, picoseconds.
    pub overlapped_ps: Option<Table>,
    /// A load that depends on the one before, of lines that the last level holds, picoseconds.
    pub hit_waited_ps: Option<Table>,
    /// A load that depends on no other, likewise.
    pub hit_overlapped_ps: Option<Table>,
    /// A line for one processor that reads in order, likewise.
    pub hit_streamed_ps: Option<Table>,
    /// A load that depends on no other, in as much memory as the last level is large, picoseconds.
    pub level_ps: Option<Table>,
    /// Read bandwidth, MB/s.
    pub read_mbs: Table,
    /// Write bandwidth, MB/s.
    pub write_mbs: Table,
}

impl From<Measured> for MeasuredDoc {
    fn from(m: Measured) -> MeasuredDoc {
        let Measured {
            when,
            how,
            caution,
            cpu_nodes,
            memory_nodes,
            idle_ps,
            idle_huge_ps,
            loaded_ps,
            streamed_ps,
            overlapped_ps,
            hit_waited_ps,
            hit_overlapped_ps,
            hit_streamed_ps,
            level_ps,
            read_mbs,
            write_mbs,
        } = m;
        MeasuredDoc {
            when,
            how,
            caution,
            cpu_nodes,
            memory_nodes,
            idle_ps,
            idle_huge_ps,
            loaded_ps,
            streamed_ps,
            overlapped_ps,
            hit_waited_ps,
            hit_overlapped_ps,
            hit_streamed_ps,
            level_ps,
            read_mbs,
            write_mbs,
        }
    }
}

/// The cost model, raw and repaired.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MachineDoc {
    /// Load latency before the repair, picoseconds; row = node of the processor; rows of nodes without processors are never charged.
    pub raw_read_ps: Vec<Vec<i64>>,
    /// Load latency as used.
    pub read_ps: Vec<Vec<i64>>,
    /// What was repaired.
    pub repairs: Vec<Change>,
    /// Where each number comes from.
    pub sources: Vec<String>,
}

pub(super) fn make(
    request: &TopoRequest,
    topology: Topology,
    this: ThisMachine,
    measured: Option<Measured>,
    saved: Option<PathBuf>,
    measured_from: Option<PathBuf>,
) -> TopoDoc {
    let rows = |m: &homenode_machine::Matrix| -> Vec<Vec<i64>> {
        m.rows().iter().map(|row| row.iter().map(|c| c.0).collect()).collect()
    };
    TopoDoc {
        schema: SCHEMA,
        of: request.from.as_ref().map_or_else(|| "this machine".to_owned(), |p| p.display().to_string()),
        machine: MachineDoc {
            raw_read_ps: rows(&this.raw_read),
            read_ps: rows(&this.machine.cost.read),
            repairs: this.changes,
            sources: this.machine.sources,
        },
        localities: topology.localities(),
        topology,
        measured: measured.map(MeasuredDoc::from),
        measured_from: measured_from.map(|p| p.display().to_string()),
        saved: saved.map(|p| p.display().to_string()),
    }
}

impl TopoDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// Tables for people.
    pub fn to_text(&self) -> String {
        super::text::render(self)
    }
}
