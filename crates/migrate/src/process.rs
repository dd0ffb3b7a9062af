//! What `/proc` says of a process: its areas, where their pages are, its threads and descendants, and whether the kernel
//! balances memory itself.
use crate::move_status::MigrateError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// One mapping of an address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Path, or a name in brackets, or nothing.
    pub name: String,
    /// Bytes in huge pages; all of it for hugetlb.
    pub huge_bytes: u64,
}

/// Pages of one area as `/proc/PID/numa_maps` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AreaPages {
    /// First byte.
    pub start: u64,
    /// Policy in the kernel's words, such as `default` or `bind:1`.
    pub policy: String,
    /// Bytes on each operating-system node.
    pub bytes_on: BTreeMap<u32, u64>,
}

fn read(pid: u32, file: &str) -> Result<String, MigrateError> {
    let path = if pid == 0 { format!("/proc/self/{file}") } else { format!("/proc/{pid}/{file}") };
    let bytes = fs::read(&path).map_err(|e| MigrateError::read(pid, path, e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The areas of a process (0 = this one), with what is huge in them.
///
/// # Errors
/// The process is gone or may not be looked into.
pub fn areas(pid: u32) -> Result<Vec<Area>, MigrateError> {
    Ok(parse_smaps(&read(pid, "smaps")?))
}

/// The areas of a process (0 = this one), without a word on what is huge: this is cheap.
///
/// # Errors
/// The process is gone or may not be looked into.
pub fn maps(pid: u32) -> Result<Vec<Area>, MigrateError> {
    Ok(parse_smaps(&read(pid, "maps")?))
}

/// Reads the text of `/proc/PID/smaps` or `maps`; lines that make no sense are passed over.
pub fn parse_smaps(text: &str) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if let Some((start, end)) = range(first) {
            let name = words.skip(4).collect::<Vec<_>>().join(" ");
            areas.push(Area { start, end, name, huge_bytes: 0 });
            continue;
        }
        let (Some(area), Some(kib)) = (areas.last_mut(), words.next().and_then(|w| w.parse::<u64>().ok())) else {
            continue;
        };
        match first {
            "AnonHugePages:" | "FilePmdMapped:" | "ShmemPmdMapped:" => {
                area.huge_bytes = area.huge_bytes.saturating_add(kib.saturating_mul(1024));
            }
            "KernelPageSize:" if kib >= 2048 => area.huge_bytes = area.end - area.start,
            _ => {}
        }
    }
    areas
}

fn range(word: &str) -> Option<(u64, u64)> {
    let (start, end) = word.split_once('-')?;
    let hex = |s: &str| u64::from_str_radix(s, 16).ok();
    hex(start).zip(hex(end)).filter(|(s, e)| s < e)
}

/// Where the pages of a process (0 = this one) are, area by area.
///
/// # Errors
/// The process is gone or may not be looked into, or the kernel has no NUMA support.
pub fn numa_maps(pid: u32) -> Result<Vec<AreaPages>, MigrateError> {
    Ok(parse_numa_maps(&read(pid, "numa_maps")?))
}

/// Reads the text of `/proc/PID/numa_maps`; what makes no sense is passed over.
pub fn parse_numa_maps(text: &str) -> Vec<AreaPages> {
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let start = u64::from_str_radix(words.next()?, 16).ok()?;
        let mut area = AreaPages { start, policy: words.next()?.to_owned(), bytes_on: BTreeMap::new() };
        let (mut pages, mut page_kib) = (Vec::new(), 4u64);
        for word in words {
            let Some((name, value)) = word.split_once('=') else { continue };
            let Ok(value) = value.parse::<u64>() else { continue };
            if name == "kernelpagesize_kB" {
                page_kib = value;
            } else if let Some(Ok(node)) = name.strip_prefix('N').map(str::parse::<u32>) {
                pages.push((node, value));
            }
        }
        area.bytes_on = pages.into_iter().map(|(n, p)| (n, p.saturating_mul(page_kib).saturating_mul(1024))).collect();
        Some(area)
    };
    text.lines().filter_map(line).collect()
}

