//! Changes of layout for people.
use homenode_realign::fields::{Change, Kind};
use homenode_report::layout::{LayoutKind, LayoutSize, LayoutVerdict};
use homenode_report::units::{CostUnit, bytes, percent};
use homenode_sim::Evaluation;

/// Fields that are spelt out.
const NAMED: usize = 4;

pub(super) fn kind(kind: Kind) -> LayoutKind {
    match kind {
        Kind::Pad => LayoutKind::Pad,
        Kind::Separate => LayoutKind::Separate,
        Kind::Group => LayoutKind::Group,
    }
}

/// What the costs come to. `found` is whether there was anything to try.
pub(super) fn sentence(verdict: LayoutVerdict, size: Option<&LayoutSize>, found: bool, e: &Evaluation) -> String {
    let Some(size) = size else { return "Nothing was asked.".to_owned() };
    let unit = CostUnit::of(&e.unit);
    let (before, after) = (&size.before, &size.after);
    let page = bytes(size.page_bytes);
    let costs = format!(
        "the cheapest protocol costs {} ({}) with pages of {page}, with them {} ({})",
        unit.cost(before.cost),
        before.protocol,
        unit.cost(after.cost),
        after.protocol
    );
    match verdict {
        LayoutVerdict::Advice => {
            let saved = (before.cost - after.cost).ratio_to(before.cost);
            format!("Another layout of data would save {}: without the changes below {costs}.", percent(saved))
        }
        _ if !found => format!(
            "No change of layout looks worth trying for protocols of page coherence with pages of {page}{}.",
            unless(verdict, e)
        ),
        _ if after.cost < before.cost => {
            format!("No gain worth a change of layout: without those tried {costs}{}.", unless(verdict, e))
        }
        _ => format!("No gain: changes of layout that looked worth trying save nothing{}.", unless(verdict, e)),
    }
}

/// What takes the certainty away that there is nothing.
fn unless(verdict: LayoutVerdict, e: &Evaluation) -> String {
    match e.evidence.gaps.first().filter(|_| verdict == LayoutVerdict::CannotTell) {
        Some(gap) => format!("; but whether there is none cannot be told: {}", gap.sentence.trim_end_matches('.')),
        None => String::new(),
    }
}

/// What to do, one sentence.
pub(super) fn advice(change: &Change, page_bytes: u64) -> String {
    let name = &change.object.name;
    let page = bytes(page_bytes);
    match change.kind {
        Kind::Pad => match change.element_bytes {
            Some(each) if each == change.part_bytes => {
                let to = each.next_multiple_of(page_bytes);
                format!(
                    "Pad the {each}-byte elements of `{name}` to {to} bytes and align it to {page_bytes}: each processor's lie on pages of its own."
                )
            }
            _ if change.object.instances > 1 && change.parts == change.object.instances => {
                format!(
                    "Give each allocation of `{name}` pages of its own: align it to {page_bytes} bytes and round its size up."
                )
            }
            _ => format!(
                "Let the part of each processor in `{name}` begin at a multiple of {page_bytes} bytes ({} parts of at most {} now).",
                change.parts,
                bytes(change.part_bytes)
            ),
        },
        Kind::Separate if change.users.len() == 1 => {
            format!("Put {} on pages of {page} that only the processor that uses it touches.", fields(change))
        }
        Kind::Separate if !change.rest && change.fields.iter().all(|f| f.starts_with("[]") || f.is_empty()) => format!(
            "Store {} as one block for each of the {} processors that use it, each on pages of {page} of its own: now what they use lies mixed.",
            fields(change),
            change.users.len()
        ),
        Kind::Separate => format!(
            "Move {} to pages of {page} of the processor that uses each: one block for each of {} processors, with all else that it \
             uses alone{}.",
            fields(change),
            change.users.len(),
            rest(change)
        ),
        Kind::Group => {
            format!("Put {} on pages of {page} with other data that is mostly read{}.", fields(change), rest(change))
        }
    }
}

fn rest(change: &Change) -> String {
    if change.rest { format!(", apart from the rest of `{}`", change.object.name) } else { String::new() }
}

/// `` `a.x`, `a.y` and 2 more ``; all of the object if nothing is known of fields.
fn fields(change: &Change) -> String {
    let name = &change.object.name;
    let all = !change.rest || change.fields.iter().all(String::is_empty);
    if all {
        return format!("`{name}`");
    }
    let mut words: Vec<String> = change.fields.iter().take(NAMED).map(|f| format!("`{name}{f}`")).collect();
    if change.fields.len() > NAMED {
        words.push(format!("{} more", change.fields.len() - NAMED));
    }
    match &words[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => words.concat(),
    }
}
