//! Counts times prices against the printed tables of Markatos and Chronaki: 168 rows, with exact sums and as their simulator
//! added them up, in floating point of 32 bits.
mod common;

use common::prices;
use homenode_base::Rng;
use homenode_coherence::{Effect, Effects};
use homenode_machine::{Coherence, models};
use std::collections::{BTreeMap, BTreeSet};

/// A file of `testdata`, row by row, by column.
fn csv(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    // No cell that is looked at has a comma; notes do, and come last.
    lines.map(|line| head.iter().copied().zip(line.split(',')).collect()).collect()
}

const CHECK: &str = include_str!("../testdata/markatos_accounting_check.csv");
const FLIPS: &str = include_str!("../testdata/markatos_ranking_flips.csv");
const TABLES: [(u64, &str); 12] = [
    (2, include_str!("../testdata/markatos_table_02_fft_upt_inv.csv")),
    (3, include_str!("../testdata/markatos_table_03_simple_upt_inv.csv")),
    (4, include_str!("../testdata/markatos_table_04_speech_upt_inv.csv")),
    (5, include_str!("../testdata/markatos_table_05_weather_upt_inv.csv")),
    (6, include_str!("../testdata/markatos_table_06_fft_del.csv")),
    (7, include_str!("../testdata/markatos_table_07_simple_del.csv")),
    (8, include_str!("../testdata/markatos_table_08_speech_del.csv")),
    (9, include_str!("../testdata/markatos_table_09_weather_del.csv")),
    (10, include_str!("../testdata/markatos_table_10_fft_realign.csv")),
    (11, include_str!("../testdata/markatos_table_11_simple_realign.csv")),
    (12, include_str!("../testdata/markatos_table_12_speech_realign.csv")),
    (13, include_str!("../testdata/markatos_table_13_weather_realign.csv")),
];

/// Rates are printed with at most eight decimals: of so many references they are whole numbers.
const REFERENCES: u64 = 100_000_000;

/// One row: rates of a protocol at a page size, and what was printed.
struct Row {
    app: String,
    aligned: String,
    policy: String,
    page_bytes: u64,
    /// References of the trace.
    references: u64,
    fetches: f64,
    remote_reads: f64,
    remote_writes: f64,
    updates: f64,
    /// Local, remote, replication, multicasts, os: cycles a reference.
    printed: [f64; 5],
    /// Cost with exact sums, over that of local references alone.
    exact: f64,
}

fn rows() -> Vec<Row> {
    let mut updates = BTreeMap::new();
    for (table, text) in TABLES {
        for row in csv(text) {
            let key = (table, row["policy"], row["page_log2_bytes"]);
            updates.insert(key, row["traffic_multicasts_packets_per_ref"].parse().unwrap_or(0.0));
        }
    }
    let read = |row: &BTreeMap<&str, &str>| {
        let number = |name: &str| row[name].parse::<f64>().expect(name);
        let table = row["table"].parse().expect("a number");
        Row {
            app: row["app"].into(),
            aligned: row["aligned"].into(),
            policy: row["policy"].into(),
            page_bytes: 1 << row["page_log2_bytes"].parse::<u32>().expect("a number"),
            references: row["n_shared_refs_assumed"].parse().expect("a number"),
            fetches: number("replications_per_ref"),
            remote_reads: number("remote_reads_per_ref"),
            remote_writes: number("remote_writes_per_ref"),
            updates: updates[&(table, row["policy"], row["page_log2_bytes"])],
            printed: ["local", "remote", "repl", "multicasts", "os"].map(|c| number(&format!("{c}_printed"))),
            exact: number("cost_corrected_over_local"),
        }
    };
    csv(CHECK).iter().map(read).collect()
}

