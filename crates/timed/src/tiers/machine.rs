//! What the tiers of a machine cost.
use super::TierError;
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, LinearCost, Location, Machine};
use homenode_placement::tiers::Moves;

/// Accesses between two decisions where the machine does not say.
const TICK: u64 = 10_000;

/// Tiers of a machine: nodes with processors are DRAM, nodes without the expander.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierMachine {
    /// Bytes of a page, a power of two.
    pub page_bytes: u64,
    /// Prices of moving a page.
    pub moves: Moves,
    /// Accesses to memory between two decisions.
    pub tick: u64,
    /// Pages that DRAM and the expander can hold; unlimited where the machine does not say.
    pub capacity: Option<[u64; 2]>,
    /// Whether the machine file says what tiers need; if not, moves cost a copy.
    pub declared: bool,
    /// Whether there is one node of each kind. Where there are more, every access is taken to cost what it does at the nearest node of its
    /// kind, so the optimum is a lower bound, and policies are not run.
    pub is_exact: bool,
    dram: Vec<NodeId>,
    expander: Vec<NodeId>,
}

impl TierMachine {
    /// The tiers of a machine, with pages of so many bytes; `tick` if not the machine's.
    ///
    /// # Errors
    /// There are none, or something that this does not model; a page that no node can hold.
    pub fn of(machine: &Machine, page_bytes: u64, tick: Option<u64>) -> Result<TierMachine, TierError> {
        if !TierMachine::has(machine) {
            return Err(TierError::NoTiers(machine.name.clone()));
        }
        let unmodelled = [
            (machine.cost.global.is_some(), "global memory"),
            (!machine.cost.remote_access, "`remote_access = false`"),
        ];
        if let Some((_, what)) = unmodelled.into_iter().find(|(is, _)| *is) {
            return Err(TierError::NotModelled { machine: machine.name.clone(), what });
        }
        let wrong = |what: String| TierError::Page { bytes: page_bytes, machine: machine.name.clone(), what };
        machine.check_block("--page", page_bytes).map_err(|e| wrong(e.to_string()))?;
        let kind = |with: bool| {
            let nodes = machine.shape.cores.iter().zip(0..).filter(move |(c, _)| (**c > 0) == with);
            nodes.map(|(_, i)| NodeId(i)).collect::<Vec<NodeId>>()
        };
        let (dram, expander) = (kind(true), kind(false));
        let section = machine.sections.tiers.as_ref();
        let words = page_bytes.div_ceil(u64::from(machine.shape.word_bytes)) as i64;
        let price = |of: Option<LinearCost>| match of {
            Some(of) => of.of_words(words),
            None => machine.cost.copy.of_words(words),
        };
        let capacity = machine.capacity_bytes().map(|bytes| {
            let pages = |nodes: &[NodeId]| {
                let each = nodes.iter().map(|n| bytes.get(n.index()).copied().unwrap_or(0) / page_bytes);
                each.fold(0, u64::saturating_add)
            };
            [pages(&dram), pages(&expander)]
        });
        if capacity.is_some_and(|c| c[0] == 0) {
            return Err(wrong("DRAM holds fewer frames than one (its capacity in the machine file)".to_owned()));
        }
        Ok(TierMachine {
            page_bytes,
            moves: Moves { promote: price(section.map(|s| s.promote)), demote: price(section.map(|s| s.demote)) },
            tick: tick.unwrap_or(section.map_or(TICK, |s| s.tick)),
            capacity,
            declared: section.is_some(),
            is_exact: dram.len() == 1 && expander.len() == 1,
            dram,
            expander,
        })
    }

    /// Whether a machine has nodes with processors and such without.
    pub fn has(machine: &Machine) -> bool {
        let cores = &machine.shape.cores;
        cores.iter().any(|c| *c > 0) && cores.contains(&0)
    }

    /// What an access costs in DRAM, and in the expander.
    pub(super) fn access(&self, machine: &Machine, class: AccessClass, from: NodeId) -> [Cost; 2] {
        [&self.dram, &self.expander].map(|nodes| {
            let costs = nodes.iter().map(|n| machine.access(class, from, Location::Node(*n)));
            costs.min().unwrap_or(Cost::ZERO)
        })
    }
}
