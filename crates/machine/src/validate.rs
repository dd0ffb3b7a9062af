//! What makes a machine sound, and what the exact optimum with replication asks of it beyond that.
use crate::limits::{BLOCK_BYTES_MAX, MachineError, NODES_MAX, reject};
use crate::model::{AccessClass, Location, Machine};
use homenode_base::{Cost, NodeId};

/// A condition under which the optimum with replication is exact, that a machine does not fulfil. The optimum without
/// replication and the best static placement need none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// What does not hold.
    pub condition: String,
    /// What follows.
    pub consequence: &'static str,
}

const BOUND: &str = "the optimum with replication is a lower bound, not exact";

impl Machine {
    /// Whether the machine is sound: every number in range, matrices square with the least cost of each row on the
    /// diagonal, caches that can exist. Machines of the registry are; [`Machine::from_toml`] returns no others.
    pub fn validate(&self) -> Result<(), MachineError> {
        if self.name.is_empty() || self.name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(reject("name", format!("{:?}", self.name), "at least one character, no white space"));
        }
        self.validate_sizes()?;
        self.cost.validate(self.nodes())?;
        self.sections.validate(&self.shape)?;
        match (&self.sections.capacity, &self.sections.tiers) {
            (Some(_), Some(_)) => {
                Err(reject("capacity", "said twice", "either that or tiers.capacity_bytes, which means the same"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a miss that is not waited for costs no more than one that is, as files must say. Of other machines, whose loads were made cheaper, it
    /// costs as much as a load.
    pub(crate) fn validate_misses(&self) -> Result<(), MachineError> {
        let Some(misses) = &self.sections.misses else { return Ok(()) };
        let node = |i: usize| NodeId(i as u16);
        let pairs = (0..self.nodes()).flat_map(|q| (0..self.nodes()).map(move |j| (node(q), node(j))));
        for (from, to) in pairs {
            let most = self.cost.read.at(from, to);
            for (key, costs) in [("streamed", &misses.streamed), ("overlapped", &misses.overlapped)] {
                if costs.at(from, to) > most {
                    let cell = format!("misses.{key} from node {} to node {}", from.0, to.0);
                    return Err(reject(&cell, costs.at(from, to).0, format!("at most that of a load, {}", most.0)));
                }
            }
        }
        Ok(())
    }

    fn validate_sizes(&self) -> Result<(), MachineError> {
        let nodes = self.nodes();
        if nodes == 0 || nodes > NODES_MAX {
            return Err(reject("cores", format!("{nodes} nodes"), format!("1 to {NODES_MAX} nodes")));
        }
        let cpus = self.cpus();
        if cpus == 0 || cpus > usize::from(u16::MAX) {
            return Err(reject("cores", format!("{cpus} processors in all"), format!("1 to {}", u16::MAX)));
        }
        if self.shape.word_bytes == 0 || self.shape.word_bytes > 4096 {
            return Err(reject("word_bytes", self.shape.word_bytes, "1 to 4096"));
        }
        self.check_block("page_bytes", self.shape.page_bytes)
    }

    /// Whether a placement block may have this size; `key` is what the error calls it.
    pub fn check_block(&self, key: &str, block_bytes: u64) -> Result<(), MachineError> {
        if block_bytes == 0 || block_bytes > BLOCK_BYTES_MAX || !block_bytes.is_power_of_two() {
            return Err(reject(key, block_bytes, format!("a power of two from 1 to {BLOCK_BYTES_MAX}")));
        }
        Ok(())
    }

    /// The conditions for an exact optimum with replication that do not hold.
    pub fn unmet_conditions(&self) -> Vec<Unmet> {
        let mut unmet = Vec::new();
        let misses =
            [(AccessClass::ReadOverlapped, "misses.overlapped"), (AccessClass::ReadStreamed, "misses.streamed")];
        let misses = misses.into_iter().filter(|_| self.sections.misses.is_some());
        let latencies =
            [(AccessClass::Read, "read"), (AccessClass::Write, "write"), (AccessClass::WriteBack, "write_back")];
        for (class, name) in latencies.into_iter().chain(misses) {
            if !self.one_remote_cost(class) {
                let condition = format!("{name}: from each node all other nodes are equally far");
                unmet.push(Unmet { condition, consequence: BOUND });
            }
            if !self.global_in_between(class) {
                let condition = format!("{name}: near <= global <= far");
                unmet.push(Unmet { condition, consequence: BOUND });
            }
        }
        unmet
    }

    fn one_remote_cost(&self, class: AccessClass) -> bool {
        (0..self.nodes()).all(|q| {
            let mut others = self.remote_costs(class, q);
            let first = others.next();
            others.all(|c| Some(c) == first)
        })
    }

    fn global_in_between(&self, class: AccessClass) -> bool {
        let Some(global) = self.cost.global else { return true };
        (0..self.nodes()).all(|q| {
            let here = Location::Node(NodeId(q as u16));
            self.access(class, NodeId(q as u16), here) <= global.access
                && self.remote_costs(class, q).all(|far| global.access <= far)
        })
    }

    fn remote_costs(&self, class: AccessClass, q: usize) -> impl Iterator<Item = Cost> {
        let node = |i: usize| NodeId(i as u16);
        (0..self.nodes()).filter(move |j| *j != q).map(move |j| self.access(class, node(q), Location::Node(node(j))))
    }
}
