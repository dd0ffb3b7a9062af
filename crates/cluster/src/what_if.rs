//! Counterfactuals: a cluster of which one thing is another one.
use homenode_hlrc::steps::{Pages, Step};
use homenode_machine::Network;
use std::fmt;
use std::str::FromStr;

/// What a parameter is, which says what values it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Cycles of a processor.
    Cycles,
    /// Bytes a thousand cycles: more of it is faster, and 0 takes no time.
    Rate,
    /// Bytes, at least and at most so many.
    Bytes(u64, u64),
    /// Bytes of a cache, a power of two from the first to the second.
    Cache(u64, u64),
}

/// A number of a machine's network that a question may change.
#[derive(Debug)]
pub struct Parameter {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What it is.
    pub unit: Unit,
    of: fn(&mut Network) -> &mut u64,
}

/// Where a parameter is in a network.
type Of = fn(&mut Network) -> &mut u64;

const fn is(unit: Unit, name: &'static str, summary: &'static str, of: Of) -> Parameter {
    Parameter { name, summary, unit, of }
}
const fn time(name: &'static str, summary: &'static str, of: Of) -> Parameter {
    is(Unit::Cycles, name, summary, of)
}
const fn rate(name: &'static str, summary: &'static str, of: Of) -> Parameter {
    is(Unit::Rate, name, summary, of)
}

/// Sizes that packets may have, as in machine files.
const PACKET: Unit = Unit::Bytes(8, 1 << 20);
const HEADER: Unit = Unit::Bytes(0, 1 << 12);
const QUEUE: Unit = Unit::Bytes(0, 1 << 40);
/// Sizes that caches may have: lines have at most 64 bytes, and sets at most 64 of them.
const CACHE: Unit = Unit::Cache(1 << 12, 1 << 30);

/// Every parameter, those of table 1.1 first.
pub static PARAMETERS: [Parameter; 29] = [
    time("overhead", "cycles of a processor a message", |n| &mut n.host_overhead),
    time("occupancy", "cycles of each network interface a packet", |n| &mut n.occupancy),
    rate("io", "bytes a thousand cycles of the I/O bus", |n| &mut n.io),
    time("interrupts", "cycles to issue an interrupt, and again to deliver it", |n| &mut n.interrupt),
    rate("link", "bytes a thousand cycles of a link", |n| &mut n.link),
    time("latency", "cycles between two network interfaces", |n| &mut n.latency),
    rate("bus", "bytes a thousand cycles of the bus of memory", |n| &mut n.bus),
    time("memory", "cycles of an access to memory", |n| &mut n.memory),
    time("fault", "cycles of a trapped access", |n| &mut n.handlers.fault),
    time("request", "cycles of a request that is served", |n| &mut n.handlers.request),
    time("protect", "cycles of a call that protects pages", |n| &mut n.handlers.protect[0]),
    time("shootdown", "cycles of such a call for each other processor of the node", |n| &mut n.handlers.shootdown),
    time("twin", "cycles of a word of a twin", |n| &mut n.handlers.twin),
    time("compare", "cycles of a word that is compared for a diff", |n| &mut n.handlers.diff[0]),
    // Deliveries to a processor that waits are as any other as long as nothing is said.
    time("seen", "cycles to deliver an interrupt to a processor that waits in the protocol", |n| {
        n.seen.get_or_insert(n.interrupt)
    }),
    time("sleep", "cycles after which a thread that waits sleeps", |n| &mut n.sleep[0]),
    time("wake", "cycles to wake it", |n| &mut n.sleep[1]),
    time("first", "cycles that a page takes when it comes to a node for the first time", |n| &mut n.handlers.first[0]),
    time("first-twin", "cycles that its first twin takes there", |n| &mut n.handlers.first[1]),
    time("local", "cycles of a lock or barrier among the threads of a node", |n| &mut n.handlers.local),
    time("leader", "cycles of the thread of a node that comes to a barrier last", |n| &mut n.handlers.leader),
    time("notice", "cycles of a notice in a message", |n| &mut n.handlers.notices[1]),
    time("differ", "cycles of a word that is in a diff", |n| &mut n.handlers.diff[1]),
    time("second", "cycles of a hit in the second cache", |n| &mut n.l2_hit),
    is(PACKET, "packet", "bytes that a packet carries", |n| &mut n.packet_bytes),
    is(HEADER, "header", "bytes of a packet beside them", |n| &mut n.header_bytes),
    is(QUEUE, "queue", "bytes that a network interface holds; 0: any number", |n| &mut n.queue_bytes),
    is(CACHE, "l1", "bytes of the first cache", |n| &mut n.l1_bytes),
    is(CACHE, "l2", "bytes of the second cache, at least those of the first", |n| &mut n.l2_bytes),
];