impl Row {
    fn delayed(&self) -> bool {
        self.policy.ends_with(".DEL")
    }
    fn update(&self) -> bool {
        self.policy.starts_with("UPT")
    }
    /// What the protocol did in [`REFERENCES`] references.
    fn effects(&self) -> Effects {
        let times = |rate: f64| (rate * REFERENCES as f64).round() as u64;
        let mut effects = Effects::default();
        let fetch = if self.delayed() { Effect::FetchMapped } else { Effect::Fetch };
        effects.add(fetch, times(self.fetches));
        effects.add(Effect::RemoteRead, times(self.remote_reads));
        effects.add(Effect::RemoteWrite, times(self.remote_writes));
        effects.add(Effect::Update, times(self.updates));
        effects.add(Effect::Local, REFERENCES - effects.references());
        effects
    }
    /// Cost over that of local references alone, exactly.
    fn cost(&self, prices: &Coherence) -> f64 {
        let local = Effect::Local.price(prices, self.page_bytes).times(REFERENCES);
        self.effects().cost(prices, self.page_bytes).ratio_to(local)
    }
    /// What the cost may be off by, since rates are rounded and so is the cost itself.
    fn rounding(&self, prices: &Coherence) -> f64 {
        let fetch = Effect::FetchMapped.price(prices, self.page_bytes).0 as f64 / prices.local.0 as f64;
        0.5e-4 + 0.5e-8 * fetch + 0.5e-6 * (prices.remote_read.0 + prices.remote_write.0) as f64 / prices.local.0 as f64
    }
    fn words(&self) -> f64 {
        (self.page_bytes / 4) as f64
    }
    /// Sums of 32 bits, one increment after another: local, remote, replication, multicasts, os, in cycles a reference.
    fn float32(&self, prices: &Coherence) -> [f64; 5] {
        let n = self.references as f64;
        let [fetches, reads, writes, updates] =
            [self.fetches, self.remote_reads, self.remote_writes, self.updates].map(|rate| (rate * n).round() as u64);
        let price = |effect: Effect| effect.price(prices, self.page_bytes).0 as f32;
        let (read, write) = (price(Effect::RemoteRead), price(Effect::RemoteWrite));
        let repl = homenode_coherence::effects::transfer(prices, self.page_bytes).0 as f32;
        let local = self.references - fetches - reads - writes;
        let (remote, multicasts) = match self.update() {
            true => (sum32(&[(read, reads)]), sum32(&[(write, updates + writes)])),
            false => (sum32(&[(read, reads), (write, writes)]), 0.0),
        };
        // Faults come from exact counters.
        let faults = if self.delayed() { 2.0 } else { 1.0 } * prices.fault.0 as f64 * self.fetches;
        let a_reference = |sum: f32| f64::from(sum) / n;
        [
            a_reference(sum32(&[(price(Effect::Local), local)])),
            a_reference(remote),
            a_reference(sum32(&[(repl, fetches)])),
            a_reference(multicasts),
            faults,
        ]
    }
    /// How far the number of references, which is not printed, may be off: it follows from the tables within so much.
    fn references_off(&self) -> f64 {
        let within = match self.app.as_str() {
            "FFT" => 2.0,
            "SIMPLE" => 1500.0,
            "WEATHER" => 45.0,
            _ => 250.0,
        };
        within / self.references as f64
    }
    /// What each printed cell may be off by: it is rounded, and so are the rates.
    fn cell_rounding(&self, prices: &Coherence) -> [f64; 5] {
        const DIGITS: f64 = 0.0005;
        let fault = prices.fault.0 as f64 * if self.delayed() { 2.0 } else { 1.0 };
        let fetches = (DIGITS / fault).min(DIGITS / self.words());
        let transfer = homenode_coherence::effects::transfer(prices, self.page_bytes).0 as f64;
        let (read, write) = (prices.remote_read.0 as f64, prices.remote_write.0 as f64);
        let remote = if self.delayed() || !self.update() { read.min(DIGITS * 100.0 * write) * DIGITS } else { 0.0 };
        let local = prices.local.0 as f64 * (fetches + 2.0 * DIGITS);
        let inputs = [local, remote.max(write * DIGITS), fetches * transfer, write * 2.0 * DIGITS, fetches * fault];
        // Reads and writes were added up in the order of the trace, which matters by this much.
        let order = if self.policy == "INV.DEL" { 3e-4 * self.printed[1] } else { 0.0 };
        let more =
            |i: usize| DIGITS + 0.0001 + self.printed[i] * self.references_off() + if i == 1 { order } else { 0.0 };
        std::array::from_fn(|i| inputs[i] * 1.05 + more(i))
    }
}

