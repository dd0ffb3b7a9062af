//! From references in merged order to records by region, exactly as the plain engine cuts them.
use super::fill::{Buffers, Slots};
use super::record::{Code, Format};
use super::scatter::Scatter;
use super::spill::{InMemory, Spill};
use super::stream::{Key, needed};
use super::{Built, Head, Partition, Records, Stream, Transfers};
use crate::{Question, StudyError};
use homenode_base::Cost;
use homenode_base::spaces::tag;
use homenode_machine::{Caches, Machine};
use homenode_sim::cache::{CacheEvent, CacheEventKind, CacheFilter};
use homenode_sim::{Piece, Pieces, ReplayOptions, for_pieces};
use homenode_trace::{DataSource, Merged, Op};

/// Smallest regions unless blocks are larger.
const REGION_BYTES: u64 = 64 << 10;

/// How to partition. Answers do not depend on it.
pub struct Layout {
    /// Bytes of a region, a power of two, at least the largest block and at most 2 MiB; `None`: 64 KiB, or the largest
    /// block if that is more.
    pub region_bytes: Option<u64>,
    /// Bytes of records to keep in memory; the rest is spilled.
    pub budget_bytes: usize,
    /// Where to.
    pub spill: Box<dyn Spill>,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { region_bytes: None, budget_bytes: usize::MAX, spill: Box::new(InMemory::default()) }
    }
}

/// Takes references and gives a [`Partition`].
pub struct Partitioner {
    /// What makes addresses flat, by thread.
    space_tags: Vec<u64>,
    cutter: Vec<Cutter>,
    options: ReplayOptions,
    region_shift: u32,
    slots: Slots,
    buffers: Buffers,
    /// The short way, where it can be taken.
    scatter: Option<Scatter>,
    refs: u64,
    time: u64,
}

/// One stream in the making.
struct Cutter {
    stream: Stream,
    /// With caches: the filter, and the processor of each thread.
    filter: Option<(CacheFilter, Vec<u16>)>,
}

/// What one reference is to all streams.
#[derive(Clone, Copy)]
struct Reference {
    thread: u32,
    space_tag: u64,
    t: u64,
}

impl Partitioner {
    /// For everything that this question, or another one about the same streams, needs.
    ///
    /// # Errors
    /// The question cannot be answered, or the regions do not fit it.
    pub fn new(question: &Question, layout: Layout) -> Result<Partitioner, StudyError> {
        question.check()?;
        let largest = question.blocks.last().copied().unwrap_or(REGION_BYTES);
        let region_bytes = layout.region_bytes.unwrap_or(largest.max(REGION_BYTES));
        if !region_bytes.is_power_of_two() || !(largest..=crate::question::BLOCK_BYTES_MAX).contains(&region_bytes) {
            return Err(StudyError::Region(region_bytes));
        }
        let region_shift = region_bytes.trailing_zeros();
        let timed = question.timed();
        let threads = question.bindings[0].len();
        let weighted = question.options.sampled.is_some();
        let stream = |key: Key| {
            let format = key.format(region_shift, threads, weighted, timed);
            Stream { key, format, transfers: Transfers::default() }
        };
        let streams: Vec<Stream> = needed(question).into_iter().map(stream).collect();
        let spins = question.options.charge_spins;
        let scatter = match &streams[..] {
            [Stream { key: key @ (Key::Words(_) | Key::FirstByte), format, .. }] if !weighted && !format.wide => {
                Some(Scatter::new(*format, region_shift, spins, *key == Key::FirstByte))
            }
            _ => None,
        };
        Ok(Partitioner {
            scatter,
            space_tags: question.bindings[0].iter().map(|s| tag(s.space)).collect(),
            buffers: Buffers::new(streams.len(), layout.budget_bytes, layout.spill),
            cutter: streams.into_iter().map(Cutter::new).collect::<Result<_, _>>()?,
            options: question.options,
            region_shift,
            slots: Slots::new(),
            refs: 0,
            time: 0,
        })
    }

