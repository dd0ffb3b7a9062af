//! `STUDY.toml` as it is written.
use super::clusters::{self, ClusterTable};
use super::machines::{Base, MachineSet, PARAMS};
use super::numbers::Values;
use super::{Disturbance, SpecError, Study, blocks, error, families, protocols, realign};
use homenode_machine::{Machine, MapRule};
use homenode_placement::Start;
use homenode_realign::Rule;
use homenode_study::Want;
use homenode_study::analyses::{self, Spec as Analysis};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Spanned, Value};

/// Finds a machine by the name or path in a study; the error is the rest of a sentence about it.
pub type Resolve<'a> = dyn Fn(&str) -> Result<Machine, String> + 'a;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    name: Option<Spanned<String>>,
    traces: Spanned<Vec<Spanned<String>>>,
    blocks: Spanned<Value>,
    #[serde(default)]
    machines: Vec<Spanned<String>>,
    #[serde(default)]
    machine: Vec<Spanned<MachineTable>>,
    #[serde(default)]
    policies: Vec<Spanned<String>>,
    #[serde(default)]
    protocols: Vec<Spanned<String>>,
    #[serde(default)]
    counters: bool,
    #[serde(default)]
    realign: Vec<Spanned<String>>,
    best_static: Option<Spanned<String>>,
    optimum: Option<Spanned<String>>,
    without_replication: Option<Spanned<String>>,
    start: Option<Spanned<String>>,
    order: Option<Spanned<String>>,
    seed: Option<Spanned<u64>>,
    merges: Option<Spanned<u32>>,
    map: Option<Spanned<String>>,
    #[serde(default)]
    charge_spins: bool,
    #[serde(default)]
    analyses: Vec<Spanned<String>>,
    #[serde(default)]
    perturb: Vec<Spanned<PerturbTable>>,
}

/// A study of clusters in virtual time, which are asked about alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClustersFile {
    name: Option<Spanned<String>>,
    traces: Spanned<Vec<Spanned<String>>>,
    map: Option<Spanned<String>>,
    cluster: Vec<Spanned<ClusterTable>>,
}

/// Whether a study is about clusters.
#[derive(Deserialize)]
struct Kind {
    cluster: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PerturbTable {
    filter: Spanned<String>,
    seeds: Option<Spanned<u32>>,
    synchronisation: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineTable {
    base: Option<Spanned<String>>,
    family: Option<Spanned<String>>,
    lambda: Option<Spanned<Value>>,
    o_h: Option<Spanned<Value>>,
    o_s: Option<Spanned<Value>>,
    nodes: Option<Spanned<Value>>,
    r: Option<Spanned<Value>>,
    g: Option<Spanned<Value>>,
    #[serde(rename = "G")]
    global_copy: Option<Spanned<Value>>,
    #[serde(rename = "R")]
    copy: Option<Spanned<Value>>,
}

/// What is read, so that every error finds its line.
struct Text<'t>(&'t str);

impl Text<'_> {
    /// The name that a study gives itself, or that of its file.
    fn name(&self, given: Option<Spanned<String>>, of_file: &str) -> Result<String, SpecError> {
        if let Some(name) = &given {
            self.put(name, check_name(name.get_ref()))?;
        }
        Ok(given.map_or_else(|| of_file.to_owned(), Spanned::into_inner))
    }
    fn line<T>(&self, at: &Spanned<T>) -> usize {
        error::line_of(self.0, at.span().start)
    }
    /// The result with the line of `at` in its error.
    fn put<T, A>(&self, at: &Spanned<A>, result: Result<T, SpecError>) -> Result<T, SpecError> {
        result.map_err(|e| e.at(self.line(at)))
    }
    /// One of some words.
    fn word<T: Copy>(&self, key: &str, at: Option<&Spanned<String>>, words: &[(&str, T)]) -> Result<T, SpecError> {
        let Some(at) = at else { return Ok(words[0].1) };
        self.put(at, word(key, at.get_ref(), words))
    }
}

