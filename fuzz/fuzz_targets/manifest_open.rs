//! One file of a good dataset replaced by any bytes: opening, ordering, checking and looking up objects never panic, and
//! what is pulled is what the dataset says it holds.
#![no_main]
use homenode_fuzz::repaired;
use homenode_objects::ObjectTable;
use homenode_synthetic::random;
use homenode_trace::DatasetReader;
use homenode_trace::check::check;
use homenode_trace::dataset::{EVENTS_FILE, MANIFEST_FILE, frames_file};
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::store::{MemStore, Store};
use homenode_trace::symbols::Symbols;
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static GOOD: LazyLock<Arc<MemStore>> = LazyLock::new(|| {
    let mut b = random(3, 2, 60);
    b.frame_refs(8).manifest().complete = false;
    b.store()
});

fuzz_target!(|data: &[u8]| {
    let Some((&which, rest)) = data.split_first() else { return };
    let store = MemStore::default();
    for name in GOOD.names().expect("memory") {
        store.put(&name, GOOD.get(&name).expect("listed").to_vec());
    }
    match which % 6 {
        0 => store.put(MANIFEST_FILE, rest.to_vec()),
        1 => store.put(Symbols::FILE, rest.to_vec()),
        2 => store.put(EVENTS_FILE, repaired(rest, b"HNEV")),
        3 => store.put(&frames_file(0), repaired(rest, b"HNFR")),
        4 => store.put(&frames_file(1), rest.to_vec()),
        _ => store.put(EVENTS_FILE, rest.to_vec()),
    }
    let Ok(data) = DatasetReader::open(Arc::new(store)) else { return };
    for kind in [OrderKind::Model, OrderKind::Recorded { seed: which.into() }] {
        let Ok(mut order) = Order::new(&data, kind) else { continue };
        let (mut refs, mut events) = (0, 0);
        let whole = loop {
            match order.pull() {
                Ok(Some(piece)) => {
                    (refs, events) = (refs + piece.refs.len() as u64, events + u64::from(piece.event.is_some()))
                }
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        if whole {
            let all: u64 = (0..data.threads()).map(|t| data.refs(t)).sum();
            assert_eq!((refs, events), (all, data.events().len() as u64));
            assert_eq!((order.summary().refs, order.summary().events), (refs, events));
        }
    }
    let _ = check(&data);
    let table = ObjectTable::build(data.manifest(), data.events(), data.symbols());
    let mut live = table.live();
    for (i, e) in data.events().iter().enumerate() {
        let addr = u64::from(which) << 32 | i as u64;
        let _ = (table.lookup(0, addr, i as u64), live.lookup(0, addr));
        live.event(&e);
    }
});
