//! The finding in words: the one place that decides what a report says first, in text and in HTML.
//!
//! What costs most goes first, whether or not something cures it ([`causes`]); "nothing to change" is said only of
//! evaluations whose [`Evidence`](homenode_sim::Evidence) lacks nothing.
pub mod causes;
mod together;

use crate::compare::{Comparison, first_touch, is_named, share};
use crate::sampling::share_with_interval;
use crate::units::{CostUnit, count, factor, percent};
use causes::FIGHT_MIN;
pub use causes::{Cause, CauseKind, causes};
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evaluation::{Finding, FindingKind, LoopRow, ObjectRow, OptimumRow, PolicyRow, TrueUse};
use homenode_sim::evidence::{Doubt, Gap};
pub(crate) use together::{all_changes, doing};

/// Shares below this are not worth a reader's time: a placement this near to the best one is called good.
const NEAR: f64 = 0.03;
/// An object that has this part of a cause accounts for it.
const MOST: f64 = 0.5;

/// What a report says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// What memory costs and what most of that is.
    pub cost: String,
    /// What to blame and what to do, why there is nothing to do, or why nobody can tell.
    pub verdict: String,
    /// Whether there is something to change.
    pub actionable: bool,
    /// What decides whether to trust this, one sentence each.
    pub trust: Vec<String>,
}

impl Headline {
    fn plain(cost: String, verdict: &str) -> Headline {
        Headline { cost, verdict: verdict.to_owned(), actionable: false, trust: Vec::new() }
    }
}

/// The headline of one evaluation.
pub fn headline(e: &Evaluation) -> Headline {
    let mut words = without_trust(e);
    let said = |s: &str| [s, &decapitalised(s)].iter().any(|s| words.verdict.contains(*s) || words.cost.contains(*s));
    let gaps = e.evidence.gaps.iter().map(|g| g.sentence.clone());
    let beyond = first_touch(e).and_then(|base| together::beyond_placement(e, base));
    words.trust = beyond.into_iter().chain(turns(e)).chain(gaps).filter(|s| !said(s)).collect();
    words
}

/// What locks and atomics cost at both ends, if it matters: the machine decides who gets them when.
fn turns(e: &Evaluation) -> Option<String> {
    let (base, t) = (first_touch(e)?, e.transfer_breakdown.in_turns.as_ref()?);
    if share(t.alternating, base.total.max(t.alternating)) <= NEAR || t.turns < FIGHT_MIN {
        return None;
    }
    let unit = CostUnit::of(&e.unit);
    let [one_run, alternating, replayed] = [t.in_one_run, t.alternating, t.cost].map(|cost| unit.cost_in_words(cost));
    let at = if t.places.is_empty() { String::new() } else { format!(" ({})", listed(&t.places)) };
    Some(format!(
        "Who gets `{}` when{at} is up to the machine: {} turns of this kind cost {one_run} if each thread makes all of its own \
         in one run, {alternating} if they alternate strictly; {replayed} as replayed, where all threads run equally fast.",
        t.object,
        count(t.turns),
    ))
}

fn without_trust(e: &Evaluation) -> Headline {
    let Some(base) = first_touch(e) else {
        return Headline::plain(format!("No policy was evaluated on {}.", e.machine), "There is nothing to compare.");
    };
    if let Some(gap) = e.evidence.against(Doubt::Locality) {
        let cost =
            format!("Cannot tell what memory costs this program on {}: {}", e.machine, decapitalised(&gap.sentence));
        return Headline::plain(cost, &format!("Cannot tell whether there is anything to change{}", to_know(gap)));
    }
    if base.total == TotalCost::ZERO {
        let cost = format!("No reference of this recording costs anything on {}.", e.machine);
        return Headline::plain(cost, &doubtful(e, "There is nothing to place."));
    }
    let causes = causes(e, base);
    // Many small causes are something to change, too.
    let costly = share(base.transfer, base.total) > NEAR && e.totals.transfers >= FIGHT_MIN;
    let top = causes.first().filter(|c| c.share_of(base) > NEAR || costly);
    let verdict = match (e.findings.first(), top) {
        (Some(f), top) => found(e, base, f, top),
        (None, Some(top)) => unless_in_doubt(e, cause_words(e, base, top)),
        (None, None) => nothing_to_do(e, base),
    };
    let cost = cost_sentence(e, base, top);
    let cost = match e.totals.sampled {
        Some(_) => format!("By estimate, {}", decapitalised(&cost)),
        None => cost,
    };
    let actionable = !e.findings.is_empty() && e.evidence.against(Doubt::Findings).is_none();
    Headline { cost, verdict, actionable, trust: Vec::new() }
}

