//! Which accesses a machine makes of a trace: machines that agree in that share a stream of records.
use super::record::Format;
use crate::Question;
use homenode_machine::{CacheGeometry, Machine};
use homenode_sim::ThreadBinding;
use homenode_trace::SampleUnit;

/// What makes the accesses of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// One access per word of this many bytes.
    Words(u32),
    /// One access per sample, or per reference to a protocol of page coherence, of its first byte.
    FirstByte,
    /// What a cache filter lets through.
    Events(Box<Filtered>),
}

/// A cache filter and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filtered {
    pub(crate) cores: Vec<u16>,
    pub(crate) line_bytes: u32,
    pub(crate) private: CacheGeometry,
    pub(crate) shared: CacheGeometry,
    /// Processor of each thread.
    pub(crate) cpus: Vec<u16>,
}

/// Units of a stream of first bytes: the smallest block there is.
const FIRST_BYTE_SHIFT: u32 = crate::question::BLOCK_BYTES_MIN.trailing_zeros();

impl Key {
    /// That of a machine of the question.
    pub(crate) fn of(question: &Question, machine: usize) -> Key {
        let (m, bindings) = (&question.machines[machine], &question.bindings[machine]);
        match (question.options.sampled, &m.sections.caches) {
            _ if !question.protocols.is_empty() => Key::FirstByte,
            (Some(counting), caches) if counting.unit != SampleUnit::Reference || caches.is_some() => Key::FirstByte,
            (None, Some(c)) => Key::Events(Box::new(Filtered {
                cores: m.shape.cores.clone(),
                line_bytes: c.line_bytes,
                private: c.private,
                shared: c.shared,
                cpus: bindings.iter().map(|s| s.cpu).collect(),
            })),
            _ => Key::Words(m.shape.word_bytes),
        }
    }

    /// How its records are written.
    pub(crate) fn format(&self, region_shift: u32, threads: usize, weighted: bool, timed: bool) -> Format {
        match self {
            Key::Words(bytes) => Format::new(bytes.trailing_zeros(), region_shift, threads, weighted, timed),
            Key::FirstByte => Format::new(FIRST_BYTE_SHIFT, region_shift, threads, weighted, timed),
            Key::Events(f) => Format::new(f.line_bytes.trailing_zeros(), region_shift, f.cores.len(), false, timed),
        }
    }

    /// Node of each thread of this stream, or of each node where records say nodes.
    pub(crate) fn nodes(&self, machine: &Machine, bindings: &[ThreadBinding]) -> Vec<u16> {
        match self {
            Key::Events(_) => (0..machine.nodes() as u16).collect(),
            _ => bindings.iter().map(|s| s.node.0).collect(),
        }
    }
}

/// The streams that a question needs, each once, in order of machines. A machine whose words or lines are larger than
/// every block asked for needs none.
pub(crate) fn needed(question: &Question) -> Vec<Key> {
    let mut keys = Vec::new();
    let largest = question.blocks.last().copied().unwrap_or(0);
    for machine in (0..question.machines.len()).filter(|m| question.usable(*m, largest)) {
        let key = Key::of(question, machine);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}
