//! Tables and the datasets that they become.
use crate::{ImportSummary, import};
use homenode_capture::DirStore;
use homenode_trace::check::check;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, EventKind, Merged, Op};
use std::path::Path;
use std::sync::Arc;

/// Imports a text and gives its dataset.
fn imported(dir: &Path, text: &str) -> Result<(ImportSummary, DatasetReader), String> {
    let (file, out) = (dir.join("rows.csv"), dir.join("rows.hnt"));
    std::fs::write(&file, text).unwrap();
    let summary = import(&file, &out, true).map_err(|e| e.to_string())?;
    let data = DatasetReader::open(Arc::new(DirStore::open(&out).unwrap())).unwrap();
    let report = check(&data);
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    Ok((summary, data))
}

fn refs(data: &DatasetReader, kind: OrderKind) -> Vec<Merged> {
    let mut order = Order::new(data, kind).unwrap();
    let mut all = Vec::new();
    while let Some(piece) = order.pull().unwrap() {
        all.extend_from_slice(piece.refs);
    }
    all
}

fn refused(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let Err(why) = imported(dir.path(), text) else { panic!("taken: {text}") };
    assert!(!dir.path().join("rows.hnt").exists());
    why
}

#[test]
fn three_columns_are_enough() {
    let dir = tempfile::tempdir().unwrap();
    let text = "address,kind,tid\n0x1000,r,5\n4096,WRITE,2\n8192,atomic,5\n8192,spin,5\n";
    let (summary, data) = imported(dir.path(), text).unwrap();
    let row = |r: &Merged| (data.manifest().threads[r.thread as usize].tid, r.addr, r.size, r.op);
    let expected = [(5, 4096, 1, Op::Read), (2, 4096, 1, Op::Write), (5, 8192, 1, Op::Atomic), (5, 8192, 1, Op::Spin)];
    assert_eq!(refs(&data, OrderKind::Model).iter().map(row).collect::<Vec<_>>(), expected);
    assert_eq!((summary.format, summary.references, summary.threads), ("csv", 4, 6), "threads keep their numbers");
    let m = data.manifest();
    assert!(m.in_order && !m.synchronised && m.complete);
    assert!(summary.notes.iter().any(|n| n.contains("no column size")), "{:?}", summary.notes);
}

#[test]
fn rows_stay_in_order_with_threads_that_change_at_random() {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = homenode_base::Rng::new(7);
    let (mut text, mut expected, mut thread) =
        ("thread,addr,op,size,site,phase,instructions\n".to_owned(), Vec::new(), 0);
    for i in 0..5000_u64 {
        // Long runs, beyond a batch, and short ones.
        if rng.chance(1, if i < 2500 { 300 } else { 2 }) {
            thread = rng.below(5) as u32;
        }
        let (addr, size, site) = (rng.below(1 << 40), 1 + rng.below(16) as u32, rng.below(20) as u32);
        let phase = ["", "a", "b"][rng.below(400).min(2) as usize];
        let instructions = if i % 7 < 4 { format!("{}", i % 50) } else { String::new() };
        text += &format!("{thread},{addr},load,{size},{site},{phase},{instructions}\n");
        expected.push((thread, addr, size, site));
    }
    let (summary, data) = imported(dir.path(), &text).unwrap();
    let row = |r: &Merged| (r.thread, r.addr, r.size, r.site);
    assert_eq!(refs(&data, OrderKind::Model).iter().map(row).collect::<Vec<_>>(), expected);
    assert_eq!((summary.references, summary.threads), (5000, 5));
    let frame = |thread, i| {
        let mut frame = DecodedFrame::default();
        data.read_frame(thread, i, &mut Vec::new(), &mut frame).unwrap();
        frame.column(INSTRUCTIONS).iter().filter(|v| **v > 0).count() as u64
    };
    let counted: u64 =
        (0..5).flat_map(|t| (0..data.frames(t).len()).map(move |i| (t, i))).map(|(t, i)| frame(t, i)).sum();
    assert_eq!(counted, (0..5000).filter(|i| i % 7 < 4).count() as u64);
    let begins = data.events().iter().filter(|e| matches!(e.clone().into_owned().kind, EventKind::PhaseBegin { .. }));
    let begins = begins.count();
    assert!(begins > 20, "{begins}");
}

#[test]
fn times_are_the_order_where_there_are_any() {
    let dir = tempfile::tempdir().unwrap();
    let text = "thread,addr,op,time\n0,1,load,10\n0,2,load,30\n1,3,load,20\n1,4,load,40\n";
    let (_, data) = imported(dir.path(), text).unwrap();
    let addrs: Vec<u64> = refs(&data, OrderKind::Model).iter().map(|r| r.addr).collect();
    assert_eq!(addrs, [1, 3, 2, 4]);
    let why = refused("thread,addr,op,time\n0,1,load,10\n1,1,load,5\n0,2,load,9\n");
    assert!(why.contains("line 4, column time: 9 is before 10"), "{why}");
}

