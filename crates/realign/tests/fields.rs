//! One layout for a whole run: against the definition carried out slowly, what must hold of any trace, and cases by hand.
use homenode_analysis::{FieldName, ObjectName, SiteName, UNKNOWN_OBJECT};
use homenode_base::NodeId;
use homenode_realign::fields::{self, Census, Kind, Layout, Relocated};
use homenode_realign::{Private, area};
use homenode_sim::{ObjectRange, Objects, ThreadBinding};
use homenode_trace::order::{Listed, Source, rest};
use homenode_trace::{Event, Merged, Op};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const BASE: u64 = 0x1_0000;

/// What lies from [`BASE`] on: bytes, kind, and the fields of an element (name, offset, bytes) with the bytes of one, if known.
type Thing = (u64, &'static str, &'static [(&'static str, u64, u64)], u64);
const THINGS: [Thing; 6] = [
    (16 * 12, "global", &[("[].a", 0, 8), ("[].b", 8, 4), ("[].c", 12, 4)], 16),
    (8, "global", &[("", 0, 8)], 8),
    (40, "heap", &[], 0),
    (64, "stack", &[], 0),
    (400, "heap", &[], 0),
    (24, "heap", &[(".x", 0, 4), (".y", 4, 4), (".z", 8, 16)], 24),
];

/// First byte of a thing.
fn start(thing: usize) -> u64 {
    BASE + THINGS[..thing].iter().map(|t| t.0).sum::<u64>()
}

fn thing_at(addr: u64) -> Option<usize> {
    (0..THINGS.len()).find(|t| addr.wrapping_sub(start(*t)) < THINGS[*t].0)
}

struct Things;

impl Objects for Things {
    fn event(&mut self, _: &Event) {}
    fn at(&mut self, _: u32, addr: u64) -> ObjectRange {
        match thing_at(addr) {
            Some(t) => ObjectRange { object: t as u32, from: start(t), last: start(t) + THINGS[t].0 - 1 },
            None => ObjectRange { object: UNKNOWN_OBJECT, from: addr, last: addr },
        }
    }
    fn object(&self, object: u32) -> ObjectName {
        let thing = THINGS[object as usize];
        ObjectName { name: format!("thing{object}"), kind: thing.1.to_owned(), bytes: thing.0, ..ObjectName::default() }
    }
    fn extent(&self, object: u32, _: u32, _: u64) -> Option<(u64, u64)> {
        Some((start(object as usize), THINGS[object as usize].0))
    }
    fn field(&self, object: u32, _: u32, addr: u64) -> Option<FieldName> {
        let (_, _, fields, each) = THINGS[object as usize];
        let begin = start(object as usize) + (addr - start(object as usize)) / each.max(1) * each;
        let (name, offset, bytes) = fields.iter().find(|f| (f.1..f.1 + f.2).contains(&(addr - begin)))?;
        let (member, addr) = ((*name).to_owned(), begin + offset);
        Some(FieldName {
            member,
            addr,
            bytes: *bytes,
            element_addr: begin,
            element_bytes: each,
            ..FieldName::default()
        })
    }
    fn site(&self, _: u32) -> SiteName {
        SiteName::default()
    }
}

fn bindings() -> Vec<ThreadBinding> {
    (0..3u16).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect()
}

fn reference(thread: u32, op: Op, addr: u64, size: u32) -> Merged {
    Merged { addr, size, thread, op, weight: 1, ..Merged::default() }
}

fn layout(refs: &[Merged], page_bytes: u64) -> Layout {
    let objects = || -> Box<dyn Objects> { Box::new(Things) };
    let census = Census::of(&mut Listed::new(refs), 0, &objects, &bindings()).expect("listed");
    fields::layout(&census, &Things, page_bytes, &|_, _| true)
}

fn relocated(refs: &[Merged], page_bytes: u64, private: Private) -> Vec<Merged> {
    let objects = || -> Box<dyn Objects> { Box::new(Things) };
    let (mut listed, bindings) = (Listed::new(refs), bindings());
    let mut all = Relocated::new(&mut listed, &objects, &bindings, page_bytes, private);
    let out = rest(&mut *all.stream(0).expect("listed")).expect("listed");
    assert_eq!(rest(&mut *all.stream(0).expect("listed")).expect("listed"), out, "each stream begins anew");
    out
}

/// A word as the definition sees it.
struct Plain {
    thing: Option<usize>,
    unit: (u32, String),
    from: u64,
    last: u64,
    element: u64,
    element_last: u64,
    /// References that are no initialisation, by processor.
    uses: BTreeMap<u32, u64>,
    writes: u64,
    only_written: bool,
}

impl Plain {
    fn refs(&self) -> u64 {
        self.uses.values().sum()
    }
    /// The most frequent user, the lowest of several.
    fn owner(&self) -> (u32, u64) {
        let most = self.uses.values().max().copied().unwrap_or(0);
        self.uses.iter().find(|u| *u.1 == most).map_or((0, 0), |(by, n)| (*by, *n))
    }
}

/// Everything known of each word, from all its references at once.
fn words(refs: &[Merged]) -> BTreeMap<u64, Plain> {
    let mut by_word: BTreeMap<u64, Vec<&Merged>> = BTreeMap::new();
    let counts =
        |r: &&Merged| r.op != Op::Spin && r.thread < 3 && thing_at(r.addr).is_none_or(|t| THINGS[t].1 != "stack");
    refs.iter().filter(counts).for_each(|r| by_word.entry(r.addr / 4 * 4).or_default().push(r));
    let word = |(addr, refs): (u64, Vec<&Merged>)| {
        let opening = refs.iter().take_while(|r| r.op == Op::Write && r.thread == refs[0].thread).count();
        let others_came = refs.get(opening).is_some_and(|r| r.thread != refs[0].thread);
        let said = if others_came { &refs[opening..] } else { &refs[..] };
        let mut uses = BTreeMap::new();
        said.iter().for_each(|r| *uses.entry(r.thread).or_insert(0) += 1);
        let writes = said.iter().filter(|r| r.op.writes()).count() as u64;
        let only_written = opening == refs.len();
        let width = refs.iter().map(|r| r.addr % 4 + u64::from(r.size.max(1))).max().unwrap_or(4).clamp(4, 64);
        let thing = thing_at(addr);
        let row = thing.map_or(UNKNOWN_OBJECT, |t| t as u32);
        let (name, from, last, element, element_last) = match thing {
            None => (String::new(), addr, addr + width - 1, addr, addr + width - 1),
            Some(t) => {
                let (begin, end) = (start(t), start(t) + THINGS[t].0 - 1);
                match Things.field(row, 0, addr) {
                    Some(f) => {
                        let last = (f.addr + f.bytes - 1).max(addr + 3);
                        (f.member, f.addr.min(addr), last, f.element_addr, f.element_addr + f.element_bytes - 1)
                    }
                    None if THINGS[t].0 <= 256 => {
                        (format!(" +{}", addr - begin), addr, (addr + width - 1).min(end), begin, end)
                    }
                    None => (String::new(), addr, (addr + width - 1).min(end), addr, (addr + width - 1).min(end)),
                }
            }
        };
        (addr, Plain { thing, unit: (row, name), from, last, element, element_last, uses, writes, only_written })
    };
    by_word.into_iter().map(word).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Owned(u32),
    Read,
    Shared,
}

/// The definition, word for word: everything looked up again for every word.
struct Plainly {
    words: BTreeMap<u64, Plain>,
    page_bytes: u64,
    /// The next free byte of each area.
    free: BTreeMap<u16, u64>,
}

impl Plainly {
    /// Who uses a word: in an element with one user the user of what was only written, too.
    fn owner(&self, w: &Plain) -> u32 {
        let element: Vec<&Plain> =
            self.words.values().filter(|o| o.thing == w.thing && o.element == w.element).collect();
        let users: BTreeSet<u32> = element.iter().filter(|o| !o.only_written).map(|o| o.owner().0).collect();
        if users.len() == 1 { *users.first().expect("one") } else { w.owner().0 }
    }

    fn side(&self, w: &Plain) -> Side {
        let unit: Vec<&Plain> = self.words.values().filter(|o| o.unit == w.unit).collect();
        let sum = |f: &dyn Fn(&Plain) -> u64| unit.iter().map(|o| f(o)).sum::<u64>();
        let refs = sum(&Plain::refs);
        match w.thing {
            None => Side::Shared,
            Some(_) if sum(&|o| o.owner().1) * 8 >= refs * 7 => Side::Owned(self.owner(w)),
            Some(_) if sum(&|o| o.writes) * 16 <= refs => Side::Read,
            Some(_) => Side::Shared,
        }
    }

    fn in_trouble(&self, addr: u64, w: &Plain) -> bool {
        let page = self.words.iter().filter(|o| o.0 / self.page_bytes == addr / self.page_bytes);
        let page: Vec<&Plain> = page.map(|o| o.1).collect();
        match self.side(w) {
            Side::Owned(_) => page.iter().any(|o| self.side(o) != self.side(w)) && page.iter().any(|o| o.writes > 0),
            Side::Read => page.iter().any(|o| self.side(o) == Side::Shared && o.writes > 0),
            Side::Shared => false,
        }
    }

    fn leaves(&self, w: &Plain) -> bool {
        let (mut all, mut troubled) = (0, 0);
        for (addr, o) in self.words.iter().filter(|o| o.1.unit == w.unit) {
            all += o.refs();
            troubled += if self.in_trouble(*addr, o) { o.refs() } else { 0 };
        }
        troubled > 0 && troubled * 16 >= all
    }

    fn take(&mut self, of: u16, bytes: u64, align: u64) -> u64 {
        let next = self.free.entry(of).or_insert(area(NodeId(of)));
        let at = next.next_multiple_of(align);
        *next = at + bytes;
        at
    }

    /// First byte, last byte and new first byte of what moves of a thing.
    fn moves(&mut self, thing: usize) -> Vec<(u64, u64, u64)> {
        // First byte of the word and of what moves with it, its last one, those of the element, owner, references, and
        // whether it leaves and is owned.
        type Seen = (u64, (u64, u64), (u64, u64), u32, u64, bool, bool);
        let own = self.words.iter().filter(|w| w.1.thing == Some(thing));
        let seen = |(addr, w): (&u64, &Plain)| -> Seen {
            let owned = matches!(self.side(w), Side::Owned(_));
            (*addr, (w.from, w.last), (w.element, w.element_last), self.owner(w), w.refs(), self.leaves(w), owned)
        };
        let own: Vec<Seen> = own.map(seen).collect();
        let owners: BTreeSet<u32> = own.iter().map(|w| w.3).collect();
        let parts: Vec<&[Seen]> = own.chunk_by(|a, b| a.3 == b.3).collect();
        let mut out = Vec::new();
        if !own.iter().any(|w| w.5) {
            return out;
        }
        if owners.len() > 1 && own.iter().all(|w| w.6) && parts.len() <= 2 * owners.len() {
            // Parts end where the next one begins: at its element, or at its first field if the element is divided.
            let mut begin = 0;
            for (i, part) in parts.iter().enumerate() {
                let from = part[0].2.0.max(begin);
                let end = part[part.len() - 1];
                let last = end.2.1.max(end.1.1);
                let last = parts.get(i + 1).map_or(last, |next| last.min(next[0].1.0.max(from + 1) - 1));
                begin = last + 1;
                out.push((from, last, self.take(u16::MAX - 1, last - from + 1, self.page_bytes)));
            }
            return out;
        }
        for wanted in [true, false] {
            let moving: Vec<&Seen> = own.iter().filter(|w| w.5 && w.6 == wanted).collect();
            for field in moving.chunk_by(|a, b| a.1.0 == b.1.0) {
                let most = field.iter().map(|w| w.4).max();
                let busiest = field.iter().rev().find(|w| Some(w.4) == most).expect("one");
                let of = if wanted { busiest.3 as u16 } else { u16::MAX };
                let (from, last) = field[0].1;
                let bytes = last - from + 1;
                out.push((from, last, self.take(of, bytes, if bytes < 8 { 4 } else { 8 })));
            }
        }
        out.sort_unstable();
        out
    }
}

fn plainly(refs: &[Merged], page_bytes: u64) -> Vec<Merged> {
    let mut all = Plainly { words: words(refs), page_bytes, free: BTreeMap::new() };
    let mut map: BTreeMap<u64, u64> = BTreeMap::new();
    for (from, last, to) in (0..THINGS.len()).flat_map(|thing| all.moves(thing)) {
        // Of two that overlap the first one moves.
        if !map.contains_key(&from) {
            map.extend((from..=last).map(|a| (a, to + (a - from))));
        }
    }
    let private = |r: &&Merged| thing_at(r.addr).is_some_and(|t| THINGS[t].1 == "stack");
    let to = |r: &Merged| Merged { addr: map.get(&r.addr).copied().unwrap_or(r.addr), ..*r };
    refs.iter().filter(|r| !private(r)).map(to).collect()
}

/// Bursts by three processors, of which each prefers some words, so that all classes occur.
fn traces() -> impl Strategy<Value = Vec<Merged>> {
    let burst = (0..3_u32, 0..200_u64, 1..9_u64, 0..12_u8, any::<bool>(), prop::sample::select(&[4_u32, 4, 8, 1][..]));
    (vec(burst, 1..120), 0..3_u64).prop_map(|(bursts, habit)| {
        let op = |what| match what {
            0 => Op::Spin,
            1 => Op::Atomic,
            2..5 => Op::Write,
            _ => Op::Read,
        };
        let refs = bursts.into_iter().flat_map(|(thread, at, times, what, own, size)| {
            // What is somebody's own is so by turns, by parts, or by places in elements.
            let whose = [at % 3, at / 67, at / 4 % 3][habit as usize] as u32;
            let thread = if own { whose } else { thread };
            let writes = what < 5;
            let op = if own || !writes { op(what) } else { Op::Read };
            (0..times).map(move |_| reference(thread, op, BASE + at * 4 % 800, size))
        });
        refs.collect()
    })
}

#[test]
fn random_traces_are_laid_out_as_the_definition_says() {
    let cases = if std::env::var_os("HOMENODE_SLOW").is_some() { 5000 } else { 150 };
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..Config::default() };
    let pages = prop::sample::select(&[16_u64, 64, 256, 4096][..]);
    let kinds = std::cell::RefCell::new(BTreeSet::new());
    let run = TestRunner::new(config).run(&(traces(), pages), |(refs, page)| {
        let got = relocated(&refs, page, Private::LeftOut);
        prop_assert_eq!(&got, &plainly(&refs, page));
        let layout = layout(&refs, page);
        kinds.borrow_mut().extend(layout.changes.iter().map(|c| c.kind));
        // No two bytes go to one place.
        let bytes = (0..1000).filter_map(|a| Some((thing_at(BASE + a)? as u32, BASE + a)));
        let places: Vec<u64> = bytes.map(|(row, a)| layout.to(row, a)).collect();
        prop_assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), places.len());
        // With private references kept, all are there, the same but for where they go.
        let all = relocated(&refs, page, Private::Kept);
        let but_for_address = |r: &Merged| Merged { addr: 0, ..*r };
        prop_assert!(refs.iter().map(but_for_address).eq(all.iter().map(but_for_address)));
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(kinds.into_inner().len(), 3, "every kind of change occurs");
}

fn often(thread: u32, op: Op, addr: u64, times: usize) -> Vec<Merged> {
    vec![reference(thread, op, addr, 4); times]
}

fn kinds(refs: &[Merged], page_bytes: u64) -> Vec<(Kind, u32, Vec<String>)> {
    layout(refs, page_bytes).changes.into_iter().map(|c| (c.kind, c.row, c.fields)).collect()
}

#[test]
fn counters_of_two_processors_are_padded_and_single_users_left_alone() {
    let mut refs = often(0, Op::Atomic, BASE, 20);
    refs.extend(often(1, Op::Atomic, BASE + 16, 20));
    assert_eq!(kinds(&refs, 4096), [(Kind::Pad, 0, vec![])]);
    assert!(kinds(&refs, 16).is_empty(), "they are on pages of their own");
    let pages: Vec<u64> = relocated(&refs, 64, Private::LeftOut).iter().map(|r| r.addr / 64).collect();
    assert!(pages[0] != pages[20]);
    assert!(kinds(&often(0, Op::Atomic, BASE, 20), 4096).is_empty());
    let readers = [often(0, Op::Read, BASE, 20), often(1, Op::Read, BASE + 16, 20)].concat();
    assert!(kinds(&readers, 4096).is_empty(), "nobody writes");
}

#[test]
fn fields_go_by_who_uses_them() {
    // `a` is each processor's own, `b` is added to by all, `c` is read by all.
    let mut refs = Vec::new();
    for element in 0..6u64 {
        let at = BASE + element * 16;
        refs.extend(often((element % 2) as u32, Op::Atomic, at, 20));
        (0..3).for_each(|t| refs.extend(often(t, Op::Atomic, at + 8, 2)));
        (0..3).for_each(|t| refs.extend(often(t, Op::Read, at + 12, 20)));
    }
    let found = kinds(&refs, 4096);
    let field = |f: &str| vec![f.to_owned()];
    assert_eq!(found, [(Kind::Separate, 0, field("[].a")), (Kind::Group, 0, field("[].c"))]);
    let layout = layout(&refs, 4096);
    let to = |addr: u64| layout.to(0, BASE + addr);
    assert_eq!([to(0), to(32), to(16)], [area(NodeId(0)), area(NodeId(0)) + 8, area(NodeId(1))]);
    assert_eq!(to(8), BASE + 8, "what all add to stays");
    assert_eq!(to(28) - to(12), 4, "what all read lies together");
}

#[test]
fn an_initialisation_by_one_says_nothing_about_users() {
    let mut refs: Vec<Merged> = (0..24).map(|w| reference(0, Op::Write, BASE + w * 8, 4)).collect();
    refs.extend([often(1, Op::Atomic, BASE, 3), often(2, Op::Atomic, BASE + 16, 3)].concat());
    let [change] = &layout(&refs, 4096).changes[..] else { panic!("one change") };
    assert_eq!((change.kind, change.parts), (Kind::Pad, 3));
    assert_eq!(change.users, [NodeId(0), NodeId(1), NodeId(2)]);
}
