//! Code locations of rows: by their number where there is one, else by file, line and function.
use super::survey::Survey;
use super::{FILE, FUNCTION, SITE};
use crate::report::ExactSink;
use homenode_table::read::{Batch, TableReader};
use homenode_trace::symbols::Site;
use std::collections::HashMap;

/// A place in the source: file, line, function.
type Place = (Option<u32>, u32, Option<u32>);

/// Answers that are kept at hand.
const RECENT: usize = 1 << 10;

/// Program counters of code locations. There are none in a table: that of the location with number `n` is `n + 1`, so that they are
/// in the same order.
#[derive(Debug)]
pub(super) struct Sites {
    numbered: HashMap<u64, Place>,
    placed: HashMap<Place, u64>,
    /// Recent answers, by their number: number, place, program counter.
    recent: Vec<Option<(Option<u64>, Place, u64)>>,
    /// Program counter before those of places without a number.
    behind: u64,
    /// Rows whose site had another place before.
    pub(super) moved: u64,
}

impl Sites {
    pub(super) fn new(survey: &Survey) -> Sites {
        let (numbered, placed, moved) = Default::default();
        let behind = survey.sites.last().map_or(0, |last| last.saturating_add(1));
        Sites { numbered, placed, recent: vec![None; RECENT], behind, moved }
    }

    /// The program counter of a row; 0 where nothing is known.
    pub(super) fn pc(&mut self, batch: &Batch, row: usize, line: u32) -> u64 {
        let place = (batch.columns[FILE].word(row), line, batch.columns[FUNCTION].word(row));
        let number = batch.columns[SITE].count(row);
        let recent = number.map_or(0, |number| number as usize % RECENT);
        if let Some((known_number, known_place, pc)) = self.recent[recent]
            && (known_number, known_place) == (number, place)
        {
            return pc;
        }
        let pc = match number {
            Some(number) => {
                let first = *self.numbered.entry(number).or_insert(place);
                self.moved += u64::from(first != place);
                number.saturating_add(1)
            }
            None if place == (None, 0, None) => 0,
            None => {
                let next = self.behind.saturating_add(self.placed.len() as u64 + 1);
                *self.placed.entry(place).or_insert(next)
            }
        };
        // A row that names its site otherwise is counted each time.
        if number.is_none_or(|number| self.numbered.get(&number) == Some(&place)) {
            self.recent[recent] = Some((number, place, pc));
        }
        pc
    }

    /// Names all of them.
    pub(super) fn name(self, survey: &Survey, table: &TableReader<'_>, sink: &mut dyn ExactSink) {
        let word = |w: Option<u32>| w.map_or_else(String::new, |w| table.word(w).to_owned());
        let site = |pc: u64, (file, line, function): Place| Site {
            pc,
            file: word(file),
            line,
            function: word(function),
            ..Site::default()
        };
        // Numbers between that no row has are places all the same: those behind them stay what they are.
        (0..Survey::dense(&survey.sites).unwrap_or(0)).for_each(|n| sink.site(site(n + 1, (None, 0, None))));
        self.numbered.into_iter().for_each(|(n, place)| sink.site(site(n.saturating_add(1), place)));
        self.placed.into_iter().for_each(|(place, pc)| sink.site(site(pc, place)));
    }
}
