//! Values that clap has no parser for.
use homenode_toolkit::ONE_IN_MAX;
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

/// Bytes, with K, M, G, T for powers of 1024 (`2G`, `512M`; `GiB` and `GB` mean the same here).
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes such as 4096, 512M or 2G".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A number of things, at least one, with K, M, G for powers of 1000 (`10M`).
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of at least 1, such as 250000, 10M or 2G".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).filter(|n| *n > 0).ok_or_else(wrong)
}

/// One in so many, as `1/64` or `64`.
pub(crate) fn one_in(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("1/").unwrap_or(text).parse();
    number
        .ok()
        .filter(|n| (2..=ONE_IN_MAX).contains(n))
        .ok_or_else(|| format!("expected 1/2 to 1/{ONE_IN_MAX}, such as 1/64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_many_is_a_fraction() {
        assert_eq!((one_in("1/64"), one_in("16")), (Ok(64), Ok(16)));
        assert!(["1/1", "0", "2/3", "", "1/", "-4", "1/99999999999"].iter().all(|t| one_in(t).is_err()));
    }

    #[test]
    fn times_and_shares_are_checked() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert!(["0", "-1", "nan", "inf", "1e99", "soon"].iter().all(|t| seconds(t).is_err()));
        assert_eq!(
            (bytes("4096"), bytes("2G"), bytes("3KiB"), bytes("1MB")),
            (Ok(4096), Ok(2 << 30), Ok(3072), Ok(1 << 20))
        );
        assert_eq!((count("250000"), count("10M"), count("2g")), (Ok(250_000), Ok(10_000_000), Ok(2_000_000_000)));
        assert!(["0", "0K", "", "M", "-1", "1.5M", "1T", "99999999999G"].iter().all(|t| count(t).is_err()));
        assert!(["", "G", "-1", "1.5G", "2X", "99999999999T"].iter().all(|t| bytes(t).is_err()));
        assert_eq!((permille("2"), permille("0.5%")), (Ok(20), Ok(5)));
        assert!(["0", "101", "", "NaN"].iter().all(|t| permille(t).is_err()));
    }
}
