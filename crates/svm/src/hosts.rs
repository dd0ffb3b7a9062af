//! Nodes of several hosts. All but the first are processes that wait before `main`: the first one writes the program's variables to a file,
//! the launcher takes them to the other hosts, with the memory of each node as the first node has left it, and lets the others go on.
use crate::block_on::block_on;
use crate::image::{Image, private_here};
use crate::node::Node;
use crate::shared::{IMAGE, READY, SENT, WRITTEN};
use crate::transports::HostFiles;
use crate::trouble::Trouble;
use homenode_base::NodeId;
use homenode_hlrc::host::Host;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(1);

/// Makes the nodes of all hosts, at the first one. What it wrote so far is where the others look for it.
pub(crate) fn make_nodes(first: &Node, image: &File) -> Result<(), Trouble> {
    let failed = |e| Trouble::new("cannot write the program's variables for nodes of other hosts", e);
    first.prepare()?;
    Image::of_process().and_then(|variables| variables.write(image)).map_err(failed)?;
    let word = first.shared().word(IMAGE);
    word.store(WRITTEN, Ordering::Release);
    // Whoever watches ends this process if another host cannot be told.
    while word.load(Ordering::Acquire) != SENT {
        std::thread::sleep(LOOK);
    }
    first.meet(&|| Ok(()))?;
    for node in first.together.others() {
        while !is_ready(first, node) {
            std::thread::sleep(LOOK);
        }
    }
    first.begin();
    Ok(())
}

/// Whether a node may be told to create threads.
pub(crate) fn is_ready(first: &Node, node: NodeId) -> bool {
    let mut ready = [0];
    block_on(first.get(node, first.word(READY), &mut ready));
    ready[0] != 0
}

/// Whether a thread that is created on `to` can do something with an argument that is an address of this process.
pub(crate) fn check_argument(node: &Node, to: NodeId, argument: u64) -> Result<(), Trouble> {
    let private = node.job.hosts.is_some().then(|| private_here(argument)).flatten();
    private.map_or(Ok(()), |what| {
        Err(Trouble::of(format!(
            "homenode_create: the argument {argument:#x} lies in memory that node {} alone has ({what}), and node {to} is another \
             process, perhaps of another host: give an address of the shared heap or of a global variable",
            node.me()
        )))
    })
}

/// Waits until the program has made its nodes on its own host, and takes over its variables. False if it never does.
pub(crate) fn wait(hosts: &HostFiles) -> Result<bool, Trouble> {
    let Some(mut gate) = hosts.gate.as_ref() else { return Err(Trouble::of("a node of another host has no gate")) };
    let opened = gate.read(&mut [0]).map_err(|e| Trouble::new("cannot wait for the program", e))?;
    if opened == 0 {
        return Ok(false);
    }
    let failed = |e| Trouble::new("cannot read the program's variables", e);
    let entered = Image::read(&hosts.image).map_err(failed)?.enter();
    entered.map_err(|why| Trouble::of(format!("node {} cannot go on with the program of node 0: {why}", hosts.me)))?;
    Ok(true)
}
