//! The columns that only frames with samples have: weights, latencies, sources, processors, each a list of runs.
use crate::bytes::{Fault, Reader, put_varint};
use crate::sample::{DataSource, Sample};

/// One column: what a sample has in it as a number up to `max`, and back.
struct Column {
    what: &'static str,
    max: u64,
    get: fn(&Sample) -> u64,
    set: fn(&mut Sample, u64),
}

/// In the order of the payload. A setter gets nothing above its `max`, so its casts lose nothing.
const COLUMNS: [Column; 4] = [
    Column {
        what: "weight of a sample less one",
        max: u32::MAX as u64 - 1,
        get: |s| u64::from(s.weight.max(1) - 1),
        set: |s, v| s.weight = v as u32 + 1,
    },
    Column {
        what: "latency of a sample plus one",
        max: u32::MAX as u64 + 1,
        get: |s| s.latency_cycles.map_or(0, |l| u64::from(l) + 1),
        set: |s, v| s.latency_cycles = v.checked_sub(1).map(|l| l as u32),
    },
    Column {
        what: "data source of a sample",
        max: DataSource::ALL.len() as u64 - 1,
        get: |s| s.source as u64,
        set: |s, v| s.source = DataSource::ALL[v as usize],
    },
    Column {
        what: "processor of a sample plus one",
        max: u16::MAX as u64 + 1,
        get: |s| s.cpu.map_or(0, |c| u64::from(c) + 1),
        set: |s, v| s.cpu = v.checked_sub(1).map(|c| c as u16),
    },
];

/// Equal values in a row that are worth a run of their own: its two numbers and the next list's head.
const RUN_MIN: usize = 4;

/// Appends all columns of `samples`; `values` is scratch.
pub(super) fn write(samples: &[Sample], values: &mut Vec<u64>, out: &mut Vec<u8>) {
    for column in &COLUMNS {
        values.clear();
        values.extend(samples.iter().map(column.get));
        list(values, out);
    }
}

fn list(values: &[u64], out: &mut Vec<u8>) {
    let (mut listed, mut at) = (0, 0);
    for run in values.chunk_by(|a, b| a == b) {
        if run.len() >= RUN_MIN {
            one_by_one(&values[listed..at], out);
            put_varint(out, (run.len() as u64) << 1 | 1);
            put_varint(out, run[0]);
            listed = at + run.len();
        }
        at += run.len();
    }
    one_by_one(&values[listed..], out);
}

fn one_by_one(values: &[u64], out: &mut Vec<u8>) {
    if !values.is_empty() {
        put_varint(out, (values.len() as u64) << 1);
        values.iter().for_each(|&v| put_varint(out, v));
    }
}

/// Reads all columns of `count` samples into `out`, which is cleared first.
pub(super) fn read(r: &mut Reader<'_>, count: usize, out: &mut Vec<Sample>) -> Result<(), Fault> {
    out.clear();
    out.resize(count, Sample::ONE);
    for column in &COLUMNS {
        let mut left = out.as_mut_slice();
        while !left.is_empty() {
            let head = r.varint()?;
            if head < 2 || head >> 1 > left.len() as u64 {
                return Err(r.fault(format!("{} values listed of {}", head >> 1, left.len())));
            }
            let (these, rest) = left.split_at_mut((head >> 1) as usize);
            if head & 1 == 1 {
                let value = r.bounded(column.max, column.what)?;
                these.iter_mut().for_each(|s| (column.set)(s, value));
            } else {
                for s in these {
                    (column.set)(s, r.bounded(column.max, column.what)?);
                }
            }
            left = rest;
        }
    }
    Ok(())
}
