//! The cluster's life: the program is started and watched, and if a node ends before its time, the others do, too.
use crate::hosts::{Agents, Came};
use crate::memory::{Memory, NodeEnd};
use homenode_host::clock::Clock;
use homenode_host::supervise::{Outcome, Supervised, Supervisor};
use homenode_sys::process;
use homenode_sys::signals;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How often the launcher looks.
const LOOK: Duration = Duration::from_millis(50);
/// How often, if other hosts may say something.
const LOOK_FAR: Duration = Duration::from_millis(5);
const SIGKILL: i32 = 9;
/// What became of a cluster that lost a node.
const REST: &str = "the other nodes were ended";

/// How it ended.
pub(crate) struct Ended {
    /// Exit status of the program; negative = killed by that signal.
    pub(crate) status: i32,
    /// Why the run is none: the node that ended before its time, and what is known about it.
    pub(crate) lost: Option<String>,
}

/// Nodes as the supervisor sees them.
struct Nodes<'m> {
    memory: &'m Memory,
    main: u32,
    /// Processes that are over.
    over: RefCell<BTreeSet<u32>>,
    /// The first node that ended before its time.
    lost: RefCell<Option<(usize, u32)>>,
}

impl Supervised for Nodes<'_> {
    fn stop(&self) {}
    fn live_pids(&self) -> Vec<u32> {
        let over = self.over.borrow();
        self.memory.processes().map(|(_, process)| process).filter(|process| !over.contains(process)).collect()
    }
    fn orphan(&self, pid: u32) {
        self.over.borrow_mut().insert(pid);
        let node = self.memory.processes().find(|(_, process)| *process == pid).map(|(node, _)| node);
        // The end of node 0 is that of the program.
        let node = node.filter(|node| *node > 0 && self.memory.end(*node) != NodeEnd::Told);
        let is_first = self.lost.borrow().is_none();
        if let Some(node) = node.filter(|_| is_first) {
            self.lost.replace(Some((node, pid)));
        }
    }
}

/// Watches the program `main` and its nodes on other hosts to their end, and leaves nothing behind.
pub(crate) fn watch(main: u32, memory: &Memory, mut agents: Option<&mut Agents>, clock: Arc<dyn Clock>) -> Ended {
    let nodes = Nodes { memory, main, over: RefCell::default(), lost: RefCell::default() };
    let mut supervisor = Supervisor::new(main, clock);
    // Nodes die with the program, and may be seen dead before it is: only what it survives for a moment is a node's own end.
    let (mut survived, mut killed, mut came) = (false, false, None);
    let outcome = loop {
        if let Some(outcome) = supervisor.look(&nodes) {
            break outcome;
        }
        let look = agents.as_mut().filter(|_| came.is_none() && process::alive(main));
        came = came.or_else(|| look.and_then(|agents| agents.look(memory, main)));
        if came.is_some() && memory.end(0) == NodeEnd::Unknown {
            process::signal_group(main, SIGKILL);
        }
        let lost = nodes.lost.borrow().is_some();
        if !process::alive(main) {
            // What is left of the cluster cannot go on.
            process::signal_group(main, SIGKILL);
        } else if lost && survived {
            killed = true;
            process::signal_group(main, SIGKILL);
        }
        survived = lost;
        supervisor.wait(if agents.is_some() { LOOK_FAR } else { LOOK });
    };
    let is_over = outcome.stopped_by.is_none() && memory.end(0) != NodeEnd::Unknown;
    let late = agents.as_mut().filter(|_| is_over && came.is_none()).and_then(|agents| agents.finish(memory));
    match came.or(late) {
        Some(Came::Exited(status)) if memory.end(0) == NodeEnd::Unknown => Ended { status: status.into(), lost: None },
        Some(Came::Lost(why)) if outcome.stopped_by.is_none() => {
            Ended { status: 1, lost: Some(format!("{why}; {REST}")) }
        }
        Some(Came::Refused(why)) if outcome.stopped_by.is_none() => Ended { status: 1, lost: Some(why) },
        _ => ended(&nodes, &outcome, killed),
    }
}

/// What came of it; `killed`: the launcher ended the program, because a node was lost.
fn ended(nodes: &Nodes<'_>, outcome: &Outcome, killed: bool) -> Ended {
    let status = outcome.status.unwrap_or(0);
    let first = nodes.memory.end(0);
    if outcome.stopped_by.is_some() {
        return Ended { status, lost: None };
    }
    if let Some((node, process)) = nodes.lost.borrow().filter(|_| killed && first == NodeEnd::Unknown) {
        return match nodes.memory.end(node) {
            // The program called exit in a thread of that node.
            NodeEnd::Exited(status) => Ended { status: status.into(), lost: None },
            _ => Ended {
                status: 1,
                lost: Some(format!("node {node} (process {process}) was killed or crashed; {REST}")),
            },
        };
    }
    let is_lost = status < 0 && first == NodeEnd::Unknown;
    let how = || format!("node 0 (process {}) was killed by {}; {REST}", nodes.main, signals::name(-status));
    Ended { status, lost: is_lost.then(how) }
}
