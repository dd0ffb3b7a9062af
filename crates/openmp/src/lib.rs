//! # homenode-openmp: OpenMP in a recording
//!
//! Regions, loops and tasks are phases whose text says what they are and where, as `docs/format.md` has it; here it is read.
//!
//! **Invariant:** a text that says something else is the program's own phase, and a place that is not known beyond doubt is none.
//!
//! ```
//! use homenode_openmp::{Construct, Schedule, What};
//!
//! let construct = Construct::of("omp for dynamic,4 @ 55d0c0f6d8").expect("a loop");
//! assert_eq!(construct.what, What::Loop { schedule: Schedule::Dynamic, chunk: 4 });
//! assert_eq!(construct.words(), "omp for schedule(dynamic,4)");
//! assert_eq!(Construct::of("sweep"), None);
//! ```
#![forbid(unsafe_code)]

use homenode_trace::symbols::{Site, Symbols};

/// A construct, as the text of a phase says it: `omp for dynamic,4 @ 55d0c0f6d8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Construct<'a> {
    /// What it is.
    pub what: What<'a>,
    /// Program counter of the call into the runtime.
    pub pc: u64,
    /// Of a static loop that only asks which thread it is in: where it asks, the second time.
    pub other: Option<u64>,
}

/// Kinds of constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// A parallel region.
    Region,
    /// A loop whose iterations are shared out, with the smallest number that a thread gets at once; 0 if it says none.
    Loop {
        /// How iterations come to threads.
        schedule: Schedule,
        /// Chunk.
        chunk: u64,
    },
    /// Sections.
    Sections,
    /// A loop over teams.
    Distribute,
    /// A task.
    Task,
    /// Something that the recorder met and does not understand.
    Unseen(&'a str),
}

/// How the iterations of a loop come to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Schedule {
    /// Each thread the iterations that it had the last time.
    Static,
    /// Whoever comes next.
    Dynamic,
    /// Whoever comes next, in chunks that become smaller.
    Guided,
    /// As the program is started.
    Runtime,
    /// As the runtime likes.
    Auto,
}

const SCHEDULES: [(Schedule, &str); 5] = [
    (Schedule::Static, "static"),
    (Schedule::Dynamic, "dynamic"),
    (Schedule::Guided, "guided"),
    (Schedule::Runtime, "runtime"),
    (Schedule::Auto, "auto"),
];

impl Schedule {
    /// As OpenMP writes it.
    pub fn name(self) -> &'static str {
        SCHEDULES.iter().find(|s| s.0 == self).map_or("", |s| s.1)
    }

    /// Whether a thread gets the same iterations of the same loop every time.
    pub fn is_fixed(self) -> bool {
        self == Schedule::Static
    }
}

impl<'a> Construct<'a> {
    /// What the text of a phase says; `None` if it is the program's own.
    pub fn of(text: &'a str) -> Option<Construct<'a>> {
        let (what, places) = text.strip_prefix("omp ")?.rsplit_once(" @ ")?;
        let mut pcs = places.split(' ').map(|pc| u64::from_str_radix(pc, 16));
        let (pc, other) = (pcs.next()?.ok()?, pcs.next().transpose().ok()?);
        let what = match what {
            "parallel" => What::Region,
            "sections" => What::Sections,
            "distribute" => What::Distribute,
            "task" => What::Task,
            _ => match (what.strip_prefix("? "), what.strip_prefix("for ")) {
                (Some(unseen), _) => What::Unseen(unseen),
                (_, Some(words)) => of_loop(words)?,
                _ => return None,
            },
        };
        Some(Construct { what, pc, other })
    }

    /// The construct in words: `omp for schedule(dynamic,4)`.
    pub fn words(&self) -> String {
        match self.what {
            What::Region => "omp parallel".to_owned(),
            What::Loop { schedule, chunk: 0 } => format!("omp for schedule({})", schedule.name()),
            What::Loop { schedule, chunk } => format!("omp for schedule({},{chunk})", schedule.name()),
            What::Sections => "omp sections".to_owned(),
            What::Distribute => "omp distribute".to_owned(),
            What::Task => "omp task".to_owned(),
            What::Unseen(what) => what.to_owned(),
        }
    }

    /// Where it is, as far as known. What looks like a static loop is none if its two questions are on different lines, or if the
    /// program asks them itself: then it is nowhere.
    pub fn site<'s>(&self, symbols: &'s Symbols, process: u32) -> Option<&'s Site> {
        let at = |pc| symbols.site(symbols.site_id(process, pc)?);
        let site = at(self.pc)?;
        let Some(other) = self.other else { return Some(site) };
        let other = at(other)?;
        let one = site.line > 0 && (site.line, &site.file) == (other.line, &other.file);
        (one && !site.asks && !other.asks).then_some(site)
    }

    /// Program counters that it mentions.
    pub fn pcs(&self) -> impl Iterator<Item = u64> {
        [self.pc].into_iter().chain(self.other)
    }
}

fn of_loop(words: &str) -> Option<What<'_>> {
    let (name, chunk) = words.split_once(',').map_or((words, Ok(0)), |(name, chunk)| (name, chunk.parse()));
    let schedule = SCHEDULES.iter().find(|s| s.1 == name)?.0;
    Some(What::Loop { schedule, chunk: chunk.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_runtime_are_understood_and_others_are_the_programs() {
        let of = |text: &'static str| Construct::of(text).map(|c| (c.what, c.pc, c.other));
        let dynamic = What::Loop { schedule: Schedule::Dynamic, chunk: 4 };
        assert_eq!(of("omp for dynamic,4 @ ff0"), Some((dynamic, 0xff0, None)));
        let fixed = What::Loop { schedule: Schedule::Static, chunk: 0 };
        assert_eq!(of("omp for static @ 10 17"), Some((fixed, 0x10, Some(0x17))));
        assert_eq!(of("omp parallel @ 1"), Some((What::Region, 1, None)));
        assert_eq!(of("omp ? target @ 1"), Some((What::Unseen("target"), 1, None)));
        for text in
            ["omp", "omp parallel", "omp for fast @ 1", "omp for static,x @ 1", "omp parallel @ xyz", "sweep @ 1"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn two_questions_are_a_loop_only_on_one_line_that_does_not_ask() {
        let site = |pc, line, asks| Site { pc, line, asks, file: "a.c".into(), ..Site::default() };
        let at = |second: u32, asks| {
            let symbols = Symbols { sites: vec![site(16, 3, asks), site(23, second, false)], ..Symbols::default() };
            Construct::of("omp for static @ 10 17").unwrap().site(&symbols, 0).map(|s| s.line)
        };
        assert_eq!([at(3, false), at(4, false), at(3, true)], [Some(3), None, None]);
    }
}
