//! Each step of a page fetch, a lock and a barrier: sums computed by hand.
use homenode_cluster::{ClusterError, Question, Row, run};
use homenode_hlrc::steps;
use homenode_machine::{Machine, models};
use homenode_synthetic::Builder;
use homenode_timed::engine::NoGaps;

/// A page that nodes share, and one beside it.
const PAGE: u64 = 0x10_0000;
const BARRIER: u64 = 0x9000;
const LOCK: u64 = 0x8000;

fn machine(nodes: usize, processors: u16) -> Machine {
    let mut machine = models::find("svm-achievable").expect("in the registry");
    machine.shape.cores = vec![processors; nodes];
    machine
}

fn row(machine: &Machine, program: &Builder, step: &str) -> Result<Row, ClusterError> {
    let question = Question { machine, map: None, options: Default::default() };
    let data = program.open().expect("valid");
    let bound = question.bind(&data, NoGaps)?;
    run(&bound, steps::find(step).expect("a step"), || NoGaps)
}

/// Cycles of a packet of so many bytes, its header of 16 included, on the buses of a node: 4 for arbitration and 2 bytes a cycle, half a byte a cycle.
fn buses(bytes: u64) -> u64 {
    4 + bytes.div_ceil(2) + 2 * bytes
}
/// From one network interface into another: 1000 at each, 2 bytes a cycle between them.
fn wire(bytes: u64) -> u64 {
    1000 + bytes.div_ceil(2) + 1000
}
/// A message of so many bytes into the memory of another node.
fn message(bytes: u64) -> u64 {
    let bytes = bytes + 16;
    buses(bytes) + wire(bytes) + buses(bytes)
}

const FAULT: u64 = 500;
const PROTECT: u64 = 1000 + 50;
const OVERHEAD: u64 = 600;
const INTERRUPT: u64 = 2 * 500;
const REQUEST: u64 = 400;
/// A line from memory: arbitration, 100, and 32 bytes.
const LINE: u64 = 4 + 100 + 4 + 16;

/// Thread 0 writes a page, then thread 1 reads it.
fn fetch() -> Builder {
    let mut b = Builder::new(2);
    b.write(0, PAGE).barrier(BARRIER, 0..2).read(1, PAGE).barrier(BARRIER, 0..2);
    b
}

/// The first touch: nobody need be asked.
const TOUCH: u64 = FAULT + PROTECT;

#[test]
fn a_page_that_is_requested() {
    let row = row(&machine(2, 1), &fetch(), "base").expect("runs");
    // Header, page, thread and a vector of two: five words there; the page and a flag back.
    let request = FAULT + OVERHEAD + message(5 * 8) + INTERRUPT + REQUEST;
    assert_eq!(row.data, TOUCH + request + OVERHEAD + message(4096 + 8) + PROTECT);
    assert_eq!((row.counts.fetches, row.interrupts.pages, row.interrupts.all()), (1, 1, 1));
    assert_eq!((row.compute, row.local), (1, LINE), "the write waits for nothing, the read for its line");
}

#[test]
fn a_page_that_is_read_out_of_memory() {
    let row = row(&machine(2, 1), &fetch(), "nil").expect("runs");
    // 32 bytes to the interface there, which needs nobody; two stamps and the page back.
    let request = FAULT + OVERHEAD + buses(48) + wire(48);
    assert_eq!(row.data, TOUCH + request + message(4096 + 16) + PROTECT);
    assert_eq!((row.interrupts.all(), row.interrupted), (0, 0));
}

#[test]
fn one_processor_needs_no_protocol() {
    let row = row(&machine(2, 1), &fetch(), "nil").expect("runs");
    assert_eq!(row.sequential, 1 + 1, "the write goes into the buffer, the read finds the line");
}

#[test]
fn who_waits_for_a_page_of_its_node_waits_for_the_fetch_in_progress() {
    let mut b = Builder::new(4);
    (0..4).for_each(|t| _ = b.read(t, 0x200_0000 + 0x1_0000 * u64::from(t)));
    b.write(0, PAGE).barrier(BARRIER, 0..4);
    b.read(2, PAGE).read(3, PAGE).barrier(BARRIER, 0..4);
    let row = row(&machine(2, 2), &b, "nil").expect("runs");
    assert_eq!(row.counts.fetches, 1);
    let _ = LOCK;
}
