//! `homenode list`: the members of every family, from the lists that everything else reads.
use homenode_command::Failure;
use homenode_placement::policies::Param;
use homenode_table::{Column, Layout, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// Identifier of these documents, described by `docs/schema/list.json`.
const SCHEMA: &str = "https://github.com/homenode/homenode/schema/list-1";

/// One member of a family.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Member {
    /// Name as on the command line.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Parameters and remarks, one line each; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

/// A family and its members, or the families themselves.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListDoc {
    /// Identifier of this kind of document, described by `docs/schema/list.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Name of the family, or `families`.
    pub family: String,
    /// Members in order of the list.
    pub members: Vec<Member>,
}

/// Name, summary and members of a family.
type Family = (&'static str, &'static str, fn() -> Vec<Member>);

/// The families; a new one is one line here.
pub const FAMILIES: &[Family] = &[
    ("policies", "placement policies, on-line and off-line", policies),
    ("protocols", "protocols of page coherence, for `sweep --protocols`", protocols),
    ("realignments", "other layouts of data, for `sweep --realign`", realignments),
    ("machines", "machine models", machines),
    ("rules", "affinity rules: from counts to homes", rules),
    ("backends", "ways to see what a program does to memory", backends),
    ("columns", "what a recording may say of each reference beside address, size and operation", columns),
    ("formats", "recordings of other tools that `import` reads", formats),
    ("analyses", "questions of `sweep --analysis` that need more than costs", analyses),
    ("architectures", "memory architectures of `sim memory`", architectures),
    ("tier-policies", "policies of DRAM and slower memory, for `sim memory --policy`", tier_policies),
    ("open-points", "other readings of what the AS-COMA study leaves open: `sim memory --open`", open_points),
    ("what-ifs", "what `sim cluster --what-if` changes: parameters of the machine, and what is otherwise", what_ifs),
    ("svm-steps", "steps of the protocol of `svm run --protocol`, from the bottom of the ladder upwards", svm_steps),
    ("svm-transports", "how nodes of `svm run --transport` reach each other's memory", svm_transports),
    ("experiments", "published studies that `reproduce` repeats", experiments),
];

/// Members of one family, or the families if none is named.
pub fn list(family: Option<&str>) -> Result<ListDoc, Failure> {
    let schema = SCHEMA;
    let Some(wanted) = family else {
        let members = FAMILIES.iter().map(|(n, s, _)| member(n, s)).collect();
        return Ok(ListDoc { schema, family: "families".to_owned(), members });
    };
    match FAMILIES.iter().find(|(name, _, _)| *name == wanted) {
        Some((name, _, members)) => Ok(ListDoc { schema, family: (*name).to_owned(), members: members() }),
        None => {
            let known: Vec<&str> = FAMILIES.iter().map(|(n, _, _)| *n).collect();
            Err(Failure::usage(format!("there is no family '{wanted}'; known are {}", known.join(", "))))
        }
    }
}

fn member(name: &str, summary: &str) -> Member {
    Member { name: name.to_owned(), summary: summary.to_owned(), details: Vec::new() }
}

fn architectures() -> Vec<Member> {
    homenode_timed::memory::archs::known().map(|s| member(s.name, s.summary)).collect()
}

/// A parameter of a member, with its range.
fn parameter(p: &Param) -> String {
    let range = match p.max {
        u32::MAX if p.min == 0 => String::new(),
        u32::MAX => format!(", at least {}", p.min),
        max => format!(", {} to {max}", p.min),
    };
    format!("{} (default {}{range}): {}", p.name, p.default, p.summary)
}

fn tier_policies() -> Vec<Member> {
    let row = |s: &&'static homenode_timed::tiers::policies::Spec| Member {
        details: s.params.iter().map(parameter).collect(),
        ..member(&s.choose().to_string(), s.summary)
    };
    homenode_timed::tiers::policies::ALL.iter().map(row).collect()
}

fn open_points() -> Vec<Member> {
    homenode_timed::memory::OPEN_POINTS.iter().map(|p| member(p.name, p.summary)).collect()
}

fn policies() -> Vec<Member> {
    let row = |s: &&'static homenode_placement::policies::Spec| {
        let name = s.choose(&[]).map_or_else(|_| s.name.to_string(), |c| c.to_string());
        let named = (!s.reported).then(|| "for studies: in reports only if named".to_owned());
        let details = s.params.iter().map(parameter).chain(named).collect();
        Member { name, summary: s.summary.to_string(), details }
    };
    homenode_placement::policies::ALL.iter().map(row).collect()
}

fn protocols() -> Vec<Member> {
    let row = |s: &&'static homenode_coherence::protocols::Spec| {
        let printed = format!("{} of Markatos and Chronaki", s.printed);
        Member {
            details: [printed].into_iter().chain(s.params.iter().map(parameter)).collect(),
            ..member(s.name, s.summary)
        }
    };
    homenode_coherence::protocols::ALL.iter().map(row).collect()
}

fn realignments() -> Vec<Member> {
    let row = |s: &&'static homenode_realign::rules::Spec| Member {
        details: s.params.iter().map(parameter).collect(),
        ..member(s.name, s.summary)
    };
    homenode_realign::rules::ALL.iter().map(row).collect()
}

fn columns() -> Vec<Member> {
    homenode_trace::columns::ALL.iter().map(|c| member(c.name, c.summary)).collect()
}

fn rules() -> Vec<Member> {
    let row = |s: &&homenode_placement::affinity::Spec| {
        let defaults: String = s.params.iter().map(|p| format!("({})", p.default)).collect();
        member(&format!("{}{defaults}", s.name), s.summary)
    };
    homenode_placement::affinity::ALL.iter().map(row).collect()
}

fn analyses() -> Vec<Member> {
    homenode_study::analyses::ALL.iter().map(|s| member(s.name, s.summary)).collect()
}

fn experiments() -> Vec<Member> {
    homenode_papers::ALL.iter().map(|p| member(p.name, p.summary)).collect()
}

fn what_ifs() -> Vec<Member> {
    crate::sim_cluster::what_ifs().map(|(name, summary)| member(name, summary)).collect()
}

fn svm_steps() -> Vec<Member> {
    homenode_hlrc::steps::ALL.iter().map(|s| member(s.name, s.summary)).collect()
}

fn svm_transports() -> Vec<Member> {
    homenode_svm::transports::ALL.iter().map(|t| member(t.name, t.summary)).collect()
}

fn machines() -> Vec<Member> {
    homenode_machine::models::ALL.iter().map(|s| member(s.name, s.summary)).collect()
}

fn backends() -> Vec<Member> {
    homenode_capture::backends::ALL.iter().map(|b| member(b.name, b.summary)).collect()
}

fn formats() -> Vec<Member> {
    homenode_import::formats::ALL.iter().map(|f| member(f.name, f.summary)).collect()
}

impl ListDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// One line a member, details below it.
    pub fn to_text(&self) -> String {
        let mut table = Table::new([Column::words("", 0), Column::words("", 0)].into());
        for m in &self.members {
            table.push_words([&m.name, &m.summary]);
            m.details.iter().for_each(|d| table.push_words(["", &format!("  {d}")]));
        }
        table.text(&Layout { head: false, ..Layout::default() })
    }
}
