//! What the optimum's cost consists of, from costs alone: the number of moves, or of references of a kind, is how much the
//! cost grows when they get dearer by a little (Bolosky 1993, section 5.3).
//!
//! Solving for the placement itself costs a hundred times as much as its cost alone. Prices are counted in parts of a local
//! reference, [`FINE`] of them, and one price is raised by a single part. By corollary 1 the finer unit changes nothing
//! else. The optimum is concave in each price, so what is found is the number at some price at most a part above the one
//! asked for; where placements cost the same, the one with fewer moves (or references of the kind) counts.
use super::lookup::Answered;
use super::program::Program;
use homenode_base::{Cost, NodeId};
use homenode_command::Failure;
use homenode_machine::{AccessClass, CopyCost, Costs, GlobalMemory, Location, Machine, Matrix};
use homenode_study::analyses::scaled;
use homenode_study::{Question, Want, What};

/// Parts of a local reference.
const FINE: u32 = 64;

/// What is made dearer.
#[derive(Clone, Copy)]
pub(super) enum Price {
    /// Copies of blocks: between nodes, or, on machines with global memory, to and from there, where a copy between nodes
    /// is two.
    Copies,
    /// References to other nodes.
    Remote,
    /// References to global memory.
    Global,
}

/// The optimum on some machines at some block sizes.
pub(super) struct Apart {
    fine: Answered,
    /// Machines of the answer for each machine asked for: itself and one a price.
    each: usize,
}

impl Apart {
    /// The optimum with replication on these machines, with the numbers behind these prices.
    ///
    /// # Errors
    /// A machine that has no such price, or the question cannot be answered.
    pub(super) fn ask(
        program: &Program,
        machines: &[Machine],
        blocks: &[u64],
        prices: &[Price],
    ) -> Result<Apart, Failure> {
        let mut all = Vec::new();
        for machine in machines {
            let fine = scaled(machine, FINE).map_err(Failure::work)?;
            let dearer = prices.iter().map(|price| dearer(&fine, *price));
            all.extend(std::iter::once(fine.clone()).chain(dearer));
        }
        let question = Question { with_replication: Want::Cost, ..program.question(all, blocks) };
        Ok(Apart { fine: program.ask(question)?, each: prices.len() + 1 })
    }
    /// References charged.
    pub(super) fn accesses(&self) -> u64 {
        self.fine.answer.accesses
    }
    /// Blocks touched, of the n-th size asked for.
    pub(super) fn blocks(&self, size: usize) -> u64 {
        self.fine.answer.blocks_touched.get(size).copied().unwrap_or(0)
    }
    fn cost(&self, machine: usize, block_bytes: u64) -> Result<i128, Failure> {
        Ok(self.fine.row(machine, block_bytes, What::WITH_REPLICATION)?.cost.0)
    }
    /// Cost of a machine above all references being local, in local references: a whole number.
    pub(super) fn above(&self, machine: usize, block_bytes: u64) -> Result<i128, Failure> {
        let above = self.cost(machine * self.each, block_bytes)? - i128::from(self.accesses());
        Ok(above / i128::from(FINE))
    }
    /// The number behind the n-th price asked for.
    pub(super) fn number(&self, machine: usize, block_bytes: u64, price: usize) -> Result<u64, Failure> {
        let at = machine * self.each;
        let grown = self.cost(at + 1 + price, block_bytes)? - self.cost(at, block_bytes)?;
        Ok(u64::try_from(grown).unwrap_or(0))
    }
}

fn one_more(copy: CopyCost, by: i64) -> CopyCost {
    CopyCost { fixed: Cost(copy.fixed.0 + by), ..copy }
}

