//! A synthetic report, rich enough to fill every section; used by the tests and by the example `sample_report`.
//! The report's numbers are invented but consistent: the parts of each policy add up to its total.
#![allow(dead_code, reason = "each test binary uses a part of this")]
pub(crate) mod documents;
mod rows;
pub(crate) mod sampled;

use homenode_base::TotalCost;
use homenode_report::source::SourceFile;
use homenode_report::{Comparison, Provenance, ReportDoc};
use homenode_sim::evaluation::{
    Finding, FindingKind, OptimumRow, PolicyRow, ThreadRow, Totals, TransferBreakdown, TransferClass,
};
use homenode_sim::evidence::{Doubt, Evidence, Gap, GapKind};
use homenode_sim::{Evaluation, Verified, VerifiedRow};
use homenode_trace::Manifest;
use homenode_trace::manifest::{Blind, Process, Thread};

/// Microseconds as picoseconds.
pub(crate) fn us(n: i128) -> TotalCost {
    TotalCost(n * 1_000_000)
}

/// The manifest of an eight-thread recording.
pub(crate) fn manifest(dataset_refs: u64) -> Manifest {
    let thread = |i: u32| Thread {
        process: 0,
        tid: 4_000 + i,
        parent: (i > 0).then_some(0),
        refs: dataset_refs / 8,
        spins: 40 * u64::from(i),
        events: 120,
    };
    Manifest {
        format: "homenode-trace".into(),
        version: 1,
        complete: true,
        backend: "hooks".into(),
        command: ["./stencil", "-p", "8", "-s", "M"].map(String::from).to_vec(),
        exit_status: Some(0),
        host_cpus: 2,
        host: "Linux 6.1, x86-64".into(),
        processes: vec![Process { pid: 4_000, address_space: 0, executable: "/home/ada/stencil".into() }],
        threads: (0..8).map(thread).collect(),
        blind: Blind {
            wide: 1_204,
            notes: vec!["`libm.so.6` was not built with the hooks: its references are missing.".into()],
            ..Blind::default()
        },
        synchronised: true,
        ..Manifest::default()
    }
}

/// A report with every section filled, and a comparison with a repaired program.
pub(crate) fn rich() -> ReportDoc {
    let first = manifest(134_217_728);
    let mut provenance = Provenance::from_manifest(&first, "stencil.hnt", "0.1.0", "model");
    provenance.recorded_at = Some("2025-03-01T10:00:00Z".into());
    let mut coarse = evaluation();
    coarse.block_bytes = 65_536;
    let mut doc = ReportDoc::new(&first, provenance, vec![evaluation(), coarse]);
    let second = manifest(134_217_728);
    let provenance = Provenance::from_manifest(&second, "stencil-fixed.hnt", "0.1.0", "model");
    let after = repaired();
    doc.compare = Some(Comparison::new(&doc.evaluations[0], after, provenance, Vec::new(), None));
    doc.sources.insert("stencil.c".into(), source());
    doc
}

/// Lines around those that the findings name.
fn source() -> SourceFile {
    let lines = [
        (39, "int main(int argc, char **argv)"),
        (40, "{"),
        (41, "    double *a = malloc(n * sizeof *a);"),
        (42, "    double *b = malloc(n * sizeof *b);"),
        (43, ""),
        (56, "    for (size_t i = 0; i < n; i++) {"),
        (57, "        size_t row = i / columns;"),
        (58, "        a[i] = row < 1 && i > 0 ? \"<b>&amp;</b>\"[0] : 0;"),
        (59, "        b[i] = 0;"),
        (60, "    }"),
        (
            73,
            "            a[i] = (b[i - columns] + b[i + columns]) / 2 + source[i % columns]; /* a long line that must not make the page wide */",
        ),
        (74, "            b[i] = a[i];"),
    ];
    SourceFile { changed: true, lines: lines.into_iter().map(|(n, text)| (n, text.to_owned())).collect() }
}

