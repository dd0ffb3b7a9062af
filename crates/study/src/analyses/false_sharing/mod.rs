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
mod component;
mod intervals;
mod moves;
mod shares;
mod split;
mod synthetic;

use super::{Input, Need, Refused, Spec, Table, Value, sum};
use crate::{Question, Want, What};
pub use attribute::{AttributeOptions, Attributed, ObjectShare, Separation, Share, WordUse, WorstBlock, attribute};
pub use component::{Component, MoveCost, Split, data_ratio, ratio_proves};
use homenode_analysis::{UNKNOWN_OBJECT, UNKNOWN_SITE};
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Location, Machine};
use homenode_sim::Seat;
pub use intervals::{IntervalCounts, Intervals};
pub use moves::{Holders, Moves};
pub use split::McprParts;
pub use synthetic::Known;

pub(crate) static SPEC: Spec = Spec {
    name: "false-sharing",
    summary: "bounds of what false sharing costs by block size, on which objects and lines, and what separating is worth",
    needs: &[Need::Exact, Need::Machine, Need::LinearCopy],
    run,
};

impl MoveCost {
    /// What moving a block costs on a machine: `None` if it has global memory, caches, or a second way of copying, for
    /// which the equations do not hold.
    pub fn of_machine(machine: &Machine) -> Option<MoveCost> {
        let plain = machine.global.is_none() && machine.caches.is_none() && machine.copy.at_most.is_none();
        let cost = MoveCost { overhead: machine.copy.fixed.0, per_word: machine.copy.per_word.0 };
        (plain && cost.per_word > 0 && cost.overhead >= 0).then_some(cost)
    }
}

/// Rows of objects and lines in a table.
const ROWS_MAX: usize = 20;

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, Refused> {
    let mut tables = vec![bounds_table(), split_table(), objects_table(), lines_table()];
    let question = input.question;
    for (machine, seats) in question.machines.iter().zip(&question.seats) {
        let Some(cost) = MoveCost::of_machine(machine) else { continue };
        let word_bytes = u64::from(machine.word_bytes);
        let sizes: Vec<u64> = question.blocks.iter().filter(|b| **b >= word_bytes).map(|b| b / word_bytes).collect();
        let subject = Subject { machine, seats, cost };
        bounds(input, subject, &sizes, &mut tables[0])?;
        split_rows(input, subject, &mut tables[1])?;
        for &block_words in &sizes {
            let options = AttributeOptions { block_words, word_bytes, cost, start: question.start };
            let found = attribute(input.source, seats, input.objects, options)?;
            object_rows(input, machine, &options, &found, &mut tables[2]);
            line_rows(input, machine, &options, &found, &mut tables[3]);
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
    Table::new("false-sharing", note, &columns)
}

/// A machine that the equations hold for.
#[derive(Clone, Copy)]
struct Subject<'a> {
    machine: &'a Machine,
    seats: &'a [Seat],
    cost: MoveCost,
}

fn bounds(input: &mut Input<'_>, subject: Subject<'_>, sizes: &[u64], table: &mut Table) -> Result<(), Refused> {
    let Subject { machine, seats, cost } = subject;
    let word_bytes = u64::from(machine.word_bytes);
    let start = input.question.start;
    let asked: Vec<u64> = std::iter::once(1).chain(sizes.iter().copied()).collect();
    let mut moves = Moves::new(&asked, word_bytes, start, seats)?;
    (input.source)(&mut moves)?;
    let (references, counts) = (moves.words(), moves.counts());
    let word_moves = counts[0].1;
    for (i, &(block_words, block_moves)) in counts.iter().enumerate().skip(1) {
        let mut intervals = Intervals::new(block_words, word_bytes, (1, 1), start, seats)?;
        (input.source)(&mut intervals)?;
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

fn split_table() -> Table {
    let columns = ["machine", "block_bytes", "near", "overhead", "data", "remote", "mcpr"];
    let note = "Mean cost per reference of the optimum with replication, in parts, in the machine's unit.";
    Table::new("mcpr-parts", note, &columns)
}

fn split_rows(input: &mut Input<'_>, subject: Subject<'_>, table: &mut Table) -> Result<(), Refused> {
    let Subject { machine, seats, cost } = subject;
    let question = Question {
        machines: vec![machine.clone()],
        seats: vec![seats.to_vec()],
        policies: Vec::new(),
        best_static: Want::None,
        without_replication: Want::None,
        with_replication: Want::Parts,
        ..input.question.clone()
    };
    let answer = sum(&(input.ask)(&question, input.source)?)?;
    let node = NodeId(0);
    let near = machine.access(AccessClass::Read, node, Location::Node(node)).0;
    for row in answer.rows.iter().filter(|r| r.what == What::WithReplication) {
        let block_words = row.block_bytes / u64::from(machine.word_bytes);
        let parts = row.optimum.as_ref().and_then(|t| McprParts::of(t, answer.accesses, near, cost, block_words));
        let Some(p) = parts else { continue };
        let mut cells: Vec<Value> = vec![machine.name.as_str().into(), row.block_bytes.into()];
        cells.extend([p.near, p.overhead, p.data, p.remote, p.mcpr()].map(Value::from));
        table.push(cells);
    }
    Ok(())
}

fn objects_table() -> Table {
    let columns = [
        "machine",
        "block_bytes",
        "object",
        "moves",
        "lower",
        "upper",
        "words_of_one_node",
        "words_only_read",
        "words_shared",
        "advice",
        "moves_saved_if_apart",
        "worth",
    ];
    let note = "Bounds of blocks, divided among objects by the moves that references to them cause. The worth is what is \
                saved if the words of each block lay in blocks of their own by who uses them: replayed, not estimated.";
    Table::new("false-sharing-objects", note, &columns)
}

fn object_rows(input: &Input<'_>, machine: &Machine, o: &AttributeOptions, found: &Attributed, table: &mut Table) {
    for object in found.objects.iter().filter(|s| s.share.upper_scaled > 0).take(ROWS_MAX) {
        let s = &object.share;
        let name = match s.id {
            UNKNOWN_OBJECT => "unknown memory".to_owned(),
            id => input.objects.object(id).name,
        };
        let saved = object.saved_moves as f64;
        let mut cells: Vec<Value> = vec![
            machine.name.as_str().into(),
            (o.block_words * o.word_bytes).into(),
            name.into(),
            s.moves.into(),
            (s.lower as f64).into(),
            (s.upper_scaled as f64 / o.block_words as f64).into(),
        ];
        cells.extend(object.words.map(Value::from));
        cells.extend([
            object.separation.advice().into(),
            saved.into(),
            (saved * o.cost.of_words(o.block_words) as f64).into(),
        ]);
        table.push(cells);
    }
}

fn lines_table() -> Table {
    let columns = ["machine", "block_bytes", "place", "function", "moves", "lower", "upper"];
    let note = "Bounds of blocks, divided among source lines by the moves that they cause.";
    Table::new("false-sharing-lines", note, &columns)
}

fn line_rows(input: &Input<'_>, machine: &Machine, o: &AttributeOptions, found: &Attributed, table: &mut Table) {
    for s in found.sites.iter().filter(|s| s.upper_scaled > 0).take(ROWS_MAX) {
        let site = match s.id {
            UNKNOWN_SITE => Default::default(),
            id => input.objects.site(id),
        };
        table.push(vec![
            machine.name.as_str().into(),
            (o.block_words * o.word_bytes).into(),
            site.place.into(),
            site.function.into(),
            s.moves.into(),
            (s.lower as f64).into(),
            (s.upper_scaled as f64 / o.block_words as f64).into(),
        ]);
    }
}
