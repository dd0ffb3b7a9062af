//! Blocks against references one by one.
use crate::blocks::Definitions;
use crate::ring::Consumed;
use crate::sink::FrameSink;
use crate::slots::Decoder;
use homenode_base::Rng;
use homenode_base::ring::*;
use homenode_trace::frame::{FRAME_REFS_MAX, FrameEncoder, RawRef};
use homenode_trace::framing::Codec;

/// A program's ring and the references in it.
#[derive(Default)]
struct Made {
    batches: Vec<Vec<[u64; 2]>>,
    /// For each batch its stamp and its references.
    refs: Vec<(u64, Vec<RawRef>)>,
    /// Of the batch: the slots of the last block, and where the repetitions stand that it is the last one of; the strides that were given last.
    last: Vec<[u64; 2]>,
    repeated_at: Option<usize>,
    strides: (u64, Vec<[u64; 2]>),
}

impl Made {
    /// Room for so many slots in the batch.
    fn room(&mut self, slots: usize) {
        let left = self.batches.last().map_or(0, |b| BATCH_SLOTS as usize - b.len());
        if left >= slots {
            return;
        }
        if left > 0 {
            self.batches.last_mut().unwrap().push([W0_EVENT | EVENT_PAD << W0_KIND_SHIFT, 0]);
        }
        let stamp = 100 * self.refs.len() as u64;
        self.batches.push(vec![[W0_EVENT | EVENT_STAMP << W0_KIND_SHIFT, stamp]]);
        self.refs.push((stamp, Vec::new()));
        (self.last, self.repeated_at, self.strides) = Default::default();
    }
    /// Writes a block as a repetition of the one before, if there is one and room.
    fn repeat(&mut self, slots: &[[u64; 2]]) -> bool {
        let Some(batch) = self.batches.last_mut().filter(|_| self.last.first().is_some_and(|l| l[0] == slots[0][0]))
        else {
            return false;
        };
        let step = |(now, last): (&[u64; 2], &[u64; 2])| [0, 1].map(|i: usize| now[i].wrapping_sub(last[i]));
        let strides: Vec<[u64; 2]> = slots.iter().zip(&self.last).map(step).collect();
        let known = self.strides == (slots[0][0], strides.clone());
        let n = self.repeated_at.filter(|_| known).map(|at| batch[at][0] & W0_ADDR_MASK);
        if n.is_some_and(|n| (n + 1) * (slots.len() as u64) < BATCH_SLOTS) {
            batch[self.repeated_at.unwrap()][0] += 1;
        } else {
            let given = if known { 0 } else { slots.len() - 1 };
            if batch.len() + 1 + given > BATCH_SLOTS as usize {
                return false;
            }
            self.repeated_at = Some(batch.len());
            batch.push([W0_EVENT | EVENT_REPEAT << W0_KIND_SHIFT | (given as u64) << W0_SIZE_SHIFT | 1, strides[0][1]]);
            batch.extend(&strides[1..1 + given]);
            self.strides = (slots[0][0], strides);
        }
        self.last = slots.to_vec();
        true
    }
    fn put(&mut self, slots: &[[u64; 2]], definition: &[[u64; 2]], addresses: &[u64], repeat: bool) {
        let is_block = slots[0][0] & W0_BLOCK != 0;
        if !(repeat && is_block && self.repeat(slots)) {
            self.room(slots.len());
            self.batches.last_mut().unwrap().extend(slots);
            self.repeated_at = None;
            if is_block {
                self.last = slots.to_vec();
            }
        }
        let refs = definition.iter().zip(addresses).map(|(d, a)| [d[0] | a & W0_ADDR_MASK, d[1]]);
        self.refs.last_mut().unwrap().1.extend(refs.map(|slot| RawRef::of_slot(&slot).unwrap()));
    }
    fn block(&mut self, number: u64, definition: &[[u64; 2]], addresses: &[u64], repeat: bool) {
        let refs = addresses.len() as u64;
        let mut words = vec![W0_BLOCK | refs << W0_KIND_SHIFT | number];
        words.extend(addresses);
        words.resize(2 * block_slots(refs) as usize, 0);
        self.put(words.as_chunks::<2>().0, definition, addresses, repeat);
    }
    fn single(&mut self, definition: [u64; 2], address: u64) {
        self.put(&[[definition[0] | address & W0_ADDR_MASK, definition[1]]], &[definition], &[address], false);
    }
}

