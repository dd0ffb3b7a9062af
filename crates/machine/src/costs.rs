//! What references and copies cost.
use crate::limits::{MachineError, WORD_COST_MAX, reject, validate_cost};
use homenode_base::{Cost, NodeId};
use serde::{Deserialize, Serialize};

/// Costs of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// Load: row = node of the processor, column = home.
    pub read: Matrix,
    /// Store.
    pub write: Matrix,
    /// Write-back, row = evicting node.
    pub write_back: Matrix,
    /// Whether a processor can reference memory of another node at all (false: r is infinite, CC and DSM).
    pub remote_access: bool,
    /// Copying a block between two nodes (R), multiplied by nothing: one cost for all pairs.
    pub copy: CopyCost,
    /// Global memory if there is some.
    pub global: Option<GlobalMemory>,
}

impl Costs {
    /// Costs with one matrix for loads, stores and write-backs; no global memory.
    pub fn alike(references: &Matrix, copy: CopyCost) -> Costs {
        let [read, write, write_back] = std::array::from_fn(|_| references.clone());
        Costs { read, write, write_back, remote_access: true, copy, global: None }
    }

    pub(crate) fn validate(&self, nodes: usize) -> Result<(), MachineError> {
        for (key, matrix) in [("read", &self.read), ("write", &self.write), ("write_back", &self.write_back)] {
            validate_matrix(key, matrix, nodes)?;
        }
        validate_copy("copy", &self.copy)?;
        if let Some(GlobalMemory { access, copy }) = &self.global {
            validate_cost("global.access", *access)?;
            validate_copy("global.copy", copy)?;
        }
        Ok(())
    }
}

/// A dense square matrix over nodes, row = from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    n: usize,
    cells: Vec<Cost>,
}

impl Matrix {
    /// The matrix with these rows; `None` unless it is square and not empty.
    pub fn from_rows(rows: &[Vec<Cost>]) -> Option<Matrix> {
        let n = rows.len();
        (n > 0 && rows.iter().all(|r| r.len() == n)).then(|| Matrix { n, cells: rows.concat() })
    }
    /// `near` on the diagonal, `far` elsewhere.
    pub fn uniform(n: usize, near: Cost, far: Cost) -> Matrix {
        let cells = (0..n * n).map(|i| if i / n == i % n { near } else { far }).collect();
        Matrix { n, cells }
    }
    /// Number of rows.
    pub fn nodes(&self) -> usize {
        self.n
    }
    /// The cell; panics if a node does not exist.
    #[inline]
    pub fn at(&self, from: NodeId, to: NodeId) -> Cost {
        self.cells[from.index() * self.n + to.index()]
    }
    /// The rows.
    pub fn rows(&self) -> Vec<Vec<Cost>> {
        self.cells.chunks(self.n).map(<[Cost]>::to_vec).collect()
    }
    /// `Some((near, far))` if all diagonal cells and all others are equal.
    pub fn as_uniform(&self) -> Option<(Cost, Cost)> {
        let near = self.cells[0];
        let far = if self.n > 1 { self.cells[1] } else { near };
        (*self == Matrix::uniform(self.n, near, far)).then_some((near, far))
    }
}

/// Costs between nodes as files have them: either `near` and `far`, or a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distances {
    /// To the node's own memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Cost>,
    /// To any other node's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<Cost>,
    /// From each node (row) to each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Vec<Vec<Cost>>>,
}

