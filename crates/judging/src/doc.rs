//! The document of a reproduction.
use schemars::JsonSchema;
use serde::Serialize;

/// Identifier of these documents, described by `docs/schema/reproduce.json`.
pub const SCHEMA: &str = "https://github.com/homenode/homenode/schema/reproduce-1";

/// Sizes of the programs on the command line, smallest first; P is what the paper ran.
pub const SIZES: [&str; 4] = ["XS", "S", "M", "P"];

/// Published results beside ours, with a verdict on each claim.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReproduceDoc {
    /// Identifier of this kind of document, described by `docs/schema/reproduce.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Name of the experiment.
    pub experiment: String,
    /// Size of the programs: XS, S, M or P, which is that of the paper.
    #[schemars(extend("enum" = SIZES))]
    pub size: String,
    /// What was run, in a sentence.
    pub programs: String,
    /// Tables of results.
    pub tables: Vec<Table>,
    /// Every claim with a verdict.
    pub claims: Vec<Claim>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A table of results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Column headings; the first column names the row.
    pub columns: Vec<String>,
    /// Rows, as long as the headings.
    pub rows: Vec<Vec<String>>,
}

/// One published claim beside ours.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Claim {
    /// What is claimed.
    pub what: String,
    /// Place in the publication: a table, figure or section.
    pub place: String,
    /// The published value with its unit.
    pub theirs: String,
    /// Ours; empty where there is none.
    pub ours: String,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why that verdict.
    pub why: String,
}

/// Whether a published value and ours agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Verdict {
    /// Within what rounding and the noise of the publication allow.
    #[serde(rename = "agrees")]
    Agrees,
    /// Not so.
    #[serde(rename = "differs")]
    Differs,
    /// True of any programs: it follows from the model or from constants.
    #[serde(rename = "identity")]
    Identity,
    /// Recordings of the same programs disagree.
    #[serde(rename = "unsettled")]
    Unsettled,
    /// The machines or the programs are gone, or only a clock could tell.
    #[serde(rename = "cannot be known")]
    CannotBeKnown,
    /// The programs are too small to speak of it, as at size XS, where only exact rows and identities are judged; or those that
    /// it needs were left out.
    #[serde(rename = "not judged")]
    NotJudged,
}

impl Verdict {
    /// All, in the order of a page's summary.
    pub const ALL: [Verdict; 6] = [
        Verdict::Agrees,
        Verdict::Differs,
        Verdict::Unsettled,
        Verdict::Identity,
        Verdict::CannotBeKnown,
        Verdict::NotJudged,
    ];
    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Identity => "identity",
            Verdict::Unsettled => "unsettled",
            Verdict::CannotBeKnown => "cannot be known",
            Verdict::NotJudged => "not judged",
        }
    }
}

impl ReproduceDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
}
