//! Numbers of threads and sites in a table, found before anything is written, so that they can stay what they are.
use super::{ASKED, SITE, THREAD, refused};
use crate::exact::THREADS_MAX;
use crate::formats::ReadError;
use homenode_table::read::{Asked, TableReader};
use std::collections::BTreeSet;

/// Most sites of a table.
const SITES_MAX: usize = 1 << 22;

/// Numbers that are known not to be new.
const RECENT: usize = 1 << 10;

/// The columns that are looked at.
pub(super) fn asked() -> [Asked; 2] {
    [ASKED[THREAD], ASKED[SITE]]
}

/// Numbers that occur.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) threads: BTreeSet<u64>,
    pub(super) sites: BTreeSet<u64>,
}

impl Survey {
    pub(super) fn read(&mut self, mut table: TableReader<'_>) -> Result<(), ReadError> {
        let mut recent = vec![[None; 2]; RECENT];
        while let Some(batch) = table.next_batch().map_err(refused)? {
            for row in 0..batch.rows {
                for (column, found) in [&mut self.threads, &mut self.sites].into_iter().enumerate() {
                    let number = batch.columns[column].count(row);
                    let known = &mut recent[number.unwrap_or(0) as usize % RECENT][column];
                    if *known != number {
                        *known = number;
                        found.extend(number);
                    }
                }
            }
            for (found, most, what) in [(&self.threads, THREADS_MAX, "threads"), (&self.sites, SITES_MAX, "sites")] {
                if found.len() > most {
                    return Err(ReadError::File(format!("it has more than {most} {what}")));
                }
            }
        }
        Ok(())
    }

    /// How many threads, or sites, there will be if numbers stay; `None` if too many of them would be empty.
    pub(super) fn dense(numbers: &BTreeSet<u64>) -> Option<u64> {
        let end = numbers.last().map_or(0, |last| last.saturating_add(1));
        (end <= 2 * numbers.len() as u64 + 64).then_some(end)
    }

    /// What a reader should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let all = [(&self.threads, "threads"), (&self.sites, "sites")];
        let renumbered = all.into_iter().filter(|(numbers, _)| Survey::dense(numbers).is_none());
        renumbered.map(|(_, what)| format!("{what} have new numbers, in the order of their own")).collect()
    }
}
