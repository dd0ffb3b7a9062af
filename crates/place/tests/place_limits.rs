//! Plans where memory's bandwidth binds and where it does not, and where the recording knows of huge pages.
mod support;

use homenode_base::TotalCost;
use homenode_place::{PlaceDoc, PlaceRequest, place, price};
use homenode_placement::plan::{Home, Plan};
use homenode_synthetic::Builder;
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::manifest::HugeRange;
use homenode_trace::symbols::Module;
use homenode_trace::{Op, Sample, SampleUnit, Sampling};
use std::path::{Path, PathBuf};
use support::{request, write};

const MODULE: &str = "/bin/app";
const BIAS: u64 = 0x5500_0000_0000;
const HEAP: u64 = 0x7f00_0000_0000;
const PAGE: u64 = 4096;
const PAGES: u64 = 40;
const HUGE: u64 = 2 << 20;

/// A block that two threads share unevenly, page by page.
fn program(bytes: u64) -> Builder {
    mapped(bytes, 0)
}

/// A block that two threads share, in a mapping with these flags.
fn mapped(bytes: u64, flags: u32) -> Builder {
    let mut b = Builder::new(2);
    b.event(0, EventKind::Module { bias: BIAS, bytes: 0x10_0000, path: MODULE.into() });
    b.symbols().modules = vec![Module { path: MODULE.into(), build_id: "0011".into() }];
    let stack = vec![BIAS + 0x1234];
    b.event(0, EventKind::Map { addr: HEAP, bytes, prot: 3, flags, device: 0, inode: 0, offset: None });
    b.event(0, EventKind::Alloc { addr: HEAP, bytes, source: AllocSource::Map, stack });
    b.spawn(0, 1);
    b
}

/// Misses of one second, 1000 a sample: thread 0 alone uses every page, page p `10 + p % 3` times.
fn misses() -> Builder {
    let mut b = program(PAGES * PAGE);
    let unit = SampleUnit::Miss;
    b.sampled(Sampling { unit, event: "test".into(), period: 1000, elapsed_ns: 1_000_000_000, ..Sampling::default() });
    let sample = Sample { weight: 1000, ..Sample::ONE };
    for page in 0..PAGES {
        (0..10 + page % 3).for_each(|_| _ = b.sample(0, HEAP + page * PAGE, 8, Op::Read, 1, sample));
    }
    b.sample(1, HEAP + PAGES * PAGE + PAGE, 8, Op::Read, 1, sample);
    b
}

