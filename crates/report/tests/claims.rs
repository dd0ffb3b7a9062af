//! No sentence of a headline contradicts the tables below it: results are generated, sentences taken apart again, and each
//! number, name and superlative compared with the evaluation. The checker shares no code with what writes the sentences.
mod support;

use homenode_analysis::{ObjectName, SiteName, UNKNOWN_OBJECT};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::models;
use homenode_placement::policies::Choice;
use homenode_report::headline::{Headline, headline};
use homenode_sim::evaluation::{
    Finding, FindingKind, InTurns, ObjectRow, OptimumRow, PolicyRow, TransferClass, TrueUse,
};
use homenode_sim::evidence::{Doubt, Evidence, Gap, GapKind};
use homenode_sim::{EvalContext, EvalOptions, Evaluation, ObjectRange, Objects, Setup, ThreadBinding, evaluate};
use homenode_trace::order::Listed;
use homenode_trace::{Event, Merged, Op};

/// The share that text such as `38 % of` or `<0.1 % of` begins with, in per cent, and how far rounding may have moved it.
fn percent(text: &str) -> (f64, f64) {
    let number = text.split(" %").next().unwrap();
    if number == "<0.1" {
        return (0.025, 0.026);
    }
    let value: f64 = number.parse().unwrap_or_else(|_| panic!("no share: {text}"));
    (value, if number.contains('.') { 0.0501 } else { 0.501 })
}

fn says(text: &str, share: f64) {
    let (value, slack) = percent(text);
    assert!((value - share * 100.0).abs() <= slack, "`{text}` is said of {share}");
}

/// What stands after `mark`, if it occurs.
fn after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

/// The last word or number before `mark`: `38 %` of `... worth 38 % of that`.
fn share_before<'t>(text: &'t str, mark: &str) -> &'t str {
    let end = text.find(mark).unwrap();
    let from = text[..end].trim_end_matches(" %").rfind([' ', '(']).map_or(0, |i| i + 1);
    &text[from..end]
}

/// The cost that text such as `1.5 ms if` begins with is this one, but for rounding.
fn costs(text: &str, cost: TotalCost) {
    let mut words = text.split(' ');
    let (number, unit) = (words.next().unwrap(), words.next().unwrap().trim_end_matches([',', '.', ';']));
    let scale = [("ps", 1.0), ("ns", 1e3), ("µs", 1e6), ("ms", 1e9), ("s", 1e12)];
    let scale = scale.iter().find(|s| s.0 == unit).unwrap_or_else(|| panic!("no cost: {text}")).1;
    let value: f64 = number.replace(',', "").parse().unwrap_or_else(|_| panic!("no cost: {text}"));
    let is = cost.0 as f64;
    assert!((value * scale - is).abs() <= is * 0.006 + 0.5, "`{text}` is said of {is} ps");
}

fn part(a: TotalCost, b: TotalCost) -> f64 {
    if b.0 == 0 { 0.0 } else { a.0 as f64 / b.0 as f64 }
}

/// What a class costs, unless it is a handful of transfers that no finding is about.
fn fights(e: &Evaluation, class: &TransferClass, kind: Option<FindingKind>) -> TotalCost {
    let found = e.findings.iter().any(|f| Some(f.kind) == kind);
    if class.transfers < 32 && !found { TotalCost::ZERO } else { class.cost }
}

struct Tables<'e> {
    e: &'e Evaluation,
    base: &'e PolicyRow,
    best: &'e OptimumRow,
}

impl Tables<'_> {
    fn gap(&self) -> TotalCost {
        self.base.total - self.best.total
    }
    /// What something could be done about, by what the headline calls it.
    fn causes(&self) -> [(&'static str, TotalCost); 5] {
        let (e, t) = (self.e, &self.e.transfer_breakdown);
        let placed = e.findings.iter().filter(|f| f.kind.is_placement()).map(|f| f.saving).max();
        let all = e.predicted_all.filter(|_| e.findings.iter().all(|f| f.kind.is_placement()));
        let placed = placed.max(all.map(|all| self.base.total - all));
        [
            ("false sharing", fights(e, &t.falsely_shared, Some(FindingKind::FalseSharing))),
            ("true sharing", fights(e, &t.truly_shared, Some(FindingKind::SharedUpdates))),
            ("locks passed", fights(e, &t.locks, None)),
            ("too many to say why", fights(e, &t.unwatched, None)),
            ("Remote memory costs", self.gap().max(placed.unwrap_or(TotalCost::ZERO))),
        ]
    }
    fn dearest(&self) -> TotalCost {
        self.causes().iter().map(|c| c.1).max().unwrap()
    }
}

