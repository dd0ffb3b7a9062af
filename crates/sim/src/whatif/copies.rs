//! A copy for each node: every node that uses the memory has its own, made by one of its threads.
use super::units::Units;
use super::young::Young;
use crate::setup::Setup;
use crate::split::Pieces;
use homenode_analysis::Making;
use homenode_base::spaces::tag;
use homenode_trace::{Merged, Op, SampleUnit};

/// Address spaces that no process of a dataset uses and no padding either.
const COPY_SPACES: u32 = (1 << 16) + (1 << 15);
/// What a copying loop reads before it writes it.
const CHUNK_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
struct Original {
    /// Which of the blocks.
    index: u64,
    young: Young,
}

/// One [`CopyPerNode`](super::Transform::CopyPerNode).
#[derive(Clone, Debug)]
pub(super) struct Copies {
    originals: Units<Original>,
    /// Block numbers by index.
    blocks: Vec<u64>,
    block_shift: u32,
    making: Making,
    /// Node of each thread.
    nodes: Vec<usize>,
    /// By node: the thread that makes the copy, if the node gets one.
    makers: Vec<Option<u32>>,
    /// By node and index: whether a loop has copied it already.
    copied: Vec<Vec<bool>>,
    /// First space of the copies.
    area: u32,
    /// Size and weight of the references that stand for a chunk.
    chunk: (u32, u32),
    /// Of a part of the program, colours and which of them it has: its copies lie in blocks of this one.
    part: (u64, u64),
}

impl Copies {
    /// `area` numbers the transforms of one what-if: each has fresh memory of its own.
    pub(super) fn new(
        blocks: &[u64],
        makers: &[u32],
        making: Making,
        setup: Setup<'_>,
        (area, part): (u32, (u64, u64)),
    ) -> Copies {
        let nodes: Vec<usize> = setup.bindings.iter().map(|s| s.node.index()).collect();
        let count = setup.machine.nodes();
        let mut maker_of = vec![None; count];
        for &thread in makers.iter().rev() {
            if let Some(&node) = nodes.get(thread as usize) {
                maker_of[node] = Some(thread);
            }
        }
        let bytes = CHUNK_BYTES.min(setup.block_bytes);
        let caches = setup.machine.sections.caches.as_ref();
        let chunk = match setup.options.sampled {
            // Samples are not cut into lines.
            Some(counting) if caches.is_some() || counting.unit != SampleUnit::Reference => {
                (1, (bytes / caches.map_or(64, |c| u64::from(c.line_bytes))).max(1) as u32)
            }
            _ => (bytes as u32, 1),
        };
        let original = |(index, block): (usize, &u64)| (*block, Original { index: index as u64, young: Young::NEW });
        let mut originals = Units::default();
        originals.add(blocks.iter().enumerate().map(original));
        Copies {
            originals,
            blocks: blocks.to_vec(),
            block_shift: setup.block_bytes.trailing_zeros(),
            making,
            nodes,
            copied: vec![Vec::new(); count],
            makers: maker_of,
            area: COPY_SPACES + area * count as u32,
            chunk,
            part,
        }
    }

    /// Whether this reference may touch a block that has copies.
    fn may_hold(&self, r: &Merged) -> bool {
        let last = r.addr.wrapping_add(u64::from(r.size.max(1)) - 1);
        let hull = self.originals.hull();
        last < r.addr || (last >> self.block_shift >= hull.0 && r.addr >> self.block_shift <= hull.1)
    }

    /// Gives one reference to the copy that it is meant for, in pieces per block.
    #[inline]
    pub(super) fn push(&mut self, r: &Merged, out: &mut impl FnMut(&Merged)) {
        if self.may_hold(r) { self.look_up(r, out) } else { out(r) }
    }

    /// Where a reference to `addr` goes, if that is all there is to do: to a block that has no copies, to one that its first
    /// thread alone uses and a loop will copy, or as a read to one that is in use.
    #[inline]
    pub(super) fn only_moves(&self, r: &Merged, addr: u64) -> Option<u64> {
        let block = addr >> self.block_shift;
        if addr.checked_add(u64::from(r.size.max(1)) - 1)? >> self.block_shift != block {
            return None;
        }
        let Some(original) = self.originals.get(block) else { return Some(addr) };
        let (home, shared) = original.young.first_of_touched()?;
        if !shared {
            return (home == r.thread && self.making == Making::Copy).then_some(addr);
        }
        let node = *self.nodes.get(r.thread as usize).filter(|_| r.op == Op::Read)?;
        let own = self.makers.get(node)?.is_some() && self.nodes.get(home as usize) != Some(&node);
        if !own {
            return Some(addr);
        }
        let known = self.making == Making::Build || self.copied[node].get(original.index as usize) == Some(&true);
        known.then(|| self.copy(node, original.index, addr))
    }

