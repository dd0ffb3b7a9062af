//! What is known of the optimum's cost as a function of a move cost: it is the least of many straight lines, one a
//! placement, so it is concave and piecewise linear, and its slope is the number of moves (Bolosky 1993, section 5.3).

/// Where two neighbouring slopes differ: (x, slope before, slope after), slopes as (rise, run). `points` are (x, cost),
/// ascending and without repetition.
pub fn bends(points: &[(i64, i128)]) -> Vec<(i64, (i128, i128), (i128, i128))> {
    let slope = |w: &[(i64, i128)]| (w[1].1 - w[0].1, i128::from(w[1].0) - i128::from(w[0].0));
    let triple = |w: &[(i64, i128)]| (w[1].0, slope(&w[..2]), slope(&w[1..]));
    points.windows(3).map(triple).filter(|(_, a, b)| a.0 * b.1 != b.0 * a.1).collect()
}

/// Whether the points lie on a concave function: no slope is steeper than the one before it.
pub fn is_concave(points: &[(i64, i128)]) -> bool {
    bends(points).iter().all(|(_, a, b)| b.0 * a.1 < a.0 * b.1)
}

/// Whether the points lie on one straight line, as those of a fixed placement do.
pub fn is_linear(points: &[(i64, i128)]) -> bool {
    bends(points).is_empty()
}
