//! `reproduce bolosky`: exact rows agree, every claim has a verdict with a reason, and page, pictures and data are written.
use homenode_toolkit::reproduce::{Claim, ReproduceDoc, ReproduceRequest, Verdict, reproduce};
use std::path::Path;

fn request(only: &[&str], out: Option<&Path>) -> ReproduceRequest {
    let only = only.iter().map(|e| (*e).to_owned()).collect();
    ReproduceRequest { what: "bolosky".into(), only, size: "XS".into(), out: out.map(Into::into) }
}

fn claim<'d>(doc: &'d ReproduceDoc, place: &str, what: &str) -> &'d Claim {
    let mut found = doc.claims.iter().filter(|c| c.place.contains(place) && c.what.contains(what));
    let first = found.next().unwrap_or_else(|| panic!("a claim of {place} on {what}"));
    assert!(found.next().is_none(), "{place}, {what}: one claim");
    first
}

/// What follows from the model whatever the programs: these must hold to the last unit.
const EXACT: [(&str, &str); 13] = [
    ("table 6.3", "remote reference and move"),
    ("section 6.2.1", "moving 4 KB as one NUMA page"),
    ("section 6.2.1", "moving 4 KB as 64 lines"),
    ("figure 5.4", "concave"),
    ("section 5.3, figure 5.7", "any fixed policy is a straight line"),
    ("corollary 1", "scaling"),
    ("figure 6.1", "at equal block size"),
    ("section 6.2.4", "CC and CC+ do not depend"),
    ("section 6.2.1", "over the price of a remote word"),
    ("", "follow from its times"),
    ("", "T_F, T_S and T_Gamma"),
    ("", "e-hyd's"),
    ("", "variant of Dietz"),
];

/// What is printed wrongly, or is not what the text says of it.
const MISPRINTED: [&str; 5] =
    ["beta of matmult", "beta of e-fft", "for IMatMult", "the text quotes", "computes the optimal policy"];

/// What our programs show too, at any size.
const ALIKE: [(&str, &str); 5] = [
    ("figure 5.7", "sorbyr: as moves get cheaper"),
    ("section 5.3.1", "where the optimum trades"),
    ("section 5.4", "each policy does better than the other on the machine"),
    ("figure 6.7", "sorbyr"),
    ("section 6.4", "block sizes below which further reduction gains little"),
];

#[test]
fn exact_rows_agree_and_every_claim_has_a_verdict() {
    let out = tempfile::tempdir().expect("a folder");
    let doc = reproduce(&request(&[], Some(out.path())), &mut ()).expect("reproduced");
    for (place, what) in EXACT.iter().chain(&ALIKE) {
        let c = claim(&doc, place, what);
        assert_eq!(c.verdict, Verdict::Agrees, "{place}, {what}: ours {}, {}", c.ours, c.why);
    }
    for what in MISPRINTED {
        assert_eq!(claim(&doc, "", what).verdict, Verdict::Differs, "{what}");
    }
    assert!(doc.notes.iter().any(|n| n.starts_with("Figure 4.3 as printed is not optimal")));
    for c in &doc.claims {
        assert!(!c.why.is_empty() && !c.place.is_empty() && !c.theirs.is_empty(), "{}", c.what);
        assert!(c.verdict == Verdict::CannotBeKnown || !c.ours.is_empty(), "{}", c.what);
        assert!(!c.ours.contains("NaN"), "{}: {}", c.what, c.ours);
    }
    let known = doc.claims.iter().filter(|c| c.verdict != Verdict::CannotBeKnown).count();
    assert!(4 * known > 3 * doc.claims.len(), "most can be known: {known} of {}", doc.claims.len());
    for table in &doc.tables {
        assert!(!table.rows.is_empty() && table.rows.iter().all(|r| r.len() == table.columns.len()), "{}", table.title);
    }
    written(out.path(), &doc);
}

/// The page names every picture, and each picture has its data beside it.
fn written(out: &Path, doc: &ReproduceDoc) {
    let text = |name: &str| std::fs::read_to_string(out.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let page = text("bolosky.md");
    assert!(doc.claims.iter().all(|c| page.contains(&c.what.replace('|', "\\|"))), "the page has every claim");
    assert_eq!(text("bolosky.json"), doc.to_json());
    let names = std::fs::read_dir(out).expect("a folder").map(|f| f.expect("a file").file_name());
    let names: Vec<String> = names.filter_map(|n| n.into_string().ok()).collect();
    let pictures: Vec<&String> = names.iter().filter(|n| n.ends_with(".svg")).collect();
    assert!(pictures.len() > 30, "{pictures:?}");
    for picture in pictures {
        assert!(page.contains(&format!("]({picture})")), "{picture} is on the page");
        assert!(text(picture).ends_with("</svg>\n"), "{picture} is whole");
        let data = text(&picture.replace(".svg", ".csv"));
        assert!(data.lines().count() > 1 && !data.contains("NaN"), "{picture} has data");
    }
}

#[test]
fn an_unknown_experiment_is_answered_with_those_there_are() {
    let failure = reproduce(&request(&["E99"], None), &mut ()).expect_err("there is none");
    assert!(failure.message.contains("there is no 'E99'; known are E1, "), "{}", failure.message);
}
