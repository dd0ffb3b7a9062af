//! Barriers to which not all threads of the cluster come.
use super::programs::{generated_shape, run};
use super::sim::Sim;
use super::world::{Shape, World};
use crate::journal::replay;
use crate::operation::Operation;
use crate::steps::{ALL, Step};
use homenode_base::Rng;

/// Barriers of a program, each of other threads.
const GROUPS: usize = 3;
/// Where bytes under a lock are; those of groups are before it.
const LOCKED: usize = 220;

fn seeds() -> u64 {
    if option_env!("HOMENODE_SLOW").is_some() { 5000 } else { 120 }
}

fn all(shape: Shape) -> u64 {
    u64::from(shape.nodes) * u64::from(shape.threads)
}

fn shaped(step: &Step, seed: u64) -> Shape {
    Shape { pages: 4, page_words: 8, noted: true, ..generated_shape(step, seed) }
}

/// Threads of a group, at least one.
fn members(rng: &mut Rng, all: u64) -> Vec<u64> {
    let always = rng.below(all);
    (0..all).filter(|n| *n == always || rng.chance(1, 2)).collect()
}

impl Sim {
    /// A barrier of these threads, others running meanwhile or not.
    async fn meet_of(&self, name: u64, members: &[u64], some: bool) {
        let slot = self.slot(5000 + name).await;
        let cluster = self.world.nodes[0].cluster;
        let of = |node: u64| members.iter().filter(|m| **m / u64::from(cluster.threads) == node).count() as u64;
        let parties: Vec<u64> = (0..cluster.nodes.into()).map(of).collect();
        if !self.world.parties.borrow().iter().any(|p| p.0 == slot) {
            self.world.parties.borrow_mut().push((slot, parties));
        }
        self.run(Operation::Meet { slot, some }).await.expect("it is not refused");
    }
    /// A byte that whoever has the lock counts in.
    async fn counts(&self, lock: u64) {
        self.lock(lock).await;
        let byte = LOCKED + lock as usize * 9;
        let value = self.read(byte).await;
        self.write(byte, value.wrapping_add(1)).await;
        self.unlock(lock).await;
    }
}

/// Groups take turns; the others count under locks, as do the members between their barriers, and now and then all meet.
async fn grouped(sim: Sim, number: u64, shape: Shape) {
    let mut shared = Rng::new(shape.seed ^ 0x9a27);
    let mut own = Rng::new(shape.seed * 1000 + number);
    let groups = [(); GROUPS].map(|()| members(&mut shared, all(shape)));
    for round in 0..6u8 {
        let name = shared.below(GROUPS as u64) as usize;
        let byte = |member: u64| 60 * name + 5 * member as usize;
        if groups[name].contains(&number) {
            sim.write(byte(number), round + number as u8).await;
            sim.counts(own.below(3)).await;
            sim.meet_of(name as u64, &groups[name], true).await;
            for member in &groups[name] {
                sim.read(byte(*member)).await;
            }
            sim.meet_of(name as u64, &groups[name], true).await;
        }
        sim.counts(own.below(3)).await;
        sim.sleep(own.below(60)).await;
        if shared.chance(1, 3) {
            sim.barrier().await;
        }
    }
}

fn replayed(world: &World, what: &str) {
    for (me, records) in world.journals.as_ref().expect("they are written").take() {
        replay(&world.nodes[me.index()].cluster, &records).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
}

#[test]
fn groups_of_threads_see_what_their_members_wrote() {
    for (step, seed) in ALL.iter().flat_map(|step| (0..seeds()).map(move |seed| (step, seed))) {
        let shape = shaped(step, seed);
        let world = run(shape, |sim, number| grouped(sim, number, shape));
        replayed(&world, step.name);
    }
}

/// What a thread that does not come has written, and one that comes has learnt of under a lock, all know who leave.
#[test]
fn what_was_learnt_of_others_is_handed_on() {
    for (step, seed) in ALL.iter().flat_map(|step| (0..seeds()).map(move |seed| (step, seed))) {
        let shape = Shape { nodes: 3 + (seed % 2) as u16, threads: 1 + (seed % 3) as u16, ..shaped(step, seed) };
        // The first one comes late or early, and is of another node than the last, or of one of theirs.
        let (all, per_node) = (all(shape), u64::from(shape.threads));
        let writer = seed % (all - 2) + 1;
        let group: Vec<u64> =
            (0..all).filter(|n| *n != writer && n % per_node == seed % per_node || n % all == 0).collect();
        let group: Vec<u64> = if group.len() > 1 { group } else { vec![0, all - 1] };
        run(shape, |sim, number| {
            let group = group.clone();
            async move {
                if number == writer {
                    sim.write(130, 7).await;
                    sim.set(1).await;
                } else if group.contains(&number) {
                    sim.sleep(sim.world.below(200)).await;
                    if number == 0 {
                        sim.until_set(1).await;
                    }
                    sim.meet_of(0, &group, true).await;
                    assert_eq!(sim.read(130).await, 7, "{} {seed}", step.name);
                }
            }
        });
    }
}

/// Threads that are not there, whole nodes of them.
#[test]
fn processors_without_threads_are_not_waited_for() {
    for (step, seed) in ALL.iter().flat_map(|step| (0..seeds()).map(move |seed| (step, seed))) {
        let shape = shaped(step, seed);
        let running = members(&mut Rng::new(seed ^ 0x77), all(shape));
        let world = run(shape, |sim, number| {
            let running = running.clone();
            async move {
                for round in 0..if running.contains(&number) { 6 } else { 0 } {
                    sim.write(3 * number as usize + 40, round + number as u8).await;
                    sim.counts(number % 2).await;
                    sim.meet_of(0, &running, false).await;
                    for other in &running {
                        sim.read(3 * *other as usize + 40).await;
                    }
                    sim.meet_of(0, &running, false).await;
                }
            }
        });
        replayed(&world, step.name);
    }
}
