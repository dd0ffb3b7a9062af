//! Block sizes and policies, as lists and ranges.
use super::SpecError;
use homenode_placement::policies::{ALL, Choice, PolicyError};

/// Block sizes a study may ask for, in bytes.
pub const BLOCKS: std::ops::RangeInclusive<u64> = 4..=2 << 20;
/// Most policies that the ranges of one study may come to.
const CHOICES_MAX: usize = 10_000;

/// Reads `64`, `4K`, `64..8192` (powers of two, both ends contained); several separated by commas. Ascending, each once.
///
/// # Errors
/// A size that is no power of two from 4 B to 2 MiB, or an empty range.
pub fn blocks<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Vec<u64>, SpecError> {
    let mut all = Vec::new();
    for item in items.into_iter().flat_map(|i| i.split(',')).map(str::trim) {
        match item.split_once("..") {
            None => all.push(block(item)?),
            Some((from, to)) => {
                let (from, to) = (block(from.trim())?, block(to.trim().trim_start_matches('='))?);
                if from > to {
                    return Err(SpecError::new(format!("blocks: the range from {from} to {to} is empty")));
                }
                all.extend((from.trailing_zeros()..=to.trailing_zeros()).map(|shift| 1u64 << shift));
            }
        }
    }
    if all.is_empty() {
        return Err(SpecError::new("blocks: no block size is named"));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn block(text: &str) -> Result<u64, SpecError> {
    let upper = text.to_ascii_uppercase();
    let (digits, shift) = match upper.strip_suffix(['K', 'M']) {
        Some(digits) => (digits, if upper.ends_with('K') { 10 } else { 20 }),
        None => (upper.as_str(), 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.filter(|b| b.is_power_of_two() && BLOCKS.contains(b)).ok_or_else(|| {
        let (low, high) = (BLOCKS.start(), BLOCKS.end());
        SpecError::new(format!("blocks: '{text}' is not allowed: powers of two from {low} to {high} bytes"))
    })
}

/// Reads policies such as `first-touch`, `ace(4)` and, with ranges of parameters, `ace(1..8)` or `delay(100..1000:100)`;
/// several separated by commas. Each once.
///
/// # Errors
/// A policy that does not exist (with the nearest that does), or a parameter out of range.
pub fn policies<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Vec<Choice>, SpecError> {
    let mut all: Vec<Choice> = Vec::new();
    for item in items.into_iter().flat_map(apart) {
        for text in expand("policy", item)? {
            let choice = Choice::parse(&text).map_err(|e| unknown_or(&text, &e))?;
            if !all.iter().any(|c| c.spec.name == choice.spec.name && c.values == choice.values) {
                all.push(choice);
            }
        }
    }
    Ok(all)
}

/// The parts between commas that are in no parentheses.
pub(super) fn apart(items: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = items.split(move |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

fn unknown_or(text: &str, e: &PolicyError) -> SpecError {
    match e {
        PolicyError::Unknown { given, .. } => SpecError::unknown("policy", given, ALL.iter().map(|s| &*s.name)),
        other => SpecError::new(format!("policy '{text}': {other}")),
    }
}

/// All combinations of the ranges in the parameters of a policy or protocol.
pub(super) fn expand(what: &str, item: &str) -> Result<Vec<String>, SpecError> {
    let Some((name, rest)) = item.split_once('(') else { return Ok(vec![item.to_owned()]) };
    let Some(list) = rest.trim_end().strip_suffix(')').filter(|l| l.contains("..")) else {
        return Ok(vec![item.to_owned()]);
    };
    let mut heads = vec![String::new()];
    for part in list.split(',').map(str::trim) {
        let values = match part.contains("..") {
            true => span(what, item, part)?,
            false => vec![part.to_owned()],
        };
        if heads.len().saturating_mul(values.len()) > CHOICES_MAX {
            return Err(SpecError::new(format!("{what} '{item}' stands for more than {CHOICES_MAX}")));
        }
        let join = |h: &String, v: &String| if h.is_empty() { v.clone() } else { format!("{h},{v}") };
        heads = heads.iter().flat_map(|h| values.iter().map(move |v| join(h, v))).collect();
    }
    Ok(heads.into_iter().map(|h| format!("{name}({h})")).collect())
}

/// `a..b` or `a..b:step`, both ends contained.
fn span(what: &str, item: &str, part: &str) -> Result<Vec<String>, SpecError> {
    let wrong =
        || SpecError::new(format!("{what} '{item}': cannot read the range '{part}': write 1..8 or 100..1000:100"));
    let (from, rest) = part.split_once("..").ok_or_else(wrong)?;
    let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let number = |t: &str| t.trim().parse::<u32>().map_err(|_| wrong());
    let (from, to, step) = (number(from)?, number(to)?, number(step)?);
    if step == 0 || from > to {
        return Err(SpecError::new(format!("{what} '{item}': the range '{part}' is empty")));
    }
    if (to - from) / step >= CHOICES_MAX as u32 {
        return Err(SpecError::new(format!("{what} '{item}' stands for more than {CHOICES_MAX}")));
    }
    Ok((from..=to).step_by(step as usize).map(|v| v.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_in_all_spellings() {
        assert_eq!(blocks(["64..512"]), Ok(vec![64, 128, 256, 512]));
        assert_eq!(blocks(["2M,4k", "64"]), Ok(vec![64, 4096, 2 << 20]));
        for wrong in ["100", "2", "4M", "8192..64", "", "4..", "64K..x", "99999999999999999999", "K"] {
            let message = blocks([wrong]).expect_err(wrong).to_string();
            assert!(message.starts_with("blocks: "), "{message}");
        }
    }

    #[test]
    fn policies_with_ranges() {
        let names = |items: &[&str]| -> Vec<String> {
            policies(items.iter().copied()).expect("policies").iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(&["ace(1..3)", "first-touch", "ace(2)"]), ["ace(1)", "ace(2)", "ace(3)", "first-touch"]);
        assert_eq!(names(&["first-touch, ace(1,0),fixed(1..2)"]), ["first-touch", "ace(1)", "fixed(1)", "fixed(2)"]);
        assert_eq!(names(&["ace(1..9:4)"]), ["ace(1)", "ace(5)", "ace(9)"]);
        let wrong = |item: &str| policies([item]).err().expect(item).to_string();
        assert!(wrong("acr").contains("did you mean 'ace'?"));
        assert!(wrong("ace(5..1)").contains("empty"));
        assert!(wrong("ace(1..4294967295)").contains("more than 10000"));
        assert!(wrong("ace(1..)").contains("cannot read the range"));
    }
}
