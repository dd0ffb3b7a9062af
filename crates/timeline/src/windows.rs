//! Windows: what threads and memories did in equal pieces of the order or of time.
use homenode_base::NodeId;
use homenode_sim::{Charge, Served};
use std::collections::HashMap;

/// Windows at most; even. When there would be more, two become one.
pub(crate) const WINDOWS_MAX: usize = 512;
/// Places of one thread in one window at most that are kept apart: the dearest.
const PLACES_MAX: usize = 64;

/// What a thread did in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// References, spins excepted.
    pub(crate) refs: u64,
    /// Accesses of its own node's memory, and of others'.
    pub(crate) local: u64,
    pub(crate) remote: u64,
    /// Picoseconds that its accesses cost.
    pub(crate) cost_ps: u64,
}

impl Share {
    fn add(&mut self, other: &Share) {
        self.refs = self.refs.saturating_add(other.refs);
        self.local = self.local.saturating_add(other.local);
        self.remote = self.remote.saturating_add(other.remote);
        self.cost_ps = self.cost_ps.saturating_add(other.cost_ps);
    }
}

/// Bytes that a memory served in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// What a cost is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) thread: u32,
    /// Code location; none for what is not kept apart.
    pub(crate) site: Option<u32>,
    /// Row of objects; `UNKNOWN_OBJECT` for memory that belongs to none.
    pub(crate) object: u32,
    pub(crate) kind: Kind,
}

/// Where the data was, seen from the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Local,
    Remote,
    Transfer,
    LastLevel,
    /// Of several kinds, not kept apart.
    Mixed,
}

impl Kind {
    pub(crate) fn of(node: NodeId, served: Served) -> Kind {
        match served {
            Served::Memory(home) if home == node => Kind::Local,
            Served::Memory(_) => Kind::Remote,
            Served::Transfer => Kind::Transfer,
            Served::LastLevel => Kind::LastLevel,
        }
    }
}

/// One window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// By thread, ascending; those that did nothing are left out.
    pub(crate) shares: Vec<(u32, Share)>,
    /// By node.
    pub(crate) memory: Vec<Bytes>,
    /// Picoseconds by place, ascending.
    pub(crate) places: Vec<(Place, u64)>,
}

/// The windows of a pass, whose places in the order never run backwards.
pub(crate) struct Windows {
    /// Width of a window, in the unit of places in the order.
    width: u64,
    closed: Vec<Window>,
    /// Of the window that is open: by thread, and which threads did something.
    shares: Vec<Share>,
    touched: Vec<u32>,
    memory: Vec<Bytes>,
    /// `None` where nobody asks.
    places: Option<HashMap<Place, u64>>,
}

impl Windows {
    /// No windows yet, of this width at least 1 to begin with.
    pub(crate) fn new(width: u64, threads: usize, nodes: usize, places: bool) -> Windows {
        Windows {
            width,
            closed: Vec::new(),
            shares: vec![Share::default(); threads],
            touched: Vec::new(),
            memory: vec![Bytes::default(); nodes],
            places: places.then(HashMap::new),
        }
    }

    /// Time goes on to this place in the order.
    #[inline]
    pub(crate) fn advance(&mut self, at: u64) {
        if at / self.width > self.closed.len() as u64 {
            self.go_on(at);
        }
    }

    #[cold]
    fn go_on(&mut self, at: u64) {
        self.close();
        while at / self.width >= WINDOWS_MAX as u64 {
            self.halve();
        }
        let open = usize::try_from(at / self.width).unwrap_or(usize::MAX);
        let nothing = || Window { memory: vec![Bytes::default(); self.memory.len()], ..Window::default() };
        if open < self.closed.len() {
            // Two have become one, and this one goes on.
            let again = self.closed.pop().unwrap_or_default();
            self.open(again);
        } else {
            self.closed.resize_with(open, nothing);
        }
    }

    /// The next reference, which is no spin.
    pub(crate) fn reference(&mut self, thread: u32, weight: u32) {
        self.share(thread).refs += u64::from(weight);
    }

    fn share(&mut self, thread: u32) -> &mut Share {
        let share = &mut self.shares[thread as usize];
        if *share == Share::default() {
            self.touched.push(thread);
        }
        share
    }

