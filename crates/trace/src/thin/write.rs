//! A sampled dataset in memory from an exact one.
use super::{Thin, Thinner};
use crate::dataset::{EVENTS_FILE, MANIFEST_FILE, frames_file};
use crate::event::Event;
use crate::events::EventEncoder;
use crate::frame::FrameEncoder;
use crate::framing::Codec;
use crate::manifest::Clock;
use crate::order::{Order, OrderKind, Stream};
use crate::record::Merged;
use crate::sample::Sample;
use crate::store::MemStore;
use crate::symbols::Symbols;
use crate::{DatasetReader, TraceError};
use homenode_base::SiteId;
use std::sync::Arc;

/// Samples `data` in this order and writes what is left as a complete sampled dataset. Every sample and event is stamped
/// with its number in the order, so that the new dataset has that order too.
///
/// # Errors
/// As [`Stream::pull`].
pub fn thin_dataset(data: &DatasetReader, order: OrderKind, thin: &Thin) -> Result<Arc<MemStore>, TraceError> {
    let mut writer = Writer::new(data);
    let mut samples = Thinner::new(*thin, data.manifest(), Order::new(data, order)?);
    while let Some(piece) = samples.pull()? {
        writer.refs(piece.refs);
        piece.event.iter().for_each(|(event, _)| writer.event(event));
    }
    Ok(writer.finish(thin))
}

struct Thread {
    encoder: FrameEncoder,
    /// Samples in `bytes`.
    done: u64,
    bytes: Vec<u8>,
    events: u64,
}

impl Thread {
    fn samples(&self) -> u64 {
        self.done + self.encoder.len() as u64
    }
    fn flush(&mut self, thread: u32, end: u64) {
        self.done = self.samples();
        self.encoder.finish(end, Codec::Lz4, &mut self.bytes);
        self.encoder.begin(thread, self.done);
    }
}

struct Writer<'d> {
    data: &'d DatasetReader,
    threads: Vec<Thread>,
    events: Vec<Event>,
    /// The last stamp given.
    clock: u64,
}

impl<'d> Writer<'d> {
    fn new(data: &'d DatasetReader) -> Writer<'d> {
        let thread = |t| {
            let mut encoder = FrameEncoder::default();
            encoder.begin(t, 0);
            Thread { encoder, done: 0, bytes: Vec::new(), events: 0 }
        };
        Writer { data, threads: (0..data.threads()).map(thread).collect(), events: Vec::new(), clock: 0 }
    }

    fn finish(mut self, thin: &Thin) -> Arc<MemStore> {
        let store = MemStore::default();
        let mut manifest = self.data.manifest().clone();
        manifest.mark_sampled(thin.sampling());
        (manifest.clock, manifest.complete) = (Clock::Logical, true);
        for (i, t) in self.threads.iter_mut().enumerate() {
            let meta = &mut manifest.threads[i];
            (meta.refs, meta.spins, meta.events) = (t.samples(), 0, t.events);
            t.flush(i as u32, self.clock + 1);
            store.put(&frames_file(i as u32), std::mem::take(&mut t.bytes));
        }
        let mut events = Vec::new();
        EventEncoder::default().encode(0, &self.events, Codec::Lz4, &mut events);
        store.put(EVENTS_FILE, events);
        store.put(Symbols::FILE, self.data.symbols().to_json());
        store.put(MANIFEST_FILE, serde_json::to_vec_pretty(&manifest).expect("a manifest always serialises"));
        Arc::new(store)
    }

    fn refs(&mut self, refs: &[Merged]) {
        for r in refs {
            self.clock += 1;
            let t = &mut self.threads[r.thread as usize];
            if t.encoder.room() == 0 {
                t.flush(r.thread, self.clock);
            }
            let pc = self.data.symbols().site(SiteId(r.site)).map_or(0, |s| s.pc);
            let Merged { weight, source, .. } = *r;
            let sample = Sample { weight, source, latency_cycles: r.latency_cycles(), cpu: r.cpu() };
            // There is room, so neither is refused.
            t.encoder.stamp(self.clock);
            t.encoder.push_sample(r.addr, r.size, r.op, pc, &sample);
        }
    }
    fn event(&mut self, event: &Event) {
        self.clock += 1;
        let t = &mut self.threads[event.thread as usize];
        t.events += 1;
        self.events.push(Event { at: t.samples(), stamp: self.clock, ..event.clone() });
    }
}
