//! The programs of the thesis, written anew as it describes them and recorded now, one after the other.
use super::lookup::{Answered, BLOCKS, Machines, member};
use homenode_base::NodeId;
use homenode_command::{Failure, Progress};
use homenode_judging::work;
use homenode_machine::models::family::{MEMBERS, Parameters};
use homenode_machine::{Machine, models};
use homenode_placement::policies::Choice;
use homenode_reproducing::programs::{self, Run};
use homenode_sim::ThreadBinding;
use homenode_study::{Answer, Layout, Partition, Partitioner, Question, StudyError, Want, What};
use homenode_sweep::FileSpill;
use homenode_trace::Merged;
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Order, OrderKind, Stream};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Processors: those of the thesis's traces (section 2.1).
pub(super) const PROCESSORS: u16 = 8;

/// A program of the thesis, written anew.
pub(super) struct Listed {
    /// Name in the thesis.
    pub(super) name: &'static str,
    /// Whether work is dealt out in many small tasks, or without regard to locality: the thesis's Presto programs.
    pub(super) presto: bool,
    /// Whether it is a program of the SPLASH collection.
    pub(super) splash: bool,
    /// Whether it stands in for an EPEX program, of which little more than the name is known.
    pub(super) epex: bool,
    /// Threads, on a processor each; `-r` is the seed that deals tasks.
    threads: u16,
    seeded: bool,
    /// The phase that is recorded; all if none.
    phase: Option<&'static str>,
    source: &'static str,
    defines: &'static [&'static str],
    /// Options for XS, S, M and P.
    sizes: [&'static str; 4],
}

const PLAIN: Listed = Listed {
    name: "",
    presto: false,
    splash: false,
    epex: false,
    threads: PROCESSORS,
    seeded: false,
    phase: Some("traced"),
    source: "",
    defines: &[],
    sizes: ["-s XS", "-s S", "-s M", "-s P"],
};

macro_rules! listed {
    ($name:literal, $file:literal $(, $field:ident: $value:expr)*) => {
        Listed {
            name: $name,
            source: include_str!(concat!("../../../workloads/", $file)),
            $($field: $value,)*
            ..PLAIN
        }
    };
}

/// All programs, in the order of table 2.1. S makes 0.5 to 8 million references a program, M up to 40;
/// P is what section 2.2 says, or as long as table 2.1 says.
static LIST: &[Listed] = &[
    listed!("e-fft", "thesis/e_fft.c", epex: true),
    listed!("e-simp", "thesis/epex.c", epex: true),
    listed!("e-hyd", "thesis/epex.c", epex: true, defines: &["-DHN_EPEX=2"]),
    listed!("e-nasa", "thesis/epex.c", epex: true, defines: &["-DHN_EPEX=3"]),
    listed!("gauss", "thesis/gauss_bands.c"),
    listed!("chip", "thesis/chip.c", seeded: true),
    listed!("bsort", "thesis/heapmerge.c"),
    listed!("kmerge", "thesis/heapmerge.c", defines: &["-DHN_KMERGE=1"]),
    listed!("plytrace", "thesis/plytrace.c"),
    listed!("sorbyc", "thesis/sorby.c", threads: 7, defines: &["-DHN_COLUMNS=1"]),
    listed!("sorbyr", "thesis/sorby.c", threads: 7),
    listed!("matmult", "thesis/matmult.c", threads: 7),
    listed!("mp3d", "mp3d.c", splash: true, phase: None, sizes: ["-n 2048 -i 6", "-n 8192 -i 6", "-n 32768 -i 10", "-n 32768 -i 10"]),
    listed!("cholesky", "thesis/cholesky.c", splash: true, seeded: true),
    listed!("water", "water.c", splash: true, phase: None, sizes: ["-n 64 -i 1", "-n 125 -i 2", "-n 343 -i 6", "-n 343 -i 6"]),
    listed!("p-gauss", "thesis/p_gauss.c", presto: true, seeded: true),
    listed!("p-qsort", "thesis/p_qsort.c", presto: true, seeded: true),
    listed!("p-matmult", "thesis/matmult.c", presto: true, seeded: true, defines: &["-DHN_TASKS=1"]),
    listed!("p-life", "thesis/p_life.c", presto: true),
];

/// A program whose text leaves open how it works.
pub(super) const P_QSORT: &str = "p-qsort";

