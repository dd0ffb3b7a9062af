//! What analyses are given.
use crate::{Answer, Question, StudyError};
use homenode_sim::{Objects, ThreadBinding, for_pieces};
use homenode_trace::order::Source;
use homenode_trace::{Merged, TraceError};

/// Asks a question of a trace. The answers are of parts of the trace that have no block in common, in a fixed order, and
/// add up to the answer of the whole: [`sum`].
pub type Ask<'a> = dyn Fn(&Question, &mut dyn Source) -> Result<Vec<Answer>, AnalysisError> + 'a;

/// What an analysis needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Every reference, in an order that means something.
    Exact,
    /// Samples: exact recordings leave nothing to estimate.
    Samples,
    /// At least one machine and block size.
    Machine,
    /// At least one policy.
    Policy,
    /// A machine with global memory.
    GlobalMemory,
    /// A machine whose copies cost a fixed part and a part per word, without another way of copying.
    LinearCopy,
}

impl Need {
    /// In words, to follow "needs".
    pub const fn words(self) -> &'static str {
        match self {
            Need::Exact => "an exact recording: samples say nothing about single words or the order of references",
            Need::Samples => "a sampled recording: in an exact one nothing is estimated",
            Need::Machine => "at least one machine and one block size",
            Need::Policy => "at least one policy",
            Need::GlobalMemory => "a machine with global memory, such as ace",
            Need::LinearCopy => "a machine without global memory whose copies cost a fixed part and a part per word",
        }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// Something is missing.
    #[error("analysis {analysis} needs {what}")]
    Needs {
        /// Name of the analysis.
        analysis: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// A parameter outside its range.
    #[error("{what} is {value}; {allowed}")]
    Value {
        /// Parameter.
        what: &'static str,
        /// As given.
        value: String,
        /// What may be given.
        allowed: &'static str,
    },
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The question cannot be answered.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// What an analysis is given.
pub struct Input<'a> {
    /// The trace.
    pub source: &'a mut dyn Source,
    /// Machines, bindings, block sizes, policies, options; [`Question::check`] has passed. Analyses vary it.
    pub question: &'a Question,
    /// Who answers questions.
    pub ask: &'a Ask<'a>,
    /// What lies where, each time from the start of the trace: who reads it twice asks twice.
    pub objects: &'a dyn Fn() -> Box<dyn Objects + 'a>,
    /// Of everything random.
    pub seed: u64,
    /// Repetitions of what is random: perturbed orders, resamples.
    pub repeats: u32,
}

impl<'a> Input<'a> {
    /// Bindings on the first machine: for what does not depend on the machine but on processors.
    pub fn bindings(&self) -> &'a [ThreadBinding] {
        self.question.bindings.first().map_or(&[], Vec::as_slice)
    }
    /// Whether it has what is needed.
    pub fn has(&self, need: Need) -> bool {
        let q = self.question;
        match need {
            Need::Exact => q.options.sampled.is_none(),
            Need::Samples => q.options.sampled.is_some(),
            Need::Machine => !q.machines.is_empty() && !q.blocks.is_empty(),
            Need::Policy => !q.policies.is_empty(),
            Need::GlobalMemory => q.machines.iter().any(|m| m.cost.global.is_some()),
            Need::LinearCopy => q
                .machines
                .iter()
                .any(|m| m.cost.global.is_none() && m.cost.copy.at_most.is_none() && m.sections.caches.is_none()),
        }
    }
}

/// The answer of the whole from those of its parts.
///
/// # Errors
/// The parts are not answers to the same question.
pub fn sum(parts: &[Answer]) -> Result<Answer, AnalysisError> {
    let mut whole = Answer::default();
    parts.iter().try_for_each(|part| whole.add(part))?;
    Ok(whole)
}

/// Calls `each(unit, first byte, last byte)` for the parts of a reference in units of `unit_bytes`, a power of two.
#[inline]
pub(crate) fn pieces(r: &Merged, unit_bytes: u64, mut each: impl FnMut(u64, u64, u64)) {
    let shift = unit_bytes.trailing_zeros();
    for_pieces(r.addr, r.size, shift, |piece| each(piece.addr >> shift, piece.addr, piece.last));
}

/// Words of `word_bytes`, a power of two, that a reference touches: what machines without caches charge.
#[inline]
pub(crate) fn words(r: &Merged, word_bytes: u64) -> u64 {
    let mut n = 0;
    pieces(r, 1 << 40, |_, from, last| n += last / word_bytes - from / word_bytes + 1);
    n
}