/// The machine with one price a part higher.
fn dearer(m: &Machine, price: Price) -> Machine {
    match price {
        Price::Copies if m.cost.global.is_some() => {
            let global = m.cost.global.map(|g| GlobalMemory { copy: one_more(g.copy, 1), ..g });
            Machine {
                name: format!("{}+G", m.name),
                cost: Costs { copy: one_more(m.cost.copy, 2), global, ..m.cost.clone() },
                ..m.clone()
            }
        }
        Price::Copies => Machine {
            name: format!("{}+R", m.name),
            cost: Costs { copy: one_more(m.cost.copy, 1), ..m.cost.clone() },
            ..m.clone()
        },
        Price::Remote => {
            let at = |to: u16| m.access(AccessClass::Read, NodeId(0), Location::Node(NodeId(to)));
            let far = Matrix::uniform(m.nodes(), at(0), Cost(at(1).0 + 1));
            let read = far.clone();
            Machine {
                name: format!("{}+r", m.name),
                cost: Costs { read, write: far.clone(), write_back: far, ..m.cost.clone() },
                ..m.clone()
            }
        }
        Price::Global => {
            let global = m.cost.global.map(|g| GlobalMemory { access: Cost(g.access.0 + 1), ..g });
            Machine { name: format!("{}+g", m.name), cost: Costs { global, ..m.cost.clone() }, ..m.clone() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;
    use homenode_base::Rng;
    use homenode_machine::models;
    use homenode_synthetic::Builder;

    const BLOCKS: [u64; 2] = [64, 4096];

    fn program(seed: u64) -> Program {
        let (mut rng, mut b) = (Rng::new(seed), Builder::new(8));
        for i in 0..4000 {
            // Turns of a thread with a page, and words that all use.
            let (thread, page) = if rng.chance(1, 4) { (rng.below(8), 0) } else { (i / 300 % 8, 1 + rng.below(3)) };
            let addr = 0x40_0000 + page * 4096 + 8 * rng.below(40);
            let thread = thread as u32;
            if rng.chance(1, 4) {
                b.write(thread, addr)
            } else {
                b.read(thread, addr)
            };
        }
        Program::of(&program::all()[0], 0, b.open().expect("valid"), 1).expect("partitioned")
    }

    /// Numbers of moves from costs alone, compared with the placement itself, which the slow solvers return.
    #[test]
    fn numbers_are_those_of_the_optimal_placement() {
        let machines: Vec<Machine> =
            ["cc", "numa", "butterfly", "ace"].iter().filter_map(|n| models::find(n)).collect();
        let mut moved = 0;
        for seed in 0..6 {
            let program = program(seed);
            let mut question = program.question(machines.clone(), &BLOCKS);
            question.with_replication = Want::Parts;
            let slow = program.ask(question).expect("answered");
            let apart = Apart::ask(&program, &machines, &BLOCKS, &[Price::Copies]).expect("answered");
            assert_eq!(apart.accesses(), slow.answer.accesses);
            for (m, block_bytes) in (0..machines.len()).flat_map(|m| BLOCKS.map(|b| (m, b))) {
                let row = slow.row(m, block_bytes, What::WITH_REPLICATION).expect("a row");
                let solved = row.optimum.expect("its parts");
                let above = solved.cost.0 - i128::from(apart.accesses());
                assert_eq!(apart.above(m, block_bytes).expect("known"), above, "{}", machines[m].name);
                let words = (block_bytes / 4) as i64;
                let price = machines[m].cost.global.map_or(machines[m].cost.copy, |g| g.copy).of_words(words).0;
                let number = apart.number(m, block_bytes, 0).expect("known");
                assert_eq!(
                    i128::from(number) * i128::from(price),
                    solved.movement.0,
                    "{}, {block_bytes}",
                    machines[m].name
                );
                moved += number;
            }
        }
        assert!(moved > 1000, "{moved}");
    }

    #[test]
    fn remote_references_and_moves_make_up_the_cost() {
        let butterfly = models::find("butterfly").expect("in the registry");
        let apart = Apart::ask(&program(9), &[butterfly], &[4096], &[Price::Copies, Price::Remote]).expect("answered");
        let number = |price| i128::from(apart.number(0, 4096, price).expect("known"));
        assert_eq!(apart.above(0, 4096).expect("known"), 3272 * number(0) + 14 * number(1));
        assert!(number(0) + number(1) > 0, "a page that eight threads use at random costs something");
    }
}
