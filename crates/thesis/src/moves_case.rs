//! The case study of successive over-relaxation (section 5.3.1): what the optimum spends its references on as moves get
//! cheaper.
use super::program::Program;
use super::slopes::{Apart, Price};
use super::{CLAIMS, Figure};
use homenode_base::Cost;
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::rules::Measures;
use homenode_machine::{CopyCost, Costs, GlobalMemory, Machine, models};
use homenode_study::analyses::Series;
use serde::{Deserialize, Serialize};

/// Block size of experiments on prices, in bytes.
pub(super) const PAGE: u64 = 4096;
/// Prices G; R is twice that, as copies between nodes go through global memory.
const FIRST: i64 = 64;
const STEP: i64 = 64;
const STEPS: i64 = 39;
pub(super) fn machine(name: &str) -> Machine {
    models::find(name).expect("a machine of the thesis")
}

/// The optimum's cost above all references being local, by G, in local references.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Parts {
    accesses: u64,
    points: Vec<Part>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Part {
    g: i64,
    movement: f64,
    /// References to other nodes and to global memory.
    remote: f64,
    global: f64,
}

/// Takes the optimum apart at each G.
pub(super) fn parts(program: &Program) -> Result<Parts, Failure> {
    let prices: Vec<i64> = (0..=STEPS).map(|i| FIRST + i * STEP).collect();
    let machines: Vec<Machine> = prices.iter().map(|g| priced(*g)).collect();
    let apart = Apart::ask(program, &machines, &[PAGE], &[Price::Remote, Price::Global])?;
    let mut points = Vec::new();
    for (i, g) in prices.iter().enumerate() {
        let number = |price| apart.number(i, PAGE, price).map(|n| n as f64);
        let (remote, global) = (number(0)?, number(1)?);
        points.push(Part { g: *g, movement: apart.above(i, PAGE)? as f64 - 4.0 * remote - global, remote, global });
    }
    Ok(Parts { accesses: apart.accesses(), points })
}

fn priced(g: i64) -> Machine {
    let ace = machine("ace");
    let global = ace.cost.global.map(|m| GlobalMemory { copy: CopyCost::linear(Cost(g), Cost::ZERO), ..m });
    Machine {
        name: format!("ace,G={g}"),
        cost: Costs { copy: CopyCost::linear(Cost(2 * g), Cost::ZERO), global, ..ace.cost },
        ..ace
    }
}

impl Parts {
    /// The breakdown, and the policies' lines beside the optimum.
    pub(super) fn figures(&self, policies: Vec<Series>) -> Vec<Figure> {
        let per = self.accesses.max(1) as f64;
        let line = |label: &str, of: fn(&Part) -> f64| Series {
            label: label.into(),
            points: self.points.iter().map(|p| (p.g as f64, of(p) / per)).collect(),
        };
        let figure = |name: &str, title: &str, axis, lines| Figure {
            name: name.into(),
            title: title.into(),
            axes: ["G (local references)", axis],
            log: false,
            lines,
            ..Figure::default()
        };
        let parts = vec![
            line("moves", |p| p.movement),
            line("remote references", |p| 4.0 * p.remote),
            line("global references", |p| p.global),
        ];
        vec![
            figure(
                "E5-sorbyr-parts",
                "sorbyr: what the optimum spends above local references (figure 5.7)",
                "cost per reference above 1",
                parts,
            ),
            figure(
                "E5-sorbyr",
                "sorbyr: optimum and policies over G (figure 5.7)",
                "mean cost per reference above 1 (local references)",
                policies,
            ),
        ]
    }

    /// The G below which a count falls under half of its maximum for the first time, coming from where that is.
    fn crossing(&self, of: fn(&Part) -> f64) -> Option<i64> {
        let most = self.points.iter().map(of).fold(0.0, f64::max);
        let above = |p: &Part| of(p) > most / 2.0;
        self.points.windows(2).find(|w| !above(&w[0]) && above(&w[1])).map(|w| (w[0].g + w[1].g) / 2)
    }
}

pub(super) fn judged(sor: Option<&Parts>) -> Vec<Judged> {
    let Some(sor) = sor else {
        return ["fig-5.7", "sor-1200-400"].map(Judged::not_run).into();
    };
    let says = |at: Option<i64>| at.map_or("nowhere".to_owned(), |g| g.to_string());
    let (first, second) = (sor.crossing(|p| p.remote), sor.crossing(|p| p.global));
    let ours = format!("remote references trade at {}, global ones at {}", says(first), says(second));
    let number = |at: Option<i64>| at.map_or(f64::NAN, |g| g as f64);
    let both = first.zip(second);
    let ratio = both.map_or(f64::NAN, |(f, s)| f as f64 / s as f64);
    let shape = format!(
        "sorbyr, G where half of the remote and of the global references are gone as moves get cheaper; agrees if remote \
         ones go first. Ratio {ratio:.1}; the printed points have 3"
    );
    let place = "in theory 3 N and N for N words in a turn of the reader: the printed points fit N = 406, \
                 half a row of 406 doubles, which ours has too but at size XS. Agrees if the ratio is that of the printed points, 3, as nearly as \
                 steps of 64 tell";
    vec![
        CLAIMS.ruled(
            "fig-5.7",
            ours.clone(),
            &Measures::of([("G of global references", number(second)), ("G of remote references", number(first))]),
            &shape,
        ),
        CLAIMS.ruled(
            "sor-1200-400",
            ours,
            &Measures::of([("remote", number(first)), ("global", number(second))]),
            place,
        ),
    ]
}
