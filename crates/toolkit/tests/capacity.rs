//! `homenode report` on machines with memory beside DRAM: how much of it is enough, by programs of which the answer is known.
mod support;
use homenode_command::Class;
use homenode_report::ReportDoc;
use homenode_report::capacity::CapacityDoc;
use homenode_sim::evidence::GapKind;
use homenode_synthetic::Builder;
use homenode_toolkit::{ReportRequest, SimTiersRequest, html, report, sim_tiers, text};
use homenode_trace::{Op, Sample, Sampling};
use std::path::Path;
use support::{OWN, hot_pages, report_of, with_expander};

fn request(folder: &Path, capacity: &[&str]) -> ReportRequest {
    ReportRequest {
        machine: folder.join("own.toml").display().to_string(),
        policies: vec!["first-touch".to_owned()],
        capacity: capacity.iter().map(|s| (*s).to_owned()).collect(),
        ..report_of(&folder.join("x.hnt"))
    }
}

fn made(folder: &Path, capacity: &[&str]) -> ReportDoc {
    report(&request(folder, capacity), &mut ()).expect("a report")
}

fn found(folder: &Path, capacity: &[&str]) -> CapacityDoc {
    made(folder, capacity).capacity.expect("the machine has an expander")
}

#[test]
fn the_least_dram_is_that_of_the_hot_pages_and_first_come_needs_nearly_all() {
    let folder = with_expander(&hot_pages());
    let doc = found(folder.path(), &[]);
    assert!(doc.points.is_empty() && doc.moves.is_none() && doc.notes.is_empty(), "{doc:?}");
    assert_eq!((doc.pages, doc.in_dram.0, doc.in_expander.0), (80, 10_080 * 100, 10_080 * 250));
    // 20 hot pages of 501 references, 60 of one: without those 60 the cost is 9000 of 1,008,000 more.
    let least =
        |i: usize| (doc.enough[i].within_percent, doc.enough[i].hottest.frames, doc.enough[i].first_come.frames);
    assert_eq!((least(0), least(1)), ((5, 20, 80), (1, 20, 80)));
    for words in
        ["Of the 320 KiB that it uses, 80 KiB in DRAM (25 %) are enough", "320 KiB (100 %)", "2.50 times as much"]
    {
        assert!(doc.sentence.contains(words), "{words}: {}", doc.sentence);
    }
}

#[test]
fn sizes_that_are_named_cost_what_sim_memory_says() {
    let folder = with_expander(&hot_pages());
    let doc = found(folder.path(), &["64K", "50%", "1G"]);
    let asked: Vec<u64> = doc.points.iter().filter(|p| p.asked).map(|p| p.size.frames).collect();
    assert_eq!(asked, [16, 40, 262_144]);
    assert!(doc.points.len() > 12 && doc.is_exact());
    let sizes: Vec<String> = doc.points.iter().map(|p| format!("{}B", p.size.bytes)).collect();
    let asked = SimTiersRequest {
        dataset: folder.path().join("x.hnt"),
        policies: vec!["none".to_owned(), "best-static".to_owned()],
        dram: sizes,
        machine: folder.path().join("own.toml").display().to_string(),
        map: None,
        page_bytes: None,
        tick: None,
    };
    let sim = sim_tiers(&asked, &mut ()).expect("runs");
    assert_eq!(doc.points.len(), sim.points.len());
    let mut last = doc.in_expander;
    for (point, same) in doc.points.iter().zip(&sim.points) {
        let costs = [point.first_come, point.hottest, point.optimum];
        assert_eq!(
            costs,
            [same.policies[0].cost, same.policies[1].cost, same.optimum.cost],
            "{} frames",
            point.size.frames
        );
        assert!(costs.is_sorted_by(|a, b| a >= b) && point.first_come <= last, "more DRAM never costs more");
        last = point.first_come;
    }
    assert_eq!(last, doc.in_dram);
}

