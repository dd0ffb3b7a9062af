//! A sampled dataset through every command that reads one.
mod support;
use homenode_export::{ExportRequest, RowsRequest, export};
use homenode_synthetic::Builder;
use homenode_thin::{Method, Thin, thin_dataset};
use homenode_toolkit::{ReportRequest, check, info, report, text};
use homenode_trace::order::OrderKind;
use homenode_trace::store::MemStore;
use homenode_trace::{DataSource, Op, Sample, SampleUnit, Sampling};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::path::{Path, PathBuf};

fn on_disk(store: &MemStore, folder: &Path, name: &str) -> PathBuf {
    let root = folder.join(name);
    support::write(store, &root);
    root
}

/// Two loads with everything measured and a store with nothing.
fn three() -> Builder {
    let mut b = Builder::new(2);
    b.sampled(Sampling { unit: SampleUnit::Miss, event: "test".into(), period: 100, lost: 1, ..Sampling::default() });
    let far = Sample { weight: 100, latency_cycles: Some(0), source: DataSource::RemoteMemory, cpu: Some(65_534) };
    let near = Sample { weight: 90, latency_cycles: Some(4_000_000_000), source: DataSource::Cache, cpu: Some(0) };
    b.sample(0, 4096, 8, Op::Read, 1, far).sample(0, 4104, 8, Op::Read, 1, near);
    b.sample(1, 8192, 4, Op::Write, 2, Sample { weight: 7, ..Sample::ONE });
    b
}

/// All of a dataset, in model order.
fn whole(dataset: &Path, to: &Path) -> ExportRequest {
    let rows = RowsRequest {
        dataset: dataset.to_owned(),
        order: OrderKind::Model,
        after_caches: false,
        machine: "two-socket".to_owned(),
        block: None,
        realign: None,
        map: None,
    };
    ExportRequest { to: to.to_owned(), force: false, rows }
}

#[test]
fn exports_have_the_columns_of_samples() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dataset = on_disk(&three().store(), folder.path(), "three.hnt");
    let csv = folder.path().join("rows.csv");
    assert_eq!(export(&whole(&dataset, &csv), &mut ()).expect("exported"), 3);
    let got = std::fs::read_to_string(&csv).expect("written");
    // The second sample hit a cache: it says nothing about memory, but its page is known by then.
    let want = "thread,addr,size,op,site,file,line,function,object,thread_node,node,phase,weight,source,latency,cpu\n\
                0,4096,8,load,0,,,,,0,0,,100,remote memory,0,65534\n\
                0,4104,8,load,0,,,,,0,0,,90,cache,4000000000,0\n\
                1,8192,4,store,1,,,,,1,1,,7,unknown,,\n";
    assert_eq!(got, want);
    let parquet = folder.path().join("rows.parquet");
    export(&whole(&dataset, &parquet), &mut ()).expect("exported");
    let reader = SerializedFileReader::new(std::fs::File::open(&parquet).expect("written")).expect("parquet");
    let cells = |row: parquet::record::Row| row.into_columns().into_iter().skip(12).collect::<Vec<_>>();
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|r| cells(r.expect("a row"))).collect();
    let named = |name: &str, value| (name.to_owned(), value);
    let row = |weight, source: &str, latency, cpu| {
        vec![
            named("weight", Field::UInt(weight)),
            named("source", Field::Str(source.to_owned())),
            named("latency", latency),
            named("cpu", cpu),
        ]
    };
    let want = [
        row(100, "remote memory", Field::UInt(0), Field::UShort(65_534)),
        row(90, "cache", Field::UInt(4_000_000_000), Field::UShort(0)),
        row(7, "unknown", Field::Null, Field::Null),
    ];
    assert_eq!(rows, want);
}

