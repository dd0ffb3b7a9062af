//! Where threads were told to run: affinity calls, the masks that processes were started with, and what creators hand on.
//!
//! A thread begins with its creator's mask. What others ask of it counts from its beginning (in practice its creator asks
//! right after the creation), what it asks itself counts from there on, and what was only seen at its end counts for all of
//! its life. Where it ran under several masks, the one with most references is taken.
use homenode_base::Pinned;
use homenode_trace::dataset::DatasetReader;
use homenode_trace::event::{AffinityHow, EventKind};

/// What is known of one thread.
#[derive(Clone, Default)]
struct ThreadAffinity {
    inherited: Option<Pinned>,
    by_others: Option<Pinned>,
    seen: Option<Pinned>,
    /// Own calls: references before each.
    own: Vec<(u64, Pinned)>,
    /// Creations: references before each, and whom.
    created: Vec<(u64, u32)>,
}

/// Where each thread was told to run; `None` where nobody said.
pub fn pinned(data: &DatasetReader) -> Vec<Option<Pinned>> {
    let known = known(data);
    let mut pinned: Vec<Option<Pinned>> = vec![None; known.len()];
    if known.iter().all(|k| k.inherited.is_none() && k.by_others.is_none() && k.seen.is_none() && k.own.is_empty()) {
        return pinned;
    }
    let mut created = vec![false; known.len()];
    let children = known.iter().flat_map(|k| &k.created);
    children.for_each(|&(_, child)| created[child as usize] = true);
    // In a damaged dataset threads may create each other in a circle: each is visited once, and those last.
    let mut visited = vec![false; known.len()];
    let roots = (0..known.len() as u32).filter(|&t| !created[t as usize]);
    for root in roots.chain(0..known.len() as u32) {
        let mut stack = vec![(root, None)];
        while let Some((t, handed)) = stack.pop() {
            let k = &known[t as usize];
            if std::mem::replace(&mut visited[t as usize], true) {
                continue;
            }
            let first = k.by_others.clone().or(k.inherited.clone()).or(handed);
            let first = if k.own.is_empty() { k.seen.clone().or(first) } else { first };
            stack.extend(k.created.iter().map(|&(at, child)| (child, in_force(&first, &k.own, at))));
            pinned[t as usize] = most(&first, &k.own, data.refs(t));
        }
    }
    pinned
}

fn known(data: &DatasetReader) -> Vec<ThreadAffinity> {
    let mut known = vec![ThreadAffinity::default(); data.threads() as usize];
    for (_, e) in data.events().others() {
        match &e.kind {
            EventKind::Affinity { target, how, cpus } if *target < data.threads() && !cpus.is_empty() => {
                let k = &mut known[*target as usize];
                let pinned = Pinned { cpus: cpus.clone(), asked: *how != AffinityHow::Inherited };
                match how {
                    AffinityHow::Call if *target == e.thread => k.own.push((e.at, pinned)),
                    AffinityHow::Call => k.by_others = Some(pinned),
                    AffinityHow::Seen => k.seen = Some(pinned),
                    AffinityHow::Inherited => k.inherited = Some(pinned),
                }
            }
            EventKind::Spawn { child } if *child < data.threads() => {
                known[e.thread as usize].created.push((e.at, *child));
            }
            _ => {}
        }
    }
    known
}

/// The mask after `at` references.
fn in_force(first: &Option<Pinned>, own: &[(u64, Pinned)], at: u64) -> Option<Pinned> {
    own.iter().rev().find(|(from, _)| *from <= at).map(|(_, p)| p.clone()).or_else(|| first.clone())
}

/// The mask under which most of the references were made; the later one of two.
fn most(first: &Option<Pinned>, own: &[(u64, Pinned)], refs: u64) -> Option<Pinned> {
    let ends = own.iter().map(|(at, _)| *at).chain([refs]);
    let masks = [first.clone()].into_iter().chain(own.iter().map(|(_, p)| Some(p.clone())));
    let mut begin = 0;
    let mut best: Option<(u64, Option<Pinned>)> = None;
    for (end, mask) in ends.zip(masks) {
        let n = end.saturating_sub(begin);
        begin = end;
        if best.as_ref().is_none_or(|(most, _)| n >= *most) {
            best = Some((n, mask));
        }
    }
    best.and_then(|(_, mask)| mask)
}
