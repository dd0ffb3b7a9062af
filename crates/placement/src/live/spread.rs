//! Neighbours: what a few samples of a stretch of memory say of all its pages.
//!
//! Samples are few and pages are many, but what lies side by side mostly has the same user. So samples are counted for aligned
//! stretches of several sizes. A stretch with enough samples, nearly all from one node, belongs to that node, but for
//! those of its parts whose own samples are enough and say otherwise. Its pages that were not sampled themselves are then
//! taken for used by that node, evenly. That is told once, for sure, and again when one of them is found elsewhere.
use super::event::{PageId, Use};
use super::pages::Seen;
use homenode_base::NodeId;
use std::collections::BTreeMap;

/// Sizes of stretches, as powers of two of small pages: 2 MiB to 32 KiB.
const SIZES: [u32; 4] = [9, 7, 5, 3];
/// Samples that a stretch needs, and of how many of them one may come from elsewhere.
const ENOUGH: u64 = 4;
const ONE_OF: u64 = 8;
/// Windows for which samples wait for company.
const WAIT: u64 = 8;
/// Parts known at most: 32 GiB of memory in use.
const KNOWN_MOST: usize = 1 << 20;

/// The moment at which a window is over, and what goes for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Nanoseconds.
    pub(super) ns: u64,
    /// For so long pages stay where they came.
    pub(super) stay_ns: u64,
    /// Pages to be told at once, about.
    pub(super) pages_most: usize,
}

/// The smallest stretch with this page.
fn smallest(page: PageId) -> Key {
    (page.space, page.page >> SIZES[SIZES.len() - 1])
}

/// A stretch: process and number, counted in its own size.
type Key = (u32, u64);

/// Samples of a stretch.
#[derive(Clone, Debug, Default)]
struct Count {
    /// Samples and weight by node.
    by: Vec<(NodeId, u64, u64)>,
}

impl Count {
    fn add(&mut self, node: NodeId, weight: u64) {
        match self.by.iter_mut().find(|b| b.0 == node) {
            Some(b) => (b.1, b.2) = (b.1 + 1, b.2.saturating_add(weight)),
            None => self.by.push((node, 1, weight)),
        }
    }
    /// Whether the samples are enough to say anything.
    fn enough(&self) -> bool {
        self.by.iter().map(|b| b.1).sum::<u64>() >= ENOUGH
    }
    /// Who uses it, if it is enough and clear, and the weight.
    fn owner(&self) -> Option<(NodeId, u64)> {
        let samples: u64 = self.by.iter().map(|b| b.1).sum();
        let weight = self.by.iter().map(|b| b.2).fold(0, u64::saturating_add);
        let most = self.by.iter().max_by_key(|b| (b.1, std::cmp::Reverse(b.0)))?;
        (self.enough() && (samples - most.1) * ONE_OF <= samples).then_some((most.0, weight))
    }
}

/// Samples by stretch.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    /// One map for each of [`SIZES`].
    counts: [BTreeMap<Key, Count>; SIZES.len()],
    /// Largest stretches with samples, and since which window.
    since: BTreeMap<Key, u64>,
    /// Smallest stretches: whose they were told to be, and when, in nanoseconds.
    told: BTreeMap<Key, (NodeId, u64)>,
}

impl Spread {
    /// Takes note of a sample. Huge pages speak for themselves.
    pub(super) fn add(&mut self, used: &Use, window: u64) {
        if used.pages != 1 {
            return;
        }
        let weight = u64::from(used.reads) + u64::from(used.writes);
        for (size, counts) in SIZES.iter().zip(&mut self.counts) {
            counts.entry((used.page.space, used.page.page >> size)).or_default().add(used.node, weight);
        }
        self.since.entry((used.page.space, used.page.page >> SIZES[0])).or_insert(window);
    }

    /// A page was found away from its user: what lies around it is told again.
    pub(super) fn stray(&mut self, page: PageId, user: NodeId) {
        if self.told.get(&smallest(page)).is_some_and(|told| told.0 == user) {
            self.again(page);
        }
    }

