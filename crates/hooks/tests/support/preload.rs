//! Programs under the agent: built plainly, preloaded, and what they print and record.
use super::{Recording, Ring, build};
use homenode_base::agentplan::{AgentPlan, By, Home, Line};
use homenode_base::agenttable;
use homenode_base::ring::*;
use homenode_base::stackhash::{Frame, stack_hash};
use homenode_hooks::agent;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The installed library.
pub fn library() -> &'static Path {
    static AT: OnceLock<PathBuf> = OnceLock::new();
    AT.get_or_init(|| agent::install_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the directory is writable"))
}

/// `tests/c/agent/NAME` built in `dir` by a compiler without the hooks.
pub fn plain(dir: &Path, compiler: &str, name: &str, flags: &[&str]) -> PathBuf {
    let out = dir.join(format!("{}.{compiler}", name.replace('/', "_")));
    let compiler = if name.ends_with(".cc") { build::cxx(compiler) } else { compiler };
    let from = build::source("agent").join(name);
    let done = Command::new(compiler)
        .args(["-O2", "-g", "-D_GNU_SOURCE", "-Wall", "-Werror", "-pthread", "-Wl,--build-id"])
        .arg(from)
        .arg("-o")
        .arg(&out)
        .args(flags)
        .output()
        .unwrap();
    assert!(done.status.success(), "{compiler} {name}: {}", String::from_utf8_lossy(&done.stderr));
    out
}

pub fn command(program: &Path) -> Command {
    let mut c = Command::new(program);
    c.env("LD_PRELOAD", library());
    c
}

/// Runs under a plan.
pub fn planned(program: &Path, plan: &AgentPlan, dir: &Path) -> Command {
    let file = dir.join("agent.plan");
    std::fs::write(&file, agenttable::write(plan).expect("a sound plan")).unwrap();
    let mut c = command(program);
    c.env(agent::PLAN_ENV, file);
    c
}

pub fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What `where.h` printed of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub addr: u64,
    pub bytes: u64,
    /// Policy or node, and pages.
    pub runs: Vec<(String, u64)>,
}

pub fn places(text: &str) -> BTreeMap<String, Place> {
    text.lines().map(place).collect()
}

fn place(line: &str) -> (String, Place) {
    let words: Vec<&str> = line.split(' ').collect();
    let addr = u64::from_str_radix(words[1].trim_start_matches("0x"), 16).unwrap();
    let runs = words[3..].iter().map(|w| w.split_once('*').unwrap()).map(|(what, n)| (what.into(), n.parse().unwrap()));
    (words[0].to_string(), Place { addr, bytes: words[2].parse().unwrap(), runs: runs.collect() })
}

/// What finds an allocation again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub build_id: String,
    pub stack: u64,
    /// Where the call that asked for it returns to, as linked.
    pub site: u64,
    pub path: Vec<u32>,
    pub ordinal: u64,
    pub size: u64,
}

impl Key {
    pub fn line(&self, offset: u64, bytes: u64, home: Home) -> Line {
        let (build_id, path) = (self.build_id.clone(), self.path.clone());
        let (by, ordinal, size) = (By::Stack(self.stack), self.ordinal, self.size);
        Line::Heap { build_id, by, path, ordinal, size, offset, bytes, home }
    }
}

/// Build id in hexadecimal, by another reader than ours; empty if there is none.
pub fn build_id(module: &str) -> String {
    let out = Command::new("readelf").args(["-n", module]).output().expect("binutils");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.lines().find_map(|l| l.trim().strip_prefix("Build ID: ").map(str::to_string)).unwrap_or_default()
}

struct Module {
    bias: u64,
    end: u64,
    build_id: String,
}

fn modules(rings: &[Ring]) -> Vec<Module> {
    let events = rings.iter().flat_map(|r| r.events(EVENT_MODULE));
    events.map(|e| Module { bias: e.addr(), end: e.addr() + e.w1(), build_id: build_id(&e.text()) }).collect()
}

fn frame(modules: &[Module], pc: u64) -> (Frame, String) {
    let inside = modules.iter().filter(|m| (m.bias..m.end).contains(&pc));
    let Some(m) = inside.max_by_key(|m| m.bias) else {
        return (Frame { build: [0; 8], returns_to: pc + 1 }, String::new());
    };
    let mut build = [0; 8];
    let digits = m.build_id.as_bytes().chunks(2).take(8).map(|d| std::str::from_utf8(d).unwrap());
    build.iter_mut().zip(digits).for_each(|(b, d)| *b = u8::from_str_radix(d, 16).unwrap());
    (Frame { build, returns_to: pc + 1 - m.bias }, m.build_id.clone())
}

/// Path of the thread of ring `index`: its place among its parent's children, and so on up.
pub fn path(rings: &[Ring], index: u32) -> Vec<u32> {
    let parent = rings[index as usize].parent;
    if parent == u32::MAX {
        return Vec::new();
    }
    let spawned = rings[parent as usize].events(EVENT_SPAWN);
    let nth = spawned.iter().position(|e| e.addr() == u64::from(index)).expect("every child was announced");
    let mut path = path(rings, parent);
    path.push(nth as u32);
    path
}

/// Keys of all allocations by address and size, made from the recording alone.
pub fn keys(rings: &[Ring]) -> BTreeMap<(u64, u64), Key> {
    let modules = modules(rings);
    let mut out = BTreeMap::new();
    for ring in rings {
        let mut seen = BTreeMap::new();
        for alloc in ring.events(EVENT_ALLOC) {
            let super::slots::Item::Event { addr, w1: size, payload, .. } = alloc else { unreachable!() };
            let [source, depth] = payload[0];
            if source == 1 {
                continue;
            }
            let pcs: Vec<u64> = payload[1..].iter().flatten().copied().take(depth as usize).collect();
            let frames: Vec<(Frame, String)> = pcs.iter().map(|&pc| frame(&modules, pc)).collect();
            let stack = stack_hash(&frames.iter().map(|f| f.0).collect::<Vec<_>>());
            let ordinal: &mut u64 = seen.entry(stack).or_default();
            let build_id = frames[0].1.clone();
            let site = frames[0].0.returns_to;
            let key = Key { build_id, stack, site, path: path(rings, ring.index), ordinal: *ordinal, size: *size };
            out.insert((*addr, *size), key);
            *ordinal += 1;
        }
    }
    out
}

/// Runs a program that prints with `where.h`, recorded: places and keys by name.
pub fn recorded(program: &Path, args: &[&str]) -> BTreeMap<String, Option<Key>> {
    let r = Recording::new(MODE_RECORD);
    let mut c = r.command(program, args);
    c.env("LD_PRELOAD", library());
    let (output, rings) = r.run_command(c);
    let keys = keys(&rings);
    places(&text(&output)).into_iter().map(|(name, p)| (name, keys.get(&(p.addr, p.bytes)).cloned())).collect()
}
