//! Sockets: nodes have nothing of each other but connections, one for each ordered pair of nodes. Each node has a thread, its network
//! interface (`ni`), that serves what others ask of its memory.
//!
//! *Order:* all that a node writes to another goes over one connection, under one lock, and is carried out there one after the other.
//! Writes are collected and sent before the thread waits or leaves ([`Transport::flush`]), or with the next request that has an answer.
mod greet;
mod link;
mod lost;
pub mod message;
mod ni;
pub mod ranks;
mod secret;
mod served;
#[cfg(test)]
mod tests;

use super::memory::Memory;
use super::{Files, Meeting, Opening, Spec, Transport, Wire};
use greet::{Caller, Listening};
use homenode_base::NodeId;
use homenode_hlrc::host::Wake;
use homenode_sys::net::Signal;
use homenode_sys::signals;
use link::Link;
use message::Request;
use ni::Interface;
pub(crate) use secret::Secret;
use std::io;
use std::iter;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

pub(crate) static SPEC: Spec = Spec {
    name: "tcp",
    summary: "nodes that have only sockets between them; a thread of each serves the others",
    is_apart: true,
    has_mailbox: false,
    meet,
    open: |opening| Ok(Wire::Tcp(Tcp::open(opening)?)),
};

/// Name of the thread that serves others.
const THREAD: &str = "homenode ni";
/// Turns of a thread that looks at its own memory in the time of one look at a socket.
const LOOKS: u32 = 100;

/// This node's memory, and connections to the others.
#[derive(Debug)]
pub(crate) struct Tcp {
    interface: Arc<Interface>,
    /// By node; none to itself.
    links: Vec<Option<Link>>,
    thread: Option<JoinHandle<()>>,
}

/// The listening sockets of nodes: those of one host, which nobody outside it can reach, are made here.
pub(super) fn meet(files: &Files) -> io::Result<Meeting> {
    let mut secret = Secret::default();
    let file = files.secret.as_ref().ok_or_else(|| io::Error::other("the job has no secret"))?;
    file.read_exact_at(&mut secret.0, 0)?;
    if let Some(hosts) = &files.hosts {
        let mut listening: Vec<Option<TcpListener>> = hosts.peers.iter().map(|_| None).collect();
        listening[hosts.me.index()] = Some(hosts.listening.try_clone()?);
        return Ok(Meeting { listening, addresses: hosts.peers.clone(), secret });
    }
    let listen = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listening: Vec<TcpListener> = files.regions.iter().map(listen).collect::<io::Result<_>>()?;
    let addresses = listening.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
    Ok(Meeting { listening: listening.into_iter().map(Some).collect(), addresses, secret })
}

impl Tcp {
    pub(super) fn open(opening: &Opening<'_>) -> io::Result<Tcp> {
        let (me, meeting) = (opening.me, opening.meeting);
        let socket = meeting.listening.get(me.index()).and_then(Option::as_ref);
        let socket = socket.ok_or_else(|| io::Error::other("the node does not listen"))?;
        let secret = meeting.secret.clone();
        let listening = Listening { socket: socket.try_clone()?, me, nodes: opening.nodes, secret };
        let interface = Arc::new(Interface {
            memory: Memory::map(opening, me)?,
            process: std::process::id(),
            stop: Signal::new()?,
        });
        let theirs = interface.clone();
        // The program's signals are for its own threads.
        let spawn = || std::thread::Builder::new().name(THREAD.to_owned()).spawn(move || theirs.run(listening));
        let thread = Some(signals::blocked(spawn)?);
        let links = (0..opening.nodes).map(|_| None).collect();
        let mut tcp = Tcp { interface, links, thread };
        for (to, address) in (0..opening.nodes).map(NodeId).zip(&meeting.addresses).filter(|(to, _)| *to != me) {
            let caller = Caller { from: me, to, addresses: &[*address], secret: &meeting.secret, look: opening.look };
            tcp.links[to.index()] = Some(Link::new(to, caller.call()?, opening.turns / LOOKS));
        }
        Ok(tcp)
    }