fn definition(rng: &mut Rng, refs: u64) -> Vec<[u64; 2]> {
    let one =
        |rng: &mut Rng| [rng.below(5) << W0_SIZE_SHIFT | rng.below(2) << W0_OP_SHIFT, 0x40_0000 + rng.below(1 << 20)];
    (0..refs).map(|_| one(rng)).collect()
}

/// Loops over blocks and single references, nested, with strides that break now and then.
fn program(rng: &mut Rng, blocks: &[Vec<[u64; 2]>]) -> Made {
    let mut made = Made::default();
    while made.batches.len() < 60 {
        let body: Vec<usize> = (0..1 + rng.below(4)).map(|_| rng.below(blocks.len() as u64) as usize).collect();
        let mut state: Vec<Vec<(u64, u64)>> = Vec::new();
        for &b in &body {
            let start = |rng: &mut Rng| match rng.below(40) {
                0 => rng.next_u64(),
                1 => W0_ADDR_MASK - rng.below(200),
                _ => 0x7000_0000 + rng.below(1 << 30),
            };
            let stride = |rng: &mut Rng| [8, 0, 64, 0u64.wrapping_sub(8), 1 << 20][rng.below(5) as usize];
            state.push(blocks[b].iter().map(|_| (start(rng), stride(rng))).collect());
        }
        let breaks = [0, 7, 100][rng.below(3) as usize];
        let repeats = [0, 2, 20, 1000][rng.below(4) as usize];
        for _ in 0..1 + rng.below(120) {
            for (&b, refs) in body.iter().zip(&mut state) {
                let mut addresses: Vec<u64> = refs.iter().map(|r| r.0).collect();
                if breaks > 0 && rng.below(breaks) == 0 {
                    let at = rng.below(addresses.len() as u64) as usize;
                    addresses[at] ^= 1 << rng.below(64);
                }
                let cut =
                    if rng.below(200) == 0 { 1 + rng.below(addresses.len() as u64) as usize } else { addresses.len() };
                if blocks[b].len() == 1 && b % 2 == 0 {
                    made.single(blocks[b][0], addresses[0]);
                } else {
                    made.block(b as u64 + 1, &blocks[b], &addresses[..cut], repeats > 0 && rng.below(repeats) > 0);
                }
                refs.iter_mut().for_each(|(address, stride)| *address = address.wrapping_add(*stride));
            }
        }
    }
    made
}

fn frames_of_the_ring(made: &Made, definitions: &[Vec<[u64; 2]>]) -> (Vec<u8>, usize) {
    let mut decoder = Decoder::with_blocks(Definitions::made(definitions));
    let (mut encoder, mut events, mut bytes) = (FrameEncoder::default(), Vec::new(), Vec::new());
    encoder.begin(0, 0);
    let mut sink = FrameSink::new(0, Consumed::default(), &mut encoder, &mut events);
    sink.quota = u64::MAX;
    let mut batches = 0;
    for batch in &made.batches {
        if !sink.has_room(u64::MAX, 1) {
            break;
        }
        decoder.batch(64 * batches as u64, batch, false, &mut sink);
        batches += 1;
    }
    assert_eq!((decoder.damaged, sink.stored), (0, made.refs[..batches].iter().map(|b| b.1.len() as u64).sum()));
    encoder.finish(1 << 40, Codec::Raw, &mut bytes);
    (bytes, batches)
}

#[test]
fn frames_are_those_of_the_references_one_by_one() {
    let cases = if std::env::var_os("HOMENODE_SLOW").is_some() { 20_000 } else { 300 };
    let mut rng = Rng::new(31);
    for case in 0..cases {
        let blocks: Vec<_> = (0..2 + rng.below(8))
            .map(|_| match rng.below(3) {
                0 => 1,
                1 => 1 + rng.below(4),
                _ => 1 + rng.below(BLOCK_REFS_MAX),
            })
            .collect::<Vec<_>>()
            .into_iter()
            .map(|refs| definition(&mut rng, refs))
            .collect();
        let made = program(&mut rng, &blocks);
        let (bytes, batches) = frames_of_the_ring(&made, &blocks);
        let (mut slow, mut expected) = (FrameEncoder::default(), Vec::new());
        slow.begin(0, 0);
        for (stamp, refs) in &made.refs[..batches] {
            slow.stamp(*stamp);
            refs.iter().for_each(|r| assert!(slow.push(r.addr, r.size, r.op, r.pc)));
        }
        assert!(slow.len() <= FRAME_REFS_MAX);
        slow.finish(1 << 40, Codec::Raw, &mut expected);
        assert!(bytes == expected, "case {case}");
    }
}
