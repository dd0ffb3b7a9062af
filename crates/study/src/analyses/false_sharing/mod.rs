//! How much of what sharing costs is false sharing: bounds, the definitions that failed, and where it is (Bolosky 1993,
//! chapter 7).
//!
//! | definition | here | fails on |
//! |---|---|---|
//! | one-word difference, 7.1.1 | [`Component::one_word_difference`] | negative where grouping helps |
//! | intervals, 7.1.2 and 7.1.3 | [`Intervals`], a lower bound | counts fragmentation: no reads, one interval |
//! | full duration, 7.1.4 | [`IntervalCounts::full_duration_saved`] | 0 as soon as one word is read |
//! | cost component, 7.1.6 | [`Component`], two bounds | counts what no system could save without advice |
//!
//! Moves are counted where every reference must be local, so there is nothing to decide.
mod attribute;
mod attributed;
mod component;
mod intervals;
mod moves;
mod shares;
mod split;
mod synthetic;
mod tables;

use super::{AnalysisError, Input, Need, Spec, sum, table::table};
use crate::{Question, Want, What};
pub use attribute::attribute;
pub use attributed::{AttributeOptions, Attributed, ObjectShare, Separation, Share, WordUse, WorstBlock};
pub use component::{Component, MoveCost, Split, data_ratio, ratio_proves};
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Costs, Location, Machine};
use homenode_sim::ThreadBinding;
use homenode_table::{Cell, Table};
pub use intervals::{IntervalCounts, Intervals};
pub(crate) use moves::powers_of_two;
pub use moves::{Holders, Moves};
pub use split::McprParts;
use std::collections::BTreeSet;
pub use synthetic::SyntheticTrace;
use tables::{Where, lines_table, objects_table, words_table};

pub(crate) static SPEC: Spec = Spec {
    name: "false-sharing",
    summary: "bounds of what false sharing costs by block size, on which objects and lines, and what separating is worth",
    needs: &[Need::Exact, Need::Machine, Need::LinearCopy],
    repeats: 1,
    run,
};

impl MoveCost {
    /// What moving a block costs on a machine: `None` if it has global memory, caches, or a second way of copying, for
    /// which the equations do not hold.
    pub fn of_machine(machine: &Machine) -> Option<MoveCost> {
        let plain =
            machine.cost.global.is_none() && machine.sections.caches.is_none() && machine.cost.copy.at_most.is_none();
        let cost = MoveCost { overhead: machine.cost.copy.fixed.0, per_word: machine.cost.copy.per_word.0 };
        (plain && cost.per_word > 0 && cost.overhead >= 0).then_some(cost)
    }
}

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
    let mut tables = vec![bounds_table(), split_table(), objects_table(), lines_table(), words_table()];
    let question = input.question;
    for (machine, bindings) in question.machines.iter().zip(&question.bindings) {
        let Some(cost) = MoveCost::of_machine(machine) else { continue };
        let word_bytes = u64::from(machine.shape.word_bytes);
        let sizes: Vec<u64> = question.blocks.iter().filter(|b| **b >= word_bytes).map(|b| b / word_bytes).collect();
        let subject = Subject { machine, bindings, cost };
        bounds(input, subject, &sizes, &mut tables[0])?;
        split_rows(input, subject, &mut tables[1])?;
        for &block_words in &sizes {
            let options = AttributeOptions { block_words, word_bytes, cost, start: question.start };
            let mut objects = (input.objects)();
            let found = attribute(input.source, bindings, &mut *objects, options)?;
            let found = Where { machine, options: &options, found: &found, objects: &*objects };
            found.object_rows(&mut tables[2]);
            found.line_rows(&mut tables[3]);
            found.word_rows(&mut tables[4]);
        }
    }
    Ok(tables)
}

fn bounds_table() -> Table {
    let columns = [
        "machine",
        "block_bytes",
        "words_referenced",
        "block_moves",
        "word_moves",
        "lower",
        "upper",
        "lower_per_reference",
        "upper_per_reference",
        "one_word_difference",
        "interval_lower",
        "full_duration_moves_saved",
        "data_ratio_to_next_smaller",
        "ratio_proves",
    ];
    let note = "False sharing where every reference must be local, in the machine's unit. It lies between lower and upper; \
                no real system could save all of it without advice. Merging a copy is taken to cost as much as a move.";
    table("false-sharing", note, &columns)
}

/// A machine that the equations hold for.
#[derive(Clone, Copy)]
struct Subject<'a> {
    machine: &'a Machine,
    bindings: &'a [ThreadBinding],
    cost: MoveCost,
}

