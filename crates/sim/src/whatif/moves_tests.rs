use super::*;

fn map(all: &mut [Move], addr: u64, size: u32, cpu: u16) -> Vec<u64> {
    let mut out = Vec::new();
    apply(all, &Merged { addr, size, ..Merged::default() }, cpu, &mut |r| {
        out.extend((0..u64::from(r.size)).map(|i| r.addr.wrapping_add(i)));
    });
    out
}

const FRESH: u64 = tag(FRESH_SPACES);

#[test]
fn every_byte_goes_where_the_definition_says() {
    let part = |addr, bytes, group| Part { addr, bytes, group };
    // Group 0: 100..108 and 116..124; group 1: 108..112. 112..116 stays.
    let parts = [part(116, 8, 0), part(108, 4, 1), part(100, 8, 0), part(104, 9, 1)];
    let regroup = Move::Regroup(Regrouped::new(&parts, 64, 0));
    // Ten elements of four bytes, dealt to 7, 3, 7.
    let deal_to = deal(&[((300, 10), vec![7, 3, 7])], 4, 64, 1);
    let dealt = Move::Deal(deal_to);
    let mut all = [regroup, dealt];
    let block = |owner: u64| tag(FRESH_SPACES + 1) + if owner == 3 { 0 } else { 64 };
    let expect = |addr: u64| match addr {
        100..108 => FRESH + (addr - 100),
        116..124 => FRESH + 8 + (addr - 116),
        108..112 => FRESH + 64 + (addr - 108),
        300..340 => {
            let (element, within) = ((addr - 300) / 4, (addr - 300) % 4);
            let (owner, index) = match element % 3 {
                0 => (7, element / 3 * 2),
                1 => (3, element / 3),
                _ => (7, element / 3 * 2 + 1),
            };
            block(owner) + index * 4 + within
        }
        _ => addr,
    };
    for addr in (90..350).chain([u64::MAX - 3]) {
        for size in [1u32, 4, 8, 70] {
            let want: Vec<u64> = (0..u64::from(size)).map(|i| expect(addr.wrapping_add(i))).collect();
            assert_eq!(map(&mut all, addr, size, 0), want, "{addr} {size}");
        }
    }
}

#[test]
fn every_processor_has_its_copy_and_they_are_added_up() {
    let mut all = [Move::Copy(Copies::new(&[(1000, 100), (2000, 8)], 64, 0))];
    let at = |cpu: u64, offset: u64| FRESH + cpu * 192 + offset;
    assert_eq!(map(&mut all, 1004, 4, 2), (0..4).map(|i| at(2, 4 + i)).collect::<Vec<_>>());
    assert_eq!(map(&mut all, 1060, 8, 0), (0..8).map(|i| at(0, 60 + i)).collect::<Vec<_>>());
    assert_eq!(map(&mut all, 2000, 8, 1), (0..8).map(|i| at(1, 128 + i)).collect::<Vec<_>>());
    assert_eq!(map(&mut all, 999, 1, 1), [999]);
    let mut read = Vec::new();
    all[0].finish(&mut |r| read.push((r.thread, r.op, r.addr)));
    let lines = [at(0, 0), at(0, 64), at(1, 128), at(2, 0)];
    assert_eq!(read, lines.map(|l| (0, Op::Read, l)));
}

#[test]
fn what_makes_no_sense_changes_nothing() {
    let parts = [Part { addr: u64::MAX - 2, bytes: 9, group: 0 }, Part { addr: 10, bytes: 0, group: 1 }];
    let mut all = [
        Move::Regroup(Regrouped::new(&parts, 0, 0)),
        Move::Deal(deal(&[((5, u64::MAX), vec![1, 2]), ((50, 4), Vec::new())], 8, 64, 1)),
        Move::Copy(Copies::new(&[(u64::MAX, 8), (70, 0), (80, u64::MAX / 2)], 0, 2)),
    ];
    for addr in [5, 10, 50, 70, 80, u64::MAX - 2] {
        assert_eq!(map(&mut all, addr, 4, 3), (0..4).map(|i| addr.wrapping_add(i)).collect::<Vec<_>>());
    }
}
