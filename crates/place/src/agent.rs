//! From a plan to the lines that the preloaded library carries out.
use homenode_base::agentplan::{self, AgentPlan, By, Line};
use homenode_base::{CpuId, NodeId};
use homenode_command::Failure;
use homenode_machine::{Machine, Topology};
use homenode_placement::plan::{Entry, Home, LEAST_BYTES, ObjectKey, Plan, ThreadPin};
use homenode_symbols::{ModuleFile, read_module};
use std::collections::HashMap;
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
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(text: &str) -> Result<Match, Failure> {
        match text {
            "build" => Ok(Match::Build),
            "size" => Ok(Match::Size),
            _ => Err(Failure::usage(format!("--match: '{text}' is neither build nor size"))),
        }
    }
}

/// What a line of an agent's plan carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// [`Plan::threads`] at this place.
    Pin(usize),
    /// [`Plan::entries`] at this place.
    Entry(usize),
}

/// The plan for the agent, for `binary` on the machine `topology`. Nodes and processors of the plan are those
/// of the machine model, numbered node by node; here they become what the operating system calls them.
///
/// # Errors
/// The plan is of another build (unless matched by size), or names nodes or processors that this machine lacks.
pub fn agent_plan(plan: &Plan, topology: &Topology, binary: &Path, matching: Match) -> Result<AgentPlan, Failure> {
    let file = module(binary)?;
    check_build(plan, matching, binary, &file)?;
    Ok(agent_lines(plan, topology, Some(&file), matching)?.0)
}

/// The lines of [`agent_plan`], each with what it carries out; an entry may have two. Without a file the program is the
/// one that was recorded, wherever it is; its build need not be checked, since it is in every key.
///
/// # Errors
/// The plan names nodes or processors that this machine lacks.
pub fn agent_lines(
    plan: &Plan,
    topology: &Topology,
    file: Option<&ModuleFile>,
    matching: Match,
) -> Result<(AgentPlan, Vec<Source>), Failure> {
    Writer { plan, topology, matching, file }.write()
}

/// The build id and the variables of a program.
///
/// # Errors
/// The file cannot be read, or is no program.
pub fn module(binary: &Path) -> Result<ModuleFile, Failure> {
    read_module(binary).map_err(|e| Failure::input(format!("{}: {e}", binary.display())))
}

/// Whether a plan is for this build of a program; by size it is for every one.
///
/// # Errors
/// The plan is for another build; and what to do.
pub fn check_build(plan: &Plan, matching: Match, binary: &Path, file: &ModuleFile) -> Result<(), Failure> {
    let Some(recorded) = plan.modules.first().filter(|_| matching == Match::Build) else { return Ok(()) };
    let found = file.build_id.as_deref().unwrap_or("none");
    if plan.modules.iter().any(|m| m.build_id == found) {
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

struct Writer<'a> {
    plan: &'a Plan,
    topology: &'a Topology,
    matching: Match,
    file: Option<&'a ModuleFile>,
}

/// Variables of a program by name and size.
type Named<'a> = HashMap<(&'a str, u64), u64>;

