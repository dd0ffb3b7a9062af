//! The loop on this machine, whatever it is: evidence and time are made up, pages and calls are real. One test in the slow tier
//! (`HOMENODE_SLOW=1`) is of real time.
use crate::here::Here;
use crate::options::LiveOptions;
use crate::watch::{End, Left, Life, LiveRun};
use homenode_base::Cost;
use homenode_host::clock::{Clock, Real, Simulated};
use homenode_machine::topology::MemoryNode;
use homenode_machine::{CopyCost, Costs, Machine, Matrix, Sections, Shape, Topology, Unit};
use homenode_placement::live::replay;
use homenode_sampling::{Notice, RawSample, SampleSource, SamplingError};
use homenode_trace::{DataSource, Op, SampleUnit};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const PAGES: u64 = 2000;

/// Two nodes of one processor each, both of which are the operating system's node 0: what goes to the second is said by
/// the kernel to be there, and found on the first at the next look, as if somebody had taken it back.
fn here() -> Here {
    let node =
        |cpu| MemoryNode { os_id: 0, cpus: vec![cpu], memory_bytes: 1 << 30, allowed: true, ..MemoryNode::default() };
    let topology = Topology { nodes: vec![node(0), node(1)], ..Topology::default() };
    let matrix = Matrix::uniform(2, Cost(80_000), Cost(140_000));
    let machine = Machine {
        name: "test".into(),
        title: "test".into(),
        sources: Vec::new(),
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![1; 2], word_bytes: 8, page_bytes: 4096 },
        cost: Costs {
            read: matrix.clone(),
            write: matrix.clone(),
            write_back: matrix,
            remote_access: true,
            copy: CopyCost::linear(Cost(1_600_000), Cost(0)),
            global: None,
        },
        sections: Sections::default(),
    };
    Here { machine, topology }
}

/// Every page once in nearly a second, by the processor given.
struct Steady {
    clock: Arc<dyn Clock>,
    first: u64,
    cpu: u32,
    polled: Option<Duration>,
}

impl Steady {
    fn of(memory: &[u8], cpu: u32, clock: Arc<dyn Clock>) -> Steady {
        Steady { clock, first: (memory.as_ptr() as u64).next_multiple_of(4096), cpu, polled: None }
    }
}

impl SampleSource for Steady {
    fn unit(&self) -> SampleUnit {
        SampleUnit::Window
    }
    fn event(&self) -> String {
        "made up".into()
    }
    fn sees_writes(&self) -> bool {
        true
    }
    fn poll(
        &mut self,
        timeout: Duration,
        out: &mut Vec<RawSample>,
        _: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError> {
        self.clock.sleep(timeout);
        let now = self.clock.now();
        if self.polled.is_some_and(|p| now - p < Duration::from_millis(900)) {
            return Ok(true);
        }
        self.polled = Some(now);
        out.extend((0..PAGES).map(|p| RawSample {
            time_ns: u64::try_from(now.as_nanos()).unwrap(),
            pid: std::process::id(),
            tid: 1,
            cpu: Some(self.cpu),
            ip: 0,
            addr: self.first + p * 4096,
            size: 8,
            op: Op::Read,
            weight: 1,
            latency_cycles: None,
            source: DataSource::Unknown,
        }));
        Ok(true)
    }
    fn set_rate(&mut self, _: u64) -> Result<(), SamplingError> {
        Ok(())
    }
    fn assumed_accesses(&self) -> Option<u32> {
        Some(1000)
    }
    fn lost(&self) -> u64 {
        7
    }
    fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }
}

/// Never ends by itself.
struct Immortal;

impl Life for Immortal {
    fn over(&mut self) -> bool {
        false
    }
    fn asked_to_stop(&mut self, _: i32) -> bool {
        true
    }
}

fn watched<'m>(here: &'m Here, cpu: u32, options: &LiveOptions, clock: Arc<dyn Clock>) -> Left<'m> {
    let memory = vec![1u8; ((PAGES + 1) * 4096) as usize];
    let source = Box::new(Steady::of(&memory, cpu, clock));
    let mut watch = LiveRun::new(here, options, source, true).expect("a policy and a machine");
    assert_eq!(watch.run(&mut Immortal, None, &mut ()).expect("it is this process"), End::Duration);
    assert!(memory.iter().all(|b| *b == 1));
    watch.finish()
}

