//! Values of a parameter: one number, a list, or a range.
use super::SpecError;
use homenode_machine::limits::COST_MAX;
use toml::Value;

/// Most values that a list or a logarithmic range may have; steps may be more, since they are not kept.
const KEPT_MAX: i64 = 1_000_000;

/// Stands for `"2G"`: twice the cost of a copy from global memory.
pub(super) const TWICE_GLOBAL: i64 = -1;

/// A word that stands for a value, where a parameter has one, and what it stands for.
pub(super) type Word = Option<(&'static str, i64)>;

/// Values of one parameter, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// As listed.
    List(Vec<i64>),
    /// `from`, `from + step` and so on.
    Steps {
        /// First.
        from: i64,
        /// Distance, above 0.
        step: i64,
        /// How many, at least 1.
        count: u64,
    },
}

impl Values {
    /// How many; at least 1.
    pub fn count(&self) -> u64 {
        match self {
            Values::List(list) => list.len() as u64,
            Values::Steps { count, .. } => *count,
        }
    }
    /// The value with this number; panics if there are not so many.
    pub fn at(&self, i: u64) -> i64 {
        match self {
            Values::List(list) => list[i as usize],
            Values::Steps { from, step, count } => {
                assert!(i < *count, "value {i} of {count}");
                from + step * i as i64
            }
        }
    }
    /// Least and greatest.
    pub fn ends(&self) -> (i64, i64) {
        match self {
            Values::List(list) => list.iter().fold((i64::MAX, i64::MIN), |(low, high), v| (low.min(*v), high.max(*v))),
            Values::Steps { count, .. } => (self.at(0), self.at(count - 1)),
        }
    }

    /// Reads `5`, `[5, 10]`, `{ from, to, step }` or `{ from, to, points, log }`, and the word where there is one.
    ///
    /// # Errors
    /// Something else, nothing at all, or numbers out of range.
    pub(super) fn from_toml(key: &str, value: &Value, word: Word) -> Result<Values, SpecError> {
        match value {
            Value::Array(list) if list.is_empty() => Err(SpecError::new(format!("{key}: the list is empty"))),
            Value::Array(list) => {
                if list.len() as i64 > KEPT_MAX {
                    return Err(too_many(key, list.len()));
                }
                let numbers = list.iter().map(|v| number(key, v, word)).collect::<Result<Vec<_>, _>>()?;
                Ok(Values::List(numbers))
            }
            Value::Table(table) => range(key, table),
            other => Ok(Values::List(vec![number(key, other, word)?])),
        }
    }
}

fn too_many(key: &str, count: impl std::fmt::Display) -> SpecError {
    SpecError::new(format!("{key}: {count} values; a list or a logarithmic range has at most {KEPT_MAX}"))
}

fn number(key: &str, value: &Value, word: Word) -> Result<i64, SpecError> {
    match (value, word) {
        (Value::Integer(n), _) if (0..=COST_MAX).contains(n) => Ok(*n),
        (Value::Integer(n), _) => {
            Err(SpecError::new(format!("{key} = {n} is not allowed: 0 to {COST_MAX}, so that no cost can overflow")))
        }
        (Value::String(text), Some((name, stands_for))) if text == name => Ok(stands_for),
        (other, word) => Err(SpecError::new(format!(
            "{key} = {other} is not allowed: a whole number in the machine's unit{}, a list of such, \
             {{ from, to, step }} or {{ from, to, points, log }}",
            word.map_or(String::new(), |(name, _)| format!(" or \"{name}\""))
        ))),
    }
}

/// The keys of a range.
#[derive(Default)]
struct Range {
    from: Option<i64>,
    to: Option<i64>,
    step: Option<i64>,
    points: Option<i64>,
    log: bool,
}

