//! Plans for made-up programs on every machine, against the simulator's price of them.
use homenode_base::Rng;
use homenode_machine::{Machine, models};
use homenode_placement::affinity::Rule;
use homenode_planner::{PlanRequest, PlannerError, plan, price};
use homenode_synthetic::Builder;
use homenode_trace::DatasetReader;
use homenode_trace::event::EventKind;
use homenode_trace::symbols::Module;

const BIAS: u64 = 0x5500_0000_0000;
const HEAP: u64 = 0x7f00_0000_0000;
const THREADS: u32 = 4;
const BLOCKS: u64 = 5;
const PAGES: u64 = 3;

/// Blocks of some pages, each from a call of its own, that threads use at random, some more than others.
fn program(rng: &mut Rng, page: u64) -> DatasetReader {
    let mut b = Builder::new(THREADS);
    let path = "/bin/app".to_owned();
    b.event(0, EventKind::Module { bias: BIAS, bytes: 0x10_0000, path: path.clone() });
    b.symbols().modules = vec![Module { path, build_id: "0011".into() }];
    for block in 0..BLOCKS {
        b.alloc(0, HEAP + block * PAGES * page, PAGES * page, &[BIAS + 0x100 * (block + 1)]);
    }
    (1..THREADS).for_each(|t| _ = b.spawn(0, t));
    for _ in 0..400 {
        let thread = rng.below(u64::from(THREADS)) as u32;
        // Two in three uses are of the thread's own block.
        let block = if rng.chance(2, 3) { u64::from(thread) } else { rng.below(BLOCKS) };
        let addr = HEAP + (block * PAGES + rng.below(PAGES)) * page + 8 * rng.below(16);
        _ = if rng.chance(1, 4) { b.write(thread, addr) } else { b.read(thread, addr) };
    }
    b.open().expect("sound")
}

fn asked<'a>(machine: &'a Machine, rule: &'a Rule) -> PlanRequest<'a> {
    PlanRequest {
        machine,
        rule,
        map: None,
        move_threads: false,
        page_bytes: machine.shape.page_bytes,
        capacity: None,
        bandwidths: None,
    }
}

#[test]
fn a_plan_costs_what_the_simulator_says_on_every_machine() {
    let (mut rng, rule, mut better) = (Rng::new(7), Rule::default(), 0);
    // Clearing the caches of dozens of cores takes longer than these programs, and such machines are no others than `two-socket`.
    let small = |m: &Machine| m.sections.caches.is_none() || m.cpus() <= 16;
    let machines = models::ALL.iter().map(|m| m.build()).filter(|m| m.cost.remote_access && small(m));
    let machines: Vec<Machine> = machines.collect();
    assert!(machines.len() > 2);
    for round in 0..15 {
        for machine in &machines {
            let reader = program(&mut rng, machine.shape.page_bytes);
            for move_threads in [false, true] {
                let mut counted = Vec::new();
                let asked = PlanRequest { move_threads, ..asked(machine, &rule) };
                let made = plan(&reader, &asked, &mut |done| counted.push(done)).expect("a plan");
                let priced = price(&made, &reader, machine, &mut |_| ()).expect("a price");
                let at = format!("round {round} on {}", machine.name);
                assert_eq!((made.expected.planned, priced.conflicts), (priced.planned, 0), "{at}");
                // Where threads have moved, both mean first touch under the bindings of before.
                assert!(move_threads || made.expected.now == priced.first_touch, "{at}");
                assert!(made.expected.planned <= made.expected.now, "{at}");
                assert!(made.expected.best_static <= made.expected.planned, "{at}");
                assert!(counted.is_sorted() || move_threads, "{at}");
                better += u32::from(priced.planned < priced.first_touch);
                let again = plan(&reader, &asked, &mut |_| ()).expect("a plan");
                assert_eq!(made.to_json(), again.to_json(), "{at}");
            }
        }
    }
    assert!(better > 15, "{better} plans are worth something");
}

#[test]
fn no_node_gets_more_pages_than_it_holds_and_what_fits_nowhere_is_refused() {
    let (mut rng, rule) = (Rng::new(8), Rule::default());
    let machine = models::find("opteron4").expect("a model");
    for _ in 0..20 {
        let reader = program(&mut rng, machine.shape.page_bytes);
        let free = plan(&reader, &asked(&machine, &rule), &mut |_| ()).expect("a plan");
        let tight = [5, 5, 5, 5];
        let made = plan(&reader, &PlanRequest { capacity: Some(&tight), ..asked(&machine, &rule) }, &mut |_| ());
        let made = made.expect("twenty places for fifteen pages");
        assert!(made.expected.planned >= free.expected.planned);
        assert_eq!(price(&made, &reader, &machine, &mut |_| ()).expect("a price").planned, made.expected.planned);
        let none = plan(&reader, &PlanRequest { capacity: Some(&[1, 0, 0, 0]), ..asked(&machine, &rule) }, &mut |_| ());
        assert!(matches!(none, Err(PlannerError::Full(_))), "{none:?}");
    }
}
