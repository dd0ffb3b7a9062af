//! How good a policy is: its share of what the optimum saves, and how the optimum depends on what machines cost (Bolosky
//! 1993, chapters 5 and 6).
mod shape;
mod sweep;

use super::{AnalysisError, Input, Need, Series, Spec, sum, table::table};
use crate::{Question, Want, What};
use homenode_machine::Machine;
use homenode_machine::models::family::{MEMBERS, Parameters};
use homenode_table::Table;
pub use shape::{Bend, Slope, bends, is_concave, is_linear};
pub use sweep::{Plotted, Sweep, block_series, family_bindings, mcpr, moves_per_block, scaled};

pub(crate) static SPEC: Spec = Spec {
    name: "savings",
    summary: "each policy's share of what the optimum saves, and sweeps over move costs, latency and overhead",
    needs: &[Need::Exact, Need::Machine, Need::Policy],
    repeats: 1,
    run,
};

/// The share of the optimum's savings over a base that a policy gets (section 5.4): 1 for the optimum, 0 for the base,
/// negative below it. `None` if the optimum saves nothing.
pub fn share_of_savings(base: f64, policy: f64, optimum: f64) -> Option<f64> {
    (base > optimum).then(|| (base - policy) / (base - optimum))
}

/// The mean of the shares that exist; `None` if none does.
pub fn mean_share(shares: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0);
    for share in shares.into_iter().flatten() {
        (sum, n) = (sum + share, n + 1);
    }
    (n > 0).then(|| sum / f64::from(n))
}

/// What a placement that knows nothing costs a reference: its name and the cost, in the machine's unit. With global
/// memory everything is there; without, each block is on a node drawn at random, of which this is the mean. `None` if
/// stores cost other than loads, distances differ, or other nodes cannot be referenced.
pub fn naive_cost(machine: &Machine) -> Option<(&'static str, f64)> {
    let (near, far) = machine.cost.read.as_uniform()?;
    if machine.cost.write.as_uniform()? != (near, far) {
        return None;
    }
    if let Some(global) = machine.cost.global {
        return Some(("all global", global.access.0 as f64));
    }
    let p = machine.nodes() as f64;
    (machine.cost.remote_access || machine.nodes() == 1)
        .then(|| ("random static", (near.0 as f64 + (p - 1.0) * far.0 as f64) / p))
}

/// Move costs G of figures 5.4 and 5.6.
const G_VALUES: [u64; 14] = [100, 200, 300, 400, 512, 700, 800, 1024, 1200, 1400, 1600, 1800, 2248, 2500];
/// Move costs R of figure 5.5.
const R_VALUES: [u64; 12] = [100, 200, 500, 1000, 2000, 3272, 5000, 7000, 9000, 12_000, 15_360, 16_500];
/// Latencies of the sweep that the source only argues about (section 6.4).
const LAMBDA_VALUES: [u64; 9] = [10, 20, 35, 50, 75, 100, 150, 250, 500];
/// Overheads of figures 6.7 to 6.9.
const OVERHEAD_VALUES: [u64; 9] = [10, 20, 40, 75, 120, 200, 400, 750, 1000];
/// Block size of the overhead sweep (section 6.2.4).
const OVERHEAD_BLOCK_BYTES: u64 = 512;

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
    Ok(vec![shares(input)?, move_costs(input)?, family(input)?])
}

fn shares(input: &mut Input<'_>) -> Result<Table, AnalysisError> {
    let columns = ["machine", "block_bytes", "policy", "base", "base_mcpr", "policy_mcpr", "optimum_mcpr", "share"];
    let note = "Share of what the optimum with replication saves over a placement that knows nothing.";
    let mut table = table("savings", note, &columns);
    let question = Question { with_replication: Want::Cost, ..input.question.clone() };
    let answer = sum(&(input.ask)(&question, input.source)?)?;
    for row in &answer.rows {
        if row.what.as_policy().is_none() {
            continue;
        }
        let machine = &question.machines[row.machine as usize];
        let same = |r: &&crate::Row| {
            r.machine == row.machine && r.block_bytes == row.block_bytes && r.what == What::WITH_REPLICATION
        };
        let optimum = answer.rows.iter().find(same).and_then(|r| mcpr(&question, &answer, r));
        let base = naive_cost(machine).map(|(name, cost)| (name, cost / sweep::near(machine) as f64));
        let policy = mcpr(&question, &answer, row);
        let share = match (base, policy, optimum) {
            (Some((_, b)), Some(p), Some(o)) => share_of_savings(b, p, o),
            _ => None,
        };
        table.push(vec![
            machine.name.as_str().into(),
            row.block_bytes.into(),
            row.what.words(&question).into(),
            base.map(|b| b.0).into(),
            base.map(|b| b.1).into(),
            policy.into(),
            optimum.into(),
            share.into(),
        ]);
    }
    Ok(table)
}

