//! The JSON schemas of `docs/schema`, derived from the types of the documents: `cargo run -p xtask -- gen-schema`.
//! What the types and their comments do not say, no schema says. With `--check` nothing is written: files that differ from
//! what the types say, and files of no document, are named.
use anyhow::{Context, bail, ensure};
use homenode_live::{ActDoc, ReplayDoc};
use homenode_papers::ReproduceDoc;
use homenode_placement::plan::Plan;
use homenode_report::{CheckDoc, InfoDoc, QuickDoc, ReportDoc};
use homenode_svmrun::{SvmDoc, SvmReplay, SvmReport};
use homenode_sweep::SweepDoc;
use homenode_toolkit::families::ListDoc;
use homenode_toolkit::{
    CompactDoc, DoctorDoc, ImportDoc, RecordDoc, RecoverDoc, SimClusterDoc, SimMemoryDoc, SimTiersDoc, TopoDoc,
};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A kind of document: file below `docs/schema`, title, and the schema of its type.
type Document = (&'static str, &'static str, fn() -> Schema);

/// Every kind of document.
const DOCUMENTS: &[Document] = &[
    ("check", "Check", written::<CheckDoc>),
    ("compact", "homenode compact --json", written::<CompactDoc>),
    ("doctor", "homenode doctor --json", written::<DoctorDoc>),
    ("import", "homenode import --json", written::<ImportDoc>),
    ("info", "Info", written::<InfoDoc>),
    ("list", "homenode list --json", written::<ListDoc>),
    ("migrate", "homenode migrate --json", written::<ActDoc>),
    ("plan", "Plan", written::<Plan>),
    ("quick", "homenode report --quick --json", written::<QuickDoc>),
    ("record", "homenode record --json", written::<RecordDoc>),
    ("recover", "homenode recover --json", written::<RecoverDoc>),
    ("replay", "homenode migrate --replay --json", written::<ReplayDoc>),
    ("report", "Report", written::<ReportDoc>),
    ("reproduce", "Reproduction", written::<ReproduceDoc>),
    ("run", "homenode run --json", written::<ActDoc>),
    ("sim-cluster", "homenode sim cluster --json", written::<SimClusterDoc>),
    ("sim-memory", "homenode sim memory --json", written::<SimMemoryDoc>),
    ("sim-tiers", "homenode sim memory --json, of DRAM and an expander", written::<SimTiersDoc>),
    ("svm-replay", "homenode svm replay --json", written::<SvmReplay>),
    ("svm-report", "homenode svm report --json", written::<SvmReport>),
    ("svm-run", "homenode svm run --json", written::<SvmDoc>),
    ("sweep", "homenode sweep --json, and run.json in the folder of a sweep", written::<SweepDoc>),
    ("topo", "homenode topo --json", written::<TopoDoc>),
];

/// Schema of what is written: a member that is always there is required, even where it is null.
fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Objects have no other members; widths of integers are the program's own affair; comments are lines of text without
/// links.
fn closed(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.contains_key("properties") {
        object.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    object.remove("format");
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ").replace("[`", "`").replace("`]", "`");
    }
}

/// Gives the schema its title and its identifier: the one of the type's that begin with the document's name.
fn identify(schema: &mut Schema, name: &str, title: &str) -> anyhow::Result<()> {
    let of = schema.pointer_mut("/properties/schema").context("no member `schema`")?;
    let of = of.as_object_mut().context("no object")?;
    let all = of.remove("const").into_iter().chain(of.remove("enum").into_iter().flat_map(list));
    let mine = |id: &Value| {
        let last = id.as_str().and_then(|id| id.rsplit('/').next()).and_then(|last| last.rsplit_once('-'));
        last.is_some_and(|(kind, _)| kind == name)
    };
    let ids: Vec<Value> = all.filter(mine).collect();
    match ids.as_slice() {
        [] => bail!("the type names no identifier .../{name}-N"),
        [id] => of.insert("const".into(), id.clone()),
        several => of.insert("enum".into(), json!(several)),
    };
    schema.insert("$id".into(), ids[0].clone());
    schema.insert("title".into(), title.into());
    Ok(())
}

fn list(value: Value) -> Vec<Value> {
    if let Value::Array(items) = value { items } else { Vec::new() }
}

/// The text of a schema's file.
fn text((name, title, schema): Document) -> anyhow::Result<String> {
    let mut schema = schema();
    RecursiveTransform(closed).transform(&mut schema);
    identify(&mut schema, name, title).with_context(|| format!("document {name}"))?;
    Ok(serde_json::to_string_pretty(&InOrder { value: schema.as_value(), first: FIRST })? + "\n")
}

/// What a schema begins with.
const FIRST: &[&str] =
    &["$schema", "$id", "title", "description", "type", "additionalProperties", "required", "properties"];

/// JSON whose members stand in order: those of `first`, then the others by name. Members of a document stand as its
/// type has them, because comments speak of those above them.
struct InOrder<'a> {
    value: &'a Value,
    first: &'a [&'a str],
}

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let object = match self.value {
            Value::Object(object) => object,
            Value::Array(items) => return s.collect_seq(items.iter().map(|value| InOrder { value, first: FIRST })),
            plain => return plain.serialize(s),
        };
        let required = object.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let mut members: Vec<(&String, &Value)> = object.iter().collect();
        members.sort_by_key(|(name, _)| self.first.iter().position(|f| f == name).unwrap_or(self.first.len()));
        s.collect_map(members.into_iter().map(|(name, value)| {
            let first = if name == "properties" { &required } else { FIRST };
            (name, InOrder { value, first })
        }))
    }
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let check = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => bail!("usage: gen_schema [--check]"),
    };
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema"));
    let mut wrong = BTreeSet::new();
    for &document in DOCUMENTS {
        let (file, text) = (format!("{}.json", document.0), text(document)?);
        if !check {
            std::fs::write(folder.join(&file), text).with_context(|| format!("docs/schema/{file}"))?;
        } else if std::fs::read_to_string(folder.join(&file)).is_ok_and(|there| there == text) {
            continue;
        } else {
            wrong.insert(file);
        }
    }
    for entry in std::fs::read_dir(folder).context("docs/schema")? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        if !DOCUMENTS.iter().any(|(name, _, _)| file == format!("{name}.json")) {
            wrong.insert(file);
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    ensure!(
        wrong.is_empty(),
        "docs/schema is not what the types of the documents say: {}; run `cargo run -p xtask -- gen-schema`",
        wrong.join(", ")
    );
    Ok(())
}
