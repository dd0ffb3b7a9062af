//! The best that could have been done: exact, off line, two states a page and processor, constant work a reference.
//!
//! Copies are made at reads by the reader, a write costs a packet for each other holder, the master copy is always current,
//! and copies may be given up at any time for nothing. Then what one processor holds changes nothing for another, and the
//! cheapest behaviour is found for each page and processor by itself; `docs/design/coherence.md` has the proof. All six
//! protocols, whatever their parameters, are behaviours of this kind: none costs less.
use crate::effects::{Effect, WORD_BYTES};
use crate::history::Turn;
use homenode_base::TotalCost;
use homenode_machine::Coherence;
use homenode_placement::{AccessKind, Step};
use std::ops::{Add, AddAssign, Mul};

/// Costs, wide enough for anything (2^40 references of 10^12 each are less than 2^80), or for few references.
trait Number: Copy + Ord + Add<Output = Self> + AddAssign + Mul<Output = Self> + Into<i128> {
    /// More than any sum reaches, and no more than half of what there is room for.
    const NEVER: Self;
    /// A number of accesses.
    fn of(count: u64) -> Self;
}

impl Number for i128 {
    const NEVER: i128 = 1 << 100;
    #[inline]
    fn of(count: u64) -> i128 {
        count.into()
    }
}

impl Number for i64 {
    const NEVER: i64 = 1 << 62;
    #[inline]
    fn of(count: u64) -> i64 {
        count as i64
    }
}

/// What is paid.
#[derive(Clone, Copy, Debug)]
struct Prices<N> {
    local: N,
    remote_read: N,
    remote_write: N,
    update: N,
    fetch: N,
}

/// Least cost of one page and processor so far.
#[derive(Clone, Copy, Debug)]
struct Pair<N> {
    /// Without a copy now. Never more than `with`: a copy can be given up.
    without: N,
    /// With a copy now.
    with: N,
    /// Writes of the page by anybody that are accounted for.
    writes: u64,
}

/// Least costs of a page.
#[derive(Clone, Debug, Default)]
struct Page<N> {
    writes: u64,
    /// By processor.
    pairs: Vec<Pair<N>>,
}

impl<N: Number> Prices<N> {
    #[inline]
    fn step(&self, page: &mut Page<N>, node: usize, kind: AccessKind, times: u64) {
        let before = page.writes;
        let (now, weight) = (page.pair(node), N::of(times));
        // Each write of others since then was a packet to the copy.
        now.with += N::of(before - now.writes) * self.update + weight * self.local;
        let remote = match kind {
            AccessKind::Read => {
                now.with = now.with.min(now.without + self.fetch + N::of(times - 1) * self.local);
                weight * self.remote_read
            }
            AccessKind::Write => weight * self.remote_write,
        };
        now.without = (now.without + remote).min(now.with);
        now.writes = before + if kind == AccessKind::Write { times } else { 0 };
        page.writes = now.writes;
    }

    /// A turn: nothing remote is cheaper than what is local, so a copy is made at the first read or not, and given up at the end.
    #[inline]
    fn turn(&self, page: &mut Page<N>, turn: &Turn) {
        let before = page.writes;
        let now = page.pair(turn.node().index());
        let (all, reads, writes) = (turn.accesses(), turn.reads(), turn.writes());
        now.with += N::of(before - now.writes) * self.update + N::of(all) * self.local;
        if reads > 0 {
            let lead = turn.lead();
            let fetched = N::of(lead) * self.remote_write + self.fetch + N::of(all - lead - 1) * self.local;
            now.with = now.with.min(now.without + fetched);
        }
        let remote = N::of(reads) * self.remote_read + N::of(writes) * self.remote_write;
        now.without = (now.without + remote).min(now.with);
        now.writes = before + writes;
        page.writes = now.writes;
    }

    fn turns(&self, pages: &mut Vec<Page<N>>, turns: &[Turn]) {
        // Where a packet costs less than a local write, a copy may be worth giving up within a turn.
        let at_once = self.remote_write >= self.local;
        for turn in turns {
            let at = turn.page as usize;
            if pages.len() <= at {
                pages.resize_with(at + 1, || Page { writes: 0, pairs: Vec::new() });
            }
            let page = &mut pages[at];
            if at_once {
                self.turn(page, turn);
            } else {
                turn.runs(|kind, _, times| self.step(page, turn.node().index(), kind, times));
            }
        }
    }
}

