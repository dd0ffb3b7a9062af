//! `reproduce markatos`: what follows from printed numbers needs no programs; the least size judges nothing else. The whole of it runs in
//! `tests/acceptance/check_reproduce.py`.
use homenode_papers::{ReproduceDoc, ReproduceRequest, Verdict, reproduce};

fn done(only: &[&str], size: &str, out: Option<&std::path::Path>) -> ReproduceDoc {
    let only = only.iter().map(|e| (*e).to_owned()).collect();
    let request = ReproduceRequest {
        what: "markatos".into(),
        only,
        programs: Vec::new(),
        size: size.into(),
        out: out.map(Into::into),
    };
    reproduce(&request, &mut ()).expect("reproduced")
}

#[test]
fn exact_rows_need_no_programs() {
    let doc = done(&["e1"], "XS", None);
    assert!(doc.programs.starts_with("no programs"), "{}", doc.programs);
    let of = |verdict: Verdict| doc.claims.iter().filter(|c| c.verdict == verdict).count();
    // What the text says and its own tables do not.
    assert_eq!((doc.claims.len(), of(Verdict::Identity), of(Verdict::Differs)), (19, 13, 6));
    let rows = doc.claims.iter().find(|c| c.what.contains("counts times prices")).expect("a claim");
    assert!(rows.ours.starts_with("168 of 168"), "{}", rows.ours);
    assert!(doc.notes.iter().any(|n| n.contains("turn 18 orders")), "{:?}", doc.notes);
}

#[test]
fn the_least_size_draws_everything_and_judges_exact_rows_alone() {
    let out = tempfile::tempdir().expect("a folder");
    let doc = done(&["E3", "E4", "E6"], "XS", Some(out.path()));
    assert!(!doc.claims.is_empty() && doc.claims.iter().all(|c| c.verdict == Verdict::NotJudged));
    for number in 1..=12 {
        let part = if number <= 8 { 3 } else { 4 };
        let picture = out.path().join(format!("E{part}-figure-{number}.svg"));
        let text = std::fs::read_to_string(&picture).expect("a picture");
        assert!(text.ends_with("</svg>\n"), "{}", picture.display());
    }
    let tables: Vec<&String> = doc.tables.iter().map(|t| &t.title).collect();
    assert!((2..=13).all(|n| tables.iter().any(|t| t.contains(&format!("table {n}, ")))), "{tables:?}");
}
