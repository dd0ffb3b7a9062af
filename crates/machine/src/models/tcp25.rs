//! Servers that send each other messages over TCP at 25 Gb/s, by the kernel and a thread that serves.
use super::{Spec, rdma100};
use crate::sections::Network;

pub(crate) static SPEC: Spec = Spec {
    name: "tcp25",
    summary: "rdma100 with TCP over 25 Gb/s Ethernet instead: `homenode sim cluster`",
    build: || rdma100::build(SPEC.name, "TCP over 25 Gb/s Ethernet", network(), &SOURCES),
};

pub(super) fn network() -> Network {
    Network {
        link: rdma100::rate(3_125),
        latency: rdma100::cycles(44_000),
        packet_bytes: 4096,
        header_bytes: 234,
        piece_bytes: 0,
        queue_bytes: 0,
        host_overhead: rdma100::cycles(5_000),
        occupancy: rdma100::cycles(1_000),
        interrupt: rdma100::cycles(15_700),
        ..rdma100::network()
    }
}

const SOURCES: [&str; 5] = [
    "25 Gb/s: the rate of the Ethernet; PCIe as on `rdma100`",
    "latency 44 us: what is left of a word fetched in 97.51 us, there and back, over sockets of one host by a thread that sleeps until a request comes \
     (docs/design/svm-runtime.md, bench/svm/run.py --published, tcp); between two hosts not measured",
    "interrupt 15.7 us, issued and delivered each: half of a notification of 31.51 us, the same place",
    "host overhead 5 us for a call that sends, occupancy 1 us for what the kernel does with what came: our choice; that thread's and the kernel's time is \
     taken from no processor of the program",
    "what is sent at once is a packet of up to three frames of 1,448 B, with 78 B each on the wire: our choice",
];