/// Most cycles and most bytes a thousand cycles, as in machine files: times add up to numbers that 64 bits hold.
const CYCLES_MAX: u64 = 1 << 20;
const RATE_MAX: u64 = 1 << 30;

impl Parameter {
    /// The parameter with this name.
    pub fn find(name: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|p| p.name == name)
    }
    /// Least and most that it may be.
    pub const fn range(&self) -> (u64, u64) {
        match self.unit {
            Unit::Cycles => (0, CYCLES_MAX),
            Unit::Rate => (0, RATE_MAX),
            Unit::Bytes(least, most) | Unit::Cache(least, most) => (least, most),
        }
    }
    /// A parameter that has this value.
    ///
    /// # Errors
    /// It cannot.
    pub fn is(&'static self, value: u64) -> Result<WhatIf, String> {
        let ((least, most), name) = (self.range(), self.name);
        if value > most {
            return Err(format!("'{name}={value}' is beyond {most}"));
        }
        if value < least {
            return Err(format!("'{name}={value}' is below {least}"));
        }
        if matches!(self.unit, Unit::Cache(..)) && !value.is_power_of_two() {
            return Err(format!("'{name}={value}' is no power of two"));
        }
        Ok(WhatIf::Is(self, value))
    }
    /// What it is in a network.
    pub fn get(&self, net: &Network) -> u64 {
        *(self.of)(&mut net.clone())
    }
    /// What it is in a network whose processors have another clock, in cycles of that one.
    fn in_cycles_of(&self, net: &Network, mhz: u64) -> u64 {
        let value = u128::from(self.get(net));
        let (mine, other) = (u128::from(net.mhz), u128::from(mhz));
        let value = match self.unit {
            Unit::Rate => value * mine / other,
            Unit::Cycles => value * other / mine,
            Unit::Bytes(..) | Unit::Cache(..) => value,
        };
        u64::try_from(value).unwrap_or(u64::MAX)
    }
    /// Sets it, or what is nearest to that.
    fn set(&self, net: &mut Network, value: u64) {
        let (least, most) = self.range();
        let value = value.clamp(least, most);
        let is_cache = matches!(self.unit, Unit::Cache(..));
        *(self.of)(net) = if is_cache { value.next_power_of_two().min(most) } else { value };
        // What machine files must be, too.
        net.piece_bytes = net.piece_bytes.min(net.packet_bytes);
        net.l2_bytes = net.l2_bytes.max(net.l1_bytes);
    }
}

/// Counterfactuals that are no parameter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Pages are there when they are touched.
    LocalFaults,
    /// Pages are protected in no time.
    NoProtect,
    /// Twins and diffs are made and applied in no time.
    NoDiffs,
    /// Interrupts go to the processors of a node in turn (Bilas and Singh, section 1.3.1).
    RoundRobin,
    /// Pages come with the one that is fetched (section 1.5.1).
    Prefetch,
    /// Pages are given up in their order (section 1.5.1).
    Sorted,
    /// Threads of a node have a lock in the order in which they asked (section 1.5.1).
    Tickets,
    /// Homes move to nodes that alone write.
    Migrate,
    /// Nodes tell each other by a tree that a barrier is open.
    Tree,
}

