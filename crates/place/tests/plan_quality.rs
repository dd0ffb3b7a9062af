//! What plans from samples cost on the full trace, beside the exact best static placement.
mod support;

use homenode_capture::DirStore;
use homenode_place::{place, price};
use homenode_placement::plan::Expected;
use homenode_thin::{Method, Thin, thin_dataset};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::OrderKind;
use std::path::Path;
use std::sync::Arc;
use support::{build, recorded, request, write};

/// Cost of a plan from samples over that of the best static placement `exact`, in the model.
fn ratio(full: &Path, machine: &str, method: Method, exact: Expected, dir: &Path) -> f64 {
    let reader = DatasetReader::open(Arc::new(DirStore::open(full).expect("a folder"))).expect("a dataset");
    let thin = Thin { method, seed: 42, loads_only: false };
    let thin = thin_dataset(&reader, OrderKind::Model, &thin).expect("samples");
    let to = dir.join("thin.hnt");
    if to.exists() {
        std::fs::remove_dir_all(&to).expect("removed");
    }
    write(&*thin, &to);
    let sampled = place(&request(&to, machine), &mut ()).expect("a plan").plan;
    let judged = price(&sampled, full, machine, &mut ()).expect("priced");
    judged.planned.ratio_to(exact.best_static)
}

/// One reference in a hundred suffices for a plan within 5 % of the best static placement of the full trace. Slow tier:
/// samples in bursts and first touchers of windows too, which see less.
#[test]
fn one_percent_of_references_is_enough() {
    let slow = std::env::var("HOMENODE_SLOW").is_ok_and(|v| v == "1");
    let dir = tempfile::tempdir().expect("a folder");
    let methods = [
        ("1 % of references", Method::RandomPeriod { period: 100 }, 1.05),
        ("1 % in bursts of 1,000", Method::Bursts { period: 100, length: 1000 }, 1.15),
        ("first touchers", Method::FirstTouchers { window_refs: 20_000, page_bytes: 4096 }, 1.25),
    ];
    let (machines, methods): (&[&str], _) =
        if slow { (&["two-socket", "opteron4"], &methods[..]) } else { (&["two-socket"], &methods[..1]) };
    let missed = std::sync::Mutex::new(Vec::new());
    let one = |source: &str| {
        let own = dir.path().join(source);
        std::fs::create_dir(&own).expect("a folder");
        let full = recorded(&own, &build(&own, source), &["-s", "XS", "-p", "4"]);
        for machine in machines {
            let exact = place(&request(&full, machine), &mut ()).expect("a plan").plan.expected;
            for (name, method, limit) in methods {
                let cost = ratio(&full, machine, *method, exact, &own);
                let first_touch = exact.now.ratio_to(exact.best_static);
                println!("{source} on {machine}, {name}: {cost:.4} x best static (first touch {first_touch:.3} x)");
                if cost > *limit {
                    missed.lock().expect("whole").push(format!("{source} on {machine}, {name}: {cost:.4}"));
                }
            }
        }
    };
    let one = &one;
    std::thread::scope(|scope| {
        for source in ["stencil", "radix", "lu", "sor", "kv"] {
            scope.spawn(move || one(source));
        }
    });
    let missed = missed.into_inner().expect("whole");
    assert!(missed.is_empty(), "{missed:#?}");
}