/// A report on a historical machine: no caches, costs in quanta.
pub(crate) fn historical() -> ReportDoc {
    let m = manifest(134_217_728);
    let provenance = Provenance::from_manifest(&m, "stencil.hnt", "0.1.0", "model");
    let mut e = evaluation();
    (e.machine, e.unit, e.caches) = ("ace".into(), "local reference of the ACE".into(), false);
    e.false_sharing.clear();
    e.policies.iter_mut().for_each(|p| {
        p.total = p.total - p.transfer;
        p.transfer = TotalCost::ZERO;
        p.ratio = p.total.ratio_to(us(126_900));
    });
    e.optimum.iter_mut().for_each(|o| o.total = o.total - us(44_300));
    e.predicted_all = None;
    e.findings.truncate(1);
    ReportDoc::new(&m, provenance, vec![e])
}

/// A report that finds nothing to change.
pub(crate) fn clean() -> ReportDoc {
    let m = manifest(134_217_728);
    let provenance = Provenance::from_manifest(&m, "stencil-fixed.hnt", "0.1.0", "model");
    ReportDoc::new(&m, provenance, vec![repaired()])
}

fn policy(name: &str, summary: &str, parts: [i128; 5], moves: u64, copies: u64) -> PolicyRow {
    let [local, remote, global, movement, transfer] = parts.map(us);
    let total = local + remote + global + movement + transfer;
    let ratio = total.ratio_to(us(171_200));
    PolicyRow {
        name: name.into(),
        summary: summary.into(),
        total,
        local,
        remote,
        global,
        movement,
        transfer,
        moves,
        copies,
        ratio,
        spread: None,
    }
}

fn optimum(name: &str, exact: bool, summary: &str, total: i128, movement: i128, moves: u64) -> OptimumRow {
    OptimumRow {
        name: name.into(),
        exact,
        summary: summary.into(),
        total: us(total),
        movement: us(movement),
        moves,
        copies: 0,
        spread: None,
    }
}

fn finding(kind: FindingKind, object: &str, places: &[&str], sentence: &str, advice: &str, saving: i128) -> Finding {
    Finding {
        kind,
        object: object.into(),
        places: places.iter().map(|p| (*p).to_owned()).collect(),
        sentence: sentence.into(),
        advice: advice.into(),
        predicted_total: us(301_000 - saving),
        saving: us(saving),
        saving_share: us(saving).ratio_to(us(301_000)),
        saving_interval: None,
    }
}

/// One figure priced again, and one that has no placement.
fn verified() -> Verified {
    let name = |name: &str| name.to_owned();
    let right = TotalCost(5);
    let rows = vec![
        VerifiedRow { name: name("first-touch"), said: right, checked: Some(right), note: String::new() },
        VerifiedRow { name: name("lower bound"), said: TotalCost(1), checked: None, note: name("no placement") },
    ];
    Verified { rows, accesses: 9, blocks: 2, passes: 2 }
}

/// Two arrays initialised by one thread and a falsely shared array of statistics, on a two-socket machine.
pub(crate) fn evaluation() -> Evaluation {
    Evaluation {
        machine: "two-socket".into(),
        machine_title: "Two sockets of a current x86-64 server".into(),
        machine_sources: vec!["Load-to-use latencies: vendor's optimisation manual, chapter 2".into()],
        unit: "ps".into(),
        caches: true,
        block_bytes: 4096,
        blocks: 16_500,
        binding: homenode_sim::evaluation::BindingRow {
            rule: "sockets".into(),
            threads: 8,
            most_at_once: 8,
            cpus: 16,
            shared_cpus: 0,
            pinned: 0,
            note: String::new(),
        },
        threads: (0..8).map(thread).collect(),
        totals: totals(),
        policies: policies(),
        optimum: vec![
            optimum(
                "lower bound with replication",
                false,
                "No placement costs less; the machine's distances differ, so none may reach it",
                171_200,
                2_900,
                380,
            ),
            optimum(
                "optimum without replication",
                true,
                "No placement that keeps one copy of each block and moves it, knowing the future, costs less",
                178_000,
                3_100,
                412,
            ),
            optimum(
                "best static",
                true,
                "No placement that leaves each block where it is for ever costs less",
                186_500,
                0,
                0,
            ),
        ],
        patterns: rows::patterns(),
        spread: None,
        objects: rows::objects(),
        lines: rows::lines(),
        loops: Vec::new(),
        false_sharing: rows::false_sharing(),
        transfer_breakdown: rows::transfer_breakdown(),
        heat: rows::heat(),
        findings: findings(),
        untried_candidates: 0,
        predicted_all: Some(us(155_400)),
        traffic: None,
        evidence: Evidence { gaps: vec![unseen_library()] },
        verified: Some(verified()),
        warnings: vec![
            "8 threads were recorded on 2 processors; the replay order is the model order and not the host's.".into(),
        ],
    }
}

