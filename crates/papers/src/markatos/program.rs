//! The four programs, recorded now with 64 threads, and what every protocol did with them.
use super::variant::{self, BASE, PAGES, PROTOCOLS, Variant};
use homenode_base::{NodeId, TotalCost};
use homenode_coherence::{Choice, EFFECTS, Effects};
use homenode_command::Failure;
use homenode_judging::work;
use homenode_machine::Machine;
use homenode_realign::{Private, Realigned, Realignment};
use homenode_reproducing::programs::{self, Run};
use homenode_sim::names::NameTable;
use homenode_sim::{Objects, ThreadBinding};
use homenode_study::{Layout, Partition, Partitioner, Question, SharedRefs, What};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Again, OrderKind, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    Listed { app: "FFT", name: "m_fft", source: include_str!("../../../../workloads/markatos/m_fft.c"), defines: &[] },
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// References of the program.
    pub(super) counted: Counted,
    /// By layout of its data: as it lies in memory ([`ORIGINAL`]), and realigned in several ways.
    pub(super) layouts: [Answers; LAYOUTS],
}

/// As data lie in memory.
pub(super) const ORIGINAL: usize = 0;
/// Realigned; pages are marked by the size that is simulated, windows count all references.
pub(super) const REALIGNED: usize = 1;
/// O4: pages are marked by 4 KB whatever is simulated.
pub(super) const MARKED_BY_4K: usize = 2;
/// O5: windows count shared references alone, so many of them as are among a million of all.
pub(super) const SHARED_WINDOWS: usize = 3;
const LAYOUTS: usize = 4;

/// Page sizes of the paper's realigned tables.
const PAGES_REALIGNED: [u64; 5] = [256, 1024, 4096, 16384, 65536];

/// What protocols did with one layout of data, by the size of pages.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Answers {
    effects: BTreeMap<String, BTreeMap<u64, [u64; EFFECTS]>>,
    optimum: BTreeMap<u64, i128>,
}

impl Answers {
    /// What a protocol did with pages of so many bytes.
    ///
    /// # Errors
    /// It was not asked.
    pub(super) fn effects(&self, protocol: &str, page_bytes: u64) -> Result<Effects, Failure> {
        let found = self.effects.get(protocol).and_then(|pages| pages.get(&page_bytes)).copied();
        found
            .map(Effects)
            .ok_or_else(|| Failure::work(format!("{protocol} was not asked about pages of {page_bytes} bytes")))
    }
    /// Cost of the optimum.
    ///
    /// # Errors
    /// It was not asked.
    pub(super) fn optimum(&self, page_bytes: u64) -> Result<TotalCost, Failure> {
        let found = self.optimum.get(&page_bytes).copied();
        found.map(TotalCost).ok_or_else(|| Failure::work(format!("no optimum for pages of {page_bytes} bytes")))
    }
}

/// What all recordings are asked.
pub(super) struct Asked {
    machine: Machine,
    protocols: Vec<Choice>,
    /// Protocols with default parameters.
    defaults: Vec<Choice>,
}

impl Asked {
    /// The protocols of all variants on the paper's machine.
    pub(super) fn new(machine: Machine, variants: &[Variant]) -> Result<Asked, Failure> {
        Ok(Asked { machine, protocols: choices(variants)?, defaults: choices(&[BASE])? })
    }

    /// With the protocols of all variants, or with the defaults.
    fn question(&self, bindings: Vec<ThreadBinding>, pages: &[u64], variants: bool) -> Question {
        let mut question = Question::new(vec![self.machine.clone()], vec![bindings], pages.to_vec());
        question.protocols.clone_from(if variants { &self.protocols } else { &self.defaults });
        question
    }
}

/// What the recorder hands over.
pub(super) enum Piece {
    /// One layout of data, cut into parts for the protocols.
    Cut(Box<Cut>),
    /// All layouts of a recording were handed over.
    End(Counted),
}

