//! Analyses of a sweep: their tables are those of the registry asked directly, whoever makes them and however often it is
//! stopped.
mod support;

use homenode_command::Class;
use homenode_machine::models;
use homenode_placement::policies::Choice;
use homenode_sim::NoObjects;
use homenode_study::analyses::{Ask, Input, Spec};
use homenode_study::{Question, Want, plain};
use homenode_sweep::{StudySource, SweepDoc, SweepRequest, sweep};
use homenode_synthetic::Builder;
use homenode_table::{Cell, Table};
use homenode_trace::order::{Again, OrderKind, Source, rest};
use std::path::Path;

const STUDY: &str = r#"
traces = ["a.hnt"]
blocks = [256, 4096]
machines = ["numa"]
policies = ["first-touch"]
analyses = ["false-sharing", "savings", "tlb"]
"#;

/// Three threads, each with counters of its own in a line that all use, and pages of their own.
fn program() -> Builder {
    let mut b = Builder::new(3);
    for i in 0..900u64 {
        let thread = (i % 3) as u32;
        b.write(thread, 0x40_0000 + u64::from(thread) * 8).read(thread, 0x50_0000 + (i % 3) * 8192 + i % 64 * 8);
    }
    b
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    support::write(&*program().store(), &folder.path().join("a.hnt"));
    folder
}

fn asked(folder: &Path, text: &str) -> SweepRequest {
    let path = folder.join("study.toml");
    std::fs::write(&path, text).expect("written");
    SweepRequest {
        asked: StudySource::File(path),
        output: Some(folder.join("out.sweep")),
        workers: Some(1),
        memory_bytes: 256 << 20,
        csv: false,
        force: false,
        yes: false,
        worker: None,
    }
}

fn refused(text: &str, class: Class, words: &[&str]) {
    let folder = folder();
    let e = sweep(&asked(folder.path(), text), &mut ()).expect_err(text);
    assert_eq!(e.class, class, "{e}");
    assert!(words.iter().all(|w| e.message.contains(w)) && !e.message.contains('\n'), "{e}");
    assert!(!folder.path().join("out.sweep/work").exists(), "no work is begun: {e}");
}

/// Tables of an analysis asked of the registry, and of the plain engine.
fn directly(name: &str) -> Vec<Table> {
    let reader = program().open().expect("a dataset");
    let machine = models::find("numa").expect("in the registry");
    let map = homenode_sim::thread_map(&reader, &machine, None).expect("fits");
    let bindings = homenode_sim::bindings(&map, |t| reader.address_space(t));
    let mut question = Question::new(vec![machine], vec![bindings], vec![256, 4096]);
    question.policies = vec![Choice::parse("first-touch").expect("in the registry")];
    question.with_replication = Want::Cost;
    let mut source = Again { data: &reader, kind: OrderKind::Model };
    let ask = |q: &Question, source: &mut dyn Source| {
        let refs = rest(&mut source.stream(0)?)?;
        Ok(vec![plain::answer(q, &refs)?])
    };
    let ask: &Ask<'_> = &ask;
    let spec = Spec::find(name).expect("in the registry");
    let mut input = Input {
        source: &mut source,
        question: &question,
        ask,
        objects: &|| Box::new(NoObjects),
        seed: 1,
        repeats: spec.repeats,
    };
    spec.run(&mut input).expect(name)
}

/// Lines of the CSV that a table should have become.
fn csv(table: &Table) -> Vec<String> {
    let quoted =
        |t: &str| if t.contains([',', '"']) { format!("\"{}\"", t.replace('"', "\"\"")) } else { t.to_owned() };
    let cell = |v: &Cell<'_>| if let Cell::Text(t) = v { quoted(t) } else { v.to_string() };
    let line = |row: Vec<Cell<'_>>| std::iter::once("a.hnt".to_owned()).chain(row.iter().map(cell)).collect::<Vec<_>>();
    let head: Vec<&str> = std::iter::once("trace").chain(table.columns().iter().map(|c| c.name.as_str())).collect();
    std::iter::once(head.join(",")).chain(table.rows().map(|r| line(r).join(","))).collect()
}

fn texts(doc: &SweepDoc) -> Vec<(String, String)> {
    let tables = doc.analyses.iter().flat_map(|a| &a.tables);
    tables.map(|t| (t.name.clone(), std::fs::read_to_string(&t.csv).expect("written"))).collect()
}