#[test]
fn places_and_names_of_data_come_over() {
    let dir = tempfile::tempdir().unwrap();
    let text = "thread,addr,op,size,file,line,function,object,extra,node\n\
        0,4096,load,8,a.c,3,f,\"x[]\",1,0\n0,8192,load,8,a.c,4,f,y,1,0\n0,4112,load,8,a.c,3,f,\"x[]\",1,0\n\
        0,4116,load,4,,,,other,1,0\n0,12288,load,8,,,,,1,0\n";
    let (summary, data) = imported(dir.path(), text).unwrap();
    let symbols = data.symbols();
    let places: Vec<_> = symbols.sites.iter().map(|s| (s.file.as_str(), s.line, s.function.as_str())).collect();
    assert_eq!(places, [("", 0, ""), ("a.c", 3, "f"), ("a.c", 4, "f")]);
    let objects: Vec<_> = symbols.globals.iter().map(|g| (g.addr, g.bytes, g.name.as_str())).collect();
    assert_eq!(objects, [(4096, 24, "x[]"), (8192, 8, "y")]);
    assert!(summary.notes.iter().any(|n| n.starts_with("1 rows name data otherwise")), "{:?}", summary.notes);
    assert!(summary.notes.iter().any(|n| n.ends_with("passed over: extra")), "{:?}", summary.notes);
}

#[test]
fn what_is_wrong_is_named_with_line_and_column() {
    assert!(refused("thread,addr,op\n0,1,load,7\n").contains("line 2"));
    assert!(refused("thread,addr,size\n0,1,1\n").contains("no column op or kind"));
    assert!(refused("thread,addr,op\n0,1,load\n0,,load\n").contains("line 3, column addr: it is empty"));
    assert!(refused("thread,addr,op\n0,1,\"jump\nin\"\n").contains("line 2, column op: 'jump\nin' is none of load"));
    assert!(refused("thread,addr,op,size\n0,1,load,0\n").contains("line 2, column size"));
    assert!(refused("thread,addr,op,size\n0,1,load,4294967296\n").contains("line 2, column size"));
    assert!(refused("thread,addr,op,line\n0,1,load,4294967296\n").contains("line 2, column line"));
    let why = refused("thread,addr,op,size\n");
    assert!(why.contains("no rows"), "{why}");
    let why = refused("thread,addr,op\n-1,1,load\n");
    assert!(why.contains("line 2"), "{why}");
    assert!(refused("thread,addr,op,weight\n0,1,load,3\n").contains("samples"));
    assert!(refused("thread,addr,op,pages_one_in\n0,1,load,8\n").contains("some pages alone"));
    assert!(refused("thread,addr,op,charged\n0,1,load,read\n").contains("--after-caches"));
    let threads: String = (0..70_000).map(|t| format!("{t},1,load\n")).collect();
    assert!(refused(&format!("thread,addr,op\n{threads}")).contains("more than 65536 threads"));
}

#[test]
fn huge_numbers_of_threads_and_sites_are_numbered_anew() {
    let dir = tempfile::tempdir().unwrap();
    let text =
        "thread,addr,op,site\n18446744073709551615,1,load,18446744073709551615\n7,18446744073709551615,store,4\n";
    let (summary, data) = imported(dir.path(), text).unwrap();
    assert_eq!(refs(&data, OrderKind::Model).iter().map(|r| (r.thread, r.site)).collect::<Vec<_>>(), [(1, 1), (0, 0)]);
    assert_eq!(summary.notes.iter().filter(|n| n.contains("new numbers")).count(), 2, "{:?}", summary.notes);
}

#[test]
fn every_cut_of_a_text_is_survived() {
    let text = "thread,addr,op,size,time,site,file,line,function,object,phase\n1,2,load,4,5,6,\"a,b\",8,f,o,p\n0,9,store,1,9,9,,,,,q\n";
    let mut rng = homenode_base::Rng::new(1);
    let dir = tempfile::tempdir().unwrap();
    for n in 0..text.len() {
        let _ = imported(dir.path(), &text[..n]);
    }
    for _ in 0..300 {
        let mut bytes = text.as_bytes().to_vec();
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = b",\"\n\r0x-\xff"[rng.below(8) as usize] & 0x7f;
        let _ = imported(dir.path(), std::str::from_utf8(&bytes).unwrap());
    }
}
