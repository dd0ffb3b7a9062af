//! The hardware alone: latencies without contention, and what must always hold.
use super::archs::{self, Spec};
use super::l1::State;
use super::layout::Layout;
use super::node::Mapping;
use super::sizes::Sizes;
use super::system::System;
use crate::engine::{Access, Effects, Memory, NoGaps, Options, simulate};
use hashbrown::HashMap;
use homenode_base::{NodeId, Rng};
use homenode_machine::{Hybrid, models};
use homenode_sim::ThreadBinding;
use homenode_synthetic::Builder;
use homenode_trace::DatasetReader;
use std::sync::Arc;

fn hybrid() -> Hybrid {
    models::find("ascoma").and_then(|m| m.sections.hybrid).expect("a section")
}

fn bindings(threads: u32) -> Vec<ThreadBinding> {
    (0..threads).map(|t| ThreadBinding { cpu: t as u16, node: NodeId(t as u16), space: 0 }).collect()
}

/// Page `n` is at home on node `n`, and everybody shares all.
fn layout(nodes: u32, pages: u32) -> Arc<Layout> {
    let mut b = Builder::new(nodes);
    (0..pages).for_each(|p| _ = b.write(p % nodes, u64::from(p) << 12));
    b.barrier(0x9000_0000, 0..nodes);
    (0..pages).for_each(|p| (0..nodes).for_each(|t| _ = b.read(t, u64::from(p) << 12)));
    Arc::new(Layout::find(&b.open().expect("valid"), &bindings(nodes), 12, nodes as usize).expect("shared"))
}

fn system(spec: &Spec, hybrid: &Hybrid, layout: Arc<Layout>, percent: u32) -> System {
    let sizes = Sizes::at(hybrid, 4096, layout.home_max(), percent).expect("possible");
    System::new(spec, hybrid, sizes, layout)
}

/// Cycles of a reference without contention, kernel aside.
fn cycles(system: &mut System, processor: u32, address: u64, writes: bool) -> u64 {
    let access = Access { processor, line: address >> 5, writes, words: 0 };
    if system.hits(access) {
        return 1;
    }
    let mut fx = Effects::default();
    system.miss(access, 0, &mut fx);
    fx.first.cycles() + fx.then.iter().map(|p| p.cycles()).max().unwrap_or(0)
}

#[test]
fn latencies_without_contention_are_those_of_the_paper() {
    let hybrid = hybrid();
    let mut s = system(archs::find("ccnuma").expect("listed"), &hybrid, layout(4, 8), 50);
    assert_eq!(cycles(&mut s, 0, 0, false), 58, "own memory");
    assert_eq!(cycles(&mut s, 0, 8, false), 1, "the line");
    assert_eq!(cycles(&mut s, 0, 0x1000, false), 147, "another node's memory");
    assert_eq!(cycles(&mut s, 0, 0x1020, false), 23, "the next line of that chunk");
    assert_eq!(cycles(&mut s, 2, 0x1000, true), 147, "copies are invalidated meanwhile");
    assert_eq!(cycles(&mut s, 3, 0x1000, false), 147 + 33, "written by a third node");
    assert_eq!(cycles(&mut s, 1, 0x1000, false), 58, "at home again");
    assert_eq!(cycles(&mut s, 3, 0x1000, true), 147, "ownership");
    assert_eq!(cycles(&mut s, 1, 0x1000, false), 147, "recalled by its home");
    let mut s = system(archs::find("scoma").expect("listed"), &hybrid, layout(4, 8), 50);
    assert_eq!(cycles(&mut s, 0, 0x1000, false), 147);
    assert_eq!(cycles(&mut s, 0, 0x1020, false), 58, "the page cache");
    assert_eq!(cycles(&mut s, 0, 0x1000 + 8192, false), 147);
}

/// A memory system that looks at itself after every step, and knows what every line should hold.
struct Checked {
    system: System,
    now: u64,
    /// How often each line was written, and what each cache has of it.
    written: HashMap<u64, u64>,
    held: HashMap<(u32, u64), u64>,
    checks: u64,
}

impl Checked {
    /// An access is done: a read must have seen the last write.
    fn done(&mut self, a: Access, hit: bool) {
        let last = self.written.entry(a.line).or_default();
        if hit {
            assert_eq!(self.held.get(&(a.processor, a.line)), Some(&*last), "reads see the last write: {a:?}");
        }
        *last += u64::from(a.writes);
        self.held.insert((a.processor, a.line), *last);
        self.checks += 1;
    }

