//! The programs.
use super::Builder;
use homenode_base::Rng;
use homenode_trace::record::Op;

/// How large a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Threads, at least 1.
    pub threads: u32,
    /// Rounds; each thread makes some tens of references a round.
    pub rounds: u64,
}

/// A ready-made program.
#[derive(Debug)]
pub struct Program {
    /// Short name.
    pub name: &'static str,
    /// What its references look like, one line.
    pub summary: &'static str,
    /// Builds it; equal arguments give equal datasets.
    pub build: fn(seed: u64, scale: Scale) -> Builder,
}

/// All programs.
pub static PROGRAMS: &[Program] = &[
    Program { name: "private", summary: "each thread reads and writes its own pages", build: private },
    Program { name: "read-shared", summary: "one thread writes once, all read", build: read_shared },
    Program { name: "producer-consumer", summary: "one thread writes, one other reads, in turn", build: producer },
    Program {
        name: "migratory",
        summary: "each thread in turn reads and writes the same data under a lock",
        build: migratory,
    },
    Program { name: "false-sharing", summary: "each thread writes its own word of one line", build: false_sharing },
    Program { name: "phases", summary: "the owner of each page changes at every barrier", build: phases },
    Program { name: "locks", summary: "a counter under a contended lock, with busy waiting", build: locks },
    Program { name: "barriers", summary: "stencil steps between barriers, initialised by thread 0", build: barriers },
];

/// Bytes of a page in these programs.
const PAGE: u64 = 4096;
/// Shared data begins here.
const SHARED: u64 = 0x10_0000_0000;
/// Synchronisation objects live here, apart from the data.
const SYNC: u64 = 0x20_0000_0000;

fn private(seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(1));
    let mut rng = Rng::new(seed);
    b.spawn_all();
    for _ in 0..s.rounds {
        for t in 0..b.threads() {
            let base = SHARED + u64::from(t) * 16 * PAGE + rng.below(16) * PAGE;
            (0..16).for_each(|i| {
                b.read(t, base + 8 * i).write(t, base + 8 * i);
            });
        }
    }
    b
}

fn read_shared(seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(1));
    let mut rng = Rng::new(seed);
    b.global("table", SHARED, 4 * PAGE);
    (0..4 * PAGE / 8).for_each(|i| {
        b.write(0, SHARED + 8 * i);
    });
    b.spawn_all();
    for _ in 0..s.rounds {
        for t in 0..b.threads() {
            (0..32).for_each(|_| {
                b.read(t, SHARED + 8 * rng.below(4 * PAGE / 8));
            });
        }
    }
    b
}

fn producer(_seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(2));
    b.alloc(0, SHARED, PAGE, &[0x40_3000]).spawn_all();
    for round in 0..s.rounds {
        (0..32).for_each(|i| {
            b.write(0, SHARED + 8 * i);
        });
        b.release(0, SYNC, round).acquire(1, SYNC, round);
        (0..32).for_each(|i| {
            b.read(1, SHARED + 8 * i);
        });
        b.release(1, SYNC + 64, round).acquire(0, SYNC + 64, round);
    }
    b
}

fn migratory(_seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(1));
    b.alloc(0, SHARED, PAGE, &[0x40_3000]).spawn_all();
    for _ in 0..s.rounds {
        for t in 0..b.threads() {
            b.acquire(t, SYNC, 0);
            (0..16).for_each(|i| {
                b.read(t, SHARED + 8 * i).write(t, SHARED + 8 * i);
            });
            b.release(t, SYNC, 0);
        }
    }
    b
}

fn false_sharing(_seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(2));
    b.global("counters", SHARED, 8 * u64::from(b.threads())).spawn_all();
    for _ in 0..s.rounds * 8 {
        for t in 0..b.threads() {
            let word = SHARED + 8 * u64::from(t);
            b.read(t, word).write(t, word);
        }
    }
    b
}

fn phases(seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(1));
    let n = b.threads();
    b.alloc(0, SHARED, u64::from(n) * PAGE, &[0x40_3000, 0x40_3100]).spawn_all();
    let mut rng = Rng::new(seed);
    for phase in 0..s.rounds {
        let shift = rng.below(u64::from(n)) as u32;
        for t in 0..n {
            b.event(t, homenode_trace::EventKind::PhaseBegin { name: format!("phase {phase}") });
            let page = SHARED + u64::from((t + shift) % n) * PAGE;
            (0..24).for_each(|i| {
                b.read(t, page + 8 * i).write(t, page + 8 * i);
            });
            b.event(t, homenode_trace::EventKind::PhaseEnd { name: format!("phase {phase}") });
        }
        b.barrier(SYNC, 0..n);
    }
    b
}

