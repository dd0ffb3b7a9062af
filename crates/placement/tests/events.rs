//! Counts times prices are the money that an independent charger finds, on every machine that a count is for.
mod common;
use common::{cases, random_machine, random_matrix_machine, random_trace};
use homenode_base::{Cost, NodeId, Rng};
use homenode_machine::{CopyCost, GlobalMemory, Location, Machine};
use homenode_placement::checker::recost;
use homenode_placement::engine::Table;
use homenode_placement::events::{COPY, MOVE, POLICIES, Paths};
use homenode_placement::{
    Access, AccessKind, BlockContext, BlockEngine, EventCounts, LocationSet, Placement, Policy, Sink, Step, Tally,
};
use std::sync::{Arc, Mutex};

/// By block: accesses with the placement at each.
type RandomLog = Vec<(Vec<Access>, Placement)>;

/// Places copies anywhere it may, and keeps a diary of where they were.
struct Anywhere {
    locations: Vec<Location>,
    seen: Arc<Mutex<RandomLog>>,
}

/// Copies of a block, and what is drawn next.
#[derive(Clone)]
struct Held(LocationSet, Rng);

impl Anywhere {
    fn draw(&self, rng: &mut Rng, sets: bool) -> LocationSet {
        let one = |rng: &mut Rng| self.locations[rng.below(self.locations.len() as u64) as usize];
        let mut set = LocationSet::single(one(rng));
        if sets {
            (0..rng.below(4)).for_each(|_| set.insert(one(rng)));
        }
        set
    }
}

/// Brings about the new set from the old one as cheaply as the definition of cost allows.
fn change(old: &LocationSet, new: &LocationSet, sink: &mut impl Sink) {
    let added: Vec<Location> = new.iter().filter(|l| !old.contains(*l)).collect();
    if old.is_empty() {
        added.iter().for_each(|l| _ = sink.place(*l));
        return;
    }
    let first = old.iter().next().expect("not empty");
    let mut from = if old.contains(Location::Global) { Location::Global } else { first };
    // Global memory, if it is new, comes first: others are then fetched from there.
    for to in added.iter().filter(|l| **l == Location::Global).chain(added.iter().filter(|l| **l != Location::Global)) {
        _ = if new.len() == 1 { sink.migrate(from, *to) } else { sink.replicate(from, *to) };
        from = if *to == Location::Global { *to } else { from };
    }
    old.iter().filter(|l| !new.contains(*l)).for_each(|l| _ = sink.drop_copy(l));
}

impl Policy for Anywhere {
    type State = Held;
    fn begin(&self, block: &BlockContext<'_>) -> Held {
        Held(LocationSet::default(), Rng::new(block.block))
    }
    fn step(&self, block: &BlockContext<'_>, held: &mut Held, access: &Access, sink: &mut impl Sink) -> Location {
        let Held(set, rng) = held;
        let write = access.kind == AccessKind::Write;
        if set.is_empty() || (write && set.len() > 1) || rng.below(2) == 0 {
            let new = self.draw(rng, !write && !set.is_empty());
            change(set, &new, sink);
            *set = new;
        }
        let served = set.iter().nth(rng.below(set.len() as u64) as usize).expect("one of them");
        let (trace, placement) = &mut self.seen.lock().expect("not poisoned")[block.block as usize];
        trace.push(*access);
        placement.sets.push(set.clone());
        placement.served.push(served);
        served
    }
    fn together(&self, _: &BlockContext<'_>, held: &Held, access: &Access) -> u32 {
        1 + (held.1.clone().next_u64() % u64::from(access.weight.max(1))) as u32
    }
}

/// Machines with equally many nodes, on all of which or on none of which there is global memory.
fn machines(rng: &mut Rng) -> Vec<Machine> {
    let nodes = 1 + rng.below(6) as usize;
    let uneven = rng.below(3);
    let global = rng.below(2) == 0;
    let mut made = || {
        let mut m = match rng.below(2) < uneven {
            true => random_matrix_machine(rng, nodes),
            false => random_machine(rng, nodes),
        };
        let access = Cost(rng.below(20) as i64);
        m.cost.global = global.then(|| GlobalMemory { access, copy: CopyCost::linear(access, Cost(1)) });
        m.shape.page_bytes = 1 << rng.below(3);
        m
    };
    (0..4).map(|_| made()).collect()
}

