//! Tables of the study beside ours.
use super::cells::{pair, shown, table, words};
use super::machines::basic;
use super::measure::{EMULATED, MEASURED, RowOf, SIMULATED, Study, above, mean};
use super::printed::{
    Printed, TABLE_1_2, TABLE_1_3, TABLE_1_4, TABLE_1_7, TABLE_1_8, TABLE_1_9, TABLE_1_10, TABLE_1_11,
};
use super::runs::{Outcome, Runs};
use super::settings::{CLUSTERS, EMULATED as SHAPES, LADDER, NOTIFICATION, OPTIONS, PAGES, SWEEPS, Setting};
use homenode_judging::doc::Table;

/// Tables of which each recording has its own numbers, for medians and ranges.
pub(super) fn tables(study: &Study<'_>) -> Vec<Table> {
    let mut all = vec![table_1_2(study), table_1_3(study), ladder(study), hardware(study), table_1_4(study)];
    all.extend([counterfactuals(study), importance(study), clusters(study)]);
    all.extend([speedups(study), shares(study, 32), shares(study, 64), protection(study), efficiency(study)]);
    all
}

/// Tables of the first recording alone.
pub(super) fn more_tables(study: &Study<'_>) -> Vec<Table> {
    let mut all = vec![programs(study), basic()];
    all.extend(SWEEPS.iter().map(|sweep| {
        let names = sweep.points.iter().map(|p| p.to_string());
        let row = |(name, r): (&'static str, &Runs)| {
            let best = r.cycles(&Setting::point(sweep, sweep.points[0]));
            let at = |p: &u64| shown(above(r.cycles(&Setting::point(sweep, *p)), best), 1);
            std::iter::once(name.to_owned()).chain(sweep.points.iter().map(at)).collect()
        };
        let title = format!("figure {}: slowdown in percent over the best point, by {}", sweep.figure, sweep.parameter);
        table(title, std::iter::once("program".into()).chain(names).collect(), study.rows(SIMULATED).map(row).collect())
    }));
    all.extend([pages(study), round_robin(study), limits(study), options(study), contradictions()]);
    all
}

fn programs(study: &Study<'_>) -> Table {
    let row = |r: &Runs| {
        let l = r.listed;
        let of = |row: Option<&'static str>| row.unwrap_or("-").to_owned();
        let refs = r.get(&Setting::achievable()).or_else(|| r.get(&Setting::measured("base")));
        let refs = refs.or_else(|| r.get(&Setting::emulated((8, 4)))).map_or(f64::NAN, |o| o.refs as f64 / 1e6);
        vec![l.name.to_owned(), of(l.simulated), of(l.measured), of(l.emulated), shown(refs, 1), l.stands.to_owned()]
    };
    let columns = ["ours", "table 1.2", "table 1.3", "table 1.6", "million references", "what ours is"];
    table("programs", words(&columns), study.0.iter().map(row).collect())
}

