//! Nodes that share no memory: their processors and caches, and what their network and the handlers of shared virtual memory cost.
use super::Section;
use crate::limits::{MachineError, reject};
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// Most processors a node.
const PROCESSORS_MAX: u16 = 64;
/// Longest time of anything, in cycles.
const CYCLES_MAX: u64 = 1 << 20;
/// Most bytes in a thousand cycles.
const RATE_MAX: u64 = 1 << 30;
/// Cycles that rates are of.
const RATE_CYCLES: u64 = 1000;

/// A cluster in virtual time (Bilas and Singh, section 1.3.1 and table 1.1). Times in cycles of a processor; rates in bytes a thousand
/// cycles, 0: what takes no time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Cycles a microsecond, to compare with clocks.
    pub mhz: u64,
    /// Bytes of a line of both caches, a power of two up to 64.
    pub line_bytes: u64,
    /// Bytes of the first cache, directly mapped.
    pub l1_bytes: u64,
    /// Bytes of the second cache.
    pub l2_bytes: u64,
    /// Ways of the second cache.
    pub l2_ways: u64,
    /// A hit in the second cache.
    pub l2_hit: u64,
    /// A memory access, without the bus.
    pub memory: u64,
    /// Arbitration for the bus of memory, before each transaction.
    pub arbitration: u64,
    /// Rate of the bus of memory.
    pub bus: u64,
    /// Rate of the I/O bus.
    pub io: u64,
    /// Rate of a link.
    pub link: u64,
    /// From one network interface to another.
    pub latency: u64,
    /// Bytes that a packet carries.
    pub packet_bytes: u64,
    /// Bytes of a packet that a bus or link hands on while the rest follows (cut-through); 0: all of them (store and forward).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub piece_bytes: u64,
    /// Bytes that a network interface holds of what its host has sent and what has not come, before the host stands still; 0: any number.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queue_bytes: u64,
    /// Whether a network interface that answers a fetch has all of a packet before it sends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fetch_whole: bool,
    /// Bytes of a packet beside them.
    pub header_bytes: u64,
    /// A message at the processor that sends it.
    pub host_overhead: u64,
    /// A packet at each network interface.
    pub occupancy: u64,
    /// An interrupt, once to be issued and once to be delivered.
    pub interrupt: u64,
    /// Whether interrupts go to a node's processors in turn, and not to the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub round_robin: bool,
    /// An interrupt of a processor that waits in the protocol and sees it without being stopped; absent: as any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    /// Cycles after which a thread that waits in the protocol sleeps, and those that it takes to be woken.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub sleep: [u64; 2],
    /// What the protocol does on processors.
    pub handlers: Handlers,
}

fn is_nothing(cycles: &[u64; 2]) -> bool {
    *cycles == [0, 0]
}