fn policies() -> Vec<PolicyRow> {
    let mut policies = vec![
        policy(
            "first-touch",
            "each block lives with the thread that touches it first",
            [132_600, 124_100, 0, 0, 44_300],
            0,
            0,
        ),
        policy("interleave", "blocks dealt round the nodes", [98_200, 113_300, 0, 0, 44_300], 0, 0),
        policy("fixed(0)", "everything on node 0", [134_000, 125_900, 0, 0, 44_300], 0, 0),
        policy("best-static", "each block at its best home", [136_900, 5_300, 0, 0, 44_300], 0, 0),
        policy("migrate-on-write", "a block follows its writer", [131_400, 12_900, 0, 29_800, 44_300], 5_410, 0),
        policy(
            "ace(4)",
            "a block moves at most four times and then stays",
            [133_500, 11_200, 3_400, 9_900, 44_300],
            1_822,
            96,
        ),
    ];
    policies[4].spread = Some((us(216_900), us(221_300)));
    policies
}

fn thread(t: u32) -> ThreadRow {
    ThreadRow { thread: t, cpu: t as u16, node: (t / 4) as u16, refs: 16_777_216, cost: us(37_000), hit_cost: None }
}

fn totals() -> Totals {
    Totals {
        refs: 134_217_728,
        spins: 1_120,
        reads: 104_000_000,
        writes: 30_200_000,
        atomics: 16_608,
        bytes: 1_073_000_000,
        memory_accesses: 2_310_000,
        transfers: 402_727,
        transfer_cost: us(44_300),
        spin_cost: TotalCost::ZERO,
        misses: None,
        hits: None,
        sampled: None,
    }
}

fn findings() -> Vec<Finding> {
    vec![
        finding(
            FindingKind::FirstTouch,
            "a",
            &["stencil.c:41", "stencil.c:58"],
            "a (32 MiB, allocated at stencil.c:41 in main) is first touched by thread 0 (main, stencil.c:58), so it lives on node 0, but it is used by threads 0-7.",
            "Initialise `a` in parallel (now main, stencil.c:58): let each thread initialise the part that it will use.",
            72_400,
        ),
        finding(
            FindingKind::FirstTouch,
            "b",
            &["stencil.c:42", "stencil.c:59"],
            "b (32 MiB, allocated at stencil.c:42 in main) is first touched by thread 0 (main, stencil.c:59), so it lives on node 0, but it is used by threads 0-7.",
            "Initialise `b` in parallel (now main, stencil.c:59): let each thread initialise the part that it will use.",
            42_000,
        ),
        finding(
            FindingKind::FalseSharing,
            "stats",
            &["stencil.c:17"],
            "stats (512 bytes, defined at stencil.c:17) is falsely shared: threads 0-7 use different words of the same cache line of 64 bytes, which went from cache to cache 398120 times.",
            "Pad the 8-byte elements of stats to 64 bytes and align it, so that each thread has cache lines of its own (128 bytes where processors fetch lines in pairs).",
            31_900,
        ),
    ]
}

