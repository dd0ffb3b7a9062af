//! Machines given by formulas, by their names in a study.
use super::SpecError;
use homenode_machine::models::family::{MEMBERS, Member};

/// The member of Bolosky's family with this name; a `+` at the end may be written for `-plus`, as in the thesis.
///
/// # Errors
/// There is none; the nearest is named.
pub fn family(name: &str) -> Result<Member, SpecError> {
    let spelled = name.strip_suffix('+').map_or_else(|| name.to_owned(), |head| format!("{head}-plus"));
    let found = MEMBERS.iter().find(|m| m.name == spelled);
    found.copied().ok_or_else(|| SpecError::unknown("family of machines", name, MEMBERS.iter().map(|m| m.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_the_same_member() {
        assert_eq!(family("cc+").unwrap(), family("cc-plus").unwrap());
        assert!(family("nuna").unwrap_err().message.contains("did you mean 'numa'?"));
    }
}
