//! E2: how much of the writable data a policy keeps local (alpha), how much that matters (beta), what is left (gamma).
use super::lookup::{median, part, two};
use super::paper::{columns, number, rows, short};
use super::program::{self, Program};
use super::{CLAIMS, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::models;
use homenode_placement::policies::Choice;
use homenode_sim::NoObjects;
use homenode_study::Question;
use homenode_study::analyses::{self, Ask, Input, Model, Overhead, Times, misprints};
use homenode_table::Cell;
use homenode_trace::order::{Again, OrderKind, Source};
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec =
    Spec { id: "E2", title: "alpha, beta and gamma of the ACE policy on the ACE", begin: Gathered::<Shares>::boxed };

const TABLE_3_1: &str = include_str!("../data/bolosky_table_3_1.csv");
const TABLE_3_2: &str = include_str!("../data/bolosky_table_3_2.csv");
/// Table 3.1 from the printed times by equations 3.1, 3.4 and 3.5, to four digits.
const RECOMPUTED: &str = include_str!("../data/bolosky_check_table_3_1.csv");
/// Programs of which table 3.1 has alpha .94 to .98.
const LOCAL: [&str; 4] = ["matmult", "e-fft", "gauss", "plytrace"];

struct Shares {
    ours: Vec<Ours>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Ours {
    #[serde(deserialize_with = "program::name")]
    name: program::Name,
    presto: bool,
    times: [f64; 3],
    /// `None` if nothing is written.
    alpha: Option<f64>,
    beta: f64,
    gamma: f64,
    /// Movement over the time of references.
    movement: f64,
}

impl Study for Shares {
    type Measured = Ours;
    fn measure(program: &Program) -> Result<Ours, Failure> {
        let mut question = program.question(models::find("ace").into_iter().collect(), &[4096]);
        question.policies = vec![Choice::parse("ace").map_err(Failure::work)?];
        let ask = |q: &Question, _: &mut dyn Source| {
            Ok(vec![homenode_study::answer(q, program.partition(), 0..program.partition().regions())?])
        };
        let ask: &Ask<'_> = &ask;
        let mut source = Again { data: program.reader(), kind: OrderKind::Model };
        let mut input = Input {
            source: &mut source,
            question: &question,
            ask,
            objects: &|| Box::new(NoObjects),
            seed: 0,
            repeats: 1,
        };
        let spec = analyses::Spec::find("alpha-beta-gamma").expect("in the registry");
        for table in spec.run(&mut input).map_err(Failure::work)? {
            let read = |name: &str, row: &[Cell<'_>]| {
                let at = table.columns().iter().position(|c| c.name == name);
                at.and_then(|i| if let Cell::Real(x) = row[i] { Some(x) } else { None })
            };
            if let Some(row) = table.rows().next() {
                let real = |name: &str| read(name, &row).unwrap_or(0.0);
                let share = real("movement_share");
                return Ok(Ours {
                    name: program.listed.name,
                    presto: program.listed.presto,
                    times: ["t_global_refs", "t_numa_refs", "t_local_refs"].map(real),
                    alpha: read("alpha", &row),
                    beta: real("beta"),
                    gamma: real("gamma"),
                    movement: share / (1.0 - share),
                });
            }
        }
        Err(Failure::work(format!("{}: no alpha, beta and gamma", program.listed.name)))
    }

    fn conclude(ours: Vec<Ours>) -> Result<Found, Failure> {
        let all = Shares { ours };
        let mut judged = printed_3_1()?;
        judged.extend(printed_3_2());
        judged.extend(all.judge());
        let row = |o: &Ours| {
            let [global, numa, local] = o.times.map(|t| short(t / 1e6));
            let alpha = o.alpha.map_or("n/a".into(), short);
            vec![o.name.into(), global, numa, local, alpha, short(o.beta), short(o.gamma), short(100.0 * o.movement)]
        };
        let columns = columns(
            "program | T_global, M references | T_numa | T_local | alpha | beta | gamma | movement / T_numa, %",
        );
        let rows = all.ours.iter().map(row).collect();
        Ok(Found {
            tables: vec![Table { title: "tables 3.1 and 3.2 with our programs".into(), columns, rows }, as_printed()?, all.beside_3_2()],
            judged,
            notes: vec![
                "E2: three runs on a machine with global memory cannot be timed here. T_global, T_numa and T_local are \
                 costs of the model: every reference priced as local or global, and nothing but references takes time, so \
                 beta is larger than in a program that also computes, and gamma with it."
                    .into(),
            ],
            ..Found::default()
        })
    }
}

/// Name, what its own times give, and what is printed (alpha, beta, gamma), for each row of table 3.1.
fn solved() -> Result<Vec<(Vec<String>, Model)>, Failure> {
    let solve = |row: Vec<String>| {
        let at = |i: usize| number(&row[i]).ok_or_else(|| Failure::work(format!("table 3.1, {}: no number", row[0])));
        let times = Times { global: at(1)?, numa: at(2)?, local: at(3)? };
        let model = times.solve(at(7)?).map_err(Failure::work)?;
        Ok((row, model))
    };
    rows(TABLE_3_1).map(solve).collect()
}

/// Table 3.1 as printed, and by its own times.
fn as_printed() -> Result<Table, Failure> {
    let row = |(r, m): (Vec<String>, Model)| {
        let ours =
            [m.alpha.unwrap_or(f64::NAN), m.beta, m.gamma].map(|x| if x.is_nan() { "n/a".into() } else { two(x) });
        let [alpha, beta, gamma] = ours;
        let [name, global, numa, local, a, b, c] = [0, 1, 2, 3, 4, 5, 6].map(|i| r[i].clone());
        vec![name, global, numa, local, a, alpha, b, beta, c, gamma]
    };
    let columns =
        columns("program | T_global, s | T_numa | T_local | alpha | by equation 3.4 | beta | by 3.5 | gamma | by 3.1");
    Ok(Table {
        title: "table 3.1 as printed, and from its times".into(),
        columns,
        rows: solved()?.into_iter().map(row).collect(),
    })
}

fn printed_3_1() -> Result<Vec<Judged>, Failure> {
    let solved = solved()?;
    let close = |ours: f64, cell: &String| number(cell).is_some_and(|c| (ours - c).abs() < 0.5e-4 + 1e-9);
    let pairs = solved.iter().zip(rows(RECOMPUTED));
    let exact = pairs
        .filter(|((_, m), r)| close(m.alpha.unwrap_or(0.0), &r[3]) && close(m.beta, &r[5]) && close(m.gamma, &r[10]));
    let exact = exact.count();
    let wrong = |row: &[String], m: &Model| misprints([&row[4], &row[5], &row[6]], m);
    let misprinted: Vec<String> =
        solved.iter().flat_map(|(row, m)| wrong(row, m).into_iter().map(|w| format!("{w} of {}", row[0]))).collect();
    let beta = |name: &str| solved.iter().find(|(row, _)| row[0] == name).map_or(0.0, |(_, m)| m.beta);
    let alpha = solved.iter().find(|(row, _)| row[0] == "e-hyd").and_then(|(_, m)| m.alpha).unwrap_or(0.0);
    Ok(vec![
        CLAIMS.ruled(
            "table-3.1-equations",
            format!("{exact} rows of 11 as recomputed; not as printed: {}", misprinted.join(", ")),
            &Measures::of([("rows as recomputed", exact as f64), ("misprints", misprinted.len() as f64)]),
            "equations 3.1, 3.4 and 3.5 on the printed times, alpha, beta and gamma to four digits; all but the \
             two betas below are as printed",
        ),
        CLAIMS.ruled(
            "table-3.1-beta-matmult",
            format!("{:.3}", beta("matmult")),
            &Measures::of([("beta", beta("matmult"))]),
            "misprint: with G/L = 2.3, which its footnote asks for, equation 3.5 gives .16; .26 needs G/L = 1.78",
        ),
        CLAIMS.ruled(
            "table-3.1-beta-fft",
            format!("{:.3}", beta("e-fft")),
            &Measures::of([("beta", beta("e-fft"))]),
            "misprint in the last digit: cut off, not rounded",
        ),
        CLAIMS.ruled(
            "ehyd-global",
            format!("{:.1} % by 1 - alpha of table 3.1", 100.0 * (1.0 - alpha)),
            &Measures::of([("percent", 100.0 * (1.0 - alpha))]),
            "e-hyd is gone; its share follows from its row of table 3.1. Ours are in the table of E2",
        ),
    ])
}

/// Programs of table 3.2 that are among ours; Primes1 to Primes3 were not traced.
const OURS_OF_3_2: [(&str, &str); 3] = [("IMatMult", "matmult"), ("FFT", "e-fft"), ("gauss", "gauss")];

/// Part of the user time that a row of table 3.2 prints by which system time grows.
fn overhead(row: &[String]) -> Option<f64> {
    overhead_of(row, number(&row[4])?)
}

fn overhead_of(row: &[String], user: f64) -> Option<f64> {
    let (system_numa, system_global) = (number(&row[1])?, number(&row[2])?);
    Overhead { system_numa, system_global, numa: user }.share()
}

fn printed_3_2() -> Vec<Judged> {
    let shares = |row: &[String], user: f64| overhead_of(row, user).map(|s| 100.0 * s);
    let all: Vec<Vec<String>> = rows(TABLE_3_2).collect();
    let right = |row: &&Vec<String>| {
        let printed = number(&row[5]).unwrap_or(0.0);
        match shares(row, number(&row[4]).unwrap_or(0.0)) {
            Some(share) => (share - printed).abs() <= 0.1,
            None => printed == 0.0,
        }
    };
    let as_printed = all.iter().filter(right).count();
    let matmult = all.first().and_then(|row| shares(row, 69.0)).unwrap_or(0.0);
    vec![
        CLAIMS.ruled(
            "table-3.2",
            format!("{as_printed} of {} rows", all.len()),
            &Measures::of([("share of rows as printed", part(as_printed, all.len()))]),
            "difference of system times over the user time that the row prints",
        ),
        CLAIMS.ruled(
            "table-3.2-imatmult",
            format!("{matmult:.1} %"),
            &Measures::of([("percent", matmult)]),
            "the row divides by 82.1 s, which is T_global of table 3.1; T_numa there is 69.0 s",
        ),
    ]
}

/// The least of what programs have; not a number of none.
fn least_of(of: &[(&str, f64)]) -> f64 {
    of.iter().map(|(_, x)| *x).min_by(f64::total_cmp).unwrap_or(f64::NAN)
}

impl Shares {
    fn of_local(&self, value: impl Fn(&Ours) -> f64) -> Vec<(&'static str, f64)> {
        self.ours.iter().filter(|o| LOCAL.contains(&o.name)).map(|o| (o.name, value(o))).collect()
    }

    /// Table 3.2 cell by cell. Ours are costs of the model: delta S is what moves and copies cost, and S_global is nothing, since
    /// nothing moves when all writable data is global.
    fn beside_3_2(&self) -> Table {
        let row = |r: Vec<String>| {
            let theirs = |i: usize| number(&r[i]);
            let share = overhead(&r).map_or("n/a".into(), |s| format!("{:.1}", 100.0 * s));
            let name = OURS_OF_3_2.iter().find(|(printed, _)| *printed == r[0]).map(|(_, ours)| *ours);
            let ours = name.and_then(|name| self.ours.iter().find(|o| o.name == name));
            let cells = match ours {
                Some(o) => {
                    let numa = o.times[1] / 1e6;
                    [o.name.into(), short(numa * o.movement), short(numa), short(100.0 * o.movement)]
                }
                None => [name.map_or("none", |_| "not run").into(), String::new(), String::new(), String::new()],
            };
            let delta = theirs(3).map_or("na".into(), |_| r[3].clone());
            let printed = [r[0].clone(), r[1].clone(), r[2].clone(), delta, r[4].clone(), r[5].clone(), share];
            printed.into_iter().chain(cells).collect()
        };
        let columns = columns(
            "program | S_numa, s | S_global, s | delta S, s | T_numa, s | delta S / T_numa, % | from its times, % | ours \
             | delta S, M references | T_numa, M references | delta S / T_numa, %",
        );
        let title = "table 3.2 as printed, from its times, and beside ours".into();
        Table { title, columns, rows: rows(TABLE_3_2).map(row).collect() }
    }

    fn judge(&self) -> Vec<Judged> {
        let words =
            |of: &[(&str, f64)]| of.iter().map(|(n, x)| format!("{n} {}", short(*x))).collect::<Vec<_>>().join(", ");
        let alphas = self.of_local(|o| o.alpha.unwrap_or(1.0));
        let gammas = self.of_local(|o| o.gamma);
        let least = self.ours.iter().filter_map(|o| o.alpha.map(|a| (a, o.name))).min_by(|a, b| a.0.total_cmp(&b.0));
        let (least, who) = least.unwrap_or((1.0, "nobody"));
        let of = |is: bool| self.ours.iter().filter(move |o| o.presto == is).map(|o| o.alpha.unwrap_or(1.0));
        let (presto, others) = (median(of(true)), median(of(false)));
        let least_presto = of(true).fold(1.0, f64::min);
        let cheap = self.ours.iter().filter(|o| o.movement <= 0.05).count();
        vec![
            CLAIMS.ruled("alpha-local", words(&alphas), &Measures::of([("least alpha", least_of(&alphas))]), ""),
            CLAIMS.ruled(
                "gamma-local",
                words(&gammas),
                &Measures::of([(
                    "greatest gamma",
                    -least_of(&gammas.iter().map(|(n, g)| (*n, -g)).collect::<Vec<_>>()),
                )]),
                "",
            ),
            CLAIMS.ruled(
                "alpha-shared",
                format!("Presto median {}, others {}; least {who} {}", short(presto), short(others), short(least)),
                &Measures::default().value("least of Presto", least_presto).value("median of the others", others),
                "Presto's programs stand for Primes3: their processors write the same pages",
            ),
            CLAIMS.ruled(
                "overhead-small",
                format!("at most 5 % in {cheap} of {}", self.ours.len()),
                &Measures::of([("share of programs", part(cheap, self.ours.len()))]),
                "cost of moves and copies over that of references, in the model",
            ),
        ]
    }
}
