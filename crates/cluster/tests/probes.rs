//! Each step of a page fetch, a lock and a barrier: sums computed by hand.
use homenode_cluster::{ClusterError, Question, Row, run};
use homenode_hlrc::steps;
use homenode_machine::{Machine, Network, models};
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
    let question = Question { machine, map: None, options: Default::default(), checks: true, faults: None };
    let data = program.open().expect("valid");
    let bound = question.bind(&data, NoGaps)?;
    run(&bound, steps::find(step).expect("a step"), || NoGaps)
}

/// Cycles of a stage, and after how many the next one begins.
type Stage = (u64, u64);

/// The first line of a packet.
const PIECE: u64 = 32;

/// A packet of so many bytes, its header of 16 included, on the buses of a node: 4 for arbitration and 2 bytes a cycle, half a byte a cycle.
fn buses(bytes: u64) -> [Stage; 2] {
    let first = bytes.min(PIECE);
    [(4 + bytes.div_ceil(2), 4 + first.div_ceil(2)), (2 * bytes, 2 * first)]
}
/// From one network interface into another: 1000 at each, 2 bytes a cycle between them.
fn wire(bytes: u64) -> [Stage; 3] {
    [(1000, 1000), (bytes.div_ceil(2), bytes.min(PIECE).div_ceil(2)), (1000, 1000)]
}
/// When the last byte is through all stages.
fn through(stages: impl IntoIterator<Item = Stage>) -> u64 {
    let (mut first, mut last) = (0, 0);
    for (cycles, head) in stages {
        last = last.max(first + cycles);
        first += head;
    }
    last.max(first)
}
/// A request of 32 bytes to the network interface of another node.
fn asks() -> u64 {
    through(buses(48).into_iter().chain(wire(48)))
}
/// A message of so many bytes into the memory of another node.
fn message(bytes: u64) -> u64 {
    let bytes = bytes + 16;
    let [bus, io] = buses(bytes);
    through(buses(bytes).into_iter().chain(wire(bytes)).chain([io, bus]))
}

#[test]
fn a_page_goes_on_while_the_rest_of_it_follows() {
    // The first line over both buses, through both interfaces and the link; then the slowest of the stages, the I/O bus, with all of it.
    assert_eq!(message(4096), (4 + 16) + 64 + 1000 + 16 + 1000 + 2 * (4096 + 16));
}

const FAULT: u64 = 500;
const PROTECT: u64 = 1000 + 50;
const OVERHEAD: u64 = 600;
const INTERRUPT: u64 = 2 * 500;
const REQUEST: u64 = 400;
const LOCAL: u64 = 100;
const LEADER: u64 = 500;
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
    let request = FAULT + OVERHEAD + asks();
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
}

/// How long a message of 32 bytes stands before an interface that has one of 16, or of 8, which left its processor just before.
const STANDS: u64 = OVERHEAD + 84 + 1000 - (2 * OVERHEAD + 84);
const STANDS_BEHIND_WORD: u64 = OVERHEAD + 64 + 1000 - (2 * OVERHEAD + 84);

/// Threads that refer to memory of their own first, each `more` lines more than the one before it, so that they come in order.
fn staggered(threads: u32, more: u64) -> Builder {
    let mut b = Builder::new(threads);
    for t in 0..threads {
        let own = 0x200_0000 + 0x1_0000 * u64::from(t);
        (0..=more * u64::from(t)).for_each(|n| _ = b.read(t, own + 32 * n));
    }
    b
}

fn take_and_give(b: &mut Builder, thread: u32) {
    b.acquire(thread, LOCK, 0).release(thread, LOCK, 0);
}

#[test]
fn a_lock_inside_a_node() {
    let mut b = staggered(4, 100);
    (0..2).for_each(|t| take_and_give(&mut b, t));
    let row = row(&machine(2, 2), &b, "nil").expect("runs");
    assert_eq!((row.lock, row.counts.locks_remote, row.counts.locks_local), (4 * LOCAL, 1, 1));
}

/// A question to a network interface, and its answer of so many bytes.
fn asked(bytes: u64) -> u64 {
    OVERHEAD + asks() + message(bytes)
}

#[test]
fn a_lock_from_another_node_by_its_queue() {
    let mut b = staggered(2, 100);
    (0..2).for_each(|t| take_and_give(&mut b, t));
    let row = row(&machine(2, 1), &b, "nil").expect("runs");
    // Who is last, if nobody? Node 0; then this node is. Its token, if it is free, and what must be seen.
    assert_eq!(row.lock, 4 * LOCAL + 3 * asked(8) + asked(16));
    assert_eq!(row.interrupts.all(), 0);
}

#[test]
fn a_lock_from_another_node_by_its_manager() {
    let mut b = staggered(2, 100);
    (0..2).for_each(|t| take_and_give(&mut b, t));
    let row = row(&machine(2, 1), &b, "base").expect("runs");
    let asks = OVERHEAD + message(5 * 8) + INTERRUPT + REQUEST;
    // What must be seen, and that it is granted.
    assert_eq!(row.lock, 4 * LOCAL + asks + OVERHEAD + message(16 + 32));
    assert_eq!((row.interrupts.locks, row.interrupted), (1, 0), "thread 0 is over");
}

const LATER: u64 = 60;

