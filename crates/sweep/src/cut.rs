//! Cutting references into regions, in no more memory than there is.
use crate::resolved::ResolvedStudy;
use crate::spill::FileSpill;
use crate::store::ResultStore;
use homenode_command::{Failure, output};
use homenode_realign::Rule;
use homenode_study::analyses::AnalysisError;
use homenode_study::{Layout, Partition, Partitioner, Question, StudyError};
use homenode_trace::order::Source;
use std::path::Path;

/// Memory that one worker needs at least, in bytes.
pub const WORKER_BYTES_MIN: u64 = 48 << 20;
/// Memory of a worker that is not records: the program itself, frames being decoded, writing buffers.
const OTHER_BYTES: u64 = 40 << 20;
/// What folding one 32-bit word of a region takes at its worst, in bytes: measured, with every record a step of its own.
const FOLD_BYTES: u64 = 64;
/// Smallest regions that are made, unless blocks are larger: each has a buffer of its own.
const REGION_BYTES_MIN: u64 = 4096;
/// What a reference of a window that is realigned takes, in bytes: itself, its location if it has one of its own, its page.
const WINDOW_REF_BYTES: u64 = 120;

/// Memory that a window takes while its words move, in bytes.
pub(crate) fn window_bytes(rule: Rule) -> u64 {
    rule.window() * WINDOW_REF_BYTES
}

/// References between two reports of progress.
const REPORT_REFS: u64 = 1 << 20;

/// What cuts, and with what means.
#[derive(Clone, Copy)]
pub(crate) struct Cutter<'a> {
    pub(crate) resolved: &'a ResolvedStudy,
    pub(crate) store: &'a ResultStore,
    pub(crate) memory_bytes: u64,
}

impl Cutter<'_> {
    /// Cuts what the source gives; what does not fit into memory goes to a file beside `to`.
    pub(crate) fn partition_of(
        &self,
        question: &Question,
        to: &Path,
        source: &mut dyn Source,
        told: &mut dyn FnMut(u64),
    ) -> Result<Partition, AnalysisError> {
        let partition = self.cut(question, to, None, source, told)?;
        // A region is folded as a whole. Where one is too busy for that, smaller regions have less in each.
        let busiest = (0..partition.regions()).map(|r| partition.weight(r)).max().unwrap_or(0);
        let least = question.blocks.last().copied().unwrap_or(REGION_BYTES_MIN).max(REGION_BYTES_MIN);
        // Not so with samples: there are few, and their intervals are drawn from groups of regions.
        let sampled = question.options.sampled.is_some();
        if sampled || busiest.saturating_mul(FOLD_BYTES) <= self.budget() || least >= partition.region_bytes() {
            return Ok(partition);
        }
        drop(partition);
        self.cut(question, to, Some(least), source, told)
    }

    /// The question, folded in no more memory than there is.
    pub(crate) fn within_memory(&self, question: Question) -> Question {
        Question { fold_bytes: question.fold_bytes.min(self.budget() as usize / 2), ..question }
    }

    /// Bytes of records that may be in memory.
    fn budget(&self) -> u64 {
        self.memory_bytes.saturating_sub(OTHER_BYTES).max(WORKER_BYTES_MIN / 6)
    }

    fn cut(
        &self,
        question: &Question,
        to: &Path,
        region_bytes: Option<u64>,
        source: &mut dyn Source,
        told: &mut dyn FnMut(u64),
    ) -> Result<Partition, AnalysisError> {
        let spill = output::temporary(to).with_extension("spill");
        let unwritten = |e| StudyError::Spill(self.store.failed("write", &e).message);
        let spill = FileSpill::new(&spill).map_err(unwritten)?;
        let layout = Layout { region_bytes, budget_bytes: self.budget() as usize, spill: Box::new(spill) };
        let mut partitioner = Partitioner::new(question, layout)?;
        let (mut stream, mut refs, mut reported) = (source.stream(0)?, 0, 0);
        while let Some(piece) = stream.pull()? {
            partitioner.refs(piece.refs)?;
            refs += piece.refs.len() as u64;
            if refs - reported >= REPORT_REFS {
                reported = refs;
                told(refs);
            }
        }
        Ok(partitioner.finish()?)
    }

    /// Whose fault it is that a study cannot be answered.
    pub(crate) fn blame(&self, e: StudyError) -> Failure {
        let store = self.store.path().display();
        match e {
            StudyError::Spill(why) => Failure::work(format!(
                "{store}: {why}; make room there and give the same command again, or choose another folder with -o"
            )),
            StudyError::Damaged(_) => Failure::work(e),
            _ => Failure::usage(e),
        }
    }

    /// Whose fault it is that there is no partition or analysis of the trace.
    pub(crate) fn refused(&self, trace: &Path, e: AnalysisError) -> Failure {
        match e {
            AnalysisError::Study(e) => self.blame(e),
            AnalysisError::Trace(e) => Failure { message: format!("{}: {e}", trace.display()), ..e.into() },
            other => Failure::usage(other),
        }
    }
}
