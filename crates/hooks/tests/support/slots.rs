//! Slots to references and events.
use super::Ring;
use homenode_base::ring::*;
use std::collections::HashMap;
use std::path::Path;

/// What a thread recorded, in program order, stamps and padding left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Ref {
        op: char,
        size: u64,
        addr: u64,
        pc: u64,
    },
    /// Of synchronisation `w1` is the sequence number and `sync` its kind and how many threads a barrier takes.
    Event {
        kind: u64,
        addr: u64,
        w1: u64,
        sync: (u64, u64),
        payload: Vec<[u64; 2]>,
    },
}

impl Item {
    pub fn is_ref(&self) -> bool {
        matches!(self, Item::Ref { .. })
    }

    pub fn is_event(&self, wanted: u64) -> bool {
        matches!(self, Item::Event { kind, .. } if *kind == wanted)
    }

    /// `r 8 0x1000`, or `acquire 0x1000 epoch` and so on: what the test programs print as their expectation.
    pub fn line(&self) -> String {
        match self {
            Item::Ref { op, size, addr, .. } => format!("{op} {size} {addr:#x}"),
            Item::Event { kind, addr, payload, .. } => {
                let epoch = payload.first().map_or(0, |p| p[0]);
                match *kind {
                    EVENT_RELEASE => format!("release {addr:#x} {epoch}"),
                    EVENT_ACQUIRE => format!("acquire {addr:#x} {epoch}"),
                    EVENT_ACQ_REL => format!("acq_rel {addr:#x} {epoch}"),
                    EVENT_FREE => format!("free {addr:#x}"),
                    EVENT_ALLOC => format!("alloc {addr:#x} {} {}", self.w1(), payload[0][0]),
                    EVENT_MAP => format!("map {addr:#x} {} {} {}", self.w1(), payload[0][0] >> 32, payload[1][1]),
                    EVENT_UNMAP => format!("unmap {addr:#x} {}", self.w1()),
                    EVENT_REALLOC => format!("realloc {addr:#x} {:#x}", self.w1()),
                    EVENT_SPAWN => format!("spawn {addr}"),
                    _ => format!("event {kind}"),
                }
            }
        }
    }

    pub fn addr(&self) -> u64 {
        match self {
            Item::Ref { addr, .. } | Item::Event { addr, .. } => *addr,
        }
    }

    pub fn w1(&self) -> u64 {
        match self {
            Item::Ref { pc, .. } => *pc,
            Item::Event { w1, .. } => *w1,
        }
    }

    pub fn text(&self) -> String {
        let Item::Event { payload, .. } = self else { return String::new() };
        let bytes: Vec<u8> = payload.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        String::from_utf8(bytes).unwrap().trim_end_matches('\0').to_string()
    }
}

/// What the blocks of a recording are: for each number the words of its references.
pub struct Blocks(HashMap<u64, Vec<u64>>);

impl Blocks {
    /// Those of the files in this directory; panics on anything that the layout does not allow.
    pub fn read(dir: &Path) -> Blocks {
        let mut found = HashMap::new();
        let files = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        for file in files.filter(|f| f.extension().is_some_and(|e| e == "blocks")) {
            let bytes = std::fs::read(&file).unwrap();
            let mut words = bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap()));
            let mut number: u64 = file.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            while let Some(header) = words.next() {
                number += 1;
                assert_eq!(header & BLOCK_NUMBER_MASK, number);
                let refs: Vec<u64> = words.by_ref().take(block_refs(header).unwrap() as usize).collect();
                let writes = refs.iter().rev().fold(0, |bits, r| bits << 1 | (r >> W0_OP_SHIFT & 1));
                assert_eq!(header >> BLOCK_WRITES_SHIFT & 0x7fff, writes);
                assert!(found.insert(number, refs).is_none());
            }
        }
        Blocks(found)
    }

    /// The references of the block with which `slots` begin, and how many slots it has.
    fn items(&self, slots: &[[u64; 2]]) -> (Vec<Item>, usize) {
        let header = slots[0][0];
        let refs = block_refs(header).unwrap() as usize;
        let addresses = slots.as_flattened()[1..=refs].iter();
        let known = &self.0[&(header & BLOCK_NUMBER_MASK)];
        let items = addresses.zip(known).map(|(addr, word)| Item::Ref {
            op: ['r', 'w'][(word >> W0_OP_SHIFT & 3) as usize],
            size: 1 << (word >> W0_SIZE_SHIFT & 15),
            addr: addr & W0_ADDR_MASK,
            pc: word & W1_PC_MASK,
        });
        (items.collect(), block_slots(refs as u64) as usize)
    }
}

