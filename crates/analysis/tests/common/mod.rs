//! A small replay for tests: first touch, and caches that never run full.
#![allow(dead_code, reason = "each test file uses its own part")]
use homenode_analysis::{Analysed, Analysis, Charge, Names, ObjectName, Setup, SiteName, Transfer, UNKNOWN_OBJECT};
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{AccessClass, Caches, CopyCost, Costs, Location, Machine, Matrix, Sections, Shape, Unit};
use homenode_trace::{Merged, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a page in these tests.
pub(crate) const PAGE: u64 = 4096;
const LINE: u64 = 64;

/// Whether slow tests run.
pub(crate) fn slow() -> bool {
    std::env::var_os("HOMENODE_SLOW").is_some()
}

/// A machine of `nodes` nodes: 100 near, 180 far; a cache-to-cache transfer costs 150.
pub(crate) fn machine(nodes: usize, caches: bool) -> Machine {
    let geometry = homenode_machine::CacheGeometry { bytes: 1 << 20, ways: 16 };
    let uniform = Matrix::uniform(nodes, Cost(100), Cost(180));
    Machine {
        name: "test".into(),
        title: "test".into(),
        sources: Vec::new(),
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![8; nodes], word_bytes: 8, page_bytes: PAGE },
        cost: Costs {
            read: uniform.clone(),
            write: uniform.clone(),
            write_back: uniform,
            remote_access: true,
            copy: CopyCost { fixed: Cost(1000), per_word: Cost(1), at_most: None },
            global: None,
        },
        sections: Sections {
            caches: caches.then_some(Caches {
                line_bytes: LINE as u32,
                private: geometry,
                shared: geometry,
                transfer_near: Cost(150),
                transfer_far: Cost(150),
            }),
            ..Sections::default()
        },
    }
}

/// One object of a test program.
#[derive(Clone, Debug)]
pub(crate) struct TestObject {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) place: Option<&'static str>,
    /// (address, bytes) of each allocation.
    pub(crate) extents: Vec<(u64, u64)>,
}

/// A program: its objects, its code and its references in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) objects: Vec<TestObject>,
    /// (place, function) by site.
    pub(crate) sites: Vec<(&'static str, &'static str)>,
    pub(crate) refs: Vec<Merged>,
}

impl Program {
    pub(crate) fn object(&mut self, name: &'static str, place: &'static str, addr: u64, bytes: u64) -> u64 {
        let o = TestObject { name, kind: "heap", place: Some(place), extents: vec![(addr, bytes)] };
        self.objects.push(o);
        addr
    }
    pub(crate) fn site(&mut self, place: &'static str, function: &'static str) -> u32 {
        self.sites.push((place, function));
        self.sites.len() as u32 - 1
    }
    pub(crate) fn go(&mut self, thread: u32, op: Op, addr: u64, size: u32, site: u32) {
        self.refs.push(Merged { addr, size, site, weight: 1, thread, op, ..Merged::default() });
    }
    pub(crate) fn object_at(&self, addr: u64) -> u32 {
        let inside = |e: &(u64, u64)| (e.0..e.0.saturating_add(e.1)).contains(&addr);
        self.objects.iter().position(|o| o.extents.iter().any(inside)).map_or(UNKNOWN_OBJECT, |i| i as u32)
    }
    /// Analyses it: `threads` dealt out in contiguous parts over the nodes of `machine`.
    pub(crate) fn analyse(&self, machine: &Machine, threads: u32) -> Analysed {
        let nodes: Vec<NodeId> =
            (0..threads).map(|t| NodeId((t as usize * machine.nodes() / threads as usize) as u16)).collect();
        let cpus: Vec<u16> = (0..threads as u16).collect();
        let setup = Setup {
            machine,
            block_bytes: PAGE,
            unit_bytes: LINE,
            nodes: &nodes,
            cpus: &cpus,
            sampled: None,
            colours: 1,
        };
        let mut replay = Replay { program: self, machine, nodes: &nodes, ..Replay::new(self, machine, &nodes) };
        let mut analysis = Analysis::new(setup);
        for r in &self.refs {
            analysis.reference(r, self.object_at(r.addr));
            if r.op != Op::Spin {
                replay.step(r, &mut analysis);
            }
        }
        let analysed = analysis.finish(self);
        assert_eq!(analysed.total.0, replay.charged, "everything charged is somewhere");
        let t = &analysed.transfer_breakdown;
        let classes = [&t.falsely_shared, &t.truly_shared, &t.locks, &t.unwatched];
        let transfers: TotalCost = analysed.objects.iter().map(|o| o.transfer_cost).sum();
        assert_eq!(classes.iter().map(|c| c.cost).sum::<TotalCost>(), transfers, "the classes add up");
        analysed
    }
}

