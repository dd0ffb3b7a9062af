//! What is known of the optimum's cost as a function of a move cost: it is the least of many straight lines, one a
//! placement, so it is concave and piecewise linear, and its slope is the number of moves (Bolosky 1993, section 5.3).
use std::cmp::Ordering;

/// A slope, exactly.
#[derive(Clone, Copy, Debug)]
pub struct Slope {
    /// Change of cost.
    pub rise: i128,
    /// Change of x, above 0.
    pub run: i128,
}

impl PartialEq for Slope {
    fn eq(&self, other: &Slope) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}
impl PartialOrd for Slope {
    fn partial_cmp(&self, other: &Slope) -> Option<Ordering> {
        (self.rise * other.run).partial_cmp(&(other.rise * self.run))
    }
}

/// A point at which the slope changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// Move cost at which the slope changes.
    pub x: i64,
    /// Slope before it.
    pub before: Slope,
    /// Slope after it.
    pub after: Slope,
}

/// Where two neighbouring slopes differ. `points` are (x, cost), ascending and without repetition.
pub fn bends(points: &[(i64, i128)]) -> Vec<Bend> {
    let slope = |from: &(i64, i128), to: &(i64, i128)| Slope {
        rise: to.1 - from.1,
        run: i128::from(to.0) - i128::from(from.0),
    };
    let bend = |w: &[(i64, i128)]| Bend { x: w[1].0, before: slope(&w[0], &w[1]), after: slope(&w[1], &w[2]) };
    points.windows(3).map(bend).filter(|b| b.before != b.after).collect()
}

/// Whether the points lie on a concave function: no slope is steeper than the one before it.
pub fn is_concave(points: &[(i64, i128)]) -> bool {
    bends(points).iter().all(|b| b.after < b.before)
}

/// Whether the points lie on one straight line, as those of a fixed placement do.
pub fn is_linear(points: &[(i64, i128)]) -> bool {
    bends(points).is_empty()
}