/// A question with its references.
pub(super) struct Cut {
    layout: usize,
    question: Question,
    partition: Partition,
}

/// Where to record, what, and whom to give it to.
pub(super) struct Recorder<'a> {
    /// Programs and recordings.
    pub(super) folder: &'a Path,
    /// XS, S, M or P.
    pub(super) size: &'a str,
    /// Questions.
    pub(super) asked: &'a Asked,
    /// Whether the other ways of realignment are wanted too.
    pub(super) all_layouts: bool,
    /// Whether recordings are cut here; else only made.
    pub(super) cuts: bool,
}

impl Listed {
    fn run<'a>(&'a self, folder: &'a Path, number: usize) -> Run<'a> {
        Run { folder, name: self.name, threads: PROCESSORS.into(), number, phase: Some("traced") }
    }
    /// Folder of one of its recordings.
    pub(super) fn recording(&self, folder: &Path, number: usize) -> PathBuf {
        self.run(folder, number).dataset()
    }
}

impl Recorder<'_> {
    /// Builds the program if this is the first of its recordings, records it, and cuts it; the number of the recording is
    /// the seed that deals its work.
    ///
    /// # Errors
    /// No compiler that can build it, or it fails.
    pub(super) fn record(
        &self,
        listed: &'static Listed,
        number: usize,
        give: &mut dyn FnMut(Piece),
    ) -> Result<(), Failure> {
        let (name, folder) = (listed.name, self.folder);
        let failed = |e: std::io::Error| Failure::work(format!("cannot write {}: {e}", folder.display()));
        if number == 0 && !programs::built(folder, name, listed.source, listed.defines).map_err(failed)? {
            return Err(Failure::work(format!("{name} cannot be built: a C compiler is needed (homenode doctor)")));
        }
        let run = listed.run(folder, number);
        let reader = run.recorded(["-s", self.size, "-r", &(number + 1).to_string()], &mut ())?;
        if self.cuts { self.asked.cut(&reader, self.all_layouts, give) } else { Ok(()) }
    }
}

impl Asked {
    /// Cuts a recording in every layout, or in two.
    fn cut(&self, reader: &DatasetReader, all_layouts: bool, give: &mut dyn FnMut(Piece)) -> Result<(), Failure> {
        let names = NameTable::new(reader)?;
        let all = (0..reader.threads()).map(|t| reader.refs(t)).sum();
        let recorded = || Again { data: reader, kind: OrderKind::Model };
        let question = self.question(bindings(reader), &PAGES, true);
        let places = question.bindings[0].clone();
        let mut all_refs = recorded();
        let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
        let mut shared = SharedRefs::new(&mut all_refs, &objects, &places);
        let (partition, counted) = partitioned(&question, &mut shared)?;
        give(Piece::Cut(Box::new(Cut { layout: ORIGINAL, question, partition })));
        let counted = Counted { all, ..counted };
        for (layout, how, pages) in layouts(counted).into_iter().filter(|l| all_layouts || l.0 == REALIGNED) {
            let question = self.question(bindings(reader), &pages, false);
            let mut all_refs = recorded();
            let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
            let mut source =
                Realigned::new(&mut all_refs, &objects, &places, how, Private::LeftOut).map_err(Failure::work)?;
            let (partition, _) = partitioned(&question, &mut source)?;
            give(Piece::Cut(Box::new(Cut { layout, question, partition })));
        }
        give(Piece::End(counted));
        Ok(())
    }
}

/// Every way to realign, with the page sizes that one pass is good for.
fn layouts(counted: Counted) -> Vec<(usize, Realignment, Vec<u64>)> {
    let ppm = counted.shared * 1_000_000 / counted.all.max(1);
    let mut all = Vec::new();
    for page in PAGES_REALIGNED {
        all.push((REALIGNED, Realignment::by_pages_of(page), vec![page]));
        all.push((SHARED_WINDOWS, Realignment::by_pages_of(page).shared_alone(ppm), vec![page]));
    }
    all.push((MARKED_BY_4K, Realignment::by_pages_of(4096), PAGES_REALIGNED.to_vec()));
    all
}

