//! E11: false sharing by block size.
use super::lookup::part;
use super::paper::{columns, number, rows, short};
use super::program::{self, Program};
use super::slopes::{Apart, Price};
use super::{CLAIMS, Figure, Found, Gathered, Spec, Study};
use homenode_base::NodeId;
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::{Machine, models};
use homenode_placement::Start;
use homenode_sim::ThreadBinding;
use homenode_study::analyses::{
    Component, McprParts, MoveCost, Moves, Series, SyntheticTrace, data_ratio, ratio_proves,
};
use homenode_trace::order::{Order, OrderKind, Stream};
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec = Spec { id: "E11", title: "false sharing", begin: Gathered::<Sharing>::boxed };

/// Moves and parts on the three traces of section 7.1.6, computed independently.
const CLOSED_FORMS: &str = include_str!("../data/bolosky_check_eq_7_13.csv");
/// Words first, then the sizes of figures 7.2 to 7.5.
const SIZES: [u64; 10] = [4, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
const MACHINES: [&str; 2] = ["cc", "numa"];
/// The programs of figures 7.2 to 7.4.
const FALLING: [&str; 3] = ["plytrace", "p-qsort", "cholesky"];

struct Sharing {
    of: Vec<OfProgram>,
}

#[derive(Clone, Serialize, Deserialize)]
struct OfProgram {
    #[serde(deserialize_with = "program::name")]
    name: program::Name,
    references: u64,
    /// (block bytes, moves) on CC, from words up.
    moves: Vec<(u64, u64)>,
    /// By machine: (block bytes, parts of the mean cost), without words.
    parts: [Vec<(u64, McprParts)>; 2],
}

/// What moving a block costs on CC and NUMA; both are in the registry and have no global memory.
fn move_cost(machine: &Machine) -> Result<MoveCost, Failure> {
    let none = || Failure::work(format!("{}: moves do not cost a fixed part and a part per word", machine.name));
    MoveCost::of_machine(machine).ok_or_else(none)
}

impl Study for Sharing {
    type Measured = OfProgram;
    fn measure(program: &Program) -> Result<OfProgram, Failure> {
        let machines: Vec<Machine> = MACHINES.iter().filter_map(|name| models::find(name)).collect();
        let apart = Apart::ask(program, &machines, &SIZES, &[Price::Copies])?;
        let references = apart.accesses();
        let (mut moves, mut parts) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (at, machine) in machines.iter().enumerate() {
            let cost = move_cost(machine)?;
            for bytes in SIZES {
                let (above, moved) = (apart.above(at, bytes)?, apart.number(at, bytes, 0)?);
                if at == 0 {
                    moves.push((bytes, moved));
                }
                let of = McprParts::counted(above, moved, references, cost, bytes / 4);
                parts[at].extend(of.filter(|_| bytes > 4).map(|p| (bytes, p)));
            }
        }
        Ok(OfProgram { name: program.listed.name, references, moves, parts })
    }

    fn conclude(of: Vec<OfProgram>) -> Result<Found, Failure> {
        Sharing { of }.result()
    }
}

impl Sharing {
    fn result(&self) -> Result<Found, Failure> {
        let cc = models::find("cc").ok_or_else(|| Failure::work("no machine cc"))?;
        let cost = move_cost(&cc)?;
        let (exact, of) = closed_forms()?;
        let mut judged = vec![CLAIMS.ruled(
            "eq-7.13",
            format!("{exact} of {of} rows"),
            &Measures::of([("share of rows", part(exact, of))]),
            "T_F, T_S and T_Gamma replayed: moves of blocks and words, S and Gamma by equation 7.13 with the \
             simulated and with the printed moves, in whole numbers",
        )];
        judged.extend(self.judge(cost));
        Ok(Found {
            tables: vec![self.bounds(cost)],
            figures: self.of.iter().flat_map(OfProgram::figures).collect(),
            judged,
            notes: vec![
                "E11: F of equation 7.13 cannot be measured, so false sharing is given by bounds: the upper one is equation \
                 7.14, the lower one follows from 7.6 and 7.11. No real system could save all that the bounds count without \
                 being told which words go together."
                    .into(),
            ],
            ..Found::default()
        })
    }
}

/// How many rows of the recomputed closed forms come out exactly, and of how many.
fn closed_forms() -> Result<(usize, usize), Failure> {
    let all: Vec<Vec<String>> = rows(CLOSED_FORMS).collect();
    let exact = all.iter().map(|row| is_exact(row)).collect::<Result<Vec<bool>, Failure>>()?;
    Ok((exact.iter().filter(|ok| **ok).count(), all.len()))
}

fn is_exact(row: &[String]) -> Result<bool, Failure> {
    let int = |i: usize| number(&row[i]).map_or(0, |x| x as i128);
    let Some(trace) = SyntheticTrace::ALL.iter().find(|k| k.name() == row[0]) else { return Ok(false) };
    let (p, s, n) = (int(1) as u16, int(2) as u64, int(3) as u64);
    let cost = MoveCost { overhead: int(4) as i64, per_word: int(5) as i64 };
    let bindings: Vec<ThreadBinding> = (0..p).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect();
    // Fourteen words lie in a block of sixteen as they do in one of fourteen.
    let mut moves = Moves::new(&[s.next_power_of_two(), 1], 4, Start::FreeSet, &bindings).map_err(Failure::work)?;
    let data = trace.program(p.into(), s, n).open().map_err(Failure::work)?;
    let mut order = Order::new(&data, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        moves.refs(piece.refs);
    }
    let [(_, block_moves), (_, word_moves)] = moves.counts()[..] else { return Ok(false) };
    let split = |block_moves, word_moves, fragmentation| {
        Component { cost, block_words: s, block_moves, word_moves }.split(fragmentation)
    };
    let ours = split(block_moves, word_moves, int(8));
    let fragmentation = if *trace == SyntheticTrace::Fragmentation { int(3) * int(5) * (int(2) - 1) } else { 0 };
    let printed = split(int(11) as u64, int(12) as u64, fragmentation);
    let same = |split: homenode_study::analyses::Split, s: usize, gamma: usize| {
        (split.false_sharing, split.grouping) == (int(s) * split.scale, int(gamma) * split.scale)
    };
    let moved = (i128::from(block_moves), i128::from(word_moves)) == (int(6), int(7));
    Ok(moved && same(ours, 9, 10) && same(printed, 13, 14))
}

impl OfProgram {
    fn at(&self, bytes: u64) -> (u64, u64) {
        self.moves.iter().copied().find(|(b, _)| *b == bytes).unwrap_or((bytes, 0))
    }
    /// Transferred data at one size over that at another, on CC.
    fn ratio(&self, large: u64, small: u64) -> f64 {
        data_ratio(self.at(large), self.at(small)).unwrap_or(f64::INFINITY)
    }
    /// Sizes at which false sharing is proven by the next smaller one.
    fn proven(&self) -> String {
        let sizes: Vec<String> =
            self.moves.windows(2).filter(|w| ratio_proves(w[1], w[0])).map(|w| w[1].0.to_string()).collect();
        if sizes.is_empty() { "none".into() } else { sizes.join(" ") }
    }
    fn figures(&self) -> Vec<Figure> {
        let figure = |(machine, parts): (&&str, &Vec<(u64, McprParts)>)| {
            let line = |label: &str, value: fn(&McprParts) -> f64| Series {
                label: label.into(),
                points: parts.iter().map(|(bytes, p)| (*bytes as f64, value(p))).collect(),
            };
            Figure {
                name: format!("E11-{}-{machine}", self.name),
                title: format!("Figures 7.2 to 7.5: parts of the mean cost beyond 1, {} on {machine}", self.name),
                axes: ["block (bytes)", "cost per reference (local hits)"],
                log: true,
                lines: vec![line("overhead", |p| p.overhead), line("data", |p| p.data), line("remote", |p| p.remote)],
                ..Figure::default()
            }
        };
        MACHINES.iter().zip(&self.parts).map(figure).collect()
    }
}

impl Sharing {
    fn bounds(&self, cost: MoveCost) -> Table {
        let mut table = Vec::new();
        for p in &self.of {
            for bytes in [64, 512, 4096] {
                let (block_moves, word_moves) = (p.at(bytes).1, p.at(4).1);
                let c = Component { cost, block_words: bytes / 4, block_moves, word_moves };
                let per = |x: f64| short(x / p.references.max(1) as f64);
                let bounds = [c.lower() as f64, c.upper(), c.one_word_difference() as f64].map(per);
                let mut row =
                    vec![p.name.to_owned(), bytes.to_string(), block_moves.to_string(), word_moves.to_string()];
                row.extend(bounds);
                row.push(p.proven());
                table.push(row);
            }
        }
        let columns = columns(
            "program | block, bytes | moves of blocks | moves of words | at least | at most (7.14) | one-word \
             difference | proven by the ratio test at",
        );
        Table { title: "false sharing on CC, cost per reference".into(), columns, rows: table }
    }

    fn named(&self, name: &str) -> Option<&OfProgram> {
        self.of.iter().find(|p| p.name == name)
    }

    fn judge(&self, cost: MoveCost) -> Vec<Judged> {
        let ratio = |name: &str, large: u64, small: u64| self.named(name).map_or(0.0, |p| p.ratio(large, small));
        let million = |bytes: u64| {
            let moves = self.named("p-qsort").map_or(0, |p| p.at(bytes).1);
            short(moves as f64 * cost.per_word as f64 * bytes as f64 / 4.0 / 1e6)
        };
        let (kilo, line) = (ratio("p-qsort", 8192, 1024), ratio("p-qsort", 8192, 128));
        let sorbyr = ratio("sorbyr", 8192, 32);
        vec![
            CLAIMS.ruled(
                "pqsort-data",
                format!(
                    "{}; {}; {}: ratios {} and {}",
                    million(8192),
                    million(1024),
                    million(128),
                    short(kilo),
                    short(line)
                ),
                &Measures::of([("8 KB over 1 KB", kilo)]),
                "the thesis's run is longer, so ratios are compared (8.7 and 43)",
            ),
            CLAIMS.ruled(
                "pqsort-line",
                short(line),
                &Measures::of([("8 KB over 128 bytes", line)]),
                "below 64, so false sharing below 1 KB is likely but not proven, as there",
            ),
            CLAIMS.ruled(
                "sorbyr-data",
                short(sorbyr),
                &Measures::of([("8 KB over 32 bytes", sorbyr)]),
                "of 256 that fragmentation allows",
            ),
            self.falling(),
            self.figure_7_5(),
        ]
    }

    /// How fast the data part falls with the block: the exponent between 8 KB and 32 bytes, 1 for "as fast".
    fn falling(&self) -> Judged {
        let programs: Vec<&OfProgram> = FALLING.iter().filter_map(|n| self.named(n)).collect();
        let exponent = |p: &&OfProgram| p.ratio(8192, 32).max(1e-9).ln() / 256f64.ln();
        let found: Vec<f64> = programs.iter().map(exponent).collect();
        let words: Vec<String> =
            programs.iter().zip(&found).map(|(p, e)| format!("{} {}", p.name, short(*e))).collect();
        CLAIMS.ruled(
            "figure-7.2",
            words.join(", "),
            &Measures::of([("least exponent", found.iter().copied().fold(f64::INFINITY, f64::min))]),
            "exponent of the data part over the block size, 32 B to 8 KB on CC: 1 is as fast as the block, 0 not \
             at all",
        )
    }

    fn figure_7_5(&self) -> Judged {
        let Some(parts) = self.named("sorbyr").map(|p| &p.parts[0]) else {
            return Judged::not_run("figure-7.5");
        };
        let share = |p: &McprParts| p.data / p.mcpr();
        let most = parts.iter().map(|(_, p)| share(p)).fold(0.0, f64::max);
        let overhead = |bytes: u64| parts.iter().find(|(b, _)| *b == bytes).map_or(0.0, |(_, p)| p.overhead);
        let (small, large) = (overhead(32), overhead(8192));
        CLAIMS.ruled(
            "figure-7.5",
            format!(
                "data at most {} %; overhead {} at 32 B, {} at 8 KB",
                short(100.0 * most),
                short(small),
                short(large)
            ),
            &Measures::of([
                ("greatest share of data", most),
                ("overhead at 8 KB", large),
                ("overhead at 32 bytes", small),
            ]),
            "SOR by rows on CC; share of the mean cost, and overhead per reference",
        )
    }
}