#[test]
fn tables_are_those_of_the_registry() {
    let folder = folder();
    let doc = sweep(&asked(folder.path(), STUDY), &mut ()).expect("swept");
    let names: Vec<&str> = doc.analyses.iter().map(|a| a.analysis.as_str()).collect();
    assert_eq!(names, ["tlb", "false-sharing", "savings"], "in the order of the registry");
    for analysis in &doc.analyses {
        let tables = directly(&analysis.analysis);
        assert_eq!(tables.len(), analysis.tables.len());
        for (table, found) in tables.iter().zip(&analysis.tables) {
            // Names come from the dataset, which the registry asked directly knows nothing of.
            if ["false-sharing-objects", "false-sharing-lines", "false-sharing-words"].contains(&&*table.name) {
                continue;
            }
            let text = std::fs::read_to_string(&found.csv).expect("written");
            assert_eq!(text.lines().count(), table.len() + 1, "{}", table.name);
            for (line, wanted) in text.lines().zip(csv(table)) {
                assert_eq!(line, wanted, "{}", table.name);
            }
            assert_eq!((found.rows as usize, found.name.as_str()), (table.len(), &*table.name));
            assert!(!table.is_empty(), "{}", table.name);
        }
    }
    let text = doc.to_text();
    assert!(text.contains("a.hnt: false-sharing-objects (false-sharing)") && text.contains("a.hnt: savings (savings)"));
    assert_eq!(sweep(&asked(folder.path(), STUDY), &mut ()).expect("again"), doc, "done is done");
}

#[test]
fn the_counters_of_three_threads_in_one_line_are_found() {
    let folder = folder();
    let doc = sweep(&asked(folder.path(), STUDY), &mut ()).expect("swept");
    let words = texts(&doc).into_iter().find(|(name, _)| name == "false-sharing-words").expect("a table").1;
    // Three threads on eight nodes: thread i is on node floor(8 i / 3).
    for (offset, node) in [(0, 0), (8, 2), (16, 5)] {
        let row = format!("{offset},8,node {node}");
        assert!(words.lines().any(|l| l.starts_with("a.hnt,numa,256,0x400000,") && l.contains(&row)), "{row}: {words}");
    }
}

#[test]
fn what_is_made_is_not_made_again_and_damage_is() {
    let folder = folder();
    let whole = texts(&sweep(&asked(folder.path(), STUDY), &mut ()).expect("swept"));
    // As a sweep leaves its folder that was killed before the manifest: with all work, one file of it damaged.
    let out = folder.path().join("out.sweep");
    std::fs::remove_file(out.join("run.json")).expect("removed");
    assert_eq!(texts(&sweep(&asked(folder.path(), STUDY), &mut ()).expect("swept again")), whole);
    let other = STUDY.replace("\"savings\", ", "");
    let e = sweep(&asked(folder.path(), &other), &mut ()).expect_err("another study");
    assert!(e.message.contains("results of another study"), "{e}");
    let request = SweepRequest { force: true, ..asked(folder.path(), &other) };
    sweep(&request, &mut ()).expect("forced");
    assert!(out.join("tlb.csv").exists() && !out.join("savings.csv").exists(), "tables of the other study are gone");
}

#[test]
fn analyses_alone_need_no_table() {
    let folder = folder();
    let text = "traces = [\"a.hnt\"]\nblocks = 4096\nmachines = [\"numa\"]\noptimum = \"none\"\nanalyses = [\"tlb\"]\n";
    let doc = sweep(&asked(folder.path(), text), &mut ()).expect("swept");
    assert_eq!((doc.rows, doc.units, doc.analyses.len()), (0, 0, 1));
}

#[test]
fn what_cannot_be_analysed_is_said_before_any_work() {
    refused(&STUDY.replace("tlb", "tbl"), Class::Input, &["line 6", "'tbl'", "did you mean 'tlb'?"]);
    refused(&STUDY.replace("tlb", "alpha-beta-gamma"), Class::Usage, &["a.hnt", "alpha-beta-gamma", "global memory"]);
    refused(&STUDY.replace("tlb", "confidence"), Class::Usage, &["a.hnt", "sampled recording"]);
    let many = format!("{STUDY}[[machine]]\nfamily = \"numa\"\nlambda = {{ from = 10, to = 100, step = 1 }}\n");
    refused(&many, Class::Input, &["at most 64 machines", "92"]);
}
