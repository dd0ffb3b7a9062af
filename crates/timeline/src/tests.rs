//! Files against what is known of small programs by construction.
use crate::viewers::Viewer;
use crate::{TimelineRequest, VIEWERS, write};
use homenode_command::{Class, Failure};
use homenode_placement::policies::Choice;
use homenode_sim::{BoundMachine, Engine, Setup};
use homenode_synthetic::Builder;
use homenode_trace::manifest::Clock;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::store::Store;
use homenode_trace::{DataSource, EventKind, Op, Sample, SampleUnit, Sampling};
use serde_json::Value;
use std::path::Path;

/// Lines that each thread reads.
const LINES: u64 = 3000;
const LINE_BYTES: u64 = 64;
/// Lines of something else, which drive it out of all caches.
const FLUSH: u64 = 1 << 18;
const AT: u64 = 0x40_0000;
/// Picoseconds of a miss on the machine `two-socket`: near and far.
const NEAR: u64 = 81_100;
const FAR: u64 = 142_050;

/// Thread 0, on node 0, touches everything; then both read it, each once, so that thread 1 has remote accesses alone.
fn program() -> Builder {
    let mut b = Builder::new(2);
    b.global("table", AT, LINES * LINE_BYTES);
    b.event(0, EventKind::PhaseBegin { name: "fill".into() });
    (0..LINES).for_each(|i| _ = b.write(0, AT + i * LINE_BYTES));
    b.event(0, EventKind::PhaseEnd { name: "fill".into() });
    // What is in a cache comes from there: on this machine 16 MiB of other lines drive it out of 11.
    (0..FLUSH).for_each(|i| _ = b.write(0, (AT << 8) + i * LINE_BYTES));
    b.spawn(0, 1);
    (0..LINES).for_each(|i| _ = b.read(1, AT + i * LINE_BYTES));
    b
}

fn put(program: &Builder, folder: &Path) -> std::path::PathBuf {
    let store = program.store();
    for name in store.names().unwrap() {
        let file = folder.join("x.hnt").join(&name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, store.get(&name).unwrap().as_slice()).unwrap();
    }
    folder.join("x.hnt")
}

fn made(program: &Builder, viewer: &str, machine: &str) -> Result<(Value, String), Failure> {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("x.json");
    let request = TimelineRequest {
        dataset: put(program, folder.path()),
        machine: machine.into(),
        block: None,
        map: None,
        viewer: Viewer::find(viewer).unwrap(),
        to: to.clone(),
        force: false,
    };
    let said = write(&request, &mut ())?;
    Ok((serde_json::from_slice(&std::fs::read(to).unwrap()).unwrap(), said))
}

fn events<'d>(document: &'d Value, kind: &str) -> Vec<&'d Value> {
    document["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == kind).collect()
}

/// (name, begin, end), in nanoseconds.
fn slices(document: &Value) -> Vec<(&str, f64, f64)> {
    let ns = |e: &Value, of: &str| e[of].as_f64().unwrap() * 1e3;
    let slice = |e: &Value| (ns(e, "ts").round(), (ns(e, "ts") + ns(e, "dur")).round());
    let named = events(document, "X").into_iter().map(|e| (e["name"].as_str().unwrap(), slice(e)));
    named.map(|(name, (from, to))| (name, from, to)).collect()
}

/// What a counter comes to: its values, each for as long as it holds, in its unit times microseconds.
fn area(document: &Value, name: &str) -> f64 {
    let value = |e: &Value| e["args"].as_object().unwrap().values().next().unwrap().as_f64().unwrap();
    let of: Vec<_> = events(document, "C").into_iter().filter(|e| e["name"] == name).collect();
    assert!(!of.is_empty(), "there is no counter {name}");
    of.windows(2).map(|w| value(w[0]) * (w[1]["ts"].as_f64().unwrap() - w[0]["ts"].as_f64().unwrap())).sum()
}

