//! Sweeps of protocols of page coherence, from the question to the table, against the plain engine.
mod support;

use homenode_base::Rng;
use homenode_coherence::Choice;
use homenode_coherence::protocols::ALL;
use homenode_command::{Class, Failure};
use homenode_machine::{Machine, models};
use homenode_realign::fields::Relocated;
use homenode_realign::{Private, Realigned, Realignment};
use homenode_sim::names::NameTable;
use homenode_sim::{Objects, ThreadBinding, bindings};
use homenode_study::{Question, SharedRefs, plain};
use homenode_sweep::{Inline, StudySource, SweepDoc, SweepRequest, sweep};
use homenode_synthetic::Builder;
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::order::{Again, OrderKind, Source, rest};
use std::collections::BTreeMap;
use std::path::Path;

/// Threads over shared pages, each with a stack that nobody else uses.
fn program(threads: u32) -> Builder {
    let (mut rng, mut program) = (Rng::new(7), Builder::new(threads));
    program.spawn_all();
    for thread in 0..threads {
        let addr = 0x7f00_0000 + u64::from(thread) * 0x1_0000;
        program.event(thread, EventKind::Alloc { addr, bytes: 0x8000, source: AllocSource::Stack, stack: Vec::new() });
    }
    for i in 0..8_000u64 {
        let thread = (i / 5 % u64::from(threads)) as u32;
        let addr = match rng.below(4) {
            0 => 0x7f00_0000 + u64::from(thread) * 0x1_0000 + rng.below(200) * 8,
            _ => 0x40_0000 + rng.below(6) * 4096 + rng.below(40) * 8,
        };
        if rng.chance(1, 6) {
            program.write(thread, addr)
        } else {
            program.read(thread, addr)
        };
    }
    program
}

fn inline(folder: &Path, protocols: &str) -> Inline {
    let words = |word: &str| vec![word.to_owned()];
    Inline {
        traces: vec![folder.join("x.hnt")],
        blocks: words("64..65536"),
        machines: words("markatos"),
        protocols: words(protocols),
        ..Inline::default()
    }
}

fn asked(inline: Inline, folder: &Path, name: &str) -> Result<SweepDoc, Failure> {
    let request = SweepRequest {
        asked: StudySource::Inline(inline),
        output: Some(folder.join(name)),
        workers: Some(1),
        memory_bytes: 256 << 20,
        csv: true,
        force: false,
        yes: false,
        worker: None,
    };
    sweep(&request, &mut ())
}

/// Cells of the CSV by page size and protocol.
fn rows(doc: &SweepDoc) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(doc.csv.as_ref().expect("asked for")).expect("written");
    let mut lines = text.lines();
    let head: Vec<String> = lines.next().expect("a head").split(',').map(str::to_owned).collect();
    lines.map(|l| head.iter().cloned().zip(cells(l)).collect()).collect()
}

/// Cells of a line; commas between quotes do not part them.
fn cells(line: &str) -> Vec<String> {
    let (mut all, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            _ => all.last_mut().expect("one").push(c),
        }
    }
    all
}

#[test]
fn every_row_is_what_the_plain_engine_says_of_shared_references() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let program = program(6);
    support::write(&*program.store(), &folder.path().join("x.hnt"));
    let doc =
        asked(Inline { counters: true, ..inline(folder.path(), "all") }, folder.path(), "a.sweep").expect("a sweep");
    assert_eq!(doc.protocols.len(), ALL.len());

    let (reader, machine) = (program.open().expect("valid"), models::find("markatos").expect("in the registry"));
    let map = homenode_sim::thread_map(&reader, &machine, None).expect("bindings");
    let bound = bindings(&map, |t| reader.address_space(t));
    let names = NameTable::new(&reader).expect("events agree");
    let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
    let mut all = Again { data: &reader, kind: OrderKind::Model };
    let (mut source, mut refs) = (SharedRefs::new(&mut all, &objects, &bound), Vec::new());
    let mut stream = source.stream(0).expect("in order");
    while let Some(piece) = stream.pull().expect("in order") {
        refs.extend_from_slice(piece.refs);
    }
    assert!(refs.len() > 5_500 && refs.len() < 6_500, "a quarter is on stacks");
    let mut question = Question::new(vec![machine], vec![bound], (6..17).map(|b| 1 << b).collect());
    question.protocols = ALL.iter().map(|s| s.choose(&[]).expect("defaults")).collect();
    question.counters = true;
    let mut want = plain::answer(&question, &refs).expect("an answer");
    want.keep_best_counters();

    let rows = rows(&doc);
    assert_eq!((rows.len(), doc.rows as usize), (want.rows.len(), 11 * (ALL.len() + 1 + 4)));
    for (got, want) in rows.iter().zip(&want.rows) {
        let what = want.what.key(&question);
        let cells = ["block_bytes", "what", "cost"].map(|c| got[c].as_str());
        assert_eq!(cells, [&*want.block_bytes.to_string(), &*what, &*want.cost.0.to_string()]);
        assert_eq!((&*got["refs"], &*got["accesses"]), (&*refs.len().to_string(), &*refs.len().to_string()));
        let over: f64 = got["over_optimum"].parse().expect("a number");
        assert!(over >= 1.0 && (what != "optimum-coherence" || over == 1.0), "{what}: {over}");
        assert_eq!(got["updates"].is_empty(), want.done.is_none());
        if let Some(done) = want.done {
            let done = [done.effects.0[1], done.effects.0[2], done.effects.0[3], done.effects.0[6], done.between];
            let cells =
                ["remote_reads", "remote_writes", "updates", "invalidations", "between"].map(|c| got[c].clone());
            assert_eq!(cells, done.map(|n| n.to_string()), "{what}");
        }
    }
    let said = format!("protocols see {} of 8000 references", refs.len());
    assert!(doc.notes.iter().any(|n| n.contains(&said)), "{:?}", doc.notes);
    assert!(doc.to_text().contains("best inv-del by page"), "all rows are printed");
}

