//! Counts of a program's pages, in full and as several ways of losing samples leave them.
use homenode_base::ThreadId;
use homenode_base::spaces::home;
use homenode_command::Failure;
use homenode_machine::AccessClass;
use homenode_placement::counts::{Counts, Use};
use homenode_thin::{Method, Sampler, Thin};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{Merged, Op};

/// Page size of the thesis.
pub(super) const PAGE_BYTES: u64 = 4096;

/// Ways of losing samples: what they are called, and how.
pub(super) const LOSSES: [(&str, Method); 4] = [
    ("10 % at random", Method::Independent { period: 10 }),
    ("every 10th", Method::Fixed { period: 10 }),
    ("10 % in bursts of 1,000", Method::Bursts { period: 10, length: 1000 }),
    ("1 % at random", Method::Independent { period: 100 }),
];

/// Counts of one program.
pub(super) struct Counted {
    pub(super) full: Counts,
    /// By [`LOSSES`].
    pub(super) lossy: Vec<Counts>,
}

/// Counts one program in one pass.
pub(super) fn count(reader: &DatasetReader) -> Result<Counted, Failure> {
    let spaces: Vec<u32> = (0..reader.threads()).map(|t| reader.address_space(t)).collect();
    let fresh = || Counter { counts: Counts::new(PAGE_BYTES).expect("a power of two"), spaces: &spaces, run: None };
    let mut full = fresh();
    let mut lossy: Vec<Counter<'_>> = LOSSES.iter().map(|_| fresh()).collect();
    let thin = |method: Method| Thin { method, seed: 1, loads_only: false };
    let sampler = |(_, method)| Sampler::new(thin(method), reader.manifest());
    let mut samplers: Vec<Sampler> = LOSSES.into_iter().map(sampler).collect();
    let mut order = Order::new(reader, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        full.refs(piece.refs);
        for (sampler, counter) in samplers.iter_mut().zip(&mut lossy) {
            counter.refs(sampler.samples(piece.refs));
        }
    }
    Ok(Counted { full: full.finish(), lossy: lossy.into_iter().map(Counter::finish).collect() })
}

struct Counter<'s> {
    counts: Counts,
    spaces: &'s [u32],
    /// References in a row by one thread of one kind to one page, not counted yet.
    run: Option<Use>,
}

impl Counter<'_> {
    fn finish(mut self) -> Counts {
        self.flush();
        self.counts
    }
    fn flush(&mut self) {
        if let Some(run) = self.run.take() {
            self.counts.add(&run);
        }
    }
}

impl Counter<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        for r in refs.iter().filter(|r| r.op != Op::Spin) {
            let class = if r.op.writes() { AccessClass::Write } else { AccessClass::Read };
            let space = self.spaces.get(r.thread as usize).copied().unwrap_or(0);
            let (space, addr) = home(space, r.addr);
            let (thread, weight) = (ThreadId(r.thread), u64::from(r.weight));
            let inside = addr % PAGE_BYTES + u64::from(r.size) <= PAGE_BYTES;
            match &mut self.run {
                Some(run)
                    if inside
                        && (run.thread, run.class, run.space) == (thread, class, space)
                        && run.addr / PAGE_BYTES == addr / PAGE_BYTES =>
                {
                    run.weight += weight;
                }
                _ => {
                    self.flush();
                    self.run = Some(Use { space, addr, bytes: r.size.into(), thread, class, weight });
                    if !inside {
                        self.flush();
                    }
                }
            }
        }
    }
}
