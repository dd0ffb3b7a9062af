//! What changes of the program save, by some of its pages, beside what the evaluation of all says.
mod common;
use common::estimates::{by_users, hold, mixed, reference, table, tables};
use common::objects::Arrays;
use homenode_base::NodeId;
use homenode_base::pages::Drawn;
use homenode_machine::{Machine, models};
use homenode_placement::policies::{self, Choice};
use homenode_sim::evaluation::FindingKind;
use homenode_sim::{
    Alone, ChangeEstimate, EvalContext, EvalOptions, Evaluation, PageDraw, Setup, ThreadBinding, estimate_pages,
    evaluate,
};
use homenode_trace::manifest::CertainPages;
use homenode_trace::order::Listed;
use homenode_trace::{Merged, Op};

const BASE: u64 = 0x10_0000_0000;
const TABLE: u64 = 0x20_0000_0000;

/// Two-socket with last levels a sixteenth as large.
fn small() -> Machine {
    let mut machine = models::find("two-socket").unwrap();
    machine.sections.caches.as_mut().unwrap().shared.bytes /= 16;
    machine
}

/// The evaluation of all references, and the changes that each draw finds.
fn both(machine: &Machine, refs: &[Merged], draws: &[PageDraw]) -> (Evaluation, Vec<Vec<ChangeEstimate>>) {
    let bindings: Vec<ThreadBinding> =
        (0..4).map(|t| ThreadBinding { cpu: t * 4 % 16, node: NodeId(u16::from(t >= 2)), space: 0 }).collect();
    let butterfly: Vec<ThreadBinding> = (0..4).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect();
    let bindings = if machine.sections.caches.is_some() { bindings } else { butterfly };
    let policies: Vec<Choice> = policies::reported(machine, 4096);
    let setup = Setup::exact(machine, &bindings, 4096);
    let context = EvalContext { setup, policies: &policies, options: EvalOptions::default(), workers: &Alone };
    let arrays = Arrays(vec![("data", BASE, TABLE - BASE), ("table", TABLE, 1 << 30)]);
    let truth = evaluate(&mut Listed::with_events(refs, &[]), &mut arrays.clone(), &context).unwrap();
    let changes = |draw: &PageDraw| {
        let found = estimate_pages(&mut Listed::with_events(refs, &[]), &arrays, &context, draw.clone()).unwrap();
        found.changes.expect("they were asked for")
    };
    (truth, draws.iter().map(changes).collect())
}

/// One page in four, drawn so often.
fn draws(number: u64) -> Vec<PageDraw> {
    let drawn = Drawn::new(4, 4096).unwrap();
    (0..number).map(|i| PageDraw { displaced: i << 24, ..PageDraw::recorded(drawn, 0) }).collect()
}

/// Where there is nothing but what was drawn and no caches, a change saves what the evaluation of it says, of however many pages these are.
#[test]
fn without_caches_a_change_saves_what_the_evaluation_of_the_drawn_pages_says() {
    let machine = models::find("butterfly").unwrap();
    let drawn = Drawn::new(4, 4096).unwrap();
    for (refs, what) in [(mixed(3, BASE, (1200, 40)), FindingKind::FirstTouch), (table(TABLE), FindingKind::ReadShared)]
    {
        let refs: Vec<Merged> = refs.into_iter().filter(|r| drawn.holds(r.addr)).collect();
        let (truth, found) = both(&machine, &refs, &[PageDraw::recorded(drawn, 0)]);
        let ([finding], [change]) = (truth.findings.as_slice(), found[0].as_slice()) else {
            panic!("{:#?} {found:#?}", truth.findings)
        };
        assert_eq!((finding.kind, change.kind, &change.object), (what, what, &finding.object));
        assert!(finding.advice.starts_with(&change.advice), "{change:#?} {finding:#?}");
        // Pages that were not drawn may be of whatever kind: three of those that were, for certain.
        let middle = (change.saving.low + change.saving.high) / 2.0;
        assert!((middle - finding.saving_share).abs() < 0.01, "{change:?} {}", finding.saving_share);
    }
}

#[test]
fn what_changes_save_lies_in_their_ranges() {
    let draws = draws(if common::slow() { 60 } else { 12 });
    let pages = (mixed(4, BASE, (1200, 50)), ("data", FindingKind::FirstTouch));
    for (refs, what) in [pages, (table(TABLE), ("table", FindingKind::ReadShared))] {
        let (truth, found) = both(&small(), &refs, &draws);
        let [finding] = truth.findings.as_slice() else { panic!("{what:?}: {:#?}", truth.findings) };
        assert_eq!((finding.object.as_str(), finding.kind), what);
        let is_it = |c: &[ChangeEstimate]| matches!(c, [c] if (c.object.as_str(), c.kind) == what);
        assert!(found.iter().all(|c| is_it(c)), "{what:?}: {found:#?}");
        let changes: Vec<_> = found.iter().flatten().collect();
        hold(&changes, finding);
    }
}

/// The drawn pages of an object and its certain ones are changed together: here one page of it costs most.
#[test]
fn certain_pages_are_changed_with_the_others_of_their_object() {
    let pages = 1200;
    let mut refs = mixed(4, BASE, (pages, 50));
    let dear = BASE + 77 * 4096;
    refs.extend(
        (0..200_000).map(|i| reference(3, dear + i * 64 % 4096, if i % 4 == 0 { Op::Write } else { Op::Read })),
    );
    let machine = models::find("butterfly").unwrap();
    let drawn = Drawn::new(4, 4096).unwrap();
    let certain = vec![CertainPages { bucket: drawn.bucket(dear), left_out: 0 }];
    let with = [PageDraw { certain, ..PageDraw::recorded(drawn, 0) }];
    let (truth, found) = both(&machine, &refs, &with);
    let ([finding], [change]) = (truth.findings.as_slice(), found[0].as_slice()) else {
        panic!("{:#?} {found:#?}", truth.findings)
    };
    assert!(change.saving.low < finding.saving_share && finding.saving_share < change.saving.high, "{change:?}");
    assert!(
        change.saving.low > 0.4 && change.saving.high - change.saving.low < 0.1,
        "{change:?} {}",
        finding.saving_share
    );
}

#[test]
fn the_repaired_program_has_no_change_to_be_made() {
    for refs in [by_users(&mixed(4, BASE, (1200, 50))), tables(TABLE)] {
        let (truth, found) = both(&small(), &refs, &draws(3));
        assert!(truth.findings.is_empty(), "{:#?}", truth.findings);
        assert!(found.iter().all(Vec::is_empty), "{found:#?}");
    }
}
