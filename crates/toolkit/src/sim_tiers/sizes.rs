//! Sizes of DRAM: percent of the pages that a recording touches, or bytes.
use homenode_command::Failure;
use homenode_report::capacity::SizeDoc;
use homenode_timed::tiers::{Recorded, TierMachine};

/// Steps of a range that names none.
const STEP: u64 = 10;

/// A size as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    Percent(u64),
    Bytes(u64),
}

/// Sizes as they were asked for.
pub(crate) struct Sizes {
    /// The option that they were asked by.
    option: &'static str,
    all: Vec<Size>,
}

impl Sizes {
    /// Reads `40`, `40%`, `10..100`, `10..90:20`, `64M`; 10 to 100 percent if there is nothing.
    pub(crate) fn parse(option: &'static str, words: &[String]) -> Result<Sizes, Failure> {
        let mut all = Vec::new();
        for word in words {
            all.extend(one(word.trim()).ok_or_else(|| {
                Failure::usage(format!(
                    "{option}: '{word}' is neither percent of the footprint from 1 to 100 (40, 10..100, 10..90:20) nor bytes with a unit (65536B, 64M, 2G)"
                ))
            })?);
        }
        if all.is_empty() {
            all.extend((STEP..=100).step_by(STEP as usize).map(Size::Percent));
        }
        Ok(Sizes { option, all })
    }

    /// Frames, ascending, each number once; and what had to be left out.
    pub(crate) fn frames(
        &self,
        recorded: &Recorded,
        tiers: &TierMachine,
    ) -> Result<(Vec<SizeDoc>, Vec<String>), Failure> {
        let pages = recorded.pages.len() as u64;
        let (mut sizes, mut left_out): (Vec<SizeDoc>, Vec<String>) = Default::default();
        for size in &self.all {
            let (frames, words) = match *size {
                Size::Percent(p) => (pages * p / 100, format!("{p} % of {pages} pages")),
                Size::Bytes(b) => (b / tiers.page_bytes, format!("{b} bytes")),
            };
            let page = tiers.page_bytes;
            let wrong = match tiers.capacity {
                _ if frames == 0 => Some(format!("is fewer frames than one of {page} bytes")),
                Some([dram, _]) if frames > dram => {
                    Some(format!("is more than the {dram} frames of the machine's DRAM"))
                }
                Some([_, expander]) if pages - frames.min(pages) > expander => {
                    Some(format!("leaves more pages over than the {expander} that the machine's expander holds"))
                }
                _ => None,
            };
            match wrong {
                Some(why) => left_out.push(format!("left out: DRAM of {words} {why}")),
                None => {
                    sizes.push(SizeDoc { frames, bytes: frames * page, percent: 100.0 * frames as f64 / pages as f64 })
                }
            }
        }
        sizes.sort_by_key(|s| s.frames);
        sizes.dedup_by_key(|s| s.frames);
        match (sizes.is_empty(), left_out.first()) {
            (true, Some(first)) => {
                Err(Failure::usage(format!("{}: {}", self.option, first.trim_start_matches("left out: "))))
            }
            _ => Ok((sizes, left_out)),
        }
    }
}

fn one(word: &str) -> Option<Vec<Size>> {
    let percent = |text: &str| text.trim_end_matches('%').parse::<u64>().ok().filter(|p| (1..=100).contains(p));
    if let Some((from, to)) = word.split_once("..") {
        let (to, step) = to.split_once(':').map_or((to, Some(STEP)), |(to, step)| (to, step.parse().ok()));
        let (from, to, step): (u64, u64, u64) = (percent(from)?, percent(to)?, step.filter(|s| *s > 0)?);
        let step = usize::try_from(step).ok()?;
        return (from <= to).then(|| (from..=to).step_by(step).map(Size::Percent).collect());
    }
    if let Some(p) = percent(word) {
        return Some(vec![Size::Percent(p)]);
    }
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match word[digits.len()..].to_ascii_uppercase().as_str() {
        "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return None,
    };
    let bytes: u64 = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    Some(vec![Size::Bytes(bytes)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_percent_or_bytes() {
        assert_eq!(one("40"), Some(vec![Size::Percent(40)]));
        assert_eq!(one("10..30"), Some(vec![Size::Percent(10), Size::Percent(20), Size::Percent(30)]));
        assert_eq!(one("10..40:25%"), None);
        assert_eq!(one("10%..40%:25"), Some(vec![Size::Percent(10), Size::Percent(35)]));
        assert_eq!(one("2M"), Some(vec![Size::Bytes(2 << 20)]));
        assert_eq!(one("4096b"), Some(vec![Size::Bytes(4096)]));
        for wrong in ["", "0", "101", "4096", "-5", "30..10", "10..20:0", "M", "99999999999T", "1.5G", "10..", "x%"] {
            assert_eq!(one(wrong), None, "{wrong}");
        }
    }
}