/// What the protocol of shared virtual memory costs on processors, in cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handlers {
    /// A trapped access, until the protocol has it.
    pub fault: u64,
    /// A request that is served.
    pub request: u64,
    /// A lock or a barrier among the threads of a node.
    pub local: u64,
    /// The thread of a node that comes to a barrier last.
    pub leader: u64,
    /// A message of notices, and each notice.
    pub notices: [u64; 2],
    /// A call that changes what the program may do to pages, and each page of it.
    pub protect: [u64; 2],
    /// Each other processor of the node at such a call.
    pub shootdown: u64,
    /// Percent that such a call takes longer for each other one of the node at the same time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub concurrent: u64,
    /// What it takes that a page comes to a node for the first time, such as memory, and that its first twin does.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub first: [u64; 2],
    /// A word of 4 bytes of a twin.
    pub twin: u64,
    /// A word of 4 bytes that is compared for a diff, and one that is in it; that one again where it is applied.
    pub diff: [u64; 2],
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Section for Network {
    fn validate(&self, shape: &Shape) -> Result<(), MachineError> {
        self.validate_sizes(shape)?;
        let h = &self.handlers;
        let times = [
            ("l2_hit", self.l2_hit),
            ("memory", self.memory),
            ("arbitration", self.arbitration),
            ("latency", self.latency),
            ("host_overhead", self.host_overhead),
            ("occupancy", self.occupancy),
            ("interrupt", self.interrupt),
            ("seen", self.seen.unwrap_or(0)),
            ("sleep", self.sleep[0].max(self.sleep[1])),
            ("handlers.fault", h.fault),
            ("handlers.request", h.request),
            ("handlers.local", h.local),
            ("handlers.leader", h.leader),
            ("handlers.notices", h.notices[0].max(h.notices[1])),
            ("handlers.protect", h.protect[0].max(h.protect[1])),
            ("handlers.shootdown", h.shootdown),
            ("handlers.concurrent", h.concurrent),
            ("handlers.first", h.first[0].max(h.first[1])),
            ("handlers.twin", h.twin),
            ("handlers.diff", h.diff[0].max(h.diff[1])),
        ];
        if let Some((key, value)) = times.iter().find(|(_, v)| *v > CYCLES_MAX) {
            return Err(reject(&format!("network.{key}"), value, format!("0 to {CYCLES_MAX}")));
        }
        let rates = [("bus", self.bus), ("io", self.io), ("link", self.link)];
        if let Some((key, value)) = rates.iter().find(|(_, v)| *v > RATE_MAX) {
            return Err(reject(&format!("network.{key}"), value, format!("0 to {RATE_MAX} bytes a thousand cycles")));
        }
        if !(1..=1_000_000).contains(&self.mhz) {
            return Err(reject("network.mhz", self.mhz, "1 to 1000000"));
        }
        Ok(())
    }
}

impl Network {
    fn validate_sizes(&self, shape: &Shape) -> Result<(), MachineError> {
        let page = shape.page_bytes;
        let first = shape.cores[0];
        if shape.cores.iter().any(|c| *c != first) || !(1..=PROCESSORS_MAX).contains(&first) {
            let allowed = format!("the same number for all nodes, 1 to {PROCESSORS_MAX}, on a machine with [network]");
            return Err(reject("cores", format!("{:?}", shape.cores), allowed));
        }
        if !page.is_power_of_two() || !(64..=1 << 20).contains(&page) {
            return Err(reject("page_bytes", page, "a power of two from 64 to 1048576 on a machine with [network]"));
        }
        let power = |key: &str, value: u64, least: u64, most: u64| match value.is_power_of_two() {
            true if (least..=most).contains(&value) => Ok(()),
            _ => Err(reject(&format!("network.{key}"), value, format!("a power of two from {least} to {most}"))),
        };
        power("line_bytes", self.line_bytes, 8, 64.min(page))?;
        power("l1_bytes", self.l1_bytes, self.line_bytes, 1 << 30)?;
        power("l2_ways", self.l2_ways, 1, 64)?;
        power("l2_bytes", self.l2_bytes, self.l1_bytes.max(self.line_bytes * self.l2_ways), 1 << 30)?;
        if self.piece_bytes > self.packet_bytes {
            let allowed = format!("at most network.packet_bytes, {}", self.packet_bytes);
            return Err(reject("network.piece_bytes", self.piece_bytes, allowed));
        }
        let least = self.packet_bytes + self.header_bytes;
        if self.queue_bytes != 0 && !(least..=1 << 40).contains(&self.queue_bytes) {
            return Err(reject(
                "network.queue_bytes",
                self.queue_bytes,
                format!("0, or a packet of {least} to 1099511627776"),
            ));
        }
        if !(8..=1 << 20).contains(&self.packet_bytes) || self.header_bytes > 1 << 12 {
            let value = format!("{} and {}", self.packet_bytes, self.header_bytes);
            return Err(reject("network.packet_bytes and header_bytes", value, "8 to 1048576, and 0 to 4096"));
        }
        Ok(())
    }

    /// Cycles that so many bytes take at a rate.
    pub fn cycles(bytes: u64, rate: u64) -> u64 {
        if rate == 0 { 0 } else { (bytes * RATE_CYCLES).div_ceil(rate) }
    }
}
