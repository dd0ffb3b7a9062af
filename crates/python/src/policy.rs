//! Policies that are written in Python.
//!
//! A policy is an object with `decide(state, access)`, which returns nothing or what to do with the block before the access is
//! served: `("place", at)`, `("copy", to)`, `("move", to)`, `("drop", at)`, or a list of these. The engine here keeps the copies,
//! refuses what is no placement, and serves an access from the cheapest copy.
use crate::work::{UsageError, Watch, raised};
use homenode_base::NodeId;
use homenode_command::Failure;
use homenode_machine::{AccessClass, Location, Machine};
use homenode_placement::policies::{Choice, MakeEngine, PolicyError};
use homenode_placement::{AccessKind, BlockEngine, EventCounts, Meter, Outcome, Sink, Step};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use std::sync::Arc;

/// One access to a block.
#[pyclass(frozen, get_all, module = "homenode")]
pub(crate) struct Access {
    /// Number of the block: address / block size.
    block: u64,
    /// Node of the processor.
    node: u16,
    /// Whether it writes: then there may be one copy, once the policy has decided.
    is_write: bool,
    /// Whether a cache writes a dirty line back, which no page fault tells of: policies of real machines leave the block where it is.
    is_write_back: bool,
    /// Whether it costs nothing wherever the block is: a hit in a cache that shows for the first time that the node reads the block, or
    /// that it writes it.
    is_free: bool,
    /// Number of equal accesses in a row that this one stands for: 1 unless the policy says that it folds them.
    weight: u32,
    /// Virtual time: references of the whole program until now.
    time: u64,
    /// Where copies are: numbers of nodes, and "global". Empty before the first access.
    copies: Vec<Place>,
}

#[pymethods]
impl Access {
    /// Whether nothing has accessed the block before.
    #[getter]
    fn is_first(&self) -> bool {
        self.copies.is_empty()
    }
    fn __repr__(&self) -> String {
        let Access { block, node, is_write, weight, time, copies, .. } = self;
        let kind = if *is_write { "write" } else { "read" };
        let copies: Vec<String> = copies.iter().map(|at| words(at.0)).collect();
        let copies = copies.join(", ");
        format!(
            "<homenode.Access: {kind} of block {block} by node {node}, weight {weight}, time {time}, copies [{copies}]>"
        )
    }
}

/// A place as Python has it: the number of a node, or "global".
#[derive(Clone, Copy)]
struct Place(Location);

impl<'py> IntoPyObject<'py> for Place {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            Location::Node(node) => Ok(node.0.into_pyobject(py)?.into_any()),
            Location::Global => Ok(PyString::new(py, GLOBAL).into_any()),
        }
    }
}

impl<'py> IntoPyObject<'py> for &Place {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        (*self).into_pyobject(py)
    }
}

const GLOBAL: &str = "global";

fn words(at: Location) -> String {
    match at {
        Location::Node(node) => node.0.to_string(),
        Location::Global => GLOBAL.to_owned(),
    }
}

/// The policy of a Python object: its `name`, the first line of its documentation, its engine.
pub(crate) fn choice(policy: &Bound<'_, PyAny>, watch: &Watch) -> PyResult<Choice> {
    if !policy.hasattr("decide")? {
        let message = format!("policies are names or objects with decide(state, access), not {}", policy.get_type());
        return Err(PyTypeError::new_err(message));
    }
    let class = policy.get_type();
    let text = |name: &str| policy.getattr_opt(name).map(|v| v.and_then(|v| v.extract::<String>().ok()));
    let name = text("name")?.map_or_else(|| class.name().map(|n| n.to_string()), Ok)?;
    let summary = text("__doc__")?.and_then(|doc| doc.trim().lines().next().map(str::to_owned));
    let summary = summary.filter(|s| !s.is_empty()).unwrap_or_else(|| "A policy written in Python".to_owned());
    let folds = policy.getattr_opt("folds")?.map_or(Ok(false), |folds| folds.is_truthy())?;
    let make = Arc::new(PythonPolicy(Arc::new(Asked { policy: policy.clone().unbind(), folds, watch: watch.clone() })));
    Choice::owned(name, summary, make).map_err(|e| raised(&Failure::usage(e)))
}