fn check(e: &Evaluation) -> Headline {
    let h = headline(e);
    let find = |name: &str| e.policies.iter().find(|p| p.name == name);
    let (Some(base), Some(best)) = (find("first-touch"), e.optimum.iter().find(|o| o.name == "best static")) else {
        return h;
    };
    let tables = Tables { e, base, best };
    evidence(&h, e);
    h.trust.iter().for_each(|sentence| trust(sentence, e));
    beyond_placement(&h, &tables);
    e.findings.iter().for_each(|f| finding(f, &tables));
    if e.evidence.gaps.iter().any(|g| g.doubts == Doubt::Locality) {
        let both = format!("{} {}", h.cost, h.verdict);
        assert!(h.cost.starts_with("Cannot tell") && !both.contains(" %"), "no share without locality: {both}");
        return h;
    }
    if base.total > TotalCost::ZERO {
        cost(&h.cost, &tables);
        verdict(&h, &tables);
    }
    h
}

/// What is said beside the verdict.
fn trust(sentence: &str, e: &Evaluation) {
    let Some(rest) = after(sentence, "is up to the machine: ") else { return };
    let t = e.transfer_breakdown.in_turns.as_ref().expect("turns are told of");
    assert!(
        sentence.contains(&format!("`{}`", t.object)) && t.places.iter().all(|p| sentence.contains(p)),
        "{sentence}"
    );
    assert_eq!(rest.split(' ').next().unwrap().replace(',', ""), t.turns.to_string(), "{sentence}");
    costs(after(rest, " kind cost ").unwrap(), t.in_one_run);
    costs(after(rest, "one run, ").unwrap(), t.alternating);
    costs(after(rest, "strictly; ").unwrap(), t.cost);
    assert!(t.in_one_run <= t.cost && t.cost <= t.alternating, "{t:?}");
}

/// Changes that cost less than any placement are never told of without a word of why.
fn beyond_placement(h: &Headline, t: &Tables<'_>) {
    let least = t.e.optimum.iter().map(|o| o.total).min().unwrap();
    let placing = t.e.findings.iter().any(|f| f.kind.is_placement());
    let below = placing && t.e.predicted_all.is_some_and(|all| all < least);
    let told = h.trust.iter().find_map(|s| after(s, "worth more than any placement ("));
    assert_eq!(told.is_some(), below, "less than the optimum without a word of why: {h:?}");
    if let Some(rest) = told {
        says(rest, part(t.base.total - least, t.base.total));
        let initialises = t.e.findings.iter().any(|f| f.kind == FindingKind::FirstTouch);
        assert_eq!(h.trust[0].contains("other threads initialise"), initialises, "{h:?}");
    }
}

/// The first number after `mark`.
fn number(text: &str, mark: &str) -> Option<u64> {
    let rest = after(text, mark)?;
    rest.split(|c: char| !c.is_ascii_digit() && c != ',').next()?.replace(',', "").parse().ok()
}

