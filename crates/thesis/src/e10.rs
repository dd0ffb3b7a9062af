//! E10: what TLBs add to small pages.
use super::lookup::{part, two};
use super::paper::{columns, number, rows, short};
use super::program::{self, Program};
use super::{CLAIMS, Figure, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::models;
use homenode_study::Want;
use homenode_study::analyses::{Series, TLB_MODELS, TlbModel, Tlbs, corrected_mcpr, implied_rate, mcpr};
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec = Spec { id: "E10", title: "TLBs and page size", begin: Gathered::<Translation>::boxed };

const PRINTED: &str = include_str!("../data/bolosky_table_6_5.csv");
/// Models of the thesis, which come first.
const MODELS: usize = 6;
const PAGES: [u64; 7] = [128, 256, 512, 1024, 2048, 4096, 8192];
/// The program of figure 6.10.
const PLYTRACE: &str = "plytrace";

struct Translation {
    of: Vec<OfProgram>,
}

#[derive(Clone, Serialize, Deserialize)]
struct OfProgram {
    #[serde(deserialize_with = "program::name")]
    name: program::Name,
    /// Misses a reference, by model and page size.
    rates: Vec<(String, u64, f64)>,
    /// Optimum on NUMA at 4096 and at 128 bytes.
    mcpr: [f64; 2],
}

impl OfProgram {
    fn rate(&self, model: &str, page_bytes: u64) -> f64 {
        let found = self.rates.iter().find(|r| r.0 == model && r.1 == page_bytes);
        found.map_or(0.0, |r| r.2)
    }
    /// NUMA at 128 bytes with the misses of this TLB, which at 4 KB are taken for none.
    fn corrected(&self, model: &str) -> f64 {
        let cost = TlbModel::find(model).and_then(|m| m.miss_cost).unwrap_or(0.0);
        corrected_mcpr(self.mcpr[1], self.rate(model, 128), cost)
    }
    fn figure(&self) -> Figure {
        let line = |model: &'static TlbModel| Series {
            label: model.name.into(),
            points: PAGES.iter().map(|p| (*p as f64, self.rate(model.name, *p))).collect(),
        };
        Figure {
            name: format!("E10-{}", self.name),
            title: format!("Figures 6.10 and A.17 to A.29: TLB misses, {}", self.name),
            axes: ["page (bytes)", "miss rate (misses per reference)"],
            log: true,
            lines: TLB_MODELS.iter().take(MODELS).map(line).collect(),
            ..Figure::default()
        }
    }
}

impl Study for Translation {
    type Measured = OfProgram;
    fn measure(program: &Program) -> Result<OfProgram, Failure> {
        let models: Vec<&'static TlbModel> = TLB_MODELS.iter().take(MODELS).collect();
        let mut tlbs = Tlbs::new(&models, &PAGES, 4, program.bindings()).map_err(Failure::work)?;
        program.each(|refs| tlbs.refs(refs))?;
        let mut question = program.question(models::find("numa").into_iter().collect(), &[128, 4096]);
        question.with_replication = Want::Cost;
        let answer = program.answer(&question)?;
        let at =
            |bytes: u64| answer.rows.iter().find(|r| r.block_bytes == bytes).and_then(|r| mcpr(&question, &answer, r));
        let mcpr = [4096, 128].map(|bytes| at(bytes).unwrap_or(1.0));
        let rates = tlbs.rows().iter().map(|r| (r.model.name.to_owned(), r.page_bytes, r.rate())).collect();
        Ok(OfProgram { name: program.listed.name, rates, mcpr })
    }

    fn conclude(of: Vec<OfProgram>) -> Result<Found, Failure> {
        Translation { of }.result()
    }
}

impl Translation {
    fn result(&self) -> Result<Found, Failure> {
        Ok(Found {
            tables: vec![self.rates(), self.table_6_5()],
            figures: self.of.iter().map(OfProgram::figure).collect(),
            judged: self.judge(),
            notes: vec![
                "E10: data references of all processors, private ones too, each processor with its own TLB; moves flush \
                 nothing, as there. The ACE's miss costs 2.5 and the R4000's 10 local references."
                    .into(),
            ],
            ..Found::default()
        })
    }
}

impl Translation {
    fn rates(&self) -> Table {
        let percent = |p: &OfProgram, page: u64, m: &TlbModel| short(100.0 * p.rate(m.name, page));
        let row = |p: &OfProgram| {
            let cells = [128, 4096].into_iter().flat_map(|page| TLB_MODELS.iter().take(MODELS).map(move |m| (page, m)));
            std::iter::once(p.name.to_owned()).chain(cells.map(|(page, m)| percent(p, page, m))).collect()
        };
        let names = [128, 4096].into_iter().flat_map(|page| TLB_MODELS.iter().take(MODELS).map(move |m| (page, m)));
        let columns = std::iter::once("program".to_owned()).chain(names.map(|(page, m)| format!("{} {page}", m.name)));
        let title = "misses per 100 references at pages of 128 and 4096 bytes".into();
        Table { title, columns: columns.collect(), rows: self.of.iter().map(row).collect() }
    }

    fn table_6_5(&self) -> Table {
        let row = |p: &OfProgram| {
            let [page, small] = p.mcpr;
            let cells = [page, small, p.corrected("ace"), p.corrected("r4000")];
            let printed = rows(PRINTED).find(|r| r[0] == p.name);
            let printed = (1..=4).map(|i| printed.as_ref().map_or(String::new(), |r| r[i].clone()));
            std::iter::once(p.name.to_owned()).chain(cells.map(two)).chain(printed).collect()
        };
        let columns = columns(
            "program | NUMA 4096 B | NUMA 128 B | with ACE TLB | with R4000 TLB | printed: 4096 B | 128 B | with \
             ACE TLB | with R4000 TLB",
        );
        Table { title: "table 6.5: mean cost per reference".into(), columns, rows: self.of.iter().map(row).collect() }
    }

