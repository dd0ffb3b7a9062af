//! Releases of many objects: which numbers they have, and when they happened.
//!
//! There may be tens of millions, so numbers are kept as differences to the least of the object, sorted, and times as
//! differences to those beside them; what does not fit is kept in full elsewhere.
use hashbrown::HashMap;

/// Releases by list, a list for each object or for each thread that releases one.
#[derive(Debug, Default)]
pub(super) struct Releases {
    lists: Vec<List>,
    /// Numbers less those of the lists' first, list by list, ascending.
    offsets: Vec<u32>,
    /// Numbers of lists that are too far apart for that.
    wide: HashMap<u32, Vec<u64>>,
    times: Times,
}

#[derive(Clone, Copy, Debug, Default)]
struct List {
    /// Place of its first among the numbers of all.
    start: u32,
    len: u32,
    /// The lowest release that is not executed.
    low: u32,
    /// Least number.
    base: u64,
}

/// Counts the releases of each list before they are entered.
#[derive(Debug, Default)]
pub(super) struct Counted {
    lists: Vec<List>,
    /// Largest number of each.
    last: Vec<u64>,
}

impl Counted {
    pub(super) fn new(lists: usize) -> Counted {
        Counted { lists: vec![List::default(); lists], last: vec![0; lists] }
    }
    /// One more list.
    pub(super) fn add_list(&mut self) -> u32 {
        self.lists.push(List::default());
        self.last.push(0);
        self.lists.len() as u32 - 1
    }
    /// How many lists there are.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }
    /// One more release with this number.
    pub(super) fn count(&mut self, list: u32, seq: u64) {
        let (l, last) = (&mut self.lists[list as usize], &mut self.last[list as usize]);
        l.base = if l.len == 0 { seq } else { l.base.min(seq) };
        *last = seq.max(*last);
        l.len += 1;
    }
}

impl Releases {
    /// Room for what was counted; every release is then [`Releases::enter`]ed, and the lists are [`Releases::sort`]ed.
    pub(super) fn new(counted: Counted) -> Releases {
        let Counted { mut lists, last } = counted;
        let (mut start, mut wide) = (0, HashMap::new());
        for (n, (list, last)) in (0..).zip(lists.iter_mut().zip(last)) {
            list.start = start;
            start += list.len;
            if list.len > 0 && last - list.base > u64::from(u32::MAX) {
                wide.insert(n, Vec::with_capacity(list.len as usize));
            }
        }
        let times = Times::pending(start as usize);
        Releases { lists, offsets: vec![0; start as usize], wide, times }
    }

    /// One that was counted.
    pub(super) fn enter(&mut self, list: u32, seq: u64) {
        let l = &mut self.lists[list as usize];
        match self.wide.get_mut(&list) {
            Some(seqs) => seqs.push(seq),
            None => self.offsets[(l.start + l.low) as usize] = (seq - l.base) as u32,
        }
        // While lists are filled it counts what is in them.
        l.low += 1;
    }

    pub(super) fn sort(&mut self) {
        for l in &mut self.lists {
            l.low = 0;
            self.offsets[l.start as usize..(l.start + l.len) as usize].sort_unstable();
        }
        self.wide.values_mut().for_each(|seqs| seqs.sort_unstable());
    }

    /// None has happened.
    pub(super) fn reset(&mut self) {
        self.lists.iter_mut().for_each(|l| l.low = 0);
        self.times.reset();
    }

    /// How many of a list have a lower number.
    pub(super) fn before(&self, list: u32, seq: u64) -> u32 {
        let l = &self.lists[list as usize];
        if !self.wide.is_empty()
            && let Some(seqs) = self.wide.get(&list)
        {
            return seqs.partition_point(|s| *s < seq) as u32;
        }
        let offsets = &self.offsets[l.start as usize..(l.start + l.len) as usize];
        let Some(offset) = seq.checked_sub(l.base) else { return 0 };
        lower(offsets, l.low as usize, |o| u64::from(o) < offset) as u32
    }

