//! What makes a machine sound, and what the exact optimum with replication asks of it beyond that.
use crate::model::{AccessClass, CacheGeometry, Caches, CopyCost, GlobalMemory, Location, Machine, Matrix};
use homenode_base::{Cost, NodeId};

/// Most nodes a machine may have.
pub const NODES_MAX: usize = 1024;
/// Most a reference, a transfer or the fixed part of a copy may cost: a second in picoseconds.
pub const COST_MAX: i64 = 1_000_000_000_000;
/// Most a copy may cost per word: a microsecond in picoseconds.
pub const WORD_COST_MAX: i64 = 1_000_000;
/// Largest placement block: with the limits on costs, no sum of the optimum can overflow.
pub const BLOCK_BYTES_MAX: u64 = 1 << 30;

/// What is wrong with a machine, or with its file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line, from 1; 0 if unknown.
        line: usize,
        /// What the TOML reader says.
        message: String,
    },
    /// A value that is not allowed.
    #[error("{key} = {value} is not allowed: {allowed}")]
    Value {
        /// Key, as a path.
        key: String,
        /// What was written.
        value: String,
        /// What may be.
        allowed: String,
    },
}

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

pub(crate) fn reject(key: &str, value: impl ToString, allowed: impl Into<String>) -> MachineError {
    MachineError::Value { key: key.into(), value: value.to_string(), allowed: allowed.into() }
}

impl Machine {
    /// Whether the machine is sound: every number in range, matrices square with the least cost of each row on the
    /// diagonal, caches that can exist. Machines of the registry are; [`Machine::from_toml`] returns no others.
    pub fn validate(&self) -> Result<(), MachineError> {
        if self.name.is_empty() || self.name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(reject("name", format!("{:?}", self.name), "at least one character, no white space"));
        }
        self.validate_sizes()?;
        for (key, matrix) in [("read", &self.read), ("write", &self.write), ("write_back", &self.write_back)] {
            validate_matrix(key, matrix, self.nodes())?;
        }
        validate_copy("copy", &self.copy)?;
        if let Some(GlobalMemory { access, copy }) = &self.global {
            validate_cost("global.access", *access)?;
            validate_copy("global.copy", copy)?;
        }
        self.caches.as_ref().map_or(Ok(()), validate_caches)
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
        if self.word_bytes == 0 || self.word_bytes > 4096 {
            return Err(reject("word_bytes", self.word_bytes, "1 to 4096"));
        }
        self.check_block("page_bytes", self.page_bytes)
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
        for class in [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack] {
            let name = ["read", "write", "write_back"][class as usize];
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
        let Some(global) = self.global else { return true };
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

fn validate_cost(key: &str, cost: Cost) -> Result<(), MachineError> {
    match cost.0 {
        0..=COST_MAX => Ok(()),
        value => Err(reject(key, value, format!("0 to {COST_MAX}"))),
    }
}

fn validate_matrix(key: &str, matrix: &Matrix, nodes: usize) -> Result<(), MachineError> {
    if matrix.nodes() != nodes {
        let rows = matrix.nodes();
        return Err(reject(key, format!("{rows} rows"), format!("one row per node, of which there are {nodes}")));
    }
    for i in 0..nodes {
        let near = matrix.at(NodeId(i as u16), NodeId(i as u16));
        for j in 0..nodes {
            let cost = matrix.at(NodeId(i as u16), NodeId(j as u16));
            let cell = format!("{key} from node {i} to node {j}");
            validate_cost(&cell, cost)?;
            if cost < near {
                return Err(reject(&cell, cost.0, format!("at least that from node {i} to itself, {}", near.0)));
            }
        }
    }
    Ok(())
}

fn validate_copy(key: &str, copy: &CopyCost) -> Result<(), MachineError> {
    let parts = [("", copy.fixed, copy.per_word)];
    let other = copy.at_most.map(|o| (".at_most", o.fixed, o.per_word));
    for (part, fixed, per_word) in parts.into_iter().chain(other) {
        validate_cost(&format!("{key}{part}.fixed"), fixed)?;
        if !(0..=WORD_COST_MAX).contains(&per_word.0) {
            return Err(reject(&format!("{key}{part}.per_word"), per_word.0, format!("0 to {WORD_COST_MAX}")));
        }
    }
    Ok(())
}

fn validate_caches(c: &Caches) -> Result<(), MachineError> {
    if !c.line_bytes.is_power_of_two() || !(8..=4096).contains(&c.line_bytes) {
        return Err(reject("caches.line_bytes", c.line_bytes, "a power of two from 8 to 4096"));
    }
    validate_cache("caches.private", c.private, c.line_bytes)?;
    validate_cache("caches.shared", c.shared, c.line_bytes)?;
    validate_cost("caches.transfer_near", c.transfer_near)?;
    validate_cost("caches.transfer_far", c.transfer_far)?;
    if c.transfer_far < c.transfer_near {
        let allowed = format!("at least caches.transfer_near, {}", c.transfer_near.0);
        return Err(reject("caches.transfer_far", c.transfer_far.0, allowed));
    }
    Ok(())
}

fn validate_cache(key: &str, cache: CacheGeometry, line_bytes: u32) -> Result<(), MachineError> {
    if !(1..=1024).contains(&cache.ways) {
        return Err(reject(&format!("{key}.ways"), cache.ways, "1 to 1024"));
    }
    let set = u64::from(cache.ways) * u64::from(line_bytes);
    if cache.bytes == 0 || !cache.bytes.is_multiple_of(set) || cache.bytes > BLOCK_BYTES_MAX {
        let allowed = format!("a multiple of ways x line = {set}, at most {BLOCK_BYTES_MAX}");
        return Err(reject(&format!("{key}.bytes"), cache.bytes, allowed));
    }
    Ok(())
}
