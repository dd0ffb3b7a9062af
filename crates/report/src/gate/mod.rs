//! `homenode report --fail-above`: whether a program may pass, for continuous integration.
//!
//! Without a baseline a limit is held against what can be saved: by each change of a finding, by all of them together, by the best
//! placement of pages. With one it is held against what has become worse ([`judge_against`]). Only what is certain fails: of an interval,
//! the end that is better for the program. What may be above the limit, and what was not seen, is a doubt, which is told; a document of
//! which nothing can be told fails.
mod baseline;
mod document;

pub use baseline::judge_against;
pub use document::Document;
use document::{Case, shares};

use crate::units::{bytes, percent};

/// What a gate says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Why the program may not pass, a sentence each; none if it may.
    pub failures: Vec<String>,
    /// What nobody can tell, a sentence each.
    pub doubts: Vec<String>,
}

impl Judged {
    /// Notes what is above a limit. What may be an artefact is no failure.
    fn over(&mut self, case: &Case, sentence: String) {
        match case.gaps.iter().find(|g| g.doubts == "findings") {
            Some(gap) => self.doubts.push(format!("{sentence}. That may be an artefact: {}", gap.words())),
            None => self.failures.push(sentence),
        }
    }

    /// Notes that something was not seen, of gaps that are worth telling.
    fn unseen(&mut self, case: &Case, told: impl Fn(&document::Gap) -> bool) {
        let mut gaps = case.gaps.iter().filter(|g| told(g));
        if let Some(first) = gaps.next() {
            let more = match gaps.count() {
                0 => String::new(),
                n => format!(" The report has {n} more."),
            };
            self.doubts.push(format!("passes as far as was seen. {}{more}", first.words()));
        }
    }
}

impl Case {
    /// Machine and block size in words.
    fn on(&self) -> String {
        format!("{} ({} blocks)", self.machine, bytes(self.block_bytes))
    }
}

/// Holds a limit, as a share of the first-touch total, against what can be saved.
pub fn judge(now: &Document, limit: f64) -> Judged {
    let mut judged = Judged::default();
    for case in &now.cases {
        if let Some(why) = &case.unknown {
            judged.failures.push(format!("cannot tell what can be saved on {}: {why}", case.on()));
            continue;
        }
        let certain = case.savings.iter().filter(|s| s.share.low > limit);
        let possible = case.savings.iter().filter(|s| s.share.high > limit);
        if let Some(s) = certain.max_by(|a, b| a.share.low.total_cmp(&b.share.low)) {
            let (share, on) = (shares(s.share), case.on());
            judged.over(case, format!("{share} of the memory cost on {on} can be saved: {}", s.what));
            continue;
        }
        if let Some(s) = possible.max_by(|a, b| a.share.high.total_cmp(&b.share.high)) {
            let (limit, on) = (percent(limit), case.on());
            let share = shares(s.share);
            judged
                .doubts
                .push(format!("cannot tell whether more than {limit} can be saved on {on}: {share}, by {}", s.what));
        }
        judged.unseen(case, |_| true);
    }
    judged
}
