//! E12: latency, which the thesis only argues about: lambda from 10 to 500, and the price r of a remote word.
use super::lookup::{Answered, CC, DSM, NAMES, NUMA, member, part, two};
use super::program::{Listed, Program};
use super::{CLAIMS, Figure, Found, Gathered, Spec, Study};
use homenode_base::Cost;
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::models::family::{self, MEMBERS, Parameters};
use homenode_machine::{Costs, Machine, Matrix};
use homenode_study::analyses::{Series, is_concave};
use homenode_study::{Question, Want, What};
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec =
    Spec { id: "E12", title: "latency (not in the thesis)", begin: Gathered::<Latencies>::boxed };

/// Latencies lambda in local hits; the base machines have 50.
const LAMBDA: [u32; 9] = [10, 20, 35, 50, 75, 100, 150, 250, 500];
const BASE: usize = 3;
const BLOCKS: [u64; 3] = [64, 512, 4096];
/// Blocks of the base machines, as places in [`BLOCKS`].
const BUILT_FOR: [usize; 5] = [0, 0, 2, 2, 2];
/// Prices of a remote word on NUMA; 102 is that of the base machine.
const REMOTE: [i64; 9] = [2, 25, 50, 102, 175, 250, 500, 1000, 4000];
const PAGE: u64 = 4096;

struct Latencies(Vec<Measured>);

#[derive(Clone, Serialize, Deserialize)]
struct Measured {
    listed: &'static Listed,
    /// By block, machine and latency.
    cost: [[[f64; LAMBDA.len()]; 5]; BLOCKS.len()],
    /// NUMA over the price of a remote word, with pages: price and cost of the whole program.
    remote: Vec<(i64, i128)>,
    /// DSM with pages: cost of the whole program.
    dsm: i128,
    accesses: u64,
}

impl Study for Latencies {
    type Measured = Measured;
    fn measure(program: &Program) -> Result<Measured, Failure> {
        let mut machines = Vec::new();
        for m in &MEMBERS {
            for lambda in LAMBDA {
                machines.push(member(m, Parameters { lambda, ..Parameters::default() })?);
            }
        }
        let answered = ask(program, machines, &BLOCKS)?;
        let mut cost = [[[0.0; LAMBDA.len()]; 5]; BLOCKS.len()];
        for (block, lines) in BLOCKS.into_iter().zip(&mut cost) {
            for (place, value) in lines.iter_mut().flatten().enumerate() {
                *value = answered.mcpr(place, block, What::WITH_REPLICATION)?;
            }
        }
        let mut machines = REMOTE.iter().map(|r| numa_with(*r)).collect::<Result<Vec<_>, Failure>>()?;
        machines.push(member(&family::DSM, Parameters::default())?);
        let answered = ask(program, machines, &[PAGE])?;
        let whole = |place: usize| Ok::<_, Failure>(answered.row(place, PAGE, What::WITH_REPLICATION)?.cost.0);
        let remote = REMOTE.iter().enumerate().map(|(i, r)| Ok((*r, whole(i)?))).collect::<Result<_, Failure>>()?;
        let accesses = answered.answer.accesses;
        Ok(Measured { listed: program.listed, cost, remote, dsm: whole(REMOTE.len())?, accesses })
    }

    fn conclude(all: Vec<Measured>) -> Result<Found, Failure> {
        Latencies(all).result()
    }
}

impl Latencies {
    fn result(&self) -> Result<Found, Failure> {
        let figures = BLOCKS.iter().enumerate().map(|(b, block)| self.means(b, *block)).collect();
        Ok(Found { tables: vec![self.gains()], figures, judged: self.judged(), ..Found::default() })
    }
}

fn ask(program: &Program, machines: Vec<Machine>, blocks: &[u64]) -> Result<Answered, Failure> {
    program.ask(Question { with_replication: Want::Cost, ..program.question(machines, blocks) })
}

fn numa_with(r: i64) -> Result<Machine, Failure> {
    let m = member(&family::NUMA, Parameters::default())?;
    let near_far = Matrix::uniform(m.nodes(), Cost(1), Cost(r));
    let read = near_far.clone();
    Ok(Machine {
        name: format!("numa,r={r}"),
        cost: Costs { read, write: near_far.clone(), write_back: near_far, ..m.cost },
        ..m
    })
}

