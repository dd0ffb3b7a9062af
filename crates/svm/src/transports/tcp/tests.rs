//! Strangers who connect, and peers that send what is no request.
use super::greet::Listening;
use super::message::Malformed;
use super::secret::Secret;
use super::served::Served;
use super::{SPEC, meet};
use crate::block_on::block_on;
use crate::transports::memory::Memory;
use crate::transports::{Meeting, Opening, Stopped, Transport};
use crate::trial::{Nodes, files, layout, open};
use homenode_base::NodeId;
use homenode_hlrc::host::Wake;
use homenode_sys::net::{self, Ready, Signal};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

fn stranger(address: SocketAddr, says: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(address).expect("somebody listens");
    socket.write_all(says).expect("it says something");
    socket
}

#[test]
fn strangers_hinder_nobody_and_find_nobody_listening_afterwards() {
    let layout = layout(&SPEC, 3);
    let files = files(&layout, 3).expect("memory");
    let meeting = meet(&files).expect("a meeting");
    // Silent, half a greeting, garbage, and the greeting of a node that is none; more than there is room for.
    let half = b"HNSVM\x01\r\n\x01\0\0";
    let [mut whole, mut foreign] = [[0; 44]; 2];
    whole[..12].copy_from_slice(b"HNSVM\x01\r\n\x01\0\0\0");
    foreign[..12].copy_from_slice(b"HNSVM\x01\r\n\x09\0\0\0");
    let says: [&[u8]; 5] = [b"", half, &[0xff; 4096], &whole, &foreign];
    let mut strangers = Vec::new();
    for address in &meeting.addresses {
        strangers.extend((0..20).flat_map(|_| says.map(|what| stranger(*address, what))));
    }
    let first = meeting.addresses[0];
    let addresses = meeting.addresses.clone();
    let more = thread::spawn(move || {
        let until = Instant::now() + Duration::from_millis(300);
        let come = |a: &SocketAddr| TcpStream::connect_timeout(a, Duration::from_secs(1)).ok();
        while Instant::now() < until {
            let some: Vec<_> = addresses.iter().filter_map(come).collect();
            thread::sleep(Duration::from_millis(1));
            drop(some);
        }
    });
    let since = Instant::now();
    let nodes = Nodes::met(&SPEC, layout, &files, &meeting).expect("they meet");
    assert!(since.elapsed() < LIMIT / 3, "{:?}", since.elapsed());
    more.join().expect("strangers");
    for to in (0..3).map(NodeId) {
        let added =
            (0..).zip(&nodes.wires).map(|(before, wire)| block_on(wire.fetch_add(to, 0, 1, Wake::Nobody)) == before);
        assert!(added.into_iter().all(|right| right));
    }
    // The answer to a right greeting proves who is there, and no more can be had without the secret.
    drop(meeting);
    let since = Instant::now();
    while TcpStream::connect_timeout(&first, Duration::from_secs(1)).is_ok() {
        assert!(since.elapsed() < LIMIT, "somebody still listens");
    }
}

#[test]
fn who_does_not_know_the_secret_is_refused_on_both_sides() {
    let layout = layout(&SPEC, 2);
    let files = files(&layout, 2).expect("memory");
    let meeting = meet(&files).expect("a meeting");
    let listening = |node: u16, secret: Secret| {
        let socket = meeting.listening[usize::from(node)].as_ref().expect("it listens").try_clone().expect("a socket");
        Listening { socket, me: NodeId(node), nodes: 2, secret }
    };
    let stop = Signal::new().expect("a descriptor");
    thread::scope(|scope| {
        // An impostor listens where node 1 should: node 0 does not go on with it.
        let impostor = listening(1, Secret([8; 32]));
        scope.spawn(|| impostor.accept_all(&stop).map(drop).expect("it was stopped"));
        let said = open(&SPEC, &layout, &files, &meeting, 0, &|| Ok(())).map(drop).expect_err("no node 1");
        assert!(said.to_string().contains("node 1 cannot be reached at 127.0.0.1"), "{said}");
        assert!(said.to_string().contains("does not know this job's secret"), "{said}");
        // An impostor calls node 0 as node 1, and sends something for a proof: it is let go.
        let server = listening(0, meeting.secret.clone());
        scope.spawn(|| server.accept_all(&stop).map(drop).expect("it was stopped"));
        let mut hello = [5; 44];
        hello[..12].copy_from_slice(b"HNSVM\x01\r\n\x01\0\0\0");
        let (mut socket, mut answer) = (stranger(meeting.addresses[0], &hello), [0; 64]);
        socket.set_read_timeout(Some(LIMIT)).expect("a limit");
        socket.read_exact(&mut answer).expect("an answer");
        socket.write_all(&answer[32..]).expect("the wrong proof, of the other side");
        assert_eq!(socket.read(&mut answer).expect("an end"), 0);
        stop.give();
    });
}

/// A served connection, and the peer's end of it.
pub(super) fn served() -> (Memory, Served, TcpStream) {
    let layout = layout(&SPEC, 2);
    let files = files(&layout, 2).expect("memory");
    let memory = Memory::map(
        &Opening {
            me: NodeId(0),
            nodes: 2,
            layout: &layout,
            files: &files,
            heap_words: 1024,
            threads: 2,
            stopped: Stopped::First,
            meeting: &Meeting::default(),
            turns: 0,
            look: &|| Ok(()),
        },
        NodeId(0),
    );
    let memory = memory.expect("mapped");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let peer = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let socket = listener.accept().expect("connected").0;
    let served = Served::new(NodeId(1), socket, &memory);
    (memory, served, peer)
}

#[test]
fn malformed_requests_are_found_before_anything_is_done() {
    for (words, what) in [
        ([77, 0], Malformed::Kind(77)),
        ([2 | 8 << 8, u64::MAX], Malformed::Words(u64::MAX, 8)),
        ([6 | 1 << 8, 1024], Malformed::Words(1024, 1)),
    ] {
        let (memory, mut served, mut peer) = served();
        peer.write_all(&words.map(u64::to_le_bytes).concat()).expect("sent");
        net::wait(served.socket(), Ready::Reading, LIMIT);
        assert_eq!(served.serve(&memory, 0).expect_err("malformed"), what);
        assert_eq!(served.peer(), NodeId(1));
    }
}

#[test]
fn an_answer_waits_for_a_slow_reader_and_an_end_is_seen() {
    let (memory, mut served, mut peer) = served();
    // As many answers as no socket holds, all asked for at once.
    const TIMES: usize = 4000;
    let ask = [5 | 1024 << 8, 0].map(u64::to_le_bytes).concat().repeat(TIMES);
    memory.heap()[1023].store(42, Ordering::Release);
    peer.write_all(&ask).expect("sent");
    let since = Instant::now();
    while served.serve(&memory, 0).expect("requests") != Ready::Writing {
        assert!(since.elapsed() < LIMIT);
    }
    let reader = thread::spawn(move || {
        let mut page = vec![0; 8192];
        for _ in 0..TIMES {
            peer.read_exact(&mut page).expect("an answer");
            assert_eq!((page[0], page[8184]), (0, 42));
        }
    });
    loop {
        match served.serve(&memory, 0).expect("requests") {
            Ready::Closed => break,
            what => net::wait(served.socket(), what, LIMIT),
        }
        assert!(since.elapsed() < LIMIT);
    }
    reader.join().expect("it read all");
}
