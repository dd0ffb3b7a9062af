//! Tables 1 to 6 of the study beside ours, and pictures 2 and 3.
use super::program::Change;
use super::runs::{NEVER, Runs, switches};
use homenode_judging::doc::Table;
use homenode_reproducing::stacked::Stacked;
use homenode_timed::memory::{Row, relations};

/// A miss of more than this part is explained.
const MISS: f64 = 0.15;

fn table(title: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { title: title.to_owned(), columns: columns.iter().map(|c| (*c).to_owned()).collect(), rows }
}

/// All tables of one recording of every program.
pub(super) fn tables(all: &[Runs]) -> Vec<Table> {
    let mut tables = vec![overhead(all), bits(all)];
    tables.extend(all.first().map(machine));
    tables.extend([cards(all), times(all), misses(all), relations_of(all)]);
    tables
}

fn off(printed: f64, ours: f64) -> bool {
    (ours - printed).abs() > MISS * printed
}

/// Tables 5 and 6.
fn cards(all: &[Runs]) -> Table {
    let card = |r: &Runs| {
        let l = &r.layout;
        let [home, remote, ideal] = r.listed.pages;
        let [printed_all, printed_relocated] = r.listed.refetched;
        let (remote_all, ours) = (l.remote_pages.iter().sum::<u64>(), l.ideal_pressure());
        let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let (printed_share, share) = (share(printed_relocated, printed_all), share(r.relocated, remote_all));
        let pairs = [
            (home as f64, l.home_max() as f64),
            (remote as f64, l.remote_max() as f64),
            (ideal as f64, ours),
            (printed_share, share),
        ];
        let misses = pairs.iter().any(|(printed, ours)| off(*printed, *ours));
        vec![
            r.listed.name.to_owned(),
            home.to_string(),
            l.home_max().to_string(),
            remote.to_string(),
            l.remote_max().to_string(),
            ideal.to_string(),
            format!("{ours:.0}"),
            printed_all.to_string(),
            remote_all.to_string(),
            printed_relocated.to_string(),
            r.relocated.to_string(),
            format!("{printed_share:.1}"),
            format!("{share:.1}"),
            if misses { r.listed.why.to_owned() } else { String::new() },
        ]
    };
    table(
        "tables 5 and 6: pages of 4 KiB, printed and ours (the printed ones are of size P)",
        &[
            "program",
            "home pages",
            "ours",
            "max remote",
            "ours",
            "ideal %",
            "ours",
            "remote in all",
            "ours",
            "refetched 32 times",
            "ours",
            "%",
            "ours",
            "where ours is off by more than 15 %",
        ],
        all.iter().map(card).collect(),
    )
}

/// Tables 3 and 4.
fn machine(first: &Runs) -> Table {
    let h = &first.hybrid;
    let [hit, rac, local, remote, forward] = first.latencies.map(|l| l.to_string());
    let row = |what: &str, printed: &str, ours: String| vec![what.to_owned(), printed.to_owned(), ours];
    table(
        "tables 3 and 4: the machine, printed and ours",
        &["what", "printed", "ours"],
        vec![
            row("L1, bytes", "8192", h.cache_bytes.to_string()),
            row("L1, bytes of a line", "32", h.line_bytes.to_string()),
            row("RAC, bytes", "128", h.chunk_bytes.to_string()),
            row("network, cycles of propagation and fall-through, three stages", "15", h.network.to_string()),
            row("banks", "4", h.banks.to_string()),
            row("L1 hit, cycles", "1", hit),
            row("RAC, cycles", "23", rac),
            row("local memory, cycles", "58", local),
            row("remote memory, cycles", "147", remote),
            row("a forward, cycles more", "-", forward),
        ],
    )
}

fn key(r: &Runs, row: &Row) -> Vec<String> {
    let pressure = row.pressure.map_or_else(|| "-".to_owned(), |p| p.to_string());
    vec![r.listed.name.to_owned(), row.architecture.to_owned(), pressure]
}

fn each_run(all: &[Runs], title: &str, columns: &[&str], cells: impl Fn(&Runs, &Row) -> Vec<String>) -> Table {
    let columns: Vec<&str> =
        ["program", "architecture", "pressure %"].into_iter().chain(columns.iter().copied()).collect();
    let row = |r: &Runs, row: &Row| key(r, row).into_iter().chain(cells(r, row)).collect();
    table(title, &columns, all.iter().flat_map(|r| r.ours().into_iter().map(move |one| row(r, one))).collect())
}

/// Table 1.
fn overhead(all: &[Runs]) -> Table {
    each_run(
        all,
        "table 1: terms of the overhead in thousands of cycles, beside what processors were stalled for shared memory and K-OVERHD",
        &["N_pagecache T", "N_remote T", "N_cold T", "T_overhead", "sum", "stalled"],
        |_, row| {
            let o = &row.overhead;
            let terms =
                [o.page_cache, o.remote, o.cold, o.kernel, o.cycles(), row.times.shared + row.times.kernel_overhead];
            terms.map(|cycles| (cycles / 1000).to_string()).into()
        },
    )
}

