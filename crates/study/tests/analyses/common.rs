//! Traces, bindings, machines, and who answers questions.
use homenode_analysis::{ObjectName, SiteName, UNKNOWN_OBJECT};
use homenode_base::{NodeId, Rng};
use homenode_machine::Machine;
use homenode_sim::{ObjectRange, Objects, ThreadBinding};
use homenode_study::analyses::AnalysisError;
use homenode_study::{Answer, InMemory, Layout, Partitioner, Question, answer, plain};
use homenode_synthetic::Builder;
use homenode_trace::order::{Listed, Order, OrderKind, Source, Stream};
use homenode_trace::{DatasetReader, Event, Merged, Op, TraceError};
use std::collections::BTreeMap;

/// Cases of a property test; the slow tier runs many more.
pub(crate) fn cases(quick: u64, slow: u64) -> u64 {
    if std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1") { slow } else { quick }
}

/// One thread a processor, each a node.
pub(crate) fn bindings(threads: u32) -> Vec<ThreadBinding> {
    (0..threads as u16).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect()
}

/// A reference of four bytes.
pub(crate) fn word(thread: u32, addr: u64, op: Op) -> Merged {
    Merged { addr, size: 4, thread, op, weight: 1, ..Merged::default() }
}

/// References at random to `words` words from address 0, a third of them writes.
pub(crate) fn random_refs(rng: &mut Rng, threads: u32, words: u64, n: u64) -> Vec<Merged> {
    let one = |_| {
        let op = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Atomic][rng.below(6) as usize];
        word(rng.below(threads.into()) as u32, 4 * rng.below(words), op)
    };
    (0..n).map(one).collect()
}

/// Everything that a stream gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Ref(Merged),
    Event(Event),
}

impl Entry {
    pub(crate) fn thread(&self) -> u32 {
        match self {
            Entry::Ref(r) => r.thread,
            Entry::Event(e) => e.thread,
        }
    }
}

impl Log {
    /// Of a whole stream.
    pub(crate) fn of(stream: &mut dyn Stream) -> Result<Log, TraceError> {
        let mut log = Log::default();
        while let Some(piece) = stream.pull()? {
            log.entries.extend(piece.refs.iter().map(|r| Entry::Ref(*r)));
            log.entries.extend(piece.event.map(|(event, _)| Entry::Event(event.clone())));
        }
        Ok(log)
    }
    pub(crate) fn refs(&self) -> Vec<Merged> {
        let refs = self.entries.iter().filter_map(|e| if let Entry::Ref(r) = e { Some(*r) } else { None });
        refs.collect()
    }
}

/// A program in model order.
pub(crate) fn merged(program: &Builder) -> Log {
    let data: DatasetReader = program.open().expect("the builder writes valid datasets");
    let order = Order::new(&data, OrderKind::Model);
    order.and_then(|mut order| Log::of(&mut order)).expect("the builder's programs can happen")
}

/// A log that is streamed again and again, events too.
pub(crate) struct Replayed {
    refs: Vec<Merged>,
    events: Vec<(usize, Event)>,
}

pub(crate) fn replayed(log: &Log) -> Replayed {
    let (mut refs, mut events) = (Vec::new(), Vec::new());
    for entry in &log.entries {
        match entry {
            Entry::Ref(r) => refs.push(*r),
            Entry::Event(e) => events.push((refs.len(), e.clone())),
        }
    }
    Replayed { refs, events }
}

impl Replayed {
    pub(crate) fn listed(&self) -> Listed<'_> {
        Listed::with_events(&self.refs, &self.events)
    }
}

impl Source for Replayed {
    fn stream(&mut self, _: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        Ok(Box::new(self.listed()))
    }
}

/// Answers by the plain engine, one part for each aligned 8 KiB (more if blocks are larger) of the trace.
pub(crate) fn ask(question: &Question, source: &mut dyn Source) -> Result<Vec<Answer>, AnalysisError> {
    let log = Log::of(&mut source.stream(0)?)?;
    let region = question.blocks.iter().copied().max().unwrap_or(0).max(8192);
    let mut parts: BTreeMap<u64, Vec<Merged>> = BTreeMap::new();
    for r in log.refs() {
        assert_eq!(r.addr / region, (r.addr + u64::from(r.size) - 1) / region, "tests keep references inside parts");
        parts.entry(r.addr / region).or_default().push(r);
    }
    if parts.is_empty() {
        return Ok(vec![plain::answer(question, &[])?]);
    }
    parts.values().map(|refs| Ok(plain::answer(question, refs)?)).collect()
}

/// Answers by the folded engine, one part for each region of the same size as in [`ask`].
pub(crate) fn ask_folded(question: &Question, source: &mut dyn Source) -> Result<Vec<Answer>, AnalysisError> {
    let log = Log::of(&mut source.stream(0)?)?;
    let region_bytes = Some(question.blocks.iter().copied().max().unwrap_or(0).max(8192));
    let layout = Layout { region_bytes, budget_bytes: usize::MAX, spill: Box::new(InMemory::default()) };
    let mut partitioner = Partitioner::new(question, layout)?;
    partitioner.refs(&log.refs())?;
    let partition = partitioner.finish()?;
    if partition.regions() == 0 {
        return Ok(vec![answer(question, &partition, 0..0)?]);
    }
    (0..partition.regions()).map(|i| Ok(answer(question, &partition, i..i + 1)?)).collect()
}

/// Objects as (name, first byte, bytes).
pub(crate) struct Arrays(pub(crate) Vec<(&'static str, u64, u64)>);

impl Objects for Arrays {
    fn event(&mut self, _: &Event) {}
    fn at(&mut self, _: u32, addr: u64) -> ObjectRange {
        match self.0.iter().position(|(_, from, bytes)| (*from..from + bytes).contains(&addr)) {
            Some(i) => ObjectRange { object: i as u32, from: self.0[i].1, last: self.0[i].1 + self.0[i].2 - 1 },
            None => ObjectRange { object: UNKNOWN_OBJECT, from: addr, last: addr },
        }
    }
    fn object(&self, object: u32) -> ObjectName {
        ObjectName { name: self.0[object as usize].0.into(), ..ObjectName::default() }
    }
    fn extent(&self, object: u32, _: u32, _: u64) -> Option<(u64, u64)> {
        self.0.get(object as usize).map(|(_, from, bytes)| (*from, *bytes))
    }
    fn site(&self, site: u32) -> SiteName {
        SiteName { place: format!("main.c:{site}"), function: "work".into() }
    }
}

/// A question about one machine with these bindings.
pub(crate) fn question(machine: Machine, bindings: &[ThreadBinding], blocks: &[u64]) -> Question {
    Question::new(vec![machine], vec![bindings.to_vec()], blocks.to_vec())
}

/// The rows of a file of figures, without comment and head.
pub(crate) fn csv(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/testdata/bolosky_{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the figures are in testdata");
    let lines = text.lines().filter(|l| !l.starts_with('#')).skip(1);
    lines.map(|l| l.split(',').map(str::to_owned).collect()).collect()
}

/// A number of such a file.
pub(crate) fn number(cell: &str) -> f64 {
    cell.parse().expect("a number")
}
