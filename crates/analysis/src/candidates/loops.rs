//! What OpenMP's loops have to do with an object: advice speaks of them only where the recording says which they are.
use crate::names::{ConstructName, Names};
use crate::parts::{Object, Parts};
use homenode_base::TotalCost;
use std::collections::BTreeMap;

/// Of 100 parts of what an object costs in loops, what its dearest loop must have for an advice to name it alone.
const MOST_PERCENT: i128 = 50;

/// The loop in which an object costs most, leaving out the code that initialises it; none if no loop has half of what it costs.
pub(super) fn of_object(
    parts: &Parts<'_>,
    object: &Object,
    names: &dyn Names,
    initialised_at: Option<u32>,
) -> Option<ConstructName> {
    let objects = parts.attribution.objects();
    let mut costs: BTreeMap<Option<u32>, TotalCost> = BTreeMap::new();
    for pair in parts.attribution.pairs() {
        if objects[pair.object as usize].id == object.id && Some(pair.site) != initialised_at {
            *costs.entry(parts.loops.of_site(pair.site)).or_default() += pair.cost;
        }
    }
    let all: TotalCost = costs.values().copied().sum();
    let (construct, cost) = costs.into_iter().max_by_key(|c| c.1)?;
    let named = names.construct(construct?)?;
    (named.schedule.is_some() && cost.0 * 100 >= all.0 * MOST_PERCENT).then_some(named)
}

/// What to do so that each thread initialises what it will use in this loop, which has a static schedule.
pub(super) fn initialise(name: &str, now: &str, used: &ConstructName) -> String {
    let ConstructName { place, words, .. } = used;
    format!(
        "Initialise `{name}` in a parallel loop with the same static schedule as the loop at {place}{now} (`{words}`), so that each \
         thread touches first what it will use."
    )
}
