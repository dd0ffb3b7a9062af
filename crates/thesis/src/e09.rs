//! E9: the overhead of software at 512-byte blocks.
use super::lookup::{CC, CC_PLUS, DSM, DSM_PLUS, NAMES, NUMA, member, names, part};
use super::program::{Listed, Program};
use super::{CLAIMS, Figure, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::rules::Measures;
use homenode_machine::Machine;
use homenode_machine::models::family::{Coherence, MEMBERS, Parameters};
use homenode_study::analyses::Series;
use homenode_study::{Question, Want, What};
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec = Spec { id: "E9", title: "overhead of software", begin: Gathered::<Overheads>::boxed };

/// Overheads o_s in local hits; the base machines have 75.
const VALUES: [u32; 9] = [10, 20, 40, 75, 120, 200, 400, 750, 1000];
const BASE: usize = 3;
const TENFOLD: usize = 7;
const BLOCK: u64 = 512;
/// Block sizes at which the tenfold overhead is looked at too.
const BLOCKS: [u64; 3] = [128, 512, 4096];

struct Overheads(Vec<Measured>);

#[derive(Clone, Serialize, Deserialize)]
struct Measured {
    listed: &'static Listed,
    /// By machine of the family, then by value.
    lines: [[f64; VALUES.len()]; 5],
    /// NUMA with ten times the overhead, by block of [`BLOCKS`].
    tenfold: [f64; BLOCKS.len()],
}

impl Study for Overheads {
    type Measured = Measured;
    fn measure(program: &Program) -> Result<Measured, Failure> {
        let mut machines: Vec<Machine> = Vec::new();
        let mut places = [[0; VALUES.len()]; 5];
        for (m, line) in MEMBERS.iter().zip(&mut places) {
            for (o_s, place) in VALUES.into_iter().zip(line) {
                // Machines in hardware do not depend on it: one of each is enough.
                if m.coherence == Coherence::Software || o_s == VALUES[0] {
                    machines.push(member(m, Parameters { o_s, ..Parameters::default() })?);
                }
                *place = machines.len() - 1;
            }
        }
        let slow = machines[places[NUMA][TENFOLD]].clone();
        let ask = |machines, blocks: &[u64]| {
            program.ask(Question { with_replication: Want::Cost, ..program.question(machines, blocks) })
        };
        let answered = ask(machines, &[BLOCK])?;
        let mut new = Measured { listed: program.listed, lines: [[0.0; VALUES.len()]; 5], tenfold: [0.0; 3] };
        for (line, places) in new.lines.iter_mut().zip(places) {
            for (value, place) in line.iter_mut().zip(places) {
                *value = answered.mcpr(place, BLOCK, What::WITH_REPLICATION)?;
            }
        }
        let answered = ask(vec![slow], &BLOCKS)?;
        for (value, block) in new.tenfold.iter_mut().zip(BLOCKS) {
            *value = answered.mcpr(0, block, What::WITH_REPLICATION)?;
        }
        Ok(new)
    }

    fn conclude(all: Vec<Measured>) -> Result<Found, Failure> {
        Overheads(all).result()
    }
}

impl Overheads {
    fn result(&self) -> Result<Found, Failure> {
        Ok(Found { figures: self.0.iter().map(Measured::figure).collect(), judged: self.judged(), ..Found::default() })
    }
}

impl Measured {
    fn figure(&self) -> Figure {
        let line = |(name, values): (&&str, &[f64; VALUES.len()])| Series {
            label: (*name).to_owned(),
            points: VALUES.iter().map(|v| f64::from(*v)).zip(*values).collect(),
        };
        Figure {
            name: format!("E9-{}", self.listed.name),
            title: format!("{}: cost of the optimum over software overhead, 512-byte blocks", self.listed.name),
            axes: ["overhead o_s (local hits)", "mean cost per reference (local hits)"],
            log: true,
            lines: NAMES.iter().zip(&self.lines).map(line).collect(),
            ..Figure::default()
        }
    }
    /// Growth of a machine's cost when the overhead grows from 10 to 1000.
    fn growth(&self, machine: usize) -> f64 {
        self.lines[machine][VALUES.len() - 1] / self.lines[machine][0]
    }
    /// DSM over DSM+.
    fn gap(&self, value: usize) -> f64 {
        self.lines[DSM][value] / self.lines[DSM_PLUS][value]
    }
    fn highest(&self) -> f64 {
        self.lines[DSM][VALUES.len() - 1]
    }
    fn converges(&self) -> bool {
        self.gap(VALUES.len() - 1) <= self.gap(0)
    }
    /// NUMA rises less than DSM.
    fn slowly(&self) -> bool {
        self.growth(NUMA) < self.growth(DSM)
    }
}

impl Overheads {
    fn which(&self, wanted: impl Fn(&Measured) -> bool) -> Vec<&'static str> {
        self.0.iter().filter(|m| wanted(m)).map(|m| m.listed.name).collect()
    }
    fn of(&self, name: &str) -> Option<&Measured> {
        self.0.iter().find(|m| m.listed.name == name)
    }

    fn judged(&self) -> Vec<Judged> {
        let all = self.0.len();
        let low = self.which(|m| m.highest() < 2.2);
        let rest = || self.0.iter().filter(|m| m.highest() >= 2.2);
        let steep = rest().filter(|m| m.slowly() && m.converges()).count();
        let still = self.which(|m| m.tenfold[2] / m.tenfold[0] > m.tenfold[1] / m.lines[CC_PLUS][BASE]);
        let flat = self.which(|m| [CC, CC_PLUS].iter().all(|i| m.growth(*i) == 1.0));
        vec![
            self.together(),
            self.two_patterns("fig-6.8", "e-hyd"),
            self.two_patterns("fig-6.9", "p-qsort"),
            CLAIMS.ruled(
                "cc-flat",
                format!("{} of {all}", flat.len()),
                &Measures::of([("share of programs", part(flat.len(), all))]),
                "their machines do not contain o_s",
            ),
            CLAIMS.ruled(
                "os-good",
                names(low.iter().copied()),
                &Measures::default().names("low", low),
                "programs below 2.2 at all overheads on all machines",
            ),
            CLAIMS.ruled(
                "os-rest",
                format!("{steep} of {}", rest().count()),
                &Measures::of([("share of programs", part(steep, rest().count()))]),
                "of programs that do not stay below 2.2: NUMA grows less than DSM, and DSM over DSM+ shrinks",
            ),
            CLAIMS.ruled(
                "os-tenfold",
                format!("{} of {all}", still.len()),
                &Measures::of([("share of programs", part(still.len(), all))]),
                "with o_s 750, NUMA with 4096 over 128 bytes is a larger factor than NUMA over CC+ with 512",
            ),
        ]
    }

    fn together(&self) -> Judged {
        let Some(sor) = self.of("sorbyr") else { return Judged::not_run("fig-6.7") };
        let growth = [NUMA, DSM_PLUS, DSM].map(|i| sor.growth(i));
        // Beside the growth of NUMA itself.
        let apart = growth.map(|g| (g - growth[0]).abs() / (growth[0] - 1.0).max(0.05)).into_iter().fold(0.0, f64::max);
        let ours = format!("growth {}; at most {:.2}", growth.map(|g| format!("{g:.2}")).join(", "), sor.highest());
        CLAIMS.ruled(
            "fig-6.7",
            ours,
            &Measures::of([
                ("least growth", growth.into_iter().fold(f64::INFINITY, f64::min)),
                ("growth apart", apart),
                ("greatest cost", sor.highest()),
            ]),
            "sorbyr; growth of NUMA, DSM+, DSM from o_s 10 to 1000",
        )
    }

    fn two_patterns(&self, id: &'static str, name: &str) -> Judged {
        let Some(m) = self.of(name) else { return Judged::not_run(id) };
        let (first, last) = (m.gap(0), m.gap(VALUES.len() - 1));
        let ours = format!(
            "growth NUMA {:.2}, DSM {:.2}; DSM over DSM+ {first:.2} to {last:.2}",
            m.growth(NUMA),
            m.growth(DSM)
        );
        let all = Measures::of([
            ("growth of NUMA", m.growth(NUMA)),
            ("growth of DSM", m.growth(DSM)),
            ("DSM over DSM+ at the end", last),
            ("at the beginning", first),
        ]);
        CLAIMS.ruled(id, ours, &all, name)
    }
}
