//! What the study's machines are here: table 1.5, and claims about them.
use super::CLAIMS;
use super::cells::{pair, table, words};
use super::printed::TABLE_1_5;
use homenode_cluster::{fetch_cycles, message_cycles};
use homenode_judging::claims::Judged;
use homenode_judging::doc::Table;
use homenode_judging::rules::Measures;
use homenode_machine::{Network, models};

/// A machine's network, with its clock.
fn network(name: &str) -> Network {
    let found = models::find(name).and_then(|m| m.sections.network);
    found.expect("machines of the study are in the registry")
}

/// Bytes of the pages that are fetched, and of what goes with them: two stamps, or a flag; words of a request of a page.
const PAGE: u64 = 4096;
const STAMPS: u64 = 16;
const FLAG: u64 = 8;
const REQUEST: u64 = 40;

/// Microseconds that a page takes that is requested, without contention.
fn requested(n: &Network) -> f64 {
    let cycles = message_cycles(n, REQUEST) + 2 * n.interrupt + n.handlers.request + message_cycles(n, PAGE + FLAG);
    cycles as f64 / n.mhz as f64
}

/// Table 1.5.
pub(super) fn basic() -> Table {
    let machines = [("san_cluster", network("svm-myrinet")), ("origin2000", network("svm-origin"))];
    let us = |n: &Network, cycles: u64| cycles as f64 / n.mhz as f64;
    type Of = fn(&Network) -> u64;
    let rows: [(&str, Of); 4] = [
        ("1-word_send", |n| message_cycles(n, 4)),
        ("1-word_fetch", |n| fetch_cycles(n, 4)),
        ("4_kbyte_send", |n| message_cycles(n, PAGE)),
        ("4_kbyte_fetch", |n| fetch_cycles(n, PAGE)),
    ];
    let row = |(name, of): &(&str, Of)| {
        let cells = machines
            .iter()
            .flat_map(|(column, n)| pair(TABLE_1_5.number(&[("operation", name)], column), us(n, of(n)), 2));
        std::iter::once((*name).to_owned()).chain(cells).collect()
    };
    let columns = ["microseconds", "Myrinet, printed", "svm-myrinet", "Origin2000, printed", "svm-origin"];
    table("table 1.5: without contention", words(&columns), rows.iter().map(row).collect())
}

/// Claims about machines: constants, and sums of them.
pub(super) fn machines() -> Vec<Judged> {
    let n = network("svm-myrinet");
    let us = |cycles: u64| cycles as f64 / n.mhz as f64;
    let judged = |id: &'static str, values: &[(&'static str, f64)]| {
        let shown: Vec<String> = values.iter().map(|(name, v)| format!("{name} {v:.1}")).collect();
        let measures = values.iter().fold(Measures::default(), |m, (name, v)| m.value(name, *v));
        CLAIMS.ruled(id, shown.join("; "), &measures, "the machine svm-myrinet, without contention")
    };
    vec![
        judged("vmmc-word", &[("us", us(message_cycles(&n, 4)))]),
        judged("vmmc-page", &[("fetched, us", us(fetch_cycles(&n, PAGE + STAMPS))), ("requested, us", requested(&n))]),
        judged("mprotect", &[("us", us(n.handlers.protect[0] + n.handlers.protect[1]))]),
    ]
}
