//! The documents of this crate as JSON and as text. Whether they are of their schemas, a validator says
//! (`tests/acceptance/schema.py`), of the files that the example `sample_report` writes.
mod support;

use homenode_base::TotalCost;
use homenode_report::CheckDoc;
use serde_json::Value;
use support::documents::{documents, info};

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn every_document_is_one_line_and_names_its_schema() {
    for (name, json) in documents() {
        assert!(json.ends_with('\n') && json.matches('\n').count() == 1, "{name}");
        let schema = parse(&json)["schema"].as_str().expect(name).to_owned();
        assert!(schema.starts_with("https://github.com/homenode/homenode/schema/"), "{name}: {schema}");
    }
}

#[test]
fn totals_that_do_not_fit_a_double_are_exact_strings() {
    let mut doc = support::clean();
    doc.evaluations[0].policies[0].total = TotalCost((1 << 53) + 1);
    let document = parse(&doc.to_json());
    assert_eq!(document["evaluations"][0]["policies"][0]["total"], "9007199254740993");
}

#[test]
fn info_and_check_read_well() {
    let text = info().to_text();
    assert!(text.contains("1,000,000 (600 k read, 399 k write, 900 atomic, 100 spin)"), "{text}");
    assert!(text.contains("121 KiB in 16 frames, 0.123 B/ref"), "{text}");
    assert!(text.contains("… and 24 more threads (--json lists all)"), "{text}");
    let damaged = CheckDoc::new("x\x1b.hnt", false, 3, 4_000, vec!["threads/0.frames: bad checksum".into()]);
    assert!(!damaged.ok);
    assert_eq!(
        damaged.to_text(),
        "x?.hnt: damaged, 1 problem in 4,000 references in 3 frames, of a recording that did not end in order\n  threads/0.frames: bad checksum\n"
    );
    assert_eq!(CheckDoc::new("x.hnt", true, 1, 2, Vec::new()).to_text(), "x.hnt: sound, 2 references in 1 frame\n");
}
