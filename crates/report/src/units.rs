//! Numbers for people: three significant digits and a unit.
use homenode_base::TotalCost;
use homenode_sim::evaluation::Totals;

/// How costs of one evaluation are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostUnit {
    /// Picoseconds: written in ps, ns, µs, ms, s, min or h.
    Time,
    /// Quanta of a historical machine, whose name is held here.
    Quanta(String),
}

impl CostUnit {
    /// The unit named by [`homenode_sim::Evaluation::unit`].
    pub fn of(unit: &str) -> CostUnit {
        if unit == "ps" { CostUnit::Time } else { CostUnit::Quanta(unit.to_owned()) }
    }

    /// `cost` with its unit, e.g. `3.01 ms` or `4.20 M`; quanta carry no word.
    pub fn cost(&self, cost: TotalCost) -> String {
        match self {
            _ if cost.is_infinite() => "infinite".to_owned(),
            CostUnit::Time => time_ps(cost.as_f64()),
            CostUnit::Quanta(_) => plain(cost.as_f64()),
        }
    }

    /// What a unit is, where numbers alone do not say it.
    pub fn meaning(&self) -> Option<&str> {
        match self {
            CostUnit::Time => None,
            CostUnit::Quanta(name) => Some(name),
        }
    }

    /// `cost` with its unit in a sentence: quanta are called units, and [`CostUnit::meaning`] stands elsewhere.
    pub fn cost_in_words(&self, cost: TotalCost) -> String {
        match self {
            CostUnit::Time => self.cost(cost),
            CostUnit::Quanta(_) => format!("{} units", self.cost(cost)),
        }
    }

    /// A divisor and its label that make `largest` readable on an axis, e.g. `(1e9, "ms")`.
    pub fn axis(&self, largest: TotalCost) -> (f64, String) {
        let magnitude = largest.as_f64().abs();
        match self {
            CostUnit::Time => {
                let (scale, label) = *TIME.iter().rev().find(|(s, _)| magnitude >= *s).unwrap_or(&TIME[0]);
                (scale, label.to_owned())
            }
            CostUnit::Quanta(_) => {
                let (scale, label) = *SI.iter().rev().find(|(s, _)| magnitude >= *s).unwrap_or(&SI[0]);
                (scale, format!("{label} units").trim_start().to_owned())
            }
        }
    }
}

