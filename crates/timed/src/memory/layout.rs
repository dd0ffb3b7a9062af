//! Which pages nodes share, and where each of them is at home.
use super::MemoryError;
use hashbrown::HashMap;
use homenode_base::spaces::tag;
use homenode_sim::ThreadBinding;
use homenode_trace::event::{AllocSource, EventKind};
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::{DatasetReader, Op};

/// Pages that nodes share and their homes: first touch in the model order, limited to each node's share, afterwards in turn over nodes below
/// theirs (Kuo and others 1998, section 4.1). The same for all architectures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Page size as a power of two.
    pub page_shift: u32,
    /// How many nodes.
    pub nodes: usize,
    /// Number of each shared page by its flat page number.
    numbers: Numbers,
    /// Home of each shared page.
    homes: Vec<u32>,
    /// Flat page number of each shared page.
    flats: Vec<u64>,
    /// Pages with home there, by node.
    pub home_pages: Vec<u64>,
    /// Pages used there whose home is elsewhere, by node.
    pub remote_pages: Vec<u64>,
    /// Pages that one node uses alone.
    pub private_pages: u64,
}

/// What is known of a page.
struct Page {
    number: u64,
    first: u32,
    users: u64,
}

impl Layout {
    /// Finds out by going once over a dataset. Shared is what two nodes touch, and what the program allocated as shared.
    ///
    /// # Errors
    /// A damaged dataset; fewer shared pages than nodes.
    pub fn find(
        data: &DatasetReader,
        bindings: &[ThreadBinding],
        page_shift: u32,
        nodes: usize,
    ) -> Result<Layout, MemoryError> {
        let pages = pages(data, bindings, page_shift)?;
        let declared = declared(data, page_shift);
        let is_shared = |p: &Page| p.users.count_ones() > 1 || is_in(&declared, p.number);
        let (shared, private): (Vec<Page>, Vec<Page>) = pages.into_iter().partition(is_shared);
        if shared.len() < nodes {
            return Err(MemoryError::FewPages { pages: shared.len(), nodes });
        }
        let limit = (shared.len() as u64).div_ceil(nodes as u64);
        let (mut home_pages, mut remote_pages, mut next) = (vec![0u64; nodes], vec![0u64; nodes], 0);
        let (mut homes, mut numbers) = (Vec::with_capacity(shared.len()), Vec::with_capacity(shared.len()));
        for page in &shared {
            let mut home = page.first as usize;
            while home_pages[home] == limit {
                home = next;
                next = (next + 1) % nodes;
            }
            home_pages[home] += 1;
            numbers.push((page.number, homes.len() as u32));
            homes.push(home as u32);
            (0..nodes).filter(|n| page.users >> n & 1 == 1 && *n != home).for_each(|n| remote_pages[n] += 1);
        }
        Ok(Layout {
            page_shift,
            nodes,
            numbers: Numbers::new(numbers),
            homes,
            flats: shared.iter().map(|p| p.number).collect(),
            home_pages,
            remote_pages,
            private_pages: private.len() as u64,
        })
    }

    /// Number of a shared page; `None` if one node has it alone.
    #[inline]
    pub fn number(&self, flat_page: u64) -> Option<u32> {
        self.numbers.get(flat_page)
    }
    /// Home of a shared page.
    #[inline]
    pub fn home(&self, page: u32) -> u32 {
        self.homes[page as usize]
    }
    /// Flat page number of a shared page.
    pub(super) fn flat(&self, page: u32) -> u64 {
        self.flats[page as usize]
    }
    /// How many pages are shared.
    pub fn pages(&self) -> usize {
        self.homes.len()
    }
    /// Home pages of the node that has most: what every node's memory is sized by.
    pub fn home_max(&self) -> u64 {
        self.home_pages.iter().copied().max().unwrap_or(0)
    }
    /// Remote pages of the node that has most.
    pub fn remote_max(&self) -> u64 {
        self.remote_pages.iter().copied().max().unwrap_or(0)
    }
    /// Pressure in percent below which all remote pages fit into every node's page cache (section 5, table 5).
    pub fn ideal_pressure(&self) -> f64 {
        100.0 * self.home_max() as f64 / (self.home_max() + self.remote_max()) as f64
    }
}

/// What has no number.
const NO_NUMBER: u32 = u32::MAX;

/// Places that are looked at for a page at most: a recording may have been made for its pages to collide.
const PLACES: usize = 64;

/// Numbers of pages: a table with room for twice as many at least, in which a page stands where its hash says or in one of the next
/// places; or, where too many collide, all pages in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbers {
    places: Vec<(u64, u32)>,
    /// Bits of a hash that are no place; none if pages are in order.
    shift: Option<u32>,
}