impl Writer<'_> {
    /// Whether the library will see the recorded call stacks again. Hooks note which instrumented functions were entered:
    /// they know neither the frames of the C library nor the places that calls return to, so allocations of such plans
    /// are found by the place that allocates or by thread, size and count, in the same build too.
    fn unwound(&self) -> bool {
        self.plan.evidence.backend != "hooks"
    }

    fn write(&self) -> Result<(AgentPlan, Vec<Source>), Failure> {
        let (mut lines, mut sources) = (Vec::new(), Vec::new());
        for (i, pin) in self.plan.threads.iter().enumerate() {
            lines.push(Line::Pin { path: pin.path.clone(), cpu: self.cpu(pin)? });
            sources.push(Source::Pin(i));
        }
        let globals = self.file.iter().flat_map(|f| &f.globals);
        let named: Named<'_> = globals.map(|(name, address, bytes)| ((name.as_str(), *bytes), *address)).collect();
        let mut entries: Vec<(usize, &Entry)> = self.plan.entries.iter().enumerate().collect();
        entries.sort_by_key(|(_, e)| (&e.object, e.offset));
        for (i, entry) in entries {
            let fresh = self.lines(entry, &named)?;
            sources.extend(fresh.iter().map(|_| Source::Entry(i)));
            lines.extend(fresh);
        }
        Ok((AgentPlan { lines, ..AgentPlan::default() }, sources))
    }

    /// What finds the data of an entry; nothing if this build has no such data.
    fn lines(&self, e: &Entry, named: &Named<'_>) -> Result<Vec<Line>, Failure> {
        let home = self.home(&e.home)?;
        let own = || self.file.and_then(|f| f.build_id.clone());
        Ok(match &e.object {
            ObjectKey::Stack { thread_path } => {
                let node = if let agentplan::Home::Node(n) = home { n } else { 0 };
                vec![Line::Stack { path: thread_path.clone(), node }]
            }
            ObjectKey::Symbol { build_id, symbol, address, size } => {
                let there = match self.matching {
                    Match::Build => Some((build_id.clone(), *address)),
                    Match::Size => own().zip(named.get(&(symbol.as_str(), *size)).copied()),
                };
                let line = |(build_id, address): (String, u64)| {
                    let vaddr = address.saturating_add(e.offset);
                    Line::Static { build_id, vaddr, bytes: e.bytes, home }
                };
                there.map(line).into_iter().collect()
            }
            ObjectKey::Heap { size, .. } if *size < LEAST_BYTES => Vec::new(),
            ObjectKey::Heap { build_id, stack, thread_path, ordinal, size, size_ordinal, site, .. } => {
                let (build, ways) = match self.matching {
                    Match::Build if self.unwound() => (Some(build_id.clone()), vec![(By::Stack(stack.0), *ordinal)]),
                    Match::Build => {
                        let by_site = site.map(|s| (By::Site(s.address), s.ordinal));
                        (Some(build_id.clone()), by_site.into_iter().chain([(By::Size, *size_ordinal)]).collect())
                    }
                    Match::Size => (own(), vec![(By::Size, *size_ordinal)]),
                };
                let line = |(by, ordinal): (By, u64), build_id: String| {
                    let (path, size, offset, bytes, home) =
                        (thread_path.clone(), *size, e.offset, e.bytes, home.clone());
                    Line::Heap { build_id, by, path, ordinal, size, offset, bytes, home }
                };
                build.map_or_else(Vec::new, |b| ways.into_iter().map(|way| line(way, b.clone())).collect())
            }
        })
    }

    /// The operating system's name of a pinned thread's processor: the same one, counted node by node, on a machine of the
    /// shape that the plan was made for; else the processors of the same node in turn.
    fn cpu(&self, pin: &ThreadPin) -> Result<u32, Failure> {
        let model = homenode_command::machine::named(&self.plan.machine).ok();
        let here: Vec<usize> = self.topology.nodes.iter().map(|n| n.cpus.len()).collect();
        let same = |m: &Machine| m.shape.cores.iter().map(|c| usize::from(*c)).eq(here.iter().copied());
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

    fn home(&self, home: &Home) -> Result<agentplan::Home, Failure> {
        Ok(match home {
            Home::Node(n) => agentplan::Home::Node(self.os_node(*n)?),
            Home::Thread(t) => {
                let pin = self.plan.threads.iter().find(|p| p.thread == *t);
                let cpu = pin.map_or(Ok(0), |p| self.cpu(p))?;
                let node = self.topology.node_of_cpu(cpu).unwrap_or_default();
                agentplan::Home::Node(self.os_node(node.0)?)
            }
            Home::Interleave(nodes) => {
                agentplan::Home::Interleave(nodes.iter().map(|n| self.os_node(*n)).collect::<Result<_, _>>()?)
            }
        })
    }
}
