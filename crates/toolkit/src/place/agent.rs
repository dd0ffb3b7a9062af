//! From a plan to the text that the preloaded library reads.
use crate::Failure;
use homenode_base::{CpuId, NodeId};
use homenode_capture::{ModuleFile, read_module};
use homenode_machine::{Machine, Topology};
use homenode_placement::plan::{Entry, Home, LEAST_BYTES, ObjectKey, Plan, ThreadPin};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// How objects of the plan are found in the program that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Match {
    /// By build id, address and call stack: the very program that was recorded.
    #[default]
    Build,
    /// By thread, size and count of allocations, and variables by name and size: another build of the same program.
    Size,
}

impl Match {
    /// Reads `build` or `size`.
    pub fn parse(text: &str) -> Result<Match, Failure> {
        match text {
            "build" => Ok(Match::Build),
            "size" => Ok(Match::Size),
            _ => Err(Failure::usage(format!("--match: '{text}' is neither build nor size"))),
        }
    }
}

/// The plan as the agent reads it, for `binary` on the machine `topology`. Nodes and processors of the plan are those
/// of the machine model, numbered node by node; here they become what the operating system calls them.
///
/// # Errors
/// The plan is of another build (unless matched by size), or names nodes or processors that this machine lacks.
pub fn agent_plan(plan: &Plan, topology: &Topology, binary: &Path, matching: Match) -> Result<String, Failure> {
    let file = read_module(binary).map_err(|e| Failure::input(format!("{}: {e}", binary.display())))?;
    let writer = Writer { plan, topology, matching, file: &file };
    writer.check_build(binary)?;
    writer.text()
}

struct Writer<'a> {
    plan: &'a Plan,
    topology: &'a Topology,
    matching: Match,
    file: &'a ModuleFile,
}

/// `0.2`, or `-` for the initial thread.
fn path(numbers: &[u32]) -> String {
    let parts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(".") }
}

const WRITES: &str = "writing to a string cannot fail";

