//! The heat map against counting everything.
use homenode_analysis::heat::Heat;
use homenode_base::{NodeId, Rng};

#[test]
fn rows_hold_exactly_the_references_of_their_range_and_bin() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let (nodes, columns) = (1 + rng.below(5) as usize, 2 * (1 + rng.below(20)) as usize);
        let mut heat = Heat::new(columns, nodes, 4096);
        let regions: Vec<u64> = (0..1 + rng.below(6)).map(|_| rng.next_u64() >> rng.below(40)).collect();
        let spread = 1 << rng.below(30);
        let refs: Vec<(u64, u16)> = (0..rng.below(3000))
            .map(|_| {
                let region = regions[rng.below(regions.len() as u64) as usize];
                (region.wrapping_add(rng.below(spread)), rng.below(nodes as u64) as u16)
            })
            .collect();
        refs.iter().for_each(|&(addr, node)| heat.reference(addr, NodeId(node), 1));
        let rows = 1 + rng.below(40) as usize;
        let map = heat.finish(rows, |addr, _| (0, format!("{addr:#x}")));
        assert!(map.rows.len() <= rows && map.columns as usize <= columns);
        assert!(map.bin_refs * u64::from(map.columns) >= refs.len() as u64);
        let mut counted = 0;
        for row in &map.rows {
            assert_eq!(row.cells.len(), map.columns as usize);
            for (bin, cells) in row.cells.iter().enumerate() {
                for (node, count) in cells.iter().enumerate() {
                    let inside = |(i, (addr, n)): (usize, &(u64, u16))| {
                        let here = *addr >= row.addr && *addr - row.addr < row.bytes.max(1);
                        here && *n == node as u16 && i as u64 / map.bin_refs == bin as u64
                    };
                    let expected = refs.iter().enumerate().filter(|r| inside(*r)).count() as u64;
                    assert_eq!(*count, expected, "seed {seed}");
                    counted += count;
                }
            }
        }
        assert_eq!(counted, refs.len() as u64);
        assert!(map.rows.windows(2).all(|w| w[0].addr + (w[0].bytes - 1) < w[1].addr));
    }
}

#[test]
fn memory_is_bounded_and_the_order_within_a_bin_does_not_matter() {
    let fill = |reverse: bool| {
        let mut heat = Heat::new(128, 16, 4096);
        for bin in 0..128u64 {
            for k in 0..4096u64 {
                let k = if reverse { 4095 - k } else { k };
                let n = bin * 4096 + k;
                heat.reference(n * 4096 * 3, NodeId((k % 16) as u16), 1);
            }
        }
        assert!(heat.memory_bytes() < 80 << 20, "{}", heat.memory_bytes());
        heat.finish(64, |_, _| (0, String::new()))
    };
    let (a, b) = (fill(false), fill(true));
    assert_eq!((a.columns, a.bin_refs, a.rows.len()), (128, 4096, b.rows.len()));
    let cells =
        |m: &homenode_analysis::rows::HeatMap| m.rows.iter().map(|r| (r.addr, r.cells.clone())).collect::<Vec<_>>();
    assert_eq!(cells(&a), cells(&b));
}

#[test]
fn far_apart_regions_get_rows_of_their_own() {
    let mut heat = Heat::new(16, 2, 4096);
    for i in 0..100 {
        heat.reference(0x5555_0000_0000 + i * 4096, NodeId(0), 1);
        heat.reference(0x7fff_0000_0000, NodeId(1), 1);
    }
    let map = heat.finish(11, |_, _| (0, String::new()));
    assert_eq!((map.rows.len(), map.rows.last().map(|r| (r.addr, r.bytes))), (11, Some((0x7fff_0000_0000, 4096))));
    assert!(Heat::new(16, 2, 4096).finish(8, |_, _| (0, String::new())).rows.is_empty());
}