/// The value of a word; the first is the default.
fn word<T: Copy>(key: &str, given: &str, words: &[(&str, T)]) -> Result<T, SpecError> {
    let found = words.iter().find(|(w, _)| *w == given);
    found
        .map(|(_, t)| *t)
        .ok_or_else(|| SpecError::unknown(&format!("value of {key}"), given, words.iter().map(|w| w.0)))
}

/// What may be wanted of an optimum.
const WANTS: [(&str, Want); 3] = [("cost", Want::Cost), ("parts", Want::Parts), ("none", Want::None)];
const WANTS_NONE_FIRST: [(&str, Want); 3] = [WANTS[2], WANTS[0], WANTS[1]];

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, SpecError> {
    toml::from_str(text).map_err(|e| error::from_toml(text, &e))
}

/// Reads a study. `name` is what it is called if it does not say.
pub(super) fn study(text: &str, name: &str, resolve: &Resolve<'_>) -> Result<Study, SpecError> {
    if parse::<Kind>(text)?.cluster.is_some() { clusters(text, name, resolve) } else { placement(text, name, resolve) }
}

fn clusters(text: &str, name: &str, resolve: &Resolve<'_>) -> Result<Study, SpecError> {
    let alone = |e: SpecError| match e.message.starts_with("unknown field") {
        true => SpecError { message: format!("{}; ask about clusters in a study of their own", e.message), ..e },
        false => e,
    };
    let file: ClustersFile = parse(text).map_err(alone)?;
    let t = Text(text);
    let name = t.name(file.name, name)?;
    check_traces(&t, &file.traces)?;
    let set = |table: &Spanned<ClusterTable>| t.put(table, clusters::cluster(text, table.get_ref(), resolve));
    Ok(Study {
        traces: file.traces.into_inner().into_iter().map(Spanned::into_inner).collect(),
        map: map(&t, file.map.as_ref())?,
        clusters: file.cluster.iter().map(set).collect::<Result<_, _>>()?,
        ..Study::nothing(name)
    })
}

fn map(t: &Text<'_>, given: Option<&Spanned<String>>) -> Result<Option<MapRule>, SpecError> {
    let read = |m: &String| m.parse::<MapRule>().map_err(|e| SpecError::new(format!("map: {e}")));
    given.map(|m| t.put(m, read(m.get_ref()))).transpose()
}

fn placement(text: &str, name: &str, resolve: &Resolve<'_>) -> Result<Study, SpecError> {
    let file: StudyFile = parse(text)?;
    let t = Text(text);
    let name = t.name(file.name, name)?;
    check_traces(&t, &file.traces)?;
    let block_sizes = t.put(&file.blocks, block_sizes(file.blocks.get_ref()))?;
    let recorded = t.word("order", file.order.as_ref(), &[("model", false), ("recorded", true)])?;
    for at in [file.seed.as_ref().map(|s| t.line(s)), file.merges.as_ref().map(|s| t.line(s))].into_iter().flatten() {
        if !recorded {
            return Err(SpecError::new("seed and merges mean something with order = \"recorded\" only").at(at));
        }
    }
    let mut choices = Vec::new();
    for item in &file.policies {
        choices.push(item.get_ref().as_str());
        t.put(item, blocks::policies([item.get_ref().as_str()]))?;
    }
    let mut named_protocols = Vec::new();
    for item in &file.protocols {
        named_protocols.push(item.get_ref().as_str());
        t.put(item, protocols::protocols([item.get_ref().as_str()]))?;
    }
    // Who asks about protocols alone does not ask about optima of placement too.
    let optima = if named_protocols.is_empty() || !choices.is_empty() { WANTS } else { WANTS_NONE_FIRST };
    let map = map(&t, file.map.as_ref())?;
    Ok(Study {
        name,
        traces: file.traces.into_inner().into_iter().map(Spanned::into_inner).collect(),
        blocks: block_sizes,
        machines: machine_sets(&t, &file.machines, &file.machine, resolve)?,
        policies: blocks::policies(choices)?,
        protocols: protocols::protocols(named_protocols)?,
        counters: file.counters,
        realign: realigns(&t, &file.realign)?,
        best_static: t.word("best_static", file.best_static.as_ref(), &WANTS_NONE_FIRST)?,
        with_replication: t.word("optimum", file.optimum.as_ref(), &optima)?,
        without_replication: t.word("without_replication", file.without_replication.as_ref(), &WANTS_NONE_FIRST)?,
        start: t.word("start", file.start.as_ref(), &[("set", Start::FreeSet), ("single", Start::FreeSingle)])?,
        seeds: seeds(recorded, file.seed.map(Spanned::into_inner), file.merges.map(Spanned::into_inner))?,
        map,
        map_text: file.map.map_or_else(|| "sockets".to_owned(), Spanned::into_inner),
        charge_spins: file.charge_spins,
        analyses: named_analyses(&t, &file.analyses)?,
        disturbances: disturbances(&t, &file.perturb)?,
        clusters: Vec::new(),
    })
}

