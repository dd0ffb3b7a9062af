//! Who waits for what when nothing happens any more.
use crate::ClusterError;
use crate::error::threads;
use crate::faults::Injector;
use crate::pages::Pages;
use crate::slots::Slots;
use crate::world::World;
use homenode_hlrc::operation::Operation;
use homenode_threads::ThreadBinding;
use homenode_trace::DatasetReader;

/// Things waited for that an error names, at most.
const NAMED_MAX: usize = 8;

/// The error for threads that wait in vain on processors: `bindings` has them as nodes.
pub(crate) fn error(
    (data, bindings): (&DatasetReader, &[ThreadBinding]),
    (world, pages, slots): (&World, &Pages, &Slots),
    suspended: &[u32],
) -> ClusterError {
    let mut waits: Vec<(Operation, Vec<u32>)> = Vec::new();
    for thread in suspended {
        let processor = bindings[*thread as usize].node.index();
        let Some(operation) = world.doing.borrow()[processor] else { continue };
        match waits.iter_mut().find(|w| w.0 == operation) {
            Some((_, threads)) => threads.push(*thread),
            None => waits.push((operation, vec![*thread])),
        }
    }
    let address = |slot: u32| slots.iter().find(|s| s.1 == slot).map_or(0, |s| s.0.1);
    let named = |(operation, who): &(Operation, Vec<u32>)| {
        let (who, is_one) = (threads(who.iter().copied()), who.len() == 1);
        let wait = if is_one { "waits" } else { "wait" };
        match operation {
            Operation::Fault { page, .. } => {
                let flat = pages.flats.get(page.index()).map_or(0, |flat| flat << pages.shift);
                format!("{who} {wait} for page {flat:#x}")
            }
            Operation::Barrier { slot } | Operation::Meet { slot, .. } => {
                let came = |t: &u32| waits.iter().any(|w| w.0 == *operation && w.1.contains(t));
                let processor = |t: u32| bindings[t as usize].cpu.into();
                let is_missing = |t: &u32| data.refs(*t) > 0 && slots.has(*slot, processor(*t)) && !came(t);
                let missing = (0..bindings.len() as u32).filter(is_missing);
                let missing = match threads(missing) {
                    none if none.is_empty() => "where all have come".to_owned(),
                    some => format!("where {some} did not come"),
                };
                format!("{who} {wait} at barrier {:#x}, {missing}", address(*slot))
            }
            Operation::Acquire { slot } => format!("{who} {wait} for lock {:#x}", address(*slot)),
            Operation::Release { slot } => format!("{who} {wait} to give lock {:#x} up", address(*slot)),
            other => format!("{who} {wait} for {other:?}"),
        }
    };
    let mut words: Vec<String> = waits.iter().take(NAMED_MAX).map(named).collect();
    if waits.len() > NAMED_MAX {
        words.push(format!("others wait for {} things more", waits.len() - NAMED_MAX));
    }
    ClusterError::Deadlock { waiting: words.join("; "), gone: world.faults.as_ref().map_or(0, Injector::gone) }
}