fn bounds(input: &mut Input<'_>, subject: Subject<'_>, sizes: &[u64], table: &mut Table) -> Result<(), AnalysisError> {
    let Subject { machine, bindings, cost } = subject;
    let word_bytes = u64::from(machine.shape.word_bytes);
    let start = input.question.start;
    let (references, counts) = moves_by_size(input, subject, sizes)?;
    let word_moves = counts[0].1;
    for (i, &(block_words, block_moves)) in counts.iter().enumerate().skip(1) {
        let mut intervals = Intervals::new(block_words, word_bytes, (1, 1), start, bindings)?;
        let mut stream = input.source.stream(0)?;
        while let Some(piece) = stream.pull()? {
            intervals.refs(piece.refs);
        }
        let intervals = intervals.finish();
        let c = Component { cost, block_words, block_moves, word_moves };
        let smaller = if i > 1 { Some(counts[i - 1]) } else { None };
        let large = (block_words, block_moves);
        let move_cost = cost.of_words(block_words);
        let per = |x: f64| if references == 0 { 0.0 } else { x / references as f64 };
        table.push(vec![
            machine.name.as_str().into(),
            (block_words * word_bytes).into(),
            references.into(),
            block_moves.into(),
            word_moves.into(),
            (c.lower() as f64).into(),
            c.upper().into(),
            per(c.lower() as f64).into(),
            per(c.upper()).into(),
            (c.one_word_difference() as f64).into(),
            (intervals.lower(move_cost, move_cost) as f64).into(),
            intervals.full_duration_saved.into(),
            smaller.and_then(|s| data_ratio(large, s)).into(),
            smaller.map(|s| if ratio_proves(large, s) { "yes" } else { "no" }).into(),
        ]);
    }
    Ok(())
}

/// References, and (words of a block, moves) of single words and of each size: those of the optimum on the machine
/// without remote references, where nothing is left to decide. [`Moves`] counts the same, slowly.
fn moves_by_size(input: &mut Input<'_>, subject: Subject<'_>, sizes: &[u64]) -> Result<SizeCounts, AnalysisError> {
    let word_bytes = u64::from(subject.machine.shape.word_bytes);
    let blocks: BTreeSet<u64> = sizes.iter().chain(&[1]).map(|words| words * word_bytes).collect();
    let question = Question {
        machines: vec![Machine {
            cost: Costs { remote_access: false, ..subject.machine.cost.clone() },
            ..subject.machine.clone()
        }],
        bindings: vec![subject.bindings.to_vec()],
        blocks: blocks.into_iter().collect(),
        policies: Vec::new(),
        best_static: Want::None,
        without_replication: Want::None,
        with_replication: Want::Parts,
        ..input.question.clone()
    };
    let answer = sum(&(input.ask)(&question, input.source)?)?;
    let moves_at = |words: u64| {
        let row = answer.rows.iter().find(|r| r.block_bytes == words * word_bytes);
        (words, row.and_then(|r| r.optimum.as_ref()).map_or(0, |o| o.moves + o.copies))
    };
    let counts = std::iter::once(1).chain(sizes.iter().copied()).map(moves_at).collect();
    Ok((answer.charged.first().map_or(0, |c| c.accesses), counts))
}

/// References, and moves by words of a block.
type SizeCounts = (u64, Vec<(u64, u64)>);

fn split_table() -> Table {
    let columns = ["machine", "block_bytes", "near", "overhead", "data", "remote", "mcpr"];
    let note = "Mean cost per reference of the optimum with replication, in parts, in the machine's unit.";
    table("mcpr-parts", note, &columns)
}

fn split_rows(input: &mut Input<'_>, subject: Subject<'_>, table: &mut Table) -> Result<(), AnalysisError> {
    let Subject { machine, bindings, cost } = subject;
    let question = Question {
        machines: vec![machine.clone()],
        bindings: vec![bindings.to_vec()],
        policies: Vec::new(),
        best_static: Want::None,
        without_replication: Want::None,
        with_replication: Want::Parts,
        ..input.question.clone()
    };
    let answer = sum(&(input.ask)(&question, input.source)?)?;
    let node = NodeId(0);
    let near = machine.access(AccessClass::Read, node, Location::Node(node)).0;
    for row in answer.rows.iter().filter(|r| r.what == What::WITH_REPLICATION) {
        let block_words = row.block_bytes / u64::from(machine.shape.word_bytes);
        let parts = row.optimum.as_ref().and_then(|t| McprParts::of(t, answer.accesses, near, cost, block_words));
        let Some(p) = parts else { continue };
        let mut cells: Vec<Cell> = vec![machine.name.as_str().into(), row.block_bytes.into()];
        cells.extend([p.near, p.overhead, p.data, p.remote, p.mcpr()].map(Cell::from));
        table.push(cells);
    }
    Ok(())
}