    fn look_up(&mut self, r: &Merged, out: &mut impl FnMut(&Merged)) {
        match r.addr.checked_add(u64::from(r.size.max(1)) - 1) {
            Some(last) if last >> self.block_shift == r.addr >> self.block_shift => self.piece(r, r, last, out),
            _ => Pieces::new(r.addr, r.size, self.block_shift).for_each(|p| self.piece(&p.of(r), r, p.last, &mut *out)),
        }
    }

    /// Likewise of the part of a reference that is in one block, up to its last byte.
    fn piece(&mut self, part: &Merged, r: &Merged, last: u64, out: &mut impl FnMut(&Merged)) {
        let shift = self.block_shift;
        let within = |addr: u64| addr & ((1 << shift) - 1);
        let Some(original) = self.originals.get_mut(part.addr >> shift) else { return out(part) };
        let index = original.index;
        let new = r.op != Op::Spin && original.young.is_initialised_by(r, within(part.addr), within(last), shift);
        let home = original.young.first().and_then(|t| self.nodes.get(t as usize)).copied();
        if new {
            out(part);
            self.build(part, index, home, out);
        } else {
            self.used(part, index, home, out);
        }
    }

    /// Has the other nodes do to their copies what initialises the original.
    fn build(&self, part: &Merged, index: u64, home: Option<usize>, out: &mut impl FnMut(&Merged)) {
        if self.making == Making::Build {
            for (node, maker) in self.makers.iter().enumerate().filter(|(node, _)| Some(*node) != home) {
                if let Some(thread) = *maker {
                    out(&Merged { thread, addr: self.copy(node, index, part.addr), ..*part });
                }
            }
        }
    }

    /// The memory is in use: reads go to the node's copy, writes to all there are.
    fn used(&mut self, part: &Merged, index: u64, home: Option<usize>, out: &mut impl FnMut(&Merged)) {
        let node = self.nodes.get(part.thread as usize).copied().unwrap_or(usize::MAX);
        let own = Some(node) != home && self.makers.get(node).is_some_and(Option::is_some);
        if own && part.op != Op::Spin && self.making == Making::Copy {
            self.copy_all(node, index, part, &mut *out);
        }
        if !part.op.writes() {
            return match own {
                true => out(&Merged { addr: self.copy(node, index, part.addr), ..*part }),
                false => out(part),
            };
        }
        out(part);
        for other in 0..self.makers.len() {
            let is_there = match self.making {
                Making::Build => self.makers[other].is_some() && Some(other) != home,
                Making::Copy => self.copied[other].get(index as usize) == Some(&true),
            };
            if is_there {
                out(&Merged { addr: self.copy(other, index, part.addr), ..*part });
            }
        }
    }

    /// The first use by a node copies all blocks that have been touched by then; later ones are copied when they are used.
    fn copy_all(&mut self, node: usize, index: u64, by: &Merged, out: &mut impl FnMut(&Merged)) {
        if self.copied[node].is_empty() {
            self.copied[node] = vec![false; self.blocks.len()];
            for other in 0..self.blocks.len() as u64 {
                let first = self.originals.get(self.blocks[other as usize]).and_then(|o| o.young.first());
                if first.is_some_and(|t| self.nodes.get(t as usize) != Some(&node)) {
                    self.copy_block(node, other, by, &mut *out);
                }
            }
        }
        if !self.copied[node][index as usize] {
            self.copy_block(node, index, by, out);
        }
    }

    fn copy_block(&mut self, node: usize, index: u64, by: &Merged, out: &mut impl FnMut(&Merged)) {
        self.copied[node][index as usize] = true;
        let start = self.blocks[index as usize] << self.block_shift;
        let (size, weight) = self.chunk;
        for at in (0..1u64 << self.block_shift).step_by(CHUNK_BYTES as usize) {
            let read = Merged { addr: start + at, size, weight, op: Op::Read, ..*by };
            out(&read);
            out(&Merged { addr: self.copy(node, index, read.addr), op: Op::Write, ..read });
        }
    }

    /// Where the byte at `addr`, in the block with this index, is on `node`.
    fn copy(&self, node: usize, index: u64, addr: u64) -> u64 {
        let within = addr & ((1 << self.block_shift) - 1);
        let (colours, colour) = self.part;
        tag(self.area + node as u32) + ((index * colours + colour) << self.block_shift) + within
    }
}
