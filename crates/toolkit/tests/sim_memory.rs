//! `homenode sim memory`: the document, what it counts, and what is refused.
mod support;
use homenode_command::Class;
use homenode_synthetic::Builder;
use homenode_toolkit::{SimMemoryRequest, sim_memory};
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::{EventKind, Sampling};
use tempfile::TempDir;

fn dataset(program: &Builder) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    support::write(&program.store(), folder.path());
    folder
}

fn request(folder: &TempDir) -> SimMemoryRequest {
    SimMemoryRequest {
        dataset: folder.path().to_owned(),
        architectures: Vec::new(),
        pressures: vec!["10..90".to_owned()],
        machine: "ascoma".to_owned(),
        map: None,
        phase: None,
        gaps: 1.0,
        open: Vec::new(),
    }
}

/// Eight threads that write pages of their own and read all others', in two phases.
fn program() -> Builder {
    let mut b = Builder::new(8);
    for (phase, rounds) in [("fill", 1u64), ("use", 6)] {
        (0..8).for_each(|t| _ = b.event(t, EventKind::PhaseBegin { name: phase.to_owned() }));
        for i in 0..rounds * 64 {
            (0..8u32).for_each(|t| {
                let page = if rounds == 1 { i % 8 * 8 + u64::from(t) } else { i };
                b.write(t, 0x10_0000 + page % 64 * 4096 + u64::from(t) * 256);
            });
        }
        b.barrier(0x9000, 0..8);
        (0..8).for_each(|t| _ = b.event(t, EventKind::PhaseEnd { name: phase.to_owned() }));
    }
    b
}

#[test]
fn every_architecture_has_a_row_a_pressure_and_ccnuma_one() {
    let folder = dataset(&program());
    let doc = sim_memory(&request(&folder), &mut ()).expect("runs");
    // At 90 % eight home pages leave no frame.
    assert_eq!(doc.rows.len(), 1 + 4 * 5 - 1);
    assert!(doc.notes[0].starts_with("left out: scoma at a pressure of 90 %"), "{:?}", doc.notes);
    assert_eq!((doc.rows[0].row.architecture, doc.rows[0].row.pressure, doc.rows[0].relative), ("ccnuma", None, 1.0));
    assert_eq!(doc.layout.home_pages, [8; 8]);
    assert!(doc.notes.iter().any(|n| n.contains("not known: taken as 1")), "{:?}", doc.notes);
    let again = sim_memory(&request(&folder), &mut ()).expect("runs");
    assert_eq!(doc.to_json(), again.to_json(), "the same every time");
    assert_eq!(doc.to_csv().lines().count(), 1 + doc.rows.len());
    let text = doc.to_text();
    for word in ["U-SH-MEM", "CONF/CAPC", "N_pagecache T", "relations", "ideal pressure 12 %"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_phase_alone_is_counted() {
    let folder = dataset(&program());
    let of = |phase: Option<&str>| {
        let phase = phase.map(str::to_owned);
        let asked = SimMemoryRequest { phase, architectures: vec!["ccnuma".to_owned()], ..request(&folder) };
        sim_memory(&asked, &mut ()).expect("runs").rows.remove(0).row
    };
    let (all, fill, used) = (of(None), of(Some("fill")), of(Some("use")));
    assert_eq!(all.total.misses(), fill.total.misses() + used.total.misses());
    assert_eq!(all.total.faults, fill.total.faults + used.total.faults);
    assert!(fill.total.misses() > 0 && used.total.misses() > fill.total.misses());
    assert_eq!(all.times.cycles(), fill.times.cycles() + used.times.cycles());
    assert!(used.cycles < all.cycles && fill.cycles < all.cycles);
}

#[test]
fn counted_instructions_take_a_cycle_each() {
    let mut b = program();
    for t in 0..8 {
        b.write(t, 0x10_0000 + u64::from(t) * 4096).column(t, INSTRUCTIONS, 1 + 1001);
    }
    let folder = dataset(&b);
    let instructions = |gaps| {
        let asked = SimMemoryRequest { gaps, architectures: vec!["ccnuma".to_owned()], ..request(&folder) };
        let doc = sim_memory(&asked, &mut ()).expect("runs");
        assert_eq!(doc.instructions.counted, 8);
        doc.rows[0].row.times.instructions
    };
    assert_eq!(instructions(1.0) - instructions(0.0), 8 * 1000);
    assert_eq!(instructions(0.5) - instructions(0.0), 8 * 500);
}

/// What is asked for, changed.
type Change = fn(&mut SimMemoryRequest);

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let folder = dataset(&program());
    let refused = |change: Change| {
        let mut asked = request(&folder);
        change(&mut asked);
        let failure = sim_memory(&asked, &mut ()).expect_err("refused");
        (failure.class, failure.to_string())
    };
    let cases: [(Change, &str); 9] = [
        (|r| r.pressures = vec!["0".into()], "0 %"),
        (|r| r.pressures = vec!["101".into()], "101 %"),
        (|r| r.pressures = vec!["90..10".into()], "90..10"),
        (|r| r.architectures = vec!["coma".into()], "known are ccnuma, scoma"),
        (|r| r.machine = "numa".into(), "[hybrid]"),
        (|r| r.phase = Some("sort".into()), "known are fill, use"),
        (|r| r.gaps = -1.0, "--gaps"),
        (|r| r.open = vec!["o1".into()], "known are o2, o3"),
        (|r| (r.pressures, r.architectures) = (vec!["100".into()], vec!["scoma".into()]), "no frame is left"),
    ];
    for (change, word) in cases {
        let (class, text) = refused(change);
        assert!(class == Class::Usage && text.contains(word), "{text}");
    }
    let mut alone = Builder::new(1);
    alone.read(0, 0x1000);
    let folder = dataset(&alone);
    let failure = sim_memory(&request(&folder), &mut ()).expect_err("one page, eight nodes");
    assert!(failure.class == Class::Input && failure.to_string().contains("fewer frames than nodes"), "{failure}");
    let folder = dataset(alone.sampled(Sampling::default()));
    let failure = sim_memory(&request(&folder), &mut ()).expect_err("sampled");
    assert!(failure.class == Class::Input && failure.to_string().contains("sampled"), "{failure}");
}
