//! What cannot be read is said to be unreadable, and not that the output cannot be written.
use crate::rows::{Shape, Sink};
use crate::{ExportRequest, Exporter, RowsRequest, export};
use homenode_command::{Class, Failure};
use homenode_machine::models::find;
use homenode_sim::names::NameTable;
use homenode_sim::{BoundMachine, Setup};
use homenode_synthetic::Builder;
use homenode_table::Format;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::dataset::{DatasetReader, frames_file};
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::store::{MemStore, Store};
use std::path::Path;
use std::sync::Arc;

/// A thread whose references have counts of instructions.
fn counted() -> Arc<MemStore> {
    let mut program = Builder::new(1);
    for i in 0..100 {
        program.write(0, 8 * i).column(0, INSTRUCTIONS, 1 + i);
    }
    program.store()
}

/// Damages the last byte of the thread's file.
fn damage(store: &MemStore) {
    let mut bytes = store.get(&frames_file(0)).unwrap().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    store.put(&frames_file(0), bytes);
}

fn said(failure: &Failure) {
    assert_eq!(failure.class, Class::Input, "{failure}");
    let text = failure.to_string();
    assert!(text.contains(&frames_file(0)) && !text.contains("cannot write"), "{text}");
}

/// The instructions are read again beside the order: here they are damaged between.
#[test]
fn instructions_that_cannot_be_read_are_no_failure_to_write() {
    let good = counted();
    let reader = DatasetReader::open(good.clone()).unwrap();
    let refs = Order::new(&reader, OrderKind::Model).unwrap().pull().unwrap().unwrap().refs.to_vec();
    damage(&good);
    let reader = DatasetReader::open(good).unwrap();
    let bound = BoundMachine::new(find("numa").unwrap(), None).unwrap();
    let bindings = bound.bindings(&reader).unwrap();
    let options = bound.replay_options(&reader);
    let setup = Setup { machine: &bound.machine, bindings: &bindings, block_bytes: 4096, options, waits: &[] };
    let shape = Shape { sampled: false, after_caches: false, some_pages: false };
    let sink = Sink::file(tempfile::tempfile().unwrap(), Format::Csv, shape).unwrap();
    let names = NameTable::new(&reader).unwrap();
    let mut progress = ();
    let mut exporter = Exporter::new((sink, shape), setup, (&names, &reader), &mut progress).unwrap();
    let failed = |e: &homenode_table::WriteError| Failure::work(format!("cannot write x.csv: {e}"));
    said(&exporter.refs(&refs, failed).unwrap_err());
}

#[test]
fn a_damaged_dataset_is_said_and_leaves_nothing() {
    let (folder, store) = (tempfile::tempdir().unwrap(), counted());
    damage(&store);
    for name in store.names().unwrap() {
        let file = folder.path().join("x.hnt").join(&name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, store.get(&name).unwrap().as_slice()).unwrap();
    }
    let request = |to: &Path| ExportRequest {
        to: to.to_owned(),
        force: false,
        rows: RowsRequest {
            dataset: folder.path().join("x.hnt"),
            order: OrderKind::Model,
            after_caches: false,
            machine: "numa".to_owned(),
            block: None,
            realign: None,
            map: None,
        },
    };
    for name in ["x.csv", "x.parquet"] {
        said(&export(&request(&folder.path().join(name)), &mut ()).unwrap_err());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the dataset");
    // An output that cannot be written is still said to be that.
    let failure = export(&request(Path::new("/proc/none/x.csv")), &mut ()).unwrap_err();
    assert!(failure.class == Class::Work && failure.to_string().contains("cannot write"), "{failure}");
}

/// Two threads write words in turn on a page, one of which both read; each has a stack.
fn falsely_shared() -> Arc<MemStore> {
    let mut program = Builder::new(2);
    program.spawn_all();
    program.alloc(0, 0x4000, 0x100, &[]);
    for i in 0..20 {
        let thread = (i % 2) as u32;
        program.write(thread, 0x4000 + i * 4).read(thread, 0x40f0);
    }
    program.store()
}

#[test]
fn realigned_rows_are_the_same_with_other_addresses() {
    let (folder, store) = (tempfile::tempdir().unwrap(), falsely_shared());
    for name in store.names().unwrap() {
        let file = folder.path().join("x.hnt").join(&name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, store.get(&name).unwrap().as_slice()).unwrap();
    }
    let request = |realign: Option<&str>| ExportRequest {
        to: folder.path().join(realign.map_or("x.csv", |_| "y.csv")),
        force: true,
        rows: RowsRequest {
            dataset: folder.path().join("x.hnt"),
            order: OrderKind::Model,
            after_caches: false,
            machine: "markatos".to_owned(),
            block: Some(4096),
            realign: realign.map(str::to_owned),
            map: None,
        },
    };
    let rows = |realign| -> Vec<Vec<String>> {
        let request = request(realign);
        assert_eq!(export(&request, &mut ()).unwrap(), 40);
        let text = std::fs::read_to_string(&request.to).unwrap();
        text.lines().skip(1).map(|l| l.split(',').map(str::to_owned).collect()).collect()
    };
    let (before, after) = (rows(None), rows(Some("word(25)")));
    let mut moved = 0;
    for (b, a) in before.iter().zip(&after) {
        // Column 1 is the address, 9 the thread's node, 10 the page's under first touch.
        let but = |row: &[String]| [&row[..1], &row[2..10], &row[11..]].concat();
        assert_eq!(but(b), but(a));
        let [from, to] = [b, a].map(|row| row[1].parse::<u64>().unwrap());
        if from == 0x40f0 {
            assert_eq!(to, from, "both read it");
            continue;
        }
        moved += 1;
        let owner = homenode_realign::owner(to).expect("in an area");
        assert_eq!((&owner.0.to_string(), &a[10]), (&a[9], &a[9]), "{a:?}");
    }
    assert_eq!(moved, 20);
    let refused = |realign: &str, after_caches, word: &str| {
        let mut request = request(Some(realign));
        request.rows.after_caches = after_caches;
        let failure = export(&request, &mut ()).unwrap_err();
        assert!(failure.class == Class::Usage && failure.to_string().contains(word), "{failure}");
    };
    refused("line", false, "--realign: there is no realignment 'line': known are word, field");
    refused("word(0)", false, "window is 0");
    refused("word", true, "--after-caches");
}
