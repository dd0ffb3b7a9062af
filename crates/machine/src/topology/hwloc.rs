//! Topologies from the XML of hwloc (`lstopo --of xml`), formats 2 and 3.
//!
//! hwloc gives every memory node the processors it is local to, so HBM or CXL beside DRAM shares them. Here a processor
//! has one node: the one with the fewest processors that holds it, the lowest number among equals; the others are
//! memory-only nodes whose best initiator is that one.
use super::{Access, CpuCaches, MemoryNode, Ranges, Topology};
use crate::sections::CacheGeometry;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;

/// Most elements read: a machine of 10,000 processors has about 100,000.
const ELEMENTS_MAX: u32 = 2_000_000;
/// Most processors of a machine, as in machine files.
const CPUS_MAX: u64 = 65_535;

/// XML that is no topology of hwloc.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HwlocError {
    /// Not XML.
    #[error("not XML: {0}")]
    Xml(String),
    /// XML of another kind or version.
    #[error("not a topology of hwloc 2 or 3 ({0}); `lstopo --of xml` of hwloc 2.0 or later writes one")]
    Kind(String),
    /// A value that cannot be.
    #[error("line {line}: {what}")]
    Value {
        /// Line in the file, from 1.
        line: u32,
        /// What is wrong.
        what: String,
    },
}

/// A memory node as the file has it.
struct HwlocNode {
    node: MemoryNode,
    gp_index: u64,
    local: Ranges,
}

impl Topology {
    /// Reads a topology that hwloc 2 or 3 exported as XML. What hwloc knows of memory (sizes, distances, bandwidths,
    /// latencies, memory-side caches) and caches is taken; devices are not.
    ///
    /// # Errors
    /// Not XML, not hwloc's, or a value that cannot be; names the line.
    pub fn from_hwloc_xml(text: &str) -> Result<Topology, HwlocError> {
        let options = ParsingOptions { allow_dtd: true, nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(|e| HwlocError::Xml(e.to_string()))?;
        let root = document.root_element();
        let version = root.attribute("version").unwrap_or("none");
        if root.tag_name().name() != "topology" || !["2.", "3."].iter().any(|v| version.starts_with(v)) {
            return Err(HwlocError::Kind(format!("<{}>, version {version:.8}", root.tag_name().name())));
        }
        let machine = root.children().find(|c| c.has_tag_name("object"));
        let machine = machine.ok_or_else(|| HwlocError::Kind("no object".into()))?;
        let mut found = memory_nodes(&machine)?;
        found.sort_by_key(|f| f.node.os_id);
        if let Some(pair) = found.windows(2).find(|w| w[0].node.os_id == w[1].node.os_id) {
            return Err(HwlocError::Kind(format!("two memory nodes numbered {}", pair[0].node.os_id)));
        }
        share_cpus(&mut found);
        let mut topology = Topology { forbidden_cpus: limits(&machine, &mut found)?, ..Topology::default() };
        attributes(&root, &mut found);
        topology.distances = distances(&root, &found, &mut topology.notes);
        topology.caches = caches(&machine, found.iter().filter(|f| !f.node.cpus.is_empty()).count() as u64);
        topology.nodes = found.into_iter().map(|f| f.node).collect();
        topology.notes.push("read from an hwloc file: what is free or running now is not known".into());
        Ok(topology)
    }
}

fn objects<'a>(machine: &Node<'a, 'a>, kind: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    machine.descendants().filter(move |n| n.has_tag_name("object") && n.attribute("type") == Some(kind))
}

fn wrong(node: &Node, what: impl Into<String>) -> HwlocError {
    HwlocError::Value { line: node.document().text_pos_at(node.range().start).row, what: what.into() }
}

fn number<T: std::str::FromStr>(node: &Node, key: &str) -> Option<T> {
    node.attribute(key)?.parse().ok()
}

/// A set of processors or nodes; empty if the attribute is missing.
fn set(node: &Node, key: &str) -> Result<Ranges, HwlocError> {
    let set = Ranges::parse_mask(node.attribute(key).unwrap_or("")).map_err(|e| wrong(node, format!("{key}: {e}")))?;
    if set.count() > CPUS_MAX {
        return Err(wrong(node, format!("{key} has {} members, more than {CPUS_MAX}", set.count())));
    }
    Ok(set)
}