/// Bytes of a process on each operating-system node.
///
/// # Errors
/// As [`numa_maps`].
pub fn bytes_on_nodes(pid: u32) -> Result<BTreeMap<u32, u64>, MigrateError> {
    let mut sums = BTreeMap::new();
    for (node, bytes) in numa_maps(pid)?.into_iter().flat_map(|a| a.bytes_on) {
        *sums.entry(node).or_insert(0u64) += bytes;
    }
    Ok(sums)
}

/// A process and all its descendants that exist at this moment, ascending.
pub fn tree(pid: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        if let Some(parent) = stat_field(child, child, 4).and_then(|p| u32::try_from(p).ok()) {
            parents.push((child, parent));
        }
    }
    let mut tree = BTreeSet::from([pid]);
    loop {
        let before = tree.len();
        tree.extend(parents.iter().filter(|(_, parent)| tree.contains(parent)).map(|(c, _)| *c).collect::<Vec<_>>());
        if tree.len() == before {
            return tree;
        }
    }
}

/// The threads of a process with the processor each ran on last.
pub fn threads(pid: u32) -> Vec<(u32, u32)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tids = tasks.filter_map(|t| t.file_name().to_str()?.parse::<u32>().ok());
    tids.filter_map(|tid| Some((tid, u32::try_from(stat_field(pid, tid, 39)?).ok()?))).collect()
}

/// Processor a thread ran on last.
pub fn cpu_of(pid: u32, tid: u32) -> Option<u32> {
    u32::try_from(stat_field(pid, tid, 39)?).ok()
}

/// A field of `/proc/PID/task/TID/stat`, numbered from 1 as in proc(5), from 3.
fn stat_field(pid: u32, tid: u32, field: usize) -> Option<i64> {
    let stat = fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    // The name of the program is in parentheses and may contain any character.
    let after = stat.iter().rposition(|b| *b == b')')? + 1;
    let rest = std::str::from_utf8(&stat[after..]).ok()?;
    rest.split_ascii_whitespace().nth(field - 3)?.parse().ok()
}

/// User id that a process runs under.
///
/// # Errors
/// The process does not exist.
pub fn user_of(pid: u32) -> Result<u32, MigrateError> {
    let status = read(pid, "status")?;
    let uid = status.lines().find_map(|l| l.strip_prefix("Uid:")?.split_ascii_whitespace().nth(1)?.parse().ok());
    uid.ok_or(MigrateError::Gone(pid))
}

/// Free bytes of an operating-system node; `None` if the kernel does not say.
pub fn free_bytes(node: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/sys/devices/system/node/node{node}/meminfo")).ok()?;
    let line = text.lines().find(|l| l.contains("MemFree:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(3)?.parse().ok()?;
    Some(kib * 1024)
}

/// How the kernel balances memory over nodes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balancing {
    /// The kernel was built without it.
    Absent,
    /// Switched off.
    Off,
    /// Switched on: bit 0 balances among nodes, bit 1 promotes from slow tiers (Linux 5.18).
    On(u32),
}

const BALANCING: &str = "/proc/sys/kernel/numa_balancing";

/// The state of the kernel's own balancing.
pub fn balancing() -> Balancing {
    match fs::read_to_string(BALANCING).ok().and_then(|t| t.trim().parse().ok()) {
        None => Balancing::Absent,
        Some(0) => Balancing::Off,
        Some(mode) => Balancing::On(mode),
    }
}

/// Counters of `/proc/vmstat` that begin with one of these names.
pub fn vmstat(names: &[&str]) -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let pair = |l: &str| {
        let (name, value) = l.split_once(' ')?;
        names.iter().any(|n| name.starts_with(n)).then(|| Some((name.to_owned(), value.trim().parse().ok()?)))?
    };
    text.lines().filter_map(pair).collect()
}
