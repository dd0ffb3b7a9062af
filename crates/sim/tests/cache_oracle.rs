//! The cache filter against a brute-force cache (vectors of lines with time stamps, linear search, no directory), event
//! for event and state for state, and against closed forms.
mod common;
use common::{cached, slow};
use homenode_base::Rng;
use homenode_sim::cache::{CacheEvent, CacheEventKind as Kind, CacheFilter, Mesi};

#[derive(Clone, Copy, PartialEq)]
struct Line {
    key: u64,
    state: Mesi,
    used: u64,
    block: u32,
}

/// One cache: any number of sets, each a bag of lines.
#[derive(Clone)]
struct Bag {
    sets: u64,
    ways: usize,
    lines: Vec<Line>,
}

impl Bag {
    fn get(&mut self, key: u64) -> Option<&mut Line> {
        self.lines.iter_mut().find(|l| l.key == key)
    }
    fn take(&mut self, key: u64) -> Option<Line> {
        let i = self.lines.iter().position(|l| l.key == key)?;
        Some(self.lines.remove(i))
    }
    fn oldest_if_full(&self, key: u64) -> Option<u64> {
        let same = |l: &&Line| l.key % self.sets == key % self.sets;
        let full = self.lines.iter().filter(same).count() == self.ways;
        full.then(|| self.lines.iter().filter(same).min_by_key(|l| l.used).unwrap().key)
    }
}

struct Brute {
    node_of: Vec<u16>,
    private: Vec<Bag>,
    shared: Vec<Bag>,
    now: u64,
    out: Vec<CacheEvent>,
}

