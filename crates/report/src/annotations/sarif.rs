//! SARIF 2.1.0 (OASIS Standard, "Static Analysis Results Interchange Format"), the part that findings need.
use super::{Annotation, Line, rule, title};
use crate::doc::{ReportDoc, to_json_line};
use homenode_sim::evaluation::FindingKind;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Every kind, in order of their rules.
const KINDS: [FindingKind; 6] = [
    FindingKind::FirstTouch,
    FindingKind::FalseSharing,
    FindingKind::ReadShared,
    FindingKind::SharedUpdates,
    FindingKind::Layout,
    FindingKind::OwnersChange,
];
/// What relative addresses are relative to: the root of the sources.
const ROOT: &str = "%SRCROOT%";

/// The log of one run: findings as results, kinds of findings as rules, and what was not seen as notifications.
pub fn sarif(doc: &ReportDoc, annotations: &[Annotation]) -> String {
    let rules: Vec<Value> = KINDS.iter().map(|k| described(*k)).collect();
    let unseen = doc.evaluations.iter().flat_map(|e| &e.evidence.gaps);
    let unseen: Vec<Value> = unseen.map(|g| json!({ "level": "warning", "message": { "text": g.sentence } })).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "homenode",
                "version": doc.provenance.homenode,
                "informationUri": "https://github.com/homenode/homenode",
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": unseen }],
            "results": annotations.iter().map(result).collect::<Vec<_>>(),
        }],
    });
    to_json_line(&log)
}

fn described(kind: FindingKind) -> Value {
    json!({
        "id": rule(kind),
        "shortDescription": { "text": title(kind) },
        "defaultConfiguration": { "level": "warning" },
    })
}

fn result(a: &Annotation) -> Value {
    let mut result = json!({
        "ruleId": rule(a.kind),
        "ruleIndex": KINDS.iter().position(|k| *k == a.kind),
        "level": "warning",
        "message": { "text": a.message },
        "rank": (a.saving_share * 100.0).clamp(0.0, 100.0),
        "partialFingerprints": { "finding/v1": fingerprint(a) },
        "locations": a.lines.first().map(location).into_iter().collect::<Vec<_>>(),
    });
    let related: Vec<Value> = a.lines.iter().skip(1).map(location).collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

fn location(l: &Line) -> Value {
    let artifact = match l.is_inside {
        true => json!({ "uri": encoded(&l.path), "uriBaseId": ROOT }),
        false if l.path.starts_with('/') => json!({ "uri": format!("file://{}", encoded(&l.path)) }),
        false => json!({ "uri": encoded(&l.path) }),
    };
    json!({ "physicalLocation": { "artifactLocation": artifact, "region": { "startLine": l.line } } })
}

/// Fingerprint of a finding, which is that of the same finding in the next run, wherever its lines have moved.
fn fingerprint(a: &Annotation) -> String {
    let path = a.lines.first().map_or("", |l| l.path.as_str());
    let digest = Sha256::digest(format!("{}\0{path}\0{}", rule(a.kind), without_lines(&a.object)));
    digest.iter().take(16).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The name of an object without the numbers of lines that it may have.
fn without_lines(name: &str) -> String {
    let mut out = String::new();
    for (i, part) in name.split(':').enumerate() {
        let part = if i == 0 { part } else { part.trim_start_matches(|c: char| c.is_ascii_digit()) };
        out.push_str(part);
    }
    out
}

/// A path as a part of a URI (RFC 3986): everything but slashes and unreserved characters as percent and two digits.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
