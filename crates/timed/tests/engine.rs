//! Synchronisation in virtual time.
use homenode_base::NodeId;
use homenode_sim::ThreadBinding;
use homenode_synthetic::Builder;
use homenode_timed::engine::{Access, Effects, Memory, NoGaps, Options, Path, Simulated, TimedError, simulate};
use homenode_trace::DatasetReader;
use homenode_trace::event::SyncKind;

/// Everything takes ten cycles at one server; who referred to what, in order.
struct Plain {
    processors: u32,
    log: Vec<(u32, u64, u64)>,
}

impl Memory for Plain {
    fn processors(&self) -> u32 {
        self.processors
    }
    fn servers(&self) -> usize {
        1
    }
    fn line_shift(&self) -> u32 {
        3
    }
    fn hits(&self, _: Access) -> bool {
        false
    }
    fn touched(&mut self, _: Access) {}
    fn miss(&mut self, a: Access, now: u64, fx: &mut Effects) {
        self.log.push((a.processor, a.line << 3, now));
        fx.first = Path::default().delay(2).through(0, 5).delay(3);
    }
    fn synchronise(&mut self, _: u32, _: u64, fx: &mut Effects) {
        fx.first = Path::default().delay(1);
    }
    fn counting(&mut self, _: u32, _: bool) {}
}

fn run(data: &DatasetReader) -> Result<Simulated<Plain>, TimedError> {
    let threads = data.threads();
    let bindings: Vec<ThreadBinding> =
        (0..threads).map(|t| ThreadBinding { cpu: t as u16, node: NodeId(t as u16), space: 0 }).collect();
    simulate(data, &bindings, &Options::default(), || Ok((Plain { processors: threads, log: Vec::new() }, NoGaps)))
}

#[test]
fn messages_queue_in_order_of_arrival() {
    let mut b = Builder::new(2);
    b.read(0, 0x100).read(0, 0x108).read(1, 0x200);
    let done = run(&b.open().expect("valid")).expect("runs");
    // Both arrive at 2; the second waits until 7, and is back at 15; the third is sent at 10, arrives at 12, when the server is free.
    assert_eq!(done.memory.log, [(0, 0x100, 0), (1, 0x200, 0), (0, 0x108, 10)]);
    assert_eq!((done.span(), done.waits[0].waited, done.waits[0].busy), (20, 5, 15));
    assert_eq!(done.times.iter().map(|t| t.shared).collect::<Vec<_>>(), [20, 15]);
}

/// In the recording thread 1 had the lock first; in virtual time thread 0 comes first.
#[test]
fn a_lock_goes_to_whoever_comes_first_in_virtual_time() {
    let mut b = Builder::new(2);
    b.read(1, 0x10).read(1, 0x18).read(1, 0x20);
    b.acquire(1, 0x8000, 0).write(1, 0x100).release(1, 0x8000, 0);
    b.acquire(0, 0x8000, 0).write(0, 0x100).write(0, 0x108).release(0, 0x8000, 0);
    let done = run(&b.open().expect("valid")).expect("runs");
    let at = |t: u32| done.memory.log.iter().find(|l| l.0 == t && l.1 == 0x100).expect("made").2;
    assert!(at(0) < at(1), "{:?}", done.memory.log);
    assert_eq!(done.recorded_objects, 0);
}

#[test]
fn whoever_waits_for_a_lock_gets_it_when_it_is_given_back() {
    let mut b = Builder::new(3);
    for t in 0..3 {
        b.acquire(t, 0x8000, 0).write(t, 0x100).release(t, 0x8000, 0);
    }
    let done = run(&b.open().expect("valid")).expect("runs");
    let log: Vec<(u32, u64)> = done.memory.log.iter().map(|l| (l.0, l.2)).collect();
    // A message there 1, the write 10, a message back 1, the news 1.
    assert_eq!(log, [(0, 1), (1, 13), (2, 25)]);
    assert_eq!(done.times[2].synchronisation, 26, "asks 1, waits, hears, gives back 1");
}

#[test]
fn a_barrier_lets_all_go_together() {
    let mut b = Builder::new(3);
    (0..4).for_each(|i| _ = b.read(2, 0x1000 + i * 8));
    b.barrier(0x9000, 0..3);
    (0..3).for_each(|t| _ = b.read(t, 0x100));
    let done = run(&b.open().expect("valid")).expect("runs");
    let begins: Vec<u64> = done.memory.log.iter().filter(|l| l.1 == 0x100).map(|l| l.2).collect();
    assert_eq!(begins, [42, 42, 42], "40 of references, one to arrive, one to hear");
}

#[test]
fn a_barrier_that_too_few_reach_is_named() {
    let mut b = Builder::new(2);
    let sync = SyncKind::Barrier { parties: 3 };
    for t in 0..2 {
        b.release_of(t, (0x9000, 0), sync);
    }
    for t in 0..2 {
        b.acquire_of(t, (0x9000, 0), sync);
    }
    let error = run(&b.open().expect("valid")).map(|_| ()).expect_err("nobody can go on").to_string();
    assert!(error.contains("0x9000") && error.contains("3 threads") && error.contains("0, 1"), "{error}");
}

/// Thread 1 waits, inside the lock, for a semaphore that thread 0 posts after it had the lock: granted first to thread 1, nobody can go on.
#[test]
fn a_circle_made_by_granting_falls_back_to_the_recorded_order() {
    let mut b = Builder::new(2);
    (0..9).for_each(|i| _ = b.read(0, 0x1000 + i * 8));
    b.acquire(0, 0x8000, 0).write(0, 0x100).release(0, 0x8000, 0);
    b.release_of(0, (0x7000, 0), SyncKind::Semaphore);
    b.acquire(1, 0x8000, 0).acquire_of(1, (0x7000, 0), SyncKind::Semaphore).write(1, 0x100).release(1, 0x8000, 0);
    let done = run(&b.open().expect("valid")).expect("the recorded order is possible");
    assert_eq!(done.recorded_objects, 1);
    assert_eq!(done.memory.log.iter().filter(|l| l.1 == 0x100).map(|l| l.0).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_child_begins_when_it_is_created_and_is_joined_when_it_has_ended() {
    let mut b = Builder::new(2);
    b.read(0, 0x10).spawn(0, 1).read(1, 0x20).read(1, 0x28);
    b.release_of(1, (0x55, 0), SyncKind::Join).acquire_of(0, (0x55, 0), SyncKind::Join).read(0, 0x18);
    let done = run(&b.open().expect("valid")).expect("runs");
    assert_eq!(done.memory.log, [(0, 0x10, 0), (1, 0x20, 10), (1, 0x28, 20), (0, 0x18, 30)]);
    assert_eq!((done.times[0].synchronisation, done.span()), (20, 40));
}

#[test]
fn samples_have_no_virtual_time() {
    let mut b = Builder::new(1);
    b.read(0, 0x10).sampled(homenode_trace::Sampling::default());
    assert!(matches!(run(&b.open().expect("valid")).map(|_| ()), Err(TimedError::Sampled)));
}