fn range(key: &str, table: &toml::Table) -> Result<Values, SpecError> {
    let mut r = Range::default();
    for (name, value) in table {
        let inner = format!("{key}.{name}");
        match (name.as_str(), value) {
            ("from", v) => r.from = Some(number(&inner, v, None)?),
            ("to", v) => r.to = Some(number(&inner, v, None)?),
            ("step", v) => r.step = Some(number(&inner, v, None)?),
            ("points", v) => r.points = Some(number(&inner, v, None)?),
            ("log", Value::Boolean(b)) => r.log = *b,
            ("log", _) => return Err(SpecError::new(format!("{inner}: true or false"))),
            (other, _) => {
                let known = ["from", "to", "step", "points", "log"];
                return Err(SpecError::unknown(&format!("key of the range {key}"), other, known));
            }
        }
    }
    let (Some(from), Some(to)) = (r.from, r.to) else {
        return Err(SpecError::new(format!("{key}: a range needs from and to")));
    };
    if from > to {
        return Err(SpecError::new(format!("{key}: the range from {from} to {to} is empty")));
    }
    match (r.step, r.points, r.log) {
        (Some(step), None, false) if step > 0 => {
            Ok(Values::Steps { from, step, count: ((to - from) / step) as u64 + 1 })
        }
        (None, Some(points), log) if points > 0 => spaced(key, from, to, points, log),
        _ => Err(SpecError::new(format!("{key}: a range has a step, or points (with log = true or not), above 0"))),
    }
}

/// `points` values between the ends, both contained, rounded to whole numbers; equal ones once.
fn spaced(key: &str, from: i64, to: i64, points: i64, log: bool) -> Result<Values, SpecError> {
    if points > KEPT_MAX {
        return Err(too_many(key, points));
    }
    if log && from < 1 {
        return Err(SpecError::new(format!("{key}: a logarithmic range begins at 1 or above")));
    }
    let share = |i: i64| if points == 1 { 0.0 } else { i as f64 / (points - 1) as f64 };
    let (low, high) = (from as f64, to as f64);
    let value = |i: i64| if log { low * (high / low).powf(share(i)) } else { low + (high - low) * share(i) };
    let mut list: Vec<i64> = (0..points).map(|i| (value(i).round() as i64).clamp(from, to)).collect();
    list.dedup();
    Ok(Values::List(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, word: Word) -> Result<Vec<i64>, String> {
        let table: toml::Table = text.parse().expect("TOML");
        let values = Values::from_toml("r", &table["r"], word).map_err(|e| e.to_string())?;
        Ok((0..values.count()).map(|i| values.at(i)).collect())
    }

    #[test]
    fn numbers_lists_and_ranges() {
        assert_eq!(read("r = 5", None), Ok(vec![5]));
        assert_eq!(read("r = [5, \"inf\"]", Some(("inf", 7))), Ok(vec![5, 7]));
        assert_eq!(read("r = { from = 2, to = 9, step = 3 }", None), Ok(vec![2, 5, 8]));
        assert_eq!(read("r = { from = 0, to = 10, points = 3 }", None), Ok(vec![0, 5, 10]));
        assert_eq!(read("r = { from = 1, to = 1000, points = 4, log = true }", None), Ok(vec![1, 10, 100, 1000]));
        assert_eq!(read("r = { from = 1, to = 3, points = 9, log = true }", None), Ok(vec![1, 2, 3]));
    }

    #[test]
    fn what_is_no_value_is_refused_with_the_key() {
        let wrong = |text| read(text, None).expect_err(text);
        assert!(wrong("r = []").contains("r: the list is empty"));
        assert!(wrong("r = { from = 9, to = 2, step = 1 }").contains("from 9 to 2 is empty"));
        assert!(wrong("r = 1.5").contains("whole number"));
        assert!(wrong("r = \"inf\"").contains("whole number"));
        assert!(wrong("r = 10_000_000_000_000").contains("no cost can overflow"));
        assert!(wrong("r = { from = 1, too = 2, step = 1 }").contains("did you mean 'to'?"));
        assert!(wrong("r = { from = 1, to = 2 }").contains("has a step, or points"));
        assert!(wrong("r = { from = 0, to = 2, points = 3, log = true }").contains("begins at 1"));
        assert!(wrong("r = { from = 1, to = 2, points = 1_000_000_000 }").contains("1000000000 values"));
    }

    #[test]
    fn many_steps_take_no_memory() {
        let table: toml::Table = "r = { from = 1, to = 1_000_000_000_000, step = 1 }".parse().expect("TOML");
        let values = Values::from_toml("r", &table["r"], None).expect("values");
        assert_eq!((values.count(), values.ends()), (1_000_000_000_000, (1, 1_000_000_000_000)));
    }
}