    /// The next references of the merged order.
    ///
    /// # Errors
    /// Records cannot be spilled.
    pub fn refs(&mut self, refs: &[Merged]) -> Result<(), StudyError> {
        match &mut self.scatter {
            Some(scatter) => {
                self.refs += scatter.refs(refs, &self.space_tags, &mut self.slots, &mut self.buffers);
            }
            None => self.general(refs),
        }
        self.buffers.failure()
    }

    /// Any references on any machines.
    fn general(&mut self, refs: &[Merged]) {
        let plain = self.options.sampled.is_none();
        for r in refs {
            // References of threads that the dataset does not have are hostile and left out.
            let Some(&space_tag) = self.space_tags.get(r.thread as usize) else { continue };
            let weight = u64::from(r.weight);
            self.refs += weight;
            // Time is that of the first reference it stands for; spins take none.
            let mut t = self.time;
            if r.op != Op::Spin {
                t += 1;
                self.time += weight;
            } else if !self.options.charge_spins {
                continue;
            }
            let at = Reference { thread: r.thread, space_tag, t };
            if plain { self.exact(r, at) } else { self.sample(r, at) }
        }
    }

    #[inline(always)]
    fn exact(&mut self, r: &Merged, at: Reference) {
        let Partitioner { cutter, slots, buffers, region_shift, .. } = self;
        for (i, Cutter { stream, filter }) in cutter.iter_mut().enumerate() {
            let mut out = Out { stream: i, format: stream.format, region_shift: *region_shift, slots, buffers };
            match filter {
                None if stream.key == Key::FirstByte => out.words(&Merged { size: 1, ..*r }, at, 1),
                None => out.words(r, at, 1),
                Some((filter, cpus)) => {
                    let cpu = usize::from(cpus[at.thread as usize]);
                    out.events(r, at, cpu, filter, &mut stream.transfers);
                }
            }
        }
    }

    /// A sample: charged by the word where the exact reference would be, else as one access of its first byte. Samples
    /// whose data came from where no placement matters are left out; a first touch decides where a page begins and costs
    /// nothing.
    fn sample(&mut self, r: &Merged, at: Reference) {
        let first_touch = r.source == DataSource::FirstTouch;
        if !r.source.placement_matters() && !first_touch {
            return;
        }
        let code = match r.op.writes() {
            _ if first_touch => Code::FreeWrite,
            true => Code::Write,
            false => Code::Read,
        };
        let Partitioner { cutter, slots, buffers, region_shift, .. } = self;
        for (i, Cutter { stream, .. }) in cutter.iter().enumerate() {
            let mut out = Out { stream: i, format: stream.format, region_shift: *region_shift, slots, buffers };
            let size = if stream.key == Key::FirstByte { 1 } else { r.size };
            for piece in Pieces::new(r.addr, size, stream.format.unit_shift) {
                out.record(piece.addr ^ at.space_tag, code, at.thread, r.weight, at.t);
            }
        }
    }

    /// Ends the pass.
    ///
    /// # Errors
    /// Records cannot be spilled.
    pub fn finish(mut self) -> Result<Partition, StudyError> {
        if let Some(scatter) = &mut self.scatter {
            scatter.finish(&mut self.buffers);
        }
        self.buffers.failure()?;
        let mut order: Vec<u32> = (0..self.slots.numbers.len() as u32).collect();
        order.sort_unstable_by_key(|slot| self.slots.numbers[*slot as usize]);
        let sorted = |mut of: Vec<Vec<u32>>| -> Vec<Vec<u32>> {
            order.iter().map(|slot| of.get_mut(*slot as usize).map(std::mem::take).unwrap_or_default()).collect()
        };
        let head = Head {
            streams: self.cutter.into_iter().map(|c| c.stream).collect(),
            regions: order.iter().map(|slot| self.slots.numbers[*slot as usize]).collect(),
            region_shift: self.region_shift,
            threads: self.space_tags.len(),
            refs: self.refs,
            spins: self.options.charge_spins,
        };
        let buffers = self.buffers.of.into_iter().map(sorted).collect();
        Ok(Partition { head, records: Records::Built(Built { buffers, slots: order, spill: self.buffers.spill }) })
    }
}

