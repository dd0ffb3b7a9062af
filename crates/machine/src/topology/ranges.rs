//! Sets of numbers as Linux writes them: lists (`0-3,8`) and masks (`00000000,0000ff0f`), and the masks of hwloc.
//!
//! Kept as ranges, so that a damaged `0-4294967295` costs 8 bytes and not 16 GiB.

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u32, u32)>);

/// Text that is no such set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no {kind}")]
pub struct RangesError {
    /// The part that cannot be read, shortened.
    text: String,
    /// What was expected.
    kind: &'static str,
}

fn wrong(text: &str, kind: &'static str) -> RangesError {
    RangesError { text: text.chars().filter(|c| !c.is_control()).take(40).collect(), kind }
}

impl Ranges {
    /// Reads a list such as `0-3,8`. White space around it is nothing; the empty list is the empty set.
    ///
    /// # Errors
    /// A part that is neither a number of 32 bits nor an ascending range.
    pub fn parse_list(text: &str) -> Result<Ranges, RangesError> {
        let parts = text.trim().split(',').map(str::trim).filter(|p| !p.is_empty());
        let range = |part: &str| {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let number = |t: &str| t.parse::<u32>().ok().filter(|_| !t.starts_with('+'));
            match (number(low), number(high)) {
                (Some(a), Some(b)) if a <= b => Ok((a, b)),
                _ => Err(wrong(part, "number or range")),
            }
        };
        Ok(Ranges::of(parts.map(range).collect::<Result<_, _>>()?))
    }

    /// Reads a mask: words of 32 bits in hexadecimal, the highest first, separated by commas, with or without `0x`; an
    /// empty word is 0, and `0xf...f` before the others (hwloc) stands for all higher bits.
    ///
    /// # Errors
    /// A word that is not one, or more of them than 32-bit numbers need.
    pub fn parse_mask(text: &str) -> Result<Ranges, RangesError> {
        let mut words: Vec<&str> = text.trim().split(',').map(str::trim).collect();
        let endless = words.first() == Some(&"0xf...f");
        if endless {
            words.remove(0);
        }
        let mut ranges = Vec::new();
        let mut base = 0u32;
        for word in words.iter().rev() {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            let bits = match digits {
                "" => 0,
                d if d.len() <= 8 && d.bytes().all(|b| b.is_ascii_hexdigit()) => {
                    u32::from_str_radix(d, 16).map_err(|_| wrong(word, "mask word"))?
                }
                _ => return Err(wrong(word, "mask word")),
            };
            ranges.extend((0..32).filter(|i| bits >> i & 1 == 1).map(|i| (base + i, base + i)));
            base = base.checked_add(32).filter(|b| *b < u32::MAX - 64).ok_or_else(|| wrong("long text", "mask"))?;
        }
        if endless {
            ranges.push((base, u32::MAX));
        }
        Ok(Ranges::of(ranges))
    }

    fn of(mut ranges: Vec<(u32, u32)>) -> Ranges {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (a, b) in ranges {
            match merged.last_mut() {
                Some(last) if a <= last.1.saturating_add(1) => last.1 = last.1.max(b),
                _ => merged.push((a, b)),
            }
        }
        Ranges(merged)
    }

    /// Whether the number is in the set.
    pub fn contains(&self, number: u32) -> bool {
        self.0.iter().any(|&(a, b)| (a..=b).contains(&number))
    }
    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|&(a, b)| u64::from(b - a) + 1).sum()
    }
    /// Whether it has no number.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The numbers, ascending; see [`Ranges::count`] before collecting them.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|&(a, b)| a..=b)
    }
    /// What the other does not have.
    pub fn without(&self, other: &Ranges) -> Ranges {
        let mut rest = Vec::new();
        let mut cuts = other.0.iter().peekable();
        for &(from, to) in &self.0 {
            let mut start = Some(from);
            while let (Some(a), Some(&&(c, d))) = (start, cuts.peek()) {
                if c > to {
                    break;
                }
                rest.extend((c > a).then(|| (a, c - 1)));
                start = if d >= to { None } else { Some(a.max(d + 1)) };
                if d <= to {
                    cuts.next();
                }
            }
            rest.extend(start.map(|a| (a, to)));
        }
        Ranges(rest)
    }
    /// What both have.
    pub fn and(&self, other: &Ranges) -> Ranges {
        let meet = |&(a, b): &(u32, u32)| {
            other.0.iter().map(move |&(c, d)| (a.max(c), b.min(d))).filter(|&(from, to)| from <= to)
        };
        Ranges::of(self.0.iter().flat_map(meet).collect())
    }
}

impl FromIterator<u32> for Ranges {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Ranges {
        Ranges::of(numbers.into_iter().map(|n| (n, n)).collect())
    }
}

impl std::fmt::Display for Ranges {
    /// As the kernel writes lists: `0-3,8`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (a, b)) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            if a == b { write!(f, "{comma}{a}")? } else { write!(f, "{comma}{a}-{b}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn lists_and_masks_of_the_kernel_are_read() {
        let list = |t: &str| Ranges::parse_list(t).map(|r| r.to_string());
        assert_eq!(list("0-2,33-34,45,72-73\n"), Ok("0-2,33-34,45,72-73".into()));
        assert_eq!(list(" \n"), Ok(String::new()));
        assert_eq!(list("7,0-3,4"), Ok("0-4,7".into()));
        for bad in ["0-3,7-x", "3-1", "-1", "4294967296", "1-2-3", "+4", "a"] {
            assert!(list(bad).is_err(), "{bad}");
        }
        assert_eq!(Ranges::parse_list("0-4294967295").map(|r| r.count()), Ok(1 << 32));
        let all = Ranges::parse_list("0-4294967295").unwrap();
        assert_eq!(all.without(&[0, 7, u32::MAX].into_iter().collect()).to_string(), "1-6,8-4294967294");
        assert!(all.without(&all).is_empty());
        let mask = |t: &str| Ranges::parse_mask(t).map(|r| r.to_string());
        assert_eq!(mask("00000000,0000ff00\n"), Ok("8-15".into()));
        assert_eq!(mask("0x00000001,,0x00000002"), Ok("1,64".into()));
        assert_eq!(mask("0xf...f,0x00000000"), Ok("32-4294967295".into()));
        for bad in ["0x100000000", "xyz", "1,-2", "0xf...f,0xf...f"] {
            assert!(mask(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_agree_with_a_set_of_numbers() {
        let mut rng = Rng::new(1);
        for _ in 0..500 {
            let mut draw = || (0..rng.below(12)).map(|_| rng.below(64) as u32).collect::<BTreeSet<u32>>();
            let (a, b) = (draw(), draw());
            let (x, y): (Ranges, Ranges) = (a.iter().copied().collect(), b.iter().copied().collect());
            assert!(x.iter().eq(a.iter().copied()) && x.count() == a.len() as u64 && x.is_empty() == a.is_empty());
            assert!(x.and(&y).iter().eq(a.intersection(&b).copied()));
            assert!(x.without(&y).iter().eq(a.difference(&b).copied()));
            assert!((0..70).all(|n| x.contains(n) == a.contains(&n)));
            assert_eq!(Ranges::parse_list(&x.to_string()), Ok(x));
        }
    }
}
