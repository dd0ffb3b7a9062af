//! Programs without races, generated from seeds: bytes of one thread, bytes that all read, bytes under nested locks, words that are changed
//! at once, bytes that are handed over with a flag, and a store of items with a condition.
use super::sim::Sim;
use super::world::Shape;
use crate::reduce::Reduction;
use homenode_base::Rng;

/// What a byte is for, between two barriers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// One thread's.
    Own(u64),
    /// Read by all.
    Read,
    /// Under this lock.
    Locked(u64),
    /// Part of a word that all change at once.
    Word,
    /// One thread writes it, then another one has it, when a flag is set.
    Gift(usize),
    /// How many items the store has.
    Store,
}

/// Locks of [`Role::Locked`]; the last one may be taken inside another.
const LOCKS: u64 = 3;
/// Lock and condition of the store.
const STORE: u64 = 5;
const GIFTS: usize = 2;

/// What happens between two barriers, decided by the seed alone so that all know it.
struct Epoch {
    number: u64,
    all: u64,
    roles: Vec<Role>,
    /// Who gives, and who takes.
    gifts: [(u64, u64); GIFTS],
    store: Option<usize>,
    is_reduced: bool,
}

impl Epoch {
    fn new(number: u64, rng: &mut Rng, all: u64, words: usize) -> Epoch {
        let mut roles = Vec::new();
        for _ in 0..words {
            if rng.chance(1, 5) {
                roles.extend([Role::Word; 8]);
                continue;
            }
            roles.extend((0..8).map(|_| match rng.below(all + 6) {
                r if r < all => Role::Own(r),
                r if r == all => Role::Read,
                r if r <= all + LOCKS => Role::Locked(r - all),
                r => Role::Gift((r - all - LOCKS - 1) as usize % GIFTS),
            }));
        }
        let store = Some(rng.below(8 * words as u64) as usize).filter(|byte| roles[*byte] != Role::Word);
        if let Some(byte) = store {
            roles[byte] = Role::Store;
        }
        let gifts = [(); GIFTS].map(|()| (rng.below(all), rng.below(all)));
        Epoch { number, all, roles, gifts, store, is_reduced: rng.chance(1, 3) }
    }

    fn bytes(&self, role: Role) -> impl Iterator<Item = usize> + '_ {
        self.roles.iter().enumerate().filter(move |(_, r)| **r == role).map(|(byte, _)| byte)
    }
    fn flag(&self, gift: usize) -> u64 {
        self.number * GIFTS as u64 + gift as u64
    }
}

/// What a thread does.
pub(super) async fn generated(sim: Sim, number: u64, shape: Shape) {
    let all = u64::from(shape.nodes) * u64::from(shape.threads);
    let mut shared = Rng::new(shape.seed ^ 0x5eed);
    let mut own = Rng::new(shape.seed * 1000 + number);
    for at in 0..4 {
        let epoch = Epoch::new(at, &mut shared, all, shape.pages as usize * shape.page_words);
        if let Some(byte) = epoch.store {
            if number == 0 {
                sim.write(byte, 0).await;
            }
            sim.meet(100 + at).await;
        }
        some(&sim, &mut own, &epoch, number).await;
        // Nobody waits before all that he gives is there.
        give(&sim, &mut own, &epoch, number).await;
        some(&sim, &mut own, &epoch, number).await;
        take(&sim, &mut own, &epoch, number).await;
        if epoch.is_reduced {
            assert_eq!(sim.reduce(Reduction::SumOfInts, number + at).await, Ok(all * (all - 1) / 2 + all * at));
        } else {
            sim.meet(200 + at).await;
        }
    }
}

/// Some reads and writes that wait for nothing but locks.
async fn some(sim: &Sim, own: &mut Rng, epoch: &Epoch, number: u64) {
    for _ in 0..6 {
        let byte = own.below(epoch.roles.len() as u64) as usize;
        match epoch.roles[byte] {
            Role::Own(thread) if thread == number => touch(sim, own, byte).await,
            Role::Read => drop(sim.read(byte).await),
            Role::Locked(name) => locked(sim, own, epoch, name).await,
            Role::Word if own.chance(1, 3) => drop(sim.look(byte / 8).await),
            Role::Word => drop(sim.change(byte / 8, |value| value.wrapping_mul(5).wrapping_add(number + 1)).await),
            _ => {}
        }
        if own.chance(1, 3) {
            sim.sleep(own.below(100)).await;
        }
    }
}

async fn touch(sim: &Sim, own: &mut Rng, byte: usize) {
    match own.chance(2, 3) {
        true => sim.write(byte, own.next_u64() as u8).await,
        false => drop(sim.read(byte).await),
    }
}

/// Reads and writes bytes of a lock, sometimes with another lock taken inside.
async fn locked(sim: &Sim, own: &mut Rng, epoch: &Epoch, name: u64) {
    sim.lock(name).await;
    let inner = Some(LOCKS).filter(|inner| name < *inner && own.chance(1, 3));
    if let Some(inner) = inner {
        sim.lock(inner).await;
    }
    for held in [Some(name), inner].into_iter().flatten() {
        for byte in epoch.bytes(Role::Locked(held)) {
            if own.chance(1, 2) {
                touch(sim, own, byte).await;
            }
        }
    }
    if let Some(inner) = inner {
        sim.unlock(inner).await;
    }
    sim.unlock(name).await;
}

/// Hands over what this thread has to give, and puts an item into the store.
async fn give(sim: &Sim, own: &mut Rng, epoch: &Epoch, number: u64) {
    for (gift, _) in epoch.gifts.iter().enumerate().filter(|(_, (giver, _))| *giver == number) {
        for byte in epoch.bytes(Role::Gift(gift)) {
            touch(sim, own, byte).await;
        }
        sim.set(epoch.flag(gift)).await;
    }
    if let Some(byte) = epoch.store {
        sim.lock(STORE).await;
        let items = sim.read(byte).await;
        sim.write(byte, items + 1).await;
        let is_inside = own.chance(1, 2);
        if !is_inside {
            sim.unlock(STORE).await;
        }
        match own.chance(1, 3) {
            true => sim.broadcast(STORE).await,
            false => sim.signal(STORE).await,
        }
        if is_inside {
            sim.unlock(STORE).await;
        }
    }
}

/// Takes what others hand over to this thread, and an item out of the store, which has one for everybody.
async fn take(sim: &Sim, own: &mut Rng, epoch: &Epoch, number: u64) {
    if let Some(byte) = epoch.store {
        sim.lock(STORE).await;
        let mut items = sim.read(byte).await;
        while items == 0 {
            sim.wait(STORE, STORE).await;
            items = sim.read(byte).await;
        }
        sim.write(byte, items - 1).await;
        sim.unlock(STORE).await;
        assert!(u64::from(items) <= epoch.all);
    }
    for (gift, _) in epoch.gifts.iter().enumerate().filter(|(_, (_, taker))| *taker == number) {
        sim.until_set(epoch.flag(gift)).await;
        for byte in epoch.bytes(Role::Gift(gift)) {
            sim.read(byte).await;
            touch(sim, own, byte).await;
        }
    }
}
