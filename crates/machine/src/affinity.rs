//! Bindings by recorded affinity: where the program itself put its threads.
//!
//! Processor c of the recorded machine is processor c of the model. Where the model has no processor of the highest number
//! named, the processors named keep their order and who shares one, and fall into equal groups, one a node, as places do
//! under `sockets`. A thread that may run on several takes the one with the fewest threads that live beside it.
//!
//! Not followed, unless `--map recorded` says so: one mask for all that nobody in the program asked for (`taskset` around
//! the recording), and calls that put several threads at a time on a processor because the recorded machine had no more
//! of them while the model has: elsewhere such a program spreads out.
use crate::model::Machine;
use crate::thread_table::ThreadTable;
use homenode_base::{CpuId, CpuMask};
use std::collections::{BTreeMap, BTreeSet};

/// Whether recorded affinity binds threads by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Recorded affinity binds threads.
    Follow,
    /// Recorded affinity does not bind threads; why, in words.
    Leave(String),
}

/// What was recorded of where threads run: threads with references that may not run everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    by_thread: Vec<(usize, CpuMask)>,
    asked: bool,
}

impl Orders {
    /// `None` if nothing was said.
    pub(crate) fn of(thread_table: &ThreadTable) -> Option<Orders> {
        let everywhere =
            |mask: &CpuMask| thread_table.host_cpus > 0 && (0..thread_table.host_cpus).all(|cpu| mask.contains(cpu));
        let mut orders = Orders { by_thread: Vec::new(), asked: false };
        for &thread in &thread_table.order {
            if let Some(Some(p)) = thread_table.pinned.get(thread)
                && !p.cpus.is_empty()
                && !everywhere(&p.cpus)
            {
                orders.asked |= p.asked;
                orders.by_thread.push((thread, p.cpus.clone()));
            }
        }
        (!orders.by_thread.is_empty()).then_some(orders)
    }

    /// Whether to follow where nobody said.
    pub(crate) fn verdict(&self, machine: &Machine, thread_table: &ThreadTable) -> Verdict {
        let first = &self.by_thread[0].1;
        let all_the_same =
            self.by_thread.len() == thread_table.active() && self.by_thread.iter().all(|(_, m)| m == first);
        if !self.asked && all_the_same {
            let cpus = if first.count() == 1 { "processor" } else { "processors" };
            return Verdict::Leave(format!("recorded on {cpus} {} alone, which says nothing here", list(first)));
        }
        let named = self.named();
        let whole_host =
            named.len() as u32 >= thread_table.host_cpus && (machine.cpus() as u32) > thread_table.host_cpus;
        if thread_table.host_cpus > 0 && whole_host && named.iter().all(|&cpu| cpu < thread_table.host_cpus) {
            let at_once = self.most_at_once(thread_table);
            if at_once > 1 {
                return Verdict::Leave(format!(
                    "the affinity calls recorded put up to {at_once} threads at once on each of the {} processors of the \
                     recorded machine, which had no more: not followed (--map recorded follows them)",
                    thread_table.host_cpus
                ));
            }
        }
        Verdict::Follow
    }

    /// Processors named, ascending.
    fn named(&self) -> Vec<u32> {
        self.by_thread.iter().flat_map(|(_, m)| m.iter()).collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// Most threads on one processor at once, of those that may run on one processor alone.
    fn most_at_once(&self, thread_table: &ThreadTable) -> usize {
        let mut on: BTreeMap<&CpuMask, Vec<usize>> = BTreeMap::new();
        for (thread, mask) in self.by_thread.iter().filter(|(_, m)| m.count() == 1) {
            on.entry(mask).or_default().push(*thread);
        }
        let beside =
            |all: &Vec<usize>, t: usize| 1 + all.iter().filter(|&&o| o < t && thread_table.overlap(o, t)).count();
        on.values().flat_map(|all| all.iter().map(move |&t| beside(all, t))).max().unwrap_or(0)
    }

    /// The processor of each of these threads, and what is to be said.
    pub(crate) fn bindings(&self, machine: &Machine, thread_table: &ThreadTable) -> (Vec<(usize, CpuId)>, String) {
        let named = self.named();
        let cpus = machine.cpus();
        let highest = named.last().copied().unwrap_or(0);
        let fits = (highest as usize) < cpus;
        let places = (!fits).then(|| in_groups(machine, &named));
        let here = |cpu: u32| places.as_ref().map_or(CpuId(cpu as u16), |p| p[&cpu]);
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); cpus];
        let mut bindings: Vec<(usize, CpuId)> = Vec::new();
        let (one, several): (Vec<_>, Vec<_>) = self.by_thread.iter().partition(|(_, m)| m.count() == 1);
        for (thread, mask) in one.into_iter().chain(several) {
            let beside = |cpu: &CpuId| users[cpu.index()].iter().filter(|&&o| thread_table.overlap(o, *thread)).count();
            let Some(cpu) = mask.iter().map(here).min_by_key(|cpu| (beside(cpu), cpu.0)) else { continue };
            users[cpu.index()].push(*thread);
            bindings.push((*thread, cpu));
        }
        let note = match fits {
            true => String::new(),
            false => format!(
                "they name {}, up to number {highest}; {} has {cpus}, so those named are dealt in order to its nodes",
                if named.len() == 1 { "1 processor".to_owned() } else { format!("{} processors", named.len()) },
                machine.name
            ),
        };
        (bindings, note)
    }
}

/// Where the processors named stand on a machine that lacks some of them.
fn in_groups(machine: &Machine, named: &[u32]) -> BTreeMap<u32, CpuId> {
    let nodes: Vec<usize> = (0..machine.shape.cores.len()).filter(|&n| machine.shape.cores[n] > 0).collect();
    let first = |node: usize| machine.shape.cores[..node].iter().map(|n| usize::from(*n)).sum::<usize>();
    let mut taken = vec![0usize; machine.shape.cores.len()];
    let mut places = BTreeMap::new();
    for (i, &cpu) in named.iter().enumerate() {
        let node = nodes[i * nodes.len() / named.len()];
        let turn = taken[node] % usize::from(machine.shape.cores[node]);
        taken[node] += 1;
        places.insert(cpu, CpuId((first(node) + turn) as u16));
    }
    places
}

/// A set as people write it: `0-3,8`.
fn list(mask: &CpuMask) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in mask.iter() {
        match parts.last_mut() {
            Some(run) if run.1 + 1 == cpu => run.1 = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let words = parts.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    words.collect::<Vec<_>>().join(",")
}
