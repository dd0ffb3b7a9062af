//! Memory systems that suspend threads, hear of what they began, and take processors.
use homenode_base::NodeId;
use homenode_sim::ThreadBinding;
use homenode_synthetic::Builder;
use homenode_timed::engine::{
    Access, Call, Deed, Effects, Memory, NoGaps, Object, Options, Path, Simulated, TimedError, simulate,
};
use homenode_trace::{DatasetReader, Op};
use std::collections::{HashSet, VecDeque};

/// Each processor is suspended at its first access to a line of 32 bytes: 7 cycles until the memory hears of it, 3 more until the thread goes on.
/// Locks are handed on in order, 5 cycles each time; barriers open for two.
#[derive(Clone, Debug, Default)]
struct Own {
    here: HashSet<(u32, u64)>,
    under_way: Vec<(u32, u64)>,
    /// Cycles that are taken from processor 1 when processor 0 has its second line.
    steals: u64,
    queue: VecDeque<u32>,
    arrived: Vec<u32>,
    words: Vec<u16>,
    forgets: bool,
}

/// Tokens above this are grants to processors.
const GRANT: u32 = 1000;

impl Memory for Own {
    const LOOKS_AT_WORDS: bool = true;
    const GOES_ON: bool = true;

    fn processors(&self) -> u32 {
        2
    }
    fn servers(&self) -> usize {
        0
    }
    fn line_shift(&self) -> u32 {
        5
    }
    fn hits(&self, a: Access) -> bool {
        self.here.contains(&(a.processor, a.line))
    }
    fn touched(&mut self, a: Access) {
        self.words.push(a.words);
    }
    fn miss(&mut self, a: Access, now: u64, fx: &mut Effects) {
        fx.suspends = true;
        fx.calls.push(Call { time: now + 2, path: Path::default().delay(5), token: self.under_way.len() as u32 });
        self.under_way.push((a.processor, a.line));
    }
    fn synchronise(&mut self, _: u32, _: u64, _: &mut Effects) {
        unreachable!("the memory system sees to it");
    }
    fn operate(&mut self, p: u32, _: Object, deed: Deed, now: u64, fx: &mut Effects) -> bool {
        let grant = |p: u32| Call { time: now + 5, path: Path::default(), token: GRANT + p };
        match deed {
            Deed::Take { .. } => {
                self.queue.push_back(p);
                if self.queue.len() == 1 {
                    fx.calls.push(grant(p));
                }
            }
            Deed::Give => {
                self.queue.pop_front();
                fx.calls.extend(self.queue.front().map(|next| grant(*next)));
                fx.resumed.push((p, now));
            }
            Deed::Arrive(_) => fx.resumed.push((p, now)),
            Deed::Leave => {
                self.arrived.push(p);
                if self.arrived.len() == 2 && !self.forgets {
                    fx.resumed.extend(self.arrived.drain(..).map(|p| (p, now)));
                }
            }
        }
        true
    }
    fn called(&mut self, token: u32, now: u64, fx: &mut Effects) {
        if token >= GRANT {
            return fx.resumed.push((token - GRANT, now));
        }
        let (p, line) = self.under_way[token as usize];
        self.here.insert((p, line));
        fx.resumed.push((p, now + 3));
        if p == 0 && self.here.iter().filter(|h| h.0 == 0).count() == 2 {
            fx.stolen.push((1, self.steals));
        }
    }
    fn counting(&mut self, _: u32, _: bool) {}
}

fn tried(data: &DatasetReader, own: Own, hits_max: usize) -> Result<Simulated<Own>, TimedError> {
    let bindings: Vec<ThreadBinding> = (0..2).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect();
    simulate(data, &bindings, &Options { hits_max, phase: None }, || Ok::<_, TimedError>((own.clone(), NoGaps)))
}

fn run(data: &DatasetReader, steals: u64) -> Simulated<Own> {
    let own = || Own { steals, ..Own::default() };
    let done = tried(data, own(), usize::MAX).expect("runs");
    assert_eq!(done.times, tried(data, own(), 1).expect("runs").times, "step by step");
    done
}

#[test]
fn a_suspended_access_is_made_again() {
    let mut b = Builder::new(2);
    b.read(0, 0x100).read(0, 0x120).read(0, 0x100);
    let done = run(&b.open().expect("valid"), 0);
    // 10 until it goes on and 1 for the access, twice, and a hit.
    assert_eq!((done.times[0].shared, done.times[0].instructions, done.span()), (20, 3, 23));
}

#[test]
fn a_processor_that_is_taken_stands_still() {
    let mut b = Builder::new(2);
    b.read(0, 0x100).read(0, 0x120);
    (0..50).for_each(|_| _ = b.read(1, 0x900));
    let data = b.open().expect("valid");
    let done = run(&data, 100);
    let t = done.times[1];
    assert_eq!((t.shared, t.instructions, t.kernel_overhead, t.cycles()), (10, 50, 100, 160));
    assert_eq!(done.spans[1], Some((0, 160)));
    assert_eq!(run(&data, 0).spans[1], Some((0, 60)));
}

#[test]
fn a_memory_system_grants_locks_and_barriers() {
    let mut b = Builder::new(2);
    for t in 0..2 {
        b.acquire(t, 0x8000, 0).write(t, 0x100).release(t, 0x8000, 0);
    }
    let done = run(&b.open().expect("valid"), 0);
    // 5 for the lock, 11 for the write; the other has it 5 later.
    assert_eq!(done.spans, [Some((0, 16)), Some((0, 32))]);
    assert_eq!(done.times[1].synchronisation, 21);

    let mut b = Builder::new(2);
    b.read(0, 0x100).barrier(0x9000, 0..2).read(1, 0x100);
    let data = b.open().expect("valid");
    assert_eq!(run(&data, 0).spans[1], Some((0, 22)));
    // Nobody is ever let go.
    let error = tried(&data, Own { forgets: true, ..Own::default() }, usize::MAX).expect_err("nothing happens");
    assert_eq!(error.to_string(), "threads 0, 1 wait for each other, and nothing happens any more");
}

#[test]
fn words_of_a_line_are_those_that_are_referred_to() {
    let mut b = Builder::new(2);
    for (addr, size) in [(0x104, 8), (0x104, 8), (0x11c, 16), (0x11c, 16)] {
        b.access(0, addr, size, Op::Write, 0);
    }
    let done = run(&b.open().expect("valid"), 0);
    let line = 0xff;
    assert_eq!(
        done.memory.words.iter().map(|w| w & line).collect::<Vec<_>>(),
        [0b110, 0b110, 0x80, 0b111, 0x80, 0b111]
    );
}
