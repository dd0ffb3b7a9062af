//! Three run times say how well a machine with local and global memory placed a program's data (Bolosky 1993,
//! section 3.2.1).
//!
//! *gamma* is how much longer the program ran than if everything had been local; *beta* is the share of that all-local time
//! spent on references to writable data; *alpha* the share of these references that were made locally. The same follows
//! from a trace, where references stand for time.
use super::{AnalysisError, Input, Need, Spec, input, sum, table::table};
use crate::{Question, Want};
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Location, Machine};
use homenode_placement::Tally;
use homenode_sim::{ReplayOptions, ThreadBinding};
use homenode_table::{Cell, Table};
use homenode_trace::{Merged, Op};

pub(crate) static SPEC: Spec = Spec {
    name: "alpha-beta-gamma",
    summary: "how much of the writable data a policy kept local (alpha), how much that matters (beta), what is left (gamma)",
    needs: &[Need::Exact, Need::Machine, Need::Policy, Need::GlobalMemory],
    repeats: 1,
    run,
};

/// User times of three runs, in any one unit, summed over processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// All writable data in global memory.
    pub global: f64,
    /// Under the policy.
    pub numa: f64,
    /// One thread on one processor: everything local.
    pub local: f64,
}

/// What the times say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Share of references to writable data that are local; `None` if global memory made no difference (equation 3.4).
    pub alpha: Option<f64>,
    /// Share of the all-local time spent on references to writable data (equation 3.5).
    pub beta: f64,
    /// T_numa / T_local (equation 3.1).
    pub gamma: f64,
}

impl Times {
    /// Solves equations 3.1 to 3.5. `g_over_l` is the time of a global word access over that of a local one.
    ///
    /// # Errors
    /// A time or the ratio is out of range.
    pub fn solve(&self, g_over_l: f64) -> Result<Model, AnalysisError> {
        let bad = |what, value: f64, allowed| Err(AnalysisError::Value { what, value: value.to_string(), allowed });
        if !(self.local > 0.0 && [self.global, self.numa, self.local].iter().all(|t| t.is_finite())) {
            return bad("T_local", self.local, "run times are finite and above 0");
        }
        if !(g_over_l.is_finite() && g_over_l > 1.0) {
            return bad("G/L", g_over_l, "a global access takes longer than a local one: give a ratio above 1");
        }
        let gap = self.global - self.local;
        Ok(Model {
            alpha: (gap != 0.0).then(|| (self.global - self.numa) / gap),
            beta: gap / self.local / (g_over_l - 1.0),
            gamma: self.numa / self.local,
        })
    }
}

impl Model {
    /// T_numa / T_local as equation 3.2 has it; equals `gamma` where alpha exists.
    pub fn gamma_from_shares(&self, g_over_l: f64) -> Option<f64> {
        let alpha = self.alpha?;
        Some((1.0 - self.beta) + self.beta * (alpha + (1.0 - alpha) * g_over_l))
    }
}

/// System times of two runs beside a user time: what placing cost (Bolosky 1993, table 3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// System time under the policy.
    pub system_numa: f64,
    /// System time with all writable data global.
    pub system_global: f64,
    /// User time under the policy.
    pub numa: f64,
}

impl Overhead {
    /// (S_numa - S_global) / T_numa; `None` if the policy's run used less system time or no user time.
    pub fn share(&self) -> Option<f64> {
        let more = self.system_numa - self.system_global;
        (more > 0.0 && self.numa > 0.0).then(|| more / self.numa)
    }
}

/// Names of the figures of a printed row (alpha, beta, gamma, as printed; empty where none is) that its own times do not
/// give: those that differ from the computed value by more than half a unit of the last digit printed.
pub fn misprints(printed: [&str; 3], computed: &Model) -> Vec<&'static str> {
    let values = [("alpha", computed.alpha), ("beta", Some(computed.beta)), ("gamma", Some(computed.gamma))];
    let off = |(text, (_, value)): &(&str, (&str, Option<f64>))| {
        let digits = text.split_once('.').map_or(0, |(_, after)| after.len());
        let half = 0.5 * 0.1f64.powi(digits as i32);
        matches!((text.parse::<f64>(), value), (Ok(p), Some(v)) if (p - v).abs() > half + 1e-9)
    };
    printed.into_iter().zip(values).filter(off).map(|(_, (name, _))| name).collect()
}

/// References of a trace as alpha, beta and gamma want them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Words referenced, spins excepted.
    pub words: u64,
    /// Of these, in blocks that are written by someone.
    pub writable: u64,
}