fn memory_nodes(machine: &Node) -> Result<Vec<HwlocNode>, HwlocError> {
    let read = |n: Node| {
        let os_id = number(&n, "os_index").ok_or_else(|| wrong(&n, "NUMANode without a number (os_index)"))?;
        let sides = n.ancestors().filter(|a| a.attribute("type") == Some("MemCache"));
        let node = MemoryNode {
            os_id,
            memory_bytes: number(&n, "local_memory").unwrap_or(0),
            memory_side_cache_bytes: sides.filter_map(|c| number(&c, "cache_size")).max().unwrap_or(0),
            tier: info(&n, "MemoryTier").and_then(|t| t.parse().ok()),
            allowed: true,
            ..MemoryNode::default()
        };
        Ok(HwlocNode { node, gp_index: number(&n, "gp_index").unwrap_or(u64::MAX), local: set(&n, "cpuset")? })
    };
    let found: Vec<HwlocNode> = objects(machine, "NUMANode").map(read).collect::<Result<_, _>>()?;
    if found.is_empty() || found.len() > crate::limits::NODES_MAX {
        return Err(HwlocError::Kind(format!("{} memory nodes", found.len())));
    }
    Ok(found)
}

fn info<'a>(node: &Node<'a, 'a>, name: &str) -> Option<&'a str> {
    let mut infos = node.children().filter(|c| c.has_tag_name("info"));
    infos.find(|i| i.attribute("name") == Some(name))?.attribute("value")
}

/// Gives each processor to one node.
fn share_cpus(found: &mut [HwlocNode]) {
    let mut owner: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
    for (i, f) in found.iter().enumerate() {
        let size = f.local.count();
        for cpu in f.local.iter() {
            let best = owner.entry(cpu).or_insert((size, i));
            *best = (*best).min((size, i));
        }
    }
    for (cpu, (_, i)) in &owner {
        found[*i].node.cpus.push(*cpu);
    }
    let owners: Vec<Vec<u32>> = found
        .iter()
        .map(|f| {
            let near: std::collections::BTreeSet<usize> =
                f.local.iter().filter_map(|c| owner.get(&c)).map(|o| o.1).collect();
            near.into_iter().map(|i| found[i].node.os_id).collect()
        })
        .collect();
    for (f, initiators) in found.iter_mut().zip(owners) {
        f.node.best_access = (!initiators.is_empty()).then(|| Access { initiators, ..Access::default() });
    }
}

/// Marks nodes that may not be used; returns the processors that may not.
fn limits(machine: &Node, found: &mut [HwlocNode]) -> Result<Vec<u32>, HwlocError> {
    let nodes = set(machine, "allowed_nodeset")?;
    for f in &mut *found {
        f.node.allowed = f.node.memory_bytes > 0 && (nodes.is_empty() || nodes.contains(f.node.os_id));
    }
    let cpus = set(machine, "allowed_cpuset")?;
    let all = found.iter().flat_map(|f| f.node.cpus.iter().copied());
    let mut forbidden: Vec<u32> = all.filter(|c| !cpus.is_empty() && !cpus.contains(*c)).collect();
    forbidden.sort_unstable();
    Ok(forbidden)
}