#[test]
fn perfetto_shows_threads_phases_remote_shares_and_bytes() {
    let (document, said) = made(&program(), "perfetto", "two-socket").unwrap();
    assert!(said.contains("not that of the recording") && said.contains("1.00 ns besides"), "{said}");
    let slices = slices(&document);
    let names: Vec<_> = slices.iter().map(|s| s.0).collect();
    assert_eq!(names, ["thread 0 on node 0", "fill", "thread 1 on node 1"]);
    // Each reference of thread 0 is a miss of its own node's memory, and takes a nanosecond besides.
    let fill_ns = (LINES * (NEAR + 1_000)) as f64 / 1e3;
    assert!((slices[1].2 / fill_ns - 1.0).abs() < 0.01, "{slices:?}, not {fill_ns}");
    let one_ns = (LINES * (FAR + 1_000)) as f64 / 1e3;
    assert!(((slices[2].2 - slices[2].1) / one_ns - 1.0).abs() < 0.15, "{slices:?}, not {one_ns}");
    // A megabyte a second for a microsecond is a byte.
    let read = area(&document, "node 0: read");
    let all = ((2 * LINES + FLUSH) * LINE_BYTES) as f64;
    assert!((read / all - 1.0).abs() < 0.001, "{read} bytes, not {all}");
    assert!(area(&document, "node 1: read") == 0.0);
    // All of thread 1's accesses are remote, for as long as it lives.
    let remote = area(&document, "thread 1: remote accesses") * 10.0;
    assert!(remote >= slices[2].2 - slices[2].1, "{remote}");
    assert!(area(&document, "thread 0: remote accesses") == 0.0);
}