    /// What lies around this page is told again as soon as samples say whose it is.
    pub(super) fn again(&mut self, page: PageId) {
        self.told.remove(&smallest(page));
    }

    /// Whether what lies around this page came to `node` less than `within_ns` ago: so soon nothing of it leaves again.
    pub(super) fn came_lately(&self, page: PageId, node: NodeId, now_ns: u64, within_ns: u64) -> bool {
        let told = self.told.get(&smallest(page));
        told.is_some_and(|(at, since_ns)| *at == node && now_ns.saturating_sub(*since_ns) < within_ns)
    }

    /// The window is over: adds the pages of stretches that are clear by now and were not told so before.
    pub(super) fn close(&mut self, seen: &mut BTreeMap<PageId, Seen>, window: u64, now: Now) {
        let mut uses = Vec::new();
        let due: Vec<Key> = self.since.keys().copied().collect();
        for key in due {
            let decided = self.counts[0].get(&key).is_some_and(Count::enough);
            if decided && uses.len() < now.pages_most {
                self.stretch(0, key, None, (&mut uses, now));
            }
            let waited = self.since.get(&key).is_some_and(|since| window.saturating_sub(*since) >= WAIT);
            if decided || waited {
                self.forget(key);
            }
        }
        for used in uses {
            let page = seen.entry(used.page).or_default();
            let unheard = page.by.is_empty();
            if unheard {
                page.add(&used, window);
            }
            // A sample of the page itself that says otherwise is heard as what it is.
            page.sure = page.by.iter().all(|s| s.node == used.node);
            page.follows |= unheard;
        }
        if self.told.len() > KNOWN_MOST {
            self.told.clear();
        }
    }

    /// One stretch, of which the next larger one says that it belongs to `above`, with a weight a page.
    fn stretch(&mut self, level: usize, key: Key, above: Option<(NodeId, u64)>, to: (&mut Vec<Use>, Now)) {
        let (uses, now) = to;
        let count = self.counts[level].get(&key);
        let owner = match count.filter(|c| c.enough()) {
            Some(count) => count.owner().map(|(node, weight)| (node, weight >> SIZES[level])),
            None => above,
        };
        let (space, number) = key;
        let Some(next) = SIZES.get(level + 1) else {
            self.tell(key, owner, (uses, now));
            return;
        };
        let parts = 1u64 << (SIZES[level] - next);
        for part in 0..parts {
            self.stretch(level + 1, (space, number * parts + part), owner, (&mut *uses, now));
        }
    }

    fn tell(&mut self, key: Key, owner: Option<(NodeId, u64)>, (uses, now): (&mut Vec<Use>, Now)) {
        let Some((node, weight)) = owner else { return };
        // What came lately stays: coming and going costs more than it brings.
        let stays = |told: &(NodeId, u64)| told.0 == node || now.ns.saturating_sub(told.1) < now.stay_ns;
        if self.told.get(&key).is_some_and(stays) {
            return;
        }
        self.told.insert(key, (node, now.ns));
        let smallest = SIZES[SIZES.len() - 1];
        let reads = u32::try_from(weight.max(1)).unwrap_or(u32::MAX);
        let page = |p| PageId { space: key.0, page: (key.1 << smallest) + p };
        uses.extend((0..1u64 << smallest).map(|p| Use { page: page(p), pages: 1, node, reads, writes: 0 }));
    }

    /// Drops the samples of a largest stretch and of its parts.
    fn forget(&mut self, (space, number): Key) {
        self.since.remove(&(space, number));
        for (size, counts) in SIZES.iter().zip(&mut self.counts) {
            let shift = SIZES[0] - size;
            let range = (space, number << shift)..=(space, (number << shift) + (1 << shift) - 1);
            let keys: Vec<Key> = counts.range(range).map(|(k, _)| *k).collect();
            keys.iter().for_each(|k| _ = counts.remove(k));
        }
    }

