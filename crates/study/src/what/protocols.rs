//! The protocols of page coherence of the question, and their optimum.
use super::Family;
use crate::Question;

/// After all protocols.
pub(super) const OPTIMUM: u32 = u32::MAX;

pub(crate) static SPEC: Family = Family {
    name: "protocols",
    key: |question, place| name(question, place, "optimum-coherence"),
    words: |question, place| name(question, place, "optimum of page coherence"),
};

fn name(question: &Question, place: u32, optimum: &str) -> Option<String> {
    match question.protocols.get(place as usize) {
        None if place == OPTIMUM && !question.protocols.is_empty() => Some(optimum.to_owned()),
        protocol => protocol.map(ToString::to_string),
    }
}
