//! Servers of today that reach each other's memory by RDMA at 100 Gb/s.
use super::Spec;
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Handlers, Network, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "rdma100",
    summary: "4 nodes of 4 processors with RDMA at 100 Gb/s between them (PCIe 3.0 x16): `homenode sim cluster`",
    build: || build(SPEC.name, "RDMA at 100 Gb/s", network(), &SOURCES),
};

/// Cycles a microsecond.
const MHZ: u64 = 2500;

/// Bytes a thousand cycles, of megabytes a second.
pub(super) const fn rate(mbs: u64) -> u64 {
    mbs * 1000 / MHZ
}
/// Cycles of so many nanoseconds.
pub(super) const fn cycles(ns: u64) -> u64 {
    ns * MHZ / 1000
}

/// Processors and interface.
pub(super) fn network() -> Network {
    Network {
        mhz: MHZ,
        line_bytes: 64,
        l1_bytes: 32 << 10,
        l2_bytes: 2 << 20,
        l2_ways: 16,
        l2_hit: 14,
        memory: cycles(108),
        arbitration: 1,
        bus: rate(245_973),
        io: rate(15_754),
        link: rate(12_500),
        latency: cycles(695),
        packet_bytes: 4096,
        header_bytes: 30,
        piece_bytes: 256,
        queue_bytes: 0,
        fetch_whole: false,
        host_overhead: cycles(100),
        occupancy: cycles(10),
        interrupt: cycles(7_200),
        seen: None,
        sleep: [0, 0],
        round_robin: false,
        handlers: handlers(),
    }
}

/// What protocols cost on processors of today.
fn handlers() -> Handlers {
    Handlers {
        fault: cycles(4_400),
        request: cycles(500),
        local: cycles(270),
        leader: cycles(500),
        notices: [cycles(100), cycles(10)],
        protect: [cycles(250), cycles(250)],
        shootdown: cycles(500),
        concurrent: 0,
        first: [0, 0],
        twin: 1,
        diff: [1, 1],
    }
}

/// Four nodes of four such processors.
pub(super) fn build(name: &str, fabric: &str, network: Network, sources: &[&str]) -> Machine {
    let far = network.host_overhead + 2 * network.occupancy + network.latency + network.memory;
    Machine {
        name: name.into(),
        title: format!("16 processors of 2.5 GHz in 4 nodes, {fabric}"),
        sources: sources.iter().chain(&PROCESSORS).map(|s| (*s).into()).collect(),
        unit: Unit::Quantum("cycle of 2.5 GHz".into()),
        shape: Shape { cores: vec![4; 4], word_bytes: 4, page_bytes: 4096 },
        cost: Costs::alike(
            &Matrix::uniform(4, Cost(network.memory as i64), Cost(far as i64)),
            CopyCost { fixed: Cost(far as i64), per_word: Cost(1), at_most: None },
        ),
        sections: Sections { network: Some(network), ..Sections::default() },
    }
}

/// Where the processors' figures are from.
const PROCESSORS: [&str; 6] = [
    "2.5 GHz, 4 processors a node: our choice; memory 108.2 ns and 245,973 MB/s, 2 MiB in 16 ways: as on `sapphire-rapids`, whose sources are named there; \
     first cache of 32 KiB, directly mapped, a hit in the second of 14 cycles, arbitration of 1 cycle: our choice",
    "interrupt 7.2 us, issued and delivered each: half of a notification of 14.37 us between two processes of one host (docs/design/svm-runtime.md, bench/svm/run.py \
     --published); between two hosts not measured",
    "a lock inside a node 0.27 us: the least of the local locks there",
    "a trapped access 4.4 us, 0.25 us a call and 0.25 us a page to protect, 0.5 us for each other processor: our choice, about what traps and changed page tables take on \
     virtual machines of today; serving a request 0.5 us, leader of a barrier 0.5 us, notices 0.1 us and 10 ns each: our choice",
    "a twin's word, a word compared, a word of a diff 1 cycle: our choice, a copy and a comparison that miss the caches",
    "costs of references: memory, and a word from another node; a cycle a word of a copy: our choice, read by the placement commands only",
];

const SOURCES: [&str; 5] = [
    "100 Gb/s and PCIe 3.0 x16: ConnectX-5 in the table of doc.dpdk.org/guides-25.11/nics/mlx5.html; 15.754 GB/s: 16 lanes of 8 GT/s by 128 of 130 bits, without the \
     heads of its packets",
    "latency 695 ns: what is left of 0.83 us for 32 B one way (ib_send_lat, git.dennispotter.eu/Dennis/masters-thesis tables/mtu_performance.tex, commit 1995c04f) when \
     processor, buses, interfaces and link have theirs; 4 KiB take 2.27 us there, and 1.2 us here",
    "host overhead 100 ns, occupancy 10 ns (100 million packets a second and interface): our choice, no figure of a maker is taken for it",
    "a bus or link hands on 256 B of a packet while the rest follows, the payload of a packet on PCIe: our choice",
    "packets of 4 KiB, the largest of InfiniBand; 30 B beside them: its heads for routing (8 B), transport (12 B), and checksums (6 B), and 4 B of data that comes with it: our choice",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// One way, without contention, in nanoseconds: the first piece through all stages, and behind it the rest through the slowest.
    fn one_way(net: &Network, bytes: u64) -> u64 {
        let of = bytes + net.header_bytes;
        let first = if net.piece_bytes == 0 { of } else { of.min(net.piece_bytes) };
        let rates = [net.bus, net.io, net.link, net.io, net.bus];
        let head: u64 = rates.iter().map(|r| Network::cycles(first, *r)).sum();
        let rest = rates.iter().map(|r| Network::cycles(of, *r) - Network::cycles(first, *r)).max().unwrap_or(0);
        let sum = net.host_overhead + 2 * (net.arbitration + net.occupancy) + net.latency + head + rest;
        sum * 1000 / net.mhz
    }

    #[test]
    fn messages_take_what_was_published() {
        let net = network();
        assert!((815..=845).contains(&one_way(&net, 32)), "{}", one_way(&net, 32));
        // What was published takes 2,270: interfaces there do more with a packet than hand it on.
        assert!((1_100..=1_300).contains(&one_way(&net, 4096)), "{}", one_way(&net, 4096));
        let faster = super::super::rdma400::network();
        assert!(one_way(&faster, 4096) < one_way(&net, 4096));
        let tcp = super::super::tcp25::network();
        // A word and back: the answer costs no processor that sends it.
        let fetch = 2 * one_way(&tcp, 8) - tcp.host_overhead * 1000 / tcp.mhz;
        assert!((95_000..=100_000).contains(&fetch), "{fetch}");
    }
}
