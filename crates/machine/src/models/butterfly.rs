//! BBN Butterfly, Bolosky's second machine: local memories only, remote references dear, block transfer cheap.
use super::Spec;
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::Sections;
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec =
    Spec { name: "butterfly", summary: "BBN Butterfly (1985): 8 processors, no global memory, no caches", build };

/// Remote reference (r), in local references.
const REMOTE: Cost = Cost(15);

fn build() -> Machine {
    let near_far = Matrix::uniform(8, Cost(1), REMOTE);
    Machine {
        name: SPEC.name.into(),
        title: "BBN Butterfly, 8 processors with local memory, block transfer".into(),
        sources: vec![
            "r = 15, R = 3 words + 200: Bolosky 1993, section 5.1 (R = 3272 for 4 KiB pages of 4-byte words)".into(),
            "no global memory: Bolosky 1993, section 4.1.1; 4 KiB pages: section 2.1.1".into(),
            "8 processors: as in the traces of Bolosky 1993, section 2.1".into(),
        ],
        unit: Unit::Quantum("local reference of the Butterfly".into()),
        shape: Shape { cores: vec![1; 8], word_bytes: 4, page_bytes: 4096 },
        cost: Costs::alike(&near_far, CopyCost::linear(Cost(200), Cost(3))),
        sections: Sections::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_for_a_4_kib_page_are_those_of_the_thesis() {
        let view = build().single_remote(4096).expect("uniform");
        assert_eq!((view.copy, view.copy_global, view.far[1]), (Cost(3272), None, Cost(15)));
    }
}