fn options(seconds: u64) -> LiveOptions {
    LiveOptions { duration: Some(Duration::from_millis(seconds * 1000 + 500)), ..LiveOptions::default() }
}

#[test]
fn a_steady_program_costs_at_most_one_percent_and_nothing_moves() {
    let (here, began) = (here(), Real.used());
    let left = watched(&here, 0, &options(10), Simulated::new());
    let stats = left.governor.stats();
    // Real processor time of the whole loop, and what made it up, for seconds that did not pass.
    let percent = (Real.used() - began).as_secs_f64() / left.seconds * 100.0;
    println!("{PAGES} pages a second: {percent:.2} % of a processor for looking and deciding");
    assert!(stats.moves == 0 && stats.windows >= 4 && stats.looked_at >= PAGES / 2, "{stats:?}");
    assert!(percent <= 1.0, "{percent} %");
}

#[test]
fn a_live_run_is_recorded_and_decided_again_to_the_same_moves() {
    let (here, dir) = (here(), tempfile::tempdir().expect("a directory"));
    let journal: PathBuf = dir.path().join("journal");
    // Plenty of time for both, so that a busy machine does not change what is expected.
    let plenty = LiveOptions { decide_permille: 1000, move_permille: 500, ..options(8) };
    let options = LiveOptions { journal: Some(journal.clone()), ..plenty };
    let left = watched(&here, 1, &options, Simulated::new());
    let stats = left.governor.stats();
    assert_eq!(stats.moves, PAGES, "each once: {stats:?}");
    assert!(stats.moved_by_others >= PAGES && stats.freezes >= PAGES, "taken back, so left alone: {stats:?}");
    let text = std::fs::read_to_string(&journal).expect("written");
    let again = replay(&text, None).expect("a journal");
    assert_eq!((again.differs, again.complete), (None, true));
    assert_eq!((again.stats.moves, again.stats.freezes), (stats.moves, stats.freezes));
    let doc = crate::replay_journal(&journal, None).expect("a journal");
    assert!(doc.same && doc.to_text().contains("all decisions are the same"), "{}", doc.to_text());
    let other = crate::replay_journal(&journal, Some("first-touch")).expect("a journal");
    assert!(!other.same && other.differs_at.is_some());
    assert!(crate::replay_journal(dir.path(), None).is_err());
    let in_the_way = LiveRun::new(&here, &options, Box::new(Steady::of(&[], 0, Simulated::new())), true);
    assert!(in_the_way.is_err_and(|e| e.to_string().contains("--force")));
}

#[test]
fn a_dry_run_lists_each_call_once_and_makes_none() {
    let here = here();
    let options = LiveOptions { dry_run: true, decide_permille: 1000, move_permille: 500, ..options(6) };
    let left = watched(&here, 1, &options, Simulated::new());
    let stats = left.governor.stats();
    assert_eq!((stats.moves, stats.moved_pages), (0, 0));
    let counted = |c: &String| {
        let (_, rest) = c.split_once("count=")?;
        rest.split(',').next()?.parse::<u64>().ok()
    };
    assert_eq!(left.calls.iter().filter_map(counted).sum::<u64>(), PAGES, "{:?}", left.calls.first());
    assert!(left.calls.iter().all(|c| c.starts_with("move_pages(pid=") && !c.contains('\n')));
}

