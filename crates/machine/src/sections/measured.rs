//! Raw measurements of a machine, kept in its file beside the costs that were made of them.
use super::{HitCosts, Section};
use crate::limits::{COST_MAX, MachineError, reject};
use crate::shape::Shape;
use homenode_base::Cost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was measured: rectangular, one row a node with processors, one column a node with memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// When, as RFC 3339 in UTC.
    pub when: String,
    /// How: method, buffer sizes, repeats.
    pub how: String,
    /// Why the values should not be believed; empty if nothing speaks against them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caution: String,
    /// Operating-system numbers of the nodes whose processors measured: the rows.
    pub cpu_nodes: Vec<u32>,
    /// Operating-system numbers of the nodes whose memory was measured: the columns.
    pub memory_nodes: Vec<u32>,
    /// Load latency of idle memory in picoseconds, base pages.
    pub idle_ps: Table,
    /// Load latency of idle memory in picoseconds, huge pages: little address translation; absent if none could be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_huge_ps: Option<Table>,
    /// Load latency in picoseconds while other processors of the node read the same memory as fast as they can; absent if
    /// a node has only one usable processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_ps: Option<Table>,
    /// Picoseconds a line of 64 bytes for one processor that reads memory in order, with nobody else at work; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streamed_ps: Option<Table>,
    /// Picoseconds a load for one processor whose loads, at random, do not depend on each other; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlapped_ps: Option<Table>,
    /// Picoseconds a load that depends on the one before, of lines that the last level holds and the private cache does not; absent in older files,
    /// and where the last level is too small to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_waited_ps: Option<Table>,
    /// Picoseconds a load at random that depends on no other, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_overlapped_ps: Option<Table>,
    /// Picoseconds a line of 64 bytes for one processor that reads in order, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_streamed_ps: Option<Table>,
    /// Picoseconds a load at random that depends on no other, in as much memory as the last level is large; absent in older files, and where
    /// hits were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_ps: Option<Table>,
    /// Read bandwidth of all usable processors of the node together, MB/s (10^6 bytes).
    pub read_mbs: Table,
    /// Write bandwidth likewise, counting bytes stored.
    pub write_mbs: Table,
}

/// Values of all pairs: one row a node with processors, one column a node with memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Mean over the repeats.
    pub mean: Vec<Vec<i64>>,
    /// Standard deviation over the repeats.
    pub deviation: Vec<Vec<i64>>,
    /// How many repeats.
    pub repeats: u32,
}