/// Table 2.
fn bits(all: &[Runs]) -> Table {
    each_run(
        all,
        "table 2: kilobits of state on all nodes, of each run: 2 bits a chunk and 44 a page of page caches, 6 a page and node where pages are relocated",
        &["page cache, frames", "kbit"],
        |_, row| vec![row.sizes.page_cache.to_string(), format!("{:.1}", row.state_bits as f64 / 1000.0)],
    )
}

const TIMES: [&str; 6] = ["U-SH-MEM", "K-BASE", "K-OVERHD", "U-INSTR", "U-LC-MEM", "SYNC"];

/// The six classes in CC-NUMA's time; processors that wait for the last count as SYNC.
fn classes(r: &Runs, row: &Row) -> Vec<f64> {
    let base = r.row(0, "ccnuma", 0).map_or(1, |b| b.cycles.max(1)) as f64 * r.layout.nodes as f64;
    let t = &row.times;
    let all = [t.shared, t.kernel_base, t.kernel_overhead, t.instructions, t.private, t.synchronisation + row.idle];
    all.map(|cycles| cycles as f64 / base).into()
}

fn times(all: &[Runs]) -> Table {
    let columns: Vec<&str> = ["time"].into_iter().chain(TIMES).collect();
    each_run(all, "figures 2 and 3, left: time over CC-NUMA's, and what it went into", &columns, |r, row| {
        let classes = classes(r, row);
        let time = classes.iter().sum::<f64>();
        std::iter::once(time).chain(classes).map(|v| format!("{v:.3}")).collect()
    })
}

const MISSES: [&str; 7] = ["HOME", "S-COMA", "RAC", "COLD", "COLD induced", "coherence", "CONF/CAPC"];

fn counts(row: &Row) -> [u64; 7] {
    let c = &row.total;
    [c.home, c.page_cache, c.rac, c.cold, c.cold_induced, c.coherence, c.refetch]
}

fn misses(all: &[Runs]) -> Table {
    let columns: Vec<&str> =
        MISSES.into_iter().chain(["relocated", "refused", "evicted", "failed runs of the daemon"]).collect();
    each_run(
        all,
        "figures 2 and 3, right: where misses were satisfied; coherence stands with COLD in the study",
        &columns,
        |_, row| {
            let c = &row.total;
            let others = [c.relocated, c.refused, c.evicted, c.daemon_failures];
            counts(row).into_iter().chain(others).map(|n| n.to_string()).collect()
        },
    )
}

/// Relations 1 to 5; the first three are about R-NUMA and VC-NUMA, which begin at home.
fn relations_of(all: &[Runs]) -> Table {
    let of = |r: &Runs| {
        let rows: Vec<Row> = r.ours().into_iter().cloned().collect();
        let all = relations(&rows, &r.layout).into_iter();
        let name = r.listed.name.to_owned();
        let row = move |x: homenode_timed::memory::Relation| {
            let [a, b] = x.values.map(|v| v.to_string());
            let holds = if x.holds { "holds" } else { "does not hold" }.to_owned();
            let (number, pressure) = (x.number.to_string(), x.pressure.to_string());
            vec![name.clone(), x.architecture.to_owned(), pressure, number, x.words.to_owned(), a, b, holds]
        };
        all.map(row).collect::<Vec<_>>()
    };
    table(
        "relations 1 to 5 (section 2.4)",
        &["program", "architecture", "pressure %", "relation", "says", "of the hybrid", "of the other", ""],
        all.iter().flat_map(of).collect(),
    )
}

/// Where pages begin and how hybrids back off, apart: times over CC-NUMA's.
pub(super) fn mixtures(all: &[Runs]) -> Table {
    const MIXED: [(&str, &str, &str); 6] = [
        ("CC-NUMA", "none (R-NUMA)", "rnuma"),
        ("CC-NUMA", "VC-NUMA's", "vcnuma"),
        ("CC-NUMA", "AS-COMA's", "home-first-ascoma"),
        ("S-COMA", "none", "scoma-first"),
        ("S-COMA", "VC-NUMA's", "scoma-first-vcnuma"),
        ("S-COMA", "AS-COMA's (AS-COMA)", "ascoma"),
    ];
    let row = |r: &Runs, (first, back, name): (&str, &str, &str)| {
        let mut cells = vec![r.listed.name.to_owned(), first.to_owned(), back.to_owned()];
        let time = |p: u32| match r.time(0, name, p) {
            t if t.is_nan() => "-".to_owned(),
            t => format!("{t:.3}"),
        };
        cells.extend([10, 30, 50, 70, 90].map(time));
        cells
    };
    table(
        "the two inventions apart: time over CC-NUMA's, first recording",
        &["program", "new pages", "back-off", "10 %", "30 %", "50 %", "70 %", "90 %"],
        all.iter().flat_map(|r| MIXED.map(|m| row(r, m))).collect(),
    )
}

