//! The programs: our workloads at sizes like those of the thesis, recorded now, one after the other.
use super::lookup::{Answered, BLOCKS, Machines, member};
use super::work::{together, workers};
use crate::programs;
use homenode_base::NodeId;
use homenode_command::{Failure, Progress};
use homenode_machine::models::family::{MEMBERS, Parameters};
use homenode_machine::{Machine, models};
use homenode_placement::policies::Choice;
use homenode_sim::ThreadBinding;
use homenode_study::{Answer, Layout, Partition, Partitioner, Question, StudyError, Want, What};
use homenode_trace::Merged;
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Order, OrderKind, Stream};
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Processors: those of the thesis's traces (section 2.1).
pub(super) const PROCESSORS: u16 = 8;

/// A workload and what it stands for.
pub(super) struct Listed {
    /// Name here.
    pub(super) name: &'static str,
    /// Programs of the thesis that it resembles; empty if none.
    pub(super) like: &'static str,
    /// Whether work is dealt out in many small tasks, as in the thesis's Presto programs.
    pub(super) presto: bool,
    /// Whether it is a program of the SPLASH collection, as some of the thesis's.
    pub(super) splash: bool,
    source: &'static str,
    defines: &'static [&'static str],
    /// `-n` and further options, for XS, S and M; empty: too large for that size.
    sizes: [&'static str; 3],
}

macro_rules! listed {
    ($name:literal, $file:literal, $like:literal, [$($is:ident),*], [$($define:literal),*], $sizes:expr) => {
        Listed {
            name: $name,
            like: $like,
            source: include_str!(concat!("../../../../workloads/", $file)),
            defines: &[$($define),*],
            sizes: $sizes,
            $($is: true,)*
            ..PLAIN
        }
    };
}

const PLAIN: Listed =
    Listed { name: "", like: "", presto: false, splash: false, source: "", defines: &[], sizes: ["", "", ""] };

/// All programs, in the order of the page. XS makes 0.3 to 1 million references a program, S 2 to 4 million, M 10 to
/// 20. The least that barnes can do is 4 million.
static LIST: &[Listed] = &[
    listed!("matmult", "matmult.c", "matmult, p-matmult", [], [], ["-n 64", "-n 96", "-n 200"]),
    listed!("gauss", "gauss.c", "gauss, p-gauss", [], [], ["-n 64", "-n 130", "-n 250"]),
    listed!("fft", "fft.c", "e-fft", [], [], ["-n 4096", "-n 16384", "-n 65536"]),
    listed!("sor", "sor.c", "sorbyr", [], [], ["-n 256 -i 2", "-n 512 -i 2", "-n 512 -i 8"]),
    listed!("sor_cols", "sor.c", "sorbyc", [], ["-DHN_COLUMNS=1"], ["-n 256 -i 2", "-n 512 -i 2", "-n 512 -i 8"]),
    listed!("msort", "msort.c", "kmerge, bsort", [], [], ["-n 8192", "-n 40000", "-n 200000"]),
    listed!("qsort_tasks", "qsort_tasks.c", "p-qsort", [presto], [], ["-n 8192", "-n 50000", "-n 200000"]),
    listed!("water", "water.c", "water", [splash], [], ["-n 64 -i 1", "-n 125 -i 2", "-n 343 -i 6"]),
    listed!("mp3d", "mp3d.c", "mp3d", [splash], [], ["-n 2048 -i 6", "-n 8192 -i 6", "-n 32768 -i 10"]),
    listed!("barnes", "barnes.c", "", [splash], [], ["", "-n 512 -i 1", "-n 2048 -i 1"]),
    listed!("em3d", "em3d.c", "", [], [], ["-n 512 -i 10", "-n 1024 -i 25", "-n 4096 -i 40"]),
    listed!("bfs", "bfs.c", "", [], [], ["-n 4096", "-n 16384", "-n 65536"]),
    listed!("raytrace", "raytrace.c", "plytrace", [], [], ["-n 24 -b 64", "-n 40 -b 128", "-n 80 -b 256"]),
    listed!("lu", "lu.c", "cholesky", [splash], [], ["-n 96 -b 16", "-n 128 -b 16", "-n 224 -b 16"]),
    listed!("radix", "radix.c", "", [splash], [], ["-n 16384 -b 32", "-n 65536 -b 32", "-n 300000 -b 32"]),
];