    /// A cost; `object` is asked only where places are kept.
    pub(crate) fn charge(&mut self, charge: &Charge, object: impl FnOnce() -> u32) {
        let kind = Kind::of(charge.node, charge.served);
        if let Served::Memory(home) = charge.served {
            let bytes = &mut self.memory[home.index()];
            let side = if charge.writes { &mut bytes.written } else { &mut bytes.read };
            *side = side.saturating_add(charge.bytes);
        }
        // Nobody waits for a write-back.
        let Some(thread) = charge.thread else { return };
        let cost_ps = charge.cost.0.max(0).unsigned_abs();
        let accesses = u64::from(charge.accesses);
        let (local, remote) = if kind == Kind::Remote { (0, accesses) } else { (accesses, 0) };
        self.share(thread).add(&Share { refs: 0, local, remote, cost_ps });
        if let Some(places) = &mut self.places {
            let place = Place { thread, site: Some(charge.site), object: object(), kind };
            let sum = places.entry(place).or_default();
            *sum = sum.saturating_add(cost_ps);
        }
    }

    /// All windows, and how wide they are.
    pub(crate) fn finish(mut self) -> (u64, Vec<Window>) {
        self.close();
        (self.width, self.closed)
    }

    fn close(&mut self) {
        self.touched.sort_unstable();
        // A thread is noted once more if what it did came to nothing.
        self.touched.dedup();
        let shares = self.touched.drain(..).map(|t| (t, std::mem::take(&mut self.shares[t as usize]))).collect();
        let nothing = vec![Bytes::default(); self.memory.len()];
        let memory = std::mem::replace(&mut self.memory, nothing);
        let places = self.places.as_mut().map(|places| dearest(places.drain().collect())).unwrap_or_default();
        self.closed.push(Window { shares, memory, places });
    }

    fn open(&mut self, window: Window) {
        for (thread, share) in window.shares {
            self.touched.push(thread);
            self.shares[thread as usize] = share;
        }
        self.memory = window.memory;
        if let Some(places) = &mut self.places {
            places.extend(window.places);
        }
    }

    /// Two windows become one.
    fn halve(&mut self) {
        self.width = self.width.saturating_mul(2);
        let windows = std::mem::take(&mut self.closed);
        let mut windows = windows.into_iter();
        while let Some(mut one) = windows.next() {
            if let Some(two) = windows.next() {
                one.join(two);
            }
            self.closed.push(one);
        }
    }
}

impl Window {
    fn join(&mut self, other: Window) {
        self.shares.extend(other.shares);
        self.shares.sort_by_key(|(thread, _)| *thread);
        self.shares.dedup_by(|b, a| {
            let same = a.0 == b.0;
            if same {
                a.1.add(&b.1);
            }
            same
        });
        for (bytes, more) in self.memory.iter_mut().zip(other.memory) {
            bytes.read = bytes.read.saturating_add(more.read);
            bytes.written = bytes.written.saturating_add(more.written);
        }
        self.places.extend(other.places);
        self.places = dearest(std::mem::take(&mut self.places));
    }
}

/// Sums by place, ascending: the dearest of each thread, and the rest of each thread as one.
fn dearest(mut places: Vec<(Place, u64)>) -> Vec<(Place, u64)> {
    let add = |places: &mut Vec<(Place, u64)>| {
        places.sort_unstable();
        places.dedup_by(|b, a| {
            let same = a.0 == b.0;
            if same {
                a.1 = a.1.saturating_add(b.1);
            }
            same
        });
    };
    add(&mut places);
    let rest = |thread| Place { thread, site: None, object: homenode_analysis::UNKNOWN_OBJECT, kind: Kind::Mixed };
    for of_thread in places.chunk_by_mut(|a, b| a.0.thread == b.0.thread) {
        of_thread.sort_unstable_by_key(|(place, cost)| (std::cmp::Reverse(*cost), *place));
        for (place, _) in of_thread.iter_mut().skip(PLACES_MAX) {
            *place = rest(place.thread);
        }
    }
    add(&mut places);
    places
}
