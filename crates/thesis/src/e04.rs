//! E4: the policies of chapter 5 beside the optimum on the ACE and the Butterfly.
use super::lookup::{median, names, part, two};
use super::program::{Listed, Program};
use super::{Bars, CLAIMS, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::{Judged, POINTS};
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::Machine;
use homenode_machine::models;
use homenode_placement::policies::{Choice, REFERENCES_PER_SECOND, platinum_windows};
use homenode_study::analyses::{mean_share, naive_cost, share_of_savings};
use homenode_study::{Question, Want, What};
use serde::{Deserialize, Serialize};

pub(super) static SPEC: Spec = Spec { id: "E4", title: "policies", begin: Gathered::<Policies>::boxed };

/// Machines: places in the arrays below.
const ACE: usize = 0;
const BUTTERFLY: usize = 1;
const MACHINES: [&str; 2] = ["ace", "butterfly"];
/// Policies; PLATINUM after them at other rates too.
const POLICIES: [&str; 4] = ["ace", "delay", "platinum", "random"];
/// References of all processors in a second beside [`REFERENCES_PER_SECOND`], by which PLATINUM counts its times.
const RATES: [u32; 4] = [500_000, 1_600_000, 16_000_000, 50_000_000];
const ALL: usize = POLICIES.len() + RATES.len();
const OF_ACE: usize = 0;
const DELAY: usize = 1;
const PLATINUM: usize = 2;
const RANDOM: usize = 3;
const SHOWN: usize = 3;
const PAGE: u64 = 4096;

struct Policies(Vec<Measured>);

#[derive(Clone, Serialize, Deserialize)]
struct Measured {
    listed: &'static Listed,
    /// By machine: the optimum.
    optimum: [f64; 2],
    /// By machine and policy.
    policy: [[f64; ALL]; 2],
    /// By machine: what a placement that knows nothing costs a reference.
    naive: [f64; 2],
}

impl Study for Policies {
    type Measured = Measured;
    fn measure(program: &Program) -> Result<Measured, Failure> {
        let machines: Vec<Machine> = MACHINES.iter().filter_map(|name| models::find(name)).collect();
        let policies = policies()?;
        let naive = [ACE, BUTTERFLY].map(|m| naive_cost(&machines[m]).map_or(f64::NAN, |(_, cost)| cost));
        let base = program.question(machines, &[PAGE]);
        let answered = program.ask(Question { policies, with_replication: Want::Cost, ..base })?;
        let mut new = Measured { listed: program.listed, optimum: [0.0; 2], policy: [[0.0; ALL]; 2], naive };
        for m in [ACE, BUTTERFLY] {
            new.optimum[m] = answered.mcpr(m, PAGE, What::WITH_REPLICATION)?;
            for (value, i) in new.policy[m].iter_mut().zip(0..) {
                *value = answered.mcpr(m, PAGE, What::policy(i))?;
            }
        }
        Ok(new)
    }

    fn conclude(all: Vec<Measured>) -> Result<Found, Failure> {
        Policies(all).result()
    }
}

impl Policies {
    fn result(&self) -> Result<Found, Failure> {
        let dear = |m: &&Measured| m.optimum[BUTTERFLY] > DEAR;
        let bars = vec![
            self.bars("E4-ace", "ACE: cost of policies (figure 5.1)", ACE, |_| true),
            self.bars("E4-butterfly", "Butterfly: cost of policies (figure 5.2)", BUTTERFLY, |m| !dear(m)),
            self.bars("E4-butterfly-dear", "Butterfly: programs of high cost (figure 5.3)", BUTTERFLY, dear),
        ];
        Ok(Found {
            tables: vec![self.table(), self.clock()],
            bars,
            judged: self.judged(PLATINUM),
            notes: vec![
                "E4: PLATINUM's t1 and t2 are the thesis's 10 ms and 1 s in references. The thesis converts by the rate of \
                 each program and prints neither rates nor results; its table 3.1 implies 4.8 to 5.6 million references a \
                 second for five programs and 1.7 for matmult, and 5 is taken for all. The table of rates says what hangs \
                 on it."
                    .into(),
            ],
            ..Found::default()
        })
    }
}

fn policies() -> Result<Vec<Choice>, Failure> {
    let at_rate = |rate: &u32| platinum_windows(*rate).map(|t| t.to_string()).join(",");
    let timed = RATES.iter().map(|rate| format!("platinum({})", at_rate(rate)));
    let all = POLICIES.iter().map(|p| (*p).to_owned()).chain(timed);
    all.map(|p| Choice::parse(&p)).collect::<Result<_, _>>().map_err(Failure::work)
}

/// Optimal cost on the Butterfly beyond which a program is shown in the second picture.
const DEAR: f64 = 2.5;

/// Part of the cost of a placement that knows nothing: where the optimum saves less, a share of the savings means nothing.
const WORTH: f64 = 0.05;

impl Measured {
    fn share(&self, machine: usize, policy: usize) -> Option<f64> {
        share_of_savings(self.naive[machine], self.policy[machine][policy], self.optimum[machine])
    }
    /// Whether the optimum saves enough to speak of shares of it.
    fn saves(&self, machine: usize) -> bool {
        self.naive[machine] - self.optimum[machine] >= WORTH * self.naive[machine]
    }
    /// A policy's cost over the optimum's.
    fn over(&self, machine: usize, policy: usize) -> f64 {
        self.policy[machine][policy] / self.optimum[machine]
    }
    /// What the whole program gains from the optimum if half its time goes into data references, in percent.
    fn gain(&self, machine: usize) -> f64 {
        50.0 * (1.0 - self.optimum[machine] / self.naive[machine])
    }
}

impl Policies {
    fn bars(&self, name: &str, title: &str, machine: usize, wanted: impl Fn(&&Measured) -> bool) -> Bars {
        let values = |m: &Measured| [&[m.optimum[machine]], &m.policy[machine][..SHOWN]].concat();
        Bars {
            name: name.into(),
            title: title.into(),
            axis: "mean cost per reference (local references)",
            series: ["optimum", "ACE", "Delay", "PLATINUM"].map(str::to_owned).to_vec(),
            groups: self.0.iter().filter(wanted).map(|m| (m.listed.name.to_owned(), values(m))).collect(),
            at_most: 20.0,
            ..Bars::default()
        }
    }

    fn mean(&self, machine: usize, policy: usize) -> Option<f64> {
        let saving = self.0.iter().filter(|m| m.saves(machine));
        mean_share(saving.map(|m| m.share(machine, policy))).map(|share| 100.0 * share)
    }

    fn median(&self, machine: usize, policy: usize) -> f64 {
        100.0 * median(self.0.iter().filter_map(|m| m.share(machine, policy)))
    }

    fn table(&self) -> Table {
        let columns = ["program", "ACE: optimum", "ACE", "Delay", "PLATINUM"];
        let columns = columns.iter().chain(&["Butterfly: optimum", "ACE", "Delay", "PLATINUM", "random"]);
        let row = |m: &Measured| {
            let shown =
                [&[m.optimum[ACE]], &m.policy[ACE][..SHOWN], &[m.optimum[BUTTERFLY]], &m.policy[BUTTERFLY][..=RANDOM]];
            std::iter::once(m.listed.name.to_owned()).chain(shown.concat().iter().map(|v| two(*v))).collect()
        };
        let mut rows: Vec<Vec<String>> = self.0.iter().map(row).collect();
        let share = |m: usize, p: usize| self.mean(m, p).map_or("-".to_owned(), |s| format!("{s:.0} %"));
        let mut last = vec!["mean share of savings".to_owned(), "100 %".to_owned()];
        last.extend((0..SHOWN).map(|p| share(ACE, p)));
        last.push("100 %".to_owned());
        last.extend((0..=RANDOM).map(|p| share(BUTTERFLY, p)));
        rows.push(last);
        Table {
            title: "cost per reference at 4096-byte pages".into(),
            columns: columns.map(|c| (*c).to_owned()).collect(),
            rows,
        }
    }

    /// How much the clock of PLATINUM matters.
    fn clock(&self) -> Table {
        let share = |m: usize, p: usize| self.mean(m, p).map_or("-".to_owned(), |s| format!("{s:.0}"));
        let usual = self.judged(PLATINUM);
        let row = |(p, rate): (usize, u32)| {
            let turned = self.judged(p).into_iter().zip(&usual).filter(|(j, u)| j.verdict != u.verdict);
            let turned: Vec<&str> = turned.map(|(j, _)| j.id).collect();
            let [t1, t2] = platinum_windows(rate).map(|t| t.to_string());
            let million = format!("{}", f64::from(rate) / 1e6);
            vec![million, t1, t2, share(ACE, p), share(BUTTERFLY, p), names(turned)]
        };
        let mut all: Vec<(usize, u32)> = (POLICIES.len()..).zip(RATES).collect();
        all.push((PLATINUM, REFERENCES_PER_SECOND));
        all.sort_by_key(|(_, rate)| *rate);
        let columns =
            ["million references a second", "t1", "t2", "ACE: share, %", "Butterfly: share, %", "verdicts that turn"];
        Table {
            title: "PLATINUM: mean share of savings by the rate that its times of 10 ms and 1 s are counted with"
                .into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: all.into_iter().map(row).collect(),
        }
    }

    /// All verdicts, with PLATINUM as the policy of this number.
    fn judged(&self, platinum: usize) -> Vec<Judged> {
        let parts = [self.shares(platinum), self.own_machine(platinum), self.limits(platinum), self.figures(platinum)];
        parts.into_iter().flatten().collect()
    }

    fn shares(&self, platinum: usize) -> Vec<Judged> {
        let all = [
            ("share-ace-ace", ACE, OF_ACE),
            ("share-platinum-butterfly", BUTTERFLY, platinum),
            ("share-platinum-ace", ACE, platinum),
            ("share-ace-butterfly", BUTTERFLY, OF_ACE),
        ];
        let judge = |(id, machine, policy): (&'static str, usize, usize)| match self.mean(machine, policy) {
            None => Judged::unknown(id, "", "the optimum saves nothing in any program"),
            Some(ours) => CLAIMS.ruled(
                id,
                format!("{ours:.0} percent; median {:.0}", self.median(machine, policy)),
                &Measures::default().value("mean", ours).value("median", self.median(machine, policy)),
                "mean of the programs where the optimum saves a twentieth at least (where it saves nothing a \
                 share means nothing), median of all",
            ),
        };
        all.into_iter().map(judge).collect()
    }

    fn own_machine(&self, platinum: usize) -> Vec<Judged> {
        let mean = |machine, policy| self.mean(machine, policy).unwrap_or(f64::NAN);
        let (ace, platinum_a) = (mean(ACE, OF_ACE), mean(ACE, platinum));
        let (ace_b, platinum_b) = (mean(BUTTERFLY, OF_ACE), mean(BUTTERFLY, platinum));
        let more = mean(ACE, DELAY) - ace;
        let disasters = self.which(|m| m.policy[BUTTERFLY][OF_ACE] > 1.5 * m.policy[BUTTERFLY][DELAY]);
        let gains = [ACE, BUTTERFLY].map(|i| self.0.iter().map(|m| m.gain(i)).fold(0.0, f64::max));
        vec![
            CLAIMS.ruled(
                "own-machine",
                format!("ACE: {ace:.0} against {platinum_a:.0}; Butterfly: {platinum_b:.0} against {ace_b:.0}"),
                &Measures::of([
                    ("PLATINUM on the ACE", platinum_a),
                    ("ACE on the ACE", ace),
                    ("ACE on the Butterfly", ace_b),
                    ("PLATINUM on the Butterfly", platinum_b),
                ]),
                "mean shares of savings, the machine's own policy first",
            ),
            CLAIMS.ruled(
                "delay-ace",
                format!("{more:+.1} points"),
                &Measures::of([("points", more), ("additional share", more)]),
                &format!("agrees if Delay adds something and less than {POINTS} points"),
            ),
            CLAIMS.ruled(
                "delay-butterfly",
                format!("{}: {}", disasters.len(), names(disasters.iter().copied())),
                &Measures::of([
                    ("programs", disasters.len() as f64),
                    ("share of programs", part(disasters.len(), self.0.len())),
                ]),
                "programs whose cost under ACE is above 1.5 times that under Delay",
            ),
            CLAIMS.ruled(
                "gain-25-50",
                format!("{:.0} on the ACE, {:.0} on the Butterfly", gains[ACE], gains[BUTTERFLY]),
                &Measures::of([("ACE", gains[ACE]), ("Butterfly", gains[BUTTERFLY])]),
                "model, half of the time in data references, no contention: the most any program gains; the \
                 formula allows at most 25 and 46",
            ),
        ]
    }

    fn which(&self, wanted: impl Fn(&Measured) -> bool) -> Vec<&'static str> {
        self.0.iter().filter(|m| wanted(m)).map(|m| m.listed.name).collect()
    }

    fn limits(&self, platinum: usize) -> Vec<Judged> {
        let usual = |m: &Measured| !m.listed.presto && m.listed.name != "mp3d";
        let plain = |m: &Measured| !m.listed.presto && !m.listed.splash;
        let usuals = self.which(usual).len();
        let plains = self.which(plain).len();
        let ace = self.which(|m| usual(m) && m.optimum[ACE] >= 1.26);
        let butterfly = self.which(|m| usual(m) && m.optimum[BUTTERFLY] >= 2.5);
        let delay = self.which(|m| m.over(ACE, DELAY) > 1.15);
        let four = self.which(|m| plain(m) && [OF_ACE, DELAY, platinum].iter().any(|p| m.policy[BUTTERFLY][*p] > 4.0));
        let platinum = self.which(|m| plain(m) && m.policy[BUTTERFLY][platinum] > 2.75);
        let random: Vec<f64> = self.0.iter().map(|m| m.policy[BUTTERFLY][RANDOM]).collect();
        let mean = random.iter().sum::<f64>() / random.len().max(1) as f64;
        let naive = self.0.first().map_or(f64::NAN, |m| m.naive[BUTTERFLY]);
        let above =
            |names_: &[&'static str], of: usize| format!("exceptions, of {of}: {}", names(names_.iter().copied()));
        vec![
            CLAIMS.ruled(
                "optimum-ace-126",
                above(&ace, usuals),
                &Measures::of([("exceptions", ace.len() as f64)]),
                "optimum below 1.26 in all programs but those of many tasks and mp3d",
            ),
            CLAIMS.ruled(
                "optimum-butterfly-25",
                above(&butterfly, usuals),
                &Measures::of([("exceptions", butterfly.len() as f64)]),
                "the same programs",
            ),
            CLAIMS.ruled(
                "delay-15",
                above(&delay, self.0.len()),
                &Measures::default().names("beyond", delay),
                "programs on which Delay costs more than 1.15 times the optimum on the ACE",
            ),
            CLAIMS.ruled(
                "policies-below-4",
                above(&four, plains),
                &Measures::default().names("above", four),
                "programs outside Presto and SPLASH on which ACE, Delay or PLATINUM is above 4 on the Butterfly",
            ),
            CLAIMS.ruled(
                "platinum-25",
                above(&platinum, plains),
                &Measures::of([("exceptions", platinum.len() as f64)]),
                "near is taken as up to 2.75",
            ),
            CLAIMS.ruled(
                "random-14-15",
                format!("{naive:.2} in the mean, {mean:.2} with one draw"),
                &Measures::of([("mean", naive)]),
                "(1 + 7 r) / 8 with r 15 is 13.25, with 7 processors 13; 14 to 15 counts no local references",
            ),
        ]
    }

    fn figures(&self, platinum: usize) -> Vec<Judged> {
        let poor = self.which(|m| m.policy[ACE][platinum] > m.policy[ACE][OF_ACE].max(1.1 * m.optimum[ACE]));
        let differ = self.which(|m| m.policy[BUTTERFLY][OF_ACE] > 1.1 * m.policy[BUTTERFLY][DELAY]);
        let all = self.0.len();
        let like = self.which(|m| (m.policy[BUTTERFLY][OF_ACE] / m.policy[BUTTERFLY][DELAY] - 1.0).abs() <= 0.1).len();
        let dear = self.which(|m| m.optimum[BUTTERFLY] > DEAR);
        let optimum =
            |presto: bool| self.0.iter().filter(move |m| m.listed.presto == presto).map(|m| m.optimum[BUTTERFLY]);
        let (presto, rest) = (median(optimum(true)), median(optimum(false)));
        vec![
            CLAIMS.ruled(
                "fig-5.1",
                format!("PLATINUM worst in {}", names(poor.iter().copied())),
                &Measures::default().names("worst", poor),
                "programs where PLATINUM costs more than ACE and a tenth more than the optimum on the ACE",
            ),
            CLAIMS.ruled(
                "fig-5.2",
                format!("Delay better in {}; alike in {like} of {all}", names(differ.iter().copied())),
                &Measures::default().names("better", differ).value("share alike", part(like, all)),
                "on the Butterfly: better by more than a tenth, alike within a tenth",
            ),
            CLAIMS.ruled(
                "fig-5.3",
                format!("medians {presto:.1} and {rest:.1}; above {DEAR}: {}", names(dear.iter().copied())),
                &Measures::default().value("ratio", presto / rest).names("dear", dear),
                "optimum on the Butterfly: median of Presto's programs over that of all others, and programs \
                 above the limit that the thesis gives for the others",
            ),
        ]
    }
}