/// What the plain engine says of references: a row of a sweep over two protocols.
fn plain_cost(source: &mut dyn Source, machine: &Machine, bound: &[ThreadBinding], (block, what): (u64, &str)) -> i128 {
    let refs = rest(&mut *source.stream(0).expect("in order")).expect("in order");
    let mut question = Question::new(vec![machine.clone()], vec![bound.to_vec()], vec![block]);
    question.protocols = ["upt", "inv-del(4)"].map(|p| Choice::parse(p).expect("a protocol")).to_vec();
    let want = plain::answer(&question, &refs).expect("an answer");
    want.rows.iter().find(|r| r.what.key(&question) == what).expect("a row").cost.0
}

#[test]
fn realigned_rows_are_what_the_plain_engine_says_of_realigned_references() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let program = program(6);
    support::write(&*program.store(), &folder.path().join("x.hnt"));
    let realign: Vec<String> = ["word", "word(3000)", "word(2000,1024,900)"].map(str::to_owned).to_vec();
    let asked_for = Inline { realign: realign.clone(), ..inline(folder.path(), "upt,inv-del(4)") };
    let doc = asked(asked_for, folder.path(), "a.sweep").expect("a sweep");

    let (reader, machine) = (program.open().expect("valid"), models::find("markatos").expect("in the registry"));
    let map = homenode_sim::thread_map(&reader, &machine, None).expect("bindings");
    let bound = bindings(&map, |t| reader.address_space(t));
    let names = NameTable::new(&reader).expect("events agree");
    let got = rows(&doc);
    assert_eq!(got.len(), 4 * 11 * 3);
    assert!(got[..33].iter().all(|row| row["realigned"].is_empty()));
    let mut cheaper = 0;
    for (row, before) in got[33..].iter().zip((0..3).flat_map(|_| &got[..33])) {
        let block: u64 = row["block_bytes"].parse().expect("a number");
        let how = match realign.iter().position(|name| *name == row["realigned"]) {
            Some(0) => Realignment::by_pages_of(block),
            Some(1) => Realignment { window: 3000, ..Realignment::by_pages_of(block) },
            Some(2) => Realignment { window: 2000, ..Realignment::by_pages_of(1024) }.shared_alone(900_000),
            _ => panic!("not asked: {row:?}"),
        };
        let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
        let mut all = Again { data: &reader, kind: OrderKind::Model };
        let mut source = Realigned::new(&mut all, &objects, &bound, how, Private::LeftOut).expect("it can be");
        let want = plain_cost(&mut source, &machine, &bound, (block, &row["what"]));
        assert_eq!(row["cost"], want.to_string(), "{row:?}");
        assert_eq!((&row["what"], &row["block_bytes"]), (&before["what"], &before["block_bytes"]));
        cheaper += u32::from(want < before["cost"].parse().expect("a number"));
    }
    assert!(cheaper > 10, "it is worth something to whom pages are shared falsely: {cheaper}");
    let text = doc.to_text();
    let head = text.lines().find(|l| l.contains("over optimum")).expect("a table");
    assert!(head.split_whitespace().rev().take(2).eq(["gain", "word(2000,1024,900)"]), "{head}");
    assert!(text.contains("moves cost nothing"));
}

