//! Re-alignment: the transform against the definition carried out slowly, cases by hand, and what must hold of any trace.
use homenode_base::NodeId;
use homenode_base::spaces::tag;
use homenode_realign::Realigned;
use homenode_realign::{Counted, Moves, Private, RealignError, Realigner, Realignment, WINDOW_MAX, area, owner};
use homenode_sim::{NoObjects, Objects, SharedRefs, ThreadBinding, names::NameTable};
use homenode_synthetic::Builder;
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::order::{Again, Listed, OrderKind, Source, rest};
use homenode_trace::{Merged, Op};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const SPACES: [u32; 4] = [0, 0, 0, 5];

/// Threads 0 and 4 are on one processor.
fn bindings() -> Vec<ThreadBinding> {
    let bind = |t: u16| ThreadBinding { cpu: t % 4, node: NodeId(t % 4), space: SPACES[usize::from(t % 4)] };
    (0..5).map(bind).collect()
}

fn by(page_bytes: u64, window: u64) -> Realignment {
    Realignment { window, ..Realignment::by_pages_of(page_bytes) }
}

fn reference(thread: u32, op: Op, addr: u64, size: u32) -> Merged {
    Merged { addr, size, thread, op, weight: 1, ..Merged::default() }
}

/// What the source gives, realigned, and what moved.
fn realigned(refs: &[Merged], how: Realignment) -> (Vec<Merged>, Moves) {
    let objects = || -> Box<dyn Objects> { Box::new(NoObjects) };
    let mut listed = Listed::new(refs);
    let mut all = Realigned::new(&mut listed, &objects, &bindings(), how, Private::LeftOut).expect("it can be");
    let out = rest(&mut *all.stream(0).expect("listed")).expect("listed");
    let moves = all.moves();
    assert_eq!(rest(&mut *all.stream(0).expect("listed")).expect("listed"), out, "each stream begins anew");
    (out, moves)
}

/// The definition, word for word: sets of processors, everything looked up again for every reference.
fn plainly(refs: &[Merged], how: Realignment) -> Vec<Merged> {
    let bindings = bindings();
    let of = |r: &Merged| bindings.get(r.thread as usize).copied();
    let flat = |r: &Merged| of(r).map(|b| r.addr ^ tag(b.space));
    let mut map: BTreeMap<u64, u64> = BTreeMap::new();
    let mut free: BTreeMap<u16, u64> = (0..4).map(|n| (n, area(NodeId(n)))).collect();
    let mut out = Vec::new();
    let mut left = refs;
    while !left.is_empty() {
        let mut end = 0;
        let mut counted = 0;
        while end < left.len() && counted < how.window {
            counted += u64::from(left[end].op != Op::Spin);
            end += 1;
        }
        let (window, after) = left.split_at(end);
        left = after;
        let word = |r: &Merged| flat(r).map(|f| f / how.word_bytes);
        let at = |map: &BTreeMap<u64, u64>, w: u64| map.get(&w).copied().unwrap_or(w * how.word_bytes);
        let said: Vec<&Merged> = window.iter().filter(|r| r.op != Op::Spin && of(r).is_some()).collect();
        let before = map.clone();
        let page = |r: &Merged| at(&before, word(r).expect("known")) / how.page_bytes;
        let users = |which: &dyn Fn(&Merged) -> bool| -> BTreeSet<u16> {
            said.iter().filter(|r| which(r)).map(|r| of(r).expect("known").node.0).collect()
        };
        // Pages of areas that others refer to are closed.
        for (node, next) in &mut free {
            let others = users(&|r| page(r) == *next / how.page_bytes);
            if others.iter().any(|n| n != node) {
                *next = next.next_multiple_of(how.page_bytes);
            }
        }
        let mut done = BTreeSet::new();
        for r in &said {
            if !done.insert(word(r)) {
                continue;
            }
            let page_users = users(&|s| page(s) == page(r));
            let written = said.iter().any(|s| page(s) == page(r) && s.op.writes());
            let word_users = users(&|s| word(s) == word(r));
            if page_users.len() < 2 || !written || word_users.len() > 1 {
                continue;
            }
            let next = free.get_mut(word_users.first().expect("itself")).expect("a processor");
            map.insert(word(r).expect("known"), *next);
            let spans = |s: &&&Merged| word(s) == word(r);
            let widest = said.iter().filter(spans).map(|s| s.addr % how.word_bytes + u64::from(s.size.max(1))).max();
            *next += widest.expect("itself").next_multiple_of(how.word_bytes);
        }
        out.extend(window.iter().map(|r| {
            let Some(binding) = of(r) else { return *r };
            let to = at(&map, word(r).expect("known")) + r.addr % how.word_bytes;
            Merged { addr: to ^ tag(binding.space), ..*r }
        }));
    }
    out
}