    /// How many of the first `n` of a list have a lower number.
    pub(super) fn within(&self, list: u32, n: u32, seq: u64) -> u32 {
        let l = &self.lists[list as usize];
        let n = n.min(l.len);
        let last = n.checked_sub(1).map(|last| match self.wide.get(&list) {
            Some(seqs) => seqs[last as usize],
            None => l.base + u64::from(self.offsets[(l.start + last) as usize]),
        });
        if last.is_none_or(|last| last < seq) { n } else { n.min(self.before(list, seq)) }
    }

    /// Whether so many of a list are executed; if so, their largest virtual time (0 of none).
    pub(super) fn ready(&self, list: u32, needs: u32) -> Option<u64> {
        let l = &self.lists[list as usize];
        if l.low < needs {
            return None;
        }
        Some(needs.checked_sub(1).and_then(|last| self.times.get(l.start + last)).unwrap_or(0))
    }

    /// How many of a list are executed from the first on without a gap.
    pub(super) fn low(&self, list: u32) -> u32 {
        self.lists[list as usize].low
    }

    /// The release with this number happens at `time`. Of several with one number, which a damaged dataset may have, each
    /// counts once.
    pub(super) fn execute(&mut self, list: u32, seq: u64, time: u64) {
        let mut at = self.before(list, seq);
        let l = &mut self.lists[list as usize];
        while at + 1 < l.len && self.times.get(l.start + at).is_some() {
            at += 1;
        }
        self.times.set(l.start + at, time);
        let mut largest = l.low.checked_sub(1).and_then(|last| self.times.get(l.start + last)).unwrap_or(0);
        while l.low < l.len
            && let Some(t) = self.times.get(l.start + l.low)
        {
            if t < largest {
                self.times.set(l.start + l.low, largest);
            }
            largest = largest.max(t);
            l.low += 1;
        }
    }
}

/// The partition point of ascending `all`, looked for from `near` on.
fn lower(all: &[u32], near: usize, is_lower: impl Fn(u32) -> bool) -> usize {
    let near = near.min(all.len());
    let mut step = 1;
    if all[..near].last().is_some_and(|v| !is_lower(*v)) {
        while near > step && !is_lower(all[near - 1 - step]) {
            step *= 2;
        }
        let from = near.saturating_sub(step + 1);
        return from + all[from..near].partition_point(|v| is_lower(*v));
    }
    while near + step < all.len() && is_lower(all[near + step]) {
        step *= 2;
    }
    let to = all.len().min(near + step + 1);
    near + all[near..to].partition_point(|v| is_lower(*v))
}

/// Times of what stands together, which is mostly near in time too: differences to the first that was set of [`NEAR`] of them.
#[derive(Debug, Default)]
struct Times {
    /// The difference plus [`MIDDLE`]; 0 is pending, [`WIDE`] is kept in full.
    offsets: Vec<u32>,
    /// First time of each group; [`NONE`] if there is none.
    bases: Vec<u64>,
    wide: HashMap<u32, u64>,
}

const NEAR: usize = 32;
const MIDDLE: u64 = 1 << 31;
const WIDE: u32 = u32::MAX;
const NONE: u64 = u64::MAX;

