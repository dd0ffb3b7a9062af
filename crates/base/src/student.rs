//! Student's t distribution, for confidence intervals of few values.

/// Two-sided 95 % points with 1 to 30 degrees of freedom.
const POINTS_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// With more: the normal distribution's.
const NORMAL_95: f64 = 1.960;

/// Two-sided 95 % point of Student's t: a mean lies within so many standard errors in nineteen of twenty cases. Without a degree
/// of freedom nothing is known, and it is infinite.
pub fn two_sided_95(degrees_of_freedom: usize) -> f64 {
    match degrees_of_freedom.checked_sub(1) {
        None => f64::INFINITY,
        Some(at) => POINTS_95.get(at).copied().unwrap_or(NORMAL_95),
    }
}
