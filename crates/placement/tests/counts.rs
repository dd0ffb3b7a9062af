//! Counts of pages against a map of single bytes.
use homenode_base::{NodeId, Rng, ThreadId};
use homenode_machine::AccessClass;
use homenode_placement::counts::{Counts, PageKey, Use};
use std::collections::BTreeMap;

const CLASSES: [AccessClass; 4] = [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack, AccessClass::Free];

fn random_use(rng: &mut Rng) -> Use {
    Use {
        space: rng.below(2) as u32,
        addr: rng.below(600),
        bytes: rng.below(70),
        thread: ThreadId(rng.below(4) as u32),
        class: CLASSES[rng.below(4) as usize],
        weight: rng.below(5),
    }
}

#[test]
fn counts_are_those_of_a_slow_map_at_every_page_size() {
    let mut rng = Rng::new(3);
    for _ in 0..300 {
        let uses: Vec<Use> = (0..40).map(|_| random_use(&mut rng)).collect();
        for page_bytes in [1u64, 16, 64, 1 << 30] {
            let mut counts = Counts::new(page_bytes).expect("a power of two");
            uses.iter().for_each(|u| counts.add(u));
            let mut slow: BTreeMap<(u32, u64, u32, usize), u64> = BTreeMap::new();
            let mut first: BTreeMap<(u32, u64), u32> = BTreeMap::new();
            for u in uses.iter().filter(|u| u.class != AccessClass::Free) {
                let mut pages: Vec<u64> = (u.addr..u.addr + u.bytes.max(1)).map(|b| b / page_bytes).collect();
                pages.dedup();
                for p in pages {
                    *slow.entry((u.space, p, u.thread.0, u.class as usize)).or_default() += u.weight;
                    first.entry((u.space, p)).or_insert(u.thread.0);
                }
            }
            assert_eq!(counts.len(), first.len());
            for (key, page) in counts.sorted() {
                assert_eq!(page.first.0, first[&(key.space, key.page)]);
                for (t, c) in &page.by_thread {
                    for (class, &counted) in c.iter().enumerate() {
                        let wanted = slow.get(&(key.space, key.page, t.0, class)).copied().unwrap_or(0);
                        assert_eq!(counted, wanted);
                    }
                }
            }
            let sum: u64 = counts.sorted().iter().map(|(_, u)| u.total()).sum();
            assert_eq!(sum, slow.values().sum::<u64>());
        }
    }
}

#[test]
fn huge_pages_hold_what_their_small_pages_hold() {
    let mut rng = Rng::new(4);
    let (mut small, mut inside) = (Counts::new(16).expect("16"), Counts::new(64).expect("64"));
    for _ in 0..500 {
        // Uses that stay inside one small page, so that no use counts twice.
        let u = Use { addr: rng.below(600) & !15, bytes: 8, ..random_use(&mut rng) };
        small.add(&u);
        inside.add(&u);
    }
    let large = small.coarser(64).expect("larger");
    assert_eq!(large.len(), inside.len());
    for (key, page) in large.sorted() {
        assert_eq!(page.by_thread, inside.get(key).expect("the same pages").by_thread);
    }
    assert!(small.coarser(8).is_none() && small.coarser(48).is_none() && Counts::new(0).is_none());
}

#[test]
fn old_counts_fade_and_hostile_ones_do_not_wrap() {
    let mut c = Counts::new(4096).expect("4096");
    let key = PageKey { space: 0, page: u64::MAX >> 12 };
    let last = Use {
        space: 0,
        addr: u64::MAX - 3,
        bytes: u64::MAX,
        thread: ThreadId(1),
        class: AccessClass::Read,
        weight: u64::MAX,
    };
    c.add(&last);
    c.add(&last);
    assert_eq!((c.len(), c.get(key).expect("there").total()), (1, u64::MAX));
    assert_eq!(c.get(key).expect("there").by_node(1, |_| NodeId(7)), [[0; 3]], "nodes that do not exist are left out");
    (0..63).for_each(|_| c.halve());
    assert_eq!(c.get(key).expect("one is left").total(), 1);
    c.halve();
    assert!(c.is_empty());
}
