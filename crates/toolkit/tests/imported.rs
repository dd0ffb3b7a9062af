//! What comes of recordings of other tools: the lack of synchronisation goes with all that depends on the order of threads, and tables that
//! do not have all references are refused.
mod support;
use homenode_export::{ExportRequest, RowsRequest, export};
use homenode_synthetic::Builder;
use homenode_toolkit::{import, info, report, text};
use homenode_trace::manifest::PageSample;
use homenode_trace::order::OrderKind;
use homenode_trace::{Op, Sample, Sampling};
use serde_json::Value;
use std::path::Path;

fn record(kind: u16, size: u16, value: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat()
}

/// A drmemtrace file of a thread that takes a lock and stores to the pages of another one.
fn thread(tid: u64) -> Vec<u8> {
    let mark = |which: u16, value: u64| record(28, which, value);
    let mut out = [record(25, 0, 7), mark(12, 7), mark(9, 0x40), record(22, 4, tid), record(24, 4, 4)].concat();
    out.extend(mark(2, 11_644_473_601_000_000 + tid));
    for function in [1, 2] {
        out.extend([mark(4, function), mark(5, 0x1000), mark(6, 0x7000), mark(4, function), mark(7, 0)].concat());
        for page in 0..64 {
            out.extend([record(10, 4, 0x40_1000), record(1, 8, 0x10_0000 + page * 4096 + tid % 2 * 2048)].concat());
        }
    }
    out.extend([record(23, 4, tid), record(26, 0, 0)].concat());
    out
}

const LIST: &str = "1,1,0x10,libc.so.6!pthread_mutex_lock\n2,1,0x20,libc.so.6!pthread_mutex_unlock\n";

/// The report, as JSON and as text.
fn reported(dataset: &Path) -> (Value, String) {
    let doc = report(&support::report_of(dataset), &mut ()).expect("a report");
    (serde_json::from_str(&doc.to_json()).expect("JSON"), text(&doc, 100, false))
}

/// Words without the ends of lines between them.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_lack_of_synchronisation_goes_with_what_depends_on_the_order_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.dir");
    std::fs::create_dir_all(trace.join("raw")).expect("made");
    std::fs::write(trace.join("a.5.1.trace"), thread(5)).expect("written");
    std::fs::write(trace.join("a.6.1.trace"), thread(6)).expect("written");
    std::fs::write(trace.join("raw/funclist.log"), LIST).expect("written");
    let out = folder.path().join("x.hnt");
    let imported = import(&[trace], &out, false).expect("imported");
    let exact = imported.exact.expect("all references");
    assert!(!exact.synchronised && exact.counted["calls that order threads"] == 4, "{:?}", exact.counted);
    // The counts stay with the dataset.
    let doc = info(&out, &mut ()).expect("info");
    let kept = doc.imported.clone().expect("counts");
    assert_eq!((kept["stores"], kept["calls of functions"], kept["threads"]), (256, 4, 2));
    let text = joined(&doc.to_text());
    assert!(text.contains("Counted in what was imported:") && text.contains("256 stores"), "{text}");
    assert!(text.contains("mutex") && text.contains("order threads: 2 of pthread_mutex_lock"), "{text}");
    // And every report says what is not known, and doubts what follows from it.
    let (json, text) = reported(&out);
    let label =
        "Synchronisation was not recorded: the order of threads, and with it who touched memory first, is a guess.";
    assert!(json.to_string().contains(label), "{json}");
    assert!(joined(&text).contains(label), "{text}");
    // One thread has no order to doubt.
    let alone = folder.path().join("alone.trace");
    std::fs::write(&alone, thread(5)).expect("written");
    let out = folder.path().join("alone.hnt");
    import(&[alone], &out, false).expect("imported");
    assert!(!reported(&out).0.to_string().contains(label));
}

fn exported(dataset: &Path, to: &Path) {
    let rows = RowsRequest {
        dataset: dataset.to_owned(),
        order: OrderKind::Model,
        after_caches: false,
        machine: "two-socket".to_owned(),
        block: None,
        realign: None,
        map: None,
    };
    export(&ExportRequest { to: to.to_owned(), force: true, rows }, &mut ()).expect("exported");
}

#[test]
fn exports_of_samples_and_of_some_pages_are_refused_and_others_come_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut samples = Builder::new(1);
    samples.sampled(Sampling::default()).sample(0, 4096, 8, Op::Read, 1, Sample::ONE);
    let mut pages = Builder::new(1);
    pages.read(0, 4096);
    pages.manifest().pages = Some(PageSample { one_in: 8, page_bytes: 4096, left_out: 3 });
    let mut all = Builder::new(1);
    all.read(0, 4096);
    for (name, mut builder, why) in [("s", samples, "samples"), ("p", pages, "`record --sample`"), ("a", all, "")] {
        let dataset = folder.path().join(format!("{name}.hnt"));
        if name == "p" {
            let manifest = builder.manifest();
            *manifest = manifest.clone().of_format();
        }
        support::write(&builder.store(), &dataset);
        for kind in ["csv", "parquet"] {
            let (table, out) = (folder.path().join(format!("{name}.{kind}")), folder.path().join("again.hnt"));
            exported(&dataset, &table);
            let again = import(&[table], &out, true);
            match again {
                Ok(_) => assert!(why.is_empty(), "{name} {kind} was imported"),
                Err(e) => assert!(!why.is_empty() && e.to_string().contains(why), "{name} {kind}: {e}"),
            }
        }
    }
}
