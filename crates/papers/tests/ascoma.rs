//! `reproduce ascoma` is asked for what it has; the whole of it runs in `tests/acceptance/check_reproduce.py`.
use homenode_command::Failure;
use homenode_papers::{ALL, Elsewhere, ReproduceRequest, carry_out, reproduce, reproduce_elsewhere};

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

/// Nobody: whoever gives something away has given too much.
struct Nobody;

impl Elsewhere for Nobody {
    fn answers(&self, _: &[String], _: &mut dyn FnMut(usize, String) -> Result<(), Failure>) -> Result<(), Failure> {
        Err(Failure::work("nobody is there"))
    }
}

#[test]
fn papers_whose_runs_are_not_apart_are_refused_elsewhere() {
    let asked = |what: &str| ReproduceRequest { what: what.into(), size: "XS".into(), ..ReproduceRequest::default() };
    let message = reproduce_elsewhere(&asked("thakkar"), &Nobody, &mut ()).expect_err("refused").message;
    assert_eq!(message, "--dask: runs of thakkar are not done apart; those of ascoma, bilas are");
}

#[test]
fn runs_that_there_are_not_are_refused() {
    let refused = |paper: &str, program: &str, run: &str| {
        let unit = format!(r#"{{"paper":"{paper}","program":"{program}","recording":"/none.hnt","run":"{run}"}}"#);
        carry_out(&unit).expect_err("refused").message
    };
    assert_eq!(refused("thakkar", "x", "y"), "'thakkar' is no paper whose runs are done apart");
    assert_eq!(refused("ascoma", "lu", "ours, cray at 10 %"), "ascoma has no run 'ours, cray at 10 %' of lu");
    assert_eq!(refused("bilas", "lu", "fast"), "bilas has no run 'fast' of lu");
    assert!(refused("ascoma", "lu", "ours, rnuma at 10 %").contains("/none.hnt"));
    assert!(carry_out("7").expect_err("refused").message.starts_with("no run of a paper"));
}