    /// The way to another node; none to this one.
    fn to(&self, node: NodeId) -> Option<&Link> {
        self.links[node.index()].as_ref()
    }
    fn own(&self) -> &Memory {
        &self.interface.memory
    }
    /// Whether the connection to a node is closed at its side.
    pub(super) fn is_gone(&self, node: NodeId) -> bool {
        self.to(node).is_some_and(Link::is_gone)
    }
}

impl Transport for Tcp {
    async fn get(&self, node: NodeId, word: usize, into: &mut [u64]) {
        let Some(link) = self.to(node) else { return self.own().get(word, into) };
        let turn = link.ask(Request::Get { word, count: into.len() });
        link.answer(&turn, into.len(), |at, word| into[at] = word);
    }
    async fn put(&self, node: NodeId, word: usize, values: &[u64], wake: Wake) {
        match self.to(node) {
            Some(link) => link.tell(Request::Put { word, count: values.len(), wake }, values.iter().copied()),
            None => {
                self.own().put(word, values);
                self.own().wake(wake);
            }
        }
    }
    async fn compare_swap(&self, node: NodeId, word: usize, old: u64, new: u64) -> u64 {
        let Some(link) = self.to(node) else { return self.own().compare_swap(word, old, new) };
        let (turn, mut before) = (link.ask(Request::CompareSwap { word, old, new }), 0);
        link.answer(&turn, 1, |_, word| before = word);
        before
    }
    async fn fetch_add(&self, node: NodeId, word: usize, add: u64, wake: Wake) -> u64 {
        let Some(link) = self.to(node) else { return self.own().fetch_add(word, add, wake) };
        let (turn, mut before) = (link.ask(Request::FetchAdd { word, add, wake }), 0);
        link.answer(&turn, 1, |_, word| before = word);
        before
    }
    async fn get_page(&self, node: NodeId, region: (usize, &mut [u64]), heap: (usize, &[AtomicU64])) {
        let Some(link) = self.to(node) else { return self.own().get_page(region, heap) };
        let ((word, words), (first_word, into)) = (region, heap);
        let get = Request::Get { word, count: words.len() };
        let [stamps, page] = link.ask_all([get, Request::GetPage { word: first_word, count: into.len() }]);
        link.answer(&stamps, words.len(), |at, word| words[at] = word);
        link.answer(&page, into.len(), |at, word| into[at].store(word, Ordering::Relaxed));
    }
    async fn put_page(&self, node: NodeId, first_word: usize, from: &[AtomicU64]) {
        let Some(link) = self.to(node) else { return self.own().put_page(first_word, from) };
        let words = from.iter().map(|word| word.load(Ordering::Relaxed));
        link.tell(Request::PutPage { word: first_word, count: from.len() }, words);
    }
    async fn put_run(&self, node: NodeId, first_word: usize, run: &[(u64, u64)]) {
        let Some(link) = self.to(node) else { return self.own().put_run(first_word, run) };
        let words = run.iter().flat_map(|(value, mask)| [*value, *mask]);
        link.tell(Request::PutRun { word: first_word, count: run.len() }, words);
    }
    async fn interrupt(&self, node: NodeId) {
        let Some(link) = self.to(node) else { return self.own().interrupt(self.interface.process) };
        link.tell(Request::Interrupt, iter::empty());
        link.flush();
    }
    async fn call(&self, node: NodeId) {
        let Some(link) = self.to(node) else { return self.own().call() };
        link.tell(Request::Call, iter::empty());
        link.flush();
    }
    fn flush(&self) {
        self.links.iter().flatten().for_each(Link::flush);
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.interface.stop.give();
        if let Some(thread) = self.thread.take() {
            // What it has to say it has said.
            let _ = thread.join();
        }
    }
}