/// A finding's own sentence and advice against rows and sums.
fn finding(f: &Finding, t: &Tables<'_>) {
    let e = t.e;
    assert_eq!(f.saving, t.base.total - f.predicted_total, "{f:?}");
    assert!((f.saving_share - part(f.saving, t.base.total)).abs() < 1e-9, "{f:?}");
    assert!(f.sentence.ends_with('.') && f.advice.ends_with('.') && f.sentence.contains(&f.object), "{f:?}");
    if let Some(times) = number(&f.sentence, "cache to cache ") {
        assert!(times <= e.totals.transfers, "{} of {}: {}", times, e.totals.transfers, f.sentence);
    }
    if let Some(rest) = after(&f.sentence, " times, ") {
        let useless: u64 = rest.split(' ').next().unwrap().parse().unwrap();
        assert!(useless <= e.transfer_breakdown.falsely_shared.transfers, "{}", f.sentence);
        assert!(useless <= number(&f.sentence, "cache to cache ").unwrap(), "{}", f.sentence);
    }
    let row = e.objects.iter().find(|o| o.name == f.object);
    if let (Some(row), FindingKind::FirstTouch) = (row, f.kind) {
        let by: Vec<u32> = row.first_touch.iter().map(|x| x.0).collect();
        if let Some(first) = number(&f.sentence, "first touched by thread ") {
            assert!(by.contains(&(first as u32)), "{by:?}: {}", f.sentence);
        }
        if let Some(user) = number(&f.advice, "Let thread ") {
            assert!(row.users.contains(&(user as u32)), "{:?}: {}", row.users, f.advice);
        }
    }
}

/// Nothing missing is a condition for "nothing to change", and what is missing is said.
fn evidence(h: &Headline, e: &Evaluation) {
    let all = format!("{} {} {}", h.cost, h.verdict, h.trust.join(" ")).to_lowercase();
    for gap in &e.evidence.gaps {
        assert!(all.contains(&gap.sentence.to_lowercase()), "{:?} is not said: {all}", gap.kind);
    }
    let acquits = ["Nothing to change", "There is nothing", "There is little"].iter().any(|w| h.verdict.contains(w));
    if acquits {
        assert!(e.evidence.gaps.is_empty() && e.findings.is_empty(), "{}", h.verdict);
    }
    if e.evidence.gaps.iter().any(|g| g.doubts >= Doubt::Findings) {
        assert!(h.verdict.starts_with("Cannot tell") && !h.actionable, "{}", h.verdict);
    }
}

fn cost(text: &str, t: &Tables<'_>) {
    let far = part(t.base.remote + t.base.global, t.base.total);
    let text = text.strip_prefix("By estimate, ").unwrap_or(text);
    if text.contains("depends on who initialises or copies its memory") {
        assert!(part(t.gap(), t.base.total) <= 0.03, "{text}");
        return says(text, part(t.dearest(), t.base.total));
    }
    let (name, led) = match t.causes().into_iter().find(|(name, _)| text.to_lowercase().contains(&name.to_lowercase()))
    {
        Some(found) => found,
        None => {
            if text.to_lowercase().contains("no remote memory") {
                return assert_eq!(far, 0.0, "{text}");
            }
            assert!(text.contains("is remote memory ("), "an unknown sentence: {text}");
            says(text, far);
            let costly = part(t.base.transfer, t.base.total) > 0.03 && t.e.totals.transfers >= 32;
            return assert!(part(t.dearest(), t.base.total) <= 0.03 && !costly, "something costs more: {text}");
        }
    };
    assert_eq!(led, t.dearest(), "{name} leads and is not the dearest: {text}");
    match after(text, "costs this program ") {
        Some(rest) => says(rest, far),
        None => says(text, part(led, t.base.total)),
    }
    if let Some(rest) = after(text, " instead of ") {
        says(after(rest, ", ").unwrap(), part(t.gap(), t.base.total));
    }
}

