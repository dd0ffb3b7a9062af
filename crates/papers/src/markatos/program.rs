//! The four programs, recorded now with 64 threads, and what every protocol did with them.
use super::variant::{self, PAGES, PROTOCOLS, Variant};
use crate::judging::work::{together, workers};
use crate::programs::{self, Run};
use homenode_base::{NodeId, TotalCost};
use homenode_coherence::{Choice, Effects};
use homenode_command::{Failure, Progress};
use homenode_machine::Machine;
use homenode_sim::names::NameTable;
use homenode_sim::{Objects, ThreadBinding};
use homenode_study::{Answer, Layout, Partition, Partitioner, Question, SharedRefs, StudyError, What};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Again, OrderKind, Source};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Processors, each with a thread (section 3.1.1).
pub(super) const PROCESSORS: u16 = 64;

/// A program of ours that stands in for one of the paper.
pub(super) struct Listed {
    /// Name in the paper's tables.
    pub(super) app: &'static str,
    /// Name of its files.
    name: &'static str,
    source: &'static str,
    defines: &'static [&'static str],
}

const MESH: &str = include_str!("../../../../workloads/markatos/m_mesh.c");

/// All, in the order of the paper's table of programs.
pub(super) static LIST: [Listed; 4] = [
    Listed {
        app: "FFT",
        name: "m_fft",
        source: include_str!("../../../../workloads/markatos/m_fft.c"),
        defines: &[],
    },
    Listed { app: "SIMPLE", name: "m_simple", source: MESH, defines: &[] },
    Listed { app: "WEATHER", name: "m_weather", source: MESH, defines: &["-DHN_WEATHER=1"] },
    Listed {
        app: "SPEECH",
        name: "m_speech",
        source: include_str!("../../../../workloads/markatos/m_speech.c"),
        defines: &[],
    },
];

/// References of a recording.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted {
    /// All, private ones too.
    pub(super) all: u64,
    /// To shared memory.
    pub(super) shared: u64,
    /// Of these, writes.
    pub(super) writes: u64,
}

/// What was found in one recording.
pub(super) struct Measured {
    /// Which program.
    pub(super) app: &'static str,
    /// Its references.
    pub(super) counted: Counted,
    /// As it lies in memory.
    pub(super) original: Answers,
}

/// What protocols did with one layout of data.
pub(super) struct Answers {
    effects: BTreeMap<(String, u64), Effects>,
    optimum: BTreeMap<u64, TotalCost>,
}

impl Answers {
    /// What a protocol did with pages of so many bytes.
    ///
    /// # Errors
    /// It was not asked.
    pub(super) fn effects(&self, protocol: &str, page_bytes: u64) -> Result<Effects, Failure> {
        let found = self.effects.get(&(protocol.to_owned(), page_bytes)).copied();
        found.ok_or_else(|| Failure::work(format!("{protocol} was not asked about pages of {page_bytes} bytes")))
    }
    /// Cost of the optimum.
    ///
    /// # Errors
    /// It was not asked.
    pub(super) fn optimum(&self, page_bytes: u64) -> Result<TotalCost, Failure> {
        let found = self.optimum.get(&page_bytes).copied();
        found.ok_or_else(|| Failure::work(format!("no optimum for pages of {page_bytes} bytes")))
    }
}

/// What all recordings are asked.
pub(super) struct Asked {
    machine: Machine,
    protocols: Vec<Choice>,
}

impl Asked {
    /// The protocols of all variants on the paper's machine.
    pub(super) fn new(machine: Machine, variants: &[Variant]) -> Result<Asked, Failure> {
        let mut names: Vec<String> = Vec::new();
        for variant in variants {
            for page in PAGES {
                names.extend((0..PROTOCOLS.len()).map(|role| variant.protocol(role, page)));
            }
        }
        names.sort_unstable();
        names.dedup();
        let protocols = names.iter().map(|name| Choice::parse(name).map_err(Failure::work));
        Ok(Asked { machine, protocols: protocols.collect::<Result<_, _>>()? })
    }

    fn question(&self, bindings: Vec<ThreadBinding>, pages: &[u64]) -> Question {
        let mut question = Question::new(vec![self.machine.clone()], vec![bindings], pages.to_vec());
        question.protocols.clone_from(&self.protocols);
        question
    }
}

/// A recording, cut into parts for the protocols.
pub(super) struct Recorded {
    listed: &'static Listed,
    counted: Counted,
    question: Question,
    partition: Partition,
}

