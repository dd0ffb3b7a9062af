//! E3: how much results change when the recorded order of references is disturbed.
use super::lookup::part;
use super::paper::{columns, number, rows, short};
use super::program::{self, Program};
use super::{CLAIMS, Figure, Found, Gathered, Spec, Study};
use homenode_base::TotalCost;
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_judging::work::together;
use homenode_machine::models;
use homenode_placement::policies::Choice;
use homenode_sim::ThreadBinding;
use homenode_study::analyses::{Change, Filter, GAP, LOCAL, Perturber, Series, Sync};
use homenode_study::{Answer, Question, Want, What};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{self, OrderKind};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) static SPEC: Spec =
    Spec { id: "E3", title: "disturbed orders, local and gap", begin: Gathered::<Disturbed>::boxed };

const PRINTED: &str = include_str!("../data/bolosky_table_4_1.csv");
const MACHINES: [&str; 4] = ["ace", "butterfly", "numa", "cc"];
/// CC among them.
const CC: usize = 3;
/// Seeds at XS, S, M and P; the thesis has one a program in table 4.1.
const SEEDS: [u64; 4] = [1, 1, 5, 1];
/// Seeds at XS, S, M and P for the local filter without synchronisation, of which figure 4.4 has several.
const SEEDS_4_4: [u64; 4] = [2, 3, 5, 3];
/// Programs in figure 4.4: as many as there.
const SHOWN: usize = 4;

struct Disturbed {
    of: Vec<OfProgram>,
    /// Of the local filter with synchronisation ignored, and of all others.
    seeds: [u64; 2],
}

/// Results of one program.
#[derive(Clone, Serialize, Deserialize)]
struct OfProgram {
    #[serde(deserialize_with = "program::name")]
    name: program::Name,
    /// References, to make mean costs.
    references: u64,
    /// By filter, synchronisation, and machine; last the ACE policy on the ACE.
    #[serde(with = "changes")]
    changes: [[Vec<Change>; 2]; 2],
    /// Of the local filter with synchronisation ignored, and of all others.
    seeds: [u64; 2],
}

/// Changes as they are sent: of each its cost as recorded, which is all that is looked at of its row, and its costs.
mod changes {
    use super::{Change, What};
    use homenode_base::TotalCost;
    use homenode_study::Row;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type All<T> = [[Vec<T>; 2]; 2];
    type Sent = (i128, Vec<i128>);

    pub(super) fn serialize<S: Serializer>(all: &All<Change>, to: S) -> Result<S::Ok, S::Error> {
        let sent = |c: &Change| (c.row.cost.0, c.costs.iter().map(|cost| cost.0).collect());
        let each: All<Sent> = all.each_ref().map(|of| of.each_ref().map(|of| of.iter().map(sent).collect()));
        each.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<All<Change>, D::Error> {
        let change = |(cost, costs): Sent| Change {
            row: Row {
                machine: 0,
                block_bytes: 0,
                what: What::WITH_REPLICATION,
                cost: TotalCost(cost),
                parts: None,
                optimum: None,
                exact: true,
                done: None,
            },
            costs: costs.into_iter().map(TotalCost).collect(),
        };
        let all = All::<Sent>::deserialize(from)?;
        Ok(all.map(|of| of.map(|of| of.into_iter().map(change).collect())))
    }
}

/// A disturbed order to be judged.
#[derive(Clone, Copy)]
struct Order {
    filter: usize,
    sync: usize,
    seed: u64,
}

const FILTERS: [Filter; 2] = [LOCAL, GAP];
const SYNCS: [Sync; 2] = [Sync::Ignored, Sync::Kept];

/// The optimum on machines with pages, and the policy; the optimum on CC with its lines.
fn questions(program: &Program) -> Result<[Question; 2], Failure> {
    let named = |names: &[&str]| names.iter().filter_map(|name| models::find(name)).collect();
    let mut pages = program.question(named(&MACHINES[..CC]), &[4096]);
    pages.policies = vec![Choice::parse("ace").map_err(Failure::work)?];
    let mut lines = program.question(named(&MACHINES[CC..]), &[64]);
    (pages.with_replication, lines.with_replication) = (Want::Cost, Want::Cost);
    Ok([pages, lines])
}

/// The rows that count: optima by machine, then the policy on the ACE.
fn rows_of(answers: Vec<Answer>) -> Vec<homenode_study::Row> {
    let all = || answers.iter().flat_map(|a| &a.rows);
    let optima = all().filter(|r| r.what == What::WITH_REPLICATION);
    let policy = all().filter(|r| r.what == What::policy(0) && r.machine == 0);
    optima.chain(policy).cloned().collect()
}

/// The references of a program and where its threads sit: what workers share.
#[derive(Clone, Copy)]
struct Recorded<'a> {
    reader: &'a DatasetReader,
    bindings: &'a [ThreadBinding],
}

