//! The replay of a journal: every decision of a live run again.
use homenode_command::Failure;
use homenode_placement::live::replay;
use homenode_placement::policies::Choice;
use schemars::JsonSchema;
use std::path::Path;

/// Identifier of these documents, described by `docs/schema/replay.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/replay-1";

/// What a replay came to.
#[derive(Clone, Debug, serde::Serialize, JsonSchema)]
pub struct ReplayDoc {
    /// Identifier, described by `docs/schema/replay.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The journal.
    pub journal: String,
    /// Policy it was decided by now.
    pub policy: String,
    /// Policy it was decided by then.
    pub recorded_policy: String,
    /// Events replayed.
    pub events: u64,
    /// Decisions that came out as recorded.
    pub effects: u64,
    /// Moves among them.
    pub candidates: u64,
    /// Whether all decisions are the same.
    pub same: bool,
    /// First line of the journal where they are not; null if there is none.
    pub differs_at: Option<usize>,
    /// Whether the journal is whole (one of a run that was killed may end within a line).
    pub complete: bool,
    /// Small pages moved in the recorded run.
    pub moved_pages: u64,
}

/// Decides a journal again, by another policy if one is named.
///
/// # Errors
/// The file cannot be read, or is no journal.
pub fn replay_journal(path: &Path, policy: Option<&str>) -> Result<ReplayDoc, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
    let other = policy.map(Choice::parse).transpose().map_err(Failure::usage)?;
    let done = replay(&text, other.as_ref()).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
    Ok(ReplayDoc {
        schema: SCHEMA,
        journal: path.display().to_string(),
        policy: other.map_or_else(|| done.header.policy.clone(), |c| c.to_string()),
        recorded_policy: done.header.policy.clone(),
        events: done.events,
        effects: done.effects,
        candidates: done.candidates,
        same: done.differs.is_none(),
        differs_at: done.differs.map(|d| d.0),
        complete: done.complete,
        moved_pages: done.stats.moved_pages,
    })
}

impl ReplayDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// A few lines for people.
    pub fn to_text(&self) -> String {
        let verdict = match self.differs_at {
            None => "all decisions are the same".to_owned(),
            Some(line) => format!("the first other decision is at line {line}"),
        };
        let whole = if self.complete { "" } else { " (the journal ends within a line)" };
        format!(
            "{}: {} events, {} decisions, {} moves asked for, {} pages moved; by {}: {verdict}{whole}\n",
            self.journal, self.events, self.effects, self.candidates, self.moved_pages, self.policy
        )
    }
}
