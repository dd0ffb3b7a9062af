//! The screen of text: exact for fixed documents, within its bounds for all.
mod support;

use homenode_base::TotalCost;
use homenode_report::text::{SCREEN_LINES, Style, render};
use homenode_report::{Provenance, ReportDoc, traffic};
use homenode_sim::evaluation::{Bottleneck, Traffic, TrafficRow};
use homenode_trace::SampleUnit;
use homenode_trace::manifest::Native;

const PLAIN: Style = Style { width: 100, colour: false };

/// Compares with `tests/golden/NAME`; `HOMENODE_BLESS=1` writes it, to be read before it is committed.
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("HOMENODE_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{path} differs; HOMENODE_BLESS=1 rewrites it");
}

#[test]
fn screens_are_the_known_ones() {
    golden("rich-100.txt", &render(&support::rich(), PLAIN));
    golden("rich-80.txt", &render(&support::rich(), Style { width: 80, colour: false }));
    golden("historical-100.txt", &render(&support::historical(), PLAIN));
    golden("clean-100.txt", &render(&support::clean(), PLAIN));
    golden("sampled-100.txt", &render(&support::sampled::report(SampleUnit::Miss), PLAIN));
}

#[test]
fn a_screen_is_never_longer_or_wider_than_asked() {
    let mut crowded = support::hostile();
    let long = "a sentence that goes on for a while and then some more ".repeat(6);
    crowded.blind = vec![long.clone(); 9];
    crowded.warnings = vec![long; 9];
    let e = &mut crowded.evaluations[0];
    e.policies = e.policies.iter().cycle().take(14).cloned().collect();
    e.objects = e.objects.iter().cycle().take(400).cloned().collect();
    e.findings = e.findings.iter().cycle().take(30).cloned().collect();
    crowded.evaluations = crowded.evaluations.iter().cycle().take(9).cloned().collect();
    let sampled = support::sampled::report(SampleUnit::Window);
    for doc in [support::rich(), support::clean(), support::hostile(), sampled, crowded] {
        for width in [60, 72, 80, 100, 140, 250] {
            let text = render(&doc, Style { width, colour: false });
            let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
            assert!(text.lines().count() <= SCREEN_LINES, "{} lines at {width}:\n{text}", text.lines().count());
            assert!(widest <= width, "{widest} characters at {width}:\n{text}");
        }
    }
}

#[test]
fn the_finding_comes_first_and_names_object_line_remedy_and_worth() {
    let text = render(&support::rich(), PLAIN);
    let finding: String = text.lines().skip(1).take(5).collect::<Vec<_>>().join(" ");
    for part in [
        "41 %",
        "two-socket",
        "186 ms instead of 301 ms",
        "`a` (stencil.c:41)",
        "initialise it in parallel",
        "worth 24 %",
    ] {
        assert!(finding.contains(part), "{part} is not in: {finding}");
    }
}

#[test]
fn nothing_to_do_is_said_with_the_reason() {
    let text = render(&support::clean(), PLAIN);
    let verdict: String = text.lines().skip(2).take(2).collect::<Vec<_>>().join(" ");
    let expected = "Nothing to change: first touch is within 1 % of the best static placement, and lines that go from cache \
                    to cache cost 2.7 %.";
    assert_eq!(verdict, expected, "{text}");
    assert!(!text.contains("to blame"));
}

#[test]
fn seconds_beyond_the_clock_are_explained() {
    let mut manifest = support::manifest(8);
    manifest.cpu_us = Some(200_000);
    let text = |m: &homenode_trace::Manifest| {
        render(
            &ReportDoc::new(m, Provenance::default(), vec![support::evaluation()]),
            Style { width: 250, colour: false },
        )
    };
    assert!(text(&manifest).contains("! The memory cost, 301 ms, is more than the 200 ms of processor time"));
    manifest.cpu_us = Some(400_000);
    assert!(!text(&manifest).contains("processor time"), "less than the clock needs no word");
}

