//! What a plan costs on a recording, as the simulator says: the arbiter of plans, which knows nothing of how they are made.
use crate::error::PlannerError;
use crate::keys::Keys;
use homenode_analysis::Transform;
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{Machine, MapRule, Target};
use homenode_objects::ObjectTable;
use homenode_placement::plan::{ObjectKey, Plan};
use homenode_sim::{ReplayOptions, Setup, WhatIf};
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Merged};
use std::collections::HashMap;

/// Costs of a whole recording, transfers between caches included, in the machine's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanPrice {
    /// Under first touch, threads where the plan has them.
    pub first_touch: TotalCost,
    /// With the plan's data at its homes from the start.
    pub planned: TotalCost,
    /// Pages that the plan gives a home in this recording.
    pub pages: usize,
    /// Pages on which objects of the plan disagree: they stay where they are touched.
    pub conflicts: usize,
}

/// Replays a dataset under first touch and under a plan. The machine has what the plan names; threads that the plan does not pin
/// sit by the default rule. `progress` is told how many references are done.
///
/// # Errors
/// Threads that have no bindings, a page size that the machine cannot have, or a damaged dataset.
pub fn price(
    plan: &Plan,
    reader: &DatasetReader,
    machine: &Machine,
    progress: &mut dyn FnMut(u64),
) -> Result<PlanPrice, PlannerError> {
    let keys = Keys::new(reader);
    let table = ObjectTable::build(reader.manifest(), reader.events(), reader.symbols());
    let map = homenode_sim::thread_map(reader, machine, Some(&bindings_of(plan, &keys)))?;
    let mut places: HashMap<&ObjectKey, (u64, u64)> = HashMap::new();
    for (key, object) in keys.of.iter().zip(table.objects()) {
        if let Ok(key) = key {
            places.insert(key, (object.addr, object.bytes));
        }
    }
    let node_of = |t: homenode_base::ThreadId| map.bindings().get(t.index()).map_or(NodeId(0), |s| s.node);
    let (homes, conflicts) = plan.homes(plan.page_bytes, |key| places.get(key).copied(), node_of);
    let bindings = homenode_sim::bindings(&map, |t| reader.address_space(t));
    let options =
        ReplayOptions { sampled: reader.manifest().sampling.as_ref().map(|s| s.counting()), ..Default::default() };
    let setup = Setup { machine, bindings: &bindings, block_bytes: plan.page_bytes, options, waits: &[] };
    let pages = homes.len();
    let moved = [Transform::Rehome { homes: homes.sorted() }];
    let mut both = Both { now: WhatIf::new(setup, &[])?, planned: WhatIf::new(setup, &moved)?, progress, done: 0 };
    let mut order = Order::new(reader, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        both.refs(piece.refs);
    }
    let first_touch = both.now.finish()?.total();
    let planned = both.planned.finish()?.total();
    Ok(PlanPrice { first_touch, planned, pages, conflicts: conflicts.len() })
}

/// The plan's pins by their paths in this recording.
fn bindings_of(plan: &Plan, keys: &Keys) -> MapRule {
    let thread = |path: &Vec<u32>| keys.paths.iter().position(|p| p.as_ref() == Some(path));
    let pairs = plan.threads.iter().filter_map(|pin| {
        let t = u32::try_from(thread(&pin.path)?).ok()?;
        Some((homenode_base::ThreadId(t), Target::Cpu(homenode_base::CpuId(pin.cpu))))
    });
    MapRule::Pairs(pairs.collect())
}

struct Both<'a> {
    now: WhatIf<'a>,
    planned: WhatIf<'a>,
    progress: &'a mut dyn FnMut(u64),
    done: u64,
}

impl Both<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        self.now.refs(refs);
        self.planned.refs(refs);
        self.done += refs.len() as u64;
        (self.progress)(self.done);
    }
}