    pub(super) fn forget_space(&mut self, space: u32) {
        self.counts.iter_mut().for_each(|c| c.retain(|k, _| k.0 != space));
        self.since.retain(|k, _| k.0 != space);
        self.told.retain(|k, _| k.0 != space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    fn used(page: u64, node: u16) -> Use {
        Use { page: PageId { space: 1, page }, pages: 1, node: NodeId(node), reads: 512, writes: 0 }
    }

    /// A window of samples; who the pages that were added belong to.
    fn window(spread: &mut Spread, at: u64, samples: &[(u64, u16)]) -> BTreeMap<u64, u16> {
        samples.iter().for_each(|(page, node)| spread.add(&used(*page, *node), at));
        let mut seen = BTreeMap::new();
        spread.close(&mut seen, at, Now { ns: at * 10, stay_ns: 10, pages_most: usize::MAX });
        seen.iter().map(|(id, s)| (id.page, s.by[0].node.0)).collect()
    }

    #[test]
    fn a_few_clear_samples_speak_for_two_mebibytes_and_are_told_once() {
        let mut spread = Spread::default();
        let samples = [(512, 1), (600, 1), (800, 1), (1000, 1)];
        assert!(window(&mut spread, 0, &samples[..3]).is_empty(), "three are not enough");
        let told = window(&mut spread, 1, &samples);
        assert!(told.len() == 512 && told.iter().all(|(p, n)| (512..1024).contains(p) && *n == 1), "{told:?}");
        assert!(window(&mut spread, 4, &samples).is_empty());
        spread.stray(PageId { space: 1, page: 600 }, NodeId(1));
        assert_eq!(window(&mut spread, 5, &samples).into_keys().collect::<Vec<_>>(), (600..608).collect::<Vec<_>>());
        // Another owner is told at once.
        let other = samples.map(|(p, _)| (p, 3));
        assert_eq!(window(&mut spread, 6, &other).len(), 512);
    }

    #[test]
    fn borders_are_found_and_what_is_mixed_is_left_alone() {
        let mut spread = Spread::default();
        let halves: Vec<(u64, u16)> = (0..128).map(|i| (i * 4, u16::from(i >= 64))).collect();
        let told = window(&mut spread, 0, &halves);
        assert!(told.len() == 512 && told.iter().all(|(p, n)| *n == u16::from(*p >= 256)), "{told:?}");
        let mut rng = Rng::new(3);
        let mixed: Vec<(u64, u16)> = (0..4096).map(|_| (rng.below(512), rng.below(2) as u16)).collect();
        assert!(window(&mut Spread::default(), 0, &mixed).is_empty());
    }

    #[test]
    fn rare_samples_wait_for_company_but_not_for_ever() {
        let mut spread = Spread::default();
        let mut told = Vec::new();
        (0..4).for_each(|at| told.push(window(&mut spread, at, &[(at * 100, 2)]).len()));
        assert_eq!(told, [0, 0, 0, 512]);
        let mut old = Spread::default();
        (0..12).for_each(|at| assert!(window(&mut old, at * 4, &[(at, 2)]).is_empty(), "{at}"));
        spread.forget_space(1);
        assert!(spread.told.is_empty() && spread.since.is_empty() && spread.counts.iter().all(BTreeMap::is_empty));
    }

    #[test]
    fn whatever_is_sampled_pages_are_told_only_for_a_node_that_was_seen_near_them() {
        let mut rng = Rng::new(9);
        for _ in 0..50 {
            let mut spread = Spread::default();
            for at in 0..20 {
                let samples: Vec<(u64, u16)> =
                    (0..rng.below(60)).map(|_| (rng.below(2048), rng.below(3) as u16)).collect();
                let before = spread.counts[0].clone();
                let told = window(&mut spread, at, &samples);
                for (page, node) in told {
                    let near = |s: &(u64, u16)| s.0 >> 9 == page >> 9 && s.1 == node;
                    let kept = before.get(&(1, page >> 9)).is_some_and(|c| c.by.iter().any(|b| b.0 == NodeId(node)));
                    assert!(kept || samples.iter().any(near), "{page} {node}");
                }
            }
        }
    }
}