/// Two threads of two nodes, a reference of two lines, a hit, and what policies see of that.
#[test]
fn after_the_caches_is_what_policies_see() {
    let mut b = Builder::new(2);
    b.global("grid", 0x10_0000, 2 * 4096);
    b.write(0, 0x10_0000).write(0, 0x10_0000).read(1, 0x10_1000);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dataset = on_disk(&b.store(), folder.path(), "exact.hnt");
    let csv = folder.path().join("seen.csv");
    let mut request = whole(&dataset, &csv);
    request.rows.after_caches = true;
    assert_eq!(export(&request, &mut ()).expect("exported"), 2);
    let got = std::fs::read_to_string(&csv).expect("written");
    let rows: Vec<Vec<&str>> = got.lines().map(|l| l.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|c| *c == name).expect("a column");
    let cells = |name: &str| rows[1..].iter().map(|r| r[column(name)]).collect::<Vec<_>>();
    assert_eq!(cells("addr"), ["1048576", "1052672"]);
    assert_eq!((cells("op"), cells("charged")), (vec!["store", "load"], vec!["write", "read"]));
    assert_eq!((cells("object"), cells("times")), (vec!["grid", "grid"], vec!["1", "1"]));
    assert_eq!((cells("thread_node"), cells("node")), (vec!["0", "1"], vec!["0", "1"]));
}

#[test]
fn info_and_check_know_samples() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dataset = on_disk(&three().store(), folder.path(), "three.hnt");
    assert!(check(&dataset).expect("readable").ok);
    let doc = info(&dataset, &mut ()).expect("readable");
    let s = doc.sampling.as_ref().expect("sampled");
    assert_eq!((s.samples, s.weight, s.lost, s.lost_share), (3, 197, 1, 0.25));
    let words = doc.to_text();
    assert!(words.contains("3, for 197 misses; 1 lost (25 %), 0 without address"), "{words}");
    assert!(words.contains("remote memory 51 %") && words.contains("Not seen: Stores are not seen"), "{words}");
}

/// A program whose memory lives at the wrong node: its thinned recording leads to the same finding, as an estimate.
#[test]
fn the_report_of_a_sampled_recording_is_an_estimate() {
    let mut b = Builder::new(2);
    b.global("grid", 0x10_0000, 64 * 4096);
    (0..64).for_each(|page| {
        b.write(0, 0x10_0000 + page * 4096);
    });
    (0..40_000).for_each(|i| {
        b.read(0, 0x80_0000 + i % 4096 * 8).read(1, 0x10_0000 + i * 64 % (64 * 4096));
    });
    let exact = b.open().expect("valid");
    let thin = Thin::new(Method::RandomPeriod { period: 20 }, 3);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let store = thin_dataset(&exact, OrderKind::Model, &thin).expect("ordered");
    let dataset = on_disk(&store, folder.path(), "thin.hnt");
    let request = ReportRequest { machine: "ace".to_owned(), ..support::report_of(&dataset) };
    let doc = report(&request, &mut ()).expect("a report");
    let (s, e) = (doc.sampling.as_ref().expect("sampled"), &doc.evaluations[0]);
    assert!(s.spread.is_some_and(|s| s.charged > 3_000) && !s.unseen.is_empty());
    assert!(e.totals.refs.abs_diff(80_064) < 4_000, "{}", e.totals.refs);
    assert!(e.objects.iter().all(|o| o.share_interval.is_some()) && e.false_sharing.is_empty());
    assert!(text(&doc, 100, false).contains("By estimate"));
    // Nobody knows where a policy would have what lies between samples.
    let request = ReportRequest { verify: true, ..request };
    let e = report(&request, &mut ()).expect_err("samples");
    assert!(e.message.contains("--verify needs an exact recording"), "{e}");
    let request = ReportRequest { dataset: on_disk(&b.store(), folder.path(), "exact.hnt"), ..request };
    let doc = report(&request, &mut ()).expect("every figure is that of its placements");
    let verified = doc.evaluations[0].verified.as_ref().expect("asked for");
    assert!(verified.rows.iter().all(|r| r.checked == Some(r.said)) && verified.rows.len() > 4, "{verified:#?}");
    assert!(text(&doc, 100, false).contains("each costs what is said here"));
}
