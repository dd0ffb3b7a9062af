//! Objects, lines and words with false sharing, as tables.
use super::super::table::table;
use super::attributed::{AttributeOptions, Attributed, Share, WordUse, WorstBlock};
use homenode_analysis::{UNKNOWN_OBJECT, UNKNOWN_SITE};
use homenode_machine::Machine;
use homenode_sim::Objects;
use homenode_table::{Cell, Table};
use std::collections::BTreeMap;

/// Objects, lines and blocks in a table, of each machine and block size.
const ROWS_MAX: usize = 20;

/// What was attributed on one machine at one block size, with names.
pub(super) struct Where<'a> {
    pub(super) machine: &'a Machine,
    pub(super) options: &'a AttributeOptions,
    pub(super) found: &'a Attributed,
    pub(super) objects: &'a dyn Objects,
}

pub(super) fn objects_table() -> Table {
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
    table("false-sharing-objects", note, &columns)
}

pub(super) fn lines_table() -> Table {
    let columns = ["machine", "block_bytes", "place", "function", "moves", "lower", "upper"];
    let note = "Bounds of blocks, divided among source lines by the moves that they cause.";
    table("false-sharing-lines", note, &columns)
}

pub(super) fn words_table() -> Table {
    let columns =
        ["machine", "block_bytes", "block_address", "lower", "upper", "offset_bytes", "bytes", "used_by", "object"];
    let note = "Who uses which words of the blocks with the largest bounds; neighbouring words of one use are one row.";
    table("false-sharing-words", note, &columns)
}

impl Where<'_> {
    fn head(&self) -> Vec<Cell<'_>> {
        vec![self.machine.name.as_str().into(), (self.options.block_words * self.options.word_bytes).into()]
    }
    fn object(&self, id: u32) -> String {
        if id == UNKNOWN_OBJECT { "unknown memory".to_owned() } else { self.objects.object(id).name }
    }
    fn per_block(&self, scaled: i128) -> f64 {
        scaled as f64 / self.options.block_words as f64
    }

    pub(super) fn object_rows(&self, table: &mut Table) {
        for object in self.found.objects.iter().filter(|s| s.share.upper_scaled > 0).take(ROWS_MAX) {
            let s = &object.share;
            let saved = object.saved_moves as f64;
            let mut cells = self.head();
            cells.extend([self.object(s.id).into(), s.moves.into(), (s.lower as f64).into()]);
            cells.push(self.per_block(s.upper_scaled).into());
            cells.extend(object.words.map(Cell::from));
            cells.extend([object.separation.advice().into(), saved.into()]);
            cells.push((saved * self.options.cost.of_words(self.options.block_words) as f64).into());
            table.push(cells);
        }
    }

    pub(super) fn line_rows(&self, table: &mut Table) {
        for ((place, function), s) in self.lines().into_iter().take(ROWS_MAX) {
            let mut cells = self.head();
            cells.extend([place.into(), function.into(), s.moves.into(), (s.lower as f64).into()]);
            cells.push(self.per_block(s.upper_scaled).into());
            table.push(cells);
        }
    }

    /// Shares by line and function, largest first: a line has several sites, and a reader sees one line.
    fn lines(&self) -> Vec<((String, String), Share)> {
        let mut by_name: BTreeMap<(String, String), Share> = BTreeMap::new();
        for s in self.found.sites.iter().filter(|s| s.upper_scaled > 0) {
            let site = if s.id == UNKNOWN_SITE { Default::default() } else { self.objects.site(s.id) };
            let sum = by_name.entry((site.place, site.function)).or_insert(Share { id: s.id, ..Share::default() });
            sum.moves += s.moves;
            sum.lower += s.lower;
            sum.upper_scaled += s.upper_scaled;
        }
        let mut lines: Vec<_> = by_name.into_iter().collect();
        lines.sort_by_key(|(_, s)| std::cmp::Reverse(s.upper_scaled));
        lines
    }

    pub(super) fn word_rows(&self, table: &mut Table) {
        for block in self.found.blocks.iter().take(ROWS_MAX) {
            for (from, to, class, object) in runs(block) {
                let used_by = match class {
                    WordUse::Own(node) => format!("node {node}"),
                    WordUse::ReadOnly => "several, only read".to_owned(),
                    WordUse::Shared => "several, written".to_owned(),
                };
                let mut cells = self.head();
                cells.push(format!("{:#x}", block.addr).into());
                cells.extend([(block.component.lower() as f64).into(), block.component.upper().into()]);
                let word = self.options.word_bytes;
                cells.extend([(from * word).into(), ((to - from) * word).into(), used_by.into()]);
                cells.push(self.object(object).into());
                table.push(cells);
            }
        }
    }
}

/// Neighbouring words of one use and object: first word, word after the last.
fn runs(block: &WorstBlock) -> Vec<(u64, u64, WordUse, u32)> {
    let mut runs: Vec<(u64, u64, WordUse, u32)> = Vec::new();
    for &(at, class, object) in &block.words {
        match runs.last_mut() {
            Some(last) if (last.1, last.2, last.3) == (at, class, object) => last.1 += 1,
            _ => runs.push((at, at + 1, class, object)),
        }
    }
    runs
}