/// Bandwidths (MiB/s) and latencies (ns) of a node from its best initiator.
fn attributes(root: &Node, found: &mut [HwlocNode]) {
    for attribute in root.children().filter(|c| c.has_tag_name("memattr")) {
        let kind = attribute.attribute("name").unwrap_or("");
        let lowest = kind.ends_with("Latency");
        for value in attribute.children().filter(|c| c.has_tag_name("memattr_value")) {
            let target: Option<u64> = number(&value, "target_obj_gp_index");
            let figure: Option<u32> = number(&value, "value");
            let (Some(target), Some(figure)) = (target, figure) else { continue };
            let Some(f) = found.iter_mut().find(|f| f.gp_index == target) else { continue };
            let access = f.node.best_access.get_or_insert_default();
            let better = |old: u32| if lowest && old > 0 { old.min(figure) } else { old.max(figure) };
            match kind {
                "Bandwidth" => {
                    access.read_bandwidth_mbs = better(access.read_bandwidth_mbs);
                    access.write_bandwidth_mbs = better(access.write_bandwidth_mbs);
                }
                "ReadBandwidth" => access.read_bandwidth_mbs = better(access.read_bandwidth_mbs),
                "WriteBandwidth" => access.write_bandwidth_mbs = better(access.write_bandwidth_mbs),
                "Latency" => {
                    access.read_latency_ns = better(access.read_latency_ns);
                    access.write_latency_ns = better(access.write_latency_ns);
                }
                "ReadLatency" => access.read_latency_ns = better(access.read_latency_ns),
                "WriteLatency" => access.write_latency_ns = better(access.write_latency_ns),
                _ => {}
            }
        }
    }
}

/// The latency matrix over all nodes; empty with a note if it is missing or does not fit.
fn distances(root: &Node, found: &[HwlocNode], notes: &mut Vec<String>) -> Vec<Vec<u16>> {
    let tables = root.children().filter(|c| c.has_tag_name("distances2"));
    let mut nodes = tables.filter(|t| t.attribute("type") == Some("NUMANode"));
    let Some(table) = nodes.find(|t| t.attribute("name").is_none_or(|n| n == "NUMALatency")) else { return Vec::new() };
    let words = |name: &str| -> Vec<u64> {
        let parts = table.children().filter(|c| c.has_tag_name(name)).filter_map(|c| c.text());
        parts.flat_map(|t| t.split_whitespace().map(|w| w.parse().unwrap_or(u64::MAX)).collect::<Vec<_>>()).collect()
    };
    let (indexes, values) = (words("indexes"), words("u64values"));
    let by_os = table.attribute("indexing") != Some("gp");
    let key = |f: &HwlocNode| if by_os { u64::from(f.node.os_id) } else { f.gp_index };
    let place: Option<Vec<usize>> = found.iter().map(|f| indexes.iter().position(|i| *i == key(f))).collect();
    let n = indexes.len();
    let cell = |from: usize, to: usize| values.get(from * n + to).and_then(|v| u16::try_from(*v).ok());
    let row = |p: &[usize], from: usize| p.iter().map(|to| cell(from, *to)).collect::<Option<Vec<u16>>>();
    let matrix = place.and_then(|p| p.iter().map(|from| row(&p, *from)).collect::<Option<Vec<_>>>());
    matrix.unwrap_or_else(|| {
        notes.push("distances in the file do not cover all nodes: ignored".into());
        Vec::new()
    })
}

/// Private and last-level cache; the last levels of a node count together.
fn caches(machine: &Node, cpu_nodes: u64) -> Option<CpuCaches> {
    let all =
        |level: &'static str| -> Vec<CacheGeometry> { objects(machine, level).filter_map(|c| geometry(&c)).collect() };
    let level = |names: &[&'static str]| names.iter().map(|n| all(n)).find(|c| !c.is_empty());
    let last = level(&["L4Cache", "L3Cache", "L2Cache"])?;
    let private = level(&["L2Cache", "L1Cache"])?;
    let line_bytes = objects(machine, "L1Cache").find_map(|c| number(&c, "cache_linesize")).unwrap_or(64);
    let total: u64 = last.iter().fold(0, |sum, c| sum.saturating_add(c.bytes));
    let shared = CacheGeometry { bytes: total / cpu_nodes.max(1), ways: last[0].ways };
    Some(CpuCaches { line_bytes, private: private[0], shared })
}

fn geometry(cache: &Node) -> Option<CacheGeometry> {
    // -1 stands for fully associative: many ways are as good as all.
    let ways = number::<i64>(cache, "cache_associativity").filter(|w| *w > 0).unwrap_or(16).min(1024);
    Some(CacheGeometry { bytes: number(cache, "cache_size").filter(|b| *b > 0)?, ways: ways as u32 })
}
