//! A sampled dataset in memory from an exact one.
use crate::method::Thin;
use crate::stream::Thinner;
use homenode_base::SiteId;
use homenode_trace::event::Event;
use homenode_trace::frame::RawRef;
use homenode_trace::framing::Codec;
use homenode_trace::manifest::Clock;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::record::Merged;
use homenode_trace::sample::Sample;
use homenode_trace::store::MemStore;
use homenode_trace::writer::Writer;
use homenode_trace::{DatasetReader, TraceError};
use std::io;
use std::sync::Arc;

/// Samples `data` in this order and writes what is left as a complete sampled dataset. Every sample and event is stamped
/// with its number in the order, so that the new dataset has that order too.
///
/// # Errors
/// As [`Stream::pull`].
pub fn thin_dataset(data: &DatasetReader, order: OrderKind, thin: &Thin) -> Result<Arc<MemStore>, TraceError> {
    let mut samples = Thinner::new(*thin, data.manifest(), Order::new(data, order)?);
    let store = Arc::new(MemStore::default());
    let unwritten = |source| TraceError::Io { name: "a dataset in memory".to_owned(), source };
    let mut written = Thinned::new(data, store.clone()).map_err(unwritten)?;
    while let Some(piece) = samples.pull()? {
        written.refs(piece.refs).map_err(unwritten)?;
        piece.event.iter().try_for_each(|(event, _)| written.event(event)).map_err(unwritten)?;
    }
    written.finish(thin).map_err(unwritten)?;
    Ok(store)
}

struct Thinned<'d> {
    data: &'d DatasetReader,
    writer: Writer<Arc<MemStore>>,
    /// The last stamp given.
    clock: u64,
}

impl<'d> Thinned<'d> {
    fn new(data: &'d DatasetReader, store: Arc<MemStore>) -> io::Result<Thinned<'d>> {
        Ok(Thinned { data, writer: Writer::new(store, Codec::Lz4)?, clock: 0 })
    }

    fn finish(mut self, thin: &Thin) -> io::Result<()> {
        let mut manifest = self.data.manifest().clone();
        manifest.mark_sampled(thin.sampling());
        (manifest.clock, manifest.complete) = (Clock::Logical, true);
        for thread in 0..self.data.threads() {
            self.writer.end_frame(thread, self.clock + 1)?;
        }
        self.writer.symbols(self.data.symbols())?;
        self.writer.finish(manifest).map(drop)
    }

    fn refs(&mut self, refs: &[Merged]) -> io::Result<()> {
        for r in refs {
            self.clock += 1;
            let pc = self.data.symbols().site(SiteId(r.site)).map_or(0, |s| s.pc);
            let Merged { addr, size, op, weight, source, .. } = *r;
            let sample = Sample { weight, source, latency_cycles: r.latency_cycles(), cpu: r.cpu() };
            self.writer.stamp(r.thread, self.clock)?;
            self.writer.push_sample(r.thread, RawRef { addr, size, op, pc }, &sample)?;
        }
        Ok(())
    }
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.clock += 1;
        let at = self.writer.refs(event.thread);
        self.writer.event(Event { at, stamp: self.clock, ..event.clone() })
    }
}