#[test]
fn rows_laid_out_by_field_are_what_the_plain_engine_says_of_relocated_references() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut program = Builder::new(4);
    // Records of four words, a word for each thread, and a word for all of them.
    (0..10).for_each(|record| {
        program.alloc(0, 0x40_0000 + 32 * record, 32, &[1]);
    });
    program.alloc(0, 0x40_0800, 8, &[2]).spawn_all();
    for i in 0..4000u64 {
        let thread = (i % 4) as u32;
        let addr = 0x40_0000 + if i % 16 < 4 { 2048 } else { u64::from(thread) * 8 + i / 400 * 32 };
        if i % 3 == 0 {
            program.write(thread, addr)
        } else {
            program.read(thread, addr)
        };
    }
    support::write(&*program.store(), &folder.path().join("x.hnt"));
    let realign = ["field", "field(256)"].map(str::to_owned).to_vec();
    let asked_for = Inline { realign, ..inline(folder.path(), "upt,inv-del(4)") };
    let doc = asked(asked_for, folder.path(), "a.sweep").expect("a sweep");

    let (reader, machine) = (program.open().expect("valid"), models::find("markatos").expect("in the registry"));
    let map = homenode_sim::thread_map(&reader, &machine, None).expect("bindings");
    let bound = bindings(&map, |t| reader.address_space(t));
    let names = NameTable::new(&reader).expect("events agree");
    let got = rows(&doc);
    assert_eq!(got.len(), 3 * 11 * 3);
    let mut cheaper = 0;
    for (row, before) in got[33..].iter().zip((0..2).flat_map(|_| &got[..33])) {
        let block: u64 = row["block_bytes"].parse().expect("a number");
        let page = if row["realigned"] == "field" { block } else { 256 };
        let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
        let mut all = Again { data: &reader, kind: OrderKind::Model };
        let mut source = Relocated::new(&mut all, &objects, &bound, page, Private::LeftOut);
        let want = plain_cost(&mut source, &machine, &bound, (block, &row["what"]));
        assert_eq!(row["cost"], want.to_string(), "{row:?}");
        cheaper += u32::from(want < before["cost"].parse().expect("a number"));
    }
    assert!(cheaper > 40, "what each thread uses alone lies apart: {cheaper}");
    assert!(doc.to_text().contains("one layout for the whole run"));
}

#[test]
fn policies_see_everything_beside_protocols() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    support::write(&*program(4).store(), &folder.path().join("x.hnt"));
    let text = |s: &str| vec![s.to_owned()];
    let alone = Inline { policies: text("first-touch"), protocols: Vec::new(), ..inline(folder.path(), "") };
    let both = Inline { protocols: text("upt,inv-del(2)"), ..alone.clone() };
    let alone = rows(&asked(alone, folder.path(), "alone.sweep").expect("a sweep"));
    let both = asked(both, folder.path(), "both.sweep").expect("a sweep");
    assert!(both.to_text().contains("over optimum"));
    let both = rows(&both);
    assert_eq!((alone.len(), both.len()), (22, 22 + 33));
    assert_eq!(both[..22], alone);
    assert!(both[22..].iter().all(|row| row["refs"] != alone[0]["refs"]));
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    support::write(&*program(65).store(), &folder.path().join("x.hnt"));
    let refused = |inline: Inline, word: &str| {
        let e = asked(inline, folder.path(), "x.sweep").expect_err(word);
        assert!(e.message.contains(word) && !e.message.contains('\n'), "{word}: {e}");
        assert_eq!(e.class, Class::Usage, "{e}");
    };
    let all = || inline(folder.path(), "all");
    refused(all(), "65 threads run at once, more than the 64 processors of machine markatos");
    refused(Inline { machines: vec!["numa".into()], ..all() }, "no machine has prices");
    refused(Inline { blocks: vec!["96".into()], ..all() }, "powers of two");
    refused(inline(folder.path(), "upd"), "did you mean 'upt'?");
    refused(Inline { protocols: Vec::new(), counters: true, ..all() }, "counters go with protocols");
    let realign = |how: &str| vec![how.to_owned()];
    refused(Inline { protocols: Vec::new(), realign: realign("word"), ..all() }, "realign goes with protocols");
    refused(Inline { realign: realign("line"), ..all() }, "realignment 'line'");
    refused(Inline { realign: realign("word(0)"), ..all() }, "window is 0");
    refused(Inline { realign: realign("word(16000000)"), ..all() }, "--memory: at least");
}