#[test]
fn memory_time_is_a_share_of_the_processor_time_without_hooks_or_cannot_be() {
    let native =
        |cpu_us: u64, wall_us| Native { runs: 1, wall_us, user_us: cpu_us - 50, system_us: 50, ..Native::default() };
    let calibrated = |native, change: fn(&mut homenode_trace::Manifest)| {
        let mut manifest = homenode_trace::Manifest { native: Some(native), ..support::manifest(8) };
        change(&mut manifest);
        ReportDoc::new(&manifest, Provenance::default(), vec![support::evaluation()])
    };
    let text = |doc: &ReportDoc| render(doc, Style { width: 250, colour: false });
    let doc = calibrated(native(602_000, 100_000), |_| {});
    let said = "Memory time 301 ms of 602 ms native processor time (50 %) by --model latency on";
    assert!(text(&doc).contains(said), "{}", text(&doc));
    assert!(text(&doc).contains("; longest thread 37.0 ms\n") && !text(&doc).contains("cannot be"));
    let page = homenode_report::html::render(&doc);
    assert!(
        page.contains("of 602 ms native processor time") && page.contains("record --calibrate"),
        "not in provenance here"
    );
    for (native, why) in [
        (native(200_000, 100_000), "processor time: 301 ms of 200 ms native"),
        (native(602_000, 30_000), "whole run: 37.0 ms"),
    ] {
        let doc = calibrated(native, |_| {});
        let text = text(&doc);
        assert_eq!(doc.memory_time.as_ref().and_then(|m| m.share), None);
        assert!(text.contains("! The latency model charges more than the program's") && text.contains(why), "{text}");
        assert!(!text.contains("Memory time") && !text.contains("while it was recorded"), "{text}");
    }
    let parts: [fn(&mut homenode_trace::Manifest); 4] = [
        |m| m.roi = Some("solve".into()),
        |m| m.ended = "recording stopped by SIGINT".into(),
        |m| m.complete = false,
        |m| m.exit_status = Some(1),
    ];
    for part in parts {
        assert_eq!(
            calibrated(native(602_000, 100_000), part).memory_time,
            None,
            "a part of a run is no share of the whole"
        );
    }
}

#[test]
fn colour_only_when_asked_and_never_from_outside() {
    assert!(!render(&support::hostile(), PLAIN).contains('\x1b'));
    let coloured = render(&support::hostile(), Style { width: 100, colour: true });
    for code in coloured.split('\x1b').skip(1) {
        assert!(["[0m", "[1m", "[2m", "[32m", "[33m"].iter().any(|c| code.starts_with(c)), "{code:?}");
    }
    assert!(!coloured.contains('\u{202e}') && !coloured.contains('\u{2028}') && !coloured.contains('\x07'));
}

#[test]
fn empty_documents_have_something_to_say() {
    let empty = ReportDoc::new(&Default::default(), Provenance::default(), Vec::new());
    assert!(render(&empty, PLAIN).contains("Nothing was evaluated."));
    let blank = ReportDoc::new(&support::manifest(8), Provenance::default(), vec![Default::default()]);
    assert!(render(&blank, PLAIN).contains("No policy was evaluated"));
}

/// First touch asks node 0 for more than it serves; interleave costs more and takes less.
fn short_of_bandwidth(evenly: i128) -> ReportDoc {
    let most = Bottleneck { from: Some(1), home: 0, asked_mbs: 180_040, serves_mbs: 60_000, longer: TotalCost(270) };
    let row = |name: &str, time, longer, most| TrafficRow {
        name: name.into(),
        time: TotalCost(time),
        longer: TotalCost(longer),
        evenly: TotalCost(evenly),
        windows_longer: 9,
        most,
    };
    let policies = vec![row("first-touch", 1000, 270, Some(most)), row("interleave", 1010, 0, None)];
    let mut doc = support::clean();
    let traffic = Traffic { windows: 256, policies, ..Traffic::default() };
    doc.evaluations[0].traffic = Some(traffic);
    doc
}

#[test]
fn bandwidth_stands_beside_the_costs_and_speaks_against_nothing_to_change_where_another_placement_helps() {
    let doc = short_of_bandwidth(1000);
    let text = render(&doc, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Policies and bounds total") && text.contains("bandwidth") && text.contains("+27 %"),
        "{text}"
    );
    let (words, remedy) =
        traffic::short(&doc.evaluations[0]).expect("270 of 1000 longer, and all memories together would serve it");
    assert_eq!(
        words,
        "Bandwidth, not in the costs: first touch takes at most 27 % longer, for want of node 0's memory, asked for 180.0 GB/s from node 1 where it \
         serves 60.0 GB/s; interleave, which costs more, takes 20 % less time."
    );
    assert_eq!(remedy, "run it with `numactl --interleave=all`");
    // Where all memories together need as long, no placement helps.
    let all = short_of_bandwidth(1260);
    assert_eq!(traffic::short(&all.evaluations[0]), None);
    let text = render(&all, PLAIN);
    assert!(text.contains("bandwidth, not in the costs: first touch takes at most 27 % longer"), "{text}");
    let mut enough = short_of_bandwidth(1000);
    let rows = &mut enough.evaluations[0].traffic.as_mut().expect("given").policies;
    rows.iter_mut().for_each(|row| (row.longer, row.most) = (TotalCost::ZERO, None));
    let text = render(&enough, PLAIN);
    assert!(
        text.contains("bandwidth: under first touch no memory is asked for more than it is known to serve"),
        "{text}"
    );
}