const SWEEP_COLUMNS: [&str; 7] = ["machine", "block_bytes", "parameter", "value", "what", "mcpr", "moves_per_block"];

/// G of machines with global memory, R of the others.
fn move_costs(input: &mut Input<'_>) -> Result<Table, AnalysisError> {
    let note = "How costs and moves change with what a copy costs. Through the optimum's points goes a concave line of \
                straight pieces, whose slope is moves per reference.";
    let mut table = table("move-costs", note, &SWEEP_COLUMNS);
    let question = input.question;
    for (machine, bindings) in question.machines.iter().zip(&question.bindings) {
        if machine.sections.caches.is_some() || !machine.cost.remote_access {
            continue;
        }
        let base = sweep_base(question, bindings.clone());
        let sweep = match machine.cost.global {
            Some(_) => Sweep::global_copy(&base, machine, &G_VALUES)?,
            None => Sweep::copy(&base, machine, &R_VALUES)?,
        };
        sweep_rows(input, &machine.name, &sweep, &mut table)?;
    }
    Ok(table)
}

/// Latency and overhead of the five machines of chapter 6.
fn family(input: &mut Input<'_>) -> Result<Table, AnalysisError> {
    let note = "How costs change with latency, at the study's block sizes, and with the overhead of software, at 512 bytes, \
                on the five machines of Bolosky 1993, chapter 6.";
    let mut table = table("latency-and-overhead", note, &SWEEP_COLUMNS);
    let bindings = family_bindings(input.bindings());
    let processors = bindings.iter().map(|s| s.cpu + 1).max().unwrap_or(1);
    let base = Question { policies: Vec::new(), ..sweep_base(input.question, bindings) };
    let rest = Parameters { processors, ..Parameters::default() };
    for member in &MEMBERS {
        let latency = Sweep::lambda(&base, member, rest, &LAMBDA_VALUES)?;
        sweep_rows(input, member.name, &latency, &mut table)?;
        let base = Question { blocks: vec![OVERHEAD_BLOCK_BYTES], ..base.clone() };
        let overhead = Sweep::software_overhead(&base, member, rest, &OVERHEAD_VALUES)?;
        sweep_rows(input, member.name, &overhead, &mut table)?;
    }
    Ok(table)
}

fn sweep_base(question: &Question, bindings: Vec<homenode_sim::ThreadBinding>) -> Question {
    Question {
        machines: Vec::new(),
        bindings: vec![bindings],
        best_static: Want::None,
        without_replication: Want::None,
        with_replication: Want::Parts,
        ..question.clone()
    }
}

fn sweep_rows(input: &mut Input<'_>, machine: &str, sweep: &Sweep, table: &mut Table) -> Result<(), AnalysisError> {
    let answer = sum(&(input.ask)(&sweep.question, input.source)?)?;
    for &block_bytes in &sweep.question.blocks {
        let costs = sweep.series(&answer, block_bytes, Plotted::Mcpr);
        let moves = sweep.series(&answer, block_bytes, Plotted::MovesPerBlock);
        for line in &costs {
            let of_line = moves.iter().find(|m| m.label == line.label);
            for (x, y) in &line.points {
                table.push(vec![
                    machine.into(),
                    block_bytes.into(),
                    sweep.parameter.into(),
                    (*x).into(),
                    line.label.as_str().into(),
                    (*y).into(),
                    of_line.and_then(|m| at(m, *x)).into(),
                ]);
            }
        }
    }
    Ok(())
}

fn at(series: &Series, x: f64) -> Option<f64> {
    series.points.iter().find(|p| p.0 == x).map(|p| p.1)
}