/// The programs of a size: 0, 1 or 2 for XS, S and M.
pub(super) fn of_size(size: usize) -> Vec<&'static Listed> {
    LIST.iter().filter(|l| !l.sizes[size].is_empty()).collect()
}

/// Parts of a question for each worker, so that none waits long for the last.
const PARTS_EACH: usize = 6;

/// One program's references.
pub(super) struct Program {
    /// What it is.
    pub(super) listed: &'static Listed,
    /// 0, 1 or 2 for XS, S and M.
    pub(super) size: usize,
    reader: DatasetReader,
    bindings: Vec<ThreadBinding>,
    partition: Partition,
    machines: OnceLock<Result<Machines, Failure>>,
    /// On disk.
    recorded_bytes: u64,
}

impl Program {
    /// Builds, records and partitions a program of the list; `size` is 0, 1 or 2 for XS, S and M.
    ///
    /// # Errors
    /// No compiler that can build it, or it fails.
    pub(super) fn record(
        listed: &'static Listed,
        folder: &Path,
        size: usize,
        progress: &mut dyn Progress,
    ) -> Result<Program, Failure> {
        let name = listed.name;
        let failed = |e: std::io::Error| Failure::work(format!("cannot write {}: {e}", folder.display()));
        if !programs::built(folder, name, listed.source, listed.defines).map_err(failed)? {
            return Err(Failure::work(format!("{name} cannot be built: a C compiler is needed (homenode doctor)")));
        }
        let words = listed.sizes[size].split_whitespace();
        let reader = programs::recorded(folder, name, words, u32::from(PROCESSORS), progress)?;
        let bytes = programs::recorded_bytes(folder, name, u32::from(PROCESSORS))?;
        Program::of(listed, size, reader, bytes)
    }
    /// Partitions a recording of so many bytes.
    pub(super) fn of(
        listed: &'static Listed,
        size: usize,
        reader: DatasetReader,
        recorded_bytes: u64,
    ) -> Result<Program, Failure> {
        let node = |t: u32| NodeId(t.min(u32::from(PROCESSORS) - 1) as u16);
        let binding = |t: u32| ThreadBinding { cpu: node(t).0, node: node(t), space: reader.address_space(t) };
        let bindings: Vec<ThreadBinding> = (0..reader.threads()).map(binding).collect();
        let partition = partitioned(&reader, &bindings)?;
        Ok(Program { listed, size, reader, bindings, partition, machines: OnceLock::new(), recorded_bytes })
    }
    /// A question on these machines at these block sizes, with every thread on a processor and node of its own.
    pub(super) fn question(&self, machines: Vec<Machine>, blocks: &[u64]) -> Question {
        let bindings = vec![self.bindings.clone(); machines.len()];
        Question::new(machines, bindings, blocks.to_vec())
    }
    /// The answer of the folded engine, on all processors: answers of parts add up.
    pub(super) fn answer(&self, question: &Question) -> Result<Answer, Failure> {
        let mut whole = Answer::default();
        for part in self.by_parts(|part| homenode_study::answer(question, &self.partition, part))? {
            whole.add(&part).map_err(Failure::work)?;
        }
        Ok(whole)
    }
    /// The answer of the folded engine with the question, which values are looked up by.
    pub(super) fn ask(&self, question: Question) -> Result<Answered, Failure> {
        let answer = self.answer(&question)?;
        Ok(Answered { question, answer })
    }
    /// What `each` returns for ranges of regions that make up the whole, in no order, on all processors.
    pub(super) fn by_parts<T: Send>(
        &self,
        each: impl Fn(Range<usize>) -> Result<T, StudyError> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let regions = self.partition.regions();
        let step = regions.div_ceil(workers() * PARTS_EACH).max(1);
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<T>, StudyError> {
            let mut mine = Vec::new();
            loop {
                let from = next.fetch_add(step, Ordering::Relaxed);
                // Without regions there is still an answer: nothing.
                if from >= regions && from > 0 {
                    return Ok(mine);
                }
                mine.push(each(from..(from + step).min(regions))?);
            }
        };
        let all: Result<Vec<Vec<T>>, StudyError> = together(work).into_iter().collect();
        Ok(all.map_err(Failure::work)?.into_iter().flatten().collect())
    }
    /// What the five machines of chapter 6 make of it at every block size; computed once.
    pub(super) fn machines(&self) -> Result<&Machines, Failure> {
        self.machines.get_or_init(|| self.ask_machines()).as_ref().map_err(Failure::clone)
    }
    fn ask_machines(&self) -> Result<Machines, Failure> {
        let machines = MEMBERS.iter().map(|m| member(m, Parameters::default()));
        let machines = machines.collect::<Result<Vec<Machine>, Failure>>()?;
        let question = Question { with_replication: Want::Cost, ..self.question(machines, &BLOCKS) };
        let answered = self.ask(question)?;
        let mut all = [[0.0; BLOCKS.len()]; MEMBERS.len()];
        for (m, line) in all.iter_mut().enumerate() {
            for (value, block) in line.iter_mut().zip(BLOCKS) {
                *value = answered.mcpr(m, block, What::WITH_REPLICATION)?;
            }
        }
        Ok(Machines(all))
    }
    /// References and the bytes of the recording.
    pub(super) fn recorded(&self) -> (u64, u64) {
        ((0..self.reader.threads()).map(|t| self.reader.refs(t)).sum(), self.recorded_bytes)
    }
    /// Takes all references, in model order.
    pub(super) fn each(&self, mut take: impl FnMut(&[Merged])) -> Result<(), Failure> {
        let mut order = Order::new(&self.reader, OrderKind::Model)?;
        while let Some(piece) = order.pull()? {
            take(piece.refs);
        }
        Ok(())
    }
    /// The references as they were recorded.
    pub(super) fn reader(&self) -> &DatasetReader {
        &self.reader
    }
    /// The references, cut into regions.
    pub(super) fn partition(&self) -> &Partition {
        &self.partition
    }
    /// Where threads sit.
    pub(super) fn bindings(&self) -> &[ThreadBinding] {
        &self.bindings
    }
}

/// All machines of the thesis count words of four bytes: one partition answers every question about them. Times are
/// kept, for policies that look at a clock.
fn partitioned(reader: &DatasetReader, bindings: &[ThreadBinding]) -> Result<Partition, Failure> {
    let machines: Vec<Machine> = ["ace", "numa"].iter().filter_map(|name| models::find(name)).collect();
    let mut question = Question::new(machines, vec![bindings.to_vec(); 2], BLOCKS.to_vec());
    question.policies = vec![Choice::parse("platinum").map_err(Failure::work)?];
    partition(&question, &mut Order::new(reader, OrderKind::Model)?)
}

/// Partitions a stream, for this question.
///
/// # Errors
/// The question cannot be answered, or the references cannot be read.
pub(super) fn partition(question: &Question, stream: &mut dyn Stream) -> Result<Partition, Failure> {
    // Regions of one block: nothing above the largest block is cut, and work divides well.
    let layout = Layout { region_bytes: question.blocks.last().copied(), ..Layout::default() };
    let mut partitioner = Partitioner::new(question, layout).map_err(Failure::work)?;
    while let Some(piece) = stream.pull()? {
        partitioner.refs(piece.refs).map_err(Failure::work)?;
    }
    partitioner.finish().map_err(Failure::work)
}
