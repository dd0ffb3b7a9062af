//! Advice on the layout of data, as text, JSON and HTML.
mod support;

use homenode_base::TotalCost;
use homenode_report::layout::{
    LayoutChange, LayoutDoc, LayoutKind, LayoutRow, LayoutSize, LayoutVerdict, ProtocolCost,
};
use homenode_report::text::{SCREEN_LINES, Style, render};
use homenode_report::{ReportDoc, html};

fn layout(verdict: LayoutVerdict, object: &str) -> LayoutDoc {
    let cost = |protocol: &str, cost: i128| ProtocolCost { protocol: protocol.to_owned(), cost: TotalCost(cost) };
    let size = |page_bytes| LayoutSize { page_bytes, before: cost("upt", 1000), after: cost("inv-del(0)", 250) };
    let row = |page_bytes| LayoutRow {
        page_bytes,
        protocol: "upt".to_owned(),
        before: TotalCost(1000),
        after: TotalCost(300),
    };
    let change = LayoutChange {
        kind: LayoutKind::Pad,
        object: object.to_owned(),
        place: Some("a.c:3".to_owned()),
        fields: Vec::new(),
        advice: format!("Pad the 8-byte elements of `{object}`."),
        worth: TotalCost(750),
    };
    LayoutDoc {
        verdict,
        sentence: "What can be said of layouts.".to_owned(),
        unit: "cycle".to_owned(),
        page_bytes: 4096,
        changes: if verdict == LayoutVerdict::Advice { vec![change; 5] } else { Vec::new() },
        sizes: [64, 4096].map(size).to_vec(),
        rows: [64, 4096].map(row).to_vec(),
    }
}

fn doc(verdict: LayoutVerdict) -> ReportDoc {
    ReportDoc { layout: Some(layout(verdict, "counts<b>")), ..support::rich() }
}

#[test]
fn advice_is_in_text_json_and_html() {
    let doc = doc(LayoutVerdict::Advice);
    let text = render(&doc, Style::default());
    for words in [
        "What can be said of layouts.",
        "Pad the 8-byte elements of `counts<b>` (worth",
        "and 2 more",
        "75 %",
        "inv-del(0)",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(text.lines().count() <= SCREEN_LINES);
    let json: serde_json::Value = serde_json::from_str(&doc.to_json()).expect("JSON");
    assert_eq!((&json["layout"]["verdict"], &json["layout"]["changes"][0]["kind"]), (&"advice".into(), &"pad".into()));
    let page = html::render(&doc);
    assert!(page.contains("Layout of data for page coherence") && page.contains("Cheapest protocol by page size"));
    assert!(!page.contains("counts<b>"), "names are escaped");
}

#[test]
fn without_advice_there_is_a_sentence() {
    for verdict in [LayoutVerdict::NoGain, LayoutVerdict::CannotTell] {
        let text = render(&doc(verdict), Style::default());
        assert!(text.contains("What can be said of layouts.") && !text.contains("inv-del(0)"), "{text}");
    }
    assert!(!html::render(&support::rich()).contains("Layout of data"), "no machine with protocols");
}
