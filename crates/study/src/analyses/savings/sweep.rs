//! Sweeps: one parameter, many machines, one question; and the answer as lines of a plot.
use super::super::{AnalysisError, Series};
use crate::{Answer, Question, What};
use homenode_base::{Cost, NodeId};
use homenode_machine::models::family::{Member, Parameters};
use homenode_machine::{AccessClass, CopyCost, Costs, Location, Machine};
use homenode_sim::ThreadBinding;

/// A question whose machines differ in one parameter.
#[derive(Clone)]
pub struct Sweep {
    /// What is varied, with its unit.
    pub parameter: &'static str,
    /// The question; its machines are in the order of `values`.
    pub question: Question,
    /// The parameter of each machine.
    pub values: Vec<u64>,
}

/// What is plotted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plotted {
    /// Mean cost per reference, in local references.
    Mcpr,
    /// Moves and copies per block touched.
    MovesPerBlock,
}

impl Sweep {
    /// One machine a value, made by `machine`; everything else as in `base`, whose first list of bindings all use.
    ///
    /// # Errors
    /// A machine that cannot be made.
    pub fn new(
        base: &Question,
        parameter: &'static str,
        values: &[u64],
        machine: impl Fn(u64) -> Result<Machine, AnalysisError>,
    ) -> Result<Sweep, AnalysisError> {
        let machines = values.iter().map(|v| machine(*v)).collect::<Result<Vec<_>, _>>()?;
        let bindings = base.bindings.first().cloned().unwrap_or_default();
        let bindings = vec![bindings; machines.len()];
        Ok(Sweep { parameter, question: Question { machines, bindings, ..base.clone() }, values: values.to_vec() })
    }
    /// Cost of a copy from or to global memory (G), whatever the block size.
    ///
    /// # Errors
    /// The machine has no global memory, or a value breaks a condition of the machine.
    pub fn global_copy(base: &Question, machine: &Machine, values: &[u64]) -> Result<Sweep, AnalysisError> {
        Sweep::new(base, "G", values, |g| {
            let Some(mut global) = machine.cost.global else {
                return Err(AnalysisError::Needs {
                    analysis: super::SPEC.name,
                    what: super::Need::GlobalMemory.words(),
                });
            };
            let fixed = cost(g)?;
            global.copy = CopyCost::linear(fixed, Cost::ZERO);
            // R <= 2 G binds (section 4.1.1): copies between nodes go through global memory.
            let copy = CopyCost::linear(fixed + fixed, Cost::ZERO);
            checked(Machine {
                name: format!("{},G={g}", machine.name),
                cost: Costs { global: Some(global), copy, ..machine.cost.clone() },
                ..machine.clone()
            })
        })
    }
    /// Cost of a copy between nodes (R), whatever the block size.
    ///
    /// # Errors
    /// A value breaks a condition of the machine.
    pub fn copy(base: &Question, machine: &Machine, values: &[u64]) -> Result<Sweep, AnalysisError> {
        Sweep::new(base, "R", values, |r| {
            let copy = CopyCost::linear(cost(r)?, Cost::ZERO);
            checked(Machine {
                name: format!("{},R={r}", machine.name),
                cost: Costs { copy, ..machine.cost.clone() },
                ..machine.clone()
            })
        })
    }
    /// One-way latency of a machine of the family (lambda).
    ///
    /// # Errors
    /// A value is out of range.
    pub fn lambda(base: &Question, member: &Member, rest: Parameters, values: &[u64]) -> Result<Sweep, AnalysisError> {
        Sweep::new(base, "lambda", values, |v| member_with(member, Parameters { lambda: small(v)?, ..rest }))
    }
    /// Overhead of software of a machine of the family (o_s).
    ///
    /// # Errors
    /// A value is out of range.
    pub fn software_overhead(
        base: &Question,
        member: &Member,
        rest: Parameters,
        values: &[u64],
    ) -> Result<Sweep, AnalysisError> {
        Sweep::new(base, "o_s", values, |v| member_with(member, Parameters { o_s: small(v)?, ..rest }))
    }

    /// One line for each thing that was asked for, at one block size.
    pub fn series(&self, answer: &Answer, block_bytes: u64, plotted: Plotted) -> Vec<Series> {
        let mut lines: Vec<(What, Series)> = Vec::new();
        for row in answer.rows.iter().filter(|r| r.block_bytes == block_bytes) {
            let Some(&x) = self.values.get(row.machine as usize) else { continue };
            let Some(y) = value(&self.question, answer, row, plotted) else { continue };
            let at = lines.iter().position(|l| l.0 == row.what).unwrap_or_else(|| {
                let label = row.what.words(&self.question);
                lines.push((row.what, Series { label, points: Vec::new() }));
                lines.len() - 1
            });
            lines[at].1.points.push((x as f64, y));
        }
        lines.into_iter().map(|(_, series)| series).collect()
    }
}