#[test]
fn a_contended_lock_is_handed_over_when_it_is_given_up() {
    let mut b = staggered(2, 1);
    b.acquire(0, LOCK, 0);
    let own = 0x300_0000;
    (0..1000).for_each(|n| _ = b.read(0, own + 32 * n));
    b.release(0, LOCK, 0);
    // So late that no answer meets one of those lines on the bus.
    (0..LATER).for_each(|_| _ = b.read(1, 0x200_0000 + 0x1_0000));
    take_and_give(&mut b, 1);
    let row = row(&machine(2, 1), &b, "nil").expect("runs");
    let given_up = LINE + LOCAL + 1000 * LINE;
    // What must be seen leaves, and behind it the token, which changes a word and is answered.
    let token = LOCAL + 2 * OVERHEAD + STANDS + message(32);
    let (first, second) = (LOCAL + token + message(8), given_up + token - 2 * LINE - LATER + LOCAL);
    assert_eq!(row.lock, first + second, "thread 1 asked behind its second line");
}

#[test]
fn a_barrier() {
    let mut b = staggered(2, 100);
    b.barrier(BARRIER, 0..2);
    let row = row(&machine(2, 1), &b, "nil").expect("runs");
    // What was made, and behind it that one more has come; then node 1 knows that it is the last, asks what all have made, and opens for node 0.
    let arrives = LOCAL + LEADER + 2 * OVERHEAD + STANDS_BEHIND_WORD + message(32) + message(8);
    let opens = arrives + asked(16) + 2 * OVERHEAD + STANDS + message(32);
    let (first, last) = (LINE, 101 * LINE);
    assert_eq!(row.barrier, last + opens - first + opens + message(8));
    assert_eq!(row.cycles, last + opens + message(8), "node 1 is told that node 0 was told");
}

/// Thread 1 writes two pairs of words of 4 bytes of a page whose home is node 0.
fn written() -> Builder {
    let mut b = staggered(2, 100);
    b.write(0, PAGE).barrier(BARRIER, 0..2);
    b.write(1, PAGE + 8).write(1, PAGE + 64).write(1, PAGE + 64).barrier(BARRIER, 0..2);
    b
}

#[test]
fn a_diff_that_is_deposited() {
    let row = row(&machine(2, 1), &written(), "nil").expect("runs");
    assert_eq!((row.counts.twins, row.counts.diffs, row.counts.runs), (1, 1, 2));
    // A twin of 1024 words, all of which are compared, and the four that changed.
    assert_eq!((row.work.twins, row.work.diffs), (10 * 1024, 10 * 1024 + 4 * 10));
    assert_eq!((row.interrupts.all(), row.interrupted), (0, 0));
}

#[test]
fn a_diff_that_is_sent_is_applied_by_the_home() {
    let row = row(&machine(2, 1), &written(), "base").expect("runs");
    assert_eq!((row.counts.twins, row.counts.diffs, row.counts.runs), (1, 1, 2));
    assert_eq!(row.work.diffs, 10 * 1024 + 4 * 10 + 4 * 10);
    assert_eq!((row.interrupts.diffs, row.interrupts.pages), (1, 1));
}

#[test]
fn an_interrupt_takes_the_processor_from_its_program() {
    let mut b = staggered(2, 0);
    b.write(0, PAGE).barrier(BARRIER, 0..2);
    let own = 0x300_0000;
    (0..1000).for_each(|n| _ = b.read(0, own + 32 * n));
    b.read(1, PAGE);
    let row = row(&machine(2, 1), &b, "base").expect("runs");
    // Delivered, a request served, the page sent.
    assert_eq!((row.interrupted, row.work.handlers), (500 + REQUEST + OVERHEAD, 500 + REQUEST + OVERHEAD));
    assert_eq!(row.interrupts.all(), 1);
}

fn with(program: &Builder, step: &str, change: impl FnOnce(&mut Network)) -> Row {
    let mut machine = machine(2, 1);
    change(machine.sections.network.as_mut().expect("it has one"));
    row(&machine, program, step).expect("runs")
}

#[test]
fn who_waits_sees_that_it_is_wanted_and_who_sleeps_must_be_woken() {
    let plain = with(&fetch(), "base", |_| {});
    // The home waits at the barrier when it is asked.
    let seen = with(&fetch(), "base", |net| net.seen = Some(70));
    assert_eq!(plain.data - seen.data, INTERRUPT - 70);
    let late = with(&fetch(), "base", |net| net.sleep = [1 << 20, 7000]);
    assert_eq!(late.data, plain.data, "nobody waits for so long");
    // The other node sleeps until its page is there; and the home, when it is asked.
    let sleeps = with(&fetch(), "base", |net| net.sleep = [1000, 7000]);
    assert_eq!(sleeps.data - plain.data, 7000);
    let both = with(&fetch(), "base", |net| (net.seen, net.sleep) = (Some(70), [1000, 7000]));
    assert_eq!(both.data - seen.data, 2 * 7000);
}

#[test]
fn memory_is_taken_once_for_a_page_and_once_for_its_twin() {
    let mut b = Builder::new(2);
    b.write(0, PAGE).barrier(BARRIER, 0..2);
    (0..2).for_each(|_| _ = b.write(1, PAGE).barrier(BARRIER, 0..2));
    let plain = with(&b, "nil", |_| {});
    assert_eq!(plain.counts.twins, 2);
    assert_eq!(with(&b, "nil", |net| net.handlers.first = [300, 0]).data - plain.data, 2 * 300, "at both nodes");
    assert_eq!(with(&b, "nil", |net| net.handlers.first = [0, 40]).data - plain.data, 40);
}