/// What memory costs, and what the largest part of it is that something could be done about.
fn cost_sentence(e: &Evaluation, base: &PolicyRow, top: Option<&Cause>) -> String {
    let unit = CostUnit::of(&e.unit);
    let total = unit.cost_in_words(base.total);
    let threads = e.threads.iter().filter(|t| t.refs > 0).count();
    let all = match unit {
        CostUnit::Time if threads > 1 => format!("{total}, summed over {threads} threads"),
        _ => format!("{total} in all"),
    };
    let part = |what: &str| {
        let part = top.map_or(0.0, |t| t.share_of(base));
        format!("{} of this program's memory cost on {} is {what} ({all}).", percent(part), e.machine)
    };
    match top.map(|t| t.kind) {
        Some(CauseKind::FalseSharing) => part("lines that go from cache to cache for nothing: false sharing"),
        Some(CauseKind::TrueSharing) => part("lines that threads fight over: true sharing"),
        Some(CauseKind::Locks) => part("locks passed from thread to thread"),
        Some(CauseKind::Unwatched) => part("lines that go from cache to cache, too many to say why"),
        Some(CauseKind::Placement) => {
            placement_sentence(e, base, top.map_or(TotalCost::ZERO, |t| t.cost), (&total, &all))
        }
        None => match share(base.remote + base.global, base.total) {
            f if f > 0.0 => {
                format!("{} of this program's memory cost on {} is remote memory ({all}).", percent(f), e.machine)
            }
            _ => format!("This program uses no remote memory on {} ({all}).", e.machine),
        },
    }
}

fn placement_sentence(e: &Evaluation, base: &PolicyRow, cost: TotalCost, (total, all): (&str, &str)) -> String {
    let far = share(base.remote + base.global, base.total);
    let head = format!("Remote memory costs this program {} of its memory cost on {}", percent(far), e.machine);
    match best_placement(e) {
        Some(best) if share(base.total - best.total, base.total) > NEAR => {
            let less = percent(share(base.total - best.total, base.total));
            let best = CostUnit::of(&e.unit).cost_in_words(best.total);
            format!("{head}; the best placement would cost {best} instead of {total}, {less} less.")
        }
        _ => {
            let saved = percent(share(cost, base.total));
            format!(
                "{saved} of this program's memory cost on {} depends on who initialises or copies its memory ({all}).",
                e.machine
            )
        }
    }
}

/// The verdict where something to change was found: what is dearest first, even if nothing cures it.
fn found(e: &Evaluation, base: &PolicyRow, f: &Finding, top: Option<&Cause>) -> String {
    let blamed = blame(f, &e.objects) + &together::words(e, base);
    let dearer = top.filter(|t| t.kind != CauseKind::of(f.kind) && t.cost > f.saving);
    let cured = dearer.is_some_and(|t| e.findings.iter().any(|f| CauseKind::of(f.kind) == t.kind));
    let verdict = match dearer {
        Some(t) if !cured => format!("{} What can be changed: {blamed}", cause_words(e, base, t)),
        _ => blamed,
    };
    unless_in_doubt(e, verdict)
}

/// A verdict, or why it may be wrong.
fn unless_in_doubt(e: &Evaluation, verdict: String) -> String {
    match e.evidence.against(Doubt::Findings) {
        Some(gap) => format!("Cannot tell for certain: {} As replayed: {verdict}", decapitalised(&gap.sentence)),
        None => verdict,
    }
}