impl Writer<'_> {
    /// Whether the library will see the recorded call stacks again. Hooks note which instrumented functions were entered:
    /// they know neither the frames of the C library nor the places that calls return to, so allocations of such plans
    /// are found by thread, size and count, in the same build too.
    fn unwound(&self) -> bool {
        self.plan.evidence.backend != "hooks"
    }

    fn check_build(&self, binary: &Path) -> Result<(), Failure> {
        let Some(recorded) = self.plan.modules.first().filter(|_| self.matching == Match::Build) else { return Ok(()) };
        let found = self.file.build_id.as_deref().unwrap_or("none");
        if self.plan.modules.iter().any(|m| m.build_id == found) {
            return Ok(());
        }
        Err(Failure::input(format!(
            "the plan is for another build: {} has build id {found}, the plan was made for {} ({}); record and place \
             again, or match by size (--match size)",
            binary.display(),
            recorded.build_id,
            recorded.path
        )))
    }

    fn text(&self) -> Result<String, Failure> {
        let mut out = String::from("homenode-agent-plan 1\n");
        for pin in &self.plan.threads {
            writeln!(out, "pin {} {}", path(&pin.path), self.cpu(pin)?).expect(WRITES);
        }
        let named = self.file.globals.iter().map(|(name, address, bytes)| ((name.as_str(), *bytes), *address));
        let named: HashMap<(&str, u64), u64> = named.collect();
        let mut entries: Vec<&Entry> = self.plan.entries.iter().collect();
        entries.sort_by(|a, b| (&a.object, a.offset).cmp(&(&b.object, b.offset)));
        for entry in entries {
            self.line(entry, &named, &mut out)?;
        }
        out.push_str("end\n");
        Ok(out)
    }

    fn line(&self, e: &Entry, named: &HashMap<(&str, u64), u64>, out: &mut String) -> Result<(), Failure> {
        let home = self.home(&e.home)?;
        let own = self.file.build_id.as_deref();
        match &e.object {
            ObjectKey::Stack { thread_path } => {
                let node = home.strip_prefix('n').unwrap_or("0");
                writeln!(out, "stack {} {node}", path(thread_path)).expect(WRITES);
            }
            ObjectKey::Symbol { build_id, symbol, address, size } => {
                let there = match self.matching {
                    Match::Build => Some((build_id.as_str(), *address)),
                    Match::Size => own.zip(named.get(&(symbol.as_str(), *size)).copied()),
                };
                if let Some((build, address)) = there {
                    let from = address.saturating_add(e.offset);
                    writeln!(out, "static {build} {from:x} {} {home}", e.bytes).expect(WRITES);
                }
            }
            ObjectKey::Heap { size, .. } if *size < LEAST_BYTES => {}
            ObjectKey::Heap { build_id, stack, thread_path, ordinal, size, size_ordinal } => {
                let (build, stack, ordinal) = match self.matching {
                    Match::Build if self.unwound() => (Some(build_id.as_str()), stack.to_string(), ordinal),
                    Match::Build => (Some(build_id.as_str()), "*".to_owned(), size_ordinal),
                    Match::Size => (own, "*".to_owned(), size_ordinal),
                };
                if let Some(build) = build {
                    let (offset, bytes, path) = (e.offset, e.bytes, path(thread_path));
                    writeln!(out, "heap {build} {stack} {path} {ordinal} {size} {offset} {bytes} {home}")
                        .expect(WRITES);
                }
            }
        }
        Ok(())
    }

    /// The operating system's name of a pinned thread's processor: the same one, counted node by node, on a machine of the
    /// shape that the plan was made for; else the processors of the same node in turn.
    fn cpu(&self, pin: &ThreadPin) -> Result<u32, Failure> {
        let model = crate::report::machine(&self.plan.machine).ok();
        let here: Vec<usize> = self.topology.nodes.iter().map(|n| n.cpus.len()).collect();
        let same = |m: &Machine| m.cores.iter().map(|c| usize::from(*c)).eq(here.iter().copied());
        let found = match model.filter(|m| !same(m)) {
            Some(other) => self.nth_of_node(&other, pin),
            None => self.topology.nodes.iter().flat_map(|n| n.cpus.iter().copied()).nth(usize::from(pin.cpu)),
        };
        found.ok_or_else(|| {
            let (machine, cpus) = (&self.plan.machine, here.iter().sum::<usize>());
            Failure::input(format!(
                "the plan is for {machine} and names processor {}; this machine has {} node(s) with {cpus} processor(s): \
                 make it with --machine this",
                pin.cpu,
                here.len()
            ))
        })
    }

    fn nth_of_node(&self, model: &Machine, pin: &ThreadPin) -> Option<u32> {
        let node = model.node_of(CpuId(pin.cpu))?;
        let before = self.plan.threads.iter().take_while(|p| p.thread != pin.thread);
        let turn = before.filter(|p| model.node_of(CpuId(p.cpu)) == Some(node)).count();
        let cpus = &self.topology.nodes.get(node.index())?.cpus;
        cpus.get(turn.checked_rem(cpus.len())?).copied()
    }

    fn os_node(&self, node: u16) -> Result<u32, Failure> {
        self.topology.os_id(NodeId(node)).ok_or_else(|| {
            let (machine, count) = (&self.plan.machine, self.topology.nodes.len());
            Failure::input(format!(
                "the plan is for {machine} and names node {node}; this machine has {count} node(s): make it with \
                 --machine this"
            ))
        })
    }

    /// `n3` or `i0,1,2`.
    fn home(&self, home: &Home) -> Result<String, Failure> {
        match home {
            Home::Node(n) => Ok(format!("n{}", self.os_node(*n)?)),
            Home::Thread(t) => {
                let pin = self.plan.threads.iter().find(|p| p.thread == *t);
                let cpu = pin.map_or(Ok(0), |p| self.cpu(p))?;
                let node = self.topology.node_of_cpu(cpu).unwrap_or_default();
                Ok(format!("n{}", self.os_node(node.0)?))
            }
            Home::Interleave(nodes) => {
                let names = nodes.iter().map(|n| self.os_node(*n).map(|id| id.to_string()));
                Ok(format!("i{}", names.collect::<Result<Vec<_>, _>>()?.join(",")))
            }
        }
    }
}