/// Two nodes that differ only in what they serve, MB/s.
fn machine(dir: &Path, serves: [u64; 2]) -> String {
    let table = |v: [[u64; 2]; 2]| format!("{{ mean = {v:?}, deviation = [[0, 0], [0, 0]], repeats = 1 }}");
    let [a, b] = serves;
    let text = format!(
        "name = \"two\"\nunit = \"ps\"\nword_bytes = 8\npage_bytes = 4096\ncores = [1, 1]\n[read]\nnear = 100\nfar = 150\n\
         [copy]\nfixed = 10\nper_word = 1\n[measured]\nwhen = \"2026-01-31T00:00:00Z\"\nhow = \"made up\"\n\
         cpu_nodes = [0, 7]\nmemory_nodes = [0, 7]\nidle_ps = {}\nread_mbs = {}\nwrite_mbs = {}\n",
        table([[100, 150], [150, 100]]),
        table([[a, b / 2], [a / 2, b]]),
        table([[a, b], [a, b]])
    );
    let path = dir.join(format!("two-{a}-{b}.toml"));
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

fn saved(dir: &Path, name: &str, b: &Builder) -> PathBuf {
    let to = dir.join(name);
    write(&*b.store(), &to);
    to
}

fn planned(request: &PlaceRequest) -> PlaceDoc {
    let doc = place(request, &mut ()).expect("a plan");
    assert_eq!(Plan::from_json(&doc.to_json()).as_ref(), Ok(&doc.plan), "what was spread is in the JSON");
    doc
}

fn pages_on(plan: &Plan, node: u16) -> u64 {
    plan.entries.iter().filter(|e| e.home == Home::Node(node)).map(|e| e.bytes / PAGE).sum()
}

/// Samples on the block, each of 1000 misses of 64 bytes, in a second.
const ASKED: u64 = (10 + 11 + 12) * 13 + 10;

#[test]
fn a_node_that_is_asked_for_too_much_is_relieved_and_the_plan_says_why() {
    let dir = tempfile::tempdir().expect("a folder");
    let dataset = saved(dir.path(), "a.hnt", &misses());
    let total = ASKED * 1000 * 64;
    let mut wanted = request(&dataset, &machine(dir.path(), [10, 100]));
    let doc = planned(&wanted);
    let (plan, found) = (&doc.plan, doc.plan.bandwidth.as_ref().expect("demand and bandwidths are known"));
    // Page by page: what stays on node 0 is within its 10 MB/s, and one page more would not be.
    let [zero, one] = &found.nodes[..] else { panic!("{found:?}") };
    assert_eq!((zero.asked_mbs, zero.serves_mbs, one.serves_mbs), (total / 1_000_000, 10, 100));
    assert!(zero.planned_mbs <= 10 && zero.planned_mbs >= 9, "{found:?}");
    let (before, after) = (zero.asked_mbs + one.asked_mbs, zero.planned_mbs + one.planned_mbs);
    assert!(before.abs_diff(after) <= 1, "nothing is lost but fractions: {found:?}");
    assert_eq!((found.pages, found.excess_mbs), (pages_on(plan, 1), 0));
    assert_eq!(pages_on(plan, 0) + pages_on(plan, 1), PAGES);
    // Each use of a page elsewhere costs 50 more.
    assert_eq!(found.cost, plan.expected.planned - plan.expected.now);
    assert_eq!(price(plan, &dataset, &wanted.machine, &mut ()).expect("priced").planned, plan.expected.planned);
    let text = doc.to_text();
    let why = format!("node 0 would be asked for {} of the 10 MB/s", total / 1_000_000);
    assert!(text.contains(&why) && text.contains("bandwidths measured; misses sampled in 1.00 s"), "{text}");

    // Neither of both can serve it all: as much as fits is spread, the rest is told.
    wanted.machine = machine(dir.path(), [10, 5]);
    let found = planned(&wanted).plan.bandwidth.expect("known");
    assert!(found.excess_mbs >= total / 1_000_000 - 16 && found.nodes[1].planned_mbs <= 5, "{found:?}");
    // A full node takes no more than it holds.
    wanted.machine = machine(dir.path(), [10, 100]);
    // One page of it holds what cannot be placed.
    wanted.capacity = Some(vec![PAGES * PAGE, 4 * PAGE]);
    let plan = planned(&wanted).plan;
    assert_eq!(pages_on(&plan, 1), 3);
    assert_eq!(plan.bandwidth.expect("known").pages, 3);
}

#[test]
fn where_bandwidth_does_not_bind_or_nothing_is_known_the_plan_is_what_it_was() {
    let dir = tempfile::tempdir().expect("a folder");
    let dataset = saved(dir.path(), "a.hnt", &misses());
    let wide = planned(&request(&dataset, &machine(dir.path(), [10_000, 10_000])));
    let found = wide.plan.bandwidth.as_ref().expect("known");
    assert_eq!((found.pages, found.cost, found.excess_mbs), (0, TotalCost::ZERO, 0));
    assert!(wide.to_text().contains("no node is asked for more than it serves (node 0 for 0 %)"), "{}", wide.to_text());
    let text = std::fs::read_to_string(machine(dir.path(), [10, 10])).expect("written");
    let silent = dir.path().join("silent.toml");
    std::fs::write(&silent, &text[..text.find("[measured]").expect("a table")]).expect("written");
    let unknown = planned(&request(&dataset, &silent.display().to_string()));
    assert_eq!(unknown.plan.bandwidth, None, "no bandwidths in that machine");
    assert!(!unknown.to_json().contains("bandwidth") && !unknown.to_text().contains("bandwidth"));
    let homes = |plan: &Plan| plan.entries.iter().map(|e| (e.offset, e.home.clone())).collect::<Vec<_>>();
    assert_eq!(homes(&wide.plan), homes(&unknown.plan));
    // Windows say who, not how much.
    let mut windows = misses();
    windows.sampled(Sampling { unit: SampleUnit::Window, elapsed_ns: 1, ..Sampling::default() });
    let dataset = saved(dir.path(), "w.hnt", &windows);
    assert_eq!(planned(&request(&dataset, &machine(dir.path(), [1, 1]))).plan.bandwidth, None);
}

/// One access at a time: an exact recording asks a node for 8 bytes in 100 ps at the most, 80,000 MB/s a processor.
#[test]
fn exact_recordings_ask_for_what_waiting_processors_can() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut b = program(PAGES * PAGE);
    (0..PAGES * 100).for_each(|i| _ = b.read(0, HEAP + i % PAGES * PAGE));
    b.read(1, HEAP + 2 * PAGES * PAGE);
    let dataset = saved(dir.path(), "a.hnt", &b);
    let found = planned(&request(&dataset, &machine(dir.path(), [60_000, 60_000]))).plan.bandwidth.expect("known");
    assert!((79_000..=80_100).contains(&found.nodes[0].asked_mbs), "{found:?}");
    assert_eq!(found.pages, PAGES / 4, "a quarter goes");
    assert!(found.basis.contains("processors wait for each access"));
    let found = planned(&request(&dataset, &machine(dir.path(), [90_000, 1]))).plan.bandwidth.expect("known");
    assert_eq!(found.pages, 0);
}

