//! Servers of today that reach each other's memory by RDMA at 400 Gb/s.
use super::{Spec, rdma100};
use crate::sections::Network;

pub(crate) static SPEC: Spec = Spec {
    name: "rdma400",
    summary: "rdma100 with RDMA at 400 Gb/s (PCIe 5.0 x16): `homenode sim cluster`",
    build: || rdma100::build(SPEC.name, "RDMA at 400 Gb/s", network(), &SOURCES),
};

pub(super) fn network() -> Network {
    Network {
        io: rdma100::rate(63_015),
        link: rdma100::rate(50_000),
        occupancy: rdma100::cycles(4),
        ..rdma100::network()
    }
}

const SOURCES: [&str; 3] = [
    "400 Gb/s and PCIe 5.0 x16: ConnectX-7 in the table of doc.dpdk.org/guides-25.11/nics/mlx5.html; 63.015 GB/s: 16 lanes of 32 GT/s by 128 of 130 bits, without the \
     heads of its packets",
    "latency, host overhead and packets as on `rdma100`, whose sources are named there: our choice, nobody's figure for this rate is taken",
    "occupancy 4 ns (250 million packets a second and interface): our choice",
];