#[test]
fn text_page_and_document_say_it() {
    let folder = with_expander(&hot_pages());
    let doc = made(folder.path(), &["64K"]);
    let screen = text(&doc, 100, false);
    for words in
        ["Of the 320 KiB that it uses", "Cost over all in DRAM", "64 KiB", "hottest first", "Note: machine 'own'"]
    {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    let page = html(&doc);
    assert!(page.contains("<h2>How much DRAM is enough</h2>") && page.matches("<polyline").count() == 3);
    let value: serde_json::Value = serde_json::from_str(&doc.to_json()).expect("JSON");
    assert_eq!(value["capacity"]["enough"][0]["hottest"]["frames"], 20);
    // Other machines have none of it, and neither have documents about them.
    let doc = report(&ReportRequest { machine: "two-socket".to_owned(), ..request(folder.path(), &[]) }, &mut ());
    let doc = doc.expect("a report");
    assert!(doc.capacity.is_none() && !doc.to_json().contains("\"capacity\"") && !html(&doc).contains("svg.capacity"));
}

/// Nothing to change is said of all data in DRAM, not of 64 KiB of it.
#[test]
fn with_too_little_dram_nobody_says_that_there_is_nothing_to_change() {
    let folder = with_expander(&hot_pages());
    let first = |sizes: &[&str]| {
        let doc = made(folder.path(), sizes);
        (text(&doc, 1000, false), doc.evaluations[0].evidence.gaps.iter().any(|g| g.kind == GapKind::Capacity))
    };
    let (enough, short) = (first(&["320K"]), first(&["64K", "320K"]));
    assert!(!enough.1 && !enough.0.contains("With 320 KiB of DRAM"), "{}", enough.0);
    assert!(short.1 && short.0.contains("With 64 KiB of DRAM, filled in order of first touch"), "{}", short.0);
    assert!(!short.0.contains("Nothing to change"), "{}", short.0);
}

#[test]
fn the_machine_may_say_how_much_there_is() {
    let folder = with_expander(&hot_pages());
    let own = folder.path().join("own.toml");
    let file = |bytes: &str| OWN.replace("cores = ", &format!("capacity = [{bytes}]\ncores = "));
    std::fs::write(&own, file("65536, 1048576")).expect("written");
    let doc = found(folder.path(), &[]);
    let asked: Vec<u64> = doc.points.iter().filter(|p| p.asked).map(|p| p.size.frames).collect();
    assert_eq!((asked, doc.moves.expect("pages may move").tick), (vec![16], 10_000));
    assert!(!doc.notes[0].contains("unlimited"), "{:?}", doc.notes);
    // Sizes that the user names are about what there should be.
    let doc = found(folder.path(), &["40"]);
    assert_eq!(doc.points.iter().filter(|p| p.asked).map(|p| p.size.frames).collect::<Vec<_>>(), [32]);
    std::fs::write(&own, file("1048576, 1048576")).expect("written");
    let doc = found(folder.path(), &[]);
    assert!(
        doc.points.is_empty() && doc.sentence.ends_with("The machine's 1 MiB of DRAM hold it all."),
        "{}",
        doc.sentence
    );
    // What does not fit must fit elsewhere.
    std::fs::write(&own, file("65536, 65536")).expect("written");
    let failure = report(&request(folder.path(), &["40"]), &mut ()).expect_err("48 pages into 16");
    assert!(
        failure.to_string().contains("--capacity") && failure.to_string().contains("leaves more pages over"),
        "{failure}"
    );
}

#[test]
fn what_cannot_be_told_is_said() {
    let mut b = Builder::new(1);
    for i in 0..200u64 {
        b.sample(0, 0x10_0000 + i % 40 * 4096, 8, Op::Read, 0x400, Sample { weight: 100, ..Sample::default() });
    }
    b.sampled(Sampling::default());
    let doc = found(with_expander(&b).path(), &["50"]);
    assert!(doc.enough.is_empty() && doc.sentence.contains("200 samples of 40 pages are too few"), "{}", doc.sentence);
    let folder = with_expander(&Builder::new(1));
    let doc = found(folder.path(), &["50"]);
    assert!(doc.points.is_empty() && doc.sentence.contains("no difference how much DRAM"), "{}", doc.sentence);
    // Two nodes with processors: every access at the nearest one.
    let folder = with_expander(&hot_pages());
    let three = OWN
        .replace("[2, 0]", "[2, 2, 0]")
        .replace("[[100, 250], [250, 250]]", "[[100, 150, 250], [150, 100, 250], [250, 250, 250]]");
    std::fs::write(folder.path().join("own.toml"), three).expect("written");
    let doc = found(folder.path(), &["50"]);
    assert!(
        doc.sentence.starts_with("If data were always at the nearest node of its kind: of the 320 KiB"),
        "{}",
        doc.sentence
    );
    assert!(!doc.is_exact() && doc.notes.iter().any(|n| n.contains("more than two nodes")), "{:?}", doc.notes);
}

#[test]
fn wrong_sizes_and_machines_are_refused_with_what_to_do() {
    let folder = with_expander(&hot_pages());
    for (machine, sizes, words) in [
        ("two-socket", &["16G"][..], "no node without processors"),
        ("own.toml", &["lots"], "--capacity: 'lots'"),
        ("own.toml", &["4096"], "bytes with a unit"),
        ("own.toml", &["1B"], "fewer frames than one"),
    ] {
        let machine =
            if machine.ends_with("toml") { folder.path().join(machine).display().to_string() } else { machine.into() };
        let failure = report(&ReportRequest { machine, ..request(folder.path(), sizes) }, &mut ()).expect_err(words);
        assert!(failure.class == Class::Usage && failure.to_string().contains(words), "{failure}");
    }
}
