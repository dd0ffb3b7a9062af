//! Threads of the program on all nodes: the first one creates the nodes; a node's own first thread starts what is created there and
//! ends the node.
use crate::block_on::block_on;
use crate::border::{self, die};
use crate::current::here;
use crate::end::count_life;
use crate::node::Node;
use crate::process::become_forked;
use crate::shared::{CALLS, CREATED, Class, DONE, Doing, END, STATUS, TOLD, Thread};
use crate::transports::Transport;
use crate::trouble::Trouble;
use crate::{bell, hosts, me, phases, pin, poll};
use homenode_base::NodeId;
use homenode_hlrc::host::{Host, Wake};
use homenode_hlrc::operation::Operation;
use homenode_sys::fork::{self, Forked, fork_alone};
use homenode_sys::interrupt;
use homenode_sys::process::{Change, Polled, Whom, poll_child};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The node of the program's first thread, which all others come back to.
const FIRST: NodeId = NodeId(0);
/// Bytes of a thread's stack: what the C library gives by default.
const STACK: usize = 8 << 20;
const LOOK: Duration = Duration::from_millis(1);

/// Where [`create`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// In the thread that created one.
    Creator,
    /// In a process that was another node, and is to end.
    Node,
}

/// Creates a thread that calls `start` with `argument`, on the node whose turn it is. The first call creates the nodes.
///
/// # Errors
/// There are as many threads as the cluster has room for, or a node or a thread cannot be made.
pub fn create(start: u64, argument: u64) -> Result<Returned, Trouble> {
    let node = here()?;
    if node.all_threads() > 1 && !node.has_begun() && !make_nodes(node)? {
        return Ok(Returned::Node);
    }
    let _inside = node.enter(Class::Other);
    let number = block_on(node.fetch_add(FIRST, node.word(CREATED), 1, Wake::Nobody)) + 1;
    if number >= node.all_threads() {
        block_on(node.fetch_add(FIRST, node.word(CREATED), u64::MAX, Wake::Nobody));
        return Err(Trouble::of(format!(
            "homenode_create: {} nodes of {} threads have no room for another thread; give more nodes or --threads",
            node.job.nodes, node.job.threads
        )));
    }
    // Below 64 times 64.
    let (to, thread) = (number / u64::from(node.job.threads), (number % u64::from(node.job.threads)) as u16);
    let to = NodeId(to as u16);
    if to == node.me() {
        spawn(node, thread, start, argument)?;
    } else {
        hosts::check_argument(node, to, argument)?;
        let record = node.word(Thread::record_word(thread));
        node.does(Operation::Post { to });
        block_on(async {
            node.put(to, record + 1, &[start, argument], Wake::Nobody).await;
            node.put(to, record, &[1], Wake::Nobody).await;
            node.wire().call(to).await;
        });
    }
    Ok(Returned::Creator)
}

/// Waits until all created threads are over; then new ones can be created.
///
/// # Errors
/// Another than the program's first thread calls it.
pub fn join() -> Result<(), Trouble> {
    let node = here()?;
    if node.me() != FIRST || me::number() != Some(0) {
        return Err(Trouble::of("homenode_join: only the program's first thread may wait for the others"));
    }
    let _inside = node.enter(Class::Other);
    let [created, done] = [CREATED, DONE].map(|word| node.shared().word(word));
    loop {
        let seen = node.bell();
        if done.load(Ordering::SeqCst) >= created.load(Ordering::SeqCst) {
            break;
        }
        node.does(Operation::Serve);
        block_on(node.until_rung(seen));
    }
    node.does(Operation::Take);
    created.store(0, Ordering::SeqCst);
    done.store(0, Ordering::SeqCst);
    Ok(())
}

/// Forks the other nodes, if they are not on other hosts. True in the program's process; false in another node's when it is to end.
fn make_nodes(first: &'static Node) -> Result<bool, Trouble> {
    // What was written so far is where the others look for it; they have seen nothing, so they need no notice.
    first.does(Operation::Post { to: FIRST });
    if let Some(image) = first.image().map_err(|e| Trouble::new("cannot reach other hosts", e))? {
        hosts::make_nodes(first, &image)?;
        return begun(first);
    }
    first.prepare()?;
    let mut children = Vec::new();
    for me in (1..first.job.nodes).map(NodeId) {
        match fork_alone().map_err(|e| Trouble::new("cannot make the nodes", e))? {
            Forked::Child => {
                attend(become_forked(first, me)?);
                return Ok(false);
            }
            Forked::Parent(child) => children.push((me, child)),
        }
    }
    first.meet(&|| children.iter().try_for_each(|(node, child)| lives(*node, *child).map_err(io::Error::other)))?;
    for (node, child) in &children {
        await_node(first, *node, *child)?;
    }
    first.begin();
    begun(first)
}

