//! `reproduce thakkar`: every published claim has a verdict, and the directions of the thesis show in the model.
use homenode_papers::{ReproduceRequest, Verdict, reproduce};

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("'{text}' is a number"))
}

fn request(what: &str, size: &str, out: Option<&std::path::Path>) -> ReproduceRequest {
    ReproduceRequest {
        what: what.into(),
        only: Vec::new(),
        programs: Vec::new(),
        size: size.into(),
        out: out.map(Into::into),
    }
}

#[test]
fn thakkar_is_judged_claim_by_claim() {
    let out = tempfile::tempdir().expect("a folder");
    let doc = reproduce(&request("thakkar", "XS", Some(out.path())), &mut ()).expect("reproduced");
    println!("{}", doc.to_text());
    assert_eq!(doc.claims.len(), 18, "rows of the thesis among the headline claims, and its table 4.3");
    let verdict = |what: &str| {
        let found: Vec<Verdict> = doc.claims.iter().filter(|c| c.what.contains(what)).map(|c| c.verdict).collect();
        assert_eq!(found.len(), 1, "{what}");
        found[0]
    };
    assert_eq!(verdict("remote access"), Verdict::Agrees);
    assert_eq!(verdict("extra latency"), Verdict::Differs, "64 percent in table 4.2");
    for gone in ["loss of LU", "migration once", "captured at sampling", "share of run time", "mbind against"] {
        assert_eq!(verdict(gone), Verdict::CannotBeKnown, "no number of ours speaks of it: {gone}");
    }
    let known = doc.claims.iter().filter(|c| c.verdict != Verdict::CannotBeKnown).count();
    assert_eq!(known, 13, "directions that the page has numbers for have a verdict");
    for (what, wanted) in [
        ("average saving", Verdict::Agrees),
        ("L2 misses: range of", Verdict::Differs),
        ("L2 misses: mean of", Verdict::Differs),
        ("worst slowdown", Verdict::Differs),
    ] {
        assert_eq!(verdict(what), wanted, "a plan made of a whole trace never loses, nor is uniform ahead: {what}");
    }
    let column = |at: usize, rows: &[Vec<String>]| -> Vec<f64> { rows.iter().map(|r| number(&r[at])).collect() };
    let eight: Vec<Vec<String>> = doc.tables[0].rows.iter().filter(|r| r[0].ends_with("opteron8")).cloned().collect();
    let interleaved = column(4, &eight).iter().sum::<f64>() / eight.len() as f64;
    let gains = if interleaved > 0.0 { Verdict::Agrees } else { Verdict::Differs };
    assert_eq!(verdict("mean improvement of interleaving"), gains, "{interleaved}");
    let most = column(1, &doc.tables[1].rows).into_iter().fold(0.0, f64::max);
    let few = if most <= 7.76 { Verdict::Agrees } else { Verdict::Differs };
    assert_eq!(verdict("pages on which uniform and"), few, "{most}");
    assert!(doc.claims.iter().all(|c| !c.why.is_empty() && !c.place.is_empty()));
    assert!(doc.claims.iter().all(|c| c.verdict == Verdict::CannotBeKnown || !c.ours.is_empty()));
    for table in &doc.tables {
        assert!(!table.rows.is_empty() && table.rows.iter().all(|r| r.len() == table.columns.len()), "{}", table.title);
    }
    let savings = &doc.tables[0].rows;
    let stencil = savings.iter().find(|r| r[0].starts_with("stencil")).expect("a first-touch program");
    assert!(number(&stencil[1]) > 10.0, "first touch by one thread is bad: {stencil:?}");
    for row in savings {
        let hop = number(&row[1]);
        assert!(
            row[1..].iter().all(|cell| number(cell) <= hop + 0.05),
            "hop-sensitive is the best static one: {row:?}"
        );
    }
    for row in &doc.tables[2].rows {
        assert!(number(&row[2]) >= 1.0 && number(&row[2]) < 1.05, "losing 90 % at random hardly matters: {row:?}");
    }
    let us: Vec<&str> = doc.tables[3].rows.iter().map(|r| r[1].as_str()).collect();
    assert_eq!(us, ["6.3", "6.1", "569.2", "375.0"]);
    for end in ["md", "svg", "json"] {
        let text = std::fs::read_to_string(out.path().join(format!("thakkar.{end}"))).expect("written");
        assert!(text.len() > 500 && text.ends_with('\n'), "{end}");
    }
}

#[test]
fn what_does_not_exist_is_said() {
    assert!(reproduce(&request("thaker", "XS", None), &mut ()).expect_err("no").message.contains("known are thakkar"));
    assert!(reproduce(&request("thakkar", "XXL", None), &mut ()).expect_err("no").message.contains("XS, S, M, P"));
}
