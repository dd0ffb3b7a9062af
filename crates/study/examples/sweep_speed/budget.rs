//! More references than fit into memory: partition and answer within a budget, beside as many as do fit.
use crate::clock::{peak_bytes, timed};
use crate::one_file::OneFile;
use crate::question::{MACHINES, NODES, question};
use crate::synthetic::stream;
use crate::{Failure, recorded};
use homenode_study::{InMemory, Layout, Partitioner, Question, Spill, Vectors, answer};

/// Memory that is not records: lists, buffers, the program itself.
const OTHER_BYTES: u64 = 192 << 20;
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