impl Numbers {
    /// Of pages with their numbers, each page once.
    fn new(mut pages: Vec<(u64, u32)>) -> Numbers {
        let bits = (2 * pages.len()).next_power_of_two().trailing_zeros().max(1);
        let shift = u64::BITS - bits;
        let mut places = vec![(0, NO_NUMBER); 1 << bits];
        for page in &pages {
            let Some(at) = probed(page.0, shift, places.len()).find(|at| places[*at].1 == NO_NUMBER) else {
                pages.sort_unstable();
                return Numbers { places: pages, shift: None };
            };
            places[at] = *page;
        }
        Numbers { places, shift: Some(shift) }
    }
    #[inline]
    fn get(&self, page: u64) -> Option<u32> {
        let Some(shift) = self.shift else {
            let at = self.places.binary_search_by_key(&page, |p| p.0).ok()?;
            return Some(self.places[at].1);
        };
        for at in probed(page, shift, self.places.len()) {
            let (found, number) = self.places[at];
            if number == NO_NUMBER {
                return None;
            }
            if found == page {
                return Some(number);
            }
        }
        None
    }
}

/// Where a page may stand in a table of so many places.
#[inline]
fn probed(page: u64, shift: u32, places: usize) -> impl Iterator<Item = usize> {
    let first = (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize;
    (first..first + PLACES.min(places)).map(move |at| at & (places - 1))
}

/// All pages in the order of their first touch.
fn pages(data: &DatasetReader, bindings: &[ThreadBinding], page_shift: u32) -> Result<Vec<Page>, MemoryError> {
    let (mut pages, mut places): (Vec<Page>, HashMap<u64, usize>) = (Vec::new(), HashMap::new());
    let mut last = vec![u64::MAX; bindings.len()];
    let mut order = Order::new(data, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        for r in piece.refs.iter().filter(|r| r.op != Op::Spin) {
            let Some(binding) = bindings.get(r.thread as usize) else { continue };
            let flat = tag(binding.space);
            let ends = r.addr.saturating_add(u64::from(r.size.max(1)) - 1) ^ flat;
            let (first, end) = ((r.addr ^ flat) >> page_shift, ends >> page_shift);
            if first == end && last[r.thread as usize] == first {
                continue;
            }
            last[r.thread as usize] = end;
            for number in first..=end {
                let at = *places.entry(number).or_insert_with(|| {
                    pages.push(Page { number, first: binding.node.0.into(), users: 0 });
                    pages.len() - 1
                });
                pages[at].users |= 1 << binding.node.0;
            }
        }
    }
    Ok(pages)
}

/// Pages that the program allocated as shared: first and last, ascending, the last never below that of the one before.
fn declared(data: &DatasetReader, page_shift: u32) -> Vec<(u64, u64)> {
    let range = |e: &homenode_trace::Event| match e.kind {
        EventKind::Alloc { addr, bytes, source: AllocSource::Shared, .. } => {
            let flat = tag(data.address_space(e.thread));
            let last = addr.saturating_add(bytes.max(1) - 1);
            Some(((addr ^ flat) >> page_shift, (last ^ flat) >> page_shift))
        }
        _ => None,
    };
    let mut ranges: Vec<(u64, u64)> = data.events().iter().filter_map(|e| range(&e)).collect();
    ranges.sort_unstable();
    let mut last = 0;
    for r in &mut ranges {
        last = r.1.max(last);
        r.1 = last;
    }
    ranges
}

/// Whether a page is in one of the ranges that begin before it: the one before has the largest end.
fn is_in(ranges: &[(u64, u64)], page: u64) -> bool {
    let before = ranges.partition_point(|r| r.0 <= page);
    before > 0 && ranges[before - 1].1 >= page
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    #[test]
    fn numbers_are_found_and_no_others() {
        let mut rng = Rng::new(9);
        for _ in 0..50 {
            let spread = 1 << rng.below(40);
            let pages: HashMap<u64, u32> = (0..200).map(|n| (rng.below(spread) << (3 * rng.below(2)), n)).collect();
            let numbers = Numbers::new(pages.iter().map(|(page, number)| (*page, *number)).collect());
            for (page, number) in &pages {
                assert_eq!(numbers.get(*page), Some(*number));
                assert_eq!(numbers.get(page + 1), pages.get(&(page + 1)).copied());
                assert_eq!(numbers.get(page + 1000), pages.get(&(page + 1000)).copied());
            }
            assert_eq!(numbers.get(u64::MAX), None);
        }
        assert_eq!(Numbers::new(Vec::new()).get(0), None);
    }

    #[test]
    fn pages_that_collide_are_found_in_order() {
        // Times the factor of the hash these are small numbers, whose first bits are 0.
        let inverse =
            (0..6).fold(1u64, |x, _| x.wrapping_mul(2u64.wrapping_sub(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(x))));
        let page = |n: u32| inverse.wrapping_mul(n.into());
        for count in [60, 5000] {
            let numbers = Numbers::new((0..count).map(|n| (page(n), n)).collect());
            assert_eq!(numbers.shift.is_none(), count > 64);
            assert!((0..count).all(|n| numbers.get(page(n)) == Some(n)) && numbers.get(page(count)).is_none());
        }
    }
}