const TIME: [(f64, &str); 5] = [(1.0, "ps"), (1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (1e12, "s")];
const SI: [(f64, &str); 6] = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")];

fn time_ps(ps: f64) -> String {
    match ps.abs() / 1e12 {
        s if s >= 35_995.0 => format!("{} h", three_digits(ps / 3.6e15)),
        s if s >= 599.5 => format!("{} min", three_digits(ps / 6e13)),
        _ => scaled(ps, &TIME),
    }
}

fn plain(value: f64) -> String {
    scaled(value, &SI)
}

/// Picks the largest unit that leaves at least 1, after rounding to three digits (999.6 ns is 1.00 µs).
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = |s: f64| value.abs() * 1.000_5 >= s;
    let (scale, label) = *units.iter().rev().find(|(s, _)| fits(*s)).unwrap_or(&units[0]);
    let exact = scale == 1.0 && value.fract() == 0.0 && value.abs() < 1000.0;
    let number = if exact { format!("{value:.0}") } else { three_digits(value / scale) };
    format!("{number} {label}").trim_end().to_owned()
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A count: exact below 100,000 with thousands separated, else three digits and k, M, G.
pub fn count(n: u64) -> String {
    if n < 100_000 { integer(n) } else { plain(n as f64) }
}

/// Shares of misses by class, where these cost differently: `misses: 75 % streamed, <0.1 % overlapped, 25 % waited for`.
pub fn misses(totals: &Totals) -> Option<String> {
    let m = totals.misses?;
    let all = (m.waited + m.unknown + m.overlapped + m.streamed).max(1) as f64;
    let share = |n: u64| percent(n as f64 / all);
    Some(format!(
        "misses: {} streamed, {} overlapped, {} waited for{}",
        share(m.streamed),
        share(m.overlapped),
        share(m.waited + m.unknown),
        if m.unknown > 0 { format!(" ({} unknown)", share(m.unknown)) } else { String::new() }
    ))
}

/// What hits in last levels cost, where they have a price.
pub fn hits(totals: &Totals, unit: &CostUnit) -> Option<String> {
    let h = totals.hits?;
    let all = count(h.waited + h.unknown + h.overlapped + h.streamed);
    Some(format!("hits in last levels: {} for {all}, which no placement changes, in no total above", unit.cost(h.cost)))
}

/// A count with thousands separated by commas.
pub fn integer(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A count with its noun in the right number.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", integer(n), if n == 1 { one } else { many })
}

/// Bytes: `B`, `KiB`, `MiB`, `GiB`, `TiB`; whole numbers stay whole.
pub fn bytes(n: u64) -> String {
    const UNITS: [(u64, &str); 5] = [(1, "B"), (1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB"), (1 << 40, "TiB")];
    let (scale, label) = *UNITS.iter().rev().find(|(s, _)| n >= *s).unwrap_or(&UNITS[0]);
    if n.is_multiple_of(scale) && n / scale < 1024 {
        return format!("{} {label}", n / scale);
    }
    format!("{} {label}", three_digits(n as f64 / scale as f64))
}

/// A share as per cent: `38 %`, one decimal below 10 %, `<0.1 %` where rounding would say 0.
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p.abs() {
        _ if !p.is_finite() => "–".to_owned(),
        0.0 => "0 %".to_owned(),
        v if v < 0.05 => if p > 0.0 { "<0.1 %" } else { ">−0.1 %" }.to_owned(),
        v if v < 9.95 => format!("{p:.1} %"),
        _ => format!("{p:.0} %"),
    }
}

/// The `file:line` or `module+0xoffset` that a word is, without punctuation around it: text before, place, text after.
pub(crate) fn place_in(word: &str) -> Option<(&str, &str, &str)> {
    let start = word.len() - word.trim_start_matches(['(', '[', '"']).len();
    let inner = word[start..].trim_end_matches(['.', ',', ';', ':', ')', ']', '"']);
    let (name, number) = inner.rsplit_once([':', '+'])?;
    let digits = number.strip_prefix("0x").unwrap_or(number);
    let known = name.contains(['.', '/']) && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    known.then(|| (&word[..start], inner, &word[start + inner.len()..]))
}

/// Whether `next` is the unit of the number that `word` ends with: a line must not break between them.
pub(crate) fn is_quantity(word: &str, next: &str) -> bool {
    const UNITS: [&str; 17] =
        ["%", "ps", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "GB/s", "k", "M", "G", "T"];
    let unit = next.trim_end_matches(['.', ',', ';', ':', ')']);
    word.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
}

/// A factor: `×1.67`; `–` if it does not exist.
pub fn factor(ratio: f64) -> String {
    if ratio.is_finite() { format!("×{}", three_digits(ratio)) } else { "–".to_owned() }
}

/// Ascending thread numbers as ranges: `0-7, 9`; `none` if empty.
pub fn ranges(ids: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &id in ids {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            _ => parts.push((id, id)),
        }
    }
    let text: Vec<String> =
        parts.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    if text.is_empty() { "none".to_owned() } else { text.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_have_three_digits_and_roll_over_to_the_next_unit() {
        let t = |ps: i128| CostUnit::Time.cost(TotalCost(ps));
        assert_eq!([t(0), t(999), t(1_000), t(999_600)].join("|"), "0 ps|999 ps|1.00 ns|1.00 µs");
        assert_eq!([t(12_340_000), t(-3_014_000_000)].join("|"), "12.3 µs|-3.01 ms");
        assert_eq!(
            [t(599 * 10i128.pow(12)), t(600 * 10i128.pow(12)), t(36 * 10i128.pow(15))].join("|"),
            "599 s|10.0 min|10.0 h"
        );
        let q = CostUnit::of("local reference of the ACE");
        assert_eq!(q.cost_in_words(TotalCost(4_200_000)), "4.20 M units");
        assert_eq!(q.axis(TotalCost(4_200_000)), (1e6, "M units".to_owned()));
    }

    #[test]
    fn places_are_found_with_punctuation_around_them_and_cut_in_front() {
        assert_eq!(place_in("(stencil.c:41),"), Some(("(", "stencil.c:41", "),")));
        assert_eq!(place_in("/lib/libm.so.6+0x16e0ba"), Some(("", "/lib/libm.so.6+0x16e0ba", "")));
        for other in ["12:30", "std::vector", "a.c", "x:", "", "main.c:", "1+2"] {
            assert_eq!(place_in(other), None, "{other}");
        }
    }

    #[test]
    fn counts_bytes_shares_and_ranges_read_well() {
        assert_eq!([count(99_999), count(100_000), integer(1_234_567)].join("|"), "99,999|100 k|1,234,567");
        assert_eq!([bytes(0), bytes(1023), bytes(4096), bytes(1_500_000)].join("|"), "0 B|1023 B|4 KiB|1.43 MiB");
        assert_eq!([percent(0.0), percent(0.0001), percent(0.0312), percent(0.381)].join("|"), "0 %|<0.1 %|3.1 %|38 %");
        assert_eq!([factor(1.666), factor(f64::INFINITY)].join("|"), "×1.67|–");
        assert_eq!([ranges(&[]), ranges(&[3]), ranges(&[0, 1, 2, 5, 7, 8])].join("|"), "none|3|0-2, 5, 7-8");
    }
}
