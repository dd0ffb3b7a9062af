//! What numbers of a machine may be, and how a wrong one is refused.
use homenode_base::Cost;

/// Most nodes a machine may have.
pub const NODES_MAX: usize = 1024;
/// Most a reference, a transfer or the fixed part of a copy may cost: a second in picoseconds.
pub const COST_MAX: i64 = 1_000_000_000_000;
/// Most a copy may cost per word: a microsecond in picoseconds.
pub const WORD_COST_MAX: i64 = 1_000_000;
/// Largest placement block: with the limits on costs, no sum of the optimum can overflow.
pub const BLOCK_BYTES_MAX: u64 = 1 << 30;

/// What is wrong with a machine, or with its file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line, from 1; 0 if unknown.
        line: usize,
        /// What the TOML reader says.
        message: String,
    },
    /// A value that is not allowed.
    #[error("{key} = {value} is not allowed: {allowed}")]
    Value {
        /// Key, as a path.
        key: String,
        /// What was written.
        value: String,
        /// What may be.
        allowed: String,
    },
}

pub(crate) fn reject(key: &str, value: impl ToString, allowed: impl Into<String>) -> MachineError {
    MachineError::Value { key: key.into(), value: value.to_string(), allowed: allowed.into() }
}

pub(crate) fn validate_cost(key: &str, cost: Cost) -> Result<(), MachineError> {
    match cost.0 {
        0..=COST_MAX => Ok(()),
        value => Err(reject(key, value, format!("0 to {COST_MAX}"))),
    }
}