/// A sum of 32 bits of so many increments of each kind, those of different kinds mixed evenly at random.
fn sum32(increments: &[(f32, u64)]) -> f32 {
    if let [(increment, times)] = increments {
        return equal_sum32(*increment, *times);
    }
    let mut left: Vec<u64> = increments.iter().map(|i| i.1).collect();
    let (mut sum, mut rng) = (0f32, Rng::new(1));
    for all in (1..=left.iter().sum()).rev() {
        let mut at = rng.below(all);
        let kind = left.iter().position(|n| match at.checked_sub(*n) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        let kind = kind.expect("one of them");
        sum += increments[kind].0;
        left[kind] -= 1;
    }
    sum
}

/// A sum of 32 bits of equal increments. Between two powers of two each but the first adds the same, so it is known what
/// many of them come to.
fn equal_sum32(increment: f32, times: u64) -> f32 {
    let (mut sum, mut left, mut before) = (0f32, times, 0f64);
    while left > 0 {
        let next = sum + increment;
        let added = f64::from(next) - f64::from(sum);
        if added == 0.0 {
            break;
        }
        let power = |x: f32| x.to_bits() >> 23;
        let room = f64::from(f32::from_bits((power(next) + 1) << 23)) - f64::from(next);
        let many = ((room / added) as u64).saturating_sub(1).min(left - 1);
        let alike = added == before && power(sum) == power(next);
        (sum, left) = (next, left - 1);
        if alike && many > 0 {
            sum = (f64::from(sum) + added * many as f64) as f32;
            left -= many;
        }
        before = added;
    }
    sum
}

#[test]
fn equal_increments_are_added_as_one_by_one() {
    for (increment, times) in
        [(5.0, 9_000_000), (10.0, 30_000_000), (154.0, 400_000), (4186.0, 70_000), (0.1, 5_000_000)]
    {
        let slowly = (0..times).fold(0f32, |sum, _| sum + increment);
        assert_eq!(equal_sum32(increment, times), slowly, "{times} times {increment}");
    }
    assert_eq!(equal_sum32(10.0, 1 << 40), 268_435_456.0, "it sticks at 2^28");
}

#[test]
fn prices_are_those_of_table_1() {
    let p = prices();
    let written = [
        ("network_latency_round_trip", p.round_trip),
        ("local_memory_access", p.local),
        ("remote_memory_read", p.remote_read),
        ("remote_memory_write", p.remote_write),
        ("cycles_per_word_in_replication", p.word),
        ("page_fault_overhead", p.fault),
    ];
    let table = csv(include_str!("../testdata/markatos_table_01_architecture.csv"));
    assert_eq!(table.len(), written.len());
    for ((name, price), row) in written.iter().zip(table) {
        assert_eq!((row["parameter"], row["cost_cycles"]), (*name, price.0.to_string().as_str()));
    }
    assert_eq!(models::find("markatos").map(|m| m.nodes()), Some(64));
}

#[test]
fn exact_sums_are_those_of_all_168_rows() {
    let (rows, prices) = (rows(), prices());
    assert_eq!(rows.len(), 168);
    for row in &rows {
        let (cost, most) = (row.cost(&prices), row.rounding(&prices));
        let off = (cost - row.exact).abs();
        assert!(off <= most, "{} {} {}: {cost}, not {}", row.app, row.policy, row.page_bytes, row.exact);
    }
}

/// All cells come out with sums of 32 bits, and with exact ones they would not.
#[test]
fn printed_cells_are_sums_of_32_bits() {
    let prices = prices();
    let mut beyond = 0;
    for row in rows() {
        let (found, most) = (row.float32(&prices), row.cell_rounding(&prices));
        for (i, ((found, printed), most)) in found.iter().zip(row.printed).zip(most).enumerate() {
            let what = format!("{} {} {} {} column {i}", row.app, row.aligned, row.policy, row.page_bytes);
            assert!((found - printed).abs() <= most, "{what}: {found}, printed {printed}, may be off by {most}");
        }
        let exact = row.cost(&prices) * prices.local.0 as f64;
        let printed: f64 = row.printed.iter().sum();
        beyond += usize::from((exact - printed).abs() > most.iter().sum());
    }
    assert!(beyond >= 60, "exact sums differ from what is printed in many rows, not in {beyond}");
}

#[test]
fn seventeen_pairs_change_places() {
    let prices = prices();
    let rows = rows();
    let mut found = BTreeSet::new();
    for (i, a) in rows.iter().enumerate() {
        for b in &rows[..i] {
            if (&a.app, &a.aligned, a.page_bytes) != (&b.app, &b.aligned, b.page_bytes) {
                continue;
            }
            let printed = |row: &Row| row.printed.iter().sum::<f64>();
            if (printed(a) - printed(b)) * (a.cost(&prices) - b.cost(&prices)) < 0.0 {
                let mut pair = [a.policy.clone(), b.policy.clone()];
                pair.sort_unstable();
                found.insert((a.app.clone(), a.aligned.clone(), a.page_bytes, pair));
            }
        }
    }
    let listed: BTreeSet<_> = csv(FLIPS)
        .iter()
        .map(|row| {
            let mut pair = [row["policy_a"].to_owned(), row["policy_b"].to_owned()];
            pair.sort_unstable();
            let bytes = row["page_size_bytes"].parse::<u64>().expect("a number");
            (row["application"].to_owned(), row["alignment"].to_owned(), bytes, pair)
        })
        .collect();
    assert_eq!(listed.len(), 17);
    // The list has no pairs of plain invalidation with counted updates; of these one changes places too.
    let unlisted = ["INV", "UPT.DEL"].map(str::to_owned);
    let more = [&("SPEECH".to_owned(), "original".to_owned(), 256, unlisted)];
    assert_eq!(found.difference(&listed).collect::<Vec<_>>(), more);
    assert_eq!(listed.difference(&found).collect::<Vec<_>>(), Vec::<&_>::new());
}
