//! How fast the folded engine is: nanoseconds a reference for partition, fold and kernels, and what that makes in
//! references x configurations a second. 13 block sizes (4 B to 16 KiB) x 64 machines, optimum with replication.
//!
//! `sweep_speed [--vectors best|avx512|avx2|baseline] [MILLIONS | DATASET.hnt]...`: so many millions of references of each
//! synthetic kernel (names with a star; default 4), or recorded datasets. Seconds are those of processor time of a thread;
//! those of the merge that reads a dataset are measured by themselves and are in no other column.
//!
//! `sweep_speed --protocols [MILLIONS | DATASET.hnt]...`: six protocols of page coherence at six page sizes instead.
//!
//! `sweep_speed --budget MIB MILLIONS`: so many millions of references of a stream that is never in memory, records in no
//! more than that much memory and the rest in a file, beside as many as fit; and the most memory that was resident.
mod budget;
mod clock;
mod one_file;
mod protocols;
mod question;
mod recorded;
mod synthetic;
mod workers;

use clock::timed;
use homenode_study::{Layout, Partition, Partitioner, Question, StudyError, Vectors, answer, plain};
use homenode_trace::Merged;
use homenode_trace::dataset::DatasetReader;
use question::{MACHINES, NODES, question};

type Failure = Box<dyn std::error::Error>;

/// References that the plain engine is timed with.
const PLAIN_REFS: usize = 500_000;

fn main() -> Result<(), Failure> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut vectors = Vectors::Best;
    if let Some(at) = args.iter().position(|a| a == "--vectors") {
        let name = args.get(at + 1).ok_or("--vectors needs a name")?;
        vectors = *Vectors::ALL.iter().find(|v| v.name() == name).ok_or("no such vectors")?;
        args.drain(at..at + 2);
    }
    if let [first, budget_mib, millions] = &args[..]
        && first == "--budget"
    {
        return budget::run(budget_mib.parse()?, millions.parse()?, vectors);
    }
    let coherence = args.first().is_some_and(|a| a == "--protocols");
    args.drain(..usize::from(coherence));
    if args.is_empty() {
        args.push("4".into());
    }
    let row =
        |name: &str, input: Input| if coherence { protocols::row(name, &input) } else { row(name, &input, vectors) };
    if coherence {
        println!("{}", protocols::HEAD);
    } else {
        head(vectors);
    }
    for arg in args {
        if let Ok(millions) = arg.parse::<usize>() {
            for (name, refs) in synthetic::synthetic(millions * 1_000_000) {
                row(&name, Input::Memory(refs))?;
            }
        } else {
            let name = arg.rsplit('/').next().unwrap_or(&arg).to_owned();
            row(&name, Input::Recorded(Box::new(recorded::open(&arg)?)))?;
        }
    }
    Ok(())
}

fn head(vectors: Vectors) {
    println!("13 block sizes x {MACHINES} machines, vectors: {} ({})", vectors.name(), vectors.found());
    println!("kernel        refs  merge  partition  fold  kernels  sum ns/ref   1e9 ref x conf/s  2 workers  x plain");
}

/// Where references come from.
enum Input {
    Memory(Vec<Merged>),
    Recorded(Box<DatasetReader>),
}

impl Input {
    fn threads(&self) -> u32 {
        match self {
            Input::Memory(_) => NODES,
            Input::Recorded(reader) => reader.threads(),
        }
    }
    /// Calls `each` with all references in pieces; returns how many there are.
    fn all(&self, each: &mut dyn FnMut(&[Merged])) -> Result<u64, Failure> {
        match self {
            Input::Memory(refs) => {
                refs.chunks(4096).for_each(each);
                Ok(refs.len() as u64)
            }
            Input::Recorded(reader) => recorded::all(reader, each),
        }
    }
}

fn row(name: &str, input: &Input, vectors: Vectors) -> Result<(), Failure> {
    let (few, all) = (question(16, input.threads(), vectors), question(MACHINES, input.threads(), vectors));
    let mut sum = 0u64;
    // Something of every reference is looked at, as whoever pulls does.
    let (t_merge, refs) = timed(|| input.all(&mut |refs| sum += refs.iter().map(|r| r.addr & 1).sum::<u64>()));
    let refs = refs?;
    let (t_both, partition) = timed(|| partition(&all, input));
    let partition = partition?;
    let t_partition = t_both - t_merge;
    let regions = partition.regions();
    let (t_few, _) = timed(|| answer(&few, &partition, 0..regions));
    let (t_all, found) = timed(|| answer(&all, &partition, 0..regions));
    found?;
    let kernels = (t_all - t_few) * 4.0 / 3.0;
    let two = workers::two(&all, &partition)?;
    let configurations = (MACHINES * all.blocks.len()) as f64;
    // The plain engine, once per configuration: all block sizes, one machine.
    let sample = sample(input, refs)?;
    let (t_plain, checked) = timed(|| plain::answer(&question(1, input.threads(), vectors), &sample));
    checked?;
    let plain_each = t_plain / sample.len() as f64 * MACHINES as f64;
    let ns = |t: f64| t * 1e9 / refs as f64;
    println!(
        "{name:10} {:7.1} M {:6.2} {:10.2} {:5.1} {:8.1} {:11.1} {:18.2} {:9.2}x {:7.0}x",
        refs as f64 / 1e6,
        ns(t_merge),
        ns(t_partition),
        ns(t_all - kernels),
        ns(kernels),
        ns(t_partition + t_all),
        refs as f64 * configurations / (t_partition + t_all) / 1e9,
        t_all / two,
        plain_each / ((t_partition + t_all) / refs as f64),
    );
    if sum == u64::MAX {
        println!("(all addresses are odd)");
    }
    Ok(())
}

fn partition(q: &Question, input: &Input) -> Result<Partition, Failure> {
    let mut partitioner = Partitioner::new(q, Layout::default())?;
    let mut done: Result<(), StudyError> = Ok(());
    input.all(&mut |refs| recorded::first_error(&mut done, partitioner.refs(refs)))?;
    done?;
    Ok(partitioner.finish()?)
}

/// References from the middle, where the program computes.
fn sample(input: &Input, all: u64) -> Result<Vec<Merged>, Failure> {
    let begin = (all / 2) as usize;
    let (mut seen, mut sample) = (0, Vec::new());
    input.all(&mut |refs| {
        let skip = begin.saturating_sub(seen).min(refs.len());
        let room = PLAIN_REFS - sample.len();
        sample.extend(refs[skip..].iter().take(room));
        seen += refs.len();
    })?;
    Ok(sample)
}
