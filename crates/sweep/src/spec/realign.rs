//! Realignments, as lists.
use super::SpecError;
use super::blocks::apart;
use homenode_realign::{RealignError, Rule, rules};

/// Reads realignments separated by commas, each once.
///
/// # Errors
/// No such realignment (with those that there are), or a parameter out of range.
pub fn realigns<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Vec<Rule>, SpecError> {
    let mut all: Vec<Rule> = Vec::new();
    for item in items.into_iter().flat_map(apart) {
        let rule = Rule::parse(item).map_err(|e| match e {
            RealignError::Unknown(given) => SpecError::unknown("realignment", &given, rules::names()),
            other => SpecError::new(other.to_string()),
        })?;
        if !all.contains(&rule) {
            all.push(rule);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once() {
        let all = realigns(["word,word(1000000)", "word(5,0,250)"]).expect("they can be");
        assert_eq!(all.iter().map(Rule::to_string).collect::<Vec<_>>(), ["word", "word(5,0,250)"]);
        let wrong = |item: &str| realigns([item]).expect_err(item).to_string();
        assert!(wrong("wrod").contains("did you mean 'word'?"));
        assert!(wrong("word(0)").contains("window is 0"));
    }
}