/// A table with columns printed and ours for each of several values.
fn beside(study: &Study<'_>, of: RowOf, title: &str, values: &[(&str, Cell<'_>)], digits: usize) -> Table {
    let columns = values.iter().flat_map(|(name, _)| [format!("{name}, printed"), "ours".to_owned()]);
    let row = |(name, r): (&'static str, &Runs)| {
        let cells = values.iter().flat_map(|(_, cell)| {
            let (printed, ours) = cell(name, r);
            pair(printed, ours, digits)
        });
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let columns = std::iter::once("program".to_owned()).chain(columns).collect();
    table(title, columns, study.rows(of).map(row).collect())
}

type Cell<'a> = &'a dyn Fn(&'static str, &Runs) -> (f64, f64);

fn table_1_2(study: &Study<'_>) -> Table {
    let (achievable, best) = (Setting::achievable(), Setting::best());
    let printed = |name, column| TABLE_1_2.number(&[("application", name)], column);
    beside(
        study,
        SIMULATED,
        "table 1.2: speedup on 16 processors, 4 nodes of 4",
        &[
            ("best", &|n, r| (printed(n, "best_speedup_16p"), r.speedup(&best))),
            ("achievable", &|n, r| (printed(n, "achievable_speedup_16p"), r.speedup(&achievable))),
            ("ideal", &|n, r| (printed(n, "ideal_speedup_16p"), r.get(&achievable).map_or(f64::NAN, Outcome::ideal))),
        ],
        1,
    )
}

fn of_step(r: &Runs, step: &'static str, part: fn(&Outcome) -> u64) -> f64 {
    r.get(&Setting::measured(step)).map_or(f64::NAN, |o| part(o) as f64)
}

fn table_1_3(study: &Study<'_>) -> Table {
    let printed = |name, column| TABLE_1_3.number(&[("application", name)], column);
    let reduced = |r: &Runs, from, to, part| 100.0 * (1.0 - of_step(r, to, part) / of_step(r, from, part));
    let [data, lock]: [fn(&Outcome) -> u64; 2] = [|o| o.data, |o| o.lock];
    beside(
        study,
        MEASURED,
        "table 1.3: GeNIMA over Base in percent of its time; less waiting for pages by remote fetches, and by all of GeNIMA; less for locks by those of the interface",
        &[
            ("overall", &|n, r| {
                let ours = above(r.cycles(&Setting::measured("base")), r.cycles(&Setting::measured("nil")));
                (printed(n, "overall_improvement_base_to_genima_percent"), ours)
            }),
            ("data DW-RF", &|n, r| {
                (printed(n, "data_wait_improvement_dw_to_rf_percent"), reduced(r, "dw", "rf", data))
            }),
            ("data DW-GeNIMA", &|n, r| {
                (printed(n, "data_wait_improvement_dw_to_genima_percent"), reduced(r, "dw", "nil", data))
            }),
            ("lock DD-GeNIMA", &|n, r| {
                (printed(n, "lock_time_improvement_dd_to_genima_percent"), reduced(r, "dd", "nil", lock))
            }),
        ],
        1,
    )
}

/// Figure 1.10.
fn hardware(study: &Study<'_>) -> Table {
    let row = |(name, r): (&'static str, &Runs)| {
        let [base, genima] = ["base", "nil"].map(|step| shown(r.speedup(&Setting::measured(step)), 2));
        vec![name.to_owned(), shown(r.hardware, 2), base, genima]
    };
    let columns = ["program", "CC-NUMA (machine ascoma, 16 nodes)", "Base", "GeNIMA"];
    let title =
        "figure 1.10: speedup on 16 processors that share memory in hardware, and on the cluster that was measured";
    table(title, words(&columns), study.rows(MEASURED).map(row).collect())
}

/// Figure 1.8, and with a notification alone as the price of an interrupt.
fn ladder(study: &Study<'_>) -> Table {
    let cheap = |step| Setting::measured(step).with(NOTIFICATION);
    let row = |(name, r): (&'static str, &Runs)| {
        let steps = LADDER.map(|step| shown(r.speedup(&Setting::measured(step)), 2));
        let gain = above(r.cycles(&cheap("base")), r.cycles(&cheap("nil")));
        std::iter::once(name.to_owned()).chain(steps).chain([shown(gain, 1)]).collect()
    };
    let mut columns = words(&["program"]);
    columns.extend(words(&LADDER));
    columns.push("GeNIMA over Base in percent if an interrupt is but a notification".into());
    table("figure 1.8: speedup on 16 processors by step", columns, study.rows(MEASURED).map(row).collect())
}

fn table_1_4(study: &Study<'_>) -> Table {
    let printed = |name, column| TABLE_1_4.number(&[("application", name)], column);
    let genima = |r: &Runs, of: fn(&Outcome) -> f64| r.get(&Setting::measured("nil")).map_or(f64::NAN, of);
    beside(
        study,
        MEASURED,
        "table 1.4: percent of the time in barriers; of pages, locks and barriers together, the part that is protection",
        &[
            ("barrier", &|n, r| (printed(n, "barrier_time_percent_of_execution"), genima(r, |o| o.share(o.barrier)))),
            ("protection", &|n, r| {
                let ours = |o: &Outcome| 100.0 * o.protection as f64 / (o.data + o.lock + o.barrier).max(1) as f64;
                (printed(n, "mprotect_percent_of_svm_overhead"), genima(r, ours))
            }),
        ],
        1,
    )
}

fn each_simulated(
    study: &Study<'_>,
    title: &str,
    columns: &[&str],
    cells: impl Fn(&Runs) -> Vec<f64>,
    digits: usize,
) -> Table {
    let row = |(name, r): (&'static str, &Runs)| {
        std::iter::once(name.to_owned()).chain(cells(r).into_iter().map(|v| shown(v, digits))).collect()
    };
    let columns: Vec<&str> = std::iter::once("program").chain(columns.iter().copied()).collect();
    table(title, words(&columns), study.rows(SIMULATED).map(row).collect())
}

fn counterfactuals(study: &Study<'_>) -> Table {
    let (achievable, best) = (Setting::achievable(), Setting::best());
    let local = |base: &Setting| base.clone().with("local-faults");
    each_simulated(
        study,
        "section 1.3.5: speedup if pages of other nodes were there when they are touched; if protection took no time",
        &["best", "pages there", "achievable", "pages there", "no protection"],
        |r| {
            let no_protect = achievable.clone().with("no-protect");
            [&best, &local(&best), &achievable, &local(&achievable), &no_protect].map(|s| r.speedup(s)).into()
        },
        2,
    )
}

fn importance(study: &Study<'_>) -> Table {
    let mut columns = words(&["program"]);
    for way in ["slowdown %", "elasticity", "regained %"] {
        columns.extend(SWEEPS.iter().map(|s| format!("{}: {way}", s.parameter)));
    }
    type Way = fn(&Runs, &super::settings::Sweep) -> f64;
    let ways: [(Way, usize); 3] = [(Study::slowdown, 1), (Study::elasticity, 3), (Study::regained, 1)];
    let values = |r: &Runs| -> Vec<f64> {
        ways.iter().flat_map(|(way, _)| SWEEPS.iter().map(|s| way(r, s)).collect::<Vec<_>>()).collect()
    };
    let digits = |i: usize| ways[i / SWEEPS.len()].1;
    let line = |name: &str, values: &[f64]| -> Vec<String> {
        let cells = values.iter().enumerate().map(|(i, v)| shown(*v, digits(i)));
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let all: Vec<(&str, Vec<f64>)> = study.rows(SIMULATED).map(|(name, r)| (name, values(r))).collect();
    let means: Vec<f64> =
        (0..ways.len() * SWEEPS.len()).map(|i| mean(&all.iter().map(|(_, v)| v[i]).collect::<Vec<_>>())).collect();
    let mut rows: Vec<Vec<String>> = all.iter().map(|(name, values)| line(name, values)).collect();
    rows.push(line("mean", &means));
    let title = "importance in three ways: slowdown over the whole range; percent of time by percent that the parameter is worse; time that is regained at its best";
    table(title, columns, rows)
}

fn clusters(study: &Study<'_>) -> Table {
    let columns = CLUSTERS.map(|c| format!("{c} a node"));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "figure 1.7: speedup on 16 processors by processors of a node (16: a bus, no shared virtual memory)";
    each_simulated(study, title, &columns, |r| CLUSTERS.map(|c| r.speedup(&Setting::clustered(c))).into(), 2)
}

fn pages(study: &Study<'_>) -> Table {
    let columns = PAGES.map(|p| format!("{} KB", p / 1024));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    each_simulated(
        study,
        "speedup by page size (O6)",
        &columns,
        |r| PAGES.map(|p| r.speedup(&Setting::paged(p))).into(),
        2,
    )
}

fn round_robin(study: &Study<'_>) -> Table {
    let dear = || Setting::achievable().with("interrupts=10000");
    each_simulated(
        study,
        "interrupts to processor 0 or round robin: speedup with achievable interrupts, and with such of 10000 cycles",
        &["processor 0", "round robin", "10000: processor 0", "round robin"],
        |r| {
            let all =
                [Setting::achievable(), Setting::achievable().with("round-robin"), dear(), dear().with("round-robin")];
            all.map(|s| r.speedup(&s)).into()
        },
        2,
    )
}

/// Time classes and how busy each kind of server is, at the achievable values.
fn limits(study: &Study<'_>) -> Table {
    let columns = [
        "compute",
        "local",
        "pages",
        "locks",
        "barriers",
        "interrupted",
        "busiest bus",
        "I/O bus",
        "NI out",
        "link",
        "NI in",
    ];
    let cells = |r: &Runs| -> Vec<f64> {
        let Some(o) = r.get(&Setting::achievable()) else { return vec![f64::NAN; columns.len()] };
        let classes = [o.compute, o.local, o.data, o.lock, o.barrier, o.interrupted].map(|c| o.share(c));
        classes.into_iter().chain(o.used).collect()
    };
    let title = "what processors do at the achievable values, in percent of their time; percent of the run that the busiest server of each kind works";
    each_simulated(study, title, &columns, cells, 1)
}

fn speedups(study: &Study<'_>) -> Table {
    let mut columns = words(&["program"]);
    columns.extend(SHAPES.iter().flat_map(|(n, p)| [format!("{n}x{p}, printed"), "ours".to_owned()]));
    let row = |(name, r): (&'static str, &Runs)| {
        let cell = |(n, p): &(u16, u16)| {
            let [all, each] = [n * p, *p].map(|v| v.to_string());
            let key = [("application", name), ("processors", all.as_str()), ("processors_per_node", each.as_str())];
            pair(TABLE_1_9.number(&key, "speedup"), r.speedup(&Setting::emulated((*n, *p))), 1)
        };
        std::iter::once(name.to_owned()).chain(SHAPES.iter().flat_map(cell)).collect()
    };
    table("tables 1.6 and 1.9: speedup of the emulated cluster", columns, study.rows(EMULATED).map(row).collect())
}

/// A part of the time: name as printed, and cycles.
type Part = (&'static str, fn(&Outcome) -> u64);

/// Tables 1.7 and 1.8: shares of the time.
fn shares(study: &Study<'_>, processors: u16) -> Table {
    const PARTS: [Part; 5] = [
        ("data", |o| o.data),
        ("barrier", |o| o.barrier),
        ("lock", |o| o.lock),
        ("mprotect", |o| o.protection),
        ("diff", |o| o.diffs),
    ];
    let (printed, wide): (Printed, &[u16]) =
        if processors == 32 { (TABLE_1_7, &[4]) } else { (TABLE_1_8, &[4, 8, 16]) };
    let mut columns = words(&["program"]);
    for (name, _) in PARTS {
        for w in wide {
            columns.extend([format!("{name}, {w} a node, printed"), "ours".to_owned()]);
        }
    }
    let row = |(name, r): (&'static str, &Runs)| {
        let mut cells = vec![name.to_owned()];
        for (part, of) in PARTS {
            for w in wide {
                let width = w.to_string();
                let theirs = match w {
                    4 => printed.number(&[("application", name), ("component", part)], "origin2000_percent_of_time"),
                    _ => {
                        let key = [("application", name), ("component", part), ("processors_per_node", width.as_str())];
                        TABLE_1_11.number(&key, "percent_of_time")
                    }
                };
                let ours = r.get(&Setting::emulated((processors / w, *w))).map_or(f64::NAN, |o| o.share(of(o)));
                cells.extend(pair(theirs, ours, 1));
            }
        }
        cells
    };
    let which = if processors == 32 { "table 1.7" } else { "tables 1.8 and 1.11" };
    let title = format!("{which}: percent of the time on {processors} emulated processors");
    table(title, columns, study.rows(EMULATED).map(row).collect())
}

fn protection(study: &Study<'_>) -> Table {
    let cell = |width: u16| {
        move |name: &'static str, r: &Runs| {
            let each = width.to_string();
            let key = [("application", name), ("processors_per_node", each.as_str())];
            let mean = |o: &Outcome| o.protection as f64 / o.protections.max(1) as f64 / super::measure::ORIGIN_MHZ;
            let ours = r.get(&Setting::emulated((64 / width, width))).map_or(f64::NAN, mean);
            (TABLE_1_10.number(&key, "mprotect_cost_microseconds"), ours)
        }
    };
    let cells = [4, 8, 16].map(cell);
    let values: [(&str, Cell<'_>); 3] = [("4 a node", &cells[0]), ("8 a node", &cells[1]), ("16 a node", &cells[2])];
    beside(study, EMULATED, "table 1.10: microseconds of a call that protects pages, 64 processors", &values, 1)
}

/// Section 1.6: the three ways side by side, with what each leaves out.
fn efficiency(study: &Study<'_>) -> Table {
    let speedup = |of: RowOf, row: &str, setting: &Setting, processors: f64| {
        let found = study.rows(of).find(|(name, _)| *name == row);
        shown(found.map_or(f64::NAN, |(_, r)| r.speedup(setting)) / processors, 2)
    };
    let rows = [
        ("FFT", "FFT", "FFTst"),
        ("LU", "LU-contiguous", "LU"),
        ("Volrend", "Volrend-stealing", "volrend"),
        ("Radix", "Radix-local", "radixL"),
        ("Water(spatial)", "Water-spatial", "waterF"),
    ];
    let row = |(simulated, measured, emulated): &(&str, &str, &str)| {
        vec![
            (*simulated).to_owned(),
            speedup(SIMULATED, simulated, &Setting::best(), 16.0),
            speedup(MEASURED, measured, &Setting::measured("nil"), 16.0),
            speedup(EMULATED, emulated, &Setting::emulated((8, 4)), 32.0),
        ]
    };
    let columns = [
        "program",
        "simulated, 16 processors, best values (left out: TLB, priorities of the bus, full queues)",
        "the measured cluster, 16, GeNIMA (left out: scheduling but for a dear interrupt)",
        "the emulated cluster, 32, GeNIMA (left out: copies by processors, distances inside a node)",
    ];
    table("section 1.6: efficiency, speedup over processors", words(&columns), rows.iter().map(row).collect())
}

fn options(study: &Study<'_>) -> Table {
    let row = |(name, r): (&'static str, &Runs)| {
        let plain = Setting::emulated((8, 4));
        let saved = |option: &str| shown(100.0 * (1.0 - r.cycles(&plain.clone().with(option)) / r.cycles(&plain)), 1);
        std::iter::once(name.to_owned()).chain(OPTIONS.map(saved)).collect()
    };
    let mut columns = words(&["program"]);
    columns.extend(words(&OPTIONS));
    let title = "section 1.5.1: percent of the time that an option of the protocol saves, 8 nodes of 4";
    table(title, columns, study.rows(EMULATED).map(row).collect())
}

/// What the text says twice, and otherwise.
fn contradictions() -> Table {
    let rows = [
        ("speedup of FFTst on 32 processors", "23.8 (tables 1.6, 1.9)", "23.6 (section 1.8)"),
        ("efficiency of Volrend, emulated", "17.8 / 32 = 0.56 (table 1.6)", "0.74 (section 1.6)"),
        ("data wait of volrend on 64 processors", "2.6 % (table 1.8)", "2.8 % (table 1.11)"),
        ("mprotect on the cluster", "10 to 15 us (section 1.4.2)", "40 to 80 us (section 1.5.3)"),
        ("a word, one way", "14 us (table 1.5)", "18 us (section 1.4.2)"),
        ("a word, fetched", "31 us (table 1.5)", "40 us (section 1.4.2)"),
        ("data wait with fast networks", "at most 20 % (section 1.5.2)", "15 % (section 1.8)"),
        ("interrupt costs of figure 1.6", "six bars", "seven values"),
        ("applications", "11 (section 1.3.4)", "ten rows (table 1.2)"),
        ("LU: best and achievable", "13.7 (best)", "14.0 (achievable, table 1.2)"),
    ];
    let rows = rows.iter().map(|(what, one, other)| words(&[what, one, other])).collect();
    table("what the text says in two ways", words(&["what", "one place", "another"]), rows)
}