impl Names for Program {
    fn object(&self, object: u32) -> ObjectName {
        let o = &self.objects[object as usize];
        ObjectName {
            name: o.name.into(),
            kind: o.kind.into(),
            place: o.place.map(Into::into),
            function: None,
            instances: o.extents.len() as u64,
            bytes: o.extents.iter().map(|e| e.1).sum(),
        }
    }
    fn extent(&self, object: u32, addr: u64) -> Option<(u64, u64)> {
        self.objects[object as usize].extents.iter().copied().find(|e| (e.0..e.0 + e.1).contains(&addr))
    }
    fn site(&self, site: u32) -> SiteName {
        let (place, function) = self.sites[site as usize];
        SiteName { place: place.into(), function: function.into() }
    }
}

struct Replay<'a> {
    program: &'a Program,
    machine: &'a Machine,
    nodes: &'a [NodeId],
    homes: BTreeMap<u64, NodeId>,
    /// Holders of each line, and whether the one holder has written it.
    lines: BTreeMap<u64, (BTreeSet<u32>, bool)>,
    charged: i128,
}

impl<'a> Replay<'a> {
    fn new(program: &'a Program, machine: &'a Machine, nodes: &'a [NodeId]) -> Replay<'a> {
        Replay { program, machine, nodes, homes: BTreeMap::new(), lines: BTreeMap::new(), charged: 0 }
    }
    fn step(&mut self, r: &Merged, analysis: &mut Analysis<'_>) {
        let node = self.nodes[r.thread as usize];
        let last = r.addr.saturating_add(u64::from(r.size.max(1)) - 1);
        for page in r.addr / PAGE..=last / PAGE {
            self.homes.entry(page).or_insert(node);
        }
        for line in r.addr / LINE..=last / LINE {
            let addr = r.addr.max(line * LINE);
            match self.machine.sections.caches.is_some() {
                false => self.charge(r, addr, node, analysis),
                true => self.cached(r, line, addr, node, analysis),
            }
        }
    }
    fn charge(&mut self, r: &Merged, addr: u64, node: NodeId, analysis: &mut Analysis<'_>) {
        let class = if r.op.writes() { AccessClass::Write } else { AccessClass::Read };
        let home = Location::Node(self.homes[&(addr / PAGE)]);
        let cost = self.machine.access(class, node, home);
        self.charged += i128::from(cost.0);
        let object = self.program.object_at(addr);
        analysis.charge(&Charge { addr, object, site: r.site, node, class, weight: 1, home, cost });
    }
    fn cached(&mut self, r: &Merged, line: u64, addr: u64, node: NodeId, analysis: &mut Analysis<'_>) {
        let (holders, dirty) = self.lines.entry(line).or_default();
        let (has, dirty_elsewhere) = (holders.contains(&r.thread), *dirty && !holders.contains(&r.thread));
        let invalidates = r.op.writes() && holders.iter().any(|h| *h != r.thread);
        if r.op.writes() {
            *holders = BTreeSet::from([r.thread]);
            *dirty = true;
        } else {
            holders.insert(r.thread);
            *dirty &= has;
        }
        if dirty_elsewhere || (invalidates && !has) {
            let cost = Cost(150);
            self.charged += 150;
            analysis.transfer(&Transfer { addr, object: self.program.object_at(addr), site: r.site, cost });
        } else if !has {
            self.charge(r, addr, node, analysis);
        }
    }
}