/// Bursts on a few pages, of all sizes and kinds, by four processors in two address spaces and by strangers.
fn traces() -> impl Strategy<Value = Vec<Merged>> {
    let size = prop::sample::select(&[4_u32, 4, 4, 8, 1, 0, 21][..]);
    let thread = prop_oneof![60 => 0..5_u32, 1 => Just(9)];
    let burst = (thread, 0..130_u64, 1..4_u64, 0..10_u8, size);
    vec(burst, 1..80).prop_map(|bursts| {
        let op = |what| match what {
            0 => Op::Spin,
            1 => Op::Atomic,
            2..4 => Op::Write,
            _ => Op::Read,
        };
        let refs = bursts.into_iter().flat_map(|(thread, at, times, what, size)| {
            (0..times).map(move |i| reference(thread, op(what), 0x1_0000 + at * 3 + i * 4, size))
        });
        refs.collect()
    })
}

/// Addresses of each processor's references page by page: whether no page is falsely shared.
fn is_clean(window: &[Merged], how: Realignment) -> bool {
    let mut pages: BTreeMap<u64, Vec<&Merged>> = BTreeMap::new();
    let bindings = bindings();
    let flat = |r: &Merged| r.addr ^ tag(bindings[r.thread as usize].space);
    let node = |r: &Merged| bindings[r.thread as usize].node;
    let said = window.iter().filter(|r| r.op != Op::Spin && (r.thread as usize) < bindings.len());
    said.for_each(|r| pages.entry(flat(r) / how.page_bytes).or_default().push(r));
    pages.values().all(|refs| {
        let users = |refs: &mut dyn Iterator<Item = &&Merged>| refs.map(|r| node(r)).collect::<BTreeSet<_>>().len();
        let word = |r: &Merged| flat(r) / how.word_bytes;
        let private = refs.iter().any(|r| users(&mut refs.iter().filter(|s| word(s) == word(r))) == 1);
        users(&mut refs.iter()) < 2 || !refs.iter().any(|r| r.op.writes()) || !private
    })
}