impl Costs {
    /// The three times, in local references, from what a policy's references cost: movement is not contained, as system
    /// time is not in user time. `near` and `global` are what one reference costs.
    pub fn times(&self, tally: &Tally, near: i64, global: i64) -> Times {
        let per = |n: u64, cost: i64| n as f64 * cost as f64;
        Times {
            global: per(self.words - self.writable, near) + per(self.writable, global),
            numa: (tally.local + tally.remote + tally.global).as_f64(),
            local: per(self.words, near),
        }
    }
}

/// Counts [`Costs`] for one block size.
struct Counter<'a> {
    bindings: &'a [ThreadBinding],
    options: ReplayOptions,
    word_bytes: u64,
    block_bytes: u64,
    /// Words referenced and whether one was written, by (address space, block).
    blocks: hashbrown::HashMap<(u32, u64), (u64, bool)>,
}

impl Counter<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin || self.options.charge_spins) {
            let Some(binding) = self.bindings.get(r.thread as usize) else { continue };
            input::pieces(r, self.block_bytes, |block, from, last| {
                let cell = self.blocks.entry((binding.space, block)).or_default();
                cell.0 += last / self.word_bytes - from / self.word_bytes + 1;
                cell.1 |= r.op.writes();
            });
        }
    }
}

const COLUMNS: &[&str] = &[
    "machine",
    "block_bytes",
    "policy",
    "t_global_refs",
    "t_numa_refs",
    "t_local_refs",
    "alpha",
    "beta",
    "gamma",
    "movement_share",
];

fn run(input: &mut Input<'_>) -> Result<Vec<Table>, AnalysisError> {
    let asked = input.question;
    let mut table = table(
        "alpha-beta-gamma",
        "Times are references priced by the machine, in its unit; movement is kept apart, as system time was.",
        COLUMNS,
    );
    for (machine, bindings) in asked.machines.iter().zip(&asked.bindings).filter(|(m, _)| m.cost.global.is_some()) {
        let Some((near, global)) = prices(machine) else { continue };
        for &block_bytes in asked.blocks.iter().filter(|b| **b >= u64::from(machine.shape.word_bytes)) {
            let question = Question {
                machines: vec![machine.clone()],
                bindings: vec![bindings.clone()],
                blocks: vec![block_bytes],
                best_static: Want::None,
                without_replication: Want::None,
                with_replication: Want::None,
                ..asked.clone()
            };
            let answer = sum(&(input.ask)(&question, input.source)?)?;
            let costs = count(input, machine, block_bytes)?;
            for row in &answer.rows {
                if let (Some(p), Some(parts)) = (row.what.as_policy(), &row.parts) {
                    let policy = question.policies[p as usize].to_string();
                    table.push(priced(&machine.name, block_bytes, policy, &costs.times(parts, near, global), parts, {
                        global as f64 / near as f64
                    }));
                }
            }
        }
    }
    Ok(vec![table])
}

fn count(input: &mut Input<'_>, machine: &Machine, block_bytes: u64) -> Result<Costs, AnalysisError> {
    let word_bytes = u64::from(machine.shape.word_bytes);
    let (bindings, options) = (input.bindings(), input.question.options);
    let mut counter = Counter { bindings, options, word_bytes, block_bytes, blocks: hashbrown::HashMap::new() };
    let mut stream = input.source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        counter.refs(piece.refs);
    }
    let mut costs = Costs::default();
    for (words, written) in counter.blocks.values() {
        costs.words += words;
        costs.writable += if *written { *words } else { 0 };
    }
    Ok(costs)
}

/// Local and global cost of a reference, if reads and writes cost the same and global costs more.
fn prices(machine: &Machine) -> Option<(i64, i64)> {
    let node = NodeId(0);
    let near = machine.access(AccessClass::Read, node, Location::Node(node)).0;
    let global = machine.access(AccessClass::Read, node, Location::Global).0;
    let same = near == machine.access(AccessClass::Write, node, Location::Node(node)).0;
    (same && near > 0 && global > near).then_some((near, global))
}

fn priced<'a>(
    machine: &'a str,
    block_bytes: u64,
    policy: String,
    times: &Times,
    parts: &Tally,
    g_over_l: f64,
) -> Vec<Cell<'a>> {
    let solved = times.solve(g_over_l).ok();
    let movement = parts.movement.as_f64();
    vec![
        machine.into(),
        block_bytes.into(),
        policy.into(),
        times.global.into(),
        times.numa.into(),
        times.local.into(),
        solved.and_then(|m| m.alpha).into(),
        solved.map(|m| m.beta).into(),
        solved.map(|m| m.gamma).into(),
        (movement / (movement + times.numa)).into(),
    ]
}
