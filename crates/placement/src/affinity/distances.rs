//! What an access of one node costs at each possible home.
use crate::counts::ClassCounts;
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{AccessClass, Location, Machine};

/// Costs by class, accessing node and home. Rows are accessors, columns homes: the page on k referenced from l costs
/// `L[l][k]` (Thakkar 2008, equation 2.2). May be rectangular: nodes without processors have no row of their own there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    homes: usize,
    /// Per class, row-major.
    cells: [Vec<Cost>; 3],
    /// Rows that can have accesses at all.
    accessors: usize,
}

const CLASSES: [AccessClass; 3] = [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack];

impl Distances {
    /// Costs on a machine: square, one row a node; nodes without processors have a row that nothing uses.
    pub fn of(machine: &Machine) -> Distances {
        let n = machine.nodes();
        let node = |i: usize| NodeId(i as u16);
        let table = |class: AccessClass| -> Vec<Cost> {
            (0..n * n).map(|i| machine.access(class, node(i / n), Location::Node(node(i % n)))).collect()
        };
        let accessors = machine.shape.cores.iter().filter(|c| **c > 0).count();
        Distances { homes: n, cells: CLASSES.map(table), accessors }
    }
    /// Costs equal for every class, in any unit; `None` unless all rows have the same length and there is a cell.
    pub fn from_rows(rows: &[Vec<Cost>]) -> Option<Distances> {
        let homes = rows.first()?.len();
        let regular = homes > 0 && rows.iter().all(|r| r.len() == homes);
        let cells = rows.concat();
        regular.then(|| Distances { homes, cells: [cells.clone(), cells.clone(), cells], accessors: rows.len() })
    }
    /// With every node at least as near to itself as to any other: diagonal := least of its row. What measured tables
    /// need before they decide anything (a noisy diagonal sends private pages away).
    pub fn repaired(mut self) -> Distances {
        let homes = self.homes;
        for cells in &mut self.cells {
            for (i, row) in cells.chunks_mut(homes).enumerate().take(homes) {
                row[i] = *row.iter().min().expect("a row has a cell");
            }
        }
        self
    }
    /// Number of possible homes.
    pub fn homes(&self) -> usize {
        self.homes
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.cells[0].len() / self.homes
    }
    /// Number of nodes that can make accesses: n of equation 3.1.
    pub fn accessors(&self) -> usize {
        self.accessors
    }
    /// What these accesses (one entry a row) cost with the page at `home`; panics if there is no such home.
    pub fn cost(&self, uses: &[ClassCounts], home: NodeId) -> TotalCost {
        let cell = |class: usize, row: usize| self.cells[class][row * self.homes + home.index()];
        let rows = uses.iter().enumerate().take(self.rows());
        rows.flat_map(|(row, counts)| (0..3).filter(|c| counts[*c] > 0).map(move |c| cell(c, row).times(counts[c])))
            .sum()
    }
    /// [`Distances::cost`] at every home.
    pub fn costs(&self, uses: &[ClassCounts]) -> Vec<TotalCost> {
        (0..self.homes).map(|k| self.cost(uses, NodeId(k as u16))).collect()
    }
}
