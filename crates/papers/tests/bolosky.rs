//! `reproduce bolosky`, in parts: experiments are chosen by name, those of the model alone need no programs, and what is
//! written goes together. The whole of it runs at size S in `tests/acceptance/check_reproduce.py`.
use homenode_papers::{ReproduceDoc, ReproduceRequest, Verdict, reproduce};
use std::path::Path;

fn request(only: &[&str], size: &str, out: Option<&Path>) -> ReproduceRequest {
    let only = only.iter().map(|e| (*e).to_owned()).collect();
    ReproduceRequest { what: "bolosky".into(), only, programs: Vec::new(), size: size.into(), out: out.map(Into::into) }
}

fn done(only: &[&str], out: Option<&Path>) -> ReproduceDoc {
    reproduce(&request(only, "XS", out), &mut ()).expect("reproduced")
}

#[test]
fn constants_agree_exactly_and_need_no_programs() {
    let began = std::time::Instant::now();
    let doc = done(&["e6"], None);
    assert!(began.elapsed().as_secs() < 10, "nothing is recorded: {:?}", began.elapsed());
    assert_eq!((doc.claims.len(), doc.tables.len()), (5, 2));
    for c in &doc.claims {
        assert_eq!(c.verdict, Verdict::Identity, "{}: {}", c.what, c.ours);
        assert!(c.what.starts_with("E6: "));
    }
    assert!(doc.programs.starts_with("no programs"), "{}", doc.programs);
}

#[test]
fn figures_of_rules_and_algorithms_are_held_against_all_that_they_stand_for() {
    let doc = done(&["F"], None);
    for (place, verdict) in [
        ("figure 3.1", Verdict::Identity),
        ("figure 3.2", Verdict::CannotBeKnown),
        ("figure 3.3", Verdict::Agrees),
        ("figure 4.1", Verdict::Agrees),
        ("figure 4.2", Verdict::Agrees),
        ("figure 7.1", Verdict::Agrees),
    ] {
        let found = doc.claims.iter().find(|c| c.place == place).expect("judged");
        assert_eq!(found.verdict, verdict, "{place}: {}; {}", found.ours, found.why);
    }
}

/// Experiments that look at references, at the least size, in the order of the page whatever the order asked for.
#[test]
fn chosen_experiments_are_written_with_pictures_and_data() {
    let out = tempfile::tempdir().expect("a folder");
    let doc = done(&["E9", "E2"], Some(out.path()));
    let verdict = |what: &str| {
        let found: Vec<Verdict> = doc.claims.iter().filter(|c| c.what.contains(what)).map(|c| c.verdict).collect();
        assert_eq!(found.len(), 1, "{what}");
        found[0]
    };
    assert_eq!(verdict("follow from its times"), Verdict::Agrees);
    assert_eq!(verdict("beta of matmult"), Verdict::Differs);
    assert_eq!(verdict("CC and CC+ do not depend"), Verdict::Identity);
    assert_eq!(verdict("below 2.2 at all o_s"), Verdict::NotJudged, "programs of size XS say nothing of it");
    assert_eq!(verdict("alpha of matmult"), Verdict::NotJudged);
    let order: Vec<&str> = doc.claims.iter().map(|c| &c.what[..2]).collect();
    assert!(order.is_sorted_by_key(|e| *e != "E9") || order.is_sorted_by_key(|e| *e != "E2"), "{order:?}");
    let text = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(text("bolosky.json"), doc.to_json());
    let page = text("bolosky.md");
    for program in ["matmult", "sorbyc", "p-qsort"] {
        let picture = format!("E9-{program}.svg");
        assert!(page.contains(&format!("]({picture})")) && text(&picture).ends_with("</svg>\n"), "{picture}");
        let data = text(&picture.replace(".svg", ".csv"));
        assert!(data.lines().count() == 46 && !data.contains("NaN"), "five lines of nine points: {data}");
    }
    assert!(!page.contains("E8-"), "nothing else was run");
    let html = text("bolosky.html");
    assert!(html.contains("not judged</td>") && html.matches("<svg").count() == page.matches(".svg)").count());
}

#[test]
fn an_unknown_experiment_is_answered_with_those_there_are() {
    let failure = reproduce(&request(&["E99"], "XS", None), &mut ()).expect_err("there is none");
    assert!(failure.message.contains("there is no 'E99'; known are E1, "), "{}", failure.message);
}

#[test]
fn chosen_programs_are_run_alone_and_a_page_says_so() {
    let asked = ["P-QSORT", "bsort"].map(str::to_owned).to_vec();
    let doc = reproduce(&ReproduceRequest { programs: asked, ..request(&["E3", "E8"], "XS", None) }, &mut ())
        .expect("reproduced");
    let named = |table: &str| {
        let found = doc.tables.iter().find(|t| t.title.contains(table)).unwrap_or_else(|| panic!("{table}"));
        found.rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(named("table 6.4"), ["bsort", "p-qsort"]);
    let ranges = |t: &homenode_papers::Table| t.rows.iter().flatten().map(|cell| cell.matches('(').count()).max();
    let disturbed = doc.tables.iter().find(|t| t.title.contains("under the local filter")).expect("E3's");
    assert!(ranges(disturbed) <= Some(1), "a number and a range: {:?}", disturbed.rows);
    let nine = named("nine programs");
    assert!(nine.len() == 2 && nine.contains(&"bsort"), "{nine:?}");
    assert_eq!(named("p-qsort in other ways").len(), 6, "ours, three other ways, two published ones");
    assert!(doc.programs.contains("the 2 of 19 programs"), "{}", doc.programs);
    assert!(
        doc.notes.iter().any(|n| n.starts_with("Left out as asked for: e-fft, ") && !n.contains("bsort,")),
        "{:?}",
        doc.notes
    );
    let of = |place: &str| doc.claims.iter().find(|c| c.place == place).expect("judged");
    assert_eq!(of("figure 6.4").verdict, Verdict::NotJudged, "cholesky was not run");
    assert!(of("figure 6.4").why.contains("left out"), "{}", of("figure 6.4").why);
}

#[test]
fn unknown_programs_are_answered_with_those_there_are() {
    let refused = |what: &str, word: &str| {
        let request = ReproduceRequest { what: what.into(), programs: vec![word.into()], ..request(&[], "XS", None) };
        reproduce(&request, &mut ()).expect_err("refused")
    };
    let failure = refused("bolosky", "gaus");
    assert!(failure.message.contains("has no program 'gaus'; it has e-fft, "), "{}", failure.message);
    assert_eq!(failure.class.exit_status(), 2);
    assert!(refused("thakkar", "lu").message.contains("programs of thakkar cannot be chosen, those of bolosky"));
}
