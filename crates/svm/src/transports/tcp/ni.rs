//! The NI thread: what a programmable network interface would do. It carries out the operations of peers on this node's memory, and
//! wakes, calls or interrupts the node's threads, whatever these are at; it waits for none of them, takes no lock of theirs, and allocates
//! nothing once all nodes are connected.
use super::greet::Listening;
use super::lost::{GRACE, end};
use super::served::Served;
use crate::border::die;
use crate::shared::{END, STATUS};
use crate::transports::memory::Memory;
use homenode_base::NodeId;
use homenode_sys::net::{Poller, Ready, Signal};
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the thread looks at the time.
const LOOK: Duration = Duration::from_millis(250);

/// What the thread works on.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) memory: Memory,
    /// This node's process, whose threads are interrupted.
    pub(super) process: u32,
    /// Given when the thread is to end.
    pub(super) stop: Signal,
}

/// Says it if the thread panics: the node would be deaf.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        if std::thread::panicking() {
            die("the thread that serves other nodes has panicked");
        }
    }
}

impl Interface {
    /// The life of the thread.
    pub(super) fn run(&self, listening: Listening) {
        let _panics = Panics;
        let done = listening.accept_all(&self.stop).and_then(|came| {
            let peers = (0..).map(NodeId).zip(came).map(|(n, socket)| Some(Served::new(n, socket?, &self.memory)));
            self.serve(peers.collect())
        });
        if let Err(e) = done {
            die(&format!("cannot serve other nodes: {e}"));
        }
    }

    /// Serves until told to stop.
    fn serve(&self, mut peers: Vec<Option<Served>>) -> io::Result<()> {
        let (stop, mut waits) = (peers.len() as u64, vec![Ready::Reading; peers.len()]);
        let mut poller = Poller::new(peers.len() + 1)?;
        for (number, peer) in (0..).zip(&peers) {
            peer.as_ref().map_or(Ok(()), |p| poller.add(p.socket(), number, Ready::Reading))?;
        }
        poller.add(&self.stop, stop, Ready::Reading)?;
        let (mut lost, mut ready) = (None, vec![0; peers.len() + 1]);
        loop {
            let mut found = 0;
            for (to, number) in ready.iter_mut().zip(poller.wait(LOOK)?) {
                *to = number;
                found += 1;
            }
            for number in &ready[..found] {
                if *number == stop {
                    return Ok(());
                }
                let at = *number as usize;
                let Some(peer) = &mut peers[at] else { continue };
                let wait = peer.serve(&self.memory, self.process).unwrap_or_else(|what| {
                    die(&format!("node {} sent {what}", peer.peer()));
                });
                if wait == Ready::Closed {
                    lost.get_or_insert((peer.peer(), Instant::now()));
                    // A closed socket leaves the poller by itself.
                    peers[at] = None;
                } else if wait != waits[at] {
                    poller.change(peer.socket(), *number, wait)?;
                    waits[at] = wait;
                }
            }
            self.end_if_lost(lost);
        }
    }

    /// A node that was lost some time ago takes this one with it, unless this one is at its end, too.
    fn end_if_lost(&self, lost: Option<(NodeId, Instant)>) {
        let Some((node, _)) = lost.filter(|(_, since)| since.elapsed() > GRACE) else { return };
        if [END, STATUS].iter().all(|word| self.memory.shared().word(*word).load(Ordering::Acquire) == 0) {
            end(node);
        }
    }
}