impl Recorded {
    /// Builds the program if this is the first of its recordings, and records it; the number of the recording is the seed
    /// that deals its work.
    ///
    /// # Errors
    /// No compiler that can build it, or it fails.
    pub(super) fn new(
        listed: &'static Listed,
        (folder, size): (&Path, &str),
        number: usize,
        asked: &Asked,
        progress: &mut dyn Progress,
    ) -> Result<Recorded, Failure> {
        let name = listed.name;
        let failed = |e: std::io::Error| Failure::work(format!("cannot write {}: {e}", folder.display()));
        if number == 0 && !programs::built(folder, name, listed.source, listed.defines).map_err(failed)? {
            return Err(Failure::work(format!("{name} cannot be built: a C compiler is needed (homenode doctor)")));
        }
        let run = Run { folder, name, threads: PROCESSORS.into(), number, phase: Some("traced") };
        let reader = run.recorded(["-s", size, "-r", &(number + 1).to_string()], progress)?;
        let all = (0..reader.threads()).map(|t| reader.refs(t)).sum();
        let question = asked.question(bindings(&reader), &PAGES);
        let mut source = Again { data: &reader, kind: OrderKind::Model };
        let (partition, counted) = partitioned(&reader, &question, &mut source)?;
        Ok(Recorded { listed, counted: Counted { all, ..counted }, question, partition })
    }

    /// What all protocols did.
    pub(super) fn measured(self) -> Result<Measured, Failure> {
        let original = answers(&self.question, &self.partition)?;
        Ok(Measured { app: self.listed.app, counted: self.counted, original })
    }
}

/// Each thread on a processor of its own.
fn bindings(reader: &DatasetReader) -> Vec<ThreadBinding> {
    let node = |t: u32| NodeId(t.min(u32::from(PROCESSORS) - 1) as u16);
    let binding = |t: u32| ThreadBinding { cpu: node(t).0, node: node(t), space: reader.address_space(t) };
    (0..reader.threads()).map(binding).collect()
}

/// The references to shared memory, cut into regions of the largest page, and how many there are.
fn partitioned(
    reader: &DatasetReader,
    question: &Question,
    source: &mut dyn Source,
) -> Result<(Partition, Counted), Failure> {
    let names = NameTable::new(reader)?;
    let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
    let mut shared = SharedRefs::new(source, &objects, &question.bindings[0]);
    let layout = Layout { region_bytes: question.blocks.last().copied(), ..Layout::default() };
    let mut partitioner = Partitioner::new(question, layout).map_err(Failure::work)?;
    let mut counted = Counted::default();
    let mut stream = shared.stream(0)?;
    while let Some(piece) = stream.pull()? {
        counted.shared += piece.refs.len() as u64;
        counted.writes += piece.refs.iter().filter(|r| r.op.writes()).count() as u64;
        partitioner.refs(piece.refs).map_err(Failure::work)?;
    }
    Ok((partitioner.finish().map_err(Failure::work)?, counted))
}

/// Parts of a question for each worker, so that none waits long for the last.
const PARTS_EACH: usize = 6;

/// The folded engine's answer, on all processors: answers of parts add up.
fn answers(question: &Question, partition: &Partition) -> Result<Answers, Failure> {
    let regions = partition.regions();
    let step = regions.div_ceil(workers() * PARTS_EACH).max(1);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Answer, StudyError> {
        let mut mine = Answer::default();
        loop {
            let from = next.fetch_add(step, Ordering::Relaxed);
            if from >= regions && from > 0 {
                return Ok(mine);
            }
            mine.add(&homenode_study::answer(question, partition, from..(from + step).min(regions))?)?;
        }
    };
    let mut whole = Answer::default();
    for part in together(work) {
        let part = part.map_err(Failure::work)?;
        if part != Answer::default() {
            whole.add(&part).map_err(Failure::work)?;
        }
    }
    let mut found = Answers { effects: BTreeMap::new(), optimum: BTreeMap::new() };
    for row in &whole.rows {
        if row.what == What::COHERENCE {
            found.optimum.insert(row.block_bytes, row.cost);
        }
    }
    for (place, protocol) in (0..).zip(&question.protocols) {
        for row in whole.rows.iter().filter(|r| r.what == What::protocol(place)) {
            let effects = row.done.map(|done| done.effects).unwrap_or_default();
            found.effects.insert((variant::key(protocol), row.block_bytes), effects);
        }
    }
    Ok(found)
}