/// Pages that come with one: the study's choice (section 1.5.1).
pub(crate) const PREFETCH: u8 = 4;

/// Names of counterfactuals that are no parameter's, and what they mean.
pub const NAMED: [(&str, &str, Named); 9] = [
    ("local-faults", "pages of other nodes are there when they are touched", Named::LocalFaults),
    ("no-protect", "pages are protected in no time", Named::NoProtect),
    ("no-diffs", "twins and diffs are made and applied in no time", Named::NoDiffs),
    ("round-robin", "interrupts go to the processors of a node in turn", Named::RoundRobin),
    ("prefetch", "four pages come with one that is fetched, by steps with remote fetches", Named::Prefetch),
    ("sorted", "pages that notices name are given up in the order of pages", Named::Sorted),
    ("tickets", "threads of a node have a lock in the order in which they asked for it", Named::Tickets),
    ("migrate", "the home of a page that one node alone writes moves there", Named::Migrate),
    ("tree", "nodes tell each other by a tree that a barrier is open, four each", Named::Tree),
];

/// What is another one.
#[derive(Clone, Copy, Debug)]
pub enum WhatIf {
    /// A parameter has this value.
    Is(&'static Parameter, u64),
    /// A parameter is so many times what it is.
    Times(&'static Parameter, f64),
    /// Something else.
    Named(Named),
}

/// Most times that a parameter may be what it is.
const TIMES_MAX: f64 = 1e6;

impl FromStr for WhatIf {
    type Err = String;
    fn from_str(text: &str) -> Result<WhatIf, String> {
        if let Some((_, _, named)) = NAMED.iter().find(|(name, ..)| *name == text) {
            return Ok(WhatIf::Named(*named));
        }
        let known = || {
            let parameters = PARAMETERS.iter().map(|p| p.name);
            parameters.chain(NAMED.iter().map(|n| n.0)).collect::<Vec<_>>().join(", ")
        };
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let parameter = Parameter::find(name).ok_or_else(|| format!("there is no '{name}'; known are {}", known()))?;
        let wrong = || format!("'{text}' gives {name} neither a value ({name}=500) nor a factor ({name}=4x)");
        match value.strip_suffix('x') {
            Some(factor) => {
                let factor: f64 = factor.parse().map_err(|_| wrong())?;
                let is_sound = (0.0..=TIMES_MAX).contains(&factor);
                if is_sound { Ok(WhatIf::Times(parameter, factor)) } else { Err(wrong()) }
            }
            None => {
                let value: u64 = value.parse().map_err(|_| wrong())?;
                parameter.is(value)
            }
        }
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhatIf::Is(p, value) => write!(f, "{}={value}", p.name),
            WhatIf::Times(p, factor) => write!(f, "{}={factor}x", p.name),
            WhatIf::Named(named) => f.write_str(NAMED.iter().find(|n| n.2 == *named).map_or("", |n| n.0)),
        }
    }
}

impl WhatIf {
    /// Changes of a network into another one, a parameter each, for processors of the first.
    pub fn between(from: &Network, to: &Network) -> Vec<WhatIf> {
        let mut now = from.clone();
        let mut change = |p: &'static Parameter| {
            let value = p.in_cycles_of(to, from.mhz);
            let is_other = value != p.get(&now);
            is_other.then(|| {
                p.set(&mut now, value);
                WhatIf::Is(p, value)
            })
        };
        PARAMETERS.iter().filter_map(&mut change).collect()
    }

    /// A network with these changes.
    pub fn network(what_ifs: &[WhatIf], net: &Network) -> Network {
        let mut net = net.clone();
        what_ifs.iter().for_each(|w| w.change(&mut net));
        net
    }

    /// Changes a network, and the step of the protocol that runs on it.
    pub(crate) fn apply(&self, net: &mut Network, step: &mut Step) {
        self.change(net);
        // Whoever fetches a page needs nobody, and fetches take no time: `Bound` says that to the nodes.
        if matches!(self, WhatIf::Named(Named::LocalFaults)) {
            step.pages = Pages::Fetched;
        }
    }