impl Distances {
    /// Costs of a matrix, as short as they can be written.
    pub fn of(matrix: &Matrix) -> Distances {
        match matrix.as_uniform() {
            Some((near, far)) => Distances { near: Some(near), far: Some(far), matrix: None },
            None => Distances { near: None, far: None, matrix: Some(matrix.rows()) },
        }
    }
    /// The cost from a node to another; [`Cost::INFINITE`] where none is written.
    #[inline]
    pub fn at(&self, from: NodeId, to: NodeId) -> Cost {
        let cell = match &self.matrix {
            Some(rows) => rows.get(from.index()).and_then(|row| row.get(to.index())).copied(),
            None if from == to => self.near,
            None => self.far,
        };
        cell.unwrap_or(Cost::INFINITE)
    }
    pub(crate) fn matrix(&self, key: &str, nodes: usize) -> Result<Matrix, MachineError> {
        match (self.near, self.far, &self.matrix) {
            (Some(near), Some(far), None) => Ok(Matrix::uniform(nodes, near, far)),
            (None, None, Some(rows)) => Matrix::from_rows(rows).ok_or_else(|| {
                let lengths: Vec<String> = rows.iter().map(|r| r.len().to_string()).collect();
                let value = format!("{} rows of {}", rows.len(), lengths.join(", "));
                reject(&format!("{key}.matrix"), value, format!("{nodes} rows of {nodes}, one per node"))
            }),
            _ => Err(reject(key, "a table with other keys", "near and far, or matrix alone")),
        }
    }
    /// Whether these are a matrix of so many nodes as [`Costs`] have them.
    pub(crate) fn validate(&self, key: &str, nodes: usize) -> Result<(), MachineError> {
        validate_matrix(key, &self.matrix(key, nodes)?, nodes)
    }
    /// Whether all nodes are alike.
    pub(crate) fn is_even(&self, nodes: usize) -> bool {
        self.matrix("", nodes).is_ok_and(|m| m.as_uniform().is_some())
    }
}

/// A cost that grows with the size of a block: `fixed + per_word * words`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearCost {
    /// Fault, mapping and bookkeeping, per block.
    pub fixed: Cost,
    /// Per machine word ([`Machine::word_bytes`]).
    pub per_word: Cost,
}

/// Cost of copying a block: `fixed + per_word * words`, or `at_most` if that is less (a machine with two ways of
/// copying, such as word by word and through global memory).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyCost {
    /// Fault, mapping and bookkeeping, per block.
    pub fixed: Cost,
    /// Per machine word ([`Machine::word_bytes`]).
    pub per_word: Cost,
    /// The other way of copying, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<LinearCost>,
}

impl LinearCost {
    /// Cost of a block of this many words.
    pub fn of_words(self, words: i64) -> Cost {
        self.fixed + self.per_word * words
    }
}

impl CopyCost {
    /// `fixed + per_word * words` and nothing else.
    pub const fn linear(fixed: Cost, per_word: Cost) -> CopyCost {
        CopyCost { fixed, per_word, at_most: None }
    }
    /// Cost of a block of this many words.
    pub fn of_words(self, words: i64) -> Cost {
        let cost = LinearCost { fixed: self.fixed, per_word: self.per_word }.of_words(words);
        self.at_most.map_or(cost, |other| cost.min(other.of_words(words)))
    }
}

/// Memory equally far from all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlobalMemory {
    /// One reference (g).
    pub access: Cost,
    /// Copying between global and any node (G).
    pub copy: CopyCost,
}

fn validate_matrix(key: &str, matrix: &Matrix, nodes: usize) -> Result<(), MachineError> {
    if matrix.nodes() != nodes {
        let rows = matrix.nodes();
        return Err(reject(key, format!("{rows} rows"), format!("one row per node, of which there are {nodes}")));
    }
    for i in 0..nodes {
        let near = matrix.at(NodeId(i as u16), NodeId(i as u16));
        for j in 0..nodes {
            let cost = matrix.at(NodeId(i as u16), NodeId(j as u16));
            let cell = format!("{key} from node {i} to node {j}");
            validate_cost(&cell, cost)?;
            if cost < near {
                return Err(reject(&cell, cost.0, format!("at least that from node {i} to itself, {}", near.0)));
            }
        }
    }
    Ok(())
}

fn validate_copy(key: &str, copy: &CopyCost) -> Result<(), MachineError> {
    let parts = [("", copy.fixed, copy.per_word)];
    let other = copy.at_most.map(|o| (".at_most", o.fixed, o.per_word));
    for (part, fixed, per_word) in parts.into_iter().chain(other) {
        validate_cost(&format!("{key}{part}.fixed"), fixed)?;
        if !(0..=WORD_COST_MAX).contains(&per_word.0) {
            return Err(reject(&format!("{key}{part}.per_word"), per_word.0, format!("0 to {WORD_COST_MAX}")));
        }
    }
    Ok(())
}