/// p-qsort in other ways that the thesis's text allows: it says neither who goes on with a side, nor how many tasks run at once.
pub(super) static QSORTS: [(&str, Listed); 3] = [
    ("forks both sides", listed!("p-qsort-both", "thesis/p_qsort.c", seeded: true, defines: &["-DHN_BOTH=1"])),
    ("one task at a time", listed!("p-qsort-alone", "thesis/p_qsort.c", seeded: true, defines: &["-DHN_ALONE=1"])),
    (
        "forks both sides, one task at a time",
        listed!("p-qsort-both-alone", "thesis/p_qsort.c", seeded: true, defines: &["-DHN_BOTH=1", "-DHN_ALONE=1"]),
    ),
];

impl Listed {
    fn run<'a>(&'a self, folder: &'a Path, number: usize) -> Run<'a> {
        Run { folder, name: self.name, threads: self.threads.into(), number, phase: self.phase }
    }
    /// Builds it, if this is the first of its recordings, and records it.
    fn record(
        &self,
        folder: &Path,
        (size, number): (usize, usize),
        progress: &mut dyn Progress,
    ) -> Result<DatasetReader, Failure> {
        let name = self.name;
        let failed = |e: std::io::Error| Failure::work(format!("cannot write {}: {e}", folder.display()));
        if number == 0 && !programs::built(folder, name, self.source, self.defines).map_err(failed)? {
            return Err(Failure::work(format!("{name} cannot be built: a C compiler is needed (homenode doctor)")));
        }
        let seed = (number + 1).to_string();
        let seed = if self.seeded { vec!["-r", &seed] } else { Vec::new() };
        self.run(folder, number).recorded(self.sizes[size].split_whitespace().chain(seed), progress)
    }
    /// Records it and those that are looked at beside it; returns the folder of its recording.
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(super) fn record_all(&self, folder: &Path, (size, number): (usize, usize)) -> Result<PathBuf, Failure> {
        for listed in std::iter::once(self).chain(self.others().iter().map(|(_, listed)| listed)) {
            listed.record(folder, (size, number), &mut ())?;
        }
        Ok(self.run(folder, number).dataset())
    }
    /// Programs that are looked at beside it, and what they are called.
    pub(super) fn others(&self) -> &'static [(&'static str, Listed)] {
        if self.name == P_QSORT { &QSORTS } else { &[] }
    }
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Listed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<&'static Listed, D::Error> {
        let name = String::deserialize(from)?;
        LIST.iter().find(|l| l.name == name).ok_or_else(|| D::Error::custom(format!("no program '{name}'")))
    }
}

/// The name of a program, as it is kept here (serde would borrow a text from what it reads).
pub(super) type Name = &'static str;

/// Reads one.
pub(super) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    Ok(<&Listed>::deserialize(from)?.name)
}

/// All programs.
pub(super) fn all() -> &'static [Listed] {
    LIST
}

/// One program's references.
pub(super) struct Program {
    /// What it is.
    pub(super) listed: &'static Listed,
    /// 0 to 3 for XS, S, M and P.
    pub(super) size: usize,
    /// Of all references in order.
    print: u64,
    reader: DatasetReader,
    bindings: Vec<ThreadBinding>,
    partition: Partition,
    machines: OnceLock<Result<Machines, Failure>>,
    /// On disk.
    recorded_bytes: u64,
    /// Where it was recorded; nowhere if it was not run here.
    at: Option<At>,
}

/// Where a program was recorded.
struct At {
    folder: PathBuf,
    /// Number of the recording.
    number: usize,
    /// Whether the others that are looked at beside it are recorded there, too.
    all: bool,
}