    /// Rates of 0 take no time, so a rate does not become 0 by a factor.
    fn change(&self, net: &mut Network) {
        match self {
            WhatIf::Is(p, value) => p.set(net, *value),
            WhatIf::Times(p, factor) => {
                let value = p.get(net);
                let least = u64::from(p.unit == Unit::Rate && value > 0);
                p.set(net, ((value as f64 * factor).round() as u64).max(least));
            }
            WhatIf::Named(Named::NoProtect) => (net.handlers.protect, net.handlers.shootdown) = ([0, 0], 0),
            WhatIf::Named(Named::NoDiffs) => (net.handlers.twin, net.handlers.diff) = (0, [0, 0]),
            WhatIf::Named(Named::RoundRobin) => net.round_robin = true,
            // Options of the protocol: `run` says them to the nodes.
            WhatIf::Named(
                Named::LocalFaults | Named::Prefetch | Named::Sorted | Named::Tickets | Named::Migrate | Named::Tree,
            ) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Network {
        homenode_machine::models::find("svm-achievable").and_then(|m| m.sections.network).expect("in the registry")
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for text in ["io=4x", "interrupts=0", "overhead=0.5x", "local-faults", "no-protect", "no-diffs"] {
            assert_eq!(text.parse::<WhatIf>().expect("known").to_string(), text);
        }
        for (text, named) in [
            ("fast", "known are overhead, occupancy"),
            ("io", "io=4x"),
            ("io=x", "neither"),
            ("io=-1", "neither"),
            ("io=NaNx", "neither"),
            ("io=-2x", "neither"),
            ("io=1e99x", "neither"),
            ("overhead=18446744073709551615", "beyond 1048576"),
            ("io=1073741825", "beyond 1073741824"),
            ("packet=4", "below 8"),
            ("l1=5000", "no power of two"),
            ("", "known are"),
        ] {
            let error = text.parse::<WhatIf>().expect_err("refused");
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn changes_between_two_networks_make_one_the_other() {
        let from = network();
        let to = homenode_machine::models::find("svm-best").and_then(|m| m.sections.network).expect("in the registry");
        let changes = WhatIf::between(&from, &to);
        let names: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["overhead=0", "occupancy=200", "io=2000", "interrupts=0"]);
        assert_eq!(WhatIf::network(&changes, &from), to);
        let (mut net, mut step) = (from.clone(), *homenode_hlrc::steps::ALL[0]);
        changes.iter().for_each(|c| c.apply(&mut net, &mut step));
        assert_eq!(net, to);
        // Twice the clock: as many bytes in half the cycles, and twice the cycles in the same time.
        let faster = Network { mhz: 400, ..from.clone() };
        let names: Vec<String> = WhatIf::between(&faster, &from).iter().map(ToString::to_string).collect();
        assert!(names.contains(&"io=250".to_owned()) && names.contains(&"occupancy=2000".to_owned()), "{names:?}");
    }

    #[test]
    fn a_rate_does_not_become_endless_by_a_factor() {
        let (mut net, mut step) = (network(), *homenode_hlrc::steps::ALL[0]);
        "io=0x".parse::<WhatIf>().expect("known").apply(&mut net, &mut step);
        assert_eq!(net.io, 1);
        // Caches are powers of two, the second no smaller than the first; packets no smaller than their pieces.
        "l1=1000x".parse::<WhatIf>().expect("known").apply(&mut net, &mut step);
        assert_eq!((net.l1_bytes, net.l2_bytes), (1 << 23, 1 << 23));
        "packet=8".parse::<WhatIf>().expect("known").apply(&mut net, &mut step);
        assert_eq!((net.packet_bytes, net.piece_bytes), (8, 8));
        "interrupts=0x".parse::<WhatIf>().expect("known").apply(&mut net, &mut step);
        assert_eq!(net.interrupt, 0);
    }
}
