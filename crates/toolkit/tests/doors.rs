//! The toolkit from outside: every family is listed, every failure says whose fault it is.
mod support;
use homenode_command::{Class, output};
use homenode_export::{ExportRequest, RowsRequest, export};
use homenode_toolkit::{ReportRequest, check, families, info, recover, report};
use homenode_trace::order::OrderKind;
use std::path::{Path, PathBuf};
use support::report_of;

#[test]
fn every_member_of_every_family_has_one_name_and_one_line() {
    for (family, _, _) in families::FAMILIES {
        let doc = families::list(Some(family)).expect("a family of the list");
        assert!(!doc.members.is_empty(), "{family}");
        for (i, m) in doc.members.iter().enumerate() {
            assert!(!m.summary.is_empty() && !m.summary.contains('\n'), "{family} {}", m.name);
            assert!(doc.members[..i].iter().all(|o| o.name != m.name), "{family}: two are called {}", m.name);
        }
        let value: serde_json::Value = serde_json::from_str(&doc.to_json()).expect("a document");
        assert_eq!(value["members"].as_array().map(Vec::len), Some(doc.members.len()));
    }
    assert_eq!(families::list(Some("nonsense")).expect_err("no such family").class, Class::Usage);
}

#[test]
fn what_is_no_dataset_is_bad_input_and_what_is_no_option_is_usage() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let missing = folder.path().join("missing.hnt");
    let file = folder.path().join("file.hnt");
    std::fs::write(&file, "text").expect("writing");
    let empty = folder.path().join("empty.hnt");
    std::fs::create_dir(&empty).expect("making a directory");
    for path in [&missing, &file, &empty] {
        assert_eq!(info(path, &mut ()).expect_err("no dataset").class, Class::Input);
        assert_eq!(recover(path).expect_err("no dataset").class, Class::Input);
        assert_eq!(report(&report_of(path), &mut ()).expect_err("no dataset").class, Class::Input);
        let found = check(path).expect("a check always says something");
        assert!(!found.ok && found.problems.len() == 1, "{:?}", found.problems);
    }
    let wrong: [fn(&mut ReportRequest); 4] = [
        |r| r.machine = "cray".to_owned(),
        |r| r.policies = vec!["ace(".to_owned()],
        |r| r.map = Some("7".to_owned() + "=moon"),
        |r| r.blocks = vec![1000],
    ];
    for change in wrong {
        let mut r = report_of(&missing);
        change(&mut r);
        let e = report(&r, &mut ()).expect_err("wrong usage");
        assert_eq!(e.class, Class::Usage, "{e}");
    }
}

#[test]
fn outputs_are_whole_or_absent_and_never_replaced_unasked() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let target = folder.path().join("report.html");
    output::write(&target, b"one").expect("writing");
    assert_eq!(output::refuse_existing(&target, false).expect_err("it exists").class, Class::Usage);
    output::refuse_existing(&target, true).expect("asked for");
    let nowhere = folder.path().join("no/such/folder/report.html");
    assert_eq!(output::write(&nowhere, b"two").expect_err("no such folder").class, Class::Work);
    let left: Vec<PathBuf> = std::fs::read_dir(&folder).expect("listing").flatten().map(|e| e.path()).collect();
    assert_eq!(left, std::slice::from_ref(&target), "no part of a file stays behind");
    let request = ExportRequest {
        to: folder.path().join("rows.txt"),
        force: false,
        rows: RowsRequest {
            dataset: target.clone(),
            order: OrderKind::Model,
            after_caches: false,
            machine: "two-socket".to_owned(),
            block: None,
            realign: None,
            map: None,
        },
    };
    let rows = export(&request, &mut ());
    assert_eq!(rows.expect_err("unknown ending").class, Class::Usage);
}

#[test]
fn control_characters_of_hostile_names_do_not_reach_the_terminal() {
    let e = info(Path::new("a\u{1b}[31m\nb"), &mut ()).expect_err("no dataset");
    assert!(e.to_string().chars().all(|c| !c.is_control()), "{e}");
}
