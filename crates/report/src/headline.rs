//! The finding in words: the one place that decides what a report says first, in text and in HTML.
use crate::compare::{Comparison, first_touch, is_named, share};
use crate::sampling::share_with_interval;
use crate::units::{CostUnit, factor, percent};
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{Finding, FindingKind, ObjectRow, OptimumRow, PolicyRow};

/// Shares below this are not worth a reader's time: a placement this near to the best one is called good.
const NEAR: f64 = 0.03;

/// What a report says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// What remote memory costs and what the best placement would cost.
    pub cost: String,
    /// What to blame and what to do, or why there is nothing to do.
    pub verdict: String,
    /// Whether there is something to change.
    pub actionable: bool,
}

/// The headline of one evaluation.
pub fn headline(e: &Evaluation) -> Headline {
    let Some(base) = first_touch(e) else {
        let cost = format!("No policy was evaluated on {}.", e.machine);
        return Headline { cost, verdict: "There is nothing to compare.".to_owned(), actionable: false };
    };
    if base.total == TotalCost::ZERO {
        let cost = format!("No reference of this recording costs anything on {}.", e.machine);
        return Headline { cost, verdict: "There is nothing to place.".to_owned(), actionable: false };
    }
    let verdict = e.findings.first().map_or_else(
        || nothing_to_do(e, base),
        |f| {
            let together = all_changes(e, base)
                .map(|(n, share)| format!(" All {n} changes together are worth {}.", percent(share)));
            blame(f, &e.objects) + &together.unwrap_or_default()
        },
    );
    let cost = cost_sentence(e, base);
    let cost = match e.totals.sampled {
        Some(_) => format!("By estimate, {}", decapitalised(&cost)),
        None => cost,
    };
    Headline { cost, verdict, actionable: !e.findings.is_empty() }
}

fn cost_sentence(e: &Evaluation, base: &PolicyRow) -> String {
    let unit = CostUnit::of(&e.unit);
    let far = share(base.remote + base.global, base.total);
    let passed = share(base.transfer, base.total);
    let head = match far {
        // Where lines go from cache to cache more than they come from afar, placement is not the story.
        f if passed > f => format!(
            "Cache lines that go from cache to cache cost this program {} of its memory cost on {}, remote memory {}",
            percent(passed),
            e.machine,
            percent(f)
        ),
        f if f > 0.0 => format!("Remote memory costs this program {} of its memory cost on {}", percent(f), e.machine),
        _ => format!("This program uses no remote memory on {}", e.machine),
    };
    let total = unit.cost_in_words(base.total);
    match best_placement(e) {
        Some(best) if share(base.total - best.total, best.total) > NEAR => {
            let less = percent(share(base.total - best.total, base.total));
            let best = unit.cost_in_words(best.total);
            format!("{head}; the best placement would cost {best} instead of {total}, {less} less.")
        }
        _ => format!("{head} ({total} in all)."),
    }
}

/// The bound that a user can reach without moving memory while the program runs, else the reference optimum.
pub(crate) fn best_placement(e: &Evaluation) -> Option<&OptimumRow> {
    e.optimum.iter().find(|o| is_named(&o.name, "best static")).or(e.optimum.first())
}

/// How many findings there are and what share of the cost they save together, if there are several.
pub(crate) fn all_changes(e: &Evaluation, base: &PolicyRow) -> Option<(usize, f64)> {
    let total = e.predicted_all.filter(|_| e.findings.len() > 1)?;
    Some((e.findings.len(), share(base.total - total, base.total)))
}

fn blame(f: &Finding, objects: &[ObjectRow]) -> String {
    let advice = f.advice.trim().trim_end_matches('.');
    let advice = match f.kind {
        FindingKind::FirstTouch => advice.replacen(&format!("`{}`", f.object), "it", 1),
        _ => advice.to_owned(),
    };
    let name = named(f, objects);
    let advice = decapitalised(&advice);
    let worth = share_with_interval(f.saving_share, f.saving_interval);
    format!("{name} is to blame: {advice}; worth {worth} of the memory cost.")
}

/// `` `a` (stencil.c:41) ``; the place is left out where the name says it already.
pub(crate) fn named(f: &Finding, objects: &[ObjectRow]) -> String {
    let place = objects.iter().find(|o| o.name == f.object).and_then(|o| o.place.as_ref()).or(f.places.first());
    match place {
        Some(place) if !f.object.contains(place.as_str()) => format!("`{}` ({place})", f.object),
        _ => format!("`{}`", f.object),
    }
}

/// The name of a bound in a table, marked if it is none that a placement can reach.
pub(crate) fn bound_name(e: &Evaluation, o: &OptimumRow, mark: &str) -> String {
    match e.totals.sampled {
        Some(_) => format!("{} (estimate)", o.name),
        None if o.exact || o.name.contains("bound") => o.name.clone(),
        None => format!("{} ({mark})", o.name),
    }
}

/// First letter lower, unless the word is an acronym or a symbol.
pub(crate) fn decapitalised(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

fn nothing_to_do(e: &Evaluation, base: &PolicyRow) -> String {
    let transfers = share(base.transfer, base.total);
    let Some(best) = best_placement(e) else {
        return "Nothing to change: no bound was computed to compare with.".to_owned();
    };
    let gap = share(base.total - best.total, best.total);
    if base.total <= best.total {
        format!("Nothing to change: first touch is as good as the {}.", placement_words(best))
    } else if gap <= NEAR {
        format!("Nothing to change: first touch is within {} of the {}.", whole_percent(gap), placement_words(best))
    } else if transfers > 0.5 {
        format!(
            "Nothing to change in the placement: {} of the cost is lines that travel between caches, wherever their pages live.",
            percent(transfers)
        )
    } else {
        format!(
            "No single remedy: first touch costs {} the {}, but no one object accounts for it.",
            factor(base.total.ratio_to(best.total)),
            placement_words(best)
        )
    }
}

pub(crate) fn placement_words(best: &OptimumRow) -> String {
    let name = best.name.replace(['-', '_'], " ");
    if is_named(&best.name, "best static") { "best static placement".to_owned() } else { name }
}

/// Rounded up to whole per cent, so that "within" stays true.
fn whole_percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).ceil())
}

/// One sentence on a comparison.
pub fn comparison(c: &Comparison) -> String {
    let unit = CostUnit::of(&c.evaluation.unit);
    let verb = if c.realised_saving >= TotalCost::ZERO { "saved" } else { "cost" };
    let amount = TotalCost(c.realised_saving.0.saturating_abs());
    let realised = format!(
        "The second recording {verb} {} ({} of the memory cost: {} before, {} after)",
        unit.cost_in_words(amount),
        percent(c.realised_share().abs()),
        unit.cost(c.before),
        unit.cost(c.after)
    );
    if !c.predicts() {
        return format!("{realised}; nothing was predicted, for no finding of the first one is gone.");
    }
    let verdict = if c.within_tenth { "within 10 %" } else { "not within 10 %" };
    format!(
        "{realised}; predicted was {} ({}), which is {verdict}.",
        unit.cost_in_words(c.predicted_saving),
        percent(c.predicted_share())
    )
}

/// What a kind of finding is called.
pub fn kind_name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::FirstTouch => "First touch by the wrong thread",
        FindingKind::FalseSharing => "False sharing",
        FindingKind::ReadShared => "Read by all, home at one",
    }
}

/// First letter upper.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