/// The other nodes have begun.
fn begun(first: &'static Node) -> Result<bool, Trouble> {
    if poll::is_on(first) {
        poll::begin(first)?;
    }
    // Not before: what is forked, and the threads that serve others, may run anywhere.
    bind(first, 0)?;
    Ok(true)
}

/// Waits until a node is ready.
fn await_node(first: &Node, node: NodeId, child: u32) -> Result<(), Trouble> {
    while !hosts::is_ready(first, node) {
        lives(node, child).map_err(Trouble::of)?;
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Whether a node's process lives; what is wrong otherwise.
fn lives(node: NodeId, child: u32) -> Result<(), String> {
    match poll_child(Whom::Process(child)) {
        // Whoever has been told once that a child has ended is told later that there is none.
        Polled::Changed(_, Change::Exited(_) | Change::Killed(_)) | Polled::NoChild => {
            Err(format!("node {node} ended before it had begun"))
        }
        _ => Ok(()),
    }
}

/// The life of a node's own first thread: it starts created threads, serves while there is none, and returns when the node is to
/// end.
pub(crate) fn attend(node: &'static Node) {
    loop {
        let calls = node.shared().word(CALLS).load(Ordering::SeqCst);
        for thread in 0..node.job.threads {
            let [written, start, argument] = node.shared().thread(thread).record();
            if written.swap(0, Ordering::SeqCst) != 0 {
                let [start, argument] = [start, argument].map(|word| word.load(Ordering::SeqCst));
                spawn(node, thread, start, argument).unwrap_or_else(|e| die(&e.to_string()));
            }
        }
        if node.shared().word(END).load(Ordering::SeqCst) != 0 {
            node.shared().word(STATUS).store(TOLD, Ordering::SeqCst);
            return;
        }
        let serves = poll::is_on(node) || node.living.load(Ordering::SeqCst) == 0;
        if serves && node.is_wanted() {
            node.serve_now();
        } else {
            bell::await_call(node.shared(), calls, poll::turns(node));
        }
    }
}

/// Binds the calling thread, this one of the node's, if that is asked for; with its first one the node's heap is placed.
fn bind(node: &Node, thread: u16) -> Result<(), Trouble> {
    if !node.job.pin {
        return Ok(());
    }
    pin::bind(&node.processors, usize::from(node.me().0) * usize::from(node.job.threads) + usize::from(thread))?;
    if thread == 0 { pin::place(node.job.heap_bytes) } else { Ok(()) }
}

fn spawn(node: &'static Node, thread: u16, start: u64, argument: u64) -> Result<(), Trouble> {
    node.living.fetch_add(1, Ordering::SeqCst);
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        run(node, thread, start, argument);
    });
    thread.map(drop).map_err(|e| Trouble::new("cannot make a thread", e))
}

fn run(node: &'static Node, thread: u16, start: u64, argument: u64) {
    me::become_thread(thread, fork::thread_id());
    bind(node, thread).unwrap_or_else(|e| die(&e.to_string()));
    phases::begin_thread(node);
    let inside = node.enter(Class::Other);
    node.does(Operation::Take);
    drop(inside);
    border::call(start, argument);
    let inside = node.enter(Class::Other);
    node.does(Operation::Post { to: FIRST });
    drop(inside);
    count_life(node);
    // Signals that come from now on find nobody, but who sent them has said before that it wants something.
    interrupt::blocked(|| {
        node.thread_words().does(me::id(), Doing::Inside);
        block_on(node.fetch_add(FIRST, node.word(DONE), 1, Wake::All));
        node.thread_words().does(me::id(), Doing::Nothing);
        if node.is_wanted() {
            node.serve_now();
        }
        me::leave();
    });
    node.living.fetch_sub(1, Ordering::SeqCst);
    bell::call(node.shared());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_has_ended_has_ended_whenever_one_asks() {
        let child = std::process::Command::new("sleep").arg("0.05").spawn().expect("it begins").id();
        assert_eq!(lives(NodeId(1), child), Ok(()));
        let since = std::time::Instant::now();
        while lives(NodeId(1), child).is_ok() {
            assert!(since.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(LOOK);
        }
        assert!(lives(NodeId(1), child).expect_err("again").contains("node 1 ended"));
    }
}
