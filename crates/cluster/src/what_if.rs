//! Counterfactuals: a cluster of which one thing is another one.
use homenode_hlrc::steps::{Pages, Step};
use homenode_machine::Network;
use std::fmt;
use std::str::FromStr;

/// A number of a machine's network that a question may change.
#[derive(Debug)]
pub struct Parameter {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Whether more of it is faster: bytes in a time, and not a time.
    pub is_rate: bool,
    of: fn(&mut Network) -> &mut u64,
}

const fn time(name: &'static str, summary: &'static str, of: fn(&mut Network) -> &mut u64) -> Parameter {
    Parameter { name, summary, is_rate: false, of }
}
const fn rate(name: &'static str, summary: &'static str, of: fn(&mut Network) -> &mut u64) -> Parameter {
    Parameter { name, summary, is_rate: true, of }
}

/// Every parameter, those of table 1.1 first.
pub static PARAMETERS: [Parameter; 14] = [
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
];

/// Most cycles and most bytes a thousand cycles, as in machine files: times add up to numbers that 64 bits hold.
const CYCLES_MAX: u64 = 1 << 20;
const RATE_MAX: u64 = 1 << 30;

impl Parameter {
    /// The parameter with this name.
    pub fn find(name: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|p| p.name == name)
    }
    /// Most that it may be.
    fn most(&self) -> u64 {
        if self.is_rate { RATE_MAX } else { CYCLES_MAX }
    }
    /// What it is in a network.
    pub fn get(&self, net: &Network) -> u64 {
        *(self.of)(&mut net.clone())
    }
    /// What it is in a network whose processors have another clock, in cycles of that one.
    fn in_cycles_of(&self, net: &Network, mhz: u64) -> u64 {
        let value = u128::from(self.get(net));
        let (mine, other) = (u128::from(net.mhz), u128::from(mhz));
        let value = if self.is_rate { value * mine / other } else { value * other / mine };
        u64::try_from(value).unwrap_or(u64::MAX)
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
                let most = parameter.most();
                if value <= most { Ok(WhatIf::Is(parameter, value)) } else { Err(format!("'{text}' is beyond {most}")) }
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
        let change = |p: &'static Parameter| {
            let value = p.in_cycles_of(to, from.mhz);
            (value != p.get(from)).then_some(WhatIf::Is(p, value))
        };
        PARAMETERS.iter().filter_map(change).collect()
    }

    /// Changes a network, and the step of the protocol that runs on it. Rates of 0 take no time, so a rate does not become 0 by a factor.
    pub(crate) fn apply(&self, net: &mut Network, step: &mut Step) {
        match self {
            WhatIf::Is(p, value) => *(p.of)(net) = (*value).min(p.most()),
            WhatIf::Times(p, factor) => {
                let value = (p.of)(net);
                let least = u64::from(p.is_rate && *value > 0);
                *value = ((*value as f64 * factor).round() as u64).max(least).min(p.most());
            }
            WhatIf::Named(Named::NoProtect) => (net.handlers.protect, net.handlers.shootdown) = ([0, 0], 0),
            WhatIf::Named(Named::NoDiffs) => (net.handlers.twin, net.handlers.diff) = (0, [0, 0]),
            // Whoever fetches a page needs nobody, and fetches take no time: `Bound` says that to the nodes.
            WhatIf::Named(Named::LocalFaults) => step.pages = Pages::Fetched,
            WhatIf::Named(Named::RoundRobin) => net.round_robin = true,
            // Options of the protocol: `run` says them to the nodes.
            WhatIf::Named(Named::Prefetch | Named::Sorted | Named::Tickets | Named::Migrate | Named::Tree) => {}
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
        "interrupts=0x".parse::<WhatIf>().expect("known").apply(&mut net, &mut step);
        assert_eq!(net.interrupt, 0);
    }
}