fn realigns(t: &Text<'_>, items: &[Spanned<String>]) -> Result<Vec<Rule>, SpecError> {
    for item in items {
        t.put(item, realign::realigns([item.get_ref().as_str()]))?;
    }
    realign::realigns(items.iter().map(|i| i.get_ref().as_str()))
}

/// Each trace once, and at least one.
fn check_traces(t: &Text<'_>, traces: &Spanned<Vec<Spanned<String>>>) -> Result<(), SpecError> {
    let all = traces.get_ref();
    if all.is_empty() {
        return t.put(traces, Err(SpecError::new("traces: the list is empty")));
    }
    let before = |i: usize| all[..i].iter().any(|other| other.get_ref() == all[i].get_ref());
    match (1..all.len()).find(|i| before(*i)) {
        None => Ok(()),
        Some(i) => {
            let twice = format!("traces: '{}' stands there twice, and its rows would too", all[i].get_ref());
            t.put(&all[i], Err(SpecError::new(twice)))
        }
    }
}

/// A name becomes part of a file name.
fn check_name(name: &str) -> Result<(), SpecError> {
    let plain = |c: char| c.is_alphanumeric() || "-_.+ ".contains(c);
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(plain) {
        let allowed = "letters, digits, spaces, and - _ . + inside";
        return Err(SpecError::new(format!("name = '{name}' is not allowed: {allowed}")));
    }
    Ok(())
}

