//! Whole datasets: damaged, lying, incomplete.
mod common;
use common::Log;
use homenode_synthetic::{Builder, PROGRAMS, Scale, random};
use homenode_trace::check::check;
use homenode_trace::dataset::{EVENTS_FILE, MANIFEST_FILE, frames_file, parse_manifest};
use homenode_trace::event::SyncKind;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::manifest::{CertainPages, PageSample};
use homenode_trace::order::OrderKind;
use homenode_trace::store::{MemStore, Store};
use homenode_trace::symbols::Symbols;
use homenode_trace::{DatasetReader, EventKind, Manifest, Op, Sampling, TraceError};
use std::sync::Arc;

fn copy(store: &MemStore) -> MemStore {
    let to = MemStore::default();
    for name in store.names().expect("memory") {
        to.put(&name, store.get(&name).expect("listed").to_vec());
    }
    to
}

/// Everything a reader can learn from a dataset, or the first error.
type Content = (Manifest, Symbols, Vec<(u32, Option<Op>, u64)>);
fn content(store: MemStore) -> Result<Content, TraceError> {
    let data = DatasetReader::open(Arc::new(store))?;
    let (log, _) = Log::of(&data, OrderKind::Model)?;
    Ok((data.manifest().clone(), data.symbols().clone(), log.entries))
}

fn small() -> Builder {
    let mut b = random(3, 2, 60);
    b.frame_refs(4).global("g", 64, 8);
    b
}