struct PythonPolicy(Arc<Asked>);

/// Who is asked.
struct Asked {
    policy: Py<PyAny>,
    /// Whether equal accesses in a row are one question.
    folds: bool,
    watch: Watch,
}

impl MakeEngine for PythonPolicy {
    fn engine<'m>(&self, machine: &'m Machine, block_bytes: u64) -> Result<Box<dyn BlockEngine + 'm>, PolicyError> {
        Ok(Box::new(Engine { asked: self.0.clone(), machine, block_bytes, blocks: Vec::new() }))
    }
}

struct Engine<'m> {
    asked: Arc<Asked>,
    machine: &'m Machine,
    block_bytes: u64,
    blocks: Vec<Block>,
}

struct Block {
    number: u64,
    home: Option<Location>,
    copies: Vec<Location>,
    /// The policy's own; none before the first access.
    state: Option<Py<PyAny>>,
}

impl Block {
    fn new(number: u64, home: Option<Location>) -> Block {
        Block { number, home, copies: Vec::new(), state: None }
    }
}

/// What the policy wants.
enum Action {
    Place(Location),
    Copy(Location),
    Move(Location),
    Drop(Location),
}

impl Engine<'_> {
    /// Asks about an access, once for each that it stands for unless the policy folds them. `served` gets the parts. A policy that
    /// has failed is not asked again: blocks stay where they are, and its caller raises the failure.
    fn ask(
        &self,
        py: Python<'_>,
        (block, access): (&mut Block, &homenode_placement::Access),
        sink: &mut dyn Sink,
        served: &mut dyn FnMut(&mut dyn Sink, &homenode_placement::Access, Location),
    ) -> Location {
        // What costs nothing has no weight, and is asked about all the same.
        let (times, weight) = match self.asked.folds {
            true => (1, access.weight),
            false => (access.weight.max(1), access.weight.min(1)),
        };
        let part = homenode_placement::Access { weight, ..*access };
        let mut at = Location::Node(access.node);
        for _ in 0..times {
            if !self.asked.watch.stopped()
                && let Err(error) = self.decide(py, block, &part, sink)
            {
                self.asked.watch.broken(error);
            }
            let cost = |at: &Location| (self.machine.access(access.class, access.node, *at), *at);
            let cheapest = block.copies.iter().copied().min_by_key(cost);
            let here = block.copies.iter().copied().find(|at| *at == Location::Node(access.node));
            at = here.or(cheapest).unwrap_or(at);
            served(sink, &part, at);
        }
        at
    }

    fn decide(
        &self,
        py: Python<'_>,
        block: &mut Block,
        access: &homenode_placement::Access,
        sink: &mut dyn Sink,
    ) -> PyResult<()> {
        let policy = self.asked.policy.bind(py);
        let state = match &block.state {
            Some(state) => state.clone_ref(py),
            None => {
                let home = block.home.map(Place);
                let state = policy.call_method1("begin", (block.number, self.block_bytes, home))?.unbind();
                block.state.insert(state).clone_ref(py)
            }
        };
        let asked = Access {
            block: block.number,
            node: access.node.0,
            is_write: access.kind == AccessKind::Write,
            is_write_back: access.class == AccessClass::WriteBack,
            is_free: access.class == AccessClass::Free,
            weight: access.weight.max(1),
            time: access.t.0,
            copies: block.copies.iter().copied().map(Place).collect(),
        };
        let wanted = policy.call_method1("decide", (state, asked))?;
        for action in actions(&wanted)? {
            self.act(block, &action, sink)?;
        }
        if block.copies.is_empty() {
            self.act(block, &Action::Place(Location::Node(access.node)), sink)?;
        }
        self.check(block, access)
    }

    /// Refuses what cannot be served.
    fn check(&self, block: &Block, access: &homenode_placement::Access) -> PyResult<()> {
        let (number, node) = (block.number, access.node.0);
        let illegal = |why: String| Err(UsageError::new_err(format!("policy {}: {why}", self.name())));
        if access.kind == AccessKind::Write && block.copies.len() > 1 {
            let copies = block.copies.len();
            return illegal(format!(
                "block {number} has {copies} copies when node {node} writes it: move it, or drop the others"
            ));
        }
        let reached = |at: &Location| match at {
            Location::Global => true,
            Location::Node(at) => *at == access.node || self.machine.cost.remote_access,
        };
        if !block.copies.iter().any(reached) {
            let machine = &self.machine.name;
            return illegal(format!(
                "node {node} accesses block {number}, of which it has no copy, and {machine} has no remote access"
            ));
        }
        Ok(())
    }

    fn name(&self) -> String {
        Python::attach(|py| {
            let class = self.asked.policy.bind(py).get_type();
            class.name().map_or_else(|_| "?".to_owned(), |n| n.to_string())
        })
    }

    fn act(&self, block: &mut Block, action: &Action, sink: &mut dyn Sink) -> PyResult<()> {
        let refused = |why: String| Err(UsageError::new_err(format!("policy {}: {why}", self.name())));
        let (Action::Place(at) | Action::Copy(at) | Action::Move(at) | Action::Drop(at)) = *action;
        let exists = match at {
            Location::Node(node) => node.index() < self.machine.nodes(),
            Location::Global => self.machine.cost.global.is_some(),
        };
        let (number, place) = (block.number, words(at));
        if !exists {
            return refused(format!("machine {} has no place {place}", self.machine.name));
        }
        let held = block.copies.contains(&at);
        match action {
            Action::Place(_) if !block.copies.is_empty() => {
                return refused(format!("block {number} is placed already: move or copy it"));
            }
            Action::Copy(_) | Action::Move(_) | Action::Drop(_) if block.copies.is_empty() => {
                return refused(format!("block {number} is nowhere yet: place it first"));
            }
            Action::Drop(_) if !held => return refused(format!("block {number} has no copy at {place} to drop")),
            Action::Drop(_) if block.copies.len() == 1 => {
                return refused(format!("the copy at {place} is the only one of block {number}"));
            }
            Action::Place(_) => self.done(block, at, sink.place(at)),
            Action::Copy(_) if held => {}
            Action::Copy(_) => {
                let from = self.nearest(block, at);
                let outcome = sink.replicate(from, at);
                self.done(block, at, outcome);
            }
            Action::Drop(_) => drop_copies(block, sink, |copy| copy == at),
            Action::Move(_) if held => drop_copies(block, sink, |copy| copy != at),
            Action::Move(_) => {
                let from = self.nearest(block, at);
                drop_copies(block, sink, |copy| copy != from);
                if sink.migrate(from, at) == Outcome::Done {
                    block.copies.clear();
                    block.copies.push(at);
                }
            }
        }
        Ok(())
    }

    fn done(&self, block: &mut Block, at: Location, outcome: Outcome) {
        if outcome == Outcome::Done {
            block.copies.push(at);
            block.copies.sort_unstable();
        }
    }

    /// The copy that is fetched from: on a node if there is one, else in global memory.
    fn nearest(&self, block: &Block, to: Location) -> Location {
        let cost = |from: &Location| match (to, from) {
            (Location::Node(to), from) => self.machine.access(AccessClass::Read, to, *from),
            (Location::Global, _) => homenode_base::Cost::ZERO,
        };
        let found = block.copies.iter().copied().min_by_key(|from| (cost(from), *from));
        found.unwrap_or(Location::Node(NodeId(0)))
    }
}

