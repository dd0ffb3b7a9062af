//! Ways through buses, banks, engines and input ports (Kuo and others 1998, tables 3 and 4; the split of 147 cycles is ours).
use crate::engine::Path;
use homenode_machine::Hybrid;

/// The ways of a machine. Each node has a bus, an engine, an input port and banks, in that order.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    bus: u32,
    bank: u32,
    fill: u32,
    engine: u32,
    network: u32,
    port: u32,
    banks: u32,
}

impl Paths {
    pub(super) fn new(h: &Hybrid) -> Paths {
        let cycles = |c: u64| u32::try_from(c).unwrap_or(u32::MAX);
        Paths {
            bus: cycles(h.bus),
            bank: cycles(h.bank),
            fill: cycles(h.fill),
            engine: cycles(h.engine),
            network: cycles(h.network),
            port: cycles(h.port),
            banks: h.banks,
        }
    }

    pub(super) fn servers(&self, nodes: usize) -> usize {
        nodes * self.each() as usize
    }
    /// Servers of a node.
    pub(super) fn each(&self) -> u32 {
        3 + self.banks
    }
    #[inline]
    fn server(&self, node: u32, which: u32) -> u16 {
        (node * self.each() + which) as u16
    }
    #[inline]
    fn bus(&self, path: Path, node: u32, cycles: u32) -> Path {
        path.through(self.server(node, 0), cycles)
    }
    #[inline]
    fn engine(&self, path: Path, node: u32) -> Path {
        path.through(self.server(node, 1), self.engine)
    }
    #[inline]
    fn memory(&self, path: Path, node: u32, chunk: u64) -> Path {
        let banks = u64::from(self.banks);
        let bank = if banks.is_power_of_two() { chunk & (banks - 1) } else { chunk % banks } as u32;
        self.bus(path, node, self.bus).through(self.server(node, 3 + bank), self.bank)
    }
    #[inline]
    fn hop(&self, path: Path, to: u32) -> Path {
        self.engine(path.delay(self.network).through(self.server(to, 2), self.port), to)
    }

    /// A node's own memory: 58 cycles.
    pub(super) fn local(&self, node: u32, chunk: u64) -> Path {
        self.memory(Path::default(), node, chunk)
    }
    /// A node's remote access cache: 23 cycles.
    pub(super) fn rac(&self, node: u32) -> Path {
        self.bus(self.directory(node), node, self.fill)
    }
    /// A node's own directory.
    pub(super) fn directory(&self, node: u32) -> Path {
        self.engine(self.bus(Path::default(), node, self.bus), node)
    }
    /// A request to the home.
    pub(super) fn request(&self, node: u32, home: u32) -> Path {
        self.hop(self.directory(node), home)
    }
    /// Memory of `from`, whose engine has been asked, to the processor of `node`: with [`request`](Paths::request) 147 cycles.
    pub(super) fn reply(&self, from: u32, node: u32, chunk: u64) -> Path {
        self.bus(self.hop(self.memory(Path::default(), from, chunk), node), node, self.fill)
    }
    /// The home sends the request on to the owner, who answers: 33 cycles more than [`reply`](Paths::reply).
    pub(super) fn forward(&self, owner: u32, node: u32, chunk: u64) -> Path {
        self.bus(self.hop(self.memory(self.hop(Path::default(), owner), owner, chunk), node), node, self.fill)
    }
    /// The home invalidates a copy, whose holder tells the writer.
    pub(super) fn invalidate(&self, holder: u32, node: u32) -> Path {
        self.hop(self.hop(Path::default(), holder), node)
    }
    /// A written line or chunk goes home; nobody waits.
    pub(super) fn write_back(&self, node: u32, home: u32, chunk: u64) -> Path {
        if node == home { self.local(node, chunk) } else { self.memory(self.request(node, home), home, chunk) }
    }
}
