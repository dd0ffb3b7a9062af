//! `homenode sim memory` on machines with an expander: the document, and what is refused.
mod support;
use homenode_command::Class;
use homenode_synthetic::Builder;
use homenode_toolkit::{SimTiersDoc, SimTiersRequest, has_tiers, sim_tiers};
use homenode_trace::{Op, Sample, Sampling};
use std::path::Path;
use support::{OWN, hot_pages, with_expander};

fn request(folder: &Path) -> SimTiersRequest {
    SimTiersRequest {
        dataset: folder.join("x.hnt"),
        policies: Vec::new(),
        dram: Vec::new(),
        machine: folder.join("own.toml").display().to_string(),
        map: None,
        page_bytes: None,
        tick: Some(1000),
    }
}

fn enough(doc: &SimTiersDoc, name: &str) -> (&'static str, Option<f64>) {
    let found = doc.enough.iter().find(|e| e.name == name).expect("a row");
    (found.verdict, found.size.map(|s| s.percent))
}

#[test]
fn costs_over_the_size_of_dram_and_the_least_that_is_enough() {
    let folder = with_expander(&hot_pages());
    let doc = sim_tiers(&request(folder.path()), &mut ()).expect("runs");
    assert_eq!((doc.pages, doc.accesses, doc.ticks, doc.points.len()), (80, 10_080, 11, 10));
    assert_eq!((doc.promote.0, doc.demote.0), (1000 + 2 * 512, 1000 + 2 * 512));
    assert_eq!((doc.in_dram.0, doc.in_expander.0), (10_080 * 100, 10_080 * 250));
    assert!(doc.notes[0].contains("no [tiers] section"), "{:?}", doc.notes);
    // A quarter of the pages is all it takes; 30 % is the first size asked that has them.
    assert_eq!(enough(&doc, "optimum"), ("enough", Some(30.0)));
    assert_eq!(enough(&doc, "best-static"), ("enough", Some(30.0)));
    assert_eq!(enough(&doc, "none"), ("enough", Some(100.0)));
    for point in &doc.points {
        assert_eq!(point.optimum.kind, "exact");
        assert!(point.policies.iter().all(|p| p.cost >= point.optimum.cost));
    }
    let again = sim_tiers(&request(folder.path()), &mut ()).expect("runs");
    assert_eq!(doc.to_json(), again.to_json(), "the same every time");
    assert_eq!(doc.to_csv().lines().count(), 1 + 10 * 6);
    let text = doc.to_text();
    for word in ["80 pages of 4096 B", "2.500 times", "best-static", "hotness(32)", "least DRAM within 5 %"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let sizes = ["20480B", "25%", "16K"].map(str::to_owned).to_vec();
    let some = SimTiersRequest { dram: sizes, policies: vec!["none".into(), "none".into()], ..request(folder.path()) };
    let doc = sim_tiers(&some, &mut ()).expect("runs");
    assert_eq!(doc.points.iter().map(|p| p.size.frames).collect::<Vec<_>>(), [4, 5, 20]);
    assert_eq!((enough(&doc, "optimum").1, enough(&doc, "none")), (Some(25.0), ("none of the sizes asked", None)));
}

#[test]
fn few_samples_tell_nothing() {
    let mut b = Builder::new(1);
    for i in 0..200u64 {
        b.sample(0, 0x10_0000 + i % 40 * 4096, 8, Op::Read, 0x400, Sample { weight: 100, ..Sample::default() });
    }
    b.sampled(Sampling::default());
    let folder = with_expander(&b);
    let doc = sim_tiers(&request(folder.path()), &mut ()).expect("runs");
    assert_eq!((doc.samples, doc.accesses), (Some(200), 20_000));
    assert!(doc.enough.iter().all(|e| e.verdict == "cannot tell" && e.size.is_none()));
    assert!(doc.notes.iter().any(|n| n.contains("fewer than 10 samples a page")), "{:?}", doc.notes);
}

/// What is asked for, changed.
type Change = fn(&mut SimTiersRequest);

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let folder = with_expander(&hot_pages());
    let cases: [(Change, &str); 10] = [
        (|r| r.policies = vec!["lru".into()], "known are none"),
        (|r| r.policies = vec!["hotness(0)".into()], "allowed is 1 to"),
        (|r| r.dram = vec!["0".into()], "--dram: '0'"),
        (|r| r.dram = vec!["4096".into()], "bytes with a unit"),
        (|r| r.dram = vec!["1".into()], "1 % of 80 pages is fewer frames than one"),
        (|r| r.dram = vec!["4095B".into()], "4095 bytes is fewer frames than one"),
        (|r| r.page_bytes = Some(4095), "power of two"),
        (|r| r.tick = Some(0), "--tick: 0"),
        (|r| r.machine = "numa".into(), "no tiers"),
        (|r| r.map = Some("99".into()), "--map"),
    ];
    for (change, word) in cases {
        let mut asked = request(folder.path());
        change(&mut asked);
        let failure = sim_tiers(&asked, &mut ()).expect_err(word);
        assert!(failure.class == Class::Usage && failure.to_string().contains(word), "{failure}");
    }
    let own = folder.path().join("own.toml");
    let tiers = "\n[tiers]\ncapacity_bytes = [81920, 81920]\ntick = 100\npromote = { fixed = 1, per_word = 0 }\ndemote = { fixed = 1, per_word = 0 }\n";
    std::fs::write(&own, format!("{OWN}{tiers}")).expect("written");
    let failure = sim_tiers(&request(folder.path()), &mut ()).expect_err("80 pages into 20 and 20");
    assert!(failure.to_string().contains("leaves more pages over than the 20"), "{failure}");
    std::fs::write(&own, format!("{OWN}{}", tiers.replace(", 81920]", ", 819200]"))).expect("written");
    let doc = sim_tiers(&request(folder.path()), &mut ()).expect("runs up to what DRAM holds");
    assert_eq!((doc.points.len(), doc.promote.0), (2, 1));
    assert!(doc.notes[0].contains("30 % of 80 pages is more than the 20 frames"), "{:?}", doc.notes);
    assert!(has_tiers("dram-cxl").expect("known") && !has_tiers("ascoma").expect("known"));
    let empty = with_expander(&Builder::new(1));
    let failure = sim_tiers(&request(empty.path()), &mut ()).expect_err("nothing to place");
    assert!(failure.class == Class::Input && failure.to_string().contains("reaches memory"), "{failure}");
}
