//! IBM ACE, Bolosky's first machine: local memories and a global memory equally far from all.
use super::Spec;
use crate::costs::{CopyCost, Costs, GlobalMemory, LinearCost, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::Sections;
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec =
    Spec { name: "ace", summary: "IBM ACE (1989): 8 processors, local and global memory, no caches", build };

/// Fault overhead in every copy, in local references (Bolosky 1993, section 5.1).
const FAULT: Cost = Cost(200);
/// Remote reference (r; captions of figures 5.4, 5.6 and 5.7).
const REMOTE: Cost = Cost(5);
/// Global reference (g; section 5.1).
const GLOBAL: Cost = Cost(2);

/// R is not printed. A copy loop costs r a word; copying through global memory costs 2G, which the model demands as
/// the upper limit anyway (section 4.1.1). So R = min(5 words + 200, 2 (2 words + 200)), 4496 for 4 KiB.
fn build() -> Machine {
    let through_global = LinearCost { fixed: FAULT * 2, per_word: GLOBAL * 2 };
    let near_far = Matrix::uniform(8, Cost(1), REMOTE);
    Machine {
        name: SPEC.name.into(),
        title: "IBM ACE, 8 processors with local memory and a shared global memory".into(),
        sources: vec![
            "g = 2, G = 2 words + 200: Bolosky 1993, section 5.1 (G = 2248 for 4 KiB pages of 4-byte words)".into(),
            "r = 5: Bolosky 1993, captions of figures 5.4, 5.6 and 5.7".into(),
            "8 processors, 4 KiB pages: Bolosky 1993, sections 3.1.1 and 2.2.4".into(),
            "R = min(5 words + 200, 2 G): not printed; our choice, within R <= 2 G of section 4.1.1".into(),
        ],
        unit: Unit::Quantum("local reference of the ACE".into()),
        shape: Shape { cores: vec![1; 8], word_bytes: 4, page_bytes: 4096 },
        cost: Costs {
            global: Some(GlobalMemory { access: GLOBAL, copy: CopyCost::linear(FAULT, GLOBAL) }),
            ..Costs::alike(&near_far, CopyCost { fixed: FAULT, per_word: REMOTE, at_most: Some(through_global) })
        },
        sections: Sections::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_for_a_4_kib_page_are_those_of_the_thesis() {
        let view = build().single_remote(4096).expect("uniform");
        assert_eq!((view.copy, view.copy_global), (Cost(4496), Some(Cost(2248))));
        assert_eq!((view.near[0], view.far[0], view.global.map(|g| g[0])), (Cost(1), Cost(5), Some(Cost(2))));
        assert_eq!(build().single_remote(256).expect("uniform").copy, Cost(5 * 64 + 200), "small blocks: word by word");
    }
}