impl Times {
    fn pending(n: usize) -> Times {
        Times { offsets: vec![0; n], bases: vec![NONE; n.div_ceil(NEAR)], wide: HashMap::new() }
    }
    fn reset(&mut self) {
        self.offsets.fill(0);
        self.bases.fill(NONE);
        self.wide.clear();
    }
    fn get(&self, at: u32) -> Option<u64> {
        match self.offsets[at as usize] {
            0 => None,
            WIDE => self.wide.get(&at).copied(),
            offset => Some(self.bases[at as usize / NEAR].wrapping_add(offset.into()).wrapping_sub(MIDDLE)),
        }
    }
    fn set(&mut self, at: u32, time: u64) {
        let base = &mut self.bases[at as usize / NEAR];
        if *base == NONE {
            *base = time;
        }
        let offset = time.wrapping_sub(*base).wrapping_add(MIDDLE);
        let near = *base != NONE && (1..u64::from(WIDE)).contains(&offset);
        if !near {
            self.wide.insert(at, time);
        }
        self.offsets[at as usize] = if near { offset as u32 } else { WIDE };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    /// The obvious way.
    #[derive(Default)]
    struct Plain(Vec<(u64, Option<u64>)>);

    impl Plain {
        fn low(&self) -> usize {
            self.0.iter().take_while(|r| r.1.is_some()).count()
        }
        fn ready(&self, needs: usize) -> Option<u64> {
            (self.low() >= needs).then(|| self.0[..needs].iter().filter_map(|r| r.1).max().unwrap_or(0))
        }
    }

    #[test]
    fn packed_lists_answer_as_plain_ones_do() {
        for seed in 0..400 {
            let mut rng = Rng::new(seed);
            let far = [8, 60, 1 << 20, 1 << 40, u64::MAX][rng.below(5) as usize];
            let late = [50, 1 << 30, 1 << 31, 1 << 33, u64::MAX][rng.below(5) as usize];
            let mut entered: Vec<(u32, u64)> = Vec::new();
            for _ in 0..rng.below(60) {
                let seq = if rng.below(10) == 0 { u64::MAX - rng.below(3) } else { rng.below(far) };
                if !entered.iter().any(|e| e.1 == seq) {
                    entered.push((rng.below(4) as u32, seq));
                }
            }
            let mut counted = Counted::new(3);
            assert_eq!(counted.add_list(), 3);
            entered.iter().for_each(|(list, seq)| counted.count(*list, *seq));
            let mut packed = Releases::new(counted);
            entered.iter().for_each(|(list, seq)| packed.enter(*list, *seq));
            packed.sort();
            let mut plain: Vec<Plain> = (0..4).map(|_| Plain::default()).collect();
            entered.iter().for_each(|(list, seq)| plain[*list as usize].0.push((*seq, None)));
            plain.iter_mut().for_each(|p| p.0.sort_unstable());
            while !entered.is_empty() {
                let (list, seq) = entered.swap_remove(rng.below(entered.len() as u64) as usize);
                let time = rng.below(late).max(if late == u64::MAX { rng.next_u64() } else { 0 });
                packed.execute(list, seq, time);
                let own = &mut plain[list as usize].0;
                own.iter_mut().filter(|r| r.0 == seq).for_each(|r| r.1 = Some(time));
                for list in 0..4 {
                    let own = &plain[list as usize];
                    assert_eq!(packed.low(list) as usize, own.low(), "seed {seed}");
                    for needs in 0..=own.0.len() {
                        assert_eq!(packed.ready(list, needs as u32), own.ready(needs), "seed {seed}");
                    }
                    let any = rng.next_u64();
                    for seq in own.0.iter().flat_map(|r| [r.0, r.0.wrapping_add(1), any]) {
                        let before = own.0.iter().filter(|r| r.0 < seq).count();
                        assert_eq!(packed.before(list, seq) as usize, before, "seed {seed}");
                        let n = rng.below(own.0.len() as u64 + 2) as usize;
                        assert_eq!(packed.within(list, n as u32, seq) as usize, before.min(n), "seed {seed}");
                    }
                }
            }
        }
    }

    #[test]
    fn releases_with_one_number_each_count() {
        let mut counted = Counted::new(1);
        [5, 7, 7, 9].iter().for_each(|s| counted.count(0, *s));
        let mut lists = Releases::new(counted);
        [9, 7, 5, 7].iter().for_each(|s| lists.enter(0, *s));
        lists.sort();
        for (seq, low) in [(7, 0), (9, 0), (5, 2), (7, 4)] {
            lists.execute(0, seq, 10 + seq);
            assert_eq!(lists.low(0), low);
        }
        assert_eq!(lists.ready(0, 4), Some(19));
    }
}
