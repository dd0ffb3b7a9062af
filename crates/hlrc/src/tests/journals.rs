//! What operations noted is carried out again, and is the same; what is not the same is found.
use super::generated::generated;
use super::litmus::turns;
use super::programs::{generated_shape, run};
use super::world::{Shape, World};
use crate::cluster::Cluster;
use crate::journal::{Difference, Done, Kind, Record, Replayed, replay};
use crate::rules::{RULES, Rule, without};
use crate::steps::{ALL, Step};
use homenode_base::{NodeId, Rng};

/// Operations of a generated program, each with its node.
fn noted(step: &'static Step, seed: u64) -> Vec<(Cluster, Vec<Record>)> {
    let shape = Shape { noted: true, ..generated_shape(step, seed) };
    of(&run(shape, |sim, number| generated(sim, number, shape)))
}

fn of(world: &World) -> Vec<(Cluster, Vec<Record>)> {
    let journals = world.journals.as_ref().expect("they are written").take();
    journals.into_iter().map(|(me, records)| (world.nodes[me.index()].cluster, records)).collect()
}

#[test]
fn operations_are_the_same_again() {
    let seeds = if option_env!("HOMENODE_SLOW").is_some() { 1000 } else { 24 };
    for step in ALL {
        let mut all = Replayed::default();
        for seed in 0..seeds {
            let journals = noted(step, seed);
            for (cluster, records) in &journals {
                let replayed = replay(cluster, records).unwrap_or_else(|e| panic!("{} {seed}: {e}", step.name));
                assert_eq!((replayed.operations, replayed.unfinished), (1, false));
                assert_eq!(replayed.compared + replayed.given, records.len() as u64);
                all.operations += replayed.operations;
                all.compared += replayed.compared;
                all.given += replayed.given;
            }
            // One after the other they are one journal, too, of each node.
            for me in (0..4).map(NodeId) {
                let mut of_node = journals.iter().filter(|(cluster, _)| cluster.me == me).peekable();
                let Some((cluster, _)) = of_node.peek() else { continue };
                let records: Vec<Record> = of_node.clone().flat_map(|(_, records)| records.clone()).collect();
                let operations = of_node.clone().count() as u64;
                assert_eq!(replay(cluster, &records).expect("they are").operations, operations);
            }
        }
        assert!(all.operations > 1000 && all.compared > 10_000 && all.given > 10_000, "{}: {all:?}", step.name);
    }
}

/// A journal that was cut off anywhere is right as far as it goes.
#[test]
fn a_journal_may_end_anywhere() {
    for (cluster, records) in noted(ALL[0], 3).iter().take(40) {
        for end in 0..records.len() {
            let replayed = replay(cluster, &records[..end]).expect("what is there is right");
            assert_eq!((replayed.operations, replayed.unfinished), (0, end > 0));
        }
    }
}

#[test]
fn what_the_protocol_does_not_do_is_found_where_it_stands() {
    let mut rng = Rng::new(31);
    let (mut asked, mut given) = (0, 0);
    for step in ALL {
        for (cluster, mut records) in noted(step, 5) {
            let at = 3 + rng.below(records.len() as u64 - 3) as usize;
            let is_given = records[at].kind().is_some_and(Kind::is_given);
            records[at].value ^= 1 << rng.below(64);
            match replay(&cluster, &records) {
                Err(difference) if !is_given => {
                    assert_eq!((difference.at, difference.noted), (at, Some(records[at])), "{difference}");
                    assert!(matches!(difference.done, Done::Asks(wanted) if wanted != records[at]));
                    asked += 1;
                }
                // What the host gave is believed; if it matters, the protocol does something else later.
                Err(difference) => {
                    assert!(is_given && difference.at >= at, "{difference}");
                    given += 1;
                }
                Ok(_) => assert!(is_given),
            }
        }
    }
    assert!(asked > 100 && given > 100, "{asked} {given}");
}

#[test]
fn a_protocol_that_lacks_a_rule_does_something_else() {
    // Which bytes of a run changed is what the host gives.
    let mut left: Vec<Rule> = RULES.into_iter().filter(|rule| *rule != Rule::ChangedBytesOnly).collect();
    for (seed, step) in (0..200).flat_map(|seed| ALL.iter().map(move |step| (seed, step))) {
        let journals: Vec<_> = noted(step, seed).into_iter().chain(of(&turns(step, seed, true))).collect();
        let differs = |(cluster, records): &(Cluster, Vec<Record>)| replay(cluster, records).is_err();
        left.retain(|rule| !without(*rule, || journals.iter().any(differs)));
        if left.is_empty() {
            return;
        }
    }
    panic!("rules whose absence no journal shows: {left:?}");
}

#[test]
fn what_is_no_journal_is_refused() {
    let (cluster, records) = noted(ALL[0], 1).remove(0);
    let refused = |records: &[Record]| -> Difference { *replay(&cluster, records).expect_err("it is none") };
    assert_eq!(refused(&records[1..]).done, Done::NoBeginning);
    assert_eq!(refused(&[Record { head: 0, value: 0 }; 3]).done, Done::NoBeginning);
    assert!(refused(&[Record { head: 255, value: 7 }; 3]).to_string().contains("no record"));
    assert_eq!(replay(&cluster, &[]), Ok(Replayed::default()));
    let mut rng = Rng::new(9);
    for _ in 0..3000 {
        let mut bad = records.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bad.len() as u64) as usize;
            let kind = rng.below(40);
            bad[at] = Record { head: kind | rng.next_u64() << 8, value: rng.next_u64() };
        }
        // Whatever it is, there is an answer.
        let _ = replay(&cluster, &bad).map_err(|e| e.to_string());
    }
}