/// Analyses of the registry, in its order and each once.
fn named_analyses(t: &Text<'_>, names: &[Spanned<String>]) -> Result<Vec<&'static Analysis>, SpecError> {
    if let Some(name) = names.iter().find(|n| Analysis::find(n.get_ref()).is_none()) {
        let unknown = SpecError::unknown("analysis", name.get_ref(), analyses::ALL.iter().map(|s| s.name));
        return t.put(name, Err(unknown));
    }
    let wanted = |s: &&&'static Analysis| names.iter().any(|n| n.get_ref() == s.name);
    Ok(analyses::ALL.iter().filter(wanted).copied().collect())
}

/// Most merges of one trace.
const MERGES_MAX: u32 = 100;

/// Most seeds of a filter.
const SEEDS_MAX: u32 = 100;

fn disturbances(t: &Text<'_>, tables: &[Spanned<PerturbTable>]) -> Result<Vec<Disturbance>, SpecError> {
    let mut all = Vec::new();
    for table in tables.iter().map(Spanned::get_ref) {
        let filter = t.word("filter", Some(&table.filter), &[("local", analyses::LOCAL), ("gap", analyses::GAP)])?;
        let syncs = [("kept", analyses::Sync::Kept), ("ignored", analyses::Sync::Ignored)];
        let sync = t.word("synchronisation", table.synchronisation.as_ref(), &syncs)?;
        let count = table.seeds.as_ref().map_or(3, |s| *s.get_ref());
        if !(1..=SEEDS_MAX).contains(&count) {
            let e = SpecError::new(format!("seeds = {count} is not allowed: 1 to {SEEDS_MAX}"));
            return table.seeds.as_ref().map_or(Err(e.clone()), |at| t.put(at, Err(e)));
        }
        all.extend((1..=u64::from(count)).map(|seed| Disturbance { filter, sync, seed }));
    }
    Ok(all)
}

fn seeds(recorded: bool, seed: Option<u64>, merges: Option<u32>) -> Result<Option<Vec<u64>>, SpecError> {
    let (seed, merges) = (seed.unwrap_or(1), merges.unwrap_or(1));
    if merges == 0 || merges > MERGES_MAX {
        return Err(SpecError::new(format!("merges = {merges} is not allowed: 1 to {MERGES_MAX}")));
    }
    let last = seed.checked_add(u64::from(merges) - 1).ok_or_else(|| SpecError::new("seed is too large"))?;
    Ok(recorded.then(|| (seed..=last).collect()))
}

/// `"4..8192"`, `64` or a list of such.
fn block_sizes(value: &Value) -> Result<Vec<u64>, SpecError> {
    let one = |v: &Value| match v {
        Value::Integer(n) => Ok(n.to_string()),
        Value::String(s) => Ok(s.clone()),
        other => Err(SpecError::new(format!(
            "blocks: {other} is not allowed: sizes in bytes, or ranges such as \"4..8192\""
        ))),
    };
    let items = match value {
        Value::Array(list) => list.iter().map(one).collect::<Result<Vec<_>, _>>()?,
        other => vec![one(other)?],
    };
    blocks::blocks(items.iter().map(String::as_str))
}

fn machine_sets(
    t: &Text<'_>,
    names: &[Spanned<String>],
    tables: &[Spanned<MachineTable>],
    resolve: &Resolve<'_>,
) -> Result<Vec<MachineSet>, SpecError> {
    let mut sets = Vec::new();
    for name in names {
        sets.push(t.put(name, named(name.get_ref(), resolve))?);
    }
    for table in tables {
        sets.push(t.put(table, machine_set(t, table.get_ref(), resolve))?);
    }
    if sets.is_empty() {
        return Err(SpecError::new("no machine is named: write machines = [\"numa\"], or [[machine]] tables"));
    }
    Ok(sets)
}

/// A family, or a machine that `resolve` knows.
fn named(name: &str, resolve: &Resolve<'_>) -> Result<MachineSet, SpecError> {
    match families::family(name) {
        Ok(family) => Ok(MachineSet::family(family)),
        Err(_) => resolve(name).map(MachineSet::single).map_err(SpecError::new),
    }
}

fn machine_set(t: &Text<'_>, table: &MachineTable, resolve: &Resolve<'_>) -> Result<MachineSet, SpecError> {
    let base = match (&table.base, &table.family) {
        (Some(base), None) => {
            let found = resolve(base.get_ref()).map_err(SpecError::new);
            Base::Machine(Box::new(t.put(base, found)?))
        }
        (None, Some(name)) => Base::Family(t.put(name, families::family(name.get_ref()))?),
        _ => return Err(SpecError::new("a [[machine]] has either base = \"...\" or family = \"...\"")),
    };
    let given =
        [&table.lambda, &table.o_h, &table.o_s, &table.nodes, &table.r, &table.g, &table.global_copy, &table.copy];
    let mut axes = Vec::new();
    for ((param, key), value) in PARAMS.iter().zip(given) {
        if let Some(value) = value {
            axes.push((*param, t.put(value, Values::from_toml(key, value.get_ref(), param.word()))?));
        }
    }
    let set = MachineSet { base, axes };
    // What is wrong with one of them is wrong with all, mostly: said here, where the line is known.
    set.point(0)?;
    Ok(set)
}
