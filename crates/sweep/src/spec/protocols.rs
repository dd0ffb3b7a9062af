//! Protocols of page coherence, as lists and ranges.
use super::SpecError;
use super::blocks::{apart, expand};
use homenode_coherence::protocols::ALL;
use homenode_coherence::{Choice, ProtocolError};

/// The word for every protocol of the registry.
const EVERY: &str = "all";

/// Reads protocols such as `upt`, `inv-del(8)` and, with ranges of parameters, `upt-del(1..64)`; `all` is every one of the
/// registry; several separated by commas. Each once.
///
/// # Errors
/// A protocol that does not exist (with the nearest that does), or a parameter out of range.
pub fn protocols<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Vec<Choice>, SpecError> {
    let mut all: Vec<Choice> = Vec::new();
    for item in items.into_iter().flat_map(apart) {
        let texts = match item {
            EVERY => ALL.iter().map(|spec| spec.name.to_owned()).collect(),
            item => expand("protocol", item)?,
        };
        for text in texts {
            let choice = Choice::parse(&text).map_err(|e| unknown_or(&text, &e))?;
            if !all.iter().any(|c| c.to_string() == choice.to_string()) {
                all.push(choice);
            }
        }
    }
    Ok(all)
}

fn unknown_or(text: &str, e: &ProtocolError) -> SpecError {
    match e {
        ProtocolError::Unknown { given, .. } => {
            SpecError::unknown("protocol", given, ALL.iter().map(|s| s.name).chain([EVERY]))
        }
        other => SpecError::new(format!("protocol '{text}': {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_with_ranges_and_all_of_them() {
        let names = |items: &[&str]| -> Vec<String> {
            protocols(items.iter().copied()).expect("protocols").iter().map(ToString::to_string).collect()
        };
        let all = ["upt", "inv", "inv-freez", "upt-del", "inv-del", "inv-freez-del"];
        assert_eq!(names(&["all"]), all);
        assert_eq!(names(&["inv-del(1..3),all", "upt-del(0)"])[..4], ["inv-del(1)", "inv-del(2)", "inv-del(3)", "upt"]);
        assert_eq!(names(&["inv-freez(5,9), upt"]), ["inv-freez(5,9)", "upt"]);
        let wrong = |item: &str| protocols([item]).err().expect(item).to_string();
        assert!(wrong("inv-dell").contains("did you mean 'inv-del'?"));
        assert!(wrong("upt-del(5..1)").contains("protocol 'upt-del(5..1)'"));
        assert!(wrong("inv-freez(1,0)").contains("defrost is 0"));
    }
}
