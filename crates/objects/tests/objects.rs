//! Objects against a slow list of everything that ever happened.
use homenode_base::Rng;
use homenode_objects::{ObjectKind, ObjectTable};
use homenode_trace::Events;
use homenode_trace::event::{AllocSource, Event, EventKind};
use homenode_trace::manifest::{Manifest, Process, Thread};
use homenode_trace::symbols::{Global, Site, Symbols};

const UNIT: u64 = 16;

/// Raises the number of cases in the slow tier.
fn cases(default: u64, slow: u64) -> u64 {
    if std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1") { slow } else { default }
}

fn manifest() -> Manifest {
    let processes = (0..2).map(|space| Process { address_space: space, ..Process::default() }).collect();
    let threads = [0, 0, 1].iter().map(|&process| Thread { process, ..Thread::default() }).collect();
    Manifest { processes, threads, ..Manifest::default() }
}

fn symbols() -> Symbols {
    let globals = vec![
        Global { process: 0, addr: 3 * UNIT, bytes: 2 * UNIT, name: "a".into(), ..Global::default() },
        Global { process: 1, addr: 4 * UNIT, bytes: UNIT, name: "b".into(), ..Global::default() },
    ];
    Symbols { globals, ..Symbols::default() }
}

fn random_events(rng: &mut Rng, n: u64) -> Vec<Event> {
    let mut forked = false;
    (0..n)
        .map(|_| {
            let (addr, bytes) = (UNIT * rng.below(20), UNIT * rng.below(5));
            let kind = match rng.below(10) {
                0..4 => {
                    let source = [AllocSource::Heap, AllocSource::Shared, AllocSource::Map][rng.below(3) as usize];
                    EventKind::Alloc { addr, bytes, source, stack: vec![rng.below(3)] }
                }
                4 => EventKind::Map { addr, bytes, prot: 3, flags: 2, device: 0, inode: 0, offset: None },
                5 => EventKind::Unmap { addr, bytes },
                6 if !forked => {
                    forked = true;
                    return Event { thread: 0, at: 0, stamp: 0, kind: EventKind::Spawn { child: 2 } };
                }
                _ => EventKind::Free { addr },
            };
            Event { thread: rng.below(3) as u32, at: 0, stamp: 0, kind }
        })
        .collect()
}

/// Owner of every unit of both spaces and both layers, repainted event by event.
struct Paint {
    units: [[[Option<u32>; 32]; 2]; 2],
    next: [u32; 3],
}

impl Paint {
    fn new(table: &ObjectTable) -> Paint {
        let mut first = [0; 3];
        for (t, f) in first.iter_mut().enumerate() {
            let own = table.objects().iter().position(|o| o.thread == Some(t as u32));
            *f = own.unwrap_or(0) as u32;
        }
        let mut units = [[[None; 32]; 2]; 2];
        (units[0][0][3], units[0][0][4], units[1][0][4]) = (Some(0), Some(0), Some(1));
        Paint { units, next: first }
    }

    fn owner(&self, space: usize, unit: usize) -> Option<u32> {
        self.units[space][0][unit].or(self.units[space][1][unit])
    }