/// A block of two huge pages. The first one's halves are each used by another thread, `heavy` times a page; in the second
/// thread 1 uses a few pages a little.
fn shared(heavy: u64) -> Builder {
    let mut b = program(2 * HUGE);
    let per = HUGE / PAGE;
    (0..2 * per).for_each(|page| _ = b.write(0, HEAP + page * PAGE));
    for page in (0..per).step_by(16) {
        let user = u32::from(page >= per / 2);
        (0..heavy).for_each(|_| _ = b.read(user, HEAP + page * PAGE));
    }
    for page in (per..2 * per).step_by(16) {
        (0..40).for_each(|_| _ = b.read(0, HEAP + page * PAGE));
        b.read(1, HEAP + (page + 1) * PAGE).read(1, HEAP + (page + 1) * PAGE);
    }
    b
}

#[test]
fn a_huge_page_of_two_users_is_split_where_that_pays_and_stays_whole_where_not() {
    let dir = tempfile::tempdir().expect("a folder");
    let cheap = machine(dir.path(), [1_000_000, 1_000_000]);
    let homes = |plan: &Plan, page: u64| {
        let holds = |e: &&homenode_placement::plan::Entry| (e.offset..e.offset + e.bytes).contains(&(page * PAGE));
        plan.entries.iter().find(holds).map(|e| e.home.clone())
    };
    let per = HUGE / PAGE;
    for (heavy, split) in [(4000, 1), (3, 0)] {
        let mut b = shared(heavy);
        let small = planned(&request(&saved(dir.path(), &format!("s{heavy}.hnt"), &b), &cheap));
        assert_eq!(small.plan.huge, None, "nobody looked");
        assert_eq!(homes(&small.plan, per + 1), Some(Home::Node(1)), "page by page");
        let range = |addr, bytes| HugeRange { process: 0, addr, bytes, page_bytes: HUGE };
        // What comes from outside may be nonsense.
        let odd = [HugeRange { page_bytes: 0, ..range(0, 1) }, HugeRange { process: 9, ..range(HEAP, 1) }];
        b.manifest().huge_pages = [vec![range(HEAP, 2 * HUGE)], odd.to_vec()].concat();
        let dataset = saved(dir.path(), &format!("h{heavy}.hnt"), &b);
        let doc = planned(&request(&dataset, &cheap));
        let found = doc.plan.huge.expect("the recorder saw them");
        assert_eq!((found.page_bytes, found.pages, found.split, found.whole), (HUGE, 2, split, 2 - split), "{heavy}");
        // 16 pages of the second half, each read `heavy` times from node 1, are worth 16 copies or not.
        let both = [homes(&doc.plan, 0), homes(&doc.plan, per / 2)];
        let apart = [Some(Home::Node(0)), Some(Home::Node(1))];
        assert_eq!(both == apart, split == 1, "{both:?}");
        assert_eq!(homes(&doc.plan, per + 1), Some(Home::Node(0)), "the second one stays whole");
        assert_eq!(price(&doc.plan, &dataset, &cheap, &mut ()).expect("priced").planned, doc.plan.expected.planned);
        let words = if split == 1 { "splitting pays for 1 and saves" } else { "splitting none pays" };
        assert!(doc.to_text().contains(words), "{}", doc.to_text());
        assert!(!doc.to_text().contains("if the kernel backs"), "no guess where it is known");
    }
}