/// The repaired program that initialises in parallel and pads: no finding.
pub(crate) fn repaired() -> Evaluation {
    let mut e = evaluation();
    let names = ["first-touch", "interleave", "fixed(0)", "best-static", "migrate-on-write", "ace(4)"];
    let parts = [
        [136_200, 6_300, 4_000],
        [98_000, 113_000, 4_000],
        [134_000, 125_000, 4_000],
        [136_900, 5_300, 4_000],
        [131_000, 12_000, 4_000],
        [133_000, 11_000, 4_000],
    ];
    e.policies = names
        .iter()
        .zip(parts)
        .map(|(name, [local, remote, transfer])| policy(name, "", [local, remote, 0, 0, transfer], 0, 0))
        .collect();
    e.optimum = vec![
        optimum(
            "optimum without replication",
            true,
            "No placement with one copy of each block costs less.",
            145_500,
            900,
            71,
        ),
        optimum("best static", true, "No placement that never moves a block costs less.", 146_200, 0, 0),
    ];
    e.policies.iter_mut().for_each(|p| p.ratio = p.total.ratio_to(us(145_500)));
    e.findings.clear();
    e.predicted_all = None;
    e.false_sharing.clear();
    let truly_shared = TransferClass { transfers: 40_000, cost: us(4_000), ..e.transfer_breakdown.falsely_shared };
    e.transfer_breakdown = TransferBreakdown { truly_shared, ..TransferBreakdown::default() };
    e.objects.iter_mut().for_each(|o| o.first_touch = (0..8).map(|t| (t, 1_024)).collect());
    e.warnings.clear();
    e.evidence = Evidence::default();
    let truly_shared = TransferClass { transfers: 40_000, cost: us(4_000), ..e.transfer_breakdown.falsely_shared };
    e.transfer_breakdown = TransferBreakdown { truly_shared, ..TransferBreakdown::default() };
    e
}

fn unseen_library() -> Gap {
    Gap {
        kind: GapKind::Libraries,
        doubts: Doubt::Absence,
        sentence: "No reference was seen from the code of libsolver.".into(),
        remedy: "build these with `homenode cc`, too".into(),
    }
}

/// Strings that try to leave the place they are put in.
pub(crate) const HOSTILE: [&str; 6] = [
    "</script><script>window.__owned=1</script>",
    "\"><img src=x onerror=window.__owned=1>",
    "<!--<script>",
    "`a` & 'b' \u{202e}txt.c\u{2028}\x1b[31mred\x07",
    "]]></style><style>*{display:none}",
    "${alert(1)}{{7*7}}",
];

/// The rich report with hostile strings wherever a string comes from outside.
pub(crate) fn hostile() -> ReportDoc {
    let mut doc = rich();
    let bad = |i: usize| HOSTILE[i % HOSTILE.len()].to_owned();
    doc.provenance.command = HOSTILE.map(String::from).to_vec();
    doc.provenance.dataset = bad(0);
    doc.provenance.host = bad(1);
    doc.blind.push(bad(2));
    doc.warnings.push(bad(3));
    for e in &mut doc.evaluations {
        e.objects.iter_mut().enumerate().for_each(|(i, o)| {
            o.name = bad(i);
            o.place = Some(bad(i + 1));
            o.pattern = bad(i + 2);
        });
        e.lines
            .iter_mut()
            .enumerate()
            .for_each(|(i, l)| (l.place, l.function, l.object) = (bad(i), bad(i + 1), bad(i + 2)));
        e.findings.iter_mut().enumerate().for_each(|(i, f)| {
            (f.object, f.sentence, f.advice) = (bad(i), bad(i + 1), bad(i + 2));
            f.places = vec![bad(i + 3), format!("{}:{}", bad(i), i + 1)];
        });
        e.false_sharing.iter_mut().for_each(|f| f.object = bad(0));
        e.false_sharing.iter_mut().flat_map(|f| &mut f.words).for_each(|w| w.sites = vec![bad(1), bad(0)]);
        let class = &mut e.transfer_breakdown.falsely_shared;
        class.object = Some(bad(2));
        class.lines.iter_mut().for_each(|l| (l.place, l.function) = (bad(0), bad(3)));
        e.heat.rows.iter_mut().enumerate().for_each(|(i, r)| r.object = bad(i));
        e.policies.iter_mut().enumerate().for_each(|(i, p)| (p.name, p.summary) = (bad(i), bad(i + 1)));
        (e.machine, e.machine_title) = (bad(0), bad(1));
    }
    let file = SourceFile { changed: true, lines: (1u32..).zip(HOSTILE.map(String::from)).collect() };
    doc.sources = HOSTILE.iter().map(|h| ((*h).to_owned(), file.clone())).collect();
    doc
}
