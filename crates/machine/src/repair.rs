//! Repairing a measured matrix, as an explicit step: what was measured stays beside what is used.
//!
//! Measured latencies contradict themselves now and then. Thakkar 2008, table 4.2, gives node 0 of an eight-node machine
//! 126 ns to its own memory and 123 ns to its neighbour's: used raw, a page that only node 0 touches would leave home.
//! Policies and the optimum are entitled to a machine on which nothing is nearer than home.
use crate::costs::Matrix;
use homenode_base::{Cost, NodeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One cell that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Node of the processor.
    pub from: NodeId,
    /// Node of the memory.
    pub to: NodeId,
    /// What it was.
    pub raw: Cost,
    /// What it is now.
    pub repaired: Cost,
    /// Why, in words.
    pub why: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "from node {} to node {}: {} -> {}, {}",
            self.from.0, self.to.0, self.raw.0, self.repaired.0, self.why
        )
    }
}

/// Makes the matrix one on which no memory is nearer to a node than its own:
///
/// 1. a cell that is not positive (unknown) takes the value of the opposite direction, else the largest of the matrix;
/// 2. a diagonal that is not the least of its row becomes the least.
///
/// Anything else stays, in particular asymmetry: links may differ by direction, and which of two values is the wrong one
/// cannot be known. Repairing twice changes nothing more.
pub fn repair(raw: &Matrix) -> (Matrix, Vec<Change>) {
    let mut rows = raw.rows();
    let mut changes = Vec::new();
    let largest = rows.iter().flatten().copied().max().unwrap_or_default();
    let before = rows.clone();
    let n = rows.len();
    let cells = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    for (i, j) in cells.filter(|&(i, j)| before[i][j] <= Cost::ZERO) {
        let opposite = before[j][i] > Cost::ZERO;
        let value = if opposite { before[j][i] } else { largest.max(Cost::ZERO) };
        let why = if opposite { "unknown: as in the other direction" } else { "unknown: as the largest" };
        set(&mut rows, &mut changes, (i, j), value, why);
    }
    for i in 0..n {
        let least = rows[i].iter().copied().min().unwrap_or_default();
        set(&mut rows, &mut changes, (i, i), least, "own memory is never farther than another's");
    }
    let repaired = Matrix::from_rows(&rows).expect("as many rows and columns as the matrix given");
    (repaired, changes)
}

fn set(rows: &mut [Vec<Cost>], changes: &mut Vec<Change>, (i, j): (usize, usize), value: Cost, why: &str) {
    let raw = std::mem::replace(&mut rows[i][j], value);
    if raw != value {
        let (from, to) = (NodeId(i as u16), NodeId(j as u16));
        changes.push(Change { from, to, raw, repaired: value, why: why.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::OPTERON8_RAW_NS as TABLE_4_2;
    use homenode_base::Rng;

    fn matrix<R: AsRef<[i64]>>(rows: &[R]) -> Matrix {
        let rows: Vec<Vec<Cost>> = rows.iter().map(|r| r.as_ref().iter().map(|&c| Cost(c)).collect()).collect();
        Matrix::from_rows(&rows).expect("square")
    }

    #[test]
    fn of_table_4_2_only_the_diagonal_of_node_0_changes() {
        let (repaired, changes) = repair(&matrix(&TABLE_4_2));
        assert_eq!(changes.len(), 1);
        assert_eq!(
            changes[0].to_string(),
            "from node 0 to node 0: 126 -> 123, own memory is never farther than another's"
        );
        let mut expected = TABLE_4_2;
        expected[0][0] = 123;
        assert_eq!(repaired, matrix(&expected));
    }

    #[test]
    fn unknown_cells_come_from_the_other_direction_or_are_the_worst() {
        let (repaired, changes) = repair(&matrix(&[[10, 0, 30], [20, 10, 0], [40, -1, 10]]));
        assert_eq!(repaired, matrix(&[[10, 20, 30], [20, 10, 40], [40, 40, 10]]));
        assert_eq!(changes.len(), 3);
    }

    #[test]
    fn a_repaired_matrix_needs_no_repair_and_keeps_what_was_right() {
        let mut rng = Rng::new(7);
        for _ in 0..300 {
            let n = 1 + rng.below(9) as usize;
            let rows: Vec<Vec<i64>> = (0..n).map(|_| (0..n).map(|_| rng.below(200) as i64 - 5).collect()).collect();
            let raw = matrix(&rows);
            let (repaired, changes) = repair(&raw);
            assert_eq!(repair(&repaired), (repaired.clone(), Vec::new()));
            for (i, row) in repaired.rows().iter().enumerate() {
                assert_eq!(row.iter().min(), Some(&row[i]));
                let changed = |j: usize| changes.iter().any(|c| (c.from.index(), c.to.index()) == (i, j));
                assert!((0..n).all(|j| changed(j) || row[j].0 == rows[i][j]));
            }
        }
    }
}
