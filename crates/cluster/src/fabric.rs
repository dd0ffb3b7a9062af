//! The way of a message: buses, network interfaces and links, each a server that takes what comes in order of arrival (Bilas and Singh,
//! sections 1.3.1 and 1.3.6). A packet is at its next stage when its first piece is through (section 1.4.2), or all of it.
use homenode_machine::Network;
use homenode_timed::engine::Path;

/// Servers of a node, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Bus of memory.
    Bus,
    /// I/O bus.
    Io,
    /// Network interface, outgoing.
    Out,
    /// Link out of the node.
    Link,
    /// Network interface, incoming.
    In,
}

/// Names of the servers in tables.
pub(crate) const PARTS: [&str; 5] = ["bus", "I/O bus", "NI out", "link", "NI in"];

/// Bytes of the protocol that need no packet of their own beside a page: a stamp a node, and a flag.
const BESIDE_BYTES: u64 = 8 * 65;

/// Bytes of a request (O8 of the model).
pub(crate) const REQUEST_BYTES: u64 = 32;

/// The network.
#[derive(Clone, Debug)]
pub(crate) struct Fabric {
    net: Network,
}

impl Fabric {
    pub(crate) fn new(net: Network) -> Fabric {
        Fabric { net }
    }
    /// How many servers so many nodes have.
    pub(crate) fn servers(nodes: usize) -> usize {
        nodes * PARTS.len()
    }
    fn server(node: u16, part: Part) -> u16 {
        node * PARTS.len() as u16 + part as u16
    }

    fn bus(&self, path: Path, node: u16, bytes: u64) -> Path {
        self.crossed(path, (node, Part::Bus), (self.net.arbitration, self.net.bus), bytes)
    }
    fn io(&self, path: Path, node: u16, bytes: u64) -> Path {
        self.crossed(path, (node, Part::Io), (0, self.net.io), bytes)
    }
    /// A bus or link that so many bytes cross at a rate, after something before them; what follows begins with their first piece, or with all.
    fn crossed(&self, path: Path, (node, part): (u16, Part), (before, rate): (u64, u64), bytes: u64) -> Path {
        let cycles = |bytes| clamp(before + Network::cycles(bytes, rate));
        let piece = if self.net.piece_bytes == 0 { bytes } else { bytes.min(self.net.piece_bytes) };
        path.cut_through(Fabric::server(node, part), cycles(bytes), cycles(piece))
    }
    /// Out of a node's network interface into another's.
    fn wire(&self, path: Path, from: u16, to: u16, bytes: u64) -> Path {
        let occupancy = clamp(self.net.occupancy);
        let out = path.through(Fabric::server(from, Part::Out), occupancy);
        self.crossed(out, (from, Part::Link), (0, self.net.link), bytes)
            .delay(clamp(self.net.latency))
            .through(Fabric::server(to, Part::In), occupancy)
    }

    /// Sizes of the packets that carry so many bytes: at least one.
    fn packets(&self, bytes: u64) -> impl Iterator<Item = u64> + use<> {
        let (most, header) = (self.net.packet_bytes, self.net.header_bytes);
        let count = bytes.saturating_sub(BESIDE_BYTES).div_ceil(most).max(1);
        (0..count).map(move |n| header + if n + 1 == count { bytes - n * most } else { most })
    }

    /// Packets from the memory of a node into that of another.
    pub(crate) fn deposit(&self, from: u16, to: u16, bytes: u64) -> impl Iterator<Item = Path> + '_ {
        self.packets(bytes).map(move |bytes| {
            let out = self.io(self.bus(Path::default(), from, bytes), from, bytes);
            self.bus(self.io(self.wire(out, from, to, bytes), to, bytes), to, bytes)
        })
    }
    /// Packets from the memory of a node into that of another which asked the network interface of the first for them.
    pub(crate) fn answer(&self, from: u16, to: u16, bytes: u64) -> impl Iterator<Item = Path> + '_ {
        let whole = self.net.fetch_whole;
        self.deposit(from, to, bytes).map(move |path| if whole { path.whole_until(Part::Out as usize) } else { path })
    }
    /// A request from the memory of a node to the network interface of another.
    pub(crate) fn request(&self, from: u16, to: u16, bytes: u64) -> Path {
        let bytes = self.net.header_bytes + bytes;
        self.wire(self.io(self.bus(Path::default(), from, bytes), from, bytes), from, to, bytes)
    }
    /// The way of a packet that is lost on the link.
    pub(crate) fn lost(path: &Path) -> Path {
        let until_link = path.stages().iter().take(Part::Link as usize + 1);
        until_link.fold(Path::default(), |way, stage| match stage.server {
            Some(server) => way.through(server, stage.cycles),
            None => way.delay(stage.cycles),
        })
    }
    /// A line from memory over the bus of a node.
    pub(crate) fn line(&self, node: u16) -> Path {
        self.bus(self.bus(Path::default(), node, 0).delay(clamp(self.net.memory)), node, self.net.line_bytes)
    }
    /// A line from a processor to memory.
    pub(crate) fn write_back(&self, node: u16) -> Path {
        self.bus(Path::default(), node, self.net.line_bytes)
    }
    /// A transaction without data.
    pub(crate) fn upgrade(&self, node: u16) -> Path {
        self.bus(Path::default(), node, 0)
    }
    /// Cycles of a small message and its answer, without contention.
    pub(crate) fn round_trip(&self) -> u64 {
        self.request(0, 0, 8).cycles() + self.deposit(0, 0, 8).map(|p| p.cycles()).sum::<u64>()
    }
}

/// Cycles without contention from the beginning of a message of so many bytes until they are in the memory of another node.
pub fn message_cycles(net: &Network, bytes: u64) -> u64 {
    let fabric = Fabric::new(net.clone());
    net.host_overhead + fabric.deposit(0, 1, bytes).map(|p| p.cycles()).sum::<u64>()
}

/// Cycles without contention until so many bytes are here that the network interface of another node was asked for.
pub fn fetch_cycles(net: &Network, bytes: u64) -> u64 {
    let fabric = Fabric::new(net.clone());
    let answer = fabric.answer(1, 0, bytes).map(|p| p.cycles()).sum::<u64>();
    net.host_overhead + fabric.request(0, 1, REQUEST_BYTES).cycles() + answer
}

fn clamp(cycles: u64) -> u32 {
    u32::try_from(cycles).unwrap_or(u32::MAX)
}