#[test]
fn the_evidence_is_recorded_as_a_sampled_dataset_also_if_nobody_ends_it() {
    let (here, folder) = (here(), tempfile::tempdir().unwrap());
    let memory = vec![1u8; ((PAGES + 1) * 4096) as usize];
    let source = || Box::new(Steady::of(&memory, 0, Simulated::new()));
    let refs = |path: &std::path::Path| {
        let reader = homenode_command::dataset::open(path).expect("a dataset").reader;
        let sampling = reader.manifest().sampling.clone().expect("it is sampled");
        assert_eq!((sampling.unit, sampling.event.as_str()), (SampleUnit::Window, "made up"));
        (homenode_command::dataset::refs(&reader), sampling.lost)
    };
    let run = |name: &str, ends: bool| {
        let out = folder.path().join(name);
        let options = LiveOptions { record: Some(out.clone()), ..options(3) };
        let source = source();
        let record = options.recording(std::process::id(), &[], &*source).unwrap();
        assert!(options.recording(std::process::id(), &[], &*source).is_err(), "it is not replaced without --force");
        let mut watch = LiveRun::new(&here, &options, source, true).unwrap().recording(record);
        assert_eq!(watch.run(&mut Immortal, None, &mut ()).unwrap(), End::Duration);
        let samples = if ends { watch.finish().samples } else { 0 };
        (out, samples)
    };
    let (out, samples) = run("whole.hnt", true);
    assert_eq!(refs(&out), (samples, 7));
    assert_eq!(samples, 4 * PAGES);
    // As after SIGKILL: nothing of the end is written, and `recover` finds what was in files.
    let (out, _) = run("torn.hnt", false);
    homenode_capture::recover(&out).unwrap();
    let (found, _) = refs(&out);
    assert!(found >= PAGES && found % PAGES == 0, "{found}");
}

/// Samples whose taking in costs a processor much: more than a loop may spend.
struct Dear(Steady, Arc<Simulated>);

/// Processor time of one poll.
const DEAR: Duration = Duration::from_micros(800);

impl SampleSource for Dear {
    fn unit(&self) -> SampleUnit {
        self.0.unit()
    }
    fn event(&self) -> String {
        self.0.event()
    }
    fn sees_writes(&self) -> bool {
        self.0.sees_writes()
    }
    fn poll(&mut self, t: Duration, out: &mut Vec<RawSample>, n: &mut Vec<Notice>) -> Result<bool, SamplingError> {
        self.1.work(DEAR);
        self.0.poll(t, out, n)
    }
    fn set_rate(&mut self, _: u64) -> Result<(), SamplingError> {
        Ok(())
    }
    fn lost(&self) -> u64 {
        0
    }
    fn clock(&self) -> Arc<dyn Clock> {
        self.1.clone()
    }
}

#[test]
fn dear_samples_are_asked_for_so_rarely_that_the_allowance_is_kept() {
    let (here, clock, memory) = (here(), Simulated::new(), vec![1u8; ((PAGES + 1) * 4096) as usize]);
    let source = Dear(Steady::of(&memory, 0, clock.clone()), clock.clone());
    let options = LiveOptions { decide_permille: 3, ..options(20) };
    let mut watch = LiveRun::new(&here, &options, Box::new(source), true).unwrap();
    assert_eq!(watch.run(&mut Immortal, None, &mut ()).unwrap(), End::Duration);
    let (used, seconds) = (clock.used().as_secs_f64(), clock.now().as_secs_f64());
    // A poll every 100 ms would use eight times as much. Gathering gets a third of the allowance, and no poll is cut short.
    assert!(used <= seconds * 0.001 + DEAR.as_secs_f64() && used >= seconds * 0.0007, "{used} s in {seconds} s");
    assert!(watch.finish().governor.stats().windows >= 4);
}

/// Slow tier: what a real loop does in ten real seconds.
#[test]
fn ten_real_seconds_of_a_steady_program_cost_at_most_one_percent() {
    if std::env::var_os("HOMENODE_SLOW").is_none() {
        std::io::stderr().write_all(b"SKIPPED: slow tier (HOMENODE_SLOW=1): ten seconds of real time\n").unwrap();
        return;
    }
    let here = here();
    let left = watched(&here, 0, &options(10), Real::shared());
    let stats = left.governor.stats();
    let percent = stats.deciding_ns as f64 / left.seconds / 1e7;
    println!("{PAGES} pages a second: {percent:.2} % of a processor for looking and deciding");
    // How often it looks depends on how busy the host is: budgets are of time.
    assert!(stats.moves == 0 && stats.windows >= 4 && stats.looked_at >= PAGES / 2, "{stats:?}");
    assert!(percent <= 1.0 && left.seconds >= 10.0, "{percent} %");
}