/// Lines over block sizes of one machine of a question.
pub fn block_series(question: &Question, answer: &Answer, machine: u32, plotted: Plotted) -> Vec<Series> {
    let mut lines: Vec<(What, Series)> = Vec::new();
    for row in answer.rows.iter().filter(|r| r.machine == machine) {
        let Some(y) = value(question, answer, row, plotted) else { continue };
        let at = lines.iter().position(|l| l.0 == row.what).unwrap_or_else(|| {
            let label = row.what.words(question);
            lines.push((row.what, Series { label, points: Vec::new() }));
            lines.len() - 1
        });
        lines[at].1.points.push((row.block_bytes as f64, y));
    }
    lines.into_iter().map(|(_, series)| series).collect()
}

fn value(question: &Question, answer: &Answer, row: &crate::Row, plotted: Plotted) -> Option<f64> {
    match plotted {
        Plotted::Mcpr => mcpr(question, answer, row),
        Plotted::MovesPerBlock => moves_per_block(question, answer, row),
    }
}

/// Mean cost per reference of a row, in local references of its machine; `None` without references.
pub fn mcpr(question: &Question, answer: &Answer, row: &crate::Row) -> Option<f64> {
    let accesses = answer.charged.get(row.machine as usize)?.accesses;
    let near = near(question.machines.get(row.machine as usize)?);
    (accesses > 0 && near > 0).then(|| row.cost.as_f64() / accesses as f64 / near as f64)
}

/// Moves and copies of a row per block touched; `None` where the parts were not asked for.
pub fn moves_per_block(question: &Question, answer: &Answer, row: &crate::Row) -> Option<f64> {
    let moves = match (&row.parts, &row.optimum) {
        (Some(tally), _) => tally.moves + tally.copies,
        (None, Some(solved)) => solved.moves + solved.copies,
        (None, None) => return None,
    };
    let at = question.blocks.iter().position(|b| *b == row.block_bytes)?;
    let blocks = *answer.blocks_touched.get(at)?;
    (blocks > 0).then(|| moves as f64 / blocks as f64)
}

/// What a local load costs.
pub(super) fn near(machine: &Machine) -> i64 {
    machine.access(AccessClass::Read, NodeId(0), Location::Node(NodeId(0))).0
}

/// The machine with r - 1, g - 1, R and G multiplied by `factor`, in local references: by corollary 1 (Bolosky 1993,
/// section 4.1.5) every MCPR - 1 of the optimum is multiplied too.
///
/// # Errors
/// The result is not a sound machine.
pub fn scaled(machine: &Machine, factor: u32) -> Result<Machine, AnalysisError> {
    let k = i64::from(factor);
    let near = near(machine);
    let beyond = |c: Cost| Cost(near + (c.0 - near) * k);
    let matrix = |m: &homenode_machine::Matrix| {
        let rows: Vec<Vec<Cost>> = m.rows().iter().map(|r| r.iter().map(|c| beyond(*c)).collect()).collect();
        homenode_machine::Matrix::from_rows(&rows).expect("as square as the one it comes from")
    };
    let copy = |c: CopyCost| CopyCost {
        fixed: c.fixed * k,
        per_word: c.per_word * k,
        at_most: c.at_most.map(|l| homenode_machine::LinearCost { fixed: l.fixed * k, per_word: l.per_word * k }),
    };
    let global =
        machine.cost.global.map(|g| homenode_machine::GlobalMemory { access: beyond(g.access), copy: copy(g.copy) });
    checked(Machine {
        name: format!("{},scaled={factor}", machine.name),
        cost: Costs {
            read: matrix(&machine.cost.read),
            write: matrix(&machine.cost.write),
            write_back: matrix(&machine.cost.write_back),
            copy: copy(machine.cost.copy),
            global,
            ..machine.cost.clone()
        },
        ..machine.clone()
    })
}

fn member_with(member: &Member, parameters: Parameters) -> Result<Machine, AnalysisError> {
    member.build(&parameters).map_err(|e| refused(member.name, e.to_string()))
}

fn checked(machine: Machine) -> Result<Machine, AnalysisError> {
    match machine.validate() {
        Ok(_) => Ok(machine),
        Err(e) => Err(refused(&machine.name, e.to_string())),
    }
}

fn refused(machine: &str, why: String) -> AnalysisError {
    AnalysisError::Study(crate::StudyError::Machine(machine.to_owned(), why))
}

fn cost(value: u64) -> Result<Cost, AnalysisError> {
    Ok(Cost(i64::from(small(value)?)))
}

fn small(value: u64) -> Result<u32, AnalysisError> {
    let allowed = "parameters of machines are below 2^31";
    u32::try_from(value).ok().filter(|v| *v < 1 << 31).ok_or(AnalysisError::Value {
        what: "parameter",
        value: value.to_string(),
        allowed,
    })
}

/// Bindings on a machine of the family for bindings on any other: every processor is a node of its own.
pub fn family_bindings(bindings: &[ThreadBinding]) -> Vec<ThreadBinding> {
    bindings.iter().map(|s| ThreadBinding { node: NodeId(s.cpu), ..*s }).collect()
}