/// A verdict that says that there is nothing, or that this cannot be told.
fn doubtful(e: &Evaluation, verdict: &str) -> String {
    match e.evidence.gaps.first() {
        None => verdict.to_owned(),
        Some(gap) => {
            let seen = verdict.strip_prefix("Nothing to change: ").unwrap_or(verdict).trim_end_matches('.');
            let (seen, sentence) = (decapitalised(seen), &gap.sentence);
            format!(
                "Cannot tell whether there is anything to change: in what was seen, {seen}. {sentence}{}",
                clause(gap)
            )
        }
    }
}

/// `: record all references.`, or a full stop.
fn to_know(gap: &Gap) -> String {
    if gap.remedy.is_empty() { ".".to_owned() } else { format!(". To know, {}.", gap.remedy) }
}

fn clause(gap: &Gap) -> String {
    if gap.remedy.is_empty() { String::new() } else { format!(" To know, {}.", gap.remedy) }
}

/// What costs, where, and what is known about curing it, if no finding does.
fn cause_words(e: &Evaluation, base: &PolicyRow, c: &Cause) -> String {
    let name = c.object.as_ref().map(|o| named_object(o, &e.objects, None));
    let at = if c.places.is_empty() { String::new() } else { format!(" at {}", listed(&c.places)) };
    let worth = percent(share(c.object_cost, base.total));
    let name = name.unwrap_or_else(|| "memory without a name".to_owned());
    match c.kind {
        CauseKind::Placement => misplaced(e, base, c, &name, &at),
        CauseKind::FalseSharing => format!(
            "Threads use different words of the same lines of {name}{at}: {worth} of the memory cost. No change that was \
             tried cures it."
        ),
        CauseKind::TrueSharing => format!(
            "Threads fight over lines of {name}{at}: {worth} of the memory cost. No change of layout cures true sharing: {}.{}",
            sharing_advice(e.transfer_breakdown.true_use),
            dealt_anew(e, base, c.object_cost)
        ),
        CauseKind::Locks => format!(
            "Threads pass {name} around{at}: {worth} of the memory cost. No placement cures that: take locks less often, or \
             have more of them."
        ),
        CauseKind::Unwatched => format!(
            "Lines of {name} go from cache to cache{at}: {worth} of the memory cost. Whether they are falsely shared cannot \
             be told: record a smaller problem."
        ),
    }
}

/// What helps depends on what threads do to the lines.
fn sharing_advice(how: TrueUse) -> &'static str {
    match how {
        TrueUse::Added => "add there less often, or give each thread its own and add up at the end",
        TrueUse::HandedOver => {
            "some threads read what others wrote there; hand over less, or let the same threads do both"
        }
        TrueUse::Unclear => "write there less often",
    }
}

/// A loop that deals its iterations anew each time may be why memory goes from thread to thread: said where it costs at least half of
/// what they fight over and has the code that does, unless they add something up there, which no schedule helps.
fn dealt_anew(e: &Evaluation, base: &PolicyRow, fought_over: TotalCost) -> String {
    let fought_at = e.transfer_breakdown.truly_shared.lines.first().map_or("", |l| l.function.as_str());
    let is_it = |l: &&LoopRow| {
        l.dealt_anew && l.cost.0 * 2 >= fought_over.0 && l.function == fought_at && !fought_at.is_empty()
    };
    match e.loops.iter().find(is_it) {
        Some(l) if e.transfer_breakdown.true_use != TrueUse::Added => format!(
            " The loop at {} (`{}`) has {} of the memory cost and gives its iterations to whoever comes next: with `schedule(static)`, \
             where iterations are alike, each thread would use the same part every time.",
            l.place,
            l.construct,
            percent(share(l.cost, base.total)),
        ),
        _ => String::new(),
    }
}

fn misplaced(e: &Evaluation, base: &PolicyRow, c: &Cause, name: &str, at: &str) -> String {
    let Some(best) = best_placement(e) else {
        return "No bound was computed to compare with.".to_owned();
    };
    let (ratio, best_words) = (factor(base.total.ratio_to(best.total)), placement_words(best));
    let part = share(c.object_cost, base.total - best.total).min(1.0);
    let whose = if part >= MOST {
        format!("{} of that is {name}, used{at}", percent(part))
    } else {
        format!("it is spread over several objects, most ({}) on {name}", percent(part))
    };
    format!(
        "First touch costs {ratio} the {best_words}; {whose}. No single change to the program was found that saves it; \
         `homenode place` makes a plan that does."
    )
}

