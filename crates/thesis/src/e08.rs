//! E8: block sizes from a word to two pages on the five machines of chapter 6.
use super::lookup::{BLOCKS, CC, CC_PLUS, DSM, DSM_PLUS, Machines, NAMES, NUMA, names, part, two};
use super::paper::{columns, number, rows};
use super::program::{Listed, P_QSORT, Program, QSORTS};
use super::{CLAIMS, Figure, Found, Gathered, Spec, Study};
use homenode_command::Failure;
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::models::family::Parameters;
use homenode_study::analyses::Series;

pub(super) static SPEC: Spec = Spec { id: "E8", title: "block size", begin: Gathered::<BlockSizes>::boxed };

/// Cost of the optimum on NUMA at 4096 and at 128 bytes, and what CC transfers at 8192 bytes over that at 128.
type Way = [f64; 3];

struct BlockSizes(Vec<(&'static Listed, Machines)>, Vec<(&'static str, Way)>);

/// A program, and p-qsort in other ways, by their places in [`QSORTS`].
type Measured = (&'static Listed, Machines, Vec<(usize, Way)>);

impl Study for BlockSizes {
    type Measured = Measured;
    fn measure(program: &Program) -> Result<Measured, Failure> {
        let others =
            (0..).zip(program.listed.others()).map(|(i, (_, listed))| Ok((i, way(program.other(listed)?.machines()?))));
        Ok((program.listed, program.machines()?.clone(), others.collect::<Result<_, Failure>>()?))
    }
    fn conclude(all: Vec<Measured>) -> Result<Found, Failure> {
        let qsorts = all.iter().flat_map(|(_, _, others)| others).map(|(i, way)| (QSORTS[*i].0, *way)).collect();
        BlockSizes(all.into_iter().map(|(listed, machines, _)| (listed, machines)).collect(), qsorts).result()
    }
}

fn on_numa(machines: &Machines) -> [f64; 2] {
    [4096, 128].map(|b| machines.at(NUMA, b))
}

fn way(machines: &Machines) -> Way {
    let [pages, lines] = on_numa(machines);
    [pages, lines, transferred(machines, 8192) / transferred(machines, 128)]
}

/// Data part of the mean cost on CC: all beyond local references are moves, at bytes / 2 + 3 lambda + o_h each (table 6.2).
fn transferred(machines: &Machines, block_bytes: u64) -> f64 {
    let p = Parameters::default();
    let (data, rest) = (block_bytes as f64 / 2.0, 3.0 * f64::from(p.lambda) + f64::from(p.o_h));
    (machines.at(CC, block_bytes) - 1.0) * data / (data + rest)
}

impl BlockSizes {
    fn result(&self) -> Result<Found, Failure> {
        let figures = self.0.iter().map(|(listed, machines)| figure(listed, machines)).collect();
        let judged = [self.shapes(), self.best_blocks(), self.figures_of_the_text(), self.appendix()];
        let mut tables = vec![self.table(), self.other()];
        tables.extend(self.qsorts());
        Ok(Found {
            tables,
            notes: self.of(P_QSORT).map(|m| self.of_qsorts(&way(m))).into_iter().collect(),
            figures,
            judged: judged.into_iter().flatten().collect(),
            ..Found::default()
        })
    }
}

fn figure(listed: &Listed, machines: &Machines) -> Figure {
    let line = |(m, name): (usize, &&str)| Series {
        label: (*name).to_owned(),
        points: BLOCKS.iter().map(|b| (*b as f64, machines.at(m, *b))).collect(),
    };
    Figure {
        name: format!("E8-{}", listed.name),
        title: format!("{}: cost of the optimum over block size", listed.name),
        axes: ["block (bytes)", "mean cost per reference (local hits)"],
        log: true,
        lines: NAMES.iter().enumerate().map(line).collect(),
        ..Figure::default()
    }
}

/// Percent by which a machine at its best block exceeds CC+ at its own.
fn excess(machines: &Machines, machine: usize) -> f64 {
    100.0 * (machines.best(machine).1 / machines.best(CC_PLUS).1 - 1.0)
}

/// Table 6.4: CC, NUMA, DSM+, DSM in percent over CC+.
const TABLE_6_4: &str = include_str!("../data/bolosky_table_6_4.csv");
/// Another transcription of nine programs at the sizes of section 2.2, with table 6.5: the optimum on NUMA with 4096 and 128
/// bytes, by it and as printed; excess of CC, NUMA, DSM+, DSM; the factor that may lie between; what is to be said beyond it.
const OTHER: &str = include_str!("../data/bolosky_transcription.csv");
/// Points within which an entry of table 6.4 is near.
const NEAR: f64 = 10.0;

/// Figures of appendix A.
const APPENDIX: &str = "fig-A.1 e-hyd, fig-A.2 gauss, fig-A.3 p-life, fig-A.4 sorbyc, fig-A.5 matmult, fig-A.6 bsort, \
    fig-A.7 e-simp, fig-A.8 e-nasa, fig-A.9 p-matmult, fig-A.10 plytrace, fig-A.11 mp3d, fig-A.12 water, \
    fig-A.13 kmerge, fig-A.14 e-fft, fig-A.15 p-gauss, fig-A.16 chip";

impl BlockSizes {
    fn which(&self, wanted: impl Fn(&Machines) -> bool) -> Vec<&'static str> {
        self.0.iter().filter(|(_, m)| wanted(m)).map(|(listed, _)| listed.name).collect()
    }
    fn of(&self, name: &str) -> Option<&Machines> {
        self.0.iter().find(|(listed, _)| listed.name == name).map(|(_, machines)| machines)
    }

    fn table(&self) -> Table {
        let mut columns = vec!["program".to_owned()];
        columns.extend(NAMES.iter().map(|n| format!("{n}: best block")));
        columns.extend(NAMES[1..].iter().flat_map(|n| [format!("{n}: % over CC+"), format!("{n}: printed")]));
        let all = self.0.iter().map(|(listed, machines)| {
            let mut row = vec![listed.name.to_owned()];
            row.extend((0..NAMES.len()).map(|m| machines.best(m).0.to_string()));
            let theirs = rows(TABLE_6_4).find(|r| r[0] == listed.name).unwrap_or(vec![String::new(); NAMES.len()]);
            row.extend((1..NAMES.len()).flat_map(|m| [format!("{:.0}", excess(machines, m)), theirs[m].clone()]));
            row
        });
        Table { title: "best blocks, and the cost there over CC+ (table 6.4)".into(), columns, rows: all.collect() }
    }

    /// Nine programs beside another transcription of them.
    fn other(&self) -> Table {
        let row = |r: Vec<String>| {
            let machines = self.of(&r[0])?;
            let ours = on_numa(machines);
            let band = number(&r[9])?;
            let beyond = ours
                .iter()
                .zip([1, 3])
                .any(|(x, at)| number(&r[at]).is_some_and(|other| (x / other).max(other / x) > band));
            let over = (1..NAMES.len()).map(|m| format!("{:.0}", excess(machines, m))).collect::<Vec<_>>().join(", ");
            let printed = rows(TABLE_6_4).find(|t| t[0] == r[0]).map_or(String::new(), |t| t[1..5].join(", "));
            let why = match (beyond, r[10].as_str()) {
                (false, _) => "",
                (true, "") => "beyond the factor; not explained",
                (true, why) => why,
            };
            let cells = [
                &r[0],
                &two(ours[0]),
                &r[1],
                &r[2],
                &two(ours[1]),
                &r[3],
                &r[4],
                &over,
                &r[5..9].join(", "),
                &printed,
                &r[9],
                why,
            ];
            Some(cells.map(str::to_owned).to_vec())
        };
        let columns = columns(
            "program | NUMA 4096 B | another | table 6.5 | NUMA 128 B | another | table 6.5 | CC, NUMA, DSM+, \
             DSM: % over CC+ | another | table 6.4 | factor that may lie between | beyond it",
        );
        let title = "nine programs beside another transcription of them at the sizes of section 2.2".into();
        Table { title, columns, rows: rows(OTHER).filter_map(row).collect() }
    }

    /// p-qsort in other ways beside that of the list and the published ones; none if it was not run.
    fn qsorts(&self) -> Option<Table> {
        let row = |name: &str, cells: [String; 3]| std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>();
        let shown = |[pages, lines, data]: Way| [two(pages), two(lines), format!("{data:.0}")];
        let mut all = vec![row("forks one side, all processors at once", shown(way(self.of(P_QSORT)?)))];
        all.extend(self.1.iter().map(|(name, way)| row(name, shown(*way))));
        let published = rows(OTHER).find(|r| r[0] == P_QSORT)?;
        let [other, printed] = [[1, 3], [2, 4]].map(|at| at.map(|i| published[i].clone()));
        let [[pages, lines], [printed_pages, printed_lines]] = [other, printed];
        all.push(row("another transcription", [pages, lines, String::new()]));
        all.push(row("as printed (table 6.5, section 7.2)", [printed_pages, printed_lines, "43".into()]));
        let columns = columns("p-qsort | NUMA 4096 B | NUMA 128 B | data on CC, 8 KB over 128 B");
        Some(Table { title: "p-qsort in other ways that the text allows".into(), columns, rows: all })
    }

    /// What each way does to cost and data.
    fn of_qsorts(&self, ours: &Way) -> String {
        let times = |(name, way): &(&str, Way)| {
            let [pages, lines, data] = [0, 1, 2].map(|i| two(way[i] / ours[i]));
            format!("{name}: {pages} and {lines}, data {data}")
        };
        let all: Vec<String> = self.1.iter().map(times).collect();
        format!(
            "E8: the thesis does not say how many tasks of p-qsort run at once, nor who goes on with a side. Cost on NUMA at 4096 \
             and at 128 bytes, and data on CC at 8 KB over 128 bytes, times what they are for the program of the list: {}.",
            all.join("; ")
        )
    }

    fn shapes(&self) -> Vec<Judged> {
        let all = self.0.len();
        let dominated = self.which(|m| {
            BLOCKS.iter().all(|&b| {
                let [plus, cc, numa, dsm_plus, dsm] = [0, 1, 2, 3, 4].map(|i| m.at(i, b));
                plus <= numa && numa <= dsm_plus && dsm_plus <= dsm && plus <= cc && cc <= dsm
            })
        });
        // Below 64 bytes nothing is a tenth better than the better of 64 and 128.
        let flat = |m: &Machines, i: usize| {
            let here = m.at(i, 64).min(m.at(i, 128));
            BLOCKS.iter().take_while(|b| **b < 64).all(|b| m.at(i, *b) > 0.9 * here)
        };
        let little = self.which(|m| flat(m, CC_PLUS) && flat(m, NUMA));
        let gains =
            self.which(|m| [CC_PLUS, NUMA].iter().all(|i| m.at(*i, 64).min(m.at(*i, 128)) < 0.9 * m.at(*i, 512)));
        let worth = |m: &Machines, b: u64| [m.at(CC, b) / m.at(CC_PLUS, b), m.at(DSM, b) / m.at(DSM_PLUS, b)];
        let grows = self.which(|m| (0..2).all(|i| worth(m, 4096)[i] >= worth(m, 64)[i]));
        let jump = self.which(|m| m.at(NUMA, 8192) > 1.1 * m.at(NUMA, 4096));
        // What a page costs over a line on one machine, and what the worst machine costs over the best with one block.
        let by_size = |m: &Machines| m.at(NUMA, 4096) / m.at(NUMA, 128);
        let by_machine = |m: &Machines| m.at(NUMA, 128) / m.at(CC_PLUS, 128);
        let dominant = self.which(|m| by_size(m) > by_machine(m));
        let count = |n: &[&str]| format!("{} of {all}", n.len());
        vec![
            CLAIMS.ruled(
                "fig-6.1",
                count(&dominated),
                &Measures::of([("share of programs", part(dominated.len(), all))]),
                "at all twelve block sizes",
            ),
            CLAIMS.ruled(
                "block-64-128",
                format!("below: {}; above: {}", count(&little), count(&gains)),
                &Measures::default()
                    .value("share without gain below", part(little.len(), all))
                    .value("share with gain above", part(gains.len(), all)),
                "on CC+ and NUMA: programs where no block below 64 bytes is a tenth better than 64 or 128, and \
                 where one of these is a tenth better than 512",
            ),
            CLAIMS.ruled(
                "remote-with-size",
                count(&grows),
                &Measures::of([("share of programs", part(grows.len(), all))]),
                "CC over CC+ and DSM over DSM+ are larger at 4096 than at 64 bytes",
            ),
            CLAIMS.ruled(
                "jump-4-8",
                format!("{}: {}", count(&jump), names(jump.iter().copied())),
                &Measures::default().value("share", part(jump.len(), all)),
                "programs of which NUMA is more than a tenth dearer at 8192 than at 4096 bytes. Arrays of ours \
                 begin on pages, as theirs",
            ),
            CLAIMS.ruled(
                "block-size-dominant",
                count(&dominant),
                &Measures::of([("share of programs", part(dominant.len(), all))]),
                "NUMA with 4096 over 128 bytes is a larger factor than NUMA over CC+ at 128 bytes",
            ),
        ]
    }

    fn best_blocks(&self) -> Vec<Judged> {
        let all = self.0.len();
        let within = |i: usize, percent: f64| self.which(|m| excess(m, i) <= percent).len();
        let (cc, numa) = (within(CC, 30.0), within(NUMA, 30.0));
        let (plus, dsm) = (within(DSM_PLUS, 50.0), within(DSM, 50.0));
        let beyond = self.0.iter().filter(|(l, m)| !l.presto && m.best(NUMA).1 > 1.2 * m.best(CC).1);
        let beyond: Vec<&str> = beyond.map(|(l, _)| l.name).collect();
        let pairs = || rows(TABLE_6_4).filter_map(|r| Some((self.of(&r[0])?, r)));
        let off = |m: &Machines, r: &[String], i: usize| (excess(m, i) - number(&r[i]).unwrap_or(f64::NAN)).abs();
        let near = |i: usize| pairs().filter(|(m, r)| off(m, r, i) <= NEAR).count();
        let by_machine = [CC, NUMA, DSM_PLUS, DSM].map(near);
        let total = pairs().count();
        let ordered = self.which(|m| {
            let [_, cc, numa, plus, dsm] = [0, 1, 2, 3, 4].map(|i| m.best(i).1);
            numa <= plus && plus <= dsm && cc <= dsm
        });
        vec![
            CLAIMS.ruled(
                "table-6.4",
                format!(
                    "in order: {} of {all}; within {NEAR} points of {total}: CC {}, NUMA {}, DSM+ {}, DSM {}",
                    ordered.len(),
                    by_machine[0],
                    by_machine[1],
                    by_machine[2],
                    by_machine[3]
                ),
                &Measures::default()
                    .value("share in order", part(ordered.len(), all))
                    .value("least share near", by_machine.iter().map(|n| part(*n, total)).fold(1.0, f64::min)),
                "in order NUMA, DSM+, DSM, and entries near the printed ones, by machine",
            ),
            CLAIMS.ruled(
                "best-cc-numa",
                format!("CC {cc}, NUMA {numa} of {all} within 30 %"),
                &Measures::of([("share of programs, CC", part(cc, all)), ("NUMA", part(numa, all))]),
                "",
            ),
            CLAIMS.ruled(
                "best-dsm",
                format!("DSM+ {plus}, DSM {dsm} of {all} within 50 %"),
                &Measures::of([("share of programs, DSM+", part(plus, all)), ("DSM", part(dsm, all))]),
                "",
            ),
            CLAIMS.ruled(
                "numa-20-of-cc",
                format!("beyond 20 %: {}", names(beyond.iter().copied())),
                &Measures::default().names("beyond", beyond),
                "programs outside Presto, NUMA over CC, each at its best block. In table 6.4 the one is chip",
            ),
        ]
    }

    fn figures_of_the_text(&self) -> Vec<Judged> {
        let cholesky = self.falling("fig-6.4", "cholesky");
        let qsort = self.falling("fig-6.5", "p-qsort");
        let Some(sor) = self.of("sorbyr") else { return vec![cholesky, qsort] };
        let best: Vec<u64> = (0..NAMES.len()).map(|m| sor.best(m).0).collect();
        let rises = |m: usize| (sor.at(m, 64) / sor.at(m, 1024)).min(sor.at(m, 16) / sor.at(m, 64));
        let rise = (0..NAMES.len()).map(rises).fold(f64::INFINITY, f64::min);
        let ours = format!("best blocks {}", best.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
        let why = "sorbyr; agrees if all five minima lie there and all curves rise below";
        vec![
            cholesky,
            qsort,
            CLAIMS.ruled(
                "fig-6.6",
                ours,
                &Measures::of([
                    ("least best block", best.iter().copied().min().unwrap_or(0) as f64),
                    ("greatest best block", best.iter().copied().max().unwrap_or(0) as f64),
                    ("least rise below", rise),
                ]),
                why,
            ),
        ]
    }

    /// Whether the curves of a program fall with the block down to 128 bytes.
    fn falling(&self, id: &'static str, name: &str) -> Judged {
        let Some(m) = self.of(name) else { return Judged::not_run(id) };
        let factor = |i: usize| m.at(i, 4096) / m.at(i, 128);
        let factors: Vec<f64> = (0..NAMES.len()).map(factor).collect();
        let ours = factors.iter().map(|f| format!("{f:.1}")).collect::<Vec<_>>().join(", ");
        let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
        let why = format!("{name}, cost at 4096 bytes over that at 128 on all five machines");
        CLAIMS.ruled(id, ours, &Measures::of([("least factor", least)]), &why)
    }

    fn appendix(&self) -> Vec<Judged> {
        // Of these the thesis says that NUMA with pages beats CC+ with lines.
        let behaved = ["fig-A.2", "fig-A.6", "fig-A.13"];
        let judge = |(id, name): (&'static str, &str)| match behaved.contains(&id) {
            true => self.well_behaved(id, name),
            false => self.falling(id, name),
        };
        APPENDIX.split(", ").filter_map(|pair| pair.split_once(' ')).map(judge).collect()
    }

    fn well_behaved(&self, id: &'static str, name: &str) -> Judged {
        let Some(m) = self.of(name) else { return Judged::not_run(id) };
        let (numa, plus) = (m.at(NUMA, 4096), m.at(CC_PLUS, 64));
        let both = Measures::of([("NUMA with pages", numa), ("CC+ with lines", plus)]);
        CLAIMS.ruled(id, format!("NUMA {numa:.2}, CC+ {plus:.2}"), &both, name)
    }
}
