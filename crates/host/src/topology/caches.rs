//! Data caches of the processors.
use super::tree::Tree;
use homenode_machine::CacheGeometry;
use homenode_machine::topology::{CpuCaches, MemoryNode, Ranges};

/// One cache as the kernel describes it.
struct Level {
    level: u32,
    geometry: CacheGeometry,
    line_bytes: u32,
    sharers: Ranges,
}

/// Caches of the first node with processors, taken for all. The private cache is the largest that one core has for
/// itself; the last levels of a node count together.
pub(super) fn read(tree: &mut Tree, nodes: &[MemoryNode]) -> Option<CpuCaches> {
    let node = nodes.iter().find(|n| !n.cpus.is_empty())?;
    let levels = levels(tree, *node.cpus.first()?);
    let last = levels.iter().max_by_key(|l| l.level)?;
    let siblings = siblings(tree, *node.cpus.first()?);
    let own = |l: &&Level| l.level < last.level && l.sharers.count() <= siblings;
    let private = levels.iter().filter(own).max_by_key(|l| l.level).or(levels.iter().min_by_key(|l| l.level))?;
    let sharing = node.cpus.iter().filter(|c| last.sharers.contains(**c)).count().max(1);
    let copies = node.cpus.len().div_ceil(sharing) as u64;
    let shared = CacheGeometry { bytes: last.geometry.bytes.checked_mul(copies)?, ..last.geometry };
    Some(CpuCaches { line_bytes: last.line_bytes, private: private.geometry, shared })
}

fn levels(tree: &mut Tree, cpu: u32) -> Vec<Level> {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache");
    let indexes = tree.numbered(&folder, "index");
    indexes.into_iter().take(16).filter_map(|i| level(tree, &format!("{folder}/index{i}"))).collect()
}

fn level(tree: &mut Tree, folder: &str) -> Option<Level> {
    if tree.text(&format!("{folder}/type"))? == "Instruction" {
        return None;
    }
    let bytes = size(&tree.text(&format!("{folder}/size"))?)?;
    // 0 ways stands for fully associative or unknown: many are as good as all.
    let ways = tree.number(&format!("{folder}/ways_of_associativity")).filter(|w| (1..=1024).contains(w)).unwrap_or(16);
    let listed = tree.list(&format!("{folder}/shared_cpu_list"));
    let sharers = listed.or_else(|| tree.mask(&format!("{folder}/shared_cpu_map"))).unwrap_or_default();
    let line_bytes = tree.number(&format!("{folder}/coherency_line_size")).unwrap_or(64);
    let sound = u32::is_power_of_two(line_bytes) && (8..=4096).contains(&line_bytes);
    Some(Level {
        level: tree.number(&format!("{folder}/level"))?,
        geometry: CacheGeometry { bytes, ways },
        line_bytes: if sound { line_bytes } else { 64 },
        sharers,
    })
}

/// Threads of one core.
fn siblings(tree: &mut Tree, cpu: u32) -> u64 {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
    let listed = tree.list(&format!("{folder}/thread_siblings_list"));
    let set = listed.or_else(|| tree.mask(&format!("{folder}/thread_siblings"))).unwrap_or_default();
    set.count().max(1)
}

/// `48K`, `2048K`, `1M` or bytes.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|b| *b > 0)
}
