//! Plans from outside: nothing in them is believed before it was checked.
use super::{Entry, Home, ObjectKey, PLAN_SCHEMA, PLAN_SCHEMA_BEFORE, Plan};
use homenode_base::CpuId;
use homenode_machine::Machine;
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Not JSON, or a field that is missing, unknown or of the wrong type.
    #[error("plan, line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the JSON reader says.
        message: String,
    },
    /// Written by another version, or no plan at all.
    #[error(
        "this is no plan that this version reads: its schema is '{found}', not '{PLAN_SCHEMA}'; make it anew with \
         homenode place"
    )]
    Schema {
        /// The schema field, or `absent`.
        found: String,
    },
    /// A value that is not allowed.
    #[error("plan, {place}: {problem}")]
    Value {
        /// Path of the field.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
}

fn wrong(place: impl Into<String>, problem: impl Into<String>) -> PlanError {
    PlanError::Value { place: place.into(), problem: problem.into() }
}

impl Plan {
    /// Reads and checks a plan of this version or the one before, which becomes one of this version. Whether its processors and nodes exist is [`Plan::check_machine`]'s question.
    pub fn from_json(text: &str) -> Result<Plan, PlanError> {
        let syntax = |e: serde_json::Error| {
            let (line, column) = (e.line(), e.column());
            let message = e.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_string();
            PlanError::Syntax { line, column, message }
        };
        // The schema first: of a newer plan it is the version that matters, not the first unknown field.
        #[derive(serde::Deserialize)]
        struct Header {
            schema: Option<String>,
        }
        let header: Header = serde_json::from_str(text).map_err(syntax)?;
        if !matches!(header.schema.as_deref(), Some(PLAN_SCHEMA | PLAN_SCHEMA_BEFORE)) {
            return Err(PlanError::Schema { found: header.schema.unwrap_or_else(|| "absent".into()) });
        }
        let mut plan: Plan = serde_json::from_str(text).map_err(syntax)?;
        PLAN_SCHEMA.clone_into(&mut plan.schema);
        plan.validate()?;
        Ok(plan)
    }

    /// Whether the plan makes sense by itself.
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.schema != PLAN_SCHEMA {
            return Err(PlanError::Schema { found: self.schema.clone() });
        }
        let mut pinned = BTreeSet::new();
        for (i, pin) in self.threads.iter().enumerate() {
            if !pinned.insert(pin.thread) {
                return Err(wrong(format!("threads[{i}].thread"), format!("thread {} stands there twice", pin.thread)));
            }
        }
        for (i, entry) in self.entries.iter().enumerate() {
            validate_entry(entry).map_err(|(field, problem)| wrong(format!("entries[{i}].{field}"), problem))?;
        }
        for (i, module) in self.modules.iter().enumerate() {
            check_build_id(&module.build_id).map_err(|e| wrong(format!("modules[{i}].build_id"), e))?;
        }
        if !self.page_bytes.is_power_of_two() {
            return Err(wrong("page_bytes", format!("{} is no power of two", self.page_bytes)));
        }
        self.find_overlap()
    }

    /// Whether the machine has the processors and nodes that the plan names.
    pub fn check_machine(&self, machine: &Machine) -> Result<(), PlanError> {
        for (i, pin) in self.threads.iter().enumerate() {
            if machine.node_of(CpuId(pin.cpu)).is_none() {
                let problem = format!("machine {} has no processor {}", machine.name, pin.cpu);
                return Err(wrong(format!("threads[{i}].cpu"), problem));
            }
        }
        for (i, entry) in self.entries.iter().enumerate() {
            let named = match &entry.home {
                Home::Thread(_) => &[][..],
                Home::Node(n) => std::slice::from_ref(n),
                Home::Interleave(nodes) => nodes,
            };
            if let Some(n) = named.iter().find(|n| usize::from(**n) >= machine.nodes()) {
                let problem = format!("machine {} has no node {n}", machine.name);
                return Err(wrong(format!("entries[{i}].home"), problem));
            }
        }
        Ok(())
    }

    fn find_overlap(&self) -> Result<(), PlanError> {
        let mut ranges: BTreeMap<&ObjectKey, Vec<(u64, u64, usize)>> = BTreeMap::new();
        for (i, e) in self.entries.iter().enumerate() {
            ranges.entry(&e.object).or_default().push((e.offset, e.offset + e.bytes, i));
        }
        for list in ranges.values_mut() {
            list.sort_unstable();
            for pair in list.windows(2) {
                if pair[1].0 < pair[0].1 {
                    let (a, b) = (pair[0].2.min(pair[1].2), pair[0].2.max(pair[1].2));
                    return Err(wrong(format!("entries[{b}]"), format!("overlaps entries[{a}] of the same object")));
                }
            }
        }
        Ok(())
    }
}

fn check_build_id(id: &str) -> Result<(), String> {
    let digits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit());
    if digits { Ok(()) } else { Err(format!("'{id}' is not hexadecimal")) }
}

/// The size of the object, if its key has one.
fn validate_key(key: &ObjectKey) -> Result<Option<u64>, (&'static str, String)> {
    let (build_id, size) = match key {
        ObjectKey::Symbol { symbol, .. } if symbol.is_empty() => return Err(("object.symbol", "is empty".into())),
        ObjectKey::Heap { source: Some(at), .. } if at.file.is_empty() || at.line == 0 => {
            return Err(("object.source", "names no line of a file".into()));
        }
        ObjectKey::Symbol { build_id, size, .. } => (build_id, *size),
        ObjectKey::Heap { build_id, size, .. } => (build_id, *size),
        ObjectKey::Stack { .. } => return Ok(None),
    };
    check_build_id(build_id).map_err(|e| ("object.build_id", e))?;
    Ok(Some(size))
}

fn validate_entry(e: &Entry) -> Result<(), (&'static str, String)> {
    let size = validate_key(&e.object)?;
    if e.bytes == 0 {
        return Err(("bytes", "is 0".into()));
    }
    let end =
        e.offset.checked_add(e.bytes).ok_or_else(|| ("bytes", format!("{} passes the end of memory", e.bytes)))?;
    if let Some(size) = size.filter(|size| end > *size) {
        return Err(("bytes", format!("the range ends at {end}, the object at {size}")));
    }
    if let Home::Interleave(nodes) = &e.home {
        let distinct: BTreeSet<u16> = nodes.iter().copied().collect();
        if nodes.is_empty() || distinct.len() < nodes.len() {
            return Err(("home.interleave", "must name at least one node and none twice".into()));
        }
    }
    Ok(())
}
