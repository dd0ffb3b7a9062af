//! A check of data for the tests of papers: no rule is without meaning.
use crate::claims::{Claims, POINTS};
use crate::rules::{Measures, Rule};

/// Leaks, which a test may: names of measures are static.
fn still(name: &str) -> &'static str {
    name.to_owned().leak()
}

fn programs(of: &[String], hits: usize, others: usize) -> Vec<&'static str> {
    let strangers = (0..others).map(|i| still(&format!("stranger {i}")));
    of.iter().take(hits).map(|n| still(n)).chain(strangers).collect()
}

/// Adds what makes a rule hold.
fn kept(m: Measures, rule: &Rule) -> Measures {
    match rule {
        Rule::Band { value, from, to } => m.value(still(value), from.or(*to).expect("an end")),
        Rule::Near { share, near } => m.value(still(share), *near),
        Rule::Ratio { ratio, over, from, to } => {
            m.value(still(ratio), 2.0 * from.or(*to).expect("an end")).value(still(over), 2.0)
        }
        Rule::Ascending { ascending } => {
            ascending.iter().zip(0..).fold(m, |m, (name, i)| m.value(still(name), f64::from(i)))
        }
        Rule::Names { found, of, at_least, others_at_most } => {
            m.names(still(found), programs(of, *at_least, *others_at_most))
        }
    }
}

/// Everything that just breaks a rule.
fn broken(rule: &Rule, fresh: impl Fn() -> Measures) -> Vec<Measures> {
    match rule {
        Rule::Band { value, from, to } => {
            let outside = from.map(|x| x - 1e-6).into_iter().chain(to.map(|x| x + 1e-6));
            outside.chain([f64::NAN]).map(|x| fresh().value(still(value), x)).collect()
        }
        Rule::Near { share, near } => {
            [near - POINTS - 0.1, near + POINTS + 0.1].map(|x| fresh().value(still(share), x)).into()
        }
        Rule::Ratio { ratio, over, from, to } => {
            let outside = from.map(|x| 2.0 * x - 1e-6).into_iter().chain(to.map(|x| 2.0 * x + 1e-6));
            outside.chain([f64::NAN]).map(|x| fresh().value(still(ratio), x).value(still(over), 2.0)).collect()
        }
        Rule::Ascending { ascending } => {
            let last = ascending.last().expect("two names");
            [-1.0, f64::NAN].map(|x| fresh().value(still(last), x)).into()
        }
        Rule::Names { found, of, at_least, others_at_most } => {
            let fewer = at_least.checked_sub(1).map(|hits| programs(of, hits, 0));
            let more = programs(of, *at_least, others_at_most + 1);
            fewer.into_iter().chain([more]).map(|names| fresh().names(still(found), names)).collect()
        }
    }
}

/// The number of rules of these claims, each of which can hold and can fail.
///
/// # Panics
/// One cannot, or the data is not what it should be.
pub fn checked(claims: &Claims) -> usize {
    let mut rules = 0;
    for claim in claims.published().expect("data") {
        let all = || claim.rules.iter().fold(Measures::default(), kept);
        assert!(claim.rules.iter().all(|r| r.holds(&all(), POINTS)), "{}: can hold", claim.id);
        for rule in &claim.rules {
            let failures = broken(rule, all);
            assert!(!failures.is_empty(), "{}: {rule:?} can fail", claim.id);
            for measures in failures {
                assert!(!rule.holds(&measures, POINTS), "{}: {rule:?} holds where it must not", claim.id);
            }
            assert!(!rule.holds(&Measures::default(), POINTS), "{}: nothing measured, nothing held", claim.id);
            assert!(rule.missing(&Measures::default()).is_some() && rule.missing(&all()).is_none(), "{}", claim.id);
            assert!(!rule.words(POINTS).ends_with("known"), "{}: a band has an end", claim.id);
            rules += 1;
        }
    }
    rules
}
