//! The date, as datasets and measured machines carry it.
use std::time::{SystemTime, UNIX_EPOCH};

/// Now as RFC 3339 in UTC, to the second.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    date(seconds)
}

/// Days since 1970 to year, month and day by counting in years that begin in March, so that the leap day comes last.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * of_year + 2) / 153;
    let (month, day) = (if march < 10 { march + 3 } else { march - 9 }, of_year - (153 * march + 2) / 5 + 1);
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400 + 3_661), "2000-02-29T01:01:01Z");
        assert_eq!(date(1_800_000_000), "2027-01-15T08:00:00Z");
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let lengths = |y: u64| {
            let leap = y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
            [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        };
        let mut days = 0u64;
        for y in 1970..2110 {
            for (m, length) in lengths(y).into_iter().enumerate() {
                for d in 1..=length {
                    assert_eq!(date(days * 86_400), format!("{y:04}-{:02}-{d:02}T00:00:00Z", m + 1));
                    days += 1;
                }
            }
        }
    }
}
