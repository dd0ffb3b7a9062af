//! E5: the optimum over the price of a move: G on the ACE, R on the Butterfly.
use super::lookup::{Answered, names, part};
use super::moves_case::{self, PAGE, Parts, machine};
use super::program::{Listed, Program};
use super::slopes::{Apart, Price};
use super::{CLAIMS, Figure, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::rules::Measures;
use homenode_placement::policies::Choice;
use homenode_study::analyses::{Series, Sweep, is_concave, is_linear, scaled};
use homenode_study::{Question, Want, What};
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec = Spec { id: "E5", title: "price of a move", begin: Gathered::<Prices>::boxed };

/// Prices in steps of 64, so that 512 and 1024 lie inside steps.
const G_FIRST: u64 = 32;
const G_STEP: u64 = 64;
const G_STEPS: u64 = 39;
/// Steps of G that steps of moves are compared with begin here.
const G_STEPS_FROM: u64 = 4;
/// Prices R of figure 5.5 and below: 200 is the least that a fault allows, 15360 is a page at r a word.
const R_VALUES: [u64; 12] = [1, 50, 200, 500, 1000, 2000, 3272, 5000, 7500, 10_000, 12_500, 16_500];
const POLICIES: [&str; 3] = ["ace", "delay", "platinum"];
/// Corollary 1 is tried with this factor.
const FACTOR: u32 = 3;

struct Prices {
    programs: Vec<Measured>,
}

/// The program of figure 5.7.
const SOR: &str = "sorbyr";

/// Lines of one program over a price.
#[derive(Clone, Serialize, Deserialize)]
struct Lines {
    accesses: u64,
    /// Price and cost of the whole program.
    optimum: Vec<(i64, i128)>,
    policies: Vec<Vec<(i64, i128)>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Measured {
    listed: &'static Listed,
    over_g: Lines,
    over_r: Lines,
    /// Copies for each page over G; a move between nodes is two, through global memory.
    moves: Series,
    /// Corollary 1 on the ACE and the Butterfly.
    corollary: bool,
    /// What the optimum consists of, of [`SOR`] only.
    parts: Option<Parts>,
}

impl Study for Prices {
    type Measured = Measured;
    fn measure(program: &Program) -> Result<Measured, Failure> {
        let policies: Vec<Choice> =
            POLICIES.iter().map(|p| Choice::parse(p)).collect::<Result<_, _>>().map_err(Failure::work)?;
        let base = |name: &str| Question {
            policies: policies.clone(),
            with_replication: Want::Cost,
            ..program.question(vec![machine(name)], &[PAGE])
        };
        let g: Vec<u64> = (0..=G_STEPS).map(|i| G_FIRST + i * G_STEP).collect();
        let over_g = Sweep::global_copy(&base("ace"), &machine("ace"), &g).map_err(Failure::work)?;
        let over_r = Sweep::copy(&base("butterfly"), &machine("butterfly"), &R_VALUES);
        let over_r = over_r.map_err(Failure::work)?;
        Ok(Measured {
            listed: program.listed,
            moves: moves(program, &over_g)?,
            over_g: lines(&over_g, program.answer(&over_g.question)?)?,
            over_r: lines(&over_r, program.answer(&over_r.question)?)?,
            corollary: corollary(program)?,
            parts: (program.listed.name == SOR).then(|| moves_case::parts(program)).transpose()?,
        })
    }

    fn conclude(programs: Vec<Measured>) -> Result<Found, Failure> {
        Prices { programs }.result()
    }
}

impl Prices {
    fn sor(&self) -> Option<&Parts> {
        self.programs.iter().find_map(|m| m.parts.as_ref())
    }

    fn result(&self) -> Result<Found, Failure> {
        let shown = |of: fn(&Measured) -> &Lines| self.programs.iter().map(|m| of(m).series(m.listed.name)).collect();
        let moves = |m: &Measured| Series { label: m.listed.name.to_owned(), ..m.moves.clone() };
        let figure = |name: &str, title: &str, axes, lines| Figure {
            name: name.into(),
            title: title.into(),
            axes,
            log: name.ends_with("moves"),
            lines,
            ..Figure::default()
        };
        let cost = "mean cost per reference above 1 (local references)";
        let mut figures = vec![
            figure(
                "E5-G",
                "Optimum over G, g = 2, r = 5 (figure 5.4)",
                ["G (local references)", cost],
                shown(|m| &m.over_g),
            ),
            figure(
                "E5-R",
                "Optimum over R, no global memory, r = 15 (figure 5.5)",
                ["R (local references)", cost],
                shown(|m| &m.over_r),
            ),
            figure(
                "E5-moves",
                "Moves of the optimum over G (figure 5.6)",
                ["G (local references)", "copies to or from global memory (per page)"],
                self.programs.iter().map(moves).collect(),
            ),
        ];
        figures.extend(self.sor().iter().flat_map(|parts| parts.figures(self.policies_of_sor())));
        let judged = self.shapes().into_iter().chain(self.steps()).chain(moves_case::judged(self.sor()));
        Ok(Found { judged: judged.collect(), figures, ..Found::default() })
    }
}

/// Copies of pages for each page over G.
fn moves(program: &Program, sweep: &Sweep) -> Result<Series, Failure> {
    let apart = Apart::ask(program, &sweep.question.machines, &[PAGE], &[Price::Copies])?;
    let pages = apart.blocks(0).max(1) as f64;
    let point = |(i, g): (usize, &u64)| Ok((*g as f64, apart.number(i, PAGE, 0)? as f64 / pages));
    let points = sweep.values.iter().enumerate().map(point).collect::<Result<_, Failure>>()?;
    Ok(Series { label: String::new(), points })
}

fn lines(sweep: &Sweep, answer: homenode_study::Answer) -> Result<Lines, Failure> {
    let answered = Answered { question: sweep.question.clone(), answer };
    let line = |what: What| {
        let point = |(i, value): (usize, &u64)| Ok((*value as i64, answered.row(i, PAGE, what)?.cost.0));
        sweep.values.iter().enumerate().map(point).collect::<Result<Vec<_>, Failure>>()
    };
    let policies = (0..POLICIES.len() as u32).map(|i| line(What::policy(i))).collect::<Result<_, _>>()?;
    Ok(Lines { accesses: answered.answer.accesses, optimum: line(What::WITH_REPLICATION)?, policies })
}

/// Corollary 1 of section 4.1.5: r - 1, g - 1, R and G times a factor multiply what the optimum costs above local
/// references by that factor, to the last unit.
fn corollary(program: &Program) -> Result<bool, Failure> {
    let mut machines = Vec::new();
    for name in ["ace", "butterfly"] {
        machines.push(machine(name));
        machines.push(scaled(&machine(name), FACTOR).map_err(Failure::work)?);
    }
    let question = Question { with_replication: Want::Cost, ..program.question(machines, &[PAGE]) };
    let answered = program.ask(question)?;
    let accesses = i128::from(answered.answer.accesses);
    let above = |m: usize| Ok::<_, Failure>(answered.row(m, PAGE, What::WITH_REPLICATION)?.cost.0 - accesses);
    let factor = i128::from(FACTOR);
    Ok(above(1)? == factor * above(0)? && above(3)? == factor * above(2)?)
}

impl Lines {
    fn series(&self, label: &str) -> Series {
        per_reference(label, &self.optimum, self.accesses)
    }
    fn concave(&self) -> bool {
        is_concave(&self.optimum)
    }
    /// Policies are straight lines on or above the optimum.
    fn policies_above(&self) -> bool {
        let above = |line: &[(i64, i128)]| line.iter().zip(&self.optimum).all(|(p, o)| p.1 >= o.1);
        self.policies.iter().all(|line| is_linear(line) && above(line))
    }
    /// Cost of a reference at the cheapest move.
    fn at_cheapest(&self) -> f64 {
        self.optimum.first().map_or(f64::NAN, |p| p.1 as f64 / self.accesses as f64)
    }
}

/// What a reference costs above a local one.
pub(super) fn per_reference(label: &str, line: &[(i64, i128)], accesses: u64) -> Series {
    let point = |(x, cost): &(i64, i128)| (*x as f64, *cost as f64 / accesses.max(1) as f64 - 1.0);
    Series { label: label.to_owned(), points: line.iter().map(point).collect() }
}

/// A step of the count of moves: it falls by more than this factor from one G to the next.
const STEP: f64 = 1.25;

impl Prices {
    fn policies_of_sor(&self) -> Vec<Series> {
        let Some(sor) = self.programs.iter().find(|m| m.listed.name == SOR) else { return Vec::new() };
        let named = ["ACE", "Delay", "PLATINUM"].iter().zip(&sor.over_g.policies);
        let optimum = std::iter::once(sor.over_g.series("optimum"));
        optimum.chain(named.map(|(name, line)| per_reference(name, line, sor.over_g.accesses))).collect()
    }

    fn count(&self, wanted: impl Fn(&Measured) -> bool) -> usize {
        self.programs.iter().filter(|m| wanted(m)).count()
    }

    fn shapes(&self) -> Vec<Judged> {
        let all = self.programs.len();
        let of = |n: usize| format!("{n} of {all}");
        let (g, r) = (self.count(|m| m.over_g.concave()), self.count(|m| m.over_r.concave()));
        let lines = self.count(|m| m.over_g.policies_above() && m.over_r.policies_above());
        let corollary = self.count(|m| m.corollary);
        let free = self.programs.iter().map(|m| m.over_r.at_cheapest()).fold(0.0, f64::max);
        vec![
            CLAIMS.ruled(
                "fig-5.4",
                of(g),
                &Measures::of([("share of programs", part(g, all))]),
                "concave in G, checked exactly at forty prices",
            ),
            CLAIMS.ruled(
                "fig-5.5",
                format!("{}; with R = 1 no program above {free:.2}", of(r)),
                &Measures::of([("share of programs", part(r, all)), ("greatest at R = 1", free)]),
                "concave in R, and towards 1 where moves are free; checked exactly",
            ),
            CLAIMS.ruled(
                "policy-lines",
                of(lines),
                &Measures::of([("share of programs", part(lines, all))]),
                "ACE, Delay and PLATINUM over G and R: straight lines, nowhere below the optimum, checked exactly",
            ),
            CLAIMS.ruled(
                "corollary-1",
                of(corollary),
                &Measures::of([("share of programs", part(corollary, all))]),
                "r - 1, g - 1, R and G times 3 multiply MCPR - 1 by 3 exactly, on the ACE and the Butterfly",
            ),
        ]
    }

    fn steps(&self) -> Vec<Judged> {
        let near = |g: f64| -> Vec<&'static str> {
            let at = |m: &&Measured| m.moves.points.windows(2).any(|w| w[0].0 < g && g < w[1].0 && steps_down(w));
            self.programs.iter().filter(at).map(|m| m.listed.name).collect()
        };
        let (page, half) = (near(1024.0), near(512.0));
        // Every other step of G, above the prices at which nearly every reference is worth a move.
        let others: Vec<f64> = (G_STEPS_FROM..G_STEPS)
            .map(|i| (G_FIRST + i * G_STEP + G_STEP / 2) as f64)
            .filter(|g| (g - 1024.0).abs() > G_STEP as f64 && (g - 512.0).abs() > G_STEP as f64)
            .collect();
        let elsewhere = others.iter().map(|g| near(*g).len() as f64).sum::<f64>() / others.len().max(1) as f64;
        let times = |names: &[&str]| names.len() as f64 / elsewhere.max(0.5);
        let ours = format!(
            "1024: {}; 512: {}; {elsewhere:.1} programs at any other G",
            names(page.iter().copied()),
            names(half.iter().copied())
        );
        let why = format!(
            "programs whose moves fall by more than {STEP} times within a step of {G_STEP} around the point, over the mean number of \
             those at other steps from {} up (at least half a program)",
            G_FIRST + G_STEPS_FROM * G_STEP
        );
        let (at_page, at_half) = (times(&page), times(&half));
        let both = Measures::default().value("times at 1024", at_page).value("times at 512", at_half);
        let either = Measures::default()
            .value("greater of both", at_page.max(at_half))
            .value("lesser of both", at_page.min(at_half));
        vec![CLAIMS.ruled("fig-5.6", ours.clone(), &both, &why), CLAIMS.ruled("moves-1024-512", ours, &either, &why)]
    }
}

/// Whether moves fall by more than [`STEP`] from a G to the next.
fn steps_down(w: &[(f64, f64)]) -> bool {
    w[0].1 > STEP * w[1].1.max(1e-12) && w[0].1 > 0.0
}
