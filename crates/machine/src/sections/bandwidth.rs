//! What the memory of a node serves.
use super::{Measured, Section};
use crate::limits::{MachineError, reject};
use crate::shape::Shape;
use homenode_base::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most MB/s (10^6 bytes) that a file may say.
const MBS_MAX: u64 = 1_000_000_000;
/// Bytes and MB/s to picoseconds: bytes / MB/s x 10^6.
const PS: u128 = 1_000_000;

/// What all processors of a node (row) together get from, and bring to, the memory of each node, MB/s (10^6 bytes). The most in a
/// column is what that memory serves, whoever asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// Lines read.
    pub read: Rates,
    /// Lines written back, without the reads that stores begin with; where nothing is said, as much as is read.
    #[serde(default)]
    pub write: Option<Rates>,
}

/// Rates between nodes, MB/s: `near` and `far`, or a matrix. Where nothing is written nothing is known, and no limit is assumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// From the node's own memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<u64>,
    /// From any other node's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<u64>,
    /// From each node (row) to each; 0 where nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Vec<Vec<u64>>>,
}

/// Bytes read and bytes written, and the rates of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadWrite {
    /// Of reads.
    pub read: u64,
    /// Of writes.
    pub write: u64,
}

impl ReadWrite {
    /// Rates of reads and of write-backs where loads come to `read` and stores, which read each line first, to `store`.
    pub fn of_stores(read: u64, store: u64) -> ReadWrite {
        let write = match store < read {
            true => u128::from(read) * u128::from(store) / u128::from(read - store),
            false => store.into(),
        };
        ReadWrite { read, write: u64::try_from(write).map_or(MBS_MAX, |rate| rate.min(MBS_MAX)) }
    }
    /// Picoseconds that these bytes take at such rates, one after the other, rounded up: a memory that serves both serves either less.
    pub fn picoseconds(self, rates: ReadWrite) -> u128 {
        let time = |bytes: u64, rate: u64| (u128::from(bytes) * PS).div_ceil(u128::from(rate.max(1)));
        time(self.read, rates.read) + time(self.write, rates.write)
    }
    /// Both together.
    pub fn sum(self) -> u64 {
        self.read.saturating_add(self.write)
    }
}

impl Rates {
    /// The rate from a node's processors to the memory of another, if it is known.
    pub fn at(&self, from: NodeId, to: NodeId) -> Option<u64> {
        let cell = match &self.matrix {
            Some(rows) => rows.get(from.index()).and_then(|row| row.get(to.index())).copied(),
            None if from == to => self.near,
            None => self.far,
        };
        cell.filter(|rate| *rate > 0)
    }
    fn validate(&self, key: &str, nodes: usize) -> Result<(), MachineError> {
        match (self.near, self.far, &self.matrix) {
            (Some(_), _, None) => {}
            (None, None, Some(rows)) if rows.len() == nodes && rows.iter().all(|row| row.len() == nodes) => {}
            (None, None, Some(rows)) => {
                let value = format!("{} rows", rows.len());
                return Err(reject(&format!("{key}.matrix"), value, format!("{nodes} rows of {nodes}, one per node")));
            }
            _ => return Err(reject(key, "a table with other keys", "near, with or without far, or matrix alone")),
        }
        let said = self.near.iter().chain(&self.far);
        if let Some(rate) = said.clone().chain(self.matrix.iter().flatten().flatten()).find(|rate| **rate > MBS_MAX) {
            return Err(reject(key, rate, format!("MB/s, at most {MBS_MAX}")));
        }
        match said.min() {
            Some(0) => Err(reject(key, 0, "at least 1 MB/s")),
            _ => Ok(()),
        }
    }
}

impl Bandwidth {
    /// What the processors of a node get from the memory of another, if it is known.
    pub fn path(&self, from: NodeId, home: NodeId) -> Option<ReadWrite> {
        let read = self.read.at(from, home)?;
        Some(ReadWrite { read, write: self.write.as_ref().and_then(|w| w.at(from, home)).unwrap_or(read) })
    }
    /// What the memory of a node serves: the most that processors of any of so many nodes get from it.
    pub fn node(&self, home: NodeId, nodes: usize) -> Option<ReadWrite> {
        let most = |rates: &Rates| (0..nodes).filter_map(|from| rates.at(NodeId(from as u16), home)).max();
        let read = most(&self.read)?;
        Some(ReadWrite { read, write: self.write.as_ref().and_then(most).unwrap_or(read) })
    }
    /// What was measured, of a machine of so many nodes, all of which it is about. Stores were measured with the reads that they begin with, which are taken out.
    pub(crate) fn measured(m: &Measured, nodes: usize) -> Option<Bandwidth> {
        let ids: BTreeSet<u32> = m.cpu_nodes.iter().chain(&m.memory_nodes).copied().collect();
        if ids.len() != nodes {
            return None;
        }
        let cells = |rate: fn(ReadWrite) -> u64| {
            let row = |from: &u32| {
                let cell = |to: &u32| {
                    let of = |table| m.cell(table, *from, *to).and_then(|v| u64::try_from(v).ok());
                    of(&m.read_mbs)
                        .zip(of(&m.write_mbs))
                        .map_or(0, |(read, store)| rate(ReadWrite::of_stores(read, store)))
                };
                ids.iter().map(cell).collect()
            };
            Rates { matrix: Some(ids.iter().map(row).collect()), ..Rates::default() }
        };
        Some(Bandwidth { read: cells(|r| r.read), write: Some(cells(|r| r.write)) })
    }
}

impl Section for Bandwidth {
    fn validate(&self, shape: &Shape) -> Result<(), MachineError> {
        let nodes = shape.cores.len();
        self.read.validate("bandwidth.read", nodes)?;
        self.write.as_ref().map_or(Ok(()), |write| write.validate("bandwidth.write", nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_share_the_time() {
        let rates = ReadWrite { read: 100, write: 50 };
        assert_eq!(ReadWrite { read: 100, write: 50 }.picoseconds(rates), 2 * PS);
        assert_eq!(ReadWrite { read: 1, write: 0 }.picoseconds(rates), 10_000);
        assert_eq!(ReadWrite::default().picoseconds(ReadWrite::default()), 0, "a rate of nothing divides nothing");
    }

    #[test]
    fn a_store_is_a_read_and_a_write_back() {
        // At 100 MB/s for reads, stores of 50 MB/s have twice the traffic: 50 read and 50 written, the latter in half of the time.
        let write = |read, store| ReadWrite::of_stores(read, store).write;
        assert_eq!(write(100, 50), 100);
        assert_eq!(write(100, 100), 100, "non-temporal, as it seems");
        assert_eq!(write(u64::MAX, 1), 1);
        assert_eq!(write(u64::MAX, u64::MAX - 1), MBS_MAX);
    }

    #[test]
    fn the_most_in_a_column_is_what_the_memory_serves() {
        let rates = |near, far| Rates { near: Some(near), far, matrix: None };
        let b = Bandwidth { read: rates(9, Some(4)), write: Some(rates(5, None)) };
        assert_eq!(b.node(NodeId(1), 2), Some(ReadWrite { read: 9, write: 5 }));
        assert_eq!(b.path(NodeId(1), NodeId(1)), Some(ReadWrite { read: 9, write: 5 }));
        assert_eq!(
            b.path(NodeId(0), NodeId(1)),
            Some(ReadWrite { read: 4, write: 4 }),
            "nobody says what writes come to"
        );
        assert_eq!(Bandwidth { read: rates(9, None), write: None }.path(NodeId(0), NodeId(1)), None);
    }
}