/// `a`, `a and b`, `a, b and c`.
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The bound that a user can reach without moving memory while the program runs, else the reference optimum.
pub(crate) fn best_placement(e: &Evaluation) -> Option<&OptimumRow> {
    e.optimum.iter().find(|o| is_named(&o.name, "best static")).or(e.optimum.first())
}

fn blame(f: &Finding, objects: &[ObjectRow]) -> String {
    let advice = f.advice.trim().trim_end_matches('.');
    let advice = match f.kind {
        FindingKind::FirstTouch => advice.replacen(&format!("`{}`", f.object), "it", 1),
        _ => advice.to_owned(),
    };
    let name = named_in_use(f, objects);
    let advice = decapitalised(&advice);
    let worth = share_with_interval(f.saving_share, f.saving_interval);
    format!("{name} is to blame: {advice}; worth {worth} of the memory cost.")
}

/// `` `a` (stencil.c:41) ``; the place is left out where the name says it already.
pub(crate) fn named(f: &Finding, objects: &[ObjectRow]) -> String {
    named_object(&f.object, objects, f.places.first())
}

/// Likewise; of lines that are fought over also where they are used.
fn named_in_use(f: &Finding, objects: &[ObjectRow]) -> String {
    let name = named(f, objects);
    let used = f.places.iter().find(|p| !name.contains(p.as_str()));
    match used.filter(|_| !f.kind.is_placement()) {
        Some(place) if name.ends_with(')') => format!("{}; used at {place})", &name[..name.len() - 1]),
        Some(place) => format!("{name} (used at {place})"),
        None => name,
    }
}

fn named_object(name: &str, objects: &[ObjectRow], otherwise: Option<&String>) -> String {
    let place = objects.iter().find(|o| o.name == name).and_then(|o| o.place.as_ref()).or(otherwise);
    match place {
        Some(place) if !name.contains(place.as_str()) => format!("`{name}` ({place})"),
        _ => format!("`{name}`"),
    }
}

/// Whether two findings say the same of different objects.
pub(crate) fn same_advice(a: &Finding, b: &Finding) -> bool {
    let general = |f: &Finding| -> String {
        let text = f.advice.replace(&format!("`{}`", f.object), "it");
        let word = |w: &str| {
            crate::units::place_in(w).map_or(w.to_owned(), |(before, _, after)| format!("{before}there{after}"))
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    };
    a.kind == b.kind && a.object != b.object && general(a) == general(b)
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

/// Nothing costs enough to be named.
fn nothing_to_do(e: &Evaluation, base: &PolicyRow) -> String {
    let Some(best) = best_placement(e) else {
        return "Cannot tell whether there is anything to change: no bound was computed to compare with.".to_owned();
    };
    let gap = share(base.total - best.total, best.total);
    let placed =
        if base.total <= best.total { "as good as".to_owned() } else { format!("within {} of", whole_percent(gap)) };
    let passed = match share(base.transfer, base.total) {
        // Handed over once: a large share of next to nothing.
        p if p > NEAR => {
            let times = count(e.totals.transfers);
            let all = CostUnit::of(&e.unit).cost_in_words(base.total);
            let verdict = format!(
                "There is little to save: all memory costs is {all}, {} of it for lines that went from cache to cache {times} \
                 times in all; first touch is {placed} the {}.",
                percent(p),
                placement_words(best),
            );
            return doubtful(e, &verdict);
        }
        p if p > 0.0 => format!(", and lines that go from cache to cache cost {}", percent(p)),
        _ => String::new(),
    };
    let verdict = format!("Nothing to change: first touch is {placed} the {}{passed}.", placement_words(best));
    doubtful(e, &verdict)
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
        FindingKind::SharedUpdates => "Updated by many threads",
        FindingKind::Layout => "Partition against layout",
        FindingKind::OwnersChange => "Owners change between phases",
    }
}

/// First letter upper.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