impl Brute {
    fn new(cores: &[u16], private: (u64, u32), shared: (u64, u32)) -> Brute {
        let bag = |(sets, ways): (u64, u32)| Bag { sets, ways: ways as usize, lines: Vec::new() };
        let node_of: Vec<u16> =
            cores.iter().enumerate().flat_map(|(n, &c)| std::iter::repeat_n(n as u16, c as usize)).collect();
        Brute {
            private: vec![bag(private); node_of.len()],
            shared: vec![bag(shared); cores.len()],
            node_of,
            now: 0,
            out: Vec::new(),
        }
    }
    fn say(&mut self, kind: Kind, node: u16, block: u32, line: u64) {
        self.out.push(CacheEvent { kind, node, block, line });
    }
    fn cpus_of(&self, node: u16) -> Vec<usize> {
        (0..self.node_of.len()).filter(|c| self.node_of[*c] == node).collect()
    }
    fn drop_node_line(&mut self, node: u16, key: u64) -> Option<Line> {
        for cpu in self.cpus_of(node) {
            self.private[cpu].take(key);
        }
        self.shared[node as usize].take(key)
    }
    fn others(&self, node: u16) -> Vec<u16> {
        (0..self.shared.len() as u16).filter(|n| *n != node).collect()
    }
    fn access(&mut self, cpu: usize, key: u64, block: u32, write: bool) {
        self.now += 1;
        let (now, node) = (self.now, self.node_of[cpu]);
        let mine = self.private[cpu].get(key).map(|l| {
            l.used = now;
            l.state
        });
        if let Some(state) = mine {
            if write {
                if state == Mesi::Shared {
                    self.kill_all_but(cpu, key);
                }
                self.private[cpu].get(key).unwrap().state = Mesi::Modified;
                self.shared[node as usize].get(key).unwrap().state = Mesi::Modified;
            }
            return self.say(if write { Kind::WriteHit } else { Kind::ReadHit }, node, block, key);
        }
        if self.shared[node as usize].get(key).is_some() {
            self.near(cpu, key, block, write);
        } else {
            self.far(node, key, block, write);
        }
        self.shared[node as usize].get(key).unwrap().used = now;
        self.fill_private(cpu, key, write);
    }
    /// No copy of the line stays anywhere but in `cpu` and in its node's last level.
    fn kill_all_but(&mut self, cpu: usize, key: u64) {
        for other in 0..self.private.len() {
            if other != cpu {
                self.private[other].take(key);
            }
        }
        for other in self.others(self.node_of[cpu]) {
            self.shared[other as usize].take(key);
        }
    }
    fn near(&mut self, cpu: usize, key: u64, block: u32, write: bool) {
        let node = self.node_of[cpu];
        for other in self.cpus_of(node) {
            let Some(line) = self.private[other].get(key) else { continue };
            let before = line.state;
            line.state = Mesi::Shared;
            if before == Mesi::Modified {
                let block = self.shared[node as usize].get(key).unwrap().block;
                self.say(Kind::TransferNear, node, block, key);
            }
        }
        if write {
            self.kill_all_but(cpu, key);
            self.shared[node as usize].get(key).unwrap().state = Mesi::Modified;
        }
        self.shared[node as usize].get(key).unwrap().block = block;
        self.say(if write { Kind::WriteHit } else { Kind::ReadHit }, node, block, key);
    }
    fn far(&mut self, node: u16, key: u64, block: u32, write: bool) {
        let (mut dirty, mut clean) = (false, false);
        for other in self.others(node) {
            let Some(line) = self.shared[other as usize].get(key) else { continue };
            let copy = *line;
            line.state = Mesi::Shared;
            dirty |= copy.state == Mesi::Modified;
            clean |= copy.state != Mesi::Modified;
            if copy.state == Mesi::Modified {
                if !write {
                    self.say(Kind::WriteBack, other, copy.block, key);
                }
                self.say(Kind::TransferFar, node, copy.block, key);
            }
            for cpu in self.cpus_of(other) {
                if let Some(l) = self.private[cpu].get(key) {
                    l.state = Mesi::Shared;
                }
            }
            if write {
                self.drop_node_line(other, key);
            }
        }
        let kind = match (dirty, write) {
            (true, true) => Kind::WriteHit,
            (true, false) => Kind::ReadHit,
            (false, true) => Kind::WriteMiss,
            (false, false) => Kind::ReadMiss,
        };
        self.say(kind, node, block, key);
        if let Some(old) = self.shared[node as usize].oldest_if_full(key) {
            let line = self.drop_node_line(node, old).unwrap();
            if line.state == Mesi::Modified {
                self.say(Kind::WriteBack, node, line.block, old);
            }
        }
        let state = match (write, dirty || clean) {
            (true, _) => Mesi::Modified,
            (false, true) => Mesi::Shared,
            (false, false) => Mesi::Exclusive,
        };
        self.shared[node as usize].lines.push(Line { key, state, used: self.now, block });
    }
    fn fill_private(&mut self, cpu: usize, key: u64, write: bool) {
        let node = self.node_of[cpu];
        let company = self.cpus_of(node).into_iter().any(|c| self.private[c].get(key).is_some());
        let node_shared = self.shared[node as usize].get(key).unwrap().state == Mesi::Shared;
        let state = match (write, company || node_shared) {
            (true, _) => Mesi::Modified,
            (false, true) => Mesi::Shared,
            (false, false) => Mesi::Exclusive,
        };
        if let Some(old) = self.private[cpu].oldest_if_full(key) {
            self.private[cpu].take(old);
        }
        self.private[cpu].lines.push(Line { key, state, used: self.now, block: 0 });
    }
    /// What MESI and inclusion promise.
    fn check(&self) {
        for (a, bag) in self.private.iter().chain(&self.shared).enumerate() {
            for set in 0..bag.sets {
                assert!(bag.lines.iter().filter(|l| l.key % bag.sets == set).count() <= bag.ways, "cache {a}");
            }
        }
        for (cpu, bag) in self.private.iter().enumerate() {
            let home = &self.shared[self.node_of[cpu] as usize];
            for line in &bag.lines {
                let below = home.lines.iter().find(|l| l.key == line.key).expect("inclusion");
                let alone =
                    |bags: &[Bag]| bags.iter().flat_map(|b| &b.lines).filter(|l| l.key == line.key).count() == 1;
                assert!(line.state != Mesi::Modified || below.state == Mesi::Modified);
                assert!(line.state == Mesi::Shared || (alone(&self.private) && below.state >= Mesi::Exclusive));
                assert!(below.state == Mesi::Shared || alone(&self.shared), "single owner among nodes");
            }
        }
    }
}

