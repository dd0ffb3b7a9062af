//! Sweeps against the plain engine, from study to table.
mod support;

use homenode_command::Class;
use homenode_machine::{Machine, models};
use homenode_placement::policies::Choice;
use homenode_sim::{ReplayOptions, bindings};
use homenode_study::{Question, Want, What, plain};
use homenode_sweep::{Inline, StudySource, SweepDoc, SweepRequest, sweep};
use homenode_synthetic::Builder;
use homenode_thin::{Method, Thin, thin_dataset};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Order, OrderKind, rest};
use homenode_trace::store::MemStore;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const POLICIES: [&str; 3] = ["first-touch", "ace(2)", "migrate-on-write"];

/// Four threads over shared and own pages, with some sharing of words.
fn program() -> Builder {
    let mut rng = homenode_base::Rng::new(3);
    let mut b = Builder::new(4);
    for i in 0..6_000u64 {
        let thread = (i / 7 % 4) as u32;
        let page = if rng.chance(1, 3) { rng.below(6) } else { 8 + u64::from(thread) * 4 + rng.below(4) };
        let addr = 0x40_0000 + page * 4096 + rng.below(512) * 8;
        if rng.chance(1, 4) {
            b.write(thread, addr)
        } else {
            b.read(thread, addr)
        };
    }
    b
}

fn on_disk(store: &MemStore, folder: &Path, name: &str) {
    let root = folder.join(name);
    let _ = std::fs::remove_dir_all(&root);
    support::write(store, &root);
}

fn request(asked: StudySource, output: &Path) -> SweepRequest {
    SweepRequest {
        asked,
        output: Some(output.to_owned()),
        workers: Some(1),
        memory_bytes: 256 << 20,
        csv: true,
        force: false,
        yes: false,
        worker: None,
    }
}

/// A study file beside the dataset, and where its result goes.
fn study(folder: &Path, text: &str) -> (StudySource, PathBuf) {
    let path = folder.join("study.toml");
    std::fs::write(&path, text).expect("written");
    (StudySource::File(path), folder.join("result.sweep"))
}

fn refused(folder: &Path, text: &str, class: Class, word: &str) {
    let (asked, out) = study(folder, text);
    let e = sweep(&request(asked, &out), &mut ()).expect_err(word);
    assert!(e.message.contains(word) && !e.to_string().contains('\n'), "{word}: {e}");
    assert_eq!(e.class, class, "{e}");
}

/// Columns of the CSV by name, row by row.
fn rows(doc: &SweepDoc) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(doc.csv.as_ref().expect("asked for")).expect("written");
    let mut lines = text.lines();
    let head: Vec<String> = lines.next().expect("a head").split(',').map(str::to_owned).collect();
    let row = |l: &str| head.iter().cloned().zip(cells(l)).collect();
    lines.map(row).collect()
}

/// Cells of a line; commas in quotes belong to a cell.
fn cells(line: &str) -> Vec<String> {
    let mut quoted = false;
    let apart = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    line.split(apart).map(|c| c.trim_matches('"').to_owned()).collect()
}

/// Answer of the plain engine to the question of a study.
fn plainly(reader: &DatasetReader, machines: Vec<Machine>, blocks: &[u64]) -> homenode_study::Answer {
    let refs = Order::new(reader, OrderKind::Model).and_then(|mut order| rest(&mut order)).expect("in order");
    let binding = |m: &Machine| {
        let map = homenode_sim::thread_map(reader, m, None).expect("bindings");
        bindings(&map, |t| reader.address_space(t))
    };
    let all = machines.iter().map(binding).collect();
    let mut question = Question::new(machines, all, blocks.to_vec());
    question.policies = POLICIES.iter().map(|p| Choice::parse(p).expect("a policy")).collect();
    question.with_replication = Want::Parts;
    question.best_static = Want::Cost;
    question.options = ReplayOptions::default();
    plain::answer(&question, &refs).expect("an answer")
}