impl Cutter {
    fn new(stream: Stream) -> Result<Cutter, StudyError> {
        let filter = match &stream.key {
            Key::Events(f) => {
                // The filter looks at nothing else of a machine; costs of transfers are multiplied in at the end.
                let caches = Caches {
                    line_bytes: f.line_bytes,
                    private: f.private,
                    shared: f.shared,
                    transfer_near: Cost::ZERO,
                    transfer_far: Cost::ZERO,
                };
                let mut machine: Machine = homenode_machine::models::find("butterfly").expect("in the registry");
                machine.shape.cores.clone_from(&f.cores);
                machine.sections.caches = Some(caches);
                CacheFilter::new(&machine)?.map(|filter| (filter, f.cpus.clone()))
            }
            _ => None,
        };
        Ok(Cutter { stream, filter })
    }
}

/// Where the records of one stream go.
struct Out<'a> {
    stream: usize,
    format: Format,
    region_shift: u32,
    slots: &'a mut Slots,
    buffers: &'a mut Buffers,
}

impl Out<'_> {
    #[inline(always)]
    fn unit(&self, flat: u64) -> u32 {
        (flat >> self.format.unit_shift) as u32 & (self.format.units() as u32 - 1)
    }

    #[inline]
    fn record(&mut self, flat: u64, code: Code, by: u32, weight: u32, t: u64) {
        let slot = self.slots.slot(flat >> self.region_shift);
        let unit = self.unit(flat);
        if self.format.words() == 1 {
            return self.buffers.word(self.stream, slot, self.format.first(unit, code, by));
        }
        self.buffers.record(self.stream, slot, &self.format, (unit, code, by), weight, t);
    }

    /// A machine without caches: one access per word. Almost every reference is one word, or two in one record.
    #[inline(always)]
    fn words(&mut self, r: &Merged, at: Reference, weight: u32) {
        let (one, two) = match r.op.writes() {
            true => (Code::Write, Code::WriteTwo),
            false => (Code::Read, Code::ReadTwo),
        };
        let shift = self.format.unit_shift;
        let flat = r.addr ^ at.space_tag;
        // The space_tag leaves the bits below 2^32 as they are, so that pieces can be counted in flat addresses; a reference
        // that wraps past the last address is left to the general way.
        let last = r.addr.checked_add(u64::from(r.size.max(1)) - 1).map(|last| (last >> shift) - (r.addr >> shift));
        match last {
            Some(0) => self.record(flat, one, at.thread, weight, at.t),
            Some(1) if self.unit(flat) as usize + 1 < self.format.units() => {
                self.record(flat, two, at.thread, weight, at.t);
            }
            _ => {
                for piece in Pieces::new(r.addr, r.size, shift) {
                    self.record(piece.addr ^ at.space_tag, one, at.thread, weight, at.t);
                }
            }
        }
    }

    /// A machine with caches: what the filter reports. Every hit is kept; which of them matter depends on the block size.
    fn events(&mut self, r: &Merged, at: Reference, cpu: usize, filter: &mut CacheFilter, transfers: &mut Transfers) {
        let shift = self.format.unit_shift;
        for_pieces(r.addr, r.size, shift, |piece: Piece| {
            let flat = piece.addr ^ at.space_tag;
            filter.access(cpu, flat >> shift, 0, r.op.writes(), &mut |e: CacheEvent| {
                let code = match e.kind {
                    CacheEventKind::ReadHit => Code::FreeRead,
                    CacheEventKind::WriteHit => Code::FreeWrite,
                    CacheEventKind::ReadMiss => Code::Read,
                    CacheEventKind::WriteMiss => Code::Write,
                    CacheEventKind::WriteBack => Code::WriteBack,
                    CacheEventKind::TransferNear => return transfers.near += 1,
                    CacheEventKind::TransferFar => return transfers.far += 1,
                };
                let flat = if code == Code::WriteBack { e.line << shift } else { flat };
                self.record(flat, code, u32::from(e.node), 1, at.t);
            });
        });
    }
}

/// The class that a code is charged as.
#[cfg(test)]
mod tests {
    use super::super::record::{MEANING, code};

    #[test]
    fn codes_and_meanings_agree() {
        for (i, (kind, class)) in MEANING.iter().enumerate() {
            assert_eq!(code(*kind, *class) as usize, i);
        }
    }
}
