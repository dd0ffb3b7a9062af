use super::*;
use homenode_base::rng::Rng;
use homenode_base::{Cost, VirtualTime};
use homenode_machine::{AccessClass, Location, Rates, models};
use homenode_placement::events::{COPY, MOVE, POLICIES, Paths};
use homenode_placement::policies::{ALL, Choice};
use homenode_placement::{Access, AccessKind, EventCounts, Step};
use homenode_threads::ThreadBinding;
use std::sync::Arc;

const BLOCK: u64 = 4096;
const OPTIONS: TrafficOptions = TrafficOptions { window: 100, native_ps: None };

fn access(node: u16, class: AccessClass, weight: u32, t: u64) -> Access {
    let kind = if class == AccessClass::Read || class == AccessClass::ReadStreamed {
        AccessKind::Read
    } else {
        AccessKind::Write
    };
    Access { node: NodeId(node), kind, class, weight, t: VirtualTime(t) }
}

fn bandwidth(near: u64, far: Option<u64>, write: u64) -> Bandwidth {
    let write = Some(Rates { near: Some(write), far: None, matrix: None });
    Bandwidth { read: Rates { near: Some(near), far, matrix: None }, write }
}

/// Two processors of node 0 and one of node 1 with so many references of each at each time.
fn pace(options: TrafficOptions, refs: &[[u32; 3]]) -> Pace {
    let binding = |(cpu, node)| ThreadBinding { cpu, node: NodeId(node), space: 0 };
    let mut pace = Pace::new(options, &[(0, 0), (1, 0), (8, 1)].map(binding));
    for window in refs {
        for (thread, n) in window.iter().enumerate() {
            (0..*n).for_each(|_| pace.reference(thread as u32, 1));
        }
    }
    pace
}

fn first_touch(machine: &Machine, steps: &[Step]) -> (ByWindow, EventCounts) {
    run(machine, "first-touch", steps)
}

type ByWindow = Vec<(Vec<ReadWrite>, Vec<TotalCost>)>;

/// What a policy asks of memories by window, and what it did.
fn run(machine: &Machine, policy: &str, steps: &[Step]) -> (ByWindow, EventCounts) {
    let paths = Arc::new(Paths::apart(machine.nodes()));
    let mut engine = Choice::parse(policy).unwrap().engine(machine, BLOCK).unwrap();
    let blocks = steps.iter().map(|s| s.slot + 1).max().unwrap_or(0);
    (0..blocks).for_each(|number| _ = engine.open(number.into(), None));
    let mut counts = EventCounts::new(&POLICIES, paths.clone());
    let mut windows = Windows::new(OPTIONS, machine, BLOCK, &paths);
    for batch in steps.chunks(64) {
        windows.run(&mut *engine, batch, &mut counts);
    }
    let all = steps.iter().map(|s| OPTIONS.index(s.access.t.0) + 1).max().unwrap_or(0);
    ((0..all).map(|w| (windows.line(w).unwrap_or_default().to_vec(), windows.costs(w).to_vec())).collect(), counts)
}

#[test]
fn a_memory_that_is_asked_for_more_than_it_serves_makes_the_window_longer() {
    let machine = models::find("two-socket").unwrap();
    // Node 0 streams 30 lines of its memory, node 1 20 lines of the same, in the first window; nothing in the second.
    let steps = [(0, 30, 1), (1, 20, 50)]
        .map(|(node, n, t)| Step { slot: 0, access: access(node, AccessClass::ReadStreamed, n, t) });
    let pace = pace(OPTIONS, &[[30, 30, 39], [50, 0, 0]]);
    let near = machine.access(AccessClass::ReadStreamed, NodeId(0), Location::Node(NodeId(0))).0 as u128;
    let far = machine.access(AccessClass::ReadStreamed, NodeId(1), Location::Node(NodeId(0))).0 as u128;
    // Two processors share node 0's 30 lines; node 1's has its own.
    assert_eq!(
        pace.time(0, &[TotalCost(30 * near as i128), TotalCost(20 * far as i128)], 0),
        (15 * near).max(20 * far)
    );
    let paths = Arc::new(Paths::apart(2));
    let mut windows = Windows::new(OPTIONS, &machine, BLOCK, &paths);
    let mut engine = Choice::parse("first-touch").unwrap().engine(&machine, BLOCK).unwrap();
    engine.open(0, None);
    windows.run(&mut *engine, &steps, &mut EventCounts::new(&POLICIES, paths.clone()));
    // 50 lines of 64 bytes at 10,000 MB/s are 320 ns.
    let of = |bandwidth: &Bandwidth| {
        traffic(OPTIONS, &Served::new(bandwidth, 2), &pace, (&[("first-touch".to_owned(), Some(&windows))], Some(0)))
    };
    let slow = of(&bandwidth(10_000, None, 10_000));
    let row = &slow.policies[0];
    assert_eq!((row.time.0, row.longer.0, row.windows_longer), (20 * far as i128, 320_000 - 20 * far as i128, 1));
    let most = row.most.unwrap();
    assert_eq!((most.from, most.home, most.serves_mbs), (None, 0, 10_000));
    assert_eq!(u128::from(most.asked_mbs), 3200 * 1_000_000 / (20 * far));
    // Spread over both memories the lines need half of that, less than processors wait.
    assert_eq!(row.evenly, row.time);
    let slower = of(&bandwidth(1_000, None, 1_000)).policies[0].evenly.0;
    assert!((1_599_999..=1_600_000).contains(&slower), "{slower}");
    // 20 lines over wires of 2,000 MB/s are 640 ns, longer than the memory's 320.
    let wires = of(&bandwidth(10_000, Some(2_000), 10_000)).policies[0].most.unwrap();
    assert_eq!((wires.from, wires.home, wires.serves_mbs), (Some(1), 0, 2_000));
    let fast = of(&bandwidth(100_000, None, 10_000));
    assert_eq!((fast.policies[0].longer, fast.policies[0].most), (TotalCost::ZERO, None));
    // Who computes for longer than memory needs waits for nothing: 39 references of 10 ns, beside what accesses cost.
    let native = 30 * near + 20 * far + (30 + 30 + 39 + 50) * 10_000;
    let options = TrafficOptions { native_ps: Some(native as u64), ..OPTIONS };
    let computing = traffic(
        options,
        &Served::new(&bandwidth(10_000, None, 10_000), 2),
        &self::pace(options, &[[30, 30, 39], [50, 0, 0]]),
        (&[("first-touch".to_owned(), Some(&windows))], Some(0)),
    );
    assert_eq!(computing.reference_ps, Some(10_000));
    assert_eq!((computing.policies[0].time.0, computing.policies[0].longer.0), (390_000 + 500_000, 0));
}

