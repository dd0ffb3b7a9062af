//! Queues of network interfaces that are full: hosts stand still until there is room.
use homenode_cluster::{Question, Row, run};
use homenode_hlrc::steps;
use homenode_machine::models;
use homenode_synthetic::Builder;
use homenode_timed::engine::{NoGaps, Options};
use homenode_trace::DatasetReader;

const SHARED: u64 = 0x10_0000;
const BARRIER: u64 = 0x9000;

/// Words of a page that are written, far apart.
const WORDS: u64 = 64;

/// The home of some pages writes them, then another thread does: it has the changes of all to send at once.
fn diffs(pages: u64) -> DatasetReader {
    let mut b = Builder::new(2);
    for t in 0..2 {
        for page in 0..pages {
            (0..WORDS).for_each(|word| _ = b.write(t, SHARED + 4096 * page + 64 * word));
        }
        b.barrier(BARRIER, 0..2);
    }
    (0..pages).for_each(|page| _ = b.read(0, SHARED + 4096 * page));
    b.barrier(BARRIER, 0..2);
    b.open().expect("valid")
}

fn row(data: &DatasetReader, step: &steps::Step, queue_bytes: u64, faults: Option<&str>) -> Row {
    let mut machine = models::find("svm-achievable").expect("in the registry");
    machine.shape.cores = vec![1; 2];
    machine.sections.network.as_mut().expect("a network").queue_bytes = queue_bytes;
    let faults = faults.map(|text| text.parse().expect("faults"));
    let question = Question { machine: &machine, map: None, options: Options::default(), checks: true, faults };
    run(&question.bind(data, NoGaps).expect("binds"), step, || NoGaps).expect("runs")
}

#[test]
fn hosts_wait_while_the_queue_is_full_and_lose_nothing() {
    const MOST: u64 = 4200;
    let data = diffs(40);
    for step in steps::ALL {
        let [any, large, small] = [0, 1 << 20, MOST].map(|bytes| row(&data, step, bytes, None));
        assert_eq!(any, large, "{}", step.name);
        // A message begins where there is room for a byte; the largest are pages and what goes with them.
        assert!(any.counts.queued > 2 * MOST && small.counts.queued < 2 * MOST, "{}: {:?}", step.name, small.counts);
        assert!(any.counts.stalls == 0 && small.counts.stalls > 3, "{}: {:?}", step.name, small.counts);
        assert!(small.cycles >= any.cycles && small.stale == Some(0), "{}: {small:?}", step.name);
        assert_eq!((small.counts.diffs, small.counts.fetches), (any.counts.diffs, any.counts.fetches), "{}", step.name);
        let faulty = row(&data, step, MOST, Some("5"));
        assert_eq!(faulty.stale, Some(0), "{}", step.name);
    }
}
