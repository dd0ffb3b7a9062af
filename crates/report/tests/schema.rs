//! Every document validates against its schema in `docs/schema`, and every field of the types is described there.
mod support;

use homenode_base::TotalCost;
use homenode_report::info::{INFO_SCHEMA, InfoInstructions, InfoPhase, InfoSync, InfoThread, OpCounts};
use homenode_report::{CheckDoc, InfoDoc, Provenance, ReportDoc, SamplingDoc};
use homenode_trace::SampleUnit;
use serde_json::Value;
use support::schema::Schemas;

fn parse(json: &str) -> Value {
    assert!(json.ends_with('\n') && json.matches('\n').count() == 1, "one line");
    serde_json::from_str(json).unwrap()
}

fn info() -> InfoDoc {
    let manifest = support::manifest(1_000_000);
    let ops = OpCounts { read: 600_000, write: 399_000, atomic: 900, spin: 100 };
    InfoDoc {
        schema: INFO_SCHEMA,
        provenance: Provenance::from_manifest(&manifest, "x.hnt", "0.1.0", "model"),
        sampling: None,
        blind: vec!["Something was not seen.".into()],
        threads: (0..40)
            .map(|t| InfoThread { thread: t, tid: 100 + t, parent: (t > 0).then_some(0), ops, ..InfoThread::default() })
            .collect(),
        ops,
        bytes_referenced: 8_000_000,
        dataset_bytes: 123_456,
        bytes_per_ref: Some(0.123),
        instructions: Some(InfoInstructions {
            estimated: 5_000_000,
            estimated_refs: 990_000,
            ..InfoInstructions::default()
        }),
        frames: 16,
        phases: vec![InfoPhase { name: "sweep".into(), entered: 8, refs: 900_000 }],
        synchronisation: vec![
            InfoSync { kind: "mutex".into(), objects: 2, acquires: 30, releases: 30, ..InfoSync::default() },
            InfoSync { kind: "barrier".into(), parties: Some(4), objects: 1, acquires: 8, releases: 8 },
        ],
        objects: 12,
        sites: 34,
    }
}

fn sampled_info() -> InfoDoc {
    let (sampling, counted) = (support::sampled::sampling(SampleUnit::Window), support::sampled::counted());
    InfoDoc { sampling: Some(SamplingDoc::new(&sampling, &counted, None)), instructions: None, ..info() }
}

fn documents() -> Vec<Value> {
    let mut huge = support::rich();
    huge.evaluations[0].policies[0].total = TotalCost(i128::MAX);
    huge.evaluations[0].policies[1].ratio = f64::INFINITY;
    let none =
        ReportDoc::new(&Default::default(), Provenance { clock: "tsc".into(), ..Provenance::default() }, Vec::new());
    let reports =
        [support::rich(), support::clean(), support::historical(), support::hostile(), huge, none].map(|d| d.to_json());
    let units = [SampleUnit::Reference, SampleUnit::Miss, SampleUnit::Window];
    let sampled = units.map(|u| support::sampled::report(u).to_json());
    let checks = [
        CheckDoc::new("x.hnt", true, 3, 4, Vec::new()).to_json(),
        CheckDoc::new("x.hnt", false, 3, 4, vec!["threads/0.frames is damaged".into()]).to_json(),
    ];
    reports
        .iter()
        .chain(&sampled)
        .chain(&checks)
        .chain(&[info().to_json(), sampled_info().to_json()])
        .map(|json| parse(json))
        .collect()
}

#[test]
fn every_document_is_valid() {
    let schemas = Schemas::load();
    for document in documents() {
        let problems = schemas.check(&document);
        assert!(problems.is_empty(), "{}: {problems:#?}", document["schema"]);
    }
}

/// Takes each field out of each object, one at a time, and adds a foreign one: the schema must notice both. So every
/// field of the types is in the schema, and the schema has no field that the types lack.
#[test]
fn every_field_is_required_and_no_other_is_allowed() {
    let schemas = Schemas::load();
    let mut doc = support::rich();
    doc.evaluations.truncate(1);
    let after = doc.compare.as_mut().map(|c| &mut c.evaluation);
    for e in doc.evaluations.iter_mut().chain(after) {
        e.heat.rows.truncate(1);
        e.heat.rows[0].cells.truncate(1);
        e.objects.truncate(2);
    }
    let mut removed = 0;
    for document in [
        parse(&doc.to_json()),
        parse(&support::sampled::report(SampleUnit::Miss).to_json()),
        parse(&sampled_info().to_json()),
        parse(&info().to_json()),
        parse(&CheckDoc::new("x", true, 1, 1, Vec::new()).to_json()),
    ] {
        for pointer in objects(&document, "") {
            let keys: Vec<String> = document.pointer(&pointer).unwrap().as_object().unwrap().keys().cloned().collect();
            for key in keys.iter().filter(|k| !(pointer.is_empty() && *k == "schema")) {
                let mut less = document.clone();
                less.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(key);
                assert!(!schemas.check(&less).is_empty(), "{pointer}/{key} may be missing");
                removed += 1;
            }
            let mut more = document.clone();
            more.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().insert("foreign".into(), Value::Null);
            assert!(!schemas.check(&more).is_empty(), "{pointer} may have a foreign field");
        }
    }
    assert!(removed > 300, "only {removed} fields were tried");
}

fn objects(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let inner = map.iter().flat_map(|(k, v)| objects(v, &format!("{at}/{k}")));
            std::iter::once(at.to_owned()).chain(inner).collect()
        }
        Value::Array(items) => items.iter().enumerate().flat_map(|(i, v)| objects(v, &format!("{at}/{i}"))).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn wrong_types_are_refused() {
    let schemas = Schemas::load();
    let good = parse(&support::rich().to_json());
    let wrong = [
        ("/provenance/refs", Value::from(-1)),
        ("/provenance/clock", Value::from("sundial")),
        ("/evaluations/0/policies/0/total", Value::from("12x")),
        ("/evaluations/0/policies/0/spread", Value::from(vec![1])),
        ("/evaluations/0/findings/0/kind", Value::from("bad luck")),
        ("/blind", Value::Null),
    ];
    for (pointer, value) in wrong {
        let mut document = good.clone();
        *document.pointer_mut(pointer).unwrap() = value;
        assert!(!schemas.check(&document).is_empty(), "{pointer}");
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
