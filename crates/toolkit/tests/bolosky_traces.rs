//! `reproduce bolosky`, the experiments on traces themselves: alpha, disturbed orders, TLBs, false sharing, figure 4.3.
use homenode_toolkit::reproduce::{ReproduceDoc, ReproduceRequest, Verdict, reproduce};

fn run(only: &[&str], out: Option<&std::path::Path>) -> ReproduceDoc {
    let only = only.iter().map(|e| (*e).to_owned()).collect();
    let request = ReproduceRequest { what: "bolosky".into(), only, size: "XS".into(), out: out.map(Into::into) };
    reproduce(&request, &mut ()).expect("reproduced")
}

fn verdict(doc: &ReproduceDoc, what: &str) -> Verdict {
    let found: Vec<Verdict> = doc.claims.iter().filter(|c| c.what.contains(what)).map(|c| c.verdict).collect();
    assert_eq!(found.len(), 1, "{what}");
    found[0]
}

#[test]
fn what_is_exact_agrees_and_what_is_misprinted_differs() {
    let out = tempfile::tempdir().expect("a folder");
    let doc = run(&["E2", "E3", "E10", "E11", "F4.3"], Some(out.path()));
    println!("{}", doc.to_text());
    assert_eq!(doc.claims.len(), 35);
    assert!(doc.claims.iter().all(|c| !c.why.is_empty() && !c.place.is_empty()));
    assert!(doc.claims.iter().all(|c| c.verdict == Verdict::CannotBeKnown || !c.ours.is_empty()));
    for exact in ["follow from its times", "T_F, T_S and T_Gamma", "e-hyd's", "variant of Dietz"] {
        assert_eq!(verdict(&doc, exact), Verdict::Agrees, "{exact}");
    }
    for misprint in
        ["beta of matmult", "beta of e-fft", "for IMatMult", "the text quotes", "computes the optimal policy"]
    {
        assert_eq!(verdict(&doc, misprint), Verdict::Differs, "{misprint}");
    }
    for table in &doc.tables {
        assert!(!table.rows.is_empty() && table.rows.iter().all(|r| r.len() == table.columns.len()), "{}", table.title);
    }
    assert!(doc.notes.iter().any(|n| n.starts_with("Figure 4.3 as printed is not optimal")));
    for file in ["E3-figure-4-4.svg", "E10-gauss.csv", "E11-sor-cc.svg", "bolosky.md", "bolosky.json"] {
        let text = std::fs::read_to_string(out.path().join(file)).expect("written");
        assert!(text.len() > 200, "{file}");
    }
}