fn locks(seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(1));
    let mut rng = Rng::new(seed);
    b.global("counter", SHARED, 8).spawn_all();
    for _ in 0..s.rounds {
        for _ in 0..b.threads() {
            let t = rng.below(u64::from(b.threads())) as u32;
            (0..rng.below(5)).for_each(|_| {
                b.access(t, SYNC, 4, Op::Spin, 0x40_4000);
            });
            b.access(t, SYNC, 4, Op::Atomic, 0x40_4008).acq_rel(t, SYNC, 0);
            b.read(t, SHARED).write(t, SHARED);
            b.release(t, SYNC, 0).access(t, SYNC, 4, Op::Write, 0x40_4010);
            (0..8).for_each(|i| {
                b.read(t, SHARED + PAGE * (1 + u64::from(t)) + 8 * i);
            });
        }
    }
    b
}

fn barriers(_seed: u64, s: Scale) -> Builder {
    let mut b = Builder::new(s.threads.max(1));
    let n = b.threads();
    b.alloc(0, SHARED, u64::from(n) * PAGE, &[0x40_3000]);
    (0..u64::from(n) * PAGE / 64).for_each(|i| {
        b.write(0, SHARED + 64 * i);
    });
    b.spawn_all();
    for _ in 0..s.rounds {
        for t in 0..n {
            let own = SHARED + u64::from(t) * PAGE;
            for i in 1..16 {
                b.read(t, own + 8 * (i - 1)).read(t, own + 8 * (i + 1)).write(t, own + 8 * i);
            }
            b.read(t, SHARED + u64::from((t + 1) % n) * PAGE);
        }
        b.barrier(SYNC, 0..n);
    }
    b
}

/// Bytes of a word in the three traces of Bolosky 1992, section 7.1.6.
const WORD: u64 = 4;
const BOLOSKY_PC: u64 = 0x40_5000;

/// Bolosky's T_F: every processor in turn writes word 0. `n` writes by `p` threads.
pub fn t_f(n: u64, p: u32) -> Builder {
    let mut b = Builder::new(p);
    (0..n).for_each(|i| {
        b.access((i % u64::from(p)) as u32, SHARED, WORD as u32, Op::Write, BOLOSKY_PC);
    });
    b
}

/// Bolosky's T_S: write `i` is by processor `i` mod `p` to word `i` mod `s`; `p` divides `s`.
pub fn t_s(n: u64, p: u32, s: u64) -> Builder {
    let mut b = Builder::new(p);
    (0..n).for_each(|i| {
        b.access((i % u64::from(p)) as u32, SHARED + WORD * (i % s), WORD as u32, Op::Write, BOLOSKY_PC);
    });
    b
}

/// Bolosky's T_Gamma: write `i` is to word `i` mod `s` by processor floor(`i`/`s`) mod `p`: each writes the whole block before
/// the next one does, which a chain of releases and acquires enforces.
pub fn t_gamma(n: u64, p: u32, s: u64) -> Builder {
    let mut b = Builder::new(p);
    for i in 0..n {
        let thread = ((i / s) % u64::from(p)) as u32;
        if i % s == 0 {
            b.acquire(thread, SYNC, 0);
        }
        b.access(thread, SHARED + WORD * (i % s), WORD as u32, Op::Write, BOLOSKY_PC);
        if i % s == s - 1 {
            b.release(thread, SYNC, 0);
        }
    }
    b
}

/// A small random program with everything in it: references anywhere, locks, barriers, atomics, spins, allocations, stamps
/// at random places. About `steps` steps; thread 0 spawns some of the others.
pub fn random(seed: u64, threads: u32, steps: u64) -> Builder {
    let mut rng = Rng::new(seed);
    let mut b = Builder::new(threads.max(1));
    let n = b.threads();
    b.batch_refs(1 + rng.below(8) as usize).frame_refs(1 + rng.below(60) as usize);
    let mut alive = vec![0];
    for t in 1..n {
        if rng.chance(1, 2) {
            b.spawn(alive[rng.below(alive.len() as u64) as usize], t);
        }
        alive.push(t);
    }
    for _ in 0..steps {
        random_step(&mut b, &mut rng, n);
    }
    b
}

fn random_step(b: &mut Builder, rng: &mut Rng, n: u32) {
    let t = rng.below(u64::from(n)) as u32;
    let object = SYNC + 64 * rng.below(2);
    match rng.below(12) {
        0 => b.release(t, object, 0),
        1 => b.acquire(t, object, 0),
        2 => b.acq_rel(t, object, 0),
        3 if rng.chance(1, 4) => b.barrier(SYNC + 4096, 0..n),
        // Each by code of its own: what repeats itself would be taken for one wait, whatever stands between.
        4 => b.access(t, object, 4, Op::Spin, 0x40_4000 + 4 * rng.below(1 << 20)),
        5 => b.stamp(t),
        6 => b.alloc(t, SHARED + 64 * rng.below(4), 64, &[0x40_3000 + rng.below(2), 0x40_3100]),
        7 => b.free(t, SHARED + 64 * rng.below(4)),
        _ => {
            let op = Op::ALL[rng.below(3) as usize];
            b.access(t, SHARED + 8 * rng.below(64), 8, op, 0x40_1000 + rng.below(3))
        }
    };
}