fn costs(recorded: Recorded<'_>, questions: &[Question; 2], order: Order) -> Result<Vec<TotalCost>, Failure> {
    let (filter, sync) = (FILTERS[order.filter], SYNCS[order.sync]);
    let stream = order::Order::new(recorded.reader, OrderKind::Model)?;
    let filter = Perturber::new(filter, sync, order.seed, recorded.bindings, stream);
    let filter = filter.expect("the filters of the thesis are within their ranges");
    let partition = program::partition(&questions[0], filter)?;
    let answer = |q| homenode_study::answer(q, &partition, 0..partition.regions()).map_err(Failure::work);
    let answers = questions.iter().map(answer).collect::<Result<Vec<_>, Failure>>()?;
    Ok(rows_of(answers).into_iter().map(|r| r.cost).collect())
}

/// Costs of all orders, in their order, by as many workers as there are processors.
fn all_costs(
    recorded: Recorded<'_>,
    questions: &[Question; 2],
    orders: &[Order],
) -> Result<Vec<Vec<TotalCost>>, Failure> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(order) = orders.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*order, costs(recorded, questions, *order)));
        }
        done
    };
    let mut done: Vec<_> = together(work).into_iter().flatten().collect();
    done.sort_by_key(|(o, _)| (o.filter, o.sync, o.seed));
    done.into_iter().map(|(_, costs)| costs).collect()
}

impl Study for Disturbed {
    type Measured = OfProgram;
    fn measure(program: &Program) -> Result<OfProgram, Failure> {
        let seeds_of = [SEEDS_4_4[program.size], SEEDS[program.size]];
        let questions = questions(program)?;
        let recorded = questions.iter().map(|q| program.answer(q)).collect::<Result<Vec<_>, Failure>>()?;
        let references = recorded[0].accesses;
        let undisturbed = rows_of(recorded);
        let seeds = |i: usize| seeds_of[usize::from(i > 0)];
        let order = |i: usize, seed| Order { filter: i / 2, sync: i % 2, seed };
        let orders: Vec<Order> =
            (0..4).flat_map(|i| (1..=seeds(i)).map(move |seed| (i, seed))).map(|(i, seed)| order(i, seed)).collect();
        let found =
            all_costs(Recorded { reader: program.reader(), bindings: program.bindings() }, &questions, &orders)?;
        let of = |filter: usize, sync: usize| {
            let mine = || orders.iter().zip(&found).filter(move |(o, _)| (o.filter, o.sync) == (filter, sync));
            let change = |(i, row): (usize, &homenode_study::Row)| Change {
                row: row.clone(),
                costs: mine().map(|(_, costs)| costs[i]).collect(),
            };
            undisturbed.iter().enumerate().map(change).collect::<Vec<Change>>()
        };
        let changes = [[of(0, 0), of(0, 1)], [of(1, 0), of(1, 1)]];
        Ok(OfProgram { name: program.listed.name, references, changes, seeds: seeds_of })
    }

    fn conclude(of: Vec<OfProgram>) -> Result<Found, Failure> {
        let seeds = of.first().map_or([0; 2], |p| p.seeds);
        Disturbed { of, seeds }.result()
    }
}

impl Disturbed {
    fn result(&self) -> Result<Found, Failure> {
        let [most, others] = self.seeds;
        Ok(Found {
            tables: vec![
                self.table(
                    "table 4.1: largest change in percent, ours and printed, synchronisation ignored as there",
                    0,
                ),
                self.table("the same (printed without) with the happens-before of recorded synchronisation kept", 1),
                self.intervals(),
            ],
            figures: vec![self.figure_4_4()],
            judged: self.judge(),
            notes: vec![format!(
                "E3: at this size {most} orders of the local filter with synchronisation ignored, which figure 4.4 needs, \
                 and {others} of each other kind (5 of every kind at M)."
            )],
            ..Found::default()
        })
    }
}

/// The largest of some changes.
fn greatest(of: &[(f64, &str)]) -> f64 {
    of.iter().map(|(x, _)| *x).fold(0.0, f64::max)
}

