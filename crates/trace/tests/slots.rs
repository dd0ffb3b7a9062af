//! References that come as ring slots against the same references one by one: frames are the same to the byte.
mod common;
use common::{cases, check};
use homenode_base::ring::{W0_EVENT, W0_OP_SHIFT, W0_SIZE_SHIFT};
use homenode_trace::Op;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::frame::{DecodedFrame, FRAME_REFS_MAX, FrameEncoder, RawRef, decode_frame};
use homenode_trace::framing::Codec;
use proptest::prelude::*;

type Slot = [u64; 2];

/// One of the references in a loop: key, first address, stride, and after how many iterations the address jumps by how much.
#[derive(Clone, Debug)]
struct Access {
    key: u64,
    first: u64,
    stride: i64,
    row: u64,
    jump: i64,
    /// Address at random instead, one time in so many; 0 never.
    random: u64,
}

/// What a program does next.
#[derive(Clone, Debug)]
enum Part {
    /// Accesses again and again; after `inner` iterations of the inner ones the last one is made once.
    Loop { accesses: Vec<Access>, iterations: u64, inner: u64 },
    /// Any slot at all.
    Any(Slot),
    /// A reference that comes as such, with a size that no slot has.
    Whole(u64, u32, u64),
    /// A value of the first column that is not of samples, for the last reference.
    Column(u64),
}

fn slot(key: u64, addr: u64) -> Slot {
    let junk = if key % 11 == 10 { 1 << 54 } else { 0 };
    let pc = (0x40_0000 + key / 2 * 5) | if key % 13 == 12 { 7 << 48 } else { 0 };
    [addr << 16 >> 16 | (key % 7) << W0_SIZE_SHIFT | (key % 4) << W0_OP_SHIFT | junk, pc]
}

fn access() -> impl Strategy<Value = Access> {
    let strides = prop_oneof![Just(0), Just(8), Just(-8), -64..64_i64, any::<i64>(), Just(1 << 47), Just(1 << 48)];
    let first = prop_oneof![0..1_u64 << 48, Just(0), Just((1 << 48) - 16), Just(1 << 47)];
    let random = prop_oneof![8 => Just(0_u64), 1 => 1..40_u64];
    let row = prop_oneof![Just(0_u64), 1..80_u64];
    (0..26_u64, first, strides, row, -4096..4096_i64, random)
        .prop_map(|(key, first, stride, row, jump, random)| Access { key, first, stride, row, jump, random })
}

fn part() -> impl Strategy<Value = Part> {
    let some = prop_oneof![6 => 1..6_usize, 2 => 1..70_usize, 1 => 200..300_usize];
    let accesses = some.prop_flat_map(|n| proptest::collection::vec(access(), n));
    let repeats = prop_oneof![4 => 1..40_u64, 1 => 1..2000_u64];
    let distinct = any::<bool>();
    prop_oneof![
        10 => (accesses, repeats, prop_oneof![Just(0_u64), 1..50_u64], distinct).prop_map(|(mut accesses, iterations, inner, distinct)| {
            if distinct {
                accesses.iter_mut().enumerate().for_each(|(i, a)| a.key += 26 * i as u64);
            }
            Part::Loop { accesses, iterations, inner }
        }),
        2 => (any::<u64>(), any::<u64>()).prop_map(|(a, b)| Part::Any([a & !W0_EVENT, b])),
        1 => (any::<u64>(), any::<u32>(), 0..9_u64).prop_map(|(a, size, pc)| Part::Whole(a, size, pc)),
        1 => (0..4_u64).prop_map(Part::Column),
    ]
}

/// What is done to an encoder.
enum Step {
    Slots(Vec<Slot>),
    Whole(RawRef),
    Column(u64),
}

fn slots_of(accesses: &[Access], iterations: u64, inner: u64, out: &mut Vec<Slot>) {
    let mut addrs: Vec<u64> = accesses.iter().map(|a| a.first).collect();
    let mut rng = homenode_base::Rng::new(iterations ^ inner << 20);
    for i in 0..iterations.min(30_000 / accesses.len() as u64) {
        let once = if inner > 0 && i % inner != 0 { accesses.len() - 1 } else { accesses.len() };
        for (a, addr) in accesses.iter().zip(&mut addrs).take(once) {
            *addr = addr.wrapping_add_signed(a.stride);
            if a.row > 0 && i % a.row == a.row - 1 {
                *addr = addr.wrapping_add_signed(a.jump);
            }
            if a.random > 0 && rng.below(a.random) == 0 {
                *addr = rng.next_u64();
            }
            out.push(slot(a.key, *addr));
        }
    }
}