#[test]
fn write_backs_and_copies_are_traffic_and_hits_are_none() {
    let machine = models::find("two-socket").unwrap();
    let at = |node, class, n, t| Step { slot: 0, access: access(node, class, n, t) };
    let steps = [
        at(0, AccessClass::WriteOverlapped, 1, 1),
        at(0, AccessClass::WriteBack, 3, 2),
        at(0, AccessClass::Free, 9, 3),
        at(1, AccessClass::WriteBack, 2, 250),
    ];
    let (windows, _) = first_touch(&machine, &steps);
    let read_write = |read, write| ReadWrite { read, write };
    assert_eq!(windows.len(), 3);
    assert_eq!(windows[0].0, [read_write(64, 192), read_write(0, 0), read_write(0, 0), read_write(0, 0)]);
    assert!(windows[1].0.is_empty());
    assert_eq!(windows[2].0[2], read_write(0, 128), "from node 1 to node 0");
    let (moved, counts) =
        run(&machine, "migrate-on-write", &[at(0, AccessClass::Write, 1, 1), at(1, AccessClass::Write, 1, 2)]);
    assert_eq!(counts.total(COPY) + counts.total(MOVE), 1);
    assert_eq!(moved[0].0[2], read_write(BLOCK, 0), "node 1 reads the page from node 0");
    assert_eq!(moved[0].0[3].write, BLOCK, "and writes it to its own memory");
}

/// Costs by window add up to what the policy costs in all but for write-backs, and the policy decides as it does without windows; of every policy that can be run.
#[test]
fn windows_add_up_to_the_whole_and_change_no_decision() {
    let machine = models::find("two-socket").unwrap();
    let mut random = Rng::new(7);
    let mut draw = |n: u64| random.below(n);
    let classes =
        [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack, AccessClass::Free, AccessClass::ReadStreamed];
    let mut steps = Vec::new();
    let mut last = [0u64; 9];
    for t in 1..2000u64 {
        let slot = draw(9) as usize;
        // Accesses of different blocks come late by different times, as folding makes them.
        last[slot] = last[slot].max(t.saturating_sub(draw(300)));
        let class = classes[draw(5) as usize];
        steps.push(Step { slot: slot as u32, access: access(draw(2) as u16, class, 1 + draw(3) as u32, last[slot]) });
    }
    for spec in ALL.iter().filter(|spec| !spec.needs_homes) {
        let Ok(choice) = spec.choose(&[]) else { continue };
        let Ok(mut engine) = choice.engine(&machine, BLOCK) else { continue };
        (0..9).for_each(|number| _ = engine.open(number, None));
        let mut plain = EventCounts::new(&POLICIES, Arc::new(Paths::new(&POLICIES, &[&machine], BLOCK)));
        engine.run(&steps, &mut plain);
        let (windows, counts) = run(&machine, &choice.to_string(), &steps);
        assert_eq!(plain.priced(&machine, BLOCK), counts.priced(&machine, BLOCK), "{choice}");
        let whole: TotalCost = windows.iter().flat_map(|(_, costs)| costs.iter().copied()).sum();
        let written = counts.happened().filter(|(kind, ..)| *kind == AccessClass::WriteBack as usize);
        let written = written.map(|(_, (from, to), times)| {
            let Location::Node(from) = from else { return TotalCost::ZERO };
            machine.access(AccessClass::WriteBack, from, to).times(times)
        });
        assert_eq!(whole + written.sum(), counts.priced(&machine, BLOCK).total(), "{choice}");
        assert!(windows.len() > 19, "{choice}");
    }
}

#[test]
fn transfers_are_time_of_the_node_that_waits_for_them() {
    let mut pace = pace(OPTIONS, &[[10, 0, 0]]);
    pace.fixed(Cost(500));
    pace.reference(2, 1);
    pace.fixed(Cost(70));
    assert_eq!(pace.time(0, &[], 0), 500);
    assert_eq!(pace.time(0, &[TotalCost::ZERO, TotalCost(1000)], 0), 1070);
}

#[test]
fn machines_without_rates_or_times_are_not_looked_at() {
    let some = |name: &str| TrafficOptions::new(&models::find(name).unwrap(), 1 << 20, None);
    assert_eq!(some("two-socket").map(|o| o.window), Some(4096));
    assert_eq!(
        TrafficOptions::new(&models::find("two-socket").unwrap(), 1 << 40, None).map(|o| o.window),
        Some(1 << 32)
    );
    assert_eq!(some("butterfly"), None);
}
