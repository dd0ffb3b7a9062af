//! `reproduce ascoma` is asked for what it has; the whole of it runs in `tests/acceptance/check_reproduce.py`.
use homenode_papers::{ALL, ReproduceRequest, carry_out, reproduce};

fn refused(what: &str, size: &str, programs: &[&str]) -> String {
    let programs = programs.iter().map(|e| (*e).to_owned()).collect();
    let request = ReproduceRequest { what: what.into(), only: Vec::new(), programs, size: size.into(), out: None };
    reproduce(&request, &mut ()).expect_err("refused").message
}

#[test]
fn sizes_and_programs_that_there_are_not_are_refused_with_those_that_there_are() {
    assert!(ALL.iter().any(|paper| paper.name == "ascoma"));
    assert_eq!(refused("ascoma", "L", &[]), "--size: 'L' is none of XS, S, M, P");
    assert_eq!(refused("thakkar", "P", &[]), "--size: thakkar has no size P, only XS, S, M");
    assert!(refused("ascoma", "XS", &["fir"]).contains("it has barnes, em3d, fft, lu, ocean, radix"));
}

#[test]
fn runs_that_there_are_not_are_refused() {
    let refused = |paper: &str, program: &str, run: &str| {
        let unit = format!(r#"{{"paper":"{paper}","program":"{program}","recording":"/none.hnt","run":"{run}"}}"#);
        carry_out(&unit).expect_err("refused").message
    };
    assert_eq!(refused("kuo", "lu", "y"), "there is no experiment 'kuo'");
    for paper in ["thakkar", "markatos", "bolosky"] {
        assert_eq!(refused(paper, "x", "y"), format!("{paper} has no run 'y' of x"));
    }
    assert!(refused("thakkar", "lu", "opteron4").contains("/none.hnt"));
    assert!(refused("markatos", "FFT", "open points too").contains("/none.hnt"));
    assert_eq!(refused("ascoma", "lu", "ours, cray at 10 %"), "ascoma has no run 'ours, cray at 10 %' of lu");
    assert_eq!(refused("bilas", "lu", "fast"), "bilas has no run 'fast' of lu");
    assert!(refused("ascoma", "lu", "ours, rnuma at 10 %").contains("/none.hnt"));
    assert!(carry_out("7").expect_err("refused").message.starts_with("no run of a paper"));
}
