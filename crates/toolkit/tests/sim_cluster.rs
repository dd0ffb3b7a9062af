//! `homenode sim cluster`: the document, what it counts, and what is refused.
mod support;
use homenode_command::Class;
use homenode_svmrun::{About, replay};
use homenode_synthetic::Builder;
use homenode_toolkit::{SimClusterRequest, sim_cluster, sim_cluster_on};
use homenode_trace::{EventKind, Sampling};
use std::fs;
use tempfile::TempDir;

fn dataset(program: &Builder) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    support::write(&program.store(), folder.path());
    folder
}

fn request(folder: &TempDir) -> SimClusterRequest {
    SimClusterRequest {
        dataset: folder.path().to_owned(),
        protocols: vec!["base".to_owned(), "genima".to_owned()],
        nodes: Vec::new(),
        machine: "svm-achievable".to_owned(),
        page: None,
        what_ifs: Vec::new(),
        compare: None,
        faults: None,
        journals: None,
        checks: false,
        map: None,
        phase: None,
        gaps: 1.0,
    }
}

/// Sixteen threads that fill pages of their own, and then read each other's.
fn program() -> Builder {
    let mut b = Builder::new(16);
    for (phase, shift) in [("fill", 0u32), ("use", 5)] {
        (0..16).for_each(|t| _ = b.event(t, EventKind::PhaseBegin { name: phase.to_owned() }));
        for i in 0..256 {
            (0..16u32).for_each(|t| {
                let address = 0x10_0000 + u64::from((t + shift) % 16) * 4096 + 16 * i;
                if shift == 0 {
                    b.write(t, address)
                } else {
                    b.read(t, address)
                };
            });
        }
        b.barrier(0x9000, 0..16);
        (0..16).for_each(|t| _ = b.event(t, EventKind::PhaseEnd { name: phase.to_owned() }));
    }
    b
}