fn verdict(h: &Headline, t: &Tables<'_>) {
    let (e, v) = (t.e, h.verdict.as_str());
    let gain = |o: &ObjectRow| o.cost - o.best_static;
    let most = e.objects.iter().map(gain).max().unwrap_or(TotalCost::ZERO);
    if let Some(rest) = after(v, "first touch is within ") {
        let (said, is) = (percent(rest).0, part(t.gap(), t.best.total) * 100.0);
        assert!(is > 0.0 && is <= said && said - is <= 1.0, "{v}: {is}");
    }
    if v.contains("first touch is as good as") {
        assert!(t.base.total <= t.best.total, "{v}");
    }
    if let Some(rest) = after(v, "lines that go from cache to cache cost ") {
        says(rest, part(t.base.transfer, t.base.total));
    }
    if v.contains("spread over several objects") {
        assert!(part(most, t.gap()) < 0.5, "one object does account for it: {v}");
        says(share_before(after(v, "most (").unwrap(), ") on"), part(most, t.gap()));
    }
    if v.contains(" of that is `") {
        assert!(part(most, t.gap()) >= 0.5, "{v}");
        says(share_before(v, " of that is `"), part(most, t.gap()).min(1.0));
    }
    if v.contains("fight over") {
        let adds = t.e.transfer_breakdown.true_use == TrueUse::Added;
        assert_eq!(v.contains("add up at the end"), adds, "{v}");
    }
    if v.contains(": No change") || v.contains("fight over") {
        says(
            share_before(v, " of the memory cost. No"),
            part(e.transfer_breakdown.truly_shared.object_cost, t.base.total),
        );
    }
    if v.contains("Nothing to change") {
        assert!(part(t.base.transfer, t.base.total) <= 0.031, "lines that travel cost something: {v}");
    }
    if let Some(rest) = after(&v.to_lowercase(), "there is little to save: all memory costs is ") {
        costs(rest, t.base.total);
        says(after(rest, ", ").unwrap(), part(t.base.transfer, t.base.total));
        let times = after(rest, "from cache to cache ").unwrap().split(' ').next();
        assert_eq!(times, Some(e.totals.transfers.to_string().as_str()), "{v}");
        assert!(e.totals.transfers < 32, "{v}");
    }
    blame(v, t);
    for name in v.split('`').skip(1).step_by(2).filter(|n| !n.starts_with("homenode") && !n.starts_with("--")) {
        let classes = &e.transfer_breakdown;
        let classes = [&classes.falsely_shared, &classes.truly_shared, &classes.locks, &classes.unwatched];
        let known = e.objects.iter().any(|o| o.name == name)
            || e.findings.iter().any(|f| f.object == name)
            || classes.iter().any(|c| c.object.as_deref() == Some(name))
            || e.evidence.gaps.iter().any(|g| g.sentence.contains(name));
        assert!(known, "`{name}` is in no table: {v}");
    }
}

fn blame(v: &str, t: &Tables<'_>) {
    let Some((before, rest)) = v.split_once(" is to blame: ") else {
        return assert!(t.e.findings.is_empty(), "a finding is not told of: {v}");
    };
    let first = t.e.findings.first().expect("somebody is blamed");
    assert!(before.contains(&format!("`{}`", first.object)), "{v}");
    assert!(t.e.findings.iter().all(|f| f.saving <= first.saving), "{v}");
    says(after(rest, "; worth ").unwrap(), first.saving_share);
    if let Some(all) = after(rest, "changes together are worth ") {
        says(all, part(t.base.total - t.e.predicted_all.unwrap(), t.base.total));
    }
    // What is dearer and not cured stands before it.
    let cured = t.e.findings.iter().any(|f| f.kind == FindingKind::SharedUpdates);
    let fought = fights(t.e, &t.e.transfer_breakdown.truly_shared, None);
    if !cured && fought == t.dearest() && part(fought, t.base.total) > 0.031 && fought > first.saving {
        assert!(before.contains("fight over"), "true sharing is dearer: {v}");
    }
}