    fn apply(&mut self, e: &Event, objects: &ObjectTable) {
        let space = usize::from(e.thread == 2);
        let range = |addr: u64, bytes: u64| (addr / UNIT) as usize..((addr + bytes) / UNIT) as usize;
        match &e.kind {
            EventKind::Alloc { addr, bytes, .. } | EventKind::Map { addr, bytes, .. } => {
                let id = self.next[e.thread as usize];
                self.next[e.thread as usize] += 1;
                let layer = usize::from(objects.objects()[id as usize].kind == ObjectKind::Map);
                self.units[space][layer][range(*addr, *bytes)].fill(Some(id));
            }
            EventKind::Unmap { addr, bytes } => {
                (0..2).for_each(|layer| self.units[space][layer][range(*addr, *bytes)].fill(None));
            }
            EventKind::Free { addr } => self.free(space, (addr / UNIT) as usize),
            EventKind::Spawn { .. } => {
                for layer in 0..2 {
                    for unit in 0..32 {
                        let parent = self.units[0][layer][unit];
                        self.units[1][layer][unit] = parent.or(self.units[1][layer][unit]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Frees the piece that begins exactly here; pieces of one object that touch count as begun where its paint begins.
    fn free(&mut self, space: usize, unit: usize) {
        let layer = &mut self.units[space][0];
        let Some(id) = layer[unit] else { return };
        if unit > 0 && layer[unit - 1] == Some(id) {
            return;
        }
        layer[unit..].iter_mut().take_while(|u| **u == Some(id)).for_each(|u| *u = None);
    }
}

#[test]
fn owners_are_those_of_a_painted_memory() {
    let (manifest, symbols) = (manifest(), symbols());
    for seed in 0..cases(2_000, 100_000) {
        let mut rng = Rng::new(seed);
        let n = 5 + rng.below(60);
        let events = random_events(&mut rng, n);
        let table = ObjectTable::build(&manifest, &Events::from(&events[..]), &symbols);
        let (mut live, mut paint) = (table.live(), Paint::new(&table));
        for (position, event) in events.iter().map(Some).chain([None]).enumerate() {
            for (space, unit) in (0..2).flat_map(|s| (0..32).map(move |u| (s, u))) {
                let addr = unit as u64 * UNIT + rng.below(UNIT);
                let owner = paint.owner(space, unit);
                let about = (seed, position, space, unit);
                assert_eq!(live.lookup(space as u32, addr), owner, "live {about:?}");
                assert_eq!(table.lookup(space as u32, addr, position as u64), owner, "history {about:?}");
            }
            if let Some(e) = event {
                live.event(e);
                paint.apply(e, &table);
            }
        }
    }
}

#[test]
fn heap_objects_are_grouped_and_point_outside_the_plumbing() {
    let site = |pc, module: &str, function: &str, line| Site {
        pc,
        module: module.into(),
        function: function.into(),
        file: if line > 0 { "grid.cpp".into() } else { String::new() },
        line,
        ..Site::default()
    };
    let mut symbols = Symbols {
        sites: vec![
            site(1, "/lib/x86_64-linux-gnu/libstdc++.so.6", "operator new(unsigned long)", 0),
            site(2, "/app", "std::vector<double>::_M_allocate(unsigned long)", 0),
            site(3, "/app", "Grid::Grid(int)", 41),
            site(4, "/app", "main", 99),
        ],
        ..Symbols::default()
    };
    symbols.normalise();
    let alloc = |addr, stack: &[u64]| {
        let kind = EventKind::Alloc { addr, bytes: 64, source: AllocSource::Heap, stack: stack.to_vec() };
        Event { thread: 0, at: 0, stamp: 0, kind }
    };
    let events = [alloc(0, &[1, 2, 3, 4]), alloc(64, &[1, 2, 3, 4]), alloc(128, &[1, 4])];
    let table = ObjectTable::build(&manifest(), &Events::from(&events[..]), &symbols);
    let described: Vec<_> = table.groups().iter().map(|g| (g.name.as_str(), g.objects, g.bytes)).collect();
    assert_eq!(described, [("heap block from grid.cpp:41", 2, 128), ("heap block from grid.cpp:99", 1, 64)]);
}

#[test]
fn the_ends_of_the_address_space_are_addresses_too() {
    let alloc = |addr, bytes| {
        let kind = EventKind::Alloc { addr, bytes, source: AllocSource::Heap, stack: vec![] };
        Event { thread: 0, at: 0, stamp: 0, kind }
    };
    let events = [alloc(u64::MAX - 1, 100), alloc(0, 1), alloc(8, u64::MAX)];
    let table = ObjectTable::build(&manifest(), &Events::from(&events[..]), &Symbols::default());
    let mut live = table.live();
    events[..2].iter().for_each(|e| live.event(e));
    assert_eq!([0, 1, u64::MAX].map(|a| live.lookup(0, a)), [Some(1), None, Some(0)]);
    live.event(&events[2]);
    assert_eq!([0, 8, u64::MAX].map(|a| live.lookup(0, a)), [Some(1), Some(2), Some(2)]);
}