#[test]
fn every_row_is_what_the_plain_engine_says() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    on_disk(&program().store(), folder.path(), "x.hnt");
    let text = "traces = ['x.hnt']\nblocks = '64..1024'\nmachines = ['ace', 'cc', 'two-socket']\noptimum = 'parts'\n\
                best_static = 'cost'\npolicies = ['first-touch', 'ace(2)', 'migrate-on-write']\n\
                [[machine]]\nbase = 'butterfly'\nr = [15, 40]\nR = { from = 100, to = 900, step = 400 }\n";
    let (asked, out) = study(folder.path(), text);
    let doc = sweep(&request(asked, &out), &mut ()).expect("a sweep");
    let mut machines: Vec<Machine> =
        ["ace", "cc", "two-socket"].iter().map(|n| models::find(n).expect("a machine")).collect();
    for (r, copy) in [(15, 100), (15, 500), (15, 900), (40, 100), (40, 500), (40, 900)] {
        let text = models::find("butterfly").expect("a machine").to_toml();
        let text = text.replace("far = 15", &format!("far = {r}"));
        let text = text.replace("fixed = 200", &format!("fixed = {copy}")).replace("per_word = 3", "per_word = 0");
        machines.push(Machine::from_toml(&text).expect("a machine"));
    }
    let reader = program().open().expect("valid");
    let want = plainly(&reader, machines, &[64, 128, 256, 512, 1024]);
    let rows = rows(&doc);
    assert_eq!((rows.len(), doc.rows as usize), (want.rows.len(), want.rows.len()));
    for (got, want) in rows.iter().zip(&want.rows) {
        let what = match want.what {
            what if what.as_policy().is_some() => POLICIES[what.member() as usize],
            What::BEST_STATIC => "optimum-static",
            What::WITHOUT_REPLICATION => "optimum-without-replication",
            _ => "optimum",
        };
        assert_eq!((got["what"].as_str(), &got["cost"]), (what, &want.cost.0.to_string()), "{got:?}");
        assert_eq!((&got["block_bytes"], &got["exact"]), (&want.block_bytes.to_string(), &want.exact.to_string()));
        let moves = want.parts.map(|p| p.moves).or(want.optimum.map(|o| o.moves));
        assert_eq!(got["moves"], moves.map_or(String::new(), |m| m.to_string()), "{got:?}");
        assert_eq!(got["refs"], "6000");
    }
    assert_eq!(rows.last().map(|r| (r["params"].as_str(), r["remote"].as_str())), Some(("r=40 R=900", "40")));
}

#[test]
fn the_table_is_parquet_with_exact_decimals_and_the_document_fits_its_schema() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    on_disk(&program().store(), folder.path(), "x.hnt");
    let inline = Inline {
        traces: vec![folder.path().join("x.hnt")],
        blocks: vec!["64".into()],
        machines: vec!["cc+".into(), "numa".into()],
        policies: vec!["ace(1..2),first-touch".into()],
        ..Inline::default()
    };
    let table = folder.path().join("numbers.parquet");
    let asked = StudySource::Inline(inline);
    let doc = sweep(&request(asked.clone(), &table), &mut ()).expect("a sweep");
    assert_eq!(std::fs::read(&table).expect("copied"), std::fs::read(&doc.table).expect("written"));
    let reader = SerializedFileReader::new(std::fs::File::open(&table).expect("written")).expect("parquet");
    let found: Vec<_> = reader.get_row_iter(None).expect("rows").map(|r| r.expect("a row").into_columns()).collect();
    assert_eq!(found.len(), 8);
    for (row, csv) in found.iter().zip(rows(&doc)) {
        let field = |name: &str| row.iter().find(|(n, _)| n == name).map(|(_, f)| f).expect(name);
        let Field::Decimal(cost) = field("cost") else { panic!("{:?}", field("cost")) };
        let bytes: [u8; 16] = cost.data().try_into().expect("16 bytes");
        assert_eq!((i128::from_be_bytes(bytes).to_string(), cost.scale()), (csv["cost"].clone(), 0));
        assert_eq!(*field("lambda"), Field::Long(50));
        assert_eq!(*field("global"), Field::Null);
    }
    let again = sweep(&request(asked, &table), &mut ()).expect("done already");
    assert_eq!(
        (again.table_sha256, again.digest, again.seconds),
        (doc.table_sha256.clone(), doc.digest.clone(), doc.seconds)
    );
}