impl Table {
    /// Mean and standard deviation (n - 1) of the samples of every pair, rounded.
    pub fn of_samples(samples: &[Vec<Vec<f64>>]) -> Table {
        let each = |f: fn(&[f64]) -> f64| -> Vec<Vec<i64>> {
            samples.iter().map(|row| row.iter().map(|s| f(s).round() as i64).collect()).collect()
        };
        let repeats = samples.iter().flatten().map(Vec::len).min().unwrap_or(0);
        Table { mean: each(mean), deviation: each(deviation), repeats: repeats as u32 }
    }
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

fn deviation(samples: &[f64]) -> f64 {
    let m = mean(samples);
    let squares: f64 = samples.iter().map(|s| (s - m) * (s - m)).sum();
    if samples.len() > 1 { (squares / (samples.len() - 1) as f64).sqrt() } else { 0.0 }
}

impl Measured {
    /// The mean idle latency of a pair of operating-system nodes, if it was measured.
    pub fn idle(&self, cpu_node: u32, memory_node: u32) -> Option<i64> {
        self.cell(&self.idle_ps, cpu_node, memory_node)
    }
    /// The mean write bandwidth of a pair, if it was measured.
    pub fn write(&self, cpu_node: u32, memory_node: u32) -> Option<i64> {
        self.cell(&self.write_mbs, cpu_node, memory_node)
    }
    /// Mean costs of a line in order, and of a load that others overlap, of a pair, if they were measured.
    pub fn misses(&self, cpu_node: u32, memory_node: u32) -> Option<[i64; 2]> {
        let cell = |table: &Option<Table>| self.cell(table.as_ref()?, cpu_node, memory_node);
        Some([cell(&self.streamed_ps)?, cell(&self.overlapped_ps)?])
    }
    /// Costs of hits in last levels, if they were measured: of each node that of its nearest memory's lines, of all nodes the mean.
    pub fn hits(&self) -> Option<HitCosts> {
        let rows = self.hit_waited_ps.as_ref()?.mean.iter();
        let near: Vec<usize> = rows.map(|row| (0..row.len()).min_by_key(|&j| row[j])).collect::<Option<_>>()?;
        let cost = |table: &Option<Table>| {
            let rows = &table.as_ref()?.mean;
            let cells = rows.iter().zip(&near).map(|(row, &j)| row.get(j).copied().filter(|v| *v > 0));
            let cells: Vec<i64> = cells.collect::<Option<_>>()?;
            (!cells.is_empty()).then(|| Cost(cells.iter().sum::<i64>() / cells.len() as i64))
        };
        let waited = cost(&self.hit_waited_ps)?;
        let [overlapped, streamed] = [cost(&self.hit_overlapped_ps)?, cost(&self.hit_streamed_ps)?];
        Some(HitCosts { waited, overlapped: overlapped.min(waited), streamed: streamed.min(waited) })
    }
    /// The part of its last level that one processor finds its lines in, 0 to 1, if it was measured: of loads at random in as much memory as
    /// the level is large, those that were no misses, on the mean of all nodes with the nearest memory of each. Others may use the rest, such as
    /// other guests of a host, and what is thrown out is not always what was used last the longest ago.
    pub fn level_part(&self) -> Option<f64> {
        let (miss, hit, level) =
            (&self.overlapped_ps.as_ref()?.mean, &self.hit_overlapped_ps.as_ref()?.mean, &self.level_ps.as_ref()?.mean);
        let near = self.idle_ps.mean.iter().map(|row| (0..row.len()).min_by_key(|&j| row[j]));
        let cell = |rows: &[Vec<i64>], i: usize, j: usize| rows.get(i)?.get(j).map(|v| *v as f64);
        let part = |(i, j): (usize, Option<usize>)| {
            let [miss, hit, level] = [cell(miss, i, j?)?, cell(hit, i, j?)?, cell(level, i, j?)?];
            (hit > 0.0 && miss > hit).then(|| ((miss - level) / (miss - hit)).clamp(0.0, 1.0))
        };
        let parts: Vec<f64> = near.enumerate().map(part).collect::<Option<_>>()?;
        (!parts.is_empty()).then(|| mean(&parts))
    }
    pub(super) fn cell(&self, table: &Table, cpu_node: u32, memory_node: u32) -> Option<i64> {
        let row = self.cpu_nodes.iter().position(|n| *n == cpu_node)?;
        let column = self.memory_nodes.iter().position(|n| *n == memory_node)?;
        table.mean.get(row)?.get(column).copied().filter(|v| *v > 0)
    }
}

impl Section for Measured {
    /// Whether every table has the right shape and no value out of range.
    fn validate(&self, _: &Shape) -> Result<(), MachineError> {
        for (key, nodes) in [("cpu_nodes", &self.cpu_nodes), ("memory_nodes", &self.memory_nodes)] {
            if nodes.is_empty() || !nodes.is_sorted_by(|a, b| a < b) {
                let key = format!("measured.{key}");
                return Err(reject(&key, format!("{nodes:?}"), "node numbers, ascending, at least one"));
            }
        }
        let tables = [
            ("idle_ps", Some(&self.idle_ps)),
            ("idle_huge_ps", self.idle_huge_ps.as_ref()),
            ("loaded_ps", self.loaded_ps.as_ref()),
            ("streamed_ps", self.streamed_ps.as_ref()),
            ("overlapped_ps", self.overlapped_ps.as_ref()),
            ("hit_waited_ps", self.hit_waited_ps.as_ref()),
            ("hit_overlapped_ps", self.hit_overlapped_ps.as_ref()),
            ("hit_streamed_ps", self.hit_streamed_ps.as_ref()),
            ("level_ps", self.level_ps.as_ref()),
            ("read_mbs", Some(&self.read_mbs)),
            ("write_mbs", Some(&self.write_mbs)),
        ];
        tables.iter().filter_map(|(key, t)| t.map(|t| (key, t))).try_for_each(|(key, t)| self.validate_table(key, t))
    }
}

impl Measured {
    fn validate_table(&self, key: &str, table: &Table) -> Result<(), MachineError> {
        for (part, rows) in [("mean", &table.mean), ("deviation", &table.deviation)] {
            let key = format!("measured.{key}.{part}");
            let (r, c) = (self.cpu_nodes.len(), self.memory_nodes.len());
            if rows.len() != r || rows.iter().any(|row| row.len() != c) {
                return Err(reject(&key, format!("{} rows", rows.len()), format!("{r} rows of {c}")));
            }
            if let Some(v) = rows.iter().flatten().find(|v| !(0..=COST_MAX).contains(*v)) {
                return Err(reject(&key, v, format!("0 to {COST_MAX}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_those_of_the_sample() {
        let t = Table::of_samples(&[vec![vec![2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], vec![3.0; 8]]]);
        assert_eq!(t.mean, [[5, 3]]);
        assert_eq!(t.deviation, [[2, 0]], "square root of 32 / 7 is 2.14");
        assert_eq!(t.repeats, 8);
    }
}