fn compare(cores: &[u16], private: (u64, u32), shared: (u64, u32), lines: u64, refs: usize, rng: &mut Rng) {
    let machine = cached(cores, private, shared);
    let mut fast = CacheFilter::new(&machine).unwrap().unwrap();
    let mut brute = Brute::new(cores, private, shared);
    let cpus = brute.node_of.len() as u64;
    let (mut got, mut key, mut cpu) = (Vec::new(), 0, 0);
    for i in 0..refs {
        // Runs on one line exercise the memo, extremes of the key space the wrapping.
        if rng.chance(2, 3) {
            key = rng.below(lines).wrapping_sub(rng.below(2)).wrapping_add(rng.below(2) << 60);
        }
        if rng.chance(1, 2) {
            cpu = rng.below(cpus) as usize;
        }
        let (write, block) = (rng.chance(1, 3), (key / 4) as u32);
        got.clear();
        brute.out.clear();
        fast.access(cpu, key, block, write, &mut |e| got.push(e));
        brute.access(cpu, key, block, write);
        assert_eq!(got, brute.out, "reference {i}: cpu {cpu} key {key} write {write}");
        if i % 97 == 0 {
            brute.check();
            for (c, bag) in brute.private.iter_mut().enumerate() {
                assert_eq!(fast.private_state(c, key), bag.get(key).map_or(Mesi::Invalid, |l| l.state));
            }
            for (n, bag) in brute.shared.iter_mut().enumerate() {
                assert_eq!(fast.node_state(n, key), bag.get(key).map_or(Mesi::Invalid, |l| l.state));
            }
        }
    }
}

#[test]
fn equals_the_brute_force_cache_event_for_event() {
    let mut rng = Rng::new(11);
    let rounds = if slow() { 600 } else { 12 };
    for _ in 0..rounds {
        compare(&[1, 1], (1, 1), (1, 1), 4, 4_000, &mut rng);
        compare(&[2, 2], (1, 2), (2, 3), 12, 8_000, &mut rng);
        compare(&[3, 2, 1], (2, 2), (3, 4), 24, 8_000, &mut rng);
        compare(&[4, 0, 4, 1], (3, 1), (5, 2), 30, 8_000, &mut rng);
        compare(&[2, 2], (4, 2), (1, 2), 16, 8_000, &mut rng); // last level smaller than the private caches
        compare(&[70, 2], (1, 2), (3, 3), 14, 4_000, &mut rng); // more sharers than one word holds
        compare(&[1], (2, 2), (2, 2), 9, 2_000, &mut rng);
    }
}

/// Counts of events of one run.
fn count(machine: &homenode_machine::Machine, refs: impl Iterator<Item = (usize, u64, bool)>) -> [u64; 7] {
    let mut filter = CacheFilter::new(machine).unwrap().unwrap();
    let mut n = [0; 7];
    for (cpu, key, write) in refs {
        filter.access(cpu, key, 0, write, &mut |e| n[e.kind as usize] += 1);
    }
    n
}

#[test]
fn streaming_misses_once_a_line_and_writes_back_all_that_leave() {
    let machine = cached(&[1, 1], (16, 4), (64, 4)); // last level: 256 lines
    let sweep = |write| (0..3).flat_map(move |_| (0..1000 * 8u64).map(move |word| (0, word / 8, write)));
    let reads = count(&machine, sweep(false));
    assert_eq!(reads, [3000, 0, 0, 0, 0, 21_000, 0], "an array larger than the cache misses once per line and sweep");
    let writes = count(&machine, sweep(true));
    assert_eq!(writes, [0, 3000, 3000 - 256, 0, 0, 0, 21_000], "dirty lines leave, except those still cached");
    let small = (0..5).flat_map(|_| (0..256u64).map(|line| (0, line, false)));
    assert_eq!(count(&machine, small)[0], 256, "an array that fits misses on the first sweep only");
}

#[test]
fn ping_pong_transfers_once_a_turn() {
    let machine = cached(&[2, 2], (16, 4), (64, 4));
    let far = count(&machine, (0..1000).map(|i| (if i % 2 == 0 { 0 } else { 2 }, 7, true)));
    assert_eq!(far, [0, 1, 0, 0, 999, 0, 1000 - 1]);
    let near = count(&machine, (0..1000).map(|i| (i % 2, 7, true)));
    assert_eq!(near, [0, 1, 0, 999, 0, 0, 999]);
    let producer_consumer = count(&machine, (0..1000).map(|i| (if i % 2 == 0 { 0 } else { 2 }, 7, i % 2 == 0)));
    assert_eq!(producer_consumer, [0, 1, 500, 0, 500, 500, 499], "each read by the other node writes the line back");
}

#[test]
fn impossible_geometry_is_an_error_and_not_a_panic() {
    for (private, shared) in [((0, 4), (64, 4)), ((16, 0), (64, 4)), ((16, 4), (1 << 40, 16))] {
        assert!(CacheFilter::new(&cached(&[2], private, shared)).is_err());
    }
    let mut odd = cached(&[2], (16, 4), (64, 4));
    odd.sections.caches.as_mut().unwrap().line_bytes = 48;
    assert!(CacheFilter::new(&odd).is_err());
    assert!(CacheFilter::new(&common::plain(&[2])).unwrap().is_none());
}
