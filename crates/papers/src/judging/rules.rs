//! Rules by which claims are judged, as data beside the claims: bands for numbers, and programs that must be among those
//! which an experiment found.
use serde::Deserialize;
use std::collections::BTreeMap;

/// What an experiment measured for a claim.
#[derive(Default)]
pub(crate) struct Measures {
    values: BTreeMap<&'static str, f64>,
    names: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Measures {
    /// Numbers by name.
    pub(crate) fn of<const N: usize>(values: [(&'static str, f64); N]) -> Measures {
        Measures { values: values.into(), ..Measures::default() }
    }
    /// With a number.
    pub(crate) fn value(mut self, name: &'static str, value: f64) -> Measures {
        self.values.insert(name, value);
        self
    }
    /// Whether something has been measured under this name.
    fn has(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.names.contains_key(name)
    }
    /// With the programs of which something holds.
    pub(crate) fn names(mut self, name: &'static str, programs: Vec<&'static str>) -> Measures {
        self.names.insert(name, programs);
        self
    }
}

/// One condition; a claim agrees if all of its rules hold.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Rule {
    /// A number lies in a band, ends included.
    Band {
        /// Name of the number.
        value: String,
        /// Least, if there is one.
        from: Option<f64>,
        /// Greatest, if there is one.
        to: Option<f64>,
    },
    /// A share in percent is within the points of the page's rule of the published one.
    Near {
        /// Name of the number.
        share: String,
        /// The published one.
        near: f64,
    },
    /// One number over another lies in a band, ends included.
    Ratio {
        /// Name of the number.
        ratio: String,
        /// What it is divided by.
        over: String,
        /// Least, if there is one.
        from: Option<f64>,
        /// Greatest, if there is one.
        to: Option<f64>,
    },
    /// Numbers in this order, none above the next.
    Ascending {
        /// Names of the numbers.
        ascending: Vec<String>,
    },
    /// Programs found are those that are published, but for some.
    Names {
        /// Name of what was found.
        found: String,
        /// The published ones.
        of: Vec<String>,
        /// So many of these at least.
        at_least: usize,
        /// And so many others at most.
        others_at_most: usize,
    },
}

impl Rule {
    /// Whether it holds, with shares within so many points. What was not measured does not hold.
    pub(crate) fn holds(&self, measures: &Measures, points: f64) -> bool {
        let number = |name: &String| measures.values.get(name.as_str()).copied().unwrap_or(f64::NAN);
        let inside = |x: f64, from: &Option<f64>, to: &Option<f64>| {
            !x.is_nan() && from.is_none_or(|least| x >= least) && to.is_none_or(|most| x <= most)
        };
        match self {
            Rule::Band { value, from, to } => inside(number(value), from, to),
            Rule::Ratio { ratio, over, from, to } => inside(number(ratio) / number(over), from, to),
            Rule::Ascending { ascending } => ascending.windows(2).all(|w| number(&w[0]) <= number(&w[1])),
            Rule::Near { share, near } => (number(share) - near).abs() <= points,
            Rule::Names { found, of, at_least, others_at_most } => {
                measures.names.get(found.as_str()).is_some_and(|names| {
                    let hits = names.iter().filter(|n| of.iter().any(|o| o == *n)).count();
                    hits >= *at_least && names.len() - hits <= *others_at_most
                })
            }
        }
    }

    /// What it asks for, if that was not measured.
    pub(crate) fn missing(&self, measures: &Measures) -> Option<&str> {
        let names = match self {
            Rule::Band { value: name, .. } | Rule::Near { share: name, .. } | Rule::Names { found: name, .. } => {
                std::slice::from_ref(name)
            }
            Rule::Ratio { ratio, over, .. } => {
                return [ratio, over].map(String::as_str).into_iter().find(|n| !measures.has(n));
            }
            Rule::Ascending { ascending } => ascending,
        };
        names.iter().map(String::as_str).find(|n| !measures.has(n))
    }

    /// For the reader.
    pub(crate) fn words(&self, points: f64) -> String {
        let band = |what: &str, from: &Option<f64>, to: &Option<f64>| match (from, to) {
            (Some(least), Some(most)) if least == most => format!("{what} is {least}"),
            (Some(least), Some(most)) => format!("{what} is from {least} to {most}"),
            (Some(least), None) => format!("{what} is at least {least}"),
            (None, Some(most)) => format!("{what} is at most {most}"),
            (None, None) => format!("{what} is known"),
        };
        match self {
            Rule::Band { value, from, to } => band(value, from, to),
            Rule::Ratio { ratio, over, from, to } => band(&format!("{ratio} over {over}"), from, to),
            Rule::Ascending { ascending } => format!("{}, in this order", ascending.join(" <= ")),
            Rule::Near { share, near } => format!("{share} is within {points} points of {near}"),
            Rule::Names { found, of, at_least, others_at_most } => {
                format!("{found}: at least {at_least} of {} and at most {others_at_most} others", of.join(", "))
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::judging::claims::{Claims, POINTS};

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

    /// Every rule of the data can hold and can fail; how many there are.
    pub(crate) fn checked(claims: &Claims) -> usize {
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
}
