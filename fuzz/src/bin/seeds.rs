//! Writes seeds for the fuzz targets into `corpus/`: the files of small synthetic datasets. Run it once from `fuzz/`.
use homenode_base::NodeId;
use homenode_fuzz::{host, import, killed, partition, perf, texts};
use homenode_machine::{Machine, models};
use homenode_placement::live::journal::JOURNAL_SCHEMA;
use homenode_placement::live::{Config, Event, Header, Line, PageId, Use};
use homenode_placement::plan::{Entry, Home, ObjectKey, Plan, SourceLine, StackHash};
use homenode_synthetic::random;
use homenode_trace::Sampling;
use homenode_trace::dataset::{EVENTS_FILE, MANIFEST_FILE};
use homenode_trace::framing::Codec;
use homenode_trace::store::Store;
use homenode_trace::symbols::Symbols;
use std::fs;
use std::io::Result;

fn seed(target: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let folder = format!("corpus/{target}");
    fs::create_dir_all(&folder)?;
    fs::write(format!("{folder}/{name}"), bytes)
}

fn main() -> Result<()> {
    samplers()?;
    imports()?;
    outside()?;
    datasets()
}

/// What other programs and the kernel write.
fn outside() -> Result<()> {
    for (target, name, text) in texts::ALL {
        seed(target, name, text.as_bytes())?;
    }
    seed("host_files", "two-nodes", &host::filling(texts::HOST))?;
    seed("partition_open", "good", &partition::good())?;
    // Its bytes stand for the executable of any program.
    let own = fs::read(std::env::current_exe()?)?;
    seed("program_file", "head", &own[..own.len().min(1 << 16)])?;
    seed("topology", "machine", format!("\x03{}", model("two-socket").to_toml()).as_bytes())?;
    seed("plan_parse", "all", plan().to_json().as_bytes())?;
    seed("journal_replay", "journal", journal().as_bytes())?;
    seed("agent_table", "all", &agent_table())?;
    seed("svm_message", "all", &svm_messages())?;
    for (name, code) in [("load", &[0x48, 0x8b, 0x04, 0x8b][..]), ("arm", &[0x20, 0x04, 0x40, 0xf9])] {
        let mut all = vec![0];
        all.extend(u64::MAX.to_le_bytes());
        all.extend_from_slice(code);
        all.resize(9 + 16, 0x90);
        all.extend((0..66u64).flat_map(|i| if i == 0 { 2u64 } else { i << 12 }.to_le_bytes()));
        seed("instruction", name, &all)?;
    }
    Ok(())
}

fn model(name: &str) -> Machine {
    models::find(name).expect("in the registry")
}

fn plan() -> Plan {
    let mut plan = Plan::new("two-socket");
    let keys = [
        ObjectKey::Symbol { build_id: "ab12".into(), symbol: "table".into(), address: 4096, size: 65_536 },
        ObjectKey::Heap {
            build_id: "ab12".into(),
            stack: StackHash(7),
            thread_path: vec![1, 0],
            ordinal: 0,
            size: 65_536,
            size_ordinal: 2,
            site: None,
            source: Some(SourceLine { file: "a.c".into(), line: 7, ordinal: 0 }),
        },
        ObjectKey::Stack { thread_path: vec![1] },
    ];
    for (object, home) in keys.into_iter().zip([Home::Node(1), Home::Thread(0), Home::Interleave(vec![0, 1])]) {
        let name = "data".to_owned();
        plan.entries.push(Entry { object, offset: 0, bytes: 4096, home, name, worth: Default::default() });
    }
    plan
}

/// Requests between nodes of every kind, in pieces of 31 bytes.
fn svm_messages() -> Vec<u8> {
    let [get, put, swap, add, get_page, put_page, put_run] = [1, 2, 3, 4, 5, 6, 7].map(|kind: u64| kind | 1 << 8);
    let puts = [0, 1, 2].map(|wake| [put | wake << 6, 5, 77]).concat();
    let words = [get, 5, swap, 5, 77, 78, add, 5, 1, get_page, 9, put_page, 9, 3, put_run, 9, 4, u64::MAX];
    let ends = [8, 0, 9, 0, 10, 0];
    [30].into_iter().chain(puts.into_iter().chain(words).chain(ends).flat_map(u64::to_le_bytes)).collect()
}

/// An agent's plan with a line of every kind.
fn agent_table() -> Vec<u8> {
    use homenode_base::agentplan::{AgentPlan, By, Home, Line};
    let (build_id, both) = ("ab12".to_owned(), Home::Interleave(vec![0, 1]));
    let heap = |by, offset, home| {
        let (build_id, path) = (build_id.clone(), vec![1, 0]);
        Line::Heap { build_id, by, path, ordinal: 1, size: 65_536, offset, bytes: 4096, home }
    };
    let mut lines = vec![Line::Pin { path: vec![], cpu: 1 }, Line::Stack { path: vec![1], node: 1 }];
    lines.extend([heap(By::Size, 0, both.clone()), heap(By::Size, 4096, Home::Node(1)), heap(By::Site(64), 0, both)]);
    lines.extend([heap(By::Stack(7), 0, Home::Node(0))]);
    lines.push(Line::Static { build_id, vaddr: 4096, bytes: 65_536, home: Home::Node(1) });
    homenode_base::agenttable::write(&AgentPlan { lines, ..AgentPlan::default() }).expect("a sound plan")
}

