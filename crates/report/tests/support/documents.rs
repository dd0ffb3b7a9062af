//! Every kind of document that this crate writes, each in several states.
use super::{clean, historical, hostile, manifest, rich, sampled};
use homenode_base::TotalCost;
use homenode_report::info::{INFO_SCHEMA, InfoInstructions, InfoPhase, InfoSync, InfoThread, OpCounts};
use homenode_report::{CheckDoc, InfoDoc, Provenance, ReportDoc, SamplingDoc};
use homenode_trace::SampleUnit;

/// What is in an exact recording.
pub(crate) fn info() -> InfoDoc {
    let manifest = manifest(1_000_000);
    let ops = OpCounts { read: 600_000, write: 399_000, atomic: 900, spin: 100 };
    InfoDoc {
        schema: INFO_SCHEMA,
        provenance: Provenance::from_manifest(&manifest, "x.hnt", "0.1.0", "model"),
        sampling: None,
        pages: None,
        blind: vec!["Something was not seen.".into()],
        imported: None,
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
    let (sampling, counted) = (sampled::sampling(SampleUnit::Window), sampled::counted());
    InfoDoc { sampling: Some(SamplingDoc::new(&sampling, &counted, None)), instructions: None, ..info() }
}

/// The documents as JSON, with a name for each.
pub(crate) fn documents() -> Vec<(&'static str, String)> {
    let mut huge = rich();
    huge.evaluations[0].policies[0].total = TotalCost(i128::MAX);
    huge.evaluations[0].policies[1].ratio = f64::INFINITY;
    let provenance = Provenance { clock: "tsc".into(), ..Provenance::default() };
    let none = ReportDoc::new(&Default::default(), provenance, Vec::new());
    let of = |unit| sampled::report(unit).to_json();
    let sound = CheckDoc::new("x.hnt", true, 3, 4, Vec::new());
    let damaged = CheckDoc::new("x.hnt", false, 3, 4, vec!["threads/0.frames is damaged".into()]);
    vec![
        ("rich", rich().to_json()),
        ("clean", clean().to_json()),
        ("historical", historical().to_json()),
        ("hostile", hostile().to_json()),
        ("huge", huge.to_json()),
        ("none", none.to_json()),
        ("sampled", of(SampleUnit::Miss)),
        ("sampled-references", of(SampleUnit::Reference)),
        ("sampled-windows", of(SampleUnit::Window)),
        ("check-sound", sound.to_json()),
        ("check-damaged", damaged.to_json()),
        ("info", info().to_json()),
        ("info-sampled", sampled_info().to_json()),
    ]
}
