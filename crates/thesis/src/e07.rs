//! E7: the five machines of chapter 6 with the blocks they are built for, and all with 512 bytes.
use super::lookup::{CC, CC_PLUS, DSM, DSM_PLUS, NAMES, NUMA, names, part, two};
use super::program::{Listed, Program};
use super::{Bars, CLAIMS, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::rules::Measures;
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec =
    Spec { id: "E7", title: "machines of chapter 6", begin: Gathered::<BaseMachines>::boxed };

/// Blocks of the base machines in bytes, in the order of the family.
const BASE: [u64; 5] = [64, 64, 4096, 4096, 4096];
/// Bars are cut off here in figure 6.2.
const CUT: f64 = 35.0;

struct BaseMachines(Vec<Measured>);

#[derive(Clone, Serialize, Deserialize)]
struct Measured {
    listed: &'static Listed,
    base: [f64; 5],
    middle: [f64; 5],
}

impl Study for BaseMachines {
    type Measured = Measured;
    fn measure(program: &Program) -> Result<Measured, Failure> {
        let machines = program.machines()?;
        let mut new = Measured { listed: program.listed, base: [0.0; 5], middle: [0.0; 5] };
        for (m, base) in BASE.into_iter().enumerate() {
            new.base[m] = machines.at(m, base);
            new.middle[m] = machines.at(m, 512);
        }
        Ok(new)
    }

    fn conclude(all: Vec<Measured>) -> Result<Found, Failure> {
        BaseMachines(all).result()
    }
}

impl BaseMachines {
    fn result(&self) -> Result<Found, Failure> {
        let bars = |name: &str, title: &str, of: fn(&Measured) -> [f64; 5]| Bars {
            name: name.into(),
            title: title.into(),
            axis: "mean cost per reference of the optimum (local hits)",
            series: NAMES.map(str::to_owned).to_vec(),
            groups: self.0.iter().map(|m| (m.listed.name.to_owned(), of(m).to_vec())).collect(),
            at_most: CUT,
            ..Bars::default()
        };
        Ok(Found {
            bars: vec![
                bars("E7-base", "Base machines: lines of 64 bytes, pages of 4096 (figure 6.2)", |m| m.base),
                bars("E7-512", "All machines with blocks of 512 bytes (figure 6.3)", |m| m.middle),
            ],
            judged: self.base_claims().into_iter().chain(self.middle_claims()).collect(),
            ..Found::default()
        })
    }
}

impl BaseMachines {
    fn which(&self, wanted: impl Fn(&Measured) -> bool) -> Vec<&'static str> {
        self.0.iter().filter(|m| wanted(m)).map(|m| m.listed.name).collect()
    }

    fn base_claims(&self) -> Vec<Judged> {
        let all = self.0.len();
        let numa_first = self.which(|m| m.base[NUMA] <= m.base[CC_PLUS]);
        let ahead = self.which(|m| m.base[CC] < m.base[NUMA]);
        let ordered = self.which(|m| m.base[NUMA] <= m.base[DSM_PLUS] && m.base[DSM_PLUS] <= m.base[DSM]);
        let wide = self.which(|m| m.base[DSM] > 2.0 * m.base[NUMA]);
        let ratio = |m: &Measured| m.base[DSM_PLUS] / m.base[NUMA];
        let of = |name: &str| self.0.iter().find(|m| m.listed.name == name).map_or(f64::NAN, ratio);
        let largest = self.0.iter().max_by(|a, b| a.base[DSM].total_cmp(&b.base[DSM]));
        let largest = largest.map_or(String::new(), |m| format!("{} {:.0}", m.listed.name, m.base[DSM]));
        vec![
            CLAIMS.ruled(
                "fig-6.2",
                format!(
                    "CC ahead of NUMA in {} of {all}; in order in {}, DSM above twice NUMA in {}",
                    ahead.len(),
                    ordered.len(),
                    wide.len()
                ),
                &Measures::of([
                    ("share with CC ahead", part(ahead.len(), all)),
                    ("share in order", part(ordered.len(), all)),
                    ("share with DSM above twice NUMA", part(wide.len(), all)),
                ]),
                "",
            ),
            CLAIMS.ruled(
                "numa-beats-ccplus",
                names(numa_first.iter().copied()),
                &Measures::default().names("ahead", numa_first),
                "programs where NUMA with pages does not cost more than CC+ with lines",
            ),
            CLAIMS.ruled(
                "dsmplus-near-twice",
                format!("mp3d {}, p-matmult {} times NUMA", two(of("mp3d")), two(of("p-matmult"))),
                &Measures::default().value("mp3d", of("mp3d")).value("p-matmult", of("p-matmult")),
                "DSM+ over NUMA with pages",
            ),
            Judged::unknown(
                "dsm-ehyd-75",
                format!("largest: {largest}"),
                "the source of e-hyd is gone; ours is a stand-in that shares what a program of its kind does",
            ),
        ]
    }

    fn middle_claims(&self) -> Vec<Judged> {
        let all = self.0.len();
        let near = self.which(|m| m.middle[NUMA] <= 1.3 * m.middle[CC_PLUS]);
        let better = self.which(|m| m.middle[NUMA] <= m.middle[CC]);
        let worst = self.0.iter().map(|m| m.middle[NUMA] / m.middle[CC_PLUS]).fold(0.0, f64::max);
        let ours = format!(
            "within 30 % of CC+ in {} of {all}, at most {} times; not above CC in {}",
            near.len(),
            two(worst),
            better.len()
        );
        let why = "agrees if both hold for most programs";
        vec![
            CLAIMS.ruled(
                "fig-6.3",
                ours.clone(),
                &Measures::of([
                    ("share near CC+", part(near.len(), all)),
                    ("share not above CC", part(better.len(), all)),
                ]),
                why,
            ),
            CLAIMS.ruled(
                "numa-512",
                ours,
                &Measures::of([
                    ("share near CC+", part(near.len(), all)),
                    ("share not above CC", part(better.len(), all)),
                ]),
                why,
            ),
        ]
    }
}
