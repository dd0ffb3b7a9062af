//! Findings as remarks on lines: where they are shown, and how names that mean something to the formats are written.
mod support;

use homenode_report::ReportDoc;
use homenode_report::annotations::{Level, annotations, github, message, sarif};
use serde_json::Value;

/// The rich report, whose `stencil.c` lies here.
fn located(path: &str) -> ReportDoc {
    let mut doc = support::rich();
    doc.paths.insert("stencil.c".into(), path.into());
    doc
}

#[test]
fn files_below_the_root_are_relative_to_it() {
    let first = |path: &str, root: &str| annotations(&located(path), root)[0].lines[0].clone();
    let line = first("/home/ada/project/src/stencil.c", "/home/ada/project");
    assert_eq!((line.path.as_str(), line.is_inside, line.line), ("src/stencil.c", true, 41));
    assert_eq!(first("/home/ada/project/build/../src/stencil.c", "/home/ada/./project/").path, "src/stencil.c");
    let outside = first("/home/ada/project-2/stencil.c", "/home/ada/project");
    assert_eq!((outside.path.as_str(), outside.is_inside), ("/home/ada/project-2/stencil.c", false));
    assert!(first("src/stencil.c", "/home/ada").is_inside, "as the compiler was told to write it");
    assert!(!first("../stencil.c", "/home/ada").is_inside);
    assert_eq!(first("/src/stencil.c", "/").path, "src/stencil.c");
}

#[test]
fn each_finding_is_there_once_and_what_saves_most_first() {
    let doc = located("/p/stencil.c");
    let all = annotations(&doc, "/p");
    assert_eq!((doc.evaluations.len(), doc.evaluations[0].findings.len(), all.len()), (2, 3, 3));
    let objects: Vec<&str> = all.iter().map(|a| a.object.as_str()).collect();
    assert_eq!(objects, ["a", "b", "stats"]);
    assert!(all[0].message.ends_with("Worth 24 % of the memory cost on two-socket."), "{}", all[0].message);
}

#[test]
fn commands_of_github_are_escaped() {
    let mut doc = located("/p/a,b:c%.c");
    doc.evaluations[0].findings[0].advice = "100 %\r\ndone".into();
    let text = github(&annotations(&doc, "/p"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines.iter().all(|l| l.starts_with("::warning file=a%2Cb%3Ac%25.c,line=")), "{text}");
    assert!(text.contains("100 %25%0D%0Adone. Worth 24 %25 of"), "{text}");
    assert!(text.contains("title=False sharing%3A words of"), "{text}");
    assert_eq!(message(Level::Error, "50 %\n::"), "::error title=homenode::50 %25%0A::\n");
    let nowhere = github(&annotations(&located("/usr/include/x.h"), "/p"));
    assert!(nowhere.starts_with("::warning title="), "{nowhere}");
}

#[test]
fn sarif_has_rules_results_and_what_was_not_seen() {
    let doc = located("/p/a b.c");
    let log: Value = serde_json::from_str(&sarif(&doc, &annotations(&doc, "/p"))).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        let at = &result["locations"][0]["physicalLocation"];
        assert_eq!(at["artifactLocation"]["uri"], "a%20b.c");
        assert!(at["region"]["startLine"].as_u64().unwrap() > 0);
    }
    assert_eq!(results[0]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 58);
    let unseen = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap().len();
    assert_eq!(unseen, doc.evaluations.iter().map(|e| e.evidence.gaps.len()).sum::<usize>());
}

#[test]
fn a_fingerprint_does_not_hang_on_numbers_of_lines() {
    let print = |object: &str, line: u32| {
        let mut doc = located("/p/stencil.c");
        doc.evaluations.truncate(1);
        doc.evaluations[0].findings.truncate(1);
        let finding = &mut doc.evaluations[0].findings[0];
        (finding.object, finding.places) = (object.into(), vec![format!("stencil.c:{line}")]);
        let log: Value = serde_json::from_str(&sarif(&doc, &annotations(&doc, "/p"))).unwrap();
        log["runs"][0]["results"][0]["partialFingerprints"]["finding/v1"].as_str().unwrap().to_owned()
    };
    assert_eq!(print("heap block from a.c:12", 12), print("heap block from a.c:13", 13));
    assert_ne!(print("heap block from a.c:12", 12), print("heap block from b.c:12", 12));
}

#[test]
fn names_of_rules_are_those_of_documents() {
    let doc = located("/p/stencil.c");
    let json: Value = serde_json::from_str(&doc.to_json()).unwrap();
    let log: Value = serde_json::from_str(&sarif(&doc, &annotations(&doc, "/p"))).unwrap();
    for (finding, result) in
        json["evaluations"][0]["findings"].as_array().unwrap().iter().zip(log["runs"][0]["results"].as_array().unwrap())
    {
        assert_eq!(finding["kind"], result["ruleId"]);
    }
}
