//! The policies of the question.
use super::Family;
use crate::Question;

pub(crate) static SPEC: Family = Family { name: "policies", key: name, words: name };

fn name(question: &Question, place: u32) -> Option<String> {
    question.policies.get(place as usize).map(ToString::to_string)
}
