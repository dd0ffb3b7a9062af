//! More references than fit into memory: partition and answer within a budget, beside as many as do fit.
use crate::clock::{peak_bytes, timed};
use crate::question::{MACHINES, NODES, question};
use crate::synthetic::stream;
use crate::{Failure, recorded};
use homenode_study::{InMemory, Layout, Partitioner, Question, Spill, Vectors, answer};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

/// Memory that is not records: lists, buffers, the program itself.
const OTHER_BYTES: u64 = 192 << 20;
/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// One file for all regions, without a name.
struct OneFile {
    file: File,
    /// (offset, bytes) of the pieces of each region.
    pieces: HashMap<u64, Vec<(u64, u64)>>,
    pending: Mutex<(u64, Vec<u8>)>,
}

impl OneFile {
    fn new() -> Result<OneFile, Failure> {
        let path = std::env::temp_dir().join(format!("sweep-speed-{}.spill", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(OneFile { file, pieces: HashMap::new(), pending: Mutex::default() })
    }
    fn flush(&self, least: usize) -> Result<(), String> {
        let mut pending = self.pending.lock().map_err(|e| e.to_string())?;
        let (offset, bytes) = &mut *pending;
        if bytes.len() >= least {
            self.file.write_all_at(bytes, *offset).map_err(|e| e.to_string())?;
            *offset += bytes.len() as u64;
            bytes.clear();
        }
        Ok(())
    }
}

impl Spill for OneFile {
    fn append(&mut self, region: u64, bytes: &[u8]) -> Result<(), String> {
        let (offset, buffer) = self.pending.get_mut().map_err(|e| e.to_string())?;
        let (at, len) = (*offset + buffer.len() as u64, bytes.len() as u64);
        buffer.extend_from_slice(bytes);
        let pieces = self.pieces.entry(region).or_default();
        match pieces.last_mut() {
            Some((from, known)) if *from + *known == at => *known += len,
            _ => pieces.push((at, len)),
        }
        self.flush(BUFFER_BYTES)
    }
    fn read(&self, region: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        self.flush(1)?;
        let mut buffer = vec![0; 1 << 16];
        for &(offset, len) in self.pieces.get(&region).map_or(&[][..], |p| p) {
            let mut done = 0;
            while done < len {
                let piece = &mut buffer[..(len - done).min(1 << 16) as usize];
                self.file.read_exact_at(piece, offset + done).map_err(|e| e.to_string())?;
                each(piece);
                done += piece.len() as u64;
            }
        }
        Ok(())
    }
    fn bytes(&self, region: u64) -> u64 {
        self.pieces.get(&region).map_or(0, |p| p.iter().map(|(_, len)| len).sum())
    }
}

/// Prints both rows: `millions` of references within `budget_mib`, and in memory as many as take half of that.
pub(crate) fn run(budget_mib: u64, millions: u64, vectors: Vectors) -> Result<(), Failure> {
    let q = question(MACHINES, NODES, vectors);
    let budget = budget_mib << 20;
    println!("memory          refs  partition ns/ref  answer ns/ref  1e9 ref x conf/s  peak MiB");
    let records = budget.checked_sub(OTHER_BYTES).ok_or("a budget of at least 192 MiB")?;
    let within = row(&q, millions * 1_000_000, records as usize, Box::new(OneFile::new()?))?;
    let few = (budget / 8).min(millions * 1_000_000);
    let without = row(&q, few, usize::MAX, Box::new(InMemory::default()))?;
    println!("within the budget of {budget_mib} MiB at {:.0} % of the throughput in memory", 100.0 * without / within);
    Ok(())
}

/// Nanoseconds a reference.
fn row(q: &Question, refs: u64, budget_bytes: usize, spill: Box<dyn Spill>) -> Result<f64, Failure> {
    let layout = Layout { region_bytes: None, budget_bytes, spill };
    let mut partitioner = Partitioner::new(q, layout)?;
    // What making up the references takes is measured by itself.
    let (t_source, _) = timed(|| {
        stream(refs, &mut |refs| {
            std::hint::black_box(refs);
        })
    });
    let (t_both, partition) = timed(|| {
        let mut done = Ok(());
        stream(refs, &mut |refs| recorded::first_error(&mut done, partitioner.refs(refs)));
        done.and_then(|()| partitioner.finish())
    });
    let partition = partition?;
    let (t_answer, found) = timed(|| answer(q, &partition, 0..partition.regions()));
    let configurations = (MACHINES * q.blocks.len()) as f64;
    let ns = |t: f64| t * 1e9 / found.as_ref().map_or(1.0, |f| f.refs as f64);
    let each = ns(t_both - t_source + t_answer);
    println!(
        "{:9} {:8.1} M {:17.2} {:14.1} {:17.2} {:9.0}",
        if budget_bytes == usize::MAX { "as needed" } else { "bounded" },
        refs as f64 / 1e6,
        ns(t_both - t_source),
        ns(t_answer),
        configurations / each,
        peak_bytes() as f64 / f64::from(1 << 20),
    );
    found?;
    Ok(each)
}