/// Numbers that agree with each other as those of the pipeline do, but take every proportion.
fn random_document(rng: &mut Rng) -> Evaluation {
    let mut e = support::evaluation();
    let scale = [1u64, 100, 10_000_000][rng.below(3) as usize];
    let some = |rng: &mut Rng| TotalCost(if rng.chance(1, 3) { 0 } else { i128::from(rng.below(1_000 * scale)) });
    let classes: Vec<TotalCost> = (0..4).map(|_| some(rng)).collect();
    let [local, remote, gain] = [some(rng), some(rng), some(rng)];
    let transfer = classes.iter().copied().sum::<TotalCost>();
    let total = local + remote + transfer;
    let gain = gain.min(remote);
    for p in &mut e.policies {
        (p.local, p.remote, p.global, p.movement, p.transfer, p.total) =
            (local, remote, TotalCost::ZERO, TotalCost::ZERO, transfer, total);
    }
    e.optimum.iter_mut().for_each(|o| o.total = total - gain);
    e.objects.truncate(3);
    let mut left = gain;
    for (i, o) in e.objects.iter_mut().enumerate() {
        let mine = if i == 2 { left } else { TotalCost(i128::from(rng.below(left.0 as u64 + 1))) };
        (o.cost, o.best_static, o.remote_cost, left) = (mine + local, local, mine, left - mine);
    }
    let class = |cost: TotalCost, name: &str| TransferClass {
        transfers: 1_000 * u64::from(cost > TotalCost::ZERO),
        cost,
        object: (cost > TotalCost::ZERO).then(|| name.to_owned()),
        object_cost: cost,
        lines: Vec::new(),
    };
    let t = &mut e.transfer_breakdown;
    [t.falsely_shared, t.truly_shared] = [class(classes[0], "stats"), class(classes[1], "queue")];
    if rng.chance(1, 2) {
        let (cost, object) = (classes[1] + classes[2], "queue".to_owned());
        let [in_one_run, alternating] = [TotalCost(cost.0 / 50), TotalCost(cost.0 * (1 + i128::from(rng.below(20))))];
        let places = vec!["queue.c:9".to_owned()];
        t.in_turns = Some(InTurns { object, places, turns: 1 + rng.below(90_000), cost, in_one_run, alternating });
    }
    t.true_use = [TrueUse::Added, TrueUse::HandedOver, TrueUse::Unclear][rng.below(3) as usize];
    [t.locks, t.unwatched] = [class(classes[2], "mutex"), class(classes[3], "grid")];
    e.findings.retain(|f| rng.chance(1, 2) && (f.kind != FindingKind::FalseSharing || classes[0] > TotalCost::ZERO));
    for f in &mut e.findings {
        let most = if f.kind.is_placement() { gain } else { classes[0] };
        f.saving = TotalCost(i128::from(rng.below(most.0 as u64 + 1)));
        f.saving_share = part(f.saving, total);
        f.predicted_total = total - f.saving;
    }
    e.findings.retain(|f| f.saving > TotalCost::ZERO);
    e.findings.sort_by_key(|f| std::cmp::Reverse(f.saving));
    let more = if rng.chance(1, 2) { TotalCost(total.0 / 3) } else { TotalCost::ZERO };
    e.predicted_all = e.findings.first().map(|f| f.predicted_total - more.min(f.predicted_total));
    e.evidence = Evidence::default();
    let kinds =
        [(GapKind::Ended, Doubt::Absence), (GapKind::OpenMp, Doubt::Findings), (GapKind::OneNode, Doubt::Locality)];
    for (kind, doubts) in kinds {
        if rng.chance(1, 6) {
            let (sentence, remedy) = (format!("Something of kind {kind:?} was not seen."), "look again".to_owned());
            e.evidence.add(Gap { kind, doubts, sentence, remedy });
        }
    }
    e
}

#[test]
fn generated_documents_are_not_contradicted() {
    let mut rng = Rng::new(11);
    let (mut nothing, mut blamed, mut fought, mut unknown) = (0, 0, 0, 0);
    for _ in 0..4_000 {
        let h = check(&random_document(&mut rng));
        nothing += u32::from(h.verdict.contains("Nothing to change"));
        blamed += u32::from(h.verdict.contains("is to blame"));
        fought += u32::from(h.verdict.contains("fight over"));
        unknown += u32::from(h.verdict.contains("Cannot tell"));
    }
    assert!(nothing > 10 && blamed > 100 && fought > 100 && unknown > 100, "{nothing} {blamed} {fought} {unknown}");
}

/// Two arrays of 64 KiB and one line of counters.
struct World;

const ARRAY: u64 = 64 << 10;