#[test]
fn every_program_passes_the_checker() {
    for program in PROGRAMS {
        let b = (program.build)(1, Scale { threads: 4, rounds: 30 });
        let report = check(&b.open().expect("valid"));
        assert!(report.ok() && report.refs > 0, "{}: {:?}", program.name, report.problems);
        assert_eq!(report.refs, (0..4).map(|t| b.refs(t)).sum::<u64>());
    }
    for seed in 0..200 {
        let report = check(&random(seed, 4, 300).open().expect("valid"));
        assert!(report.ok(), "{seed}: {:?}", report.problems);
    }
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing_but_json() {
    let good = small().store();
    let whole = content(copy(&good)).expect("valid");
    for name in good.names().expect("memory") {
        let bytes = good.get(&name).expect("listed");
        for at in 0..bytes.len() {
            let mut bad = bytes.to_vec();
            bad[at] ^= 1 << (at % 8);
            let store = copy(&good);
            store.put(&name, bad);
            match content(store) {
                Err(e) => assert!(e.to_string().contains(".") && e.to_string().len() < 400, "{e}"),
                // JSON has no checksum: a changed name or note is another name, never other references.
                Ok(c) => assert!(c == whole || (name.ends_with(".json") && c.2.len() == whole.2.len()), "{name} {at}"),
            }
        }
    }
}

#[test]
fn a_truncated_file_is_an_error() {
    let good = small().store();
    for name in good.names().expect("memory") {
        let bytes = good.get(&name).expect("listed");
        // The line feed at the end of a JSON file is no part of what it says.
        let end = if name.ends_with(".json") { bytes.trim_ascii_end().len() } else { bytes.len() };
        for n in 0..end {
            let store = copy(&good);
            store.put(&name, bytes[..n].to_vec());
            assert!(content(store).is_err(), "{name} cut at {n} of {}", bytes.len());
        }
    }
}

#[test]
fn a_recovered_recording_is_verified_like_any_other() {
    let mut b = small();
    b.manifest().complete = false;
    b.manifest().ended = "recovered".into();
    let good = b.store();
    assert!(check(&DatasetReader::open(Arc::new(copy(&good))).expect("valid")).ok());
    for name in [frames_file(1), EVENTS_FILE.to_owned()] {
        let bytes = good.get(&name).expect("written");
        for n in 0..bytes.len() {
            let store = copy(&good);
            store.put(&name, bytes[..n].to_vec());
            assert!(content(store).is_err(), "{name} cut at {n}");
        }
    }
}

#[test]
fn a_recording_without_an_end_is_called_that() {
    let store = copy(&small().store());
    let mut manifest = parse_manifest(&store.get(MANIFEST_FILE).expect("written")).expect("valid");
    (manifest.complete, manifest.processes, manifest.threads) = (false, vec![], vec![]);
    store.put(MANIFEST_FILE, serde_json::to_vec(&manifest).expect("serialises"));
    assert!(matches!(DatasetReader::open(Arc::new(copy(&store))), Err(TraceError::Unfinished)));
}

#[test]
fn without_symbols_there_are_bare_sites() {
    let b = small();
    let (with, without) = (b.open().expect("valid"), copy(&b.store()));
    let bare = MemStore::default();
    for name in without.names().expect("memory").iter().filter(|n| *n != Symbols::FILE) {
        bare.put(name, without.get(name).expect("listed").to_vec());
    }
    let bare = DatasetReader::open(Arc::new(bare)).expect("valid");
    let pcs = |d: &DatasetReader| d.symbols().sites.iter().map(|s| (s.process, s.pc)).collect::<Vec<_>>();
    assert!(pcs(&bare).iter().all(|p| pcs(&with).contains(p)) && !pcs(&bare).is_empty());
    assert_eq!(bare.symbols().notes.len(), 1);
    assert!(check(&bare).ok());
}

fn refusal(change: impl Fn(&mut Manifest)) -> String {
    let b = small();
    let store = copy(&b.store());
    let mut manifest = parse_manifest(&store.get(MANIFEST_FILE).expect("written")).expect("valid");
    change(&mut manifest);
    store.put(MANIFEST_FILE, serde_json::to_vec(&manifest).expect("serialises"));
    let error = DatasetReader::open(Arc::new(store)).expect_err("the manifest lies");
    assert!(
        matches!(error, TraceError::Manifest(_) | TraceError::Newer { .. } | TraceError::Damaged { .. }),
        "{error}"
    );
    error.to_string()
}

#[test]
fn lying_manifests_are_refused_with_the_reason() {
    assert!(refusal(|m| m.format = "tar".into()).contains("`tar`"));
    assert!(refusal(|m| m.version = 4).contains("version 4"));
    let pages = |one_in, page_bytes| Some(PageSample { one_in, page_bytes, left_out: 0 });
    assert!(refusal(|m| m.pages = pages(64, 4096)).contains("some pages"));
    assert!(refusal(|m| (m.version, m.pages) = (3, pages(1, 4096))).contains("one in 1 pages"));
    assert!(refusal(|m| (m.version, m.pages) = (3, pages(64, 4097))).contains("4097"));
    let certain = |buckets: &[u32]| buckets.iter().map(|&bucket| CertainPages { bucket, left_out: 0 }).collect();
    assert!(refusal(|m| m.certain = certain(&[1])).contains("certain"));
    for buckets in [&[2, 1][..], &[1, 1], &[1 << 18], &(0..129).collect::<Vec<u32>>()] {
        assert!(
            refusal(|m| (m.version, m.pages, m.certain) = (3, pages(4, 4096), certain(buckets))).contains("certain")
        );
    }
    assert!(refusal(|m| m.sampling = Some(Sampling::default())).contains("no sampling"));
    assert!(refusal(|m| m.mark_sampled(Sampling::default())).contains("without samples"));
    assert!(refusal(|m| m.version = 0).contains("version 0"));
    assert!(refusal(|m| m.threads[1].refs += 1).contains("thread 1"));
    assert!(refusal(|m| m.threads[0].events += 1).contains("thread 0"));
    assert!(refusal(|m| m.threads[0].process = 1).contains("process 1"));
    assert!(refusal(|m| m.threads[0].parent = Some(9)).contains("thread 0"));
    assert!(refusal(|m| m.threads[0].spins = u64::MAX).contains("spins"));
    assert!(refusal(|m| m.threads.iter_mut().for_each(|t| t.refs = u64::MAX)).contains("64 bits"));
    assert!(refusal(|m| m.threads.truncate(1)).contains("thread 1"));
    assert!(refusal(|m| m.threads.push(m.threads[0].clone())).contains("threads/2.frames"));
    assert!(refusal(|m| m.processes.clear()).contains("process 0"));
}

#[test]
fn strange_manifests_are_refused() {
    let strange: [&[u8]; 7] =
        [b"", b"[]", b"{}", b"null", b"\xff\xfe", b"{\"format\":\"homenode-trace\",\"version\":1}", b"{\"format\":1}"];
    for text in strange {
        assert!(matches!(parse_manifest(text), Err(TraceError::Manifest(_))), "{}", String::from_utf8_lossy(text));
    }
    assert!(parse_manifest(&b"[".repeat(100_000)).is_err(), "deep nesting must not overflow the stack");
    let newer = b"{\"format\":\"homenode-trace\",\"version\":7,\"threads\":\"another shape\"}";
    assert!(matches!(parse_manifest(newer), Err(TraceError::Newer { found: 7, .. })));
    assert!(matches!(DatasetReader::open(Arc::new(MemStore::default())), Err(TraceError::Io { .. })));
}

#[test]
fn sites_out_of_order_or_twice_are_refused() {
    let site = |process, pc| homenode_trace::symbols::Site { process, pc, line: pc as u32, ..Default::default() };
    let mut symbols = Symbols { sites: vec![site(1, 5), site(0, 9), site(0, 2), site(0, 9)], ..Symbols::default() };
    assert!(matches!(Symbols::from_json(&symbols.to_json()), Err(TraceError::Damaged { .. })));
    symbols.normalise();
    assert_eq!(Symbols::from_json(&symbols.to_json()).expect("in order"), symbols);
    assert_eq!(symbols.site_id(0, 9).and_then(|id| symbols.site(id)).map(|s| s.line), Some(9));
    assert_eq!((symbols.sites.len(), symbols.site_id(1, 9)), (3, None));
    symbols.sites.push(site(1, 5));
    assert!(Symbols::from_json(&symbols.to_json()).is_err());
    assert!(Symbols::from_json(b"[1]").is_err() && Symbols::from_json(b"").is_err());
}

#[test]
fn files_of_a_newer_version_are_called_newer() {
    for (name, knows) in [(frames_file(0), 3), (EVENTS_FILE.into(), 4)] {
        let store = copy(&small().store());
        let mut bytes = store.get(&name).expect("written").to_vec();
        bytes[4] = 9;
        store.put(&name, bytes);
        let error = DatasetReader::open(Arc::new(store)).expect_err("newer");
        let newer = matches!(&error, TraceError::Newer { found: 9, known, name: n } if *n == name && *known == knows);
        assert!(newer, "{error}");
    }
}

#[test]
fn a_dataset_without_threads_or_references_is_fine() {
    for b in [Builder::new(0), Builder::new(3)] {
        let data = b.open().expect("valid");
        assert!(check(&data).ok());
        assert_eq!(Log::of(&data, OrderKind::Model).expect("ordered").1.refs, 0);
    }
}

#[test]
fn frames_are_found_by_reference() {
    let mut b = Builder::new(1);
    b.frame_refs(100);
    (0..1000).for_each(|i| {
        b.read(0, 8 * i);
    });
    let data = b.open().expect("valid");
    let (mut bytes, mut frame) = (Vec::new(), DecodedFrame::default());
    for n in [0, 1, 99, 100, 500, 999] {
        let i = data.frame_of(0, n).expect("there is such a reference");
        data.read_frame(0, i, &mut bytes, &mut frame).expect("undamaged");
        assert_eq!(frame.addr[(n - frame.first_ref) as usize], 8 * n);
    }
    assert_eq!((data.frame_of(0, 1000), data.refs(0)), (None, 1000));
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let finds = |b: &Builder, what: &str| {
        let report = check(&b.open().expect("it opens"));
        assert!(report.problems.iter().any(|p| p.what.contains(what)), "{what}: {report:?}");
    };
    let base = || {
        let mut b = Builder::new(2);
        b.read(0, 1).read(1, 2);
        b
    };
    let sync = |seq, acquire: bool| match acquire {
        true => EventKind::Acquire { object: 1, epoch: 0, seq, sync: SyncKind::Mutex },
        false => EventKind::Release { object: 1, epoch: 0, seq, sync: SyncKind::Mutex },
    };
    let mut b = base();
    finds(b.event(0, EventKind::Exit).read(0, 3), "exits after");
    finds(base().event(0, sync(5, false)).event(0, sync(5, false)), "number 5");
    finds(base().event(0, sync(5, false)).event(1, sync(5, false)), "taken twice");
    finds(base().event(0, sync(5, true)).event(0, sync(3, false)), "no order is possible");
    finds(base().event(0, EventKind::Spawn { child: 7 }), "creates thread 7");
    finds(base().event(0, EventKind::Spawn { child: 1 }), "manifest says by none");
    finds(base().event(0, EventKind::PhaseEnd { name: "x".into() }), "has not begun");
}

#[test]
fn the_checker_notes_events_stamped_backwards() {
    let mut b = Builder::new(2);
    b.read(0, 1);
    b.event(0, EventKind::Exit);
    let mut events = b.open().expect("valid").events().to_vec();
    events.insert(0, homenode_trace::Event { stamp: 1 << 40, kind: EventKind::Free { addr: 1 }, ..events[0].clone() });
    let store = copy(&b.store());
    let mut bytes = Vec::new();
    homenode_trace::events::EventEncoder::default().encode(0, &events, Default::default(), &mut bytes);
    store.put(EVENTS_FILE, bytes);
    let mut manifest = parse_manifest(&store.get(MANIFEST_FILE).expect("written")).expect("valid");
    manifest.threads[0].events = 2;
    store.put(MANIFEST_FILE, serde_json::to_vec(&manifest).expect("serialises"));
    let report = check(&DatasetReader::open(Arc::new(store)).expect("it opens"));
    assert!(report.ok() && report.notes[0].contains("1 events are stamped before"), "{report:?}");
}

#[test]
fn the_checker_finds_what_contradicts_the_files() {
    let mut b = Builder::new(2);
    b.access(0, 8, 8, Op::Spin, 77);
    let store = copy(&b.store());
    let mut manifest = parse_manifest(&store.get(MANIFEST_FILE).expect("written")).expect("valid");
    manifest.threads[0].spins = 0;
    store.put(MANIFEST_FILE, serde_json::to_vec(&manifest).expect("serialises"));
    store.put("threads/2.frames", vec![]);
    store.put(Symbols::FILE, b"{}".to_vec());
    let report = check(&DatasetReader::open(Arc::new(store)).expect("it opens"));
    let all: String = report.problems.iter().map(|p| p.what.as_str()).collect();
    assert!(["1 of them spins", "only 2 threads", "no site"].iter().all(|w| all.contains(w)), "{report:?}");
}

#[test]
fn the_checker_finds_a_damaged_frame_behind_a_right_header() {
    let store = copy(&small().store());
    let mut bytes = store.get(&frames_file(0)).expect("written").to_vec();
    *bytes.last_mut().expect("not empty") ^= 1;
    store.put(&frames_file(0), bytes);
    let report = check(&DatasetReader::open(Arc::new(store)).expect("headers are fine"));
    assert!(report.problems.iter().any(|p| p.what.contains("checksum")), "{report:?}");
}