/// Costs by what the innermost frame, the one before it, and the category are called.
fn costs(document: &Value) -> Vec<(String, String, String, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    let categories = &document["meta"]["categories"];
    for thread in document["threads"].as_array().unwrap() {
        let table = |name: &str, column: &str, i: &Value| thread[name][column][i.as_u64().unwrap() as usize].clone();
        let label = |stack: &Value| {
            let name = table("funcTable", "name", &table("frameTable", "func", &table("stackTable", "frame", stack)));
            thread["stringArray"][name.as_u64().unwrap() as usize].as_str().unwrap().to_owned()
        };
        let samples = &thread["samples"];
        assert_eq!(samples["weightType"], "tracing-ms");
        for (stack, weight) in samples["stack"].as_array().unwrap().iter().zip(samples["weight"].as_array().unwrap()) {
            if stack.is_null() {
                assert_eq!(weight, 0.0);
                continue;
            }
            let category = table("frameTable", "category", &table("stackTable", "frame", stack));
            let category = categories[category.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned();
            let key = (label(stack), label(&table("stackTable", "prefix", stack)), category);
            *sums.entry(key).or_insert(0.0) += weight.as_f64().unwrap();
        }
    }
    sums.into_iter().map(|((data, code, category), cost)| (data, code, category, cost)).collect()
}

#[test]
fn firefox_weighs_code_and_data_by_what_they_cost() {
    let (document, _) = made(&program(), "firefox", "two-socket").unwrap();
    let costs = costs(&document);
    let cost = |data: &str, code: &str, kind: &str| {
        let of = |c: &&(String, String, String, f64)| c.0 == data && c.1.starts_with(code) && c.2 == kind;
        costs.iter().filter(of).map(|c| c.3).sum::<f64>()
    };
    let ms = |ps: u64| ps as f64 / 1e9;
    let near = cost("table", "write_word (synthetic.c:20)", "Local memory");
    assert!((near - ms(LINES * NEAR)).abs() < 1e-6, "{costs:?}");
    let far = cost("table", "read_word (synthetic.c:10)", "Remote memory");
    assert!((far - ms(LINES * FAR)).abs() < 1e-6, "{costs:?}");
    assert!((costs.iter().map(|c| c.3).sum::<f64>() - near - far - ms(FLUSH * NEAR)).abs() < 1e-6, "{costs:?}");
    let phases: Vec<_> =
        document["threads"].as_array().unwrap().iter().map(|t| t["markers"]["length"].clone()).collect();
    assert_eq!(phases, [1, 0]);
}

/// Whatever the program: costs of all samples are those of the replay, but for write-backs, for which nobody waits.
#[test]
fn costs_add_up_to_those_of_the_plain_engine() {
    for seed in 0..8 {
        let program = homenode_synthetic::random(seed, 3, 4000);
        let reader = program.open().unwrap();
        let bound = BoundMachine::new(homenode_machine::models::find("two-socket").unwrap(), None).unwrap();
        let bindings = bound.bindings(&reader).unwrap();
        let setup = Setup::exact(&bound.machine, &bindings, 4096);
        let mut engine = Engine::new(setup, &[Choice::parse("first-touch").unwrap()], None).unwrap();
        let mut charges = homenode_sim::Charges::new(setup).unwrap();
        let (mut order, mut written) = (Order::new(&reader, OrderKind::Model).unwrap(), 0);
        while let Some(piece) = order.pull().unwrap() {
            engine.refs(piece.refs);
            for r in piece.refs {
                let unwaited = charges.reference(r).iter().filter(|c| c.thread.is_none());
                written += unwaited.map(|c| i128::from(c.cost.0)).sum::<i128>();
            }
        }
        let priced = engine.finish().unwrap();
        let whole = priced.total(0).0 - written;
        let (document, _) = made(&program, "firefox", "two-socket").unwrap();
        let shown: f64 = costs(&document).iter().map(|c| c.3).sum();
        assert!((shown - whole as f64 / 1e9).abs() < 1e-6, "seed {seed}: {shown} ms, not {whole} ps");
    }
}

/// A sample of so many misses that came from memory.
fn misses(weight: u32) -> Sample {
    Sample { weight, source: DataSource::LocalMemory, ..Sample::ONE }
}

#[test]
fn time_of_a_sampled_recording_is_that_of_its_stamps() {
    let mut b = Builder::new(2);
    b.sampled(Sampling { unit: SampleUnit::Miss, event: "test".into(), ..Sampling::default() }).batch_refs(1);
    b.manifest().clock = Clock::Ns;
    // Two calls a sample: of 1,000 samples of each thread one in turn, the last is made some 4,000 ns after the first.
    for i in 0..1000 {
        b.sample(0, AT + i * 8, 8, Op::Read, 0x40_1000, misses(100));
        b.sample(1, AT + i * 8, 8, Op::Read, 0x40_1000, misses(100));
    }
    let (document, said) = made(&b, "perfetto", "two-socket").unwrap();
    assert!(said.contains("Time is that of the recording"), "{said}");
    let slices = slices(&document);
    assert_eq!(slices.iter().map(|s| (s.1, s.2)).collect::<Vec<_>>(), [(0.0, 3996.0), (2.0, 3998.0)]);
    // The window is a millisecond long.
    let read = area(&document, "node 0: read");
    assert!((read / (2000.0 * 100.0 * 64.0) - 1.0).abs() < 0.01, "{read}");
    assert!(area(&document, "remote accesses") == 50.0 * 1000.0);
}

#[test]
fn windows_become_wider_and_lose_nothing() {
    let mut windows = crate::windows::Windows::new(1, 1, 1, false);
    for at in 0..100_000 {
        windows.advance(at);
        windows.reference(0, 1);
    }
    let (width, windows) = windows.finish();
    assert_eq!((width, windows.len()), (256, 391));
    let refs: Vec<u64> = windows.iter().map(|w| w.shares[0].1.refs).collect();
    assert!(refs[..390].iter().all(|n| *n == 256) && refs.iter().sum::<u64>() == 100_000, "{refs:?}");
}

#[test]
fn samples_that_did_not_come_from_memory_are_said_to_show_nothing() {
    let mut b = Builder::new(1);
    b.sampled(Sampling { unit: SampleUnit::Reference, event: "test".into(), ..Sampling::default() });
    b.sample(0, AT, 8, Op::Read, 0x40_1000, Sample { source: DataSource::Cache, ..Sample::ONE });
    let (document, said) = made(&b, "firefox", "two-socket").unwrap();
    assert!(said.contains("Nothing that was recorded came from memory") && said.contains("are estimates"), "{said}");
    assert_eq!(document["threads"][0]["samples"]["length"], 0);
    assert!(!made(&program(), "firefox", "two-socket").unwrap().1.contains("Nothing that was recorded"));
}

#[test]
fn what_has_no_times_or_no_costs_is_refused() {
    for viewer in VIEWERS {
        let failure = made(&program(), viewer.name, "butterfly").unwrap_err();
        assert_eq!(failure.class, Class::Usage);
        assert!(failure.to_string().contains("its costs are no times"), "{failure}");
    }
    let mut b = Builder::new(1);
    b.sampled(Sampling { unit: SampleUnit::Window, event: "test".into(), ..Sampling::default() }).read(0, AT);
    let failure = made(&b, "firefox", "two-socket").unwrap_err();
    assert!(failure.to_string().contains("--perfetto shows them"), "{failure}");
    let (document, _) = made(&b, "perfetto", "two-socket").unwrap();
    assert!(events(&document, "C").iter().all(|e| !e["args"].as_object().unwrap().contains_key("MB/s")));
}
