//! Servers whose memories are on one CXL 3 fabric: nodes copy pages from each other's by loads and stores, and no memory is shared coherently.
use super::{Spec, rdma100};
use crate::sections::Network;

pub(crate) static SPEC: Spec = Spec {
    name: "cxl3",
    summary: "rdma100 with a CXL 3 fabric between its nodes (64 GT/s x16): `homenode sim cluster`",
    build: || rdma100::build(SPEC.name, "a CXL 3 fabric between them", network(), &SOURCES),
};

fn network() -> Network {
    Network {
        // The port is the processor's own: what it takes is the link's.
        io: 0,
        link: rdma100::rate(121_000),
        latency: rdma100::cycles(184),
        packet_bytes: 240,
        header_bytes: 16,
        piece_bytes: 0,
        queue_bytes: 0,
        host_overhead: rdma100::cycles(50),
        occupancy: rdma100::cycles(2),
        ..rdma100::network()
    }
}

const SOURCES: [&str; 4] = [
    "nothing of this fabric was measured: it is a machine of which parts are published, put together by us; memory of one node that others may use without a protocol would \
     be another machine",
    "link 121 GB/s: 16 lanes of 64 GT/s (CXL 3.0 has twice the rate of CXL 2.0: grokipedia.com/page/Compute_Express_Link, the CXL Consortium's 3.0 of August 2022), less 5 % \
     for what is not data: our choice",
    "latency 184 ns: half of what a CXL expander takes beyond DRAM, 279.1 - 111.8 ns, both measured (`genoa-cxl`), and 100 ns for a switch: our choice",
    "packets of 256 B, the flits of CXL 3, of which 240 B are data: our choice; host overhead 50 ns for the loop that copies, occupancy 2 ns: our choice",
];