impl Program {
    /// Builds, records and partitions a program of the list; `size` is 0 to 3 for XS, S, M and P, and `number` that of the
    /// recording, which is also the seed that deals tasks.
    ///
    /// # Errors
    /// No compiler that can build it, or it fails.
    pub(super) fn record(
        listed: &'static Listed,
        folder: &Path,
        (size, number): (usize, usize),
        progress: &mut dyn Progress,
    ) -> Result<Program, Failure> {
        let reader = listed.record(folder, (size, number), progress)?;
        let program = Program::of(listed, size, reader, listed.run(folder, number).bytes()?)?;
        Ok(Program { at: Some(At { folder: folder.to_path_buf(), number, all: false }), ..program })
    }
    /// Partitions a recording that [`Listed::record_all`] made.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn recorded_before(
        listed: &'static Listed,
        folder: &Path,
        (size, number): (usize, usize),
    ) -> Result<Program, Failure> {
        let run = listed.run(folder, number);
        let opened = homenode_command::dataset::open(&run.dataset())?;
        let program = Program::of(listed, size, opened.reader, run.bytes()?)?;
        Ok(Program { at: Some(At { folder: folder.to_path_buf(), number, all: true }), ..program })
    }
    /// Another program, recorded where this one was, at its size and with its seed.
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(super) fn other(&self, listed: &'static Listed) -> Result<Program, Failure> {
        let Some(At { folder, number, all }) = &self.at else {
            return Err(Failure::work("the program was not recorded here"));
        };
        match all {
            true => Program::recorded_before(listed, folder, (self.size, *number)),
            false => Program::record(listed, folder, (self.size, *number), &mut ()),
        }
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
        let (partition, print) = partitioned(&reader, &bindings)?;
        Ok(Program {
            listed,
            size,
            print,
            reader,
            bindings,
            partition,
            machines: OnceLock::new(),
            recorded_bytes,
            at: None,
        })
    }
    /// A question on these machines at these block sizes, with every thread on a processor and node of its own.
    pub(super) fn question(&self, machines: Vec<Machine>, blocks: &[u64]) -> Question {
        let bindings = vec![self.bindings.clone(); machines.len()];
        Question::new(machines, bindings, blocks.to_vec())
    }
    /// The answer of the folded engine, on all processors.
    pub(super) fn answer(&self, question: &Question) -> Result<Answer, Failure> {
        work::answer(question, &self.partition)
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
        work::by_parts(&self.partition, each)
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
    /// What recordings with the same references in the same order have in common, and with luck no others. Memory may
    /// lie elsewhere, in whole chunks.
    pub(super) fn print(&self) -> u64 {
        self.print
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
fn partitioned(reader: &DatasetReader, bindings: &[ThreadBinding]) -> Result<(Partition, u64), Failure> {
    let machines: Vec<Machine> = ["ace", "numa"].iter().filter_map(|name| models::find(name)).collect();
    let mut question = Question::new(machines, vec![bindings.to_vec(); 2], BLOCKS.to_vec());
    question.policies = vec![Choice::parse("platinum").map_err(Failure::work)?];
    let mut print = Print::default();
    let order = Order::new(reader, OrderKind::Model)?;
    let partition = partition_seen(&question, order, |refs| refs.iter().for_each(|r| print.take(r)))?;
    Ok((partition, print.sum))
}

/// Chunks of memory that the programs begin arrays in.
const CHUNK_BITS: u32 = 20;

/// Folds references into one number; chunks count by when they come first.
#[derive(Default)]
struct Print {
    sum: u64,
    chunks: HashMap<u64, u64>,
}

impl Print {
    fn take(&mut self, r: &Merged) {
        let next = self.chunks.len() as u64;
        let chunk = *self.chunks.entry(r.addr >> CHUNK_BITS).or_insert(next);
        let place = chunk << CHUNK_BITS | r.addr & ((1 << CHUNK_BITS) - 1);
        let what = u64::from(r.size) << 40 | u64::from(r.thread) << 8 | u64::from(r.op.writes());
        for value in [place, what] {
            self.sum = (self.sum ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
}

/// Records of a partition that stay in memory; the rest lies in a file without a name in the folder for temporary files. No
/// program of size S has as many. Up to four partitions are held at a time: of the recording that is looked at, of the next one,
/// and of two disturbed orders.
const BUDGET_BYTES: usize = 512 << 20;

/// Partitions a stream, for this question.
///
/// # Errors
/// The question cannot be answered, or the references cannot be read.
pub(super) fn partition(question: &Question, stream: impl Stream) -> Result<Partition, Failure> {
    partition_seen(question, stream, |_| ())
}

/// Partitions a stream and shows its references to `seen`.
fn partition_seen(
    question: &Question,
    mut stream: impl Stream,
    mut seen: impl FnMut(&[Merged]),
) -> Result<Partition, Failure> {
    let file = tempfile::tempfile().map_err(|e| Failure::work(format!("cannot create a temporary file: {e}")))?;
    // Regions of one block: nothing above the largest block is cut, and work divides well.
    let region_bytes = question.blocks.last().copied();
    let layout = Layout { region_bytes, budget_bytes: BUDGET_BYTES, spill: Box::new(FileSpill::of(file)) };
    let mut partitioner = Partitioner::new(question, layout).map_err(Failure::work)?;
    while let Some(piece) = stream.pull()? {
        seen(piece.refs);
        partitioner.refs(piece.refs).map_err(Failure::work)?;
    }
    partitioner.finish().map_err(Failure::work)
}