#[test]
fn samples_have_intervals_or_a_reason_why_not() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let thin = Thin::new(Method::RandomPeriod { period: 4 }, 3);
    let store = thin_dataset(&program().open().expect("valid"), OrderKind::Model, &thin).expect("ordered");
    on_disk(&store, folder.path(), "thin.hnt");
    let text = "traces = ['thin.hnt']\nblocks = [4096]\nmachines = ['numa']\npolicies = ['interleave', 'ace']\n";
    let (asked, out) = study(folder.path(), text);
    let doc = sweep(&request(asked, &out), &mut ()).expect("a sweep");
    let rows = rows(&doc);
    let row = |what: &str| rows.iter().find(|r| r["what"].starts_with(what)).expect("a row").clone();
    let (known, unknown) = (row("interleave"), row("ace"));
    assert!(unknown["mcpr_low"].is_empty() && unknown["note"].contains("do not show"), "{unknown:?}");
    assert!(row("optimum")["note"].contains("not known from samples"));
    // One region holds the whole program: too few parts for an interval, which is said too.
    assert!(known["mcpr_low"].is_empty() && known["note"].contains("fewer than 8 parts"), "{known:?}");
    assert!(doc.to_text().contains("mcpr_low"), "{}", doc.to_text());
}

#[test]
fn disturbed_orders_are_asked_too() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    on_disk(&program().store(), folder.path(), "x.hnt");
    let text = "traces = ['x.hnt']\nblocks = [256]\nmachines = ['numa']\npolicies = ['interleave', 'first-touch']\n\
                perturb = [{ filter = 'local', seeds = 2, synchronisation = 'ignored' }]\n";
    let (asked, out) = study(folder.path(), text);
    let rows = rows(&sweep(&request(asked, &out), &mut ()).expect("a sweep"));
    let cost = |what: &str| rows.iter().filter(|r| r["what"] == what).map(|r| r["cost"].clone()).collect::<Vec<_>>();
    assert_eq!((rows.len(), cost("interleave").len()), (9, 3));
    let [interleave, optimum] = ["interleave", "optimum"].map(cost);
    assert!(interleave.iter().all(|c| *c == interleave[0]), "no order matters where blocks stay: {interleave:?}");
    assert!(optimum[1] != optimum[0] && optimum[1] != optimum[2], "{optimum:?}");
}

#[test]
fn results_of_another_study_and_foreign_folders_are_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    on_disk(&program().store(), folder.path(), "x.hnt");
    let text = "traces = ['x.hnt']\nblocks = 64\nmachines = ['cc']\n";
    let (asked, out) = study(folder.path(), text);
    let first = sweep(&request(asked.clone(), &out), &mut ()).expect("a sweep");
    let (asked, _) = study(folder.path(), &text.replace("64", "128"));
    let e = sweep(&request(asked.clone(), &out), &mut ()).expect_err("another question");
    assert!(e.message.contains("results of another study") && e.class == Class::Usage, "{e}");
    let forced = SweepRequest { force: true, ..request(asked.clone(), &out) };
    let second = sweep(&forced, &mut ()).expect("replaced");
    assert_ne!(first.table_sha256, second.table_sha256);
    std::fs::write(&second.table, "spoiled").expect("written");
    let e = sweep(&request(asked.clone(), &out), &mut ()).expect_err("spoiled");
    assert!(e.message.contains("is not what the sweep wrote"), "{e}");
    let e = sweep(&request(asked.clone(), folder.path()), &mut ()).expect_err("foreign");
    assert!(e.message.contains("no folder of a sweep"), "{e}");
    let e = sweep(&request(asked.clone(), &folder.path().join("study.toml")), &mut ()).expect_err("a file");
    assert!(e.message.contains("is a file"), "{e}");
    // Another content of the trace is another study.
    on_disk(&program().read(0, 64).store(), folder.path(), "x.hnt");
    let e = sweep(&request(asked, &out), &mut ()).expect_err("another trace");
    assert!(e.message.contains("results of another study"), "{e}");
}

/// What another version of the program answered is neither taken for our own nor mixed with it.
#[test]
fn answers_of_another_version_are_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    on_disk(&program().store(), folder.path(), "x.hnt");
    let (asked, out) = study(folder.path(), "traces = ['x.hnt']\nblocks = 64\nmachines = ['cc']\n");
    let table = |doc: SweepDoc| doc.table_sha256;
    let first = table(sweep(&request(asked.clone(), &out), &mut ()).expect("a sweep"));
    let owner = out.join("study.json");
    let ours = std::fs::read_to_string(&owner).expect("written");
    let version = format!("\"homenode\":\"{}\",", env!("CARGO_PKG_VERSION"));
    assert!(ours.contains(&version), "{ours}");
    for (theirs, says) in [("\"homenode\":\"0.0.9\",", "homenode 0.0.9"), ("", "an older homenode")] {
        std::fs::write(&owner, ours.replace(&version, theirs)).expect("written");
        let e = sweep(&request(asked.clone(), &out), &mut ()).expect_err("another version's");
        assert!(e.class == Class::Usage && e.message.contains(says) && e.message.contains("--force"), "{e}");
        let worker = homenode_sweep::serve(&out, 64 << 20, &b""[..], Vec::new()).expect_err("another version's");
        assert!(worker.message.contains(says), "{worker}");
    }
    let forced = SweepRequest { force: true, ..request(asked.clone(), &out) };
    assert_eq!(table(sweep(&forced, &mut ()).expect("replaced")), first);
    assert_eq!(table(sweep(&request(asked, &out), &mut ()).expect("done before")), first);
}