/// Reads all slots of a ring; panics on anything that the layout does not allow.
pub fn decode(slots: &[[u64; 2]], blocks: &Blocks) -> Vec<Item> {
    let (mut items, mut stamp) = (Vec::new(), 0);
    for (number, batch) in slots.chunks(BATCH_SLOTS as usize).enumerate() {
        assert_eq!(batch[0][0], W0_EVENT | EVENT_STAMP << W0_KIND_SHIFT, "batch {number} has no stamp");
        decode_batch(batch, blocks, &mut items, &mut stamp);
    }
    items
}

fn decode_batch(mut rest: &[[u64; 2]], blocks: &Blocks, items: &mut Vec<Item>, stamp: &mut u64) {
    let mut stamped = items.len();
    let (mut last, mut strides, mut of): (Vec<[u64; 2]>, Vec<[u64; 2]>, _) = (Vec::new(), Vec::new(), 0);
    while let Some(([w0, w1], after)) = rest.split_first() {
        // Frames would cut what is more, and give the first part no time of its own.
        let refs = items[stamped..].iter().filter(|item| item.is_ref()).count();
        assert!(refs as u64 <= BATCH_REFS, "{refs} references after one stamp");
        let (addr, code) = (w0 & W0_ADDR_MASK, (w0 >> W0_SIZE_SHIFT & 15) as usize);
        if w0 & W0_EVENT != 0 {
            let kind = w0 >> W0_KIND_SHIFT;
            if kind == EVENT_PAD {
                return;
            }
            if kind == EVENT_STAMP {
                assert!(*w1 > *stamp, "stamps rise");
                (stamped, *stamp) = (items.len(), *w1);
                rest = after;
                continue;
            }
            if kind == EVENT_REPEAT {
                if code + 1 == last.len() {
                    (strides, of) = ([&[[0; 2]], &after[..code]].concat(), last[0][0]);
                }
                assert_eq!(of, last[0][0]);
                strides[0] = [0, *w1];
                for _ in 0..addr {
                    let next = |(l, s): (&[u64; 2], &[u64; 2])| [0, 1].map(|i: usize| l[i].wrapping_add(s[i]));
                    last = last.iter().zip(&strides).map(next).collect::<Vec<[u64; 2]>>();
                    items.extend(blocks.items(&last).0);
                }
                rest = &after[code..];
                continue;
            }
            assert!((EVENT_RELEASE..=EVENT_NO_WAIT).contains(&kind), "event {kind}");
            items.push(event(kind, addr, *w1, after[..code].to_vec()));
            rest = &after[code..];
            continue;
        }
        if w0 & W0_BLOCK != 0 {
            let (refs, used) = blocks.items(rest);
            items.extend(refs);
            last = rest[..used].to_vec();
            rest = &rest[used..];
            continue;
        }
        let op = ['r', 'w', 'a', 's'][(w0 >> W0_OP_SHIFT & 3) as usize];
        let range = code as u64 == SIZE_RANGE;
        let size = if range { after[0][0] } else { [1, 2, 4, 8, 16, 32, 64][code] };
        items.push(Item::Ref { op, size, addr, pc: *w1 });
        rest = if range { &after[1..] } else { after };
    }
}

fn event(kind: u64, addr: u64, w1: u64, mut payload: Vec<[u64; 2]>) -> Item {
    if !(EVENT_RELEASE..=EVENT_ACQ_REL).contains(&kind) {
        return Item::Event { kind, addr, w1, sync: (0, 0), payload };
    }
    let (sync, mut parties) = (w1 >> SYNC_SHIFT, 0);
    if sync == SYNC_BARRIER {
        parties = payload[0][0] >> BARRIER_PARTIES_SHIFT;
        payload[0][0] &= BARRIER_GENERATION_MASK;
    }
    Item::Event { kind, addr, w1: w1 & SYNC_SEQ_MASK, sync: (sync, parties), payload }
}

impl Ring {
    pub fn refs(&self) -> Vec<&Item> {
        self.items.iter().filter(|i| i.is_ref()).collect()
    }

    pub fn events(&self, kind: u64) -> Vec<&Item> {
        self.items.iter().filter(|i| i.is_event(kind)).collect()
    }

    /// Lines of what lies between the begin and the end of a phase.
    pub fn phase(&self, name: &str) -> Vec<String> {
        let at = |kind| self.items.iter().position(|i| i.is_event(kind) && i.text() == name);
        let (Some(from), Some(to)) = (at(EVENT_PHASE_BEGIN), at(EVENT_PHASE_END)) else {
            panic!("no phase {name} in {:?}", self.items)
        };
        self.items[from + 1..to].iter().map(Item::line).collect()
    }
}