fn journal() -> String {
    let machine = model("two-socket");
    let header = Header {
        schema: JOURNAL_SCHEMA.into(),
        os_nodes: vec![0, 1],
        machine,
        policy: "affinity".into(),
        config: Config::default(),
        evidence: "none".into(),
    };
    let page = PageId { space: 7, page: 4096 };
    let events = [
        Event::Free { pages: vec![(NodeId(0), 1000), (NodeId(1), 1000)] },
        Event::Used { uses: vec![Use { page, pages: 1, node: NodeId(1), reads: 50, writes: 50 }] },
        Event::Located { at: vec![(page, Some(NodeId(0)))] },
        Event::Tick,
        Event::Marker,
        Event::Spent { deciding_ns: 1000 },
        Event::Off,
        Event::On,
        Event::Ended { space: 7 },
    ];
    let lines = events.into_iter().zip(1u64..).map(|(event, i)| Line::In { at_ns: i * 1_000_000_000, event });
    std::iter::once(Line::Header(Box::new(header))).chain(lines).map(|l| l.to_json()).collect()
}

fn samplers() -> Result<()> {
    seed("perf_data", "file", &perf::file())?;
    seed("perf_data", "spe", &perf::spe_file())?;
    seed("perf_data", "packed", &perf::packed_file())?;
    seed("perf_data", "pipe", &perf::pipe())?;
    for (name, sample_type) in [("plain", 0xc1cf), ("all", 0x1ff_ffff), ("address", 0x1_000f)] {
        seed("perf_ring", name, &perf::ring(sample_type))?;
    }
    Ok(())
}

/// What other tools record of every reference.
fn imports() -> Result<()> {
    let trace = import::drmemtrace(5);
    let packed = [
        ("gzip", import::gzip(&trace)),
        ("lz4", import::lz4(&trace, false)),
        ("lz4-checked", import::lz4(&trace, true)),
        ("zip", import::zip(&trace, 240, true)),
        ("stored", import::zip(&trace, 240, false)),
    ];
    for (name, bytes) in &packed {
        seed("import_drmemtrace", name, bytes)?;
        seed("unpack", name, bytes)?;
    }
    seed("unpack", "two-gzip", &packed[0].1.repeat(2))?;
    seed("unpack", "two-lz4", &packed[1].1.repeat(2))?;
    seed("unpack", "zstd", &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x48, 1, 0, 0])?;
    seed("import_drmemtrace", "plain", &trace)?;
    let functions = "1,1,0x10,libc.so.6!pthread_mutex_lock\n2,1,0x20,noret,libc.so.6!pthread_mutex_unlock\n\
        3,3,0x30,libc.so.6!pthread_barrier_init\n4,1,0x40,libc.so.6!pthread_barrier_wait\n";
    let folder = [(0, trace.clone()), (1, import::drmemtrace(6)), (2, packed[0].1.clone()), (5, functions.into())];
    seed("import_folder", "threads", &import::packed(&folder))?;
    let by_core = |tid: u64| {
        let mut bytes = import::drmemtrace(tid);
        // The file type, in the third record.
        bytes[24 + 6] = 1;
        bytes
    };
    seed("import_folder", "cores", &import::packed(&[(0, by_core(5)), (1, by_core(6)), (5, functions.into())]))?;
    seed("import_lackey", "log", import::LACKEY.as_bytes())?;
    seed("import_lackey", "gzip", &import::gzip(import::LACKEY.as_bytes()))?;
    seed("import_csv", "rows", import::CSV.as_bytes())?;
    seed("import_parquet", "rows", &import::parquet())
}

fn datasets() -> Result<()> {
    for n in 0..12u8 {
        let mut b = random(n.into(), 2, 80);
        b.codec([Codec::Raw, Codec::Lz4, Codec::Zstd][usize::from(n % 3)]).frame_refs(40);
        b.manifest().complete = n % 2 == 0;
        if n % 4 == 3 {
            b.sampled(Sampling::default());
        }
        let store = b.store();
        for name in store.names()? {
            let Some(bytes) = store.get(&name) else { continue };
            let selector = match name.as_str() {
                MANIFEST_FILE => 0,
                Symbols::FILE => 1,
                EVENTS_FILE => 2,
                _ => 3,
            };
            seed("manifest_open", &format!("{n}-{selector}"), &[&[selector], bytes.as_slice()].concat())?;
            let which = [7, 0, 6, 5][usize::from(selector)];
            if which > 0 && n < 4 {
                seed("recover", &format!("{n}-{selector}"), &killed::whole(which, &bytes))?;
            }
            match selector {
                2 => seed("events_decode", &format!("{n}"), &bytes)?,
                3 => seed("frame_decode", &format!("{n}"), &bytes)?,
                _ => {}
            }
        }
        seed(
            "round_trip",
            &format!("{n}"),
            &(0..200u32).map(|i| (i * 37 * u32::from(n + 1) >> 3) as u8).collect::<Vec<_>>(),
        )?;
    }
    Ok(())
}
