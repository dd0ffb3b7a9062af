//! Bytes of a ring to samples and notices, with everything that is dropped counted.
use super::effective::Access;
use super::notices::{Side, side};
use super::records::{Fields, Layout, Record, Records, fields, kind};
use super::source_bits::{data_source, operation};
use crate::samples::{Notice, RawSample};
use homenode_trace::{DataSource, Op};

/// First address that user space never has on the supported machines.
const KERNEL_FROM: u64 = 1 << 63;

/// What one event's samples are, where the sample itself does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventFacts {
    /// Number by which records name it; any number if it is the only one.
    pub id: u64,
    /// What its samples do unless they say otherwise.
    pub op: Op,
    /// Period where the sample does not carry it, at least 1.
    pub period: u64,
    /// Whether stores that hit a cache are dropped: where loads are only seen when they miss, counting every store would
    /// add different things.
    pub only_misses: bool,
}

/// What was seen and what was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sample records.
    pub seen: u64,
    /// Samples delivered.
    pub delivered: u64,
    /// Dropped: no data address (for micro-op sampling: not a memory operation).
    pub unaddressed: u64,
    /// Dropped: an address of the kernel.
    pub kernel: u64,
    /// Dropped: a store that hit a cache, see [`EventFacts::only_misses`].
    pub hits: u64,
    /// Samples that the kernel lost.
    pub lost: u64,
    /// Records of a throttled event.
    pub throttled: u64,
    /// Records that contradict themselves or their layout.
    pub damaged: u64,
}

impl Counts {
    /// Both together; sums that no honest file reaches stop at the end of the range.
    #[must_use]
    pub fn plus(&self, o: &Counts) -> Counts {
        Counts {
            seen: self.seen.saturating_add(o.seen),
            delivered: self.delivered.saturating_add(o.delivered),
            unaddressed: self.unaddressed.saturating_add(o.unaddressed),
            kernel: self.kernel.saturating_add(o.kernel),
            hits: self.hits.saturating_add(o.hits),
            lost: self.lost.saturating_add(o.lost),
            throttled: self.throttled.saturating_add(o.throttled),
            damaged: self.damaged.saturating_add(o.damaged),
        }
    }
}

/// Decodes the records of events that share one layout.
#[derive(Clone, Debug)]
pub struct Decoder {
    layout: Layout,
    events: Vec<EventFacts>,
    /// So far.
    pub counts: Counts,
}

impl Decoder {
    /// For events of one layout. With one event its number does not matter.
    pub fn new(layout: Layout, mut events: Vec<EventFacts>) -> Decoder {
        events.sort_by_key(|e| e.id);
        Decoder { layout, events, counts: Counts::default() }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Appends what the bytes of a ring say. Bytes that are no whole record are counted as one damaged record.
    pub fn decode(&mut self, bytes: &[u8], samples: &mut Vec<RawSample>, notices: &mut Vec<Notice>) {
        let mut records = Records::new(bytes);
        for record in records.by_ref() {
            self.record(&record, samples, notices);
        }
        self.counts.damaged += u64::from(!records.rest().is_empty());
    }

    /// Appends what one record says.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>, samples: &mut Vec<RawSample>, notices: &mut Vec<Notice>) {
        if record.kind == kind::SAMPLE {
            self.counts.seen += 1;
            match fields(record.body, &self.layout) {
                Some(f) => samples.extend(self.sample(&f)),
                None => self.counts.damaged += 1,
            }
            return;
        }
        match side(record, &self.layout) {
            None => self.counts.damaged += 1,
            Some(Side::Notice(notice)) => self.notice(notice, notices),
            Some(_) => {}
        }
    }

    fn notice(&mut self, notice: Notice, notices: &mut Vec<Notice>) {
        match notice {
            // A record from outside may claim any number.
            Notice::Lost(n) => self.counts.lost = self.counts.lost.saturating_add(n),
            Notice::Throttled => self.counts.throttled += 1,
            _ => {}
        }
        notices.push(notice);
    }

    /// As a sample record whose address is found by other means; `None` from `find` counts as no address.
    pub fn found(&mut self, body: &[u8], find: impl FnOnce(&Fields<'_>) -> Option<Access>) -> Option<RawSample> {
        self.counts.seen += 1;
        let Some(mut f) = fields(body, &self.layout) else {
            self.counts.damaged += 1;
            return None;
        };
        let access = find(&f);
        f.addr = access.map_or(0, |a| a.addr);
        let sample = self.sample(&f)?;
        access.map(|a| RawSample { op: a.op, size: a.size, ..sample })
    }

    /// Judges the fields of a sample: what it stands for, or `None` and counted why not.
    #[inline]
    pub fn sample(&mut self, f: &Fields<'_>) -> Option<RawSample> {
        if f.addr == 0 {
            self.counts.unaddressed += 1;
            return None;
        }
        if f.addr >= KERNEL_FROM {
            self.counts.kernel += 1;
            return None;
        }
        let event = self.event(f.id)?;
        let op = operation(f.data_src).unwrap_or(event.op);
        let source = data_source(f.data_src);
        if event.only_misses && op == Op::Write && source == DataSource::Cache {
            self.counts.hits += 1;
            return None;
        }
        let period = if f.period > 0 { f.period } else { event.period };
        self.counts.delivered += 1;
        Some(RawSample {
            time_ns: f.time,
            pid: f.pid,
            tid: f.tid,
            cpu: f.cpu,
            ip: f.ip,
            addr: f.addr,
            size: 1,
            op,
            weight: u32::try_from(period.max(1)).unwrap_or(u32::MAX),
            latency_cycles: Some(f.weight as u32).filter(|&w| w > 0),
            source,
        })
    }

    #[inline]
    fn event(&mut self, id: u64) -> Option<EventFacts> {
        if let [only] = self.events[..] {
            return Some(only);
        }
        let found = self.events.binary_search_by_key(&id, |e| e.id);
        if found.is_err() {
            self.counts.damaged += 1;
        }
        found.ok().map(|i| self.events[i])
    }
}
