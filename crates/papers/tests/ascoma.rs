//! `reproduce ascoma` is asked for what it has; the whole of it runs in `tests/acceptance/check_reproduce.py`.
use homenode_papers::{ALL, ReproduceRequest, reproduce};

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