#[test]
fn what_cannot_be_asked_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    on_disk(&program().store(), folder.path(), "x.hnt");
    let at = |text: &str, class, word: &str| refused(folder.path(), text, class, word);
    let good = "traces = ['x.hnt']\nblocks = 64\nmachines = ['ace']\n";
    at(&good.replace("x.hnt", "y.hnt"), Class::Input, "y.hnt");
    at(&good.replace("x.hnt", "study.toml"), Class::Input, "dataset");
    at(&good.replace("'ace'", "'aec'"), Class::Input, "did you mean 'ace'?");
    at(&good.replace("64", "65"), Class::Input, "line 2: blocks: '65'");
    at(&format!("{good}optimum = 'none'\n"), Class::Input, "nothing is asked");
    at(&format!("{good}[[machine]]\nbase = 'ace'\nG = 10"), Class::Input, "is more than 2G");
    at(&format!("{good}[[machine]]\nbase = 'butterfly'\nr = 0"), Class::Input, "line 4: r = 0 is less than");
    at(&format!("{good}[[machine]]\nbase = 'butterfly'\nr = 10_000_000_000_000"), Class::Input, "overflow");
    let many = "[[machine]]\nbase = 'butterfly'\nR = { from = 1, to = 1_000_000_000, step = 1 }";
    at(&format!("{good}{many}"), Class::Usage, "1000000001 points");
    at(&format!("{good}map = '900'\n"), Class::Usage, "map");
    let (asked, out) = study(folder.path(), good);
    let e = sweep(&SweepRequest { memory_bytes: 1 << 20, ..request(asked, &out) }, &mut ()).expect_err("too little");
    assert!(e.message.contains("--memory: at least 48M"), "{e}");
    let e = sweep(&request(StudySource::File(folder.path().join("none.toml")), &out), &mut ()).expect_err("no study");
    assert_eq!(e.class, Class::Input);
}

/// R <= 2G is asked of machines with global memory, with or without remote references; others may have any R.
#[test]
fn dear_copies_are_refused_only_where_one_can_go_through_global_memory() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    on_disk(&program().store(), folder.path(), "x.hnt");
    let text = |machine: &str| format!("traces = ['x.hnt']\nblocks = 4096\noptimum = 'cost'\n[[machine]]\n{machine}\n");
    for more in ["", "r = 'inf'\n"] {
        let machine = format!("base = 'ace'\nG = 1000\nR = 2001\n{more}");
        refused(
            folder.path(),
            &text(&machine),
            Class::Input,
            "R = 2001 is more than 2G = 2000 at blocks of 4096 bytes",
        );
        refused(folder.path(), &text(&machine), Class::Input, "a copy through global memory would be cheaper");
        refused(folder.path(), &text(&machine), Class::Input, "lower R, or say R = \"2G\"");
    }
    let legal = [
        "base = 'ace'\nG = 1000\nR = 2000",
        "base = 'ace'\nG = 1000\nR = '2G'\nr = 'inf'",
        "base = 'butterfly'\nR = 1_000_000",
        "base = 'butterfly'\nR = 1_000_000\nr = 'inf'",
    ];
    let costs = legal.map(|machine| {
        let (asked, out) = study(folder.path(), &text(machine));
        let asked = SweepRequest { force: true, ..request(asked, &out) };
        let rows = rows(&sweep(&asked, &mut ()).expect(machine));
        assert_eq!((rows.len(), rows[0]["what"].as_str()), (1, "optimum"), "{machine}");
        rows[0]["cost"].parse::<u64>().expect("a whole number")
    });
    // With moves this dear the Butterfly leaves every page in one place; without remote references it has no choice.
    assert!(costs[2] < 6_000 * 15 && costs[3] > 1_000_000 && costs[0] <= costs[1], "{costs:?}");
}