    fn plytrace(&self) -> Option<&OfProgram> {
        self.of.iter().find(|p| p.name == PLYTRACE)
    }

    fn judge(&self) -> Vec<Judged> {
        let rate = |model: &str, page: u64| self.plytrace().map_or(0.0, |p| 100.0 * p.rate(model, page));
        let (ace, r4000) = (rate("ace", 128), rate("r4000", 128));
        let growth = |model: &str| rate(model, 128) / rate(model, 4096);
        let others: Vec<f64> = ["68040", "68851", "88200", "68030"].map(|m| rate(m, 128)).to_vec();
        let scene = "plytrace, with a scene and a picture of ours, which move it";
        let value = |name, x| Measures::default().value(name, x);
        let mut judged = vec![
            CLAIMS.ruled("tlb-ace", format!("{} %", short(ace)), &value("rate", ace), scene),
            CLAIMS.ruled("tlb-r4000", format!("{} %", short(r4000)), &value("rate", r4000), scene),
            CLAIMS.ruled(
                "tlb-others",
                others.iter().map(|r| short(*r)).collect::<Vec<_>>().join(", ") + " %",
                &value("least", others.iter().copied().fold(f64::INFINITY, f64::min)),
                "68040, 68851, 88200 and 68030 on plytrace",
            ),
            CLAIMS.ruled(
                "tlb-growth",
                format!("{} and {} times", short(growth("ace")), short(growth("r4000"))),
                &value("ACE", growth("ace")).value("R4000", growth("r4000")),
                scene,
            ),
        ];
        judged.extend([self.shape(), self.flips(), self.matmult()]);
        judged
    }

    /// Whether larger pages miss less.
    fn shape(&self) -> Judged {
        let (mut falls, mut steps) = (0_u32, 0_u32);
        for p in &self.of {
            for model in TLB_MODELS.iter().take(MODELS) {
                for pair in PAGES.windows(2) {
                    steps += 1;
                    falls += u32::from(p.rate(model.name, pair[1]) <= p.rate(model.name, pair[0]));
                }
            }
        }
        let ours = format!("{falls} of {steps} doublings");
        CLAIMS.ruled(
            "figure-a.17",
            ours,
            &Measures::of([("share of doublings", f64::from(falls) / f64::from(steps.max(1)))]),
            "every program and TLB",
        )
    }

    /// Of how many programs a TLB's misses make 4 KB better than 128 bytes, where without them it is not.
    fn flips(&self) -> Judged {
        let flips = |all: &[[f64; 4]]| [2, 3].map(|i| all.iter().filter(|c| c[1] < c[0] && c[i] >= c[0]).count());
        let printed = |r: Vec<String>| [1, 2, 3, 4].map(|i| number(&r[i]).unwrap_or(0.0));
        let theirs: Vec<[f64; 4]> = rows(PRINTED).map(printed).collect();
        let mine = |p: &OfProgram| [p.mcpr[0], p.mcpr[1], p.corrected("ace"), p.corrected("r4000")];
        let ours: Vec<[f64; 4]> = self.of.iter().map(mine).collect();
        let small = |all: &[[f64; 4]]| all.iter().filter(|c| c[1] < c[0]).count();
        let (here, there) = (flips(&ours), flips(&theirs));
        CLAIMS.ruled(
            "table-6.5",
            format!(
                "128 bytes better in {} of {}; of these no longer with the TLB of the ACE {}, of the R4000 {}",
                small(&ours),
                ours.len(),
                here[0],
                here[1]
            ),
            &Measures::of([("share with small pages better", part(small(&ours), ours.len())), ("part that the ACE's TLB turns", part(here[0], small(&ours))), ("part that the R4000's turns", part(here[1], small(&ours)))]),
            &format!(
                "printed: {} of {}, then {} and {}; agrees if small pages win in most programs and TLBs change that in at \
                 most a third of them",
                small(&theirs),
                theirs.len(),
                there[0],
                there[1]
            ),
        )
    }

    fn matmult(&self) -> Judged {
        let implied = |column: usize, cost: f64| {
            let row = rows(PRINTED).find(|r| r[0] == "matmult");
            let at = |i: usize| row.as_ref().and_then(|r| number(&r[i])).unwrap_or(0.0);
            100.0 * implied_rate(at(2), at(column), cost)
        };
        let (ace, r4000) = (implied(3, 2.5), implied(4, 10.0));
        let rate =
            |model: &str| self.of.iter().find(|p| p.name == "matmult").map_or(0.0, |p| 100.0 * p.rate(model, 128));
        let (ours_ace, ours_r4000) = (rate("ace"), rate("r4000"));
        CLAIMS.ruled(
            "table-6.5-matmult",
            format!("{} and {} %", short(ours_ace), short(ours_r4000)),
            &Measures::default()
                .value("ACE over printed", ours_ace / ace)
                .value("R4000 over printed", ours_r4000 / r4000),
            &format!(
                "rates implied by the corrections of table 6.5: {} and {} %; whoever walks a column touches a page a \
                 reference, and smaller matrices do so less",
                short(ace),
                short(r4000)
            ),
        )
    }
}