impl Objects for World {
    fn event(&mut self, _: &Event) {}
    fn at(&mut self, _: u32, addr: u64) -> ObjectRange {
        let object = (addr / (1 << 20)) as u32;
        let from = u64::from(object) << 20;
        ObjectRange { object: if object < 3 { object } else { UNKNOWN_OBJECT }, from, last: from + (1 << 20) - 1 }
    }
    fn object(&self, object: u32) -> ObjectName {
        let name = ["left", "right", "counters"][object as usize].to_owned();
        let place = Some(format!("{name}.c:7"));
        ObjectName { name, kind: "global".into(), place, function: None, instances: 1, bytes: ARRAY }
    }
    fn extent(&self, object: u32, _: u32, _: u64) -> Option<(u64, u64)> {
        Some((u64::from(object) << 20, ARRAY))
    }
    fn site(&self, site: u32) -> SiteName {
        SiteName { place: format!("main.c:{site}"), function: "work".into() }
    }
}

/// A program of random shape: who initialises, who uses which part, and how much is fought over.
fn random_trace(rng: &mut Rng, threads: u32) -> Vec<Merged> {
    let mut refs: Vec<Merged> = Vec::new();
    let mut push = |thread: u32, addr: u64, op: Op, site: u32| {
        refs.push(Merged { thread, addr, size: 8, op, site, weight: 1, ..Merged::default() });
    };
    let serial = [rng.chance(1, 2), rng.chance(1, 2)];
    let owner = |addr: u64| (addr * u64::from(threads) / ARRAY) as u32 % threads;
    for array in 0..2u64 {
        for addr in (0..ARRAY).step_by(64) {
            let thread = if serial[array as usize] { 0 } else { owner(addr) };
            push(thread, (array << 20) + addr, Op::Write, 10 + array as u32);
        }
    }
    let (rounds, fights, apart) = (1 + rng.below(4), rng.below(1_500), rng.chance(1, 2));
    let fight = if rng.chance(1, 2) { Op::Atomic } else { Op::Write };
    for _ in 0..rounds {
        for addr in (0..ARRAY).step_by(64) {
            for array in 0..2 {
                push(owner(addr), (array << 20) + addr, if rng.chance(1, 4) { Op::Write } else { Op::Read }, 20);
            }
        }
        for n in 0..fights {
            let thread = (n % u64::from(threads)) as u32;
            let word = if apart { u64::from(thread) * 8 } else { 0 };
            push(thread, (2 << 20) + word % 64, fight, 30);
        }
    }
    refs
}

#[test]
fn what_comes_out_of_the_pipeline_is_not_contradicted() {
    let mut rng = Rng::new(5);
    let machine = models::find("two-socket").unwrap();
    let choices = [Choice::parse("first-touch").unwrap(), Choice::parse("interleave").unwrap()];
    let mut said: Vec<String> = Vec::new();
    for _ in 0..40 {
        let threads = 2 + rng.below(6) as u32;
        let refs = random_trace(&mut rng, threads);
        let bindings: Vec<ThreadBinding> = (0..threads)
            .map(|t| ThreadBinding { cpu: t as u16, node: NodeId((t * 2 / threads) as u16), space: 0 })
            .collect();
        let setup = Setup::exact(&machine, &bindings, 4096);
        let context =
            EvalContext { setup, policies: &choices, options: EvalOptions::default(), workers: &homenode_sim::Alone };
        let e = evaluate(&mut Listed::new(&refs), &mut World, &context).unwrap();
        let t = &e.transfer_breakdown;
        let sum = t.falsely_shared.cost + t.truly_shared.cost + t.locks.cost + t.unwatched.cost;
        assert_eq!(sum, e.totals.transfer_cost);
        let h = check(&e);
        for f in e.findings.iter().filter(|f| f.kind.is_placement()) {
            let row = e.objects.iter().find(|o| o.name == f.object).unwrap();
            assert!(f.saving <= row.cost, "no placement saves more than everything: {f:?}");
        }
        said.push(format!("{} {}", h.verdict, h.trust.join(" ")));
    }
    let of = |words: &str| said.iter().filter(|v| v.contains(words)).count();
    assert!(of("is to blame") > 3 && of("`counters`") > 3 && of("up to the machine") > 3, "{said:#?}");
}
