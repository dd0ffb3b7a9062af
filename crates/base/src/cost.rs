//! Exact accounting: no floats, no silent wrap.
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A cost in the unit of its machine: picoseconds on machines given in time, a stated quantum on historical ones.
/// Arithmetic panics on overflow in every build profile of this workspace (`overflow-checks = true`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Cost(pub i64);

impl Cost {
    /// No cost.
    pub const ZERO: Cost = Cost(0);
    /// Larger than any sum a single block can reach; stands for "not possible". Halved so that two of them still add.
    pub const INFINITE: Cost = Cost(i64::MAX / 4);

    /// This cost `times` over.
    #[inline]
    pub fn times(self, times: u64) -> TotalCost {
        TotalCost(i128::from(self.0) * i128::from(times))
    }
}

impl Add for Cost {
    type Output = Cost;
    #[inline]
    fn add(self, o: Cost) -> Cost {
        Cost(self.0 + o.0)
    }
}
impl Sub for Cost {
    type Output = Cost;
    #[inline]
    fn sub(self, o: Cost) -> Cost {
        Cost(self.0 - o.0)
    }
}
impl AddAssign for Cost {
    #[inline]
    fn add_assign(&mut self, o: Cost) {
        self.0 += o.0;
    }
}
impl Mul<i64> for Cost {
    type Output = Cost;
    #[inline]
    fn mul(self, k: i64) -> Cost {
        Cost(self.0 * k)
    }
}
impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(iter: I) -> Cost {
        iter.fold(Cost::ZERO, Add::add)
    }
}

/// A sum of costs over blocks or programs. 128 bits: 2^40 references of 2^40 quanta each still fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TotalCost(pub i128);

impl TotalCost {
    /// No cost.
    pub const ZERO: TotalCost = TotalCost(0);
    /// For display only; accounting stays in integers.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Whether a part of it is not possible ([`Cost::INFINITE`]).
    pub fn is_infinite(self) -> bool {
        self.0 >= i128::from(Cost::INFINITE.0)
    }
    /// `self / other` for display; 1 when both are zero, infinite if only `self` is.
    pub fn ratio_to(self, other: TotalCost) -> f64 {
        match (self.is_infinite(), other.is_infinite()) {
            _ if self == other => 1.0,
            (true, false) => f64::INFINITY,
            _ => self.as_f64() / other.as_f64(),
        }
    }
}
impl From<Cost> for TotalCost {
    fn from(c: Cost) -> TotalCost {
        TotalCost(c.0.into())
    }
}
impl Add for TotalCost {
    type Output = TotalCost;
    #[inline]
    fn add(self, o: TotalCost) -> TotalCost {
        TotalCost(self.0 + o.0)
    }
}
impl Sub for TotalCost {
    type Output = TotalCost;
    #[inline]
    fn sub(self, o: TotalCost) -> TotalCost {
        TotalCost(self.0 - o.0)
    }
}
impl AddAssign for TotalCost {
    #[inline]
    fn add_assign(&mut self, o: TotalCost) {
        self.0 += o.0;
    }
}
impl AddAssign<Cost> for TotalCost {
    #[inline]
    fn add_assign(&mut self, o: Cost) {
        self.0 += i128::from(o.0);
    }
}
impl Sum for TotalCost {
    fn sum<I: Iterator<Item = TotalCost>>(iter: I) -> TotalCost {
        iter.fold(TotalCost::ZERO, Add::add)
    }
}
impl Sum<Cost> for TotalCost {
    fn sum<I: Iterator<Item = Cost>>(iter: I) -> TotalCost {
        iter.fold(TotalCost::ZERO, |a, c| a + c.into())
    }
}
impl TotalCost {
    /// As [`Serialize`], for documents that people read: `infinite` if a part of it is not possible. Digits alone say how
    /// often it was not, which files that are read back must keep.
    ///
    /// # Errors
    /// What the serialiser says.
    pub fn serialize_in_words<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.is_infinite() { s.serialize_str("infinite") } else { self.serialize(s) }
    }

    /// Schema of what [`TotalCost::serialize_in_words`] writes.
    pub fn schema_in_words(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^(-?[0-9]+|infinite)$" }] })
    }
}

impl JsonSchema for TotalCost {
    fn schema_name() -> Cow<'static, str> {
        "TotalCost".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A cost in the unit of its machine: a number if it fits in 53 bits, else its decimal digits as a string.",
            "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^-?[0-9]+$" }],
        })
    }
}

/// JSON has no 128-bit integers that every reader keeps, so a total that fits in 53 bits is written as a number and a
/// larger one as a decimal string.
impl Serialize for TotalCost {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(v) if v.unsigned_abs() < 1 << 53 => s.serialize_i64(v),
            _ => s.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for TotalCost {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<TotalCost, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Digits(String),
        }
        match Written::deserialize(d)? {
            Written::Number(n) => Ok(TotalCost(n.into())),
            Written::Digits(text) => text
                .parse()
                .map(TotalCost)
                .map_err(|_| serde::de::Error::custom(format!("'{text}' is no whole number"))),
        }
    }
}

/// Time inside a trace or a simulation: instructions where the backend knows them, else references. Never wall-clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VirtualTime(pub u64);
