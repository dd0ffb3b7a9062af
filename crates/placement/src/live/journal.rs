//! The journal: everything that went into the controller and came out of it, one JSON document a line, so that a live run can be
//! decided again later, to the same decisions.
//!
//! The first line is the [`Header`]; then each event with its time (`in`), followed by the effects it had (`out`).
use super::config::Config;
use super::event::{Effect, Event};
use super::governor::Governor;
use super::stats::Stats;
use crate::policies::{Choice, PolicyError};
use homenode_machine::{Machine, MachineError};
use serde::{Deserialize, Serialize};

/// The `schema` of every journal of this version.
pub const JOURNAL_SCHEMA: &str = "https://github.com/homenode/homenode/schema/journal-1";

/// What decisions depend on beside events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`JOURNAL_SCHEMA`].
    pub schema: String,
    /// Machine; its node numbers are those of all events.
    pub machine: Machine,
    /// Operating-system number of each node.
    pub os_nodes: Vec<u32>,
    /// Policy as on the command line.
    pub policy: String,
    /// Settings.
    pub config: Config,
    /// Where the evidence came from, in words.
    pub evidence: String,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first.
    Header(Box<Header>),
    /// What the controller was told.
    In {
        /// When, in nanoseconds of the run's clock.
        at_ns: u64,
        /// Event that the controller was told.
        event: Event,
    },
    /// What it wanted done.
    Out {
        /// Effect that the controller wanted.
        effect: Effect,
    },
}

impl Line {
    /// As one line with its end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("numbers, strings and lists are JSON");
        text.push('\n');
        text
    }
}

/// Why a journal cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Not a journal, or a damaged one.
    #[error("line {line} of the journal: {why}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// The journal's policy does not exist (any more).
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The journal's machine is not a valid one.
    #[error("the journal's machine: {0}")]
    Machine(#[from] MachineError),
}

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The header.
    pub header: Header,
    /// Events handled.
    pub events: u64,
    /// Effects, all of them as recorded unless [`Replayed::differs`].
    pub effects: u64,
    /// Moves among them.
    pub candidates: u64,
    /// First line at which this program decided otherwise, and what it wanted.
    pub differs: Option<(usize, String)>,
    /// Whether the last line is whole (a recording that was killed may end within one).
    pub complete: bool,
    /// What was done in all.
    pub stats: Stats,
}

/// Decides a recorded run again, by `policy` if given (then the first other decision ends the replay), else by its own.
///
/// # Errors
/// The text is not a journal of this version, or its policy or machine does not hold.
pub fn replay(text: &str, policy: Option<&Choice>) -> Result<Replayed, JournalError> {
    let mut lines = text.lines().enumerate().map(|(i, l)| (i + 1, l)).peekable();
    let bad = |line: usize, why: &str| JournalError::Line { line, why: why.to_owned() };
    let first = lines.next().ok_or_else(|| bad(1, "it is empty"))?;
    let Line::Header(header) = parse(first)? else { return Err(bad(1, "it does not begin with a header")) };
    if header.schema != JOURNAL_SCHEMA {
        return Err(bad(1, &format!("its schema is '{}', known is '{JOURNAL_SCHEMA}'", header.schema)));
    }
    header.machine.validate()?;
    let recorded = Choice::parse(&header.policy)?;
    let mut governor = Governor::new(&header.machine, policy.unwrap_or(&recorded), header.config.clone())?;
    let mut tally = Replayed {
        header: (*header).clone(),
        events: 0,
        effects: 0,
        candidates: 0,
        differs: None,
        complete: text.ends_with('\n'),
        stats: Stats::default(),
    };
    let mut effects = Vec::new();
    while let Some(line) = lines.next() {
        let parsed = match parse(line) {
            Err(_) if lines.peek().is_none() && !tally.complete => break,
            other => other?,
        };
        match parsed {
            Line::Header(_) => return Err(bad(line.0, "a second header")),
            Line::In { at_ns, event } => {
                if let Some(missing) = effects.first() {
                    tally.differs = Some((line.0, format!("{missing:?}")));
                    break;
                }
                tally.events += 1;
                governor.handle(at_ns, &event, &mut effects);
            }
            Line::Out { effect } => {
                let mine = if effects.is_empty() { None } else { Some(effects.remove(0)) };
                if mine.as_ref() != Some(&effect) {
                    tally.differs = Some((line.0, format!("{mine:?}")));
                    break;
                }
                tally.effects += 1;
                tally.candidates +=
                    if let Effect::Move { candidates, .. } = &effect { candidates.len() as u64 } else { 0 };
            }
        }
    }
    tally.stats = governor.stats().clone();
    Ok(tally)
}

fn parse((line, text): (usize, &str)) -> Result<Line, JournalError> {
    serde_json::from_str(text).map_err(|e| JournalError::Line { line, why: e.to_string() })
}