impl Measured {
    /// Nothing yet.
    pub(super) fn new(app: &'static str) -> Measured {
        Measured { app, counted: Counted::default(), layouts: Default::default() }
    }
    /// Takes a layout, which the protocols are asked about, or that there are no more of them: true then.
    ///
    /// # Errors
    /// The question cannot be answered.
    pub(super) fn take(&mut self, piece: Piece) -> Result<bool, Failure> {
        match piece {
            Piece::Cut(cut) => answer(&cut.question, &cut.partition, &mut self.layouts[cut.layout]).map(|()| false),
            Piece::End(counted) => {
                self.counted = counted;
                Ok(true)
            }
        }
    }
    /// All that is found in a recording, as JSON.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub(super) fn json(asked: &Asked, recording: &Path, all_layouts: bool) -> Result<String, Failure> {
        let (mut found, mut done) = (Measured::new(""), Ok(false));
        let opened = homenode_command::dataset::open(recording)?;
        asked.cut(&opened.reader, all_layouts, &mut |piece| {
            if done.is_ok() {
                done = found.take(piece);
            }
        })?;
        done?;
        serde_json::to_string(&(&found.counted, &found.layouts)).map_err(Failure::work)
    }
    /// What [`Measured::json`] found.
    pub(super) fn of(app: &'static str, (counted, layouts): (Counted, [Answers; LAYOUTS])) -> Measured {
        Measured { app, counted, layouts }
    }
}

/// The protocols of variants, each once.
fn choices(variants: &[Variant]) -> Result<Vec<Choice>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for variant in variants {
        for page in PAGES {
            names.extend((0..PROTOCOLS.len()).map(|role| variant.protocol(role, page)));
        }
    }
    names.sort_unstable();
    names.dedup();
    names.iter().map(|name| Choice::parse(name).map_err(Failure::work)).collect()
}

/// Each thread on a processor of its own.
fn bindings(reader: &DatasetReader) -> Vec<ThreadBinding> {
    let node = |t: u32| NodeId(t.min(u32::from(PROCESSORS) - 1) as u16);
    let binding = |t: u32| ThreadBinding { cpu: node(t).0, node: node(t), space: reader.address_space(t) };
    (0..reader.threads()).map(binding).collect()
}

/// References cut into regions of the largest page, and how many there are.
fn partitioned(question: &Question, source: &mut dyn Source) -> Result<(Partition, Counted), Failure> {
    let layout = Layout { region_bytes: PAGES.last().copied(), ..Layout::default() };
    let mut partitioner = Partitioner::new(question, layout).map_err(Failure::work)?;
    let mut counted = Counted::default();
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        counted.shared += piece.refs.len() as u64;
        counted.writes += piece.refs.iter().filter(|r| r.op.writes()).count() as u64;
        partitioner.refs(piece.refs).map_err(Failure::work)?;
    }
    drop(stream);
    Ok((partitioner.finish().map_err(Failure::work)?, counted))
}

/// The folded engine's answer, taken apart.
fn answer(question: &Question, partition: &Partition, found: &mut Answers) -> Result<(), Failure> {
    let whole = work::answer(question, partition)?;
    for row in &whole.rows {
        if row.what == What::COHERENCE {
            found.optimum.insert(row.block_bytes, row.cost.0);
        }
    }
    for (place, protocol) in (0..).zip(&question.protocols) {
        for row in whole.rows.iter().filter(|r| r.what == What::protocol(place)) {
            let effects = row.done.map(|done| done.effects).unwrap_or_default();
            found.effects.entry(variant::key(protocol)).or_default().insert(row.block_bytes, effects.0);
        }
    }
    Ok(())
}
