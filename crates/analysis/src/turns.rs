//! What hangs on who takes locks, and words changed by atomics, when.
use crate::candidates::blame;
use crate::names::{Names, object_name};
use crate::parts::Parts;
use crate::rows::InTurns;
use crate::watched::Line;
use homenode_base::TotalCost;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Source lines named.
const PLACES: usize = 3;

/// Sums over all lines that are used in turns.
pub(crate) fn find(parts: &Parts<'_>, names: &dyn Names) -> Option<InTurns> {
    let mut all = InTurns::default();
    let mut objects: BTreeMap<u32, (TotalCost, Vec<&Line>)> = BTreeMap::new();
    for line in &parts.lines {
        let Some(costs) = line.turn_costs() else { continue };
        all.turns += costs.turns;
        all.cost += costs.cost;
        all.in_one_run += costs.in_one_run;
        all.alternating += costs.alternating;
        let most = line.words.iter().max_by_key(|w| (w.writes, Reverse(w.from)));
        let object = objects.entry(most.map_or(line.object, |w| w.object)).or_default();
        object.0 += costs.alternating;
        object.1.push(line);
    }
    let (id, (_, lines)) = objects.into_iter().max_by_key(|(id, o)| (o.0, Reverse(*id)))?;
    all.object = object_name(names, id).name;
    let mut places: Vec<String> = blame(&lines, names, |w| w.object == id).into_iter().map(|b| b.name.place).collect();
    places.dedup();
    places.truncate(PLACES);
    all.places = places;
    Some(all)
}
