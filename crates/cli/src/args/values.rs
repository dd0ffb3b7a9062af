//! Values that clap has no parser for.
use std::time::Duration;

/// Longest time anybody may ask for: a year. Keeps arithmetic on clocks far from its limits.
const SECONDS_MAX: f64 = 365.0 * 86_400.0;

/// A time in seconds, decimals allowed.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && s <= SECONDS_MAX => Ok(Duration::from_secs_f64(s)),
        _ => Err("expected a number of seconds, more than 0 and at most a year".to_owned()),
    }
}

/// A share in percent, one decimal, as thousandths.
pub(crate) fn permille(text: &str) -> Result<u32, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(p) if (0.1..=100.0).contains(&p) => Ok((p * 10.0).round() as u32),
        _ => Err("expected a percentage from 0.1 to 100".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_shares_are_checked() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert!(["0", "-1", "nan", "inf", "1e99", "soon"].iter().all(|t| seconds(t).is_err()));
        assert_eq!((permille("2"), permille("0.5%")), (Ok(20), Ok(5)));
        assert!(["0", "101", "", "NaN"].iter().all(|t| permille(t).is_err()));
    }
}