impl<N: Number> Page<N> {
    #[inline]
    fn pair(&mut self, node: usize) -> &mut Pair<N> {
        if self.pairs.len() <= node {
            let untouched = N::of(0);
            self.pairs.resize(node + 1, Pair { without: untouched, with: N::NEVER, writes: 0 });
        }
        &mut self.pairs[node]
    }

    /// Over its processors; the page begins anew.
    fn take(&mut self) -> TotalCost {
        self.writes = 0;
        TotalCost(self.pairs.drain(..).map(|pair| pair.without.into()).sum())
    }
}

/// The pages at hand, in numbers that are wide enough.
#[derive(Clone, Debug)]
enum Pages {
    Narrow(Vec<Page<i64>>),
    Wide(Vec<Page<i128>>),
}

/// The optimum for pages of one size.
#[derive(Clone, Debug)]
pub struct Optimum {
    narrow: Prices<i64>,
    wide: Prices<i128>,
    pages: Pages,
    /// Accesses of the pages at hand.
    accesses: u64,
    /// Most of them whose costs are narrow.
    most: u64,
}

impl Optimum {
    /// For prices of a valid machine (neither a remote read nor a copy costs less than `local`), with pages of so many bytes.
    pub fn new(prices: &Coherence, page_bytes: u64) -> Optimum {
        let price = |effect: Effect| effect.price(prices, page_bytes.max(WORD_BYTES)).0;
        let narrow = Prices {
            local: price(Effect::Local),
            remote_read: price(Effect::RemoteRead),
            remote_write: price(Effect::RemoteWrite),
            update: price(Effect::Update),
            fetch: price(Effect::Fetch),
        };
        let Prices { local, remote_read, remote_write, update, fetch } = narrow;
        let dearest = [local, remote_read, remote_write, update, fetch].into_iter().max().unwrap_or(0);
        // Of a turn each access is charged twice at most: by what is spent, and by what another way would have cost.
        let most = (i64::NEVER / 4 / dearest.max(1)) as u64;
        let wide = Prices {
            local: local.into(),
            remote_read: remote_read.into(),
            remote_write: remote_write.into(),
            update: update.into(),
            fetch: fetch.into(),
        };
        Optimum { narrow, wide, pages: Pages::Narrow(Vec::new()), accesses: 0, most }
    }

    /// Cost of the optimum for the whole history of a page.
    pub fn page(&mut self, steps: &[Step]) -> TotalCost {
        let mut page = Page { writes: 0, pairs: Vec::new() };
        for Step { access, .. } in steps {
            self.wide.step(&mut page, access.node.index(), access.kind, access.weight.into());
        }
        page.take()
    }

    /// Turns of any pages, each page's in order.
    pub fn turns(&mut self, turns: &[Turn]) {
        self.accesses = self.accesses.saturating_add(turns.iter().map(Turn::accesses).sum());
        if let Pages::Narrow(pages) = &mut self.pages
            && self.accesses > self.most
        {
            self.pages = Pages::Wide(pages.drain(..).map(Page::widened).collect());
        }
        match &mut self.pages {
            Pages::Narrow(pages) => self.narrow.turns(pages, turns),
            Pages::Wide(pages) => self.wide.turns(pages, turns),
        }
    }

    /// Cost of the optimum for these pages, all that there were; they begin anew.
    pub fn take(&mut self, touched: &[u32]) -> TotalCost {
        self.accesses = 0;
        let touched = touched.iter().map(|page| *page as usize);
        match &mut self.pages {
            Pages::Narrow(pages) => touched.filter_map(|at| Some(pages.get_mut(at)?.take())).sum(),
            Pages::Wide(pages) => {
                let cost = touched.filter_map(|at| Some(pages.get_mut(at)?.take())).sum();
                self.pages = Pages::Narrow(Vec::new());
                cost
            }
        }
    }
}

impl Page<i64> {
    fn widened(self) -> Page<i128> {
        let never = |cost: i64| if cost >= i64::NEVER { i128::NEVER } else { cost.into() };
        let pair = |p: Pair<i64>| Pair { without: p.without.into(), with: never(p.with), writes: p.writes };
        Page { writes: self.writes, pairs: self.pairs.into_iter().map(pair).collect() }
    }
}
