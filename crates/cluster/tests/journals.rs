//! Journals of simulated runs: carried out again, the protocol does the same by every step of the ladder; what is not the same is found.
mod support;
use homenode_base::Rng;
use homenode_cluster::{Journal, Question, Row, run, run_noted};
use homenode_hlrc::journal::{Kind, Record, replay};
use homenode_hlrc::steps::{self, Step};
use homenode_trace::DatasetReader;
use support::{Few, machine, ordered};

const SHAPES: [(usize, u16); 4] = [(2, 1), (2, 2), (4, 1), (3, 2)];

/// A run with journals, which is that without them in every cycle.
fn noted(data: &DatasetReader, shape: (usize, u16), step: &Step, faults: Option<&str>) -> (Row, Vec<Journal>) {
    let machine = machine("svm-achievable", shape);
    let faults = faults.map(|f| f.parse().expect("known"));
    let question = Question { machine: &machine, map: None, options: Default::default(), checks: true, faults };
    let bound = question.bind(data, Few).expect("binds");
    let (row, journals) = run_noted(&bound, step, || Few).expect("runs");
    assert_eq!(row, run(&bound, step, || Few).expect("runs"), "{}: journals change nothing", step.name);
    (row, journals)
}

fn data(seed: u64, (nodes, processors): (usize, u16)) -> DatasetReader {
    ordered(seed, nodes as u32 * u32::from(processors))
}

#[test]
fn what_simulated_nodes_did_is_the_same_again() {
    for step in steps::ALL {
        let (mut operations, mut handled, mut compared, mut given) = (0, 0, 0, 0);
        for (seed, shape) in (0..).zip(SHAPES) {
            let faults = (seed == 3).then_some("7,delay=900,loss=0.05");
            let (row, journals) = noted(&data(seed, shape), shape, step, faults);
            assert_eq!((row.stale, journals.len()), (Some(0), shape.0));
            for Journal { cluster, tapes } in &journals {
                assert_eq!(tapes.len(), 2 * usize::from(shape.1));
                for (number, tape) in tapes.iter().enumerate() {
                    let replayed = replay(cluster, &tape.records)
                        .unwrap_or_else(|e| panic!("{} seed {seed} {}: tape {number}: {e}", step.name, cluster.me));
                    // A handler may run when the last thread ends, and no program does.
                    assert!(!tape.is_cut && (number % 2 == 1 || !replayed.unfinished));
                    assert_eq!(replayed.compared + replayed.given, tape.records.len() as u64);
                    operations += replayed.operations;
                    handled += if number % 2 == 1 { replayed.operations } else { 0 };
                    compared += replayed.compared;
                    given += replayed.given;
                }
            }
        }
        assert!(operations > 500 && compared > 10_000 && given > 10_000, "{}: {operations} {compared}", step.name);
        assert_eq!(handled > 0, step.name != "nil", "{}: the last step interrupts nobody", step.name);
    }
}

#[test]
fn a_flipped_word_is_found_where_it_stands() {
    let mut rng = Rng::new(5);
    let (mut asked, mut given) = (0, 0);
    for step in steps::ALL {
        let (_, journals) = noted(&data(9, (2, 2)), (2, 2), step, None);
        let tapes = journals.iter().flat_map(|j| j.tapes.iter().map(|t| (&j.cluster, &t.records)));
        for (cluster, records) in tapes.filter(|(_, records)| !records.is_empty()) {
            for _ in 0..12 {
                let mut records: Vec<Record> = records.clone();
                let at = rng.below(records.len() as u64) as usize;
                // A beginning's operands are believed: they say which operation it is.
                if matches!(records[at].kind(), Some(Kind::Begin | Kind::Argument)) {
                    continue;
                }
                let is_given = records[at].kind().is_some_and(Kind::is_given);
                records[at].value ^= 1 << rng.below(64);
                match replay(cluster, &records) {
                    Err(difference) if is_given => {
                        assert!(difference.at >= at, "{difference}");
                        given += 1;
                    }
                    Err(difference) => {
                        assert_eq!((difference.at, difference.noted), (at, Some(records[at])), "{difference}");
                        asked += 1;
                    }
                    Ok(_) => assert!(is_given, "what the protocol asks for is compared"),
                }
            }
        }
    }
    assert!(asked > 50 && given > 20, "{asked} {given}");
}
