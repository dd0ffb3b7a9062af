//! How much DRAM is enough, as text, JSON and HTML.
mod support;

use homenode_base::{Cost, TotalCost};
use homenode_report::capacity::{CapacityDoc, CapacityEnough, CapacityMoves, CapacityPoint, SizeDoc};
use homenode_report::text::{SCREEN_LINES, Style, render};
use homenode_report::{ReportDoc, html};

fn size(percent: u64) -> SizeDoc {
    SizeDoc { frames: percent, bytes: percent << 12, percent: percent as f64 }
}

fn doc(kind: &'static str, points: bool) -> ReportDoc {
    let cost = |percent: u64, slope: i128| TotalCost(2_500 - slope * i128::from(percent));
    let point = |percent: u64| CapacityPoint {
        size: size(percent),
        asked: percent.is_multiple_of(3),
        first_come: cost(percent, 15),
        hottest: cost(percent, 15),
        optimum: cost(percent, 15),
        kind,
        plan: None,
    };
    let enough = |within_percent| CapacityEnough { within_percent, hottest: size(40), first_come: size(90) };
    let mut capacity = CapacityDoc {
        sentence: String::new(),
        unit: "ps".to_owned(),
        page_bytes: 4096,
        pages: 100,
        in_dram: TotalCost(1_000),
        in_expander: TotalCost(2_500),
        enough: vec![enough(5), enough(1)],
        moves: points.then_some(CapacityMoves { tick: 10, promote: Cost(1), demote: Cost(1) }),
        points: if points { (1..=100).map(point).collect() } else { Vec::new() },
        notes: vec!["a <note>".to_owned()],
    };
    capacity.sentence = capacity.least().expect("enough is known");
    ReportDoc { capacity: Some(capacity), ..support::rich() }
}

#[test]
fn sizes_and_curves_are_in_text_json_and_html() {
    let report = doc("exact", true);
    for width in [60, 80, 120] {
        let text = render(&report, Style { width, colour: false });
        assert!(text.lines().count() <= SCREEN_LINES && text.contains("160 KiB in DRAM (40 %)"), "{text}");
        assert!(text.contains("Cost over all in DRAM"), "{text}");
        assert!(text.contains("more with --json") && text.contains("×2.46"), "{text}");
    }
    let page = html::render(&report);
    assert!(page.contains("How much DRAM is enough") && page.matches("<polyline").count() == 3);
    assert_eq!(page.matches("<circle class=\"ring first\"").count(), 33, "the sizes that were named");
    assert!(page.contains("a &lt;note&gt;") && !page.contains("a <note>"), "notes are escaped");
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
    assert_eq!(
        (&json["capacity"]["points"][2]["asked"], &json["capacity"]["points"][2]["bytes"]),
        (&true.into(), &12_288.into())
    );
}

#[test]
fn bounds_are_called_so_and_without_sizes_there_is_a_sentence() {
    let page = html::render(&doc("bound", true));
    assert!(page.contains("lower bound of what placements cost") && page.contains(">bound<"), "named for what it is");
    assert!(render(&doc("bound", true), Style::default()).contains("bound"));
    let page = html::render(&doc("exact", false));
    assert!(page.contains("How much DRAM is enough") && !page.contains("<polyline"));
    assert!(!html::render(&support::rich()).contains("How much DRAM"), "no machine with an expander");
    // All of it is said only where it is all.
    let mut nearly = doc("exact", false).capacity.expect("there is one");
    nearly.pages = 1000;
    nearly.enough[0].first_come = SizeDoc { frames: 999, bytes: 999 << 12, percent: 99.9 };
    nearly.enough[1].first_come = SizeDoc { frames: 1000, bytes: 1000 << 12, percent: 100.0 };
    let words = nearly.least().expect("enough is known");
    assert!(words.contains("(>99 %) and") && words.contains("(100 %)."), "{words}");
    let mut nobody_knows = doc("exact", false);
    nobody_knows.capacity.iter_mut().for_each(|c| c.enough.clear());
    assert_eq!(nobody_knows.capacity.and_then(|c| c.least()), None);
}