/// What each switched open point does: AS-COMA, R-NUMA and VC-NUMA at 90 %, and which verdicts turn.
pub(super) fn sensitivities(all: &[Runs], turned: &[Vec<&'static str>]) -> Table {
    let row = |(number, switch): (usize, super::runs::Switch)| {
        let time = |r: &Runs| {
            let last = r.listed.pressures.last().copied().unwrap_or(0);
            let times = ["scoma", "rnuma", "vcnuma", "ascoma"].map(|a| format!("{:.2}", r.time(number, a, last)));
            times.join(" ")
        };
        let verdicts = turned.get(number).filter(|t| !t.is_empty()).map_or_else(|| "-".to_owned(), |t| t.join(", "));
        [switch.name, switch.words.to_owned()].into_iter().chain(all.iter().map(time)).chain([verdicts]).collect()
    };
    let names = all.iter().map(|r| r.listed.name);
    let columns: Vec<&str> = ["switched", "to"].into_iter().chain(names).chain(["verdicts that turn"]).collect();
    let rows = switches().into_iter().enumerate().filter(|(n, _)| *n != NEVER).map(row).collect();
    table(
        "open points, one at a time: times over CC-NUMA's of S-COMA, R-NUMA, VC-NUMA, AS-COMA at the highest pressure, first recording",
        &columns,
        rows,
    )
}

/// What each changed program does, and which verdicts turn.
pub(super) fn changes(all: &[Runs], changed: &[(&'static Change, Runs)], turned: &[Vec<&'static str>]) -> Table {
    let times = |r: &Runs| {
        let last = r.listed.pressures.last().copied().unwrap_or(0);
        [r.listed.pressures[0], last].map(|p| {
            let times = ["scoma", "rnuma", "vcnuma", "ascoma"].map(|a| format!("{:.2}", r.time(0, a, p)));
            times.join(" ")
        })
    };
    let refetched = |r: &Runs| {
        let part = r.row(0, "ccnuma", 0).map_or(0.0, |row| row.total.refetch as f64 / row.total.misses().max(1) as f64);
        format!("{:.1}", 100.0 * part)
    };
    let cells = |name: &str, words: &str, r: &Runs, verdicts: String| {
        let [low, high] = times(r);
        let (home, remote) = (r.layout.home_max().to_string(), r.layout.remote_max().to_string());
        vec![name.to_owned(), words.to_owned(), home, remote, refetched(r), low, high, verdicts]
    };
    let one = |((change, runs), verdicts): (&(&'static Change, Runs), &Vec<&str>)| {
        let verdicts = if verdicts.is_empty() { "-".to_owned() } else { verdicts.join(", ") };
        cells(change.name, change.words, runs, verdicts)
    };
    let plain = all.iter().map(|r| cells(r.listed.name, "as it is", r, String::new()));
    table(
        "programs with one thing changed: pages of a node, CONF/CAPC in percent of CC-NUMA's misses, and times over CC-NUMA's of S-COMA, R-NUMA, VC-NUMA, AS-COMA; first recording",
        &[
            "program",
            "changed",
            "home pages",
            "max remote",
            "refetches %",
            "least pressure",
            "highest pressure",
            "verdicts that turn",
        ],
        plain.chain(changed.iter().zip(turned).map(one)).collect(),
    )
}

/// Both pictures of each program.
pub(super) fn pictures(all: &[Runs]) -> Vec<Stacked> {
    let bars = |r: &Runs, of: &dyn Fn(&Row) -> Vec<f64>| {
        let name = |row: &Row| {
            row.pressure.map_or_else(|| row.architecture.to_owned(), |p| format!("{} {p} %", row.architecture))
        };
        r.ours().into_iter().map(|row| (name(row), of(row))).collect::<Vec<_>>()
    };
    let both = |r: &Runs| {
        let name = r.listed.name;
        [
            Stacked {
                name: format!("time-{name}"),
                title: format!("{name}: execution time over CC-NUMA's"),
                axis: "time (CC-NUMA = 1)",
                pieces: TIMES.to_vec(),
                bars: bars(r, &|row| classes(r, row)),
            },
            Stacked {
                name: format!("misses-{name}"),
                title: format!("{name}: where misses to shared data were satisfied"),
                axis: "misses (thousands)",
                pieces: MISSES.to_vec(),
                bars: bars(r, &|row| counts(row).map(|n| n as f64 / 1000.0).into()),
            },
        ]
    };
    all.iter().flat_map(both).collect()
}