#[test]
fn blocks_that_stay_whole_fit_into_full_nodes_as_blocks() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut b = shared(3);
    b.manifest().huge_pages = vec![HugeRange { process: 0, addr: HEAP, bytes: 2 * HUGE, page_bytes: HUGE }];
    let mut wanted = request(&saved(dir.path(), "a.hnt", &b), &machine(dir.path(), [1_000_000, 1_000_000]));
    // Room for one and a half each: one block goes to either node.
    wanted.capacity = Some(vec![3 * HUGE / 2, 3 * HUGE / 2]);
    let plan = planned(&wanted).plan;
    assert_eq!((pages_on(&plan, 0), pages_on(&plan, 1)), (HUGE / PAGE, HUGE / PAGE));
    wanted.capacity = Some(vec![HUGE / 2; 2]);
    assert!(place(&wanted, &mut ()).expect_err("no room").message.contains("--capacity"));
}

/// Explicit huge pages say so in the flags of their mapping.
#[test]
fn mappings_of_explicit_huge_pages_are_known_without_a_look() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut b = mapped(HUGE, 0x4_0000 | 21 << 26);
    b.read(0, HEAP).read(0, HEAP).read(1, HEAP + PAGE);
    let plan = planned(&request(&saved(dir.path(), "a.hnt", &b), &machine(dir.path(), [1_000_000, 1_000_000]))).plan;
    let found = plan.huge.expect("told by the mapping");
    assert_eq!((found.pages, found.whole, found.split), (1, 1, 0));
    assert_eq!((pages_on(&plan, 0), pages_on(&plan, 1)), (2, 0));
}

/// Thread 1 uses a page all the time; in one burst thread 0 closes more windows than thread 1 in the whole run.
#[test]
fn one_burst_of_windows_does_not_outvote_regular_use_unless_windows_are_to_be_counted() {
    let mut b = program(PAGES * PAGE);
    b.sampled(Sampling { unit: SampleUnit::Window, event: "test".into(), elapsed_ns: 1, ..Sampling::default() });
    b.batch_refs(1);
    for round in 0..10 {
        b.sample(1, HEAP, 8, Op::Read, 1, Sample::ONE);
        (0..100).for_each(|_| _ = b.sample(0, HEAP + PAGE, 8, Op::Read, 1, Sample::ONE));
        (0..if round == 5 { 30 } else { 0 }).for_each(|_| _ = b.sample(0, HEAP, 8, Op::Read, 1, Sample::ONE));
    }
    let dir = tempfile::tempdir().expect("a folder");
    let mut wanted = request(&saved(dir.path(), "w.hnt", &b), &machine(dir.path(), [1, 1]));
    let first = |plan: &Plan| plan.entries.iter().find(|e| e.offset == 0).map(|e| e.home.clone());
    let spaced = planned(&wanted);
    assert_eq!(first(&spaced.plan), Some(Home::Node(1)), "{}", spaced.to_text());
    assert!(spaced.plan.evidence.counts.contains("spacing"), "{}", spaced.plan.evidence.counts);
    // These thresholds are numbers of samples.
    wanted.rule = Some("filtered-pairwise".into());
    let counted = planned(&wanted);
    assert_eq!(first(&counted.plan), Some(Home::Node(0)), "{}", counted.to_text());
    assert_eq!((counted.plan.evidence.counts.as_str(), counted.plan.evidence.counted), ("windows", 1040));
}