impl Measured {
    /// How many times less a base machine costs with a fifth of the latency.
    fn gain(&self, machine: usize) -> f64 {
        let line = &self.cost[BUILT_FOR[machine]][machine];
        line[BASE] / line[0]
    }
}

impl Latencies {
    /// Geometric means over the programs: costs differ by orders of magnitude.
    fn means(&self, b: usize, block: u64) -> Figure {
        let mean = |m: usize, l: usize| {
            let logs: f64 = self.0.iter().map(|p| p.cost[b][m][l].ln()).sum();
            (logs / self.0.len().max(1) as f64).exp()
        };
        let line = |(m, name): (usize, &&str)| Series {
            label: (*name).to_owned(),
            points: LAMBDA.iter().enumerate().map(|(l, x)| (f64::from(*x), mean(m, l))).collect(),
        };
        Figure {
            name: format!("E12-{block}"),
            title: format!("Cost of the optimum over latency, {block}-byte blocks, geometric mean of programs"),
            axes: ["one-way latency lambda (local hits)", "mean cost per reference (local hits)"],
            log: true,
            lines: NAMES.iter().enumerate().map(line).collect(),
            ..Figure::default()
        }
    }

    fn gains(&self) -> Table {
        let mut columns = vec!["program".to_owned()];
        columns.extend(NAMES.iter().map(|n| (*n).to_owned()));
        let rows = self.0.iter().map(|p| {
            let mut row = vec![p.listed.name.to_owned()];
            row.extend((0..NAMES.len()).map(|m| two(p.gain(m))));
            row
        });
        let title = "cost with lambda 50 over cost with lambda 10, base machines".into();
        Table { title, columns, rows: rows.collect() }
    }

    fn judged(&self) -> Vec<Judged> {
        let all = self.0.len();
        let count = |wanted: &dyn Fn(&Measured) -> bool| self.0.iter().filter(|p| wanted(p)).count();
        let [numa, dsm] = [NUMA, DSM].map(|m| count(&|p| p.gain(CC) > p.gain(m)));
        let capped = |p: &Measured| p.remote.iter().all(|r| r.1 <= p.dsm);
        let shaped = count(&|p| is_concave(&p.remote) && capped(p));
        let reached = count(&|p| p.remote.last().is_some_and(|r| r.1 == p.dsm));
        let local = count(&|p| p.remote.iter().all(|r| r.1 >= i128::from(p.accesses)));
        let steps = MEMBERS.len() * BLOCKS.len() * all;
        let concave = self.0.iter().flat_map(|p| p.cost.iter().flatten()).filter(|line| concave_line(line)).count();
        vec![
            CLAIMS.ruled(
                "latency-cc",
                format!("more than DSM in {dsm}, than NUMA in {numa} of {all}"),
                &Measures::default()
                    .value("share above DSM", part(dsm, all))
                    .value("share above NUMA", part(numa, all)),
                "base machines: going from lambda 50 to 10 divides the cost on CC by more than on the other. \
                 Moves of pages hardly contain latency, but remote words consist of it, and on NUMA the optimum \
                 uses them",
            ),
            CLAIMS.ruled(
                "mcpr-over-r",
                format!("concave and below DSM in {shaped} of {all}; at DSM when r is 4000 in {reached}"),
                &Measures::of([
                    ("share of programs", part(shaped, all)),
                    ("share at no less than local", part(local, all)),
                ]),
                "NUMA with pages, r from 2 to 4000",
            ),
            CLAIMS.ruled(
                "latency-ours",
                format!("{concave} of {steps} lines concave"),
                &Measures::of([("share of lines", part(concave, steps))]),
                "lambda is in R and r alike: every placement costs a straight line, so the least of them is \
                 concave",
            ),
        ]
    }
}

/// Whether slopes do not rise, but for rounding.
fn concave_line(line: &[f64; LAMBDA.len()]) -> bool {
    let slope = |i: usize| (line[i + 1] - line[i]) / f64::from(LAMBDA[i + 1] - LAMBDA[i]);
    (0..LAMBDA.len() - 2).all(|i| slope(i + 1) <= slope(i) * (1.0 + 1e-9) + 1e-12)
}