fn steps(parts: &[Part]) -> Vec<Step> {
    let (mut out, mut slots) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Loop { accesses, iterations, inner } => slots_of(accesses, *iterations, *inner, &mut slots),
            Part::Any(slot) => slots.push(*slot),
            Part::Whole(addr, size, pc) => {
                out.push(Step::Slots(std::mem::take(&mut slots)));
                out.push(Step::Whole(RawRef { addr: *addr, size: *size, op: Op::Read, pc: *pc }));
            }
            Part::Column(value) => {
                out.push(Step::Slots(std::mem::take(&mut slots)));
                out.push(Step::Column(*value));
            }
        }
    }
    out.push(Step::Slots(slots));
    out
}

/// Takes slots into an encoder: how many it took, and how many spins.
type Way = fn(&mut FrameEncoder, &[Slot]) -> (usize, u64);

fn one_by_one(e: &mut FrameEncoder, slots: &[Slot]) -> (usize, u64) {
    let mut spins = 0;
    let refs = slots[..slots.len().min(FRAME_REFS_MAX - e.len())].iter().map_while(RawRef::of_slot);
    (e.extend(refs.inspect(|r| spins += u64::from(r.op == Op::Spin))), spins)
}

fn as_slots(e: &mut FrameEncoder, slots: &[Slot]) -> (usize, u64) {
    e.extend_slots(slots)
}

/// All frames of the steps, slots given in pieces of `piece` with a stamp before each, and what was taken.
fn frames(steps: &[Step], piece: usize, e: &mut FrameEncoder, way: Way) -> (Vec<u8>, Vec<(usize, u64)>) {
    let (mut out, mut took, mut clock) = (Vec::new(), Vec::new(), 0);
    e.begin(1, 0);
    let mut renew = |e: &mut FrameEncoder, clock: u64| {
        e.finish(clock, Codec::Raw, &mut out);
        e.begin(1, clock);
    };
    for step in steps {
        match step {
            Step::Column(value) => drop(e.put(INSTRUCTIONS, *value)),
            Step::Whole(r) => {
                if !e.push(r.addr, r.size, r.op, r.pc) {
                    renew(e, clock);
                }
            }
            Step::Slots(slots) => {
                for mut slots in slots.chunks(piece) {
                    e.stamp(clock);
                    clock += 100;
                    while !slots.is_empty() {
                        took.push(way(e, slots));
                        let (n, _) = took[took.len() - 1];
                        slots = &slots[n..];
                        if e.len() >= FRAME_REFS_MAX {
                            renew(e, clock);
                        } else if !slots.is_empty() {
                            assert!(RawRef::of_slot(&slots[0]).is_none());
                            slots = &slots[1..];
                        }
                    }
                }
            }
        }
    }
    e.finish(clock, Codec::Raw, &mut out);
    (out, took)
}

fn are_the_same(parts: &[Part], piece: usize, e: &mut FrameEncoder) {
    let steps = steps(parts);
    let slow = frames(&steps, piece, &mut FrameEncoder::default(), one_by_one);
    let fast = frames(&steps, piece, e, as_slots);
    assert!(fast.1 == slow.1, "what was taken");
    assert!(fast.0 == slow.0, "the frames");
    let (mut at, mut f) = (0, DecodedFrame::default());
    while at < fast.0.len() {
        at += decode_frame(&fast.0[at..], &mut f).expect("undamaged");
    }
}

#[test]
fn slots_make_the_frames_that_their_references_make() {
    let parts = proptest::collection::vec(part(), 1..12);
    let pieces = prop_oneof![4 => Just(63_usize), 2 => 1..70_usize, 1 => 100..5000_usize];
    let encoder = std::cell::RefCell::new(FrameEncoder::default());
    check(cases(1_500, 20_000), &(parts, pieces), |(parts, piece)| {
        are_the_same(&parts, piece, &mut encoder.borrow_mut());
    });
}

#[test]
fn full_frames_end_in_the_middle_of_an_iteration() {
    let access = |key, stride| Access { key, first: 1 << 30, stride, row: 0, jump: 0, random: 0 };
    for keys in [1, 3, 7, 64, 250, 300] {
        let accesses: Vec<Access> = (0..keys).map(|k| access(k * 26, 8 + k as i64)).collect();
        let part = Part::Loop { accesses, iterations: u64::MAX, inner: 0 };
        are_the_same(&vec![part; 8], 63, &mut FrameEncoder::default());
    }
}

#[test]
fn any_slots_are_taken_without_panic_and_none_twice() {
    let mut rng = homenode_base::Rng::new(17);
    let mut e = FrameEncoder::default();
    for _ in 0..cases(3_000, 300_000) {
        e.begin(0, 0);
        let few: Vec<Slot> = (0..1 + rng.below(6)).map(|_| [rng.next_u64(), rng.next_u64()]).collect();
        for _ in 0..rng.below(12) {
            let n = rng.below(200);
            let any =
                (0..n).map(|i| if rng.below(50) == 0 { [rng.next_u64(), 0] } else { few[i as usize % few.len()] });
            let slots: Vec<Slot> = any.collect();
            let (taken, spins) = e.extend_slots(&slots);
            assert_eq!(taken, slots.iter().map_while(RawRef::of_slot).count());
            assert!(spins <= taken as u64);
        }
    }
}
