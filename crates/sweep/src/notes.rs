//! What a reader of the table should know: units, rows that are not there, estimates.
use crate::clusters;
use crate::resolved::ResolvedStudy;
use homenode_command::Failure;
use homenode_machine::Machine;
use std::collections::BTreeMap;

/// Policies without rows that are named, at most.
const NAMED_MAX: usize = 8;

/// Sentences, the one that concerns every figure first.
pub(crate) fn notes(resolved: &ResolvedStudy) -> Result<Vec<String>, Failure> {
    if !resolved.study.clusters.is_empty() {
        return clusters::notes(resolved);
    }
    let machines = resolved.representatives()?;
    let mut notes = vec![units(&machines)];
    notes.extend(without_rows(resolved, &machines));
    if resolved.traces.iter().any(|t| t.sampled.is_some()) {
        notes.push("sampled traces: see mcpr_low and mcpr_high, and note for what cannot be known".to_owned());
    }
    for rule in &resolved.study.realign {
        let note = rule.spec().note.to_owned();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if resolved.wants_parts() {
        notes.push(
            "moves and copies of an optimum are those of one optimal placement; others may cost the same".to_owned(),
        );
    }
    Ok(notes)
}

/// `unit of costs: ps`, and which machine's where they differ.
fn units(machines: &[Machine]) -> String {
    let mut of: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for m in machines {
        let names = of.entry(m.unit.to_string()).or_default();
        if !names.contains(&m.name.as_str()) {
            names.push(&m.name);
        }
    }
    let part = |(unit, names): (&String, &Vec<&str>)| match of.len() {
        1 => unit.clone(),
        _ => format!("{unit} ({})", names.join(", ")),
    };
    format!("unit of costs: {}", of.iter().map(part).collect::<Vec<_>>().join("; "))
}

/// Policies that a machine cannot carry out.
fn without_rows(resolved: &ResolvedStudy, machines: &[Machine]) -> Option<String> {
    let block = resolved.study.blocks.last().copied().unwrap_or_default();
    let mut missing = Vec::new();
    for machine in machines {
        for choice in &resolved.study.policies {
            let pair = format!("{choice} on {}", machine.name);
            if choice.engine(machine, block).is_err() && !missing.contains(&pair) {
                missing.push(pair);
            }
        }
    }
    let more = missing.len().saturating_sub(NAMED_MAX);
    missing.truncate(NAMED_MAX);
    let and = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!missing.is_empty())
        .then(|| format!("no rows, since the machine cannot carry it out: {}{and}", missing.join(", ")))
}
