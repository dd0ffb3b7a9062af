//! How a node ends.
use crate::block_on::block_on;
use crate::current::announced;
use crate::me;
use crate::node::Node;
use crate::phases;
use crate::shared::{END, EXITED, PROCESS, STATUS};
use crate::transports::Transport;
use homenode_base::NodeId;
use homenode_hlrc::host::{Host, Wake};
use homenode_sys::process::{Change, Polled, Whom, poll_child, signal};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long nodes may take to end.
const END_MOST: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);
const SIGKILL: i32 = 9;

/// Is told that the program ends with this status; ends the other nodes.
pub fn exited(status: i32) {
    let Some(node) = announced() else { return };
    if me::number().is_some() {
        count_life(node);
    }
    node.shared().word(STATUS).store(EXITED | u64::from(status as u8), Ordering::Release);
    if node.me() == NodeId(0) && node.has_begun() {
        end_others(node);
    }
}

/// Notes how long the calling thread has been one.
pub(crate) fn count_life(node: &Node) {
    phases::end_thread(node);
    let nanoseconds = u64::try_from(me::age().as_nanos()).unwrap_or(u64::MAX);
    node.thread_words().life().fetch_add(nanoseconds, Ordering::Relaxed);
}

/// Tells the other nodes to end and waits until they have, not for long.
fn end_others(node: &Node) {
    let (mut processes, here) = (Vec::new(), node.job.hosts.is_none());
    for other in node.together.others() {
        let mut process = [0];
        block_on(async {
            node.get(other, node.word(PROCESS), &mut process).await;
            // Who has been told may be gone at once.
            node.put(other, node.word(END), &[1], Wake::Nobody).await;
            node.wire().call(other).await;
        });
        processes.push((other, process[0] as u32));
    }
    let since = Instant::now();
    let stopped = |change| matches!(change, Change::Stopped(_));
    let is_child = |process: u32| match poll_child(Whom::Process(process)) {
        Polled::Quiet => true,
        Polled::Changed(_, change) => stopped(change),
        Polled::NoChild => false,
    };
    // The number of another host's process says nothing here.
    let lives = |(other, process): &(NodeId, u32)| {
        if here { is_child(*process) } else { !node.wire().is_gone(*other) }
    };
    while !processes.is_empty() && since.elapsed() < END_MOST {
        processes.retain(lives);
        std::thread::sleep(LOOK);
    }
    for (_, process) in processes.into_iter().filter(|_| here) {
        signal(process, SIGKILL);
    }
}