#[test]
fn random_traces_are_realigned_as_the_definition_says() {
    let cases = if std::env::var_os("HOMENODE_SLOW").is_some() { 20_000 } else { 2000 };
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..Config::default() };
    let pages = prop::sample::select(&[4_u64, 16, 64, 256, 4096][..]);
    let windows = prop::sample::select(&[1_u64, 7, 40, 1000][..]);
    let run = TestRunner::new(config).run(&(traces(), pages, windows, any::<bool>()), |(refs, page, window, wide)| {
        let word_bytes = if wide && page >= 8 { 8 } else { 4 };
        let how = Realignment { word_bytes, ..by(page, window) };
        let (got, moves) = realigned(&refs, how);
        prop_assert_eq!(&got, &plainly(&refs, how));
        // References are the same but for where they go.
        let but_for_address = |r: &Merged| Merged { addr: 0, ..*r };
        prop_assert!(refs.iter().map(but_for_address).eq(got.iter().map(but_for_address)));
        prop_assert_eq!(moves.refs, refs.iter().zip(&got).filter(|(a, b)| a.addr != b.addr).count() as u64);
        // No window has a falsely shared page left, so that doing it again changes nothing.
        let mut left = &got[..];
        while !left.is_empty() {
            let mut counted = 0;
            let filled = left.iter().position(|r| {
                counted += u64::from(r.op != Op::Spin);
                counted == window
            });
            let (first, after) = left.split_at(filled.map_or(left.len(), |i| i + 1));
            prop_assert!(is_clean(first, how));
            left = after;
        }
        prop_assert_eq!(realigned(&got, how).0, got);
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
}

const W: Op = Op::Write;
const R: Op = Op::Read;

/// Addresses of (thread, op, address) realigned: (processor, offset in its area), or the address itself.
fn moved(refs: &[(u32, Op, u64)], how: Realignment) -> Vec<Result<(u16, u64), u64>> {
    let refs: Vec<Merged> = refs.iter().map(|(t, op, addr)| reference(*t, *op, *addr, 4)).collect();
    let place = |r: &Merged| owner(r.addr).map(|n| (n.0, r.addr - area(n))).ok_or(r.addr);
    realigned(&refs, how).0.iter().map(place).collect()
}

#[test]
fn private_words_of_falsely_shared_pages_move_in_order_of_first_touch() {
    // The word at 0x108 has two users and stays; the page at 0x200 is only read, that at 0x300 is one processor's.
    let refs = [
        (0, W, 0x104),
        (1, R, 0x100),
        (0, R, 0x108),
        (1, R, 0x108),
        (0, R, 0x100 + 0x3c),
        (0, W, 0x104),
        (0, R, 0x200),
        (1, R, 0x204),
        (2, W, 0x300),
    ];
    let want =
        [Ok((0, 0)), Ok((1, 0)), Err(0x108), Err(0x108), Ok((0, 4)), Ok((0, 0)), Err(0x200), Err(0x204), Err(0x300)];
    assert_eq!(moved(&refs, by(64, 100)), want);
    // By pages of a word nothing is falsely shared.
    assert!(moved(&refs, by(4, 100)).iter().all(Result::is_err));
    // Threads of one processor share nothing with each other.
    assert_eq!(moved(&[(0, W, 0x100), (4, W, 0x104)], by(64, 100)), [Err(0x100), Err(0x104)]);
}

#[test]
fn a_private_word_that_is_shared_later_moves_again() {
    let first = [(0, W, 0x100), (0, W, 0x104), (1, W, 0x108), (1, W, 0x10c)];
    // Now 1 writes a word of 0's area. What 0 refers to there moves on to a fresh page; the stranger's word to 1's area.
    let second = [(1, W, 0x100), (0, W, 0x104), (0, R, 0x110), (1, W, 0x108)];
    let all = [first, second].concat();
    let got = moved(&all, by(64, 4));
    assert_eq!(got[..4], [Ok((0, 0)), Ok((0, 4)), Ok((1, 0)), Ok((1, 4))]);
    assert_eq!(got[4..], [Ok((1, 8)), Ok((0, 64)), Err(0x110), Ok((1, 0))]);
    let refs: Vec<Merged> = all.iter().map(|(t, op, addr)| reference(*t, *op, *addr, 4)).collect();
    let moves = realigned(&refs, by(64, 4)).1;
    assert_eq!(moves, Moves { windows: 2, words: 4, again: 2, refs: 7 });
}

#[test]
fn a_reference_of_several_words_goes_with_its_first_and_takes_room() {
    let refs =
        [reference(0, W, 0x102, 4), reference(0, W, 0x108, 12), reference(0, R, 0x110, 4), reference(1, R, 0x120, 4)];
    let got = realigned(&refs, by(64, 10)).0;
    let places: Vec<u64> = got[..3].iter().map(|r| r.addr - area(NodeId(0))).collect();
    assert_eq!(places, [2, 8, 20], "two words, three words, one");
    assert_eq!(got[1].size, 12);
}

#[test]
fn address_spaces_are_kept_apart_and_come_back_as_recorded() {
    // Thread 3 sees another space: its page 0x100 is its own.
    let refs = [reference(0, W, 0x100, 4), reference(3, W, 0x104, 4)];
    assert_eq!(realigned(&refs, by(64, 10)).0, refs);
    // Memory of space 0 that it refers to from afar carries both tags, before and after.
    let far = reference(3, W, 0x104 ^ tag(5), 4);
    let got = realigned(&[refs[0], far], by(64, 10)).0;
    assert_eq!([got[0].addr, got[1].addr ^ tag(5)], [area(NodeId(0)), area(NodeId(3))]);
}

#[test]
fn private_memory_stays_and_counts_where_it_is_asked_to() {
    let mut program = Builder::new(2);
    program.spawn_all();
    let stack = EventKind::Alloc { addr: 0x9000, bytes: 0x1000, source: AllocSource::Stack, stack: Vec::new() };
    program.event(1, stack);
    for i in 0..6 {
        program.write(0, 0x4000).write(1, 0x4004).read(0, 0x9000).write(1, 0x9004 + i * 4);
    }
    let dataset = program.open().expect("valid");
    let names = NameTable::new(&dataset).expect("events agree");
    let run = |how, private| {
        let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
        let mut all = Again { data: &dataset, kind: OrderKind::Model };
        let mut source = Realigned::new(&mut all, &objects, &bindings(), how, private).expect("it can be");
        let refs = rest(&mut *source.stream(0).expect("in order")).expect("in order");
        (refs, source.moves().windows)
    };
    let (kept, windows) = run(by(4096, 8), Private::Kept);
    let (shared, again) = run(by(4096, 8), Private::LeftOut);
    assert_eq!((kept.len(), windows, again), (24, 3, 3));
    let is_private = |r: &&Merged| (0x9000..0xa000).contains(&r.addr);
    assert_eq!(kept.iter().filter(is_private).count(), 12, "though both use the page");
    let without: Vec<Merged> = kept.iter().filter(|r| !is_private(r)).copied().collect();
    assert_eq!(without, shared);
    assert!(shared.iter().all(|r| owner(r.addr) == Some(NodeId(r.thread as u16))));
    let half = by(4096, 8).shared_alone(500_000);
    assert_eq!((half.window, half.counted), (4, Counted::Shared));
    assert_eq!(run(half, Private::LeftOut).1, 3);
    let objects = || -> Box<dyn Objects + '_> { Box::new(names.follow()) };
    let mut all = Again { data: &dataset, kind: OrderKind::Model };
    let mut plain = SharedRefs::new(&mut all, &objects, &bindings()[..2]);
    assert_eq!(rest(&mut *plain.stream(0).expect("in order")).expect("in order").len(), shared.len());
}

#[test]
fn events_stay_between_the_same_references() {
    let refs: Vec<Merged> = (0..50).map(|i| reference(i % 2, W, 0x100 + u64::from(i % 2) * 4, 4)).collect();
    let event = |i| homenode_trace::Event { thread: i, at: 0, stamp: 0, kind: EventKind::Exit };
    let events: Vec<_> = [0, 3, 10, 10, 49, 50].into_iter().zip(0..).map(|(at, i)| (at, event(i))).collect();
    let objects = || -> Box<dyn Objects> { Box::new(NoObjects) };
    let mut listed = Listed::with_events(&refs, &events);
    let mut all = Realigned::new(&mut listed, &objects, &bindings(), by(64, 10), Private::Kept).expect("it can be");
    let mut stream = all.stream(0).expect("listed");
    let (mut given, mut seen) = (0, Vec::new());
    while let Some(piece) = stream.pull().expect("listed") {
        given += piece.refs.len();
        seen.extend(piece.event.map(|(event, _)| (given, event.clone())));
    }
    assert_eq!(given, 50);
    assert_eq!(seen, events);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |how: Realignment| Realigner::new(how, &bindings()).expect_err("refused");
    let good = by(4096, 10);
    for page_bytes in [0, 2, 3, 100, 2 << 30] {
        assert_eq!(refused(Realignment { page_bytes, ..good }), RealignError::Page(page_bytes));
    }
    for window in [0, WINDOW_MAX + 1] {
        assert_eq!(refused(Realignment { window, ..good }), RealignError::Window(window));
    }
    for word_bytes in [0, 3, 8192] {
        assert_eq!(refused(Realignment { word_bytes, ..good }), RealignError::Word(word_bytes));
    }
    assert_eq!(good.shared_alone(0).window, 1);
    assert_eq!(
        [owner(area(NodeId(63))), owner(area(NodeId(63)) + 5), owner(0x1000)],
        [Some(NodeId(63)), Some(NodeId(63)), None]
    );
}