/// Drops the copies of which this holds, but never the last one.
fn drop_copies(block: &mut Block, sink: &mut dyn Sink, which: impl Fn(Location) -> bool) {
    for at in block.copies.clone() {
        if which(at) && block.copies.len() > 1 && sink.drop_copy(at) == Outcome::Done {
            block.copies.retain(|copy| *copy != at);
        }
    }
}

/// Nothing, an action, or a list of them.
fn actions(wanted: &Bound<'_, PyAny>) -> PyResult<Vec<Action>> {
    if wanted.is_none() {
        return Ok(Vec::new());
    }
    if let Ok(list) = wanted.cast::<PyList>() {
        return list.iter().map(|one| action(&one)).collect();
    }
    action(wanted).map(|one| vec![one])
}

fn action(wanted: &Bound<'_, PyAny>) -> PyResult<Action> {
    let wrong = || {
        let text = wanted.repr().map_or_else(|_| "?".to_owned(), |r| r.to_string());
        let known = "Place(at), Copy(to), Move(to), Drop(at), a list of these or None";
        PyTypeError::new_err(format!("decide() returned {text}: known are {known}"))
    };
    let pair = wanted.cast::<PyTuple>().map_err(|_| wrong())?;
    let (verb, at): (String, Bound<'_, PyAny>) = pair.extract().map_err(|_| wrong())?;
    let at = match (at.extract::<u16>(), at.extract::<String>()) {
        (Ok(node), _) => Location::Node(NodeId(node)),
        (_, Ok(word)) if word == GLOBAL => Location::Global,
        _ => return Err(PyValueError::new_err(format!("{at} is no place: the number of a node, or 'global'"))),
    };
    match verb.as_str() {
        "place" => Ok(Action::Place(at)),
        "copy" => Ok(Action::Copy(at)),
        "move" => Ok(Action::Move(at)),
        "drop" => Ok(Action::Drop(at)),
        _ => Err(wrong()),
    }
}

impl BlockEngine for Engine<'_> {
    fn open(&mut self, block: u64, home: Option<Location>) -> u32 {
        self.blocks.push(Block::new(block, home));
        (self.blocks.len() - 1) as u32
    }
    fn open_phased(&mut self, block: u64, phases: &[Location]) -> u32 {
        self.open(block, phases.first().copied())
    }
    fn step(&mut self, slot: u32, access: &homenode_placement::Access, sink: &mut dyn Sink) -> Location {
        let mut block = std::mem::replace(&mut self.blocks[slot as usize], Block::new(0, None));
        let at = Python::attach(|py| self.ask(py, (&mut block, access), sink, &mut |_, _, _| {}));
        self.blocks[slot as usize] = block;
        at
    }
    fn run(&mut self, steps: &[Step], counts: &mut EventCounts) {
        Python::attach(|py| {
            for step in steps {
                let mut block = std::mem::replace(&mut self.blocks[step.slot as usize], Block::new(0, None));
                let mut parts: Vec<(homenode_placement::Access, Location)> = Vec::new();
                let mut meter = Meter { counts };
                self.ask(py, (&mut block, &step.access), &mut meter, &mut |_, part, at| parts.push((*part, at)));
                parts.iter().for_each(|(part, at)| counts.served(part, *at));
                self.blocks[step.slot as usize] = block;
            }
        });
    }
    fn probe(&self, slot: u32, accesses: &[homenode_placement::Access], sink: &mut dyn Sink) -> Option<Location> {
        let block = &self.blocks[slot as usize];
        Python::attach(|py| {
            let copied = |state: &Py<PyAny>| py.import("copy")?.call_method1("deepcopy", (state,)).map(Bound::unbind);
            let state = block.state.as_ref().map(copied).transpose();
            let state = state.map_err(|error| self.asked.watch.broken(error)).ok()?;
            let mut tried = Block { number: block.number, home: block.home, copies: block.copies.clone(), state };
            let ask = |access| self.ask(py, (&mut tried, access), sink, &mut |_, _, _| {});
            accesses.iter().map(ask).last()
        })
    }
    fn settled(&self, _: u32, _: NodeId) -> Option<Location> {
        None
    }
    fn reopen(&mut self, slot: u32, block: u64, home: Option<Location>) {
        self.blocks[slot as usize] = Block::new(block, home);
    }
    fn blocks(&self) -> usize {
        self.blocks.len()
    }
}