#[test]
fn every_protocol_has_a_row_a_shape() {
    let folder = dataset(&program());
    let asked = SimClusterRequest { nodes: vec!["4x4".into(), "16x1".into()], ..request(&folder) };
    let doc = sim_cluster(&asked, &mut ()).expect("runs");
    let rows: Vec<_> = doc.rows.iter().map(|r| (r.row.nodes, r.row.processors, r.row.protocol)).collect();
    assert_eq!(rows, [(4, 4, "base"), (4, 4, "nil"), (16, 1, "base"), (16, 1, "nil")]);
    // Each thread fetches the page of the one five further on: always from another node.
    assert_eq!(doc.rows.iter().map(|r| r.row.counts.fetches).collect::<Vec<_>>(), [16; 4]);
    let interrupts = doc.rows.iter().map(|r| (r.row.interrupts.pages, r.row.interrupts.all()));
    assert_eq!(interrupts.collect::<Vec<_>>(), [(16, 16), (0, 0), (16, 16), (0, 0)]);
    assert_eq!(doc.to_json(), sim_cluster(&asked, &mut ()).expect("runs").to_json(), "the same every time");
    assert_eq!(doc.to_csv().lines().count(), 1 + doc.rows.len());
    for r in &doc.rows {
        let waited: u64 = r.objects.iter().map(|o| o.waited).sum();
        assert_eq!(
            (waited, r.objects.iter().map(|o| o.fetches).sum()),
            (r.row.data, 16),
            "all pages are of some object"
        );
        assert_eq!(
            r.locks.iter().map(|l| (l.kind, l.times, l.waited)).collect::<Vec<_>>(),
            [("barrier", 32, r.row.barrier)]
        );
    }
    let text = doc.to_text();
    for word in ["speedup", "mprotect", "invalidations", "I/O bus", "16x1"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_phase_counts_alone_and_larger_pages_are_fewer() {
    let folder = dataset(&program());
    let row = |change: fn(&mut SimClusterRequest)| {
        let mut asked = SimClusterRequest { protocols: vec!["nil".into()], ..request(&folder) };
        change(&mut asked);
        sim_cluster(&asked, &mut ()).expect("runs").rows.remove(0).row
    };
    let whole = row(|_| {});
    let [fill, used] = [row(|r| r.phase = Some("fill".into())), row(|r| r.phase = Some("use".into()))];
    assert_eq!(fill.compute + used.compute, whole.compute);
    assert_eq!(fill.data + used.data, whole.data);
    assert!(fill.cycles < whole.cycles && used.cycles < whole.cycles);
    let large = row(|r| r.page = Some(16384));
    assert_eq!((whole.shared_pages, large.shared_pages), (16, 4));
    assert!(large.compute > 0 && row(|r| r.gaps = 3.0).sequential > whole.sequential - 1);
}

#[test]
fn every_phase_has_its_part_of_the_time_in_one_run() {
    let folder = dataset(&program());
    let whole = sim_cluster(&request(&folder), &mut ()).expect("runs");
    for phase in ["fill", "use"] {
        let alone = SimClusterRequest { phase: Some(phase.into()), ..request(&folder) };
        let alone = sim_cluster(&alone, &mut ()).expect("runs");
        for (r, alone) in whole.rows.iter().zip(alone.rows) {
            let p = r.row.phases.iter().find(|p| p.name == phase).expect("in the program");
            let a = &alone.row;
            assert_eq!(p.classes(), [a.compute, a.local, a.data, a.lock, a.barrier, a.other, a.interrupted], "{phase}");
            assert_eq!(alone.row.phases.iter().map(|p| &p.name).collect::<Vec<_>>(), [phase], "others count no time");
        }
    }
    for r in &whole.rows {
        let all: u64 = r.row.phases.iter().map(|p| p.cycles()).sum();
        assert_eq!(all + r.row.idle, r.row.cycles * 16);
    }
    assert!(whole.to_text().contains("by phase of the program"));
}

#[test]
fn sentences_say_what_their_rows_say() {
    let folder = dataset(&program());
    let said = |what_ifs: &[&str]| {
        let what_ifs = what_ifs.iter().map(|w| (*w).to_owned()).collect();
        let asked = SimClusterRequest { what_ifs, protocols: vec!["base".into()], ..request(&folder) };
        let row = sim_cluster(&asked, &mut ()).expect("runs").rows.remove(0);
        (row.cause.expect("of the machine as it is"), row.limit.expect("likewise"), row.row)
    };
    let (cause, limit, row) = said(&[]);
    let classes =
        [("data", row.data), ("lock", row.lock), ("barrier", row.barrier), ("other", row.other), ("idle", row.idle)];
    let (class, _) = classes.iter().max_by_key(|c| c.1).expect("classes");
    let said_of = format!("most of the rest is {class}, ");
    assert!(cause.contains(&said_of) && cause.contains("cannot tell why without --what-if"), "{cause}");
    let most = row.servers.iter().max_by_key(|s| s.busiest).expect("servers");
    let percent = format!("{:.0} %", 100.0 * most.busiest as f64 / row.cycles as f64);
    assert!(limit.contains(most.name) && limit.contains(&percent), "{limit}");
    let (cause, ..) = said(&["interrupts=0", "local-faults"]);
    assert!(cause.contains("local-faults takes most of it away"), "{cause}");
    let (cause, ..) = said(&["latency=1"]);
    assert!(cause.contains("cannot tell why: no change that was asked for saves"), "{cause}");
}

/// What is advised first of a program on 4 nodes of 4 processors, by GeNIMA, and the whole text of it.
fn advised(program: &Builder) -> (Option<About>, String) {
    let folder = dataset(program);
    let doc = sim_cluster(&SimClusterRequest { protocols: vec!["genima".into()], ..request(&folder) }, &mut ());
    let row = doc.expect("runs").rows.remove(0);
    let texts: Vec<&str> = row.advice.iter().map(|a| a.text.as_str()).chain(row.without_advice.as_deref()).collect();
    (row.advice.first().map(|a| a.about), texts.join("; "))
}

#[test]
fn advice_is_that_of_a_run_that_was_measured() {
    // Rounds in which each thread writes a word, in one page or in pages of their own that nobody else reads.
    let rounds = |apart: u64| {
        let mut b = Builder::new(16);
        for round in 0..20u64 {
            (0..16u32).for_each(|t| _ = b.write(t, 0x10_0000 + u64::from(t) * apart + round * 8 % 64));
            b.barrier(0x9000, 0..16);
        }
        b
    };
    let (about, text) = advised(&rounds(64));
    assert!(about == Some(About::SharedWrites) && text.contains("pages that several nodes write"), "{text}");
    let (about, text) = advised(&rounds(4096));
    assert_ne!(about, Some(About::SharedWrites), "{text}");
    // One lock, and below it a page that whoever has the lock must fetch.
    let mut b = Builder::new(16);
    for _ in 0..10 {
        for t in 0..16u32 {
            b.acquire(t, 0x9040, 0).write(t, 0x20_0000).release(t, 0x9040, 0);
        }
    }
    let (about, text) = advised(&b);
    assert_eq!(about, Some(About::Lock), "{text}");
    assert!(text.contains("taken 160 times") && text.contains("each time for pages meanwhile"), "{text}");
}

#[test]
fn the_page_is_whole_and_nothing_from_outside_is_markup() {
    let inner = tempfile::tempdir().expect("a folder");
    let path = inner.path().join("<script>'&\"lu\"");
    std::fs::create_dir(&path).expect("a folder");
    support::write(&program().store(), &path);
    let asked = SimClusterRequest {
        dataset: path,
        nodes: vec!["4x4".into(), "8x2".into()],
        what_ifs: vec!["local-faults".into()],
        compare: Some("svm-best".into()),
        ..request(&inner)
    };
    let doc = sim_cluster(&asked, &mut ()).expect("runs");
    let page = doc.to_html();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("&lt;script&gt;&#39;&amp;&quot;lu&quot; on svm-achievable"));
    for outside in
        ["<script", "<link", "<img", "src=", "href=\"http", "@import", "url(", "on svm-achievable\"", "NaN", "inf%"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    for element in ["svg", "table", "tr", "td", "th", "ul", "li", "details", "h2", "h3", "dl", "rect"] {
        let ends = page.matches(&format!("</{element}>")).count()
            + page.matches("height=\"100%\"/>").count() * usize::from(element == "rect");
        let begins = page.matches(&format!("<{element} ")).count() + page.matches(&format!("<{element}>")).count();
        assert_eq!(begins, ends, "{element}");
    }
    // Of each of four shapes and protocols: three bars of times, one a phase; six changes in a tornado; five kinds of servers.
    assert_eq!(doc.rows.len(), 4 * 7);
    let phases: usize = doc.rows.iter().filter(|r| r.what_if.is_none()).map(|r| r.row.phases.len()).sum();
    assert_eq!(page.matches("role=\"img\"").count(), 4 * 3 + phases + 4 * 6 + 4 * 5);
    for r in &doc.rows {
        assert!(page.contains(&format!("<td>{:.2}</td>", r.speedup)), "{}", r.speedup);
        if let Some(saves) = r.saves_percent {
            assert!(page.contains(&format!("saves {saves:.1} %")) && page.contains(&format!("<td>{saves:.1} %</td>")));
        }
        r.cause.iter().chain(&r.limit).for_each(|s| assert!(page.contains(&homenode_table::esc(s)), "{s}"));
    }
    // The dearest change is left of the line in the middle, the best one right of it.
    let costs = doc.rows.iter().any(|r| r.saves_percent.is_some_and(|s| s < 0.0));
    assert_eq!(page.contains("class=\"costs\""), costs);
}

#[test]
fn reads_are_checked_where_that_is_asked_for() {
    let folder = dataset(&program());
    let doc = sim_cluster(&SimClusterRequest { checks: true, ..request(&folder) }, &mut ()).expect("runs");
    // 256 reads of 8 bytes by each of 16 threads.
    assert!(doc.rows.iter().all(|r| (r.row.read, r.row.stale) == (Some(2 * 256 * 16), Some(0))));
    assert!(doc.to_text().contains("8192 words read from shared pages, every one as it was written last"));
}

#[test]
fn counterfactuals_are_rows_beside_the_machine_as_it_is() {
    let folder = dataset(&program());
    let what_ifs = ["local-faults", "io=4x", "interrupts=0"].map(str::to_owned).to_vec();
    let asked = SimClusterRequest { what_ifs, ..request(&folder) };
    let doc = sim_cluster(&asked, &mut ()).expect("runs");
    assert_eq!(doc.rows.len(), 2 * 4);
    for rows in doc.rows.chunks(4) {
        let saves: Vec<f64> = rows.iter().filter_map(|r| r.saves_percent).collect();
        let data: Vec<u64> = rows.iter().map(|r| r.row.data).collect();
        assert_eq!((rows[0].what_if.as_deref(), rows[1].what_if.as_deref()), (None, Some("local-faults")));
        assert!(saves[0] > saves[1] && saves[1] > 0.0, "most of the time is fetching: {saves:?}");
        assert!(data[1] * 3 < data[0], "{data:?}");
        // GeNIMA has none.
        assert_eq!(saves[2] != 0.0, rows[0].row.protocol == "base", "{saves:?}");
    }
    let asked =
        SimClusterRequest { compare: Some("svm-best".into()), protocols: vec!["base".into()], ..request(&folder) };
    let doc = sim_cluster(&asked, &mut ()).expect("runs");
    let best = SimClusterRequest { machine: "svm-best".into(), protocols: vec!["base".into()], ..request(&folder) };
    let best = sim_cluster(&best, &mut ()).expect("runs");
    let all = doc.rows.last().expect("rows");
    assert_eq!(all.what_if.as_deref(), Some("overhead=0 occupancy=200 io=2000 interrupts=0"));
    assert_eq!(all.row.cycles, best.rows[0].row.cycles, "all changes together are the other machine");
    let text = doc.to_text();
    assert!(text.contains("all parameters as svm-best has them save") && text.contains("all of svm-best"), "{text}");
}

#[test]
fn faults_are_the_same_for_a_seed_on_one_worker_and_on_two() {
    let folder = dataset(&program());
    let asked = SimClusterRequest {
        faults: Some("7,loss=0.1,delay=30000,pause=20000,every=50000,slow=2x".into()),
        nodes: vec!["4x4".into(), "8x2".into()],
        what_ifs: vec!["io=4x".into()],
        checks: true,
        ..request(&folder)
    };
    let [one, two] = [1, 2].map(|workers| sim_cluster_on(&asked, workers, &mut ()).expect("runs"));
    assert_eq!((one.to_json(), one.to_text()), (two.to_json(), two.to_text()));
    for r in &one.rows {
        let injected = r.row.injected.as_ref().expect("asked for");
        assert!(injected.lost > 0 && injected.overtaking > 0 && injected.pauses > 0, "{injected:?}");
        assert_eq!(r.row.stale, Some(0));
    }
    let other = SimClusterRequest { faults: Some("8".into()), ..asked.clone() };
    assert_ne!(one.to_json(), sim_cluster(&other, &mut ()).expect("runs").to_json());
    assert!(one.to_text().contains("stood still"), "{}", one.to_text());
    let none = sim_cluster(&SimClusterRequest { faults: None, ..asked }, &mut ()).expect("runs");
    assert!(!none.to_json().contains("injected") && !none.to_text().contains(", faults "));
}

#[test]
fn journals_of_a_simulated_run_are_replayed() {
    let folder = dataset(&program());
    for (protocol, nodes) in [("base", "4x4"), ("genima", "16x1")] {
        let journals = folder.path().join(format!("{protocol}.journals"));
        let plain =
            SimClusterRequest { protocols: vec![protocol.into()], nodes: vec![nodes.into()], ..request(&folder) };
        let asked = SimClusterRequest { journals: Some(journals.clone()), ..plain.clone() };
        let doc = sim_cluster(&asked, &mut ()).expect("runs");
        assert_eq!(doc.to_json(), sim_cluster(&plain, &mut ()).expect("runs").to_json(), "the same, noted or not");
        let found = replay(&journals).expect("journals");
        assert!(found.is_equal(), "{}", found.to_text());
        assert_eq!(found.journals.len(), doc.rows[0].row.nodes as usize);
        for (node, journal) in found.journals.iter().enumerate() {
            assert!(usize::from(journal.node) == node && !journal.cut, "{journal:?}");
            assert!(journal.operations > 3 && journal.compared > 50 && journal.given > 50, "{journal:?}");
        }
        let failure = sim_cluster(&asked, &mut ()).expect_err("they are there");
        assert!(failure.class == Class::Usage && failure.to_string().contains("is not empty"), "{failure}");
        let path = journals.join("node-1.journal");
        let mut bytes = fs::read(&path).expect("a journal");
        // The first operation's kind.
        bytes[4096] ^= 0x40;
        fs::write(&path, bytes).expect("written");
        let found = replay(&journals).expect("journals");
        let differs: Vec<bool> = found.journals.iter().map(|j| j.difference.is_some()).collect();
        assert!(differs.iter().enumerate().all(|(node, differs)| *differs == (node == 1)), "{}", found.to_text());
    }
}

/// What is asked for, changed.
type Change = fn(&mut SimClusterRequest);

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let folder = dataset(&program());
    let cases: [(Change, &str); 17] = [
        (|r| r.faults = Some("loss=0.1".into()), "--faults: 'loss=0.1' is no seed"),
        (|r| r.faults = Some("1,loss=0.5,tries=1".into()), "deadlock, nothing happens any more: thread"),
        (|r| r.protocols = vec!["hlrc".into()], "known are base, dw, rf, dd, nil"),
        (|r| r.nodes = vec!["4".into()], "nodes x processors"),
        (|r| r.nodes = vec!["0x4".into()], "nodes x processors"),
        (|r| r.nodes = vec!["1025x1".into()], "at most 1024 nodes"),
        (|r| r.nodes = vec!["1024x5".into()], "4096 in all"),
        (|r| r.machine = "numa".into(), "[network]"),
        (|r| r.page = Some(4095), "--page"),
        (|r| r.phase = Some("sort".into()), "known are fill, use"),
        (|r| r.gaps = f64::NAN, "--gaps"),
        (|r| r.what_ifs = vec!["io=fast".into()], "--what-if"),
        (|r| r.compare = Some("numa".into()), "[network]"),
        (|r| r.journals = Some("none".into()), "--journal: journals are of one run, and 2 protocols are asked for"),
        (|r| (r.journals, r.nodes) = (Some("none".into()), vec!["4x4".into(), "8x2".into()]), "and 2 shapes are"),
        (
            |r| {
                (r.journals, r.protocols) = (Some("none".into()), vec!["nil".into()]);
                r.what_ifs = vec!["local-faults".into()];
            },
            "and 2 rows are",
        ),
        (|r| r.compare = Some("svm-achievable".into()), "the same network"),
    ];
    for (change, word) in cases {
        let mut asked = request(&folder);
        change(&mut asked);
        let failure = sim_cluster(&asked, &mut ()).expect_err("refused");
        assert!(failure.class == Class::Usage && failure.to_string().contains(word), "{failure}");
    }
    let mut few = program();
    let folder = dataset(few.sampled(Sampling::default()));
    let failure = sim_cluster(&request(&folder), &mut ()).expect_err("sampled");
    assert!(failure.class == Class::Input && failure.to_string().contains("sampled"), "{failure}");
}