fn locations(m: &Machine) -> Vec<Location> {
    let nodes = (0..m.nodes() as u16).map(|n| Location::Node(NodeId(n)));
    nodes.chain(m.cost.global.map(|_| Location::Global)).collect()
}

/// Near, far, or to or from global memory.
fn leads(from: Location, to: Location) -> u8 {
    match (from, to) {
        _ if from == to => 0,
        (Location::Global, _) | (_, Location::Global) => 2,
        _ => 1,
    }
}

#[test]
fn paths_have_one_number_just_where_no_machine_tells_them_apart() {
    let mut rng = Rng::new(0x9a7);
    for _ in 0..cases(500) {
        let machines = machines(&mut rng);
        let all: Vec<&Machine> = machines.iter().collect();
        let block_bytes = 1 << rng.below(4);
        let paths = Paths::new(&POLICIES, &all, block_bytes);
        let places = locations(&machines[0]);
        let ways: Vec<(Location, Location)> = places.iter().flat_map(|a| places.iter().map(|b| (*a, *b))).collect();
        // Nobody accesses memory from global memory: what such a path is for is movement.
        let said = |(from, to): (Location, Location), movement: bool| {
            let kinds = &POLICIES.kinds[if movement { COPY } else { 0 }..];
            let prices = kinds.iter().flat_map(|k| all.iter().map(move |m| (k.price)(m, block_bytes, from, to)));
            (leads(from, to), prices.collect::<Vec<Cost>>())
        };
        for a in &ways {
            let (number, movement) = (paths.number(a.0, a.1), a.0 == Location::Global);
            assert_eq!(said(paths.example(number), movement), said(*a, movement), "{a:?} {machines:?}");
            for b in ways.iter().filter(|b| !movement && b.0 != Location::Global && said(**b, false) == said(*a, false))
            {
                assert_eq!(paths.number(b.0, b.1), number, "{a:?} {b:?} {machines:?}");
            }
        }
    }
    let opteron = homenode_machine::models::find("opteron8").expect("in the registry");
    let ways = Paths::new(&POLICIES, &[&opteron], 4096).len();
    assert!((20..=64 + 3).contains(&ways), "8 x 8 distances, many of them equal, and global memory: {ways}");
}

#[test]
fn one_count_of_any_policy_is_the_money_of_the_checker_on_every_machine() {
    let mut rng = Rng::new(0xc0417);
    let mut infinite = 0;
    for _ in 0..cases(20) {
        let machines = machines(&mut rng);
        let (block_bytes, blocks) = (1 << rng.below(4), 1 + rng.below(3));
        let seen = Arc::new(Mutex::new(vec![Default::default(); blocks as usize]));
        let policy = Anywhere { locations: locations(&machines[0]), seen: seen.clone() };
        let mut engine = Table::new(policy, &machines[0], block_bytes);
        (0..blocks).for_each(|b| _ = engine.open(b, None));
        let all: Vec<&Machine> = machines.iter().collect();
        let mut counts = EventCounts::new(&POLICIES, Arc::new(Paths::new(&POLICIES, &all, block_bytes)));
        let trace = random_trace(&mut rng, machines[0].nodes(), 60);
        let steps: Vec<Step> = trace.iter().map(|a| Step { slot: rng.below(blocks) as u32, access: *a }).collect();
        engine.run(&steps, &mut counts);
        for machine in all {
            let mut money = Tally::default();
            for (trace, placement) in seen.lock().expect("not poisoned").iter() {
                money.add(&recost(machine, block_bytes, trace, placement).expect("legal"));
            }
            assert_eq!(counts.priced(machine, block_bytes), money, "{machine:?}\n{trace:?}");
            assert_eq!([counts.total(COPY), counts.total(MOVE)], [money.copies, money.moves]);
            infinite += u64::from(money.total().is_infinite());
        }
        let served: u64 = (0..COPY).map(|kind| counts.total(kind)).sum();
        assert_eq!(served, trace.iter().map(|a| u64::from(a.weight)).sum::<u64>());
    }
    assert!(
        infinite > 20,
        "accesses that are not possible occur, and are counted as often as they are made: {infinite}"
    );
}