    fn check(&self) {
        let s = &self.system;
        for (number, chunk) in (0u64..).zip(&s.chunks) {
            let page = (number >> 5) as u32;
            let first = s.layout.flat(page) * 128 + (number & 31) * 4;
            for node in 0..s.layout.nodes as u32 {
                let lines = || (first..first + 4).map(|l| s.caches[node as usize].state(l));
                let n = &s.nodes[node as usize];
                let in_frame = matches!(n.mapping(page), Mapping::Frame(f) if n.frames[f as usize].valid & s.valid_bit(number) != 0);
                let holds = lines().any(|l| l != State::Invalid) || n.rac == Some(number) || in_frame;
                assert!(!holds || chunk.has(node), "node {node} holds chunk {number} and is not in its copy set");
                let dirty = lines().any(|l| l == State::Dirty);
                assert!(
                    !dirty || chunk.owner() == Some(node),
                    "node {node} wrote chunk {number}, owner {:?}",
                    chunk.owner()
                );
            }
            if let Some(owner) = chunk.owner() {
                assert_eq!(chunk.copies, 1 << owner, "the owner of chunk {number} is alone");
            }
        }
        for n in &s.nodes {
            let mapped = (0..s.layout.pages() as u32)
                .filter(|&p| matches!(n.mapping(p), Mapping::Frame(f) if n.frames[f as usize].page == Some(p)));
            let used = n.frames.iter().filter(|f| f.page.is_some()).count();
            assert_eq!((mapped.count(), used + n.free() as usize), (used, n.frames.len()), "frames are conserved");
        }
    }
}

impl Memory for Checked {
    fn processors(&self) -> u32 {
        self.system.processors()
    }
    fn servers(&self) -> usize {
        self.system.servers()
    }
    fn line_shift(&self) -> u32 {
        self.system.line_shift()
    }
    fn hits(&self, a: Access) -> bool {
        self.system.hits(a)
    }
    fn touched(&mut self, a: Access) {
        self.done(a, true);
        self.system.touched(a);
    }
    fn miss(&mut self, a: Access, now: u64, fx: &mut Effects) {
        assert!(now >= self.now, "time runs forward");
        self.now = now;
        self.system.miss(a, now, fx);
        self.done(a, false);
        self.check();
    }
    fn synchronise(&mut self, processor: u32, address: u64, fx: &mut Effects) {
        self.system.synchronise(processor, address, fx);
    }
    fn counting(&mut self, processor: u32, counts: bool) {
        self.system.counting(processor, counts);
    }
}

/// One access, an event of its own.
fn refer(checked: &mut Checked, a: Access, now: u64) {
    if checked.hits(a) {
        checked.touched(a);
        checked.check();
    } else {
        checked.miss(a, now, &mut Effects::default());
    }
}

/// Every history of four references by two or three nodes to two pages: since a miss changes all state when it is asked for, these
/// are all interleavings that the directory can see. The cache has two lines, for which both pages compete, and the page cache a frame.
#[test]
fn every_short_history_keeps_them_straight() {
    let hybrid = Hybrid { cache_bytes: 64, threshold: [1, 1], daemon_gap: [1, 2], ..hybrid() };
    let (mut histories, mut moved) = (0u32, 0);
    for nodes in [2u32, 3] {
        let layout = layout(nodes, nodes);
        let ways = 4 * nodes;
        for spec in archs::ALL {
            for number in 0..ways.pow(4) {
                let system = system(spec, &hybrid, layout.clone(), 50);
                let (written, held) = (HashMap::new(), HashMap::new());
                let mut checked = Checked { system, now: 0, written, held, checks: 0 };
                for step in 0..4 {
                    let way = number / ways.pow(step) % ways;
                    let line = u64::from(way / 2 % 2) << 7;
                    let access = Access { processor: way / 4, line, writes: way % 2 == 1, words: 0 };
                    refer(&mut checked, access, u64::from(step) * 1000);
                }
                assert_eq!(checked.checks, 4);
                histories += 1;
                moved += checked.system.counters().iter().map(|c| c.relocated + c.evicted).sum::<u64>();
            }
        }
    }
    assert_eq!(histories as usize, archs::ALL.len() * (8usize.pow(4) + 12usize.pow(4)));
    assert!(moved > 1000, "{moved}");
}

fn random(seed: u64) -> DatasetReader {
    let (mut rng, mut b) = (Rng::new(seed), Builder::new(3));
    for _ in 0..400 {
        let (t, addr) = (rng.below(3) as u32, rng.below(9) << 12 | rng.below(3) << 9 | rng.below(5) << 5);
        if rng.below(4) == 0 {
            b.write(t, addr)
        } else {
            b.read(t, addr)
        };
        if rng.below(60) == 0 {
            b.barrier(0x9000_0000, 0..3);
        }
    }
    b.open().expect("valid")
}

#[test]
fn every_architecture_keeps_frames_owners_and_copies_straight() {
    let mut relocated = 0;
    for seed in 0..25 {
        let data = random(seed);
        let hybrid = Hybrid { cache_bytes: 512, threshold: [2, 1], daemon_gap: [3000, 20_000], ..hybrid() };
        let layout = Arc::new(Layout::find(&data, &bindings(3), 12, 3).expect("shared"));
        for spec in archs::ALL {
            for percent in [35, 60, 75] {
                let make = || {
                    let system = system(spec, &hybrid, layout.clone(), percent);
                    let (written, held) = (HashMap::new(), HashMap::new());
                    Ok::<_, crate::engine::TimedError>((Checked { system, now: 0, written, held, checks: 0 }, NoGaps))
                };
                let options = Options { hits_max: 0, phase: None };
                let done = simulate(&data, &bindings(3), &options, make).expect("runs");
                assert_eq!(done.memory.checks, 400, "every access was looked at");
                relocated += done.memory.system.counters().iter().map(|c| c.relocated + c.evicted).sum::<u64>();
            }
        }
    }
    assert!(relocated > 1000, "{relocated}");
}
