//! Rules by which claims are judged, as data beside the claims: bands for numbers, and programs that must be among those
//! which an experiment found.
use serde::Deserialize;
use std::collections::BTreeMap;

/// What an experiment measured for a claim.
#[derive(Default)]
pub struct Measures {
    values: BTreeMap<&'static str, f64>,
    names: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Measures {
    /// Numbers by name.
    pub fn of<const N: usize>(values: [(&'static str, f64); N]) -> Measures {
        Measures { values: values.into(), ..Measures::default() }
    }
    /// With a number.
    pub fn value(mut self, name: &'static str, value: f64) -> Measures {
        self.values.insert(name, value);
        self
    }
    /// Whether something has been measured under this name.
    fn has(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.names.contains_key(name)
    }
    /// With the programs of which something holds.
    pub fn names(mut self, name: &'static str, programs: Vec<&'static str>) -> Measures {
        self.names.insert(name, programs);
        self
    }
}

/// One condition; a claim agrees if all of its rules hold.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, deny_unknown_fields)]
pub enum Rule {
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
    pub fn holds(&self, measures: &Measures, points: f64) -> bool {
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
    pub fn missing(&self, measures: &Measures) -> Option<&str> {
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
    pub fn words(&self, points: f64) -> String {
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
