//! E1: what needs no programs. Counts times prices are the printed tables; and what the text says, held against its own tables.
use super::costs::Printed;
use super::printed::{Row, flips};
use super::program::PROCESSORS;
use super::text::Reckon;
use super::variant::PAGES;
use super::{CLAIMS, text, texts};
use homenode_coherence::Effect;
use homenode_judging::Found;
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::{Coherence, Machine};

/// Claims of the text that its own tables can be asked about.
const TEXT: [(&str, Reckon); 10] = [
    ("printed-speech-inv", text::speech_inv),
    ("printed-speech-inv-del", text::speech_inv_del),
    ("printed-fft-4k", text::fft_4k),
    ("printed-half", text::half),
    ("printed-small-pages", text::small_pages),
    ("printed-updates", text::updates_win),
    ("printed-counters", text::counters_help),
    ("printed-explodes", text::explodes),
    ("printed-bounded", text::bounded),
    ("printed-realigned", text::realigned),
];

/// Claims that only realigned tables speak of.
const REALIGNED: [(&str, Reckon); 4] = [
    ("printed-realigned-inv", text::realigned_inv),
    ("printed-realigned-upt", text::realigned_upt),
    ("printed-realigned-all", text::realigned_all),
    ("printed-best", text::best),
];

/// E1.
pub(super) fn exact(machine: &Machine, printed: &Printed<'_>) -> Found {
    let (rows, prices) = (printed.rows, printed.prices);
    let judge = |(id, reckon): &(&'static str, Reckon)| {
        let found = reckon(printed);
        CLAIMS.ruled(id, found.shown, &found.measures, "exact sums of tables 2 to 13")
    };
    let of_text = TEXT.iter().chain(&REALIGNED).map(judge);
    let mut judged = constants(machine, rows, prices);
    judged.extend(of_text);
    let note = format!(
        "Exact sums turn {} orders of the printed cells round, all of SPEECH, whose multicasts stick at 2^28 cycles in sums of 32 bits.",
        flips(rows, prices).len()
    );
    Found {
        tables: vec![machine_table(prices), rows_table(rows, prices), flips_table(rows, prices)],
        judged,
        notes: vec![note],
        ..Found::default()
    }
}

fn constants(machine: &Machine, rows: &[Row], prices: &Coherence) -> Vec<Judged> {
    let fits = rows.iter().filter(|r| (r.cost(prices) - r.exact).abs() <= r.rounding(prices)).count();
    let copy = Effect::Fetch.price(prices, 1024).0;
    let counted = || rows.iter().filter(|r| r.policy.ends_with(".DEL"));
    // A page that is copied at the c-th access was read remotely before that; reads alone can be told from the tables.
    let short = |divisor: u64| {
        let least = |r: &Row| (r.page_bytes / divisor).max(1) as f64 - 1.0;
        counted().filter(|r| r.remote_reads() * 1.001 + 1e-6 < least(r) * r.fetches()).count()
    };
    let value = |name, x: f64| Measures::default().value(name, x);
    vec![
        CLAIMS.ruled(
            "table-1",
            TABLE_1.map(|(_, of)| of(prices).to_string()).join(", "),
            &value("prices that differ", TABLE_1.iter().zip(WRITTEN).filter(|(t, w)| t.1(prices) != *w).count() as f64),
            "section `coherence` of machine markatos",
        ),
        CLAIMS.ruled(
            "rows-168",
            format!("{fits} of {}", rows.len()),
            &value("rows within rounding", fits as f64),
            "counts of each row times prices, against the sums of its columns with exact arithmetic",
        ),
        CLAIMS.ruled(
            "replication-1k",
            format!("{copy}, without the latency {}", copy - prices.round_trip.0),
            &value("without latency", (copy - prices.round_trip.0) as f64),
            "256 words of 4 cycles, 500 for the fault; the tables charge 90 for the latency too",
        ),
        CLAIMS.ruled(
            "processors",
            format!("{} nodes; {PROCESSORS} threads a program", machine.nodes()),
            &value("nodes", machine.nodes() as f64),
            "machine markatos",
        ),
        CLAIMS.ruled(
            "counter-start",
            format!("bytes / 8: {} of {} rows have too few remote reads; words / 8: {}", short(8), counted().count(), short(32)),
            &value("rows that cannot be", short(8) as f64),
            "a copy after c reads costs c - 1 remote reads first; cause: the tables were made with an eighth of the words, counting reads alone",
        ),
    ]
}

type Price = fn(&Coherence) -> i64;
const TABLE_1: [(&str, Price); 6] = [
    ("network latency", |p| p.round_trip.0),
    ("local memory access", |p| p.local.0),
    ("remote memory read", |p| p.remote_read.0),
    ("remote memory write", |p| p.remote_write.0),
    ("a word in replication", |p| p.word.0),
    ("page fault", |p| p.fault.0),
];
/// As printed.
const WRITTEN: [i64; 6] = [90, 5, 100, 10, 4, 500];

fn machine_table(prices: &Coherence) -> Table {
    let row = |((name, of), written): (&(&str, Price), i64)| {
        vec![(*name).to_owned(), written.to_string(), of(prices).to_string()]
    };
    Table {
        title: "table 1, cycles".into(),
        columns: texts(&["parameter", "printed", "machine markatos"]),
        rows: TABLE_1.iter().zip(WRITTEN).map(row).collect(),
    }
}

/// All rows: one line a program, protocol and page would be 168; a line holds a protocol with all pages.
fn rows_table(rows: &[Row], prices: &Coherence) -> Table {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let name = format!("{}, {} {}", row.table, row.app, row.policy);
        if lines.last().is_none_or(|l| l[0] != name) {
            lines.push(std::iter::once(name).chain(PAGES.map(|_| "-".to_owned())).collect());
        }
        let at = PAGES.iter().position(|p| *p == row.page_bytes).unwrap_or(0);
        if let Some(line) = lines.last_mut() {
            line[at + 1] = format!("{:.2} / {:.2}", row.printed(prices), row.cost(prices));
        }
    }
    let columns = std::iter::once("table, program, protocol".to_owned()).chain(PAGES.map(|p| format!("{p} B")));
    Table {
        title: "cost over local: the sum of printed latency columns / counts times prices".into(),
        columns: columns.collect(),
        rows: lines,
    }
}

fn flips_table(rows: &[Row], prices: &Coherence) -> Table {
    let row = |f: &super::printed::Flip| {
        let app = if f.realigned { format!("{} re-aligned", f.app) } else { f.app.to_owned() };
        let two = |pair: [f64; 2]| format!("{:.3}, {:.3}", pair[0], pair[1]);
        vec![app, f.page_bytes.to_string(), f.pair.join(", "), two(f.printed), two(f.exact)]
    };
    Table {
        title: "pairs of protocols whose order is another with exact sums (cost over local)".into(),
        columns: texts(&["program", "page", "protocols", "printed", "exact"]),
        rows: flips(rows, prices).iter().map(row).collect(),
    }
}