impl Disturbed {
    /// Largest change in percent of all programs, and which has it.
    fn largest(&self, filter: usize, sync: usize, machine: usize) -> (f64, &'static str) {
        let of = self.of.iter().map(|p| (p.changes[filter][sync][machine].largest_percent(), p.name));
        of.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, "none"))
    }
    fn mean(&self, filter: usize, sync: usize, machine: usize) -> f64 {
        let of = self.of.iter().map(|p| p.changes[filter][sync][machine].mean_percent());
        of.sum::<f64>() / self.of.len().max(1) as f64
    }

    fn table(&self, title: &str, sync: usize) -> Table {
        let row = |p: &OfProgram| {
            let cells = (0..2).flat_map(|f| (0..=MACHINES.len()).map(move |m| (f, m)));
            let printed = rows(PRINTED).find(|r| r[0] == p.name || r[0] == "e-nasap" && p.name == "e-nasa");
            let cell = |(f, m): (usize, usize)| {
                let ours = short(p.changes[f][sync][m].largest_percent());
                let theirs =
                    printed.as_ref().filter(|_| m < MACHINES.len()).map(|r| r[1 + f * MACHINES.len() + m].clone());
                theirs.map_or(ours.clone(), |theirs| format!("{ours}; {theirs}"))
            };
            std::iter::once(p.name.to_owned()).chain(cells.map(cell)).collect()
        };
        let columns = columns(
            "program | local: ACE | Butterfly | NUMA | CC | ACE policy on ACE | gap: ACE | Butterfly | NUMA | CC \
             | ACE policy on ACE",
        );
        Table { title: title.into(), columns, rows: self.of.iter().map(row).collect() }
    }

    /// Mean changes under the local filter with their confidence, and what of that on CC comes from where.
    fn intervals(&self) -> Table {
        // Ranges in cells are those of recordings: what seeds are apart stands in a column of its own.
        let within = |change: &Change| {
            change.interval_percent().ends.map_or("one seed".into(), |(low, high)| short((high - low) / 2.0))
        };
        let row = |p: &OfProgram| {
            let [ignored, kept] = [0, 1].map(|sync| p.changes[0][sync][CC].interval_percent().mean);
            let machines = (0..MACHINES.len()).map(|m| short(p.changes[0][0][m].interval_percent().mean));
            let seeds = std::iter::once(within(&p.changes[0][0][CC]));
            let causes = [kept, ignored - kept].map(short);
            std::iter::once(p.name.to_owned()).chain(machines).chain(seeds).chain(causes).collect()
        };
        let columns = columns(
            "program | ACE | Butterfly | NUMA | CC | CC, 95 % of seeds within plus or minus | of that on CC: with synchronisation kept | by crossing \
             synchronisation",
        );
        let title = "mean change of the optimum in percent under the local filter, synchronisation ignored";
        Table { title: title.into(), columns, rows: self.of.iter().map(row).collect() }
    }

    /// Programs whose optimum on CC changes most under the local filter.
    fn shaken(&self) -> Vec<&OfProgram> {
        let mut all: Vec<&OfProgram> = self.of.iter().collect();
        let key = |p: &OfProgram| p.changes[0][0][CC].largest_percent();
        all.sort_by(|a, b| key(b).total_cmp(&key(a)));
        all.truncate(SHOWN);
        all
    }

    fn figure_4_4(&self) -> Figure {
        let line = |(i, p): (usize, &&OfProgram)| {
            let change = &p.changes[0][0][CC];
            let mcpr = change.row.cost.as_f64() / p.references.max(1) as f64;
            let all = std::iter::once(0.0).chain(change.percents());
            Series { label: format!("{} ({mcpr:.2})", p.name), points: all.map(|c| (c, (i + 1) as f64)).collect() }
        };
        Figure {
            name: "E3-figure-4-4".into(),
            title: "Figure 4.4: optimum on CC, recorded (0) and under local disturbance".into(),
            axes: ["change of the mean cost per reference (percent; as recorded: beside the name)", "program (number)"],
            log: false,
            lines: self.shaken().iter().enumerate().map(line).collect(),
            ..Figure::default()
        }
    }

    /// Programs of figure 4.4 whose disturbed costs lie closer to each other than to the recorded one.
    fn apart(&self) -> (usize, usize) {
        let shaken = self.shaken();
        let apart = |p: &&&OfProgram| {
            let percents: Vec<f64> = p.changes[0][0][CC].percents().collect();
            let (low, high) = percents.iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
            high - low < low.abs().min(high.abs()) && low * high > 0.0
        };
        (shaken.iter().filter(apart).count(), shaken.len())
    }

    fn judge(&self) -> Vec<Judged> {
        let at = |filter: usize| [0, 1, 2, 3].map(|m| self.largest(filter, 0, m));
        let words =
            |of: &[(f64, &str)]| of.iter().map(|(x, n)| format!("{} ({n})", short(*x))).collect::<Vec<_>>().join("; ");
        let (local, gap) = (at(0), at(1));
        let mut judged = vec![
            CLAIMS.ruled(
                "local-cc",
                words(&local[CC..]),
                &Measures::of([
                    ("change on CC, %", local[CC].0),
                    ("CC", local[CC].0),
                    ("greatest elsewhere", greatest(&local[..CC])),
                ]),
                "other programs, so judged by order",
            ),
            CLAIMS.ruled(
                "local-others",
                words(&local[..CC]),
                &Measures::of([
                    ("greatest, %", greatest(&local[..CC])),
                    ("greater of ACE and Butterfly", greatest(&local[..2])),
                    ("NUMA", local[2].0),
                ]),
                "",
            ),
            CLAIMS.ruled(
                "gap-all",
                words(&gap),
                &Measures::of([
                    ("greatest, %", greatest(&gap)),
                    ("greater of ACE and Butterfly", greatest(&gap[..2])),
                    ("greater of NUMA and CC", greatest(&gap[2..])),
                ]),
                "",
            ),
            printed_maxima(),
            self.synchronisation(),
            self.policy(),
        ];
        judged.push(self.figure_judged());
        judged
    }

    fn synchronisation(&self) -> Judged {
        let [ignored, kept] = [0, 1].map(|sync| (self.largest(0, sync, CC), self.mean(0, sync, CC)));
        let words =
            |((largest, name), mean): ((f64, &str), f64)| format!("{} ({name}), mean {}", short(largest), short(mean));
        let ours = format!("ignored: {} %; kept: {} %", words(ignored), words(kept));
        let why = "the source could only guess, since its traces had lost synchronisation: here the same filter runs with \
                   its happens-before kept; agrees if that at least halves the mean change on CC";
        CLAIMS.ruled(
            "local-cc-sync",
            ours,
            &Measures::of([("mean with synchronisation ignored", ignored.1), ("mean with it kept", kept.1)]),
            why,
        )
    }

    fn policy(&self) -> Judged {
        let [optimum, policy] = [0, MACHINES.len()].map(|m| self.mean(0, 0, m) + self.mean(1, 0, m));
        let ours = format!("mean {} % against {} %", short(policy / 2.0), short(optimum / 2.0));
        CLAIMS.ruled(
            "on-line-more",
            ours,
            &Measures::of([("optimum", optimum), ("policy", policy)]),
            "the ACE policy on the ACE, mean over programs and filters",
        )
    }

    fn figure_judged(&self) -> Judged {
        let (apart, of) = self.apart();
        let ours = format!("{apart} of {of} programs");
        let why = "agrees if disturbed costs lie closer to each other than to the recorded one in most of the programs with \
                   the largest changes";
        CLAIMS.ruled("figure-4.4", ours, &Measures::of([("share of programs", part(apart, of))]), why)
    }
}

/// The largest entries of table 4.1 against what the text quotes for them.
fn printed_maxima() -> Judged {
    let largest = |i: usize| rows(PRINTED).filter_map(|r| number(&r[i])).fold(0.0, f64::max);
    let quoted = [(1, "ACE local", 0.007), (2, "Butterfly local", 0.01), (3, "NUMA local", 0.8), (4, "CC local", 11.0)];
    let quoted = quoted.into_iter().chain([
        (5, "ACE gap", 0.06),
        (6, "Butterfly gap", 0.34),
        (7, "NUMA gap", 2.0),
        (8, "CC gap", 3.5),
    ]);
    let off: Vec<String> = quoted
        .filter(|(i, _, text)| (largest(*i) - text).abs() > 1e-9)
        .map(|(i, what, text)| format!("{what} {text} in the text, {} in the table", largest(i)))
        .collect();
    let why = "the text's maxima against the columns of table 4.1 itself";
    CLAIMS.ruled("table-4.1-text", off.join("; "), &Measures::of([("entries quoted otherwise", off.len() as f64)]), why)
}
